"""Linear layers whose weights are packed once, instead of at every call.

`F.linear` passes a plain row-major matrix to oneDNN (MKL in fp32), which reorders it at every call. For a short
sentence that takes up to three times as long as multiplying. Two libraries inside torch pack once:

oneDNN   any bf16 or fp32 weights, in its own block order. Lossless (`to_dense` returns the same bits), without extra
         memory. The two operators are those that torch.compile inserts when it freezes a model.
FBGEMM   fp32 computed from weights that were stored in 16 bits. A short sentence takes the time in which the weights
         are read, so half the bytes are twice the speed; a long one takes as long as with oneDNN.

The operators are not public, so `can_pack` and `can_pack_half` test them first.
"""

from collections import Counter
from collections.abc import Callable
from functools import cache
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

MAX_COPY = 256_000_000  # bytes
ROWS = 256  # of a weight that are checked together


def pack_weight(weight: Float[Tensor, "out in"]) -> Tensor:
    """*weight* in oneDNN's block order."""
    return cast(Tensor, torch.ops.mkldnn._reorder_linear_weight.default(weight))


def multiply(x: Float[Tensor, "*n in"], weight: Tensor, bias: Tensor | None) -> Float[Tensor, "*n out"]:
    """x Wᵀ + b with a packed W. It has no gradient."""
    return cast(Tensor, torch.ops.mkldnn._linear_pointwise.default(x, weight, bias, "none", [], ""))


class PackedLinear(nn.Linear):
    """A frozen nn.Linear with a packed weight. Its state_dict has the plain one."""

    def __init__(self, plain: nn.Linear) -> None:
        nn.Module.__init__(self)  # not nn.Linear's, which would allocate a weight
        self.in_features, self.out_features = plain.in_features, plain.out_features
        self.weight = nn.Parameter(pack_weight(plain.weight), requires_grad=False)
        self.bias = plain.bias

    def forward(self, x: Float[Tensor, "*n in"]) -> Float[Tensor, "*n out"]:
        if x.requires_grad and torch.is_grad_enabled():  # saliency
            return F.linear(x, self.weight.to_dense().to(x.dtype), self.bias)
        return self.multiply(x)

    def multiply(self, x: Float[Tensor, "*n in"]) -> Float[Tensor, "*n out"]:
        return multiply(x, self.weight, self.bias)

    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"] = self.weight.to_dense()


class HalfPackedLinear(PackedLinear):
    """The same in fp32, with weights that FBGEMM reads as fp16. *weight* holds them exactly: in 16 bits, or as the fp32
    table that the module shares with another one."""

    def __init__(self, plain: nn.Linear, weight: nn.Parameter) -> None:
        nn.Module.__init__(self)
        self.in_features, self.out_features = plain.in_features, plain.out_features
        self.weight, self.bias = weight, plain.bias
        self.packed = torch.ops.quantized.linear_prepack_fp16(plain.weight.detach(), plain.bias)
        self.packed_bytes = 2 * plain.weight.numel()

    def multiply(self, x: Float[Tensor, "*n in"]) -> Float[Tensor, "*n out"]:
        return cast(Tensor, torch.ops.quantized.linear_dynamic_fp16(x, self.packed))

    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"] = self.weight.float()


class TwoWayLinear(nn.Module):
    """A frozen fp32 nn.Linear, packed once for its product and once, transposed, for the gradient of its input."""

    def __init__(self, plain: nn.Linear) -> None:
        super().__init__()
        self.product = packed_product(plain.weight, plain.bias)
        self.transposed = packed_product(plain.weight.t().contiguous(), None)

    def forward(self, x: Float[Tensor, "*n in"]) -> Float[Tensor, "*n out"]:
        return cast(Tensor, Product.apply(x, self.product, self.transposed))


Multiply = Callable[[Tensor], Tensor]


def packed_product(weight: Float[Tensor, "out in"], bias: Tensor | None) -> Multiply:
    """x -> x Wᵀ + b, by the library that holds W in fewer bytes."""
    if can_pack_half() and in_16_bits(weight) is not None:
        half = torch.ops.quantized.linear_prepack_fp16(weight.detach(), bias)
        return lambda x: cast(Tensor, torch.ops.quantized.linear_dynamic_fp16(x, half))
    packed = pack_weight(weight)
    return lambda x: multiply(x, packed, bias)


class Product(torch.autograd.Function):
    """A product whose gradient with respect to x is another one."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, product: Multiply, transposed: Multiply) -> Tensor:
        ctx.transposed = transposed
        return product(x)

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None, None]:
        return ctx.transposed(gradients[0].contiguous()), None, None


def pack_two_ways(root: nn.Module) -> None:
    """Replace the nn.Linear layers of *root*, which is frozen, in fp32 and on the CPU, by a TwoWayLinear."""
    for module in root.modules():
        for name, child in list(module.named_children()):
            if type(child) is nn.Linear:
                setattr(module, name, TwoWayLinear(child))


def in_16_bits(weight: Float[Tensor, "out in"]) -> Tensor | None:
    """*weight* as bf16 or fp16 without loss, if fp16 changes each row by at most 2^-24 of its length, as one rounding
    of fp32 would: what was stored in bf16 loses digits below 8e-6 only, what was stored in fp16 none. Else None."""
    for dtype in (torch.bfloat16, torch.float16):
        if all(fits(rows, dtype) for rows in weight.detach().split(ROWS)):  # in parts, which stay in the caches
            return weight.detach().to(dtype)
    return None


def fits(rows: Float[Tensor, "n in"], dtype: torch.dtype) -> bool:
    """Whether *dtype* holds *rows*, and fp16 nearly does."""
    if not torch.equal(rows.to(dtype).float(), rows):
        return False
    change = rows.half().float().sub_(rows)
    return bool((change.norm(dim=1) <= 2**-24 * rows.norm(dim=1)).all())


@cache
def can_pack(dtype: torch.dtype = torch.bfloat16) -> bool:
    """Whether this torch has the operators, and they return the same as F.linear on this machine."""
    x, weight = torch.eye(32, dtype=dtype), torch.arange(32 * 32).view(32, 32).to(dtype)
    try:
        return torch.equal(multiply(x, pack_weight(weight), None), F.linear(x, weight))
    except (AttributeError, RuntimeError, TypeError):
        return False


@cache
def can_pack_half() -> bool:
    """Whether this torch has FBGEMM's operators, and they return the same as F.linear on this machine."""
    x, weight = torch.eye(32), torch.arange(32 * 32).view(32, 32).float()
    try:
        packed = torch.ops.quantized.linear_prepack_fp16(weight, None)
        return torch.equal(torch.ops.quantized.linear_dynamic_fp16(x, packed), F.linear(x, weight))
    except (AttributeError, RuntimeError, TypeError):
        return False


def pack(root: nn.Module, *, shared: bool = False, fp32: bool = False) -> None:
    """Replace the bf16, and with *fp32* the fp32, nn.Linear layers on the CPU below *root*, one at a time, so that
    memory never doubles.

    *root* must be frozen and hold all that shares a weight. *shared*: pack the MLM output tied to the word embeddings
    too, which keeps a second copy, in fp32 of at most MAX_COPY bytes: the table itself must stay plain to be looked up
    in."""
    kinds = {torch.bfloat16: can_pack(), torch.float32: fp32 and can_pack(torch.float32)}
    owners = Counter(id(p) for module in root.modules() for p in module.parameters(recurse=False))
    for module in root.modules():
        for name, child in list(module.named_children()):
            if type(child) is not nn.Linear:
                continue
            weight = child.weight
            if weight.device.type != "cpu" or not kinds.get(weight.dtype):
                continue
            alone = owners[id(weight)] == 1
            if not alone and not shared:
                continue
            narrow = in_16_bits(weight) if weight.dtype == torch.float32 and can_pack_half() else None
            if narrow is not None:
                kept = nn.Parameter(narrow, requires_grad=False) if alone else cast(nn.Parameter, weight)
                setattr(module, name, HalfPackedLinear(child, kept))
            elif alone or weight.dtype == torch.bfloat16 or weight.nbytes <= MAX_COPY:
                setattr(module, name, PackedLinear(child))

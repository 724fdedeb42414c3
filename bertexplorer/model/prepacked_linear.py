"""Linear layers whose weights oneDNN has packed once into its own block order, instead of at every call.

`F.linear` passes a plain row-major matrix to oneDNN (MKL in fp32), which reorders it at every call. For a short
sentence that takes up to three times as long as multiplying. Packing is lossless (`to_dense` returns the same bits) and
needs no extra memory (the packed copy replaces the plain one). The two operators are those that torch.compile inserts
when it freezes a model. They are not public, so `can_pack` tests them first.
"""

from collections import Counter
from functools import cache
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

MAX_COPY = 256_000_000  # bytes


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
            return F.linear(x, self.weight.to_dense(), self.bias)
        return multiply(x, self.weight, self.bias)

    def _save_to_state_dict(self, destination: dict[str, Tensor], prefix: str, keep_vars: bool) -> None:
        super()._save_to_state_dict(destination, prefix, keep_vars)
        destination[prefix + "weight"] = self.weight.to_dense()


@cache
def can_pack(dtype: torch.dtype = torch.bfloat16) -> bool:
    """Whether this torch has the operators, and they return the same as F.linear on this machine."""
    x, weight = torch.eye(32, dtype=dtype), torch.arange(32 * 32).view(32, 32).to(dtype)
    try:
        return torch.equal(multiply(x, pack_weight(weight), None), F.linear(x, weight))
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
            if type(child) is not nn.Linear or child.weight.device.type != "cpu" or not kinds.get(child.weight.dtype):
                continue
            large = child.weight.dtype == torch.float32 and child.weight.nbytes > MAX_COPY
            if owners[id(child.weight)] == 1 or (shared and not large):
                setattr(module, name, PackedLinear(child))

"""Where a BERT goes wrong: each part is computed from what the other program has just before it, and compared.

So a part is wrong by itself, never as a consequence of an earlier one. What would explain it is tried by computing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from bertexplorer.diagnosis.names import LAYER, Part
from bertexplorer.engine.progress import check
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import ACTIVATIONS

LOWEST = torch.finfo(torch.float32).min
SLACK = 32.0  # how many times the typical error of a sum in fp32 is allowed
EPSILONS = (1e-12, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3)

Cause = tuple[str, Callable[[], Tensor]]  # in words, and what it would give


@dataclass(frozen=True)
class Step:
    """One part, compared."""

    part: Part
    difference: float  # the greatest, between theirs and ours from their own input
    tolerance: float
    causes: tuple[str, ...] = ()  # that explain it

    @property
    def wrong(self) -> bool:
        return not self.difference <= self.tolerance


@dataclass(frozen=True, eq=False)
class Input:
    """What goes into both programs: n texts of t tokens, padded on the right."""

    ids: Tensor  # n t
    segments: Tensor  # n t
    mask: Tensor  # n t, True at tokens


def check_architecture(checkpoint: Checkpoint) -> None:
    """Raises ExplorerError unless the checkpoint has BERT's parts, and was opened in fp32."""
    config = checkpoint.config
    if config.norm != "post" or config.relative or config.rope_theta or config.gated or config.embedding_size:
        raise ExplorerError(
            f"{checkpoint.name} is of the family {checkpoint.family}; wanted BERT's architecture (BERT, RoBERTa, "
            "DistilBERT), whose parts are compared. Choose such a checkpoint."
        )
    if checkpoint.precision != "fp32":
        raise ExplorerError(f"{checkpoint.name} was opened in {checkpoint.precision}; open it in fp32 to compare.")


class Walk:
    """A walk through a checkpoint of BERT's architecture, beside the states of another program."""

    def __init__(self, checkpoint: Checkpoint, states: Mapping[Part, Tensor], given: Input) -> None:
        check_architecture(checkpoint)
        config = checkpoint.config
        self.config = config
        self.theirs = states
        self.given = given
        self.weights = {name: tensor.float() for name, tensor in checkpoint.encoder.state_dict().items()}
        self.values: dict[str, Tensor] = {}  # the latest of each part: theirs, or ours where they have none
        self.activation = ACTIVATIONS[config.activation]

    @torch.inference_mode()
    def run(self) -> list[Step]:
        """Every part that the other program has, in the order of the data."""
        steps: list[Step] = []
        self.visit(steps, Part(-1, "embedding_sum"), self.embedding_sum(), self.embedding_causes(), 3)
        self.visit(steps, Part(-1, "embeddings"), *self.normed("embeddings.norm", "embedding_sum"))
        self.values["input"] = self.values["embeddings"]
        for layer in range(self.config.num_layers):
            check()
            for name in LAYER:
                ours, causes, size = self.compute(layer, name)
                self.visit(steps, Part(layer, name), ours, causes, size)
            self.values["input"] = self.values["output"]
        return steps

    def visit(self, steps: list[Step], part: Part, ours: Tensor, causes: list[Cause], size: int) -> None:
        """Compare a part, if they have it. *size*: how many numbers are added up in it."""
        theirs = self.theirs.get(part)
        self.values[part.name] = ours
        if theirs is None:
            return
        if theirs.shape != ours.shape:
            raise ExplorerError(
                f"{part}: got a tensor of the shape {tuple(theirs.shape)}; wanted {tuple(ours.shape)}. Both must read "
                "the same tokens."
            )
        theirs = theirs.float()
        self.values[part.name] = theirs
        tolerance = (
            SLACK * torch.finfo(torch.float32).eps * size**0.5 * max(1.0, float(self.at_tokens(ours).abs().max()))
        )
        difference = self.difference(ours, theirs)
        found = []
        if not difference <= tolerance:
            tried = [(self.difference(value(), theirs), about) for about, value in causes]
            found = [about for distance, about in sorted(tried) if distance <= tolerance]
        steps.append(Step(part, difference, tolerance, tuple(found)))

    def at_tokens(self, x: Tensor) -> Tensor:
        """*x* without what stands at padding, which nobody reads."""
        rows = x.transpose(1, 2) if x.ndim == 4 else x
        return rows[self.given.mask]

    def difference(self, ours: Tensor, theirs: Tensor) -> float:
        """The greatest difference at a token; infinite if a number is not finite."""
        if ours.shape != theirs.shape:
            return float("inf")
        result = float((self.at_tokens(ours) - self.at_tokens(theirs)).abs().max())
        return result if result == result else float("inf")

    # The embeddings.

    def embedding_sum(self, *, shift: int = 0, positions: bool = True, segment: int | None = None) -> Tensor:
        """Word, position and segment vectors. *shift*: of the positions; *segment*: of all tokens, -1 for none."""
        tokens = self.given.ids.shape[1]
        total = self.weights["embeddings.words.weight"][self.given.ids]
        table = self.weights.get("embeddings.positions.weight")
        if positions and table is not None:
            start = self.config.first_position + shift
            rows = torch.arange(start, start + tokens).clamp(0, len(table) - 1)
            total = total + table[rows]
        kinds = self.weights.get("embeddings.segments.weight")
        if kinds is not None and segment != -1:
            total = total + kinds[self.given.segments if segment is None else torch.full_like(self.given.ids, segment)]
        return total

    def embedding_causes(self) -> list[Cause]:
        causes: list[Cause] = [
            ("positions are counted from 1 instead of 0", lambda: self.embedding_sum(shift=1)),
            ("positions are not added", lambda: self.embedding_sum(positions=False)),
            ("segments (token types) are not added", lambda: self.embedding_sum(segment=-1)),
            ("the words alone are taken", lambda: self.embedding_sum(positions=False, segment=-1)),
        ]
        if self.config.num_segments > 1:
            causes.append(("all tokens have segment 1", lambda: self.embedding_sum(segment=1)))
        return causes

    # The parts of a layer.

    def compute(self, layer: int, name: str) -> tuple[Tensor, list[Cause], int]:
        """(a part of *layer* from what they have before it, what may be wrong with it, how many numbers it adds up)."""
        at, values = f"layers.{layer}.", self.values
        match name:
            case "query" | "key" | "value":
                return self.linear(f"{at}attention.{name}", "input", layer)
            case "scores":
                return self.scores(), self.score_causes(), self.config.head_size
            case "weights":
                return self.attention(values["scores"]), self.weight_causes(), self.given.ids.shape[1]
            case "context":
                return self.merged(values["weights"]), self.context_causes(), self.config.hidden_size
            case "attention_dense":
                return self.linear(f"{at}attention.output", "context", layer)
            case "attention_sum":
                return values["input"] + values["attention_dense"], self.sum_causes("attention_dense", "input"), 2
            case "attention_norm":
                return self.normed(f"{at}attention_norm", "attention_sum")
            case _:
                return self.compute_feed_forward(at, layer, name)

    def compute_feed_forward(self, at: str, layer: int, name: str) -> tuple[Tensor, list[Cause], int]:
        values = self.values
        match name:
            case "expand":
                return self.linear(f"{at}feed_forward.expand", "attention_norm", layer)
            case "neurons":
                return self.activation(values["expand"]), self.activation_causes(), 4
            case "contract":
                return self.linear(f"{at}feed_forward.contract", "neurons", layer)
            case "output_sum":
                return values["attention_norm"] + values["contract"], self.sum_causes("contract", "attention_norm"), 2
            case _:
                return self.normed(f"{at}output_norm", "output_sum")

    def linear(self, name: str, source: str, layer: int) -> tuple[Tensor, list[Cause], int]:
        """A linear layer, and what may be wrong with it: its weights transposed, those of another, no bias."""
        x = self.values[source]
        weight, bias = self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias")
        causes: list[Cause] = [
            ("the bias is missing", lambda: F.linear(x, weight)),
        ]
        if weight.shape[0] == weight.shape[1]:
            causes.append(("its weights are transposed", lambda: F.linear(x, weight.T, bias)))
        others = [key.removesuffix(".weight") for key in self.weights if key.startswith(f"layers.{layer}.")]
        kind = name.partition(f"layers.{layer}.")[2]
        others += [f"layers.{other}.{kind}" for other in range(self.config.num_layers) if other != layer]
        for other in others:
            its = self.weights.get(f"{other}.weight")
            if other == name or its is None or its.shape != weight.shape:
                continue
            causes.append((f"its weight is that of {other}", lambda its=its: F.linear(x, its, bias)))  # type: ignore[misc]
            about = f"it has the weights of {other}"
            causes.append((about, lambda its=its, other=other: F.linear(x, its, self.weights.get(f"{other}.bias"))))  # type: ignore[misc]
        for instead in ("input", "embeddings", "query", "attention_dense"):
            other_input = self.values.get(instead)
            if instead != source and other_input is not None and other_input.shape == x.shape:
                about = f"its input is another part ({instead.replace('_', ' ')})"
                causes.append((about, lambda given=other_input: F.linear(given, weight, bias)))  # type: ignore[misc]
        return F.linear(x, weight, bias), causes, weight.shape[1]

    def normed(self, name: str, source: str) -> tuple[Tensor, list[Cause], int]:
        """A LayerNorm, and what may be wrong with it."""
        x = self.values[source]
        weight, bias = self.weights[f"{name}.weight"], self.weights.get(f"{name}.bias")
        size = x.shape[-1]
        own = self.config.norm_eps

        def norm(eps: float = own, scale: Tensor | None = weight, shift: Tensor | None = bias) -> Tensor:
            return F.layer_norm(x, (size,), scale, shift, eps)

        def unbiased() -> Tensor:
            result = (x - x.mean(dim=-1, keepdim=True)) / (x.std(dim=-1, keepdim=True) + own) * weight
            return result if bias is None else result + bias

        causes: list[Cause] = [
            ("the norm is missing", lambda: x),
            ("its weight and bias are missing", lambda: norm(scale=None, shift=None)),
            ("its bias is missing", lambda: norm(shift=None)),
            ("its variance is divided by d - 1 instead of d", unbiased),
        ]
        causes += [
            (f"its eps is {eps:g} instead of {own:g}", lambda eps=eps: norm(eps))  # type: ignore[misc]
            for eps in EPSILONS
            if eps != own
        ]
        return norm(), causes, size

    def heads(self, x: Tensor) -> Tensor:
        """n t d -> n h t k."""
        return x.unflatten(-1, (self.config.num_heads, -1)).transpose(1, 2)

    def scores(self, scale: float | None = None, *, masked: float = 1.0) -> Tensor:
        """q kᵀ / √k, with the lowest number at padding, *masked* times."""
        q, k = self.heads(self.values["query"]), self.heads(self.values["key"])
        scores = q @ k.transpose(-1, -2) * (self.config.head_size**-0.5 if scale is None else scale)
        blocked = ~self.given.mask[:, None, None, :]
        return scores.masked_fill(blocked, LOWEST) if masked else scores

    def attention(self, scores: Tensor) -> Tensor:
        return scores.softmax(dim=-1)

    def merged(self, weights: Tensor) -> Tensor:
        """n h t t -> n t d: each head averages its values, and the heads stand side by side."""
        return (weights @ self.heads(self.values["value"])).transpose(1, 2).flatten(2)

    def score_causes(self) -> list[Cause]:
        return [
            ("the scores are not divided by √k", lambda: self.scores(1.0)),
            ("the scores are divided by √d instead of √k", lambda: self.scores(self.config.hidden_size**-0.5)),
            ("the scores are divided by k instead of √k", lambda: self.scores(1 / self.config.head_size)),
            ("padding is not masked", lambda: self.scores(masked=0)),
        ]

    def weight_causes(self) -> list[Cause]:
        causes: list[Cause] = [(about, lambda make=make: self.attention(make())) for about, make in self.score_causes()]  # type: ignore[misc]
        blocked = ~self.given.mask[:, None, None, :]
        open_ = self.scores(masked=0)
        causes += [
            ("softmax runs over the queries instead of the keys", lambda: self.scores().softmax(dim=-2)),
            ("there is no softmax", self.scores),
            ("padding is masked after the softmax", lambda: open_.softmax(dim=-1).masked_fill(blocked, 0.0)),
            (
                "the mask is multiplied instead of added",
                lambda: (open_ * self.given.mask[:, None, None, :]).softmax(dim=-1),
            ),
            ("1 is added at tokens, where 0 belongs, and 0 at padding", lambda: (open_ + ~blocked).softmax(dim=-1)),
        ]
        return causes

    def context_causes(self) -> list[Cause]:
        causes: list[Cause] = [(about, lambda make=make: self.merged(make())) for about, make in self.weight_causes()]  # type: ignore[misc]
        q, k, v = (self.values[name] for name in ("query", "key", "value"))

        def mixed_up() -> Tensor:
            return (self.values["weights"] @ self.heads(v)).flatten(1).view_as(v)

        def one_head() -> Tensor:
            scores = q @ k.transpose(-1, -2) * self.config.head_size**-0.5
            return scores.masked_fill(~self.given.mask[:, None, :], LOWEST).softmax(dim=-1) @ v

        causes += [
            ("heads are put side by side without swapping heads and tokens first", mixed_up),
            ("there is one head instead of several", one_head),
            (
                "keys are averaged instead of values",
                lambda: (self.values["weights"] @ self.heads(k)).transpose(1, 2).flatten(2),
            ),
        ]
        return causes

    def sum_causes(self, part: str, added: str) -> list[Cause]:
        x, other = self.values[part], self.values[added]
        causes: list[Cause] = [
            ("the residual (what went in) is not added", lambda: x),
            ("the residual is added twice", lambda: x + 2 * other),
            ("the residual is multiplied", lambda: x * other),
        ]
        if added == "attention_norm":
            causes.append(
                ("the residual is the layer's input instead of attention's output", lambda: x + self.values["input"])
            )
        return causes

    def activation_causes(self) -> list[Cause]:
        x = self.values["expand"]
        functions: dict[str, Callable[[Tensor], Tensor]] = {
            "GELU": F.gelu,
            "GELU by tanh": lambda x: F.gelu(x, approximate="tanh"),
            "GELU by a sigmoid": lambda x: x * torch.sigmoid(1.702 * x),
            "ReLU": F.relu,
            "SiLU": F.silu,
            "tanh": torch.tanh,
        }
        causes: list[Cause] = [("there is no activation", lambda: x)]
        causes += [(f"the activation is {name}", lambda f=f: f(x)) for name, f in functions.items()]  # type: ignore[misc]
        return causes

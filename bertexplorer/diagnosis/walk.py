"""Where a BERT goes wrong: each part is computed from what the other program has just before it, and compared.

So a part is wrong by itself, never as a consequence of an earlier one. What would explain it is tried by computing."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor

from bertexplorer.diagnosis.names import Part
from bertexplorer.engine.progress import check
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import ACTIVATIONS

LOWEST = torch.finfo(torch.float32).min
SLACK = 32.0  # how many times the typical error of a sum in fp32 is allowed
EPSILONS = (1e-12, 1e-8, 1e-7, 1e-6, 1e-5, 1e-3)


class Cause(NamedTuple):
    """What may be wrong with a part."""

    about: str
    value: Callable[[], Tensor]  # what it would give


class Computed(NamedTuple):
    """A part, from what the other program has just before it."""

    value: Tensor
    causes: list[Cause]  # what may be wrong with it
    size: int  # how many numbers are added up in each of its own


@dataclass(frozen=True)
class Step:
    """One part, compared."""

    part: Part
    difference: float  # the greatest, between theirs and ours from their own input
    tolerance: float
    causes: tuple[str, ...] = ()  # that explain it

    @property
    def wrong(self) -> bool:
        """Whether it differs by more than rounding; a difference that is not finite does."""
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
        self.config = checkpoint.config
        self.theirs = states
        self.given = given
        self.padding = ~given.mask[:, None, None, :]  # n 1 1 t
        self.weights = {name: tensor.float() for name, tensor in checkpoint.encoder.state_dict().items()}
        self.values: dict[str, Tensor] = {}  # the latest of each part: theirs, or ours where they have none
        self.own: dict[Part, Tensor] = {}  # each part as computed here
        self.activation = ACTIVATIONS[self.config.activation]

    @torch.inference_mode()
    def run(self) -> list[Step]:
        """Every part that the other program has, in the order of the data. Raises ExplorerError for a part of another
        shape."""
        steps: list[Step] = []
        # 1. The embeddings.
        self.visit(steps, Part(-1, "embedding_sum"), Computed(self.embedding_sum(), self.embedding_causes(), 3))
        self.visit(steps, Part(-1, "embeddings"), self.normed("embeddings.norm", "embedding_sum"))
        self.values["input"] = self.values["embeddings"]
        # 2. The layers, each from the one before.
        for layer in range(self.config.num_layers):
            check()
            for name, computed in self.parts(layer):
                self.visit(steps, Part(layer, name), computed)
            self.values["input"] = self.values["output"]
        return steps

    def visit(self, steps: list[Step], part: Part, ours: Computed) -> None:
        """Compare a part, if they have it, add it to *steps*, and go on from theirs."""
        theirs = self.theirs.get(part)
        self.values[part.name] = ours.value
        self.own[part] = ours.value
        if theirs is None:
            return
        if theirs.shape != ours.value.shape:
            raise ExplorerError(
                f"{part}: got a tensor of the shape {tuple(theirs.shape)}; wanted {tuple(ours.value.shape)}. Both "
                "must read the same tokens."
            )
        theirs = theirs.float()
        self.values[part.name] = theirs
        # 1. Does it differ by more than rounding?
        largest = float(self.at_tokens(ours.value).abs().max())
        tolerance = SLACK * torch.finfo(torch.float32).eps * ours.size**0.5 * max(1.0, largest)
        difference = self.difference(ours.value, theirs)
        if difference <= tolerance:
            steps.append(Step(part, difference, tolerance))
            return
        # 2. What would make it differ so? The nearest first.
        explaining = []
        for cause in ours.causes:
            distance = self.difference(cause.value(), theirs)
            if distance <= tolerance:
                explaining.append((distance, cause.about))
        causes = tuple(about for _, about in sorted(explaining))
        steps.append(Step(part, difference, tolerance, causes))

    def at_tokens(self, x: Tensor) -> Tensor:
        """*x* without what stands at padding, which nobody reads."""
        rows = x.transpose(1, 2) if x.ndim == 4 else x
        return rows[self.given.mask]

    def difference(self, ours: Tensor, theirs: Tensor) -> float:
        """The greatest difference at a token; infinite if a number is not finite."""
        if ours.shape != theirs.shape:
            return float("inf")
        result = float((self.at_tokens(ours) - self.at_tokens(theirs)).abs().max())
        return float("inf") if math.isnan(result) else result

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
            segments = self.given.segments if segment is None else torch.full_like(self.given.ids, segment)
            total = total + kinds[segments]
        return total

    def embedding_causes(self) -> list[Cause]:
        """What may be wrong with the sum of the vectors."""
        total = self.embedding_sum
        causes = [
            Cause("positions are counted from 1 instead of 0", partial(total, shift=1)),
            Cause("positions are not added", partial(total, positions=False)),
            Cause("segments (token types) are not added", partial(total, segment=-1)),
            Cause("the words alone are taken", partial(total, positions=False, segment=-1)),
        ]
        if self.config.num_segments > 1:
            causes.append(Cause("all tokens have segment 1", partial(total, segment=1)))
        return causes

    # The parts of a layer.

    def parts(self, layer: int) -> Iterator[tuple[str, Computed]]:
        """The parts of *layer* by their names, in the order of the data. Each is computed when its turn comes, from
        what they have before it."""
        at = f"layers.{layer}."
        values = self.values
        # 1. Attention.
        for name in ("query", "key", "value"):
            yield name, self.linear(layer, f"attention.{name}", "input", norm=f"{at}attention_norm")
        yield "scores", Computed(self.scores(), self.score_causes(), self.config.head_size)
        tokens = self.given.ids.shape[1]
        yield "weights", Computed(values["scores"].softmax(dim=-1), self.weight_causes(), tokens)
        yield "context", Computed(self.merged(values["weights"]), self.context_causes(), self.config.hidden_size)
        yield "attention_dense", self.linear(layer, "attention.output", "context")
        yield "attention_sum", self.added("attention_dense", "input")
        yield "attention_norm", self.normed(f"{at}attention_norm", "attention_sum")
        # 2. The feed-forward half.
        yield "expand", self.linear(layer, "feed_forward.expand", "attention_norm", norm=f"{at}output_norm")
        yield "neurons", Computed(self.activation(values["expand"]), self.activation_causes(), 4)
        yield "contract", self.linear(layer, "feed_forward.contract", "neurons")
        yield "output_sum", self.added("contract", "attention_norm")
        yield "output", self.normed(f"{at}output_norm", "output_sum")

    def linear(self, layer: int, kind: str, source: str, norm: str = "") -> Computed:
        """The linear layer *kind* of *layer*, such as "attention.query". *norm*: the one that would stand before it if
        norms stood before their halves."""
        name = f"layers.{layer}.{kind}"
        x = self.values[source]
        weight = self.weights[f"{name}.weight"]
        bias = self.weights.get(f"{name}.bias")
        # 1. Its own weights, used otherwise.
        causes = [Cause("the bias is missing", partial(F.linear, x, weight))]
        if weight.shape[0] == weight.shape[1]:
            causes.append(Cause("its weights are transposed", partial(F.linear, x, weight.T, bias)))
        # 2. The weights of another part of this layer, or of the same part of another layer.
        others = [key.removesuffix(".weight") for key in self.weights if key.startswith(f"layers.{layer}.")]
        others += [f"layers.{other}.{kind}" for other in range(self.config.num_layers)]
        for other in others:
            its_weight = self.weights.get(f"{other}.weight")
            its_bias = self.weights.get(f"{other}.bias")
            if other == name or its_weight is None or its_weight.shape != weight.shape:
                continue
            causes.append(Cause(f"its weight is that of {other}", partial(F.linear, x, its_weight, bias)))
            causes.append(Cause(f"it has the weights of {other}", partial(F.linear, x, its_weight, its_bias)))
        # 3. Another input.
        for instead in ("input", "embeddings", "query", "attention_dense"):
            other_input = self.values.get(instead)
            if instead != source and other_input is not None and other_input.shape == x.shape:
                about = f"its input is another part ({instead.replace('_', ' ')})"
                causes.append(Cause(about, partial(F.linear, other_input, weight, bias)))
        if norm:
            normed = self.norm(norm, x)
            about = "the LayerNorm stands before it instead of after"
            causes.append(Cause(about, partial(F.linear, normed, weight, bias)))
        return Computed(F.linear(x, weight, bias), causes, size=weight.shape[1])

    def norm(self, name: str, x: Tensor) -> Tensor:
        """*x* after the LayerNorm *name*."""
        weight = self.weights[f"{name}.weight"]
        bias = self.weights.get(f"{name}.bias")
        return F.layer_norm(x, x.shape[-1:], weight, bias, self.config.norm_eps)

    def normed(self, name: str, source: str) -> Computed:
        """A LayerNorm, and what may be wrong with it."""
        x = self.values[source]
        weight = self.weights[f"{name}.weight"]
        bias = self.weights.get(f"{name}.bias")
        size = x.shape[-1]
        own_eps = self.config.norm_eps
        norm = partial(F.layer_norm, x, (size,))

        def unbiased() -> Tensor:
            result = (x - x.mean(dim=-1, keepdim=True)) / (x.std(dim=-1, keepdim=True) + own_eps) * weight
            return result if bias is None else result + bias

        causes = [
            Cause("the norm is missing", lambda: x),
            Cause("its weight and bias are missing", partial(norm, None, None, own_eps)),
            Cause("its bias is missing", partial(norm, weight, None, own_eps)),
            Cause("its variance is divided by d - 1 instead of d", unbiased),
        ]
        for eps in EPSILONS:
            if eps != own_eps:
                causes.append(Cause(f"its eps is {eps:g} instead of {own_eps:g}", partial(norm, weight, bias, eps)))
        return Computed(norm(weight, bias, own_eps), causes, size)

    def added(self, part: str, residual: str) -> Computed:
        """A sum with what went in, the *residual*, and what may be wrong with it."""
        x = self.values[part]
        other = self.values[residual]
        causes = [
            Cause("the residual (what went in) is not added", lambda: x),
            Cause("the residual is added twice", lambda: x + 2 * other),
            Cause("the residual is multiplied", lambda: x * other),
        ]
        if residual == "attention_norm":
            instead = self.values["input"]
            about = "the residual is the layer's input instead of attention's output"
            causes.append(Cause(about, lambda: x + instead))
        return Computed(x + other, causes, size=2)

    # Attention.

    def heads(self, x: Tensor) -> Tensor:
        """n t d -> n h t k."""
        return x.unflatten(-1, (self.config.num_heads, -1)).transpose(1, 2)

    def scores(self, scale: float | None = None, *, masked: bool = True) -> Tensor:
        """q kᵀ / √k, n h t t, with the lowest number at padding. *scale*: in place of 1 / √k."""
        if scale is None:
            scale = self.config.head_size**-0.5
        q = self.heads(self.values["query"])
        k = self.heads(self.values["key"])
        scores = q @ k.transpose(-1, -2) * scale
        return scores.masked_fill(self.padding, LOWEST) if masked else scores

    def merged(self, weights: Tensor) -> Tensor:
        """n h t t -> n t d: each head averages its values, and the heads stand side by side."""
        return (weights @ self.heads(self.values["value"])).transpose(1, 2).flatten(2)

    def score_causes(self) -> list[Cause]:
        """What may be wrong with the scores."""
        return [
            Cause("the scores are not divided by √k", partial(self.scores, 1.0)),
            Cause("the scores are divided by √d instead of √k", partial(self.scores, self.config.hidden_size**-0.5)),
            Cause("the scores are divided by k instead of √k", partial(self.scores, 1 / self.config.head_size)),
            Cause("padding is not masked", partial(self.scores, masked=False)),
        ]

    def weight_causes(self) -> list[Cause]:
        """What may be wrong with the weights: with their scores, which many programs do not keep, or with the
        softmax."""
        causes = [Cause(cause.about, partial(softmax_of, cause.value)) for cause in self.score_causes()]
        unmasked = self.scores(masked=False)
        padding = self.padding
        tokens = ~padding

        def masked_twice(lowest: float) -> Tensor:
            """A mask that was extended, to 0 and *lowest*, and then once more: (1 - 0) · lowest is added at every
            token, and the scores lose digits in it."""
            return (unmasked + lowest).masked_fill(padding, float("-inf")).softmax(dim=-1)

        causes += [
            Cause("softmax runs over the queries instead of the keys", lambda: self.scores().softmax(dim=-2)),
            Cause("there is no softmax", self.scores),
            Cause("padding is masked after the softmax", lambda: unmasked.softmax(dim=-1).masked_fill(padding, 0.0)),
            Cause("the mask is multiplied instead of added", lambda: (unmasked * tokens).softmax(dim=-1)),
            Cause("the mask is extended twice, so the lowest number hides the scores", partial(masked_twice, LOWEST)),
            Cause(
                "the mask is extended twice, so -10,000 takes digits from the scores", partial(masked_twice, -10_000.0)
            ),
            Cause(
                "1 is added at tokens, where 0 belongs, and 0 at padding", lambda: (unmasked + tokens).softmax(dim=-1)
            ),
        ]
        return causes

    def context_causes(self) -> list[Cause]:
        """What may be wrong with the heads' outputs: with their weights, which many programs do not keep, or with how
        the values are averaged."""
        causes = [Cause(cause.about, partial(self.merged_of, cause.value)) for cause in self.weight_causes()]
        q = self.values["query"]
        k = self.values["key"]
        v = self.values["value"]
        weights = self.values["weights"]

        def mixed_up() -> Tensor:
            return (weights @ self.heads(v)).flatten(1).view_as(v)

        def one_head() -> Tensor:
            scores = q @ k.transpose(-1, -2) * self.config.head_size**-0.5
            return scores.masked_fill(self.padding[:, 0], LOWEST).softmax(dim=-1) @ v

        def of_keys() -> Tensor:
            return (weights @ self.heads(k)).transpose(1, 2).flatten(2)

        causes += [
            Cause("heads are put side by side without swapping heads and tokens first", mixed_up),
            Cause("there is one head instead of several", one_head),
            Cause("keys are averaged instead of values", of_keys),
        ]
        return causes

    def merged_of(self, weights: Callable[[], Tensor]) -> Tensor:
        """As `merged`, of weights that are computed when it is called."""
        return self.merged(weights())

    # The feed-forward half.

    def activation_causes(self) -> list[Cause]:
        """What may be wrong with the activation."""
        x = self.values["expand"]
        functions: dict[str, Callable[[Tensor], Tensor]] = {
            "GELU": F.gelu,
            "GELU by tanh": partial(F.gelu, approximate="tanh"),
            "GELU by a sigmoid": gelu_by_sigmoid,
            "ReLU": F.relu,
            "SiLU": F.silu,
            "tanh": torch.tanh,
        }
        causes = [Cause("there is no activation", lambda: x)]
        for name, function in functions.items():
            causes.append(Cause(f"the activation is {name}", partial(function, x)))
        return causes


def gelu_by_sigmoid(x: Tensor) -> Tensor:
    """The approximation x σ(1.702 x) of GELU."""
    return x * torch.sigmoid(1.702 * x)


def softmax_of(scores: Callable[[], Tensor]) -> Tensor:
    """The softmax over the keys, of scores that are computed when it is called."""
    return scores().softmax(dim=-1)

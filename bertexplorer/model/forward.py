"""The result of a pass through the encoder, and interventions in a pass while it runs."""

from dataclasses import dataclass

from jaxtyping import Float, Int
from torch import Tensor


@dataclass(frozen=True)
class Forward:
    """The result of one pass through the encoder. Each tensor has a row for each of the t tokens; those of the last
    layer have q rows if only some positions were requested."""

    hidden: tuple[Float[Tensor, "b _ d"], ...]  # 1 + l of them; hidden[0] is the input of the first layer
    attention: tuple[
        Float[Tensor, "b h _ t"], ...
    ] = ()  # l of them if requested; rows (the tokens that look) sum to 1. Or
    # b h _ 1: what each row gives to the tokens that were asked for
    head_outputs: tuple[Float[Tensor, "b h _ k"], ...] = ()  # l of them if requested; before the output projection

    @property
    def last(self) -> Float[Tensor, "b q d"]:
        return self.hidden[-1]


@dataclass(frozen=True)
class Intervention:
    """Changes made to a pass while it runs. Layers and heads are 0-based. With a leading dimension b, each row of the
    batch has its own."""

    head_mask: Float[Tensor, "*b l h"] | None = None  # factor on each head's output; 0 turns the head off
    fill: Float[Tensor, "*f l h _ k"] | None = None  # replaces the output of masked heads: 1 or t rows
    neuron_mask: Float[Tensor, "*b l n"] | None = None  # factor on each neuron of the feed-forward halves; 0: off
    causal: bool = False  # each token sees itself and the tokens to its left
    prefix: Int[Tensor, " b"] | None = None  # causal, but every token sees the first *prefix* tokens of its row

    def apply(
        self, layer: int, context: Float[Tensor, "b h q k"], positions: Int[Tensor, " q"] | None = None
    ) -> Float[Tensor, "b h q k"]:
        """The outputs of a layer's heads (at *positions* only, if given) after the change: m x + (1 - m) fill."""
        if self.head_mask is None:
            return context
        keep = self.head_mask[..., layer, :, None, None].to(context)
        changed = context * keep
        if self.fill is not None:
            fill = self.fill[..., layer, :, :, :].to(context)
            if positions is not None and fill.shape[-2] > 1:
                fill = fill[..., positions, :]
            changed = changed + (1 - keep) * fill
        return changed

    def neuron_factor(self, layer: int) -> Float[Tensor, "*b 1 n"] | None:
        """What a layer's neurons are multiplied by at every token; None: nothing."""
        return None if self.neuron_mask is None else self.neuron_mask[..., layer, None, :]


NO_CHANGE, CAUSAL = Intervention(), Intervention(causal=True)

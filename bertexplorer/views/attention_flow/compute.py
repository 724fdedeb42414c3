"""Attention flow: how much of each input token can reach a token of a later layer, through the layers in between."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.attention_weights import check_length, ordinary_tokens, rescale, residual, rollout
from bertexplorer.answers.heads import check_number
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

FLOW_TOKENS = 64  # one maximum flow for each layer and token takes about a second in all
FLOW_PICKED = 8
KEYS, MEASURE = ("layer", "from", "to", "to_position"), "value"
UNITS = 1_000_000  # an attention of 1 is divided into this many whole units, in which the flow is exact


@dataclass(frozen=True)
class Options:
    method: Annotated[Literal["rollout", "flow", "raw"], Option("Method", info="raw: that layer's own attention")] = (
        "rollout"
    )
    layer: Annotated[int, Option("Layer", 0, 100, info="the one whose bars are drawn; 0: the last")] = 0
    special: Annotated[
        Literal["shown", "left out"],
        Option("[CLS] and [SEP]", info="left out: in each layer the rest is scaled up to 100 %"),
    ] = "shown"


@dataclass(frozen=True)
class AttentionFlow:
    """From the tokens that the view is about, at each of l layers, back to the t input tokens."""

    method: str  # rollout, flow or raw
    tokens: tuple[str, ...]  # without [CLS] and [SEP] if these are left out
    about: tuple[int, ...]  # among these, 0-based: the picked ones, else the first mask, else the first
    picked: bool
    layer: int  # 0-based; the layer that is shown
    shares: Float[np.ndarray, "l t"]  # by the method, averaged over *about*; rows sum to 1, except for flow
    raw: Float[np.ndarray, "l t"]  # attention of the layer itself, averaged over heads and *about*
    left_out: int  # tokens beyond the checkpoint's limit
    positions: tuple[int, ...]  # of the tokens in the text, 0-based
    special: str = "shown"  # or left out


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> AttentionFlow:
    """Attention averaged over the heads of each layer, followed back to the input; without [CLS] and [SEP], if so
    wanted, as if nothing could pass through them. Raises ExplorerError for a layer that does not exist and, for flow,
    beyond 64 tokens or 8 picked ones."""
    layer = options.layer or checkpoint.config.num_layers
    check_number(layer, checkpoint.config.num_layers, "layer")
    encoding = checkpoint.tokenizer.encode(text)
    check_length(encoding, checkpoint.config.num_layers * checkpoint.config.num_heads)
    shown = list(range(len(encoding))) if options.special == "shown" else ordinary_tokens(encoding)
    wanted = encoding.picked or encoding.masked[:1]
    about = [shown.index(i) for i in wanted if i in shown] or [0]
    if options.method == "flow":
        check_flow_size(encoding, len(about))
    attention = engine.attentions(checkpoint, encoding).mean(dim=1).numpy()
    if options.special == "left out":
        attention = rescale(attention[:, shown][..., shown])
    raw = attention[:, about].mean(axis=1)
    shares = raw
    if options.method == "rollout":
        shares = rollout(attention)[:, about].mean(axis=1)
    elif options.method == "flow":
        shares = np.mean([flow(attention, token) for token in about], axis=0)
    return AttentionFlow(
        method=options.method,
        tokens=checkpoint.tokenizer.show_all([encoding.ids[i] for i in shown]),
        about=tuple(about),
        picked=any(i in shown for i in encoding.picked),
        layer=layer - 1,
        shares=shares,
        raw=raw,
        left_out=encoding.left_out,
        positions=tuple(shown),
        special=options.special,
    )


def check_flow_size(encoding: Encoding, picked: int) -> None:
    """Raises ExplorerError if the flow would take too long."""
    if len(encoding) > FLOW_TOKENS:
        raise ExplorerError(
            f"The text has {len(encoding):,} tokens; flow is computed for {FLOW_TOKENS} at most, because each token of "
            "each layer needs its own search. Shorten the text, or choose rollout."
        )
    if picked > FLOW_PICKED:
        raise ExplorerError(
            f"{picked} tokens are picked; flow is computed for {FLOW_PICKED} at most. Pick fewer, or choose rollout."
        )


def flow(attention: Float[np.ndarray, "l t t"], token: int) -> Float[np.ndarray, "l t"]:
    """Attention flow: [i, b] is the maximum flow from *token* after layer i (0-based) to input token b.

    The capacity of each edge in the graph of layers is A' = 0.5 A + 0.5 I (Abnar and Zuidema, 2020, section 3). Values
    are between 0 and 1; rows need not sum to 1. Exact to 1 / UNITS for each edge. Time grows with l² t³."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_flow

    layers, tokens, _ = attention.shape
    capacity = np.rint(UNITS * residual(attention)).astype(np.int32)
    layer, high, low = np.nonzero(capacity)  # an edge leads from token *high* after a layer to token *low* before it
    values = capacity[layer, high, low]
    start = (layer + 1) * tokens + high  # node (i, a) is number i t + a; the input tokens are layer 0
    end = layer * tokens + low
    flows = np.zeros((layers, tokens))
    flows[0] = capacity[0, token]  # a single edge
    for top in range(1, layers):
        size = (top + 2) * tokens
        below = layer <= top
        graph = csr_array((values[below], (start[below], end[below])), shape=(size, size))
        source = (top + 1) * tokens + token
        flows[top] = [maximum_flow(graph, source, sink).flow_value for sink in range(tokens)]
    return flows / UNITS


def rows(result: AttentionFlow) -> list[dict[str, object]]:
    """A row for each layer (1-based) and input token."""
    source = " ".join(result.tokens[i] for i in result.about)
    return [
        {
            "layer": layer + 1,
            "from": source,
            "to_position": result.positions[i],
            "to": token,
            "method": result.method,
            "value": float(result.shares[layer, i]),
            "raw_attention": float(result.raw[layer, i]),
        }
        for layer in range(len(result.shares))
        for i, token in enumerate(result.tokens)
    ]


def is_share(result: AttentionFlow) -> bool:
    """Whether the numbers are shares: what reaches a token is one, by any method."""
    return True


class Facts(facts.Facts[AttentionFlow]):
    """At the layer of the view."""

    def share(self, token: str, nth: int = 1) -> float:
        """The share of the view's tokens that comes from this input token, by the method."""
        return float(self._result.shares[self._result.layer, facts.label_index(self._result.tokens, token, nth)])

    def raw(self, token: str, nth: int = 1) -> float:
        """Attention of the layer itself to this token, averaged over heads, 0 to 1."""
        return float(self._result.raw[self._result.layer, facts.label_index(self._result.tokens, token, nth)])

    def top(self) -> str:
        """The input token with the largest share."""
        return self._result.tokens[int(self._result.shares[self._result.layer].argmax())]

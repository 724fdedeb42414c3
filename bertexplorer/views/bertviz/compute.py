"""BertViz: the data of its head view, model view and neuron view (Vig, 2019)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.attention_weights import ordinary_tokens, rescale
from bertexplorer.answers.heads import parse_layers
from bertexplorer.answers.strongest_heads import HeadLink, is_word, strongest_links
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts
from bertexplorer.wording import counted, plural

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_NUMBERS = {"head": 700_000, "model": 160_000, "neuron": 700_000}  # that a browser draws in a second
MAX_TOKENS = {"head": 128, "model": 64, "neuron": 48}  # tokens, even for a single layer
KEYS, MEASURE = ("layer", "head", "from", "to"), "weight"


@dataclass(frozen=True)
class Options:
    kind: Annotated[
        Literal["head", "model", "neuron"],
        Option("View", info="head: lines of one layer; model: all heads; neuron: queries and keys"),
    ] = "head"
    layers: Annotated[str, Option("Layers", info="such as 1-4 or 2, 5; empty: all")] = ""
    special: Annotated[
        Literal["shown", "left out"], Option("[CLS] and [SEP]", info="left out: the rest is scaled up to 100 %")
    ] = "shown"


@dataclass(frozen=True)
class BertViz:
    """m chosen layers with all their heads."""

    kind: str  # head, model or neuron
    tokens: tuple[str, ...]
    second: int | None  # position of the first token of the second text
    layers: tuple[int, ...]  # 0-based, ascending
    attention: Float[np.ndarray, "m h t t"]  # rows sum to 1
    queries: Float[np.ndarray, "m h t k"] | None  # for the neuron view
    keys: Float[np.ndarray, "m h t k"] | None
    left_out: int  # tokens beyond the checkpoint's limit
    link: HeadLink | None = None  # the strongest between two words in these layers; its positions count the tokens
    special: str = "shown"  # or left out
    distances: bool = False  # whether distances add to the scores of queries and keys (MPNet, DeBERTa)


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> BertViz:
    """Attention of the chosen layers; for the neuron view the query and key vectors too. Raises ExplorerError for an
    unknown layer, and where a browser would freeze: each line of BertViz is an element of the page."""
    config = checkpoint.config
    layers = parse_layers(options.layers, config.num_layers)
    encoding = checkpoint.tokenizer.encode(text)
    numbers = len(encoding) ** 2  # of one head
    if options.kind == "neuron":
        numbers += 2 * len(encoding) * config.head_size
    check_size(options.kind, len(encoding), numbers * config.num_heads, len(layers))
    indices = list(layers)
    shown = list(range(len(encoding))) if options.special == "shown" else ordinary_tokens(encoding)
    attention = engine.attentions(checkpoint, encoding).numpy()[indices]
    if options.special == "left out":
        attention = rescale(attention[:, :, shown][..., shown])
    queries = keys = None
    if options.kind == "neuron":
        both = engine.queries_and_keys(checkpoint, encoding)
        queries, keys = (tensor.numpy()[indices][:, :, shown] for tensor in both)
    words = is_word(checkpoint, encoding)
    start = encoding.second_start
    return BertViz(
        kind=options.kind,
        tokens=checkpoint.tokenizer.show_all([encoding.ids[i] for i in shown]),
        second=None if start is None else sum(i < start for i in shown),
        layers=layers,
        attention=attention,
        queries=queries,
        keys=keys,
        left_out=encoding.left_out,
        link=strongest_link(attention, [words[i] for i in shown]),
        distances=bool(config.relative),
        special=options.special,
    )


def strongest_link(attention: Float[np.ndarray, "m h t t"], words: list[bool]) -> HeadLink | None:
    """The strongest link between two words, in a head that does not always look the same distance away. Its layer
    counts the chosen ones."""
    links = strongest_links(attention, range(len(words)), words)
    return links[0] if links and not links[0].positional else None


def check_size(kind: str, tokens: int, layer: int, layers: int) -> None:
    """Raises ExplorerError with a lighter choice if there are too many numbers. *layer*: the numbers of one layer."""
    if tokens <= MAX_TOKENS[kind] and layer * layers <= MAX_NUMBERS[kind]:
        return
    instead = "Shorten it"
    if tokens <= MAX_TOKENS[kind] and layer <= MAX_NUMBERS[kind]:
        possible = counted(MAX_NUMBERS[kind] // layer, "layer")
        instead = f"Name up to {possible} in the options, or shorten the text"
    raise ExplorerError(
        f"The text has {tokens:,} tokens, and the {kind} view of BertViz would freeze the page with {layers} "
        f"{plural('layer', layers)} of it. {instead}; the view 'Heads' draws long texts."
    )


def rows(result: BertViz) -> list[dict[str, object]]:
    """A row for each layer and head (1-based) and pair of tokens."""
    return [
        {
            "layer": result.layers[m] + 1,
            "head": head + 1,
            "from_position": i,
            "from": result.tokens[i],
            "to_position": j,
            "to": result.tokens[j],
            "weight": float(value),
        }
        for (m, head, i, j), value in np.ndenumerate(result.attention)
    ]


class Facts(facts.Facts[BertViz]):
    def attention(self, layer: int, head: int, source: str, target: str) -> float:
        """What the token *source* gives to *target* in one head of the layers that are drawn, 0 to 1."""
        row = facts.name_index([str(i + 1) for i in self._result.layers], str(layer), "layer")
        tokens = self._result.tokens
        return float(
            self._result.attention[
                row,
                facts.zero_based(head, self._result.attention.shape[1], "head"),
                facts.label_index(tokens, source),
                facts.label_index(tokens, target),
            ]
        )

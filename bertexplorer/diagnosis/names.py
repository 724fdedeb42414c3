"""The names of a BERT's parts in other programs: Hugging Face's, the minBERT course's, and a map of one's own."""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from bertexplorer.errors import ExplorerError


class Part(NamedTuple):
    """A tensor on the way through the encoder: its layer, -1 before the first, and its name of ORDER."""

    layer: int
    name: str

    def __str__(self) -> str:
        where = f"layer {self.layer + 1}, " if self.layer >= 0 else ""
        return f"{where}{WORDS[self.name]}"


WORDS = {  # in the order in which a text meets them
    "embedding_sum": "the sum of word, position and segment vectors",
    "embeddings": "the embeddings after LayerNorm",
    "query": "the queries",
    "key": "the keys",
    "value": "the values",
    "scores": "the scores",
    "weights": "the attention weights",
    "context": "the heads' outputs, side by side",
    "attention_dense": "the attention's output layer",
    "attention_sum": "the sum with the attention's input",
    "attention_norm": "the LayerNorm after attention",
    "expand": "the first feed-forward layer",
    "neurons": "the activation of the feed-forward layer",
    "contract": "the second feed-forward layer",
    "output_sum": "the sum with the feed-forward layer's input",
    "output": "the layer's output after LayerNorm",
}
PATTERNS = tuple(  # module -> (part of its input, part of its output)
    (re.compile(rf"(?:.*\.)?{pattern}"), given, made)
    for pattern, given, made in (
        (r"embeddings\.LayerNorm|embed_layer_norm", "embedding_sum", "embeddings"),
        (r"embeddings", "", "embeddings"),
        (r"layers?\.(\d+)\.attention\.self\.query|bert_layers\.(\d+)\.self_attention\.query", "", "query"),
        (r"layers?\.(\d+)\.attention\.self\.key|bert_layers\.(\d+)\.self_attention\.key", "", "key"),
        (r"layers?\.(\d+)\.attention\.self\.value|bert_layers\.(\d+)\.self_attention\.value", "", "value"),
        (r"layers?\.(\d+)\.attention\.self|bert_layers\.(\d+)\.self_attention", "", "context"),
        (
            r"layers?\.(\d+)\.attention\.output\.dense|bert_layers\.(\d+)\.attention_dense",
            "context",
            "attention_dense",
        ),
        (
            r"layers?\.(\d+)\.attention\.output\.LayerNorm|bert_layers\.(\d+)\.attention_layer_norm",
            "attention_sum",
            "attention_norm",
        ),
        (r"layers?\.(\d+)\.intermediate\.dense|bert_layers\.(\d+)\.interm_dense", "", "expand"),
        (r"layers?\.(\d+)\.intermediate", "", "neurons"),
        (r"layers?\.(\d+)\.output\.dense|bert_layers\.(\d+)\.out_dense", "neurons", "contract"),
        (r"layers?\.(\d+)\.output\.LayerNorm|bert_layers\.(\d+)\.out_layer_norm", "output_sum", "output"),
        (r"layers?\.(\d+)|bert_layers\.(\d+)", "", "output"),
    )
)
OWN = re.compile(r"(?:layers\.(\d+)\.)?(\w+)")  # layers.0.query


def parts_of(module: str, names: Mapping[str, str]) -> tuple[Part | None, Part | None]:
    """(the part that goes into *module*, the part that comes out of it), by its name. *names*: its name elsewhere ->
    ours, such as {"blocks.0.q": "layers.0.query"}."""
    module = names.get(module, module)
    own = OWN.fullmatch(module)
    if own and own[2] in WORDS:
        return None, Part(int(own[1] or -1), own[2])
    for pattern, given, made in PATTERNS:
        match = pattern.fullmatch(module)
        if match:
            layer = next((int(group) for group in match.groups() if group), -1)
            return (Part(layer, given) if given else None), Part(layer, made)
    return None, None


def check_names(names: Mapping[str, str], known: Iterable[str]) -> None:
    """Raises ExplorerError for a map with a name that does not exist on either side."""
    known = set(known)
    for theirs, ours in names.items():
        if theirs not in known:
            raise ExplorerError(f"There is no {theirs!r:.80}; there are {', '.join(sorted(known))[:300]}.")
        if parts_of(ours, {}) == (None, None):
            raise ExplorerError(f"{ours!r:.80} is no part of a BERT; wanted layers.0.query, or {', '.join(WORDS)}.")

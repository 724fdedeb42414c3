"""MPNet (Song et al., 2020): BERT's layers; a learned number for each distance adds to the attention scores."""

from dataclasses import replace
from typing import Any

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import roberta

MODEL_TYPES = ("mpnet",)
CLASSES = ("MPNet",)
PREFIX = "mpnet."
DISTANCES = 32
FARTHEST = 128
PAD_ID = 1


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises ValueError for another table of distances than the published one, and for another
    padding id, which transformers does not read either."""
    rows = hf.get("relative_attention_num_buckets", DISTANCES)
    if rows != DISTANCES:
        raise ValueError(f"it gives relative_attention_num_buckets = {rows!r}; only {DISTANCES} are supported.")
    if (pad_id := hf.get("pad_token_id", PAD_ID)) != PAD_ID:
        raise ValueError(f"it gives pad_token_id = {pad_id!r}; MPNet's positions are counted from {PAD_ID}.")
    plain = roberta.config({"type_vocab_size": 0, "pad_token_id": PAD_ID} | hf)
    return replace(
        plain,
        num_segments=0,
        relative="number",
        distances=DISTANCES,
        farthest=FARTHEST,
        sequence_dropout=plain.dropout,
        token_dropout=plain.dropout,
    )


LAYER = f"{PREFIX}encoder.layer.#."
NAMES = {name: theirs for name, theirs in roberta.NAMES.items() if not name.startswith("encoder.")} | {
    "encoder.embeddings.words": f"{PREFIX}embeddings.word_embeddings",
    "encoder.embeddings.positions": f"{PREFIX}embeddings.position_embeddings",
    "encoder.embeddings.norm": f"{PREFIX}embeddings.LayerNorm",
    "encoder.relative.table": f"{PREFIX}encoder.relative_attention_bias",
    "encoder.layers.#.attention.query": f"{LAYER}attention.attn.q",
    "encoder.layers.#.attention.key": f"{LAYER}attention.attn.k",
    "encoder.layers.#.attention.value": f"{LAYER}attention.attn.v",
    "encoder.layers.#.attention.output": f"{LAYER}attention.attn.o",
    "encoder.layers.#.attention_norm": f"{LAYER}attention.LayerNorm",
    "encoder.layers.#.feed_forward.expand": f"{LAYER}intermediate.dense",
    "encoder.layers.#.feed_forward.contract": f"{LAYER}output.dense",
    "encoder.layers.#.output_norm": f"{LAYER}output.LayerNorm",
    "pooler.dense": f"{PREFIX}pooler.dense",
}
COPIES = roberta.COPIES
UNREAD = STRAYS = ()

"""DeBERTa-v2 and v3 (He et al., 2021 and 2023): no positions in the embeddings; a vector for each distance meets the
queries and keys of every layer (disentangled attention)."""

from dataclasses import replace
from typing import Any

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import bert

MODEL_TYPES = ("deberta-v2",)  # v3 has the same layers and says so
CLASSES = ("DebertaV2",)
PREFIX = "deberta."
STRAYS = (r"embeddings\.position_embeddings\.",)  # in files, but added to nothing where inputs have no positions
PUBLISHED = {  # what the checkpoints of Microsoft have in common, apart from the convolution of the largest ones
    "relative_attention": (True, False),
    "share_att_key": (True, False),
    "position_biased_input": (False, True),
    "norm_rel_ebd": ("layer_norm", "none"),
    "conv_kernel_size": (0, 0),
}  # key -> (the value that is computed here, that of transformers if config.json says nothing)


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises ValueError for a layout that no small published checkpoint has, such as the
    convolution of deberta-v2-xlarge."""
    for key, (wanted, silent) in PUBLISHED.items():
        if hf.get(key, silent) != wanted:
            raise ValueError(f"it gives {key} = {hf.get(key, silent)!r}; only {wanted!r} is supported.")
    kinds = hf.get("pos_att_type") or ""
    if set(kinds.split("|") if isinstance(kinds, str) else kinds) != {"c2p", "p2c"}:
        raise ValueError(f"it gives pos_att_type = {kinds!r}; only 'p2c|c2p' is supported.")
    width, size = hf.get("embedding_size", hf["hidden_size"]), hf["hidden_size"]
    if width != size:
        raise ValueError(f"it gives embedding_size = {width!r}; only hidden_size, {size}, is supported.")
    plain = bert.config({"type_vocab_size": 0, "layer_norm_eps": 1e-7} | hf)
    buckets, farthest = hf.get("position_buckets", -1), hf.get("max_relative_positions", -1)
    if not isinstance(buckets, int) or buckets < 2:
        raise ValueError(f"it gives position_buckets = {buckets!r}; wanted 2 at least, such as 256.")
    stated = hf.get("cls_dropout")
    return replace(
        plain,
        relative="disentangled",
        distances=2 * buckets,
        farthest=farthest if farthest > 0 else plain.max_positions,
        pooled_activation=hf.get("pooler_hidden_act", "gelu"),
        sequence_dropout=plain.dropout if stated is None else stated,
        token_dropout=plain.dropout,
    )


LAYER = f"{PREFIX}encoder.layer.#."
NAMES = {name: theirs.replace(bert.PREFIX, PREFIX, 1) for name, theirs in bert.NAMES.items()} | {
    "encoder.relative.table": f"{PREFIX}encoder.rel_embeddings",
    "encoder.relative.norm": f"{PREFIX}encoder.LayerNorm",
    "encoder.layers.#.attention.query": f"{LAYER}attention.self.query_proj",
    "encoder.layers.#.attention.key": f"{LAYER}attention.self.key_proj",
    "encoder.layers.#.attention.value": f"{LAYER}attention.self.value_proj",
    "sequence_classifier.transform.dense": "pooler.dense",
}
for absent in ("encoder.embeddings.positions", "pooler.dense", "next_sentence.output"):
    del NAMES[absent]
COPIES = bert.COPIES
UNREAD = ()

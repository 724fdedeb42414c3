"""ALBERT (Lan et al., 2020): one layer, applied again and again to its own output; narrow word embeddings."""

from dataclasses import replace
from typing import Any

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import bert

MODEL_TYPES = ("albert",)
CLASSES = ("Albert",)
PREFIX = "albert."
DEFAULTS = {"hidden_act": "gelu_new", "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises ValueError for layers in groups, which no published checkpoint has."""
    for key in ("num_hidden_groups", "inner_group_num"):
        if hf.get(key, 1) != 1:
            raise ValueError(f"it gives {key} = {hf[key]!r}; only one layer that repeats is supported.")
    head_dropout = hf.get("classifier_dropout_prob", 0.1)
    return replace(
        bert.config(DEFAULTS | hf),
        embedding_size=hf.get("embedding_size", 128),
        shared_layers=True,
        sequence_dropout=head_dropout,
        token_dropout=head_dropout,
    )


LAYER = f"{PREFIX}encoder.albert_layer_groups.0.albert_layers.0."  # whichever # is
NAMES = {
    "encoder.embeddings.words": f"{PREFIX}embeddings.word_embeddings",
    "encoder.embeddings.positions": f"{PREFIX}embeddings.position_embeddings",
    "encoder.embeddings.segments": f"{PREFIX}embeddings.token_type_embeddings",
    "encoder.embeddings.norm": f"{PREFIX}embeddings.LayerNorm",
    "encoder.embeddings.project": f"{PREFIX}encoder.embedding_hidden_mapping_in",
    "encoder.layers.#.attention.query": f"{LAYER}attention.query",
    "encoder.layers.#.attention.key": f"{LAYER}attention.key",
    "encoder.layers.#.attention.value": f"{LAYER}attention.value",
    "encoder.layers.#.attention.output": f"{LAYER}attention.dense",
    "encoder.layers.#.attention_norm": f"{LAYER}attention.LayerNorm",
    "encoder.layers.#.feed_forward.expand": f"{LAYER}ffn",
    "encoder.layers.#.feed_forward.contract": f"{LAYER}ffn_output",
    "encoder.layers.#.output_norm": f"{LAYER}full_layer_layer_norm",
    "pooler.dense": f"{PREFIX}pooler",
    "masked_lm.dense": "predictions.dense",
    "masked_lm.norm": "predictions.LayerNorm",
    "masked_lm.output.weight": "predictions.decoder.weight",
    "masked_lm.output.bias": "predictions.bias",
    "sequence_classifier.transform.dense": f"{PREFIX}pooler",
    "sequence_classifier.output": "classifier",
    "token_classifier.output": "classifier",
    "span.output": "qa_outputs",
}
COPIES = {"predictions.decoder.bias": "predictions.bias"}
UNREAD = ("predictions.bias",)  # early conversions have another one; only the decoder's is used
STRAYS = ()

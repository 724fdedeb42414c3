"""Jina embeddings v3 (Sturua et al., 2024): XLM-R with rotary positions. Its adapters by task are not read."""

from dataclasses import replace
from typing import Any

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import nomic_bert, roberta

MODEL_TYPES = ("jina_embeddings_v3",)
CLASSES = ("JinaEmbeddingsV3",)
PREFIX = "roberta."
DEFAULTS = {"max_position_embeddings": 8194, "type_vocab_size": 1, "layer_norm_eps": 1e-5, "pad_token_id": 1}


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises KeyError naming what it lacks, and ValueError for other rotary angles."""
    theta, factor = nomic_bert.rotary(hf, 20_000.0)
    plain = roberta.config(DEFAULTS | hf)
    return replace(plain, first_position=0, rope_theta=(theta, theta), rope_factor=factor)


NAMES = nomic_bert.encoder_names(PREFIX) | {
    "encoder.layers.#.feed_forward.expand": f"{PREFIX}layers.#.mlp.fc1",
    "encoder.layers.#.feed_forward.contract": f"{PREFIX}layers.#.mlp.fc2",
    **{name: theirs for name, theirs in roberta.NAMES.items() if not name.startswith(("encoder.", "pooler."))},
}
del NAMES["encoder.layers.#.feed_forward.gate"]
COPIES = roberta.COPIES
UNREAD = STRAYS = ()

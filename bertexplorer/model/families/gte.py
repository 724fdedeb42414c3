"""GTE (Zhang et al., 2024): BERT with rotary positions and a gated feed-forward, for texts of 8,192 tokens."""

from dataclasses import replace
from typing import Any

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import bert, nomic_bert

MODEL_TYPES = ("gte",)
CLASSES = ("Gte",)
PREFIX = "gte."
DEFAULTS = {"attention_probs_dropout_prob": 0.0, "max_position_embeddings": 8192, "type_vocab_size": 1}


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises KeyError naming what it lacks, and ValueError for other rotary angles."""
    theta, factor = nomic_bert.rotary(hf, 160_000.0)
    pad_id = hf.get("pad_token_id", 1) or 0
    return replace(
        bert.config(DEFAULTS | hf),
        pad_id=pad_id,
        gated=True,
        expand_bias=False,
        head_activation="gelu",
        rope_theta=(theta, theta),
        rope_factor=factor,
    )


NAMES = nomic_bert.encoder_names(PREFIX) | {
    "masked_lm.dense": "lm_head.dense",
    "masked_lm.norm": "lm_head.layer_norm",
    "masked_lm.output": "lm_head.decoder",
    "sequence_classifier.transform.dense": f"{PREFIX}pooler.dense",
    "sequence_classifier.output": "classifier",
    "token_classifier.output": "classifier",
}
COPIES: dict[str, str] = {}
UNREAD = STRAYS = ()

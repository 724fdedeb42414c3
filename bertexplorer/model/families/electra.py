"""ELECTRA (Clark et al., 2020): a generator that fills masks, or a discriminator that spots replaced tokens."""

from dataclasses import replace
from typing import Any

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import bert

MODEL_TYPES = ("electra",)
CLASSES = ("Electra",)
PREFIX = "electra."


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises KeyError naming what it lacks."""
    plain = bert.config(hf)
    size = hf.get("embedding_size", 128)
    return replace(
        plain,
        embedding_size=0 if size == plain.hidden_size else size,
        head_activation="gelu",
        pooled_activation="gelu",
        pooled_twice=True,
    )


NAMES = bert.encoder_names(PREFIX) | {
    "encoder.embeddings.project": "electra.embeddings_project",
    "masked_lm.dense": "generator_predictions.dense",
    "masked_lm.norm": "generator_predictions.LayerNorm",
    "masked_lm.output.weight": "generator_lm_head.weight",
    "masked_lm.output.bias": "generator_lm_head.bias",
    "replaced_token.dense": "discriminator_predictions.dense",
    "replaced_token.output": "discriminator_predictions.dense_prediction",
    "sequence_classifier.transform.dense": "classifier.dense",
    "sequence_classifier.output": "classifier.out_proj",
    "token_classifier.output": "classifier",
    "span.output": "qa_outputs",
}
COPIES: dict[str, str] = {}
UNREAD = STRAYS = ()

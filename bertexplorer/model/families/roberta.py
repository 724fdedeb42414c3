"""RoBERTa (Liu et al., 2019), XLM-R and CamemBERT: BERT without next sentence; positions start after the padding id."""

from dataclasses import replace
from typing import Any

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import bert

MODEL_TYPES = ("roberta", "xlm-roberta", "camembert")
CLASSES = ("Roberta", "XLMRoberta", "Camembert")
PREFIX = "roberta."


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Its max_position_embeddings counts the rows before the first position too."""
    plain = bert.config(hf)
    pad_id = hf.get("pad_token_id", 1)
    return replace(
        plain,
        pad_id=pad_id,
        first_position=pad_id + 1,
        max_positions=plain.max_positions - pad_id - 1,
        norm_eps=hf.get("layer_norm_eps", 1e-12),
        head_activation="gelu",
        pooled_twice=True,
    )


NAMES = bert.encoder_names(PREFIX) | {
    "masked_lm.dense": "lm_head.dense",
    "masked_lm.norm": "lm_head.layer_norm",
    "masked_lm.output.weight": "lm_head.decoder.weight",
    "masked_lm.output.bias": "lm_head.bias",
    "sequence_classifier.transform.dense": "classifier.dense",
    "sequence_classifier.output": "classifier.out_proj",
    "token_classifier.output": "classifier",
    "span.output": "qa_outputs",
}
COPIES = {"lm_head.decoder.bias": "lm_head.bias"}
UNREAD = STRAYS = ()

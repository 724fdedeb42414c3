"""Nomic BERT (Nussbaum et al., 2024): BERT with rotary positions and a gated feed-forward, for up to 2,048 tokens."""

from dataclasses import replace
from typing import Any

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import bert

MODEL_TYPES = ("nomic_bert",)
CLASSES = ("NomicBert",)
PREFIX = "nomic_bert."
DEFAULTS = {
    "hidden_act": "silu",
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
    "max_position_embeddings": 2048,
}


def rotary(hf: dict[str, Any], theta: float) -> tuple[float, float]:
    """(base of the rotary angles, by which they are divided) of a config.json; *theta*: the base if it names none.
    Raises ValueError for angles of another kind."""
    stated = hf.get("rope_parameters") or {}
    kind = stated.get("rope_type", "default")
    if kind not in ("default", "linear") or stated.get("partial_rotary_factor", 1.0) != 1.0:
        raise ValueError(
            f"config.json gives rope_parameters = {stated!r:.80}; only 'default' and 'linear' are supported."
        )
    base = float(stated.get("rope_theta") or hf.get("rope_theta") or theta)
    return base, float(stated["factor"]) if kind == "linear" else 1.0


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises KeyError naming what it lacks, and ValueError for heads of another size."""
    plain = bert.config(DEFAULTS | hf)
    if hf.get("head_dim") not in (None, plain.head_size):
        raise ValueError(f"it gives head_dim = {hf['head_dim']!r}; only {plain.head_size} is supported.")
    theta, factor = rotary(hf, 1000.0)
    return replace(
        plain, gated=True, attention_bias=False, mlp_bias=False, rope_theta=(theta, theta), rope_factor=factor
    )


def encoder_names(prefix: str) -> dict[str, str]:
    """Our module -> the published one, for the families that add rotary positions to BERT. # is a layer, from 0."""
    layer = f"{prefix}layers.#."
    return {
        "encoder.embeddings.words": f"{prefix}embeddings.word_embeddings",
        "encoder.embeddings.segments": f"{prefix}embeddings.token_type_embeddings",
        "encoder.embeddings.norm": f"{prefix}embeddings.LayerNorm",
        "encoder.layers.#.attention.query": f"{layer}self_attn.q_proj",
        "encoder.layers.#.attention.key": f"{layer}self_attn.k_proj",
        "encoder.layers.#.attention.value": f"{layer}self_attn.v_proj",
        "encoder.layers.#.attention.output": f"{layer}self_attn.o_proj",
        "encoder.layers.#.attention_norm": f"{layer}post_attention_layernorm",
        "encoder.layers.#.feed_forward.gate": f"{layer}mlp.gate_proj",
        "encoder.layers.#.feed_forward.expand": f"{layer}mlp.up_proj",
        "encoder.layers.#.feed_forward.contract": f"{layer}mlp.down_proj",
        "encoder.layers.#.output_norm": f"{layer}post_mlp_layernorm",
        "pooler.dense": f"{prefix}pooler.dense",
    }


NAMES = encoder_names(PREFIX) | {
    "masked_lm.dense": "cls.predictions.transform.dense",
    "masked_lm.norm": "cls.predictions.transform.layer_norm",
    "masked_lm.output.weight": "cls.predictions.decoder.weight",
    "masked_lm.output.bias": "cls.predictions.bias",
    "sequence_classifier.transform.dense": f"{PREFIX}pooler.dense",
    "sequence_classifier.output": "classifier",
    "token_classifier.output": "classifier",
}
COPIES = bert.COPIES
UNREAD = STRAYS = ()

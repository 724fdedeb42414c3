"""EuroBERT (Boizard et al., 2025): the layers of a Llama whose tokens look both ways: RMSNorm first, rotary positions,
gated feed-forward; in the larger ones, heads share keys and values."""

from typing import Any, Literal

from bertexplorer.model.config import EncoderConfig, label_count
from bertexplorer.model.families import nomic_bert

MODEL_TYPES = ("eurobert",)
CLASSES = ("EuroBert",)
PREFIX = "model."
POOLING: dict[str, Literal["cls", "mean", "late"]] = {"bos": "cls", "mean": "mean", "late": "late"}


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises KeyError naming what it lacks, and ValueError for a layout that no published
    checkpoint has."""
    heads, shared = hf["num_attention_heads"], hf.get("num_key_value_heads")
    if hf.get("mlp_bias", False) or hf.get("attention_bias", False):
        raise ValueError("it asks for biases in the layers, which no published checkpoint has.")
    if hf.get("head_dim") not in (None, hf["hidden_size"] // heads):
        raise ValueError(f"it gives head_dim = {hf['head_dim']!r}; only {hf['hidden_size'] // heads} is supported.")
    pooling = hf.get("classifier_pooling", hf.get("clf_pooling", "late"))
    if pooling not in POOLING:
        raise ValueError(f"config.json gives classifier_pooling = {pooling!r:.40}; wanted one of {', '.join(POOLING)}.")
    theta, factor = nomic_bert.rotary(hf, 10_000.0)
    return EncoderConfig(
        vocab_size=hf["vocab_size"],
        hidden_size=hf["hidden_size"],
        num_layers=hf["num_hidden_layers"],
        num_heads=heads,
        num_key_heads=0 if shared in (None, heads) else shared,
        intermediate_size=hf["intermediate_size"],
        max_positions=hf.get("max_position_embeddings", 8192),
        activation=hf.get("hidden_act", "silu"),
        norm_eps=hf.get("rms_norm_eps", 1e-5),
        pad_id=hf.get("pad_token_id", 128_001) or 0,
        dropout=0.0,
        attention_dropout=hf.get("attention_dropout", 0.0),
        num_segments=0,
        tied=hf.get("tie_word_embeddings", False),
        norm="pre",
        rms_norm=True,
        embedding_norm=False,
        gated=True,
        attention_bias=False,
        mlp_bias=False,
        decoder_bias=False,
        bare_head=True,
        rope_theta=(theta, theta),
        rope_factor=factor,
        num_labels=label_count(hf),
        pooling=POOLING[pooling],
        pooled_activation="gelu",
        sequence_dropout=0.0,
        token_dropout=0.0,
    )


LAYER = f"{PREFIX}layers.#."
NAMES = {
    "encoder.embeddings.words": f"{PREFIX}embed_tokens",
    "encoder.layers.#.attention.query": f"{LAYER}self_attn.q_proj",
    "encoder.layers.#.attention.key": f"{LAYER}self_attn.k_proj",
    "encoder.layers.#.attention.value": f"{LAYER}self_attn.v_proj",
    "encoder.layers.#.attention.output": f"{LAYER}self_attn.o_proj",
    "encoder.layers.#.attention_norm": f"{LAYER}input_layernorm",
    "encoder.layers.#.feed_forward.gate": f"{LAYER}mlp.gate_proj",
    "encoder.layers.#.feed_forward.expand": f"{LAYER}mlp.up_proj",
    "encoder.layers.#.feed_forward.contract": f"{LAYER}mlp.down_proj",
    "encoder.layers.#.output_norm": f"{LAYER}post_attention_layernorm",
    "encoder.norm": f"{PREFIX}norm",
    "masked_lm.output": "lm_head",
    "sequence_classifier.transform.dense": "dense",
    "sequence_classifier.output": "classifier",
    "token_classifier.output": "classifier",
}
COPIES: dict[str, str] = {}
UNREAD = STRAYS = ()

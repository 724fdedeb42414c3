"""ModernBERT (Warner et al., 2024): rotary positions, gated feed-forward, LayerNorm first, mostly local attention."""

from typing import Any

from bertexplorer.model.config import EncoderConfig, label_count

MODEL_TYPES = ("modernbert",)
CLASSES = ("ModernBert",)
PREFIX = "model."


def rope_theta(hf: dict[str, Any]) -> tuple[float, float]:
    """(global, local), from either spelling: global_rope_theta, or rope_parameters since transformers 5. Raises
    ValueError for any other rope_type than default."""
    new = hf.get("rope_parameters") or {}
    spelt = {"full_attention": ("global_rope_theta", 160_000.0), "sliding_attention": ("local_rope_theta", 10_000.0)}
    thetas: list[float] = []
    for kind, (old, default) in spelt.items():
        parameters = new.get(kind) or {}
        if parameters.get("rope_type", "default") != "default":
            raise ValueError(
                f"config.json asks for rope_type {parameters['rope_type']!r}; only 'default' is supported."
            )
        if old == "local_rope_theta" and old in hf and hf[old] is None:
            default = thetas[0]  # null: local layers have the base of the global ones
        thetas.append(float(parameters.get("rope_theta", hf.get(old) or default)))
    return thetas[0], thetas[1]


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises KeyError naming what it lacks, and ValueError for scaled rotary positions."""
    layers = hf["num_hidden_layers"]
    every = hf.get("global_attn_every_n_layers", 3)
    kinds = hf.get("layer_types")
    head_dropout = hf.get("classifier_dropout", 0.0)
    return EncoderConfig(
        vocab_size=hf["vocab_size"],
        hidden_size=hf["hidden_size"],
        num_layers=layers,
        num_heads=hf["num_attention_heads"],
        intermediate_size=hf["intermediate_size"],
        max_positions=hf.get("max_position_embeddings", 8192),
        activation=hf.get("hidden_activation", "gelu"),
        head_activation=hf.get("classifier_activation", "gelu"),
        norm_eps=hf.get("norm_eps", 1e-5),
        pad_id=hf.get("pad_token_id") or 0,
        dropout=hf.get("mlp_dropout", 0.0),
        attention_dropout=hf.get("attention_dropout", 0.0),
        num_segments=0,
        tied=hf.get("tie_word_embeddings", True),
        norm="pre",
        gated=True,
        attention_bias=hf.get("attention_bias", False),
        mlp_bias=hf.get("mlp_bias", False),
        norm_bias=hf.get("norm_bias", False),
        head_bias=hf.get("classifier_bias", False),
        decoder_bias=hf.get("decoder_bias", True),
        rope_theta=rope_theta(hf),
        window=hf.get("local_attention", 128) // 2,
        global_layers=tuple(
            i for i in range(min(layers, 48)) if (kinds[i] == "full_attention" if kinds else i % every == 0)
        ),
        num_labels=label_count(hf),
        pooling=hf.get("classifier_pooling", "cls"),
        pooled_activation=hf.get("classifier_activation", "gelu"),
        shared_transform=True,
        sequence_dropout=head_dropout,
        token_dropout=head_dropout,
        span_dropout=head_dropout,
    )


NAMES: dict[str | tuple[str, ...], str] = {
    "encoder.embeddings.words": f"{PREFIX}embeddings.tok_embeddings",
    "encoder.embeddings.norm": f"{PREFIX}embeddings.norm",
    # one tensor in the file, three here: it splits evenly along its first axis
    (
        "encoder.layers.#.attention.query",
        "encoder.layers.#.attention.key",
        "encoder.layers.#.attention.value",
    ): f"{PREFIX}layers.#.attn.Wqkv",
    "encoder.layers.#.attention.output": f"{PREFIX}layers.#.attn.Wo",
    "encoder.layers.#.attention_norm": f"{PREFIX}layers.#.attn_norm",
    ("encoder.layers.#.feed_forward.gate", "encoder.layers.#.feed_forward.expand"): f"{PREFIX}layers.#.mlp.Wi",
    "encoder.layers.#.feed_forward.contract": f"{PREFIX}layers.#.mlp.Wo",
    "encoder.layers.#.output_norm": f"{PREFIX}layers.#.mlp_norm",
    "encoder.norm": f"{PREFIX}final_norm",
    "masked_lm.dense": "head.dense",
    "masked_lm.norm": "head.norm",
    "masked_lm.output": "decoder",
    "sequence_classifier.transform.dense": "head.dense",
    "sequence_classifier.transform.norm": "head.norm",
    "sequence_classifier.output": "classifier",
    "token_classifier.transform.dense": "head.dense",
    "token_classifier.transform.norm": "head.norm",
    "token_classifier.output": "classifier",
    "span.transform.dense": "head.dense",
    "span.transform.norm": "head.norm",
    "span.output": "classifier",
}
COPIES: dict[str, str] = {}
UNREAD = STRAYS = ()

"""DistilBERT (Sanh et al., 2019): BERT with half the layers, no segments and no pooler."""

from typing import Any

from bertexplorer.model.config import EncoderConfig, label_count

MODEL_TYPES = ("distilbert",)
CLASSES = ("DistilBert",)
PREFIX = "distilbert."


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises KeyError naming what it lacks."""
    return EncoderConfig(
        vocab_size=hf["vocab_size"],
        hidden_size=hf["dim"],
        num_layers=hf["n_layers"],
        num_heads=hf["n_heads"],
        intermediate_size=hf["hidden_dim"],
        max_positions=hf.get("max_position_embeddings", 512),
        activation=hf.get("activation", "gelu"),
        head_activation=hf.get("activation", "gelu"),
        pad_id=hf.get("pad_token_id") or 0,
        dropout=hf.get("dropout", 0.1),
        attention_dropout=hf.get("attention_dropout", 0.1),
        num_segments=0,
        tied=hf.get("tie_word_embeddings", True),
        num_labels=label_count(hf),
        pooled_activation="relu",
        sequence_dropout=hf.get("seq_classif_dropout", 0.2),
        token_dropout=hf.get("dropout", 0.1),
        span_dropout=hf.get("qa_dropout", 0.1),
    )


LAYER = f"{PREFIX}transformer.layer.#."
NAMES = {
    "encoder.embeddings.words": f"{PREFIX}embeddings.word_embeddings",
    "encoder.embeddings.positions": f"{PREFIX}embeddings.position_embeddings",
    "encoder.embeddings.norm": f"{PREFIX}embeddings.LayerNorm",
    "encoder.layers.#.attention.query": f"{LAYER}attention.q_lin",
    "encoder.layers.#.attention.key": f"{LAYER}attention.k_lin",
    "encoder.layers.#.attention.value": f"{LAYER}attention.v_lin",
    "encoder.layers.#.attention.output": f"{LAYER}attention.out_lin",
    "encoder.layers.#.attention_norm": f"{LAYER}sa_layer_norm",
    "encoder.layers.#.feed_forward.expand": f"{LAYER}ffn.lin1",
    "encoder.layers.#.feed_forward.contract": f"{LAYER}ffn.lin2",
    "encoder.layers.#.output_norm": f"{LAYER}output_layer_norm",
    "masked_lm.dense": "vocab_transform",
    "masked_lm.norm": "vocab_layer_norm",
    "masked_lm.output": "vocab_projector",
    "sequence_classifier.transform.dense": "pre_classifier",
    "sequence_classifier.output": "classifier",
    "token_classifier.output": "classifier",
    "span.output": "qa_outputs",
}
COPIES: dict[str, str] = {}
UNREAD = STRAYS = ()

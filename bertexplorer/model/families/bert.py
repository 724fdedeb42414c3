"""BERT (Devlin et al., 2019): the family that all others are described against."""

from typing import Any

from bertexplorer.model.config import EncoderConfig, label_count

MODEL_TYPES = ("bert",)
CLASSES = ("Bert",)
PREFIX = "bert."


def config(hf: dict[str, Any]) -> EncoderConfig:
    """Translate a config.json. Raises KeyError naming what it lacks."""
    dropout = hf.get("hidden_dropout_prob", 0.1)
    stated = hf.get("classifier_dropout")
    head_dropout = dropout if stated is None else stated
    return EncoderConfig(
        vocab_size=hf["vocab_size"],
        hidden_size=hf["hidden_size"],
        num_layers=hf["num_hidden_layers"],
        num_heads=hf["num_attention_heads"],
        intermediate_size=hf["intermediate_size"],
        max_positions=hf.get("max_position_embeddings", 512),
        activation=hf.get("hidden_act", "gelu"),
        head_activation=hf.get("hidden_act", "gelu"),
        norm_eps=hf.get("layer_norm_eps", 1e-12),
        pad_id=hf.get("pad_token_id") or 0,
        dropout=dropout,
        attention_dropout=hf.get("attention_probs_dropout_prob", 0.1),
        num_segments=hf.get("type_vocab_size", 2),
        tied=hf.get("tie_word_embeddings", True),
        num_labels=label_count(hf),
        sequence_dropout=head_dropout,
        token_dropout=head_dropout,
    )


def encoder_names(prefix: str) -> dict[str, str]:
    """Our module -> the published one, for the families that share BERT's layout. # is a layer, from 0."""
    layer = f"{prefix}encoder.layer.#."
    return {
        "encoder.embeddings.words": f"{prefix}embeddings.word_embeddings",
        "encoder.embeddings.positions": f"{prefix}embeddings.position_embeddings",
        "encoder.embeddings.segments": f"{prefix}embeddings.token_type_embeddings",
        "encoder.embeddings.norm": f"{prefix}embeddings.LayerNorm",
        "encoder.layers.#.attention.query": f"{layer}attention.self.query",
        "encoder.layers.#.attention.key": f"{layer}attention.self.key",
        "encoder.layers.#.attention.value": f"{layer}attention.self.value",
        "encoder.layers.#.attention.output": f"{layer}attention.output.dense",
        "encoder.layers.#.attention_norm": f"{layer}attention.output.LayerNorm",
        "encoder.layers.#.feed_forward.expand": f"{layer}intermediate.dense",
        "encoder.layers.#.feed_forward.contract": f"{layer}output.dense",
        "encoder.layers.#.output_norm": f"{layer}output.LayerNorm",
        "pooler.dense": f"{prefix}pooler.dense",
    }


NAMES = encoder_names(PREFIX) | {
    "masked_lm.dense": "cls.predictions.transform.dense",
    "masked_lm.norm": "cls.predictions.transform.LayerNorm",
    "masked_lm.output.weight": "cls.predictions.decoder.weight",
    "masked_lm.output.bias": "cls.predictions.bias",
    "next_sentence.output": "cls.seq_relationship",
    "sequence_classifier.transform.dense": "bert.pooler.dense",
    "sequence_classifier.output": "classifier",
    "token_classifier.output": "classifier",
    "span.output": "qa_outputs",
}
COPIES = {"cls.predictions.decoder.bias": "cls.predictions.bias"}  # written twice by some versions
UNREAD = STRAYS = ()

"""EncoderConfig: the hyperparameters of an encoder, with the same names for every family."""

from dataclasses import dataclass
from math import inf
from typing import Any, Literal


@dataclass(frozen=True)
class EncoderConfig:
    """A checkpoint's config.json, translated by its family. Sizes are counts, not bytes."""

    vocab_size: int
    hidden_size: int
    num_layers: int
    num_heads: int
    intermediate_size: int
    max_positions: int  # tokens of input, [CLS] and [SEP] included
    activation: str = "gelu"
    norm_eps: float = 1e-12
    pad_id: int = 0
    dropout: float = 0.1
    attention_dropout: float = 0.1
    num_segments: int = 2  # 0: no segment embeddings
    tied: bool = True  # the MLM output shares the word embeddings
    # differences between the families
    embedding_size: int = 0  # ELECTRA, ALBERT: smaller than hidden_size and projected up; 0 means hidden_size
    shared_layers: bool = False  # ALBERT: one layer, num_layers times
    first_position: int = 0  # RoBERTa: positions start after the padding id
    norm: Literal["post", "pre"] = "post"  # ModernBERT, EuroBERT: a norm before each block, one more at the end
    rms_norm: bool = False  # EuroBERT: norms that only divide by the length
    embedding_norm: bool = True  # EuroBERT has none: its word vectors are the input of the first layer
    gated: bool = False  # ModernBERT and others: one half of the feed-forward scales the other
    attention_bias: bool = True  # of the Linear layers of attention
    mlp_bias: bool = True  # of those of the feed-forward half
    expand_bias: bool = True  # of these, the ones that widen: GTE has no bias there alone
    norm_bias: bool = True
    head_bias: bool = True  # the dense layer of the MLM head
    head_activation: str = "gelu"  # of the MLM head
    decoder_bias: bool = True  # a number for each piece, which the MLM head adds to its logit
    bare_head: bool = False  # EuroBERT: the MLM head is its output matrix alone
    num_key_heads: int = 0  # EuroBERT: heads that share keys and values with their neighbours; 0: none do
    rope_theta: tuple[float, float] | None = None  # (global, local) base of the rotary angles; None: learned positions
    rope_factor: float = 1.0  # GTE: by which all rotary angles are divided
    relative: Literal["", "number", "disentangled"] = ""  # MPNet, DeBERTa: what a distance adds to attention scores
    distances: int = 0  # rows of the table of distances
    farthest: int = 0  # tokens apart, from which on all distances count the same
    window: int = 0  # tokens on each side that a local layer sees; 0: every layer sees all
    global_layers: tuple[int, ...] = ()  # 0-based layers that see all, where window > 0
    # the fine-tuned heads
    num_labels: int = 2
    pooling: Literal["cls", "mean", "late"] = "cls"  # the vector from which a text's label comes; late: mean of logits
    pooled_activation: str = "tanh"  # after the dense layer of the sequence classifier
    pooled_twice: bool = False  # RoBERTa, ELECTRA: dropout before that dense layer too
    shared_transform: bool = False  # ModernBERT: each fine-tuned head begins with the MLM head's dense layer and norm
    sequence_dropout: float = 0.1
    token_dropout: float = 0.1
    span_dropout: float = 0.0

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_heads

    @property
    def word_size(self) -> int:
        """Width of the word embedding table."""
        return self.embedding_size or self.hidden_size

    def is_local(self, layer: int) -> bool:
        """Whether the 0-based *layer* sees only its window."""
        return self.window > 0 and layer not in self.global_layers


def label_count(hf: dict[str, Any]) -> int:
    """How many labels a config.json has: of id2label, else num_labels, else 2, as transformers counts.

    Raises ValueError if id2label is not an object."""
    labels = hf.get("id2label")
    if labels is not None and not isinstance(labels, dict):
        raise ValueError(f"config.json gives id2label = {labels!r:.40}; wanted an object from numbers to labels.")
    stated: int | None = hf.get("num_labels")
    if labels:
        return len(labels)
    return 2 if stated is None else stated


PRETRAINING_WORDS = {"masked_lm": "fill-mask", "next_sentence": "next-sentence", "replaced_token": "replaced-token"}
TASK_WORDS = {"sequence_classifier": "sentence-label", "token_classifier": "token-label", "span": "answer-span"}
HEAD_WORDS = PRETRAINING_WORDS | TASK_WORDS
BOUNDS = {  # checked before anything is allocated
    "vocab_size": (1, 1_000_000),
    "hidden_size": (1, 4096),
    "num_layers": (1, 48),
    "num_heads": (1, 128),
    "num_key_heads": (0, 128),
    "intermediate_size": (1, 16_384),
    "max_positions": (1, 8192),
    "num_segments": (0, 16),
    "embedding_size": (0, 4096),
    "window": (0, 8192),
    "distances": (0, 16_384),
    "farthest": (0, 8192),
    "pad_id": (0, 1_000_000),
    "first_position": (0, 8192),
    "num_labels": (1, 100_000),
}
DROPOUTS = ("dropout", "attention_dropout", "sequence_dropout", "token_dropout", "span_dropout")
REALS = {"norm_eps": (1e-30, 1.0), "rope_factor": (1e-3, 1e3)} | dict.fromkeys(DROPOUTS, (0.0, 1.0))
FLAGS = ("tied", "attention_bias", "mlp_bias", "expand_bias", "norm_bias", "head_bias", "decoder_bias")


def check_bounds(config: EncoderConfig) -> None:
    """Raise ValueError, naming field, value and bounds, if *config* is not an encoder that could be built here."""
    for field, (low, high) in BOUNDS.items():
        value = getattr(config, field)
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"config.json gives {field} = {value!r}; wanted a whole number from {low} to {high:,}.")
    for field, (least, most) in REALS.items():
        value = getattr(config, field)
        if not isinstance(value, int | float) or not least <= value <= most:  # NaN is not between any two
            raise ValueError(f"config.json gives {field} = {value!r}; wanted a number from {least} to {most}.")
    for field in FLAGS:
        if not isinstance(getattr(config, field), bool):
            raise ValueError(f"config.json gives {field} = {getattr(config, field)!r}; wanted true or false.")
    if config.pooling not in ("cls", "mean", "late"):
        raise ValueError(f"config.json gives classifier_pooling = {config.pooling!r}; wanted 'cls', 'mean' or 'late'.")
    check_agreement(config)


def check_agreement(config: EncoderConfig) -> None:
    """Raise ValueError if numbers contradict each other although each is within its bounds."""
    if config.pad_id >= config.vocab_size:
        raise ValueError(f"config.json gives pad_id = {config.pad_id}, beyond vocab_size = {config.vocab_size}.")
    if config.hidden_size % config.num_heads:
        raise ValueError(
            f"config.json gives hidden_size = {config.hidden_size} and num_heads = {config.num_heads}; "
            "the first must be a multiple of the second."
        )
    if config.num_key_heads and config.num_heads % config.num_key_heads:
        raise ValueError(
            f"config.json gives num_attention_heads = {config.num_heads} and num_key_value_heads = "
            f"{config.num_key_heads}; the first must be a multiple of the second."
        )
    if config.relative and not 4 <= config.distances <= 4 * config.farthest - 8:  # logarithms of more than 1
        raise ValueError(
            f"config.json gives {config.distances} rows for relative positions up to {config.farthest} tokens apart; "
            "wanted 4 rows at least, and no more than 4 for each token beyond the second."
        )
    if config.rope_theta:
        if not all(0 < theta < inf for theta in config.rope_theta):
            raise ValueError(f"config.json gives rope_theta = {config.rope_theta}; wanted two numbers above 0.")
        if config.head_size % 2:
            raise ValueError(f"config.json gives heads of {config.head_size} numbers; rotary positions need pairs.")

"""The heads: each turns the encoder's vectors into the logits of one task, of pretraining or of fine-tuning."""

from dataclasses import replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.encoder import ACTIVATIONS


class MaskedLM(nn.Module):
    """Which piece belongs here? Logits over the vocabulary (Devlin et al., 2019), for the given vectors only."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.word_size
        self.bare = config.bare_head
        if not self.bare:
            self.dense = nn.Linear(config.hidden_size, size, bias=config.head_bias)
            self.activation = ACTIVATIONS[config.head_activation]
            self.norm = nn.LayerNorm(size, eps=config.norm_eps, bias=config.norm_bias)
        self.output = nn.Linear(size, config.vocab_size, bias=config.decoder_bias)

    def forward(self, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n v"]:
        return self.output(self.transform(vectors))

    def transform(self, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n e"]:
        """The vectors that are compared with each row of the output matrix."""
        return vectors if self.bare else self.norm(self.activation(self.dense(vectors)))


class Pooler(nn.Module):
    """The [CLS] vector (position 0) through one tanh layer, the input of BERT's sentence-level heads."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)

    def forward(self, last: Float[Tensor, "b t d"]) -> Float[Tensor, "b d"]:
        return self.dense(last[:, 0]).tanh()


class NextSentence(nn.Module):
    """Does B follow A? Logits in the order (is next, is not next), from the pooled [CLS] (Devlin et al., 2019)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.output = nn.Linear(config.hidden_size, 2)

    def forward(self, pooled: Float[Tensor, "b d"]) -> Float[Tensor, "b 2"]:
        return self.output(pooled)


class ReplacedToken(nn.Module):
    """Was this token replaced? One logit for each token, above 0 for "replaced" (Clark et al., 2020)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACTIVATIONS[config.activation]
        self.output = nn.Linear(config.hidden_size, 1)

    def forward(self, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n"]:
        return self.output(self.transform(vectors)).squeeze(-1)

    def transform(self, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        return self.activation(self.dense(vectors))

    @staticmethod
    def as_labels(logits: Float[Tensor, "*n"]) -> Float[Tensor, "*n 2"]:
        """Logits of two labels, original and replaced, whose softmax is the sigmoid of *logits*."""
        return torch.stack([torch.zeros_like(logits), logits], dim=-1)


class Transform(nn.Module):
    """What a fine-tuned head may have before its output: a dense layer, an activation and, in ModernBERT, a norm."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.dense = nn.Linear(size, size, bias=config.head_bias)
        self.activation = ACTIVATIONS[config.pooled_activation]
        norm = nn.LayerNorm(size, eps=config.norm_eps, bias=config.norm_bias) if config.shared_transform else None
        self.norm = norm or nn.Identity()

    def forward(self, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n d"]:
        return self.norm(self.activation(self.dense(vectors)))


class SequenceClassifier(nn.Module):
    """Which label does this text have? A logit for each label, from the [CLS] vector or the mean over the tokens; in
    EuroBERT the mean of the tokens' own logits ("late").

    In BERT the dense layer is that of the pooler, in ModernBERT that of the MLM head: files name it only once."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.pooling, self.twice = config.pooling, config.pooled_twice
        self.transform: nn.Module = Transform(config)
        self.dropout = nn.Dropout(config.sequence_dropout)
        self.output = nn.Linear(config.hidden_size, config.num_labels)

    def forward(
        self, last: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"] | None = None
    ) -> Float[Tensor, "b labels"]:
        """*mask*: True for a token, False for padding; None: there is no padding."""
        return self.output(self.dropout(self.summary(last, mask)))

    def summary(self, last: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"] | None) -> Float[Tensor, "b d"]:
        """The vector that the output reads. As that is a matrix and a bias, the logits of a mean ("late") are the mean
        of the logits."""
        if self.pooling == "late":
            return mean(self.transform(last), mask)
        pooled = mean(last, mask) if self.pooling == "mean" else last[:, 0]
        return self.transform(self.dropout(pooled) if self.twice else pooled)

    @property
    def first_only(self) -> bool:
        """Whether it reads the [CLS] vector alone."""
        return self.pooling == "cls"


def mean(vectors: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"] | None) -> Float[Tensor, "b d"]:
    """The mean of *vectors* over the tokens of each text, without its padding."""
    if mask is None:
        return vectors.mean(dim=1)
    return (vectors * mask.unsqueeze(-1)).sum(dim=1) / mask.sum(dim=1, keepdim=True)


class TokenClassifier(nn.Module):
    """Which label does this token have? A logit for each label."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.transform = Transform(config) if config.shared_transform else nn.Identity()
        self.dropout = nn.Dropout(config.token_dropout)
        self.output = nn.Linear(config.hidden_size, config.num_labels)

    def forward(self, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n labels"]:
        return self.output(self.dropout(self.transform(vectors)))


class SpanScorer(TokenClassifier):
    """Does the answer start here, does it end here? Two logits for each token, in this order (Devlin et al., 2019,
    4.2)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__(replace(config, num_labels=2, token_dropout=config.span_dropout))


HEADS: dict[str, type[nn.Module]] = {
    "masked_lm": MaskedLM,
    "pooler": Pooler,
    "next_sentence": NextSentence,
    "replaced_token": ReplacedToken,
    "sequence_classifier": SequenceClassifier,
    "token_classifier": TokenClassifier,
    "span": SpanScorer,
}

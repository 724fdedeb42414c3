"""The pretraining heads: each turns the encoder's vectors into the logits of one task."""

from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.encoder import ACTIVATIONS


class MaskedLM(nn.Module):
    """Which piece stands here? Logits over the vocabulary, for just the vectors that are handed in."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.word_size
        self.dense = nn.Linear(config.hidden_size, size, bias=config.head_bias)
        self.activation = ACTIVATIONS[config.head_activation]
        self.norm = nn.LayerNorm(size, eps=config.norm_eps, bias=config.norm_bias)
        self.output = nn.Linear(size, config.vocab_size)

    def forward(self, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n v"]:
        return self.output(self.transform(vectors))

    def transform(self, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n e"]:
        """The vectors that are compared with each row of the output matrix."""
        return self.norm(self.activation(self.dense(vectors)))


class Pooler(nn.Module):
    """The [CLS] vector (position 0) through one tanh layer, as BERT hands it to sentence-level heads."""

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
    """Was this token replaced? One logit a token, above 0 for "replaced" (Clark et al., 2020)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.dense = nn.Linear(config.hidden_size, config.hidden_size)
        self.activation = ACTIVATIONS[config.activation]
        self.output = nn.Linear(config.hidden_size, 1)

    def forward(self, vectors: Float[Tensor, "*n d"]) -> Float[Tensor, "*n"]:
        return self.output(self.activation(self.dense(vectors))).squeeze(-1)


HEADS = {"masked_lm": MaskedLM, "pooler": Pooler, "next_sentence": NextSentence, "replaced_token": ReplacedToken}

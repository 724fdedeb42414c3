"""What each token adds to the vector of its text: rows that sum to the vector.

Where the vector is a sum over the tokens of the last layer (mean pooling), the rows can be its terms, exactly. These
tokens have all read each other. So the rows can also be those of the words that go in, for any pooling: integrated
gradients (Sundararajan et al., 2017) from a text of masks, of every number of the vector at once. Row i is the integral
of the derivative in the direction of word i, and what the text of masks has already is a row of its own.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from numpy.polynomial.legendre import leggauss
from torch import Tensor

from bertexplorer.engine import gradients, progress
from bertexplorer.engine.forward_mode import jvp
from bertexplorer.engine.inference import check_finite, forward
from bertexplorer.engine.vectors import sentence_encoder_of, states_of
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.sentence_encoder import SentenceEncoder
from bertexplorer.model.text import Encoding

LAST = -1  # the layer
STEPS = 16  # points of the Gauss-Legendre quadrature between the masks and the text
CHUNK = 4096  # tokens whose derivatives are taken at once
MAX_TOKENS = 64  # of a text whose rows are integrated: each of its tokens takes STEPS passes with a derivative


@dataclass(frozen=True)
class Parts:
    """*rows*: a row for each token; they sum to *vector*, less *start* and what the integration misses."""

    rows: Float[Tensor, "t e"]
    vector: Float[Tensor, " e"]
    start: Float[Tensor, " e"]  # the vector of the text of masks; zeros where the rows are exact
    exact: bool


def token_parts(
    checkpoint: Checkpoint, encoding: Encoding, pooling: str | SentenceEncoder, *, integrate: bool = False
) -> Parts:
    """The Parts of the vector that a *pooling*, as in `sentence_vectors`, makes at the last layer; integrated gradients
    if *integrate*, or if the vector is no sum. fp32 on the CPU. Raises ExplorerError if a number is not finite, and for
    a long text whose rows would have to be integrated."""
    sentence_encoder = sentence_encoder_of(checkpoint, pooling) if isinstance(pooling, str) else pooling
    tokens = states_of(forward(checkpoint, [encoding]), LAST, pooling)[0]
    pooled = sentence_encoder.pool(tokens.float(), encoding.unpooled)
    vector = check_finite(checkpoint, sentence_encoder.transform(pooled[None].cpu()))[0]
    if sentence_encoder.is_sum and not integrate:
        return Parts(sentence_encoder.parts(tokens, encoding.unpooled), vector, torch.zeros_like(vector), exact=True)
    if len(encoding) > MAX_TOKENS:
        raise ExplorerError(
            f"A text has {len(encoding):,} tokens. Integrated gradients of a whole vector read {MAX_TOKENS} at most. "
            "Shorten the text, or let the view show the last layer of a checkpoint that pools the mean."
        )
    rows, start = integrated_rows(checkpoint, encoding, sentence_encoder, pooling)
    return Parts(rows, vector, start, exact=False)


def integrated_rows(
    checkpoint: Checkpoint, encoding: Encoding, sentence_encoder: SentenceEncoder, pooling: str | SentenceEncoder
) -> tuple[Float[Tensor, "t e"], Float[Tensor, " e"]]:
    """(a row for each token, the vector of the text of masks). Special tokens are not changed, so their rows are 0."""
    encoder = gradients.to_fp32(checkpoint.encoder, checkpoint.config, without="embeddings.words.weight")
    end = gradients.word_vectors(checkpoint, encoding.ids)
    moved = [i for i, special in enumerate(encoding.special) if not special and encoding.ids[i] != encoding.mask_id]
    start = end.clone()
    start[moved] = mask_vector(checkpoint, encoding)

    def read(words: Tensor) -> Tensor:
        """The vectors of b texts, b x e, from their word vectors, b x t x d."""
        passed = encoder.from_embeddings(encoder.embeddings.finish(words))
        return sentence_encoder.embed(states_of(passed, LAST, pooling), encoding.unpooled)

    # 1. Points on the line from the masks to the text, and a direction for every token.
    quadrature = leggauss(STEPS)  # (nodes from -1 to 1, weights)
    nodes = torch.tensor(quadrature[0], dtype=end.dtype, device=end.device)
    weights = torch.tensor(quadrature[1], dtype=end.dtype, device=end.device)
    points = start + ((nodes + 1) / 2)[:, None, None] * (end - start)
    directions = torch.zeros(len(moved), *end.shape, device=end.device)
    for row, i in enumerate(moved):
        directions[row, i] = end[i] - start[i]

    def slope(direction: Tensor) -> Tensor:
        """The derivative of the vector in *direction*, averaged over the points with their weights."""
        return weights / 2 @ jvp(read, (points,), (direction.expand_as(points),))

    # 2. The derivatives, many directions at once.
    tokens = points[..., 0].numel()  # of all points
    size = max(1, CHUNK // tokens)
    cost = progress.GRADIENT * len(moved) * tokens
    progress.report(0, cost)
    with checkpoint.scheduler.slot(heavy=True), torch.no_grad():
        reference = read(start[None])[0]
        rows = reference.new_zeros(len(encoding), len(reference))
        for begin in range(0, len(moved), size):
            part = slice(begin, begin + size)
            rows[moved[part]] = torch.func.vmap(slope)(directions[part])
            progress.report(cost * min(begin + size, len(moved)) // len(moved), cost)
    return check_finite(checkpoint, rows.cpu()), reference.cpu()


def mask_vector(checkpoint: Checkpoint, encoding: Encoding) -> Float[Tensor, " d"]:
    """The word vector of the mask; zeros if the vocabulary has none."""
    if encoding.mask_id is None:
        return torch.zeros(checkpoint.config.word_size, device=checkpoint.device)
    return gradients.word_vectors(checkpoint, [encoding.mask_id])[0]

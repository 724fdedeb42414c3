"""How far two correct computations of the same numbers may differ: from their precision and the length of their sums.

Two programs that compute the same thing (ours and transformers, fused and eager, a text alone and in a padded batch,
AVX-512 and SSE) add the same terms in another order, and each order rounds differently. The result of one machine
says nothing about another, so no tolerance here is measured:

- One operation is off by at most the unit roundoff u: 2^-24 in fp32, 2^-9 in bf16 (8 bits of significand, 7 of them
  stored), 2^-53 in float64.
- A sum of n terms is off by about sqrt(n) * u times the size of its terms. With a safety factor of lambda the bound
  lambda * sqrt(n) * u fails with a probability of at most 2n * exp(-lambda^2 / 2) (Higham & Mary, "A New Approach to
  Probabilistic Rounding Error Analysis", SIAM J. Sci. Comput. 41(5), 2019). For lambda = 8 and n = 1,536 that is 4e-11.
- Sums that follow one another (layers, and matrix products within a layer) each add their own error, and independent
  errors add up like the terms of a sum:

      allowed = lambda * u * sqrt(terms * sums) * scale

  `scale` is the largest magnitude of the numbers compared, at least 1: what was added up to a small number was not
  small, since a LayerNorm brings every vector back to numbers around 1.

A softmax turns an error e of its logits into a relative error e of the probabilities, an absolute one of at most e / 2;
a norm or a mean over an error e keeps it; a loss summed over k items adds k of them.

Not covered here: float64 arithmetic (pytest.approx and numpy by default: 1e-6 and 1e-7 of the number), exact
copies, and statements about anything but rounding (bf16 near fp32, a share of random draws), which give the
reason for their width in a comment.

These are tight enough to find mistakes. Made by hand in the encoder, each of these turned tests/model/test_parity.py
red for every family that has the part: GELU by its tanh approximation; no bias in the queries, in the values or in the
second layer of the feed-forward; an eps of 1e-5 for 1e-12 in the LayerNorm of the embeddings. The same eps in the other
LayerNorms changes numbers around 1 by 5e-6 of their size, as much as rounding does: the eps are compared themselves.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor

from bertexplorer.model.config import EncoderConfig

FP32, BF16, FP64 = 2.0**-24, 2.0**-9, 2.0**-53  # unit roundoffs
LAMBDA = 8.0
PER_LAYER = 6  # successive sums: query and key, their product, the mix of values, the output, two of the feed-forward
AROUND = 4  # those before and after the layers: embeddings and their norm, the dense layer and the output of a head

Numbers = float | Sequence[float] | np.ndarray | Tensor


def size(numbers: Numbers, least: float = 1.0) -> float:
    """The largest finite magnitude among *numbers*, at least *least*."""
    values = numbers.detach().double().cpu().numpy() if isinstance(numbers, Tensor) else np.asarray(numbers, float)
    return max(least, float(np.abs(values[np.isfinite(values)]).max(initial=0.0)))


def of_sum(terms: int, scale: Numbers = 1.0, *, sums: int = 1, unit: float = FP32, least: float = 1.0) -> float:
    """For sums of *terms* numbers, *sums* of them one after another: a mean, a row of a softmax, a dot product."""
    return LAMBDA * unit * sqrt(max(1, terms) * sums) * size(scale, least)


def of_encoder(config: EncoderConfig, scale: Numbers = 1.0, *, layers: int | None = None, unit: float = FP32) -> float:
    """For hidden states, attention, logits and log-probabilities after *layers* (by default all, and a head).

    In bf16 the terms are added up in fp32, and the sum alone is rounded: it counts as one term."""
    layers = config.num_layers if layers is None else layers
    terms = longest(config) if unit <= FP32 else 1
    return of_sum(terms, scale, sums=PER_LAYER * layers + AROUND, unit=unit)


def of_gradient(config: EncoderConfig, scale: Numbers) -> float:
    """For gradients: a pass forward and one back, which is twice as long; they may be tiny, so by their own size."""
    sums = 3 * (PER_LAYER * config.num_layers + AROUND)
    return of_sum(longest(config), scale, sums=sums, least=0.0)


def longest(config: EncoderConfig) -> int:
    """Terms of the longest sum within a layer."""
    return max(config.hidden_size, config.intermediate_size)


def assert_same(config: EncoderConfig, found: Tensor, wanted: Tensor, *, layers: int | None = None) -> None:
    """Equal but for the rounding of an encoder."""
    torch.testing.assert_close(found, wanted, rtol=0, atol=of_encoder(config, wanted, layers=layers))


def of_plane(config: EncoderConfig, vectors: np.ndarray, count: int) -> float:
    """For coordinates on the first *count* principal axes of *vectors* from an encoder: their own error, and the axes'.

    An axis turns by at most the norm of what is wrong over the gap between its singular value and the next (Wedin)."""
    values = np.linalg.svd(vectors - vectors.mean(axis=0), compute_uv=False)
    gap = float((-np.diff(values[: count + 1])).min())
    error, far = of_encoder(config, vectors), np.linalg.norm(vectors - vectors.mean(axis=0), axis=1).max()
    return float(error + far * of_encoder(config) * sqrt(vectors.size) / gap)


def assert_within(found: ArrayLike, wanted: ArrayLike, allowed: float) -> None:
    """No number of *found* is further than *allowed* from that of *wanted*."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=allowed)

"""A linear head on sentence vectors: logistic regression with a ridge (multinomial, for two boxes and more).

The vectors are first moved to their mean and scaled to a mean squared length of 1, so that one ridge means the same for
every encoder. Boxes count alike, however many sentences they have. web/static/teach/linear_head.js computes the same;
both are held to tests/cases/teaching.json."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

TOLERANCE = 1e-8  # of the gradient
ITERATIONS = 1000


@dataclass(frozen=True, eq=False)
class LinearHead:
    """A logit for each box from a vector: weights times the vector, plus the bias."""

    weights: Float[np.ndarray, "k d"]
    bias: Float[np.ndarray, " k"]

    def logits(self, vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        return np.asarray(vectors @ self.weights.T + self.bias)

    def probabilities(self, vectors: Float[np.ndarray, "n d"]) -> Float[np.ndarray, "n k"]:
        """The probability of each box, 0 to 1."""
        logits = self.logits(vectors)
        shares = np.exp(logits - logits.max(axis=1, keepdims=True))
        return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def fit(vectors: Float[np.ndarray, "n d"], labels: Int[np.ndarray, " n"], boxes: int, ridge: float) -> LinearHead:
    """The head that minimises the mean log loss of the *labels* (0 to *boxes* - 1), in which boxes count alike, plus
    ridge / 2 times the squared length of its weights. A box without a vector gets no probability."""
    from sklearn.linear_model import LogisticRegression

    # 1. One scale for all encoders.
    middle = vectors.mean(axis=0)
    scale = float(np.sqrt(np.square(vectors - middle).sum(axis=1).mean())) or 1.0
    scaled = (vectors - middle) / scale
    # 2. The fit. Of two classes, scikit-learn has one weight vector, the difference of ours, so half the ridge.
    present = np.unique(labels)
    weights = np.zeros((boxes, vectors.shape[1]))
    bias = np.full(boxes, -np.inf)
    bias[present] = 0.0
    if len(present) > 1:
        strength = ridge / 2 if len(present) == 2 else ridge
        model = LogisticRegression(
            C=1 / (len(vectors) * strength), class_weight="balanced", tol=TOLERANCE, max_iter=ITERATIONS
        )
        model.fit(scaled, labels)
        if len(present) == 2:
            weights[present] = np.concatenate([-model.coef_, model.coef_]) / 2
            bias[present] = np.concatenate([-model.intercept_, model.intercept_]) / 2
        else:
            weights[present], bias[present] = model.coef_, model.intercept_ - model.intercept_.mean()
    # 3. Back to the vectors as they are.
    weights /= scale
    return LinearHead(weights, bias - weights @ middle)

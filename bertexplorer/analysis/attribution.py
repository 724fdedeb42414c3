"""Seven measures of how much each token contributes to one number of a prediction."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.analysis.attention import check_length
from bertexplorer.analysis.attention_flow import rollout
from bertexplorer.analysis.question import Question
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError

if TYPE_CHECKING:
    from torch import Tensor


Method = Literal["integrated gradients", "gradient x input", "occlusion", "LIME", "SHAP", "attention", "rollout"]
METHODS: tuple[Method, ...] = (
    "integrated gradients",
    "gradient x input",
    "occlusion",
    "LIME",
    "SHAP",
    "attention",
    "rollout",
)
Baseline = Literal["[MASK]", "[PAD]", "zero"]
PASS_TOKENS = 16_384  # tokens that occlusion may read; LIME, SHAP and integrated gradients may read twice as many
FEWEST = {"groups": 16, "samples": 64, "steps": 16, "texts a part": 3}
LONG = 256  # tokens; beyond this, integrated gradients try TRIES steps before the requested number
TRIES, MISSED = (12, 20), 0.03  # enough where the completeness error is at most this share of the rise
SEED = 0  # seed of the samples of LIME and SHAP
KERNEL = 25.0  # width, for cosine distances times 100, as in the authors' code for text


@dataclass(frozen=True)
class Completeness:
    """Integrated gradients must add up to the rise from the baseline to the text; *error* is how far they miss it."""

    rise: float  # number of the text minus number of the baseline
    error: float  # sum of the scores minus *rise*
    steps: int  # points used between the two; fewer than requested in a long text


@dataclass(frozen=True)
class Attribution:
    """The scores of one method for t tokens. Attention and rollout are shares that sum to 1 and do not depend on the
    answer. The others are in the unit of the question's number, above 0 if the token supports the answer."""

    method: Method
    scores: Float[np.ndarray, " t"]
    completeness: Completeness | None = None
    group: int = 1  # neighbouring tokens hidden together, which share a score equally
    samples: int = 0  # texts that LIME or SHAP read
    exact: bool = False  # whether SHAP read every combination


def attribute(question: Question, method: Method, *, baseline: Baseline, steps: int, samples: int) -> Attribution:
    """Scores by *method*. A token that the method does not change has the score 0: masks in all methods except
    gradient x input, attention and rollout; [CLS] and [SEP] in integrated gradients, LIME and SHAP."""
    if method == "integrated gradients":
        return integrated_gradients(question, baseline, steps)
    if method == "gradient x input":
        return gradient_x_input(question)
    if method == "occlusion":
        return occlusion(question)
    if method == "LIME":
        return lime(question, samples)
    if method == "SHAP":
        return shap(question, samples)
    return attention(question, method)


def announce_cost(question: Question, methods: Sequence[Method], steps: int, samples: int, more: int = 0) -> None:
    """Announce how many tokens *methods* will read, plus *more* after them, so that the time left is known from the
    start. Raises ExplorerError if they are too many."""
    tokens, hideable = len(question.encoding), len(question.hideable)
    steps = min(steps, TRIES[0]) if tokens > LONG else steps
    parts = len(group_neighbours(range(hideable), tokens))
    room = max(FEWEST["samples"], 2 * PASS_TOKENS // tokens)
    texts = {
        "integrated gradients": progress.GRADIENT * steps * (1 + question.readout.apart),
        "gradient x input": progress.GRADIENT,
        "occlusion": 1 + parts,
        "LIME": min(samples, room, 2 ** min(parts, 20)),  # each text once
        "SHAP": 2 + min(shap_samples(samples, parts, tokens), 2 ** min(parts, 20)),
    }
    progress.expect(tokens * sum(texts.get(method, 0) for method in methods) + more)


def attention(question: Question, method: Method) -> Attribution:
    """Attention of the answer's token in the last layer, or rolled out through all layers (Abnar and Zuidema, 2020).
    Averaged over the heads, over the tokens if the answer is read from their mean, and over texts that are encoded
    alone. Raises ExplorerError if the weights of all heads would not fit into memory."""
    encoding, config = question.encoding, question.checkpoint.config
    check_length(encoding, config.num_layers * config.num_heads)
    parts = engine.text_positions(encoding) if question.readout.apart else (tuple(range(len(encoding))),)
    scores = np.zeros(len(encoding))
    for positions in parts:
        part_encoding = engine.select_tokens(encoding, positions) if question.readout.apart else encoding
        head_means = engine.attentions(question.checkpoint, part_encoding).mean(dim=1).numpy()
        layers = rollout(head_means) if method == "rollout" else head_means
        weights = layers[-1].mean(axis=0) if question.readout.pooled else layers[-1, question.position]
        scores[list(positions)] += weights / len(parts)
    return Attribution(method, scores)


def gradient_x_input(question: Question) -> Attribution:
    """Gradient times word vector, summed over the embedding (Shrikumar et al., 2016; Denil et al., 2014)."""
    from bertexplorer.engine import gradients

    checkpoint, encoding = question.checkpoint, question.encoding
    words = gradients.word_vectors(checkpoint, encoding.ids)
    full = words.new_ones(1)
    _, slope = gradients.path_gradient(checkpoint, encoding, question.gradient_target(), words, words, full, full)
    return Attribution("gradient x input", (words.cpu() * slope).double().sum(dim=-1).numpy())


def integrated_gradients(question: Question, baseline: Baseline, steps: int) -> Attribution:
    """(x - x') times the mean gradient on the line from x' to x, summed over the embedding (Sundararajan et al., 2017,
    equation 1), by Gauss-Legendre quadrature with *steps* points. If two texts are compared, each is replaced
    alone while the other stays: with both replaced, they would be alike.

    x contains the word vectors; position and segment vectors do not change. In x' the vector of [MASK] or [PAD], or
    zeros, replaces that of each word. Masks and the tokens that frame the text keep theirs."""
    from bertexplorer.engine import gradients

    checkpoint, encoding = question.checkpoint, question.encoding
    words = gradients.word_vectors(checkpoint, encoding.ids)
    tokenizer = checkpoint.tokenizer
    if baseline == "[MASK]" and tokenizer.mask is None:
        raise ExplorerError("This checkpoint has no mask token to start from. Choose the baseline [PAD] or zero.")
    filler = tokenizer.mask_id if baseline == "[MASK]" else tokenizer.pad_id
    replaced = 0 if baseline == "zero" else gradients.word_vectors(checkpoint, [filler])
    steps = min(steps, max(FEWEST["steps"], 2 * PASS_TOKENS // len(encoding)))
    parts = engine.text_positions(encoding) if question.readout.apart else (range(len(encoding)),)
    scores = np.zeros(len(encoding))
    rise = 0.0
    error = 0.0
    count = 0
    for part in parts:
        start = words.clone()
        start[[i for i in question.hideable if i in part]] = replaced
        part_scores, completeness = path_integral(question, start, words, steps)
        scores = scores + part_scores
        rise = rise + completeness.rise
        error = error + completeness.error
        count = max(count, completeness.steps)
    return Attribution("integrated gradients", scores, Completeness(rise, error, count))


def path_integral(
    question: Question, start: Float[Tensor, "t e"], words: Float[Tensor, "t e"], steps: int
) -> tuple[Float[np.ndarray, " t"], Completeness]:
    """The scores on the line from *start* to *words*."""
    from bertexplorer.engine import gradients

    checkpoint = question.checkpoint
    encoding = question.encoding
    target = question.gradient_target()
    ends = gradients.path_values(checkpoint, encoding, target, start, words, words.new_tensor([0.0, 1.0]))
    rise = float(ends[1] - ends[0])
    tries = [fewer for fewer in TRIES if fewer < steps] if len(encoding) > LONG else []
    for count in (*tries, steps):
        nodes, weights = np.polynomial.legendre.leggauss(count)
        shares, weight = words.new_tensor((nodes + 1) / 2), words.new_tensor(weights / 2)
        _, slope = gradients.path_gradient(checkpoint, encoding, target, start, words, shares, weight)
        scores = ((words - start).cpu() * slope).double().sum(dim=-1).numpy()
        error = float(scores.sum()) - rise
        if abs(error) <= MISSED * abs(rise):
            break
    return scores, Completeness(rise, error, count)


def occlusion(question: Question) -> Attribution:
    """The drop of the number when [MASK] replaces the token (Zeiler and Fergus, 2014; Li et al., 2016)."""
    encoding = question.encoding
    positions = [i for i, token in enumerate(encoding.ids) if token != encoding.mask_id]
    parts = group_neighbours(positions, len(encoding))
    full_value, *values = question.values([encoding, *(question.hidden(part) for part in parts)])
    scores = np.zeros(len(encoding))
    for part, value in zip(parts, values, strict=True):
        scores[part] = (full_value - value) / len(part)
    return Attribution("occlusion", scores, group=max(map(len, parts), default=1))


def group_neighbours(positions: Sequence[int], tokens: int) -> list[list[int]]:
    """Each of *positions* alone or, in a long text, groups of neighbours that keep the passes within PASS_TOKENS."""
    size = math.ceil(len(positions) / max(FEWEST["groups"], PASS_TOKENS // tokens)) or 1
    return [list(positions[i : i + size]) for i in range(0, len(positions), size)]


def lime(question: Question, samples: int) -> Attribution:
    """Coefficients of a linear model of the number, fitted to texts with some words hidden (Ribeiro et al., 2016).
    Texts that are closer to the original count more. Samples and kernel are as in the authors' code for text; the seed
    is fixed."""
    parts = group_neighbours(question.hideable, len(question.encoding))
    scores = np.zeros(len(question.encoding))
    if not parts:
        return Attribution("LIME", scores)
    samples = min(samples, max(FEWEST["samples"], 2 * PASS_TOKENS // len(question.encoding)))
    kept = random_subsets(len(parts), samples)
    texts, back = np.unique(kept, axis=0, return_inverse=True)  # each text is read once
    hidden = [
        [position for part, visible in zip(parts, text, strict=True) if not visible for position in part]
        for text in texts
    ]
    values = question.values([question.hidden(positions) for positions in hidden])[back.ravel()]
    coefficients = ridge(kept, np.asarray(values), np.array([sample_weight(row.mean()) for row in kept]))
    for part, score in zip(parts, coefficients, strict=True):
        scores[part] = score / len(part)
    return Attribution("LIME", scores, group=max(map(len, parts)), samples=samples)


def random_subsets(parts: int, samples: int) -> Bool[np.ndarray, "samples parts"]:
    """The visible parts of each sample: all in the first, then all but a random number of random ones."""
    random = np.random.default_rng(SEED)
    kept = np.ones((samples, parts), dtype=bool)
    for row in kept[1:]:
        row[random.permutation(parts)[: random.integers(1, parts + 1)]] = False
    return kept


def sample_weight(share: float) -> float:
    """Weight of a sample that shows *share* of the parts, by its cosine distance from the whole text."""
    distance = 100 * (1 - math.sqrt(share))
    return math.sqrt(math.exp(-((distance / KERNEL) ** 2)))


def ridge(
    kept: Bool[np.ndarray, "n parts"], values: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"]
) -> Float[np.ndarray, " parts"]:
    """Weighted ridge regression in closed form, the linear model in LIME. The penalty of 1 spares the intercept."""
    centred = kept - np.average(kept, axis=0, weights=weights)
    weighted = centred.T * weights  # each row sums to 0, so the mean of the values cancels
    return np.linalg.solve(weighted @ centred + np.eye(kept.shape[1]), weighted @ values.astype(np.float64))


def shap(question: Question, samples: int) -> Attribution:
    """Shapley values of the tokens (Lundberg and Lee, 2017): what each adds, on average over all orders in which the
    tokens could be shown one after the other. They add up to the rise from the text with all of them hidden. Exact if
    *samples* texts show every combination, otherwise estimated from the ones that weigh most and from random ones, as
    in the authors' KernelSHAP; the seed is fixed. If two texts are compared, each is hidden alone while the other
    stays: with both hidden, they would be alike."""
    encoding, hideable = question.encoding, question.hideable
    texts = engine.text_positions(encoding) if question.readout.apart else (hideable,)
    scores = np.zeros(len(encoding))
    read = 0
    group = 1
    exact = True
    for text in texts:
        parts = group_neighbours([i for i in hideable if i in text], len(encoding))
        if not parts:
            continue
        kept, weights = coalitions(len(parts), shap_samples(samples // len(texts), len(parts), len(encoding)))
        shown = np.concatenate([np.zeros((1, len(parts)), bool), np.ones((1, len(parts)), bool), kept])
        hidden = [[i for part, seen in zip(parts, row, strict=True) if not seen for i in part] for row in shown]
        nothing, whole, *values = np.asarray(question.values([question.hidden(positions) for positions in hidden]))
        for part, score in zip(parts, shapley(kept, np.array(values) - nothing, weights, whole - nothing), strict=True):
            scores[part] = score / len(part)
        read, group = read + len(hidden), max(group, *map(len, parts))
        exact = exact and len(hidden) == 2 ** len(parts)
    return Attribution("SHAP", scores, group=group, samples=read, exact=exact)


def shap_samples(samples: int, parts: int, tokens: int) -> int:
    """How many texts to read: more than *samples* where fewer would leave the scores undetermined, and as many as the
    limit of a long text allows."""
    return min(max(samples, FEWEST["texts a part"] * parts), max(FEWEST["samples"], 2 * PASS_TOKENS // tokens))


def coalitions(parts: int, samples: int) -> tuple[Bool[np.ndarray, "n parts"], Float[np.ndarray, " n"]]:
    """(the parts that are shown, weights) of the texts to read besides that of all parts and that of none: all with a
    few parts shown, all with a few hidden, as long as *samples* last, then random pairs of a text and its opposite. All
    with one part shown or one hidden are read in any case: without them, the scores would not be determined."""
    share = {size: 1 / (size * (parts - size)) for size in range(1, parts)}  # the kernel, summed over texts of a size
    rows: list[np.ndarray] = []
    weights: list[float] = []
    for size in range(1, parts // 2 + 1):
        opposite = parts - size
        count = math.comb(parts, size)
        if size > 1 and len(rows) + count * (1 + (size != opposite)) > samples:
            break
        for shown in itertools.combinations(range(parts), size):
            row = np.isin(np.arange(parts), shown)
            rows += [row] if size == opposite else [row, ~row]
        weights += [share[size] / count] * (len(rows) - len(weights))
        share[size] = share[opposite] = 0.0
    left = np.array([share[size] for size in range(1, parts)])
    pairs = max(0, samples - len(rows)) // 2 if left.sum() else 0
    random = np.random.default_rng(SEED)
    for size in random.choice(np.arange(1, parts), pairs, p=left / left.sum()).tolist() if pairs else ():
        row = np.isin(np.arange(parts), random.permutation(parts)[:size])
        rows += [row, ~row]
        weights += [left.sum() / (2 * pairs)] * 2
    return np.array(rows, bool).reshape(-1, parts), np.array(weights)


def shapley(
    kept: Bool[np.ndarray, "n parts"], gains: Float[np.ndarray, " n"], weights: Float[np.ndarray, " n"], total: float
) -> Float[np.ndarray, " parts"]:
    """Weighted least squares, with scores that add up to *total*: the last one is what the others leave."""
    if kept.shape[1] == 1:
        return np.array([total])
    last = kept[:, -1].astype(np.float64)
    design = kept[:, :-1] - last[:, None]
    weighted = design.T * weights
    first, *_ = np.linalg.lstsq(weighted @ design, weighted @ (gains - total * last), rcond=None)
    return np.append(first, total - first.sum())

"""Seven measures of how much each word contributes to one number of a prediction.

Methods that hide something hide a whole word, with all its pieces: from the pieces that are left, a word can often be
guessed, so what happens without one of them says little about the word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.question import Question, TargetKind
from bertexplorer.answers.readout import ask
from bertexplorer.answers.word_merging import Unit
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

import itertools
import math
from collections.abc import Collection
from typing import TYPE_CHECKING

from jaxtyping import Bool, Int

from bertexplorer import engine
from bertexplorer.answers.attention_weights import check_length, rollout
from bertexplorer.engine import progress

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
SHORT = {"integrated gradients": "IG", "gradient x input": "grad × input"}  # names for narrow places
BASELINE: Baseline = "[MASK]"  # the usual settings of the methods
STEPS = 32
SAMPLES = 200
MAX_TOKENS = 1024
PASS_TOKENS = 16_384  # tokens that occlusion may read; LIME, SHAP and integrated gradients may read twice as many
FEWEST = {"groups": 16, "samples": 64, "steps": 16, "texts a part": 3, "pairs": 8}
LONG = 256  # tokens; beyond this, integrated gradients try TRIES steps before the requested number
TRIES, MISSED = (12, 20), 0.03  # enough where the completeness error is at most this share of the rise
SEED = 0  # seed of the samples of LIME and SHAP
GROUPS = 40  # of random texts that are left out in turn, for the standard errors of SHAP
KERNEL = 25.0  # width, for cosine distances times 100, as in the authors' code for text


@dataclass(frozen=True)
class Completeness:
    """Integrated gradients must add up to the rise from the baseline to the text; *error* is how far they miss it."""

    rise: float  # number of the text minus number of the baseline
    error: float  # sum of the scores minus *rise*
    steps: int  # points used between the two; fewer than requested in a long text


@dataclass(frozen=True)
class Attribution:
    """The scores of one method for t tokens; a word that was hidden as a whole shares its score equally among its
    pieces. Attention and rollout are shares that sum to 1 and do not depend on the answer. The others are in the unit
    of the question's number, above 0 if the token supports the answer."""

    method: Method
    scores: Float[np.ndarray, " t"]
    completeness: Completeness | None = None
    group: int = 1  # neighbouring words hidden together, which share a score equally
    samples: int = 0  # texts that LIME or SHAP read
    exact: bool = False  # whether SHAP read every combination
    errors: Float[np.ndarray, " t"] | None = None  # standard errors of an estimate by SHAP, if it read enough texts


def attribute(
    question: Question, method: Method, units: Sequence[Unit], *, baseline: Baseline, steps: int, samples: int
) -> Attribution:
    """Scores by *method*, which hides each of *units* as a whole. A token that the method does not change has the score
    0: masks in all methods except gradient x input, attention and rollout; [CLS] and [SEP] in integrated gradients,
    LIME and SHAP."""
    if method == "integrated gradients":
        return integrated_gradients(question, baseline, steps)
    if method == "gradient x input":
        return gradient_x_input(question)
    if method == "occlusion":
        return occlusion(question, units)
    if method == "LIME":
        return lime(question, units, samples)
    if method == "SHAP":
        return shap(question, units, samples)
    return attention(question, method)


def announce_cost(
    question: Question, methods: Sequence[Method], units: Sequence[Unit], steps: int, samples: int, more: int = 0
) -> None:
    """Announce how many tokens *methods* will read, plus *more* after them, so that the time left is known from the
    start. Raises ExplorerError if they are too many."""
    tokens = len(question.encoding)
    steps = min(steps, TRIES[0]) if tokens > LONG else steps
    parts = len(group_neighbours(hidden_units(units, question.hideable), tokens))
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
    # 1. What is encoded: the whole input, or each text alone.
    parts = {tuple(range(len(encoding))): encoding}  # positions -> their encoding
    if question.readout.apart:
        parts = {tuple(one): engine.select_tokens(encoding, one) for one in engine.text_positions(encoding)}
    # 2. The attention of the answer's token in each.
    scores = np.zeros(len(encoding))
    for positions, part in parts.items():
        layers = engine.attentions(question.checkpoint, part).mean(dim=1).numpy()  # over the heads
        if method == "rollout":
            layers = rollout(layers)
        last = layers[-1]
        weights = last.mean(axis=0) if question.readout.pooled else last[question.position]
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


def occlusion(question: Question, units: Sequence[Unit]) -> Attribution:
    """The drop of the number when [MASK] replaces the word (Zeiler and Fergus, 2014; Li et al., 2016)."""
    encoding = question.encoding
    shown = [i for i, token in enumerate(encoding.ids) if token != encoding.mask_id]
    parts = group_neighbours(hidden_units(units, shown), len(encoding))
    full_value, *values = question.values([encoding, *(question.hidden(positions_of([part])) for part in parts)])
    drops = [full_value - value for value in values]
    return Attribution("occlusion", share_out(parts, drops, len(encoding)), group=max(map(len, parts), default=1))


Part = list[tuple[int, ...]]  # what is hidden together: the positions of a word, or of several neighbouring words


def hidden_units(units: Sequence[Unit], positions: Collection[int]) -> Part:
    """For each of *units* its tokens at *positions*; a unit without any is left out."""
    found = []
    for unit in units:
        if inside := tuple(i for i in unit.positions if i in positions):
            found.append(inside)
    return found


def group_neighbours(words: Part, tokens: int) -> list[Part]:
    """Each of *words* alone or, in a long text, groups of neighbours that keep the passes within PASS_TOKENS."""
    size = math.ceil(len(words) / max(FEWEST["groups"], PASS_TOKENS // tokens)) or 1
    return [words[i : i + size] for i in range(0, len(words), size)]


def positions_of(parts: Sequence[Part]) -> list[int]:
    """The positions of all tokens of *parts*."""
    positions: list[int] = []
    for part in parts:
        for word in part:
            positions += word
    return positions


def share_out(parts: Sequence[Part], scores: Sequence[float], tokens: int) -> Float[np.ndarray, " t"]:
    """A number for each of *tokens*: the score of its part, shared equally among the words of the part, and that of a
    word among its tokens."""
    shared = np.zeros(tokens)
    for part, score in zip(parts, scores, strict=True):
        for word in part:
            shared[list(word)] = score / len(part) / len(word)
    return shared


def lime(question: Question, units: Sequence[Unit], samples: int) -> Attribution:
    """Coefficients of a linear model of the number, fitted to texts with some words hidden (Ribeiro et al., 2016).
    Texts that are closer to the original count more. Samples and kernel are as in the authors' code for text; the seed
    is fixed."""
    tokens = len(question.encoding)
    parts = group_neighbours(hidden_units(units, question.hideable), tokens)
    if not parts:
        return Attribution("LIME", np.zeros(tokens))
    samples = min(samples, max(FEWEST["samples"], 2 * PASS_TOKENS // tokens))
    kept = random_subsets(len(parts), samples)
    texts, back = np.unique(kept, axis=0, return_inverse=True)  # each text is read once
    values = read_shown(question, parts, texts)[back.ravel()]
    coefficients = ridge(kept, values, np.array([sample_weight(row.mean()) for row in kept]))
    scores = share_out(parts, coefficients.tolist(), tokens)
    return Attribution("LIME", scores, group=max(map(len, parts)), samples=samples)


def read_shown(
    question: Question, parts: Sequence[Part], shown: Bool[np.ndarray, "n parts"]
) -> Float[np.ndarray, " n"]:
    """The number for each row of *shown*: with the parts hidden that the row does not show."""
    texts = []
    for row in shown:
        hidden = [part for part, visible in zip(parts, row, strict=True) if not visible]
        texts.append(question.hidden(positions_of(hidden)))
    return np.asarray(question.values(texts))


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


def shap(question: Question, units: Sequence[Unit], samples: int) -> Attribution:
    """Shapley values of the words (Lundberg and Lee, 2017): what each adds, on average over all orders in which the
    words could be shown one after the other. They add up to the rise from the text with all of them hidden. Exact if
    *samples* texts show every combination, otherwise estimated from the ones that weigh most and from random ones, as
    in the authors' KernelSHAP, with standard errors; the seed is fixed. If two texts are compared, each is hidden alone
    while the other stays: with both hidden, they would be alike."""
    encoding, hideable = question.encoding, question.hideable
    texts = engine.text_positions(encoding) if question.readout.apart else (hideable,)
    tokens = len(encoding)
    scores, errors = np.zeros(tokens), np.zeros(tokens)
    read = 0
    group = 1
    exact = True
    for text in texts:
        parts = group_neighbours(hidden_units(units, set(hideable).intersection(text)), tokens)
        if not parts:
            continue
        kept, weights, fixed = coalitions(len(parts), shap_samples(samples // len(texts), len(parts), tokens))
        shown = np.concatenate([np.zeros((1, len(parts)), bool), np.ones((1, len(parts)), bool), kept])
        nothing, whole, *values = read_shown(question, parts, shown)
        gains, rise = np.array(values) - nothing, whole - nothing
        scores += share_out(parts, shapley(kept, gains, weights, rise).tolist(), tokens)
        errors += share_out(parts, shapley_errors(kept, gains, weights, rise, fixed).tolist(), tokens)
        read, group = read + len(shown), max(group, *map(len, parts))
        exact = exact and len(shown) == 2 ** len(parts)
    known = not exact and bool(np.isfinite(errors).all())
    return Attribution("SHAP", scores, group=group, samples=read, exact=exact, errors=errors if known else None)


def shap_samples(samples: int, parts: int, tokens: int) -> int:
    """How many texts to read: more than *samples* where fewer would leave the scores undetermined, and as many as the
    limit of a long text allows."""
    return min(max(samples, FEWEST["texts a part"] * parts), max(FEWEST["samples"], 2 * PASS_TOKENS // tokens))


def coalitions(parts: int, samples: int) -> tuple[Bool[np.ndarray, "n parts"], Float[np.ndarray, " n"], int]:
    """(the parts that are shown, weights, how many are not random) of the texts to read besides that of all parts and
    that of none: all with a few parts shown, all with a few hidden, as long as *samples* last, then random pairs of a
    text and its opposite. All with one part shown or one hidden are read in any case: without them, the scores would
    not be determined."""
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
    fixed = len(rows)
    left = np.array([share[size] for size in range(1, parts)])
    pairs = max(0, samples - len(rows)) // 2 if left.sum() else 0
    random = np.random.default_rng(SEED)
    for size in random.choice(np.arange(1, parts), pairs, p=left / left.sum()).tolist() if pairs else ():
        row = np.isin(np.arange(parts), random.permutation(parts)[:size])
        rows += [row, ~row]
        weights += [left.sum() / (2 * pairs)] * 2
    return np.array(rows, bool).reshape(-1, parts), np.array(weights), fixed


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


def shapley_errors(
    kept: Bool[np.ndarray, "n parts"],
    gains: Float[np.ndarray, " n"],
    weights: Float[np.ndarray, " n"],
    total: float,
    fixed: int,
) -> Float[np.ndarray, " parts"]:
    """Standard errors of the scores, by the jackknife (Quenouille, 1956; Tukey, 1958): the random pairs of texts, those
    after the first *fixed* ones, are left out in turn, one or a few at a time. 0 if every text was read, NaN if too few
    are random. They are rather too large than too small."""
    parts, pairs = kept.shape[1], (len(kept) - fixed) // 2
    if len(kept) >= 2**parts - 2:
        return np.zeros(parts)
    if pairs < FEWEST["pairs"]:
        return np.full(parts, np.nan)
    groups = min(pairs, GROUPS)
    last = kept[:, -1].astype(np.float64)
    design, wanted = kept[:, :-1] - last[:, None], gains - total * last  # as in `shapley`

    def normal_equations(rows: slice | Int[np.ndarray, " n"]) -> tuple[np.ndarray, np.ndarray]:
        weighted = design[rows].T * weights[rows]
        return weighted @ design[rows], weighted @ wanted[rows]

    group = np.repeat(np.arange(pairs) % groups, 2)  # of each random text
    parts_of_groups = [normal_equations(fixed + np.flatnonzero(group == i)) for i in range(groups)]
    matrices, sides = (np.stack(each) for each in zip(*parts_of_groups, strict=True))
    always_matrix, always_side = normal_equations(slice(fixed))
    shares = np.array([weights[fixed:][group == i].sum() for i in range(groups)]) / weights[fixed:].sum()
    scale = 1 / (1 - shares)  # the random texts that stay stand for those that are left out
    matrix = always_matrix + scale[:, None, None] * (matrices.sum(axis=0) - matrices)
    side = always_side + scale[:, None] * (sides.sum(axis=0) - sides)
    first = np.linalg.solve(matrix, side[..., None])[..., 0]
    found = np.column_stack([first, total - first.sum(axis=1)])
    return np.sqrt(groups - 1) * found.std(axis=0)


def ask_within_limit(
    checkpoint: Checkpoint, text: Text | str, target: TargetKind, word: str, tagged_word: str = ""
) -> Question:
    """As `readout.ask`. Raises ExplorerError for more than MAX_TOKENS."""
    question = ask(checkpoint, text, target, word, tagged_word)
    if len(question.encoding) > MAX_TOKENS:
        raise ExplorerError(
            f"The text has {len(question.encoding):,} tokens; this view reads {MAX_TOKENS:,} at most, "
            "because it takes many passes. Shorten the text."
        )
    return question

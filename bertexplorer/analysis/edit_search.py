"""The search for edits: a beam over words that are replaced, and a text shortened as long as its answer stays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bertexplorer.analysis.attribution import gradient_x_input
from bertexplorer.analysis.edits import Changes, Draft, Editor, by_gradient
from bertexplorer.analysis.predictions import Prediction
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError

BEAM = 5  # edits that the next word is added to
PASS_TOKENS = 32_768  # tokens read for all edits; in a long text fewer words are tried
FEWEST = 4  # words that are tried in any text
LISTED = 20  # edits in the result
Propose = Callable[[Editor, Draft, Sequence[int], int], list[Changes]]


@dataclass(frozen=True)
class Tried:
    """A draft that was read."""

    draft: Draft
    prediction: Prediction


@dataclass(frozen=True)
class Outcome:
    """The result of a search."""

    listed: Sequence[Tried]
    steps: Sequence[tuple[int, ...]] = ()  # of a reduction: the words that each step removed
    found: int = 0
    tried: int = 0
    untried: int = 0
    group: int = 1


def search(editor: Editor, base: Tried, propose: Propose, edits: int, candidates: int) -> Outcome:
    """Beam search: edits of one word and, as long as none of them changes the answer, of one word more, up to *edits*.
    *candidates*: words that *propose* gives for each place."""
    free, untried = choose(editor, propose is by_gradient, edits, candidates)
    beam, seen, read = [base], {frozenset[tuple[int, str]]()}, list[Tried]()
    for _ in range(edits):
        drafts = []
        for one in beam:
            left = [i for i in free if i not in one.draft.changes]
            for changes in propose(editor, one.draft, left, candidates) if left else ():
                key = frozenset(changes.items())
                if key not in seen and (made := editor.draft(changes)):
                    drafts.append(made)
                seen.add(key)
        predictions = editor.predictor.predict([made.read for made in drafts])
        new = sorted(map(Tried, drafts, predictions), key=closeness)
        read += new
        if flips := [one for one in new if flips_answer(editor, one)]:
            return Outcome(flips[:LISTED], found=len(flips), tried=len(read), untried=untried)
        beam = new[:BEAM]
    return Outcome(sorted(read, key=closeness)[:LISTED], tried=len(read), untried=untried)


def flips_answer(editor: Editor, one: Tried) -> bool:
    """Whether an edit changes the answer as asked. An answer that only copies a word that was put in does not count."""
    predictor, index = editor.predictor, one.prediction.index
    copied = predictor.target == "mask" and index != predictor.wanted and predictor.name(index) in put_in(one)
    return predictor.flips(one.prediction) and not copied


def put_in(one: Tried) -> set[str]:
    return set(one.draft.changes.values())


def closeness(one: Tried) -> float:
    """How close a text comes to the wanted answer or, if none was named, to losing its own; lower is closer."""
    found = one.prediction
    return found.kept if math.isnan(found.wanted) else -found.wanted


def choose(editor: Editor, single: bool, edits: int, candidates: int) -> tuple[list[int], int]:
    """(indices of the words to try, how many were left out). In a long text those with the largest gradient times input
    are tried. *single*: only words of one piece can be replaced. Raises ExplorerError if no word can."""
    free = list(editor.replaceable)
    if not free:
        raise ExplorerError("Besides the mask, the text has no word to replace. Type a longer sentence.")
    if single:
        free = [i for i in free if len(editor.words[i].positions) == 1]
        if not free:
            raise ExplorerError(
                "Each word of the text is cut into several pieces, and HotFlip replaces single pieces. Choose the "
                "method fill-mask, or use plainer words."
            )
    texts = candidates * (1 + BEAM * (edits - 1))
    most = max(FEWEST, PASS_TOKENS // (texts * len(editor.encoding)))
    progress.expect(len(editor.encoding) * min(most, len(free)) * candidates)
    if len(free) <= most:
        return free, 0
    scores = np.abs(gradient_x_input(editor.predictor.question).scores)
    weight = {i: scores[list(editor.words[i].positions)].sum() for i in free}
    return sorted(sorted(free, key=lambda i: -weight[i])[:most]), len(free) - most


def reduce(editor: Editor, base: Tried) -> Outcome:
    """Remove what matters least, measured by leaving it out, as long as the answer stays. In a long text neighbouring
    words go together until few are left."""
    if len(editor.words) < 2 or not editor.free:
        raise ExplorerError("The text has no word to remove. Type a longer sentence.")
    at, left, tried, widest, spent = base.draft, list(editor.free), 0, 1, 0
    finest = len(left)
    steps: list[tuple[int, ...]] = []
    kept: list[Tried] = []
    while left:
        size, tokens = min(finest, together(len(left), len(at.read.encoding))), len(at.read.encoding)
        spent += tokens * math.ceil(len(left) / size)
        if spent > 3 * PASS_TOKENS:
            return Outcome(kept, steps, tried=tried, untried=len(left), group=widest)
        parts = [tuple(left[i : i + size]) for i in range(0, len(left), size)]
        shorter = [(part, editor.draft({**at.changes, **dict.fromkeys(part, "")})) for part in parts]
        drafts = [(part, made) for part, made in shorter if made]
        predictions = editor.predictor.predict([made.read for _, made in drafts])
        tried += len(drafts)
        read = [(part, Tried(made, p)) for (part, made), p in zip(drafts, predictions, strict=True)]
        same = [(part, one) for part, one in read if one.prediction.index == base.prediction.index]
        if not same and size == 1:
            break
        if not same:
            finest = size // 2
            continue
        part, best = max(same, key=lambda one: one[1].prediction.kept)
        at, widest = best.draft, max(widest, size)
        left = [i for i in left if i not in part]
        steps.append(part)
        kept.append(best)
    return Outcome(kept, steps, tried=tried, group=widest)


def together(words: int, tokens: int) -> int:
    """How many neighbouring words to remove at once from a text of *tokens*, of which *words* may go: one where that
    takes about PASS_TOKENS in all, n² t / 3, else parts of the text that become finer as it becomes shorter."""
    if words**2 * tokens <= 3 * PASS_TOKENS:
        return 1
    return math.ceil(words / max(FEWEST, math.isqrt(PASS_TOKENS // (2 * tokens))))

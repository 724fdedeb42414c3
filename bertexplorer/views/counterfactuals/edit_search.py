"""Search for edits: a beam search over replaced words, and a text shortened as long as its answer stays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from bertexplorer.answers.attribution import gradient_x_input
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.views.counterfactuals.edits import Changes, Draft, Editor, propose_by_gradient
from bertexplorer.views.counterfactuals.predictions import Prediction

BEAM = 5  # edits that the next word is added to
PASS_TOKENS = 32_768  # tokens read for all edits; in a long text fewer words are tried
FEWEST = 4  # words that are tried in any text
LISTED = 20  # edits in the result
Propose = Callable[[Editor, Draft, Sequence[int], int], list[Changes]]


@dataclass(frozen=True)
class EvaluatedDraft:
    """A draft with the answer to it."""

    draft: Draft
    prediction: Prediction


@dataclass(frozen=True)
class SearchOutcome:
    """The result of a search."""

    listed: Sequence[EvaluatedDraft]
    steps: Sequence[tuple[int, ...]] = ()  # of a reduction: the words that each of *listed* removed
    found: int = 0  # edits that change the answer, listed or not
    tried: int = 0  # changed texts that were read
    untried: int = 0  # words of a long text that were not tried
    group: int = 1  # of a reduction: the most neighbouring words that a step removed


def search(editor: Editor, base: EvaluatedDraft, propose: Propose, edits: int, candidates: int) -> SearchOutcome:
    """Beam search: edits of one word and, as long as none of them changes the answer, of one word more, up to *edits*.
    *candidates*: words that *propose* gives for each word. Raises ExplorerError if no word can be replaced."""
    free, untried = words_to_try(editor, edits, candidates, single=propose is propose_by_gradient)
    beam = [base]
    seen_changes = {frozenset[tuple[int, str]]()}
    evaluated = list[EvaluatedDraft]()
    for _ in range(edits):
        drafts = []
        for candidate in beam:
            left = [i for i in free if i not in candidate.draft.changes]
            if not left:
                continue
            for changes in propose(editor, candidate.draft, left, candidates):
                key = frozenset(changes.items())
                if key in seen_changes:
                    continue
                seen_changes.add(key)
                draft = editor.draft(changes)
                if draft:
                    drafts.append(draft)
        predictions = editor.predictor.predict([draft.query for draft in drafts])
        ranked = sorted(map(EvaluatedDraft, drafts, predictions), key=distance_to_goal)
        evaluated += ranked
        flips = [candidate for candidate in ranked if flips_answer(editor, candidate)]
        if flips:
            return SearchOutcome(flips[:LISTED], found=len(flips), tried=len(evaluated), untried=untried)
        beam = ranked[:BEAM]
    closest = sorted(evaluated, key=distance_to_goal)[:LISTED]
    return SearchOutcome(closest, tried=len(evaluated), untried=untried)


def flips_answer(editor: Editor, candidate: EvaluatedDraft) -> bool:
    """Whether an edit changes the answer as requested. An answer that only copies an inserted word does not count."""
    predictor = editor.predictor
    index = candidate.prediction.index
    if not predictor.flips(candidate.prediction):
        return False
    if predictor.question.readout.at_mask and index != predictor.wanted:
        return predictor.question.name(index) not in candidate.draft.changes.values()
    return True


def distance_to_goal(candidate: EvaluatedDraft) -> float:
    """How far a text is from the wanted answer or, if there is none, from losing its own; lower is closer."""
    prediction = candidate.prediction
    return prediction.kept if math.isnan(prediction.wanted) else -prediction.wanted


def words_to_try(editor: Editor, edits: int, candidates: int, *, single: bool) -> tuple[list[int], int]:
    """(indices of the words to try, how many were left out). In a long text those with the largest gradient times input
    are tried. *single*: only words of one piece can be replaced. Raises ExplorerError if no word can. Tells
    `engine.progress` how many tokens the search will read."""
    free = list(editor.replaceable)
    if not free:
        if any(editor.words[i].text.casefold() in editor.excluded for i in editor.free):
            raise ExplorerError(
                "Besides the mask, the text has only function words, which are not replaced. Allow function words too, "
                "or type a longer sentence."
            )
        raise ExplorerError("Besides the mask, the text has no word to replace. Type a longer sentence.")
    if single:
        free = [i for i in free if len(editor.words[i].positions) == 1]
        if not free:
            raise ExplorerError(
                "Each word of the text is cut into several pieces, and HotFlip replaces single pieces. Choose the "
                "method fill-mask, or use plainer words."
            )
    texts = candidates * (1 + BEAM * (edits - 1))
    limit = max(FEWEST, PASS_TOKENS // (texts * len(editor.encoding)))
    progress.expect(len(editor.encoding) * min(limit, len(free)) * candidates)
    if len(free) <= limit:
        return free, 0
    scores = np.abs(gradient_x_input(editor.predictor.question).scores)
    weight = {i: scores[list(editor.words[i].positions)].sum() for i in free}
    heaviest = sorted(free, key=lambda i: -weight[i])[:limit]
    return sorted(heaviest), len(free) - limit


def reduce(editor: Editor, base: EvaluatedDraft) -> SearchOutcome:
    """Remove the least important words, measured by leaving them out, as long as the answer stays. In a long text
    neighbouring words are removed together until few are left. Raises ExplorerError if no word can be removed."""
    if len(editor.words) < 2 or not editor.free:
        raise ExplorerError("The text has no word to remove. Type a longer sentence.")
    current = base.draft
    left = list(editor.free)
    finest = len(left)  # words that a step may remove at once
    widest = 1  # words that a step did remove at once
    tried = 0
    spent = 0  # tokens read
    steps: list[tuple[int, ...]] = []
    accepted: list[EvaluatedDraft] = []
    while left:
        # 1. The text without each group of neighbouring words.
        tokens = len(current.query.encoding)
        size = min(finest, group_size(len(left), tokens))
        spent += tokens * math.ceil(len(left) / size)
        if spent > 3 * PASS_TOKENS:
            return SearchOutcome(accepted, steps, tried=tried, untried=len(left), group=widest)
        shorter: list[tuple[tuple[int, ...], Draft]] = []
        for start in range(0, len(left), size):
            removed = tuple(left[start : start + size])
            draft = editor.draft({**current.changes, **dict.fromkeys(removed, "")})
            if draft:
                shorter.append((removed, draft))
        # 2. Those that keep the answer.
        predictions = editor.predictor.predict([draft.query for _, draft in shorter])
        tried += len(shorter)
        unchanged = []
        for (removed, draft), prediction in zip(shorter, predictions, strict=True):
            if prediction.index == base.prediction.index:
                unchanged.append((removed, EvaluatedDraft(draft, prediction)))
        if not unchanged and size == 1:
            break
        if not unchanged:
            finest = size // 2
            continue
        # 3. The one that keeps it best.
        removed, best = max(unchanged, key=lambda entry: entry[1].prediction.kept)
        current = best.draft
        widest = max(widest, size)
        left = [i for i in left if i not in removed]
        steps.append(removed)
        accepted.append(best)
    return SearchOutcome(accepted, steps, tried=tried, group=widest)


def group_size(words: int, tokens: int) -> int:
    """How many neighbouring words to remove at once from a text of *tokens*, of which *words* may be removed: one, if
    that takes about PASS_TOKENS in all, n² t / 3; else parts of the text that become finer as it becomes shorter."""
    if words**2 * tokens <= 3 * PASS_TOKENS:
        return 1
    return math.ceil(words / max(FEWEST, math.isqrt(PASS_TOKENS // (2 * tokens))))

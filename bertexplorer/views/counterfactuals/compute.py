"""Counterfactuals: the fewest words whose replacement changes the answer, or the shortest text that keeps it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from bertexplorer.answers.question import TAGGED_INFO, TARGET_INFO, Readout, TargetKind
from bertexplorer.answers.readout import MaskReadout, kind_of
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts
from bertexplorer.views.counterfactuals.edit_search import EvaluatedDraft, flips_answer, reduce, search
from bertexplorer.views.counterfactuals.edits import Draft, Editor, propose_by_gradient, propose_by_masking
from bertexplorer.views.counterfactuals.predictions import Query, make_predictor

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("changes",), "kept"
Method = Literal["gradient", "fill-mask", "reduction"]


@dataclass(frozen=True)
class Options:
    method: Annotated[
        Method, Option("Method", info="gradient: HotFlip; fill-mask: likely words; reduction: leave words out")
    ] = "gradient"
    target: Annotated[TargetKind, Option("Change", info=TARGET_INFO)] = "answer"
    word: Annotated[
        str,
        Option("Answer to reach", info="a single piece, a label or a tag; empty: any; a reduction ignores it"),
    ] = ""
    edits: Annotated[int, Option("Words that may change", 1, 3)] = 2
    candidates: Annotated[int, Option("Candidates for each word", 1, 100)] = 10
    function_words: Annotated[bool, Option("Function words too", info="the, of, is, …: English ones")] = False
    tagged_word: Annotated[str, Option("Tagged word", info=TAGGED_INFO)] = ""


@dataclass(frozen=True)
class Change:
    """One word of the text that is replaced or removed."""

    index: int  # among the words of both texts, 0-based; punctuation marks count
    side: int  # 0: the first text, 1: the second
    old: str
    new: str  # "" if it is removed


@dataclass(frozen=True)
class Edit:
    """A changed text and the answer to it. All probabilities come from a pass over this text, 0 to 1."""

    changes: tuple[Change, ...]  # by index; in a reduction those of this step alone
    texts: tuple[str, str]  # after the change
    words: tuple[tuple[str, ...], tuple[str, ...]]  # of both texts after the change
    answer: str
    probability: float  # of the answer
    before: float  # of the answer before any change
    kept: float  # of the answer before
    wanted: float  # of the answer to reach; NaN if none was named
    flipped: bool  # whether it is the answer to reach or, if none was named, another one than before


@dataclass(frozen=True)
class Counterfactuals:
    """*edits*: by "gradient" and "fill-mask" those that change the answer, all with as many words, the strongest first;
    if there are none, those that come closest. By "reduction" its steps in their order, all with the same answer."""

    target: TargetKind
    method: Method
    texts: tuple[str, str]  # as they are read, with the mask's name for hidden words
    words: tuple[tuple[str, ...], tuple[str, ...]]
    tagged: str  # the word whose tag is the answer; "" for other targets
    answer: str
    probability: float  # of the answer before any change
    wanted: str  # the answer to reach; "": any other
    wanted_before: float  # its probability before any change; NaN if none was named
    edits: tuple[Edit, ...]
    found: int  # edits that change the answer; more than LISTED are not listed
    tried: int  # changed texts that were read
    most: int  # words that an edit could change; 0 in a reduction
    untried: int  # words of a long text that were not tried, in a reduction not one by one
    group: int  # neighbouring words that the reduction of a long text removed together at first
    other_masks: int  # masks other than the one that is answered
    left_out: int  # tokens beyond the checkpoint's limit
    stale_head: bool = False  # whether the MLM head proposed words, but only a fine-tuned head was trained last
    readout: type[Readout] = MaskReadout  # how the answer is read
    several: bool = False  # whether the text may have several labels, of which the answer is the likeliest
    caveats: tuple[str, ...] = ()  # where the answer of a run differs, as sentences

    @property
    def flipped(self) -> bool:
        """Whether an edit changes the answer."""
        return self.found > 0


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Counterfactuals:
    """Edits that change the answer, each verified by a pass, or the steps of a reduction.

    "gradient" proposes words by HotFlip's first-order estimate (Ebrahimi et al., 2018), "fill-mask" those that the MLM
    head finds likely where the word is hidden; a beam search adds a word while no edit changes the answer. "reduction"
    removes the word that matters least as long as the answer stays (input reduction; Feng et al., 2018). Masks, [CLS]
    and [SEP] stay, and so does the word whose tag is the answer.

    Raises ExplorerError as saliency does, for a score or a span, for an answer to reach that is the answer already,
    without an MLM head for "fill-mask", and if no word can be replaced or removed."""
    if options.method == "fill-mask":
        _ = checkpoint.masked_lm  # if there is no head, raise before anything is read
    goal = "" if options.method == "reduction" else options.word
    predictor = make_predictor(checkpoint, text, options.target, goal, options.tagged_word)
    question = predictor.question
    editor = Editor.of(checkpoint, predictor, function_words=options.function_words)
    base = Draft({}, Query(editor.encoding, question.position), editor.words)
    before = predictor.prediction(predictor.before)
    if options.method == "reduction":
        outcome = reduce(editor, EvaluatedDraft(base, before))
    else:
        propose = propose_by_gradient if options.method == "gradient" else propose_by_masking
        outcome = search(editor, EvaluatedDraft(base, before), propose, options.edits, options.candidates)
    edits = []
    for i, candidate in enumerate(outcome.listed):
        step = outcome.steps[i] if options.method == "reduction" else ()
        edits.append(describe_edit(editor, candidate, step))
    return Counterfactuals(
        target=question.target,
        method=options.method,
        texts=base.texts,
        words=side_words(editor, base),
        tagged=word_at(editor, question.position) if question.word else "",
        answer=question.name(predictor.answer),
        probability=before.kept,
        wanted="" if predictor.wanted is None else question.name(predictor.wanted),
        wanted_before=before.wanted,
        edits=tuple(edits),
        found=outcome.found,
        tried=outcome.tried,
        most=0 if options.method == "reduction" else options.edits,
        untried=outcome.untried,
        group=outcome.group,
        other_masks=question.other_masks,
        left_out=question.encoding.left_out,
        stale_head=options.method == "fill-mask" and kind_of(checkpoint) is not None,
        readout=type(question.readout),
        several=question.readout.independent,
        caveats=question.caveats,
    )


def word_at(editor: Editor, position: int) -> str:
    return next(word.text for word in editor.words if position in word.positions)


def side_words(editor: Editor, draft: Draft) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of both texts of *draft*."""
    words: tuple[list[str], list[str]] = ([], [])
    for i, word in enumerate(editor.words):
        if new := draft.changes.get(i, word.text):
            words[editor.locations[i].side].append(new)
    return tuple(words[0]), tuple(words[1])


def describe_edit(editor: Editor, candidate: EvaluatedDraft, step: Sequence[int]) -> Edit:
    """The Edit of a text that was read. *step*: the words that a step of a reduction removed; () for other edits."""
    changes = []
    for i in sorted(step or candidate.draft.changes):
        side = editor.locations[i].side
        changes.append(Change(index=i, side=side, old=editor.words[i].text, new=candidate.draft.changes[i]))
    prediction = candidate.prediction
    return Edit(
        changes=tuple(changes),
        texts=candidate.draft.texts,
        words=side_words(editor, candidate.draft),
        answer=editor.predictor.question.name(prediction.index),
        probability=prediction.probability,
        before=prediction.before,
        kept=prediction.kept,
        wanted=prediction.wanted,
        flipped=flips_answer(editor, candidate),
    )


def rows(result: Counterfactuals) -> list[dict[str, object]]:
    """A row for the unchanged text (rank 0), and one for each edit or step of a reduction, counted from 1."""
    unchanged = Edit(
        changes=(),
        texts=result.texts,
        words=result.words,
        answer=result.answer,
        probability=result.probability,
        before=result.probability,
        kept=result.probability,
        wanted=result.wanted_before,
        flipped=False,
    )
    return [
        {
            "rank": rank,
            "changes": format_changes(edit),
            "words_changed": len(edit.changes),
            "text": edit.texts[0],
            "pair": edit.texts[1],
            "flipped": edit.flipped,
            "answer": edit.answer,
            "probability": edit.probability,
            "probability_before": edit.before,
            "kept": edit.kept,
            "wanted": "" if math.isnan(edit.wanted) else edit.wanted,
            "target": result.target,
            "method": result.method,
            "answer_before": result.answer,
            "kept_before": result.probability,
            "wanted_before": "" if math.isnan(result.wanted_before) else result.wanted_before,
        }
        for rank, edit in enumerate([unchanged, *result.edits])
    ]


def format_changes(edit: Edit) -> str:
    """The changes of an edit in a line: "france → england; on → in", or "−of" if a word is removed."""
    if not edit.changes:
        return "unchanged"
    phrases = []
    for change in edit.changes:
        phrases.append(f"{change.old} → {change.new}" if change.new else f"−{change.old}")
    return "; ".join(phrases)


class Facts(facts.Facts[Counterfactuals]):
    """*rank*: of the edit, or the step of a reduction, from 1."""

    def answer(self) -> str:
        """The answer to the text as it is."""
        return self._result.answer

    def p(self) -> float:
        """Probability of that answer, 0 to 1."""
        return self._result.probability

    def flips(self) -> float:
        """Edits found that change the answer."""
        return self._result.found

    def edits(self) -> float:
        """Edits, or steps of a reduction, that are listed."""
        return len(self._result.edits)

    def changed(self, rank: int = 1) -> str:
        """The word that an edit replaces or removes; the first if there are several."""
        return self._edit(rank).changes[0].old

    def replacement(self, rank: int = 1) -> str:
        """The word that takes its place; empty if it is removed."""
        return self._edit(rank).changes[0].new

    def new_answer(self, rank: int = 1) -> str:
        """The answer after an edit."""
        return self._edit(rank).answer

    def p_after(self, rank: int = 1) -> float:
        """Probability, after an edit, of the answer to the text as it is, 0 to 1."""
        return self._edit(rank).kept

    def words_left(self) -> float:
        """Words of the shortest text that a reduction reaches, with masks and punctuation marks."""
        last = self._result.edits[-1] if self._result.edits else self._result
        return sum(map(len, last.words))

    def _edit(self, rank: int) -> Edit:
        return facts.item(self._result.edits, rank, "edit")

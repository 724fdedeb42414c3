"""Counterfactuals of odd texts: errors, the limits of long texts, and words that must not change."""

from typing import Any

import pytest

from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.counterfactuals import compute as counterfactuals, edit_search
from bertexplorer.views.counterfactuals.compute import Counterfactuals, Options
from bertexplorer.views.counterfactuals.edits import Editor
from bertexplorer.views.counterfactuals.predictions import make_predictor
from tests.conftest import Tiny
from tests.views.tuned import ASKED, FILM, of_problem, tuned

METHODS = ("gradient", "fill-mask", "reduction")
SENTENCE = "the doctor said she works in the [MASK] ."
ODD = (
    "\ud800 cat [MASK] dog",
    "قطة [MASK] هنا cat",
    "</script><img src=x onerror=1> [MASK]",
    "don't [MASK] cat-dog, 'paris' [MASK]!!! 19",
    "[CLS] the cat [SEP] [MASK] dog [PAD]",
    "巴黎是法国的[MASK]。cat",
    "the___cat <mask>dog",
)


def run(checkpoint: Checkpoint, text: Text | str, **options: Any) -> Counterfactuals:
    return counterfactuals.run(checkpoint, text, options=Options(**options))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ODD)
def test_odd_texts_keep_everything_but_the_edited_words(text: str, method: str, small: Checkpoint) -> None:
    result = run(small, text, method=method, candidates=5, function_words=True)
    before = [word for side in result.words for word in side]
    for edit in result.edits:
        after = [word for side in edit.words for word in side]
        assert before.count("[MASK]") == after.count("[MASK]") == len(small.tokenizer.encode(edit.texts[0]).masked)
        if method != "reduction":
            changed = [i for i, pair in enumerate(zip(before, after, strict=True)) if pair[0] != pair[1]]
            assert changed == [change.index for change in edit.changes]


@pytest.mark.parametrize("family", ["roberta", "xlm-roberta", "modernbert"])
@pytest.mark.parametrize("method", METHODS)
def test_vocabularies_with_leading_spaces_are_edited(family: str, method: str, tiny: Tiny) -> None:
    ours = load(tiny(family), name=family, precision="fp32", device="cpu")
    text = "the a <mask> the is , a of ."
    try:
        result = run(ours, text, method=method, function_words=True)
    except ExplorerError as error:
        assert "several pieces" in str(error)  # the tiny vocabularies hold few words
        return
    ids = ours.tokenizer.encode(text).ids
    for edit in result.edits:
        new = ours.tokenizer.encode(edit.texts[0]).ids
        if method == "gradient":
            assert len(new) == len(ids) and sum(a != b for a, b in zip(ids, new, strict=True)) == len(edit.changes)


def test_hidden_words_are_masks_and_stay(small: Checkpoint) -> None:
    text = Text("the doctor said she works .", hidden=(Span(0, 4, 10), Span(0, 16, 19)))
    result = run(small, text, edits=1, function_words=True)
    assert result.texts[0] == "the [MASK] said [MASK] works ." and result.other_masks == 1
    assert all(edit.texts[0].count("[MASK]") == 2 for edit in result.edits)
    assert result.edits == run(small, result.texts[0], edits=1, function_words=True).edits


@pytest.mark.parametrize("wanted", ["", "z", "movie", "he"])
def test_no_edit_changes_more_words_than_necessary(wanted: str, small: Checkpoint) -> None:
    counts = []
    for most in (1, 2, 3):
        result = run(small, SENTENCE, word=wanted, edits=most, candidates=3)
        counts.append(min(len(edit.changes) for edit in result.edits if edit.flipped) if result.flipped else 0)
        assert (
            result.flipped == any(edit.flipped for edit in result.edits) == all(edit.flipped for edit in result.edits)
        )
        order = [edit.wanted if wanted else -edit.kept for edit in result.edits]
        assert result.edits and order == sorted(order, reverse=True), "where none flips, the closest are listed"
    assert all(more in (fewer, most) if fewer == 0 else more == fewer
               for fewer, more, most in zip(counts, counts[1:], (2, 3), strict=False))  # fmt: skip


def test_function_words_stay_by_default(mini: Checkpoint) -> None:
    plain, every = (run(mini, "A robin is a [MASK].", edits=1, function_words=f) for f in (False, True))
    assert {edit.changes[0].old for edit in plain.edits} == {"robin"}
    assert {edit.changes[0].old for edit in every.edits} > {"a"}
    assert all(edit.answer != edit.changes[0].new for edit in plain.edits if edit.flipped), "a copy is no other answer"


def test_long_texts_are_bounded_and_reported(small: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[MASK] " + "cat dog " * 20
    assert run(small, text, edits=1, candidates=2).untried == 0
    monkeypatch.setattr(edit_search, "PASS_TOKENS", 1200)
    work = progress.Work()
    with progress.working(work):
        result = run(small, text, edits=1, candidates=2)
    assert (result.untried, result.tried) == (40 - 1200 // (2 * 42 + 2), 2 * (1200 // (2 * 42 + 2)))
    assert work.done <= 1200 + 10 * 43
    with progress.working(shorter := progress.Work()):
        reduced = run(small, text, method="reduction")
    assert reduced.group == 10 and shorter.done <= 3 * 1200 + 43
    assert run(small, "[MASK] " + "cat " * 500, candidates=1, edits=1).left_out == 501 + 2 - 64


@pytest.mark.parametrize("text", ["[MASK]", "[MASK] .", "the [MASK] of it", "[CLS] [MASK] [SEP]"])
def test_a_text_without_a_replaceable_word_is_rejected(text: str, small: Checkpoint) -> None:
    for method in ("gradient", "fill-mask"):
        with pytest.raises(ExplorerError, match="only function words" if "the" in text else "no word to replace"):
            run(small, text, method=method)


@pytest.mark.parametrize("text", ["[MASK]", "[CLS] [MASK] [SEP]", "[MASK] [MASK]"])
def test_a_text_without_a_removable_word_is_rejected(text: str, small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="no word to remove"):
        run(small, text, method="reduction")


def test_errors_name_the_missing_part(small: Checkpoint, tiny: Tiny) -> None:
    with pytest.raises(ExplorerError, match="Nothing is hidden"):
        run(small, "No mask here.")
    with pytest.raises(ExplorerError, match="pieces"):
        run(small, "the cat [MASK] .", word="unbelievable")
    with pytest.raises(ExplorerError, match="several pieces"):
        run(small, "unbelievable [MASK] unbelievable")
    answer = run(small, SENTENCE).answer
    with pytest.raises(ExplorerError, match="already"):
        run(small, SENTENCE, word=answer)
    twin = tuned(tiny, "label")
    with pytest.raises(ExplorerError, match="no MLM head|no masked-LM head|has no"):
        run(twin.ours, FILM, method="fill-mask")
    with pytest.raises(ExplorerError, match="no label 'great'; there are bad, so-so, good"):
        run(twin.ours, FILM, word="great")
    with pytest.raises(ExplorerError, match="gives a score"):
        run(of_problem(twin.ours, "regression"), FILM)
    with pytest.raises(ExplorerError, match="other spans"):
        run(tuned(tiny, "span").ours, ASKED)


def test_spaces_and_signs_are_kept(small: Checkpoint) -> None:
    text = "the  cat,[MASK]\tdog's (paris)."
    editor = Editor.of(small, make_predictor(small, text, "answer", ""))
    replaced = editor.draft({1: "dog", 8: "london"})
    assert replaced and replaced.texts[0] == "the  dog,[MASK]\tdog's (london)."
    shorter = editor.draft({0: "", 5: ""})
    assert shorter and shorter.texts[0] == "cat,[MASK] dog s (paris)."
    assert editor.draft({1: "unbelievable"}) is None, "a new word is one piece"
    assert editor.draft({1: "cat dog"}) is None, "and one word"
    assert editor.draft(dict.fromkeys(range(len(editor.words)), "")) is None


def test_a_reduction_keeps_the_answer_for_every_goal(small: Checkpoint) -> None:
    plain = run(small, SENTENCE, method="reduction")
    for word in ("she", plain.answer, "unbelievable"):
        assert run(small, SENTENCE, method="reduction", word=word).texts == plain.texts
    result = run(small, SENTENCE)
    facts, first = counterfactuals.Facts(small, Text(SENTENCE), result), result.edits[0]
    change = first.changes[0]
    assert (facts.changed(), facts.replacement(), facts.p_after()) == (change.old, change.new, first.kept)
    assert (facts.answer(), facts.p()) == (result.answer, result.probability)
    assert (facts.flips(), facts.edits()) == (result.found, len(result.edits))
    with pytest.raises(ExplorerError, match="no edit 999"):
        facts.p_after(999)
    shorter = run(small, SENTENCE, method="reduction")
    assert counterfactuals.Facts(small, Text(SENTENCE), shorter).words_left() == 9 - len(shorter.edits)

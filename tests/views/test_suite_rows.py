"""Suites of own rows: every kind against a loop, unusable rows, paired tests and their correction."""

import time
from itertools import permutations

import numpy as np
import pytest
import scipy.stats

from bertexplorer.answers.bootstrap import compare_paired, holm
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.views.suite import compute as suite, show as figure, table as suite_table
from bertexplorer.views.suite.cases import Case, cases
from bertexplorer.views.suite.compute import Options, share
from bertexplorer.views.suite.scores import CaseOutcome
from tests.conftest import Tiny
from tests.views.conftest import Reference
from tests.views.tuned import tuned


def run(checkpoint: Checkpoint, given: list[dict], **options) -> suite.Suite:
    return suite.run(checkpoint, options=Options(**options), rows=list(enumerate(given, 2)))


@pytest.mark.parametrize("text", ["word " * 600, "x" * 30_000, "\x01\x02"], ids=["tokens", "characters", "controls"])
def test_an_unencodable_labelled_row_is_named(tiny: Tiny, text: str) -> None:
    checkpoint = tuned(tiny, "label").ours
    label = checkpoint.labels[0]
    result = run(checkpoint, [{"text": text, "label": label}, {"text": "a film", "label": label}])
    assert [item.case.line for item in result.outcomes] == [3] and [item.line for item in result.unusable] == [2]


LONG = ["{a|b}" * 26, "{a|b}" * 200_000, "{" + "a|" * 200_000, "{" * 1_000_000, "{" + "a|" * 200_000 + "}"]


@pytest.mark.parametrize("template", LONG, ids=["26 slots", "200,000 slots", "no end", "braces", "one slot"])
def test_a_template_with_too_many_fillings_is_named_quickly(template: str) -> None:
    fine = {"template": "A {b|c|b} {d|e} [MASK].", "expect": "same"}
    started = time.process_time()
    _, (case,), (unusable,) = cases(list(enumerate([fine, {"template": template, "expect": "same"}], 2)))
    assert time.process_time() - started < 2  # seconds
    assert unusable.line == 3 and ("more than 16 ways" in unusable.what or "no slot" in unusable.what)
    assert case.texts == ("A b d [MASK].", "A b e [MASK].", "A c d [MASK].", "A c e [MASK].")


def test_the_chance_level_of_a_template_is_that_of_a_random_order(mini: Checkpoint) -> None:
    """Over all orders of n fillings, the first is the lowest in one of n."""
    given = [
        {"template": "The {nurse|king} said that [MASK] was late.", "answer": "he", "expect": "higher"},
        {"template": "The {nurse|king|queen} said that [MASK] was late.", "answer": "he", "expect": "lower"},
    ]
    orders = [list(permutations(range(n))) for n in (2, 3)]
    shares = [np.mean([all(other > first for other in others) for first, *others in some]) for some in orders]
    assert run(mini, given).chance == pytest.approx(np.mean(shares))
    assert run(mini, [*given, {"template": "A {b|c} [MASK].", "expect": "same"}]).chance is None
    unusable = {"template": "A {b|c} [MASK] [MASK].", "answer": "he", "expect": "higher"}
    assert run(mini, [given[1], unusable]).chance == pytest.approx(1 / 3)


def test_fillings_of_the_same_tokens_cannot_move(mini: Checkpoint) -> None:
    given = [
        {"template": "{Anna|anna} had a [MASK].", "answer": "son", "expect": expect} for expect in ("same", "lower")
    ]
    result = run(mini, given)
    assert [outcome.right for outcome in result.outcomes] == [True]
    assert [(row.line, "the same tokens" in row.what) for row in result.unusable] == [(3, True)]


def test_the_sentence_says_that_chance_lies_within_the_interval(mini: Checkpoint) -> None:
    robin = {"template": "A robin {is|is not} a kind of [MASK].", "answer": "bird"}
    result = run(mini, [robin | {"expect": expect} for expect in ("lower", "higher")])
    assert (result.chance, result.total.right) == (0.5, 0.5)
    assert "; guessing gets 50 %, which the interval includes" in figure.say(result)
    gaps = run(mini, [{"text": "A large [MASK].", "answer": "zürich"}])
    assert gaps.total.interval.low == 0 and "guessing" not in figure.say(gaps)
    assert "which the interval includes" not in figure.say(gaps)  # its chance is too small to be named


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("3 [The cook] met [her] at noon.", "The cook met him at noon."),
        ("4 [The cook] sold [her] book.", "The cook sold his book."),
        ("5 [The cook] sold [his] book.", "The cook sold her book."),
        ("6 [The cook] slept because [He] was ill.", "The cook slept because She was ill."),
        (
            "[The CEO] told the cook [himself] that [he] lost [his] car.",
            "The CEO told the cook herself that she lost her car.",
        ),
        (
            "7 The cook gave [the CEO] a cake and told [her] a joke.",
            "The cook gave the CEO a cake and told him a joke.",
        ),
    ],
)
def test_winobias_gets_the_pronoun_of_the_other_gender(text: str, other: str) -> None:
    _, (case,), _ = cases([(2, {"text": text})])
    assert case.texts[1] == other


def test_an_unusable_accepted_word_does_not_affect_the_others(mini: Checkpoint) -> None:
    text = "Paris is a large [MASK]."
    result = run(mini, [{"text": text, "answer": answer} for answer in ("☃|city", "city", "☃|☂")])
    both, alone = result.outcomes
    assert (both.rank, both.score, both.right, both.unscored) == (alone.rank, alone.score, alone.right, 1)
    assert [row.line for row in result.unusable] == [4]
    assert "1 accepted word cannot be scored; its row uses the others" in figure.say(result)


def test_a_word_of_several_pieces_does_not_hide_the_rank_of_a_word_of_one(
    mini: Checkpoint, reference: Reference
) -> None:
    text = "He lived in San [MASK]."
    one, several, both = run(
        mini, [{"text": text, "answer": w} for w in ("colour", "kindnesses", "colour|kindnesses")]
    ).outcomes
    assert several.rank is None and several.score > one.score and both.score == several.score
    ids = reference.ids(text)
    row = reference.log_probs(ids)[ids.index(reference.mask)]
    rank = 1 + int((row > row[reference.tokenizer.convert_tokens_to_ids("colour")]).sum())
    assert both.rank == one.rank == rank
    assert run(mini, [{"text": text, "answer": "colour|kindnesses"}]).total.mrr == pytest.approx(1 / rank)


def test_a_correct_row_counts_with_rank_1_in_the_mean() -> None:
    case = Case("cloze", 2, "", ("A [MASK].",), ("x",))
    outcomes = [
        CaseOutcome(case, right, 0.0, "x", rank) for right, rank in ((True, 9), (False, 4), (False, None), (True, None))
    ]
    result = share("all", outcomes)
    assert (result.right, result.top5) == (0.5, 0.75) and result.mrr == pytest.approx((1 + 1 / 4 + 0 + 1) / 4)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"a": 40, "b": 29}, "“b” has fewer than 30 cases, so its share is rough."),
        ({"a": 40, "b": 29, "c": 1}, "“b” and “c” have fewer than 30 cases, so their shares are rough."),
        (dict.fromkeys("abcd", 20), "All 4 categories have fewer than 30 cases, so their shares are rough."),
        (
            dict.fromkeys("abcd", 20) | {"e": 30},
            "4 of the 5 categories have fewer than 30 cases, so their shares are rough.",
        ),
        ({"a": 30, "b": 30}, ""),
        ({"a": 9, "b": 9}, "Fewer than 30 cases say little."),
    ],
)
def test_a_category_of_few_cases_is_marked(counts: dict[str, int], message: str) -> None:
    names = [name for name, count in counts.items() for _ in range(count)]
    outcomes = [
        CaseOutcome(Case("next sentence", i, name, ("a", "b"), ("next",)), i % 2 > 0, 0.0, "next")
        for i, name in enumerate(names)
    ]
    result = suite.summary("x", "next sentence", "the whole sentence", 0.5, outcomes, [])
    assert figure.say(result).endswith(message) and (message != "") == ("fewer than" in figure.say(result).lower())
    marked = [share.name for share in result.shares if "fewer than 30: a rough share" in figure.hover(result, share)]
    assert marked == [name for name, count in counts.items() if count < 30]


def test_the_expected_direction_is_shown_with_its_word(mini: Checkpoint) -> None:
    words = {"higher": "more likely: bird", "lower": "less likely: bird", "same": "same"}
    given = [{"template": "A robin {is|is not} a [MASK].", "answer": "bird", "expect": expect} for expect in words]
    result = run(mini, given)
    assert [row["wanted"] for row in suite.rows(result)] == list(words.values())
    assert [suite_table.row(outcome)["wanted"] for outcome in result.outcomes] == list(words.values())


def test_the_reason_of_a_row_is_a_clause(mini: Checkpoint) -> None:
    given = [{"good": "The cat sat.", "bad": "x" * 30_000}, {"good": "The cat sat.", "bad": "The cat sit."}]
    why = "line 2 cannot be read: the text has 30,000 characters; the limit is 20,000"
    assert f"1 row could not be scored: {why}." in figure.say(run(mini, given))
    with pytest.raises(ExplorerError, match=f"^None of the rows can be scored: {why}\\.$"):
        run(mini, given[:1])


def test_the_lowest_and_the_highest_share_are_named() -> None:
    outcomes = [
        CaseOutcome(Case("next sentence", i, "ab"[i > 0], ("a", "b"), ("next",)), i > 0, 0.0, "next") for i in range(9)
    ]
    result = suite.summary("x", "next sentence", "the whole sentence", 0.5, outcomes, [])
    assert "“a” (0 %) has the lowest share, “b” (100 %) the highest." in figure.say(result)
    both = [result, suite.summary("y", "next sentence", "the whole sentence", 0.5, outcomes[:1], [])]
    assert "two (0 %) has the lowest share, one (89 %) the highest." in figure.say_several(["one", "two"], both, 0)


def test_all_categories_with_the_same_lowest_or_highest_share_are_named() -> None:
    """Of six categories, two have no right row and four have all of theirs right."""
    outcomes = [
        CaseOutcome(Case("next sentence", i, name, ("a", "b"), ("next",)), name > "b", 0.0, "next")
        for i, name in enumerate("abcdef")
    ]
    result = suite.summary("x", "next sentence", "the whole sentence", 0.5, outcomes, [])
    assert "“a” and “b” (0 %) have the lowest share, “c”, “d” and 2 more (100 %) the highest." in figure.say(result)
    wrong, right = (suite.summary("y", "next sentence", "whole", 0.5, outcomes[i : i + 1], []) for i in (0, 5))
    sentence = figure.say_several(["one", "two", "three"], [right, wrong, wrong], 0)
    assert "two and three (0 %) have the lowest share, one (100 %) the highest." in sentence


def test_several_tests_are_corrected_by_holms_method() -> None:
    """As R's p.adjust(…, "holm"), also with equal values."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.02, 0.02]) == pytest.approx([0.6, 0.06, 0.06]) and holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.3]) == [0.3] and holm([]) == []


def test_the_interval_of_a_difference_is_mirrored_if_the_sides_are_swapped() -> None:
    none, every, some = np.zeros(8), np.ones(8), np.repeat([0.0, 1.0], 4)
    for first, second in ((none, every), (none, none), (every, every), (none, some), (some, some[::-1])):
        there, back = compare_paired(first, second).interval, compare_paired(second, first).interval
        assert there == pytest.approx((-back.high, -back.low), abs=0.01)  # resamples are drawn
    equal = compare_paired(some, some).interval
    assert equal == pytest.approx((-0.3694, 0.3694), abs=1e-4)  # 1 - 0.025 ** (1 / 8)
    assert compare_paired(every, none).interval == pytest.approx((-1, -0.6306), abs=1e-4)


def test_two_checkpoints_are_compared_by_mcnemars_test() -> None:
    first, second = np.repeat([1.0, 0, 1, 0], [50, 20, 12, 3]), np.repeat([1.0, 0, 0, 1], [50, 20, 12, 3])
    result = compare_paired(first, second)
    assert (result.only_first, result.only_second) == (12, 3) and result.difference == pytest.approx(-9 / 85)
    assert result.p == pytest.approx(2 * scipy.stats.binom.cdf(3, 15, 0.5))
    assert result.interval.low < result.difference < result.interval.high < 0
    assert compare_paired(first, first).p == 1

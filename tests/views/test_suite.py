"""Suites against loops written by hand over transformers: pairs, cloze items, templates, next sentences, shares."""

from difflib import SequenceMatcher

import numpy as np
import pytest
import scipy.stats
import torch

from bertexplorer.answers.bootstrap import interval
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.views.suite import compute as suite, show as figure
from bertexplorer.views.suite.cases import BuiltIn, built_in, cases
from bertexplorer.views.suite.compute import Options
from bertexplorer.views.suite.scores import CaseOutcome, Scorer
from tests.conftest import Tiny
from tests.views.conftest import CLOSE, Reference
from tests.views.tuned import tuned

PAIRS = [
    {
        "sentence_good": "The unbelievable story is true.",
        "sentence_bad": "The unbelievable story are true.",
        "UID": "a",
    },
    {"sentence_good": "Nobody has ever flown.", "sentence_bad": "Somebody has ever flown there.", "UID": "b"},
    {"sentence_good": "She hurt herself.", "sentence_bad": "She hurt himself.", "UID": "a"},
]
NAMES = BuiltIn.__args__  # type: ignore[attr-defined]


def rows(given: list[dict]) -> list[tuple[int, dict]]:
    return list(enumerate(given, 2))


def run(checkpoint: Checkpoint, given: list[dict], **options) -> suite.Suite:
    return suite.run(checkpoint, options=Options(**options), rows=rows(given))


def total(reference: Reference, text: str) -> float:
    """The pseudo-log-likelihood with the rest of each word hidden too (Kauf and Ivanova, 2023), a pass at a time."""
    ids = reference.ids(text)
    tokens = reference.tokenizer.convert_ids_to_tokens(ids)
    result = 0.0
    for spot in range(1, len(ids) - 1):
        end = spot + 1
        while tokens[end].startswith("##"):
            end += 1
        row = reference.log_probs([*ids[:spot], *[reference.mask] * (end - spot), *ids[end:]])[spot]
        result += float(row[ids[spot]])
    return result


def test_minimal_pairs_are_scored_as_by_a_loop_over_transformers(mini: Checkpoint, reference: Reference) -> None:
    result = run(mini, PAIRS)
    assert (result.kind, result.chance) == ("minimal pairs", 0.5)
    for given, item in zip(PAIRS, result.outcomes, strict=True):
        margin = total(reference, given["sentence_good"]) - total(reference, given["sentence_bad"])
        assert item.score == pytest.approx(margin, abs=40 * CLOSE) and item.right == (margin > 0)
    assert result.total.right == np.mean([item.right for item in result.outcomes])
    assert [(item.name, item.count) for item in result.shares] == [("a", 2), ("b", 1)]


def test_the_differing_piece_is_compared_in_its_place(mini: Checkpoint, reference: Reference) -> None:
    result = run(mini, PAIRS, scoring="the differing piece")
    ids = reference.ids(PAIRS[2]["sentence_good"])
    row = reference.log_probs([*ids[:3], reference.mask, *ids[4:]])[3]
    good, bad = (reference.tokenizer.convert_tokens_to_ids(word) for word in ("herself", "himself"))
    assert result.outcomes[-1].score == pytest.approx(float(row[good] - row[bad]), abs=2 * CLOSE)
    (unusable,) = result.unusable
    assert unusable.line == 3 and "one piece alone" in unusable.what


def test_stereotype_pairs_count_the_words_that_both_share(mini: Checkpoint, reference: Reference) -> None:
    """As CrowS-Pairs does: each shared token is hidden alone."""
    texts = "The old nurse said that she was tired.", "The old nurse said that he was tired."
    result = run(mini, [{"sent_more": texts[0], "sent_less": texts[1], "bias_type": "gender"}])
    ids = [reference.ids(text) for text in texts]
    sums = []
    for side in (0, 1):
        blocks = SequenceMatcher(None, *ids, autojunk=False).get_matching_blocks()
        shared = [block[side] + i for block in blocks for i in range(block.size)]
        spots = [spot for spot in shared if ids[side][spot] not in reference.tokenizer.all_special_ids]
        assert len(spots) == len(ids[side]) - 3
        hidden = [[*ids[side][:spot], reference.mask, *ids[side][spot + 1 :]] for spot in spots]
        sums.append(sum(float(reference.log_probs(h)[s][ids[side][s]]) for h, s in zip(hidden, spots, strict=True)))
    (outcome,) = result.outcomes
    assert result.kind == "stereotype pairs" and outcome.score == pytest.approx(sums[0] - sums[1], abs=20 * CLOSE)


def test_a_gap_has_the_rank_and_the_probability_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    text = "The capital of France is [MASK]."
    result = run(mini, [{"text": text, "answer": "london|paris", "category": "x"}, {"text": text, "answer": "in"}])
    ids = reference.ids(text)
    row = reference.log_probs(ids)[ids.index(reference.mask)]
    best = max(float(row[reference.tokenizer.convert_tokens_to_ids(word)]) for word in ("london", "paris"))
    first = result.outcomes[0]
    assert first.score == pytest.approx(best, abs=CLOSE) and first.rank == 1 + int((row > best).sum())
    assert first.said == reference.tokenizer.convert_ids_to_tokens(int(row.argmax()))
    ranks = np.array([outcome.rank for outcome in result.outcomes])
    assert result.total.top5 == np.mean(ranks <= 5) and result.total.mrr == pytest.approx(np.mean(1 / ranks))
    assert result.chance == pytest.approx(1.5 / mini.config.vocab_size)


def test_a_word_of_several_pieces_has_the_joint_probability(mini: Checkpoint, reference: Reference) -> None:
    result = run(mini, [{"text": "The [MASK] was here.", "answer": "electroencephalogram"}])
    pieces = reference.tokenizer("electroencephalogram", add_special_tokens=False)["input_ids"]
    ids = reference.ids("The [MASK] was here.")
    at, joint = ids.index(reference.mask), 0.0
    assert len(pieces) > 2
    for i, piece in enumerate(pieces):
        wide = [*ids[:at], *pieces[:i], *[reference.mask] * (len(pieces) - i), *ids[at + 1 :]]
        joint += float(reference.log_probs(wide)[at + i][piece])
    (outcome,) = result.outcomes
    assert outcome.rank is None and not outcome.right and outcome.score == pytest.approx(joint, abs=len(pieces) * CLOSE)
    assert result.total.mrr == 0


@pytest.mark.parametrize(("expect", "sign"), [("higher", 1), ("lower", -1)])
def test_a_template_expects_a_direction(mini: Checkpoint, reference: Reference, expect: str, sign: int) -> None:
    given = {"template": "The {nurse|king|queen} said that [MASK] was late.", "answer": "he", "expect": expect}
    (outcome,) = run(mini, [given]).outcomes
    logs = []
    for text in outcome.case.texts:
        ids = reference.ids(text)
        row = reference.log_probs(ids)[ids.index(reference.mask)]
        logs.append(float(row[reference.tokenizer.convert_tokens_to_ids("he")]))
    least = min(sign * (log - logs[0]) for log in logs[1:])
    assert len(logs) == 3 and outcome.score == pytest.approx(least, abs=2 * CLOSE) and outcome.right == (least > 0)


def test_an_expected_same_answer_is_right_if_the_first_answer_stays(mini: Checkpoint, reference: Reference) -> None:
    given = {"template": "{Anna|Paul} lives in a small [MASK].", "expect": "same"}
    (outcome,) = run(mini, [given]).outcomes
    tops = set()
    for text in outcome.case.texts:
        ids = reference.ids(text)
        tops.add(int(reference.log_probs(ids)[ids.index(reference.mask)].argmax()))
    assert outcome.right == (len(tops) == 1)


def test_next_sentences_have_the_baseline_of_the_frequent_answer(mini: Checkpoint) -> None:
    pairs = [("He went out.", "It rained.", "yes"), ("He ate.", "Bats sleep by day.", "no"), ("A.", "B.", "no")]
    result = run(mini, [{"first": a, "second": b, "next": c} for a, b, c in pairs])
    assert result.kind == "next sentence" and result.total.baseline == pytest.approx(2 / 3)
    assert all(outcome.right == (outcome.said == outcome.case.answers[0]) for outcome in result.outcomes)


@pytest.mark.parametrize("name", NAMES)
def test_every_row_of_a_built_in_suite_can_be_scored(name: str, mini: Checkpoint) -> None:
    kind, result, unusable = cases(built_in(name))
    assert 50 <= len(result) <= 200 and not unusable and len({item.category for item in result}) >= 2
    scorer = Scorer(mini, kind, "the whole sentence")
    picked = result[:: len(result) // 5]
    assert all(isinstance(item, CaseOutcome) for item in scorer.outcomes(picked))


def test_the_interval_is_that_of_a_direct_bootstrap() -> None:
    rng = np.random.default_rng(1)
    for values in (rng.random(80) < 0.7, 1 / rng.integers(1, 50, size=40)):
        values = values.astype(float)
        means = rng.choice(values, size=(20_000, len(values))).mean(axis=1)
        wanted = np.quantile(means, [0.025, 0.975])
        noise = 4 * np.sqrt(0.025 * 0.975 / 10_000) / 0.0585 * means.std()  # of a quantile of 10,000 normal draws
        assert interval(values) == pytest.approx(wanted, abs=noise + 1 / len(values) / 2)


@pytest.mark.parametrize("right", [0.0, 1.0])
def test_an_interval_of_equal_cases_is_exact(right: float) -> None:
    exact = scipy.stats.binomtest(int(20 * right), 20).proportion_ci()
    assert interval(np.full(20, right)) == pytest.approx((exact.low, exact.high))


def test_the_sample_has_as_many_rows_of_each_category_as_possible(mini: Checkpoint) -> None:
    given = [{"first": "He ate.", "second": "It rained.", "next": "yes", "category": c} for c in "aaaaabbc"]
    result = run(mini, given, most=5)
    assert [(share.name, share.count) for share in result.shares] == [("a", 2), ("b", 2), ("c", 1)]
    assert result.left_out == 3


BAD = [
    ({"good": "The cat sat.", "bad": "The cat sat."}, "the same sentence twice"),
    ({"good": "The cat sat.", "bad": "the CAT sat."}, "the same tokens"),
    ({"good": "The cat sat.", "bad": ""}, "has no bad"),
    ({"good": "The cat sat.", "bad": "word " * 600}, "the checkpoint reads 512"),
    ({"good": "The cat sat.", "bad": "The \U0001f9a0 sat."}, "outside the vocabulary"),
    ({"good": "The cat sat.", "bad": "x" * 30_000}, "30,000 characters"),
    ({"text": "No gap.", "answer": "x"}, "has no [MASK]; wanted one"),
    ({"text": "[MASK] and [MASK].", "answer": "x"}, "has 2 [MASK]s; wanted one"),
    ({"text": "A [MASK].", "answer": " | "}, "has no answer"),
    ({"template": "A {b|c} [MASK].", "expect": "more"}, "wanted same, higher, lower"),
    ({"template": "A {b|c} [MASK].", "expect": "lower"}, "names no answer"),
    ({"template": "A b [MASK].", "expect": "same"}, "no slot with two words"),
    ({"template": "A {b|c}.", "expect": "same"}, "has no fine-tuned head"),
    ({"template": "{a|b|c|d|e} {a|b|c|d|e} [MASK].", "expect": "same"}, "more than 16 ways"),
    ({"first": "A.", "second": "B.", "next": "maybe"}, "wanted yes or no"),
]
FINE = {
    "good": {"good": "She sleeps.", "bad": "She sleep."},
    "text": {"text": "A [MASK].", "answer": "dog"},
    "template": {"template": "A {b|c} [MASK].", "expect": "same"},
    "first": {"first": "A.", "second": "B.", "next": "no"},
}


@pytest.mark.parametrize(("bad", "why"), BAD, ids=[why for _, why in BAD])
def test_an_unusable_row_is_named_and_the_others_are_scored(mini: Checkpoint, bad: dict, why: str) -> None:
    result = run(mini, [FINE[next(iter(bad))], bad])
    (unusable,) = result.unusable
    assert unusable.line == 3 and why in unusable.what and result.total.count == 1
    assert suite.rows(result)[-1]["problem"] == unusable.what
    with pytest.raises(ExplorerError, match="None of the rows can be scored: line 2 "):
        run(mini, [bad])


def test_columns_of_no_known_kind_of_suite_are_rejected(mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match=r"The columns name, x are not those of a view\. .* Suite good and bad"):
        run(mini, [{"name": "a", "x": "b"}])
    with pytest.raises(ExplorerError, match="are no longer stored"):
        suite.run(mini, options=Options(rows="0" * 24))
    with pytest.raises(ExplorerError, match="no fine-tuned head"):
        run(mini, [{"text": "a film", "label": "good"}])


PUBLISHED = [  # as their files have them
    ({"sentence_good": "A a.", "sentence_bad": "A b.", "UID": "npi", "field": "syntax"}, "minimal pairs", "npi"),
    (
        {"sent_more": "A a.", "sent_less": "A b.", "bias_type": "age", "stereo_antistereo": "s"},
        "stereotype pairs",
        "age",
    ),
    ({"masked_sentences": ["B is a [MASK] ."], "obj_label": "c", "predicate_id": "P31"}, "cloze", "P31"),
    ({"evidences": [{"masked_sentence": "B is a [MASK] ."}], "obj_label": "c", "predicate_id": "P31"}, "cloze", "P31"),
    ({"column 1": "vp", "column 2": "x", "column 3": "A a.", "column 4": "A b."}, "minimal pairs", "vp"),
    ({"text": "1 [The developer] met the designer because [she] asked."}, "stereotype pairs", ""),
]


@pytest.mark.parametrize(("cells", "kind", "category"), PUBLISHED)
def test_published_formats_are_read_unchanged(cells: dict, kind: str, category: str) -> None:
    result, (case,), unusable = cases(rows([cells]))
    assert (result, case.category, unusable) == (kind, category, [])


def test_labelled_rows_are_answered_as_by_transformers(tiny: Tiny) -> None:
    case = tuned(tiny, "label")
    names = case.ours.labels
    given = [{"text": f"film {n} was good", "label": names[n % len(names)]} for n in range(7)]
    result = run(case.ours, [*given, {"text": "a film", "label": "nobody's"}])
    for row, outcome in zip(given, result.outcomes, strict=True):
        with torch.no_grad():
            ids = case.ours.tokenizer.encode(row["text"]).ids
            logs = case.theirs(torch.tensor([ids])).logits[0].double().log_softmax(-1)
        gold = names.index(row["label"])
        assert outcome.score == pytest.approx(float(logs[gold]), abs=CLOSE)
        assert outcome.right == (int(logs.argmax()) == gold) and outcome.said == names[int(logs.argmax())]
    assert result.kind == "labels" and result.chance == pytest.approx(1 / len(names))
    most = max(sum(row["label"] == name for row in given) for name in names)
    assert result.total.baseline == pytest.approx(most / 7)
    assert [(item.line, "it gives" in item.what) for item in result.unusable] == [(9, True)]


def test_a_template_without_a_mask_asks_the_fine_tuned_head(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    given = {"template": "a {good|bad} film", "expect": "lower", "answer": twin.ours.labels[0]}
    (result,) = run(twin.ours, [given]).outcomes
    with torch.no_grad():
        logs = [
            twin.theirs(torch.tensor([twin.ours.tokenizer.encode(text).ids])).logits[0].double().log_softmax(-1)
            for text in result.case.texts
        ]
    assert result.score == pytest.approx(float(logs[0][0] - logs[1][0]), abs=2 * CLOSE)


def test_stereotype_pairs_without_a_shared_token_are_not_scored(mini: Checkpoint) -> None:
    given = [
        {"stereotype": "Hello", "other": "Goodbye friend"},
        {"stereotype": "A man cooks.", "other": "A dog cooks."},
    ]
    result = run(mini, given)
    assert len(result.outcomes) == 1 and "share no token" in str(result.unusable[0])


def test_categories_that_are_not_drawn_are_counted(mini: Checkpoint) -> None:
    given = [{**PAIRS[2], "UID": f"c{number}"} for number in range(42)]
    result = run(mini, given)
    assert "The first 40 of 42 categories are drawn." in figure.say(result)
    assert figure.compare(result, result).endswith("0 count towards the first share alone, 0 towards the second alone.")

"""Every measure of a task compared with the package that defines it, on 200 random cases each: labels only in the
validation rows, labels that are never predicted, empty answers, ties, a single row, no labels at all."""

import collections
import re
import string
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import ir_measures
import numpy as np
import pytest
from ir_measures import RR, R, nDCG
from nervaluate import Evaluator
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu import corpus_chrf, sentence_chrf
from scipy.stats import pearsonr, spearmanr
from sklearn import metrics as theirs
from sklearn.preprocessing import MultiLabelBinarizer

from bertexplorer.training import entities
from bertexplorer.training.learners.classification import Classifier
from bertexplorer.training.learners.reranking import evaluate_query as evaluate_reranking
from bertexplorer.training.learners.retrieval import evaluate_query
from bertexplorer.training.ranking import tie_ranks
from bertexplorer.training.tasks import reranking
from bertexplorer.training.tasks.classification import Example, Options, baselines
from bertexplorer.training.tasks.question_answering import best_match
from bertexplorer.training.tasks.sequence import compare_texts as rewritten
from bertexplorer.training.tasks.similarity import correlations
from bertexplorer.training.tasks.summary import Rouge
from bertexplorer.training.texts import Item
from tests.tolerance import of_sum

CASES = 200
WORDS = ["", "the", "cat", "Cats", "a mat.", "ran home", "ran", "…"]


class Answering(Classifier):
    """A classifier without an encoder: its probabilities are given."""

    def __init__(self, labels: Sequence[str], shares: "np.ndarray[Any, Any]", *, several: bool) -> None:
        self.labels, self.several, self.shares, self.features = tuple(labels), several, shares, []
        self.tokenizer = self  # type: ignore[assignment]

    def items(self, texts: Sequence[Any], targets: Sequence[Any]) -> list[Item]:
        return [Item((), (), target) for target in targets]

    def probabilities(self, items: Sequence[Item]) -> "np.ndarray[Any, Any]":
        return self.shares


def test_labels_may_be_sets_or_occur_only_in_the_validation_rows() -> None:
    # 10 rows with x and y, in either order, and 6 with z.
    cells = [("x", "y"), ("y", "x")] * 5 + [("z",)] * 6
    examples = [Example(i, ("t",), labels) for i, labels in enumerate(cells)]
    assert baselines(examples, examples, Options(labels="several")) == {"accuracy": ("always “x, y”", 0.625)}
    # By hand: a, a, b, c against a, a, b, a: F1 of 0.8, 1 and 0.
    shares = np.array([[0.9, 0.1], [0.8, 0.2], [0.3, 0.7], [0.6, 0.4]])
    result = Answering("ab", shares, several=False).evaluate([Example(i, ("x",), (c,)) for i, c in enumerate("aabc")])
    assert result.metrics["macro_f1"] == pytest.approx(0.6) and result.metrics["accuracy"] == 0.75
    assert result.metrics["mcc"] == pytest.approx(theirs.matthews_corrcoef(list("aabc"), list("aaba")))
    assert result.confusion is not None
    assert result.confusion.labels == ("a", "b", "c") and result.confusion.counts == ((2, 0, 0), (0, 1, 0), (1, 0, 0))
    assert [row["examples"] for row in result.tables["Per label"]] == [2, 1, 1]


def one_label(draw: np.random.Generator) -> None:
    known, every = ["a", "b", "c"][: draw.integers(2, 4)], ["a", "b", "c", "d", "e"]
    rows = int(draw.choice([1, 2, 5, 20]))
    gold = [str(label) for label in draw.choice(every[: draw.integers(1, 6)], rows)]
    shares = draw.dirichlet(np.ones(len(known)) * draw.choice([0.1, 5]), rows).astype(np.float32)
    shares = np.maximum(shares, 1e-6)  # packages clip at numbers of their own
    predicted = [known[i] for i in shares.argmax(1)]
    result = Answering(known, shares, several=False).evaluate([Example(0, ("x",), (label,)) for label in gold])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a single class
        wanted = {
            "accuracy": theirs.accuracy_score(gold, predicted),
            "macro_f1": theirs.f1_score(gold, predicted, average="macro"),
            "micro_f1": theirs.f1_score(gold, predicted, average="micro"),
            "mcc": theirs.matthews_corrcoef(gold, predicted),
        }
        assert {name: result.metrics[name] for name in wanted} == pytest.approx(wanted)
        learnt = [i for i, label in enumerate(gold) if label in known]
        if learnt:
            loss = theirs.log_loss([gold[i] for i in learnt], shares[learnt].astype(float), labels=known)
            # logs of fp32 numbers, none below that of 1e-6; those of numbers near 1 are next to 0
            assert result.metrics["loss"] == pytest.approx(loss, abs=of_sum(rows, 14.0))
        names = [*known, *sorted(set(gold) - set(known))]
        parts = theirs.precision_recall_fscore_support(gold, predicted, labels=names, zero_division=0)
        assert result.confusion is not None
        assert (np.array(result.confusion.counts) == theirs.confusion_matrix(gold, predicted, labels=names)).all()
    table = result.tables["Per label"]
    assert [row["label"] for row in table] == names
    for name, values in zip(("precision", "recall", "f1", "examples"), parts, strict=True):
        assert [row[name] for row in table] == pytest.approx(list(values))
    assert result.metrics["calibration"] == pytest.approx(
        calibration(shares.max(1), np.array(predicted) == np.array(gold))
    )


def calibration(sure: "np.ndarray[Any, Any]", right: "np.ndarray[Any, Any]") -> float:
    """Expected calibration error by ten bins, bin by bin."""
    places = np.minimum(9, np.floor(sure * 10))
    return float(sum(abs(right[places == i].sum() - sure[places == i].sum()) for i in range(10)) / len(sure))


def several_labels(draw: np.random.Generator) -> None:
    known, every = ["a", "b", "c"], ["a", "b", "c", "d"]
    rows = int(draw.choice([1, 3, 12]))
    often = draw.choice([0.0, 0.2, 0.6])
    gold = [tuple(label for label in every if draw.random() < often) for _ in range(rows)]
    shares = (draw.random((rows, 3)) * draw.choice([0.5, 1.0])).astype(np.float32)
    predicted = [tuple(label for label, share in zip(known, row, strict=True) if share > 0.5) for row in shares]
    result = Answering(known, shares, several=True).evaluate([Example(0, ("x",), labels) for labels in gold])
    occur = sorted({label for labels in (*gold, *predicted) for label in labels})
    table = MultiLabelBinarizer(classes=occur)
    true, claimed = (table.fit_transform(side) if occur else np.zeros((rows, 1), int) for side in (gold, predicted))
    wanted = {
        "accuracy": theirs.accuracy_score(true, claimed),
        "macro_f1": theirs.f1_score(true, claimed, average="macro" if len(occur) > 1 else "binary", zero_division=0),
        "micro_f1": theirs.f1_score(true, claimed, average="micro" if len(occur) > 1 else "binary", zero_division=0),
    }
    assert {name: result.metrics[name] for name in wanted} == pytest.approx(wanted)


def ranking(draw: np.random.Generator) -> None:
    """With ties, which trec_eval breaks by the name of a passage: here its text."""
    count = int(draw.choice([1, 2, 8, 30]))
    passages = [f"passage {name}" for name in draw.permutation(count)]
    grades = sorted(map(int, draw.choice([0, 0, 1, 3], count)), reverse=True)  # the right ones first, as in many files
    grades[0] = grades[0] or 1
    scores = draw.choice([0.0, 0.5, 1.0] if draw.random() < 0.7 else draw.random(count), count)
    judged = {passage: float(grade) for passage, grade in zip(passages, grades, strict=True) if grade}
    qrels = {"q": dict(zip(passages, grades, strict=True))}
    run = {"q": dict(zip(passages, map(float, scores), strict=True))}
    values = ir_measures.calc_aggregate([RR, nDCG @ 10, R @ 10], qrels, run)  # RR @ 10 is another package's, ties too
    first = values[RR] if values[RR] >= 1 / 10 else 0.0
    wanted = {"mrr_10": first, "ndcg_10": values[nDCG @ 10], "recall_10": values[R @ 10]}
    result = dict(evaluate_query("q", judged, passages, scores, tie_ranks(passages), line=1, loss=0.0))
    assert {name: result[name] for name in wanted} == pytest.approx(wanted)
    own = [reranking.Example(0, ("q", p), float(g)) for p, g in zip(passages, grades, strict=True)]
    after = evaluate_reranking("q", own, scores, list(range(count)), loss=0.0, cut=0)
    assert [after["ndcg_10"], after["mrr_10"]] == pytest.approx([wanted["ndcg_10"], wanted["mrr_10"]])


def test_the_order_of_the_file_breaks_no_tie_of_bm25() -> None:
    own = [reranking.Example(i, ("unknown", text), float(i == 0)) for i, text in enumerate(("anna", "berta", "carla"))]
    assert reranking.bm25_orders({"unknown": own}) == [[2, 1, 0]]


def correlations_(draw: np.random.Generator) -> None:
    rows = int(draw.choice([1, 2, 3, 40]))
    result, gold = draw.choice([0.0, 0.5, 1.0, draw.random()], rows), draw.choice([1.0, 2.0, 5.0], rows)
    if rows < 2 or not np.ptp(result) or not np.ptp(gold):
        wanted = {"spearman": 0.0, "pearson": 0.0}  # undefined in scipy
    else:
        wanted = {"spearman": spearmanr(result, gold).statistic, "pearson": pearsonr(result, gold).statistic}
    assert correlations(result, gold) == pytest.approx(wanted)


def tags(draw: np.random.Generator, words: int) -> list[str]:
    """Legal IOB2."""
    result = ["O"] * words
    at = 0
    while at < words:
        length, kind = int(draw.integers(1, 4)), draw.choice(["PER", "LOC"])
        if draw.random() < 0.5:
            result[at : at + length] = [f"B-{kind}", *[f"I-{kind}"] * (length - 1)][: words - at]
        at += length
    return result


def entities_(draw: np.random.Generator) -> None:
    lengths = draw.integers(1, 9, draw.integers(1, 5))
    gold = [tags(draw, int(n)) for n in lengths]
    silent = draw.random() < 0.2
    predicted = [["O"] * int(n) if silent else tags(draw, int(n)) for n in lengths]
    result = entities.metrics(gold, predicted, False)
    flat = [tag for sentence in gold for tag in sentence], [tag for sentence in predicted for tag in sentence]
    assert result["accuracy"] == pytest.approx(theirs.accuracy_score(*flat))
    pairs = [(a, b) for a, b in zip(gold, predicted, strict=True) if any(tag != "O" for tag in (*a, *b))]
    if not pairs:
        assert result["entity_f1"] == 0.0
        return
    sides = [[pair[side] for pair in pairs] for side in (0, 1)]
    strict = Evaluator(*sides, tags=["PER", "LOC"], loader="list").evaluate()["overall"]["strict"]
    for name in ("entity_f1", "strict_f1"):
        assert result[name] == pytest.approx(strict.f1)
    assert [result["precision"], result["recall"]] == pytest.approx([strict.precision, strict.recall])


def answers(draw: np.random.Generator) -> None:
    gold = [" ".join(draw.choice(WORDS, draw.integers(0, 4))) for _ in range(draw.integers(0, 3))]
    predicted = " ".join(draw.choice(WORDS, draw.integers(0, 4)))
    assert best_match(gold, predicted) == pytest.approx(official(gold, predicted))


def official(gold: Sequence[str], said: str) -> tuple[float, float]:
    """compute_exact and compute_f1, copied from evaluate-v2.0.py."""

    def normalize_answer(s: str) -> str:
        s = "".join(ch for ch in s.lower() if ch not in set(string.punctuation))
        return " ".join(re.sub(re.compile(r"\b(a|an|the)\b", re.UNICODE), " ", s).split())

    def f1(a_gold: str, a_pred: str) -> float:
        gold_toks, pred_toks = normalize_answer(a_gold).split(), normalize_answer(a_pred).split()
        num_same = sum((collections.Counter(gold_toks) & collections.Counter(pred_toks)).values())
        if len(gold_toks) == 0 or len(pred_toks) == 0:
            return float(gold_toks == pred_toks)
        if num_same == 0:
            return 0.0
        precision, recall = num_same / len(pred_toks), num_same / len(gold_toks)
        return (2 * precision * recall) / (precision + recall)

    golds = [answer for answer in gold if normalize_answer(answer)] or [""]
    return max(float(normalize_answer(a) == normalize_answer(said)) for a in golds), max(f1(a, said) for a in golds)


def written_texts(draw: np.random.Generator) -> None:
    """chrF and ROUGE-L of targets, ROUGE of summaries, also for empty outputs."""
    count = int(draw.integers(1, 4))
    gold, outputs = ([" ".join(draw.choice(WORDS, draw.integers(0, 6))) for _ in range(count)] for _ in range(2))
    result, each = rewritten(outputs, gold)
    scorer = RougeScorer(["rougeL"])
    assert result["chrf"] == pytest.approx(corpus_chrf(outputs, [gold]).score / 100)
    assert each == pytest.approx([sentence_chrf(a, [b]).score / 100 for a, b in zip(outputs, gold, strict=True)])
    longest = [scorer.score(b, a)["rougeL"].fmeasure for a, b in zip(outputs, gold, strict=True)]
    assert result["rouge_l"] == pytest.approx(np.mean(longest))
    assert result["exact"] == theirs.accuracy_score(gold, outputs)
    whole = RougeScorer(["rouge1", "rouge2", "rougeLsum"], use_stemmer=True).score("\n".join(gold), "\n".join(outputs))
    assert list(Rouge().score(outputs, gold).values()) == pytest.approx([item.fmeasure for item in whole.values()])


@pytest.mark.parametrize(
    "check",
    [
        pytest.param(one_label, marks=pytest.mark.slow),
        pytest.param(several_labels, marks=pytest.mark.slow),
        ranking,
        correlations_,
        entities_,
        answers,
        written_texts,
    ],
)
def test_metrics_equal_those_of_reference_packages(check: Callable[[np.random.Generator], None]) -> None:
    for seed in range(CASES):
        try:
            check(np.random.default_rng(seed))
        except AssertionError as error:
            error.add_note(f"seed {seed}")
            raise

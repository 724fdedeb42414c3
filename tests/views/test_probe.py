"""Probes against hidden states of transformers and a pipeline written by hand, and against planted properties."""

import csv
import re
import warnings
from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GroupShuffleSplit
from sklearn.preprocessing import StandardScaler

from bertexplorer.core.row_uploads import parse_rows
from bertexplorer.engine.progress import Stopped, Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Text
from bertexplorer.views.probe import compute as probe, fit as probe_fit
from bertexplorer.views.probe.compute import Options
from bertexplorer.views.probe.rows import FOLDER, Task, built_in, read_rows
from tests.views.conftest import Reference

TASKS = Task.__args__  # type: ignore[attr-defined]
SLOW = pytest.mark.slow
FILLERS = "we they you some".split()  # noqa: SIM905
PLACES = "house lake town church garden market school river bridge forest".split()  # noqa: SIM905


def planted(count: int = 80) -> list[dict]:
    """Sentences whose label is whether they hold the word apple; each sentence is a document of its own."""
    rows = []
    for i in range(count):
        who, where, other = FILLERS[i % 4], PLACES[(i // 4) % 10], PLACES[(i // 2 + 3) % 10]
        fruit = ("apple", "stone")[i % 2]
        rows.append({"text": f"{who} saw the {fruit} number {i} at the {where} near the {other}", "label": fruit})
    return rows


def numbered(given: list[dict]) -> list[tuple[int, dict]]:
    return list(enumerate(given, 2))


def run(checkpoint: Checkpoint, given: list[dict], **options) -> probe.Probe:
    return probe.run(checkpoint, options=Options(**options), rows=numbered(given))


def by_hand(vectors: np.ndarray, labels: np.ndarray, groups: list[str], seed: int) -> tuple[np.ndarray, np.ndarray]:
    """(held-out rows, answers) of one layer and seed; the first split of this seed has all labels on both sides."""
    train, test = next(GroupShuffleSplit(1, test_size=0.25, random_state=seed).split(vectors, groups=groups))
    assert set(labels[train]) == set(labels[test]) == set(labels)
    scaler = StandardScaler().fit(vectors[train])
    model = LogisticRegression(C=1.0, max_iter=1000).fit(scaler.transform(vectors[train]), labels[train])
    return test, model.predict(scaler.transform(vectors[test]))


def states(reference: Reference, text: str) -> tuple[np.ndarray, list[tuple[int, int]]]:
    """(hidden states: layers x tokens x d, the characters of each token)."""
    given = reference.tokenizer(text, return_tensors="pt", return_offsets_mapping=True)
    spans = [tuple(pair) for pair in given.pop("offset_mapping")[0].tolist()]
    with torch.no_grad():
        result = reference.model(**given, output_hidden_states=True).hidden_states
    return torch.stack(result)[:, 0].double().numpy(), spans


@pytest.mark.parametrize(
    ("task", "layers"),
    [
        pytest.param("length", (0,), marks=SLOW),
        pytest.param("part of speech", (0, 1), marks=SLOW),
        pytest.param("word order", (3,), marks=SLOW),
    ],
)
def test_the_answers_equal_a_pipeline_of_transformers_and_scikit_learn(
    mini: Checkpoint, reference: Reference, task: Task, layers: tuple[int, ...]
) -> None:
    result = probe.run(mini, options=Options(task=task, seeds=2))
    with (FOLDER / f"{task.replace(' ', '-')}.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    vectors = []
    for row in table:
        hidden, spans = states(reference, row["text"])
        spots = list(range(len(spans)))
        if "word" in row:
            match = re.search(rf"\b{row['word']}\b", row["text"])
            spots = [i for i, (a, b) in enumerate(spans) if a < b and a >= match.start() and b <= match.end()]
        vectors.append(hidden[:, spots].mean(axis=1))
    labels, groups = np.array([row["label"] for row in table]), [row["document"] for row in table]
    for layer, seed in product(layers, (0, 1)):
        test, wanted = by_hand(np.array(vectors)[:, layer], labels, groups, seed)
        predicted = result.predicted[layer, seed]
        assert set(test) == set(np.flatnonzero(predicted >= 0))
        answers = np.array(result.labels)[predicted[test]]
        assert (answers != wanted).sum() <= 1, "a tie may fall either way"
        assert result.accuracies[layer, seed] == np.mean(answers == labels[test])
    for layer in layers:
        assert result.accuracy[layer] == result.accuracies[layer].mean()
        assert result.deviation[layer] == pytest.approx(np.std(result.accuracies[layer], ddof=1))
    assert len(result.unusable) == result.unconverged == result.left_out == 0


def test_layer_0_knows_a_planted_word_and_no_layer_knows_shuffled_labels(mini: Checkpoint) -> None:
    rows = planted()
    result = run(mini, rows)
    assert (
        result.types == 80 and result.accuracy[0] == 1 and result.best == 0 and probe.rows(result)[0]["accuracy"] == 1
    )
    shuffled = np.random.default_rng(1).permutation([row["label"] for row in rows])
    chance = run(mini, [{**row, "label": str(label)} for row, label in zip(rows, shuffled, strict=True)], seeds=5)
    assert chance.accuracy == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(20)), "20 rows are held out, some of them twice"
    assert result.control == pytest.approx(0.5, abs=4 * 0.5 / np.sqrt(20)) and result.recurring == 0


@pytest.mark.parametrize("seed", range(5))
def test_documents_stay_on_one_side_and_training_has_all_labels(seed: int) -> None:
    documents = [str(i // 5) for i in range(60)]
    labels = np.array([int(i < 10) for i in range(60)])  # one label is in two documents only
    held_out = probe_fit.held_out_rows(labels, documents, seed)
    both = {d for d, h in zip(documents, held_out, strict=True) if h} & {
        d for d, h in zip(documents, held_out, strict=True) if not h
    }
    assert not both and held_out.sum() == 15 and set(labels[held_out]) == set(labels[~held_out]) == {0, 1}


def test_the_result_does_not_split_documents(mini: Checkpoint) -> None:
    result = probe.run(mini, options=Options(task="number", seeds=2))
    for seed in (0, 1):
        held_out = result.predicted[0, seed] >= 0
        sides = {(example.document, bool(h)) for example, h in zip(result.examples, held_out, strict=True)}
        assert len(sides) == len({document for document, _ in sides}) and result.known == 0
        wanted = np.array([result.labels.index(example.label) for example in result.examples])
        right, margins = wanted == result.predicted[3, seed], result.margins[3, seed]
        assert result.accuracies[3, seed] == np.mean(right[held_out])
        assert np.isnan(margins[~held_out]).all() and (right[held_out] == (margins[held_out] > 0)).all()


def test_control_labels_depend_on_the_word_and_are_distributed_as_the_labels() -> None:
    types = np.random.default_rng(3).permutation([f"w{i % 40}" for i in range(200)]).tolist()
    labels = np.array([0] * 150 + [1] * 50)
    drawn = probe_fit.control_labels(labels, types, 0)
    given = {name: {int(k) for n, k in zip(types, drawn, strict=True) if n == name} for name in types}
    assert all(len(labels) == 1 for labels in given.values()) and drawn.sum() == 50
    assert (drawn != probe_fit.control_labels(labels, types, 1)).any()
    held_out = probe_fit.control_held_out_rows(types, 150, 0)
    assert held_out.sum() == 150 and {*np.array(types)[held_out]} <= {*np.array(types)[~held_out]}
    alone = probe_fit.control_held_out_rows([f"w{i}" for i in range(40)], 10, 0)
    assert alone.sum() == 10, "sentences that occur once are held out too"


def test_the_embedding_layer_remembers_words_but_not_their_part_of_speech(mini: Checkpoint) -> None:
    result = probe.run(mini, options=Options(task="part of speech"))
    facts = probe.Facts(mini, Text(""), result)
    assert facts.control(0) > 0.95 and facts.accuracy(0) < 0.7 and facts.selectivity(0) < -0.25
    assert facts.best() >= 1 and facts.accuracy(int(facts.best())) > 0.95 and facts.majority() == pytest.approx(0.5)
    with pytest.raises(ExplorerError, match=r"no layer 7; there are 0 to 6"):
        facts.accuracy(7)


@pytest.mark.parametrize("task", TASKS)
def test_every_row_of_a_built_in_task_can_be_used(mini: Checkpoint, task: Task) -> None:
    rows = built_in(task)
    result = read_rows(mini, rows, 1000)
    assert 120 <= len(result.examples) == len(rows) <= 300 and not result.unusable
    labels = Counter(example.label for example in result.examples)
    assert len(set(labels.values())) == 1, "equally many of each label"
    assert len({(example.text, example.word) for example in result.examples}) == len(rows)
    documents: dict[str, set[str]] = {}
    for name, example in zip(result.types, result.examples, strict=True):
        documents.setdefault(name, set()).add(example.document)
    assert all(len(splits) == 1 for splits in documents.values()), "no word or sentence is in two documents"


def test_the_nth_occurrence_of_a_word_is_probed(mini: Checkpoint) -> None:
    rows = [{"text": f"can we open can {i}", "word": "can", "nth": 2, "label": "ab"[i % 2]} for i in range(24)]
    rows[0] |= {"nth": ""}
    result = read_rows(mini, numbered(rows), 300)
    assert [example.start for example in result.examples] == [0] + [12] * 23
    assert result.positions[0] == (1,) and result.positions[1] == (4,)


def test_the_sample_has_as_many_rows_of_each_label_as_possible(mini: Checkpoint) -> None:
    rows = planted(80)
    for row in rows[:20]:
        row["label"] = "rare"
    result = run(mini, rows, most=24, seeds=1)
    assert set(Counter(example.label for example in result.examples).values()) == {8} and result.left_out == 56


def test_few_steps_are_reported_as_not_converged(mini: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe_fit, "STEPS", 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        assert run(mini, planted(40), seeds=1).unconverged > 0


def test_training_stops_between_two_fits_and_reports_its_progress(
    mini: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, calls, real = Work(), [], probe.fit

    def fit(*given):
        calls.append(work.done / work.total)
        work.stopped = len(calls) == 5
        return real(*given)

    monkeypatch.setattr(probe, "fit", fit)
    with working(work), pytest.raises(Stopped):
        run(mini, planted(40), seeds=2)
    assert len(calls) == 5 and 0 < calls[0] < calls[-1] < 1
    done = Work()
    monkeypatch.setattr(probe, "fit", real)
    with working(done):
        run(mini, planted(40), seeds=1)
    assert done.done == done.total > 0


BAD = [
    ({"text": "", "word": "can", "label": "a"}, "has no text"),
    ({"text": "we can", "word": "can", "label": " "}, "has no label"),
    ({"text": "we can", "word": "", "label": "a"}, "has no word"),
    ({"text": "we scan", "word": "can", "label": "a"}, "has 'can' 0 times in its text; wanted number 1"),
    ({"text": "we can", "word": "can", "nth": "2", "label": "a"}, "has 'can' 1 time in its text; wanted number 2"),
    ({"text": "we can", "word": "can", "nth": "x", "label": "a"}, "has nth = 'x'; wanted a whole number from 1"),
    ({"text": "we can", "word": "can", "nth": "0", "label": "a"}, "wanted a whole number from 1"),
    ({"text": "we can" + " go" * 600, "word": "can", "label": "a"}, "has 604 tokens; the checkpoint reads 512"),
    ({"text": "we \U0001f9a0 can", "word": "\U0001f9a0", "label": "a"}, "outside the vocabulary"),
    ({"text": "x" * 20_001, "word": "can", "label": "a"}, "cannot be read"),
]


@pytest.mark.parametrize(("bad", "why"), BAD, ids=[why for _, why in BAD])
def test_an_unusable_row_is_named_and_the_others_are_used(mini: Checkpoint, bad: dict, why: str) -> None:
    fine = [{"text": f"we can open {i}", "word": "can", "label": "ab"[i % 2]} for i in range(20)]
    result = run(mini, [*fine, bad], seeds=1)
    (unusable,) = result.unusable
    assert unusable.line == 22 and why in unusable.what and len(result.examples) == 20
    assert probe.rows(result)[-1]["line"] == 22 and probe.rows(result)[-1]["problem"] == unusable.what
    with pytest.raises(ExplorerError, match="19 rows can be used; wanted 20 at least. Line 21 "):
        run(mini, [*fine[:19], bad])


FINE = [{"text": f"number {i}", "label": "ab"[i % 2], "document": str(i // 2)} for i in range(40)]
REFUSED = [
    ([{**row, "label": "a"} for row in FINE], "All rows have the label 'a'"),
    ([{**row, "label": "c" if i == 3 else "a"} for i, row in enumerate(FINE)], "label 'c' occurs once"),
    ([{**row, "label": "c" if i in (2, 3) else "a"} for i, row in enumerate(FINE)], "'c' occurs in one doc"),
    ([{"words": "x", "label": "a"}] * 30, r"The columns label, words cannot be probed\. Wanted: text and label"),
    ([{"text": "x", "word": "x"}] * 30, "The columns text, word cannot be probed"),
    (FINE * 251, "10,040 rows were given; the limit is 10,000"),
    (FINE[:19], "19 rows can be used; wanted 20"),
]


@pytest.mark.parametrize(("given", "why"), REFUSED, ids=[why for _, why in REFUSED])
def test_unsuitable_rows_are_rejected(mini: Checkpoint, given: list[dict], why: str) -> None:
    with pytest.raises(ExplorerError, match=why):
        run(mini, given)


def test_a_label_of_one_document_is_excluded(mini: Checkpoint) -> None:
    given = [{**row, "label": "c" if i in (2, 3) else row["label"]} for i, row in enumerate(FINE)]
    result = run(mini, given)
    assert set(result.labels) == {"a", "b"} and len(result.examples) == len(FINE) - 2
    what = "has the label 'c', which occurs in no other document"
    assert [(item.line, item.what) for item in result.unusable] == [(4, what), (5, what)]


def test_documents_without_a_possible_split_are_rejected() -> None:
    with pytest.raises(ExplorerError, match="cannot be split so that training has every label"):
        probe_fit.held_out_rows(np.array([0, 0, 1, 1]), ["x", "x", "y", "y"], 0)
    held_out = probe_fit.held_out_rows(np.array([0, 1, 2, 0, 1, 1]), ["x", "x", "x", "y", "y", "y"], 0)
    assert held_out.tolist() == [False] * 3 + [True] * 3, "the only split whose training has all labels"


def test_an_uploaded_file_is_probed_like_the_built_in_one(mini: Checkpoint) -> None:
    uploaded = parse_rows((FOLDER / "tense.csv").read_bytes(), "tense.csv").rows
    own = probe.run(mini, options=Options(seeds=1), rows=uploaded)
    ours = probe.run(mini, options=Options(task="tense", seeds=1))
    assert own.name == "uploaded rows" and (own.examples, own.labels) == (ours.examples, ours.labels)
    assert (own.accuracies == ours.accuracies).all()


def test_a_deleted_upload_is_named(mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="are no longer stored"):
        probe.run(mini, options=Options(rows="0" * 24))

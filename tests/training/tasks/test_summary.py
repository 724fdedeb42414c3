"""Extractive summary: input and logits against transformers, the loss by its formula, baselines, a run on the built-in
set."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from rouge_score.rouge_scorer import RougeScorer

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.training import learners
from bertexplorer.training.data.checks import split_rows
from bertexplorer.training.data.rows import Row
from bertexplorer.training.finetuning.artifacts import export_checkpoint
from bertexplorer.training.learners.summary import Summariser
from bertexplorer.training.tasks import summary
from tests.conftest import Tiny
from tests.tiny import FAMILIES
from tests.tolerance import assert_within, of_encoder
from tests.training.finetuned import built_in, trained
from tests.training.tasks.builtin import write_tiny_bert

ROWS = [
    Row(1, {"document": "The cat sat. A dog was on the mat! It works.", "summary": "a dog on the mat"}),
    Row(
        2, {"document": ["Paris is a city.", "London is a city in England. He said it.", "un as"], "summary": "He said"}
    ),
]


def create_learner(folder: Path, **options: object) -> tuple[Summariser, list[summary.Example]]:
    chosen = summary.Options(**{"sentences": 1, **options})
    result, problems = summary.examples(ROWS, chosen)
    assert not problems
    learner = learners.create(summary.TASK, load(folder, precision="fp32"), result, chosen, seed=0)
    assert isinstance(learner, Summariser)
    return learner, result


def test_documents_are_split_and_targets_chosen(tiny: Tiny) -> None:
    _, examples = create_learner(tiny())
    assert examples[0].document == ("The cat sat.", "A dog was on the mat!", "It works.")
    assert examples[1].document == ("Paris is a city.", "London is a city in England.", "He said it.", "un as")
    assert [example.chosen for example in examples] == [(1,), (2,)]


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("family", FAMILIES)
def test_logits_equal_those_of_transformers(family: str, pooling: str, tiny: Tiny, tmp_path: Path) -> None:
    """[CLS] s1 [SEP] [CLS] s2 [SEP] …, segments in turn, a linear layer over each sentence's vector."""
    learner, examples = create_learner(tiny(family), pooling=pooling)
    learner.modules.eval()
    save(export_checkpoint(learner.checkpoint, torch.float32), tmp_path / "saved")
    theirs = transformers.AutoModel.from_pretrained(tmp_path / "saved").eval()
    head = learner.extra["sentence"]
    expected = []
    with torch.no_grad():
        for example in examples:
            parts = [learner.checkpoint.tokenizer.backend.encode(sentence).ids for sentence in example.document]
            segments = [i % 2 for i, part in enumerate(parts) for _ in part]
            more = {"token_type_ids": torch.tensor([segments])} if learner.checkpoint.config.num_segments > 1 else {}
            last = theirs(torch.tensor([sum(parts, [])]), **more).last_hidden_state[0]
            start = 0
            for part in parts:
                own = last[start : start + len(part)]
                expected.append(head(own.mean(0) if pooling == "mean" else own[0]).item())
                start += len(part)
        batch = learner.collate(learner.read(examples))
        allowed = of_encoder(learner.checkpoint.config, expected)
        assert_within(learner.logits(batch).numpy(), expected, allowed)
        loss = learner.losses(batch)["sentence"]
    shares = 1 / (1 + np.exp(-np.array(expected)))
    gold = np.array([0, 1, 0, 0, 0, 1, 0])
    nats = -np.log(np.where(gold, shares, 1 - shares))
    assert loss.total.item() == pytest.approx(nats.sum(), abs=7 * allowed)
    assert loss.count == learner.counts(batch)["sentence"] == 7
    assert int(loss.right) == ((shares > 0.5) == gold).sum()
    assert learner.evaluate(examples).metrics["loss"] == pytest.approx(nats.mean(), abs=allowed)


def test_rouge_is_compared_with_the_first_and_the_best_sentences(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny())
    evaluated = learner.evaluate(examples)
    scorer = RougeScorer(["rouge1", "rouge2", "rougeLsum"], use_stemmer=True)

    def mean(kind: str, picks: list[str]) -> float:
        pairs = zip(examples, picks, strict=True)
        return float(
            np.mean([scorer.score("\n".join(example.summary), pick)[kind].fmeasure for example, pick in pairs])
        )

    table = {row["summary"]: row for row in evaluated.tables["ROUGE"]}
    first, best = (
        [example.document[0] for example in examples],
        [example.document[example.chosen[0]] for example in examples],
    )
    for key, kind in (("rouge_1", "rouge1"), ("rouge_2", "rouge2"), ("rouge_l", "rougeLsum")):
        assert table["Lead-1"][key] == pytest.approx(mean(kind, first))
        assert table["the best sentences"][key] == pytest.approx(mean(kind, best))
        assert evaluated.metrics[key] == pytest.approx(mean(kind, [row["predicted"] for row in evaluated.rows]))
        assert summary.baselines([], examples, learner.options)[key] == ("Lead-1", pytest.approx(mean(kind, first)))
    assert evaluated.metrics["oracle_rouge_2"] == table["the best sentences"]["rouge_2"]
    picked = [row["chosen"][0] for row in evaluated.rows]
    assert [row["picked"] for row in evaluated.tables["Places"]][:4] == [picked.count(i) for i in range(4)]
    assert [row["best"] for row in evaluated.tables["Places"]] == [0, 1, 1, *[0] * 7]
    assert evaluated.metrics["precision"] == np.mean(
        [pick == example.chosen[0] for pick, example in zip(picked, examples, strict=True)]
    )
    json.dumps(evaluated.rows, allow_nan=False)


def test_sentences_beyond_the_limit_are_reported(tiny: Tiny) -> None:
    learner, examples = create_learner(tiny())
    whole = learner.read(examples)[0]
    learner.set_max_tokens(len(whole.ids) - 1)
    item = learner.read(examples)[0]
    assert len(item.target.starts) == 2 and item.ids == whole.ids[: len(item.ids)]
    assert item.left_out == len(whole.ids) - len(item.ids)
    prediction = learner.predict([{"document": " ".join(examples[0].document)}])[0]
    assert [sentence["probability"] is None for sentence in prediction["sentences"]] == [False, False, True]
    assert prediction["cut"] == item.left_out and not prediction["sentences"][2]["chosen"]
    learner.set_max_tokens(4)
    item = learner.read(examples)[0]
    assert len(item.ids) == 4 and item.target.starts == [0], "the first sentence is cut, the others left out"
    assert learner.evaluate(examples).rows[0]["chosen"] == [0]


def test_the_playground_chooses_sentences(tiny: Tiny) -> None:
    learner, _ = create_learner(tiny(), sentences=2)
    prediction = learner.predict([{"document": "The cat sat.\nA dog was on the mat! </script>"}])[0]
    assert [sentence["sentence"] for sentence in prediction["sentences"]] == [
        "The cat sat.",
        "A dog was on the mat!",
        "</script>",
    ]
    assert sum(sentence["chosen"] for sentence in prediction["sentences"]) == 2
    assert prediction["summary"] == " ".join(
        sentence["sentence"] for sentence in prediction["sentences"] if sentence["chosen"]
    )
    with pytest.raises(ExplorerError, match="The document is empty"):
        learner.predict([{"document": " \n"}])


def test_problems_name_their_line() -> None:
    cells = [
        {"document": "", "summary": "a"},
        {"document": "A cat. A dog.", "summary": " "},
        {"document": "A cat", "summary": "a cat"},
        {"document": "A cat. A dog.", "summary": "nothing shared"},
        {"document": "A cat. \ud800 A dog.", "summary": "DOG"},
    ]
    result, problems = summary.examples([Row(i, c) for i, c in enumerate(cells, 2)], summary.Options())
    messages = [
        "has no document",
        "has no summary",
        "has a document of one sentence; wanted at least two",
        "has a summary that shares no word with the document",
    ]
    assert [(p.line, p.what) for p in problems] == list(enumerate(messages, 2))
    assert result[0].chosen == (1,)


@pytest.mark.slow
def test_the_built_in_set_is_learned(tmp_path: Path) -> None:
    rows = built_in("summary.jsonl", ("document", "summary"))
    assert 200 <= len(rows) <= 600
    train, dev = split_rows(rows, 0.2, 0)
    texts = [text for row in rows for text in row.cells.values()]
    start = write_tiny_bert(tmp_path / "start", texts, max_position_embeddings=512)
    values = {"rate": 3e-3, "epochs": 4, "dropout": 0.0, "precision": "fp32", "snapshots": 0}
    metrics, kept = trained(summary.TASK, start, tmp_path / "run", (train, dev), **values)
    examples = summary.examples(dev, summary.Options())[0]
    lead = summary.baselines([], examples, summary.Options())["rouge_2"][1]
    assert metrics[-1]["rouge_2"] > max(metrics[0]["rouge_2"], lead) + 0.05 and metrics[-1]["loss"] < metrics[0]["loss"]
    best = max(metrics[1:], key=lambda found: found["rouge_2"])
    assert kept.evaluate(examples).metrics == pytest.approx(best, abs=of_encoder(kept.checkpoint.config, best["loss"]))

"""Tagging: logits and loss of transformers, words and their tokens, the CRF, a run on the built-in set."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.runs import run_folder
from bertexplorer.training import learners
from bertexplorer.training.data.checks import split_rows
from bertexplorer.training.data.read import read
from bertexplorer.training.data.rows import Row, map_columns
from bertexplorer.training.entities import count_illegal
from bertexplorer.training.finetuning import spec as specs
from bertexplorer.training.finetuning.artifacts import export_checkpoint, open_learner
from bertexplorer.training.finetuning.run import finetune
from bertexplorer.training.learners.tagging import TaggedSentence, Tagger
from bertexplorer.training.tasks import tagging
from tests.conftest import ROOT, Tiny
from tests.tiny import FAMILIES
from tests.tolerance import assert_same, of_encoder
from tests.training.tasks.builtin import write_tiny_bert

ROWS = [
    Row(1, {"tokens": "The doctor said Paris works", "tags": "O B-PER O B-LOC O"}),
    Row(2, {"tokens": "london is unbelievable", "tags": "B-LOC O O"}),
    Row(3, {"tokens": "a man sat in new berlin on a mat", "tags": "O B-PER O O B-LOC I-LOC O O O"}),
]


def create_learner(folder: Path, head: str = "softmax", rows: list[Row] = ROWS, **more: Any) -> tuple[Tagger, list]:
    options = tagging.Options(head=head)
    sentences, problems = tagging.examples(rows, options)
    assert not problems
    learner = learners.create(tagging.TASK, load(folder, precision="fp32"), sentences, options, seed=0)
    if "crf" in learner.extra:
        torch.manual_seed(0)
        for parameter in learner.extra["crf"].parameters():
            torch.nn.init.normal_(parameter, std=0.02)
    return learner, sentences


@pytest.mark.parametrize("family", FAMILIES)
def test_logits_and_loss_equal_those_of_transformers(family: str, tiny: Tiny, tmp_path: Path) -> None:
    learner, sentences = create_learner(tiny(family))
    learner.modules.eval()
    save(export_checkpoint(learner.checkpoint, torch.float32), tmp_path / "saved")
    theirs = transformers.AutoModelForTokenClassification.from_pretrained(tmp_path / "saved").eval()
    assert tuple(theirs.config.id2label.values()) == learner.labels == ("O", "B-LOC", "I-LOC", "B-PER", "I-PER")
    items = learner.read(sentences)
    for sentence, item in zip(sentences, items, strict=True):
        batch = learner.collate([item])
        logits, gold, real = learner.logits(batch)
        out = theirs(batch.ids, labels=batch.targets)
        first = item.target.tokens.tolist()
        assert_same(learner.checkpoint.config, logits[real], out.logits[0, first])
        allowed = of_encoder(learner.checkpoint.config, out.logits)
        loss = learner.losses(batch)["tag"]
        assert loss.total.item() / loss.count == pytest.approx(out.loss.item(), abs=allowed)
        assert loss.count == len(sentence.words) == learner.counts(batch)["tag"]
    whole = learner.losses(learner.collate(items))["tag"]  # padded: equal to single sentences
    apart = [learner.losses(learner.collate([item]))["tag"].total.item() for item in items]
    assert whole.total.item() == pytest.approx(sum(apart), abs=whole.count * allowed)


@pytest.mark.parametrize("family", ["bert", "roberta", "xlm-roberta", "modernbert"])
def test_a_word_begins_at_its_first_token(family: str, tiny: Tiny) -> None:
    learner, sentences = create_learner(tiny(family))
    for sentence, item in zip(sentences, learner.read(sentences), strict=True):
        result = learner.tokenizer.truncating.encode(sentence.text)
        for word, token in zip(item.target.words, item.target.tokens, strict=True):
            (start, end), (a, b) = sentence.words[word], result.offsets[token]
            assert a <= start < b <= end + 1 and sentence.text[a:b].strip() in sentence.text[start:end]
            assert token == 1 or result.offsets[token - 1][1] <= start
        assert item.target.words.tolist() == list(range(len(sentence.words)))


def test_words_beyond_the_limit_count_as_missed(tiny: Tiny) -> None:
    learner, sentences = create_learner(tiny())
    learner.set_max_tokens(8)
    result = learner.evaluate(sentences)
    items = learner.read(sentences)
    read = [len(item.target.words) for item in items]
    assert [item.left_out > 0 for item in items] == [row["cut"] > 0 for row in result.rows] and read[2] < 9
    total = sum(len(sentence.words) for sentence in sentences)
    assert result.metrics["cut"] == pytest.approx(1 - sum(read) / total)
    assert all(tag == "O" for tag in result.rows[2]["predicted_tags"][read[2] :])
    assert result.rows[2]["line"] == 3 and result.rows[2]["gold"] == "man (PER), new berlin (LOC)"


def test_a_word_without_tokens_is_skipped(tiny: Tiny) -> None:
    rows = [
        *ROWS,
        Row(4, {"tokens": ["a", "\u200d", "man", "\u200b", "sat"], "tags": ["O", "B-PER", "I-PER", "O", "O"]}),
    ]
    for head in ("softmax", "crf"):
        learner, sentences = create_learner(tiny(), head, rows)
        item = learner.read(sentences)[3]
        assert item.target.words.tolist() == [0, 2, 4]
        assert [learner.labels[i] for i in item.target.labels] == ["O", "B-PER", "O"]  # the entity begins later
        assert np.isfinite(learner.evaluate(sentences).metrics["loss"])
        assert len(learner.predict([{"text": "\u200d"}])[0]["entities"]) == 0
        answer = TaggedSentence(
            np.array([learner.labels.index(tag) for tag in ("B-PER", "I-PER", "O")]), np.ones(3), 0.0
        )
        assert learner.all_tags(item, answer, 5) == ["B-PER", "I-PER", "I-PER", "O", "O"]  # it continues after the gap


def test_an_unknown_tag_is_wrong_and_not_in_the_loss(tiny: Tiny) -> None:
    other = Row(5, {"tokens": ["paris", "is"], "tags": ["B-ORG", "O"]})
    for head in ("softmax", "crf"):
        learner, sentences = create_learner(tiny(), head)
        more, _ = tagging.examples([other], learner.options)
        alone = learner.evaluate(sentences).metrics["loss"]
        result = learner.evaluate([*sentences, *more])
        assert (
            result.metrics["loss"] == pytest.approx(alone, abs=of_encoder(learner.checkpoint.config, alone))
            and not result.rows[-1]["right"]
        )
        assert np.isnan(result.rows[-1]["loss"])
        batch = learner.collate(learner.read(sentences))
        loss = learner.losses(batch)["tag"]
        learner.modules.eval()
        assert learner.losses(batch)["tag"].total.item() / loss.count == pytest.approx(
            alone, abs=of_encoder(learner.checkpoint.config, alone)
        )


def test_a_crf_predicts_no_illegal_tag(tiny: Tiny) -> None:
    plain, sentences = create_learner(tiny())
    chained, _ = create_learner(tiny(), "crf")
    plain.modules["token_classifier"].output.bias.data[plain.labels.index("I-LOC")] = 20.0
    chained.modules["token_classifier"].load_state_dict(plain.modules["token_classifier"].state_dict())
    assert plain.evaluate(sentences).metrics["illegal"] > 0
    result = chained.evaluate(sentences)
    assert result.metrics["illegal"] == 0.0 and result.metrics["entity_f1"] == result.metrics["strict_f1"]
    for answer in chained.predict([{"text": "the doctor sat in paris , london and rome"}]):
        assert count_illegal([word["tag"] for word in answer["words"]]) == 0
        assert all(0 < word["probability"] <= 1.0001 for word in answer["words"])


def test_a_saved_learner_gives_the_same_answers(tiny: Tiny, tmp_path: Path) -> None:
    questions = [{"text": "The doctor said Paris works"}, {"text": "a nurse, in berlin!"}]
    for head in ("softmax", "crf"):
        learner, _ = create_learner(tiny(), head)
        folder = tmp_path / head
        save(export_checkpoint(learner.checkpoint, torch.float32), folder)
        tensors = learner.extra.state_dict()
        assert bool(tensors) == (head == "crf")
        restored = learners.restore(tagging.TASK, load(folder, precision="fp32"), learner.state(), tensors)
        assert restored.predict(questions) == learner.predict(questions)


def test_entities_are_reported_with_their_positions(tiny: Tiny) -> None:
    learner, _ = create_learner(tiny())
    text = "The man, in ber\u200blin___ sat"
    (answer,) = learner.predict([{"tokens": text}])
    assert [answer["text"][w["start"] : w["end"]] for w in answer["words"]] == [w["text"] for w in answer["words"]]
    assert all(answer["text"][e["start"] : e["end"]] == e["text"] for e in answer["entities"])
    assert "berlin" in answer["text"] and "[MASK]" in answer["text"]
    with pytest.raises(ExplorerError, match="empty"):
        learner.predict([{"tokens": " "}])


def test_plain_tags_are_learned_without_an_o(tiny: Tiny) -> None:
    rows = [Row(i, {"tokens": "the cat sat", "tags": "DET NOUN VERB"}) for i in range(1, 4)]
    for head in ("softmax", "crf"):
        learner, sentences = create_learner(tiny(), head, rows)
        assert learner.plain and learner.labels == ("DET", "NOUN", "VERB")
        result = learner.evaluate(sentences)
        assert result.metrics["entity_f1"] == result.metrics["accuracy"] and "Per label" in result.tables
        learner.set_max_tokens(4)
        assert learner.evaluate(sentences).rows[0]["predicted_tags"][-1] == ""
    assert tagging.baselines(sentences, sentences, tagging.Options())["accuracy"][1] == 1.0


def test_rows_without_an_entity_are_rejected(tiny: Tiny) -> None:
    with pytest.raises(ExplorerError, match="1 different tag; wanted 2"):
        create_learner(tiny(), rows=[Row(1, {"tokens": "the cat", "tags": "O O"})])


@pytest.mark.slow
@pytest.mark.parametrize("head", ["softmax", "crf"])
def test_the_built_in_set_is_learned(head: str, tmp_path: Path) -> None:
    path = ROOT / "assets" / "data" / "tagging.conll"
    table = read(path.read_bytes(), path.name)
    rows = map_columns(table, {"tokens": "tokens", "tags": "tags"}, tagging.TASK.columns)
    assert 200 <= len(rows) <= 600 and not table.problems and not tagging.examples(rows, tagging.Options())[1]
    start = write_tiny_bert(tmp_path / "start", (" ".join(row.cells["tokens"]) for row in rows))
    quick = {"epochs": 8, "rate": 3e-3, "precision": "fp32", "snapshots": 0, "head": head, "dropout": 0.0, "batch": 16}
    specs.write_run_folder(
        tmp_path / "run", specs.make_spec("tagging", "tiny", str(start), quick), *split_rows(rows, 0.2, 0)
    )
    *_, last = finetune(tmp_path / "run")
    first, floor = (
        next(e for e in run_folder.history(tmp_path / "run") if e["event"] == k) for k in ("evaluated", "ready")
    )
    assert last["value"] > first["metrics"]["entity_f1"] + 0.4
    assert 0 < floor["floors"]["entity_f1"]["value"] < 0.8
    (best,) = (tmp_path / "run" / "best").glob("step-*")
    assert (best / "task.safetensors").is_file() == (head == "crf")
    answer = open_learner(best).predict([{"text": "Anna Keller has worked for Northwind Bank in Lisbon ."}])[0]
    assert {entity["label"] for entity in answer["entities"]} <= {"PER", "LOC", "ORG"} and answer["entities"]

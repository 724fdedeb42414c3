"""A classifier that was taught with boxes: what it answers, its file, and as the checkpoint of other analyses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertexplorer as bx
from bertexplorer.errors import ExplorerError
from bertexplorer.teaching.taught import MOST_SENTENCES
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder

BOXES = {
    "pets": ["The cat sat on the mat.", "A dog sat in Paris.", "The dog and the cat."],
    "work": ["She is a doctor in London.", "A great film, she said.", "The doctor said no.", "A film of the doctor."],
}


@pytest.fixture
def bert(tiny: Tiny) -> bx.Bert:
    return bx.load(tiny("bert-mlm"), precision="fp32")


def test_it_answers_with_the_head_on_the_vectors(bert: bx.Bert) -> None:
    """By hand: weights times the vector that `encode` gives."""
    taught = bx.teach(BOXES, bert)
    sentence = "The cat is in London."
    head = taught._taught.head
    logits = head.weights @ bert.encode(sentence, prompt="").astype(float) + head.bias
    wanted = np.exp(logits) / np.exp(logits).sum()
    assert list(taught.ask(sentence).values()) == pytest.approx(wanted.tolist(), abs=1e-6)
    assert list(taught.ask(sentence)) == ["pets", "work"] and repr(taught) == f"<taught on {bert.name}: pets, work>"


def test_accuracy_is_that_of_sentences_left_out(bert: bx.Bert) -> None:
    """A brute-force loop: teach without the nth sentence of each box, then ask for them."""
    taught = bx.teach(BOXES, bert)
    wrong = set()
    for n in range(4):
        rest = {box: [*sentences[:n], *sentences[n + 1 :]] for box, sentences in BOXES.items()}
        without = bx.teach(rest, bert)
        for name, sentences in BOXES.items():
            for sentence in sentences[n : n + 1]:
                shares = without.ask(sentence)
                if max(shares, key=shares.__getitem__) != name:
                    wrong.add(sentence)
    assert {mistake.sentence for mistake in taught.mistakes} == wrong
    assert taught.accuracy == pytest.approx(1 - len(wrong) / 7)
    assert f"{7 - len(wrong)} of 7" in taught.said and "largest box gets 4" in taught.said


def test_too_few_to_say(bert: bx.Bert) -> None:
    """The same sentence twice is one."""
    taught = bx.teach({"a": ["A cat.", "a  CAT.", "A dog."], "b": BOXES["work"]}, bert)
    assert taught.accuracy is None and taught.mistakes == () and "Too few" in taught.said
    assert sum(taught.ask("A cat.").values()) == pytest.approx(1)


@pytest.mark.parametrize(
    "about",
    [
        {"pooling": {}},
        {"pooling": {"pooling_mode_cls_token": True}, "dense": ["Tanh"]},
        {"pooling": {"pooling_mode": ["mean", "max"]}, "normalize": False},
    ],
    ids=["mean", "first token, dense", "mean and max"],
)
def test_as_a_checkpoint_it_gives_the_same_answers(tiny_copy: Tiny, about: dict[str, Any]) -> None:
    """Alone, and in a batch with padding."""
    bert = bx.load(write_sentence_encoder(tiny_copy("bert-mlm"), **about), precision="fp32")
    taught = bx.teach(BOXES, bert)
    texts = ["The cat.", "A great film in Paris, she said to the doctor."]
    rows = [{"text": text, "label": "pets"} for text in texts]
    found = [row["answer"] for row in taught.bert.suite(rows=rows).rows]
    for text, label in zip(texts, found, strict=True):
        shares = taught.ask(text)
        answer = [row for row in taught.bert.answer(text).rows if row["kind"] == "label"]
        assert {row["answer"]: row["value"] for row in answer} == pytest.approx(shares, abs=1e-5)
        assert label == max(shares, key=shares.__getitem__)
    checkpoint = taught.bert.checkpoint
    encodings = [checkpoint.tokenizer.encode(text) for text in texts]
    longest = max(map(len, encodings))
    ids = torch.tensor([[*one.ids, *[0] * (longest - len(one))] for one in encodings])
    mask = torch.tensor([[i < len(one) for i in range(longest)] for one in encodings])
    last = checkpoint.encoder(ids, None, mask).hidden[-1]
    shares = checkpoint.sequence_classifier(last, mask).softmax(-1)
    assert shares.numpy() == pytest.approx(taught._taught.ask(texts), abs=1e-4)


def test_other_analyses_take_it(bert: bx.Bert) -> None:
    taught = bx.teach(BOXES, bert).bert
    assert taught.saliency("The cat sat.", target="label", method="occlusion").rows
    assert taught.saliency("The cat sat.", target="label").rows  # with gradients
    assert taught.counterfactuals("The cat sat.", target="label").rows
    assert bert.checkpoint.labels == () or bert.checkpoint.labels != taught.checkpoint.labels, "the original stays"


def test_a_file_opens_on_its_own_encoder_alone(bert: bx.Bert, tiny: Tiny, tmp_path: Path) -> None:
    taught, path = bx.teach(BOXES, bert), tmp_path / "boxes.json"
    taught.save(path)
    again = bx.teach(path, bert)
    assert again.boxes == BOXES and again.ask("A cat.") == taught.ask("A cat.")
    with pytest.raises(ExplorerError, match=r"was taught on .* here is"):
        bx.teach(path, bx.load(tiny("distilbert"), precision="fp32"))
    content = json.loads(path.read_text("utf-8"))
    assert set(content) == {"kind", "version", "encoder", "boxes", "ridge", "head"}
    path.write_text(json.dumps({**content, "version": 2}), "utf-8")
    with pytest.raises(ExplorerError, match="has version 2; version 1 is read"):
        bx.teach(path, bert)
    for broken, said in (("{", "is no file of boxes"), ("[]", "is no file of boxes"), ('"x"', "is no file of boxes")):
        path.write_text(broken, "utf-8")
        with pytest.raises(ExplorerError, match=said):
            bx.teach(path, bert)
    path.write_text(json.dumps({**content, "boxes": [1]}), "utf-8")
    with pytest.raises(ExplorerError, match="its boxes cannot be read"):
        bx.teach(path, bert)


@pytest.mark.parametrize(
    ("boxes", "said"),
    [
        ({"a": ["A cat."]}, "got 1 of them; wanted 2 to 6"),
        ({str(i): ["A cat."] for i in range(7)}, "got 7 of them"),
        (["A cat."], r"got \['A cat.'\]"),
        ({"a": ["A cat."], "b": [" ", ""]}, "'b' is empty"),
        ({"a": ["A cat."], "b": "A dog."}, "'b' has 'A dog.'; wanted a list"),
        ({"a": ["A cat."] * MOST_SENTENCES, "b": ["A dog."]}, "301 sentences were given; the limit is 300"),
    ],
)
def test_boxes_that_teach_nothing_are_refused(bert: bx.Bert, boxes: Any, said: str) -> None:
    with pytest.raises(ExplorerError, match=said):
        bx.teach(boxes, bert)


def test_all_alike_is_no_better_than_chance(bert: bx.Bert) -> None:
    """Sentences that stand in both boxes cannot be told apart."""
    same = ["A cat.", "A dog.", "Paris."]
    taught = bx.teach({"a": same, "b": same}, bert)
    assert taught.ask("A cat.")["a"] == pytest.approx(0.5, abs=1e-3)

"""Sentence matrix: it equals a loop over pairs with transformers, and the text is split by the rule for sentences."""

import math
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.answers.texts import sentences
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.next_sentence import compute as next_sentence, show as next_figure
from bertexplorer.views.sentence_matrix import compute as sentence_matrix, show as matrix_figure
from bertexplorer.views.sentence_matrix.compute import MAX_SENTENCES, SentenceMatrix
from bertexplorer.views.sentence_pairs import compute as sentence_pairs, show as pairs_figure
from tests.conftest import Tiny
from tests.tolerance import assert_within, of_encoder
from tests.views.conftest import LOGITS

STORY = (
    "The man went to the store.",
    "He bought milk!",
    "Where do penguins live, and how do they get all the way to the coast?",
    "They swim.",
)


@pytest.fixture(scope="module")
def small(tiny: Tiny) -> Checkpoint:
    return load(tiny("bert"), name="small", precision="fp32", device="cpu")


def test_the_matrix_equals_a_loop_over_pairs(mini: Checkpoint, bundled: Path) -> None:
    theirs = transformers.BertForNextSentencePrediction.from_pretrained(bundled, attn_implementation="eager")
    tokenizer = transformers.AutoTokenizer.from_pretrained(bundled)
    result = sentence_matrix.run(mini, " ".join(STORY))
    assert result.sentences == STORY and result.left_out == 0
    for i, first in enumerate(STORY):
        for j, second in enumerate(STORY):
            if i == j:
                assert np.isnan(result.matrix[i, j]) and np.isnan(result.logits[i, j]).all()
                continue
            with torch.no_grad():
                wanted = theirs.float().eval()(**tokenizer(first, second, return_tensors="pt")).logits[0]
            assert result.logits[i, j].tolist() == pytest.approx(wanted.tolist(), abs=of_encoder(mini.config, wanted))
            assert result.matrix[i, j] == pytest.approx(
                float(wanted.softmax(0)[0]), abs=of_encoder(mini.config, wanted)
            )


def test_the_second_text_continues_the_first(mini: Checkpoint) -> None:
    result = sentence_matrix.run(mini, Text(" ".join(STORY[:2]), " ".join(STORY[2:])))
    two = sentence_matrix.run(mini, " ".join(STORY))
    assert result.sentences == two.sentences
    np.testing.assert_array_equal(result.matrix, two.matrix)


def test_hidden_words_stay_hidden(mini: Checkpoint) -> None:
    whole = " ".join(STORY[:3])
    words = ("man", "milk", "penguins", "coast")
    hidden = tuple(Span(0, whole.index(w), whole.index(w) + len(w)) for w in words)
    clicked = sentence_matrix.run(mini, Text(whole, hidden=(*hidden, Span(0, 900, 990), Span(1, 0, 5))))
    for word in words:
        whole = whole.replace(word, "[MASK]")
    typed = sentence_matrix.run(mini, whole)
    assert clicked.sentences == typed.sentences
    assert_within(clicked.matrix, typed.matrix, of_encoder(mini.config, LOGITS))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("One is. Two is! Three is? Four", ["One is.", "Two is!", "Three is?", "Four"]),
        ("It costs 3.50 a piece. It is e.g. cheap.", ["It costs 3.50 a piece.", "It is e.g. cheap."]),
        ("Mr. Smith came.", ["Mr.", "Smith came."]),
        ("He said “Stop.” She did.", ["He said “Stop.”", "She did."]),
        ("Stop. “Why?” (Nobody knew.) Then", ["Stop.", "“Why?”", "(Nobody knew.)", "Then"]),
        ("Wait… Now. [MASK] is here.", ["Wait…", "Now.", "[MASK] is here."]),
        ("Really?! Yes.", ["Really?!", "Yes."]),
        ("one\ntwo.\r\n\n  three.\nFour", ["one", "two.", "three.", "Four"]),
        ("no capital. here", ["no capital. here"]),
        ("Été. Élan.", ["Été.", "Élan."]),
        ("  Space around. \t Here  ", ["Space around.", "Here"]),
        ("!!!\n???\nOne.\n---\nTwo.", ["One.", "Two."]),
        ("", []),
        (" \n . ", []),
    ],
)
def test_the_text_is_split_at_the_ends_of_sentences(text: str, wanted: list[str]) -> None:
    assert [text[start:end] for start, end in sentences(text)] == wanted


@pytest.mark.parametrize("unit", [" ", ". ", ".", "\n", '."', ". (", "A. ", "[", ".\t\n"])
def test_splitting_is_quick(unit: str) -> None:
    started = time.thread_time()
    list(sentences("." + unit * (20_000 // len(unit))))
    assert time.thread_time() - started < 0.5


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("The man went to the store.", "one sentence; wanted two.*on its own line"),
        ("the man went. he came back", "one sentence"),
        ("!!! ???", "one sentence"),
        ("", "empty. Type a sentence"),
        (" \u200b\x00", "empty. Type a sentence"),
        ("One. Two. " + "x" * 1_000_000, "characters.*20,000"),
    ],
)
def test_invalid_input_is_rejected(text: str, message: str, small: Checkpoint) -> None:
    started = time.thread_time()
    with pytest.raises(ExplorerError, match=message) as caught:
        sentence_matrix.run(small, text)
    assert len(str(caught.value)) < 300 and time.thread_time() - started < 1


@pytest.mark.parametrize("text", [" ".join(STORY), ""])
def test_a_checkpoint_without_the_head_is_rejected(text: str, tiny: Tiny) -> None:
    checkpoint = load(tiny("roberta"), precision="fp32", device="cpu")
    with pytest.raises(ExplorerError, match="has no next-sentence head"):
        sentence_matrix.run(checkpoint, text)


def test_the_thirteenth_sentence_is_left_out(small: Checkpoint) -> None:
    result = sentence_matrix.run(small, " ".join(f"The cat {i} sat." for i in range(MAX_SENTENCES + 1)))
    assert len(result.sentences) == MAX_SENTENCES and result.left_out == 1
    assert result.sentences[-1] == "The cat 11 sat."
    assert np.isfinite(result.matrix).sum() == 12 * 11 == len(sentence_matrix.rows(result))


def test_the_share_of_neighbours_equals_a_computation_by_hand() -> None:
    odds = np.array([[math.nan, 0.9, 0.2], [0.6, math.nan, 0.4], [0.5, 0.7, math.nan]])  # mean of the others: 0.5
    result = SentenceMatrix(("a", "b", "c"), np.stack([np.log(odds), np.log(1 - odds)], axis=-1), 0)
    np.testing.assert_allclose(result.matrix, odds)
    assert (result.above, result.share) == (1, 0.5)
    assert result.matrix[result.others].mean() == pytest.approx(0.5)


@pytest.mark.parametrize("mask", ["[MASK]", "<mask>"])
def test_a_sentence_may_begin_with_a_mask(mask: str) -> None:
    text = f"It rained all day. {mask} was cold."
    assert [text[slice(*span)] for span in sentences(text)] == ["It rained all day.", f"{mask} was cold."]


def test_sentences_that_are_cut_are_announced(mini: Checkpoint) -> None:
    long = "The " + "very " * 300 + "old man slept."
    result = sentence_matrix.run(mini, f"{long} {long} He woke.")
    assert result.shortened == 2 and "2 pairs were longer than the checkpoint reads and cut." in matrix_figure.say(
        result
    )
    drawn = sentence_pairs.run(mini, f"{long} {long}", options=sentence_pairs.Options(not_next=0.0))
    assert drawn.shortened == 1 and "1 pair was longer" in pairs_figure.say(drawn)
    options = next_sentence.Options(candidates="word " * 600)
    ranked = next_sentence.run(mini, Text("He slept.", "He woke."), options=options)
    assert "tokens beyond the checkpoint’s limit were not read" in next_figure.say(ranked).replace("'", "’")

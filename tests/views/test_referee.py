"""Referee: every curve by a loop through transformers, one text at a time."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.answers.attribution import METHODS
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Encoding, Text
from bertexplorer.views.referee import compute as referee
from bertexplorer.views.referee.compute import Options
from bertexplorer.views.saliency import compute as saliency
from tests.conftest import Tiny
from tests.tolerance import of_encoder
from tests.views.conftest import LOGITS, refer

FAMILIES = ("bert-mlm", "roberta", "electra-generator", "distilbert", "modernbert")
SENTENCE = "the capital of <mask> is good ."
PAIR = Text("the man said it works .", "she is in london .")
Curve = Callable[[list[int]], float]


Words = list[tuple[int, ...]]  # the positions of each


def by_hand(read: Curve, order: Words, words: Words, hidden: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """(deletion, insertion) of one order, both by the number of words that are hidden."""
    deletion = [read(flat(order[:count])) for count in hidden]
    insertion = [read(flat([w for w in words if w not in order[: len(words) - count]])) for count in hidden]
    return np.array(deletion), np.array(insertion)


def flat(words: Words) -> list[int]:
    return [position for word in words for position in word]


def grouped(encoding: Encoding, positions: list[int]) -> Words:
    """The words at *positions*, by the tokenizer's own count."""
    count = encoding.words
    return [tuple(i for i in positions if count[i] == word) for word in dict.fromkeys(count[i] for i in positions)]


def mean_height(hidden: list[int], line: np.ndarray) -> float:
    steps = zip(hidden, hidden[1:], line, line[1:], strict=False)
    return sum((b - a) * (p + q) / 2 for a, b, p, q in steps) / hidden[-1]


def check(ours: Checkpoint, text: Text | str, options: Options, words: Words, read: Curve) -> None:
    result = referee.run(ours, text, options=options)
    assert result.count == len(words) and [trial.method for trial in result.trials] == list(METHODS)
    hidden = result.hidden.tolist()
    scored = saliency.run(ours, text, options=saliency.Options(method="all", target=options.target))
    at = {unit.positions: i for i, unit in enumerate(scored.units)}
    rel = of_encoder(ours.config, LOGITS)  # of probabilities
    for trial, results in zip(result.trials, scored.attributions, strict=True):
        order = sorted(words, key=lambda word: -results.scores[at[word]])
        deletion, insertion = by_hand(read, order, words, hidden)
        np.testing.assert_allclose(trial.deletion, deletion, rtol=rel)
        np.testing.assert_allclose(trial.insertion, insertion, rtol=rel)
        assert trial.deletion_area == pytest.approx(mean_height(hidden, deletion), rel=rel)
        assert trial.insertion_area == pytest.approx(mean_height(hidden, insertion), rel=rel)
        areas = [mean_height(hidden, line) for line in result.random]
        assert result.holds(trial) == (trial.deletion_area < min(areas) and trial.insertion_area > max(areas))
    np.testing.assert_allclose(result.random[:, [0, -1]], [[read([]), read(flat(words))]] * options.orders, rtol=rel)


@pytest.mark.parametrize("family", FAMILIES)
def test_curves_of_every_family_equal_those_of_a_loop(family: str, tiny: Tiny) -> None:
    ours, theirs = load(tiny(family), name=family, precision="fp32", device="cpu"), refer(tiny(family))
    encoding = ours.tokenizer.encode(SENTENCE)
    (spot,) = encoding.masked
    answer = int(theirs.log_probs(encoding.ids)[spot].argmax())

    def read(hidden: list[int]) -> float:
        ids = [encoding.mask_id if i in hidden else token for i, token in enumerate(encoding.ids)]
        return float(theirs.log_probs(ids)[spot, answer].exp())

    words = [i for i, token in enumerate(encoding.ids) if token not in ours.tokenizer.special_ids]
    check(ours, SENTENCE, Options(orders=3, points=64), grouped(encoding, words), read)


def test_curves_of_a_pair_equal_those_of_a_loop(tiny: Tiny) -> None:
    ours = load(tiny("bert"), name="bert", precision="fp32", device="cpu")
    theirs = transformers.BertForNextSentencePrediction.from_pretrained(tiny("bert")).eval()
    encoding = ours.tokenizer.encode(PAIR)
    segments = torch.tensor([encoding.segments])

    def read(hidden: list[int]) -> float:
        ids = [encoding.mask_id if i in hidden else token for i, token in enumerate(encoding.ids)]
        with torch.no_grad():
            return float(theirs(input_ids=torch.tensor([ids]), token_type_ids=segments).logits[0].softmax(0)[0])

    words = [i for i, span in enumerate(encoding.spans) if span]
    check(ours, PAIR, Options(target="next sentence", orders=4, points=5), grouped(encoding, words), read)


def test_random_orders_are_permutations(small: Checkpoint) -> None:
    """With every step drawn, hiding one token more changes one token: no order repeats or skips one."""
    seen: list[list[int]] = []
    question = saliency.ask_within_limit(small, SENTENCE, "mask", "")
    words = [(position,) for position in question.hideable]
    orders = [np.arange(len(words)), np.arange(len(words))[::-1]]
    rows = question.readout.rows

    def watched(encodings: list, positions: list) -> object:
        seen.extend([sum(a != b for a, b in zip(e.ids, question.encoding.ids, strict=True))] for e in encodings)
        return rows(encodings, positions)

    question.known.clear()
    object.__setattr__(question.readout, "rows", watched)
    lines = referee.probabilities(question, words, orders, np.arange(len(orders[0]) + 1))
    assert lines.shape == (2, len(orders[0]) + 1)
    assert len(seen) == 2 * len(orders[0]), "the whole text and the empty one are read once for both"
    first, second = (referee.run(small, SENTENCE, options=Options(orders=5)).random for _ in range(2))
    assert (first == second).all() and len({tuple(line) for line in first}) > 1


def test_a_long_text_is_sampled_at_fewer_points(small: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    text = "[MASK] " + "cat dog " * 20
    assert referee.run(small, text, options=Options(points=7)).hidden.tolist() == [0, 6, 11, 17, 23, 29, 34, 40]
    monkeypatch.setattr(referee, "PASS_TOKENS", 1)
    assert referee.run(small, text, options=Options(points=64)).hidden.tolist() == [0, 10, 20, 30, 40]


@pytest.mark.parametrize("text", ["[MASK]", "cat [MASK]", "[CLS] [MASK] [SEP]"])
def test_a_text_without_words_to_order_is_rejected(text: str, small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="no order to test"):
        referee.run(small, text)


def test_errors_name_the_missing_part(small: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="Nothing is hidden"):
        referee.run(small, "No mask here.")
    with pytest.raises(ExplorerError, match="pieces"):
        referee.run(small, "the cat [MASK] .", options=Options(word="unbelievable"))


def test_the_amount_of_work_is_announced_before_it_starts(small: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """The estimate of the remaining time is then right from the first batch on."""
    announced: list[int] = []
    monkeypatch.setattr(progress, "expect", announced.append)
    work = progress.Work()
    with progress.working(work):
        referee.run(small, "the cat sat and the dog sat and he went to the <mask> in the city of paris .")
    assert len(announced) == 1 and 0.6 * announced[0] <= work.done <= announced[0]

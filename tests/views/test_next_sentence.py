"""Next sentence: the numbers of transformers' BertForNextSentencePrediction, both ways round, in a batch and hidden."""

import time
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import transformers

from bertexplorer.answers.texts import MAX_CANDIDATES
from bertexplorer.engine import inference, task_heads
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.next_sentence import compute as next_sentence
from bertexplorer.views.next_sentence.compute import Options, Score
from tests.conftest import Tiny
from tests.tolerance import assert_same, of_encoder

STORE = Text("The man went to the store.", "He bought a gallon of milk.")
CANDIDATES = (
    "Penguins are flightless.",
    "It was a bad city, and he sat in it, and he said it was good.",
    "Yes.",
)
EVIL = "<img src=x onerror=1></script> & $x$"


@dataclass
class Twin:
    """The same weights loaded twice; transformers runs one pair at a time, without padding."""

    ours: Checkpoint
    theirs: transformers.PreTrainedModel
    tokenizer: transformers.PreTrainedTokenizerBase

    def refer(self, first: str, second: str) -> list[float]:
        with torch.no_grad():
            given = self.tokenizer(first, second, return_tensors="pt")
            if "token_type_ids" not in given:  # the tiny recipes' tokenizer leaves them out
                ids = [int(s == 1 or (s is None and i == given.input_ids.shape[1] - 1)) for i, s in sides(given)]
                given["token_type_ids"] = torch.tensor([ids])
            return self.theirs(**given).logits[0].tolist()


def sides(given: transformers.BatchEncoding) -> list[tuple[int, int | None]]:
    return list(enumerate(given.sequence_ids(0)))


@pytest.fixture(scope="module", params=["mini", "tiny"])
def twin(request: pytest.FixtureRequest, bundled: Path, tiny: Tiny) -> Twin:
    return make_twin(bundled if request.param == "mini" else tiny("bert"))


def make_twin(folder: Path) -> Twin:
    theirs = transformers.BertForNextSentencePrediction.from_pretrained(folder, attn_implementation="eager")
    ours = load(folder, name=folder.name, precision="fp32", device="cpu")
    return Twin(ours, theirs.float().eval(), transformers.AutoTokenizer.from_pretrained(folder))


@pytest.fixture(scope="module")
def small(tiny: Tiny) -> Checkpoint:
    """A tiny BERT that has the head."""
    return load(tiny("bert"), name="small", precision="fp32", device="cpu")


def check(twin: Twin, score: Score, first: str, second: str) -> None:
    wanted = twin.refer(first, second)
    assert score.logits == pytest.approx(wanted, abs=of_encoder(twin.ours.config, wanted))
    share = torch.tensor(wanted).softmax(0).tolist()
    assert [score.is_next, score.not_next] == pytest.approx(share, abs=of_encoder(twin.ours.config, wanted))
    assert score.is_next + score.not_next == pytest.approx(1)


def test_both_orders_equal_those_of_transformers(twin: Twin) -> None:
    result = next_sentence.run(twin.ours, STORE)
    check(twin, result.forward, STORE.first, STORE.second)
    check(twin, result.backward, STORE.second, STORE.first)
    assert (result.backward.first, result.backward.second) == (STORE.second, STORE.first)
    assert result.candidates == (result.forward,) and result.rank == 1


def test_candidates_of_different_lengths_equal_those_of_transformers(twin: Twin) -> None:
    result = next_sentence.run(twin.ours, STORE, options=Options(" | ".join(CANDIDATES)))
    assert {c.second for c in result.candidates} == {STORE.second, *CANDIDATES}
    for score in result.candidates:
        check(twin, score, STORE.first, score.second)
    gaps = [c.gap for c in result.candidates]
    assert gaps == sorted(gaps, reverse=True)
    assert result.candidates[result.rank - 1] is result.forward


def test_hidden_words_stay_hidden(twin: Twin) -> None:
    first, second = STORE.first, STORE.second
    hidden = (Span(0, first.index("man"), first.index("man") + 3), Span(1, 0, 2))
    result = next_sentence.run(twin.ours, Text(first, second, hidden), options=Options(f"Yes. | {second}"))
    masked = first.replace("man", "[MASK]"), second.replace("He", "[MASK]")
    check(twin, result.forward, *masked)
    check(twin, result.backward, *masked[::-1])
    assert (result.forward.first, result.forward.second) == masked
    assert len(result.candidates) == 3, "B in full is another candidate than B with a word hidden"
    for score in result.candidates:
        assert score.first == masked[0]
        check(twin, score, masked[0], score.second)


def test_the_label_order_is_that_of_the_published_head(mini: Checkpoint) -> None:
    """Index 0 is next: "0 indicates sequence B is a continuation of sequence A" (transformers' documentation)."""
    result = next_sentence.run(mini, STORE, options=Options("Penguins are flightless."))
    assert result.forward.is_next > 0.7 and result.candidates[-1].is_next < 0.2
    assert [c.second for c in result.candidates] == [STORE.second, "Penguins are flightless."]


def test_a_long_pair_is_cut_and_markup_kept_as_typed(small: Checkpoint) -> None:
    result = next_sentence.run(small, Text("cat " * 100, "the dog sat."), options=Options("a cat sat."))
    assert len(result.tokens) == 64 and result.left_out == 3 + 100 + 4 - 64
    result = next_sentence.run(small, Text(EVIL, "a cat"), options=Options(EVIL))
    assert result.forward.first == EVIL and EVIL in {c.second for c in result.candidates}


@pytest.mark.parametrize(
    ("typed", "count"),
    [
        ("", 1),
        (" | |\n||", 1),
        (STORE.second, 1),
        (f" {STORE.second}\u200b | Yes.", 2),
        ("Yes.|Yes.| Yes. ", 2),
        ("|".join(f"cat {i}" for i in range(MAX_CANDIDATES)), MAX_CANDIDATES + 1),
    ],
)
def test_candidates_are_tidied(typed: str, count: int, small: Checkpoint) -> None:
    assert len(next_sentence.run(small, STORE, options=Options(typed)).candidates) == count


@pytest.mark.parametrize(
    ("text", "typed", "sentence"),
    [
        ("The man went to the store.", "", "no second sentence.*Add a second sentence"),
        ("The man went. He came back.", "", "no second sentence.*Add a second sentence"),
        (Text("The man.", " \t\u200b"), "", "no second sentence"),
        ("", "", "empty. Type a sentence"),
        (Text("", "He bought milk."), "", "empty. Type a sentence"),
        (Text("\x00\ud800", "He bought milk."), "", "empty. Type a sentence"),
        (STORE, "|".join(f"cat {i}" for i in range(51)), "51 other second sentences.*50"),
        (STORE, "x" * 1_000_000, "1,000,000 characters.*20,000"),
        (STORE, "Yes. | \u200b\ud800", "cannot be a second sentence"),
        (Text("a", "x" * 1_000_000), "", "1,000,000 characters.*20,000"),
    ],
)
def test_invalid_input_is_rejected(text: Text | str, typed: str, sentence: str, small: Checkpoint) -> None:
    started = time.thread_time()
    with pytest.raises(ExplorerError, match=sentence) as caught:
        next_sentence.run(small, text, options=Options(typed))
    message = str(caught.value)
    assert len(message) < 300 and message.endswith(".")
    assert time.thread_time() - started < 1


@pytest.mark.parametrize("recipe", ["roberta", "bert-mlm", "electra-discriminator", "distilbert", "modernbert"])
@pytest.mark.parametrize("text", [STORE, ""])
def test_a_checkpoint_without_the_head_is_rejected(recipe: str, text: Text | str, tiny: Tiny) -> None:
    checkpoint = load(tiny(recipe), precision="fp32", device="cpu")
    with pytest.raises(ExplorerError, match="has no next-sentence head.*such as mini"):
        next_sentence.run(checkpoint, text)


def test_extreme_logits_have_a_probability_and_non_finite_ones_are_rejected(tiny: Tiny) -> None:
    sure = Score("a", "b", (900.0, -900.0))
    assert (sure.is_next, sure.not_next) == (1, 0)
    broken = load(tiny("bert"), name="broken", precision="fp32", device="cpu")
    with torch.no_grad():
        broken.next_sentence.output.bias.fill_(float("nan"))
    with pytest.raises(ExplorerError, match="broken gave numbers that are not finite"):
        next_sentence.run(broken, STORE)


def test_the_engine_keeps_the_order_for_every_budget(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [Text("The cat sat. " * n, "It is a dog.") for n in (4, 1, 3, 1, 2)]
    encodings = [twin.ours.tokenizer.encode(text) for text in texts]
    whole = task_heads.next_sentence_logits(twin.ours, encodings)
    split = inference.batches
    monkeypatch.setattr(inference, "batches", lambda given, budget: split(given, 40))
    apart = task_heads.next_sentence_logits(twin.ours, encodings)
    assert_same(twin.ours.config, whole, apart)
    for text, row in zip(texts, whole, strict=True):
        wanted = twin.refer(text.first, text.second)
        assert row.tolist() == pytest.approx(wanted, abs=of_encoder(twin.ours.config, wanted))
    assert task_heads.next_sentence_logits(twin.ours, []).shape == (0, 2)


def test_bf16_stays_near_fp32(bundled: Path, mini: Checkpoint) -> None:
    rough = load(bundled, name="mini", precision="bf16", device="cpu")
    ours, exact = (next_sentence.run(c, STORE).forward for c in (rough, mini))
    assert ours.logits == pytest.approx(exact.logits, abs=0.1)  # near is meant, not equal

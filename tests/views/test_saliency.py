"""Saliency: words of several pieces, requested answers, long and odd texts, errors."""

import numpy as np
import pytest

from bertexplorer.answers import attribution
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.saliency import compute as saliency
from bertexplorer.views.saliency.compute import Options
from tests.conftest import Tiny
from tests.tolerance import of_encoder
from tests.views.conftest import CLOSE, LOGITS, Reference

PAIR = Text("the man said it works .", "she is in london .")


HIDING = ("occlusion", "LIME", "SHAP")  # methods that hide a word as a whole


def test_pieces_are_merged_to_words(mini: Checkpoint) -> None:
    text = "It is unbelievably [MASK]."
    words, pieces = (saliency.run(mini, text, options=Options(method="all", merge=m)) for m in (True, False))
    at = [u.label for u in words.units].index("unbelievably")
    places = list(words.units[at].positions)
    assert len(places) > 1 and len(pieces.units) - len(words.units) == len(places) - 1
    for merged, result in zip(words.attributions, pieces.attributions, strict=True):
        if merged.method in HIDING:
            continue
        assert merged.scores[at] == pytest.approx(result.scores[places].sum())
        assert merged.scores.sum() == pytest.approx(result.scores.sum())


def test_a_requested_word_is_explained(mini: Checkpoint, reference: Reference) -> None:
    text = "The keys to the cabinet [MASK] on the table."
    result = saliency.run(mini, text, options=Options(method="occlusion", word=" Are "))
    row = reference.log_probs(reference.ids(text))[result.position]
    assert result.answer == "are"
    assert result.value == pytest.approx(float(row[reference.tokenizer.convert_tokens_to_ids("are")]), abs=CLOSE)


def test_a_word_of_several_pieces_is_hidden_as_a_word(mini: Checkpoint, reference: Reference) -> None:
    text = "It is unbelievably [MASK]."
    result = saliency.run(mini, text, options=Options(method="occlusion"))
    at = [u.label for u in result.units].index("unbelievably")
    ids = reference.ids(text)
    without = [mini.tokenizer.mask_id if i in result.units[at].positions else token for i, token in enumerate(ids)]
    answer = int(reference.log_probs(ids)[result.position].argmax())
    drop = float(
        reference.log_probs(ids)[result.position, answer] - reference.log_probs(without)[result.position, answer]
    )
    assert result.attributions[0].scores[at] == pytest.approx(drop, abs=CLOSE)


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("unbelievably", "pieces .un.*one piece"),
        ("🤖", "not in the vocabulary"),
        ("[MASK]", "not a word"),
        ("x" * 300, "300"),
    ],
)
def test_unusable_words_are_rejected(word: str, message: str, mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match=message):
        saliency.run(mini, "It is [MASK].", options=Options(word=word))


def test_errors_name_the_missing_part(mini: Checkpoint, tiny: Tiny) -> None:
    pair = Options(target="next sentence")
    with pytest.raises(ExplorerError, match="Nothing is hidden"):
        saliency.run(mini, "No mask here.")
    with pytest.raises(ExplorerError, match="empty"):
        saliency.run(mini, " ")
    with pytest.raises(ExplorerError, match="no second sentence"):
        saliency.run(mini, "One text.", options=pair)
    for name in ("roberta", "modernbert", "distilbert", "electra-generator"):
        with pytest.raises(ExplorerError, match="no next-sentence head"):
            saliency.run(load(tiny(name), precision="fp32", device="cpu"), PAIR, options=pair)
    with pytest.raises(ExplorerError, match="no fill-mask head"):
        discriminator = load(tiny("electra-discriminator"), precision="fp32", device="cpu")
        saliency.run(discriminator, "It is [MASK].", options=Options(target="mask"))


def test_a_long_text_is_explained_in_groups_of_tokens(small: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "PASS_TOKENS", 64 * 16)
    options = Options(method="all", samples=1000, steps=256)
    result = saliency.run(small, "[MASK] " + "cat dog " * 50, options=options)
    results = {a.method: a for a in result.attributions}
    assert result.left_out == 2 + 101 - 64
    assert results["occlusion"].group == 4 and results["LIME"].group == 4 and results["LIME"].samples == 64
    for method in ("occlusion", "LIME"):  # groups share a score; [CLS] is in one of occlusion's
        scores = results[method].scores
        at = 2 if method == "LIME" else 5
        assert np.ptp(scores[at : at + 4]) < 1e-12 and scores[at] != scores[at + 4]
    question = saliency.ask_within_limit(small, "[MASK] " + "cat dog " * 50, "mask", "")
    whole, less = question.values([question.encoding, question.hidden([5, 6, 7, 8])])
    assert results["occlusion"].scores[5:9].sum() == pytest.approx(whole - less, abs=of_encoder(small.config, LOGITS))
    assert results["integrated gradients"].completeness and results["integrated gradients"].completeness.steps == 32
    monkeypatch.setattr(attribution, "MAX_TOKENS", 63)
    with pytest.raises(ExplorerError, match="64 tokens.*63 at most"):
        saliency.run(small, "[MASK] " + "cat dog " * 50)


def test_masks_and_hidden_words_have_no_score_of_their_own(mini: Checkpoint) -> None:
    text = Text("The farmers harvest the land to [MASK] crops.", hidden=(Span(0, 24, 28),))
    result = saliency.run(mini, text, options=Options(method="occlusion"))
    assert result.position == mini.tokenizer.encode(text).masked[0] and result.other_masks == 1
    scores = {unit.label: score for unit, score in zip(result.units, result.attributions[0].scores, strict=True)}
    assert scores["[MASK]"] == 0 and "land" not in scores and scores["crops"] != 0

"""ELECTRA's discriminator in the views of an answer, against transformers."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.answers.head_answer import Label, TaggedWord
from bertexplorer.answers.kinds.replaced import replacement
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.answer import compute as answer, show as figure
from bertexplorer.views.counterfactuals import compute as counterfactuals
from bertexplorer.views.forward_pass import compute as forward_pass, show as picture
from bertexplorer.views.layers import compute as layers
from bertexplorer.views.referee import compute as referee
from bertexplorer.views.saliency import compute as saliency
from bertexplorer.views.switchboard import compute as switchboard

TEXT = "the unbelievable nurse said it works."
WORD = "nurse"


@pytest.fixture(scope="module")
def checkpoint(tiny) -> Checkpoint:
    return load(tiny("electra-discriminator"), name="judge", precision="fp32", device="cpu")


@pytest.fixture(scope="module")
def theirs(tiny):
    return transformers.ElectraForPreTraining.from_pretrained(
        tiny("electra-discriminator"), attn_implementation="eager", dtype=torch.float32
    ).eval()


def picked() -> Text:
    start = TEXT.index(WORD)
    return Text(TEXT, picked=(Span(0, start, start + len(WORD)),))


def their_logits(theirs, checkpoint: Checkpoint, text: str = TEXT) -> np.ndarray:
    ids = torch.tensor([checkpoint.tokenizer.encode(text).ids])
    with torch.inference_mode():
        return theirs(ids).logits[0].double().numpy()


def test_each_token_has_the_probability_that_transformers_gives(checkpoint: Checkpoint, theirs) -> None:
    result = answer.run(checkpoint, TEXT)
    wanted = 1 / (1 + np.exp(-their_logits(theirs, checkpoint)))
    assert result.kind == "replaced"
    positions = [word.positions for word in result.words]
    assert positions == [(i,) for i in range(1, len(wanted) - 1)]  # each piece; not [CLS] and [SEP]
    np.testing.assert_allclose([replacement(word) for word in result.words], wanted[1:-1], atol=1e-5)
    for word in result.words:
        assert word.labels[0].name == ("replaced" if replacement(word) > 0.5 else "original")
    fact = answer.Facts(checkpoint, Text(TEXT), result).p_replaced(WORD)
    assert fact == pytest.approx(wanted[result.tokens.index(WORD)], abs=1e-5)


def test_both_judgements_of_every_token_are_kept(checkpoint: Checkpoint) -> None:
    result = answer.run(checkpoint, TEXT, options=answer.Options(top=1))
    assert all(len(word.labels) == 2 for word in result.words) and figure.draw(result).panels
    assert "[MASK]" in [word.word for word in answer.run(checkpoint, "the [MASK] works").words]
    with pytest.raises(Exception, match="empty|no word"):
        answer.run(checkpoint, Text(""))


def test_the_sentence_names_the_tokens_above_one_half(checkpoint: Checkpoint) -> None:
    result = answer.run(checkpoint, TEXT)
    none = replace(result, words=tuple(with_probability(word, 0.1) for word in result.words))
    assert figure.say(none) == "None of the 9 tokens is taken for replaced; closest to it is “the” (10 %)."
    some = replace(none, words=(none.words[0], *(with_probability(word, 0.8) for word in none.words[-2:])))
    said = "The discriminator says that other tokens stood in place of “works” (80 %) and “.” (80 %)."
    assert figure.say(some) == said
    bars = figure.draw(some).panels[0].marks[0].bars
    assert [bar.value for bar in bars] == pytest.approx([0.1, 0.8, 0.8])
    assert [bar.tone for bar in bars] == ["pale", "orange", "orange"]
    assert figure.colours(some) == pytest.approx({1: 0.1, 8: 0.8, 9: 0.8})


def with_probability(word: TaggedWord, replaced: float) -> TaggedWord:
    labels = (
        Label("original", 0, 0.0, 1 - replaced),
        Label("replaced", 1, math.log(replaced / (1 - replaced)), replaced),
    )
    return TaggedWord(word.word, word.positions, tuple(sorted(labels, key=lambda label: -label.value)))


def test_saliency_explains_one_token(checkpoint: Checkpoint, theirs) -> None:
    """log sigmoid at a picked token: its gradient through transformers, and the sum of integrated gradients."""
    text = picked()
    result = saliency.run(checkpoint, text, options=saliency.Options(method="gradient x input", merge=False))
    encoding = checkpoint.tokenizer.encode(TEXT)
    position = result.position
    assert checkpoint.tokenizer.show(encoding.ids[position]) == WORD
    words = theirs.get_input_embeddings().weight[list(encoding.ids)].detach().requires_grad_()
    logit = theirs(inputs_embeds=words[None]).logits[0, position]
    sign = 1 if result.answer.endswith("replaced") else -1
    torch.nn.functional.logsigmoid(sign * logit).backward()
    wanted = (words.detach() * words.grad).sum(-1).numpy()
    np.testing.assert_allclose(result.attributions[0].scores, wanted, atol=1e-4)
    assert result.probability == pytest.approx(torch.sigmoid(sign * logit).item(), abs=1e-5)
    whole = saliency.run(checkpoint, text, options=saliency.Options(steps=256))
    completeness = whole.attributions[0].completeness
    assert completeness and abs(completeness.error) < 0.02 * max(1.0, abs(completeness.rise))


def test_without_a_picked_token_the_likeliest_to_be_replaced_is_explained(checkpoint: Checkpoint, theirs) -> None:
    result = saliency.run(checkpoint, TEXT, options=saliency.Options(method="attention"))
    assert result.position == 1 + int(their_logits(theirs, checkpoint)[1:-1].argmax())


def test_layers_end_in_the_answer(checkpoint: Checkpoint, theirs) -> None:
    result = layers.run(checkpoint, picked())
    with torch.inference_mode():
        hidden = theirs(torch.tensor([checkpoint.tokenizer.encode(TEXT).ids]), output_hidden_states=True).hidden_states
        logits = [float(theirs.discriminator_predictions(state)[0, result.position]) for state in hidden]
    for layer, logit in zip(result.layers, logits, strict=True):
        replaced = next((c.probability for c in layer.candidates if c.token == "replaced"), None)
        assert replaced == pytest.approx(1 / (1 + np.exp(-logit)), abs=1e-4)


def test_the_picture_of_the_model_ends_in_it(checkpoint: Checkpoint) -> None:
    result = forward_pass.run(checkpoint, picked())
    assert result.end.outcome.startswith("whether") and {c.token for c in result.answers} == {"original", "replaced"}
    end = picture.draw(result).data["end"]
    assert end["what"] == f"whether {WORD} was replaced" and len(end["bars"]) == 2
    assert end["door"] == {"view": "answer"}


def test_heads_are_switched_off_and_words_hidden_and_changed(checkpoint: Checkpoint) -> None:
    text = picked()
    board = switchboard.run(checkpoint, text)
    assert board.target.startswith(f"{WORD}: ")
    assert referee.run(checkpoint, text).trials
    changed = counterfactuals.run(checkpoint, text, options=counterfactuals.Options(method="reduction"))
    assert changed.tagged == WORD
    assert changed.edits and all(WORD in edit.texts[0] for edit in changed.edits)

"""Explanations of a fine-tuned head: the numbers are those of transformers, integrated gradients those of captum."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from captum.attr import LayerIntegratedGradients
from torch import Tensor

from bertexplorer.answers import readout
from bertexplorer.answers.kinds.label import LabelReadout
from bertexplorer.answers.question import log_softmax
from bertexplorer.answers.readout import ask
from bertexplorer.engine import gradients
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Encoding, Span, Text
from bertexplorer.views.answer import compute as answer, show as answer_figure
from bertexplorer.views.counterfactuals import compute as counterfactuals
from bertexplorer.views.forward_pass import compute as forward_pass
from bertexplorer.views.layers import compute as layers
from bertexplorer.views.neurons import compute as neurons
from bertexplorer.views.referee import compute as referee
from bertexplorer.views.saliency import compute as saliency
from bertexplorer.views.saliency.compute import Options
from bertexplorer.views.switchboard import compute as switchboard
from tests.conftest import Tiny
from tests.tolerance import assert_within, of_encoder, of_gradient
from tests.views.conftest import LOGITS
from tests.views.tuned import ASKED, FILM, Tuned, of_problem, tuned

STEPS = 12
CASES = [("label", "label"), ("tag", "tag"), ("span", "span start"), ("span", "span end")]


def number(one: Tuned, what: str, position: int, index: int) -> Callable[[Tensor], Tensor]:
    """The explained number of transformers for each row of ids."""

    def read(ids: Tensor) -> Tensor:
        logits = one.logits(ids)
        if what == "label":
            return logits.log_softmax(-1)[:, index]
        if what == "tag":
            return logits[:, position].log_softmax(-1)[:, index]
        return logits[:, :, int(what == "span end")].log_softmax(1)[:, index]

    return read


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
@pytest.mark.parametrize(("head", "what"), CASES)
def test_the_number_and_its_integrated_gradients_equal_those_of_captum(
    head: str, what: str, family: str, tiny: Tiny
) -> None:
    twin = tuned(tiny, head, family)
    result = saliency.run(twin.ours, twin.text, options=Options(target=what, steps=STEPS, merge=False))  # type: ignore[arg-type]
    decision = ask(twin.ours, twin.text, what)  # type: ignore[arg-type]
    read = number(twin, what, decision.position, decision.index)
    ids = torch.tensor([twin.encoding.ids])
    value = float(read(ids).detach())
    assert (result.target, result.answer, result.position) == (what, decision.answer, decision.position)
    assert result.value == pytest.approx(value, abs=of_encoder(twin.ours.config, LOGITS))
    assert result.probability == pytest.approx(np.exp(value), rel=of_encoder(twin.ours.config, LOGITS))
    start = ids.clone()
    odd = twin.ours.tokenizer.special_ids
    start[0, [i for i, token in enumerate(twin.encoding.ids) if token not in odd]] = twin.encoding.mask_id
    method = LayerIntegratedGradients(read, twin.theirs.get_input_embeddings())
    wanted = method.attribute(ids, baselines=start, n_steps=STEPS, method="gausslegendre")
    scores = wanted[0].sum(-1).detach().double().numpy()
    assert_within(result.attributions[0].scores, scores, of_gradient(twin.ours.config, LOGITS))
    assert np.abs(scores).max() > 1e-2


@pytest.mark.parametrize(("head", "what"), CASES)
def test_occlusion_equals_a_loop_by_hand(head: str, what: str, tiny: Tiny) -> None:
    twin = tuned(tiny, head)
    result = saliency.run(twin.ours, twin.text, options=Options(target=what, method="occlusion", merge=False))  # type: ignore[arg-type]
    decision = ask(twin.ours, twin.text, what)  # type: ignore[arg-type]
    read = number(twin, what, decision.position, decision.index)
    texts = torch.tensor([twin.encoding.ids]).repeat(len(twin.encoding) + 1, 1)
    texts[range(1, len(texts)), range(len(texts) - 1)] = twin.encoding.mask_id
    with torch.no_grad():
        whole, *lost = read(texts).double().tolist()
    assert_within(result.attributions[0].scores, whole - np.array(lost), of_gradient(twin.ours.config, LOGITS))


def test_labels_are_explained_one_by_one_and_a_score_is_explained_itself(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    logits = twin.logits(torch.tensor([twin.encoding.ids])).detach()[0]
    several = of_problem(twin.ours, "multi_label_classification")
    result = saliency.run(several, FILM, options=Options(word="So-So", method="gradient x input"))
    assert (result.target, result.answer) == ("label", "so-so")
    assert result.value == pytest.approx(float(logits[1].sigmoid().log()), abs=of_encoder(twin.ours.config, LOGITS))
    score = of_problem(twin.ours, "regression")
    result = saliency.run(score, FILM, options=Options(word="good"))
    assert result.target == "score" and np.isnan(result.probability)
    assert result.value == pytest.approx(float(logits[2]), abs=of_encoder(twin.ours.config, LOGITS))
    with pytest.raises(ExplorerError, match="follows the probability.*Saliency"):
        counterfactuals.run(score, FILM)


def test_the_target_is_chosen_automatically(tiny: Tiny, mini: Checkpoint) -> None:
    """A mask if there is one and a head for it, else the fine-tuned head, else the next sentence."""
    heads = {head: tuned(tiny, head).ours for head in ("label", "tag", "span")}
    pair, masked = Text("a cat .", "a dog ."), Text("a [MASK] .", "a dog .")
    assert [readout.resolve_target(item, pair, "answer") for item in heads.values()] == ["label", "tag", "span start"]
    assert readout.resolve_target(heads["label"], masked, "answer") == "label"  # it has no head for the mask
    assert [readout.resolve_target(mini, text, "answer") for text in (masked, pair, "a cat")] == [
        "mask",
        "next sentence",
        "mask",
    ]
    assert readout.resolve_target(mini, masked, "next sentence") == "next sentence"
    both = load(tiny("bert"), precision="fp32", device="cpu")
    both.heads["sequence_classifier"] = heads["label"].heads["sequence_classifier"]
    assert [readout.resolve_target(both, text, "answer") for text in (masked, pair)] == ["mask", "label"]


def test_the_old_names_and_the_automatic_choice_agree(mini: Checkpoint) -> None:
    for text, name in (
        (Text("Paris is the [MASK] of France."), "mask"),
        (Text("A cat.", "It slept."), "next sentence"),
    ):
        one, other = (
            saliency.run(mini, text, options=Options(method="attention", target=t))  # type: ignore[arg-type]
            for t in ("answer", name)
        )
        assert saliency.rows(one) == saliency.rows(other) and one.target == name


def test_the_word_and_the_answer_can_be_chosen(tiny: Tiny) -> None:
    tagger, reader = tuned(tiny, "tag"), tuned(tiny, "span")
    words = FILM.first.split()
    named = ask(tagger.ours, FILM, "tag", "b-loc", "London")
    assert named.answer == "london: B-LOC" and named.encoding.tokens[named.position] == "london"
    picked = ask(tagger.ours, Text(FILM.first, picked=(Span(0, 4, 8),)), "tag")
    assert picked.word == "film" == words[1]
    first = ask(tagger.ours, FILM, "tag")
    best = tagger.logits(torch.tensor([tagger.encoding.ids]))[0].argmax(-1).tolist()
    assert first.position == next(
        i for i in range(1, len(best) - 1) if best[i] != 0 and first.encoding.words[i] is not None
    )
    for what in ("span start", "span end"):
        span = ask(reader.ours, ASKED, what, "mat")  # type: ignore[arg-type]
        assert span.encoding.tokens[span.index] == "mat" and span.answer == f"{what[5:]}s at mat"
        cut = ask(reader.ours, Text("where ?", "the bird sat ."), what, "bird")  # type: ignore[arg-type]
        assert cut.encoding.tokens[cut.index] != "bird" and cut.answer == f"{what[5:]}s at bird"
    assert ask(reader.ours, ASKED, "span start").position <= ask(reader.ours, ASKED, "span end").position


@pytest.mark.parametrize(
    ("head", "what", "answer", "word", "message"),
    [
        ("label", "tag", "", "", "A tag was requested, but the head of label gives a label. Choose label"),
        ("tag", "span start", "", "", "gives a tag"),
        ("span", "label", "", "", "gives a span start and span end"),
        ("label", "label", "great", "", "no label 'great'; there are bad, so-so, good"),
        ("tag", "tag", "B-ORG", "", "no tag 'B-ORG'; there are O, B-PER"),
        ("tag", "tag", "", "paris", "no word 'paris'; there are the, film"),
        ("span", "span end", "where", "", "no word of the passage 'where'"),
    ],
)
def test_errors_name_the_unknown_word_or_label(
    head: str, what: str, answer: str, word: str, message: str, tiny: Tiny
) -> None:
    twin = tuned(tiny, head)
    with pytest.raises(ExplorerError, match=message):
        ask(twin.ours, twin.text, what, answer, word)  # type: ignore[arg-type]


def test_a_missing_passage_or_head_is_reported(tiny: Tiny, mini: Checkpoint) -> None:
    with pytest.raises(ExplorerError, match="no passage") as caught:
        saliency.run(tuned(tiny, "span").ours, "where is the cat ?")
    assert caught.value.code == "pair"
    with pytest.raises(ExplorerError, match="mini has no fine-tuned head.*Train"):
        saliency.run(mini, "A cat.", options=Options(target="label"))
    assert {target for one in readout.TUNED for target in one.targets} == {
        "label",
        "tag",
        "span start",
        "span end",
        "score",
    }


def test_the_referee_judges_a_label(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    result = referee.run(twin.ours, FILM, options=referee.Options(orders=3, points=4))
    label = ask(twin.ours, FILM, "label")
    with torch.no_grad():
        wanted = float(twin.logits(torch.tensor([twin.encoding.ids])).softmax(-1)[0, label.index])
    assert (result.target, result.answer) == ("label", label.answer)
    for trial in result.trials:
        assert trial.deletion[0] == pytest.approx(wanted, rel=of_encoder(twin.ours.config, LOGITS))


class Tempered(LabelReadout):
    """Labels by a softmax at temperature 2 (Guo et al., 2017), as an example of a further kind of answer."""

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        return checkpoint.hf_config.get("temperature") == 2

    def classes(self, logits: np.ndarray, position: int) -> np.ndarray:
        return log_softmax(logits / 2)

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> gradients.Target:
        head = self.checkpoint.sequence_classifier
        return gradients.Target((0,), lambda last: (head(last) / 2).log_softmax(dim=-1)[:, index])


def test_a_further_kind_of_answer_is_one_class(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every view that asks for a readout gives its numbers, against transformers' logits at temperature 2."""
    twin = tuned(tiny, "label")
    ours = replace(twin.ours, hf_config={**twin.ours.hf_config, "temperature": 2})
    monkeypatch.setattr(readout, "TUNED", [Tempered, *readout.TUNED])
    with torch.no_grad():
        wanted = (twin.logits(torch.tensor([twin.encoding.ids]))[0] / 2).softmax(-1)
    close = {"rel": of_encoder(ours.config, LOGITS)}
    best, p = twin.ours.labels[int(wanted.argmax())], float(wanted.max())
    explained = saliency.run(ours, FILM, options=Options(method="integrated gradients"))
    assert (explained.answer, explained.probability) == (best, pytest.approx(p, **close))
    [scores] = explained.attributions
    assert scores.completeness and scores.completeness.rise == pytest.approx(scores.scores.sum(), abs=0.01)
    assert referee.run(ours, FILM, options=referee.Options(orders=3, points=4)).trials[0].deletion[0] == pytest.approx(
        p, **close
    )
    assert counterfactuals.run(ours, FILM).probability == pytest.approx(p, **close)
    off = switchboard.run(ours, FILM, options=switchboard.Options(off="1·1"))
    assert off.before.value == pytest.approx(p, **close) and off.after.value != off.before.value
    last = layers.run(ours, FILM).layers[-1].candidates[0]
    assert (last.token, last.probability) == (best, pytest.approx(p, **close))
    answered = answer.run(ours, FILM)
    assert (answered.labels[0].name, answered.labels[0].value) == (best, pytest.approx(p, **close))
    assert best in answer_figure.say(answered) and answer_figure.draw(answered).panels
    end = forward_pass.run(ours, FILM).end
    assert (end.outcome, end.view, end.answers[0].token) == ("the label", "answer", best)
    assert neurons.run(ours, FILM, options=neurons.Options(target="label")).before == pytest.approx(p, **close)

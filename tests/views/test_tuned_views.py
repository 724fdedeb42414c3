"""Layers and Switchboard of a fine-tuned head: the numbers of transformers, layer by layer and head by head."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from bertexplorer.answers import layer_answers
from bertexplorer.answers.readout import ask
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.views.answer import compute as answer, show as answer_figure
from bertexplorer.views.counterfactuals import compute as counterfactuals, show as counterfactuals_figure
from bertexplorer.views.layers import compute as layers, show as layers_figure
from bertexplorer.views.referee import compute as referee, show as referee_figure
from bertexplorer.views.saliency import compute as saliency, show as saliency_figure
from bertexplorer.views.switchboard import compute as switchboard, show as switchboard_figure
from tests.conftest import Tiny
from tests.tolerance import of_encoder
from tests.views.conftest import LOGITS
from tests.views.tuned import FILM, Tuned, of_problem, tuned

CASES = [("label", "label"), ("tag", "tag"), ("span", "span start"), ("span", "span end")]
SIZE = 8  # numbers of a head


def pick(one: Tuned, what: str, position: int, logits: Tensor) -> Tensor:
    """Natural-log probabilities, n x classes, from transformers' logits."""
    logits = logits.double()
    if what == "label":
        return logits.log_softmax(-1)
    if what == "score":
        return logits
    if what == "tag":
        return logits[:, position].log_softmax(-1)
    return logits[:, :, int(what == "span end")].log_softmax(1)


def lens(one: Tuned) -> Tensor:
    """The logits of the head of the class itself for every hidden state."""
    segments = torch.tensor([one.encoding.segments])
    with torch.no_grad():
        ids = torch.tensor([one.encoding.ids])
        states = one.theirs(input_ids=ids, token_type_ids=segments, output_hidden_states=True).hidden_states
        if one.what == "label":
            return torch.cat(
                [one.theirs.classifier((state[:, 0] @ pooler(one)[0].T + pooler(one)[1]).tanh()) for state in states]
            )
        head = one.theirs.classifier if one.what == "tag" else one.theirs.qa_outputs
        return torch.cat([head(state) for state in states])


def pooler(one: Tuned) -> tuple[Tensor, Tensor]:
    return one.theirs.bert.pooler.dense.weight, one.theirs.bert.pooler.dense.bias


@pytest.mark.parametrize(("head", "what"), CASES)
def test_the_head_reads_every_layer(head: str, what: str, tiny: Tiny) -> None:
    twin = tuned(tiny, head)
    result = layers.run(twin.ours, twin.text, options=layers.Options(target=what, top=10))  # type: ignore[arg-type]
    decision = ask(twin.ours, twin.text, what)  # type: ignore[arg-type]
    wanted, close = pick(twin, what, decision.position, lens(twin)), of_encoder(twin.ours.config, LOGITS)
    assert len(result.layers) == len(wanted) == 4 and (result.target, result.subject) == (
        what,
        decision.readout.subject(decision),
    )
    for results, row in zip(result.layers, wanted, strict=True):
        assert [c.probability for c in results.candidates] == pytest.approx(
            row.exp().topk(min(10, len(row))).values.tolist(), rel=close
        )
        assert all(float(row[c.id].exp()) == pytest.approx(c.probability, rel=close) for c in results.candidates)
        assert results.entropy == pytest.approx(float(-(row.exp() * row).sum()) / math.log(2), abs=close)
        far = float((wanted[-1].exp() * (wanted[-1] - row)).sum()) / math.log(2)
        assert results.divergence == pytest.approx(far, abs=close)
    if head != "span":
        assert result.layers[-1].candidates[0].token == decision.name(decision.index)
    firsts = wanted.argmax(-1).tolist()
    assert result.settled == max((i for i, first in enumerate(firsts) if first != firsts[-1]), default=-1) + 1


def test_labels_are_followed_by_name_and_words_at_a_mask(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    result = layers.run(twin.ours, FILM, options=layers.Options(words="good, bad"))
    assert {word.token for word in result.followed} == {"good", "bad"}
    rows = layers.rows(result)
    assert len({tuple(row) for row in rows}) == 1 and rows[0]["layer"] == 0
    with pytest.raises(ExplorerError, match="no label 'great'; there are bad, so-so, good"):
        layers.run(twin.ours, FILM, options=layers.Options(words="great"))


def test_each_of_several_labels_has_a_yes_and_a_no(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    several = of_problem(twin.ours, "multi_label_classification")
    result, close = layers.run(several, FILM), of_encoder(twin.ours.config, LOGITS)
    shares = lens(twin).double().sigmoid()
    chance = torch.distributions.Bernoulli(probs=shares)
    final = torch.distributions.Bernoulli(probs=shares[-1])
    for i, results in enumerate(result.layers):
        assert {c.id: c.probability for c in results.candidates} == pytest.approx(
            dict(enumerate(shares[i].tolist())), rel=close
        )
        assert results.entropy == pytest.approx(float(chance.entropy()[i].sum()) / math.log(2), abs=close)
        far = torch.distributions.kl_divergence(final, torch.distributions.Bernoulli(probs=shares[i])).sum()
        assert results.divergence == pytest.approx(float(far) / math.log(2), abs=close)


def test_a_score_is_read_after_every_layer(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    result, close = layers.run(of_problem(twin.ours, "regression"), FILM), of_encoder(twin.ours.config, LOGITS)
    wanted = lens(twin)
    assert result.scores == pytest.approx(wanted[:, int(wanted[-1].argmax())].tolist(), abs=close)
    assert [row["score"] for row in layers.rows(result)] == list(result.scores) and result.target == "score"
    near = 0.1 * (max(result.scores) - min(result.scores))
    assert all(abs(score - result.scores[-1]) <= near for score in result.scores[result.settled :])
    assert layers_figure.draw(result).panels and "after the last layer it is" in layers_figure.say(result)


@pytest.mark.parametrize(("head", "what"), [*CASES, ("label", "score")])
def test_each_head_switched_off_equals_a_hook_in_transformers(head: str, what: str, tiny: Tiny) -> None:
    twin, scored = tuned(tiny, head), what == "score"
    if scored:
        twin = replace(twin, ours=of_problem(twin.ours, "regression"))
    options = switchboard.Options(target=what, off="2·3, 1·1", controls=3)  # type: ignore[arg-type]
    result = switchboard.run(twin.ours, twin.text, options=options)
    decision, close = ask(twin.ours, twin.text, what), of_encoder(twin.ours.config, LOGITS)  # type: ignore[arg-type]
    mixing = [m for name, m in twin.theirs.named_modules() if name.endswith("attention.output.dense")]
    ids = torch.tensor([twin.encoding.ids])

    def log_probs(*off: tuple[int, int]) -> Tensor:
        def change(args: tuple[Tensor, ...], layer: int) -> tuple[Tensor, ...]:
            x = args[0].clone()
            for _, at in (place for place in off if place[0] == layer):
                x[..., at * SIZE : (at + 1) * SIZE] = 0
            return (x, *args[1:])

        hooks = [m.register_forward_pre_hook(lambda _, a, i=i: change(a, i)) for i, m in enumerate(mixing)]
        with torch.no_grad():
            results = pick(twin, what, decision.position, twin.logits(ids))[0]
        for hook in hooks:
            hook.remove()
        return results

    before = log_probs()
    assert result.target == decision.answer
    after = log_probs((1, 2), (0, 0))
    for results, row in ((result.before, before), (result.after, after)):
        number = row[decision.index] if scored else row[decision.index].exp()
        assert results.value == pytest.approx(float(number), rel=close, abs=close if scored else 0)
    assert [c.probability for c in result.after.candidates] == pytest.approx(
        after.exp().topk(len(result.after.candidates)).values.tolist(), rel=close
    )
    for place in np.ndindex(result.change.shape):
        nats = float(log_probs(place)[decision.index] - before[decision.index])
        assert result.change[place] == pytest.approx(nats if scored else nats / math.log(2), abs=2 * close)
    assert result.scored is scored and switchboard_figure.draw(result).panels
    assert ("change_score" if scored else "change_bits") in switchboard.rows(result)[0]
    assert ("%" in switchboard_figure.say(result)) is not scored


def test_a_requested_tag_is_measured(tiny: Tiny) -> None:
    twin = tuned(tiny, "tag")
    result = switchboard.run(twin.ours, FILM, options=switchboard.Options(word="I-PER", tagged_word="film", controls=0))
    assert result.target == "film: I-PER"
    word = answer.run(twin.ours, FILM).words[1]
    assert result.before.value == pytest.approx(next(x.value for x in word.labels if x.name == "I-PER"))


def test_the_next_sentence_can_be_measured_with_a_mask_in_the_text(tiny: Tiny) -> None:
    from bertexplorer.model.load import load

    ours = load(tiny("bert"), precision="fp32", device="cpu")
    masked = Text("She works as a [MASK].", "he is a doctor")
    options = switchboard.Options(target="next sentence", controls=0, off="2·3")
    result = switchboard.run(ours, masked, options=options)
    assert result.after.value == pytest.approx(result.before.value * 2 ** result.change[1, 2])
    usual = switchboard.run(ours, masked, options=switchboard.Options(controls=0))
    assert result.target == "is next" and result.before.value == pytest.approx(usual.before.is_next)


VIEWS = {
    saliency: saliency_figure,
    referee: referee_figure,
    layers: layers_figure,
    switchboard: switchboard_figure,
    counterfactuals: counterfactuals_figure,
}
ADAPTED = {"task": "adaptation", "described": {"options": {}}}
CRF = {"task": "tagging", "described": {"options": {"head": "crf"}}}
COLUMNS = {"task": "classification", "described": {"options": {}, "features": [{"name": "age"}, {"name": "city"}]}}
REJECTS = {"task": "question-answering", "described": {"options": {"threshold": -99}}}


@pytest.mark.parametrize(
    ("what", "run", "sentence"),
    [
        ("label", ADAPTED, "the run did not train it"),
        ("label", COLUMNS, "The run also reads age and city of each row"),
        ("tag", CRF, "before the run's CRF"),
        ("span", REJECTS, "The answer is that the passage has none; this is about the best span."),
    ],
)
def test_every_view_says_where_the_run_answers_differently(
    what: str, run: dict, sentence: str, tiny: Tiny, tmp_path: Path
) -> None:
    twin = tuned(tiny, what)
    (tmp_path / "task.json").write_text(json.dumps(run))
    of_run = replace(twin.ours, folder=tmp_path)
    for view, figure in VIEWS.items():
        if view is counterfactuals and what == "span":
            continue  # it has none of spans
        assert sentence in figure.say(view.run(of_run, twin.text)), figure.__name__
        assert sentence not in figure.say(view.run(twin.ours, twin.text)), figure.__name__
    assert what != "label" or sentence in answer_figure.say(answer.run(of_run, twin.text))


def test_a_span_is_as_long_as_in_the_run(tiny: Tiny, tmp_path: Path) -> None:
    twin = tuned(tiny, "span")
    for longest in (1, 2, 12):
        run = {"task": "question-answering", "described": {"options": {"longest": longest}}}
        (tmp_path / "task.json").write_text(json.dumps(run))
        of_run = replace(twin.ours, folder=tmp_path)
        best = answer.run(of_run, twin.text, options=answer.Options(longest=longest)).spans[0]
        start, end = (ask(of_run, twin.text, kind).index for kind in ("span start", "span end"))
        assert (start, end) == (best.first, best.last)
        said = answer_figure.say(answer.run(of_run, twin.text))
        assert f"Spans have at most 30 tokens here (Longest span) and {longest} in the run." in said


@pytest.mark.parametrize(
    "about",
    [{"task": "sequence", "described": {"options": {"longest": 0}}}, {"task": "x", "described": {"options": ["a"]}}],
)
def test_a_record_of_another_kind_changes_no_view(about: dict, tiny: Tiny, tmp_path: Path) -> None:
    for what in ("label", "span"):
        twin = tuned(tiny, what)
        (tmp_path / "task.json").write_text(json.dumps(about))
        of_other = replace(twin.ours, folder=tmp_path)
        for view in (saliency, referee, layers, switchboard):
            assert view.rows(view.run(of_other, twin.text)) == view.rows(view.run(twin.ours, twin.text)), view.__name__


def test_layers_follow_the_start_that_the_answer_has(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    twin = tuned(tiny, "span")
    monkeypatch.setattr(layer_answers, "DEFAULT_FOLLOWED", 1)
    for kind in ("span start", "span end"):
        result = layers.run(twin.ours, twin.text, options=layers.Options(target=kind, top=1))  # type: ignore[arg-type]
        assert ask(twin.ours, twin.text, kind).index in [one.id for one in result.followed]


def test_the_likeliest_of_several_labels_is_named_as_such(tiny: Tiny) -> None:
    several = of_problem(tuned(tiny, "label").ours, "multi_label_classification")
    said = counterfactuals_figure.say(counterfactuals.run(several, FILM))
    assert "several labels; the answer here is the likeliest one, above 50 % or not" in said
    said = counterfactuals_figure.say(counterfactuals.run(tuned(tiny, "label").ours, FILM))
    assert "several labels" not in said

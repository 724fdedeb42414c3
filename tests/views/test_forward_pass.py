"""Forward pass: the halves of each layer equal those of transformers, and each checkpoint ends in what it has."""

import numpy as np
import pytest
import torch

from bertexplorer import engine
from bertexplorer.answers.strongest_heads import WINDOW
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.forward_pass import compute as forward_pass
from bertexplorer.views.forward_pass.compute import Options
from bertexplorer.views.layers import compute as layers
from tests.conftest import Tiny
from tests.views.conftest import CLOSE, NEAR, Reference

FRANCE = "The capital of France is [MASK]."
TIRED = "The animal didn't cross the street because it was too [MASK]."
LARGE = 200.0  # about the largest length of what a feed-forward half of mini adds


def test_both_halves_of_each_layer_equal_those_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    halves: dict[str, list[torch.Tensor]] = {"attended": [], "fed": [], "output": []}
    handles = []
    for layer in reference.model.bert.encoder.layer:
        for name, module in (
            ("attended", layer.attention.output),
            ("fed", layer.output.dense),
            ("output", layer.output),
        ):
            handles.append(module.register_forward_hook(lambda m, i, out, name=name: halves[name].append(out[0])))
    ids = reference.ids(TIRED)
    with torch.no_grad():
        weights = reference.model(input_ids=torch.tensor([ids]), output_attentions=True).attentions
    for handle in handles:
        handle.remove()
    result = forward_pass.run(mini, TIRED)
    assert result.positions == tuple(range(len(ids))) and result.others == 0
    for i, part in enumerate(result.layers):
        for name, wanted in halves.items():
            np.testing.assert_allclose(getattr(part, name), wanted[i].numpy(), atol=NEAR * LARGE)
        np.testing.assert_allclose(part.weights[..., :-1], weights[i][0].numpy(), atol=NEAR)
        np.testing.assert_allclose(part.weights[..., -1], 0, atol=NEAR)


@pytest.mark.parametrize("recipe", ["bert-mlm", "modernbert", "deberta", "mpnet", "albert", "electra-discriminator"])
def test_the_halves_of_each_family_add_up_to_its_hidden_states(tiny: Tiny, recipe: str) -> None:
    checkpoint = load(tiny(recipe), precision="fp32", device="cpu")
    result = forward_pass.run(checkpoint, "a b c")
    states = engine.hidden_states(checkpoint, checkpoint.tokenizer.encode("a b c"))[1:]
    for i, (part, state) in enumerate(zip(result.layers, states, strict=True)):
        output = torch.tensor(part.output)
        if i == len(states) - 1:
            output = checkpoint.encoder.norm(output).detach()
        np.testing.assert_allclose(output, state, atol=NEAR)


def test_the_answers_are_those_of_fill_mask_and_of_layers(mini: Checkpoint) -> None:
    result = forward_pass.run(mini, FRANCE)
    wanted = fill_mask.run(mini, FRANCE).blanks[0].candidates
    assert result.end.words and [a.token for a in result.answers] == [c.token for c in wanted[:6]]
    assert [a.probability for a in result.answers] == pytest.approx([c.probability for c in wanted[:6]], rel=CLOSE)
    after = layers.run(mini, FRANCE)
    assert [part.answer.token for part in result.layers if part.answer] == [
        layer.candidates[0].token for layer in after.layers[1:]
    ]
    assert result.settled == after.settled - 1, "layers are 0-based here, and layer 0 of the other is the input"


def test_raised_words_are_those_whose_probability_grows_most(mini: Checkpoint, reference: Reference) -> None:
    states: list[torch.Tensor] = []
    last = reference.model.bert.encoder.layer[-1]
    handles = [
        m.register_forward_hook(lambda m, i, out: states.append(out[0])) for m in (last.attention.output, last.output)
    ]
    ids = reference.ids(FRANCE)
    reference.log_probs(ids)
    for handle in handles:
        handle.remove()
    with torch.no_grad():
        before, after = (
            reference.model.cls.predictions(state[ids.index(reference.mask)]).double().softmax(-1) for state in states
        )
    best = (after - before).topk(3).indices.tolist()
    raised = forward_pass.run(mini, FRANCE).layers[-1].raised
    assert [word.token for word in raised] == reference.tokenizer.convert_ids_to_tokens(best)
    assert [word.before for word in raised] == pytest.approx([float(before[i]) for i in best], rel=CLOSE, abs=1e-6)
    assert [word.after for word in raised] == pytest.approx([float(after[i]) for i in best], rel=CLOSE)


def test_a_long_text_shows_the_tokens_around_the_mask_and_adds_up_the_others(mini: Checkpoint) -> None:
    text = " ".join(["word"] * 80 + ["[MASK]"] + ["end"] * 80)
    result = forward_pass.run(mini, text)
    assert len(result.tokens) == WINDOW and result.tokens[0] == "[CLS]" and result.tokens[-1] == "[SEP]"
    assert result.tokens[result.followed] == "[MASK]" and result.others == 163 - WINDOW
    encoding = mini.tokenizer.encode(text)
    weights = engine.attentions(mini, encoding).numpy()
    for layer, part in enumerate(result.layers):
        np.testing.assert_allclose(part.weights.sum(-1), 1, atol=NEAR)
        np.testing.assert_allclose(
            part.weights[..., :-1], weights[layer][:, result.positions][..., result.positions], atol=NEAR
        )


@pytest.mark.parametrize("place", [0, 3, 159])
def test_the_window_stays_within_the_text(mini: Checkpoint, place: int) -> None:
    words = ["word"] * 160
    words[place] = "[MASK]"
    positions = forward_pass.run(mini, " ".join(words)).positions
    assert len(set(positions)) == WINDOW and positions == tuple(sorted(positions)) and place + 1 in positions


def test_the_picked_mask_or_token_is_followed(mini: Checkpoint) -> None:
    result = forward_pass.run(mini, Text("The river bank was muddy.", picked=(Span(0, 10, 14),)))
    assert result.end.words and not result.end.hidden and result.tokens[result.followed] == "bank"
    assert result.answers[0].token == "bank", "the head repeats a word that it sees"
    text = "A [MASK] eats a [MASK]."
    assert forward_pass.run(mini, text).followed == 2 and forward_pass.run(mini, text).other_masks == 1
    assert forward_pass.run(mini, Text(text, picked=(Span(0, 16, 22),))).followed == 5
    result = forward_pass.run(mini, Text("The man went to the store.", "He bought a gallon of milk."))
    assert result.end.view == "next-sentence" and result.settled is None
    assert sum(answer.probability for answer in result.answers) == pytest.approx(1)


def test_the_chosen_layer_is_open_and_else_the_one_that_shows_most(mini: Checkpoint) -> None:
    free = forward_pass.run(mini, TIRED)
    links = [part.link for part in free.layers if part.link and not part.link.positional]
    assert free.layers[free.open].link == max(links, key=lambda link: link.weight)
    assert forward_pass.run(mini, TIRED, options=Options(layer=2)).open == 1
    with pytest.raises(ExplorerError, match="Layer 7 does not exist"):
        forward_pass.run(mini, TIRED, options=Options(layer=7))


@pytest.mark.parametrize("text", ["a", "[MASK]", "[MASK] [MASK]", "."])
def test_a_text_of_hardly_a_token_has_a_picture(mini: Checkpoint, text: str) -> None:
    result = forward_pass.run(mini, text)
    assert len(result.layers) == 6 and len(result.tokens) >= 2


@pytest.mark.parametrize(
    ("recipe", "view", "outcome"),
    [
        ("bert-mlm", "fill-mask", "the word at {token}"),
        ("modernbert", "fill-mask", "the word at {token}"),
        ("bert-classifier", "answer", "the label"),
        ("electra-discriminator", "answer", "whether {token} was replaced"),
        ("bert-base", "word-path", ""),
    ],
)
def test_each_kind_of_checkpoint_ends_in_what_it_has(tiny: Tiny, recipe: str, view: str, outcome: str) -> None:
    checkpoint = load(tiny(recipe), precision="fp32", device="cpu")
    text = "a [MASK] c" if view == "fill-mask" else "a b c"
    result = forward_pass.run(checkpoint, text)
    assert (result.end.view, result.end.outcome) == (view, outcome) and bool(result.answers) == bool(outcome)


def test_the_opened_head_is_one_that_the_followed_token_uses(mini: Checkpoint, reference: Reference) -> None:
    for text in (FRANCE, TIRED):
        result = forward_pass.run(mini, text)
        link = result.layers[result.open].link
        assert link is not None and link.source == result.positions[result.followed]
        with torch.no_grad():
            ids = torch.tensor([reference.ids(text)])
            weights = torch.stack(reference.model(input_ids=ids, output_attentions=True).attentions)[:, 0]
        wanted = float(weights[link.head.layer, link.head.head, link.source, link.target])
        assert link.weight == pytest.approx(wanted, abs=NEAR)
        others = [part.link for part in result.layers if part.link and not part.link.positional]
        assert all(one.source == link.source and one.weight <= link.weight for one in others)

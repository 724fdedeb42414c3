"""Heads switched off do what zeroing their slice in transformers does; means and patches likewise."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from bertexplorer import engine
from bertexplorer.answers.board import Board, ask
from bertexplorer.answers.heads import Head, Neuron
from bertexplorer.answers.sample_sentences import TOPICS
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from bertexplorer.views.switchboard import compute as switchboard
from bertexplorer.views.switchboard.compute import Options
from tests.tolerance import of_encoder
from tests.views.conftest import LOGITS

TEXT = "The capital of france is [MASK]."
OUTPUTS = ("attention.output.dense", "attention.out_lin", "attn.Wo")  # what mixes the heads, by family
NAMES = ("bert", "roberta", "electra-generator", "distilbert", "modernbert")
SIZE = 8  # numbers of a head


class Reference:
    """transformers with the numbers that enter the mixing of the heads changed by a hook."""

    def __init__(self, folder: Path, kind: str = "AutoModelForMaskedLM") -> None:
        self.model = getattr(transformers, kind).from_pretrained(folder, attn_implementation="eager").eval()
        self.mixing = [m for name, m in self.model.named_modules() if name.endswith(OUTPUTS)]

    def run(self, ids, change: Callable[[int, Tensor], Tensor], segments=None):  # type: ignore[no-untyped-def]
        hooks = [
            m.register_forward_pre_hook(lambda _, args, at=at: (change(at, args[0].clone()), *args[1:]))
            for at, m in enumerate(self.mixing)
        ]
        more = {} if segments is None else {"token_type_ids": torch.tensor([segments])}
        with torch.no_grad():
            out = self.model(torch.tensor([list(ids)]), **more)
        for hook in hooks:
            hook.remove()
        return out

    def outputs(self, ids) -> list[Tensor]:  # type: ignore[no-untyped-def]
        """What enters the mixing in each layer, t x d."""
        seen: list[Tensor] = []

        def keep(_: int, x: Tensor) -> Tensor:
            seen.append(x[0])
            return x

        self.run(ids, keep)
        return seen


def put(heads: tuple[Head, ...], value: Callable[[Head], Tensor | float]) -> Callable[[int, Tensor], Tensor]:
    def change(layer: int, x: Tensor) -> Tensor:
        for head in heads:
            if head.layer == layer:
                x[..., head.head * SIZE : (head.head + 1) * SIZE] = value(head)
        return x

    return change


@pytest.fixture(scope="module", params=NAMES)
def pair(request: pytest.FixtureRequest, tiny):  # type: ignore[no-untyped-def]
    folder = tiny(request.param)
    return load(folder, precision="fp32", device="cpu"), Reference(folder)


def probability(out, encoding, token: int) -> float:  # type: ignore[no-untyped-def]
    return float(out.logits[0, encoding.masked[0]].softmax(-1)[token])


def test_each_head_alone_and_some_together_equal_a_hook_in_transformers(pair) -> None:
    ours, theirs = pair
    result = switchboard.run(ours, TEXT, options=Options(off="1.2, 3·4, 2-1"))
    encoding = ours.tokenizer.encode(TEXT)
    token = result.before.candidates[0].id
    before = probability(theirs.run(encoding.ids, lambda _, x: x), encoding, token)
    assert result.before.value == pytest.approx(before, rel=of_encoder(ours.config, LOGITS))
    for layer, line in enumerate(result.change):
        for head, bits in enumerate(line):
            after = probability(theirs.run(encoding.ids, put((Head(layer, head),), lambda _: 0.0)), encoding, token)
            assert bits == pytest.approx(np.log2(after / before), abs=2 * of_encoder(ours.config, LOGITS)), (
                layer,
                head,
            )
    off = (Head(0, 1), Head(2, 3), Head(1, 0))
    assert result.off == off
    wanted = probability(theirs.run(encoding.ids, put(off, lambda _: 0.0)), encoding, token)
    assert result.after.value == pytest.approx(wanted, rel=of_encoder(ours.config, LOGITS))


def test_the_mean_is_taken_over_the_plain_sentences(pair) -> None:
    ours, theirs = pair
    off = (Head(1, 2),)
    result = switchboard.run(ours, TEXT, options=Options(off="2·3", how="mean"))
    encoding = ours.tokenizer.encode(TEXT)
    rows = torch.cat([theirs.outputs(ours.tokenizer.encode(g[0]).ids)[1] for g in TOPICS.values()])
    mean = rows[:, 2 * SIZE : 3 * SIZE].mean(dim=0)
    wanted = probability(theirs.run(encoding.ids, put(off, lambda _: mean)), encoding, result.before.candidates[0].id)
    assert result.after.value == pytest.approx(wanted, rel=of_encoder(ours.config, LOGITS))


def test_a_patch_is_the_output_for_the_other_sentence_at_each_position(pair) -> None:
    ours, theirs = pair
    source = "The france of capital is [MASK]."
    off = (Head(0, 0), Head(2, 3))  # the last layer too, which runs at the blank alone
    result = switchboard.run(ours, TEXT, options=Options(off="1·1, 3·4", how="patch", source=source))
    encoding, other = ours.tokenizer.encode(TEXT), ours.tokenizer.encode(source)
    if len(encoding) != len(other):
        pytest.fail("the two sentences must be equally long in every tiny vocabulary")
    given = theirs.outputs(other.ids)
    change = put(off, lambda h: given[h.layer][:, h.head * SIZE : (h.head + 1) * SIZE])
    wanted = probability(theirs.run(encoding.ids, change), encoding, result.before.candidates[0].id)
    assert result.after.value == pytest.approx(wanted, rel=of_encoder(ours.config, LOGITS))


def test_a_pair_without_a_blank_is_about_its_next_sentence_decision(tiny) -> None:
    folder = tiny("bert")
    ours, theirs = load(folder, precision="fp32", device="cpu"), Reference(folder, "BertForNextSentencePrediction")
    text = Text("She works as a nurse.", "he is a doctor")
    result = switchboard.run(ours, text, options=Options(off="2·2"))
    encoding = ours.tokenizer.encode(text)

    def is_next(change: Callable[[int, Tensor], Tensor]) -> float:
        return float(theirs.run(encoding.ids, change, encoding.segments).logits[0].softmax(-1)[0])

    assert result.target == "is next" and result.before.candidates == ()
    assert result.before.value == pytest.approx(is_next(lambda _, x: x), rel=of_encoder(ours.config, LOGITS))
    assert result.after.value == pytest.approx(
        is_next(put((Head(1, 1),), lambda _: 0.0)), rel=of_encoder(ours.config, LOGITS)
    )
    blank = switchboard.run(ours, Text("She works as a [MASK].", "he is a doctor"))
    assert blank.before.is_next is not None and blank.after.is_next is not None


def test_random_sets_have_the_same_size_and_avoid_the_chosen_heads(tiny) -> None:
    ours = load(tiny("bert"), precision="fp32", device="cpu")
    board = Board(ask(ours, TEXT, "mask"), 4, engine.heads_off())
    off = (Head(0, 1), Head(2, 3))
    sets = switchboard.random_sets(board, off, 4, 30)
    assert sets.shape == (30, 3, 4) and (sets.sum(axis=(1, 2)) == 10).all()
    assert all((sets[:, h.layer, h.head] == 1).all() for h in off)
    assert len({s.tobytes() for s in sets}) > 10
    most = tuple(Head(layer, head) for layer in range(3) for head in range(4) if (layer, head) != (0, 0))
    assert (switchboard.random_sets(board, most, 4, 3).sum(axis=(1, 2)) == 1).all()
    assert len(switchboard.random_sets(board, (*most, Head(0, 0)), 4, 3)) == 0, "it would be the chosen heads again"


def test_neurons_are_off_at_every_token_as_a_hook_in_transformers_has_it(tiny) -> None:
    """Alone and beside a head; the random sets hold as many of each kind."""
    ours = load(tiny("bert-mlm"), precision="fp32", device="cpu")
    theirs = transformers.BertForMaskedLM.from_pretrained(tiny("bert-mlm"), attn_implementation="eager").eval()
    encoding = ours.tokenizer.encode(TEXT)

    def silence(_: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        changed = inputs[0].clone()
        changed[..., [6, 30]] = 0
        return (changed, *inputs[1:])

    hook = theirs.bert.encoder.layer[1].output.dense.register_forward_pre_hook(silence)
    with torch.inference_mode():
        logits = theirs(torch.tensor([encoding.ids])).logits[0, encoding.masked[0]]
    result = switchboard.run(ours, TEXT, options=Options(neurons="2·7, 2·31"))
    wanted = logits.softmax(-1)[ours.tokenizer.backend.token_to_id(result.target)]
    assert result.after.value == pytest.approx(float(wanted), rel=1e-4) and result.before.value != result.after.value
    assert result.neurons == (Neuron(1, 6), Neuron(1, 30)) and result.off == () and len(result.controls) == 10
    hook.remove()
    alone = switchboard.run(ours, TEXT)
    both = switchboard.run(ours, TEXT, options=Options(neurons="2·7", off="3·4"))
    assert np.allclose(both.change, alone.change, atol=1e-4), "each head is measured with all neurons on"
    assert both.states.sum() == 1 and both.after.value not in (result.after.value, both.before.value)
    board = Board(ask(ours, TEXT, "mask"), 4 + 48, engine.heads_off(heads=4))
    sets = switchboard.random_sets(board, [(2, 3), (1, 4 + 6), (1, 4 + 30)], 4, 8)
    assert ((sets[..., :4] == 0).sum((1, 2)) == 1).all() and ((sets[..., 4:] == 0).sum((1, 2)) == 2).all()


def test_without_a_choice_no_head_is_off(tiny) -> None:
    ours = load(tiny("bert"), precision="fp32", device="cpu")
    result = switchboard.run(ours, TEXT)
    assert result.off == () and result.after == result.before and len(result.controls) == 0 and not result.states.any()
    line = switchboard.rows(result)
    assert len(line) == 12 and not any(row["off"] for row in line) and line[0]["random_sets_mean"] == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (Options(off="9·1"), "layer"),
        (Options(off="x"), "is not a head"),
        (Options(neurons="1·49"), "Neuron 49 does not exist; there are 48"),
        (Options(neurons="x"), "is not a neuron"),
        (Options(word="unbelievable"), "pieces"),
        (Options(how="patch"), "no sentence to patch from"),
        (Options(how="patch", source="a cat"), "tokens and yours"),
    ],
)
def test_invalid_settings_are_named(tiny, options: Options, words: str) -> None:
    ours = load(tiny("bert"), precision="fp32", device="cpu")
    with pytest.raises(ExplorerError, match=words):
        switchboard.run(ours, TEXT, options=options)


@pytest.mark.parametrize(
    ("name", "text", "target", "said"),
    [
        ("bert", Text("no blank here"), "answer", "Nothing is hidden and there is no pair, .* add a second sentence."),
        (
            "bert",
            Text("no blank", "but a pair"),
            "mask",
            "hidden and the measure is the word at a mask, .* measure",
        ),
        (
            "roberta",
            Text("no blank", "and no head"),
            "answer",
            "hidden and roberta has no next-sentence head",
        ),
        ("bert-base", Text("no blank", "and no head"), "answer", "bert-base has no fill-mask head"),
        ("bert-base", Text("no head"), "answer", "bert-base has no fill-mask head"),
        ("bert", Text("a " * 600 + "[MASK]"), "answer", "Nothing is hidden within the tokens that are read and"),
    ],
)
def test_a_text_without_a_target_is_rejected_with_what_is_missing(tiny, name, text, target, said) -> None:
    with pytest.raises(ExplorerError, match=said):
        switchboard.run(load(tiny(name), precision="fp32", device="cpu"), text, options=Options(target=target))

"""Neurons: activations, effects and what is left without them, against hooks in transformers' models."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor, nn

from bertexplorer import engine
from bertexplorer.answers.board import Board, ask
from bertexplorer.answers.heads import Neuron
from bertexplorer.answers.vectors import LabelledLine
from bertexplorer.engine.gradients import neuron_effects
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.neurons import compute as neurons, show as figure
from bertexplorer.views.neurons.compute import Facts, Options
from tests.conftest import Tiny
from tests.tiny import write, write_sentence_encoder
from tests.views.tuned import of_problem, tuned

TEXT = "The capital of france is [MASK]."
CONTRACT = {  # the module that reads the neurons
    "bert-mlm": ".{}.output.dense",
    "roberta": ".{}.output.dense",
    "distilbert": ".{}.ffn.lin2",
    "albert": ".ffn_output",  # whichever layer
    "modernbert": ".{}.mlp.Wo",
    "nomic": ".{}.mlp.down_proj",
    "gte": ".{}.mlp.down_proj",
    "eurobert": ".{}.mlp.down_proj",
}
Hook = Callable[[nn.Module, tuple[Tensor, ...]], tuple[Tensor, ...] | None]


def reference(folder: Path) -> nn.Module:
    kind = transformers.AutoModelForMaskedLM
    return kind.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32).eval()


@contextmanager
def hooked(model: nn.Module, family: str, hooks: dict[int, Hook]) -> Iterator[None]:
    """Hooks on what reads the neurons, by layer."""
    handles = []
    for layer, hook in hooks.items():
        end = CONTRACT[family].format(layer)
        (module,) = [m for name, m in model.named_modules() if name.endswith(end) and "attention" not in name]
        handles.append(module.register_forward_pre_hook(hook))
    yield
    for handle in handles:
        handle.remove()


def off(numbers: Sequence[int], position: int | None = None) -> Hook:
    def hook(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        changed = args[0].clone()
        changed[:, slice(None) if position is None else slice(position, position + 1), list(numbers)] = 0
        return (changed, *args[1:])

    return hook


@pytest.mark.parametrize("family", CONTRACT)
def test_activations_are_what_the_second_matrix_reads(tiny: Tiny, family: str) -> None:
    checkpoint, theirs = load(tiny(family), precision="fp32", device="cpu"), reference(tiny(family))
    encoding = checkpoint.tokenizer.encode("the capital of france is paris .")
    read: list[Tensor] = []
    with hooked(theirs, family, {1: lambda _, args: read.append(args[0][0])}), torch.inference_mode():
        theirs(torch.tensor([encoding.ids]))
    wanted = read[1] if family == "albert" else read[0]  # its layers share one module
    torch.testing.assert_close(engine.neuron_activations(checkpoint, encoding, 1), wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("family", ["bert-mlm", "modernbert", "eurobert"])
def test_effects_are_the_gradients_through_transformers(tiny: Tiny, family: str) -> None:
    checkpoint, theirs = load(tiny(family), precision="fp32", device="cpu"), reference(tiny(family))
    board = Board(ask(checkpoint, TEXT, "mask"), checkpoint.config.intermediate_size, engine.neurons_off)
    layers, size = checkpoint.config.num_layers, checkpoint.config.intermediate_size
    factors = torch.ones(layers, size, requires_grad=True)
    hooks = {layer: lambda _, args, layer=layer: (args[0] * factors[layer], *args[1:]) for layer in range(layers)}
    with hooked(theirs, family, hooks):
        logits = theirs(torch.tensor([board.question.encoding.ids])).logits[0, board.question.encoding.masked[0]]
    wanted = -torch.autograd.grad(logits.log_softmax(-1)[board.question.index], factors)[0]
    found = neuron_effects(checkpoint, board.question.encoding, board.question.gradient_target())
    torch.testing.assert_close(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("family", ["bert-mlm", "modernbert", "gte"])
def test_the_answer_is_measured_without_the_neurons_that_count_most(tiny: Tiny, family: str) -> None:
    checkpoint, theirs = load(tiny(family), precision="fp32", device="cpu"), reference(tiny(family))
    result = neurons.run(checkpoint, TEXT)
    curve, encoding = result.curve, checkpoint.tokenizer.encode(TEXT)
    token = checkpoint.tokenizer.backend.token_to_id(result.answer)
    assert curve and curve.counts[:4] == (0, 1, 2, 5) and len(curve.first) == 5
    for at, count in enumerate(curve.counts[:4]):
        by_layer: dict[int, list[int]] = {}
        for layer, number in curve.first[:count]:
            by_layer.setdefault(layer, []).append(number)
        with (
            hooked(theirs, family, {layer: off(numbers) for layer, numbers in by_layer.items()}),
            torch.inference_mode(),
        ):
            logits = theirs(torch.tensor([encoding.ids])).logits[0, encoding.masked[0]]
        if token is not None:
            assert curve.strongest[at] == pytest.approx(float(logits.softmax(-1)[token]), rel=1e-3)
    assert curve.strongest[1] < 0.9 * curve.strongest[0], "the neuron that counts most was off"
    assert curve.random.shape == (neurons.ORDERS, len(curve.counts))
    assert np.allclose(curve.random[:, 0], curve.strongest[0])
    assert curve.counts[-1] <= result.total // 2


@pytest.mark.slow
def test_the_neurons_that_count_most_are_those_of_a_search_through_all(mini: Checkpoint) -> None:
    """A third of all 9,216 are switched off one by one, with those found; the gradient alone misses 1·857, which counts
    most."""
    text = "The capital of France is [MASK]."
    result = neurons.run(mini, text)
    board = Board(ask(mini, text, "mask"), 1536, engine.neurons_off)
    assert result.curve
    third = {Neuron(layer, number) for layer in range(6) for number in range(layer % 3, 1536, 3)}
    changes = neurons.measure_alone(board, sorted({*third, *result.curve.first}))
    assert result.curve.first == tuple(sorted(changes, key=lambda neuron: changes[neuron])[:5])
    assert result.curve.first[0] == Neuron(0, 856)


def test_the_words_are_those_that_fall_without_what_the_neuron_writes(tiny: Tiny) -> None:
    """In the last layer, at one token alone: what transformers answers there."""
    checkpoint, theirs = load(tiny("bert-mlm"), precision="fp32", device="cpu"), reference(tiny("bert-mlm"))
    result = neurons.run(checkpoint, TEXT, options=Options(top=4))
    ids = torch.tensor([checkpoint.tokenizer.encode(TEXT).ids])
    assert result.layer == 2 and len(result.writers) == 4
    with torch.inference_mode():
        whole = theirs(ids).logits[0, result.position].softmax(-1)
        for writer in result.writers:
            with hooked(theirs, "bert-mlm", {2: off([writer.neuron.number], result.position)}):
                rest = theirs(ids).logits[0, result.position].softmax(-1)
            fallen = (whole - rest).topk(3)
            named = [i for i, fall in zip(*map(Tensor.tolist, reversed(fallen)), strict=True) if fall >= neurons.LEAST]
            assert writer.words == checkpoint.tokenizer.show_all(named)
    weight = theirs.bert.encoder.layer[2].output.dense.weight
    lengths = [abs(w.activation) * weight[:, w.neuron.number].norm().item() for w in result.writers]
    assert [w.length for w in result.writers] == pytest.approx(lengths, rel=1e-4)
    assert lengths == sorted(lengths, reverse=True)


def test_one_neuron_off_changes_the_answer_as_a_hook_does(tiny: Tiny) -> None:
    checkpoint, theirs = load(tiny("bert-mlm"), precision="fp32", device="cpu"), reference(tiny("bert-mlm"))
    result = neurons.run(checkpoint, TEXT, options=Options(layer=2, neuron=7, top=1))
    assert result.open == Neuron(1, 6) and result.writers[-1].neuron == Neuron(1, 6)
    encoding = checkpoint.tokenizer.encode(TEXT)
    with hooked(theirs, "bert-mlm", {1: off([6])}), torch.inference_mode():
        left = theirs(torch.tensor([encoding.ids])).logits[0, encoding.masked[0]].softmax(-1)
    token = checkpoint.tokenizer.backend.token_to_id(result.answer)
    assert result.before * 2**result.opened.change == pytest.approx(float(left[token]), rel=1e-3)
    assert Facts(checkpoint, Text(TEXT), result).change() == result.opened.change


def test_the_lines_are_those_with_the_highest_activation(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """Line by line; on the page in padded batches."""
    checkpoint = load(tiny("bert-mlm"), precision="fp32", device="cpu")
    texts = [
        "a cat sat",
        "the doctor said she works as a nurse in berlin",
        "money .",
        "a great film , a terrible movie",
    ]
    result = neurons.run(
        checkpoint, TEXT, options=Options(layer=2, neuron=3), lines=[LabelledLine(text) for text in texts]
    )
    wanted = []
    for text in texts:
        encoding = checkpoint.tokenizer.encode(text)
        values = engine.neuron_activations(checkpoint, encoding, 1)[:, 2]
        inner = values[1:-1]
        wanted.append((float(inner.max()), checkpoint.tokenizer.show(encoding.ids[1 + int(inner.argmax())]), text))
    wanted.sort(key=lambda entry: -entry[0])
    assert [(peak.token, peak.text) for peak in result.peaks] == [(token, text) for _, token, text in wanted]
    assert [peak.activation for peak in result.peaks] == pytest.approx([value for value, *_ in wanted], abs=1e-4)
    assert result.lines == 4 and not result.built_in and result.notes == ""
    odd = neurons.run(checkpoint, TEXT, lines=[LabelledLine("\u200b"), LabelledLine("a cat sat"), LabelledLine(" ")])
    assert odd.lines == 1 and odd.notes and odd.notes in figure.say(odd)
    assert neurons.run(checkpoint, TEXT).built_in and neurons.run(checkpoint, TEXT).lines == 80


@pytest.mark.parametrize("what", ["label", "tag", "score", "pair"])
def test_every_kind_of_answer_is_measured(tiny: Tiny, what: str) -> None:
    if what == "pair":
        checkpoint, text = load(tiny("bert"), precision="fp32", device="cpu"), Text("a cat sat.", "it is a dog.")
    else:
        case = tuned(tiny, "tag" if what == "tag" else "label")
        checkpoint, text = case.ours, case.text
        checkpoint = of_problem(checkpoint, "regression") if what == "score" else checkpoint
    result = neurons.run(checkpoint, text)
    assert result.answer and result.curve and len(result.along) == len(result.tokens)
    assert result.scored == (what == "score") and not np.isnan(result.opened.change)
    assert figure.say(result) and figure.draw(result).panels


def test_two_texts_that_are_compared_are_read_alone(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"})
    checkpoint = load(folder, precision="fp32", device="cpu")
    first, second = "a cat sat .", "it is a dog ."
    result = neurons.run(checkpoint, Text(first, second), options=Options(layer=2, neuron=3))
    assert result.answer == "cosine" and result.scored and result.curve
    one, other = (checkpoint.tokenizer.encode(text) for text in (first, second))
    wanted = [engine.neuron_activations(checkpoint, encoding, 1)[:, 2] for encoding in (one, other)]
    assert result.along[: len(one)] == pytest.approx(wanted[0].numpy(), abs=1e-5)
    assert result.along[len(one) : -1] == pytest.approx(wanted[1][1:-1].numpy(), abs=1e-5)  # the last [SEP] is shared
    assert figure.say(result)


def test_a_picked_token_is_followed_and_an_answer_need_not_be_asked_for(tiny: Tiny) -> None:
    checkpoint = load(tiny("bert-mlm"), precision="fp32", device="cpu")
    result = neurons.run(checkpoint, Text("paris is a city", picked=(Span(0, 0, 5),)))
    assert result.position == 1 and result.answer == "" and result.curve is None
    assert result.open == result.writers[0].neuron and np.isnan(result.opened.change)
    assert figure.say(result).startswith("Nothing is asked for here")
    with pytest.raises(ExplorerError, match="Nothing is asked for"):
        Facts(checkpoint, Text("x"), result).half()
    bare = neurons.run(load(tiny("bert-base"), precision="fp32", device="cpu"), TEXT)
    assert bare.curve is None and bare.opened.words == ()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (Options(layer=4), "Layer 4 does not exist; there are 3"),
        (Options(neuron=49), "Neuron 49 does not exist; there are 48"),
        (Options(word="unbelievable"), "pieces"),
        (Options(target="next sentence"), "no next-sentence head"),
        (Options(lines="gone"), "no longer stored"),
    ],
)
def test_bad_settings_are_named(tiny: Tiny, options: Options, message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        neurons.run(load(tiny("bert-mlm"), precision="fp32", device="cpu"), TEXT, options=options)


def test_bad_lines_and_long_texts_are_named(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = load(tiny("bert-mlm"), precision="fp32", device="cpu")
    with pytest.raises(ExplorerError, match="None of the 1 lines can be read"):
        neurons.run(checkpoint, TEXT, lines=[LabelledLine(" ")])
    with pytest.raises(ExplorerError, match="No line has a word"):
        neurons.run(checkpoint, TEXT, lines=[LabelledLine("[SEP]")])
    assert len(neurons.run(checkpoint, TEXT, lines=[LabelledLine("[SEP]"), LabelledLine("a cat")]).peaks) == 1
    with pytest.raises(ExplorerError, match="1,001 lines were given; the limit is 1,000"):
        neurons.run(checkpoint, TEXT, lines=[LabelledLine("a")] * 1001)
    monkeypatch.setattr(neurons, "MAX_TOKENS", 8)
    with pytest.raises(ExplorerError, match="has 9 tokens; this view reads 8"):
        neurons.run(checkpoint, TEXT)


def test_a_neuron_that_writes_nothing_raises_no_word(mini: Checkpoint) -> None:
    result = neurons.run(mini, "The capital of France is [MASK].", options=Options(layer=6, neuron=46))
    assert result.opened.words == () and "raises" not in figure.say(result)


def test_the_smallest_encoder_has_a_curve(tmp_path: Path) -> None:
    folder = write(tmp_path, "bert-mlm", num_hidden_layers=1, intermediate_size=1)
    result = neurons.run(load(folder, precision="fp32", device="cpu"), TEXT)
    assert result.total == 1 and result.curve and result.curve.counts == (0, 1)


def test_few_neurons_of_mini_carry_an_answer(mini: Checkpoint) -> None:
    result = neurons.run(mini, "The farmers cultivate the [MASK] to grow crops.")
    facts = Facts(mini, Text(""), result)
    assert facts.half() <= 5 and facts.without(30) < 0.1 * facts.before() < facts.without_random(300)
    assert facts.answer() in [facts.raises(rank) for rank in (1, 2, 3)] and facts.total() == 9216
    rows = neurons.rows(result)
    assert len({tuple(row) for row in rows}) == 1
    assert [row["kind"] for row in rows].count("off at random") == 8
    drawn = figure.draw(result)
    first = drawn.panels[0].marks[0].bars[0]
    assert first.door == {"set": {"layer": 6, "neuron": result.writers[0].neuron.number + 1}}
    assert all(button.door["set"]["layer"] for button in drawn.buttons)
    assert set(figure.colours(result).values()) <= {*np.clip(list(figure.colours(result).values()), -1, 1)}

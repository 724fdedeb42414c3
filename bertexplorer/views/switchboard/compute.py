"""Switchboard: heads and neurons switched off, or heads patched, and how that changes the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.answers.board import Board, BoardOutcome, Switch, ask
from bertexplorer.answers.heads import Head, Neuron, parse_heads, parse_neurons
from bertexplorer.answers.question import TAGGED_INFO, TARGET_INFO, TargetKind
from bertexplorer.answers.sample_sentences import TOPICS
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("layer", "head"), "change_bits"


@dataclass(frozen=True)
class Options:
    off: Annotated[str, Option("Heads off", info="such as 5·3, 2·7; or press cells of the map")] = ""
    neurons: Annotated[str, Option("Neurons off", info="such as 5·812; the view Neurons finds them")] = ""
    how: Annotated[
        Literal["zero", "mean", "patch"],
        Option("Instead of the head", info="zeros, its mean over plain sentences, or its output for another sentence"),
    ] = "zero"
    source: Annotated[str, Option("Sentence to patch from", info="with as many tokens as yours")] = ""
    word: Annotated[str, Option("Word", info="or label or tag; empty: the first choice")] = ""
    controls: Annotated[int, Option("Random controls", 0, 50, info="sets of as many other heads and neurons")] = 10
    target: Annotated[TargetKind, Option("Measure", info=TARGET_INFO)] = "answer"
    tagged_word: Annotated[str, Option("Tagged word", info=TAGGED_INFO)] = ""


@dataclass(frozen=True)
class Switchboard:
    target: str  # the measured answer: a word, the answer of a fine-tuned head, or "is next"
    off: tuple[Head, ...]
    how: str
    before: BoardOutcome
    after: BoardOutcome
    controls: Float[np.ndarray, " c"]  # value of the target for each random set of as many heads and neurons
    change: Float[np.ndarray, "l h"]  # bits: log2 of the target's probability, that head off minus all on; or scores
    states: Bool[np.ndarray, "l h"]  # True: off
    other_masks: int
    scored: bool = False  # whether the target is a score or a cosine: values and changes are in its unit
    caveats: tuple[str, ...] = ()  # where the answer of a run differs, as sentences
    neurons: tuple[Neuron, ...] = ()  # off too
    source: str = ""  # the sentence that heads are patched from

    @property
    def changed(self) -> bool:
        """Whether something is off."""
        return bool(self.off or self.neurons)


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Switchboard:
    """Ablate heads of *text*: the target is the word at the first mask, else what a fine-tuned head decides, else that
    B is next.

    Each head's output (before it is mixed with the others) is replaced by zeros, by its mean over plain sentences, or
    by its output at the same positions of another sentence (Michel et al., 2019; Wang et al., 2023 for the mean and the
    patch). Neurons of the feed-forward halves can be off too, at every token. For a regression the score changes, for a
    run that compares two texts their cosine. Raises ExplorerError without a mask, a fine-tuned head or a pair, for an
    unknown head or neuron, for a word of several pieces, for a sentence to patch from of another length, and for a
    patch if two texts are encoded alone."""
    question = ask(checkpoint, text, options.target, options.word, options.tagged_word)
    encoding = question.encoding
    if question.readout.apart and options.how == "patch":
        raise ExplorerError(
            f"{checkpoint.name} encodes the two texts separately; one sentence cannot be patched into both. Choose "
            "zero or mean."
        )
    layers, heads = checkpoint.config.num_layers, checkpoint.config.num_heads
    off = parse_heads(options.off, layers, heads)
    neurons = parse_neurons(options.neurons, layers, checkpoint.config.intermediate_size)
    fill = replacement(checkpoint, encoding, options)
    # 1. Each head alone.
    board = Board(question, heads, engine.heads_off(fill))
    single_switches = [board.off([(layer, head)]) for layer in range(layers) for head in range(heads)]
    target_values = board.values(np.stack([board.off([]), *single_switches]))
    # 2. The chosen heads and neurons together. Neurons need a switch each, so they have a board of their own.
    chosen: list[Switch] = [*off, *((layer, heads + number) for layer, number in neurons)]
    if neurons:
        width = heads + checkpoint.config.intermediate_size
        board = Board(question, width, engine.heads_off(fill, heads))
    controls = board.values(random_sets(board, chosen, heads, options.controls if chosen else 0))
    return Switchboard(
        target=question.answer,
        off=off,
        neurons=neurons,
        how=options.how,
        before=board.outcome(board.off([])),
        after=board.outcome(board.off(chosen)),
        controls=controls if board.scored else 2.0**controls,
        change=(target_values[1:] - target_values[0]).reshape(layers, heads),
        states=board.off(chosen)[:, :heads] == 0,
        other_masks=question.other_masks,
        scored=board.scored,
        caveats=question.caveats,
        source=options.source.strip() if options.how == "patch" else "",
    )


def replacement(checkpoint: Checkpoint, encoding: Encoding, options: Options) -> Tensor | None:
    """The replacement for each head's output, l x h x (1 or t) x k; None for zeros. Raises ExplorerError for a
    sentence to patch from that is missing, or of another length."""
    tokenizer = checkpoint.tokenizer
    if options.how == "mean":
        return engine.mean_head_outputs(checkpoint, [tokenizer.encode(group[0]) for group in TOPICS.values()])
    if options.how == "patch":
        if not options.source.strip():
            raise ExplorerError("There is no sentence to patch from. Type one that has as many tokens as yours.")
        source = tokenizer.encode(Text(options.source))
        if len(source) != len(encoding):
            raise ExplorerError(
                f"The sentence to patch from has {len(source)} tokens and yours {len(encoding)}, so they do not line "
                "up. Change its words until both are equally long."
            )
        return engine.head_outputs(checkpoint, source)
    return None


def random_sets(board: Board, off: Sequence[Switch], heads: int, count: int) -> Float[np.ndarray, "c l s"]:
    """Random switches with as many heads and neurons off as *off* has, drawn from the others if there are enough; none
    if all heads are off. Each layer has *heads* heads, then its neurons."""
    layers, width = board.shape
    chosen = set(off)
    heads_wanted = sum(number < heads for _, number in off)
    neurons_wanted = len(off) - heads_wanted

    def pool(numbers: range, wanted: int) -> list[Switch]:
        """The switches with these *numbers* to draw *wanted* ones from."""
        every = [(layer, number) for layer in range(layers) for number in numbers]
        others = [switch for switch in every if switch not in chosen]
        return others if len(others) >= wanted else every

    head_pool = pool(range(heads), heads_wanted)
    neuron_pool = pool(range(heads, width), neurons_wanted)
    if chosen.issuperset(head_pool):  # all heads are off
        count = 0
    rng = np.random.default_rng(0)
    sets = []
    for _ in range(count):
        drawn: list[Switch] = []
        for switches, wanted in ((head_pool, heads_wanted), (neuron_pool, neurons_wanted)):
            if wanted:
                drawn += [switches[i] for i in rng.choice(len(switches), size=wanted, replace=False)]
        sets.append(board.off(drawn))
    return np.stack(sets) if sets else np.zeros((0, *board.shape), dtype=np.float32)


def rows(result: Switchboard) -> list[dict[str, object]]:
    """One row for each head, counted from 1: the target's probability with only that head off, in bits relative to all
    on. For a score, *score* takes the place of *probability*, and the change is in its unit."""
    before = result.before.value
    name, change_name = ("score", "change_score") if result.scored else ("probability", "change_bits")
    table: list[dict[str, object]] = []
    for layer, head in np.ndindex(result.change.shape):
        change = result.change[layer, head]
        table.append(
            {
                "layer": layer + 1,
                "head": head + 1,
                "off": bool(result.states[layer, head]),
                "target": result.target,
                change_name: float(change),
                name: float(before + change if result.scored else before * 2.0**change),
                f"{name}_all_on": before,
                f"{name}_with_the_chosen_off": result.after.value,
                "neurons_off": ", ".join(map(str, result.neurons)),
                "random_sets_mean": float(result.controls.mean()) if len(result.controls) else "",
            }
        )
    return table


class Facts(facts.Facts[Switchboard]):
    def before(self) -> float:
        """Probability of the answer with all heads and neurons on, 0 to 1; or its score."""
        return self._result.before.value

    def after(self) -> float:
        """Probability of the answer with the chosen heads and neurons off, 0 to 1; or its score."""
        return self._result.after.value

    def answer(self) -> str:
        """What is measured: the answer, or "is next"."""
        return self._result.target

    def top_after(self) -> str:
        """The first answer with the chosen heads off."""
        return facts.item(self._result.after.candidates, 1, "answer").token

    def change(self, layer: int, head: int) -> float:
        """What switching off one head does to the answer's probability, in bits; or to its score."""
        return float(facts.item(facts.item(self._result.change, layer, "layer"), head, "head"))

    def share_below(self, bits: float) -> float:
        """Share of the heads that alone change the answer by less than so many bits, 0 to 1."""
        return float((np.abs(self._result.change) < bits).mean())

    def largest_change(self) -> float:
        """The largest change that one head makes in either direction, in bits."""
        return float(np.abs(self._result.change).max())

    def heads_off(self) -> float:
        """Heads that are off."""
        return int(self._result.states.sum())

"""Neurons: what the feed-forward half of a layer writes at a token, neuron by neuron, and what the answer loses
without them.

A neuron is one of the numbers between the two matrices of that half. It is a key and a value (Geva et al., 2021): the
first matrix decides where it answers, and the second what it then writes, a vector times its activation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers import readout
from bertexplorer.answers.board import Board, ask
from bertexplorer.answers.heads import Neuron, check_number
from bertexplorer.answers.question import TAGGED_INFO, TARGET_INFO, Question, TargetKind
from bertexplorer.answers.sample_sentences import SAMPLE, TOPICS
from bertexplorer.answers.texts import longest_piece
from bertexplorer.answers.uploads import check_given
from bertexplorer.answers.vectors import LabelledLine, encode_lines
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("kind", "name", "position"), "value"
BEST_ONLY = True  # rows lists only those with the largest numbers
COUNTS = (1, 2, 5, 10, 30, 100, 300)  # neurons that are switched off together
ORDERS = 3  # random ones beside
BY_GRADIENT, BY_LENGTH = 24, 4  # neurons that are switched off one by one: of all; of each layer, the longest written
LEAST = 1e-4  # by how much a neuron raises the probability of a word that is named
NAMED = 5  # of those that count most
RAISED = 3  # words that a neuron raises
LINES = 5  # that move a neuron most
MAX_LINES = 1000
MAX_TOKENS = 256  # of the text
SEED = 0


@dataclass(frozen=True)
class Options:
    layer: Annotated[int, Option("Layer", 0, 100, info="0: the last")] = 0
    neuron: Annotated[
        int, Option("Neuron", 0, 100_000, info="its number; 0: of those listed, the one that counts most")
    ] = 0
    top: Annotated[int, Option("Neurons listed", 1, 30)] = 10
    word: Annotated[str, Option("Answer", info="a single piece, a label or a tag; empty: the first choice")] = ""
    target: Annotated[TargetKind, Option("Measure", info=TARGET_INFO)] = "answer"
    tagged_word: Annotated[str, Option("Tagged word", info=TAGGED_INFO)] = ""
    lines: Annotated[str, Option("Uploaded lines", info="empty: the built-in sentences", by_page=True)] = ""


@dataclass(frozen=True)
class Writer:
    """A neuron at the followed token."""

    neuron: Neuron
    activation: float
    length: float  # of the vector that it writes there
    words: tuple[str, ...]  # that it makes more probable there, as the MLM head reads the layer; () without that head
    change: float  # of the answer if it is off at every token: bits, or the score; NaN without an answer


@dataclass(frozen=True)
class Peak:
    """A line, and the token of it that moves the open neuron most."""

    text: str
    token: str
    activation: float


@dataclass(frozen=True)
class Curve:
    """The answer while several neurons are off, at every token: its probability, 0 to 1, or its score."""

    counts: tuple[int, ...]  # neurons off; the first is 0
    strongest: Float[np.ndarray, " c"]  # those whose absence lowers it most, the first ones measured one by one
    random: Float[np.ndarray, "orders c"]
    first: tuple[Neuron, ...]  # those that are off first in *strongest*
    tried: int  # neurons that were switched off one by one

    @property
    def half(self) -> int:
        """The fewest neurons off, of those tried, that leave less than half of the probability; 0: none do."""
        below = np.flatnonzero(self.strongest < self.strongest[0] / 2)
        return self.counts[int(below[0])] if len(below) else 0


@dataclass(frozen=True)
class Neurons:
    tokens: tuple[str, ...]
    position: int  # of the followed token, 0-based
    layer: int  # 0-based
    size: int  # neurons of a layer
    total: int  # neurons of the encoder
    writers: tuple[Writer, ...]  # of the layer, the longest vector first; an open neuron of a lower rank comes last
    open: Neuron
    along: Float[np.ndarray, " t"]  # activation of the open neuron at each token
    peaks: tuple[Peak, ...]  # the lines that move it most
    lines: int  # that were read
    built_in: bool  # whether these are the built-in sentences
    answer: str  # "": nothing is asked for
    before: float  # its probability, 0 to 1, or its score; NaN without an answer
    curve: Curve | None
    scored: bool = False  # whether the answer is a score
    other_masks: int = 0
    left_out: int = 0  # tokens beyond the checkpoint's limit
    caveats: tuple[str, ...] = ()  # where the answer of a run differs, as sentences
    notes: str = ""  # on lines that were left out

    @property
    def opened(self) -> Writer:
        return next(writer for writer in self.writers if writer.neuron == self.open)


def run(
    checkpoint: Checkpoint, text: Text | str, *, options: Options = Options(), lines: Sequence[LabelledLine] = ()
) -> Neurons:
    """The neurons of a layer at the picked token, else at the one that the answer is read from. *lines*: of the
    uploaded file, in place of the built-in sentences.

    Switched off, a neuron is 0 at every token. Which neurons count is measured: those that a gradient ranks first (its
    activation times the gradient, over all tokens) and those of each layer that write the longest vectors are switched
    off one by one; the others follow in the order of the gradient. Raises ExplorerError for a layer or a neuron that
    does not exist, for a text of more than MAX_TOKENS, and for more than MAX_LINES lines.

        neurons.run(checkpoint, "The capital of France is [MASK].").opened.words"""
    config = checkpoint.config
    check_number(options.layer, config.num_layers, "layer", low=0)
    check_number(options.neuron, config.intermediate_size, "neuron", low=0)
    check_given("lines", options.lines, lines or None)
    if len(lines) > MAX_LINES:
        raise ExplorerError(f"{len(lines):,} lines were given; the limit is {MAX_LINES:,}. Give fewer.")
    question = find_answer(checkpoint, text, options)
    encoding = question.encoding if question else checkpoint.tokenizer.encode(text)
    if len(encoding) > MAX_TOKENS:
        raise ExplorerError(
            f"The text has {len(encoding):,} tokens; this view reads {MAX_TOKENS:,} at most, because it takes many "
            "passes. Shorten the text."
        )
    if encoding.picked:
        position = encoding.picked[0]
    else:
        position = question.position if question else longest_piece(encoding)
    layer = options.layer - 1 if options.layer else config.num_layers - 1
    passes = split_passes(encoding, question)
    activations = activations_of(checkpoint, encoding, passes, layer)
    listed, lengths = longest_written(checkpoint, activations[position], layer, options)
    # 1. Each of these neurons, and of those that may count, off alone; then several together.
    board = None
    curve = None
    changes = dict[Neuron, float]()
    if question:
        board = Board(question, config.intermediate_size, engine.neurons_off)
        by_gradient = by_effect(checkpoint, board)
        tried = dict.fromkeys([*by_gradient[:BY_GRADIENT], *loudest(checkpoint, encoding, passes), *listed])
        changes = measure_alone(board, list(tried))
        measured = sorted(changes, key=lambda neuron: changes[neuron])
        others = [neuron for neuron in by_gradient if neuron not in changes]
        curve = measure_curve(board, [*measured, *others], tried=len(changes))
    # 2. What those of the layer write, and where else the open one answers.
    own = next(tokens for tokens in passes if position in tokens)
    alone = encoding if len(passes) == 1 else engine.select_tokens(encoding, own)
    numbers = [neuron.number for neuron in listed]
    words = raised_words(checkpoint, alone, own.index(position), layer, numbers)
    writers = []
    for neuron, raised in zip(listed, words, strict=True):
        writers.append(
            Writer(
                neuron=neuron,
                activation=float(activations[position, neuron.number]),
                length=float(lengths[neuron.number]),
                words=raised,
                change=changes.get(neuron, float("nan")),
            )
        )
    opened = options.neuron - 1 if options.neuron else strongest(writers).neuron.number
    peaks, count, notes = find_peaks(checkpoint, lines, Neuron(layer, opened))
    return Neurons(
        tokens=checkpoint.tokenizer.show_all(encoding.ids),
        position=position,
        layer=layer,
        size=config.intermediate_size,
        total=config.num_layers * config.intermediate_size,
        writers=tuple(writers),
        open=Neuron(layer, opened),
        along=activations[:, opened],
        peaks=peaks,
        lines=count,
        built_in=not lines,
        answer=question.answer if question else "",
        before=float(curve.strongest[0]) if curve else float("nan"),
        curve=curve,
        scored=bool(board and board.scored),
        other_masks=question.other_masks if question else 0,
        left_out=encoding.left_out,
        caveats=question.caveats if question else (),
        notes=notes,
    )


def find_answer(checkpoint: Checkpoint, text: Text | str, options: Options) -> Question | None:
    """What is measured; None if nothing is asked for and the text has no mask, or the checkpoint no head."""
    target = readout.resolve_target(checkpoint, text, options.target)
    answers = "masked_lm" in checkpoint.heads and checkpoint.tokenizer.encode(text).masked
    if options.target == "answer" and target == "mask" and not answers:
        return None
    return ask(checkpoint, text, options.target, options.word, options.tagged_word)


def split_passes(encoding: Encoding, question: Question | None) -> tuple[tuple[int, ...], ...]:
    """The tokens of each pass: all of them, or those of each of two texts that are compared."""
    if question and question.readout.apart:
        return tuple(tuple(positions) for positions in engine.text_positions(encoding))
    return (tuple(range(len(encoding))),)


def activations_of(
    checkpoint: Checkpoint, encoding: Encoding, passes: Sequence[tuple[int, ...]], layer: int
) -> Float[np.ndarray, "t n"]:
    """The activations of *layer* at every token, each text in a pass of its own if there are several *passes*."""
    if len(passes) == 1:
        return np.asarray(engine.neuron_activations(checkpoint, encoding, layer).double().numpy())
    activations = np.zeros((len(encoding), checkpoint.config.intermediate_size))
    for tokens in reversed(passes):  # [CLS] belongs to both: it is that of the first
        own_text = engine.select_tokens(encoding, tokens)
        activations[list(tokens)] = engine.neuron_activations(checkpoint, own_text, layer).double().numpy()
    return activations


def by_effect(checkpoint: Checkpoint, board: Board) -> list[Neuron]:
    """The neurons whose absence lowers the answer most, to first order: as many as are ever switched off together."""
    from bertexplorer.engine.gradients import neuron_effects

    effects = neuron_effects(checkpoint, board.question.encoding, board.question.gradient_target()).numpy()
    order = np.argsort(effects, axis=None, kind="stable")[: COUNTS[-1]]
    return [Neuron(*divmod(i, effects.shape[1])) for i in order.tolist()]


def loudest(checkpoint: Checkpoint, encoding: Encoding, passes: Sequence[tuple[int, ...]]) -> list[Neuron]:
    """The neurons of each layer that write the longest vectors at any token. Their effect may be so large that a
    gradient says nothing about it."""
    neurons = []
    for layer in range(checkpoint.config.num_layers):
        activations = np.abs(activations_of(checkpoint, encoding, passes, layer)).max(axis=0)
        lengths = activations * engine.written_lengths(checkpoint, layer).double().numpy()
        longest = np.argsort(-lengths, kind="stable")[:BY_LENGTH].tolist()
        neurons += [Neuron(layer, number) for number in longest]
    return neurons


def measure_alone(board: Board, neurons: Sequence[Neuron]) -> dict[Neuron, float]:
    """By how much the answer changes without each of *neurons* alone: bits, or the score."""
    settings = [board.off([]), *(board.off([neuron]) for neuron in neurons)]
    all_on, *values = board.values(np.stack(settings)).tolist()
    return {neuron: value - all_on for neuron, value in zip(neurons, values, strict=True)}


def measure_curve(board: Board, order: Sequence[Neuron], tried: int) -> Curve:
    """The answer without the first ones of *order*, and of random orders. Half of the neurons at most are off. *tried*:
    the neurons that were switched off one by one to find *order*."""
    layers, size = board.shape
    counts = [count for count in COUNTS if count <= max(1, layers * size // 2)]
    random = np.random.default_rng(SEED)
    orders = [order]
    for _ in range(ORDERS):
        drawn = random.permutation(layers * size)[: counts[-1]].tolist()
        orders.append([Neuron(*divmod(i, size)) for i in drawn])
    settings = [board.off([])]
    for neurons in orders:
        settings += [board.off(neurons[:count]) for count in counts]
    all_on, *others = board.values(np.stack(settings))
    values = np.insert(np.reshape(others, (1 + ORDERS, len(counts))), 0, all_on, axis=1)
    values = values if board.scored else 2.0**values
    return Curve(counts=(0, *counts), strongest=values[0], random=values[1:], first=tuple(order[:NAMED]), tried=tried)


def longest_written(
    checkpoint: Checkpoint, activations: Float[np.ndarray, " n"], layer: int, options: Options
) -> tuple[list[Neuron], Float[np.ndarray, " n"]]:
    """(the neurons of *layer* that write the longest vectors, and the one to open; the lengths of all)."""
    lengths = np.abs(activations) * engine.written_lengths(checkpoint, layer).double().numpy()
    numbers = np.argsort(-lengths, kind="stable")[: options.top].tolist()
    if options.neuron and options.neuron - 1 not in numbers:
        numbers.append(options.neuron - 1)
    return [Neuron(layer, number) for number in numbers], lengths


def raised_words(
    checkpoint: Checkpoint, encoding: Encoding, position: int, layer: int, numbers: Sequence[int]
) -> list[tuple[str, ...]]:
    """For each neuron the words whose probability falls most if it does not write, as the MLM head reads the layer; ()
    without that head."""
    if "masked_lm" not in checkpoint.heads:
        return [()] * len(numbers)
    states = engine.states_without(checkpoint, encoding, layer, position, numbers)
    probabilities = engine.state_log_probs(checkpoint, states)[:, : checkpoint.tokenizer.vocab_size].exp()
    gains = probabilities[:1] - probabilities[1:]
    best = gains.topk(min(RAISED, probabilities.shape[1]))
    words = []
    for ids, best_gains in zip(best.indices.tolist(), best.values.tolist(), strict=True):
        raised = [i for i, gain in zip(ids, best_gains, strict=True) if gain >= LEAST]
        words.append(checkpoint.tokenizer.show_all(raised))
    return words


def strongest(writers: Sequence[Writer]) -> Writer:
    """The one that changes the answer most; without an answer, the one that writes most."""
    measured = [writer for writer in writers if not np.isnan(writer.change)]
    return max(measured, key=lambda writer: abs(writer.change)) if measured else writers[0]


def find_peaks(
    checkpoint: Checkpoint, lines: Sequence[LabelledLine], neuron: Neuron
) -> tuple[tuple[Peak, ...], int, str]:
    """(the lines that move *neuron* most, how many were read, a note on those that were left out). Without *lines* the
    built-in sentences, whose encodings the checkpoint keeps. Raises ExplorerError if no line has a word."""
    if lines:
        encodings, _, notes = encode_lines(checkpoint.tokenizer.encode, lines)
    else:
        built_in = [LabelledLine(sentence) for sentence in (*SAMPLE, *chain.from_iterable(TOPICS.values()))]
        encodings, _, notes = checkpoint.cache.get(
            "encoded built-in sentences",
            lambda: encode_lines(checkpoint.tokenizer.encode, built_in),
            lambda _: 1_000_000,
        )
    layer_values, layer_positions = engine.line_peaks(checkpoint, encodings, neuron.layer)
    values = layer_values[:, neuron.number]
    positions = layer_positions[:, neuron.number]
    peaks = []
    for i in values.argsort(descending=True, stable=True)[:LINES].tolist():
        if values[i].isfinite():  # the other lines hold special tokens alone
            token = checkpoint.tokenizer.show(encodings[i].ids[int(positions[i])])
            peaks.append(Peak(encodings[i].texts[0], token, activation=float(values[i])))
    if not peaks:
        raise ExplorerError("No line has a word that the checkpoint reads. Give lines of text.")
    return tuple(peaks), len(encodings), notes


def rows(result: Neurons) -> list[dict[str, object]]:
    """A row for each neuron that is listed (*value*: the length of what it writes), each token (*value*: the activation
    of the open neuron), each line that moves it most, and each number of neurons that are off (*value*: the answer)."""
    table = []
    for writer in result.writers:
        table.append(
            row(
                kind="neuron",
                name=str(writer.neuron),
                value=writer.length,
                activation=writer.activation,
                change=writer.change,
                words=", ".join(writer.words),
            )
        )
    for i, token in enumerate(result.tokens):
        table.append(row(kind="token", name=token, value=float(result.along[i]), position=i))
    for peak in result.peaks:
        table.append(row(kind="line", name=peak.text, value=peak.activation, words=peak.token))
    if result.curve:
        for i, off in enumerate(result.curve.counts):
            table.append(row(kind="off", name=str(off), value=float(result.curve.strongest[i])))
            table.append(row(kind="off at random", name=str(off), value=float(result.curve.random[:, i].mean())))
    return table


def row(
    *,
    kind: str,
    name: str,
    value: float,
    position: object = "",
    activation: object = "",
    change: float = float("nan"),
    words: str = "",
) -> dict[str, object]:
    """A row of the table; a column that its kind does not have is empty."""
    return {
        "kind": kind,
        "name": name,
        "position": position,
        "value": value,
        "activation": activation,
        "change": "" if np.isnan(change) else change,
        "words": words,
    }


class Facts(facts.Facts[Neurons]):
    def answer(self) -> str:
        """What is measured; empty if nothing is asked for."""
        return self._result.answer

    def before(self) -> float:
        """Probability of the answer with all neurons on, 0 to 1; or its score."""
        return self._result.before

    def layer(self) -> float:
        """The layer shown."""
        return self._result.layer + 1

    def raises(self, rank: int = 1) -> str:
        """The word with this rank among those that the open neuron raises."""
        return facts.item(self._result.opened.words, rank, "word")

    def change(self) -> float:
        """What switching off the open neuron does to the answer's probability, in bits; or to its score."""
        return self._result.opened.change

    def largest_change(self) -> float:
        """The largest change that one of the listed neurons makes in either direction, in bits."""
        return max(abs(writer.change) for writer in self._result.writers)

    def half(self) -> float:
        """The fewest neurons, of those tried, without which less than half of the probability is left; 0: none."""
        return self._curve().half

    def counts_most(self, rank: int = 1) -> str:
        """The neuron with this rank among those that count most, such as 4·1280."""
        return str(facts.item(self._curve().first, rank, "neuron"))

    def without(self, count: int) -> float:
        """Probability of the answer without so many of the neurons that count most, 0 to 1; or its score."""
        return float(self._curve().strongest[self._at(count)])

    def without_random(self, count: int) -> float:
        """The same without so many random neurons, on average."""
        return float(self._curve().random[:, self._at(count)].mean())

    def activation(self, word: str, nth: int = 1) -> float:
        """Activation of the open neuron at a token."""
        return float(self._result.along[facts.label_index(list(self._result.tokens), word, nth)])

    def peak_token(self, rank: int = 1) -> str:
        """The token that moves the open neuron most, in the line with this rank."""
        return facts.item(self._result.peaks, rank, "line").token

    def total(self) -> float:
        """Neurons of the encoder."""
        return self._result.total

    def _curve(self) -> Curve:
        if self._result.curve is None:
            raise ExplorerError("Nothing is asked for on this text, so there is no answer to measure. Hide a word.")
        return self._result.curve

    def _at(self, count: int) -> int:
        counts = self._curve().counts
        if count not in counts:
            raise ExplorerError(f"{count} neurons off were not measured; there are {', '.join(map(str, counts))}.")
        return counts.index(count)

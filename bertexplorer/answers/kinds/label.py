"""The label of a text, of which there is one, and the words that it rests on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.head_answer import CheckpointAnswer, HiddenWord, Label, Row, row
from bertexplorer.answers.head_readout import Logits, TunedReadout
from bertexplorer.answers.question import ClassRows, Question, TargetKind, log_softmax, match_name
from bertexplorer.answers.texts import encode_candidate, parse_candidates
from bertexplorer.answers.word_merging import Unit, units
from bertexplorer.charts.marks import Bar, Bars, Mark, Panel, Tone
from bertexplorer.charts.passages import RankedPassage, passages_panel
from bertexplorer.charts.style import clip, decimal, measure, percent, quote, signed
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.engine.gradients import LinkFunction, Target
    from bertexplorer.model.checkpoint import Checkpoint

MOST_WORDS = 40  # of a text whose words are hidden, one at a time, to see what its label rests on
PASS_TOKENS = 16_384  # that these texts may have together
HIDDEN = 12  # words of the panel of hidden words
FELT = 0.05  # the least change of a probability or a score that the sentence names


# The answer


@dataclass(frozen=True)
class Passage:
    """A second text. *value*: of the best label of the pair in question, its probability, 0 to 1, or the score."""

    text: str
    value: float
    logit: float
    own: bool = False  # whether it is the second text of the pair in question


@dataclass(frozen=True, kw_only=True)
class LabelAnswer(CheckpointAnswer):
    """The label of a text."""

    kind: ClassVar[str] = "label"
    title: ClassVar[str] = "probability of each label"

    labels: tuple[Label, ...] = ()
    top: int = 10  # that are drawn
    hidden: tuple[HiddenWord, ...] = ()
    passages: tuple[Passage, ...] = ()  # the second text and others with the same first, best first; () for it alone
    first: str = ""  # the first text, if there are other second ones

    @property
    def chosen(self) -> tuple[str, ...]:
        return (self.labels[0].name,)

    @property
    def best(self) -> Label:
        return self.labels[0]

    @property
    def name(self) -> str:
        """What the value of the best label is called in a sentence."""
        return quote(self.best.name)

    def rows(self) -> list[Row]:
        """A row for each label, for each word that was hidden, and for each second text."""
        table = []
        for rank, label in enumerate(self.labels, 1):
            table.append(row(self.kind, "", "", label.name, rank, label.value, label.logit, label.name in self.chosen))
        table += self.further_rows()
        for word in self.hidden:
            table.append(row("hidden", word.positions[0], word.word, self.best.name, "", word.value))
        for rank, passage in enumerate(self.passages, 1):
            table.append(
                row("passage", "", passage.text, self.best.name, rank, passage.value, passage.logit, passage.own)
            )
        return table

    def further_rows(self) -> list[Row]:
        """What else the kind makes of its labels."""
        return []

    # Its figure

    def panels(self) -> list[Panel]:
        """A bar for each label, the best on top; below, what is left of the best one when a word is hidden."""
        bars = []
        for label in self.labels[: self.top]:
            number = measure(label.value, self.scored)
            tone: Tone = "blue" if label.name in self.chosen else "pale"
            hover = f"{label.name}: {number}, logit {decimal(label.logit)}"
            bars.append(Bar(label.name, label.value, number, tone, hover))
        word_bars = [self.word_bar(word) for word in self.strongest_words()]
        low, high = self.scale(bar.value for bar in (*bars, *word_bars))
        panels = [Panel([Bars(bars, low, high), *self.rules()], self.title)]
        if self.passages:
            ranked = []
            for passage in self.passages:
                number = measure(passage.value, self.scored)
                ranked.append(RankedPassage(passage.text, passage.value, number, passage.own))
            panels.append(passages_panel(self.first, ranked, *self.scale(passage.value for passage in ranked)))
        if word_bars:
            panels.append(Panel([Bars(word_bars, low, high, tokens=True)], f"{self.name} if one word is hidden"))
        return panels

    def rules(self) -> list[Mark]:
        """The lines across the bars."""
        return []

    def scale(self, values: Iterable[float]) -> tuple[float, float]:
        """The ends of the scale of *values*."""
        return 0.0, 1.0

    def strongest_words(self) -> list[HiddenWord]:
        """The words whose hiding changes the best label most, in the order of the text."""
        order = sorted(self.hidden, key=lambda word: -abs(word.value - self.best.value))
        strongest = {word.positions for word in order[:HIDDEN]}
        return [word for word in self.hidden if word.positions in strongest]

    def word_bar(self, word: HiddenWord) -> Bar:
        """What is left of the best label without a word."""
        number = measure(word.value, self.scored)
        change = f"{signed(word.value - self.best.value)} beside the whole text"
        hover = f"{self.best.name} with [MASK] in place of {word.word}: {number}, {change}"
        return Bar(word.word, word.value, number, "orange" if self.rests_on(word) else "pale", hover)

    def rests_on(self, word: HiddenWord) -> bool:
        """Whether hiding *word* lowers the best label by at least a quarter of what is most for a word, and by 5
        points."""
        most = max(self.best.value - other.value for other in self.hidden)
        return self.best.value - word.value >= max(most / 4, FELT)

    def shades(self) -> dict[int, float]:
        """How much the best label falls when a word is hidden, -1 to 1."""
        falls: dict[int, float] = {}
        for word in self.hidden:
            falls |= dict.fromkeys(word.positions, self.best.value - word.value)
        most = max([FELT, *map(abs, falls.values())])
        return {position: fall / most for position, fall in falls.items()}

    # Its sentence

    def sentence(self) -> str:
        return " ".join([self.say_labels(), *self.say_passages(), *self.say_hidden()])

    def say_labels(self) -> str:
        said = f"The label is {quote(self.best.name)} with {percent(self.best.value)}"
        if len(self.labels) > 1:
            second = self.labels[1]
            said += f", then {quote(second.name)} with {percent(second.value)}"
        return f"{said}."

    def say_passages(self) -> list[str]:
        """Which of the second texts is first, and where that of the pair in question stands."""
        if not self.passages:
            return []
        first = self.passages[0]
        among = f"Of {len(self.passages)} second texts it is"
        if first.own:
            return [f"{among} first."]
        rank = 1 + [passage.own for passage in self.passages].index(True)
        number = measure(first.value, self.scored)
        return [f"{among} number {rank}; first is {quote(clip(first.text, 60))} ({number})."]

    def say_hidden(self) -> list[str]:
        """The words without which the best label falls furthest, and rises furthest."""
        if not self.hidden:
            return []
        carrier = min(self.hidden, key=lambda word: word.value)  # without it, the label falls furthest
        opponent = max(self.hidden, key=lambda word: word.value)  # without it, the label rises furthest
        falls = self.best.value - carrier.value >= FELT
        rises = opponent.value - self.best.value >= FELT
        lowest, highest = measure(carrier.value, self.scored), measure(opponent.value, self.scored)
        if falls and rises:
            return [
                f"Hide {quote(carrier.word)} and {self.name} falls to {lowest}; hide {quote(opponent.word)} and it "
                f"rises to {highest}."
            ]
        if falls:
            return [f"Hide {quote(carrier.word)} and {self.name} falls to {lowest}."]
        if rises:
            return [f"Hide {quote(opponent.word)} and {self.name} rises to {highest}."]
        least = "0.05" if self.scored else "5 points"
        return [f"No single word decides it: hiding any one of them changes {self.name} by less than {least}."]


# How it is read


class LabelReadout(TunedReadout):
    """The label of a text, of which there is one."""

    answer_type: ClassVar[type[LabelAnswer]] = LabelAnswer
    order = 50
    targets: ClassVar[tuple[TargetKind, ...]] = ("label",)
    head = "sequence_classifier"
    link: ClassVar[LinkFunction] = "softmax"
    one_label = True
    class_name = "label"
    outcome = "the label"

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        return cls.head in checkpoint.heads

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        encoding = self.encode(text)
        [row] = self.rows([encoding], [0])
        index = self.find(answer, encoding, 0) if answer.strip() else int(row.argmax())
        return Question(self, encoding, 0, index)

    def find(self, typed: str, encoding: Encoding, position: int) -> int:
        return match_name(self.names(encoding), typed, "label")

    @property
    def pooled(self) -> bool:
        return not self.checkpoint.sequence_classifier.first_only

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return log_softmax(logits)

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.label_target(self.checkpoint, encoding, index, self.link)

    def answer(self, text: Text, top: int, longest: int, others: str) -> LabelAnswer:
        encoding = self.encode(text)
        words = hideable_words(self.checkpoint, encoding)
        # 1. The text, and each text with one word hidden, in one pass
        logits = self.text_logits([encoding, *(encoding.hide(word.positions) for word in words)])
        labels = self.ranked_labels(logits[0])
        values = self.values(logits[1:])[:, labels[0].index].tolist()
        hidden = [HiddenWord(word.label, word.positions, value) for word, value in zip(words, values, strict=True)]
        # 2. The other second texts
        passages = self.rank_passages(text, encoding, others, labels[0]) if others.strip() else ()
        return self.answer_type(
            tokens=self.checkpoint.tokenizer.show_all(encoding.ids),
            training=self.training,
            longest=len(encoding),
            top=top,
            left_out=encoding.left_out,
            labels=labels,
            hidden=tuple(hidden),
            passages=passages,
            first=encoding.texts[0] if passages else "",
        )

    def text_logits(self, encodings: Sequence[Encoding]) -> Float[np.ndarray, "n l"]:
        """The logits of the labels for each text."""
        logits = engine.head_logits(self.checkpoint, encodings, self.head)
        return np.stack([one.double().numpy() for one in logits])

    def values(self, logits: Float[np.ndarray, "n l"]) -> Float[np.ndarray, "n l"]:
        """The probabilities of labels, or the scores."""
        rows = self.classes(logits, 0)
        return rows if self.scored else np.exp(rows)

    def ranked_labels(self, logits: Float[np.ndarray, " l"]) -> tuple[Label, ...]:
        """A Label for each logit, the largest first."""
        names = self.checkpoint.labels
        values = self.values(logits[None])[0]
        order = np.argsort(-logits, kind="stable").tolist()
        return tuple(Label(names[i], i, float(logits[i]), float(values[i])) for i in order)

    def rank_passages(self, text: Text, encoding: Encoding, others: str, best: Label) -> tuple[Passage, ...]:
        """The second text and the *others* by the number of the label *best*, the highest first. Raises ExplorerError
        without a second text, and for others that cannot be read."""
        if encoding.second_start is None:
            raise ExplorerError(
                "There is no second text to rank with the others. Type the first of them as the second sentence.",
                code="pair",
            )
        first = replace(text, second="", hidden=tuple(span for span in text.hidden if span.side == 0))
        pairs = [encode_candidate(self.checkpoint, first, other) for other in parse_candidates(others)]
        pairs = [pair for pair in pairs if pair.ids != encoding.ids]  # the second text is included already
        passages = [Passage(encoding.texts[1], best.value, best.logit, own=True)]
        if pairs:
            logits = self.text_logits(pairs)
            values = self.values(logits)
            for i, pair in enumerate(pairs):
                value, logit = float(values[i, best.index]), float(logits[i, best.index])
                passages.append(Passage(pair.texts[1], value, logit))
        return tuple(sorted(passages, key=lambda passage: -passage.logit if self.scored else -passage.value))


def hideable_words(checkpoint: Checkpoint, encoding: Encoding) -> list[Unit]:
    """The words that can be hidden; none of a long text, or if the checkpoint has no mask."""
    if encoding.mask_id is None:
        return []
    masked = set(encoding.masked)
    words = []
    for unit in units(checkpoint, encoding, merge=True):
        if not unit.special and not masked.issuperset(unit.positions):
            words.append(unit)
    is_long = len(words) > MOST_WORDS or len(words) * len(encoding) > PASS_TOKENS
    return [] if is_long else words

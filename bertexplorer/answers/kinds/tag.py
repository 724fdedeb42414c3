"""The tag of each word, which is read at its first token."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers import task_head
from bertexplorer.answers.head_answer import DRAWN, CheckpointAnswer, Label, Row, TaggedWord, row
from bertexplorer.answers.head_readout import Logits, TunedReadout
from bertexplorer.answers.question import ClassRows, Question, TargetKind, log_softmax, match_name
from bertexplorer.answers.task_head import Word
from bertexplorer.charts.marks import GROUPS, Bar, Bars, Panel, Tone
from bertexplorer.charts.style import clip, join_names, percent, quote
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.engine.gradients import Target
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.crf import CRF

OUTSIDE = "O"  # the tag of a word in no entity
NAMED = 5  # entities in the sentence
HOVERED = 4  # tags of a word that the pointer reads


# The answer


@dataclass(frozen=True, kw_only=True)
class TagAnswer(CheckpointAnswer):
    """The tag of each word."""

    kind: ClassVar[str] = "tag"
    plain: ClassVar[str] = OUTSIDE  # the tag that marks nothing

    words: tuple[TaggedWord, ...] = ()
    by_crf: bool = False  # whether a CRF chose the tags, and gives their probabilities

    @property
    def chosen(self) -> tuple[str, ...]:
        return tuple(word.best.name for word in self.words)

    @property
    def marked(self) -> tuple[TaggedWord, ...]:
        return tuple(word for word in self.words if word.best.name != self.plain)

    def rows(self) -> list[Row]:
        """A row for each tag of each word."""
        table = []
        for word in self.words:
            for rank, tag in enumerate(word.labels, 1):
                first = word.positions[0]
                table.append(row(self.kind, first, word.word, tag.name, rank, tag.value, tag.logit, rank == 1))
        return table

    def panels(self) -> list[Panel]:
        """A bar for each word with the probability of its tag, in the tone of the tag."""
        tones = tones_of(self.words)
        bars = []
        for word in self.words[:DRAWN]:
            text = f"{word.best.name} {percent(word.best.value)}"
            tags = ", ".join(f"{tag.name} {percent(tag.value)}" for tag in word.labels[:HOVERED])
            tone = tones[entity_type(word.best.name)]
            bars.append(Bar(word.word, word.best.value, text, tone, f"{word.word}: {tags}"))
        return [Panel([Bars(bars, high=1, tokens=True)], "the tag of each word, with its probability")]

    def shades(self) -> dict[int, float]:
        """The probability of a word's tag, unless it marks nothing."""
        shades: dict[int, float] = {}
        for word in self.marked:
            shades |= dict.fromkeys(word.positions, word.best.value)
        return shades

    def sentence(self) -> str:
        """The entities, or the first tagged words if tags are not B and I, and the least certain tag."""
        least = min(self.words, key=lambda word: word.best.value)
        unsure = f"Least certain is {quote(least.word)} with {least.best.name} ({percent(least.best.value)})."
        if not self.marked:
            return f"None of the {len(self.words)} words is tagged: all have {OUTSIDE}. {unsure}"
        named = [f"{quote(clip(text))} ({name})" for text, name in entities(self.words)]
        if len(named) > NAMED:
            listing = f"{', '.join(named[:NAMED])} and {len(named) - NAMED} more"
        else:
            listing = join_names(named)
        return f"{len(self.marked)} of {len(self.words)} words are tagged: {listing}. {unsure}"

    def caveats(self) -> list[str]:
        sentences = super().caveats()
        if self.by_crf:
            by_crf = "The run's CRF chooses the tags together, as one path; probabilities are over all paths."
            return [by_crf, *sentences]
        if self.training.crf:
            missing = (
                "The run chooses its tags with a CRF over these; here it is missing, because task.safetensors is not "
                "next to the weights."
            )
            return [missing, *sentences]
        return sentences

    def reading(self) -> list[str]:
        sentences = super().reading()
        if len(self.words) > DRAWN:
            sentences.append(f"The first {DRAWN} of {len(self.words):,} words are drawn.")
        return sentences


def entity_type(tag: str) -> str:
    """The type of an entity: PER for B-PER."""
    return tag[2:] if tag[:2] in ("B-", "I-") else tag


def tones_of(words: Sequence[TaggedWord]) -> dict[str, Tone]:
    """The tone of each type of tag in the order of the text, pale for O."""
    types = dict.fromkeys(entity_type(word.best.name) for word in words)
    types.pop(OUTSIDE, None)
    tones: dict[str, Tone] = {OUTSIDE: "pale"}
    for i, name in enumerate(types):
        tones[name] = GROUPS[i % len(GROUPS)]
    return tones


def entities(words: Sequence[TaggedWord]) -> list[tuple[str, str]]:
    """(words, type) of each entity: I tags extend it, a B tag starts a new one, and plain tags stay single words."""
    found: list[tuple[list[str], str]] = []
    going = ""
    for word in words:
        tag = word.best.name
        if tag.startswith("I-") and going == entity_type(tag):
            found[-1][0].append(word.word)
        elif tag != OUTSIDE:
            found.append(([word.word], entity_type(tag)))
        going = entity_type(tag) if tag[:2] in ("B-", "I-") else ""
    return [(" ".join(texts), name) for texts, name in found]


# How it is read


class TagReadout(TunedReadout):
    """The tag of a word, which is read at its first token."""

    answer_type: ClassVar[type[TagAnswer]] = TagAnswer
    order = 10
    targets: ClassVar[tuple[TargetKind, ...]] = ("tag",)
    head = "token_classifier"
    read_at = ""
    class_name = "tag"
    outcome = "the tag of {token}"
    least_tags: ClassVar[int] = 1  # of each word in a table

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        """With one label it weighs the words of a search, as in gte-multilingual-base."""
        return cls.head in checkpoint.heads and checkpoint.config.num_labels > 1

    def words(self, encoding: Encoding) -> tuple[Word, ...]:
        """What gets a tag. Raises ExplorerError if there is nothing."""
        found = self.taggable(encoding)
        if not found:
            raise ExplorerError("The text has no word to tag. Type a sentence.")
        return found

    def taggable(self, encoding: Encoding) -> tuple[Word, ...]:
        return task_head.words(encoding)

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        encoding = self.encode(text)
        words = self.words(encoding)
        logits = engine.head_logits(self.checkpoint, [encoding], self.head)[0].double().numpy()
        logits = logits[[word.positions[0] for word in words]]
        word = words[self.word_index(words, encoding, tagged_word, logits)]
        best = logits[words.index(word)].argmax()
        index = self.find(answer, encoding, 0) if answer.strip() else int(best)
        return Question(self, encoding, word.positions[0], index, word.text)

    def word_index(
        self, words: Sequence[Word], encoding: Encoding, tagged_word: str, logits: Float[np.ndarray, "w l"]
    ) -> int:
        """The index of *tagged_word*; if '', of the picked word, else of the one that stands out."""
        if tagged_word.strip():
            return match_name([word.text for word in words], tagged_word, "word")
        for index, word in enumerate(words):
            if set(word.positions) & set(encoding.picked):
                return index
        return self.most_telling(logits)

    def most_telling(self, logits: Float[np.ndarray, "w l"]) -> int:
        """The first word whose tag marks something, else the first."""
        names = self.checkpoint.labels
        for index, best in enumerate(logits.argmax(axis=1)):
            if names[best] != self.answer_type.plain:
                return index
        return 0

    def describe(self, question: Question) -> str:
        return f"{question.word}: {question.name(question.index)}"

    def subject(self, question: Question) -> str:
        return f"Tag of {quote(question.word)}: "

    def caveats(self, question: Question) -> tuple[str, ...]:
        sentences = super().caveats(question)
        if task_head.own_training_of(self.checkpoint).crf:
            sentences += ("The tag and its probability are the head's own, before the run's CRF; Answer may differ.",)
        return sentences

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return log_softmax(logits[..., position, :])

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.tag_target(self.checkpoint, position, index, self.head)

    def answer(self, text: Text, top: int, longest: int, others: str) -> TagAnswer:
        encoding = self.encode(text)
        crf = task_head.crf_of(self.checkpoint, self.training)
        words, names = self.words(encoding), self.names(encoding)
        [all_logits] = engine.head_logits(self.checkpoint, [encoding], self.head)
        logits = all_logits[[word.positions[0] for word in words]]
        probabilities, best = tag_probabilities(logits, crf)
        values = logits.double().numpy()
        tagged = []
        for i, word in enumerate(words):
            order = np.argsort(-probabilities[i], kind="stable").tolist()
            order.remove(best[i])
            order.insert(0, best[i])
            tags = []
            for tag in order[: max(top, self.least_tags)]:
                tags.append(Label(names[tag], tag, float(values[i, tag]), float(probabilities[i, tag])))
            tagged.append(TaggedWord(word.text, word.positions, tuple(tags)))
        return self.answer_type(
            tokens=self.checkpoint.tokenizer.show_all(encoding.ids),
            training=self.training,
            longest=len(encoding),
            left_out=encoding.left_out,
            words=tuple(tagged),
            by_crf=crf is not None,
        )


def tag_probabilities(logits: Tensor, crf: CRF | None) -> tuple[Float[np.ndarray, "w l"], list[int]]:
    """For the w x l *logits* of words: the probability of each tag, and the index of each word's chosen tag."""
    if crf is None:
        values = np.exp(log_softmax(logits.double().numpy()))
        return values, values.argmax(axis=1).tolist()
    mask = logits.new_ones(1, len(logits)).bool()
    path: list[int] = crf.decode(logits[None], mask)[0].tolist()
    return crf.marginals(logits[None], mask)[0].double().numpy(), path

"""Readouts: each kind of answer of a checkpoint as one class: what it chooses among, how that is read, and the number
that stands for a choice.

A view calls `ask`, and then knows only the `Question`. A new kind is one more class here; one of a fine-tuned head
is listed in `TUNED`.

    question = ask(checkpoint, "a great [MASK]", "mask", "film")
    question.values([question.encoding])  # its natural-log probability"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers import task_head
from bertexplorer.answers.candidates import encode_masked
from bertexplorer.answers.question import (
    ClassRow,
    ClassRows,
    Question,
    Readout,
    Switches,
    TargetKind,
    log_softmax,
    match_name,
)
from bertexplorer.answers.task_head import NOWHERE, AnswerKind, Word
from bertexplorer.answers.texts import encode_pair
from bertexplorer.answers.vectors import in_lower_case
from bertexplorer.answers.word_scores import single_piece_id
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.engine.ablation import Change
    from bertexplorer.engine.gradients import LinkFunction, Target
    from bertexplorer.engine.tuned_lens import TunedLens
    from bertexplorer.model.checkpoint import Checkpoint

FOLLOWS = ("is next", "is not next")  # in the order of BERT's head
Logits = Float[np.ndarray, "*n l"]  # of a head
COSINE = ("cosine",)  # the one class of a comparison
REPLACED = ("original", "replaced")  # the tags of a token by ELECTRA's discriminator (Clark et al., 2020)
OUTSIDE = "O"  # the tag of a word in no entity


class MaskReadout(Readout):
    """The word at the first mask, among the pieces of the vocabulary."""

    targets = ("mask",)

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        encoding = encode_masked(self.checkpoint, text)
        position = encoding.masked[0]
        if answer.strip():
            return Question(self, encoding, position, self.find(answer, encoding, position))
        [row] = self.rows([encoding], [position])
        return Question(self, encoding, position, int(row.argmax()))

    def count(self, encoding: Encoding) -> int:
        return self.checkpoint.tokenizer.vocab_size

    def name(self, index: int, encoding: Encoding) -> str:
        return self.checkpoint.tokenizer.show(index)

    def find(self, typed: str, encoding: Encoding, position: int) -> int:
        return single_piece_id(self.checkpoint, encoding, position, typed)

    def rows(self, encodings: Sequence[Encoding], positions: Sequence[int]) -> Iterator[ClassRow]:
        """As in the base class, one at a time: they take memory."""
        size = self.checkpoint.tokenizer.vocab_size
        masks = [[position] for position in positions]
        for row in engine.masked_log_probs(self.checkpoint, encodings, positions=masks):
            yield row[0, :size].numpy()

    def layer_rows(self, encoding: Encoding, position: int, lens: TunedLens | None = None) -> ClassRows:
        return engine.layer_log_probs(self.checkpoint, encoding, [position], lens)[:, 0].numpy()

    def ablated_rows(self, encoding: Encoding, position: int, switches: Switches, change: Change) -> ClassRows:
        rows = engine.ablated_log_probs(self.checkpoint, encoding, switches, position, change)
        return rows[:, : self.checkpoint.tokenizer.vocab_size].numpy()

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.masked_target(self.checkpoint, position, index)


class HeadReadout(Readout):
    """An answer that is read from the logits of a *head* over a few classes."""

    head: ClassVar[str]

    @abstractmethod
    def classes(self, logits: Logits, position: int) -> ClassRows:
        """Rows from the logits of the head, which has l of them for each text, or t x l for its tokens."""

    def rows(self, encodings: Sequence[Encoding], positions: Sequence[int]) -> Iterator[ClassRow]:
        logits = engine.head_logits(self.checkpoint, encodings, self.head)
        for one, position in zip(logits, positions, strict=True):
            yield self.classes(one.double().numpy(), position)

    def layer_rows(self, encoding: Encoding, position: int, lens: TunedLens | None = None) -> ClassRows:
        if lens is not None:
            raise ExplorerError("The tuned lens reads masks, not what a fine-tuned head decides. Use the raw lens.")
        logits = engine.layer_head_logits(self.checkpoint, encoding, self.head)
        return self.classes(logits.double().numpy(), position)

    def ablated_rows(self, encoding: Encoding, position: int, switches: Switches, change: Change) -> ClassRows:
        logits = engine.ablated_head_logits(self.checkpoint, encoding, switches, self.head, change)
        return self.classes(logits.double().numpy(), position)


class NextSentenceReadout(HeadReadout):
    """Whether B follows A. The number is the log-odds of the class."""

    targets = ("next sentence",)
    head = "next_sentence"

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        _ = self.checkpoint.next_sentence  # if there is no head, raise before asking for a sentence
        return Question(self, encode_pair(self.checkpoint, text), 0, 0)

    def count(self, encoding: Encoding) -> int:
        return len(FOLLOWS)

    def name(self, index: int, encoding: Encoding) -> str:
        return FOLLOWS[index]

    def find(self, typed: str, encoding: Encoding, position: int) -> int:
        return match_name(FOLLOWS, typed, "answer")

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return log_softmax(logits)

    def number(self, row: ClassRow, index: int) -> float:
        return float(row[index] - row[1 - index])

    def probability(self, numbers: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return np.exp(-np.logaddexp(0.0, -numbers))

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.next_sentence_target(self.checkpoint, index)


class TunedReadout(HeadReadout):
    """An answer of a fine-tuned head, or of ELECTRA's discriminator."""

    kind: ClassVar[AnswerKind]

    @classmethod
    @abstractmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        """Whether *checkpoint* answers in this way, if no kind that is listed before it fits."""

    def encode(self, text: Text | str) -> Encoding:
        """The encoding of *text*. Raises ExplorerError if it lacks what the head needs."""
        return self.checkpoint.tokenizer.encode(text)

    def names(self, encoding: Encoding) -> Sequence[str]:
        """The names of the classes."""
        return self.checkpoint.labels

    def count(self, encoding: Encoding) -> int:
        return len(self.names(encoding))

    def name(self, index: int, encoding: Encoding) -> str:
        return self.names(encoding)[index]

    def caveats(self, question: Question) -> tuple[str, ...]:
        training = task_head.own_training_of(self.checkpoint)
        return task_head.caveats(training, self.kind, question.encoding.left_out)


class LabelReadout(TunedReadout):
    """The label of a text, of which there is one."""

    kind: ClassVar[AnswerKind] = "label"
    targets: ClassVar[tuple[TargetKind, ...]] = ("label",)
    head = "sequence_classifier"
    link: ClassVar[LinkFunction] = "softmax"

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


class LabelsReadout(LabelReadout):
    """The labels of a text that may have several: a yes or no for each."""

    kind = "labels"
    link = "sigmoid"
    independent = True

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        problem = checkpoint.hf_config.get("problem_type")
        return super().fits(checkpoint) and problem == "multi_label_classification"

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return np.asarray(-np.logaddexp(0.0, -logits))


class ScoreReadout(LabelReadout):
    """The score of a regression. As in transformers, a head with one label is one."""

    kind = "score"
    targets = ("score",)
    link = "identity"
    scored = True

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        regression = checkpoint.hf_config.get("problem_type") == "regression"
        return super().fits(checkpoint) and (regression or checkpoint.config.num_labels == 1)

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return logits


class SimilarityReadout(TunedReadout):
    """The cosine of two texts, each encoded in a pass of its own: of a run that learned to compare them, even if it has
    the head of the checkpoint that it started from, or of a sentence encoder without such a head."""

    kind = "similarity"
    targets = ("score",)
    scored = True
    apart = True

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        if task_head.is_bi_encoder(checkpoint):
            return True
        others = (TagReadout, SpanReadout, LabelReadout)
        return task_head.is_sentence_encoder(checkpoint) and not any(other.fits(checkpoint) for other in others)

    def encode(self, text: Text | str) -> Encoding:
        if task_head.pair_encoder(self.checkpoint).lower_case:
            text = in_lower_case(Text.of(text))
        encoding = self.checkpoint.tokenizer.encode(text)
        if {span.side for span in encoding.spans if span} != {0, 1}:
            raise ExplorerError(
                f"{self.checkpoint.name} compares two texts, and there is only one. Type the other as the second "
                "sentence.",
                code="pair",
            )
        return encoding

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        return Question(self, self.encode(text), 0, 0)

    def names(self, encoding: Encoding) -> Sequence[str]:
        return COSINE

    def caveats(self, question: Question) -> tuple[str, ...]:
        return super().caveats(question) + task_head.pair_caveats(self.checkpoint, question.encoding)

    @property
    def pooled(self) -> bool:
        return task_head.pair_encoder(self.checkpoint).modes != ("cls",)

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return logits

    def rows(self, encodings: Sequence[Encoding], positions: Sequence[int]) -> Iterator[ClassRow]:
        encoder = task_head.pair_encoder(self.checkpoint)
        yield from engine.pair_cosines(self.checkpoint, encodings, encoder).double().numpy()[:, None]

    def layer_rows(self, encoding: Encoding, position: int, lens: TunedLens | None = None) -> ClassRows:
        return engine.layer_cosines(self.checkpoint, encoding, task_head.pair_encoder(self.checkpoint)).numpy()[:, None]

    def ablated_rows(self, encoding: Encoding, position: int, switches: Switches, change: Change) -> ClassRows:
        encoder = task_head.pair_encoder(self.checkpoint)
        return engine.ablated_cosines(self.checkpoint, encoding, switches, encoder, change).numpy()[:, None]

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.cosine_target(encoding, task_head.pair_encoder(self.checkpoint))


class TagReadout(TunedReadout):
    """The tag of a word, which is read at its first token."""

    kind: ClassVar[AnswerKind] = "tag"
    targets = ("tag",)
    head = "token_classifier"
    plain: ClassVar[str] = OUTSIDE  # the tag that marks nothing

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
            if names[best] != self.plain:
                return index
        return 0

    def describe(self, question: Question) -> str:
        return f"{question.word}: {question.name(question.index)}"

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


class ReplacedReadout(TagReadout):
    """Whether a token was replaced, by ELECTRA's discriminator (Clark et al., 2020)."""

    kind = "replaced"
    head = "replaced_token"
    plain = REPLACED[0]

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        return cls.head in checkpoint.heads

    def names(self, encoding: Encoding) -> Sequence[str]:
        return REPLACED

    def taggable(self, encoding: Encoding) -> tuple[Word, ...]:
        """Each token but those that frame the text."""
        plain = (i for i in range(len(encoding)) if not encoding.special[i] or encoding.ids[i] == encoding.mask_id)
        return tuple(Word(task_head.display_word(encoding, encoding.tokens[i], [i]), (i,)) for i in plain)

    def most_telling(self, logits: Float[np.ndarray, "w l"]) -> int:
        """The token that is likeliest to be replaced."""
        return int(logits[:, 1].argmax())


class SpanReadout(TunedReadout):
    """Where the answer to a question starts or ends in a passage, among all tokens."""

    kind = "span"
    targets = ("span start", "span end")
    head = "span"
    of_tokens = True

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        return cls.head in checkpoint.heads

    @property
    def side(self) -> int:
        """The column of the head's logits: 0 for the start, 1 for the end."""
        return self.targets.index(self.target)

    def encode(self, text: Text | str) -> Encoding:
        encoding = self.checkpoint.tokenizer.encode(text)
        if not task_head.passage(encoding).any():
            raise ExplorerError(
                "There is no passage in which to look for the answer. The text is the question; type the passage as "
                "the second sentence.",
                code="pair",
            )
        return encoding

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        """*answer*: the word of the passage where the span starts or ends."""
        encoding = self.encode(text)
        inside = task_head.passage(encoding)
        if answer.strip():
            words = [word for word in task_head.words(encoding) if inside[word.positions[0]]]
            word = words[match_name([word.text for word in words], answer, "word of the passage")]
            index = word.positions[-self.side]
            return Question(self, encoding, index, index)
        logits = engine.head_logits(self.checkpoint, [encoding], self.head)[0].double().numpy()
        training = task_head.own_training_of(self.checkpoint)
        first, last = task_head.best_spans(logits[:, 0], logits[:, 1], inside, training.longest, 1)[0]
        index = (first, last)[self.side]
        rejected = training.rejects(float(logits[NOWHERE].sum()), float(logits[first, 0] + logits[last, 1]))
        return Question(self, encoding, index, index, rejected=rejected)

    def names(self, encoding: Encoding) -> Sequence[str]:
        return self.checkpoint.tokenizer.show_all(encoding.ids)

    def find(self, typed: str, encoding: Encoding, position: int) -> int:
        return match_name(self.names(encoding), typed, "token")

    def describe(self, question: Question) -> str:
        words = (word.text for word in task_head.words(question.encoding) if question.index in word.positions)
        return f"{self.target.removeprefix('span ')}s at {next(words, question.name(question.index))}"

    def caveats(self, question: Question) -> tuple[str, ...]:
        sentences = super().caveats(question)
        if question.rejected:
            sentences += ("The answer is that the passage has none; this is about the best span.",)
        return sentences

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return log_softmax(logits[..., self.side])

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.span_target(self.checkpoint, encoding, self.side, index)


TUNED: list[type[TunedReadout]] = [  # a checkpoint answers in the first way that fits
    SimilarityReadout,
    TagReadout,
    SpanReadout,
    LabelsReadout,
    ScoreReadout,
    LabelReadout,
    ReplacedReadout,
]


def tuned_readout(checkpoint: Checkpoint, target: TargetKind | None = None) -> TunedReadout | None:
    """What the fine-tuned head of *checkpoint* answers, or ELECTRA's discriminator; None if there is no such head."""
    fitting = (readout for readout in TUNED if readout.fits(checkpoint))
    first = next(fitting, None)
    return first(checkpoint, target) if first else None


def require_tuned(checkpoint: Checkpoint, target: TargetKind | None = None) -> TunedReadout:
    """As `tuned_readout`. Raises ExplorerError if there is no fine-tuned head, and for a *target* that it lacks."""
    readout = tuned_readout(checkpoint, target)
    if readout is None:
        from bertexplorer.model.config import HEAD_WORDS

        heads = ", ".join(HEAD_WORDS[name] for name in checkpoint.heads if name in HEAD_WORDS) or "none"
        raise ExplorerError(
            f"{checkpoint.name} has no fine-tuned head (its heads: {heads}), so it gives no label, tag or span. Train "
            "one on the Train page, or choose a checkpoint that was fine-tuned, such as sentiment or one of your runs.",
            code="tuned",
        )
    if readout.target not in readout.targets:
        gives = " and ".join(readout.targets)
        raise ExplorerError(
            f"A {target} was requested, but the head of {checkpoint.name} gives a {gives}. Choose {gives}."
        )
    return readout


def kind_of(checkpoint: Checkpoint) -> AnswerKind | None:
    """The kind of answer that the fine-tuned head gives, or ELECTRA's discriminator; None if there is no such head."""
    readout = tuned_readout(checkpoint)
    return readout.kind if readout else None


def resolve_target(checkpoint: Checkpoint, text: Text | str, target: TargetKind) -> TargetKind:
    """*target*, with "answer" resolved to the first mask, else the decision of a fine-tuned head, else whether B
    follows A. "mask" if the text and the checkpoint allow none of these: its error says what is missing."""
    if target != "answer":
        return target
    encoding = checkpoint.tokenizer.encode(text)
    if encoding.masked and "masked_lm" in checkpoint.heads:
        return "mask"
    if readout := tuned_readout(checkpoint):
        return readout.target
    pair = encoding.second_start is not None and "next_sentence" in checkpoint.heads
    return "next sentence" if pair else "mask"


def ask(
    checkpoint: Checkpoint, text: Text | str, target: TargetKind = "answer", answer: str = "", tagged_word: str = ""
) -> Question:
    """The Question of *target* about *text*. *answer*: the word at a mask, the label or tag, or the word of the passage
    where the span starts or ends; '': the checkpoint's own answer; of a pair, the question is always whether B is next.
    *tagged_word*: the word whose tag it is; '': the first picked one, else the first whose tag is not O, or the one
    that is likeliest to be replaced.

    Raises ExplorerError without a mask, a pair, a passage or the head that answers, and for an unknown answer or
    word."""
    resolved = resolve_target(checkpoint, text, target)
    if resolved == "mask":
        return MaskReadout(checkpoint).question(text, answer)
    if resolved == "next sentence":
        return NextSentenceReadout(checkpoint).question(text)
    return require_tuned(checkpoint, resolved).question(text, answer, tagged_word)

"""One decision of a fine-tuned head: the label of a text, the tag of a word, or where an answer starts or ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis import task_head
from bertexplorer.analysis.task_head import HEADS, LINKS, NOWHERE, AnswerKind, Word
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.engine.gradients import Target
    from bertexplorer.model.checkpoint import Checkpoint

DecisionKind = Literal["label", "tag", "span start", "span end", "score"]
COSINE = ("cosine",)  # the one class of a comparison
DECISIONS: dict[AnswerKind, tuple[DecisionKind, ...]] = {  # the decisions of each kind of head
    "label": ("label",),
    "labels": ("label",),
    "score": ("score",),
    "similarity": ("score",),
    "tag": ("tag",),
    "replaced": ("tag",),
    "span": ("span start", "span end"),
}
LISTED = 20  # names in an error


@dataclass(frozen=True)
class Decision:
    """A choice among classes: the labels, the tags of a word, or for a span the tokens of the text."""

    checkpoint: Checkpoint
    encoding: Encoding
    kind: DecisionKind
    answer_kind: AnswerKind
    position: int  # 0-based, of the token that is read: [CLS], the first of the word, or where the span starts or ends
    names: tuple[str, ...]  # of the classes
    index: int  # of the class that is the answer, 0-based
    word: str = ""  # whose tag it is
    rejected: bool = False  # whether the run answers that the passage has no answer

    @property
    def caveats(self) -> tuple[str, ...]:
        """Where the run's own answer differs from this one, as sentences."""
        training = task_head.own_training_of(self.checkpoint)
        sentences = task_head.caveats(training, self.answer_kind, self.encoding.left_out)
        if self.answer_kind == "similarity":
            sentences += task_head.pair_caveats(self.checkpoint, self.encoding)
        if self.kind == "tag" and training.crf:
            sentences += ("The tag and its probability are the head's own, before the run's CRF; Answer may differ.",)
        if self.rejected:
            sentences += ("The answer is that the passage has none; this is about the best span.",)
        return sentences

    @property
    def answer(self) -> str:
        """The answer as text."""
        name = self.names[self.index]
        if self.kind.startswith("span"):
            words = (word.text for word in task_head.words(self.encoding) if self.index in word.positions)
            return f"{self.kind.removeprefix('span ')}s at {next(words, name)}"
        return f"{self.word}: {name}" if self.kind == "tag" else name

    @property
    def head(self) -> str:
        """The head's name among the checkpoint's; "" where it compares two texts without one."""
        return HEADS.get(self.answer_kind, "sequence_classifier")

    @property
    def pooled(self) -> bool:
        """Whether the answer is read from all tokens."""
        if self.answer_kind == "similarity":
            return task_head.pair_encoder(self.checkpoint).modes != ("cls",)
        return self.head == "sequence_classifier" and not self.checkpoint.sequence_classifier.first_only

    def logits(self, encodings: Sequence[Encoding]) -> Float[np.ndarray, "n *_ l"]:
        """Logits of the head for texts of equal length: n x l of labels, else n x t x l; n x 1 cosines."""
        if self.answer_kind == "similarity":
            pair_encoder = task_head.pair_encoder(self.checkpoint)
            return engine.pair_cosines(self.checkpoint, encodings, pair_encoder).double().numpy()[:, None]
        if self.head == "sequence_classifier":
            return engine.sequence_logits(self.checkpoint, encodings).double().numpy()
        return np.stack([e.double().numpy() for e in engine.token_logits(self.checkpoint, encodings, self.head)])

    def log_probabilities(self, logits: Float[np.ndarray, "n *_ l"]) -> Float[np.ndarray, "n c"]:
        """Natural-log probabilities of the c classes from logits of the head; the scores themselves of a regression."""
        if self.kind == "tag":
            return task_head.log_softmax(logits[:, self.position])
        if self.kind.startswith("span"):
            return task_head.log_softmax(logits[:, :, span_column(self.kind)])
        return logits if self.kind == "score" else task_head.log_probabilities(logits, self.answer_kind)

    def target(self) -> Target:
        """The answer's number, with gradients."""
        from bertexplorer.engine import gradients

        if self.answer_kind == "similarity":
            return gradients.cosine_target(self.encoding, task_head.pair_encoder(self.checkpoint))
        if self.kind == "tag":
            return gradients.tag_target(self.checkpoint, self.position, self.index, self.head)
        if self.kind.startswith("span"):
            return gradients.span_target(self.checkpoint, self.encoding, span_column(self.kind), self.index)
        return gradients.label_target(self.checkpoint, self.encoding, self.index, LINKS[self.answer_kind])


def span_column(kind: DecisionKind) -> int:
    """The column of the span head's logits."""
    return int(kind == "span end")


def decide(
    checkpoint: Checkpoint, text: Text | str, kind: DecisionKind, answer: str = "", tagged_word: str = ""
) -> Decision:
    """The Decision of this *kind* about *text*. *answer*: the label or tag, or the word of the passage where the span
    starts or ends; '': the checkpoint's own answer. *tagged_word*: the word whose tag it is; '': the first picked one,
    else the first whose tag is not O, or the one that is likeliest to be replaced.

    Raises ExplorerError if the checkpoint has no head for this *kind*, for a question without a passage, and for an
    unknown label or word."""
    answer_kind = task_head.require_kind(checkpoint)
    if kind not in DECISIONS[answer_kind]:
        gives = " and ".join(DECISIONS[answer_kind])
        raise ExplorerError(
            f"A {kind} was requested, but the head of {checkpoint.name} gives a {gives}. Choose {gives}."
        )
    encoding = task_head.encode(checkpoint, text, answer_kind)
    if kind == "tag":
        return tag_decision(checkpoint, encoding, answer_kind, answer, tagged_word)
    if kind.startswith("span"):
        return span_decision(checkpoint, encoding, kind, answer)
    if answer_kind == "similarity":
        return Decision(checkpoint, encoding, kind, answer_kind, 0, COSINE, 0)
    logits = engine.sequence_logits(checkpoint, [encoding])[0]
    index = match_name(checkpoint.labels, answer, "label") if answer.strip() else int(logits.argmax())
    return Decision(checkpoint, encoding, kind, answer_kind, 0, checkpoint.labels, index)


def tag_decision(
    checkpoint: Checkpoint, encoding: Encoding, kind: AnswerKind, answer: str, tagged_word: str
) -> Decision:
    """As `decide`, for the tag of a word."""
    words, names = task_head.tagged_words(encoding, kind), task_head.tag_names(checkpoint, kind)
    logits = engine.token_logits(checkpoint, [encoding], HEADS[kind])[0]
    best = [int(logits[word.positions[0]].argmax()) for word in words]
    tagged = [not task_head.is_plain(names[i], kind) for i in best]
    if kind == "replaced":
        suspect = int(logits[[word.positions[0] for word in words], 1].argmax())
        tagged = [i == suspect for i in range(len(words))]
    at = tagged_word_index(words, encoding, tagged_word, tagged)
    index = match_name(names, answer, "tag") if answer.strip() else best[at]
    return Decision(checkpoint, encoding, "tag", kind, words[at].positions[0], names, index, words[at].text)


def tagged_word_index(words: Sequence[Word], encoding: Encoding, tagged_word: str, tagged: Sequence[bool]) -> int:
    """The index of *tagged_word*, else of the picked word, else of the first that is *tagged*, else of the first."""
    if tagged_word.strip():
        return match_name([word.text for word in words], tagged_word, "word")
    picked = [i for i, word in enumerate(words) if set(word.positions) & set(encoding.picked)]
    if picked:
        return picked[0]
    return list(tagged).index(True) if any(tagged) else 0


def span_decision(checkpoint: Checkpoint, encoding: Encoding, kind: DecisionKind, answer: str) -> Decision:
    """As `decide`, for the start or the end of a span."""
    side, names = span_column(kind), checkpoint.tokenizer.show_all(encoding.ids)
    inside, rejected = task_head.passage(encoding), False
    if answer.strip():
        words = [word for word in task_head.words(encoding) if inside[word.positions[0]]]
        index = words[match_name([word.text for word in words], answer, "word of the passage")].positions[-side]
    else:
        logits = engine.span_logits(checkpoint, [encoding])[0].double().numpy()
        training = task_head.own_training_of(checkpoint)
        first, last = task_head.best_spans(logits[:, 0], logits[:, 1], inside, training.longest, 1)[0]
        index = (first, last)[side]
        rejected = training.rejects(float(logits[NOWHERE].sum()), float(logits[first, 0] + logits[last, 1]))
    return Decision(checkpoint, encoding, kind, "span", index, names, index, rejected=rejected)


def match_name(names: Sequence[str], typed: str, kind: str) -> int:
    """The first index of *typed* among *names*, in any case unless two names differ in case only. Raises ExplorerError
    if there is none."""
    target = typed.strip()
    folded = [name.casefold() for name in names]
    if target in names:
        return list(names).index(target)
    if target.casefold() in folded:
        return folded.index(target.casefold())
    distinct = list(dict.fromkeys(names))
    more = f" and {len(distinct) - LISTED} more" if len(distinct) > LISTED else ""
    raise ExplorerError(
        f"There is no {kind} {target!r:.60}; there are {', '.join(distinct[:LISTED])}{more}. Choose one of these."
    )

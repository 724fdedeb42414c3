"""One decision of a fine-tuned head: the label of a text, the tag of a word, or where an answer starts or ends."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis import task_head
from bertexplorer.analysis.task_head import LINKS, LONGEST, OUTSIDE, Kind, Word
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.engine.gradients import Target
    from bertexplorer.model.checkpoint import Checkpoint

Decided = Literal["label", "tag", "span start", "span end", "score"]
HEADS: dict[Kind, str] = {"tag": "token_classifier", "span": "span", "similarity": ""}
COSINE = ("cosine",)  # the one class of a comparison
GIVES: dict[Kind, tuple[Decided, ...]] = {  # the decisions of each kind of head
    "label": ("label",),
    "labels": ("label",),
    "score": ("score",),
    "similarity": ("score",),
    "tag": ("tag",),
    "span": ("span start", "span end"),
}
LISTED = 20  # names in an error


@dataclass(frozen=True)
class Decision:
    """A choice among classes: the labels, the tags of a word, or for a span the tokens of the text."""

    checkpoint: Checkpoint
    encoding: Encoding
    what: Decided
    kind: Kind
    position: int  # 0-based, of the token that is read: [CLS], the first of the word, or where the span starts or ends
    names: tuple[str, ...]  # of the classes
    index: int  # of the class that is the answer, 0-based
    word: str = ""  # whose tag it is

    @property
    def answer(self) -> str:
        """The answer in words."""
        name = self.names[self.index]
        if self.what.startswith("span"):
            return f"{self.what.removeprefix('span ')}s at {name}"
        return f"{self.word}: {name}" if self.what == "tag" else name

    @property
    def head(self) -> str:
        """The head's name among the checkpoint's; "" where it compares two texts without one."""
        return HEADS.get(self.kind, "sequence_classifier")

    @property
    def pooled(self) -> bool:
        """Whether the head reads the mean over all tokens."""
        if self.kind == "similarity":
            return task_head.training_of(self.checkpoint).pooling == "mean"
        return self.head == "sequence_classifier" and self.checkpoint.sequence_classifier.mean

    def logits(self, encodings: Sequence[Encoding]) -> Float[np.ndarray, "n *_ l"]:
        """Logits of the head for texts of as many tokens: n x l of labels, else n x t x l; n x 1 cosines."""
        if self.kind == "similarity":
            pooling = task_head.training_of(self.checkpoint).pooling
            return engine.pair_cosines(self.checkpoint, encodings, pooling).double().numpy()[:, None]
        if self.head == "sequence_classifier":
            return engine.sequence_logits(self.checkpoint, encodings).double().numpy()
        each = engine.token_logits if self.head == "token_classifier" else engine.span_logits
        return np.stack([logits.double().numpy() for logits in each(self.checkpoint, encodings)])

    def log_probabilities(self, logits: Float[np.ndarray, "n *_ l"]) -> Float[np.ndarray, "n c"]:
        """Natural-log probabilities of the c classes from logits of the head; the scores themselves of a regression."""
        if self.what == "tag":
            return task_head.log_softmax(logits[:, self.position])
        if self.what.startswith("span"):
            return task_head.log_softmax(logits[:, :, side_of(self.what)])
        return logits if self.what == "score" else task_head.log_probabilities(logits, self.kind)

    def target(self) -> Target:
        """The answer's number, with gradients."""
        from bertexplorer.engine import gradients

        if self.kind == "similarity":
            return gradients.cosine_target(self.encoding, task_head.training_of(self.checkpoint).pooling)
        if self.what == "tag":
            return gradients.tag_target(self.checkpoint, self.position, self.index)
        if self.what.startswith("span"):
            return gradients.span_target(self.checkpoint, self.encoding, side_of(self.what), self.index)
        return gradients.label_target(self.checkpoint, self.encoding, self.index, LINKS[self.kind])


def side_of(what: Decided) -> int:
    """The column of the span head's logits."""
    return int(what == "span end")


def decide(
    checkpoint: Checkpoint, text: Text | str, what: Decided, answer: str = "", tagged_word: str = ""
) -> Decision:
    """The Decision *what* about *text*. *answer*: the label or tag to look at, or the word of the passage where the
    span starts or ends; '': what the checkpoint itself answers. *tagged_word*: the word whose tag it is; '': the first
    picked one, else the first whose tag is not O.

    Raises ExplorerError if the checkpoint has no head that decides *what*, for a question without a passage, and for a
    label or a word that is not there."""
    kind = task_head.need_kind(checkpoint)
    if what not in GIVES[kind]:
        given = " and ".join(GIVES[kind])
        raise ExplorerError(
            f"A {what} was asked for, but the head of {checkpoint.name} gives a {given}. Choose {given}."
        )
    encoding = task_head.encode(checkpoint, text, kind)
    if what == "tag":
        return about_tag(checkpoint, encoding, answer, tagged_word)
    if what.startswith("span"):
        return about_span(checkpoint, encoding, what, answer)
    if kind == "similarity":
        return Decision(checkpoint, encoding, what, kind, 0, COSINE, 0)
    logits = engine.sequence_logits(checkpoint, [encoding])[0]
    index = chosen(checkpoint.labels, answer, "label") if answer.strip() else int(logits.argmax())
    return Decision(checkpoint, encoding, what, kind, 0, checkpoint.labels, index)


def about_tag(checkpoint: Checkpoint, encoding: Encoding, answer: str, tagged_word: str) -> Decision:
    words = task_head.words(encoding)
    if not words:
        raise ExplorerError("The text has no word to tag. Type a sentence.")
    logits = engine.token_logits(checkpoint, [encoding])[0]
    names = checkpoint.labels
    best = [int(logits[word.positions[0]].argmax()) for word in words]
    at = place(words, encoding, tagged_word, [names[i] != OUTSIDE for i in best])
    index = chosen(names, answer, "tag") if answer.strip() else best[at]
    return Decision(checkpoint, encoding, "tag", "tag", words[at].positions[0], names, index, words[at].text)


def place(words: Sequence[Word], encoding: Encoding, tagged_word: str, tagged: Sequence[bool]) -> int:
    """The index of the word that is named, else picked, else the first that is *tagged*, else the first."""
    if tagged_word.strip():
        return chosen([word.text for word in words], tagged_word, "word")
    picked = [i for i, word in enumerate(words) if set(word.positions) & set(encoding.picked)]
    return picked[0] if picked else list(tagged).index(True) if any(tagged) else 0


def about_span(checkpoint: Checkpoint, encoding: Encoding, what: Decided, answer: str) -> Decision:
    side, names = side_of(what), tuple(checkpoint.tokenizer.show(i) for i in encoding.ids)
    if answer.strip():
        inside = task_head.passage(encoding)
        words = [word for word in task_head.words(encoding) if inside[word.positions[0]]]
        index = words[chosen([word.text for word in words], answer, "word of the passage")].positions[-side]
    else:
        logits = engine.span_logits(checkpoint, [encoding])[0].double().numpy()
        inside = task_head.passage(encoding)
        index = task_head.best_spans(logits[:, 0], logits[:, 1], inside, LONGEST, 1)[0][side]
    return Decision(checkpoint, encoding, what, "span", index, names, index)


def chosen(names: Sequence[str], given: str, what: str) -> int:
    """The first index of *given* among *names*; capitals do not count unless two names differ in them alone. Raises
    ExplorerError if there is none."""
    wanted = given.strip()
    folded = [name.casefold() for name in names]
    if wanted in names:
        return list(names).index(wanted)
    if wanted.casefold() in folded:
        return folded.index(wanted.casefold())
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - LISTED} more" if len(known) > LISTED else ""
    raise ExplorerError(
        f"There is no {what} {wanted!r:.60}; there are {', '.join(known[:LISTED])}{more}. Name one of these."
    )

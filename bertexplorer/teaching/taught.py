"""A classifier that was taught with boxes of sentences: fitted, judged, asked, saved, and used as a checkpoint."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn

from bertexplorer.answers.encoding import Options, encode_texts
from bertexplorer.errors import ExplorerError
from bertexplorer.model.heads import SequenceClassifier
from bertexplorer.model.initialise import with_task_config
from bertexplorer.model.sentence_encoder import SentenceEncoder
from bertexplorer.teaching.evaluation import fit_with_ridge, left_out_in_turn
from bertexplorer.teaching.head import LinearHead
from bertexplorer.teaching.words import same_sentence, word_vectors

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KIND, VERSION = "bert-explorer-teach", 1  # of a file
FEWEST, MOST = 2, 6  # boxes
MOST_SENTENCES = 300  # in all boxes
FEWEST_TO_SAY = 3  # different sentences of each box, to say how good it is


@dataclass(frozen=True)
class Score:
    """How many of the different sentences land in their own box when they are left out in turn."""

    right: int
    count: int
    by_words: int  # that counting words, without the checkpoint, gets right
    largest: int  # different sentences of the largest box


@dataclass(frozen=True)
class Mistake:
    """A sentence that lands in another box when it is left out."""

    sentence: str
    box: str
    said: str


@dataclass(frozen=True, eq=False)
class Taught:
    """A head on the sentence vectors of a checkpoint, and what it was fitted on."""

    checkpoint: Checkpoint
    boxes: Mapping[str, tuple[str, ...]]
    head: LinearHead
    ridge: float
    score: Score | None  # None if the boxes are too few to say
    mistakes: tuple[Mistake, ...]

    def ask(self, sentences: Sequence[str]) -> Float[np.ndarray, "n k"]:
        """The probability of each box for each of *sentences*, 0 to 1. Raises ExplorerError if one cannot be read."""
        return self.head.probabilities(vectors_of(self.checkpoint, sentences))

    def save(self, path: Path) -> None:
        """Write the sentences, the head, and the name and revision of its encoder, none of whose weights is in it. The
        page opens the file, too."""
        content = {
            "kind": KIND,
            "version": VERSION,
            "encoder": {"checkpoint": self.checkpoint.name, "revision": self.checkpoint.revision},
            "boxes": [{"name": name, "sentences": list(sentences)} for name, sentences in self.boxes.items()],
            "ridge": self.ridge,
            "head": {"weights": self.head.weights.tolist(), "bias": self.head.bias.tolist()},
        }
        path.write_text(json.dumps(content, ensure_ascii=False, indent=1) + "\n", "utf-8")

    def as_checkpoint(self) -> Checkpoint:
        """The checkpoint with this head as its classifier, so that every analysis of labels takes it. The encoder is
        shared. Texts are cut where those of sentence vectors are."""
        names = tuple(self.boxes)
        checkpoint = with_task_config(self.checkpoint, "sequence_classifier", names, "single_label_classification")
        classifier = VectorClassifier(self.checkpoint, self.head)
        return replace(
            checkpoint,
            name=f"{self.checkpoint.name}, taught",
            heads={**checkpoint.heads, "sequence_classifier": classifier},
            tokenizer=self.checkpoint.sentence_tokenizer,
            folder=Path(),
        )


class VectorClassifier(SequenceClassifier):
    """A classifier whose input is the sentence vector, as the files of its checkpoint make it."""

    def __init__(self, checkpoint: Checkpoint, head: LinearHead) -> None:
        nn.Module.__init__(self)
        self.encoder = checkpoint.sentence_encoder or SentenceEncoder()
        self.pooling, self.twice = "mean", False  # of every token, as far as others ask
        self.transform, self.dropout = nn.Identity(), nn.Dropout(0)
        boxes, width = head.weights.shape
        self.output = nn.Linear(width, boxes)
        self.output.weight.data = torch.from_numpy(head.weights).float()
        self.output.bias.data = torch.from_numpy(head.bias).float()
        self.requires_grad_(False).eval().to(checkpoint.device)

    def summary(self, last: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"] | None) -> Float[Tensor, "b d"]:
        """The vector of each text."""
        if mask is None:
            return self.encoder.embed(last.float())
        rows = [self.encoder.embed(tokens[seen][None].float()) for tokens, seen in zip(last, mask, strict=True)]
        return torch.cat(rows)


def vectors_of(checkpoint: Checkpoint, sentences: Sequence[str]) -> Float[np.ndarray, "n d"]:
    """The vectors on which heads are fitted: as the files say, without a prompt."""
    vectors, _ = encode_texts(checkpoint, sentences, "", Options())
    return vectors.astype(np.float64)


def teach(checkpoint: Checkpoint, boxes: Mapping[str, Sequence[str]]) -> Taught:
    """Fit a head to *boxes*, name -> its sentences, and leave each sentence out in turn to say how good it is.

    Sentences that are the same but for case and spaces are left out together. Raises ExplorerError for fewer than two
    boxes or more than six, for an empty one, and for more than MOST_SENTENCES."""
    read = check(boxes)
    names = list(read)
    sentences: list[str] = []
    boxes_of: list[int] = []
    for box, part in enumerate(read.values()):
        sentences += part
        boxes_of += [box] * len(part)
    labels = np.array(boxes_of)
    first: dict[str, int] = {}
    groups = [first.setdefault(same_sentence(sentence), i) for i, sentence in enumerate(sentences)]
    # 1. The head.
    vectors = vectors_of(checkpoint, sentences)
    fitted = fit_with_ridge(vectors, labels, groups, len(names))
    # 2. How good it is on what it has not seen, each different sentence once.
    different = []
    for box in range(len(names)):
        of_box = {groups[i] for i in np.flatnonzero(labels == box)}
        different.append(len(of_box))
    score = None
    mistakes = []
    if min(different) >= FEWEST_TO_SAY:
        once = sorted(set(groups))
        found = left_out_in_turn(vectors, labels, groups, len(names)).argmax(axis=1)
        by_words = left_out_in_turn(word_vectors(sentences), labels, groups, len(names)).argmax(axis=1)
        right = int((found == labels)[once].sum())
        score = Score(right, len(once), int((by_words == labels)[once].sum()), max(different))
        for i in once:
            if found[i] != labels[i]:
                mistakes.append(Mistake(sentences[i], names[labels[i]], names[found[i]]))
    return Taught(checkpoint, read, fitted.head, fitted.ridge, score, tuple(mistakes))


def check(boxes: Mapping[str, Sequence[str]]) -> dict[str, tuple[str, ...]]:
    """*boxes* without empty lines. Raises ExplorerError for boxes that nothing can be learned from."""
    if not isinstance(boxes, Mapping) or not FEWEST <= len(boxes) <= MOST:
        given = f"{len(boxes)} of them" if isinstance(boxes, Mapping) else f"{boxes!r:.60}"
        raise ExplorerError(
            f"boxes: got {given}; wanted {FEWEST} to {MOST}, each with a name and its sentences, such as "
            '{"good": ["I loved it."], "bad": ["I was bored."]}.'
        )
    read: dict[str, tuple[str, ...]] = {}
    for name, sentences in boxes.items():
        if isinstance(sentences, str) or not all(isinstance(sentence, str) for sentence in sentences):
            raise ExplorerError(f"boxes: {name!r:.60} has {sentences!r:.60}; wanted a list of sentences.")
        read[str(name)] = tuple(sentence.strip() for sentence in sentences if sentence.strip())
        if not read[str(name)]:
            raise ExplorerError(f"boxes: {name!r:.60} is empty. Give each box a sentence, or leave it out.")
    total = sum(map(len, read.values()))
    if total > MOST_SENTENCES:
        raise ExplorerError(
            f"boxes: {total:,} sentences were given; the limit is {MOST_SENTENCES}. For more, train a classifier."
        )
    return read


def open_taught(path: Path, checkpoint: Checkpoint) -> Taught:
    """What was saved at *path*, fitted anew on *checkpoint*. Raises ExplorerError for a file that is none, and for one
    that was taught on another encoder."""
    try:
        content: Any = json.loads(path.read_text("utf-8"))
    except (ValueError, OSError) as error:
        raise ExplorerError(f"{path.name} is no file of boxes: {error}. Open one that `save` wrote.") from error
    if not isinstance(content, dict) or content.get("kind") != KIND:
        raise ExplorerError(f"{path.name} is no file of boxes. Open one that `save` or the page Train wrote.")
    if content.get("version") != VERSION:
        raise ExplorerError(
            f"{path.name} has version {content.get('version')!r:.20}; version {VERSION} is read here. Open it where it "
            "was saved."
        )
    encoder = content.get("encoder")
    revision = encoder.get("revision") if isinstance(encoder, dict) else None
    if revision != checkpoint.revision:
        name = encoder.get("checkpoint") if isinstance(encoder, dict) else None
        raise ExplorerError(
            f"{path.name} was taught on {name!r:.60} (revision {revision!r:.60}); here is {checkpoint.name} (revision "
            f"{checkpoint.revision!r}). Open that one, or teach its sentences anew."
        )
    try:
        boxes = {box["name"]: box["sentences"] for box in content["boxes"]}
    except (TypeError, KeyError) as error:
        raise ExplorerError(f"{path.name}: its boxes cannot be read. Save it again.") from error
    return teach(checkpoint, boxes)

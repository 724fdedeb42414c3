"""What a training run left beside its checkpoint, and the words, spans and passages that fine-tuned heads read."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from jaxtyping import Bool, Float
from safetensors import SafetensorError

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, split_words

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.crf import CRF
    from bertexplorer.model.sentence_encoder import SentenceEncoder

Pooling = Literal["mean", "cls"]  # as in training/embedding.py
COMPARE = ("similarity", "retrieval")  # tasks whose runs compare two texts by the cosine of their vectors
HEADLESS = ("adaptation", "next-word", "sequence", "summary")  # tasks that train no head of the kinds in kinds/
NOWHERE = 0  # the token at which the answer starts and ends if there is none: [CLS] (Devlin et al., 2019, 4.3)
LONGEST = 30  # tokens of an answer in a passage, as in training


@dataclass(frozen=True)
class Training:
    """The record of a training run in task.json, next to the checkpoint that it saved; defaults for any other one."""

    task: str = ""
    allows_no_answer: bool = True  # whether a question may have no answer
    threshold: float = 0.0  # by how much no answer must beat the best span
    crf: bool = False  # whether a CRF over the tags chooses them
    plain: bool = False  # whether its tags may follow each other in any order
    features: tuple[str, ...] = ()  # columns other than the text that add to the logits
    max_tokens: int = 0  # tokens that it read of a text; 0: unknown
    pooling: Pooling = "mean"  # how the vector of a text is made, if it learned to compare texts
    scale: tuple[float, float] | None = None  # the scores of its rows that the cosines 0 and 1 stand for
    longest: int = LONGEST  # tokens of an answer in a passage

    def rejects(self, nothing: float, best: float) -> bool:
        """Whether the run answers that there is no answer, from the logits of that and of the best span (Devlin et al.,
        2019, 4.3)."""
        return self.allows_no_answer and nothing - best > self.threshold


@dataclass(frozen=True)
class Word:
    """A word as taggers count them, and its tokens."""

    text: str
    positions: tuple[int, ...]  # 0-based, ascending; its tag is read at the first


def is_bi_encoder(checkpoint: Checkpoint) -> bool:
    """Whether a run trained it to compare two texts."""
    return own_training_of(checkpoint).task in COMPARE


def reranks(checkpoint: Checkpoint) -> bool:
    """Whether its one score says how well a passage fits a question: a run of re-ranking, or a cross-encoder of
    sentence-transformers."""
    known = checkpoint.relevance_function != "" or own_training_of(checkpoint).task == "reranking"
    return known and checkpoint.config.num_labels == 1


def relevance_of(checkpoint: Checkpoint, score: float) -> tuple[str, float | None]:
    """(the function that makes a relevance of a re-ranker's *score*, by its files; the relevance, None if that function
    is not built in)."""
    import torch

    from bertexplorer.model.sentence_encoder import ACTIVATIONS

    name = checkpoint.relevance_function or "Sigmoid"
    function = ACTIVATIONS.get(name)
    return name, None if function is None else float(function(torch.tensor(score, dtype=torch.float64)))


def is_sentence_encoder(checkpoint: Checkpoint) -> bool:
    """Whether its files say how to make one vector of a text, in a way that can be followed."""
    return checkpoint.sentence_encoder is not None and not checkpoint.sentence_encoder.problem


def pair_encoder(checkpoint: Checkpoint) -> SentenceEncoder:
    """What makes the vectors of two texts that are compared: the checkpoint's own sentence encoder, or for a run
    without its files the pooling that it learned with."""
    from bertexplorer.model.sentence_encoder import SentenceEncoder  # with torch, which the page does without

    if checkpoint.sentence_encoder and not checkpoint.sentence_encoder.problem:
        return checkpoint.sentence_encoder
    return SentenceEncoder((training_of(checkpoint).pooling,))


def own_training_of(checkpoint: Checkpoint) -> Training:
    """As `training_of`; the defaults for a task.json of another program."""
    try:
        return training_of(checkpoint)
    except ExplorerError:
        return Training()


def training_of(checkpoint: Checkpoint) -> Training:
    """The Training of a checkpoint, from task.json next to its weights."""
    path = checkpoint.folder / "task.json"
    if checkpoint.folder == Path() or not path.is_file():
        return Training()
    try:
        about = json.loads(path.read_text("utf-8"))
        described: Mapping[str, Any] = about["described"]
        options: Mapping[str, Any] = described["options"]
        return Training(
            task=str(about["task"]),
            allows_no_answer=bool(described.get("silent", True)),
            threshold=float(options.get("threshold", 0.0)),
            crf=options.get("head") == "crf",
            plain=bool(described.get("plain", False)),
            longest=int(options.get("longest", LONGEST)) if about["task"] == "question-answering" else LONGEST,
            features=tuple(str(feature["name"]) for feature in described.get("features", ())),
            max_tokens=int(described.get("max_tokens", 0)),
            pooling="cls" if options.get("pooling") == "cls" else "mean",
            scale=(float(described["low"]), float(described["high"])) if "low" in described else None,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ExplorerError(
            f"{path.name} of {checkpoint.name} cannot be read ({error}). Copy the run again."
        ) from error


def caveats(training: Training) -> tuple[str, ...]:
    """Where a run's own answer differs from that of its head, as sentences."""
    sentences = []
    if training.features:
        names = " and ".join(filter(None, (", ".join(training.features[:-1]), training.features[-1])))
        sentences.append(f"The run also reads {names} of each row, which a text does not have.")
    if training.task in HEADLESS:
        sentences.append("The head is that of the checkpoint that the run started from; the run did not train it.")
    return tuple(sentences)


def crf_of(checkpoint: Checkpoint, training: Training) -> CRF | None:
    """The CRF of a tagging run, from task.safetensors next to its weights; None if the run or its folder has none."""
    from bertexplorer.model.crf import CRF

    path = checkpoint.folder / "task.safetensors"
    if not training.crf or not path.is_file():
        return None
    try:
        return CRF.from_file(path, checkpoint.labels, training.plain)
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise ExplorerError(
            f"{path.name} of {checkpoint.name} has no CRF for its {len(checkpoint.labels)} tags ({error!s:.200}). "
            "Copy the run again."
        ) from error


def passage(encoding: Encoding) -> Bool[np.ndarray, " t"]:
    """True at the tokens of the second text."""
    return np.array([span is not None and span.side == 1 for span in encoding.spans])


def words(encoding: Encoding) -> tuple[Word, ...]:
    """The words of both texts that have a token, in their order: split at spaces and punctuation, as in training."""
    result: list[Word] = []
    for side in (0, 1):
        text, cursor = encoding.texts[side], 0
        pieces = [i for i, span in enumerate(encoding.spans) if span and span.side == side and span.end > span.start]
        for start, end in split_words(text):
            positions = []
            while cursor < len(pieces) and (span := encoding.spans[pieces[cursor]]) and span.start < end:
                positions += [pieces[cursor]] if span.end > start else []
                cursor += 1
            if positions:
                result.append(Word(display_word(encoding, text[start:end], positions), tuple(positions)))
    return tuple(result)


def display_word(encoding: Encoding, word: str, positions: list[int]) -> str:
    """*word*, or the mask's name if it is hidden from the checkpoint."""
    is_mask = [encoding.ids[p] == encoding.mask_id for p in positions]
    return "[MASK]" if all(is_mask) else word


def best_spans(
    start: Float[np.ndarray, " t"],
    end: Float[np.ndarray, " t"],
    inside: Bool[np.ndarray, " t"],
    longest: int,
    count: int,
) -> list[tuple[int, int]]:
    """(first, last) token of the *count* best spans of 1 to *longest* tokens *inside* the passage, by the sum of their
    start and end logits (Devlin et al., 2019, 4.2), the best first."""
    inside_positions = np.flatnonzero(inside)  # contiguous
    width = min(longest, len(inside_positions))
    ends = np.concatenate([end[inside_positions], np.full(width - 1, -np.inf)])
    sums = start[inside_positions][:, None] + np.lib.stride_tricks.sliding_window_view(ends, width)
    order = np.argsort(-sums, axis=None, kind="stable")[: min(count, int(np.isfinite(sums).sum()))]
    return [(int(inside_positions[i // width]), int(inside_positions[i // width] + i % width)) for i in order]

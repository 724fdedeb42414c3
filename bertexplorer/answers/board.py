"""The answer to a text while parts of the encoder are switched off: heads or neurons, a switch for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bertexplorer.answers import readout
from bertexplorer.answers.candidates import Candidate, best_candidates
from bertexplorer.answers.question import Question, TargetKind
from bertexplorer.answers.readout import FOLLOWS
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

Change = Callable[[Any], Any]  # as in engine/ablation.py
Switch = tuple[int, int]  # layer and number in it, both 0-based
TOP = 5


def ask(
    checkpoint: Checkpoint, text: Text | str, target: TargetKind, word: str = "", tagged_word: str = ""
) -> Question:
    """As `readout.ask`, with an error that says what to do about a text without a mask."""
    encoding = checkpoint.tokenizer.encode(text)
    target = readout.resolve_target(checkpoint, text, target)
    if target == "mask" and not encoding.masked:
        raise nothing_to_change(checkpoint, encoding)
    return readout.ask(checkpoint, text, target, word, tagged_word)


def nothing_to_change(checkpoint: Checkpoint, encoding: Encoding) -> ExplorerError:
    """The error for a text without a mask whose answer cannot be a pair's either: what is missing. Raises ExplorerError
    if the checkpoint has neither head."""
    if "next_sentence" not in checkpoint.heads:
        _ = checkpoint.masked_lm, checkpoint.tokenizer.mask_id
        lacks = f"{checkpoint.name} has no next-sentence head that would judge a pair"
        advice = "choose a checkpoint that has one, such as mini, and give a pair"
    elif encoding.second_start is None:
        lacks, advice = "there is no pair", "add a second sentence"
    else:
        lacks, advice = "the measure is the word at a mask", "measure the pair"
    beyond = " within the tokens that are read" if encoding.left_out else ""
    return ExplorerError(
        f"Nothing is hidden{beyond} and {lacks}, so there is no answer to change. Hide a word, or {advice}.",
        code="mask",
    )


@dataclass(frozen=True)
class BoardOutcome:
    """The outcome of one setting of the switches."""

    candidates: tuple[Candidate, ...]  # at the mask or of the head, most probable first; () for a pair or a score
    value: float  # probability of the word, or that B is next; the score if the head gives one
    is_next: float | None  # in addition to a mask: probability that B is next, if there is a pair and a head for it


class Board:
    """Runs settings of the switches on one text and measures the answer in question."""

    def __init__(self, question: Question, width: int, change: Change) -> None:
        """*width*: the switches of each layer; *change*: what they do."""
        self.question = question
        self.change = change
        self.scored = question.readout.scored
        self.shape = question.checkpoint.config.num_layers, width

    def off(self, chosen: Iterable[Switch]) -> Float[np.ndarray, "l s"]:
        """The *chosen* switches at 0 and all others at 1."""
        switches = np.ones(self.shape, dtype=np.float32)
        for switch in chosen:
            switches[switch] = 0
        return switches

    def rows(self, switches: Float[np.ndarray, "n l s"]) -> Float[np.ndarray, "n c"]:
        """Natural-log probabilities of all classes, or scores, for each setting of the switches."""
        question = self.question
        return question.readout.ablated_rows(question.encoding, question.position, switches, self.change)

    def values(self, switches: Float[np.ndarray, "n l s"]) -> Float[np.ndarray, " n"]:
        """log2 of the answer's probability, or its score, for each setting of the switches."""
        if not len(switches):
            return np.zeros(0)
        values = self.rows(switches)[:, self.question.index].astype(np.float64)
        return values if self.scored else values / np.log(2)

    def outcome(self, switches: Float[np.ndarray, "l s"]) -> BoardOutcome:
        import torch

        question = self.question
        row = self.rows(switches[None])[0]
        if self.scored:
            return BoardOutcome((), float(row[question.index]), None)
        p = float(np.exp(row[question.index]))
        if question.target == "next sentence":
            return BoardOutcome((), p, p)
        candidates = best_candidates(torch.from_numpy(row), question.name, TOP)
        return BoardOutcome(candidates, p, self.is_next(switches) if question.readout.at_mask else None)

    def is_next(self, switches: Float[np.ndarray, "l s"]) -> float | None:
        """Probability that B is next; None without a pair or a head for it."""
        question = self.question
        if question.encoding.second_start is None or "next_sentence" not in question.checkpoint.heads:
            return None
        pair = readout.NextSentenceReadout(question.checkpoint)
        row = pair.ablated_rows(question.encoding, 0, switches[None], self.change)[0]
        return float(np.exp(row[FOLLOWS.index("is next")]))

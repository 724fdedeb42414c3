"""The answer to a text while parts of the encoder are switched off: heads or neurons, a switch for each."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis import targets
from bertexplorer.analysis.decision import Decision, decide
from bertexplorer.analysis.fill_mask import Candidate, best_candidates
from bertexplorer.analysis.next_sentence import encode_pair
from bertexplorer.analysis.targets import TargetKind
from bertexplorer.analysis.task_head import pair_encoder
from bertexplorer.analysis.word_scores import single_piece_id
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.engine.gradients import Target
    from bertexplorer.model.checkpoint import Checkpoint

Change = Callable[[Any], Any]  # as in engine/ablation.py
Switch = tuple[int, int]  # layer and number in it, both 0-based
TOP = 5


@dataclass(frozen=True)
class Asked:
    """What is measured on a text: the word at its first mask, a *decision* of a fine-tuned head, or that B is next."""

    checkpoint: Checkpoint
    encoding: Encoding
    target: TargetKind
    decision: Decision | None

    @property
    def position(self) -> int:
        """The token that the answer is read from, 0-based."""
        if self.decision:
            return self.decision.position
        return self.encoding.masked[0] if self.target == "mask" else 0


def ask(checkpoint: Checkpoint, text: Text | str, target: TargetKind, word: str = "", tagged_word: str = "") -> Asked:
    """What *target* is on *text*. Raises ExplorerError without a mask, a fine-tuned head or a pair, and as `decide`."""
    encoding = checkpoint.tokenizer.encode(text)
    target = targets.resolve_target(checkpoint, text, target)
    if target == "mask" and not encoding.masked:
        raise nothing_to_change(checkpoint, encoding)
    if target == "next sentence":
        return Asked(checkpoint, encode_pair(checkpoint, text), target, None)
    decision_kind = targets.head_decision(target)
    decision = decide(checkpoint, text, decision_kind, word, tagged_word) if decision_kind else None
    return Asked(checkpoint, encoding, target, decision)


@dataclass(frozen=True)
class Outcome:
    """The outcome of one setting of the switches."""

    candidates: tuple[Candidate, ...]  # at the mask or of the head, most probable first; () for a pair or a score
    value: float  # probability of the word, or that B is next; the score if the head gives one
    is_next: float | None  # in addition to a mask: probability that B is next, if there is a pair and a head for it


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
    return ExplorerError(
        f"Nothing is hidden and {lacks}, so there is no answer to change. Hide a word, or {advice}.", missing="mask"
    )


class Board:
    """Runs settings of the switches on one text and measures the target."""

    def __init__(self, asked: Asked, width: int, change: Change, word: str = "") -> None:
        """*width*: the switches of each layer; *change*: what they do. *word*: the answer to measure at a mask; "": the
        first choice."""
        checkpoint = asked.checkpoint
        encoding = asked.encoding
        decision = asked.decision
        self.checkpoint = checkpoint
        self.encoding = encoding
        self.decision = decision
        self.change = change
        self.scored = decision is not None and decision.kind == "score"
        self.shape = checkpoint.config.num_layers, width
        self.only_pair = asked.target == "next sentence"
        has_pair = encoding.second_start is not None and "next_sentence" in checkpoint.heads
        self.pair = self.only_pair or (decision is None and has_pair)
        self.id, self.target = -1, "is next"
        if decision:
            self.id, self.target = decision.index, decision.answer
        elif not self.only_pair:
            self.id = self.word(word)
            self.target = checkpoint.tokenizer.show(self.id)

    def off(self, chosen: Iterable[Switch]) -> Float[np.ndarray, "l s"]:
        """The *chosen* switches at 0 and all others at 1."""
        switches = np.ones(self.shape, dtype=np.float32)
        for switch in chosen:
            switches[switch] = 0
        return switches

    def word(self, typed: str) -> int:
        """The id of the measured word."""
        if typed.strip():
            return single_piece_id(self.checkpoint, self.encoding, self.encoding.masked[0], typed)
        return int(self.log_probs(self.off([])[None])[0, : self.checkpoint.tokenizer.vocab_size].argmax())

    def gradient_target(self) -> Target:
        """The measured number with gradients: a natural-log probability, the log-odds of a pair, or a score."""
        from bertexplorer.engine import gradients

        if self.decision:
            return self.decision.target()
        if self.only_pair:
            return gradients.next_sentence_target(self.checkpoint)
        return gradients.masked_target(self.checkpoint, self.encoding.masked[0], self.id)

    def log_probs(self, switches: Float[np.ndarray, "n l s"]) -> Tensor:
        """Natural-log probabilities n x v over the vocabulary at the first mask, or over what is decided among; n x 1
        scores."""
        if not self.decision:
            spot = self.encoding.masked[0]
            return engine.ablated_log_probs(self.checkpoint, self.encoding, switches, spot, self.change)
        if self.decision.answer_kind == "similarity":
            encoder = pair_encoder(self.checkpoint)
            return engine.ablated_cosines(self.checkpoint, self.encoding, switches, encoder, self.change)[:, None]
        if self.decision.head == "sequence_classifier":
            logits = engine.ablated_sequence_logits(self.checkpoint, self.encoding, switches, self.change)
        else:
            head = self.decision.head
            logits = engine.ablated_token_logits(self.checkpoint, self.encoding, switches, head, self.change)
        import torch

        return torch.from_numpy(self.decision.log_probabilities(logits.double().numpy()))

    def next_log_probs(self, switches: Float[np.ndarray, "n l s"]) -> Float[np.ndarray, " n"]:
        """Natural-log probability that B is next."""
        logits = engine.ablated_next_sentence(self.checkpoint, self.encoding, switches, self.change)
        return np.asarray(logits.log_softmax(dim=-1)[:, 0].numpy(), dtype=np.float64)

    def values(self, switches: Float[np.ndarray, "n l s"]) -> Float[np.ndarray, " n"]:
        """log2 of the target's probability, or its score, for each setting of the switches."""
        if not len(switches):
            return np.zeros(0)
        if self.only_pair:
            return self.next_log_probs(switches) / np.log(2)
        target_values = np.asarray(self.log_probs(switches)[:, self.id].double().numpy())
        return target_values if self.scored else target_values / np.log(2)

    def outcome(self, switches: Float[np.ndarray, "l s"]) -> Outcome:
        is_next = float(np.exp(self.next_log_probs(switches[None])[0])) if self.pair else None
        if self.only_pair:
            return Outcome((), is_next or 0.0, is_next)
        row = self.log_probs(switches[None])[0]
        if self.scored:
            return Outcome((), float(row[self.id]), is_next)
        names = self.decision.names if self.decision else None
        count = len(names) if names else self.checkpoint.tokenizer.vocab_size
        candidates = best_candidates(row[:count], names.__getitem__ if names else self.checkpoint.tokenizer.show, TOP)
        return Outcome(candidates, float(row[self.id].exp()), is_next)

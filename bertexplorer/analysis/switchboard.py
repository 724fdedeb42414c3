"""Switchboard: head ablation and patching, of some heads together or of each alone, and how it changes the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.analysis import facts, targets
from bertexplorer.analysis.decision import Decision, decide
from bertexplorer.analysis.fill_mask import Candidate, best_candidates
from bertexplorer.analysis.heads import Head, parse_heads
from bertexplorer.analysis.next_sentence import encode_pair
from bertexplorer.analysis.sample_sentences import TOPICS
from bertexplorer.analysis.targets import TargetKind
from bertexplorer.analysis.task_head import pair_encoder
from bertexplorer.analysis.word_scores import single_piece_id
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint

TOP = 5
KEYS, MEASURE = ("layer", "head"), "change_bits"


@dataclass(frozen=True)
class Options:
    off: Annotated[str, Option("Heads off", info="such as 5·3, 2·7; or press cells of the map")] = ""
    how: Annotated[
        Literal["zero", "mean", "patch"],
        Option("Instead of the head", info="zeros, its mean over plain sentences, or its output for another sentence"),
    ] = "zero"
    source: Annotated[str, Option("Sentence to patch from", info="with as many tokens as yours")] = ""
    word: Annotated[str, Option("Word", info="or label or tag; empty: the first choice")] = ""
    controls: Annotated[int, Option("Random controls", 0, 50, info="sets of the same number of other heads")] = 10
    target: Annotated[TargetKind, Option("Measure", info=targets.INFO)] = "answer"
    tagged_word: Annotated[str, Option("Tagged word", info=targets.TAGGED)] = ""


@dataclass(frozen=True)
class Outcome:
    """The outcome of one setting of the switches."""

    candidates: tuple[Candidate, ...]  # at the mask or of the head, most probable first; () for a pair or a score
    value: float  # probability of the word, or that B is next; the score if the head gives one
    is_next: float | None  # in addition to a mask: probability that B is next, if there is a pair and a head for it


@dataclass(frozen=True)
class Switchboard:
    target: str  # the measured answer: a word, the answer of a fine-tuned head, or "is next"
    off: tuple[Head, ...]
    how: str
    before: Outcome
    after: Outcome
    controls: Float[np.ndarray, " c"]  # value of the target for each random set with the same number of heads
    change: Float[np.ndarray, "l h"]  # bits: log2 of the target's probability, that head off minus all on; or scores
    states: Bool[np.ndarray, "l h"]  # True: off
    other_masks: int
    scored: bool = False  # whether the target is a score or a cosine: values and changes are in its unit
    caveats: tuple[str, ...] = ()  # where the answer of a run differs, as sentences


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Switchboard:
    """Ablate heads of *text*: the target is the word at the first mask, else what a fine-tuned head decides, else that
    B is next.

    Each head's output (before it is mixed with the others) is replaced by zeros, by its mean over plain sentences, or
    by its output at the same positions of another sentence (Michel et al., 2019; Wang et al., 2023 for the mean and the
    patch). For a regression the score changes, for a run that compares two texts their cosine. Raises
    ExplorerError without a mask, a fine-tuned head or a pair, for an unknown head, for a word of several
    pieces, for a sentence to patch from of another length, and for a patch if two texts are encoded alone."""
    encoding = checkpoint.tokenizer.encode(text)
    target = targets.resolve_target(checkpoint, text, options.target)
    if target == "mask" and not encoding.masked:
        raise nothing_to_change(checkpoint, encoding)
    decision = None
    if target == "next sentence":
        encoding = encode_pair(checkpoint, text)
    elif decision_kind := targets.head_decision(target):
        decision = decide(checkpoint, text, decision_kind, options.word, options.tagged_word)
    if decision and decision.answer_kind == "similarity" and options.how == "patch":
        raise ExplorerError(
            f"{checkpoint.name} encodes the two texts separately; one sentence cannot be patched into both. Choose "
            "zero or mean."
        )
    board = Board(checkpoint, encoding, options, decision, pair=target == "next sentence")
    layers, heads = checkpoint.config.num_layers, checkpoint.config.num_heads
    off = parse_heads(options.off, layers, heads)
    single_switches = [board.off([Head(layer, head)]) for layer in range(layers) for head in range(heads)]
    target_values = board.values(np.stack([board.off([]), *single_switches]))
    change = (target_values[1:] - target_values[0]).reshape(layers, heads)
    controls = board.values(random_sets(board, off, options.controls if off else 0))
    return Switchboard(
        target=board.target,
        off=off,
        how=options.how,
        before=board.outcome(board.off([])),
        after=board.outcome(board.off(off)),
        controls=controls if board.scored else 2.0**controls,
        change=change,
        states=board.off(off) == 0,
        other_masks=max(0, len(encoding.masked) - 1) if target == "mask" else 0,
        scored=board.scored,
        caveats=decision.caveats if decision else (),
    )


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

    def __init__(
        self,
        checkpoint: Checkpoint,
        encoding: Encoding,
        options: Options,
        decision: Decision | None = None,
        *,
        pair: bool = False,
    ) -> None:
        """The target is *decision*, or with *pair* that B is next; by default the word at the first mask."""
        self.checkpoint, self.encoding, self.decision = checkpoint, encoding, decision
        self.scored = decision is not None and decision.kind == "score"
        self.shape = checkpoint.config.num_layers, checkpoint.config.num_heads
        self.fill = replacement(checkpoint, encoding, options)
        has_pair = encoding.second_start is not None and "next_sentence" in checkpoint.heads
        self.pair = pair or (decision is None and has_pair)
        self.only_pair = pair
        self.id, self.target = -1, "is next"
        if decision:
            self.id, self.target = decision.index, decision.answer
        elif not pair:
            self.id = self.word(options.word)
            self.target = checkpoint.tokenizer.show(self.id)

    def off(self, heads: Sequence[Head]) -> Float[np.ndarray, "l h"]:
        """Switches with *heads* at 0 and all others at 1."""
        switches = np.ones(self.shape, dtype=np.float32)
        for head in heads:
            switches[head] = 0
        return switches

    def word(self, typed: str) -> int:
        """The id of the measured word."""
        if typed.strip():
            return single_piece_id(self.checkpoint, self.encoding, self.encoding.masked[0], typed)
        return int(self.log_probs(self.off([])[None])[0, : self.checkpoint.tokenizer.vocab_size].argmax())

    def log_probs(self, switches: Float[np.ndarray, "n l h"]) -> Tensor:
        """Natural-log probabilities n x v over the vocabulary at the first mask, or over what is decided among; n x 1
        scores."""
        if not self.decision:
            spot = self.encoding.masked[0]
            return engine.ablated_log_probs(self.checkpoint, self.encoding, switches, spot, self.fill)
        if self.decision.answer_kind == "similarity":
            encoder = pair_encoder(self.checkpoint)
            return engine.ablated_cosines(self.checkpoint, self.encoding, switches, encoder, self.fill)[:, None]
        if self.decision.head == "sequence_classifier":
            logits = engine.ablated_sequence_logits(self.checkpoint, self.encoding, switches, self.fill)
        else:
            head = self.decision.head
            logits = engine.ablated_token_logits(self.checkpoint, self.encoding, switches, head, self.fill)
        import torch

        return torch.from_numpy(self.decision.log_probabilities(logits.double().numpy()))

    def next_log_probs(self, switches: Float[np.ndarray, "n l h"]) -> Float[np.ndarray, " n"]:
        """Natural-log probability that B is next."""
        logits = engine.ablated_next_sentence(self.checkpoint, self.encoding, switches, self.fill)
        return np.asarray(logits.log_softmax(dim=-1)[:, 0].numpy(), dtype=np.float64)

    def values(self, switches: Float[np.ndarray, "n l h"]) -> Float[np.ndarray, " n"]:
        """log2 of the target's probability, or its score, for each setting of the switches."""
        if not len(switches):
            return np.zeros(0)
        if self.only_pair:
            return self.next_log_probs(switches) / np.log(2)
        target_values = np.asarray(self.log_probs(switches)[:, self.id].double().numpy())
        return target_values if self.scored else target_values / np.log(2)

    def outcome(self, switches: Float[np.ndarray, "l h"]) -> Outcome:
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


def replacement(checkpoint: Checkpoint, encoding: Encoding, options: Options) -> Tensor | None:
    """The replacement for each head's output, l x h x (1 or t) x k; None for zeros."""
    tokenizer = checkpoint.tokenizer
    if options.how == "mean":
        return engine.mean_head_outputs(checkpoint, [tokenizer.encode(group[0]) for group in TOPICS.values()])
    if options.how == "patch":
        if not options.source.strip():
            raise ExplorerError("There is no sentence to patch from. Type one that has as many tokens as yours.")
        source = tokenizer.encode(Text(options.source))
        if len(source) != len(encoding):
            raise ExplorerError(
                f"The sentence to patch from has {len(source)} tokens and yours {len(encoding)}, so they do not line "
                "up. Change its words until both are equally long."
            )
        return engine.head_outputs(checkpoint, source)
    return None


def random_sets(board: Board, off: Sequence[Head], count: int) -> Float[np.ndarray, "c l h"]:
    """Random switches with as many heads off as *off* has, drawn from the other heads if there are enough; none if all
    heads are off."""
    rng = np.random.default_rng(0)
    all_heads = [Head(layer, head) for layer in range(board.shape[0]) for head in range(board.shape[1])]
    other_heads = [head for head in all_heads if head not in off]
    pool = other_heads if len(other_heads) >= len(off) else all_heads
    picks = [rng.choice(len(pool), size=len(off), replace=False) for _ in range(count if other_heads else 0)]
    sets = [board.off([pool[i] for i in pick]) for pick in picks]
    return np.stack(sets) if sets else np.zeros((0, *board.shape), dtype=np.float32)


def rows(result: Switchboard) -> list[dict[str, object]]:
    """One row for each head, counted from 1: the target's probability with only that head off, in bits relative to all
    on. For a score, *score* takes the place of *probability*, and the change is in its unit."""
    before = result.before.value
    name, unit = ("score", "change_score") if result.scored else ("probability", "change_bits")
    return [
        {
            "layer": layer + 1,
            "head": head + 1,
            "off": bool(result.states[layer, head]),
            "target": result.target,
            unit: float(change),
            name: float(before + change if result.scored else before * 2.0**change),
            f"{name}_all_on": before,
            f"{name}_with_the_chosen_off": result.after.value,
            "random_sets_mean": float(result.controls.mean()) if len(result.controls) else "",
        }
        for layer, line in enumerate(result.change)
        for head, change in enumerate(line)
    ]


class Facts(facts.Facts[Switchboard]):
    def before(self) -> float:
        """Probability of the answer with all heads on, 0 to 1; or its score."""
        return self._result.before.value

    def after(self) -> float:
        """Probability of the answer with the chosen heads off, 0 to 1; or its score."""
        return self._result.after.value

    def answer(self) -> str:
        """What is measured: the answer, or "is next"."""
        return self._result.target

    def top_after(self) -> str:
        """The first answer with the chosen heads off."""
        return facts.item(self._result.after.candidates, 1, "answer").token

    def change(self, layer: int, head: int) -> float:
        """What switching off one head does to the answer's probability, in bits; or to its score."""
        return float(facts.item(facts.item(self._result.change, layer, "layer"), head, "head"))

    def share_below(self, bits: float) -> float:
        """Share of the heads that alone change the answer by less than so many bits, 0 to 1."""
        return float((np.abs(self._result.change) < bits).mean())

    def largest_change(self) -> float:
        """The largest change that one head makes in either direction, in bits."""
        return float(np.abs(self._result.change).max())

    def heads_off(self) -> float:
        """Heads that are off."""
        return int(self._result.states.sum())

"""Layer answers: the answer of a head that is applied after every layer."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bertexplorer import engine
from bertexplorer.answers.candidates import Candidate, best_candidates
from bertexplorer.answers.question import Question, Readout, TargetKind
from bertexplorer.answers.readout import MaskReadout

if TYPE_CHECKING:
    from torch import Tensor


SMALLEST = -700.0  # nats; the log of a probability that is 0 in float64
DEFAULT_FOLLOWED = 3  # final answers to follow if no word is named


@dataclass(frozen=True)
class LayerAnswer:
    """The prediction of one layer. Layer 0 is the input of the first layer. For a score, the one candidate has the
    score instead of its probability, and the bits are NaN."""

    layer: int
    candidates: tuple[Candidate, ...]  # most probable first
    entropy: float  # bits; 0: certain, log2(vocabulary): no idea
    divergence: float  # bits, KL(final answer || this answer) as in Belrose et al. (2023); 0 at the last layer


@dataclass(frozen=True)
class Followed:
    """One piece of the vocabulary through the layers, layer 0 first."""

    token: str
    id: int
    ranks: Int[np.ndarray, " layers"]  # 1: the most probable
    probabilities: Float[np.ndarray, " layers"]  # 0 to 1
    hidden: bool  # whether it is the hidden piece


@dataclass(frozen=True)
class Tuned:
    """The quality of the tuned lens and of the raw one at each hidden state but the last, on held-out sentences."""

    positions: int  # masks that it was fitted on
    held_out: int  # masks that it was measured on
    raw: tuple[float, ...]  # l of them, layer 0 first: mean bits of KL(final answer || answer of the layer)
    tuned: tuple[float, ...]

    @property
    def worse(self) -> tuple[int, ...]:
        """The layers that the tuned lens reads worse than the raw one."""
        return tuple(i for i, (raw, tuned) in enumerate(zip(self.raw, self.tuned, strict=True)) if tuned > raw)


@dataclass(frozen=True)
class Layers:
    tokens: tuple[str, ...]
    position: int  # of the token that is read, 0-based: the mask, [CLS], or the first of a tagged word
    layers: tuple[LayerAnswer, ...]  # 1 + l of them
    followed: tuple[Followed, ...]  # the most probable at the end first
    other_masks: int  # masks of the text that this result does not cover
    target: TargetKind = "mask"  # the mask, or the decision of a fine-tuned head
    readout: type[Readout] = MaskReadout  # how it is read
    subject: str = ""  # what the answers are about, as the beginning of a sentence
    tuned: Tuned | None = None  # None: read with the raw lens
    caveats: tuple[str, ...] = ()  # where the answer of a run differs, as sentences
    most_bits: float = 0.0  # the largest possible entropy of an answer; 0 for a score

    @property
    def scored(self) -> bool:
        """Whether the answers are scores or cosines."""
        return self.readout.scored

    @property
    def scores(self) -> tuple[float, ...]:
        """The score after each layer."""
        return tuple(answer.candidates[0].probability for answer in self.layers)

    @property
    def settled(self) -> int:
        """The layer from which the first choice is the final one; for a score, from which it stays within a tenth of
        its range over all layers."""
        if self.scored:
            near = 0.1 * (max(self.scores) - min(self.scores))
            far = [i for i, score in enumerate(self.scores) if abs(score - self.scores[-1]) > near]
            return max(far, default=-1) + 1
        final = self.layers[-1].candidates[0].id
        other = [answer.layer for answer in self.layers if answer.candidates[0].id != final]
        return max(other, default=-1) + 1


def lens_quality(lens: engine.TunedLens) -> Tuned:
    raw, tuned = (tuple(nats / math.log(2) for nats in values) for values in (lens.raw, lens.tuned))
    return Tuned(lens.positions, lens.held_out, raw, tuned)


@dataclass(frozen=True)
class Classes:
    """The classes of a head: the first *count* columns of its log-probabilities."""

    show: Callable[[int], str]
    count: int
    each: bool = False  # whether each has a probability of its own, as where a text may have several labels

    @property
    def most_bits(self) -> float:
        """The largest possible entropy: of a choice among all, or of one yes or no for each."""
        return float(self.count) if self.each else math.log2(self.count)


def read_question(question: Question, words: Sequence[str], top: int, lens: engine.TunedLens | None = None) -> Layers:
    """The Layers of *question*, with *words* to follow; without any, the best answers at the end, and what was hidden
    or decided."""
    import torch

    encoding, position = question.encoding, question.position
    tokens = question.checkpoint.tokenizer.show_all(encoding.ids)
    empty = Layers(
        tokens,
        position,
        (),
        (),
        other_masks=question.other_masks,
        target=question.target,
        readout=type(question.readout),
        subject=question.readout.subject(question),
        tuned=lens_quality(lens) if lens else None,
        caveats=question.caveats,
    )
    rows = question.readout.layer_rows(encoding, position, lens)
    if question.readout.scored:
        return replace(empty, layers=score_layers(question, rows[:, question.index]))

    def show(index: int) -> str:
        name = question.name(index)
        return f"{index}: {name}" if question.readout.of_tokens else name

    log_probs = torch.from_numpy(rows)
    classes = Classes(show, question.count, question.readout.independent)
    masked = question.readout.at_mask
    hidden = encoding.original_ids[position] if masked else -1
    if words:
        followed_classes = [question.readout.find(word, encoding, position) for word in words]
    else:
        followed_classes = top_classes(log_probs, classes)
        if not masked:
            followed_classes.append(question.index)
        elif hidden != encoding.mask_id:
            followed_classes.append(hidden)
    layers, followed = follow_classes(log_probs, classes, followed_classes, top, hidden)
    return replace(empty, layers=layers, followed=followed, most_bits=classes.most_bits)


def score_layers(question: Question, scores: Float[np.ndarray, " layers"]) -> tuple[LayerAnswer, ...]:
    """The score or the cosine after every layer."""
    return tuple(
        LayerAnswer(layer, (Candidate(question.answer, question.index, score, 1),), math.nan, math.nan)
        for layer, score in enumerate(scores.tolist())
    )


def top_classes(log_probs: Tensor, classes: Classes) -> list[int]:
    """The first choices at the end."""
    return [int(i) for i in log_probs[-1, : classes.count].topk(min(DEFAULT_FOLLOWED, classes.count)).indices]


def follow_classes(
    log_probs: Tensor, classes: Classes, followed_classes: Sequence[int], top: int, original: int = -1
) -> tuple[tuple[LayerAnswer, ...], tuple[Followed, ...]]:
    """The answer of every layer, and the *followed_classes* through the layers. *log_probs*: layers x classes, in nats;
    *original*: the class that was hidden."""
    layers = tuple(layer_answer(classes, i, row, log_probs[-1], top) for i, row in enumerate(log_probs))
    followed = [follow(classes, log_probs, index, index == original) for index in dict.fromkeys(followed_classes)]
    followed.sort(key=lambda word: (int(word.ranks[-1]), -float(word.probabilities[-1])))
    return layers, tuple(followed)


def layer_answer(classes: Classes, layer: int, row: Tensor, final: Tensor, top: int) -> LayerAnswer:
    """The answer of one layer from its log-probabilities (nats, v long), compared with the *final* ones."""
    candidates = best_candidates(row[: classes.count], classes.show, top)
    row, final = row.double(), final.double()
    entropy, divergence = -(row.exp() * row).sum(), (final.exp() * (final - row)).sum()
    if classes.each:  # a yes or no for each label: the rest of 1 is the probability of no
        no, final_no = ((-values.exp()).log1p().clamp(min=SMALLEST) for values in (row, final))
        entropy, divergence = entropy - (no.exp() * no).sum(), divergence + (final_no.exp() * (final_no - no)).sum()
    return LayerAnswer(layer, candidates, float(entropy) / math.log(2), max(0.0, float(divergence)) / math.log(2))


def follow(classes: Classes, log_probs: Tensor, index: int, hidden: bool) -> Followed:
    """*index* in each row of *log_probs* (layers x v, nats)."""
    scores = log_probs[:, index]
    ranks = 1 + (log_probs > scores[:, None]).sum(dim=1)
    shares = scores.double().exp().numpy()
    return Followed(classes.show(index), index, ranks.numpy(), shares, hidden)

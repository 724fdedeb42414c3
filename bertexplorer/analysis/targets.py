"""Targets of an explanation: the word in a mask, the decision of a fine-tuned head, or whether B follows A."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Literal, cast

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis.attribution import Question, read_once
from bertexplorer.analysis.decision import DECISIONS, DecisionKind, decide
from bertexplorer.analysis.fill_mask import encode_masked
from bertexplorer.analysis.next_sentence import encode_pair
from bertexplorer.analysis.task_head import kind_of
from bertexplorer.analysis.word_scores import single_piece_id
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.engine.gradients import Target
    from bertexplorer.model.checkpoint import Checkpoint

TargetKind = Literal["answer", "mask", "next sentence", "label", "tag", "span start", "span end", "score"]
INFO = "answer: the first mask if there is one, else the fine-tuned head, else whether B follows A"
TAGGED = "if a tag is explained; empty: the picked word, else the first that is not O, or seems replaced"


def resolve_target(checkpoint: Checkpoint, text: Text | str, target: TargetKind) -> TargetKind:
    """*target*, with "answer" resolved to the first mask, else the decision of a fine-tuned head, else whether B
    follows A. "mask" if the text and the checkpoint allow none of these: its error says what is missing."""
    if target != "answer":
        return target
    encoding = checkpoint.tokenizer.encode(text)
    if encoding.masked and "masked_lm" in checkpoint.heads:
        return "mask"
    if kind := kind_of(checkpoint):
        return DECISIONS[kind][0]
    pair = encoding.second_start is not None and "next_sentence" in checkpoint.heads
    return "next sentence" if pair else "mask"


def head_decision(target: TargetKind) -> DecisionKind | None:
    """The decision of a fine-tuned head that *target* stands for; None for a mask and a pair."""
    return None if target in ("answer", "mask", "next sentence") else cast(DecisionKind, target)


def build_question(
    checkpoint: Checkpoint, text: Text | str, target: TargetKind, word: str, tagged_word: str = ""
) -> tuple[TargetKind, Question]:
    """(what is explained, the number to explain). *word*, *tagged_word*: as in `decide`; in a mask *word* is the word,
    '' for the checkpoint's first choice."""
    resolved = resolve_target(checkpoint, text, target)
    if decision_kind := head_decision(resolved):
        question = head_question(checkpoint, text, decision_kind, word, tagged_word)
    elif resolved == "mask":
        question = mask_question(checkpoint, text, word)
    else:
        question = next_sentence_question(checkpoint, text)
    return resolved, replace(question, values=read_once(question.values))


def mask_question(checkpoint: Checkpoint, text: Text | str, word: str) -> Question:
    """log p(answer) at the first mask, in nats."""
    encoding = encode_masked(checkpoint, text)
    position = encoding.masked[0]
    token = single_piece_id(checkpoint, encoding, position, word) if word.strip() else None
    if token is None:
        row = next(engine.masked_log_probs(checkpoint, [encoding], positions=[[position]]))[0]
        token = int(row[: checkpoint.tokenizer.vocab_size].argmax())
    answer: int = token

    def target() -> Target:
        from bertexplorer.engine import gradients

        return gradients.masked_target(checkpoint, position, answer)

    def values(encodings: Sequence[Encoding]) -> Float[np.ndarray, " n"]:
        rows = engine.masked_log_probs(checkpoint, encodings, positions=[[position]] * len(encodings))
        return np.array([float(row[0, answer]) for row in rows])

    return Question(checkpoint, encoding, checkpoint.tokenizer.show(answer), position, target, values, np.exp)


def next_sentence_question(checkpoint: Checkpoint, text: Text | str) -> Question:
    """logit is next - logit is not next of a pair: the log-odds that the second text follows the first."""
    _ = checkpoint.next_sentence  # if there is no head, raise before asking for a sentence
    encoding = encode_pair(checkpoint, text)

    def target() -> Target:
        from bertexplorer.engine import gradients

        return gradients.next_sentence_target(checkpoint)

    def values(encodings: Sequence[Encoding]) -> Float[np.ndarray, " n"]:
        logits = engine.next_sentence_logits(checkpoint, encodings).double().numpy()
        return np.asarray(logits[:, 0] - logits[:, 1])

    def probability(gap: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return np.asarray(np.exp(-np.logaddexp(0.0, -gap)))

    return Question(checkpoint, encoding, "is next", 0, target, values, probability)


def head_question(
    checkpoint: Checkpoint, text: Text | str, kind: DecisionKind, word: str, tagged_word: str
) -> Question:
    """log p(answer) of a fine-tuned head in nats, or the score of a regression or the cosine of two texts, which have
    no probability (NaN)."""
    decision = decide(checkpoint, text, kind, word, tagged_word)

    def values(encodings: Sequence[Encoding]) -> Float[np.ndarray, " n"]:
        return decision.log_probabilities(decision.logits(encodings))[:, decision.index]

    def probability(values: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
        return np.full(len(values), np.nan) if kind == "score" else np.exp(values)

    return Question(
        checkpoint,
        decision.encoding,
        decision.answer,
        decision.position,
        decision.target,
        values,
        probability,
        pooled=decision.pooled,
        scored=kind == "score",
        bi_encoder=decision.answer_kind == "similarity",
        caveats=decision.caveats,
    )


def require_probability(target: TargetKind) -> None:
    """Raises ExplorerError for a target that has no probability."""
    if target == "score":
        raise ExplorerError(
            "This view follows the probability of an answer, and the checkpoint gives a score. Look at Saliency, or "
            "choose a checkpoint that gives labels."
        )

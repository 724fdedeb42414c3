"""A frozen probe: how well a linear classifier predicts from the vectors of a frozen encoder. It compares encoders
whose losses are not comparable: masked, left-to-right, replaced tokens.

Its two questions are made from the held-out text itself, in any language: which of the WORDS most frequent words was
removed between two tokens (there is no [MASK], and the gap is closed), and whether B follows A or comes from another
document. The classifier is fitted on half of the held-out documents and evaluated on the other half."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from bertexplorer.engine.masking import Masking
from bertexplorer.model.forward import CAUSAL, NO_CHANGE, Intervention
from bertexplorer.model.text import Tokenizer
from bertexplorer.training import texts
from bertexplorer.training.pretraining.batches import Collator
from bertexplorer.training.pretraining.corpus import Shard, token_counts
from bertexplorer.training.pretraining.pool import FOLLOWS, DocumentPool, Kind
from bertexplorer.training.texts import Item

SEED = 2019
WORDS = 8  # that are removed
GAPS = 1500  # questions of each half of the documents
PAIRS = 500
ROOM, PAIR_ROOM = 32, 60  # tokens
TRIES = 40
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class ProbeQuestion:
    """One input."""

    item: Item
    at: tuple[int, int]  # the tokens on both sides of a gap; or the [SEP] after A and after B
    label: int  # the answer: which word was removed, or whether B follows


@dataclass(frozen=True)
class Probe:
    """The questions to fit on and those to evaluate; none if the held-out text is too small for them."""

    gaps: tuple[list[ProbeQuestion], list[ProbeQuestion]]
    pairs: tuple[list[ProbeQuestion], list[ProbeQuestion]]
    words: tuple[str, ...]  # those that are removed, as tokens


def draw_probe(
    shards: Sequence[Shard], held_out: Sequence[NDArray[np.bool_]], tokenizer: Tokenizer, *, longest: int = PAIR_ROOM
) -> Probe:
    """Draw the questions, of at most *longest* tokens. They depend only on the held-out documents and the
    vocabulary."""
    collator = Collator.of(tokenizer, Masking())
    frequent = frequent_words(shards, held_out, tokenizer)
    gaps: list[list[ProbeQuestion]] = []
    pairs: list[list[ProbeQuestion]] = []
    for half in (0, 1):
        masks = [half_of_documents(documents, half) for documents in held_out]
        rng = np.random.default_rng([SEED, half])
        half_gaps: list[ProbeQuestion] = []
        half_pairs: list[ProbeQuestion] = []
        if any(mask.any() for mask in masks):
            pool = DocumentPool(shards, [1.0] * len(shards), masks)
            half_gaps = gap_questions(pool, collator, frequent, rng, min(ROOM, longest - 2))
            half_pairs = pair_questions(pool, collator, rng, min(PAIR_ROOM, longest) - 3)
        gaps.append(half_gaps)
        pairs.append(half_pairs)
    words = tuple(tokenizer.backend.id_to_token(i) or "" for i in frequent)
    return Probe((gaps[0], gaps[1]), (pairs[0], pairs[1]), words)


def half_of_documents(documents: NDArray[np.bool_], half: int) -> NDArray[np.bool_]:
    """The held-out documents with an even or odd index."""
    mask = np.zeros_like(documents)
    mask[np.flatnonzero(documents)[half::2]] = True
    return mask


def frequent_words(shards: Sequence[Shard], held_out: Sequence[NDArray[np.bool_]], tokenizer: Tokenizer) -> list[int]:
    """The ids of the WORDS most frequent tokens of the held-out text that are whole words of letters."""
    counts = token_counts(shards, held_out, tokenizer.vocab_size)
    order = (int(i) for i in np.argsort(-counts, kind="stable") if counts[i])
    words = [i for i in order if (tokenizer.backend.id_to_token(i) or "").strip("Ġ▁").isalpha()]
    return words[:WORDS]


def gap_questions(
    pool: DocumentPool, collator: Collator, common: Sequence[int], rng: np.random.Generator, room: int
) -> list[ProbeQuestion]:
    """GAPS texts of at most *room* tokens, each with one of the common words removed; fewer if TRIES draws of each give
    no such text."""
    questions: list[ProbeQuestion] = []
    for _ in range(TRIES):
        left = GAPS - len(questions)
        drawn = pool.examples(rng, np.full(left, Kind.TEXT), np.full(left, room))
        for ids, _ in drawn.segments():
            question = gap_question(ids.tolist(), collator, common, rng)
            if question:
                questions.append(question)
    return questions


def gap_question(
    ids: list[int], collator: Collator, common: Sequence[int], rng: np.random.Generator
) -> ProbeQuestion | None:
    """*ids* without one of its common words; None if it has none but at its ends."""
    positions = [i for i in range(1, len(ids) - 1) if ids[i] in common]
    if not positions:
        return None
    position = positions[int(rng.integers(len(positions)))]
    without_word = [collator.cls_id, *ids[:position], *ids[position + 1 :], collator.sep_id]
    item = Item(without_word, [0] * len(without_word))
    return ProbeQuestion(item, at=(position, position + 1), label=common.index(ids[position]))


def pair_questions(pool: DocumentPool, collator: Collator, rng: np.random.Generator, room: int) -> list[ProbeQuestion]:
    """PAIRS pairs of at most *room* tokens, half of them true; none if there are not two documents with a boundary."""
    if pool.with_boundary < 2:
        return []
    drawn = pool.examples(rng, np.resize([Kind.NEXT, Kind.OTHER], PAIRS), np.full(PAIRS, room))
    questions = []
    for (first, second), label in zip(drawn.segments(), drawn.labels, strict=True):
        ids = [collator.cls_id, *first.tolist(), collator.sep_id, *second.tolist(), collator.sep_id]
        segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
        ends = (len(first) + 1, len(ids) - 1)  # the [SEP] after each
        questions.append(ProbeQuestion(Item(ids, segments), at=ends, label=int(label == FOLLOWS)))
    return questions


def evaluate_probe(
    probe: Probe, encoder: nn.Module, tokenizer: Tokenizer, device: torch.device, *, causal: bool
) -> dict[str, float]:
    """Accuracies from 0 to 1: "probe_words", "probe_follows" and their mean, "probe", as far as there are questions.
    *causal*: whether the encoder attends to the left only. The encoder's mode is preserved."""
    change = CAUSAL if causal else NO_CHANGE
    was_training = encoder.training
    encoder.eval()
    try:
        accuracies = {}
        for name, (train, test) in (("words", probe.gaps), ("follows", probe.pairs)):
            if len({question.label for question in train}) > 1 and test:
                train_vectors = probe_vectors(encoder, tokenizer, train, name, device, change)
                test_vectors = probe_vectors(encoder, tokenizer, test, name, device, change)
                accuracies[f"probe_{name}"] = probe_accuracy(train_vectors, test_vectors, train, test)
    finally:
        encoder.train(was_training)
    if accuracies:
        accuracies["probe"] = float(np.mean(list(accuracies.values())))
    return accuracies


@torch.no_grad()
def probe_vectors(
    encoder: nn.Module,
    tokenizer: Tokenizer,
    questions: Sequence[ProbeQuestion],
    kind: str,
    device: torch.device,
    change: Intervention,
) -> Vectors:
    """A row per question: of the *kind* "words" the vectors on both sides of the gap; of "follows" the means of both
    segments, their difference and product."""
    items = [question.item for question in questions]
    rows: list[Vectors] = [np.zeros(0, np.float32)] * len(items)
    for indices in texts.by_length(items):
        batch = texts.pad([items[i] for i in indices], tokenizer.pad_id, torch.zeros(len(indices))).to(device)
        last = texts.forward(encoder, batch.ids, batch.segments, batch.mask, change).float().cpu().numpy()
        for row, index in enumerate(indices):
            left, right = questions[index].at
            if kind == "words":
                rows[index] = np.concatenate([last[row, left], last[row, right]])
            else:
                a, b = last[row, 1:left].mean(axis=0), last[row, left + 1 : right].mean(axis=0)
                rows[index] = np.concatenate([a, b, np.abs(a - b), a * b])
    return np.stack(rows)


def probe_accuracy(
    train_vectors: Vectors, test_vectors: Vectors, train: Sequence[ProbeQuestion], test: Sequence[ProbeQuestion]
) -> float:
    """Fit a logistic regression on the first set; return its accuracy on the second."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=300))
    model.fit(train_vectors, [question.label for question in train])
    return float(model.score(test_vectors, [question.label for question in test]))

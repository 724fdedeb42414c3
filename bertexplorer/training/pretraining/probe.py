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
from bertexplorer.model.forward import NO_CHANGE, Intervention
from bertexplorer.model.text import Tokenizer
from bertexplorer.training import texts
from bertexplorer.training.pretraining.batches import Collator
from bertexplorer.training.pretraining.corpus import Shard
from bertexplorer.training.pretraining.pool import FOLLOWS, Kind, Pool
from bertexplorer.training.texts import Item

SEED = 2019
WORDS, GAPS, PAIRS = 8, 1500, 500  # of each half
ROOM, PAIR_ROOM = 32, 60  # tokens
TRIES = 40
Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Question:
    """One input. *at*: the two positions, or segments, whose vectors are used; *label*: the answer."""

    item: Item
    at: tuple[int, int]
    label: int


@dataclass(frozen=True)
class Probe:
    """Questions to fit and to evaluate; none if the held-out text is too small for them."""

    gaps: tuple[list[Question], list[Question]]
    pairs: tuple[list[Question], list[Question]]
    words: tuple[str, ...]  # ids of the words that are removed


def fix(
    shards: Sequence[Shard], held: Sequence[NDArray[np.bool_]], tokenizer: Tokenizer, *, longest: int = PAIR_ROOM
) -> Probe:
    """Draw the questions, of at most *longest* tokens. They depend only on the held-out documents and the
    vocabulary."""
    collator = Collator.of(tokenizer, Masking())
    common = commonest(shards, held, tokenizer)
    gaps: list[list[Question]] = []
    pairs: list[list[Question]] = []
    for half in (0, 1):
        own = [every_other(documents, half) for documents in held]
        draw = np.random.default_rng([SEED, half])
        gaps.append([])
        pairs.append([])
        if any(mine.any() for mine in own):
            pool = Pool(shards, [1.0] * len(shards), own)
            gaps[-1] = gap_questions(pool, collator, common, draw, min(ROOM, longest - 2))
            pairs[-1] = pair_questions(pool, collator, draw, min(PAIR_ROOM, longest) - 3)
    spelt = tuple(tokenizer.whole.id_to_token(i) or "" for i in common)
    return Probe((gaps[0], gaps[1]), (pairs[0], pairs[1]), spelt)


def every_other(documents: NDArray[np.bool_], half: int) -> NDArray[np.bool_]:
    """The held-out documents with an even or odd index."""
    mine = np.zeros_like(documents)
    mine[np.flatnonzero(documents)[half::2]] = True
    return mine


def commonest(shards: Sequence[Shard], held: Sequence[NDArray[np.bool_]], tokenizer: Tokenizer) -> list[int]:
    """The ids of the WORDS most frequent tokens of the held-out text that are whole words of letters."""
    counts = np.zeros(tokenizer.vocab_size)
    for shard, out in zip(shards, held, strict=True):
        for document in np.flatnonzero(out):
            begin, end = shard.sentences[shard.documents[document : document + 2]]
            counts += np.bincount(shard.ids[begin:end], minlength=len(counts))
    order = (int(i) for i in np.argsort(-counts, kind="stable") if counts[i])
    words = [i for i in order if (tokenizer.whole.id_to_token(i) or "").strip("Ġ▁").isalpha()]
    return words[:WORDS]


def gap_questions(
    pool: Pool, collator: Collator, common: Sequence[int], draw: np.random.Generator, room: int
) -> list[Question]:
    """GAPS texts of at most *room* tokens, each with one of the common words removed; fewer if TRIES draws of each give
    no such text."""
    questions: list[Question] = []
    for _ in range(TRIES):
        left = GAPS - len(questions)
        drawn = pool.examples(draw, np.full(left, Kind.TEXT), np.full(left, room))
        questions += [q for ids, _ in drawn.segments() if (q := gap(ids.tolist(), collator, common, draw))]
    return questions


def gap(ids: list[int], collator: Collator, common: Sequence[int], draw: np.random.Generator) -> Question | None:
    """*ids* without one of its common words; None if it has none but at its ends."""
    positions = [i for i in range(1, len(ids) - 1) if ids[i] in common]
    if not positions:
        return None
    at = positions[int(draw.integers(len(positions)))]
    rest = [collator.cls_id, *ids[:at], *ids[at + 1 :], collator.sep_id]
    return Question(Item(rest, [0] * len(rest)), (at, at + 1), common.index(ids[at]))


def pair_questions(pool: Pool, collator: Collator, draw: np.random.Generator, room: int) -> list[Question]:
    """PAIRS pairs of at most *room* tokens, half of them true; none if there are not two documents with a boundary."""
    if pool.with_boundary < 2:
        return []
    drawn = pool.examples(draw, np.resize([Kind.NEXT, Kind.OTHER], PAIRS), np.full(PAIRS, room))
    questions = []
    for (first, second), label in zip(drawn.segments(), drawn.labels, strict=True):
        ids = [collator.cls_id, *first.tolist(), collator.sep_id, *second.tolist(), collator.sep_id]
        segments = [0] * (len(first) + 2) + [1] * (len(second) + 1)
        questions.append(Question(Item(ids, segments), (len(first) + 1, len(ids) - 1), int(label == FOLLOWS)))
    return questions


def measure(
    probe: Probe, encoder: nn.Module, tokenizer: Tokenizer, device: torch.device, *, causal: bool
) -> dict[str, float]:
    """Accuracies from 0 to 1: "probe_words", "probe_follows" and their mean, "probe". *causal*: whether the encoder
    attends to the left only. The encoder's mode is preserved."""
    change = Intervention(causal=True) if causal else NO_CHANGE
    was = encoder.training
    encoder.eval()
    try:
        found = {}
        for name, (learnt, asked) in (("words", probe.gaps), ("follows", probe.pairs)):
            if len({question.label for question in learnt}) > 1 and asked:
                known, new = (vectors(encoder, tokenizer, half, name, device, change) for half in (learnt, asked))
                found[f"probe_{name}"] = fitted(known, new, learnt, asked)
    finally:
        encoder.train(was)
    return found | ({"probe": float(np.mean(list(found.values())))} if found else {})


@torch.no_grad()
def vectors(
    encoder: nn.Module,
    tokenizer: Tokenizer,
    questions: Sequence[Question],
    kind: str,
    device: torch.device,
    change: Intervention,
) -> Vectors:
    """A row per question: the vectors on both sides of the gap; or the means of both segments, their difference and
    product."""
    items = [question.item for question in questions]
    rows: list[Vectors] = [np.zeros(0, np.float32)] * len(items)
    for places in texts.by_length(items):
        batch = texts.pad([items[i] for i in places], tokenizer.pad_id, torch.zeros(len(places))).to(device)
        last = texts.forward(encoder, batch.ids, batch.segments, batch.mask, change).float().cpu().numpy()
        for row, place in enumerate(places):
            left, right = questions[place].at
            if kind == "words":
                rows[place] = np.concatenate([last[row, left], last[row, right]])
            else:
                a, b = last[row, 1:left].mean(axis=0), last[row, left + 1 : right].mean(axis=0)
                rows[place] = np.concatenate([a, b, np.abs(a - b), a * b])
    return np.stack(rows)


def fitted(known: Vectors, new: Vectors, learnt: Sequence[Question], asked: Sequence[Question]) -> float:
    """Fit a logistic regression on the first set; return its accuracy on the second."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=300))
    model.fit(known, [question.label for question in learnt])
    return float(model.score(new, [question.label for question in asked]))

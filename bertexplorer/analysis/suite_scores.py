"""Scores of a suite's cases: the passes that each kind takes, and what counts as right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, partial
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis.pseudo_likelihood import hide
from bertexplorer.analysis.suite_cases import MASK, Case, Kind, Unfit, Unusable
from bertexplorer.analysis.suite_readers import LabelReader, MaskReader, Reader
from bertexplorer.analysis.words import MAX_PIECES, pieces_at, pieces_log_probs
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

T = TypeVar("T")
Row = Float[np.ndarray, " a"]  # log-probabilities of the answers, in nats
Scoring = Literal["the whole sentence", "the differing piece"]
CHUNK = 128  # cases whose passes share batches
Spot = tuple[int, tuple[int, ...]]  # a position to score, and the positions that are hidden for it
Plan = tuple[tuple[Encoding, list[Spot]], ...]  # each text of a pair, and what to score of it


@dataclass(frozen=True)
class Outcome:
    """What the checkpoint makes of a case. *score*: nats. For pairs, log p of the first text minus that of the second;
    for a cloze, log p of the best accepted answer; for next sentence, the log-odds that B is next; for invariance, the
    change of log p that least agrees with what was expected."""

    case: Case
    right: bool
    score: float
    said: str  # the checkpoint's own answer
    rank: int | None = None  # of the best accepted answer, 1 is the most probable; None where words are not ranked
    baseline: float | None = None  # 1 if word frequency alone is right, 0 if not, 0.5 if it has to guess


class Scorer:
    """Scores cases of one kind with one checkpoint. Raises ExplorerError if it lacks the head that the kind needs."""

    def __init__(self, checkpoint: Checkpoint, kind: Kind, scoring: Scoring) -> None:
        self.checkpoint, self.kind, self.scoring = checkpoint, kind, scoring
        self.tokenizer = checkpoint.tokenizer
        if kind == "next sentence":
            _ = checkpoint.next_sentence
        elif kind == "labels":
            LabelReader(checkpoint)

    @cached_property
    def mask(self) -> MaskReader:
        return MaskReader(self.checkpoint)

    @cached_property
    def prior(self) -> Float[np.ndarray, " v"]:
        """log p of each piece, in nats, at a mask with no words around it: how frequent the checkpoint takes it to
        be."""
        return self.mask.rows([self.tokenizer.encode(Text(self.tokenizer.mask_token))])[0]

    def outcomes(self, cases: Sequence[Case]) -> Iterator[Outcome | Unusable]:
        """One for each of *cases*, in their order; Unusable where the checkpoint cannot score it."""
        for start in range(0, len(cases), CHUNK):
            chunk = cases[start : start + CHUNK]
            found = READERS[self.kind](self, chunk)
            yield from (found[i] for i in range(len(chunk)))

    def cost(self, case: Case) -> int:
        """About how many tokens *case* sends through the encoder."""
        try:
            sizes = [len(self.tokenizer.encode(Text(text))) for text in case.texts]
        except ExplorerError:  # its row will be named
            return 0
        if "pairs" not in self.kind or self.scoring == "the differing piece":
            return sum(sizes)
        return sum(size * (size - 2) for size in sizes)

    def guess(self, cases: Sequence[Case]) -> float | None:
        """The share of *cases* that guessing gets right; None where there is nothing to guess."""
        if self.kind == "cloze":
            return sum(len(case.answers) for case in cases) / max(1, len(cases)) / self.tokenizer.vocab_size
        if self.kind == "labels":
            return 1 / len(self.checkpoint.labels)
        return None if self.kind == "invariance" else 0.5

    def encode(self, *texts: str) -> Encoding:
        """Raises Unfit for a text that the checkpoint cannot read as a whole."""
        found = self.tokenizer.encode(Text(texts[0], texts[1] if len(texts) > 1 else ""))
        if found.left_out:
            limit = self.tokenizer.max_tokens
            raise Unfit(f"has {len(found) + found.left_out:,} tokens; the checkpoint reads {limit:,}")
        odd = zip(found.special, found.spans, found.ids, strict=True)
        if any(special and span and token != found.mask_id for special, span, token in odd):
            raise Unfit("has a character outside the vocabulary")
        return found

    # Two texts.

    def pairs(self, cases: Sequence[Case]) -> dict[int, Outcome | Unusable]:
        """Two texts each, by the pseudo-log-likelihood of all tokens (Salazar et al., 2020; with the correction of
        Kauf and Ivanova, 2023), of the tokens that both share (Nangia et al., 2020, for stereotypes), or by the piece
        in which they differ."""
        plans, unusable = usable(cases, self.plan)
        asked = [(one, spot) for plan in plans.values() for one, spots in plan for spot in spots]
        logs = iter(token_log_probs(self.checkpoint, asked))
        found: dict[int, Outcome | Unusable] = dict(unusable)
        for i, plan in plans.items():
            first, second = (sum(float(next(logs)) for _ in spots) for _, spots in plan)
            best = first > second
            said = cases[i].texts[not best]
            found[i] = Outcome(cases[i], best, first - second, said, baseline=self.frequency(plan))
        return found

    def plan(self, case: Case) -> Plan:
        one, other = (self.encode(text) for text in case.texts)
        if one.ids == other.ids:
            raise Unfit("has two sentences that are the same tokens to this checkpoint")
        if self.kind == "stereotype pairs":
            blocks = SequenceMatcher(None, one.ids, other.ids, autojunk=False).get_matching_blocks()
            shared = [{b[side] + i for b in blocks for i in range(b.size)} for side in (0, 1)]
            return tuple((e, alone(here & set(scored(e)))) for e, here in zip((one, other), shared, strict=True))
        if self.scoring == "the differing piece":
            differ = [i for i, (a, b) in enumerate(zip(one.ids, other.ids, strict=False)) if a != b]
            if len(one) != len(other) or len(differ) != 1:
                raise Unfit("does not differ in one piece alone, so only whole sentences can be compared")
            return (one, alone(differ)), (other, alone(differ))
        return tuple((e, [(i, tuple(hide(e, i, "the rest of its word too"))) for i in scored(e)]) for e in (one, other))

    def frequency(self, plan: Plan) -> float:
        """1 if the first text has the more frequent pieces, 0 if the second, 0.5 if both are equal."""
        first, second = (sorted(self.prior[[one.ids[i] for i in scored(one)]]) for one, _ in plan)
        return 0.5 if first == second else float(sum(first) > sum(second))

    # One answer for a text.

    def cloze(self, cases: Sequence[Case]) -> dict[int, Outcome | Unusable]:
        read, unusable = self.read(self.mask, cases, lambda case: case.texts)
        found, beyond = usable(cases, lambda case: self.answered(case, *read[case][0]), where=read)
        return {**unusable, **beyond, **found}

    def answered(self, case: Case, encoding: Encoding, row: Row) -> Outcome:
        """The best accepted word. One of several pieces is scored jointly, from left to right, and is right if each
        piece in turn is the most probable; it has no rank, as words of several pieces are not among the answers."""
        tried: list[tuple[bool, float, int | None]] = []
        spot, size = encoding.masked[0], self.tokenizer.vocab_size
        for word in case.answers:
            ids = pieces_at(self.checkpoint, encoding, spot, word)
            if len(ids) > MAX_PIECES:
                raise Unfit(f"has the answer {word!r:.40} of {len(ids)} pieces; the limit is {MAX_PIECES}")
            joint = [] if len(ids) == 1 else pieces_log_probs(self.checkpoint, encoding, spot, ids)
            steps = [row] if len(ids) == 1 else [np.asarray(step[:size].numpy(), dtype=np.float64) for step in joint]
            ranks = [rank_of(step, token) for step, token in zip(steps, ids, strict=True)]
            score = sum(float(step[token]) for step, token in zip(steps, ids, strict=True))
            tried.append((max(ranks) == 1, score, ranks[0] if len(ids) == 1 else None))
        right, score, rank = max(tried, key=lambda one: one[:2])
        frequent = float(self.tokenizer.show(int(self.prior.argmax())) in case.answers)
        return Outcome(case, right, score, self.mask.name(int(row.argmax())), rank, frequent)

    def labels(self, cases: Sequence[Case]) -> dict[int, Outcome | Unusable]:
        """The label of a fine-tuned head."""
        reader = LabelReader(self.checkpoint)
        pairs, unusable = usable(cases, lambda case: self.encode(*case.texts))
        rows = dict(zip(pairs, reader.rows(list(pairs.values())), strict=True))
        indices, unknown = usable(cases, lambda case: reader.index(case.answers[0], pairs[cases.index(case)]))
        found: dict[int, Outcome | Unusable] = {**unknown, **unusable}
        for i, row in rows.items():
            if i in indices:
                rank = rank_of(row, indices[i])
                said = reader.name(int(row.argmax()))
                found[i] = Outcome(cases[i], rank == 1, float(row[indices[i]]), said, rank)
        return found

    def invariance(self, cases: Sequence[Case]) -> dict[int, Outcome | Unusable]:
        """Templates with a mask are read there, those without at the labels of a fine-tuned head."""
        found: dict[Case, Outcome | Unusable] = {}
        for masked in (True, False):
            some = [case for case in cases if (MASK in case.texts[0]) == masked]
            if not some:
                continue
            try:
                reader: Reader = self.mask if masked else LabelReader(self.checkpoint)
            except ExplorerError as error:
                found |= {case: Unusable(case.line, f"cannot be answered: {error}") for case in some}
                continue
            read, unusable = self.read(reader, some, lambda case: case.texts)
            changed, beyond = usable(some, partial(self.changed, reader, read), where=read)
            for given in (unusable, beyond, changed):
                found |= {some[i]: one for i, one in given.items()}
        return {i: found[case] for i, case in enumerate(cases)}

    def changed(self, reader: Reader, read: Mapping[Case, list[tuple[Encoding, Row]]], case: Case) -> Outcome:
        """How the answer to the first filling of a template fares in the others (Ribeiro et al., 2020)."""
        (encoding, row), *others = read[case]
        tops = [int(one.argmax()) for _, one in read[case]]
        watched = reader.index(case.answers[0], encoding) if case.answers else tops[0]
        rises = [float(other[watched] - row[watched]) for _, other in others]
        said = " / ".join(dict.fromkeys(map(reader.name, tops)))
        if case.expected == "same":
            return Outcome(case, len(set(tops)) == 1, -max(map(abs, rises)), said)
        least = min(rises) if case.expected == "higher" else -max(rises)
        return Outcome(case, least > 0, least, said)

    def read(
        self, reader: Reader, cases: Sequence[Case], texts: Callable[[Case], Sequence[str]]
    ) -> tuple[dict[Case, list[tuple[Encoding, Row]]], dict[int, Unusable]]:
        """({case: the encoding and the answers of each of its texts}, those that cannot be read)."""

        def encode(case: Case) -> list[Encoding]:
            found = [self.encode(text) for text in texts(case)]
            for one in found:
                reader.check(one)
            return found

        held, unusable = usable(cases, encode)
        every = [one for found in held.values() for one in found]
        rows = iter(reader.rows(every))
        return {cases[i]: [(one, next(rows)) for one in found] for i, found in held.items()}, unusable

    # A pair read together.

    def next_sentence(self, cases: Sequence[Case]) -> dict[int, Outcome | Unusable]:
        pairs, unusable = usable(cases, lambda case: self.encode(*case.texts))
        found: dict[int, Outcome | Unusable] = dict(unusable)
        logits = engine.next_sentence_logits(self.checkpoint, list(pairs.values())).double().tolist()
        for i, (is_next, not_next) in zip(pairs, logits, strict=True):
            said = "next" if is_next > not_next else "not next"
            found[i] = Outcome(cases[i], said == cases[i].answers[0], is_next - not_next, said)
        return found


READERS: dict[Kind, Callable[[Scorer, Sequence[Case]], dict[int, Outcome | Unusable]]] = {
    "minimal pairs": Scorer.pairs,
    "stereotype pairs": Scorer.pairs,
    "cloze": Scorer.cloze,
    "invariance": Scorer.invariance,
    "next sentence": Scorer.next_sentence,
    "labels": Scorer.labels,
}


def usable(
    cases: Sequence[Case], read: Callable[[Case], T], where: object = None
) -> tuple[dict[int, T], dict[int, Unusable]]:
    """({index of a case: what *read* makes of it}, {index: why nothing}). *where*: only the cases in it."""
    found: dict[int, T] = {}
    unusable: dict[int, Unusable] = {}
    for i, case in enumerate(cases):
        if where is not None and case not in where:  # type: ignore[operator]
            continue
        try:
            found[i] = read(case)
        except (Unfit, ExplorerError) as error:
            unusable[i] = Unusable(case.line, str(error))
    return found, unusable


def rank_of(row: Row, index: int) -> int:
    """The rank of an answer; 1 is the most probable."""
    return 1 + int((row > row[index]).sum())


def scored(encoding: Encoding) -> list[int]:
    """The positions that a pseudo-likelihood counts: all but special tokens and masks."""
    return [i for i, odd in enumerate(encoding.special) if not odd and encoding.ids[i] != encoding.mask_id]


def alone(positions: Sequence[int] | set[int]) -> list[Spot]:
    """Spots that hide nothing but themselves."""
    return [(i, (i,)) for i in sorted(positions)]


def token_log_probs(checkpoint: Checkpoint, asked: Sequence[tuple[Encoding, Spot]]) -> Float[np.ndarray, " n"]:
    """log p, in nats, of the token at each spot with the spot's positions hidden. A pass that several spots share, such
    as that of the differing word of a minimal pair, runs once. Passes of one length with their mask in one place share
    a batch, so that nothing is padded and the last layer computes that place only."""
    passes: dict[tuple[int, int, tuple[int, ...]], Encoding] = {}
    keys = []
    for one, (spot, hidden) in asked:
        blank = one.with_ids(dict.fromkeys(hidden, one.mask_id))
        keys.append((len(blank), spot, blank.ids))
        passes.setdefault(keys[-1], blank)
    order = sorted(passes)
    rows = engine.masked_log_probs(checkpoint, [passes[key] for key in order], positions=[[key[1]] for key in order])
    wanted: dict[tuple[int, int, tuple[int, ...]], list[int]] = {}
    for i, key in enumerate(keys):
        wanted.setdefault(key, []).append(i)
    out = np.zeros(len(asked))
    for key, row in zip(order, rows, strict=True):
        for i in wanted[key]:
            one, (spot, _) = asked[i]
            out[i] = float(row[0, one.ids[spot]])
    return out

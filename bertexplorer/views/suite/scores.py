"""Scores of a suite's cases: the passes of each kind of case, and when its answer is right."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.hidden_tokens import (
    Spot,
    positions_to_hide,
    scored_positions,
    single_spots,
    token_log_probs,
)
from bertexplorer.answers.word_scores import MAX_PIECES, piece_ids, pieces_log_probs
from bertexplorer.errors import ExplorerError, first_clause
from bertexplorer.model.text import Encoding, Text
from bertexplorer.training.data.rows import RowProblem, UnusableRow
from bertexplorer.views.suite.cases import DIRECTIONS, MASK, Case, Kind
from bertexplorer.views.suite.readers import LabelReader, LogProbs, MaskReader, Reader

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

T = TypeVar("T")
Scoring = Literal["the whole sentence", "the differing piece"]
CHUNK = 128  # cases whose passes share batches
Plan = tuple[tuple[Encoding, list[Spot]], ...]  # each text of a pair, and what to score of it


@dataclass(frozen=True)
class CaseOutcome:
    """The result of one case. *score*: nats. For pairs, log p of the first text minus that of the second;
    for a cloze, log p of the best accepted answer; for next sentence, the log-odds that B is next; for invariance, the
    change of log p that least agrees with what was expected."""

    case: Case
    right: bool
    score: float
    said: str  # the checkpoint's own answer
    rank: int | None = None  # of the best answer of one piece, 1 is the most probable; None where there is none
    baseline: float | None = None  # 1 if word frequency alone is right, 0 if not, 0.5 if it has to guess
    unscored: int = 0  # accepted words of a cloze that the checkpoint cannot score


class WordScore(NamedTuple):
    """How an accepted word of a cloze does at the mask."""

    right: bool
    score: float  # log p in nats
    rank: int | None  # 1 is the most probable; None for a word of several pieces


class Scorer:
    """Scores cases of one kind with one checkpoint. Raises ExplorerError if it lacks the head that the kind needs."""

    def __init__(self, checkpoint: Checkpoint, kind: Kind, scoring: Scoring) -> None:
        self.checkpoint = checkpoint
        self.kind = kind
        self.scoring = scoring
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

    def outcomes(self, cases: Sequence[Case]) -> Iterator[CaseOutcome | RowProblem]:
        """One for each of *cases*, in their order; a RowProblem where the checkpoint cannot score it."""
        for start in range(0, len(cases), CHUNK):
            chunk = cases[start : start + CHUNK]
            results = SCORERS[self.kind](self, chunk)
            yield from (results[i] for i in range(len(chunk)))

    def cost(self, case: Case) -> int:
        """About how many tokens *case* sends through the encoder."""
        try:
            sizes = [len(self.tokenizer.encode(Text(text))) for text in case.texts]
        except ExplorerError:  # `outcomes` will report the row
            return 0
        if "pairs" not in self.kind or self.scoring == "the differing piece":
            return sum(sizes)
        return sum(size * (size - 2) for size in sizes)

    def guess(self, cases: Sequence[Case]) -> float | None:
        """The share of *cases* that guessing gets right; None where there is nothing to guess."""
        count = max(1, len(cases))
        if self.kind == "cloze":
            return sum(len(case.answers) for case in cases) / count / self.tokenizer.vocab_size
        if self.kind == "labels":
            return 1 / len(self.checkpoint.labels)
        if self.kind == "invariance":
            if any(case.expected == "same" for case in cases):
                return None
            # by chance, the first of n fillings is the lowest, or the highest, once in n
            return sum(1 / len(case.texts) for case in cases) / count
        return 0.5

    def encode(self, first: str, second: str = "") -> Encoding:
        """The tokens of one text, or of two. Raises UnusableRow for a text that the checkpoint cannot read as a
        whole."""
        encoding = self.tokenizer.encode(Text(first, second))
        if encoding.left_out:
            limit = self.tokenizer.max_tokens
            raise UnusableRow(f"has {len(encoding) + encoding.left_out:,} tokens; the checkpoint reads {limit:,}")
        for special, span, token in zip(encoding.special, encoding.spans, encoding.ids, strict=True):
            is_typed = span is not None  # unlike [CLS] and [SEP]
            if special and is_typed and token != encoding.mask_id:
                raise UnusableRow("has a character outside the vocabulary")
        return encoding

    # Two texts.

    def pairs(self, cases: Sequence[Case]) -> dict[int, CaseOutcome | RowProblem]:
        """Two texts each, by the pseudo-log-likelihood of all tokens (Salazar et al., 2020; with the correction of
        Kauf and Ivanova, 2023), of the tokens that both share (Nangia et al., 2020, for stereotypes), or by the piece
        in which they differ."""
        plans, unusable = read_usable(cases, self.plan)
        spots_to_score = []
        for plan in plans.values():
            for encoding, spots in plan:
                spots_to_score += [(encoding, spot) for spot in spots]
        log_probs = iter(token_log_probs(self.checkpoint, spots_to_score))
        results: dict[int, CaseOutcome | RowProblem] = dict(unusable)
        for i, plan in plans.items():
            totals = []  # of the two texts
            for _, spots in plan:
                totals.append(sum(float(next(log_probs)) for _ in spots))
            first, second = totals
            prefers_first = first > second
            results[i] = CaseOutcome(
                case=cases[i],
                right=prefers_first,
                score=first - second,
                said=cases[i].texts[0 if prefers_first else 1],
                baseline=self.frequency(plan),
            )
        return results

    def plan(self, case: Case) -> Plan:
        """What to score of the two texts of *case*. Raises UnusableRow if they cannot be compared."""
        first, second = (self.encode(text) for text in case.texts)
        if first.ids == second.ids:
            raise UnusableRow("has two sentences that are the same tokens to this checkpoint")

        if self.kind == "stereotype pairs":
            matcher = SequenceMatcher(None, first.ids, second.ids, autojunk=False)
            scored_first = set(scored_positions(first))
            scored_second = set(scored_positions(second))
            shared_first = set[int]()
            shared_second = set[int]()
            for i, j, size in matcher.get_matching_blocks():
                shared_first |= scored_first & set(range(i, i + size))
                shared_second |= scored_second & set(range(j, j + size))
            if not shared_first or not shared_second:
                raise UnusableRow("has two sentences that share no token, and only shared ones are scored")
            return (first, single_spots(shared_first)), (second, single_spots(shared_second))

        if self.scoring == "the differing piece":
            differing = [i for i, (a, b) in enumerate(zip(first.ids, second.ids, strict=False)) if a != b]
            if len(first) != len(second) or len(differing) != 1:
                raise UnusableRow("does not differ in one piece alone, so only whole sentences can be compared")
            return (first, single_spots(differing)), (second, single_spots(differing))

        plan = []
        for encoding in (first, second):
            spots = []
            for i in scored_positions(encoding):
                spots.append((i, tuple(positions_to_hide(encoding, i, "the rest of its word too"))))
            plan.append((encoding, spots))
        return tuple(plan)

    def frequency(self, plan: Plan) -> float:
        """1 if the first text has the more frequent pieces, 0 if the second, 0.5 if both are equal."""
        priors = []
        for encoding, _ in plan:
            ids = [encoding.ids[i] for i in scored_positions(encoding)]
            priors.append(sorted(self.prior[ids]))
        first, second = priors
        return 0.5 if first == second else float(sum(first) > sum(second))

    # One answer for a text.

    def cloze(self, cases: Sequence[Case]) -> dict[int, CaseOutcome | RowProblem]:
        """The accepted words at the mask of a text."""
        answers, unusable = self.read(self.mask, cases)

        def score(case: Case) -> CaseOutcome:
            [(encoding, row)] = answers[case]
            return self.score_cloze(case, encoding, row)

        outcomes, unscored = read_usable(cases, score, only=answers)
        return {**unusable, **unscored, **outcomes}

    def score_cloze(self, case: Case, encoding: Encoding, row: LogProbs) -> CaseOutcome:
        """The best of the accepted words that the checkpoint can score. Raises UnusableRow or ExplorerError if it can
        score none. *row*: what the checkpoint answers at the mask."""
        scored: list[WordScore] = []
        problems: list[UnusableRow | ExplorerError] = []
        for word in case.answers:
            try:
                scored.append(self.score_word(encoding, row, word))
            except (UnusableRow, ExplorerError) as error:
                problems.append(error)
        if not scored:
            raise problems[0]
        most_frequent = self.tokenizer.show(int(self.prior.argmax()))
        return CaseOutcome(
            case=case,
            right=any(word.right for word in scored),
            score=max(word.score for word in scored),
            said=self.mask.name(int(row.argmax()), encoding),
            rank=min((word.rank for word in scored if word.rank), default=None),
            baseline=float(most_frequent in case.answers),
            unscored=len(problems),
        )

    def score_word(self, encoding: Encoding, row: LogProbs, word: str) -> WordScore:
        """The score of a word. One of several pieces is scored jointly, from left to right, and is right if each piece
        in turn is the most probable; it has no rank, as it is not among the answers of one mask. Raises UnusableRow for
        a word of more than MAX_PIECES."""
        position = encoding.masked[0]
        ids = piece_ids(self.checkpoint, encoding, position, word)
        if len(ids) > MAX_PIECES:
            raise UnusableRow(f"has the answer {word!r:.40} of {len(ids)} pieces; the limit is {MAX_PIECES}")
        if len(ids) == 1:
            rank = rank_of(row, ids[0])
            return WordScore(right=rank == 1, score=float(row[ids[0]]), rank=rank)
        score = 0.0
        is_right = True
        steps = pieces_log_probs(self.checkpoint, encoding, position, ids)
        for step, token in zip(steps, ids, strict=True):
            log_probs = np.asarray(step[: self.tokenizer.vocab_size].numpy(), dtype=np.float64)
            score += float(log_probs[token])
            is_right = is_right and rank_of(log_probs, token) == 1
        return WordScore(is_right, score, rank=None)

    def labels(self, cases: Sequence[Case]) -> dict[int, CaseOutcome | RowProblem]:
        """The label of a fine-tuned head."""
        reader = LabelReader(self.checkpoint)

        def read(case: Case) -> tuple[Encoding, int]:
            encoding = self.encode(*case.texts)
            return encoding, reader.index(case.answers[0], encoding)

        golds, unusable = read_usable(cases, read)
        rows = reader.rows([encoding for encoding, _ in golds.values()])
        results: dict[int, CaseOutcome | RowProblem] = dict(unusable)
        for (i, (encoding, gold)), row in zip(golds.items(), rows, strict=True):
            rank = rank_of(row, gold)
            answer = reader.name(int(row.argmax()), encoding)
            results[i] = CaseOutcome(cases[i], right=rank == 1, score=float(row[gold]), said=answer, rank=rank)
        return results

    def invariance(self, cases: Sequence[Case]) -> dict[int, CaseOutcome | RowProblem]:
        """Templates with a mask are scored by the MLM head, those without by the labels of a fine-tuned head."""
        results: dict[Case, CaseOutcome | RowProblem] = {}
        for masked in (True, False):
            same_kind = [case for case in cases if (MASK in case.texts[0]) == masked]
            if not same_kind:
                continue
            try:
                reader: Reader = self.mask if masked else LabelReader(self.checkpoint)
            except ExplorerError as error:
                why = f"cannot be answered: {first_clause(error)}"
                results |= {case: RowProblem(case.line, why) for case in same_kind}
                continue
            answers, unusable = self.read(reader, same_kind)
            scored, unscored = read_usable(same_kind, partial(self.score_invariance, reader, answers), only=answers)
            results_by_index: dict[int, CaseOutcome | RowProblem] = {**unusable, **unscored, **scored}
            results |= {same_kind[i]: result for i, result in results_by_index.items()}
        return {i: results[case] for i, case in enumerate(cases)}

    def score_invariance(
        self, reader: Reader, read: Mapping[Case, list[tuple[Encoding, LogProbs]]], case: Case
    ) -> CaseOutcome:
        """How the answer to the first filling of a template changes in the others (Ribeiro et al., 2020)."""
        (encoding, row), *others = read[case]
        tops = [int(filling_row.argmax()) for _, filling_row in read[case]]
        watched = reader.index(case.answers[0], encoding) if case.answers else tops[0]
        rises = [float(other_row[watched] - row[watched]) for _, other_row in others]
        answer = " / ".join(dict.fromkeys(reader.name(top, encoding) for top in tops))
        if case.expected == "same":
            return CaseOutcome(case, right=len(set(tops)) == 1, score=-max(map(abs, rises)), said=answer)
        least = min(rises) if case.expected == "higher" else -max(rises)
        return CaseOutcome(case, right=least > 0, score=least, said=answer)

    def read(
        self, reader: Reader, cases: Sequence[Case]
    ) -> tuple[dict[Case, list[tuple[Encoding, LogProbs]]], dict[int, RowProblem]]:
        """({case: the encoding and the answers of each of its texts}, those that cannot be read)."""

        def encode(case: Case) -> list[Encoding]:
            encodings = [self.encode(text) for text in case.texts]
            if case.expected in DIRECTIONS and len({encoding.ids for encoding in encodings}) < len(encodings):
                raise UnusableRow("has two fillings that are the same tokens to this checkpoint")
            for encoding in encodings:
                reader.check(encoding)
            return encodings

        readable, unusable = read_usable(cases, encode)
        rows = iter(reader.rows(list(chain.from_iterable(readable.values()))))
        answers = {}
        for i, encodings in readable.items():
            answers[cases[i]] = [(encoding, next(rows)) for encoding in encodings]
        return answers, unusable

    # A pair read together.

    def next_sentence(self, cases: Sequence[Case]) -> dict[int, CaseOutcome | RowProblem]:
        """Whether the second text follows the first, by the head for next sentences."""
        pairs, unusable = read_usable(cases, lambda case: self.encode(*case.texts))
        results: dict[int, CaseOutcome | RowProblem] = dict(unusable)
        logits = engine.next_sentence_logits(self.checkpoint, list(pairs.values())).double().tolist()
        for i, (is_next, not_next) in zip(pairs, logits, strict=True):
            answer = "next" if is_next > not_next else "not next"
            right = answer == cases[i].answers[0]
            results[i] = CaseOutcome(cases[i], right=right, score=is_next - not_next, said=answer)
        return results


SCORERS: dict[Kind, Callable[[Scorer, Sequence[Case]], dict[int, CaseOutcome | RowProblem]]] = {
    "minimal pairs": Scorer.pairs,
    "stereotype pairs": Scorer.pairs,
    "cloze": Scorer.cloze,
    "invariance": Scorer.invariance,
    "next sentence": Scorer.next_sentence,
    "labels": Scorer.labels,
}


def read_usable(
    cases: Sequence[Case], read: Callable[[Case], T], only: object = None
) -> tuple[dict[int, T], dict[int, RowProblem]]:
    """({index of a case: the result of *read*}, {index: why it failed}). *only*: a container of the cases to read."""
    results: dict[int, T] = {}
    unusable: dict[int, RowProblem] = {}
    for i, case in enumerate(cases):
        if only is not None and case not in only:  # type: ignore[operator]
            continue
        try:
            results[i] = read(case)
        except UnusableRow as error:
            unusable[i] = RowProblem(case.line, str(error))
        except ExplorerError as error:
            unusable[i] = RowProblem(case.line, f"cannot be read: {first_clause(error)}")
    return results, unusable


def rank_of(row: LogProbs, index: int) -> int:
    """The rank of an answer; 1 is the most probable."""
    return 1 + int((row > row[index]).sum())

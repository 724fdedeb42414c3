"""Next sentence: how sure BERT is that one text follows another, both ways round and among other candidates."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from bertexplorer import engine
from bertexplorer.answers.texts import encode_candidate, encode_pair, parse_candidates, visible_side
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("pair", "first", "second"), "is_next"


@dataclass(frozen=True)
class Options:
    candidates: Annotated[str, Option("Other second sentences", info="up to 50, with | between", several=True)] = ""


@dataclass(frozen=True)
class Score:
    """Does *second* follow *first*? The label order is that of BERT's head: 0 is next, 1 is not next."""

    first: str
    second: str
    logits: tuple[float, float]  # (is next, is not next)

    @property
    def gap(self) -> float:
        """Logit of is next minus logit of is not next: above 0 if is next wins."""
        return self.logits[0] - self.logits[1]

    @property
    def is_next(self) -> float:
        """Probability, 0 to 1. It and *not_next* sum to 1."""
        return sigmoid(self.gap)

    @property
    def not_next(self) -> float:
        return sigmoid(-self.gap)


@dataclass(frozen=True)
class NextSentence:
    tokens: tuple[str, ...]  # of (A, B) as the encoder reads them
    segments: tuple[int, ...]  # 0 for A with its [CLS] and [SEP], 1 for B with its [SEP]
    forward: Score  # (A, B)
    backward: Score  # (B, A)
    candidates: tuple[Score, ...]  # A with each candidate, B among them; likeliest first
    left_out: int  # tokens beyond the checkpoint's limit, of (A, B) and of the other candidates

    @property
    def rank(self) -> int:
        """The rank of B among the candidates, from 1."""
        return 1 + self.candidates.index(self.forward)


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> NextSentence:
    """Score (first, second), (second, first), and first with every candidate. What is hidden stays hidden; candidates
    have nothing hidden. Raises ExplorerError without an NSP head, without a second text, or for more than
    50 candidates."""
    _ = checkpoint.next_sentence  # if there is no head, raise before asking for a sentence
    text = Text.of(text)
    pair = encode_pair(checkpoint, text)
    swapped_spans = tuple(span._replace(side=1 - span.side) for span in text.hidden)
    swapped_pair = encode_pair(checkpoint, Text(text.second, text.first, swapped_spans))
    first = replace(text, second="", hidden=tuple(span for span in text.hidden if span.side == 0))
    candidates = [encode_candidate(checkpoint, first, candidate) for candidate in parse_candidates(options.candidates)]
    others = [candidate for candidate in candidates if candidate.ids != pair.ids]  # B is included already
    encodings = [pair, swapped_pair, *others]
    scores = []
    for encoding, (is_next, not_next) in zip(
        encodings, engine.next_sentence_logits(checkpoint, encodings).tolist(), strict=True
    ):
        sides = [visible_side(checkpoint, encoding, side) for side in (0, 1)]
        scores.append(Score(first=sides[0], second=sides[1], logits=(is_next, not_next)))
    forward, backward, *rest = scores
    return NextSentence(
        tokens=checkpoint.tokenizer.show_all(pair.ids),
        segments=pair.segments,
        forward=forward,
        backward=backward,
        candidates=tuple(sorted([forward, *rest], key=lambda score: -score.gap)),
        left_out=pair.left_out + sum(candidate.cut[1] for candidate in candidates),
    )


def sigmoid(x: float) -> float:
    """1 / (1 + e^-x), where e^-x may be too large for a float."""
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


def rows(result: NextSentence) -> list[dict[str, object]]:
    """One row for (A, B), one for (B, A), then one for every candidate by rank."""
    ways = [("A, B", "", result.forward), ("B, A", "", result.backward)]
    ranked = [("candidate", rank, score) for rank, score in enumerate(result.candidates, 1)]
    return [
        {
            "pair": way,
            "rank": rank,
            "first": score.first,
            "second": score.second,
            "is_next": score.is_next,
            "is_not_next": score.not_next,
            "logit_is_next": score.logits[0],
            "logit_is_not_next": score.logits[1],
        }
        for way, rank, score in [*ways, *ranked]
    ]


class Facts(facts.Facts[NextSentence]):
    def is_next(self) -> float:
        """P(is next) of the pair, 0 to 1."""
        return self._result.forward.is_next

    def is_next_swapped(self) -> float:
        """P(is next) with the two sentences in the other order, 0 to 1."""
        return self._result.backward.is_next

    def best_candidate(self, rank: int = 1) -> str:
        """The likeliest second sentence among B and the candidates, or the one with this rank."""
        return facts.item(self._result.candidates, rank, "candidate").second

    def is_next_of(self, candidate: str) -> float:
        """P(is next) of A and this candidate, 0 to 1."""
        texts = [score.second for score in self._result.candidates]
        return self._result.candidates[facts.name_index(texts, candidate, "candidate")].is_next

    def candidates(self) -> float:
        """Second sentences that were compared."""
        return len(self._result.candidates)

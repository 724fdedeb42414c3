"""Sentence pairs: the true and the random next sentences that pretraining would draw, and what the head says of them.

Half of the time B is the sentence after A, otherwise one drawn at random (Devlin et al., 2019, section 3.1): of another
document, or of the same one. Here a segment is one sentence; the pretraining here fills segments with as many as fit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.analysis.next_sentence import encode_pair
from bertexplorer.analysis.samples import TOPICS
from bertexplorer.analysis.sentence_matrix import sentences
from bertexplorer.errors import ExplorerError
from bertexplorer.knobs import Knob
from bertexplorer.model.text import Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("pair",), "is_next"
PAIRS = 10
NEXT, OTHER, SAME = "next", "other document", "same document"


@dataclass(frozen=True)
class Options:
    """How pairs are drawn."""

    not_next: Annotated[float, Knob("Wrong pairs", 0.0, 1.0, "share of pairs whose B does not follow A")] = 0.5
    same_document: Annotated[float, Knob("Of them, same document", 0.0, 1.0, "else B is of another one")] = 0.0
    roll: Annotated[int, Knob("Roll", 1, 1000, "another number, other dice")] = 1


@dataclass(frozen=True)
class Pair:
    """One drawn example. *kind*: NEXT, OTHER or SAME."""

    first: str
    second: str
    kind: str


@dataclass(frozen=True)
class SentencePairs:
    pairs: tuple[Pair, ...]
    is_next: Float[np.ndarray, " n"]  # P(IsNext) of each, 0 to 1; NaN where the checkpoint has no such head

    @property
    def right(self) -> int:
        """How many the head tells right, 0.5 being its border."""
        return sum(bool(p > 0.5) == (pair.kind == NEXT) for pair, p in zip(self.pairs, self.is_next, strict=True))


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> SentencePairs:
    """Draw PAIRS pairs from the sentences of *text*, those of a second text after the first's; another document is one
    of ten that are built in. Raises ExplorerError for a text of one sentence: nothing follows it."""
    text = Text(text) if isinstance(text, str) else text
    read = checkpoint.tokenizer.encode(text)
    found = [read.texts[side][slice(*span)] for side in (0, 1) for span in sentences(read.texts[side])]
    if len(found) < 2:
        raise ExplorerError(
            "The text is one sentence, so no next one can be drawn; wanted two or more. Type a paragraph."
        )
    draw = np.random.default_rng(options.roll)
    pairs = tuple(drawn(found, options, draw) for _ in range(PAIRS))
    answers = np.full(len(pairs), np.nan)
    if "next_sentence" in checkpoint.heads:
        encodings = [encode_pair(checkpoint, Text(pair.first, pair.second)) for pair in pairs]
        logits = engine.next_sentence_logits(checkpoint, encodings).numpy().astype(np.float64)
        answers = 1 / (1 + np.exp(logits[:, 1] - logits[:, 0]))
    return SentencePairs(pairs, answers)


def drawn(found: list[str], options: Options, draw: np.random.Generator) -> Pair:
    """One pair of the document *found*."""
    at = int(draw.integers(len(found) - 1))
    wrong, same = draw.random() < options.not_next, draw.random() < options.same_document
    if not wrong:
        return Pair(found[at], found[at + 1], NEXT)
    elsewhere = [i for i in range(len(found)) if i not in (at, at + 1)]
    if same and elsewhere:
        return Pair(found[at], found[int(draw.choice(elsewhere))], SAME)
    topics = list(TOPICS.values())
    topic = topics[int(draw.integers(len(topics)))]
    return Pair(found[at], topic[int(draw.integers(len(topic)))], OTHER)


def rows(result: SentencePairs) -> list[dict[str, object]]:
    """One row a pair, counted from 1; is_next empty where the checkpoint has no such head."""
    answers = ["" if np.isnan(p) else float(p) for p in result.is_next]
    return [
        {"pair": i, "first": p.first, "second": p.second, "drawn": p.kind, "is_next": answer}
        for i, (p, answer) in enumerate(zip(result.pairs, answers, strict=True), 1)
    ]

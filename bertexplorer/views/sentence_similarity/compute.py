"""Similarity of two sentences: the number that the checkpoint's own pipeline gives, and which words bring it about.

The pipeline is prompt, encoder, pooling, dense layers, normalisation (Reimers and Gurevych, 2019). If the vector of
each text is a sum over its tokens, as with mean pooling, so is their product: x · y = Σ_ij x_i · y_j, and each cell is
one of these terms. For the words that go in, and for other poolings, the terms come from integrated gradients of both
texts (Moeller et al., 2023; see `engine.vector_parts`). What texts of masks have in common is a row and a column then.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.texts import parse_candidates
from bertexplorer.answers.uploads import check_given
from bertexplorer.answers.vectors import (
    BUILT_IN,
    NO_PROMPT,
    OWN_INFO,
    LabelledLine,
    Pooling,
    departure,
    encode_lines,
    encode_sentence,
    own_or_mean,
    prompt_name,
)
from bertexplorer.answers.word_merging import units
from bertexplorer.engine.progress import working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Span, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("first", "first_position", "second", "second_position"), "part"
MARKS, MASKS = "special", "all masks"  # the rows that are no words: special tokens, and a text of masks
OF_FOUR = ", each the sum of its vectors in the last four layers"
MAX_LINES = 300  # whose pairs tell what chance gives
MAX_CELLS = 20_000
MAX_TEXTS = 20  # that are compared with each other


@dataclass(frozen=True)
class Options:
    pooling: Annotated[Pooling, Option("A text's vector", info=OWN_INFO)] = "own"
    first_prompt: Annotated[
        str, Option("Prompt of the first text", info=f"a name in the checkpoint's files, or {NO_PROMPT}")
    ] = ""
    second_prompt: Annotated[str, Option("Prompt of the second text", info="empty: as the files say")] = ""
    terms: Annotated[
        Literal["last layer", "input words"],
        Option("Parts", info="last layer: exact, but its tokens have read each other; input words: up to 64 tokens"),
    ] = "last layer"
    others: Annotated[
        str, Option("Other texts", info="up to 18, with | between; all are compared with each other", several=True)
    ] = ""
    merge: Annotated[bool, Option("Merge pieces", info="a word gets the sum of its pieces")] = True
    lines: Annotated[
        str, Option("Uploaded lines", info="whose pairs show what chance gives; empty: built-in", by_page=True)
    ] = ""


@dataclass(frozen=True)
class Part:
    """A row or a column: a word, a token, the special tokens, or what a text of masks has."""

    label: str
    position: int | None  # of its first token in its text, prompt included, 0-based; None if it is no word
    span: Span | None = None  # in the text as it was typed

    @property
    def is_word(self) -> bool:
        return self.position is not None and any(map(str.isalnum, self.label))


@dataclass(frozen=True)
class SentenceSimilarity:
    """The similarity of two texts, and the terms of the sum that it is. Entry [i, j] of the matrix: what word i of the
    first text and word j of the second add together."""

    texts: tuple[str, str]
    similarity: float  # as the checkpoint measures it
    measure: str  # cosine, dot, euclidean or manhattan; a distance has a minus before it
    matrix: Float[np.ndarray, "n m"]  # sums to *total*, less *gap*
    total: float  # the cosine, or the dot product if that is the measure
    gap: float  # *total* less the sum of the matrix
    rows: tuple[Part, ...]
    columns: tuple[Part, ...]
    is_sum: bool  # whether the vectors are sums over the tokens of the last layer
    exact: bool  # whether the terms are those of a sum; else they are integrated gradients
    chance: Float[np.ndarray, " c"]  # similarity of c pairs of unrelated lines, ascending
    own_lines: bool  # whether these are uploaded lines
    pipeline: str  # what makes the vector, in words
    prompts: tuple[str, str]  # what was put before each text
    cut: tuple[int, int]  # tokens of each text beyond the limit
    shown: dict[int, float]  # token of the pair -> its share of *total*
    notes: str = ""
    group: tuple[str, ...] = ()  # the two texts and others, if there are any
    table: Float[np.ndarray, "k k"] | None = None  # the similarity of each two of the group

    @property
    def closest(self) -> tuple[int, int]:
        """The two of the group that are most similar, 0-based. Only with other texts."""
        assert self.table is not None
        above = np.triu(np.ones_like(self.table, dtype=bool), 1)
        i, j = np.unravel_index(np.where(above, self.table, -np.inf).argmax(), self.table.shape)
        return int(i), int(j)

    @property
    def by_row(self) -> Float[np.ndarray, " n"]:
        """What each row adds to *total*."""
        return np.asarray(self.matrix.sum(axis=1))

    @property
    def by_column(self) -> Float[np.ndarray, " m"]:
        """What each column adds to *total*."""
        return np.asarray(self.matrix.sum(axis=0))

    @property
    def as_similar(self) -> int:
        """How many pairs of unrelated lines are at least as similar."""
        return int((self.chance >= self.similarity).sum())

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """(row, column) of two words, the largest entry first. Punctuation is no word."""
        order = np.argsort(-self.matrix, axis=None, kind="stable")
        places = (divmod(int(i), self.matrix.shape[1]) for i in order)
        return [(i, j) for i, j in places if self.rows[i].is_word and self.columns[j].is_word]


def run(
    checkpoint: Checkpoint, text: Text | str, *, options: Options = Options(), lines: Sequence[LabelledLine] = ()
) -> SentenceSimilarity:
    """The similarity of the two texts of a pair, and where it comes from. *lines*: unrelated ones, whose pairs show
    what chance gives; the built-in sentences if there are none.

    Raises ExplorerError without a second text, for an unknown prompt, if the checkpoint's files cannot be followed, and
    for a text too long to take apart."""
    check_given("lines", options.lines, lines or None)
    pair = Text.of(text)
    if not pair.second.strip():
        raise ExplorerError(
            "There is only one text. Type the other as the second sentence to compare them.", code="pair"
        )
    pooling = own_or_mean(checkpoint, options.pooling)
    encoder = engine.sentence_encoder_of(checkpoint, pooling)
    names = [prompt_name(name) for name in (options.first_prompt, options.second_prompt)]
    prompts = (engine.prompt_of(checkpoint, names[0]), engine.prompt_of(checkpoint, names[1]))
    encodings = [encode_sentence(checkpoint, pair.alone(side), names[side]) for side in (0, 1)]
    # 1. The rows of both vectors; their products, side by side, sum to the product of the vectors.
    taken = []
    split = []
    for encoding, prompt in zip(encodings, prompts, strict=True):
        parts = engine.token_parts(checkpoint, encoding, pooling, integrate=options.terms == "input words")
        taken.append(parts)
        split.append(side_parts(checkpoint, encoding, parts, options.merge, len(prompt)))
    (row_parts, row_vectors), (column_parts, column_vectors) = split
    first, second = (parts.vector for parts in taken)
    measure = engine.similarity_measure(checkpoint)
    scale = 1.0 if measure == "dot" else float(first.norm() * second.norm()) or 1.0
    if len(row_parts) * len(column_parts) > MAX_CELLS:
        raise ExplorerError(
            f"The texts have {len(row_parts):,} and {len(column_parts):,} words; the table can have {MAX_CELLS:,} "
            "cells. Shorten them."
        )
    matrix = row_vectors @ column_vectors.T / scale
    total = float(first @ second) / scale
    # 2. Several texts, and what chance gives.
    group, table = compare_all(checkpoint, pair, options.others, pooling, measure, names)
    chance, notes = unrelated(checkpoint, lines, pooling, measure)
    departs = departure(checkpoint, pooling, checkpoint.config.num_layers, lengths=measure != "cosine")
    pipeline = f"{encoder}{OF_FOUR}" if pooling == "last four summed" else str(encoder)
    return SentenceSimilarity(
        texts=(encodings[0].texts[0], encodings[1].texts[0]),
        similarity=float(engine.similarities(measure, first[None], second[None])),
        measure=measure,
        matrix=matrix,
        total=total,
        gap=total - float(matrix.sum()),
        rows=row_parts,
        columns=column_parts,
        is_sum=encoder.is_sum,
        exact=taken[0].exact and taken[1].exact,
        chance=chance,
        own_lines=bool(lines),
        pipeline=pipeline,
        prompts=prompts,
        cut=(encodings[0].left_out, encodings[1].left_out),
        shown=shares_on_strip(
            checkpoint,
            pair,
            first=zip(row_parts, matrix.sum(axis=1).tolist(), strict=True),
            second=zip(column_parts, matrix.sum(axis=0).tolist(), strict=True),
        ),
        notes=" ".join(filter(None, (notes, departs))),
        group=group,
        table=table,
    )


def compare_all(
    checkpoint: Checkpoint, pair: Text, others: str, pooling: str, measure: str, names: Sequence[str | None]
) -> tuple[tuple[str, ...], Float[np.ndarray, "k k"] | None]:
    """(the two texts and the *others*, the similarity of each two of them); nothing without others. The others have the
    prompt of the second text, the last of *names*. Raises ExplorerError for more than MAX_TEXTS."""
    if not others.strip():
        return (), None
    group = list(dict.fromkeys([pair.first.strip(), pair.second.strip(), *parse_candidates(others)]))
    if len(group) < 3:
        return (), None
    if len(group) > MAX_TEXTS:
        raise ExplorerError(f"{len(group)} texts were given to compare; the limit is {MAX_TEXTS}. Remove some.")
    encodings = [encode_sentence(checkpoint, text, names[min(i, 1)]) for i, text in enumerate(group)]
    layer = checkpoint.config.num_layers
    vectors = engine.sentence_vectors(checkpoint, encodings, layer=layer, pooling=pooling).numpy()
    return tuple(group), engine.similarity_table(measure, vectors, vectors)


def side_parts(
    checkpoint: Checkpoint, encoding: Encoding, taken: engine.Parts, merge: bool, prompt: int
) -> tuple[tuple[Part, ...], Float[np.ndarray, "n e"]]:
    """(the parts of one text, what each adds to its vector). The special tokens are one part; what a text of masks has
    is one if the terms are not exact. *prompt*: characters before the text as it was typed."""
    values = taken.rows.double().numpy()
    parts = []
    sums = []
    for unit in units(checkpoint, encoding, merge=merge):
        if not unit.special:
            parts.append(Part(unit.label, unit.positions[0], typed_span(encoding, unit.positions, prompt)))
            sums.append(values[list(unit.positions)].sum(axis=0))
    marks = [i for i, special in enumerate(encoding.special) if special and i not in encoding.masked]
    if taken.exact and marks:
        parts.append(Part(MARKS, None))
        sums.append(values[marks].sum(axis=0))
    if not taken.exact:
        parts.append(Part(MASKS, None))
        sums.append(taken.start.double().numpy())
    return tuple(parts), np.stack(sums)


def typed_span(encoding: Encoding, positions: Sequence[int], prompt: int) -> Span | None:
    """The characters that the tokens at *positions* cover in the text as it was typed; None within the prompt."""
    first, last = encoding.spans[positions[0]], encoding.spans[positions[-1]]
    if first is None or last is None or first.start < prompt:
        return None
    return Span(0, first.start - prompt, last.end - prompt)


def shares_on_strip(
    checkpoint: Checkpoint,
    pair: Text,
    first: Iterable[tuple[Part, float]],
    second: Iterable[tuple[Part, float]],
) -> dict[int, float]:
    """Token of the pair as the page shows it -> what its word adds, where the two are the same characters. *first*,
    *second*: the parts of each text with what they add."""
    encoding = checkpoint.tokenizer.encode(pair)
    shown = {}
    for side, parts in enumerate((first, second)):
        for part, value in parts:
            if part.span is None:
                continue
            for i, span in enumerate(encoding.spans):
                if span is None or span.side != side:
                    continue
                if part.span.start <= span.start and span.end <= part.span.end:
                    shown[i] = value
    return shown


def unrelated(
    checkpoint: Checkpoint, lines: Sequence[LabelledLine], pooling: str, measure: str
) -> tuple[Float[np.ndarray, " c"], str]:
    """(the similarity of pairs of unrelated lines, ascending; a note). Built-in sentences are paired across topics; the
    checkpoint keeps their similarities."""
    if lines:
        similarities, notes = pair_similarities(checkpoint, lines[:MAX_LINES], pooling, measure)
        if len(lines) > MAX_LINES:
            notes = f"{notes} Only the first {MAX_LINES} of {len(lines):,} lines are paired.".strip()
        return similarities, notes
    key = f"similarity of unrelated sentences, {pooling}, {measure}"
    result: tuple[Float[np.ndarray, " c"], str] = checkpoint.cache.get(
        key, lambda: pair_similarities(checkpoint, BUILT_IN, pooling, measure), lambda found: found[0].nbytes
    )
    return result


def pair_similarities(
    checkpoint: Checkpoint, lines: Sequence[LabelledLine], pooling: str, measure: str
) -> tuple[Float[np.ndarray, " c"], str]:
    """As `unrelated`, computed. Lines with the same label are not paired, unless no label is given. Raises
    ExplorerError if there is no pair."""
    encodings, indices, notes = encode_lines(lambda line: encode_sentence(checkpoint, line), lines)
    labels = np.array([lines[i].label or str(i) for i in indices])
    pairs = np.tril(labels[:, None] != labels[None, :])
    if not pairs.any():
        raise ExplorerError("The lines form no pair of different labels. Give lines with two labels, or without any.")
    with working(None):
        layer = checkpoint.config.num_layers
        vectors = engine.sentence_vectors(checkpoint, encodings, layer=layer, pooling=pooling).numpy()
    return np.sort(engine.similarity_table(measure, vectors, vectors)[pairs]), notes


def rows(result: SentenceSimilarity) -> list[dict[str, object]]:
    """A row for each cell. *part*: what it adds to *total*; *share*: the same, divided by *total*."""
    total = result.total or 1.0
    return [
        {
            "first": row.label,
            "first_position": "" if row.position is None else row.position,
            "second": column.label,
            "second_position": "" if column.position is None else column.position,
            "part": float(result.matrix[i, j]),
            "share": float(result.matrix[i, j]) / total,
            "similarity": result.similarity,
            "measure": result.measure,
            "exact": result.exact,
            "gap": result.gap,
        }
        for i, row in enumerate(result.rows)
        for j, column in enumerate(result.columns)
    ]


class Facts(facts.Facts[SentenceSimilarity]):
    """Words are written as the table shows them."""

    def similarity(self) -> float:
        """Similarity of the two texts."""
        return self._result.similarity

    def chance(self) -> float:
        """Mean similarity of unrelated sentences."""
        return float(self._result.chance.mean())

    def as_similar(self) -> float:
        """Share of the unrelated pairs that are at least as similar, 0 to 1."""
        return self._result.as_similar / len(self._result.chance)

    def part(self, first: str, second: str) -> float:
        """What a word of the first text and one of the second add together."""
        rows = [part.label for part in self._result.rows]
        columns = [part.label for part in self._result.columns]
        return float(self._result.matrix[facts.label_index(rows, first), facts.label_index(columns, second)])

    def top_first(self, rank: int = 1) -> str:
        """The word of the first text in the pair of words that adds most, or in the one with this rank."""
        return self._result.rows[facts.item(self._result.pairs, rank, "pair")[0]].label

    def top_second(self, rank: int = 1) -> str:
        """The word of the second text in the pair of words that adds most, or in the one with this rank."""
        return self._result.columns[facts.item(self._result.pairs, rank, "pair")[1]].label

"""Search: which lines mean something like the text, by the cosine of their vectors.

A checkpoint that was trained to fill masks was not trained for search, and its sentence vectors lie close together. So
each result comes with the mean cosine of two unrelated sentences (over all pairs of the built-in ones).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.uploads import check_given
from bertexplorer.answers.vectors import (
    BUILT_IN,
    NO_PROMPT,
    OWN_INFO,
    LabelledLine,
    Pooling,
    VectorIndex,
    departure,
    encode_sentence,
    layer_of,
    line_vectors,
    mean_cosine,
    own_or_mean,
    prompt_name,
    unit_vectors,
)
from bertexplorer.engine.progress import working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_LINES = 10_000
KEYS, MEASURE = ("text",), "cosine"
BEST_ONLY = True  # rows lists only those with the largest numbers


@dataclass(frozen=True)
class Options:
    top: Annotated[int, Option("Results", 1, 50)] = 10
    layer: Annotated[int, Option("Layer", -1, 48, info="0: the input of the first; -1: the last")] = -1
    pooling: Annotated[Pooling, Option("A line's vector", info=OWN_INFO)] = "own"
    prompt: Annotated[str, Option("Prompt of your text", info=f"a name in the checkpoint's files, or {NO_PROMPT}")] = ""
    line_prompt: Annotated[str, Option("Prompt of the lines", info="empty: as the files say")] = ""
    lines: Annotated[str, Option("Uploaded lines", info="empty: the built-in sentences", by_page=True)] = ""


@dataclass(frozen=True)
class Hit:
    """A line that was found."""

    rank: int  # 1: the nearest
    line: int  # index of the line, 0-based
    text: str
    label: str
    cosine: float  # with the text, -1 to 1


class Nearest(NamedTuple):
    """The lines that are nearest to a query."""

    lines: list[tuple[float, int]]  # (cosine, index of the line), best first
    searched: int  # lines
    indexed: str  # as in Search
    notes: str  # on lines that were left out


@dataclass(frozen=True)
class Search:
    query: str
    hits: tuple[Hit, ...]  # best first
    count: int  # lines searched
    built_in: bool  # whether they are the built-in sentences
    indexed: str  # "": each line was compared; "new": the index was built now; "kept": it existed already
    chance: float  # mean cosine of two built-in sentences, same layer and pooling
    layer: int
    pooling: str
    notes: str  # sentences on what was left out


def run(
    checkpoint: Checkpoint,
    text: Text | str,
    *,
    options: Options = Options(),
    lines: Sequence[LabelledLine] = (),
    index: VectorIndex | None = None,
) -> Search:
    """Find the lines nearest to *text* (a pair is one query) among *lines*, or the built-in ones where there are none.
    The vectors of *lines* are stored in the *index*, under `collection`. Built-in lines, and all lines if there is no
    index, are compared one by one. Raises ExplorerError for an unknown layer, for more than 10,000 lines, and if the
    index cannot be reached."""
    layer = layer_of(checkpoint, options.layer)
    check_given("lines", options.lines, lines or None)
    if len(lines) > MAX_LINES:
        raise ExplorerError(f"{len(lines):,} lines were given; the limit is {MAX_LINES:,}. Give fewer.")
    options = replace(options, pooling=own_or_mean(checkpoint, options.pooling))
    encoding = encode_sentence(checkpoint, text, prompt_name(options.prompt))
    _ = engine.prompt_of(checkpoint, prompt_name(options.line_prompt))  # raises before any line is read
    searched = lines or BUILT_IN
    pooled = engine.sentence_vectors(checkpoint, [encoding], layer=layer, pooling=options.pooling)
    query = unit_vectors(pooled.numpy())[0]
    if index is None or not lines:
        nearest = search_lines(checkpoint, searched, query, layer, options)
    else:
        nearest = search_index(index, checkpoint, searched, query, layer, options)
    hits = []
    for rank, (cosine, i) in enumerate(nearest.lines, 1):
        line = searched[i]
        hits.append(Hit(rank=rank, line=i, text=line.text, label=line.label, cosine=min(1.0, cosine)))
    notes = []
    if encoding.left_out:
        limit = f"the checkpoint's limit of {len(encoding):,} tokens"
        notes.append(f"{encoding.left_out:,} tokens of the text are beyond {limit}.")
    notes.append(nearest.notes)
    notes.append(say_prompts(checkpoint, options))
    notes.append(departure(checkpoint, options.pooling, layer, lengths=False))
    return Search(
        query=" ".join(part for part in encoding.texts if part),
        hits=tuple(hits),
        count=nearest.searched,
        built_in=not lines,
        indexed=nearest.indexed,
        chance=chance(checkpoint, layer, options.pooling, prompt_name(options.line_prompt)),
        layer=layer,
        pooling=options.pooling,
        notes=" ".join(filter(None, notes)),
    )


def say_prompts(checkpoint: Checkpoint, options: Options) -> str:
    """What stands before the texts; "" if nothing does."""
    before = [engine.prompt_of(checkpoint, prompt_name(name)) for name in (options.prompt, options.line_prompt)]
    if not any(before):
        return ""
    own, lines = (f"“{prompt[:60]}”" if prompt else "nothing" for prompt in before)
    return f"Before your text stands {own}, before each line {lines}."


def search_lines(
    checkpoint: Checkpoint, lines: Sequence[LabelledLine], query: Float[np.ndarray, " d"], layer: int, options: Options
) -> Nearest:
    """Search by comparing the query with each line."""
    prompt = prompt_name(options.line_prompt)
    vectors, line_indices, notes = line_vectors(checkpoint, lines, layer, options.pooling, prompt)
    cosines = unit_vectors(vectors) @ query
    best = np.argsort(-cosines, kind="stable")[: options.top]
    found = [(float(cosines[i]), line_indices[i]) for i in best]
    return Nearest(found, searched=len(line_indices), indexed="", notes=notes)


def search_index(
    index: VectorIndex,
    checkpoint: Checkpoint,
    lines: Sequence[LabelledLine],
    query: Float[np.ndarray, " d"],
    layer: int,
    options: Options,
) -> Nearest:
    """Search through the index, which is filled first unless it contains all lines."""
    prompt = prompt_name(options.line_prompt)
    name = collection(checkpoint, lines, layer, options.pooling, engine.prompt_of(checkpoint, prompt))
    indexed = "kept"
    stored = index.count(name)
    best = index.query(name, query, options.top) if stored else []
    if not best or best[0][1]["of"] != stored:  # empty, or the process that filled it was stopped midway
        vectors, line_indices, notes = line_vectors(checkpoint, lines, layer, options.pooling, prompt)
        indexed = "new"
        stored = len(line_indices)
        payloads: list[dict[str, Any]] = []
        for i in line_indices:
            line = lines[i]
            payloads.append({"line": i, "text": line.text, "label": line.label, "of": stored, "notes": notes})
        index.upsert(name, unit_vectors(vectors), payloads)
        best = index.query(name, query, options.top)
    found = [(cosine, int(payload["line"])) for cosine, payload in best]
    return Nearest(found, searched=stored, indexed=indexed, notes=str(best[0][1]["notes"]))


def collection(
    checkpoint: Checkpoint, lines: Sequence[LabelledLine], layer: int, pooling: str, before: str = ""
) -> str:
    """The name of the collection with the vectors of these lines. It changes with any weight, the precision, the layer,
    the pooling, the checkpoint's own sentence encoder, the prompt *before* each line and any line."""
    parts = [checkpoint.revision, checkpoint.precision, str(layer), pooling]
    if before:
        parts.append(before)
    if checkpoint.sentence_encoder:
        parts.append(checkpoint.sentence_encoder.fingerprint)
    digest = sha256("\0".join(parts).encode())
    for line in lines:
        digest.update(b"\0" + line.text.encode("utf-8", "surrogatepass"))
    return f"bertexplorer-{digest.hexdigest()[:32]}"


def chance(checkpoint: Checkpoint, layer: int, pooling: str, prompt: str | None = None) -> float:
    """Mean cosine of two built-in sentences. Cached with the checkpoint."""

    def measure() -> float:
        with working(None):
            return mean_cosine(line_vectors(checkpoint, BUILT_IN, layer, pooling, prompt)[0])

    return float(checkpoint.cache.get(("chance of sentences", layer, pooling, prompt), measure, lambda _: 8))


def rows(result: Search) -> list[dict[str, object]]:
    """One row for every result, best first; lines are counted from 1."""
    return [
        {
            "rank": hit.rank,
            "line": hit.line + 1,
            "text": hit.text,
            "label": hit.label,
            "cosine": hit.cosine,
            "random_sentences": result.chance,
        }
        for hit in result.hits
    ]


class Facts(facts.Facts[Search]):
    def hit(self, rank: int = 1) -> str:
        """The line with this rank."""
        return facts.item(self._result.hits, rank, "line").text

    def topic(self, rank: int = 1) -> str:
        """The label of the line with this rank."""
        return facts.item(self._result.hits, rank, "line").label

    def cosine(self, rank: int = 1) -> float:
        """Cosine of the text with the line of this rank."""
        return facts.item(self._result.hits, rank, "line").cosine

    def chance(self) -> float:
        """Mean cosine of two of the built-in sentences."""
        return self._result.chance

    def lines(self) -> float:
        """Lines that were searched."""
        return self._result.count

"""Embedding map: tokens or sentences laid out so that what is near in the checkpoint's vectors is near on the page.

All three methods get the vectors at length 1, so that a distance depends on the angle only, like the cosine of the
neighbours. PCA (Pearson, 1901) is linear and preserves large distances. t-SNE (van der Maaten and Hinton, 2008) and
UMAP (McInnes et al., 2018) only keep neighbours together. All use a fixed seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.texts import sentences
from bertexplorer.answers.uploads import check_given
from bertexplorer.answers.vectors import (
    BUILT_IN,
    OWN_INFO,
    LabelledLine,
    Pooling,
    baseline,
    departure,
    encode_lines,
    layer_of,
    line_vectors,
    mean_cosine,
    principal,
    trustworthiness,
    unit_vectors,
)
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import TOKENS, Encoding, Span, Text
from bertexplorer.options import Option
from bertexplorer.views import facts
from bertexplorer.views.embedding_map.tsne import tsne
from bertexplorer.wording import counted

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_POINTS = 10_000
MANY = 2_000  # points beyond which t-SNE sees 50 principal components
JUDGED = 1_000  # points up to which the trustworthiness is measured
ABOVE = "your text"  # label of the workbench's sentences among other sentences


@dataclass(frozen=True)
class Options:
    unit: Annotated[Literal["tokens", "sentences"], Option("What is a point")] = "tokens"
    layer: Annotated[int, Option("Layer", -1, 48, info="0: the input of the first; -1: the last")] = -1
    method: Annotated[
        Literal["PCA", "t-SNE", "UMAP"],
        Option("Method", info="t-SNE of 10,000 points takes a minute; UMAP needs umap-learn"),
    ] = "PCA"
    pooling: Annotated[
        Pooling, Option("A sentence's vector", info=f"{OWN_INFO}; last four summed: for tokens, too")
    ] = "own"
    dimensions: Annotated[Literal["2-D", "3-D"], Option("Dimensions")] = "2-D"
    colour: Annotated[Literal["word", "position", "label"], Option("Colour by")] = "word"
    neighbours: Annotated[int, Option("Neighbours", 1, 20)] = 5
    point: Annotated[int, Option("Point", -1, MAX_POINTS, info="-1: the picked token", by_page=True)] = -1
    lines: Annotated[str, Option("Uploaded lines", info="empty: the text above", by_page=True)] = ""


@dataclass(frozen=True)
class Point:
    """A token or a sentence."""

    text: str
    label: str  # label of its line
    line: int  # which text it comes from, 0-based
    position: int  # of the token in its text, or of the sentence among all sentences
    picks: str = ""  # the token's span in the workbench text as a link writes it, "0:4-8"


class Source(NamedTuple):
    """Points with their vectors, and where they come from."""

    points: list[Point]
    vectors: Float[np.ndarray, "n d"]
    source: str  # as in EmbeddingMap
    notes: str


@dataclass(frozen=True)
class Neighbour:
    point: int  # 0-based
    cosine: float  # of the full vectors, -1 to 1


@dataclass(frozen=True)
class EmbeddingMap:
    """n points. Layer 0 is the input of the first layer."""

    points: tuple[Point, ...]
    places: Float[np.ndarray, "n axes"]  # two or three axes
    explained: tuple[float, ...]  # for PCA: share of the unit vectors' variance along each axis, 0 to 1
    chosen: int | None  # the point whose neighbours are given
    neighbours: tuple[Neighbour, ...]  # nearest first
    nearness: Float[np.ndarray, " n"] | None  # cosine of each point with the chosen one
    trust: float | None  # trustworthiness of the map (`vectors.trustworthiness`); None if it is not measured
    anisotropy: float  # mean cosine of two points; NaN for one
    baseline: float  # mean cosine of two random words at this layer; NaN unless points are tokens at one layer
    options: Options
    layer: int
    source: str  # a description of the origin of the points
    notes: str  # messages about omitted lines and tokens


def run(
    checkpoint: Checkpoint, text: Text | str, *, options: Options = Options(), lines: Sequence[LabelledLine] = ()
) -> EmbeddingMap:
    """Lay out the tokens or sentences of *lines* if there are any, else those of *text* (sentences: among the built-in
    ones). Raises ExplorerError for fewer than three points, an unknown layer or point, or without UMAP."""
    layer = layer_of(checkpoint, options.layer)
    check_given("lines", options.lines, lines or None)
    if options.method == "UMAP":
        import_umap()  # before anything is computed for it
    above = checkpoint.tokenizer.encode(text)
    if options.unit == "tokens":
        points, vectors, source, notes = token_points(checkpoint, above, lines, layer, options)
    else:
        points, vectors, source, notes = sentence_points(checkpoint, above, lines, layer, options)
    if len(points) < 3:
        raise ExplorerError(f"There are {len(points)} points; wanted at least 3 for a map. Add words or sentences.")
    if options.point >= len(points):
        notes = f"{notes} Point {options.point} no longer exists.".strip()
    vectors = unit_vectors(vectors)
    axes = 2 if options.dimensions == "2-D" else 3
    places, explained = project(vectors, options.method, axes)
    chosen = select_point(points, above, options, bool(lines))
    nearness = None if chosen is None else vectors @ vectors[chosen]
    return EmbeddingMap(
        points=tuple(points),
        places=places,
        explained=explained,
        chosen=chosen,
        neighbours=() if nearness is None else nearest(nearness, chosen, options.neighbours),
        nearness=nearness,
        trust=trustworthiness(vectors, places) if 12 <= len(points) <= JUDGED else None,
        anisotropy=mean_cosine(vectors),
        baseline=float(baseline(checkpoint)[layer]) if has_baseline(options) else float("nan"),
        options=options,
        layer=layer,
        source=source,
        notes=notes,
    )


def has_baseline(options: Options) -> bool:
    """Whether a point is one token at one layer, as the baseline assumes."""
    return options.unit == "tokens" and options.pooling != "last four summed"


def token_points(
    checkpoint: Checkpoint, above: Encoding, lines: Sequence[LabelledLine], layer: int, options: Options
) -> Source:
    """The tokens of the lines, or of the text. [CLS] and [SEP] are included only for the text."""
    encodings = [above]
    line_indices = [0]
    notes = ""
    if lines:
        encodings, line_indices, notes = encode_lines(checkpoint.tokenizer.encode, lines)
    points: list[Point] = []
    encodings_used: list[Encoding] = []
    rows = []  # of the vectors of all tokens: those of the points
    count = 0
    for encoding, line_index in zip(encodings, line_indices, strict=True):
        positions = [i for i, span in enumerate(encoding.spans) if span is not None or not lines]
        if len(points) + len(positions) > MAX_POINTS:
            drawn = f"Only the first {len(encodings_used):,} lines are drawn, which hold {len(points):,} tokens."
            notes = f"{notes} {drawn}".strip()
            break
        for i in positions:
            span = encoding.spans[i] or Span(TOKENS, i, i + 1)
            picks = ""
            if lines:
                label = lines[line_index].label
            else:
                label = "special" if span.side == TOKENS else f"sentence {'AB'[span.side]}"
                picks = f"{span.side}:{span.start}-{span.end}"
            token = checkpoint.tokenizer.show(encoding.ids[i])
            points.append(Point(token, label=label, line=line_index, position=i, picks=picks))
            rows.append(count + i)
        count += len(encoding)
        encodings_used.append(encoding)
    if not lines and above.left_out:
        notes = f"{above.left_out:,} tokens beyond the checkpoint's limit are left out."
    vectors = engine.token_vectors(checkpoint, encodings_used, layer=layer, pooling=options.pooling).numpy()[rows]
    origin = f"{len(encodings_used):,} lines" if lines else "the text"
    return Source(points, vectors, source=f"{len(points):,} tokens of {origin}", notes=notes)


def sentence_points(
    checkpoint: Checkpoint, above: Encoding, lines: Sequence[LabelledLine], layer: int, options: Options
) -> Source:
    """The lines; or the sentences of the text among the built-in ones. Raises ExplorerError for more than
    MAX_POINTS."""
    own_lines = []
    if lines:
        groups = [lines]
    else:
        for text in above.texts:
            own_lines += [LabelledLine(text[first:after], ABOVE) for first, after in sentences(text)]
        groups = [own_lines, BUILT_IN] if own_lines else [BUILT_IN]
    total = sum(map(len, groups))
    if total > MAX_POINTS:
        raise ExplorerError(f"{total:,} lines were given; the limit is {MAX_POINTS:,}. Give fewer.")

    points: list[Point] = []
    vectors = []
    notes = []
    first_line = 0
    for group in groups:
        group_vectors, read, note = line_vectors(checkpoint, group, layer, options.pooling)
        vectors.append(group_vectors)
        notes.append(note)
        for i in read:
            points.append(Point(group[i].text, label=group[i].label, line=first_line + i, position=len(points)))
        first_line += len(group)
    notes.append(departure(checkpoint, options.pooling, layer, lengths=False))
    if lines:
        source = f"{len(points):,} uploaded lines"
    else:
        source = f"{counted(len(own_lines), 'sentence')} of the text among {len(BUILT_IN)} built-in ones"
    return Source(points, np.concatenate(vectors), source, notes=" ".join(filter(None, notes)))


def select_point(points: Sequence[Point], above: Encoding, options: Options, uploaded: bool) -> int | None:
    """The chosen point: by its number, else the picked token, else the first sentence of the text."""
    if 0 <= options.point < len(points):
        return options.point
    if uploaded:
        return None
    if options.unit == "sentences":
        return 0 if points[0].label == ABOVE else None
    return next((i for i, point in enumerate(points) if point.position in above.picked), None)


def nearest(nearness: Float[np.ndarray, " n"], chosen: int | None, count: int) -> tuple[Neighbour, ...]:
    """The *count* greatest cosines without the chosen point itself; the first of equal ones."""
    order = [int(i) for i in np.argsort(-nearness, kind="stable") if i != chosen][:count]
    return tuple(Neighbour(i, float(nearness[i])) for i in order)


def project(
    vectors: Float[np.ndarray, "n d"], method: str, axes: int
) -> tuple[Float[np.ndarray, "n axes"], tuple[float, ...]]:
    """(places, shares of the variance); shares are for PCA only. Raises ExplorerError for too few points, and for UMAP
    without its package."""
    count = len(vectors)
    if method == "PCA":
        centre, components, shares = principal(vectors, axes)
        return (vectors - centre) @ components.T, tuple(float(share) for share in shares)
    if count < 4:
        raise ExplorerError(f"{method} needs at least 4 points; there are {count}. Choose PCA, or add words.")
    if method == "UMAP":
        return umap(vectors, axes), ()
    if count > MANY:
        centre, components, _ = principal(vectors, 50)
        vectors = (vectors - centre) @ components.T
    return tsne(vectors, axes), ()


def import_umap() -> Any:
    """The class UMAP. Raises ExplorerError if its package is not installed."""
    try:
        from umap import UMAP
    except ImportError as error:
        raise ExplorerError(
            "UMAP needs the package umap-learn, which is not installed. Run pip install umap-learn where the app runs, "
            "or choose t-SNE."
        ) from error
    return UMAP


def umap(vectors: Float[np.ndarray, "n d"], axes: int) -> Float[np.ndarray, "n axes"]:
    model = import_umap()(n_components=axes, n_neighbors=min(15, len(vectors) - 1), random_state=0, n_jobs=1)
    return np.asarray(model.fit_transform(vectors))


def rows(result: EmbeddingMap) -> list[dict[str, object]]:
    """One row for every point; z is empty on a flat map. Points are counted from 0, as in Options.point."""
    return [
        {
            "point": i,
            "text": point.text,
            "label": point.label,
            "line": point.line + 1,
            "x": float(place[0]),
            "y": float(place[1]),
            "z": float(place[2]) if len(place) > 2 else "",
            "cosine_to_chosen": "" if result.nearness is None else float(result.nearness[i]),
        }
        for i, (point, place) in enumerate(zip(result.points, result.places, strict=True))
    ]


class Facts(facts.Facts[EmbeddingMap]):
    def neighbour(self, rank: int) -> str:
        """The neighbour of the chosen point with this rank."""
        return self._result.points[facts.item(self._result.neighbours, rank, "neighbour").point].text

    def cosine(self, rank: int) -> float:
        """Cosine of the chosen point with the neighbour of this rank."""
        return facts.item(self._result.neighbours, rank, "neighbour").cosine

    def mean_cosine(self) -> float:
        """Mean cosine of two points."""
        return self._result.anisotropy

    def random(self) -> float:
        """Mean cosine of two random words at this layer."""
        return self._result.baseline

    def explained(self) -> float:
        """Share of the unit vectors' variance that a PCA keeps, 0 to 1; 0 for other methods."""
        return sum(self._result.explained)

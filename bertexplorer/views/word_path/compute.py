"""Word path: the path of a word's vector through the layers, seen in one fixed plane.

The plane is spanned by the first two principal components of all vectors at all layers of the texts that contain the
word, or of the word's own vectors alone, which shows how its occurrences part. [CLS] and [SEP] are left out: they lie
far off and would take up a component of their own. The plane is the same for every layer, so a movement on it is a
movement of the vectors.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.vectors import cosines, layer_of, principal, unit_vectors
from bertexplorer.answers.word_occurrences import Occurrence, Occurrences, find_occurrences
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_PATHS = 7
KEYS, MEASURE = ("path", "word", "layer"), "cosine_to_input"


@dataclass(frozen=True)
class Options:
    layer: Annotated[int, Option("Layer", -1, 48, info="0: the input of the first; -1: the last")] = -1
    word: Annotated[str, Option("Word", info="empty: the picked one; commas between several")] = ""
    sentences: Annotated[str, Option("Other sentences", info="one per line, or with | between", several=True)] = ""
    plane: Annotated[
        Literal["all words", "these words", "their differences"],
        Option("Plane", info="these words: where they move most; their differences: where they part from each other"),
    ] = "all words"


@dataclass(frozen=True)
class WordPath:
    """p paths through 1 + l layers. Layer 0 is the input of the first layer."""

    words: tuple[str, ...]  # the words that were searched for
    occurrences: tuple[Occurrence, ...]  # one for each path
    paths: Float[np.ndarray, "p layers 2"]  # places on the plane, in the unit of the vectors
    tokens: tuple[str, ...]  # all other words' pieces, without [CLS] and [SEP]; () on the plane of differences
    crowd: Float[np.ndarray, "layers tokens 2"]  # their places
    explained: tuple[float, float]  # shares of the variance along the plane's axes, 0 to 1
    to_input: Float[np.ndarray, "p layers"]  # cosine with the path's own vector at layer 0; 1 there
    apart: Float[np.ndarray, " layers"] | None  # mean cosine of two paths; None for a single path
    plane: str  # of all words, of these words, or of their differences
    layer: int  # the layer that is shown
    left_out: int  # occurrences beyond MAX_PATHS
    beyond: int  # occurrences beyond the checkpoint's limit of tokens


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> WordPath:
    """Follow each occurrence of the word, the vectors of its pieces averaged. The plane is that of the first two
    principal components of all vectors of all layers, of the words' own, or of their differences: what each has beside
    the mean of the words in its layer, so that what all do alike is left out. Raises ExplorerError if there is no
    occurrence, only one to take differences of, and for an unknown layer."""
    layer = layer_of(checkpoint, options.layer)
    matches = find_occurrences(checkpoint, text, options.word, options.sentences)
    followed = matches.occurrences[:MAX_PATHS]

    # 1. The vectors of all words in each layer
    groups = [word_groups(matches, followed, i) for i in range(len(matches.encodings))]
    vectors = engine.word_vectors(checkpoint, matches.encodings, groups).numpy().astype(np.float64)
    words: list[tuple[int, tuple[int, ...]]] = []  # (text, positions) of each row of the vectors
    for text_index, text_groups in enumerate(groups):
        words += [(text_index, positions) for positions in text_groups]

    # 2. Which of them are the occurrences, and which are other words of one piece
    path_rows = []
    in_paths: set[tuple[int, int]] = set()  # (text, position)
    for occurrence in followed:
        path_rows.append(words.index((occurrence.encoding_index, occurrence.positions)))
        in_paths.update((occurrence.encoding_index, i) for i in occurrence.positions)
    single = []
    crowd = []
    for row, (text_index, positions) in enumerate(words):
        if len(positions) == 1:
            single.append(row)
            if (text_index, positions[0]) not in in_paths:
                crowd.append(row)
    paths = vectors[:, path_rows].swapaxes(0, 1)
    if options.plane == "their differences":
        if len(path_rows) < 2:
            raise ExplorerError(
                "There is only one path, and none to compare it with. Add a sentence with the same word."
            )
        vectors = vectors - vectors[:, path_rows].mean(axis=1, keepdims=True)
        crowd = []  # their differences from the mean of these words say nothing

    # 3. The plane, and what all of them are in it
    spanning = vectors[:, single if options.plane == "all words" else path_rows]
    centre, axes, explained = principal(spanning.reshape(-1, vectors.shape[-1]), 2)
    flat = (vectors - centre) @ axes.T
    tokens = []
    for row in crowd:
        text_index, (position,) = words[row]
        tokens.append(checkpoint.tokenizer.show(matches.encodings[text_index].ids[position]))

    # 4. How the paths turn, and how far apart they are in each layer
    directions = unit_vectors(paths)
    apart = None
    if len(path_rows) > 1:
        upper = np.triu_indices(len(path_rows), 1)
        apart = np.array([cosines(in_layer)[upper].mean() for in_layer in paths.swapaxes(0, 1)])
    return WordPath(
        words=matches.words,
        occurrences=followed,
        paths=flat[:, path_rows].swapaxes(0, 1),
        tokens=tuple(tokens),
        crowd=flat[:, crowd],
        explained=(float(explained[0]), float(explained[1])),
        to_input=(directions * directions[:, :1]).sum(axis=-1),
        apart=apart,
        plane=options.plane,
        layer=layer,
        left_out=len(matches.occurrences) - len(followed),
        beyond=matches.beyond,
    )


def word_groups(matches: Occurrences, followed: tuple[Occurrence, ...], index: int) -> list[tuple[int, ...]]:
    """The positions to average: each token of a text by itself, except special ones, then the followed words."""
    spans = matches.encodings[index].spans
    groups: list[tuple[int, ...]] = [(i,) for i, span in enumerate(spans) if span is not None]
    for occurrence in followed:
        if occurrence.encoding_index == index and len(occurrence.positions) > 1:
            groups.append(occurrence.positions)
    return groups


def rows(result: WordPath) -> list[dict[str, object]]:
    """One row for every path and layer. Layer 0 is the input of the first layer. Paths are counted from 1."""
    return [
        {
            "path": number,
            "word": o.word,
            "sentence": o.sentence,
            "layer": layer,
            "x": float(x),
            "y": float(y),
            "cosine_to_input": float(result.to_input[number - 1, layer]),
        }
        for number, o in enumerate(result.occurrences, 1)
        for layer, (x, y) in enumerate(result.paths[number - 1])
    ]


class Facts(facts.Facts[WordPath]):
    """*layer* 0 is the input of the first layer; *path* is the occurrence, from 1."""

    def to_input(self, layer: int, path: int = 1) -> float:
        """Cosine of a word's vector at a layer with its own vector at layer 0."""
        return float(facts.item_at_layer(facts.item(self._result.to_input, path, "path"), layer))

    def apart(self, layer: int) -> float:
        """Mean cosine of two of the paths at a layer."""
        if self._result.apart is None:
            raise ExplorerError("There is only one path. Add a sentence with the same word.")
        return float(facts.item_at_layer(self._result.apart, layer))

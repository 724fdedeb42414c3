"""Whose vectors: how another program made the vectors of texts, and what differs from the checkpoint's files.

The recipes that are tried are those of the doctor: a pooling, a layer, a prompt, a length, dense layers, a scale. Some
of the texts are used to find the recipe, and the others confirm it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np

from bertexplorer import engine
from bertexplorer.answers.sample_sentences import SAMPLE
from bertexplorer.answers.uploads import check_given
from bertexplorer.answers.vectors import prompt_name
from bertexplorer.diagnosis.given import TextVectors, check
from bertexplorer.engine.progress import working
from bertexplorer.model.cache import LRUCache
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.diagnosis.answer import NearRecipe, Outcome, VectorDiagnosis
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("recipe",), "confirmed"
OWN_CACHE = 64_000_000  # bytes of vectors that a checkpoint in fp32 keeps beside the one it was opened from
NOISE = 1e-6  # a distance below which two vectors are the same but for rounding
Planted = Literal[
    "another pooling",
    "a layer too early",
    "a prompt before it",
    "cut at 64 tokens",
    "in another order",
    "read in halves",
    "as the files say",
]
LONG = " ".join(SAMPLE[:9])  # about 90 tokens
TEXTS = (*SAMPLE[:10], LONG, " ".join(SAMPLE[9:]))


@dataclass(frozen=True)
class Options:
    planted: Annotated[
        Planted, Option("Without a file", info="how another program may have made the vectors of twelve texts")
    ] = "another pooling"
    prompt: Annotated[
        str, Option("Prompt", info="the name of the prompt in the checkpoint's files that should be before them")
    ] = ""
    vectors: Annotated[str, Option("Uploaded vectors", info="empty: those of Without a file", by_page=True)] = ""


@dataclass(frozen=True)
class WhoseVectors:
    planted: str  # how the vectors were made; "" for uploaded ones
    texts: int  # that were given
    width: int  # numbers of a vector
    said: str
    found: Outcome
    as_files: bool
    pooling: str  # of the recipe that was found; "" if none was
    layer: int  # its layer; -1 if none was found
    nearest: tuple[NearRecipe, ...]
    order: tuple[tuple[str, str], ...]  # of "shuffled": (a text, the text whose vector it has), both numbered
    left_out: tuple[str, ...]
    unseen: tuple[str, ...]  # what these texts cannot show, a sentence for each kind of text that is missing


def run(
    checkpoint: Checkpoint,
    text: Text | str = "",
    *,
    options: Options = Options(),
    vectors: TextVectors | None = None,
) -> WhoseVectors:
    """Find the recipe that makes *vectors* of their texts; without them, of vectors that were made as
    `Options.planted` says. *text* is not read. Raises ExplorerError for vectors that cannot be compared, such as those
    of one text, and for an unknown prompt."""
    from bertexplorer.diagnosis.answer import diagnose  # imports torch, which the page does not need

    check_given("vectors", options.vectors, vectors.texts if vectors else None)
    checkpoint = in_fp32(checkpoint)
    given = vectors or plant(checkpoint, options.planted)
    used = check(given.texts, given.vectors)
    answer = diagnose(checkpoint, used, prompt_name(options.prompt))
    recipe = answer.recipe
    beside = {place: text for text, place in answer.order}  # place -> the text whose vector is in it
    order = []
    for place in sorted(beside):
        order.append((numbered(used.texts, place), numbered(used.texts, beside[place])))
    return WhoseVectors(
        planted="" if vectors else options.planted,
        texts=len(given.texts),
        width=len(given.vectors[0]),
        said=answer.said,
        found=answer.found,
        as_files=answer.as_files,
        pooling=recipe.pooling if recipe else "",
        layer=recipe.layer if recipe else -1,
        nearest=without_noise(answer),
        order=tuple(order),
        left_out=answer.left_out,
        unseen=answer.unseen,
    )


def numbered(texts: Sequence[str], place: int) -> str:
    """The text in *place*, counted from 1."""
    return f"{place + 1:,}. {texts[place]}"


def without_noise(answer: VectorDiagnosis) -> tuple[NearRecipe, ...]:
    """The recipes; what only rounding makes of a distance is 0."""
    recipes = []
    for recipe in answer.nearest:
        found = recipe.found if recipe.found >= NOISE else 0.0
        confirmed = recipe.confirmed if recipe.confirmed >= NOISE else 0.0
        recipes.append(replace(recipe, found=found, confirmed=confirmed))
    return tuple(recipes)


def in_fp32(checkpoint: Checkpoint) -> Checkpoint:
    """*checkpoint* as it lies on the disk, in fp32. Where it was opened in bf16, its numbers are too coarse to compare:
    it is opened once more, and kept with the passes. One that is only in memory stays as it is."""
    if checkpoint.precision == "fp32" or checkpoint.folder == Path():
        return checkpoint

    def open_again() -> Checkpoint:
        from bertexplorer.model.load import load

        exact = load(checkpoint.folder, name=checkpoint.name, precision="fp32", frozen=True)
        return replace(exact, scheduler=checkpoint.scheduler, cache=LRUCache(OWN_CACHE))

    def size(opened: Checkpoint) -> int:
        return 4 * opened.num_parameters + OWN_CACHE

    with working(None):  # others may wait for it too
        opened: Checkpoint = checkpoint.cache.get(("in fp32",), open_again, size)
    return opened


def plant(checkpoint: Checkpoint, planted: Planted) -> TextVectors:
    """The vectors of TEXTS as another program may have made them: as the checkpoint's files say, but for the one thing
    that *planted* names."""
    from bertexplorer.diagnosis.recipe import own_recipe
    from bertexplorer.diagnosis.states import Reader

    own = own_recipe(checkpoint, "")
    reading = own.reading
    layer = own.layer
    pooling = "own"  # a name of `engine.sentence_vectors`: the pooling in the files
    # 1. What is done otherwise before the vectors are made.
    if planted == "another pooling":
        pooling = "mean" if own.pooling == "cls" else "CLS"  # "cls" is a name of a Recipe, "CLS" one of the engine
    elif planted == "a layer too early":
        layer -= 1
    elif planted == "a prompt before it":
        reading = replace(reading, prompt="query: ")
    elif planted == "cut at 64 tokens":
        reading = replace(reading, max_tokens=64)
    # 2. The vectors.
    reader = Reader(checkpoint)

    def make(texts: list[str]) -> np.ndarray:
        encodings = []
        for text in texts:
            encoding = reader.encode(text, reading)
            encodings.append(replace(encoding, unpooled=0))  # such a program pools the tokens of the prompt, too
        made = engine.sentence_vectors(checkpoint, encodings, layer=layer, pooling=pooling)
        return np.asarray(made.numpy(), dtype=np.float64)

    if planted == "read in halves":
        first_halves = make([half(text, 0) for text in TEXTS])
        second_halves = make([half(text, 1) for text in TEXTS])
        vectors = (first_halves + second_halves) / 2
    else:
        vectors = make(list(TEXTS))
    # 3. What is done otherwise with them.
    if planted == "in another order":
        vectors = np.roll(vectors, 1, axis=0)
    return TextVectors(TEXTS, vectors.tolist())


def half(text: str, which: int) -> str:
    """The first (0) or second (1) half of the words of *text*."""
    words = text.split()
    middle = len(words) // 2
    return " ".join(words[middle:] if which else words[:middle])


def rows(result: WhoseVectors) -> list[dict[str, object]]:
    """One row for every recipe, nearest first: its distance (1 - cosine) on the texts that were used to find a recipe,
    and on the others."""
    return [
        {"recipe": recipe.said, "found": recipe.found, "confirmed": recipe.confirmed, "fits": recipe.fits}
        for recipe in result.nearest
    ]


class Facts(facts.Facts[WhoseVectors]):
    def found(self) -> str:
        """ "named", "several", "none" or "shuffled"."""
        return self._result.found

    def as_files(self) -> bool:
        """Whether the vectors are made as the checkpoint's files say."""
        return self._result.as_files

    def pooling(self) -> str:
        """The pooling of the recipe that was found, such as "cls"; empty if none was."""
        return self._result.pooling

    def layer(self) -> float:
        """Its layer; -1 if none was found."""
        return self._result.layer

    def files_distance(self) -> float:
        """The distance (1 - cosine) of what the files say, on held-out texts; -1 if it makes no such vectors."""
        return next((recipe.confirmed for recipe in self._result.nearest if not recipe.beside), -1.0)

    def recipe(self, rank: int = 1) -> str:
        """The recipe of this rank, the nearest first, in words."""
        return facts.item(self._result.nearest, rank, "recipe").said

    def distance(self, rank: int = 1) -> float:
        """Its distance (1 - cosine) on the texts that were not used to find it."""
        return facts.item(self._result.nearest, rank, "recipe").confirmed

"""The search: which recipe gives these vectors? Found on some of the texts, confirmed on others, ahead by a margin.

A cut shows in long texts alone. So a recipe is found on short ones, which are quick to read, and the length at which it
cuts on long ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bertexplorer.diagnosis.given import Given
from bertexplorer.diagnosis.pooling import Key, key_of, poolings
from bertexplorer.diagnosis.readings import WITHOUT_SHORT, Change, Rows, changes, choose, cuts, departing
from bertexplorer.diagnosis.recipe import Reading, Recipe, own_recipe
from bertexplorer.diagnosis.scaling import with_scaling
from bertexplorer.diagnosis.states import Reader, hidden_states, in_precision
from bertexplorer.engine import fingerprint, progress, sentence_encoder_of
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.scheduler import torch_threads

CLOSE = 1e-4  # a distance (1 - cosine) that needs no other precision to be explained
NEAR = 0.1  # beyond this, no precision is tried
AHEAD = 3.0  # a recipe is ahead of another one if that is so many times farther from a vector
EXPLAINED = 3.0  # a precision explains a distance if it makes it so many times smaller
USUAL = 3.0  # … or, if its errors depend on the order of sums, if it moves our own vectors nearly as far
UNLIKE = 4.0  # a precision moves one of the nearest recipes at most so many times as far as another
SHUFFLED = 0.02  # a vector nearer than this to that of another text belongs to it
KEPT = 40  # recipes that are tried on the texts that confirm
PRECISE = 10  # of these, that are tried in other precisions


@dataclass(frozen=True, eq=False)
class Candidate:
    """A recipe that was tried: by text, how far its vector is from the given one, 1 - cosine."""

    recipe: Recipe
    distances: dict[int, float]
    lengths: dict[int, tuple[float, float]] = field(default_factory=dict)  # of its vectors, cut and before that

    def mean(self, rows: Sequence[int]) -> float:
        """The mean distance on those of *rows* that were tried."""
        return float(np.mean([self.distances[row] for row in rows if row in self.distances]))

    def greatest(self, rows: Sequence[int]) -> float:
        """The greatest distance on those of *rows* that were tried."""
        return max(self.distances[row] for row in rows if row in self.distances)

    def is_ahead(self, other: Candidate, floor: float) -> bool:
        """Whether *other* is several times farther from a vector than this one, and nowhere several times nearer.
        Distances below *floor* count as alike."""
        is_farther = False
        for row in self.distances.keys() & other.distances.keys():
            ours = max(self.distances[row], floor)
            theirs = max(other.distances[row], floor)
            if ours > AHEAD * theirs:
                return False
            if theirs > AHEAD * ours:
                is_farther = True
        return is_farther


class Owner(NamedTuple):
    """The place of the given vector that is nearest to ours, and its distance."""

    distance: float
    place: int


@dataclass(frozen=True, eq=False)
class Found:
    """What a search has found."""

    own: Recipe
    own_candidate: Candidate | None  # None if the files give fewer numbers than a given vector has
    nearest: list[Candidate]  # the best recipes, nearest first
    tied: list[Candidate]  # those that the texts do not tell from the best, which is among them; none if none fits
    only_short: bool  # whether the nearest one gives the vectors of short texts, and no cut those of long ones
    order: list[tuple[int, int]]  # (text, the place of its vector), if lines are shuffled
    tried: int  # recipes
    rows: Rows


def search(checkpoint: Checkpoint, given: Given, prompt: str | None = None) -> Found:
    """The recipe behind the vectors that are *given*. *prompt*: the name of the prompt that should stand before the
    texts, as in `Bert.encode`. Raises ExplorerError if no text can be read, or the files cannot be followed."""
    if checkpoint.precision != "fp32":
        raise ExplorerError(f"{checkpoint.name} was opened in {checkpoint.precision}; open it in fp32 to compare.")
    with torch_threads(1):  # thousands of short passes
        return Search(checkpoint, given, prompt).run()


class Search:
    """One search: its texts, and what it has tried."""

    def __init__(self, checkpoint: Checkpoint, given: Given, prompt: str | None) -> None:
        self.checkpoint = checkpoint
        self.given = given
        self.files = sentence_encoder_of(checkpoint, "own")
        self.own = own_recipe(checkpoint, prompt)
        self.reader = Reader(checkpoint)
        self.rows = choose(checkpoint, given, self.reader)
        self.encoders: dict[str, Encoder] = {"fp32": checkpoint.encoder}
        self.tried = 0
        self.kept: set[Key] = set()  # of the recipes that are tried on the texts that confirm
        self.known: dict[tuple[object, ...], dict[Key, Tensor]] = {}  # tokens, as they were read -> their kept vectors

    def run(self) -> Found:
        """Search, and decide. Once only, as it counts and remembers what it tries."""
        rows = self.rows
        # 1. Every recipe on the texts to find it with, the best of them on those that confirm.
        candidates = self.find()
        candidates.sort(key=lambda candidate: candidate.mean(rows.finding))
        best = candidates[:KEPT]
        best += [candidate for candidate in candidates[KEPT:] if self.is_own(candidate.recipe)]  # to be compared with
        self.kept = {key_of(candidate.recipe) for candidate in best}
        nearest = self.compute(best, rows.finding + rows.confirming)
        nearest.sort(key=lambda candidate: candidate.mean(rows.finding))
        # 2. Those that short texts do not tell apart, with each length on the long ones.
        if nearest and rows.long_finding and nearest[0].mean(rows.confirming) <= NEAR:
            not_behind = [other for other in nearest if not nearest[0].is_ahead(other, self.given.floor)]
            behind = [other for other in nearest if other not in not_behind]
            cut = self.compute(self.with_cuts(not_behind), rows.all)
            cut.sort(key=lambda candidate: candidate.mean(rows.finding + rows.long_finding))
            nearest = cut + behind
        # 3. The decision.
        tied = self.decide(nearest, rows.confirming + rows.long_confirming)
        only_short = bool(not tied and rows.long_finding and self.decide(nearest, rows.confirming))
        order = [] if tied or only_short else self.find_order()
        own = next((candidate for candidate in nearest if self.is_own(candidate.recipe)), None)
        if tied and tied[0].recipe.precision != "fp32":  # `nearest` has been computed in fp32 alone
            nearest = tied + nearest
        return Found(
            own=self.own,
            own_candidate=own,
            nearest=nearest,
            tied=tied,
            only_short=only_short,
            order=order,
            tried=self.tried,
            rows=rows,
        )

    def is_own(self, recipe: Recipe) -> bool:
        """Whether *recipe* is that of the files, whatever its width and scaling."""
        return recipe.reading == self.own.reading and key_of(recipe) == key_of(self.own)

    def find(self) -> list[Candidate]:
        """Every recipe that is tried, with its distances on the texts to find it with."""
        readings = self.readings()
        tokens = sum(self.rows.tokens[row] for row in self.rows.finding)
        progress.report(0, tokens * len(readings))
        candidates: list[Candidate] = []
        for count, reading in enumerate(readings):
            progress.report(tokens * count, tokens * len(readings))
            candidates += self.try_poolings(reading)
        self.tried = len(candidates)
        return candidates

    def readings(self) -> list[Reading]:
        """The ways of reading a text that are tried, each of which gives other tokens than those before it."""
        # 1. What may differ from the files. Where every text is long, that is the length, too.
        own = self.own.reading
        parts = changes(self.checkpoint, own)
        most = len(parts)
        if self.rows.all_long:
            parts.append([cut_at(length) for length in cuts(self.checkpoint, own, self.rows.longest)[1:]])
            most = WITHOUT_SHORT
        # 2. Without those that differ in name alone, such as lower case for a tokenizer that reads all texts so.
        readings = []
        seen = set()
        for reading in departing(own, parts, most):
            progress.check()
            try:
                encodings = [self.reader.encode(self.given.texts[row], reading) for row in self.rows.finding]
            except ExplorerError:
                continue  # such as a prompt with a mask that the checkpoint lacks
            read = [(encoding.ids, encoding.segments, encoding.unpooled) for encoding in encodings]
            tokens = (reading.segments, *read)
            if tokens not in seen:
                seen.add(tokens)
                readings.append(reading)
        return readings

    def try_poolings(self, reading: Reading) -> list[Candidate]:
        """Every recipe with *reading*, with its distances on the texts to find it with."""
        rows = self.rows.finding
        distances: dict[Key, dict[int, float]] = {}
        for row, vectors in self.vectors(reading, rows).items():
            theirs = torch.from_numpy(self.given.vectors[row])
            ours = torch.stack([vector[: self.given.width] for vector in vectors.values()])
            for key, distance in zip(vectors, self.far(ours, theirs).tolist(), strict=True):
                distances.setdefault(key, {})[row] = distance
        candidates = []
        for key, by_row in distances.items():
            if len(by_row) == len(rows):  # else a text has no tokens for it
                candidates.append(Candidate(self.recipe(reading, key), by_row))
        return candidates

    def recipe(self, reading: Reading, key: Key) -> Recipe:
        """The recipe with *reading* and what *key* says."""
        pools_prompt, pooling, layer, dense = key
        if key == key_of(self.own):
            pooling = self.own.pooling  # another name of the same, up to its length
        return Recipe(
            reading=reading,
            pooling=pooling,
            layer=layer,
            pools_prompt=pools_prompt,
            dense=dense,
            width=self.given.width,
        )

    def vectors(self, reading: Reading, rows: Sequence[int], precision: str = "fp32") -> dict[int, dict[Key, Tensor]]:
        """Row -> the vectors of every recipe with *reading*, for those of *rows* that have any. They stay in the
        checkpoint's cache: another search with the same texts computes none of them again."""
        encodings = [self.reader.encode(self.given.texts[row], reading) for row in rows]
        segments = reading.segments != "none"
        width = self.given.width

        def compute() -> dict[int, dict[Key, Tensor]]:
            if precision not in self.encoders:
                self.encoders[precision] = in_precision(self.checkpoint, precision)
            computed = {}
            for i, states in hidden_states(self.checkpoint, self.encoders[precision], encodings, segments=segments):
                found = poolings(self.checkpoint, self.files, states, encodings[i], width)
                computed[i] = {key: vector.clone() for key, vector in found}  # without the states
            return computed

        name = ("vectors of recipes", precision, segments, width, fingerprint(encodings))
        computed: dict[int, dict[Key, Tensor]] = self.checkpoint.cache.keep(name, compute, num_bytes)
        return {rows[i]: vectors for i, vectors in computed.items() if vectors}

    def kept_vectors(self, reading: Reading, rows: Sequence[int], precision: str) -> dict[int, dict[Key, Tensor]]:
        """Row -> the vectors of the kept recipes with *reading*. A text whose tokens were read before is not computed
        again, such as a short one, which no length cuts."""
        names: dict[int, tuple[object, ...]] = {}
        for row in rows:
            encoding = self.reader.encode(self.given.texts[row], reading)
            names[row] = (precision, reading.segments, encoding.ids, encoding.segments, encoding.unpooled)
        new = [row for row in rows if names[row] not in self.known]
        for row, vectors in self.vectors(reading, new, precision).items():
            self.known[names[row]] = {key: vectors[key] for key in self.kept if key in vectors}
        return {row: self.known.get(names[row], {}) for row in rows}

    def far(self, ours: Float[Tensor, "*n d"], theirs: Float[Tensor, " d"]) -> Float[Tensor, "*n"]:
        """1 - cosine of *ours* with *theirs*, as half the squared distance of unit vectors, which keeps its digits."""
        ours = ours.double()
        if self.given.kind == "binary":
            ours = ours.sign()
        return (F.normalize(ours, dim=-1) - F.normalize(theirs.double(), dim=-1)).square().sum(dim=-1) / 2

    def with_cuts(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """*candidates* with each length at which they may cut."""
        result = []
        for candidate in candidates:
            for length in cuts(self.checkpoint, self.own.reading, self.rows.longest):
                reading = replace(candidate.recipe.reading, max_tokens=length)
                result.append(replace(candidate, recipe=replace(candidate.recipe, reading=reading)))
        return result

    def compute(self, candidates: Sequence[Candidate], rows: Sequence[int], precision: str = "fp32") -> list[Candidate]:
        """*candidates* on *rows*, with the lengths of their vectors, in *precision*; without those that have no vector
        of a row. Reports its progress."""
        result = []
        readings = dict.fromkeys(candidate.recipe.reading for candidate in candidates)
        tokens = sum(self.rows.tokens[row] for row in rows)
        progress.report(0, tokens * len(readings))
        for count, reading in enumerate(readings):
            progress.report(tokens * count, tokens * len(readings))
            by_row = self.kept_vectors(reading, rows, precision)
            for candidate in candidates:
                recipe = candidate.recipe
                key = key_of(recipe)
                if recipe.reading != reading or any(key not in vectors for vectors in by_row.values()):
                    continue
                distances: dict[int, float] = {}
                lengths: dict[int, tuple[float, float]] = {}
                for row in rows:
                    whole = by_row[row][key]
                    cut = whole[: self.given.width]
                    distances[row] = float(self.far(cut, torch.from_numpy(self.given.vectors[row])))
                    lengths[row] = (float(cut.norm()), float(whole.norm()))
                result.append(Candidate(replace(recipe, precision=precision), distances, lengths))
        return result

    def decide(self, nearest: Sequence[Candidate], confirming: Sequence[int]) -> list[Candidate]:
        """The recipe that gives the vectors, and those that the texts do not tell from it; none if the nearest does not
        give those of the texts that are *confirming*."""
        if not nearest or not confirming:
            return []
        best = nearest[0]
        if best.greatest(confirming) > max(CLOSE, self.given.floor):
            if best.mean(confirming) > NEAR:
                return []
            nearest = self.explain(nearest, confirming)
            if not nearest:
                return []
            best = nearest[0]
        tied = [candidate for candidate in nearest if not best.is_ahead(candidate, self.given.floor)]
        tied.sort(key=lambda candidate: (not self.is_own(candidate.recipe), candidate is not best))
        return [replace(candidate, recipe=self.with_scaling(candidate)) for candidate in tied]

    def explain(self, nearest: Sequence[Candidate], confirming: Sequence[int]) -> list[Candidate]:
        """The *nearest* recipes in the precision that explains their distances, nearest first; none if none does."""
        rows = list(nearest[0].distances)
        finding = [row for row in rows if row not in confirming]
        several = [candidate for candidate in nearest[:PRECISE] if candidate.distances.keys() >= set(rows)]
        plain = several[0]

        def compute(precision: str) -> tuple[list[Candidate], Candidate]:
            """(the recipes in *precision*, nearest first; the nearest in fp32)"""
            computed = self.compute(several, rows, precision)
            computed.sort(key=lambda candidate: candidate.mean(finding))
            recipe = replace(computed[0].recipe, precision="fp32")
            return computed, next(candidate for candidate in several if candidate.recipe == recipe)

        # 1. Weights in int8 are rounded in one way, so the same rounding must bring ours much nearer.
        # The other recipes are computed only if it does so at all for the nearest one. All rows, as activations are
        # rounded batch by batch: what is remembered of fewer rows would be rounded otherwise.
        (rounded,) = self.compute([plain], rows, "int8")
        if rounded.mean(confirming) < plain.mean(confirming):
            in_int8, nearest_plain = compute("int8")
            if nearest_plain.mean(confirming) >= EXPLAINED * in_int8[0].mean(confirming):
                return in_int8
        # 2. The errors of bf16 depend on the order of sums, so only their size can be compared.
        if UNLIKE * USUAL * self.moved(plain.recipe, "bf16", confirming) >= plain.mean(confirming):
            in_bf16, nearest_plain = compute("bf16")
            if nearest_plain.mean(confirming) <= USUAL * self.moved(nearest_plain.recipe, "bf16", confirming):
                return in_bf16
        return []

    def moved(self, recipe: Recipe, precision: str, rows: Sequence[int]) -> float:
        """How far *precision* moves our own vectors of *rows*, on average."""
        key = key_of(recipe)
        exact = self.kept_vectors(recipe.reading, rows, "fp32")
        rounded = self.kept_vectors(recipe.reading, rows, precision)
        return float(np.mean([float(self.far(rounded[row][key], exact[row][key])) for row in rows]))

    def with_scaling(self, candidate: Candidate) -> Recipe:
        """The recipe of *candidate*, with what the lengths of the given vectors say."""
        if self.given.kind == "binary":
            return candidate.recipe
        rows = list(candidate.lengths)
        reading = candidate.recipe.reading
        tokens = [len(self.reader.encode(self.given.texts[row], reading)) for row in rows]
        theirs = [float(self.given.lengths[row]) for row in rows]
        return with_scaling(candidate.recipe, theirs, list(candidate.lengths.values()), tokens)

    def find_order(self) -> list[tuple[int, int]]:
        """(text, the place of its vector), if the texts that were used have each other's vectors, or those of other
        texts; [] if not. Readings depart from the files in at most one part."""
        rows = self.rows.finding + self.rows.confirming
        for reading in departing(self.own.reading, changes(self.checkpoint, self.own.reading), 1):
            for owners in self.owners(reading, rows).values():
                if len(owners) < len(rows):  # a text has no tokens for this recipe
                    continue
                places = [owners[row].place for row in rows]
                farthest = max(owners[row].distance for row in rows)
                is_one_to_one = len(set(places)) == len(places)
                if farthest <= SHUFFLED and is_one_to_one and places != rows:
                    return list(zip(rows, places, strict=True))
        return []

    def owners(self, reading: Reading, rows: Sequence[int]) -> dict[Key, dict[int, Owner]]:
        """Recipe with *reading* -> text of *rows* -> the given vector that is nearest to ours."""
        theirs = F.normalize(torch.from_numpy(self.given.vectors), dim=-1)
        result: dict[Key, dict[int, Owner]] = {}
        for row, vectors in self.vectors(reading, rows).items():
            ours = torch.stack([vector[: self.given.width] for vector in vectors.values()]).double()
            if self.given.kind == "binary":
                ours = ours.sign()
            cosines, places = (F.normalize(ours, dim=-1) @ theirs.T).max(dim=1)
            for key, cosine, place in zip(vectors, cosines.tolist(), places.tolist(), strict=True):
                result.setdefault(key, {})[row] = Owner(1 - cosine, place)
        return result


def num_bytes(vectors: dict[int, dict[Key, Tensor]]) -> int:
    total = 0
    for by_key in vectors.values():
        total += sum(vector.numel() * vector.element_size() for vector in by_key.values())
    return total


def cut_at(length: int) -> Change:
    """The change that cuts texts at *length* tokens."""
    return lambda reading: replace(reading, max_tokens=length)

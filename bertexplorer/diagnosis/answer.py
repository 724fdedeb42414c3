"""The answer of the doctor: whose vectors they are, in sentences and rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

from bertexplorer.diagnosis.given import Given
from bertexplorer.diagnosis.pooling import key_of
from bertexplorer.diagnosis.readings import SHORT
from bertexplorer.diagnosis.recipe import Recipe, dense_layers, describe, describe_beside, differences
from bertexplorer.diagnosis.search import Found, search
from bertexplorer.engine import sentence_encoder_of
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.wording import counted, distance

SHOWN = 10  # recipes in the rows
Outcome = Literal["named", "several", "none", "shuffled"]
AS_FILES = 0  # exit codes
ANOTHER = 1
NONE = 2


@dataclass(frozen=True)
class NearRecipe:
    """A recipe that was tried, and how far its vectors are from the given ones, 1 - cosine."""

    said: str  # in words
    beside: str  # what differs from the recipe of the files; "" for that recipe itself
    found: float  # on the texts that were used to find a recipe, on average
    confirmed: float  # on those that were not
    fits: bool  # whether it gives the vectors, alone or as one of several


@dataclass(frozen=True, eq=False)
class VectorDiagnosis:
    """Whose vectors they are: the recipe that gives them, and how it differs from that of the checkpoint's files.

    `bx.doctor` returns it.
    """

    said: str  # in sentences
    found: Outcome  # one recipe, several that the texts do not tell apart, none, or vectors in another order
    as_files: bool  # whether they are what the files say
    recipe: Recipe | None  # the recipe; the nearest of several; None if there is none
    own: Recipe  # that of the files
    nearest: tuple[NearRecipe, ...]  # nearest first; the last is that of the files, if it is farther than these
    differences: tuple[str, ...]  # between the recipe and that of the files, a sentence for each step
    left_out: tuple[str, ...]  # which of the texts were not used
    unseen: tuple[str, ...]  # what the texts cannot show, as no text is of the kind that would
    order: tuple[tuple[int, int], ...] = ()  # of "shuffled": (text, the place of its vector), from 0

    @property
    def exit_code(self) -> int:
        """For scripts: 0 as the files say, 1 another recipe, or another order, 2 none."""
        if self.found == "none":
            return NONE
        return AS_FILES if self.as_files else ANOTHER

    @property
    def notes(self) -> tuple[str, ...]:
        """What the texts cannot show, and which were left out."""
        return self.left_out + self.unseen

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The nearest recipes, each with its distance on both halves of the texts."""
        return [
            {"recipe": recipe.said, "distance, found": recipe.found, "distance, confirmed": recipe.confirmed}
            for recipe in self.nearest
        ]

    def __repr__(self) -> str:
        return self.said


def diagnose(checkpoint: Checkpoint, given: Given, prompt: str | None = None) -> VectorDiagnosis:
    """Whose vectors are *given*. *prompt*: the name of the prompt that should stand before the texts. Raises
    ExplorerError as `search` does."""
    found = search(checkpoint, given, prompt)
    own = sentence_encoder_of(checkpoint, "own")
    layers = checkpoint.config.num_layers
    words = Words(checkpoint, given, found, layers, dense=len(dense_layers(own)))
    outcome: Outcome
    recipe: Recipe | None = None
    changed: list[str] = []
    as_files = False
    if found.tied:
        recipe = found.tied[0].recipe
        changed = differences(recipe, found.own, layers, from_files=checkpoint.sentence_encoder is not None)
        as_files = not changed
        if as_files:
            outcome, said = "named", words.as_files(recipe)
        elif len(found.tied) == 1:
            outcome, said = "named", words.another(recipe, changed)
        else:
            outcome, said = "several", words.several()
    elif found.order:
        outcome, said = "shuffled", words.shuffled()
    else:
        outcome, said = "none", words.none()
    return VectorDiagnosis(
        said=said,
        found=outcome,
        as_files=as_files,
        recipe=recipe,
        own=found.own,
        nearest=words.nearest(),
        differences=tuple(changed),
        left_out=given.notes,
        unseen=tuple(words.unseen(recipe)),
        order=tuple(found.order),
    )


@dataclass(frozen=True, eq=False)
class Words:
    """The sentences of a search."""

    checkpoint: Checkpoint
    given: Given
    found: Found
    layers: int  # of the encoder
    dense: int  # dense layers in its files

    @property
    def confirmed(self) -> str:
        """How many texts confirm the recipe, and how far it is ahead."""
        rows = self.found.rows
        best = self.found.tied[0]
        confirming = [*rows.confirming, *rows.long_confirming]
        were = "was" if len(confirming) == 1 else "were"
        sentence = f"Confirmed on {counted(len(confirming), 'text')} that {were} not used to find it"
        behind = [candidate for candidate in self.found.nearest if best.is_ahead(candidate, self.given.floor)]
        if not behind:
            return f"{sentence}."
        ours = best.mean(confirming)
        second = min(candidate.mean(confirming) for candidate in behind)
        return f"{sentence}: the distance (1 - cosine) is {distance(ours)}, of the next recipe {distance(second)}."

    def nearest(self) -> tuple[NearRecipe, ...]:
        """The recipes to list: the nearest of all first, and that of the files."""
        found = self.found
        rows = found.rows
        listed = found.nearest[:1]
        listed += sorted(found.nearest[1:SHOWN], key=lambda candidate: candidate.mean(rows.all))
        if found.own_candidate and found.own_candidate not in listed:
            listed.append(found.own_candidate)
        fitting = [(candidate.recipe.reading, key_of(candidate.recipe)) for candidate in found.tied]
        own = replace(found.own, scaling="")
        result = []
        for candidate in listed:
            recipe = candidate.recipe
            beside = ""
            if candidate is not found.own_candidate:
                beside = describe_beside(recipe, own, self.layers, self.dense)
            result.append(
                NearRecipe(
                    said=self.describe(recipe),
                    beside=beside,
                    found=candidate.mean([*rows.finding, *rows.long_finding]),
                    confirmed=candidate.mean([*rows.confirming, *rows.long_confirming]),
                    fits=(recipe.reading, key_of(recipe)) in fitting,
                )
            )
        return tuple(result)

    def precise(self, recipe: Recipe) -> str:
        """How the numbers were computed and rounded, as a sentence; "" if in full."""
        parts = []
        if recipe.precision == "int8":
            parts.append("The weights are rounded to int8.")
        elif recipe.precision != "fp32":
            parts.append(f"They are as near as computing in {recipe.precision} allows.")
        if self.given.rounding:
            parts.append(f"{self.given.rounding[0].upper()}{self.given.rounding[1:]}.")
        return " ".join(parts)

    def as_files(self, recipe: Recipe) -> str:
        """That the vectors are made as the files say."""
        name = self.checkpoint.name
        if self.checkpoint.sentence_encoder is None:
            said = f"These are vectors of {name}, whose files name no pooling: {self.describe(recipe)}."
        else:
            said = f"These are the vectors of {name}, as its files say: {self.describe(recipe)}."
        return joined(said, self.precise(recipe), self.confirmed)

    def another(self, recipe: Recipe, changed: list[str]) -> str:
        """That another recipe makes the vectors, and what it changes."""
        said = f"These are vectors of {self.checkpoint.name}, made in another way than its files say."
        if self.checkpoint.sentence_encoder is None:
            said = f"These are vectors of {self.checkpoint.name}."
        return joined(said, *changed, self.precise(recipe), self.confirmed)

    def several(self) -> str:
        """That several recipes make the vectors, the first ones in words."""
        tied = self.found.tied
        listed = [self.describe(candidate.recipe) for candidate in tied[:3]]
        if len(tied) > 3:
            listed.append(f"one of {len(tied) - 3:,} more")
        return (
            f"{len(tied):,} recipes of {self.checkpoint.name} give these vectors, and the texts do not tell them "
            f"apart: {'; or '.join(listed)}. Give more texts."
        )

    def shuffled(self) -> str:
        """That the texts have each other's vectors, with an example."""
        text, vector = next((text, vector) for text, vector in self.found.order if text != vector)
        return (
            f"The vectors are those of {self.checkpoint.name}, in another order than the texts: the vector of text "
            f"{text + 1:,} stands in place {vector + 1:,}. Sort them by their index, and compare again."
        )

    def none(self) -> str:
        """That no recipe makes the vectors, and which is nearest."""
        name = self.checkpoint.name
        if not self.found.nearest:
            return (
                f"None of the recipes of {name} makes vectors of {self.given.width:,} numbers: they have at most "
                f"{self.found.own.width:,}. They come from another checkpoint."
            )
        best = self.found.nearest[0]
        away = distance(best.mean(self.found.rows.all))
        if self.found.only_short:
            return (
                f"Texts of up to {SHORT} tokens have the vectors of {name}: {self.describe(best.recipe)}. Longer ones "
                "do not, wherever they are cut: the program may read them in parts, or cut them by words or characters."
            )
        return (
            f"None of {self.found.tried:,} recipes of {name} gives these vectors. The nearest is at a distance "
            f"(1 - cosine) of {away} on average: {self.describe(best.recipe)}. They "
            "come from another checkpoint or revision, or from a step that is not tried here."
        )

    def describe(self, recipe: Recipe) -> str:
        return describe(recipe, self.layers, self.dense)

    def unseen(self, recipe: Recipe | None) -> list[str]:
        """What these texts cannot show."""
        if recipe is None:
            return []
        rows = self.found.rows
        limit = recipe.reading.max_tokens
        notes = []
        if rows.longest <= limit:
            notes.append(
                f"The longest text has {counted(rows.longest, 'token')}: whether longer ones are cut, these texts "
                "cannot show."
            )
        elif len([row for row in rows.all if rows.tokens[row] > limit]) == 1:
            notes.append("The length at which texts are cut rests on one text.")
        if not rows.has_capitals and not recipe.reading.lower_case and self.reads_capitals():
            notes.append("No text has capitals: whether they are lost, these texts cannot show.")
        return notes

    def reads_capitals(self) -> bool:
        """Whether the tokenizer reads a capital otherwise than its small letter."""
        backend = self.checkpoint.tokenizer.backend
        return bool(backend.encode("The").ids != backend.encode("the").ids)


def joined(*sentences: str) -> str:
    """The *sentences* that are not empty, with spaces between."""
    return " ".join(sentence for sentence in sentences if sentence)

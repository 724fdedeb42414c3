"""A canary: ten texts, their vectors and the recipe in a file. A program that gives other vectors later has changed."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bertexplorer import engine
from bertexplorer.answers.vectors import encode_sentence
from bertexplorer.diagnosis.answer import ANOTHER, AS_FILES
from bertexplorer.diagnosis.files import MAX_FILE, is_vector
from bertexplorer.diagnosis.given import EXACT, Given, check
from bertexplorer.diagnosis.recipe import dense_layers, describe, own_recipe
from bertexplorer.diagnosis.scaling import TOLERANCE
from bertexplorer.diagnosis.texts import TEXTS
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint

FORMAT = "bertexplorer canary 1"
ALIKE = 1e-3  # a distance (1 - cosine) that fp16 and bf16 stay below


@dataclass(frozen=True, eq=False)
class CanaryCheck:
    """Whether vectors are still those of a canary."""

    said: str
    same: bool
    rows: tuple[dict[str, Any], ...]  # each text with its distance, the greatest first
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        return AS_FILES if self.same else ANOTHER


def make(checkpoint: Checkpoint, prompt: str | None = None) -> dict[str, Any]:
    """The canary of *checkpoint*. *prompt*: as in `Bert.encode`."""
    texts = [text for _, text in TEXTS]
    encodings = [encode_sentence(checkpoint, text, prompt) for text in texts]
    last = checkpoint.config.num_layers
    vectors = engine.sentence_vectors(checkpoint, encodings, layer=last, pooling="own")
    recipe = own_recipe(checkpoint, prompt)
    own = engine.sentence_encoder_of(checkpoint, "own")
    return {
        "format": FORMAT,
        "checkpoint": checkpoint.name,
        "revision": checkpoint.revision,
        "said": describe(recipe, last, len(dense_layers(own))),
        "recipe": asdict(recipe),
        "texts": texts,
        "vectors": [[round(number, 8) for number in row] for row in vectors.tolist()],
    }


def read(file: Path) -> dict[str, Any]:
    """The canary in *file*. Raises ExplorerError for another file."""
    wanted = "Write one with `bertexplorer doctor canary MODEL -o canary.json`"
    try:
        if file.stat().st_size > MAX_FILE:
            raise ExplorerError(f"{file.name} has {file.stat().st_size:,} bytes; no canary is so large. {wanted}.")
        content = json.loads(file.read_bytes())
    except OSError as error:
        raise ExplorerError(f"{file} cannot be read: {error.strerror}. {wanted}.") from error
    except (ValueError, RecursionError) as error:
        raise ExplorerError(f"{file.name} is not JSON. {wanted}.") from error
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ExplorerError(f"{file.name} is not a canary. {wanted}.")
    texts, vectors = content.get("texts"), content.get("vectors")
    if not isinstance(texts, list) or not isinstance(vectors, list) or not all(map(is_vector, vectors)):
        raise ExplorerError(f"{file.name} is a canary without texts and vectors. {wanted}.")
    return content


def compare(canary: dict[str, Any], given: Given) -> CanaryCheck:
    """Whether the vectors that are *given* are those of *canary*, text by text. Raises ExplorerError if no text is the
    same, or the vectors have another width."""
    kept = check(canary["texts"], canary["vectors"])
    places = [(kept.texts.index(text), row) for row, text in enumerate(given.texts) if text in kept.texts]
    if not places:
        raise ExplorerError("None of the texts is one of the canary. Give the vectors of its texts.", ITS_TEXTS)
    if kept.width != given.width:
        return CanaryCheck(
            f"The vectors have {given.width:,} numbers, those of the canary {kept.width:,}: they are others.",
            False,
            (),
            given.notes,
        )
    ours = kept.vectors[[place for place, _ in places]]
    theirs = given.vectors[[row for _, row in places]]
    units = [rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (ours, theirs)]
    distances = np.square(units[0] - units[1]).sum(axis=1) / 2
    ratios = np.linalg.norm(theirs, axis=1) / np.linalg.norm(ours, axis=1)
    rows = [
        {"text": given.texts[row], "distance": float(distance), "length, theirs / ours": float(ratio)}
        for (_, row), distance, ratio in zip(places, distances, ratios, strict=True)
    ]
    rows.sort(key=lambda row: -float(str(row["distance"])))
    worst, where = float(distances.max()), f"{canary['checkpoint']} ({canary['revision']})"
    same_length = bool(np.allclose(ratios, 1, rtol=0, atol=TOLERANCE))
    if worst <= max(ALIKE, given.floor) and same_length:
        rounded = "" if worst <= EXACT else f", up to rounding (a distance of {worst:.1g} at most)"
        return CanaryCheck(f"The vectors are those of the canary of {where}{rounded}.", True, tuple(rows), given.notes)
    if worst <= max(ALIKE, given.floor):
        said = (
            f"The vectors point where those of the canary of {where} do, but have other lengths: normalisation changed."
        )
    else:
        count = int((distances > max(ALIKE, given.floor)).sum())
        said = (
            f"{count:,} of {len(rows):,} vectors are no longer those of the canary of {where}: the distance is up to "
            f"{worst:.2g}. `bertexplorer doctor MODEL --vectors …` says which step differs."
        )
    return CanaryCheck(said, False, tuple(rows), given.notes)


ITS_TEXTS = {
    "page": "They are in the file, as texts.",
    "cli": "They are in the file, as texts; `bertexplorer doctor texts` prints them.",
    "python": 'They are canary["texts"].',
}

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
        """For scripts: 0 if they are, else 1."""
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
    texts = content.get("texts")
    vectors = content.get("vectors")
    if not isinstance(texts, list) or not isinstance(vectors, list) or not all(map(is_vector, vectors)):
        raise ExplorerError(f"{file.name} is a canary without texts and vectors. {wanted}.")
    return content


def compare(canary: dict[str, Any], given: Given) -> CanaryCheck:
    """Whether the vectors that are *given* are those of *canary*, text by text. Raises ExplorerError if no text is the
    same, or the vectors have another width."""
    # 1. The texts that both have.
    kept = check(canary["texts"], canary["vectors"])
    shared = [text for text in given.texts if text in kept.texts]
    if not shared:
        raise ExplorerError("None of the texts is one of the canary. Give the vectors of its texts.", ITS_TEXTS)
    if kept.width != given.width:
        said = f"The vectors have {given.width:,} numbers, those of the canary {kept.width:,}: they are others."
        return CanaryCheck(said, same=False, rows=(), notes=given.notes)
    ours = kept.vectors[[kept.texts.index(text) for text in shared]]
    theirs = given.vectors[[given.texts.index(text) for text in shared]]

    # 2. How far their vectors are from each other, and how long.
    our_lengths = np.linalg.norm(ours, axis=1)
    their_lengths = np.linalg.norm(theirs, axis=1)
    distances = np.square(ours / our_lengths[:, None] - theirs / their_lengths[:, None]).sum(axis=1) / 2
    ratios = their_lengths / our_lengths
    rows: list[dict[str, Any]] = []
    for i in np.argsort(-distances, kind="stable").tolist():
        rows.append({"text": shared[i], "distance": float(distances[i]), "length, theirs / ours": float(ratios[i])})

    # 3. What that says.
    where = f"{canary['checkpoint']} ({canary['revision']})"
    worst = float(distances.max())
    changed = int((distances > max(ALIKE, given.floor)).sum())
    same_lengths = bool(np.allclose(ratios, 1, rtol=0, atol=TOLERANCE))
    if changed:
        said = (
            f"{changed:,} of {len(rows):,} vectors are no longer those of the canary of {where}: the distance is up to "
            f"{worst:.2g}. `bertexplorer doctor MODEL --vectors …` says which step differs."
        )
    elif not same_lengths:
        said = (
            f"The vectors point where those of the canary of {where} do, but have other lengths: normalisation changed."
        )
    elif worst > EXACT:
        said = f"The vectors are those of the canary of {where}, up to rounding (a distance of {worst:.1g} at most)."
    else:
        said = f"The vectors are those of the canary of {where}."
    return CanaryCheck(said, same=same_lengths and not changed, rows=tuple(rows), notes=given.notes)


ITS_TEXTS = {
    "page": "They are in the file, as texts.",
    "cli": "They are in the file, as texts; `bertexplorer doctor texts` prints them.",
    "python": 'They are canary["texts"].',
}

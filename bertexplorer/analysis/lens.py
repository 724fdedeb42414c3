"""The tuned lens of a checkpoint: the built-in sentences that it is fitted on, and where it is kept."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from bertexplorer import engine
from bertexplorer.analysis.head_roles import SAMPLE
from bertexplorer.analysis.samples import TOPICS
from bertexplorer.analysis.suite_cases import table
from bertexplorer.engine import progress
from bertexplorer.engine.progress import Stopped
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding
from bertexplorer.settings import ASSETS

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

EVERY = 5  # one token in so many is masked
HELD_OUT = 5  # one group in so many is held out
POSITIONS = 1000  # at most, held-out ones included
WORK = 5_000_000  # positions x layers x hidden size: half a minute of one core


def tuned_lens(checkpoint: Checkpoint) -> engine.TunedLens:
    """The tuned lens of *checkpoint*, fitted at the first call and kept with its passes. Raises ExplorerError if there
    is no MLM head, or if the built-in sentences leave nothing to fit on."""
    while True:
        try:
            lens: engine.TunedLens = checkpoint.cache.get(
                "tuned lens", lambda: fitted(checkpoint), lambda made: made.num_bytes
            )
            return lens
        except Stopped:
            progress.check()  # raises if it was this caller who stopped; else fit it in place of the one who did


def fitted(checkpoint: Checkpoint) -> engine.TunedLens:
    _ = checkpoint.masked_lm  # raises before anything runs if there is none
    config = checkpoint.config
    encodings, held = masked_sentences(checkpoint, min(POSITIONS, WORK // (config.num_layers * config.hidden_size)))
    if len(set(held)) < 2:
        raise ExplorerError(f"{checkpoint.name} cannot read the built-in English sentences. Use the raw lens.")
    return engine.fit_tuned_lens(checkpoint, encodings, held)


def masked_sentences(checkpoint: Checkpoint, most: int) -> tuple[list[Encoding], list[bool]]:
    """(sentences with some of their tokens masked, whether each is held out), until *most* positions are masked."""
    encodings: list[Encoding] = []
    held, count = [], 0
    for place, group in enumerate(groups()):
        for sentence in group:
            encoding = checkpoint.tokenizer.encode(sentence)
            spots = [i for i, special in enumerate(encoding.special) if not special]
            if masked := spots[len(encodings) % EVERY :: EVERY]:
                encodings.append(encoding.with_ids(dict.fromkeys(masked, encoding.mask_id)))
                held.append(place % HELD_OUT == 0)
                count += len(masked)
            if count >= most:
                return encodings, held
    return encodings, held


def groups() -> list[list[str]]:
    """The built-in sentences in random order (a fixed seed). Those about the same word are in one group, of which a
    fit must not see a part only."""
    alike: dict[str, list[str]] = {}
    for _, cells in table(ASSETS / "probes" / "part-of-speech.csv"):
        alike.setdefault(cells["document"], []).append(cells["text"])
    plain = [*(line for lines in TOPICS.values() for line in lines), *SAMPLE]
    plain += (ASSETS / "data" / "general.txt").read_text("utf-8").splitlines()
    plain += [cells["text"] for _, cells in table(ASSETS / "probes" / "length.csv")]
    found = [*alike.values(), *([line] for line in dict.fromkeys(plain))]
    random.Random(0).shuffle(found)
    return found

"""The tuned lens of a checkpoint: read from beside its weights, else fitted once on built-in sentences; then cached."""

from __future__ import annotations

import random
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

from bertexplorer import engine
from bertexplorer.answers.sample_sentences import SAMPLE, TOPICS
from bertexplorer.engine import progress
from bertexplorer.engine.progress import Stopped
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding
from bertexplorer.settings import ASSETS
from bertexplorer.views.rows import table

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

EVERY = 5  # one token in EVERY is masked
HELD_OUT = 5  # one group in HELD_OUT is held out
POSITIONS = 1000  # at most, held-out ones included
WORK = 5_000_000  # positions x layers x hidden size: half a minute of one core


@dataclass(eq=False)
class Fit:
    """Who fits the lens of a checkpoint at the moment; those who wait for it show the same progress."""

    work: progress.Work | None = None


def cached_lens(checkpoint: Checkpoint) -> engine.TunedLens:
    """The tuned lens of *checkpoint*, read or fitted at the first call. Raises ExplorerError without an MLM head, and
    if the built-in sentences leave nothing to fit on."""
    fit: Fit = checkpoint.cache.get("fit of the tuned lens", Fit, lambda _: 0)

    def make() -> engine.TunedLens:
        fit.work = progress.current.get()
        return engine.read_tuned_lens(checkpoint) or fit_on_samples(checkpoint)

    while True:
        try:
            lens: engine.TunedLens = checkpoint.cache.get(
                "tuned lens", make, lambda fitted: fitted.num_bytes, meanwhile=lambda: progress.follow(fit.work)
            )
            return lens
        except Stopped:
            progress.check()  # raises if this caller was stopped; otherwise another caller was, so fit the lens again


def fit_on_samples(checkpoint: Checkpoint) -> engine.TunedLens:
    """A lens that is fitted on the built-in sentences. Raises ExplorerError as `cached_lens`."""
    _ = checkpoint.masked_lm  # raises before anything runs if there is no head
    config = checkpoint.config
    affordable = WORK // (config.num_layers * config.hidden_size)
    encodings, held_out = masked_sentences(checkpoint, min(POSITIONS, affordable))
    if len(set(held_out)) < 2:
        raise ExplorerError(f"{checkpoint.name} cannot read the built-in English sentences. Use the raw lens.")
    return engine.fit_tuned_lens(checkpoint, encodings, held_out)


def masked_sentences(checkpoint: Checkpoint, limit: int) -> tuple[list[Encoding], list[bool]]:
    """(sentences with some of their tokens masked, whether each is held out), until *limit* positions are masked."""
    encodings: list[Encoding] = []
    held_out: list[bool] = []
    count = 0
    for group_number, group in enumerate(sentence_groups()):
        for sentence in group:
            encoding = checkpoint.tokenizer.encode(sentence)
            positions = [i for i, special in enumerate(encoding.special) if not special]
            masked = positions[len(encodings) % EVERY :: EVERY]
            if masked:
                encodings.append(encoding.hide(masked))
                held_out.append(group_number % HELD_OUT == 0)
                count += len(masked)
            if count >= limit:
                return encodings, held_out
    return encodings, held_out


def sentence_groups() -> list[list[str]]:
    """The built-in sentences in random order (a fixed seed). Those about the same word form one group, which must not
    be split between fitting and held-out data."""
    same_word: dict[str, list[str]] = {}
    for _, cells in table(ASSETS / "probes" / "part-of-speech.csv"):
        same_word.setdefault(cells["document"], []).append(cells["text"])
    plain = [*chain.from_iterable(TOPICS.values()), *SAMPLE]
    plain += (ASSETS / "data" / "general.txt").read_text("utf-8").splitlines()
    plain += [cells["text"] for _, cells in table(ASSETS / "probes" / "length.csv")]
    groups = list(same_word.values())
    for line in dict.fromkeys(plain):
        groups.append([line])
    random.Random(0).shuffle(groups)
    return groups

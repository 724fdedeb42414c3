"""The ways of reading a text that are tried, and the texts on which."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations, product

import numpy as np

from bertexplorer.diagnosis.given import Given
from bertexplorer.diagnosis.recipe import Reading
from bertexplorer.diagnosis.states import Reader
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.sentence_encoder import SentenceEncoder

PROMPTS = (  # of widely used models, for vectors made with the prompt of another one
    "query: ",
    "passage: ",
    "search_query: ",
    "search_document: ",
    "Represent this sentence for searching relevant passages: ",
)
LENGTHS = (64, 128, 256, 384, 512)  # at which programs cut texts
SHORT = 50  # tokens of a text that none of them cuts, with a prompt before it
FINDING, CONFIRMING = 4, 8  # short texts on which a recipe is found, and confirmed
LONG_FINDING, LONG_CONFIRMING = 2, 2  # the same of long ones, on which its length is found
LOOKED_AT = 60  # texts of which these are chosen
WITHOUT_SHORT = 2  # parts of a reading that may depart from the files at once, if there are only long texts

Change = Callable[[Reading], Reading]


@dataclass(frozen=True)
class Rows:
    """The texts that a search uses. A long one can be cut, a short one cannot."""

    finding: list[int]
    confirming: list[int]
    long_finding: list[int]
    long_confirming: list[int]
    tokens: dict[int, int]  # of each text, uncut
    has_capitals: bool  # whether reading in lower case changes one of them

    @property
    def longest(self) -> int:
        """Tokens of the longest text."""
        return max(self.tokens[row] for row in self.all)

    @property
    def all_long(self) -> bool:
        """Whether a recipe must be found on texts that may be cut."""
        return any(self.tokens[row] > SHORT for row in self.finding)

    @property
    def all(self) -> list[int]:
        return [*self.finding, *self.long_finding, *self.confirming, *self.long_confirming]


def choose(checkpoint: Checkpoint, given: Given, reader: Reader) -> Rows:
    """The texts to use: some to find a recipe, and others to confirm it. Raises ExplorerError if fewer than two can be
    read."""
    # 1. Texts of every length, among them some with capitals.
    by_length = sorted(range(len(given.texts)), key=lambda i: len(given.texts[i]))
    evenly = np.linspace(0, len(by_length) - 1, min(LOOKED_AT, len(by_length))).round().astype(int)
    looked_at = [by_length[place] for place in evenly]
    # 2. Their tokens, uncut.
    whole = Reading(checkpoint.tokenizer.max_tokens)
    lengths: dict[int, int] = {}
    with_capitals = set()
    for i in looked_at:
        try:
            encoding = reader.encode(given.texts[i], whole)
        except ExplorerError:
            continue
        lengths[i] = len(encoding) + encoding.left_out
        if encoding.ids != reader.encode(given.texts[i], replace(whole, lower_case=True)).ids:
            with_capitals.add(i)
    if len(lengths) < 2:
        raise ExplorerError("Fewer than two of the texts can be read. Give others.")
    # 3. Short ones, those with capitals first; every second one confirms.
    short = [i for i in lengths if lengths[i] <= SHORT]
    long = sorted((i for i in lengths if lengths[i] > SHORT), key=lambda i: -lengths[i])
    if len(short) < 2:
        short = sorted(lengths, key=lambda i: lengths[i])
        long = []
    short.sort(key=lambda i: i not in with_capitals)
    short = short[: FINDING + CONFIRMING]
    finding = short[::2][:FINDING]
    confirming = [i for i in short if i not in finding]
    long_finding = long[::2][:LONG_FINDING]
    long_confirming = [i for i in long if i not in long_finding][:LONG_CONFIRMING]
    return Rows(
        finding=finding,
        confirming=confirming,
        long_finding=long_finding,
        long_confirming=long_confirming,
        tokens=lengths,
        has_capitals=bool(with_capitals),
    )


def changes(checkpoint: Checkpoint, own: Reading) -> list[list[Change]]:
    """What may differ in how a short text is read, a list for each part of a reading."""
    in_files = (checkpoint.sentence_encoder or SentenceEncoder()).prompts.values()
    prompts: list[Change] = []
    for prompt in dict.fromkeys(["", *in_files, *PROMPTS]):
        if prompt != own.prompt:
            prompts.append(partial(replace, prompt=prompt))
    segments: list[Change] = []
    if checkpoint.config.num_segments:
        segments.append(partial(replace, segments="none"))
    if checkpoint.config.num_segments > 1:
        segments.append(partial(replace, segments="second"))
    other_case: Change = partial(replace, lower_case=not own.lower_case)
    no_frame: Change = partial(replace, special=False)
    return [prompts, [other_case], [no_frame], segments]


def cuts(checkpoint: Checkpoint, own: Reading, longest: int) -> list[int]:
    """The lengths at which a text of *longest* tokens may be cut, those of the files first."""
    full = checkpoint.tokenizer.max_tokens
    others = {length for length in LENGTHS if length < min(full, longest)}
    if longest > own.max_tokens:
        others.add(full)
    return [own.max_tokens, *sorted(others - {own.max_tokens})]


def departing(own: Reading, parts: Sequence[Sequence[Change]], most: int) -> Iterator[Reading]:
    """*own*, then every reading that departs from it in one of the *parts*, in two, … at *most*."""
    for count in range(most + 1):
        for changed_parts in combinations(parts, count):
            for one_of_each in product(*changed_parts):
                reading = own
                for change in one_of_each:
                    reading = change(reading)
                yield reading

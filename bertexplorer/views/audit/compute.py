"""Audit: what the checkpoint cannot read well in a file of texts, and what the file repeats.

No tensor is computed: it asks the tokenizer alone. Texts are cut where the checkpoint cuts those of which it makes a
vector. A word is shattered if it is read as three pieces or more, or as unknown.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from bertexplorer.answers.uploads import check_given
from bertexplorer.answers.vectors import LabelledLine
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.model.small_pieces import Piece, what_it_falls_into
from bertexplorer.model.text import MAX_CHARACTERS, clean, without_panic
from bertexplorer.options import Option
from bertexplorer.training.data.checks import contradictions, duplicates
from bertexplorer.training.data.near_duplicates import near_duplicates
from bertexplorer.training.data.rows import Row
from bertexplorer.views import facts
from bertexplorer.views.audit.sets import SETS, Name

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Text, Tokenizer

MAX_LINES = 1_000_000
AT_ONCE = 100  # texts that the tokenizer reads together
LONGEST = 10 * MAX_CHARACTERS  # of a text that it is given: what follows is beyond every limit
SHATTERED = 3  # pieces of a word
NAMED = 200  # shattered words that are kept
KEYS, MEASURE = ("line", "finding"), "amount"


@dataclass(frozen=True)
class Options:
    set: Annotated[Name, Option("Texts", info="built in; or upload lines of your own")] = "reviews with faults"
    alike: Annotated[
        float,
        Option("Alike from", 0.5, 1.0, info="share of runs of five characters from which two texts nearly repeat"),
    ] = 0.8
    lines: Annotated[str, Option("Uploaded lines", info="empty: the built-in texts", by_page=True)] = ""


class Finding(NamedTuple):
    """What is odd about a text. *line*: its index. *amount*: of "cut", the share of its characters that is not read; of
    "unknown", of its tokens; of "nearly repeats", how much the two texts share; else 1. *earlier*: the index of the
    text that it repeats, else -1."""

    line: int
    kind: str  # one of KINDS
    amount: float = 1.0
    earlier: int = -1


KINDS = {  # what is looked for -> how it is said of one text, and of several
    "empty": ("is empty", "are empty"),
    "cut": ("is cut", "are cut"),
    "unknown": ("has unknown tokens", "have unknown tokens"),
    "falls apart": ("falls into pieces of a few letters", "fall into pieces of a few letters"),
    "repeats": ("repeats an earlier one", "repeat an earlier one"),
    "nearly repeats": ("nearly repeats an earlier one", "nearly repeat an earlier one"),
    "another label": ("repeats one with another label", "repeat one with another label"),
}


class Shattered(NamedTuple):
    """A word that is read as many pieces, or as unknown."""

    word: str
    pieces: int
    times: int  # that it occurs


class Script(NamedTuple):
    """The words in a script, such as Latin."""

    name: str
    words: int
    pieces: float  # mean of a word
    shattered: float  # share of the words, 0 to 1


@dataclass(frozen=True)
class Audit:
    """What was found in n texts, each of which counts once for each kind of finding."""

    name: str  # of the built-in set, or "uploaded lines"
    texts: tuple[LabelledLine, ...]
    findings: tuple[Finding, ...]  # by kind, then by line
    tokens: int  # in all texts, those beyond the limit included
    longest: int  # tokens of the longest text
    limit: int  # tokens of a text that are read
    unknown: float  # share of the tokens, 0 to 1
    pieces: float  # mean of a word
    shattered: tuple[Shattered, ...]  # the first NAMED, those with the most pieces in all first
    scripts: tuple[Script, ...]  # the most frequent first

    def line(self, i: int) -> int:
        """Where the text with index *i* stands in its file, or else in the list of texts, from 1."""
        return self.texts[i].line or i + 1

    def count(self, kind: str) -> int:
        return sum(finding.kind == kind for finding in self.findings)


def run(
    checkpoint: Checkpoint,
    text: Text | str = "",
    *,
    options: Options = Options(),
    lines: Sequence[LabelledLine] | None = None,
) -> Audit:
    """Audit *lines*, or a built-in set. *text* is not read. Raises ExplorerError for more than a million texts."""
    check_given("lines", options.lines, lines)
    texts = tuple(lines or SETS[options.set])
    if len(texts) > MAX_LINES:
        raise ExplorerError(f"{len(texts):,} texts were given; the limit is {MAX_LINES:,}. Give part of them.")
    tokenizer = checkpoint.sentence_tokenizer

    # 1. What the tokenizer makes of each text.
    tally = Tally(tokenizer)
    progress.report(0, len(texts))
    for start in range(0, len(texts), AT_ONCE):
        tally.read([line.text for line in texts[start : start + AT_ONCE]])
        progress.report(tally.count, len(texts))

    # 2. What the file repeats.
    findings = [*tally.findings, *repetitions(texts, options.alike)]
    order = list(KINDS)
    findings.sort(key=lambda finding: (order.index(finding.kind), finding.line))
    return Audit(
        name="uploaded lines" if lines else options.set,
        texts=texts,
        findings=tuple(findings),
        tokens=tally.tokens,
        longest=tally.longest,
        limit=tokenizer.max_tokens,
        unknown=tally.unknown / max(1, tally.tokens),
        pieces=sum(tally.pieces.values()) / max(1, sum(tally.words.values())),
        shattered=tally.shattered_words(),
        scripts=tally.by_script(),
    )


class Tally:
    """What the tokenizer makes of texts, counted as they are read."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.around = len(tokenizer.backend.encode("", add_special_tokens=True))  # special tokens of each text
        self.count = 0  # texts that were read
        self.findings: list[Finding] = []
        self.tokens = self.unknown = self.longest = 0
        self.words: Counter[str] = Counter()  # script -> words
        self.pieces: Counter[str] = Counter()  # script -> their pieces
        self.broken: Counter[str] = Counter()  # script -> words that are shattered
        self.shattered: Counter[tuple[str, int]] = Counter()  # (word, its pieces) -> times

    def read(self, texts: Sequence[str]) -> None:
        """Count some more *texts*."""
        cleaned = [clean(text[:LONGEST])[0] for text in texts]
        with without_panic():
            encoded = self.tokenizer.backend.encode_batch(cleaned, add_special_tokens=False)
        for whole, text, encoding in zip(texts, cleaned, encoded, strict=True):
            self.add(text, encoding, max(0, len(whole) - LONGEST))
            self.count += 1

    def add(self, text: str, encoding: Any, beyond: int) -> None:
        """Count a *text*. *encoding*: that of the backend; *beyond*: characters of the text that it was not given."""
        if not encoding.ids:
            self.findings.append(Finding(self.count, "empty"))
            return
        ids = encoding.ids
        offsets = encoding.offsets
        words = encoding.word_ids

        # 1. How much of it is read.
        self.tokens += len(ids)
        self.longest = max(self.longest, len(ids) + self.around)
        room = self.tokenizer.max_tokens - self.around
        if len(ids) > room:
            if self.tokenizer.cuts_beginning:
                lost = offsets[len(ids) - room][0]
            else:
                lost = len(text) - offsets[room - 1][1]
            self.findings.append(Finding(self.count, "cut", (lost + beyond) / (len(text) + beyond)))

        # 2. What is unknown, and whether it is in a language that the vocabulary hardly has.
        unknown = ids.count(self.tokenizer.unknown_id)
        self.unknown += unknown
        if unknown:
            self.findings.append(Finding(self.count, "unknown", unknown / len(ids)))
        pieces = [
            Piece(start, end, word, token == self.tokenizer.unknown_id)
            for token, (start, end), word in zip(ids, offsets, words, strict=True)
        ]
        if what_it_falls_into(text, pieces, self.tokenizer.unknown):
            self.findings.append(Finding(self.count, "falls apart"))

        # 3. Its words.
        first = 0
        for i in range(1, len(ids) + 1):
            if i < len(ids) and words[i] == words[first] and words[i] is not None:
                continue
            self.add_word(text[offsets[first][0] : offsets[i - 1][1]], pieces[first:i])
            first = i

    def add_word(self, word: str, pieces: Sequence[Piece]) -> None:
        """Count a word with its pieces; nothing without a letter is a word."""
        script = script_of(word)
        if not script:
            return
        self.words[script] += 1
        self.pieces[script] += len(pieces)
        if len(pieces) >= SHATTERED or any(piece.unknown for piece in pieces):
            self.broken[script] += 1
            self.shattered[word.strip().casefold(), len(pieces)] += 1

    def shattered_words(self) -> tuple[Shattered, ...]:
        """The first NAMED, those with the most pieces in all first."""
        words = [Shattered(word, pieces, times) for (word, pieces), times in self.shattered.items()]
        words.sort(key=lambda word: (-word.times * word.pieces, word.word))
        return tuple(words[:NAMED])

    def by_script(self) -> tuple[Script, ...]:
        """Each script, the most frequent first."""
        scripts = []
        for name, count in self.words.most_common():
            pieces = self.pieces[name] / count
            scripts.append(Script(name, words=count, pieces=pieces, shattered=self.broken[name] / count))
        return tuple(scripts)


def script_of(word: str) -> str:
    """The script of the first letter of *word*, such as "Latin"; "" if it has no letter."""
    letter = next(filter(str.isalpha, word), "")
    return script_of_letter(letter) if letter else ""


@lru_cache(maxsize=10_000)
def script_of_letter(letter: str) -> str:
    """The first word of its name in Unicode, which is that of its script for all but a few."""
    name = unicodedata.name(letter, "OTHER").partition(" ")[0]
    return "Chinese characters" if name == "CJK" else name.capitalize()


def repetitions(texts: Sequence[LabelledLine], alike: float) -> list[Finding]:
    """The texts that repeat an earlier one, exactly but for case and spaces, or nearly."""
    rows = [Row(i, {"text": line.text, "label": line.label}) for i, line in enumerate(texts) if line.text.strip()]
    other_label = set(contradictions(rows, ["text"], "label"))
    findings = []
    for line, earlier in duplicates(rows, ["text"]):
        kind = "another label" if (line, earlier) in other_label else "repeats"
        findings.append(Finding(line, kind, earlier=earlier))
    all_texts = [line.text for line in texts]
    for near in near_duplicates(all_texts, alike):
        findings.append(Finding(near.text, "nearly repeats", amount=near.share, earlier=near.earlier))
    return findings


def rows(result: Audit) -> list[dict[str, object]]:
    """A row for each finding; lines are those of the file, from 1."""
    return [
        {
            "line": result.line(finding.line),
            "finding": finding.kind,
            "amount": finding.amount,
            "as_line": result.line(finding.earlier) if finding.earlier >= 0 else "",
            "text": result.texts[finding.line].text,
        }
        for finding in result.findings
    ]


def summary_rows(result: Audit) -> list[dict[str, object]]:
    """How many texts each kind of finding concerns, and the share of them, 0 to 1."""
    total = len(result.texts)
    return [
        {"finding": kind, "line": "all", "texts": result.count(kind), "amount": result.count(kind) / total}
        for kind in KINDS
    ]


def tables(result: Audit) -> dict[str, list[dict[str, object]]]:
    """How often each kind of finding occurs; the shattered words; the scripts."""
    return {
        "summary": summary_rows(result),
        "words": [word._asdict() for word in result.shattered],
        "scripts": [script._asdict() for script in result.scripts],
    }


class Facts(facts.Facts[Audit]):
    def texts(self) -> float:
        """Texts in the file."""
        return len(self._result.texts)

    def found(self, kind: str) -> float:
        """Texts with this finding: empty, cut, unknown, falls apart, repeats, nearly repeats or another label."""
        if kind not in KINDS:
            raise ExplorerError(f"There is no finding {kind!r:.60}; wanted one of {', '.join(KINDS)}.")
        return self._result.count(kind)

    def pieces(self) -> float:
        """Pieces of a word on average."""
        return self._result.pieces

    def unknown(self) -> float:
        """Share of the tokens that are unknown, 0 to 1."""
        return self._result.unknown

    def shattered(self, rank: int = 1) -> str:
        """The shattered word with this rank."""
        return facts.item(self._result.shattered, rank, "word").word

    def longest(self) -> float:
        """Tokens of the longest text."""
        return self._result.longest

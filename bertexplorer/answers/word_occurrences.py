"""Occurrences of a word in the workbench text and in other sentences, and the positions of their pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bertexplorer.answers.vectors import BUILT_IN, WORD, piece_positions
from bertexplorer.answers.word_scores import parse_words
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import MAX_WORD, Encoding, Span, Text, Tokenizer

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_SENTENCES = 100
LABEL = re.compile(r"\s*(\w[\w-]{0,19}(?: \w[\w-]{0,19})?)\s*:\s+(?=\S)")
SPACELESS = "\u3040"  # from this character on, most scripts put no space between words
COMMON = """
    the and for was were are has had have his her its their our your with from that this these those into than then them
    they she him you who which what when where while will would could should can may might been being but not nor
    because there here very too also just only over under about after before every all any some one two
""".split()  # noqa: SIM905 - a list would fill a page


@dataclass(frozen=True)
class Occurrence:
    """One occurrence of a word. *start* and *end* count characters of *sentence*."""

    word: str  # as written there
    sentence: str
    start: int
    end: int
    label: str  # the sense that the user gave it, "" for none
    source: str  # "text": the workbench; "own": the other sentences; "built-in"
    hidden: bool  # whether the checkpoint sees [MASK] there
    encoding_index: int  # into Occurrences.encodings
    positions: tuple[int, ...]  # of its pieces in that encoding


@dataclass(frozen=True)
class Occurrences:
    """The sentences that contain a word, and where it occurs in them. The workbench text is encodings[0]."""

    words: tuple[str, ...]  # the words that were searched for
    occurrences: tuple[Occurrence, ...]  # sentence by sentence
    encodings: tuple[Encoding, ...]
    lacking: int  # sentences of the user, including the workbench text, without any of the words
    beyond: int  # occurrences beyond the checkpoint's limit of tokens


@dataclass(frozen=True)
class Source:
    """A sentence to search in."""

    encoding: Encoding
    label: str
    kind: str


def find_occurrences(
    checkpoint: Checkpoint, text: Text | str, words: str, sentences: str = "", sense: str = "", *, least: int = 1
) -> Occurrences:
    """Every occurrence of *words* in *text* and *sentences*.

    *words*: separated by commas. If empty, the picked words; if nothing is picked, the content word that occurs in the
    most sentences. *sentences*: one on each line, or separated by |; a label before a colon names the sense. *sense*:
    the sense in the workbench text. Case matters if it does for the checkpoint. If *text* alone has fewer than *least*
    occurrences and there are no *sentences*, the built-in sentences that contain the word are added. Raises
    ExplorerError for fewer than *least*."""
    tokenizer = checkpoint.tokenizer
    sources = [Source(tokenizer.encode(text), " ".join(sense.split()), "text")]
    sources += [Source(tokenizer.encode(line), label, "own") for label, line in parse_sentences(sentences)]
    samples = [Source(tokenizer.encode(line.text), "", "built-in") for line in BUILT_IN]
    with_samples = least > 1 and len(sources) == 1
    # 1. The words.
    search_words = parse_words(words) or picked_words(sources[0].encoding)
    longest = max(map(len, search_words), default=0)
    if longest > MAX_WORD:
        raise ExplorerError(f"A word of {longest:,} characters was given; the limit is {MAX_WORD}.")
    if not search_words:
        search_words = (content_word(tokenizer, sources + samples if with_samples else sources),)
    # 2. Where they are.
    spans, lacking, beyond = gather(tokenizer, sources, search_words)
    if with_samples and len(spans) < least:
        in_samples, _, _ = gather(tokenizer, samples, search_words)
        sources += samples
        spans += [(1 + i, span) for i, span in in_samples]  # behind the text
    if len(spans) < least:
        searched = "the text"
        if sentences.strip():
            searched = f"any of the {len(sources)} sentences"
        elif with_samples:
            searched = "the text or the built-in sentences"
        raise ExplorerError(too_few(search_words, len(spans), beyond, least, searched))
    # 3. Of the sources, those that have one; the text always.
    matching = list(dict.fromkeys([0, *(i for i, _ in spans)]))
    occurrences = tuple(describe(sources[i], span, matching.index(i)) for i, span in spans)
    return Occurrences(search_words, occurrences, tuple(sources[i].encoding for i in matching), lacking, beyond)


def parse_sentences(sentences: str) -> Iterator[tuple[str, str]]:
    """(label, sentence) for each line, or each part between |. Raises ExplorerError beyond MAX_SENTENCES."""
    parts = [part.strip() for part in re.split(r"[|\n\r]+", sentences) if part.strip()]
    if len(parts) > MAX_SENTENCES:
        raise ExplorerError(f"{len(parts):,} sentences were given; the limit is {MAX_SENTENCES}. Remove some.")
    for part in parts:
        label = LABEL.match(part)
        yield (label[1], part[label.end() :]) if label else ("", part)


def picked_words(encoding: Encoding) -> tuple[str, ...]:
    """The words that have a picked piece, each as a whole. Raises ExplorerError if only [CLS] and the like are
    picked."""
    words = []
    for position in encoding.picked:
        span = encoding.spans[position]
        if span is not None and span.end > span.start:
            words.append(whole_word(encoding.texts[span.side], span))
    if encoding.picked and not words:
        token = encoding.tokens[encoding.picked[0]]
        raise ExplorerError(f"{token} is picked, but it is not a word of the text. Pick a word.")
    return tuple(dict.fromkeys(words))


def whole_word(text: str, span: Span) -> str:
    """The word of *text* that the piece at *span* belongs to, or the piece itself if no letters surround it."""
    start, end = span.start, span.end
    if joins(text[start]):
        while start and joins(text[start - 1]):
            start -= 1
    if joins(text[end - 1]):
        while end < len(text) and joins(text[end]):
            end += 1
    return text[start:end].strip()


def joins(character: str) -> bool:
    """Whether a letter next to *character* would belong to the same word."""
    return (character.isalnum() or character == "_") and character < SPACELESS


def word_pattern(tokenizer: Tokenizer, word: str) -> re.Pattern[str]:
    """Matches *word* as a whole word; case does not matter if the tokenizer lower-cases."""
    before = r"(?<!\w)" if joins(word[0]) else ""
    after = r"(?!\w)" if joins(word[-1]) else ""
    return re.compile(before + re.escape(word) + after, re.IGNORECASE if is_uncased(tokenizer) else 0)


def is_uncased(tokenizer: Tokenizer) -> bool:
    normalizer = tokenizer.backend.normalizer
    return normalizer is not None and normalizer.normalize_str("A").strip() == "a"


def content_word(tokenizer: Tokenizer, sources: Sequence[Source]) -> str:
    """The word of the workbench text that occurs in the most sources. Among equals: the most frequent, then the
    longest, then the first."""
    texts = without_masks(tokenizer, sources[0].encoding)
    candidates = [
        match[0]
        for text in texts
        for match in WORD.finditer(text)
        if len(match[0]) > 2 and match[0].isalpha() and match[0].lower() not in COMMON
    ] or [match[0] for match in WORD.finditer(texts[0])]
    mask = tokenizer.special.get("mask")
    if not candidates and mask and mask in sources[0].encoding.texts[0]:
        return mask
    if not candidates:
        raise ExplorerError("The text has no word. Type a sentence.")
    counts: dict[str, tuple[int, int, int]] = {}
    for word in dict.fromkeys(candidates):
        regex = word_pattern(tokenizer, word)
        counts_by_source = [
            sum(len(regex.findall(text)) for text in without_masks(tokenizer, source.encoding)) for source in sources
        ]
        counts[word] = len(counts_by_source) - counts_by_source.count(0), sum(counts_by_source), len(word)
    return max(counts, key=lambda word: counts[word])


def without_masks(tokenizer: Tokenizer, encoding: Encoding) -> list[str]:
    """The texts of *encoding* with spaces in place of typed masks, which are no word."""
    mask = tokenizer.special.get("mask", "")
    return [text.replace(mask, " " * len(mask)) if mask else text for text in encoding.texts]


def gather(
    tokenizer: Tokenizer, sources: Sequence[Source], words: Sequence[str]
) -> tuple[list[tuple[int, Span]], int, int]:
    """((source, span) of every occurrence whose pieces were read, number of sources without any, number of occurrences
    that were not read)."""
    patterns = [word_pattern(tokenizer, word) for word in words]
    masks_count = tokenizer.special.get("mask") in words  # one was picked
    found: list[tuple[int, Span]] = []
    lacking = 0
    beyond = 0
    for index, source in enumerate(sources):
        encoding = source.encoding
        texts = encoding.texts if masks_count else without_masks(tokenizer, encoding)
        spans: set[Span] = set()
        for side, text in enumerate(texts):
            for pattern in patterns:
                spans.update(Span(side, *match.span()) for match in pattern.finditer(text))
        ends = [0, 0]  # of what was read of each text
        for piece in filter(None, encoding.spans):
            if piece.side in (0, 1):
                ends[piece.side] = max(ends[piece.side], piece.end)
        read = [span for span in spans if span.start < ends[span.side] and piece_positions(encoding, span)]
        found += [(index, span) for span in sorted(read)]
        lacking += not spans
        beyond += len(spans) - len(read)
    return found, lacking, beyond


def describe(source: Source, span: Span, index: int) -> Occurrence:
    """The Occurrence at *span*. *index*: of its encoding in Occurrences.encodings."""
    encoding = source.encoding
    pieces = piece_positions(encoding, span)
    sentence = encoding.texts[span.side]
    return Occurrence(
        word=sentence[span.start : span.end],
        sentence=sentence,
        start=span.start,
        end=span.end,
        label=source.label,
        source=source.kind,
        hidden=any(encoding.ids[i] == encoding.mask_id for i in pieces),
        encoding_index=index,
        positions=pieces,
    )


def too_few(words: Sequence[str], count: int, beyond: int, least: int, searched: str) -> str:
    """The message for *count* occurrences where *least* are needed."""
    quoted = " or ".join(f"{word!r:.60}" for word in words[:4])
    cut = f" ({beyond} more beyond the last token that is read)" if beyond else ""
    if not count:
        return f"{quoted} does not occur in {searched}{cut}. Choose a word that does, or add sentences that contain it."
    return (
        f"{quoted} occurs once{cut}; at least {least} occurrences are needed to compare. Add sentences that contain it "
        "under Options, one per line or separated by |."
    )

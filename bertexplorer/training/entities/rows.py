"""Rows with tags or with spans -> sentences as words with IOB2 tags."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from bertexplorer.model.text import clean, split_words
from bertexplorer.training.data.rows import Problem, Row, Unfit, converted, written
from bertexplorer.training.entities.tags import OUTSIDE, TAG, Entity, entities, iob2

AROUND = 12  # characters shown on either side of a mistake
MARKED = 0.9  # share of the tags, O aside, with B- or I- above which all must have one
KIND = ("label", "type")  # names for the type of a span


@dataclass(frozen=True)
class Sentence:
    """A text, its words as spans of characters, and a tag for each: IOB2, or plain ones such as parts of speech."""

    line: int
    text: str
    words: tuple[tuple[int, int], ...]
    tags: tuple[str, ...]


def sentences(rows: Sequence[Row]) -> tuple[list[Sentence], list[Problem]]:
    """Rows with "tokens" (a list, words separated by spaces, or a text) and "tags" (a list, tags separated by spaces,
    or the spans of the text). IOB1 and IOBES are converted to IOB2. If nearly all tags have B- or I-, a tag without is
    a problem; otherwise the tags are plain and unchanged."""
    found, problems = converted(rows, sentence)
    if is_plain(found):
        return found, problems
    kept = []
    for one in found:
        odd = next((tag for tag in one.tags if tag != OUTSIDE and not TAG.fullmatch(tag)), None)
        if odd is None:
            kept.append(replace(one, tags=tuple(iob2(entities(one.tags), len(one.tags)))))
        else:
            problems.append(Problem(one.line, f"has the tag “{odd[:40]}” without B- or I-, which the others have"))
    return kept, sorted(problems, key=lambda problem: problem.line)


def is_plain(found: Sequence[Sentence]) -> bool:
    """Whether the tags are plain, without B- and I-."""
    tags = [tag for one in found for tag in one.tags if tag != OUTSIDE]
    return sum(TAG.fullmatch(tag) is not None for tag in tags) < MARKED * len(tags)


def sentence(row: Row) -> Sentence:
    """The sentence of a row with its tags unchanged. Raises Unfit."""
    tokens, tags = unpacked(row.cells.get("tokens", "")), unpacked(row.cells.get("tags", ""))
    nested = isinstance(tags, list) and any(isinstance(tag, list | dict) for tag in tags)
    if nested or (tags == [] and isinstance(tokens, str)):
        if not isinstance(tokens, str):
            raise Unfit("has spans, but a list of words; wanted the text that the spans refer to")
        return spanned(row.line, tokens, tags)
    words, named = listed(tokens), listed(tags)
    if len(words) != len(named):
        raise Unfit(f"has {len(words)} words and {len(named)} tags")
    if "" in (*words, *named):
        raise Unfit("has an empty word" if "" in words else f"has no tag for “{words[named.index('')][:40]}”")
    return joined(row.line, words, named)


def unpacked(cell: Any) -> Any:
    """A cell, parsed if it is a JSON list written as text."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            return json.loads(cell)
        except ValueError:
            return cell
    return cell


def listed(cell: Any) -> list[str]:
    return [written(part).strip() for part in cell] if isinstance(cell, list) else written(cell).split()


def joined(line: int, tokens: Sequence[str], tags: Sequence[str]) -> Sentence:
    """The words separated by spaces; a word without visible characters becomes empty."""
    at, words, seen = 0, [], [clean(token)[0] for token in tokens]
    for token in seen:
        words.append((at, at + len(token)))
        at += len(token) + 1
    if not any(seen):
        raise Unfit("has no word")
    return Sentence(line, " ".join(seen), tuple(words), tuple(tags))


def spanned(line: int, text: str, spans: Sequence[Any]) -> Sentence:
    """A text with spans of characters, each from the start of a word to the end of a word."""
    read = sorted(bounds(text, span) for span in spans)
    left = clean(text)[0]
    if left != text:
        read = [(len(clean(text[:start])[0]), len(clean(text[:end])[0]), kind) for start, end, kind in read]
    words = split_words(left)
    starts, ends = {start: i for i, (start, _) in enumerate(words)}, {end: i + 1 for i, (_, end) in enumerate(words)}
    found: list[Entity] = []
    for start, end, kind in read:
        for at, side, known in ((start, "begin", starts), (end, "end", ends)):
            if at not in known:
                raise Unfit(f"has an entity {kind[:40]} that does not {side} where a word does: {context(left, at)}")
        if found and starts[start] < found[-1].end:
            raise Unfit(f"has two entities in one place: {context(left, start)}")
        found.append(Entity(kind, starts[start], ends[end]))
    if not words:
        raise Unfit("has no text")
    return Sentence(line, left, tuple(words), tuple(iob2(found, len(words))))


def bounds(text: str, span: Any) -> tuple[int, int, str]:
    """A span as {"start", "end", "label"} or [start, end, label]."""
    if isinstance(span, dict):
        span = [span.get("start"), span.get("end"), next((span[key] for key in KIND if key in span), None)]
    if not isinstance(span, list) or len(span) != 3 or not all(type(at) is int for at in span[:2]):
        raise Unfit(f"has the span {written(span)[:60]}; wanted a start, an end and a label")
    start, end, kind = span
    if not isinstance(kind, str) or not kind.strip():
        raise Unfit(f"has a span without a label: {written(span)[:60]}")
    if not 0 <= start < end <= len(text):
        raise Unfit(f"has a span from {start} to {end} in a text of {len(text):,} characters")
    return start, end, kind.strip()


def context(text: str, at: int) -> str:
    """The characters around position *at*, which is marked by a bar."""
    before, after = text[max(0, at - AROUND) : at], text[at : at + AROUND]
    return f"“{'…' * (at > AROUND)}{before}|{after}{'…' * (at + AROUND < len(text))}”"

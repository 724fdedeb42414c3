"""Tags and entities in any scheme, and rows with tags or spans -> sentences as words with IOB2 tags."""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from bertexplorer.model.text import clean, split_words
from bertexplorer.training.data.rows import Problem, Row, UnusableRow, cell_text, convert_rows

OUTSIDE = "O"
TAG = re.compile(r"([BIESLUM])[-_](.+)")


class Entity(NamedTuple):
    """Words *start* up to, not including, *end*."""

    kind: str
    start: int
    end: int


def split_tag(tag: str) -> tuple[str, str]:
    """(B, I, E, S or O, type). L is read as E, U as S, M as I; a tag without a prefix as O."""
    match = TAG.fullmatch(tag)
    return (match[1].translate(str.maketrans("LUM", "ESI")), match[2]) if match else (OUTSIDE, "")


def entities(tags: Sequence[str]) -> list[Entity]:
    """As conlleval counts them (Tjong Kim Sang and Buchholz, 2000), in IOB1, IOB2 and IOBES alike: an inside tag
    continues the previous entity if that is open and of the same type, otherwise it begins a new one."""
    result: list[Entity] = []
    open_kind = ""  # the kind of the entity that is open
    for i, (mark, kind) in enumerate(map(split_tag, tags)):
        if mark == OUTSIDE:
            open_kind = ""
            continue
        if mark in "IE" and kind == open_kind:
            result[-1] = result[-1]._replace(end=i + 1)
        else:
            result.append(Entity(kind, i, i + 1))
        open_kind = "" if mark in "ES" else kind
    return result


def strict_entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of IOB2 tags that begin with a B."""
    return [entity for entity in entities(tags) if tags[entity.start].startswith("B")]


def to_iob2(entities: Iterable[Entity], count: int) -> list[str]:
    """The tags of *count* words: B on the first of an entity, I on the others, O elsewhere."""
    tags = [OUTSIDE] * count
    for kind, start, end in entities:
        tags[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return tags


def words_as_entities(tags: Sequence[str]) -> list[Entity]:
    """Each tagged word as an entity, for plain tags: F1 over these is the share of correct words."""
    return [Entity(tag, i, i + 1) for i, tag in enumerate(tags) if tag]


def count_illegal(tags: Sequence[str]) -> int:
    """The number of *tags* that IOB2 does not allow at their positions."""
    from bertexplorer.model.crf import may_follow  # imports torch, which the page must not wait for

    return sum(not may_follow(before, tag) for before, tag in zip(["", *tags], tags, strict=False))


def head_labels(sentences: Iterable[Sequence[str]], plain: bool) -> tuple[str, ...]:
    """All labels of a head: the plain tags, or O with B and I of every type."""
    seen = {tag for tags in sentences for tag in tags}
    if plain:
        return tuple(sorted(seen))
    kinds = sorted({tag[2:] for tag in seen if tag != OUTSIDE})
    return (OUTSIDE, *(f"{mark}-{kind}" for kind in kinds for mark in "BI"))


AROUND = 12  # characters shown on either side of a mistake
MARKED = 0.9  # if more than this share of the tags except O have B- or I-, all must have one
KIND = ("label", "type")  # names for the type of a span


@dataclass(frozen=True)
class Sentence:
    """A text, its words as spans of characters, and a tag for each: IOB2, or plain ones such as parts of speech."""

    line: int
    text: str
    words: tuple[tuple[int, int], ...]
    tags: tuple[str, ...]


def read_sentences(rows: Sequence[Row]) -> tuple[list[Sentence], list[Problem]]:
    """Rows with "tokens" (a list, words separated by spaces, or a text) and "tags" (a list, tags separated by spaces,
    or the spans of the text). IOB1 and IOBES are converted to IOB2. If nearly all tags have B- or I-, a tag without is
    a problem; otherwise the tags are plain and unchanged."""
    read, problems = convert_rows(rows, read_sentence)
    if is_plain(read):
        return read, problems
    usable = []
    for sentence in read:
        unmarked = next((tag for tag in sentence.tags if tag != OUTSIDE and not TAG.fullmatch(tag)), None)
        if unmarked is None:
            usable.append(replace(sentence, tags=tuple(to_iob2(entities(sentence.tags), len(sentence.tags)))))
        else:
            reason = f"has the tag “{unmarked[:40]}” without B- or I-, which the others have"
            problems.append(Problem(sentence.line, reason))
    return usable, sorted(problems, key=lambda problem: problem.line)


def is_plain(sentences: Sequence[Sentence]) -> bool:
    """Whether the tags are plain, without B- and I-."""
    tags = [tag for sentence in sentences for tag in sentence.tags if tag != OUTSIDE]
    return sum(TAG.fullmatch(tag) is not None for tag in tags) < MARKED * len(tags)


def read_sentence(row: Row) -> Sentence:
    """The sentence of a row with its tags unchanged. Raises UnusableRow."""
    tokens, tags = parse_json_list(row.cells.get("tokens", "")), parse_json_list(row.cells.get("tags", ""))
    nested = isinstance(tags, list) and any(isinstance(tag, list | dict) for tag in tags)
    if nested or (tags == [] and isinstance(tokens, str)):
        if not isinstance(tokens, str):
            raise UnusableRow("has spans, but a list of words; wanted the text that the spans refer to")
        return sentence_with_spans(row.line, tokens, tags)
    words, word_tags = cell_words(tokens), cell_words(tags)
    if len(words) != len(word_tags):
        raise UnusableRow(f"has {len(words)} words and {len(word_tags)} tags")
    if "" in (*words, *word_tags):
        raise UnusableRow("has an empty word" if "" in words else f"has no tag for “{words[word_tags.index('')][:40]}”")
    return sentence_of_words(row.line, words, word_tags)


def parse_json_list(cell: Any) -> Any:
    """A cell, parsed if it is a JSON list written as text."""
    if isinstance(cell, str) and cell.lstrip().startswith("["):
        try:
            return json.loads(cell)
        except ValueError:
            return cell
    return cell


def cell_words(cell: Any) -> list[str]:
    return [cell_text(part).strip() for part in cell] if isinstance(cell, list) else cell_text(cell).split()


def sentence_of_words(line: int, tokens: Sequence[str], tags: Sequence[str]) -> Sentence:
    """The words separated by spaces; a word without visible characters becomes empty."""
    position, words, cleaned = 0, [], [clean(token)[0] for token in tokens]
    for token in cleaned:
        words.append((position, position + len(token)))
        position += len(token) + 1
    if not any(cleaned):
        raise UnusableRow("has no word")
    return Sentence(line, " ".join(cleaned), tuple(words), tuple(tags))


def sentence_with_spans(line: int, text: str, spans: Sequence[Any]) -> Sentence:
    """A text with spans of characters, each from the start of a word to the end of a word."""
    parsed = sorted(parse_span(text, span) for span in spans)
    cleaned = clean(text)[0]
    if cleaned != text:
        parsed = [(len(clean(text[:start])[0]), len(clean(text[:end])[0]), kind) for start, end, kind in parsed]
    words = split_words(cleaned)
    starts, ends = {start: i for i, (start, _) in enumerate(words)}, {end: i + 1 for i, (_, end) in enumerate(words)}
    entities: list[Entity] = []
    for start, end, kind in parsed:
        for position, side, positions in ((start, "start", starts), (end, "end", ends)):
            if position not in positions:
                around = show_context(cleaned, position)
                raise UnusableRow(f"has an entity {kind[:40]} that does not {side} at the {side} of a word: {around}")
        if entities and starts[start] < entities[-1].end:
            raise UnusableRow(f"has overlapping entities: {show_context(cleaned, start)}")
        entities.append(Entity(kind, starts[start], ends[end]))
    if not words:
        raise UnusableRow("has no text")
    return Sentence(line, cleaned, tuple(words), tuple(to_iob2(entities, len(words))))


def parse_span(text: str, span: Any) -> tuple[int, int, str]:
    """A span as {"start", "end", "label"} or [start, end, label]."""
    if isinstance(span, dict):
        span = [span.get("start"), span.get("end"), next((span[key] for key in KIND if key in span), None)]
    if not isinstance(span, list) or len(span) != 3 or not all(type(bound) is int for bound in span[:2]):
        raise UnusableRow(f"has the span {cell_text(span)[:60]}; wanted a start, an end and a label")
    start, end, kind = span
    if not isinstance(kind, str) or not kind.strip():
        raise UnusableRow(f"has a span without a label: {cell_text(span)[:60]}")
    if not 0 <= start < end <= len(text):
        raise UnusableRow(f"has a span from {start} to {end} in a text of {len(text):,} characters")
    return start, end, kind.strip()


def show_context(text: str, position: int) -> str:
    """The characters around position *position*, which is marked by a bar."""
    before, after = text[max(0, position - AROUND) : position], text[position : position + AROUND]
    return f"“{'…' * (position > AROUND)}{before}|{after}{'…' * (position + AROUND < len(text))}”"

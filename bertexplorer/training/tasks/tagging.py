"""Tagging: a tag for each word, such as the names of people and places; each on its own, or all together by a CRF."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

from bertexplorer.model.text import clean, split_words
from bertexplorer.options import Option
from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow, cell_text, convert_rows
from bertexplorer.training.entities import OUTSIDE, TAG, Entity, entities, metrics, to_iob2
from bertexplorer.training.task import Baselines, Column, Task

AROUND = 12  # characters shown on either side of a mistake
MARKED = 0.9  # if more than this share of the tags except O have B- or I-, all must have one
KIND = ("label", "type")  # names for the type of a span


@dataclass(frozen=True)
class Options:
    head: Annotated[
        Literal["softmax", "crf"],
        Option("Head", info="softmax: each word alone; crf: all together, without illegal sequences"),
    ] = "softmax"


@dataclass(frozen=True)
class Sentence:
    """A text, its words as spans of characters, and a tag for each: IOB2, or plain ones such as parts of speech."""

    line: int
    text: str
    words: tuple[tuple[int, int], ...]
    tags: tuple[str, ...]


def examples(rows: Sequence[Row], options: Options) -> tuple[list[Sentence], list[RowProblem]]:
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
            problems.append(RowProblem(sentence.line, reason))
    return usable, sorted(problems, key=lambda problem: problem.line)


def inputs(sentence: Sentence) -> list[tuple[str, ...]]:
    """The text."""
    return [(sentence.text,)]


def baselines(train: Sequence[Sentence], dev: Sequence[Sentence], options: Options) -> Baselines:
    """Each word gets its most frequent tag in *train*, unknown words the most frequent tag overall."""
    if not train or not dev:
        return {}
    plain, tag_counts = is_plain(train), defaultdict[str, Counter[str]](Counter)
    for sentence in train:
        for (start, end), tag in zip(sentence.words, sentence.tags, strict=True):
            tag_counts[sentence.text[start:end].lower()][tag] += 1
    usual_tag = sum(tag_counts.values(), Counter[str]()).most_common(1)[0][0] if plain else OUTSIDE
    tag_of = {word: tags.most_common(1)[0][0] for word, tags in tag_counts.items()}
    predicted = [
        [tag_of.get(sentence.text[start:end].lower(), usual_tag) for start, end in sentence.words] for sentence in dev
    ]
    reached = metrics([sentence.tags for sentence in dev], predicted, plain)
    return {key: ("each word by its most frequent tag", reached[key]) for key in ("entity_f1", "accuracy")}


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
    position = 0
    words = []
    cleaned = [clean(token)[0] for token in tokens]
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
    start = "…" if position > AROUND else ""
    end = "…" if position + AROUND < len(text) else ""
    return f"“{start}{before}|{after}{end}”"


TASK = Task(
    name="tagging",
    title="Named entities and tagging",
    about="A tag for each word: the names of people, places and organisations, parts of speech, and the like.",
    columns=(
        Column("tokens", "Words", "tokens", "a list of words, or the text if the tags are spans in it"),
        Column("tags", "Tags", "tags", 'B-LOC, I-LOC, O …, one for each word; or spans as {"start", "end", "label"}'),
    ),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="tagging:Tagger",
    metric="entity_f1",
    metrics={
        "entity_f1": "Entity F1",
        "strict_f1": "Strict F1",
        "precision": "Precision",
        "recall": "Recall",
        "accuracy": "Word accuracy",
        "illegal": "Illegal tags",
        "cut": "Words beyond the limit",
        "loss": "Loss",
    },
    baselines=baselines,
    defaults={"batch": 8, "epochs": 5.0},
    can=("answers", "suspects", "traces"),
)

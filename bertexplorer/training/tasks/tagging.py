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
    # 1. What was seen
    plain = is_plain(train)
    tag_counts: dict[str, Counter[str]] = defaultdict(Counter)  # word -> its tags
    for sentence in train:
        for (start, end), tag in zip(sentence.words, sentence.tags, strict=True):
            tag_counts[sentence.text[start:end].lower()][tag] += 1
    tag_of = {word: tags.most_common(1)[0][0] for word, tags in tag_counts.items()}
    usual_tag = OUTSIDE
    if plain:
        usual_tag = sum(tag_counts.values(), Counter[str]()).most_common(1)[0][0]

    # 2. What that predicts
    predicted = []
    for sentence in dev:
        words = [sentence.text[start:end].lower() for start, end in sentence.words]
        predicted.append([tag_of.get(word, usual_tag) for word in words])
    reached = metrics([sentence.tags for sentence in dev], predicted, plain)
    return {key: ("each word by its most frequent tag", reached[key]) for key in ("entity_f1", "accuracy")}


def is_plain(sentences: Sequence[Sentence]) -> bool:
    """Whether the tags are plain, without B- and I-."""
    tags = [tag for sentence in sentences for tag in sentence.tags if tag != OUTSIDE]
    return sum(TAG.fullmatch(tag) is not None for tag in tags) < MARKED * len(tags)


def read_sentence(row: Row) -> Sentence:
    """The sentence of a row with its tags unchanged. Raises UnusableRow."""
    tokens = parse_json_list(row.cells.get("tokens", ""))
    tags = parse_json_list(row.cells.get("tags", ""))
    nested = isinstance(tags, list) and any(isinstance(tag, list | dict) for tag in tags)
    if nested or (tags == [] and isinstance(tokens, str)):
        if not isinstance(tokens, str):
            raise UnusableRow("has spans, but a list of words; wanted the text that the spans refer to")
        return sentence_with_spans(row.line, tokens, tags)
    words, word_tags = cell_words(tokens), cell_words(tags)
    if len(words) != len(word_tags):
        raise UnusableRow(f"has {len(words)} words and {len(word_tags)} tags")
    if "" in words:
        raise UnusableRow("has an empty word")
    if "" in word_tags:
        untagged = words[word_tags.index("")]
        raise UnusableRow(f"has no tag for “{untagged[:40]}”")
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
    """The words of a cell, a list or a text with spaces between them."""
    if isinstance(cell, list):
        return [cell_text(part).strip() for part in cell]
    return cell_text(cell).split()


def sentence_of_words(line: int, tokens: Sequence[str], tags: Sequence[str]) -> Sentence:
    """The words separated by spaces; a word without visible characters becomes empty. Raises UnusableRow if all
    are."""
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
    """A text with spans of characters, each from the start of a word to the end of a word. Raises UnusableRow."""
    # 1. The spans, in characters of the text as it is read
    parsed = sorted(parse_span(text, span) for span in spans)
    cleaned = clean(text)[0]
    if cleaned != text:
        parsed = [(len(clean(text[:start])[0]), len(clean(text[:end])[0]), kind) for start, end, kind in parsed]

    # 2. The spans as words
    words = split_words(cleaned)
    word_at_start = {start: i for i, (start, _) in enumerate(words)}
    word_at_end = {end: i for i, (_, end) in enumerate(words)}
    entities: list[Entity] = []
    for start, end, kind in parsed:
        for position, side, word_at in ((start, "start", word_at_start), (end, "end", word_at_end)):
            if position not in word_at:
                around = show_context(cleaned, position)
                raise UnusableRow(f"has an entity {kind[:40]} that does not {side} at the {side} of a word: {around}")
        first, last = word_at_start[start], word_at_end[end]
        if entities and first < entities[-1].end:
            raise UnusableRow(f"has overlapping entities: {show_context(cleaned, start)}")
        entities.append(Entity(kind, first, last + 1))
    if not words:
        raise UnusableRow("has no text")
    return Sentence(line, cleaned, tuple(words), tuple(to_iob2(entities, len(words))))


def parse_span(text: str, span: Any) -> tuple[int, int, str]:
    """(start, end, label) of a span, given as {"start", "end", "label"} or [start, end, label]. Raises UnusableRow."""
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
    per_cent=("entity_f1", "strict_f1", "precision", "recall", "accuracy"),
    baselines=baselines,
    defaults={"batch": 8, "epochs": 5.0},
    can=("answers", "suspects", "traces"),
)

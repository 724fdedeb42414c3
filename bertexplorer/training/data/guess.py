"""Guess which column of a file is which column of a task, by name, else by content."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from bertexplorer.training.data.rows import ColumnSpec, Row, Table, cell_text
from bertexplorer.wording import counted

FIRST = ("texta", "text1", "sentence1", "sentencea", "premise", "question1", "anchor", "question", "query", "first")
SECOND = (
    "textb",
    "text2",
    "sentence2",
    "sentenceb",
    "hypothesis",
    "question2",
    "positive",
    "answer",
    "passage",
    "sentence",
    "context",
    "second",
)
LABEL = (
    "label",
    "labels",
    "class",
    "category",
    "topic",
    "sentiment",
    "verdict",
    "judgement",
    "judgment",
    "opinion",
    "target",
    "gold",
    "tag",
    "intent",
    "stars",
    "rating",
    "fine",
    "relation",
    "polarity",
    "emotion",
    "type",
    "acceptability",
    *("urteil", "klasse", "kategorie", "etikett", "stimmung", "thema", "gefühl", "bewertung", "meinung", "absicht"),
    *("étiquette", "classe", "catégorie", "etiqueta", "clase", "categoría", "etichetta", "categoria", "sterne", "note"),
)
PASSAGE = ("passage", "document", "positive", "context", "paragraph", "answer", "text")
TEXT = (
    "text",
    "sentence",
    "review",
    "content",
    "comment",
    "tweet",
    "message",
    "body",
    "line",
    "utterance",
    "title",
    "document",
    "question",
    "headline",
    "abstract",
    "description",
    *("satz", "rezension", "kommentar", "nachricht", "inhalt", "beitrag", "beschreibung", "überschrift", "titel"),
    *("texte", "phrase", "avis", "commentaire", "texto", "frase", "reseña", "comentario", "testo", "recensione"),
)
NAMES = {  # column of a task -> its usual names in files, the likeliest first
    "text": TEXT,
    "text_a": FIRST,
    "text_b": SECOND,
    "label": LABEL,
    "labels": ("labels", "tags", "categories", "topics", *LABEL),
    "score": ("score", "similarity", "similarityscore", "rating", "label", "gold", "relatedness"),
    "question": ("question", "query"),
    "context": ("context", "passage", "paragraph", "document", "text"),
    "answers": ("answers", "answer", "answertext"),
    "query": ("query", "question", "anchor", "search", "texta", "sentence1"),
    "passage": PASSAGE,
    "negatives": ("negatives", "negative", "hardnegatives"),
    "relevance": ("relevance", "label", "score", "relevant", "grade"),
    "document": ("document", "article", "text", "source", "body", "content"),
    "summary": ("summary", "highlights", "abstract", "headline", "title", "target"),
    "source": ("source", "src", "input", "document", "article", "question", "text"),
    "target": ("target", "tgt", "output", "summary", "translation", "answer", "highlights"),
    "tokens": ("tokens", "words"),
    "tags": ("tags", "nertags", "labels", "ner", "postags"),
    "title": ("title", "heading"),
    "id": ("id", "qid", "index", "guid"),
    "impossible": ("impossible", "isimpossible"),
}
KINDS = {"text": TEXT, "label": LABEL, "labels": NAMES["labels"], "number": NAMES["score"], "answers": NAMES["answers"]}
KINDS |= {"tokens": NAMES["tokens"], "tags": NAMES["tags"]}
KNOWN = frozenset(name for names in NAMES.values() for name in names)
NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")
EXAMINED_ROWS = 500  # rows examined
WORDS = 0.4  # bonus of words over numbers as labels: the numbers may be a rating next to the label


def guess_columns(table: Table, columns: Sequence[ColumnSpec]) -> dict[str, str]:
    """{column of the task: column of the table}, using each column at most once and omitting those that nothing fits.
    An optional column is matched by name only."""
    # 1. By name
    mapping: dict[str, str] = {}
    for spec in columns:
        unused = {normalized_name(name): name for name in reversed(table.columns) if name not in mapping.values()}
        known = next((name for name in usual_names(spec) if name in unused), None)
        if known is not None:
            mapping[spec.name] = unused[known]

    # 2. By content, texts last
    rows = table.rows[:EXAMINED_ROWS]
    for spec in sorted(columns, key=lambda spec: spec.kind == "text"):
        if spec.name in mapping or spec.optional or spec.kind not in FITS:
            continue
        scores = {}
        for name in table.columns:
            if name not in mapping.values():
                scores[name] = FITS[spec.kind]([row.cells[name] for row in rows])
        best = max(scores, key=lambda name: scores[name], default="")
        if best and scores[best] > 0:
            mapping[spec.name] = best
    texts = [spec.name for spec in columns if spec.kind == "text"]
    return keep_file_order(mapping, table.columns, texts)


def usual_names(spec: ColumnSpec) -> list[str]:
    """The names, normalised, that a column of a task usually has in files, the likeliest first."""
    in_files = NAMES.get(spec.name, KINDS.get(spec.kind, ()))
    return [normalized_name(spec.name), normalized_name(spec.label), *in_files]


def usual_columns(columns: Iterable[str], wanted: Sequence[str]) -> dict[str, str]:
    """{one of *wanted*: the column of a file that usually means it}, by the names alone; those without such a column
    are left out. *wanted*: names of NAMES. No column is used twice."""
    unused = {normalized_name(column): column for column in columns}
    found = {}
    for name in wanted:
        for usual in (normalized_name(name), *NAMES[name]):
            if usual in unused:
                found[name] = unused.pop(usual)
                break
    return found


def say_columns(found: Mapping[str, str]) -> str:
    """A sentence on the columns of a file that are read under another name; "" if there are none. *found*: as of
    `usual_columns`."""
    others = []
    for name, column in found.items():
        if normalized_name(column) != normalized_name(name):
            others.append(f"“{column[:40]}” as {name}")
    if not others:
        return ""
    return f"Columns were matched by name: {', '.join(others)}."


def guess_reasons(table: Table, columns: Sequence[ColumnSpec], chosen: Mapping[str, str]) -> dict[str, str]:
    """Why each column of *chosen* was guessed, in a few words, and which others would also do as a label; nothing for a
    column that the user chose instead."""
    guessed = guess_columns(table, columns)
    rows = table.rows[:EXAMINED_ROWS]
    reasons = {}
    for spec in columns:
        column = chosen.get(spec.name)
        if not column or guessed.get(spec.name) != column:
            continue
        if normalized_name(column) in usual_names(spec):
            reason = "by its name"
        else:
            reason = BY_CONTENT.get(spec.kind, "")
        if FITS.get(spec.kind) is label_fit:
            reason += f", {counted(different_values(rows, column), 'different value')}"
            rivals = []
            for name in table.columns:
                if name not in chosen.values() and label_fit([row.cells[name] for row in rows]):
                    rivals.append(f"“{name[:40]}” ({different_values(rows, name):,} values)")
            if rivals:
                reason += f"; {', '.join(rivals[:3])} would fit too"
        reasons[spec.name] = reason
    return reasons


def different_values(rows: Sequence[Row], column: str) -> int:
    values = {cell_text(row.cells[column]).strip() for row in rows}
    return len(values - {""})


def keep_file_order(
    mapping: dict[str, str], file_columns: Sequence[str], text_columns: Sequence[str]
) -> dict[str, str]:
    """Texts that only their length distinguished keep the order of the file: the first column is the first text."""
    by_length = []  # columns of the task
    for name in text_columns:
        if name in mapping:
            column = normalized_name(mapping[name])
            by_name = column in NAMES.get(name, TEXT) or column == normalized_name(name)
            if not by_name:
                by_length.append(name)
    in_order = sorted((mapping[name] for name in by_length), key=file_columns.index)
    return mapping | dict(zip(by_length, in_order, strict=True))


def normalized_name(name: str) -> str:
    """A name in lower case, letters and digits only."""
    return re.sub(r"[\W_]", "", name.strip().lower())


def label_fit(cells: list[object]) -> float:
    """How well a column fits as a label: above 0 for 2 or more values that occur about twice or more each; higher for
    fewer and shorter values, and somewhat higher for words than for numbers."""
    values = {cell_text(cell).strip() for cell in cells}
    empty = sum(not cell_text(cell).strip() for cell in cells)
    if not 2 <= len(values) <= max(2, len(cells) / 2) or empty >= 0.05 * len(cells):
        return 0.0
    words = not all(map(NUMBER.fullmatch, values - {""}))
    return (1 + WORDS * words) / len(values) + 1e-3 / sum(map(len, values))


def number_fit(cells: list[object]) -> float:
    """How well a column fits as a score: above 0 for numbers that do not just count the rows; higher the more of them
    have decimals."""
    texts = [cell_text(cell).strip() for cell in cells]
    if not all(map(NUMBER.fullmatch, texts)):
        return 0.0
    values = [float(text.replace(",", ".")) for text in texts]
    if len(values) > 2 and all(after - before == 1 for before, after in zip(values, values[1:], strict=False)):
        return 0.0
    return 1.0 + sum(value % 1 != 0 for value in values) / len(values)


def text_fit(cells: list[object]) -> float:
    """Mean length of the texts of a column, in characters."""
    texts = [cell for cell in cells if isinstance(cell, str) and not NUMBER.fullmatch(cell.strip())]
    return sum(map(len, texts)) / len(cells) if len(texts) > len(cells) / 2 else 0.0


FITS: dict[str, Callable[[list[object]], float]] = {
    "text": text_fit,
    "label": label_fit,
    "labels": label_fit,
    "number": number_fit,
}
BY_CONTENT = {"text": "its texts are the longest", "label": "by its content", "labels": "by its content"}
BY_CONTENT |= {"number": "it holds numbers"}

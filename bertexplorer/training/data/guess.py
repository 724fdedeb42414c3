"""Guess which column of a file is which column of a task, by name, else by content."""

import re
from collections.abc import Callable, Mapping, Sequence

from bertexplorer.training.data.rows import Row, Table, Wanted, written

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
SEEN = 500  # rows examined
WORDS = 0.4  # bonus of words over numbers as labels: the numbers may be a rating next to the label


def guess(table: Table, columns: Sequence[Wanted]) -> dict[str, str]:
    """{column of the task: column of the table}, using each column at most once and omitting those that nothing fits.
    An optional column is matched by name only."""
    found: dict[str, str] = {}
    for wanted in columns:
        spare = {plain(name): name for name in reversed(table.columns) if name not in found.values()}
        own = (plain(wanted.name), plain(wanted.label), *NAMES.get(wanted.name, KINDS.get(wanted.kind, ())))
        if (column := next((spare[name] for name in own if name in spare), None)) is not None:
            found[wanted.name] = column
    rows = table.rows[:SEEN]
    for wanted in sorted(columns, key=lambda wanted: wanted.kind == "text"):
        if wanted.name in found or wanted.optional or wanted.kind not in FITS:
            continue
        cells = {name: [row.cells[name] for row in rows] for name in table.columns if name not in found.values()}
        scores = {name: FITS[wanted.kind](column) for name, column in cells.items()}
        best = max(scores, key=lambda name: scores[name], default="")
        if best and scores[best] > 0:
            found[wanted.name] = best
    return in_order(found, table.columns, [w.name for w in columns if w.kind == "text"], rows)


def reasons(table: Table, columns: Sequence[Wanted], chosen: Mapping[str, str]) -> dict[str, str]:
    """Why each column of *chosen* was guessed, in a few words, and which others would also do as a label; nothing for a
    column that the user chose instead."""
    guessed, rows = guess(table, columns), table.rows[:SEEN]
    reasons = {}
    for wanted in columns:
        if not (column := chosen.get(wanted.name)) or guessed.get(wanted.name) != column:
            continue
        names = (wanted.name, wanted.label, *NAMES.get(wanted.name, KINDS.get(wanted.kind, ())))
        reasons[wanted.name] = "by its name" if plain(column) in map(plain, names) else BY_CONTENT.get(wanted.kind, "")
        if FITS.get(wanted.kind) is few:
            counts = {name: len({written(row.cells[name]).strip() for row in rows}) for name in table.columns}
            reasons[wanted.name] += f", {counts[column]:,} different values"
            rivals = [n for n in table.columns if n not in chosen.values() and few([row.cells[n] for row in rows])]
            if rivals:
                listed = ", ".join(f"“{name[:40]}” ({counts[name]:,} values)" for name in rivals[:3])
                reasons[wanted.name] += f"; {listed} would do too"
    return reasons


def in_order(found: dict[str, str], there: Sequence[str], texts: list[str], rows: Sequence[Row]) -> dict[str, str]:
    """Texts that only their length distinguished keep the order of the file: the first column is the first text."""
    named = {w: c for w, c in found.items() if plain(c) in NAMES.get(w, TEXT) or plain(c) == plain(w)}
    free = [w for w in texts if w in found and w not in named]
    return found | dict(zip(free, sorted((found[w] for w in free), key=there.index), strict=True))


def plain(name: str) -> str:
    """A name in lower case, letters and digits only."""
    return re.sub(r"[\W_]", "", name.strip().lower())


def few(cells: list[object]) -> float:
    """How well a column fits as a label: above 0 for 2 or more values that occur about twice or more each; higher for
    fewer and shorter values, and somewhat higher for words than for numbers."""
    values = {written(cell).strip() for cell in cells}
    empty = sum(not written(cell).strip() for cell in cells)
    if not 2 <= len(values) <= max(2, len(cells) / 2) or empty >= 0.05 * len(cells):
        return 0.0
    words = not all(map(NUMBER.fullmatch, values - {""}))
    return (1 + WORDS * words) / len(values) + 1e-3 / sum(map(len, values))


def numbers(cells: list[object]) -> float:
    """How well a column fits as a score: above 0 for numbers that do not just count the rows; higher the more of them
    have decimals."""
    texts = [written(cell).strip() for cell in cells]
    if not all(map(NUMBER.fullmatch, texts)):
        return 0.0
    values = [float(text.replace(",", ".")) for text in texts]
    if len(values) > 2 and all(after - before == 1 for before, after in zip(values, values[1:], strict=False)):
        return 0.0
    return 1.0 + sum(value % 1 != 0 for value in values) / len(values)


def length(cells: list[object]) -> float:
    """Mean length of the texts of a column, in characters."""
    texts = [cell for cell in cells if isinstance(cell, str) and not NUMBER.fullmatch(cell.strip())]
    return sum(map(len, texts)) / len(cells) if len(texts) > len(cells) / 2 else 0.0


FITS: dict[str, Callable[[list[object]], float]] = {"text": length, "label": few, "labels": few, "number": numbers}
BY_CONTENT = {"text": "its texts are the longest", "label": "by its content", "labels": "by its content"}
BY_CONTENT |= {"number": "it holds numbers"}

"""Test collections: queries, documents and judgements (qrels) -> rows of query, passage and relevance.

Queries and documents: SMART's .I and .W, as in Cranfield; JSON lines with _id, title and text, as in BEIR; or id, tab
and text on each line, as in MS MARCO. Judgements: TREC's “query 0 document grade”, or BEIR's “query document grade”
below a header, higher is better; or, with SMART's queries, Cranfield's “query document code” with 1 for the best, 4 for
the least, and -1 or 5 for none. If the .I numbers of SMART's queries do not cover all judgements, as in Cranfield, the
judgements number the queries by position."""

import io
import json
import re
from collections import defaultdict
from typing import NamedTuple

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.rows import MAX_CELL, Row, parse_number
from bertexplorer.training.ranking import BM25

BEIR_HEADER = ["query-id", "corpus-id", "score"]
FIELD = re.compile(r"^\.([A-Z])\s*$", re.MULTILINE)


class Judgement(NamedTuple):
    line: int
    query: str  # id
    document: str  # id
    relevance: float  # 0 for none


def read_texts(content: str, name: str) -> dict[str, str]:
    """Id -> text, in the order of the file. Raises ExplorerError for a malformed line."""
    start = content.lstrip()[:2]
    if start == ".I":
        return read_smart(content)
    is_json = start.startswith("{")
    texts = {}
    for line, content_line in enumerate(io.StringIO(content), 1):
        if not content_line.strip():
            continue
        try:
            if is_json:
                record = json.loads(content_line)
                key, text = str(record["_id"]), f"{record.get('title') or ''} {record['text']}"
            else:
                key, text = content_line.split("\t", 1)
        except (ValueError, KeyError, TypeError) as error:
            expected = "an object with _id and text" if is_json else "an id, a tab and a text"
            raise ExplorerError(f"Line {line} of {name} is {content_line[:60]!r}; wanted {expected}.") from error
        texts[key.strip()] = " ".join(text.split())[:MAX_CELL]
    return texts


def read_smart(content: str) -> dict[str, str]:
    """The text (.W) of each record, or its title (.T) where it has no text."""
    texts = {}
    for record in re.split(r"^\.I ", content, flags=re.MULTILINE)[1:]:
        key, _, body = record.partition("\n")
        parts = FIELD.split(body)  # what precedes the fields, then letter and content of each
        fields = dict(zip(parts[1::2], parts[2::2], strict=False))
        text = fields.get("W", "").strip() or fields.get("T", "")
        texts[key.strip().lstrip("0") or "0"] = " ".join(text.split())[:MAX_CELL]
    return texts


def read_judgements(content: str, name: str, smart: bool) -> list[Judgement]:
    """The judgements, one a line. Three fields end in a grade below BEIR's header, else in a code of Cranfield, which
    only a *smart* collection has. Raises ExplorerError for a malformed line."""
    judgements = []
    beir = content.split(maxsplit=3)[:3] == BEIR_HEADER
    for line, content_line in enumerate(io.StringIO(content), 1):
        fields = content_line.split()
        if not fields or (beir and fields == BEIR_HEADER):
            continue
        grade = parse_number(fields[-1]) if len(fields) in (3, 4) else None
        if grade is None:
            raise ExplorerError(
                f"Line {line} of {name} is {content_line.strip()[:60]!r}; wanted a query, 0, a document and a grade."
            )
        is_code = len(fields) == 3 and not beir
        if is_code and not smart:
            raise ExplorerError(
                f"Line {line} of {name} has three fields, {content_line.strip()[:60]!r}, without the column names of "
                f"BEIR. If higher is better, begin the file with the line “{' '.join(BEIR_HEADER)}”."
            )
        relevance = grade
        if is_code:
            relevance = 5 - grade if 1 <= grade <= 4 else 0.0
        judgements.append(Judgement(line, fields[0], fields[-2], max(0.0, relevance)))
    return judgements


def collection_rows(queries: str, documents: str, qrels: str, candidates: int = 0) -> list[Row]:
    """The three files as rows, one per judgement. With *candidates*, each query also gets the *candidates* unjudged
    passages that BM25 ranks highest, with relevance 0 (for re-ranking); without, every unjudged document is added with
    an empty query (for retrieval). These added rows have line 0.

    Raises ExplorerError if no judgement refers to a known query and document."""
    query_texts, passages = read_texts(queries, "the queries"), read_texts(documents, "the documents")
    smart = queries.lstrip().startswith(".I")
    judgements = read_judgements(qrels, "the judgements", smart)
    judged_queries = {judgement.query for judgement in judgements}
    if smart and not judged_queries <= set(query_texts):  # they are numbered by position, as Cranfield does
        query_texts = {str(i): text for i, text in enumerate(query_texts.values(), 1)}

    # 1. The judgements
    rows = []
    judged: dict[str, set[str]] = defaultdict(set)  # query -> documents
    for line, query, document, grade in judgements:
        if query_texts.get(query) and passages.get(document):
            rows.append(make_row(line, query_texts[query], passages[document], grade))
            judged[query].add(document)
    if not rows:
        raise ExplorerError(
            "No judgement names a query and a document of these files. Check that they belong together."
        )

    # 2. For retrieval, the documents that nobody judged
    if not candidates:
        judged_for_any = set[str]().union(*judged.values())
        for document, text in passages.items():
            if text and document not in judged_for_any:
                rows.append(make_row(0, "", text, 0.0))
        return rows

    # 3. For re-ranking, those that a search finds for a query
    names, index = list(passages), BM25(list(passages.values()))
    for query, its_documents in judged.items():
        ranked = [names[i] for i in index.order(query_texts[query])]
        unjudged = [document for document in ranked if document not in its_documents and passages[document]]
        for document in unjudged[:candidates]:
            rows.append(make_row(0, query_texts[query], passages[document], 0.0))
    return rows


def make_row(line: int, query: str, passage: str, grade: float) -> Row:
    return Row(line, {"query": query, "passage": passage, "relevance": f"{grade:g}"})

"""SQuAD: questions about passages, with answers and their positions (Rajpurkar et al., 2016 and 2018)."""

from collections.abc import Iterator
from typing import Any

from bertexplorer.training.data.rows import Cells, Entry

COLUMNS = ("id", "title", "question", "context", "answers", "impossible")


def is_squad(data: list[Any]) -> bool:
    """Whether the "data" of a JSON file is a list of articles."""
    return any(isinstance(article, dict) and "paragraphs" in article for article in data)


def question_entries(data: list[Any]) -> Iterator[Entry]:
    """A row per question, numbered from 1 through the file: the texts "id", "title", "question" and "context",
    "answers" as [{"text", "start"}] with start in characters of the context, and "impossible", a bool."""
    number = 0
    for article in data:
        title = article.get("title", "") if isinstance(article, dict) else ""
        for paragraph in list_or_unreadable(article, "paragraphs"):
            context = paragraph.get("context") if isinstance(paragraph, dict) else None
            for question in list_or_unreadable(paragraph, "qas"):
                number += 1
                yield number, question_cells(title, context, question)


def list_or_unreadable(parent: Any, name: str) -> list[Any]:
    """The list of that name; [None], an unreadable question, if it is missing or not a list."""
    values = parent.get(name) if isinstance(parent, dict) else None
    return values if isinstance(values, list) else [None]


def question_cells(title: Any, context: Any, question: Any) -> Cells | str:
    """The cells of a question, or the reason why it cannot be used."""
    if not isinstance(question, dict):
        return "is in an article or a passage that is not laid out as in SQuAD"
    question_id = str(question.get("id", ""))
    question_text = question.get("question")
    if not isinstance(context, str) or not isinstance(question_text, str):
        return f"has no {'question' if isinstance(context, str) else 'passage'} (id {question_id[:40]!r})"
    answers, impossible = flatten_answers(question.get("answers", [])), question.get("is_impossible", False)
    if not isinstance(impossible, bool):
        return f"is_impossible is {impossible!r:.40}; wanted true or false"
    if not is_answers(answers):
        return f"has answers without a text or a start (id {question_id[:40]!r})"
    if not answers and not impossible:
        return f"has no answer and is not marked as impossible (id {question_id[:40]!r})"
    texts = (question_id, str(title), question_text, context)
    try:
        "".join((*texts, *(answer["text"] for answer in answers))).encode()
    except UnicodeEncodeError:
        return "holds half a character (a lone surrogate)"
    return dict(zip(COLUMNS, (*texts, answers, impossible), strict=True))


def flatten_answers(answers: Any) -> Any:
    """Answers as [{"text", "start"}] from both published layouts: a list of {"text", "answer_start"}, or an object of
    two lists. Anything else is returned unchanged."""
    if isinstance(answers, dict):
        texts, starts = answers.get("text"), answers.get("answer_start")
        if isinstance(texts, list) and isinstance(starts, list) and len(texts) == len(starts):
            return [{"text": text, "start": start} for text, start in zip(texts, starts, strict=True)]
    if isinstance(answers, list) and all(isinstance(a, dict) and {"text", "answer_start"} <= set(a) for a in answers):
        return [{"text": answer["text"], "start": answer["answer_start"]} for answer in answers]
    return answers


def is_answers(answers: Any) -> bool:
    return isinstance(answers, list) and all(
        isinstance(a, dict) and isinstance(a.get("text"), str) and type(a.get("start")) is int for a in answers
    )

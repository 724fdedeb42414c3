"""Question answering: where in a passage an answer starts and where it ends, or that there is none. Scores follow the
rules of SQuAD's official script (Rajpurkar et al., 2016 and 2018)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, NamedTuple

import numpy as np
from jaxtyping import Float

from bertexplorer.model.text import clean
from bertexplorer.options import Option
from bertexplorer.training.data.jsonl import flatten_answers, is_answers
from bertexplorer.training.data.rows import Row, RowProblem, UnusableRow, cell_text, convert_rows
from bertexplorer.training.task import Baselines, Column, Task

YES = ("true", "yes", "1")
PUNCTUATION = str.maketrans("", "", string.punctuation)
WORDS = ("who", "what", "when", "where", "which", "why", "how")
POINTS = 21  # on the curve
MAX_SEARCHED = 2000  # characters of an answer that is looked for in its passage


@dataclass(frozen=True)
class Options:
    stride: Annotated[int, Option("Stride", 1, 8192, "tokens from one window of a long passage to the next")] = 128
    question: Annotated[int, Option("Maximum question length", 4, 512, "in tokens; longer questions are cut")] = 64
    longest: Annotated[int, Option("Maximum answer length", 1, 512, "in tokens")] = 30
    n_best: Annotated[int, Option("Best answers", 1, 100, "candidates to keep per passage")] = 20
    threshold: Annotated[
        float, Option("No-answer threshold", -100.0, 100.0, "margin by which “no answer” must beat the best answer")
    ] = 0.0
    realign: Annotated[bool, Option("Realign", info="search for answers that are not where the row says")] = False


class GoldAnswer(NamedTuple):
    """A text and the character of the passage at which it starts."""

    text: str
    start: int


@dataclass(frozen=True)
class PassageQuestion:
    """A question about a passage. No answers: the passage does not contain one."""

    line: int
    question: str
    context: str
    answers: tuple[GoldAnswer, ...]


def examples(rows: Sequence[Row], options: Options) -> tuple[list[PassageQuestion], list[RowProblem]]:
    """Rows with "question", "context", "answers" (a list of {"text", "start"}, or just the text, which is then searched
    for) and optionally "impossible". A row of which `read_question` raises UnusableRow is a problem."""
    return convert_rows(rows, lambda row: read_question(row, options.realign))


def inputs(question: PassageQuestion) -> list[tuple[str, ...]]:
    """None: a long passage is read in windows."""
    return []


def baselines(train: Sequence[PassageQuestion], dev: Sequence[PassageQuestion], options: Options) -> Baselines:
    """The sentence that shares most words with the question, or always no answer if that scores higher."""
    if not dev:
        return {}
    matches = [best_match(answer_texts(question), nearest_sentence(question)) for question in dev]
    exact, f1 = np.mean(matches, axis=0).tolist()
    no_answer = float(np.mean([not question.answers for question in dev]))
    if no_answer > f1:
        return {"f1": ("never an answer", no_answer), "exact": ("never an answer", no_answer)}
    name = "the sentence that shares most words with the question"
    return {"f1": (name, f1), "exact": (name, exact)}


def answer_texts(question: PassageQuestion) -> list[str]:
    return [answer.text for answer in question.answers]


def nearest_sentence(question: PassageQuestion) -> str:
    """The sentence of the passage that shares most words with the question; of equal ones the shortest."""
    question_words = set(normalized_words(question.question))
    sentences = [sentence for sentence in re.split(r"(?<=[.!?])\s+", question.context) if sentence.strip()]
    return max(sentences, key=lambda sentence: (len(question_words & set(normalized_words(sentence))), -len(sentence)))


def read_question(row: Row, realign: bool) -> PassageQuestion:
    """The question of a row. *realign*: also search for an answer that is not at its stated position. Raises
    UnusableRow."""
    question_text = cell_text(row.cells.get("question", ""))
    context = cell_text(row.cells.get("context", ""))
    cell = row.cells.get("answers", "")
    flag = row.cells.get("impossible", "")
    impossible = flag is True or cell_text(flag).strip().lower() in YES
    if not clean(question_text)[0].strip() or not clean(context)[0].strip():
        raise UnusableRow(f"has no {'passage' if question_text.strip() else 'question'}")
    claimed = [] if impossible else parse_answers(cell)
    if not claimed and not impossible and cell != []:
        raise UnusableRow("has no answer, and is not marked as impossible")
    answers = [locate_answer(context, text, start, realign) for text, start in claimed]
    cleaned = clean(context)[0]
    if cleaned != context:
        answers = [GoldAnswer(clean(text)[0], len(clean(context[:start])[0])) for text, start in answers]
        if not all(text for text, _ in answers):
            raise UnusableRow("has an answer without visible characters")
    return PassageQuestion(row.line, clean(question_text)[0].strip(), cleaned, tuple(answers))


def parse_answers(cell: Any) -> list[tuple[str, int | None]]:
    """The answers of a cell without surrounding spaces, each with its stated position, if any. Raises UnusableRow."""
    if isinstance(cell, str):
        return [(cell.strip(), None)] if cell.strip() else []
    if isinstance(cell, list) and all(isinstance(text, str) for text in cell):
        return [(text.strip(), None) for text in cell if text.strip()]
    answers = flatten_answers(cell)
    if not is_answers(answers):
        raise UnusableRow(f"has the answers {cell_text(cell)[:60]}; wanted a text, or a list of {{text, start}}")
    if not all(answer["text"].strip() for answer in answers):
        raise UnusableRow("has an answer without a text")
    parsed: list[tuple[str, int | None]] = []
    for answer in answers:
        text = answer["text"]
        indent = len(text) - len(text.lstrip())
        parsed.append((text.strip(), answer["start"] + indent))
    return parsed


def locate_answer(context: str, text: str, start: int | None, realign: bool) -> GoldAnswer:
    """The answer with its position: as stated, else as a whole word, else anywhere. *realign*: ignore case and spacing,
    and take the occurrence nearest to the stated position. Raises UnusableRow if it is nowhere."""
    if start is not None and start >= 0 and context[start : start + len(text)] == text:
        return GoldAnswer(text, start)
    if len(text) > MAX_SEARCHED:
        raise UnusableRow(f"has an answer of {len(text):,} characters that is not where the row says it begins")
    exact = re.escape(text)
    loose = r"\s+".join(map(re.escape, text.split()))
    patterns = [rf"(?<!\w){exact}(?!\w)", exact]
    if realign:
        patterns.append(rf"(?i:{loose})")
    matches: list[re.Match[str]] = []
    for pattern in patterns:
        matches = matches or list(re.finditer(pattern, context))
    if matches and (start is None or realign):
        best = min(matches, key=lambda match: abs(match.start() - (start or 0)))
        return GoldAnswer(best[0], best.start())
    if start is None:
        raise UnusableRow(f"has the answer “{text[:60]}”, which does not occur in the passage")
    actual = context[max(0, start) : max(0, start) + len(text)][:60]
    advice = "“Realign” takes the nearest place where it occurs" if matches else "it does not occur in it"
    raise UnusableRow(f"has the answer “{text[:60]}” at character {start}, where the passage has “{actual}”; {advice}")


def normalized_words(text: str) -> list[str]:
    """The words to compare: in lower case, without punctuation and articles."""
    return re.sub(r"\b(a|an|the)\b", " ", text.lower().translate(PUNCTUATION)).split()


def exact_match(gold: str, predicted: str) -> float:
    return float(normalized_words(gold) == normalized_words(predicted))


def f1(gold: str, predicted: str) -> float:
    """F1 of the words of both; 1 if both are empty, 0 if one is."""
    gold_words, predicted_words = normalized_words(gold), normalized_words(predicted)
    if not gold_words or not predicted_words:
        return float(gold_words == predicted_words)
    common = sum((Counter(gold_words) & Counter(predicted_words)).values())
    return 2 * common / (len(gold_words) + len(predicted_words))


class Match(NamedTuple):
    """How well a predicted answer matches the gold ones, 0 to 1."""

    exact: float
    f1: float


def best_match(gold: Sequence[str], predicted: str) -> Match:
    """The match with the gold answer that fits best. No gold answers: the right answer is none."""
    answers = [answer for answer in gold if normalized_words(answer)] or [""]
    exact = max(exact_match(answer, predicted) for answer in answers)
    return Match(exact, max(f1(answer, predicted) for answer in answers))


def question_word(question: str) -> str:
    """The first question word of a question."""
    return next((word for word in re.findall(r"\w+", question.lower()) if word in WORDS), "other")


def by_question_word(questions: Sequence[str], exacts: Sequence[float], f1s: Sequence[float]) -> list[dict[str, Any]]:
    """A row for each question word, the most frequent first."""
    kinds = [question_word(question) for question in questions]
    table = []
    for kind, count in Counter(kinds).most_common():
        indices = [i for i, other in enumerate(kinds) if other == kind]
        exact = float(np.mean([exacts[i] for i in indices]))
        mean_f1 = float(np.mean([f1s[i] for i in indices]))
        table.append({"question": kind, "exact": exact, "f1": mean_f1, "examples": count})
    return table


def thresholds(
    margin: Float[np.ndarray, " n"], span_f1: Float[np.ndarray, " n"], no_answer_f1: Float[np.ndarray, " n"]
) -> list[dict[str, float]]:
    """F1 at other thresholds. *margin*: by how much no answer beats the best span; *span_f1*, *no_answer_f1*: the F1 of
    each question if the span, or nothing, is the answer. Nothing is the answer where the margin exceeds the
    threshold."""
    candidates = np.unique(np.concatenate([[0.0], np.quantile(margin, np.linspace(0, 1, POINTS))]))
    rows = []
    for threshold in candidates:
        is_no_answer = margin > threshold
        mean = float(np.where(is_no_answer, no_answer_f1, span_f1).mean())
        rows.append({"threshold": float(threshold), "f1": mean, "no answer": float(is_no_answer.mean())})
    return rows


TASK = Task(
    name="question-answering",
    title="Question answering",
    about=(
        "The answer to a question, as a span of a passage; or, if the rows have such questions, that it does not say."
    ),
    columns=(
        Column("question", "Question", "text"),
        Column("context", "Passage", "text"),
        Column("answers", "Answers", "answers", "the text, or SQuAD's list of texts with where they start"),
        Column("impossible", "Impossible", "label", "true where the passage does not say", optional=True),
    ),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="question_answering:QuestionAnswerer",
    metric="f1",
    metrics={
        "f1": "F1",
        "exact": "Exact match",
        "has_answer_f1": "F1 where there is an answer",
        "has_answer_exact": "Exact match where there is an answer",
        "no_answer": "Accuracy where there is no answer",
        "lost": "Answers that fit in no window",
        "loss": "Loss",
    },
    per_cent=("f1", "exact", "has_answer_f1", "has_answer_exact", "no_answer"),
    baselines=baselines,
    defaults={"epochs": 8.0, "max_tokens": 384, "batch": 8},
    can=("answers", "suspects", "traces"),
    split_by=("context",),
    adapter_head="span",
)

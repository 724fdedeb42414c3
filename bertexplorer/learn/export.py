"""Export: the questions of a lesson for other systems: Moodle's XML, GIFT, which many import, and CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree.ElementTree import Element, SubElement, indent, tostring

from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.csv_safety import as_csv
from bertexplorer.learn import grading
from bertexplorer.learn.lesson import Block, ParsedLesson
from bertexplorer.learn.numbers import in_percent
from bertexplorer.learn.prose import quoted

EXPORTED_KINDS = ("predict", "choice", "number")  # questions whose answer another system can check
NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
CONTROL = re.compile(r"([~=#{}:\\])")  # characters that GIFT reads as its own


def gift(answerer: Answerer, lesson: ParsedLesson, opening: State, checkpoint: str = "") -> str:
    """The questions in GIFT, with the answers of *checkpoint*; a comment names it. Raises ExplorerError for a
    question that the checkpoint cannot answer."""
    answering = checkpoint or opening.checkpoint
    parts = [f"// {lesson.title}: the answers are those of the checkpoint {answering}.", ""]
    for block in lesson.blocks:
        if block.kind in EXPORTED_KINDS:
            facts = grading.facts_for(answerer, block.link, opening, checkpoint)
            name = escape_gift(f"{lesson.slug}-{block.id}")
            question = escape_gift(quoted(block.prompt))
            parts.append(f"::{name}:: {question} {{")
            parts += [f"  {line}" for line in gift_answers(block, facts)]
            parts += ["}", ""]
    return "\n".join(parts)


def gift_answers(block: Block, facts: grading.Facts) -> Iterator[str]:
    """Yield the answers of a question, one line each."""
    if block.kind == "number":
        key = grading.number_key(block, facts)
        width = grading.tolerance(block, key)
        scale = 100 if in_percent(block.prompt) else 1
        yield f"#{scale * key:.4g}:{scale * width:.4g}"
        return
    for i, item in enumerate(block.items):
        graded = grading.grade(block, i, facts, grading.ATTEMPTS)
        sign = "=" if graded.right else "~"
        line = f"{sign}{escape_gift(quoted(item.text))}"
        if graded.text:
            line = f"{line} # {escape_gift(quoted(graded.text))}"
        yield line


def moodle(answerer: Answerer, lesson: ParsedLesson, opening: State, checkpoint: str = "") -> str:
    """The questions in Moodle's XML, in a category with the name of the lesson, with feedback and with the answers of
    *checkpoint*, which the category names. Raises ExplorerError as `gift`."""
    quiz = Element("quiz")
    category = SubElement(quiz, "question", type="category")
    add_text(SubElement(category, "category"), f"$course$/{lesson.title.replace('/', '//')}")
    about = f"The answers are those of the checkpoint {checkpoint or opening.checkpoint}."
    add_text(SubElement(category, "info", format="plain_text"), about)
    for block in lesson.blocks:
        if block.kind in EXPORTED_KINDS:
            add_question(quiz, lesson, block, grading.facts_for(answerer, block.link, opening, checkpoint))
    indent(quiz)
    return tostring(quiz, encoding="unicode", xml_declaration=True)


def add_question(quiz: Element, lesson: ParsedLesson, block: Block, facts: grading.Facts) -> None:
    """Add *block* as a question with one right answer, or with a number."""
    is_number = block.kind == "number"
    question = SubElement(quiz, "question", type="numerical" if is_number else "multichoice")
    add_text(SubElement(question, "name"), f"{lesson.slug}-{block.id}")
    add_text(SubElement(question, "questiontext", format="plain_text"), quoted(block.prompt))
    if is_number:
        key = grading.number_key(block, facts)
        scale = 100 if in_percent(block.prompt) else 1
        answer = SubElement(question, "answer", fraction="100", format="plain_text")
        add_text(answer, f"{scale * key:.4g}")
        SubElement(answer, "tolerance").text = f"{scale * grading.tolerance(block, key):.4g}"
        return
    SubElement(question, "single").text = "true"
    SubElement(question, "shuffleanswers").text = "0"
    for i, item in enumerate(block.items):
        graded = grading.grade(block, i, facts, grading.ATTEMPTS)
        fraction = "100" if graded.right else "0"  # per cent of the points
        answer = SubElement(question, "answer", fraction=fraction, format="plain_text")
        add_text(answer, quoted(item.text))
        if graded.text:
            add_text(SubElement(answer, "feedback", format="plain_text"), quoted(graded.text))


def add_text(parent: Element, text: str) -> None:
    """A text as Moodle has it; characters that XML does not know are left out."""
    SubElement(parent, "text").text = NOT_XML.sub("", text)


def escape_gift(text: str) -> str:
    """*text* with a backslash before each character that GIFT would read as its own."""
    return CONTROL.sub(r"\\\1", text)


def question_table(answerer: Answerer, lesson: ParsedLesson, opening: State, checkpoint: str = "") -> str:
    """The questions as CSV, one row each, with the answers of *checkpoint*. Raises ExplorerError as `gift`."""
    rows: list[dict[str, object]] = []
    for block in lesson.blocks:
        if block.kind not in EXPORTED_KINDS:
            continue
        facts = grading.facts_for(answerer, block.link, opening, checkpoint)
        is_number = block.kind == "number"
        any_answer: object = "0" if is_number else 0  # the last attempt reveals the right one
        graded = grading.grade(block, any_answer, facts, grading.ATTEMPTS)
        choices = ""
        if not is_number:
            choices = " | ".join(quoted(item.text) for item in block.items)
        row: dict[str, object] = {
            "lesson": lesson.slug,
            "question": block.id,
            "kind": block.kind,
            "text": quoted(block.prompt),
            "choices": choices,
            "answer": quoted(graded.answer),
            "checkpoint": checkpoint or opening.checkpoint,
        }
        rows.append(row)
    return as_csv(rows)

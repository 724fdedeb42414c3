"""Class questions: the questions that a class gets about a lesson or a view, and the checkpoint's answers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from bertexplorer.classroom.classroom import MAX_CHOICES
from bertexplorer.classroom.lecture import find_lecture
from bertexplorer.classroom.room import ClassQuestion
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.expressions import fill_slots
from bertexplorer.learn.lesson import CHOOSING, Block, ParsedLesson, is_for_class
from bertexplorer.learn.prose import inline, tree
from bertexplorer.learn.recording import PREFIX

LESSON_FIELDS = {"lesson", "checkpoint", "language", "first"}  # of a request that names a lesson
LECTURE_FIELDS = {"lecture", "checkpoint"}
YES_NO, OTHER = ("yes", "no"), "something else"
TOKEN_QUESTIONS = {  # view -> a question whose answer is a token of the text
    "attention": "Which word does BERT look at most here?",
    "saliency": "Which word matters most for BERT's answer?",
}
RARE = (60, 90)  # ranks of answers that are offered in addition to the first three


@dataclass(frozen=True)
class ClassPlan:
    """What a class is asked."""

    questions: list[ClassQuestion]
    lesson: str = ""  # the slug of the lesson that asks them
    language: str = ""  # of its translation; "" for English
    lecture: str = ""  # the slug of the lecture that asks them
    checkpoint: str = ""  # that answers; "" for the page's


def parse_questions(answerer: Answerer, catalogue: LessonCatalogue, request: Any, opening: State) -> ClassPlan:
    """What a class is asked, from a request. Raises ExplorerError."""
    if isinstance(request, dict) and "lecture" in request and set(request) <= LECTURE_FIELDS:
        slug, checkpoint = str(request["lecture"]), str(request.get("checkpoint", ""))
        return ClassPlan(
            lecture_questions(answerer, catalogue, slug, opening, checkpoint), lecture=slug, checkpoint=checkpoint
        )
    names_lesson = isinstance(request, dict) and "lesson" in request and set(request) <= LESSON_FIELDS
    if not names_lesson and (not isinstance(request, dict) or set(request) != {"question"}):
        raise ExplorerError(
            'Send {"lesson": "…"}, with {"checkpoint": "…"} for a checkpoint other than the page\'s, '
            '{"language": "…"} for a translation and {"first": "…"} for the block to begin with, '
            'or {"lecture": "…"}, or {"question": {"prompt": "…", "choices": […], "link": "…"}}.'
        )
    if names_lesson:
        checkpoint, language = str(request.get("checkpoint", "")), str(request.get("language", ""))
        lesson = catalogue.lesson(str(request["lesson"]), language)
        blocks = class_blocks(lesson, str(request.get("first", "")))
        translated_to = language if language in catalogue.languages(lesson.slug) else ""
        questions = [question_of(answerer, block, opening, checkpoint) for block in blocks]
        return ClassPlan(questions, lesson.slug, translated_to, checkpoint=checkpoint)
    own_question = request["question"]
    if not isinstance(own_question, dict) or set(own_question) - {"prompt", "choices", "link"}:
        raise ExplorerError("question: wanted an object with prompt, choices and link.")
    prompt = own_question.get("prompt")
    choices = own_question.get("choices", [])
    link = own_question.get("link", "")
    if not isinstance(prompt, str) or not isinstance(link, str) or not isinstance(choices, list):
        raise ExplorerError("question: wanted a prompt, a list of choices, and a link.")
    if not all(isinstance(text, str) for text in choices):
        raise ExplorerError("question: wanted choices that are strings.")
    if link:
        grading.state_of(answerer, link, opening)
    return ClassPlan([ClassQuestion(prompt, tuple(choices), link)])


def lecture_questions(
    answerer: Answerer, catalogue: LessonCatalogue, slug: str, opening: State, checkpoint: str
) -> list[ClassQuestion]:
    """The questions that the lecture *slug* puts to the class. Raises ExplorerError if there are none."""
    questions = []
    for step in find_lecture(catalogue, slug).votes:
        block = catalogue.lesson(step.lesson).block(step.question)
        questions.append(replace(question_of(answerer, block, opening, checkpoint), lesson=step.lesson))
    if not questions:
        raise ExplorerError(f"The lecture {slug} has no question for the class.")
    return questions


def class_blocks(lesson: ParsedLesson, first: str = "") -> list[Block]:
    """The blocks that a class is asked: all, or those from *first* on. Raises ExplorerError if *first* is not there."""
    blocks = [block for block in lesson.blocks if is_for_class(block)]
    ids = [block.id for block in blocks]
    if first and first not in ids:
        raise ExplorerError(f"first: got {first!r:.60}; wanted one of {', '.join(ids)}.")
    return blocks[ids.index(first) if first else 0 :]


def question_of(answerer: Answerer, block: Block, opening: State, checkpoint: str = "") -> ClassQuestion:
    """A block of a lesson as a question for a class, about *checkpoint* if given. Tokens to press become choices."""
    link = block.link
    if checkpoint and link and not link.startswith(PREFIX):
        link += f"&checkpoint={quote(checkpoint)}"
        grading.state_of(answerer, link, opening)
    choices = tuple(item.text for item in block.items) if block.kind in CHOOSING else ()
    if block.kind == "click":
        tokens = grading.tokens_of(answerer, grading.state_of(answerer, link, opening))
        choices = tuple(f"`{token}`" for token in dict.fromkeys(tokens))
    return ClassQuestion(block.fields.get("vote", block.prompt), choices, link, block.id)


def reveal_answer(answerer: Answerer, question: ClassQuestion, block: Block | None, opening: State) -> dict[str, Any]:
    """The checkpoint's answer to *question*, which *block* of a lesson asks: the right choices or the number, and
    feedback on each choice. For a teacher's own question (no block), the choice that the checkpoint finds likeliest,
    where the view has one; else the view is the answer."""
    if block is None:
        return {"link": question.link, **choice_shares(answerer, question, opening)}
    try:
        link = question.link if block.shown else ""
        return {"link": link, **checkpoint_answer(answerer, block, question.link, opening)}
    except ExplorerError as error:  # this checkpoint has no answer, but the class continues
        return {"link": question.link, "problem": str(error)}


def checkpoint_answer(answerer: Answerer, block: Block, link: str, opening: State) -> dict[str, Any]:
    """The answer to *block* on the view *link*: with the share that the checkpoint gives to each choice, where the
    lesson names them. Raises ExplorerError if its checkpoint has none."""
    facts = grading.facts_for(answerer, link, opening)
    if block.kind == "share":
        after = fill_slots(block.fields.get("after", ""), facts)
        return {"shares": grading.shares_of(block, facts), "after": tree(after)}
    if block.kind == "number":
        feedback = grading.grade(block, "0", facts, grading.ATTEMPTS)
        key = grading.number_key(block, facts)
        about = {"number": key, "tolerance": grading.tolerance(block, key)}
        return {**about, "answer": inline(feedback.answer), "after": tree(feedback.after)}
    tokens = grading.tokens_of(answerer, grading.state_of(answerer, link, opening)) if block.kind == "click" else []
    answers: list[Any] = list(dict.fromkeys(tokens)) or list(range(len(block.items)))
    graded = [grading.grade(block, answer, facts, grading.ATTEMPTS) for answer in answers]
    return {
        "right": [i for i, feedback in enumerate(graded) if feedback.right],
        "feedback": [tree(feedback.text) for feedback in graded],
        "after": tree(graded[0].after),
        **lesson_shares(block, facts),
    }


def lesson_shares(block: Block, facts: grading.Facts) -> dict[str, Any]:
    """The checkpoint's share for each choice of *block*, where the lesson names them and the checkpoint has them."""
    try:
        shares = grading.shares_of(block, facts)
    except ExplorerError:  # the bars are left out; the answer is the right choice
        return {}
    return {"shares": shares} if shares else {}


def choice_shares(answerer: Answerer, question: ClassQuestion, opening: State) -> dict[str, Any]:
    """The probability that the checkpoint gives to each choice of a teacher's question, and the likeliest answer, where
    the view has one. "something else" is the answer only if no choice is the checkpoint's first."""
    if not question.link or not question.choices:
        return {}
    state = grading.state_of(answerer, question.link, opening)
    if state.view == "next-sentence" and question.choices == YES_NO:
        is_next = float(grading.facts_of(answerer, state)["is_next"]())
        return {"shares": [is_next, 1 - is_next], "right": [int(is_next < 0.5)]}
    if state.view != "fill-mask":
        return {}
    if question.choices[-1] != OTHER:
        return {}
    facts = grading.facts_of(answerer, state)
    try:
        first = float(facts["p"](facts["top"](1)))
        shares = [float(facts["p"](text)) for text in question.choices[:-1]]
    except ExplorerError:  # a choice has several pieces, so it has no single probability
        return {}
    right = shares.index(max(shares)) if max(shares) >= first else len(shares)
    return {"shares": [*shares, max(0.0, 1 - sum(shares))], "right": [right]}


def suggest_question(answerer: Answerer, link: str, opening: State) -> dict[str, Any]:
    """A question about the view *link* that does not give its answer away, for the teacher to change; "" for a view
    whose answer is neither a word nor a token."""
    state = grading.state_of(answerer, link, opening)
    prompt, choices = "", []
    if state.view == "next-sentence":
        prompt, choices = (
            f"Does BERT think that the second follows the first?\n\n{state.text}\n\n{state.pair}",
            [*YES_NO],
        )
    elif state.view == "fill-mask":
        facts = grading.facts_of(answerer, replace(state, options={**state.options, "top": RARE[-1]}))
        answers = [str(facts["top"](rank)) for rank in (1, 2, 3, *RARE)]
        prompt = f"What would BERT put here?\n\n{state.text}"
        choices = [*sorted(dict.fromkeys(answers)), OTHER]
    elif state.view in TOKEN_QUESTIONS:
        prompt = f"{TOKEN_QUESTIONS[state.view]}\n\n{state.text}"
        choices = [f"`{token}`" for token in dict.fromkeys(grading.tokens_of(answerer, state))][:MAX_CHOICES]
    return {"prompt": prompt, "choices": choices, "link": link}

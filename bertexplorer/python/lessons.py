"""Lessons in Python: they are shown in notebooks, and grade answers as the page does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from bertexplorer.core.ask import Answerer, opening
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading, prose
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.lesson import Block, ParsedLesson
from bertexplorer.python.bert import library


@dataclass(frozen=True)
class Feedback:
    """The verdict on an answer. *right*: None if there is no right or wrong. *answer*: the right one, once it is
    revealed."""

    right: bool | None
    text: str
    answer: str = ""

    def __str__(self) -> str:
        sentences = []
        if self.right:
            sentences.append("Right.")
        elif self.right is False:
            sentences.append("Not quite." if self.answer else "Not yet.")
        if self.text:
            sentences.append(self.text)
        if self.answer:
            sentences.append(f"Answer: {self.answer}")
        return " ".join(sentences)

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Lesson:
    """A lesson with the checkpoint that answers it. Notebooks show its questions.

    `lesson` makes it.

    Example:
        >>> bx.lesson("next-sentence").check("first-guess", 1).right
        True
    """

    content: ParsedLesson
    checkpoint: str

    @property
    def title(self) -> str:
        """The title at the head of the lesson."""
        return self.content.title

    @property
    def questions(self) -> dict[str, str]:
        """Question ids -> their texts."""
        return {block.id: prose.quoted(block.prompt) for block in self.content.questions}

    def check(
        self,
        id: str,
        answer: Any = None,
        *,
        text: str = "",
        pair: str = "",
        options: Mapping[str, Any] | None = None,
        link: str = "",
        attempt: int = 1,
    ) -> Feedback:
        """Grade an answer to a question.

        If something must be found, give *text* and *pair*, *options*, or *link*; else give *answer*.

        Args:
            id: the question, one of `questions`.
            answer: the number of a choice from 0, or its text; a number; or points for each choice.
            text: the text that was found.
            pair: the second text that was found.
            options: settings of the view, such as {"draws": 8}.
            link: the link of the view as you left it.
            attempt: which try this is, from 1; from the second on, the right answer is revealed.

        Returns:
            Whether it is right, what is said of it, and the right answer once it is revealed.

        Raises:
            ExplorerError: for an unknown question and for an answer of another kind.

        Example:
            >>> bx.lesson("next-sentence").check("first-guess", 0).right
            False
        """
        block = self.content.block(id)
        answerer, start = answerer_and_opening()
        if not block.is_question:
            raise ExplorerError(f"{id} has no question; the questions are {', '.join(self.questions)}.")
        facts: grading.Facts
        if block.kind == "find":
            state = grading.state_of(answerer, link or block.link, start, self.checkpoint)
            if text or pair:
                state = replace(state, text=text or state.text, pair=pair or state.pair, hidden=(), picked=())
            facts = grading.facts_of(answerer, with_options(state, options or {}))
        else:
            facts = grading.facts_for(answerer, block.link, start, self.checkpoint)
        grade = grading.grade(block, choice_number(block, answer), facts, attempt)
        text = " ".join(prose.plain(part) for part in (*grade.found, grade.text, grade.after) if part)
        revealed = block.fields["example"] if block.kind == "find" and grade.answer else prose.plain(grade.answer)
        return Feedback(grade.right, text, revealed)

    def claims(self) -> dict[str, bool]:
        """Whether each claim of the lesson holds on the checkpoint.

        Returns:
            Claim ids -> whether they hold.

        Raises:
            ExplorerError: if a claim cannot be evaluated on the checkpoint.
        """
        answerer, start = answerer_and_opening()
        holds = {}
        for block in self.content.blocks:
            if block.kind == "claim":
                facts = grading.facts_for(answerer, block.link, start, self.checkpoint)
                holds[block.id] = grading.claim(block, facts).holds
        return holds

    def _repr_html_(self) -> str:
        question = str(self.content.about.get("question", ""))
        lines = [f"<h2>{prose.html([self.title])}</h2>", prose.html(prose.tree(question))]
        for part in self.content.parts:
            if isinstance(part, str):
                lines.append(prose.html(prose.tree(part)))
            elif part.is_question:
                choices = "".join(f"<li>{prose.html(prose.inline(item.text))}</li>" for item in choices_of(part))
                call = f'.check("{part.id}", …)'
                lines.append(f"{prose.html(prose.tree(part.prompt))}<ol start=0>{choices}</ol><code>{call}</code>")
        return "\n".join(lines)

    def __repr__(self) -> str:
        lines = [f"Lesson({self.content.slug!r} on {self.checkpoint}): {self.title}"]
        for id, text in self.questions.items():
            lines.append(f"  {id}: {text}")
        return "\n".join(lines)


def lesson(name: str, *, checkpoint: str = "mini") -> Lesson:
    """A lesson, answered by a checkpoint.

    Args:
        name: one of those that `bertexplorer lesson list` prints.
        checkpoint: the checkpoint that answers.

    Returns:
        The lesson, which grades answers.

    Raises:
        ExplorerError: if there is no such lesson.

    Example:
        >>> bx.lesson("next-sentence").title
        'Does B follow A?'
    """
    return Lesson(LessonCatalogue.of(library().settings).lesson(name), checkpoint)


def answerer_and_opening() -> tuple[Answerer, State]:
    """The engine of the page, and the state that completes links."""
    return Answerer(library()), opening(library().settings)


def with_options(state: State, options: Mapping[str, Any]) -> State:
    """*state* with these settings of its view. Raises ExplorerError for one that it does not have."""
    if unknown := sorted(set(options) - set(state.options)):
        raise ExplorerError(
            f"{state.view} has no setting {unknown[0]!r:.40}; its settings are {', '.join(state.options)}."
        )
    return replace(state, options={**state.options, **options})


def choices_of(block: Block) -> tuple[Any, ...]:
    """The choices that an answer to *block* names by their number or their text; none for other questions."""
    return block.items if block.kind in ("predict", "choice", "share") else ()


def choice_number(block: Block, answer: Any) -> Any:
    """The number, from 0, of a choice that is given by its text; other answers are unchanged."""
    texts = [prose.plain(item.text) for item in choices_of(block)]
    if isinstance(answer, str) and answer in texts:
        return texts.index(answer)
    return answer

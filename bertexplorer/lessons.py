"""Lessons in Python: one is shown in a notebook, and answers are checked as on the page."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from bertexplorer.bert import library
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading, prose
from bertexplorer.learn.lesson import Block
from bertexplorer.learn.lesson import Lesson as Read
from bertexplorer.learn.shelf import Shelf
from bertexplorer.ui.explore import Explore, opening
from bertexplorer.ui.state import State


@dataclass(frozen=True)
class Feedback:
    """The verdict on an answer. *right*: None where there is nothing to be right or wrong about; *answer*: the right
    one, once it is out."""

    right: bool | None
    text: str
    answer: str = ""

    def __str__(self) -> str:
        verdict = {True: "Right.", False: "Not yet.", None: ""}[self.right]
        return " ".join(part for part in (verdict, self.text, self.answer and f"Answer: {self.answer}") if part)

    __repr__ = __str__


@dataclass(frozen=True, repr=False)
class Lesson:
    """A lesson with the checkpoint that answers it; shows its questions in a notebook.

    Example:
        >>> bx.lesson("next-sentence").check("first-guess", 1).right
        True
    """

    held: Read
    checkpoint: str

    @property
    def title(self) -> str:
        return self.held.title

    @property
    def questions(self) -> dict[str, str]:
        """The questions in words, by their ids."""
        return {block.id: prose.plain(block.prompt) for block in self.held.questions}

    def check(self, id: str, answer: Any = None, *, text: str = "", pair: str = "", attempt: int = 1) -> Feedback:
        """Judge an answer to the question *id*: the number of a choice from 0, or its words; a number; points for each
        choice; or, where a text is to be found, *text* and *pair*. Raises ExplorerError for an unknown question and
        for an answer of another kind."""
        block, explore, start = self.held.block(id), *asked()
        if not block.is_question:
            raise ExplorerError(f"{id} asks nothing; the questions are {', '.join(self.questions)}.")
        facts = grading.facts_for(explore, block.link, start, self.checkpoint) if block.kind != "find" else {}
        if block.kind == "find":
            state = grading.state_of(explore, block.link, start, self.checkpoint)
            state = replace(state, text=text or state.text, pair=pair or state.pair, hidden=(), picked=())
            facts = grading.facts_of(explore, state)
        found = grading.grade(block, numbered(block, answer), facts, attempt)
        said = " ".join(prose.plain(part) for part in (found.text, found.after) if part)
        return Feedback(found.right, said, prose.plain(found.answer))

    def claims(self) -> dict[str, bool]:
        """Whether each claim of the lesson holds on the checkpoint."""
        explore, start = asked()
        blocks = [block for block in self.held.blocks if block.kind == "claim"]
        facts = (grading.facts_for(explore, block.link, start, self.checkpoint) for block in blocks)
        return {block.id: grading.claim(block, found).holds for block, found in zip(blocks, facts, strict=True)}

    def _repr_html_(self) -> str:
        parts = [
            f"<h2>{prose.html([self.title])}</h2>",
            prose.html(prose.tree(str(self.held.about.get("question", "")))),
        ]
        for part in self.held.parts:
            if isinstance(part, str):
                parts.append(prose.html(prose.tree(part)))
            elif part.is_question:
                choices = "".join(f"<li>{prose.html(prose.inline(item.text))}</li>" for item in listed(part))
                call = f'.check("{part.id}", …)'
                parts.append(f"{prose.html(prose.tree(part.prompt))}<ol start=0>{choices}</ol><code>{call}</code>")
        return "\n".join(parts)

    def __repr__(self) -> str:
        lines = [f"Lesson({self.held.slug!r} on {self.checkpoint}): {self.title}"]
        return "\n".join([*lines, *(f"  {id}: {words}" for id, words in self.questions.items())])


def lesson(name: str, *, checkpoint: str = "mini") -> Lesson:
    """The lesson *name*, of those that `bertexplorer lesson list` prints, answered by *checkpoint*. Raises
    ExplorerError if there is none.

    Example:
        >>> bx.lesson("next-sentence").title
        'Does B follow A?'
    """
    return Lesson(Shelf.of(library().settings).lesson(name), checkpoint)


def asked() -> tuple[Explore, State]:
    """What answers, and the state that links are completed from."""
    return Explore(library()), opening(library().settings)


def listed(block: Block) -> tuple[Any, ...]:
    return block.items if block.kind in ("predict", "choice", "share") else ()


def numbered(block: Block, answer: Any) -> Any:
    """A choice that is given by its words, by its number."""
    words = [prose.plain(item.text) for item in listed(block)]
    return words.index(answer) if isinstance(answer, str) and answer in words else answer

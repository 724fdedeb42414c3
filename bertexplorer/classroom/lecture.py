"""Lecture: an ordered list of views, lessons and questions for the class, with minutes and notes for the teacher.

A lecture is a Markdown file, NN-slug.lecture.md, in the same folders as the lessons. Its front matter and its blocks
are written as in a lesson; docs/lessons.md describes them. The text of a block is for the audience, the prose below it
for the teacher alone. Nothing here runs a checkpoint; `lecture_check.py` does.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import LessonCatalogue, read_text
from bertexplorer.learn.front_matter import MAX_MINUTES, LessonProblem, front_matter
from bertexplorer.learn.lesson import MAX_CHARACTERS, MAX_PROBLEMS, Block, Kinds, is_for_class, split_parts
from bertexplorer.learn.recording import PREFIX, recording
from bertexplorer.views import VIEWS

SUFFIX = ".lecture.md"
NAME = re.compile(r"(\d{1,3})-([a-z0-9-]+)\.lecture\.md")
NEEDED = ("title", "minutes", "can")
KINDS: Kinds = {  # of steps
    "view": (frozenset({"view", "minutes"}), frozenset()),
    "lesson": (frozenset({"lesson", "minutes"}), frozenset()),
    "vote": (frozenset({"lesson", "question", "minutes"}), frozenset()),
}
DIGITS = re.compile(r"[0-9]{1,3}")


@dataclass(frozen=True)
class Step:
    """One step of a lecture: a view, a lesson, or a question of a lesson that the class votes on."""

    kind: str  # of KINDS
    id: str
    line: int
    minutes: int
    prompt: str = ""  # Markdown, for the audience
    notes: str = ""  # Markdown, for the teacher
    view: str = ""  # the link of a view
    lesson: str = ""  # the slug of a lesson
    question: str = ""  # the block of the lesson

    @property
    def name(self) -> str:
        return f"{self.kind} {self.id}"


@dataclass(frozen=True)
class Lecture:
    """A parsed lecture. *problems* lists the mistakes in its file."""

    slug: str
    about: dict[str, Any]
    opening: str = ""  # Markdown: notes before the first step
    steps: tuple[Step, ...] = ()
    problems: tuple[LessonProblem, ...] = ()

    @property
    def title(self) -> str:
        return str(self.about.get("title", self.slug))

    @property
    def minutes(self) -> int:
        return sum(step.minutes for step in self.steps)

    @property
    def votes(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.kind == "vote")


def read_lecture(source: str, slug: str) -> Lecture:
    """Parse the lecture in *source*. Faulty steps are left out and reported as problems.

    Example:
        >>> step = "```view gap\\nminutes: 5\\nview: /?view=fill-mask\\n```\\nLet them guess first."
        >>> lecture = read_lecture(f"---\\ntitle: Masks\\nminutes: 5\\ncan: say what a mask is\\n---\\n{step}", "masks")
        >>> lecture.steps[0].notes
        'Let them guess first.'
    """
    if len(source) > MAX_CHARACTERS:
        message = f"The file has {len(source):,} characters; a lecture has {MAX_CHARACTERS:,} at most. Split it."
        return Lecture(slug, {}, problems=(LessonProblem(1, message),))
    lines = source.replace("\r\n", "\n").split("\n")
    about, start, problems = front_matter(lines, NEEDED, NEEDED)
    opening = ""
    steps: list[Step] = []
    left_out = False  # whether the notes that follow belong to a step that cannot be used
    for part, number in split_parts(lines, start, problems, KINDS):
        if isinstance(part, Block):
            message = step_problem(part, [step.id for step in steps])
            left_out = bool(message)
            if message:
                problems.append(LessonProblem(number, message))
            else:
                fields = {**part.fields, "minutes": int(part.fields["minutes"])}
                steps.append(Step(part.kind, part.id, number, prompt=part.prompt, **fields))  # type: ignore[arg-type]
        elif left_out:
            continue
        elif steps:
            steps[-1] = replace(steps[-1], notes=f"{steps[-1].notes}\n\n{part}".strip())
        else:
            opening = part
    if not steps:
        problems.append(LessonProblem(1, f"The lecture has no step; wanted blocks such as {', '.join(KINDS)}."))
    lecture = Lecture(slug, about, opening, tuple(steps))
    if steps and not problems and lecture.minutes != about["minutes"]:
        problems.append(
            LessonProblem(1, f"minutes: got {about['minutes']}; the steps take {lecture.minutes} together.")
        )
    return replace(lecture, problems=tuple(problems[:MAX_PROBLEMS]))


def step_problem(block: Block, ids: list[str]) -> str:
    """The reason why *block* is no step, or ""."""
    minutes = block.fields.get("minutes", "")
    if missing := sorted(KINDS[block.kind][0] - set(block.fields)):
        return f"The {block.kind} {block.id} has no {' and no '.join(f'{name}:' for name in missing)}."
    if block.id in ids:
        return f"The id {block.id!r:.60} occurs twice; ids are unique in a lecture."
    if block.items:
        return f"The {block.kind} {block.id} has a list; put the choices of a question into a lesson."
    if not DIGITS.fullmatch(minutes) or not 1 <= int(minutes) <= MAX_MINUTES:
        return f"minutes: got {minutes!r:.40}; wanted a whole number from 1 to {MAX_MINUTES}."
    return ""


def lectures(catalogue: LessonCatalogue) -> dict[str, Path]:
    """Slug -> file of the lectures in the folders of *catalogue*, in the order of their numbers. One in a later folder
    replaces an earlier one with the same name."""
    found: dict[str, tuple[int, Path]] = {}
    for folder in catalogue.folders:
        for path in sorted(folder.glob("*.lecture.md")):
            if match := NAME.fullmatch(path.name):
                found[match[2]] = int(match[1]), path
    return {slug: path for slug, (_, path) in sorted(found.items(), key=lambda item: item[1][0])}


def find_lecture(catalogue: LessonCatalogue, slug: str) -> Lecture:
    """The lecture *slug*, without the steps that name no view, lesson or question; its problems name them. Raises
    ExplorerError if there is no such lecture."""
    files = lectures(catalogue)
    if slug not in files:
        raise ExplorerError(f"There is no lecture {slug!r:.60}; there are {', '.join(files) or 'none'}.")
    lecture = read_lecture_file(files[slug])
    steps, problems = [], list(lecture.problems)
    for step in lecture.steps:
        try:
            check_names(catalogue, step)
            steps.append(step)
        except ExplorerError as error:
            problems.append(LessonProblem(step.line, str(error)))
    return replace(lecture, steps=tuple(steps), problems=tuple(problems))


def check_names(catalogue: LessonCatalogue, step: Step) -> None:
    """Raises ExplorerError if *step* names a view, a lesson or a question that does not exist."""
    if step.view.startswith(PREFIX):
        recording(step.view)
    elif step.kind == "view":
        name = dict(parse_qsl(urlsplit(step.view).query)).get("view", "")
        if name not in VIEWS:
            raise ExplorerError(f"view: got {step.view!r:.80}; wanted the link of a view, such as /?view=fill-mask.")
    else:
        lesson = catalogue.lesson(step.lesson)
        ids = [block.id for block in lesson.blocks if is_for_class(block)]
        if step.kind == "vote" and step.question not in ids:
            raise ExplorerError(f"question: got {step.question!r:.60}; wanted one of {', '.join(ids)}.")


def read_lecture_file(path: Path) -> Lecture:
    """The lecture in the file *path*; without steps, and with a problem, if the file cannot be read."""
    match = NAME.fullmatch(path.name)
    slug = match[2] if match else path.name.removesuffix(SUFFIX)
    try:
        lecture = read_lecture(read_text(path), slug)
    except ExplorerError as error:
        return Lecture(slug, {}, problems=(LessonProblem(1, str(error)),))
    if match:
        return lecture
    message = f"The page does not list {path.name}; wanted a number and small letters, as in 50-my-course{SUFFIX}."
    return replace(lecture, problems=(LessonProblem(1, message), *lecture.problems))

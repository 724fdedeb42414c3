"""Lesson: parse a Markdown file with questions in it. docs/lessons.md describes the format for authors.

A file is front matter in YAML, prose, and fenced blocks with a kind and an id, such as `predict first-guess`. A block
begins with its question. Then come fields (`view: /?view=…`) and items (`- [ ] a choice`), with further lines
indented below them. Nothing here runs a checkpoint; `grading.py` does.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.learn.front_matter import LessonProblem, front_matter

FENCE = re.compile(r"(`{3,}|~{3,})\s*([\w-]+)\s+([\w-]+)\s*$")
OPENING = re.compile(r"(`{3,}|~{3,})")
FIELD = re.compile(r"([a-z]+):(?:\s+(.*))?$")
ITEM = re.compile(r"- (?:\[( |x)\] )?(.+)$")
UNDER = re.compile(r"\s+(?:> ?(.*)|(when|value):\s+(.+))$")
HINT_BEGINS = re.compile(r'->\s*"')  # after the condition of near:
RANGE = re.compile(r"(?:below (\S+)|above (\S+)|(\S+) to (\S+))$")
SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")
MAX_CHARACTERS, MAX_PROBLEMS = 100_000, 50
Kinds = Mapping[str, tuple[frozenset[str], frozenset[str]]]  # of blocks -> required fields, optional fields
KINDS: Kinds = {
    "predict": (frozenset({"view"}), frozenset({"key", "after", "show"})),
    "choice": (frozenset(), frozenset({"view", "after"})),
    "number": (frozenset({"view", "key"}), frozenset({"tolerance", "after", "show"})),
    "find": (frozenset({"start", "accept"}), frozenset({"near", "example", "after", "hint", "found"})),
    "click": (frozenset({"view", "accept"}), frozenset({"after", "hint"})),
    "say": (frozenset({"model"}), frozenset({"view"})),
    "share": (frozenset({"view"}), frozenset({"after", "show", "vote"})),
    "claim": (frozenset({"text", "view", "holds"}), frozenset({"otherwise"})),
    "figure": (frozenset({"view"}), frozenset({"text"})),
}
QUESTIONS = ("predict", "choice", "number", "find", "click", "say", "share")
CHOOSING = ("predict", "choice", "share")
CLASS_KINDS = ("predict", "choice", "number", "click")  # blocks that a class can answer as they are
GRADING = ("view", "start", "key", "accept", "tolerance")  # fields that decide what is right


@dataclass(frozen=True)
class LessonItem:
    """A choice with its feedback; a range of numbers with its feedback; or a criterion."""

    text: str
    line: int
    ticked: bool = False  # [x]: the right choice, where no view decides
    feedback: str = ""
    when: str = ""  # an expression: this choice is the right one if it holds
    value: str = ""  # an expression: the share that the checkpoint gives to this choice
    original: str = ""  # of a translated choice: its English text, which a key names


@dataclass(frozen=True)
class Block:
    """A question, a claim or a figure."""

    kind: str  # of KINDS, or of those of a translation or a lecture
    id: str
    line: int
    prompt: str = ""  # Markdown
    fields: dict[str, str] = field(default_factory=dict)
    near: tuple[tuple[str, str], ...] = ()  # (condition, hint) for answers that are nearly right
    items: tuple[LessonItem, ...] = ()

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> Block:
        """The block whose dataclasses.asdict is *fields*, also after a way through JSON."""
        items = tuple(LessonItem(**item) for item in fields["items"])
        near = tuple((condition, hint) for condition, hint in fields["near"])
        return cls(**{**fields, "items": items, "near": near})

    @property
    def link(self) -> str:
        """The view that the block is about, as a link; "" for none."""
        return self.fields.get("view") or self.fields.get("start", "")

    @property
    def shown(self) -> str:
        """The view to show with the answer; "" for none, for example because it would answer a later question."""
        return "" if self.fields.get("show") == "no" else self.link

    @property
    def shown_example(self) -> str:
        """The solution of a find, in Markdown for a reader: a text, two, or the link of a view; "" for none."""
        example = self.fields.get("example", "")
        if example.startswith("/?"):
            return f"[this view](<{example}>)"
        text, pair = self.example_texts
        if not pair:
            return text
        return f"{text} Second sentence: {pair}"

    @property
    def example_texts(self) -> tuple[str, str]:
        """The solution of a find that is not a link: (text, second text); "" for what there is not."""
        text, _, pair = self.fields.get("example", "").partition(" | ")
        return text.strip(), pair.strip()

    @property
    def is_question(self) -> bool:
        return self.kind in QUESTIONS


@dataclass(frozen=True)
class ParsedLesson:
    """A parsed lesson. *problems* lists the mistakes in its file."""

    slug: str
    about: dict[str, Any]
    parts: tuple[str | Block, ...] = ()  # Markdown and blocks, in order
    problems: tuple[LessonProblem, ...] = ()

    @classmethod
    def of(cls, fields: Mapping[str, Any]) -> ParsedLesson:
        """The lesson whose dataclasses.asdict is *fields*, also after a way through JSON."""
        parts = []
        for part in fields["parts"]:
            parts.append(part if isinstance(part, str) else Block.of(part))
        problems = [LessonProblem(**problem) for problem in fields["problems"]]
        return cls(fields["slug"], fields["about"], tuple(parts), tuple(problems))

    @property
    def version(self) -> str:
        """A short hash of what the lesson counts as right, the same in every language."""
        asked = []
        for block in self.questions:
            fields = [block.fields.get(name) for name in GRADING]
            items = [grades(item) for item in block.items]
            asked.append((block.kind, block.id, fields, items))
        return sha256(repr(asked).encode()).hexdigest()[:12]

    @property
    def blocks(self) -> tuple[Block, ...]:
        return tuple(part for part in self.parts if isinstance(part, Block))

    @property
    def title(self) -> str:
        return str(self.about.get("title", self.slug))

    @property
    def questions(self) -> tuple[Block, ...]:
        return tuple(block for block in self.blocks if block.is_question)

    def block(self, id: str) -> Block:
        """The block with this *id*. Raises ExplorerError if there is none."""
        for block in self.blocks:
            if block.id == id:
                return block
        raise ExplorerError(f"The lesson {self.slug} has no part {id!r:.60}; reload the page.")


def is_for_class(block: Block) -> bool:
    """Whether a class can vote on *block*. On a share it can if the block says in vote: what each person chooses."""
    return block.kind in CLASS_KINDS or "vote" in block.fields


def grades(item: LessonItem) -> tuple[str, ...]:
    """What decides whether *item* is right."""
    return (str(item.ticked), item.when, item.value)


def read_lesson(source: str, slug: str) -> ParsedLesson:
    """Parse the lesson in *source*. Faulty parts are left out and reported as problems, the first
    MAX_PROBLEMS of them.

    Example:
        >>> read_lesson("---\\ntitle: Masks\\n---\\nHello.", "masks").title
        'Masks'
    """
    if len(source) > MAX_CHARACTERS:
        message = f"The file has {len(source):,} characters; a lesson has {MAX_CHARACTERS:,} at most. Split it."
        return ParsedLesson(slug, {}, problems=(LessonProblem(1, message),))
    lines = source.replace("\r\n", "\n").split("\n")
    about, start, problems = front_matter(lines)
    parts: list[str | Block] = []
    ids: set[str] = set()
    for part, number in split_parts(lines, start, problems):
        if isinstance(part, str):
            parts.append(part)
        elif part.id in ids:
            problems.append(LessonProblem(number, f"The id {part.id!r:.60} occurs twice; ids are unique in a lesson."))
        elif message := block_problem(part):
            problems.append(LessonProblem(number, message))
        else:
            ids.add(part.id)
            parts.append(part)
    return ParsedLesson(slug, about, tuple(parts), tuple(problems[:MAX_PROBLEMS]))


def split_parts(
    lines: list[str], start: int, problems: list[LessonProblem], kinds: Kinds = KINDS
) -> Iterator[tuple[str | Block, int]]:
    """Yield prose and blocks from the line at index *start* on, each with a line number from 1 on: that of the
    block, or of what follows the prose. Mistakes are added to *problems*."""
    prose: list[str] = []
    index = start
    while index < len(lines):
        line = lines[index]
        number = index + 1
        opening = OPENING.match(line)
        if not opening:
            prose.append(line)
            index += 1
            continue

        # A fence: its end, and the block inside, with the prose before it.
        fence = opening[1]
        end = index + 1
        while end < len(lines) and lines[end].strip() != fence:
            end += 1
        if end == len(lines):
            problems.append(LessonProblem(number, f"The block that begins here has no end; wanted a line of {fence}."))
        head = FENCE.match(line)
        if head and head[2] in kinds and SLUG.fullmatch(head[3]):
            if any(text.strip() for text in prose):
                yield "\n".join(prose).strip(), number
            prose = []
            block = Block(head[2], head[3], number)
            yield parse_block(block, lines[index + 1 : end], number + 1, problems, kinds), number
        else:
            info_string = line[len(fence) :].strip()
            example = f"{next(iter(kinds))} first-guess"
            wanted = f"wanted a kind ({', '.join(kinds)}) and an id in small letters, such as {example}"
            problems.append(LessonProblem(number, f"{info_string!r:.60} is not a block; {wanted}."))
        index = end + 1
    if any(text.strip() for text in prose):
        yield "\n".join(prose).strip(), len(lines)


def parse_block(block: Block, lines: list[str], first: int, problems: list[LessonProblem], kinds: Kinds) -> Block:
    """Return *block* with the question, fields and items in *lines*. *first*: the number of the first line. Mistakes
    are added to *problems*."""
    fields_of = {kind: required | optional for kind, (required, optional) in kinds.items()}
    own_fields = fields_of[block.kind]
    all_fields = frozenset[str]().union(*fields_of.values())
    prompt: list[str] = []
    fields: dict[str, str] = {}
    near: list[tuple[str, str]] = []
    items: list[LessonItem] = []
    for number, line in enumerate(lines, first):
        if items and (under := UNDER.match(line)):
            items[-1] = with_line_below(items[-1], under)
        elif item := ITEM.match(line):
            items.append(LessonItem(item[2].strip(), number, ticked=item[1] == "x"))
        elif (entry := FIELD.match(line)) and entry[1] in own_fields:
            name = entry[1]
            value = (entry[2] or "").strip()
            if name == "example":
                value = value.strip('"').strip()
            if name != "near":
                fields[name] = value
            elif hint := parse_near(value, conditional=block.kind != "text"):
                near.append(hint)
            else:
                wanted = '"hint"' if block.kind == "text" else 'condition -> "hint"'
                problems.append(LessonProblem(number, f"near: is not of the form: {wanted}."))
        elif entry and entry[1] in all_fields:
            problems.append(LessonProblem(number, f"A {block.kind} has no {entry[1]}:."))
        elif line.strip() and (items or fields):
            message = f"{line.strip()!r:.60} belongs to nothing; wanted a field or an item."
            problems.append(LessonProblem(number, message))
        else:
            prompt.append(line)
    return replace(block, prompt="\n".join(prompt).strip(), fields=fields, near=tuple(near), items=tuple(items))


def with_line_below(item: LessonItem, line: re.Match[str]) -> LessonItem:
    """*item* with an indented line below it, which UNDER matched: its feedback, or one of its fields. A second line of
    the same field continues the first."""
    name = line[2] or "feedback"
    value = line[3] if line[2] else line[1]
    change: dict[str, Any] = {name: f"{getattr(item, name)} {value}".strip()}
    return replace(item, **change)


def parse_near(value: str, conditional: bool) -> tuple[str, str] | None:
    """(condition, hint) from `condition -> "hint"`, or from `"hint"` where it is not *conditional*, as in a
    translation; None for anything else."""
    condition = ""
    hint = value.strip()
    if conditional:
        arrow = HINT_BEGINS.search(value)
        if arrow is None:
            return None
        condition = value[: arrow.start()].strip()
        if not condition:
            return None
        hint = value[arrow.end() - 1 :].strip()
    if len(hint) < 2 or not (hint.startswith('"') and hint.endswith('"')):
        return None
    return condition, hint[1:-1]


def block_problem(block: Block) -> str:
    """The reason why *block* cannot be used, or ""."""
    required, _ = KINDS[block.kind]
    missing = sorted(required - set(block.fields))
    if missing:
        return f"The {block.kind} {block.id} has no {' and no '.join(f'{name}:' for name in missing)}."
    if block.fields.get("show", "no") != "no":
        return f"{block.fields['show']!r:.40} is not what show: may say; wanted no, or no such line."
    if block.is_question and not block.prompt:
        return f"The {block.kind} {block.id} asks nothing; begin it with its question."
    if block.kind in CHOOSING and len(block.items) < 2:
        return f"The {block.kind} {block.id} has {len(block.items)} choices; wanted two or more."
    ticked = sum(item.ticked for item in block.items)
    if block.kind == "choice" and ticked != 1:
        return f"The choice {block.id} has {ticked} right answers; mark one with [x]."
    if block.kind == "predict" and not block.fields.get("key") and not all(item.when for item in block.items):
        return f"The predict {block.id} has no key:, and not every choice has a when: below it."
    without_value = sum(not item.value for item in block.items)
    has_values = without_value < len(block.items)
    needs_values = block.kind == "share" or (block.kind in CHOOSING and has_values)
    if needs_values and without_value > 1:
        return f"In the {block.kind} {block.id} every choice but one needs a value: below it."
    if has_values and not block.link:
        return f"The {block.kind} {block.id} has values but no view:, which they are read from."
    other_items = [item.text for item in block.items if not RANGE.match(item.text)]
    if block.kind == "number" and other_items:
        return f"{other_items[0]!r:.40} is not a range; wanted below 0.3, above 0.8, or 0.3 to 0.8."
    return ""

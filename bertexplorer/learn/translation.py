"""Translation: the texts of a lesson in another language, block by block, from NN-slug.LANG.md.

A translation holds texts only; links, keys and conditions stay those of the English file. Each block names the
fingerprint of the English text that it translates. A block that is missing, or whose English text has changed since, is
shown in English.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from bertexplorer.learn.lesson import Block, Item, Lesson, Problem, fenced, front_matter

TEXTS = ("text", "otherwise", "after", "hint", "model")  # fields that are read by people
ABOUT = ("title", "question", "can", "guards")


def pieces(lesson: Lesson) -> dict[str, Block]:
    """What can be translated, by id: the blocks, and each stretch of prose as prose-1, prose-2, …"""
    found: dict[str, Block] = {}
    prose = 0
    for part in lesson.parts:
        if isinstance(part, str):
            prose += 1
            found[f"prose-{prose}"] = Block("text", f"prose-{prose}", 0, part)
        else:
            found[part.id] = part
    return found


def fingerprint(block: Block) -> str:
    """Eight digits that change with the English text of *block*."""
    texts = [block.prompt, *(block.fields.get(name, "") for name in TEXTS)]
    texts += [text for item in block.items for text in (item.text, item.feedback)]
    texts += [hint for _, hint in block.near]
    return sha256("\0".join(texts).encode()).hexdigest()[:8]


def translated(lesson: Lesson, source: str) -> tuple[Lesson, list[Problem]]:
    """*lesson* with the texts of the translation *source*, and what of it cannot be used and stays English."""
    lines = source.replace("\r\n", "\n").split("\n")
    about, start, problems = front_matter(lines, translation=True)
    blocks = [part for part, _ in fenced(lines, start, problems, kinds=("text",)) if isinstance(part, Block)]
    english = pieces(lesson)
    usable: dict[str, Block] = {}
    for block in blocks:
        if wrong := unusable(block, english):
            problems.append(Problem(block.line, wrong))
        else:
            usable[block.id] = block
    problems += [Problem(1, f"{id} is not translated.") for id in english if id not in {block.id for block in blocks}]
    parts: list[str | Block] = []
    for id, part in zip(english, lesson.parts, strict=True):
        other = usable.get(id)
        parts.append(part if other is None else other.prompt if isinstance(part, str) else merged(part, other))
    texts = {name: about[name] for name in ABOUT if name in about}
    return replace(lesson, about={**lesson.about, **texts}, parts=tuple(parts)), problems


def unusable(block: Block, english: dict[str, Block]) -> str:
    """Why *block* cannot be used, as a sentence; "" if it can."""
    if block.id not in english:
        return f"There is no block {block.id!r:.60} in the English lesson."
    wanted = english[block.id]
    if block.fields.get("of") != fingerprint(wanted):
        return f"The English text of {block.id} has changed; translate it again, with of: {fingerprint(wanted)}."
    if len(block.items) != len(wanted.items):
        return f"{block.id} has {len(block.items)} items; wanted {len(wanted.items)}."
    if len(block.near) != len(wanted.near):
        return f"{block.id} has {len(block.near)} lines of near:; wanted {len(wanted.near)}."
    return ""


def merged(block: Block, other: Block) -> Block:
    """*block* with the texts of *other*; a choice keeps its English text as what a key names."""
    fields = {**block.fields, **{name: other.fields[name] for name in TEXTS if other.fields.get(name)}}
    items = tuple(item_of(mine, theirs) for mine, theirs in zip(block.items, other.items, strict=True))
    near = tuple((condition, hint) for (condition, _), (_, hint) in zip(block.near, other.near, strict=True))
    return replace(block, prompt=other.prompt or block.prompt, fields=fields, items=items, near=near)


def item_of(mine: Item, theirs: Item) -> Item:
    feedback = theirs.feedback or mine.feedback
    return replace(mine, text=theirs.text, feedback=feedback, original=mine.original or mine.text)


def template(lesson: Lesson) -> Iterator[str]:
    """The lines of a translation to fill in: the English texts with their fingerprints."""
    yield "---"
    yield from (f"{name}: {lesson.about.get(name, '')}" for name in ABOUT)
    yield "---"
    for id, block in pieces(lesson).items():
        yield ""
        yield f"```text {id}"
        yield from block.prompt.split("\n")
        for item in block.items:
            yield f"- {item.text}"
            if item.feedback:
                yield f"  > {item.feedback}"
        yield f"of: {fingerprint(block)}"
        yield from (f"{name}: {block.fields[name]}" for name in TEXTS if block.fields.get(name))
        yield from (f'near: "{hint}"' for _, hint in block.near)
        yield "```"

"""Translation: the texts of a lesson in another language, block by block, from NN-slug.LANG.md.

A translation holds texts only; links, keys and conditions stay those of the English file. Each block names the
fingerprint of the English text that it translates. A block that is missing, or whose English text has changed since, is
shown in English.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256

from bertexplorer.learn.front_matter import ALLOWED, FINGERPRINT, LessonProblem, front_matter
from bertexplorer.learn.lesson import Block, Kinds, ParsedLesson, split_parts

KINDS: Kinds = {
    "text": (frozenset({"of"}), frozenset({"text", "otherwise", "after", "hint", "model", "vote", "found", "near"})),
}
TEXTS = ("text", "otherwise", "after", "hint", "model", "vote", "found")  # fields with text for the reader
LATER_TEXTS = ("vote", "found")  # those that older fingerprints do not have, which stay valid
FRONT_MATTER_TEXTS = ("title", "question", "can", "guards")


def translatable_parts(lesson: ParsedLesson) -> dict[str, Block]:
    """The parts that can be translated, by id: the blocks, and each stretch of prose as prose-1, prose-2, …"""
    parts: dict[str, Block] = {}
    prose = 0
    for part in lesson.parts:
        if isinstance(part, str):
            prose += 1
            id = f"prose-{prose}"
            parts[id] = Block("text", id, line=0, prompt=part)
        else:
            parts[part.id] = part
    return parts


def fingerprint(block: Block) -> str:
    """Eight hexadecimal digits that change with the English text of *block*."""
    texts = [block.prompt]
    texts += [block.fields.get(name, "") for name in TEXTS if name not in LATER_TEXTS]
    for item in block.items:
        texts += [item.text, item.feedback]
    texts += [hint for _, hint in block.near]
    texts += [block.fields[name] for name in LATER_TEXTS if name in block.fields]
    return sha256("\0".join(texts).encode()).hexdigest()[:8]


def about_fingerprint(lesson: ParsedLesson) -> str:
    """Eight hexadecimal digits that change with the English texts of the front matter."""
    texts = [str(lesson.about.get(name, "")) for name in FRONT_MATTER_TEXTS]
    return sha256("\0".join(texts).encode()).hexdigest()[:8]


def translate(lesson: ParsedLesson, source: str) -> tuple[ParsedLesson, list[LessonProblem]]:
    """Return *lesson* with the texts of the translation *source*, and problems: unusable parts, which stay English."""
    # 1. The blocks that fit the English lesson as it is.
    lines = source.replace("\r\n", "\n").split("\n")
    about, start, problems = front_matter(lines, allowed=(*ALLOWED, FINGERPRINT), needed=())
    blocks = [part for part, _ in split_parts(lines, start, problems, kinds=KINDS) if isinstance(part, Block)]
    english = translatable_parts(lesson)
    usable: dict[str, Block] = {}
    for block in blocks:
        mismatch = block_mismatch(block, english)
        if mismatch:
            problems.append(LessonProblem(block.line, mismatch))
        else:
            usable[block.id] = block
    present = {block.id for block in blocks}
    for id in english:
        if id not in present:
            problems.append(LessonProblem(1, f"{id} is not translated."))

    # 2. The lesson with their texts.
    parts: list[str | Block] = []
    for id, part in zip(english, lesson.parts, strict=True):
        translation = usable.get(id)
        if translation is None:
            parts.append(part)
        elif isinstance(part, str):
            parts.append(translation.prompt)
        else:
            parts.append(merge_texts(part, translation))

    # 3. The texts of the front matter.
    texts = {name: about[name] for name in FRONT_MATTER_TEXTS if name in about}
    fingerprint_now = about_fingerprint(lesson)
    wanted = f'of: "{fingerprint_now}"'
    if texts and "of" not in about:  # written before front matter had a fingerprint
        message = f"The front matter does not say which English text it translates; add {wanted}."
        problems.append(LessonProblem(1, message))
    elif texts and str(about["of"]) != fingerprint_now:
        message = f"The English text of the front matter has changed; translate it again, with {wanted}."
        problems.append(LessonProblem(1, message))
        texts = {}
    return replace(lesson, about={**lesson.about, **texts}, parts=tuple(parts)), problems


def block_mismatch(block: Block, english: dict[str, Block]) -> str:
    """The reason why *block* does not fit the English lesson, or ""."""
    if block.id not in english:
        return f"There is no block {block.id!r:.60} in the English lesson."
    original = english[block.id]
    if block.fields.get("of") != fingerprint(original):
        return f"The English text of {block.id} has changed; translate it again, with of: {fingerprint(original)}."
    if len(block.items) != len(original.items):
        return f"{block.id} has {len(block.items)} items; wanted {len(original.items)}."
    if len(block.near) != len(original.near):
        return f"{block.id} has {len(block.near)} lines of near:; wanted {len(original.near)}."
    return ""


def merge_texts(block: Block, translation: Block) -> Block:
    """*block* with the texts of *translation*. A choice keeps its English text, which keys name."""
    fields = dict(block.fields)
    for name in TEXTS:
        if translation.fields.get(name):
            fields[name] = translation.fields[name]
    items = []
    for english, translated in zip(block.items, translation.items, strict=True):
        item = replace(
            english,
            text=translated.text,
            feedback=translated.feedback or english.feedback,
            original=english.original or english.text,
        )
        items.append(item)
    near = []
    for (condition, _), (_, hint) in zip(block.near, translation.near, strict=True):
        near.append((condition, hint))
    prompt = translation.prompt or block.prompt
    return replace(block, prompt=prompt, fields=fields, items=tuple(items), near=tuple(near))


def template(lesson: ParsedLesson) -> Iterator[str]:
    """Yield the lines of a translation to fill in: the English texts with their fingerprints."""
    yield "---"
    for name in FRONT_MATTER_TEXTS:
        yield f"{name}: {lesson.about.get(name, '')}"
    yield f'of: "{about_fingerprint(lesson)}"'
    yield "---"
    for id, block in translatable_parts(lesson).items():
        yield ""
        yield f"```text {id}"
        yield from block.prompt.split("\n")
        for item in block.items:
            yield f"- {item.text}"
            if item.feedback:
                yield f"  > {item.feedback}"
        yield f"of: {fingerprint(block)}"
        for name in TEXTS:
            if block.fields.get(name):
                yield f"{name}: {block.fields[name]}"
        for _, hint in block.near:
            yield f'near: "{hint}"'
        yield "```"

"""Convert tags to entities and back, in any scheme."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

OUTSIDE = "O"
TAG = re.compile(r"([BIESLUM])[-_](.+)")


class Entity(NamedTuple):
    """Words *start* up to, not including, *end*."""

    kind: str
    start: int
    end: int


def parts(tag: str) -> tuple[str, str]:
    """(B, I, E, S or O, type). L is read as E, U as S, M as I; a tag without a prefix as O."""
    found = TAG.fullmatch(tag)
    return (found[1].translate(str.maketrans("LUM", "ESI")), found[2]) if found else (OUTSIDE, "")


def entities(tags: Sequence[str]) -> list[Entity]:
    """As conlleval counts them (Tjong Kim Sang and Buchholz, 2000), in IOB1, IOB2 and IOBES alike: an inside tag
    continues the previous entity if that is open and of the same type, otherwise it begins a new one."""
    found: list[Entity] = []
    going = ""  # the kind of the entity that is open
    for i, (mark, kind) in enumerate(map(parts, tags)):
        if mark == OUTSIDE:
            going = ""
            continue
        if mark in "IE" and kind == going:
            found[-1] = found[-1]._replace(end=i + 1)
        else:
            found.append(Entity(kind, i, i + 1))
        going = "" if mark in "ES" else kind
    return found


def strict(tags: Sequence[str]) -> list[Entity]:
    """The entities of IOB2 tags that begin with a B."""
    return [entity for entity in entities(tags) if tags[entity.start].startswith("B")]


def iob2(found: Iterable[Entity], count: int) -> list[str]:
    """The tags of *count* words: B on the first of an entity, I on the others, O elsewhere."""
    tags = [OUTSIDE] * count
    for kind, start, end in found:
        tags[start:end] = [f"B-{kind}", *[f"I-{kind}"] * (end - start - 1)]
    return tags


def words(tags: Sequence[str]) -> list[Entity]:
    """Each tagged word as an entity, for plain tags: F1 over these is the share of correct words."""
    return [Entity(tag, i, i + 1) for i, tag in enumerate(tags) if tag]


def illegal(tags: Sequence[str]) -> int:
    """The number of *tags* that IOB2 does not allow at their positions."""
    from bertexplorer.model.crf import may_follow  # imports torch, which the page must not wait for

    return sum(not may_follow(before, tag) for before, tag in zip(["", *tags], tags, strict=False))


def labels(sentences: Iterable[Sequence[str]], plain: bool) -> tuple[str, ...]:
    """All labels of a head: the plain tags, or O with B and I of every type."""
    seen = {tag for tags in sentences for tag in tags}
    if plain:
        return tuple(sorted(seen))
    kinds = sorted({tag[2:] for tag in seen if tag != OUTSIDE})
    return (OUTSIDE, *(f"{mark}-{kind}" for kind in kinds for mark in "BI"))

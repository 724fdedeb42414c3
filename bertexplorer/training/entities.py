"""Named entities: tags as entities and back, in every scheme; scores by exact and partial matches, per type."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from bertexplorer.training.task import Confusion

OUTSIDE = "O"
TAG = re.compile(r"([BIESLUM])[-_](.+)")
RULES = {
    "strict": "place and kind",
    "exact": "place, whatever the kind",
    "partial": "place in part, as a half",
    "ent_type": "kind, if the places touch",
}
Tags = Sequence[Sequence[str]]


class Entity(NamedTuple):
    """Words *start* up to, not including, *end*, that are of a *kind*, such as PER."""

    kind: str
    start: int
    end: int


def split_tag(tag: str) -> tuple[str, str]:
    """(B, I, E, S or O, type). L is read as E, U as S, M as I; a tag without a prefix as O."""
    match = TAG.fullmatch(tag)
    if not match:
        return OUTSIDE, ""
    return match[1].translate(str.maketrans("LUM", "ESI")), match[2]


def entities(tags: Sequence[str]) -> list[Entity]:
    """As conlleval counts them (Tjong Kim Sang and Buchholz, 2000), in IOB1, IOB2 and IOBES alike: an inside tag
    continues the previous entity if that is open and of the same type, otherwise it begins a new one."""
    result: list[Entity] = []
    open_kind = ""  # the kind of the entity that is open
    for i, (mark, kind) in enumerate(map(split_tag, tags)):
        if mark == OUTSIDE:
            open_kind = ""
            continue
        if mark in "IE" and kind == open_kind:
            result[-1] = result[-1]._replace(end=i + 1)
        else:
            result.append(Entity(kind, i, i + 1))
        open_kind = "" if mark in "ES" else kind
    return result


def strict_entities(tags: Sequence[str]) -> list[Entity]:
    """The entities of IOB2 tags that begin with a B."""
    return [entity for entity in entities(tags) if tags[entity.start].startswith("B")]


def to_iob2(entities: Iterable[Entity], count: int) -> list[str]:
    """The tags of *count* words: B on the first of an entity, I on the others, O elsewhere."""
    tags = [OUTSIDE] * count
    for kind, start, end in entities:
        tags[start] = f"B-{kind}"
        for word in range(start + 1, end):
            tags[word] = f"I-{kind}"
    return tags


def words_as_entities(tags: Sequence[str]) -> list[Entity]:
    """Each tagged word as an entity, for plain tags: F1 over these is the share of correct words."""
    return [Entity(tag, i, i + 1) for i, tag in enumerate(tags) if tag]


def count_illegal(tags: Sequence[str]) -> int:
    """The number of *tags* that IOB2 does not allow at their positions."""
    from bertexplorer.model.crf import may_follow  # imports torch, which the page must not wait for

    return sum(not may_follow(before, tag) for before, tag in zip(["", *tags], tags, strict=False))


def head_labels(sentences: Iterable[Sequence[str]], plain: bool) -> tuple[str, ...]:
    """All labels of a head: the plain tags, or O with B and I of every type."""
    seen = {tag for tags in sentences for tag in tags}
    if plain:
        return tuple(sorted(seen))
    kinds = sorted({tag[2:] for tag in seen if tag != OUTSIDE})
    return (OUTSIDE, *(f"{mark}-{kind}" for kind in kinds for mark in "BI"))


class Scores(NamedTuple):
    """Precision, recall and F1, 0 where there is nothing to divide by."""

    precision: float
    recall: float
    f1: float


def scores(right: int, predicted: int, expected: int) -> Scores:
    """Of numbers of entities: how many of the *predicted* ones are *right*, of those *expected*."""
    return Scores(
        precision=right / predicted if predicted else 0.0,
        recall=right / expected if expected else 0.0,
        f1=2 * right / (predicted + expected) if predicted + expected else 0.0,
    )


def metrics(gold: Tags, guess: Tags, plain: bool) -> dict[str, float]:
    """Over all sentences together. entity_f1: as conlleval and seqeval, which accept an I without a B; strict_f1: such
    entities do not count. For plain tags both are the share of correct words."""
    # 1. Entities
    result = {}
    ways = {"entity_f1": entities, "strict_f1": strict_entities}
    if plain:
        ways = dict.fromkeys(ways, words_as_entities)
    for name, read_entities in ways.items():
        right = predicted = expected = 0
        for gold_tags, guessed_tags in zip(gold, guess, strict=True):
            gold_entities = set(read_entities(gold_tags))
            guessed_entities = set(read_entities(guessed_tags))
            right += len(gold_entities & guessed_entities)
            predicted += len(guessed_entities)
            expected += len(gold_entities)
        reached = scores(right, predicted, expected)
        result[name] = reached.f1
        if name == "entity_f1":
            result |= {"precision": reached.precision, "recall": reached.recall}

    # 2. Words
    count = correct = inside = illegal = 0
    for gold_tags, guessed_tags in zip(gold, guess, strict=True):
        count += len(gold_tags)
        correct += sum(a == b for a, b in zip(gold_tags, guessed_tags, strict=True))
        inside += sum(tag != OUTSIDE for tag in guessed_tags)
        if not plain:
            illegal += count_illegal(guessed_tags)
    result["accuracy"] = correct / count if count else 0.0
    result["illegal"] = illegal / inside if inside else 0.0
    return result


def tables(gold: Tags, guess: Tags, plain: bool) -> dict[str, list[dict[str, Any]]]:
    """A row per type; for entities also a row per way of counting (MUC and SemEval 2013, by nervaluate)."""
    read_entities = words_as_entities if plain else entities
    gold_entities = [read_entities(tags) for tags in gold]
    guessed_entities = [read_entities(tags) for tags in guess]
    expected = Counter[str]()
    predicted = Counter[str]()
    right = Counter[str]()
    for gold_side, guessed_side in zip(gold_entities, guessed_entities, strict=True):
        expected.update(entity.kind for entity in gold_side)
        predicted.update(entity.kind for entity in guessed_side)
        right.update(entity.kind for entity in set(gold_side) & set(guessed_side))
    per_kind = []
    for kind in sorted(expected | predicted):
        reached = scores(right[kind], predicted[kind], expected[kind])
        counts = {"examples": expected[kind], "predicted": predicted[kind]}
        per_kind.append({"label": kind, **reached._asdict(), **counts})
    if plain:
        return {"Per label": per_kind}
    return {"Per type": per_kind, "Ways to count": table_of_rules(gold_entities, guessed_entities)}


def table_of_rules(gold: Sequence[Sequence[Entity]], guess: Sequence[Sequence[Entity]]) -> list[dict[str, Any]]:
    """Precision, recall and F1 by how much of an entity must match, a row for each of RULES; none without an entity."""
    from nervaluate import Evaluator

    expected = []  # of each sentence that has an entity
    predicted = []
    kinds = set[str]()
    for gold_side, guessed_side in zip(gold, guess, strict=True):
        if gold_side or guessed_side:
            expected.append([as_nervaluate(entity) for entity in gold_side])
            predicted.append([as_nervaluate(entity) for entity in guessed_side])
            kinds |= {entity.kind for entity in (*gold_side, *guessed_side)}
    if not kinds:
        return []
    overall = Evaluator(expected, predicted, tags=sorted(kinds), loader="dict").evaluate()["overall"]
    table = []
    for rule, words in RULES.items():
        row: dict[str, Any] = {"right if": words}
        for name in ("precision", "recall", "f1"):
            row[name] = float(getattr(overall[rule], name))
        for name in ("correct", "incorrect", "partial", "missed", "spurious"):
            row[name] = int(getattr(overall[rule], name))
        table.append(row)
    return table


def as_nervaluate(entity: Entity) -> dict[str, Any]:
    """An entity as nervaluate expects it, with an inclusive end."""
    return {"label": entity.kind, "start": entity.start, "end": entity.end - 1}


def confusion(gold: Tags, guess: Tags, plain: bool) -> Confusion:
    """Word by word, types without B and I; O first."""
    mark = 0 if plain else 2  # characters of B- and I-
    pairs = Counter[tuple[str, str]]()
    for gold_tags, guessed_tags in zip(gold, guess, strict=True):
        for gold_tag, guessed_tag in zip(gold_tags, guessed_tags, strict=True):
            pairs[gold_tag[mark:] or OUTSIDE, guessed_tag[mark:] or OUTSIDE] += 1
    names = {name for pair in pairs for name in pair}
    order = sorted(names, key=lambda name: (name != OUTSIDE, name))
    counts = tuple(tuple(pairs[true, predicted] for predicted in order) for true in order)
    return Confusion(tuple(order), counts)

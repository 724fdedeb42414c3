"""Scores of named entities: exact or partial matches, per type."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from bertexplorer.training.entities.tags import Entity, entities, illegal, strict, words
from bertexplorer.training.task import Confusion

WAYS = {
    "strict": "place and kind",
    "exact": "place, whatever the kind",
    "partial": "place in part, as a half",
    "ent_type": "kind, if the places touch",
}
Tags = Sequence[Sequence[str]]


def f1(right: float, said: float, wanted: float) -> tuple[float, float, float]:
    """(precision, recall, F1), 0 where there is nothing to divide by."""
    precision, recall = right / said if said else 0.0, right / wanted if wanted else 0.0
    return precision, recall, 2 * right / (said + wanted) if said + wanted else 0.0


def metrics(gold: Tags, guess: Tags, plain: bool) -> dict[str, float]:
    """Over all sentences together. entity_f1: as conlleval and seqeval, which accept an I without a B; strict_f1: such
    entities do not count. For plain tags both are the share of correct words."""
    found = {}
    for name, read in (("entity_f1", words if plain else entities), ("strict_f1", words if plain else strict)):
        right = said = wanted = 0
        for truth, answer in zip(gold, guess, strict=True):
            true, claimed = set(read(truth)), set(read(answer))
            right, said, wanted = right + len(true & claimed), said + len(claimed), wanted + len(true)
        precision, recall, found[name] = f1(right, said, wanted)
        if name == "entity_f1":
            found |= {"precision": precision, "recall": recall}
    count = sum(map(len, gold))
    same = sum(a == b for truth, answer in zip(gold, guess, strict=True) for a, b in zip(truth, answer, strict=True))
    inside = sum(tag != "O" for tags in guess for tag in tags)
    broken = 0 if plain else sum(map(illegal, guess))
    return found | {"accuracy": same / count if count else 0.0, "illegal": broken / inside if inside else 0.0}


def tables(gold: Tags, guess: Tags, plain: bool) -> dict[str, list[dict[str, Any]]]:
    """A row per type; for entities also a row per way of counting (MUC and SemEval 2013, by nervaluate)."""
    read = words if plain else entities
    true, claimed = [read(tags) for tags in gold], [read(tags) for tags in guess]
    wanted, said, right = Counter[str](), Counter[str](), Counter[str]()
    for a, b in zip(true, claimed, strict=True):
        wanted.update(entity.kind for entity in a)
        said.update(entity.kind for entity in b)
        right.update(entity.kind for entity in set(a) & set(b))
    per_kind = []
    for kind in sorted(wanted | said):
        precision, recall, both = f1(right[kind], said[kind], wanted[kind])
        numbers = {"precision": precision, "recall": recall, "f1": both}
        per_kind.append({"label": kind} | numbers | {"examples": wanted[kind], "predicted": said[kind]})
    return {"Per label": per_kind} if plain else {"Per type": per_kind, "Ways to count": ways(true, claimed)}


def ways(true: Sequence[Sequence[Entity]], claimed: Sequence[Sequence[Entity]]) -> list[dict[str, Any]]:
    """Precision, recall and F1 by how much of an entity must match."""
    from nervaluate import Evaluator

    pairs = [(a, b) for a, b in zip(true, claimed, strict=True) if a or b]
    if not pairs:
        return []
    kinds = sorted({entity.kind for pair in pairs for side in pair for entity in side})
    sides = [[[described(entity) for entity in pair[side]] for pair in pairs] for side in (0, 1)]
    overall = Evaluator(*sides, tags=kinds, loader="dict").evaluate()["overall"]
    counts = ("correct", "incorrect", "partial", "missed", "spurious")
    return [
        {"right if": words}
        | {name: float(getattr(overall[way], name)) for name in ("precision", "recall", "f1")}
        | {name: int(getattr(overall[way], name)) for name in counts}
        for way, words in WAYS.items()
    ]


def described(entity: Entity) -> dict[str, Any]:
    """As nervaluate expects them, with inclusive ends."""
    return {"label": entity.kind, "start": entity.start, "end": entity.end - 1}


def confusion(gold: Tags, guess: Tags, plain: bool) -> Confusion:
    """Word by word, types without B and I."""
    cut = 0 if plain else 2
    pairs = Counter(
        (a[cut:] or "O", b[cut:] or "O")
        for truth, answer in zip(gold, guess, strict=True)
        for a, b in zip(truth, answer, strict=True)
    )
    names = tuple(sorted({name for pair in pairs for name in pair}, key=lambda name: (name != "O", name)))
    return Confusion(names, tuple(tuple(pairs[a, b] for b in names) for a in names))

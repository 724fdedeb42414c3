"""Head roles: what every head looks at, on plain sentences or on this text; which heads follow grammar, and which
behave alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from jaxtyping import Bool, Float

from bertexplorer import engine
from bertexplorer.answers.attention_weights import check_length
from bertexplorer.answers.heads import Head
from bertexplorer.answers.sample_sentences import SAMPLE
from bertexplorer.answers.strongest_heads import is_punctuation
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Span, Text
from bertexplorer.options import Option
from bertexplorer.views import facts
from bertexplorer.views.head_roles.claim import EXAMPLE, Claim, claim_rows, measure_claim
from bertexplorer.views.head_roles.head_relations import Followed, Read, best_heads, read_all, relations_of_heads
from bertexplorer.views.head_roles.sample_relations import RELATIONS

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

ROLES = ("previous", "next", "same", "[SEP]", "[CLS]", "punctuation")  # where a share of the attention goes
MEASURES = (*ROLES, "distance", "entropy")
AMONG = ("previous", "next", "same", "punctuation")  # of these, those that are measured without special tokens too
CLEAR = 0.3  # a head gets the name of a role from this share on
ORDINARY = 0.2  # the least share that ordinary tokens must get for a role among them
TWICE = 2  # times the share of random targets that a role must have
MARGIN = 0.1  # by so much a head must beat the best fixed distance to be named after a relation
RESTS = 0.5  # a head rests on a special token that gets this share
WORK = 40_000_000  # numbers to compare for the map: about a second
KEYS, MEASURE = ("layer", "head", "pattern"), "value"


@dataclass(frozen=True)
class Options:
    show: Annotated[
        Literal["roles", "gallery", "map", "claim"],
        Option(
            "Show",
            info="gallery: the best head for each pattern; map: heads that behave alike are close together; claim: "
            "measured on sentences of your own",
        ),
    ] = "roles"
    pattern: Annotated[
        Literal["main role", "previous", "next", "same", "[SEP]", "[CLS]", "punctuation", "distance", "entropy"],
        Option("Pattern", info="main role: what the attention goes to, special tokens left out"),
    ] = "main role"
    sentences: Annotated[
        str,
        Option(
            "Sentences of a claim",
            several=True,
            info=f"one a line: {EXAMPLE} It looks from [ ] to {{ }}. 4 or more; empty: objects and verbs",
        ),
    ] = ""
    head: Annotated[
        str, Option("Head of a claim", info="such as 4·3; empty: half of the sentences pick one, half judge it")
    ] = ""
    on: Annotated[Literal["sample", "this text"], Option("Measured on", info="sample: 20 plain sentences")] = "sample"


@dataclass(frozen=True)
class Measured:
    """What ordinary tokens give to ordinary ones, of which [CLS] and [SEP] are none."""

    ordinary: Float[np.ndarray, "l h"]  # share of the attention that goes to ordinary tokens, 0 to 1
    shares: dict[str, Float[np.ndarray, "l h"]]  # AMONG: of that share, the part that fits the pattern, 0 to 1
    chance: dict[str, float]  # AMONG: the part if the targets were random ordinary tokens


@dataclass(frozen=True)
class Found:
    """The best head for a pattern, and an example of it."""

    pattern: str  # of AMONG, or a relation of `sample_relations`
    head: Head
    value: float  # share of the attention among ordinary tokens, or share of the relation's pairs, 0 to 1
    baseline: float  # that of random targets, or of the best fixed distance
    text: str  # a sentence to look at
    picked: tuple[Span, ...] = ()  # its word that looks
    words: tuple[str, str] = ("", "")  # of a relation: the word that looks, and the one that it looks at
    distance: int = 0  # of a relation: the best fixed distance, in words

    @property
    def gain(self) -> float:
        """How much the head beats the baseline."""
        return self.value - self.baseline


@dataclass(frozen=True)
class HeadRoles:
    """What each of the l x h heads does, averaged over *texts* texts. Layers and heads are 0-based."""

    show: str  # roles, gallery or map
    pattern: str  # main role, or one of MEASURES
    on: str  # sample or this text
    texts: int
    tokens: int  # in all texts
    measures: dict[str, Float[np.ndarray, "l h"]]  # ROLES: 0 to 1; distance: tokens; entropy: bits
    among: Measured  # what ordinary tokens give to other ordinary ones
    roles: tuple[tuple[str, ...], ...]  # l x h: one of ROLES or of RELATIONS, or "broad"
    relations: tuple[tuple[Followed | None, ...], ...]  # l x h: measured on the sample alone
    points: Float[np.ndarray, "l h 2"] | None  # the place of each head on the map
    preserved: float  # share of the variance that the map's plane preserves
    divergences: Float[np.ndarray, "n n"] | None  # Jensen-Shannon divergence in bits between the l h heads, row by row
    compared: int  # rows of attention that the map is based on
    left_out: int  # tokens beyond the checkpoint's limit
    gallery: tuple[Found, ...] = ()  # the best head for each pattern
    claim: Claim | None = None


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> HeadRoles:
    """Shares of attention by Clark et al. (2019), section 3: summed over the tokens that fit a pattern, averaged over
    all tokens that look, then over the texts. Where a token fits several patterns ([SEP] before a [CLS]) it counts for
    each. *text* is read only for options.on = "this text". Raises ExplorerError for a text that cannot be read.

    A head has a role among words if ordinary tokens give at least a fifth of their attention to ordinary tokens, and of
    that at least CLEAR, and twice what random targets would get, to the role's pattern; or, on the sample, if it beats
    the best fixed distance by MARGIN in a relation of `head_relations`, counted among words as in that paper's section
    4.2. Else it may rest on [CLS] or [SEP]. The gallery has the best head for each."""
    on_sample = options.on == "sample"
    texts: Sequence[Text | str] = SAMPLE if on_sample else [text]
    encodings = [checkpoint.tokenizer.encode(each) for each in texts]
    layers, heads = checkpoint.config.num_layers, checkpoint.config.num_heads
    for encoding in encodings:
        check_length(encoding, layers * heads)

    # 1. What each head gives to the tokens of each pattern, of all attention and of that among words
    weights = all_weights(checkpoint, encodings)
    fits = [patterns(checkpoint, encoding) for encoding in encodings]
    by_text = [measure(text_weights, text_fits) for text_weights, text_fits in zip(weights, fits, strict=True)]
    measures = {name: np.mean([shares[name] for shares in by_text], axis=0) for name in MEASURES}
    among = measure_among(weights, fits, [encoding.special for encoding in encodings])

    # 2. The relation of grammar that each follows
    reads = read_all(checkpoint) if on_sample or options.show == "gallery" else []
    relations: list[list[Followed | None]] = [[None] * heads for _ in range(layers)]
    if on_sample:
        relations = relations_of_heads(reads, MARGIN)

    # 3. For the map, how far apart the heads are
    points = divergences = None
    preserved = 0.0
    compared = 0
    if options.show == "map":
        rows = stack_rows(weights, layers * heads)
        divergences, compared = distances(rows), rows.shape[1]
        flat, preserved = plane(divergences)
        points = flat.reshape(layers, heads, 2)

    return HeadRoles(
        show=options.show,
        pattern=options.pattern,
        on=options.on,
        texts=len(encodings),
        tokens=sum(map(len, encodings)),
        measures=measures,
        among=among,
        roles=main_roles(measures, among, relations),
        relations=tuple(map(tuple, relations)),
        points=points,
        preserved=preserved,
        divergences=divergences,
        compared=compared,
        left_out=sum(encoding.left_out for encoding in encodings),
        gallery=find_best(reads, among, SAMPLE[0]) if options.show == "gallery" else (),
        claim=measure_claim(checkpoint, options.sentences, options.head) if options.show == "claim" else None,
    )


def all_weights(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> list[Float[np.ndarray, "l h t t"]]:
    """The attention of every head in each text."""
    total = sum(map(len, encodings))
    done = 0
    weights = []
    progress.report(0, total)
    for encoding in encodings:
        weights.append(engine.attentions(checkpoint, encoding).numpy())
        done += len(encoding)
        progress.report(done, total)
    return weights


def patterns(checkpoint: Checkpoint, encoding: Encoding) -> dict[str, Bool[np.ndarray, "t t"]]:
    """For each of ROLES, which columns fit it in which rows."""
    count = len(encoding)
    fits = {
        "previous": np.eye(count, k=-1, dtype=bool),
        "next": np.eye(count, k=1, dtype=bool),
        "same": np.eye(count, dtype=bool),
    }
    special_tokens = checkpoint.tokenizer.special
    pieces = [checkpoint.tokenizer.slice(encoding, i) for i in range(count)]
    columns = {  # which tokens fit, whichever looks at them
        "[SEP]": [token == special_tokens["sep"] for token in encoding.tokens],
        "[CLS]": [token == special_tokens["cls"] for token in encoding.tokens],
        "punctuation": [bool(piece) and all(map(is_punctuation, piece)) for piece in pieces],
    }
    for name, column in columns.items():
        fits[name] = np.tile(np.array(column, dtype=bool), (count, 1))
    return fits


def measure(
    weights: Float[np.ndarray, "l h t t"], fits: dict[str, Bool[np.ndarray, "t t"]]
) -> dict[str, Float[np.ndarray, "l h"]]:
    """Each of MEASURES for every head on one text."""
    count = weights.shape[-1]
    shares = {name: (weights * fits[name]).sum(axis=-1).mean(axis=-1) for name in ROLES}
    steps = np.abs(np.arange(count)[:, None] - np.arange(count)).astype(np.float32)
    distance = (weights * steps).sum(axis=-1).mean(axis=-1)
    return {**shares, "distance": distance, "entropy": entropy(weights).mean(axis=-1)}


def measure_among(
    weights: Sequence[Float[np.ndarray, "l h t t"]],
    fits: Sequence[dict[str, Bool[np.ndarray, "t t"]]],
    special: Sequence[Sequence[bool]],
) -> Measured:
    """The attention from ordinary tokens to ordinary ones, over all texts that have such tokens."""
    ordinary: list[Float[np.ndarray, "l h"]] = []
    shares: dict[str, list[Float[np.ndarray, "l h"]]] = {name: [] for name in AMONG}
    chance: dict[str, list[float]] = {name: [] for name in AMONG}
    for text_weights, text_fits, is_special in zip(weights, fits, special, strict=True):
        positions = np.flatnonzero(~np.asarray(is_special))
        if not len(positions):
            continue
        between = text_weights[..., positions, :][..., positions]
        to_ordinary = between.sum(axis=-1).mean(axis=-1)
        ordinary.append(to_ordinary)
        for name in AMONG:
            inside = text_fits[name][positions][:, positions]
            fitting = (between * inside).sum(axis=-1).mean(axis=-1)
            shares[name].append(np.divide(fitting, to_ordinary, out=np.zeros_like(to_ordinary), where=to_ordinary > 0))
            chance[name].append(float(inside.mean()))
    if not ordinary:
        nothing = np.zeros(weights[0].shape[:2])
        return Measured(nothing, shares=dict.fromkeys(AMONG, nothing), chance=dict.fromkeys(AMONG, 0.0))
    return Measured(
        ordinary=np.mean(ordinary, axis=0),
        shares={name: np.mean(text_shares, axis=0) for name, text_shares in shares.items()},
        chance={name: float(np.mean(text_chances)) for name, text_chances in chance.items()},
    )


def main_roles(
    measures: dict[str, Float[np.ndarray, "l h"]], among: Measured, relations: Sequence[Sequence[Followed | None]]
) -> tuple[tuple[str, ...], ...]:
    """The role of each head: its pattern among ordinary tokens, else its relation, else the special token that it rests
    on, else "broad"."""
    layers, heads = among.ordinary.shape
    roles = []
    for layer in range(layers):
        roles.append(tuple(main_role(measures, among, layer, head, relations[layer][head]) for head in range(heads)))
    return tuple(roles)


def main_role(
    measures: dict[str, Float[np.ndarray, "l h"]], among: Measured, layer: int, head: int, followed: Followed | None
) -> str:
    """As `main_roles`, of one head. *followed*: its relation, if it has one."""
    if among.ordinary[layer, head] >= ORDINARY:
        best = max(AMONG, key=lambda name: among.shares[name][layer, head])
        share = among.shares[best][layer, head]
        if share >= CLEAR and share >= TWICE * among.chance[best]:
            return best
        if followed:
            return followed.relation
    resting = max(("[SEP]", "[CLS]"), key=lambda name: measures[name][layer, head])
    return resting if measures[resting][layer, head] >= RESTS else "broad"


def find_best(reads: Sequence[Read], among: Measured, text: str) -> tuple[Found, ...]:
    """The best head for each pattern among words, shown on *text*, and for each relation of grammar. Heads that give
    ordinary tokens less than ORDINARY are left out, if there are others."""
    allowed = among.ordinary >= ORDINARY
    gallery = []
    for name in AMONG:
        values = np.where(allowed, among.shares[name], 0.0) if allowed.any() else among.shares[name]
        layer, head = (int(i) for i in np.unravel_index(int(values.argmax()), values.shape))
        value = float(values[layer, head])
        gallery.append(Found(name, Head(layer, head), value=value, baseline=among.chance[name], text=text))
    for best in best_heads(reads, allowed=allowed):
        relation = RELATIONS[best.relation]
        if best.back:
            relation = " → ".join(reversed(relation.split(" → ")))
        words = best.example.text.split()
        start, end = best.pair
        first_character = sum(len(word) + 1 for word in words[:start])
        gallery.append(
            Found(
                pattern=relation,
                head=best.head,
                value=best.accuracy,
                baseline=best.baseline,
                text=best.example.text,
                picked=(Span(0, first_character, first_character + len(words[start])),),
                words=(words[start], words[end]),
                distance=best.distance,
            )
        )
    return tuple(gallery)


def stack_rows(weights: Sequence[Float[np.ndarray, "l h t t"]], heads: int) -> Float[np.ndarray, "n r t"]:
    """Rows of all texts as one table, padded with zeros: every row, or evenly spaced ones if all would exceed WORK."""
    longest = max(text_weights.shape[-1] for text_weights in weights)
    padded = []
    for text_weights in weights:
        rows = text_weights.reshape(heads, *text_weights.shape[2:])
        padded.append(np.pad(rows, ((0, 0), (0, 0), (0, longest - rows.shape[-1]))))
    table = np.concatenate(padded, axis=1)
    most = max(8, WORK // (heads * heads // 2 * longest + 1))
    step = -(-table.shape[1] // most)  # rounded up
    return table[:, ::step]


def distances(rows: Float[np.ndarray, "n r t"]) -> Float[np.ndarray, "n n"]:
    """Jensen-Shannon divergence (bits, 0 to 1) between n heads, averaged over r rows of attention with t columns, each
    of which sums to 1. This follows Clark et al. (2019), section 6, who add the rows up instead."""
    rows = rows.astype(np.float32)
    own = entropy(rows)
    divergences = np.zeros((len(rows), len(rows)))
    for i in range(len(rows) - 1):
        middle = entropy((rows[i] + rows[i + 1 :]) / 2)
        divergences[i, i + 1 :] = (middle - (own[i] + own[i + 1 :]) / 2).mean(axis=-1)
    return np.maximum(divergences + divergences.T, 0.0)


def entropy(rows: Float[np.ndarray, "*rows t"]) -> Float[np.ndarray, "*rows"]:
    """Entropy in bits; 0 if one token gets everything."""
    return -(rows * np.log2(np.maximum(rows, 1e-30))).sum(axis=-1)


def plane(squared: Float[np.ndarray, "n n"]) -> tuple[Float[np.ndarray, "n 2"], float]:
    """(coordinates, share) by classical scaling (Torgerson, 1952): points whose distances are as close to the roots of
    *squared* as a plane allows, and the share of their variance that the plane preserves.

    Roots of Jensen-Shannon divergences are distances between points in some space (Endres and Schindelin, 2003), so the
    only distortion is what the plane leaves out. Signs are fixed: the largest coordinate of each axis is positive."""
    count = len(squared)
    centre = np.eye(count) - 1 / count
    values, vectors = np.linalg.eigh(-0.5 * centre @ squared @ centre)
    values = np.maximum(values, 0.0)
    if count < 2 or not values.any():
        return np.zeros((count, 2)), 1.0
    best = vectors[:, [-1, -2]] * np.sqrt(values[[-1, -2]])
    best *= np.sign(best[np.abs(best).argmax(axis=0), [0, 1]] + 1e-30)
    return best, float(values[-2:].sum() / values.sum())


def rows(result: HeadRoles) -> list[dict[str, object]]:
    """A row for each head (layer and head 1-based). *value* is that of the requested pattern, or of the head's main
    role, see `strength`; *baseline* is what chance, or the best fixed distance, reaches there. *ordinary*: the share
    that ordinary tokens get. map_x and map_y are empty without the map."""
    table: list[dict[str, object]] = []
    for i, line in enumerate(result.roles):
        for j, role in enumerate(line):
            values = {column_name(name): float(result.measures[name][i, j]) for name in MEASURES}
            pattern = result.pattern
            baseline = None
            if pattern == "main role":
                pattern = role
                value, baseline = strength(result, i, j)
            else:
                value = values[column_name(pattern)]
            x, y = (None, None) if result.points is None else map(float, result.points[i, j])
            table.append(
                {
                    "layer": i + 1,
                    "head": j + 1,
                    "main_role": role,
                    "pattern": pattern,
                    "value": value,
                    "baseline": baseline,
                    "ordinary": float(result.among.ordinary[i, j]),
                    **values,
                    "map_x": x,
                    "map_y": y,
                }
            )
    return table


def strength(result: HeadRoles, layer: int, head: int) -> tuple[float, float | None]:
    """(how strong the main role of a head is, its baseline). Of a relation: the share of pairs in which the head looks
    at the related word, and that of the best fixed distance. Of a pattern among ordinary tokens: its share of what
    these get, and that of random targets. Of a special token, the share that it gets; of a broad head, the largest
    share that any pattern gets. The last two have no baseline."""
    role = result.roles[layer][head]
    followed = result.relations[layer][head]
    if followed and role == followed.relation:
        return followed.accuracy, followed.baseline
    if role in AMONG:
        return float(result.among.shares[role][layer, head]), result.among.chance[role]
    if role in ROLES:
        return float(result.measures[role][layer, head]), None
    return max(float(result.measures[name][layer, head]) for name in ROLES), None


def tables(result: HeadRoles) -> dict[str, list[dict[str, object]]]:
    """The gallery, a row for each pattern, or the sentences of a claim; nothing without them."""
    if result.claim:
        return {"claim": claim_rows(result.claim)}
    return {"gallery": [gallery_row(found) for found in result.gallery]} if result.gallery else {}


def gallery_row(found: Found) -> dict[str, object]:
    """A head of the gallery as a row of a table."""
    return {
        "layer": found.head.layer + 1,
        "head": found.head.head + 1,
        "pattern": found.pattern,
        "value": found.value,
        "baseline": found.baseline,
        "distance": found.distance,
        "text": found.text,
        "from": found.words[0],
        "to": found.words[1],
    }


def column_name(measure: str) -> str:
    """The column of a measure, with its unit if it has one."""
    units = {"distance": "distance_tokens", "entropy": "entropy_bits"}
    return units.get(measure, measure.strip("[]").lower())


def is_share(result: HeadRoles) -> bool:
    """Whether the pattern's measure is a share; the others are tokens and bits."""
    return result.pattern not in ("distance", "entropy")


class Facts(facts.Facts[HeadRoles]):
    """A role is one of "previous", "next", "same", "[SEP]", "[CLS]", "punctuation", a relation ("det", "adj", "subj",
    "obj", "prep", "pron"), or "broad"."""

    def role(self, layer: int, head: int) -> str:
        """The main role of a head."""
        return facts.item(facts.item(self._result.roles, layer, "layer"), head, "head")

    def heads_with(self, role: str) -> float:
        """How many heads have this main role."""
        facts.name_index((*ROLES, *RELATIONS, "broad"), role, "role")
        return sum(line.count(role) for line in self._result.roles)

    def mean_share(self, role: str) -> float:
        """Share of the attention that fits this role, averaged over all heads, 0 to 1."""
        facts.name_index(ROLES, role, "role")
        return float(self._result.measures[role].mean())

    def claim_right(self) -> float:
        """Share of the sentences of a claim in which its head looks at the marked word, 0 to 1."""
        return self._claim().share

    def claim_low(self) -> float:
        """Lower end of the 95 % interval of that share."""
        return self._claim().interval[0]

    def claim_sentences(self) -> float:
        """Sentences that judge the claim."""
        return len(self._claim().sentences)

    def claim_holds(self) -> bool:
        """Whether that share lies clearly above those of the best fixed distance and of heads at random."""
        return self._claim().holds

    def _claim(self) -> Claim:
        if self._result.claim is None:
            raise ExplorerError("No claim was measured. Choose Show: claim, and write sentences.")
        return self._result.claim

    def all_heads(self) -> float:
        """Heads of all layers together."""
        return sum(map(len, self._result.roles))

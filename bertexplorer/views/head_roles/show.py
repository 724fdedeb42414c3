"""Figure for head roles: a cell for each head with its role, or a map where similar heads are close."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from bertexplorer.answers.heads import Head
from bertexplorer.charts.marks import (
    GROUPS,
    Bar,
    Bars,
    Cells,
    Figure,
    Panel,
    Points,
    StyledWords,
    TextLines,
    Tick,
    Tone,
)
from bertexplorer.charts.style import beyond_limit, join_names, percent
from bertexplorer.views.head_roles.claim import Claim
from bertexplorer.views.head_roles.compute import AMONG, MARGIN, ROLES, Found, HeadRoles
from bertexplorer.views.head_roles.sample_relations import RELATIONS
from bertexplorer.views.view import Example, View
from bertexplorer.wording import counted

VIEW = View(
    __package__,
    "Attention",
    place=4,
    title="Head roles",
    question="What does each head do?",
    note=(
        "A head is named after where the attention between words goes on these sentences. It may do something else on "
        "others, and a pattern that is easy to see need not matter for the answer. The gallery shows the best of many "
        "heads; on other sentences it will be right less often."
    ),
    papers=("Clark et al., 2019, What Does BERT Look At?",),
    examples=(
        Example(
            "What heads find",
            "The keys to the cabinet [MASK] on the table.",
            options={"show": "gallery"},
            shows='heads_with("pron") > 0 and heads_with("obj") > 0',
        ),
        Example(
            "All heads",
            "The keys to the cabinet [MASK] on the table.",
            shows='heads_with("broad") < 0.5 * all_heads() and heads_with("[CLS]") < 0.2 * all_heads()',
        ),
        Example(
            "A claim, tested",
            "The keys to the cabinet [MASK] on the table.",
            options={"show": "claim"},
            shows="claim_holds() and claim_right() > 0.9",
        ),
        Example(
            "Resting on [CLS]",
            "The keys to the cabinet [MASK] on the table.",
            options={"pattern": "[CLS]"},
            shows='mean_share("[CLS]") > 0.3',
        ),
        Example(
            "Heads alike",
            "The keys to the cabinet [MASK] on the table.",
            options={"show": "map"},
            shows="all_heads() == 72",
        ),
    ),
    chips="",
    slow=True,
)

SIGNS = {"previous": "←", "next": "→", "same": "=", "punctuation": "."}
SIGNS |= {"det": "d", "adj": "a", "subj": "s", "obj": "o", "prep": "p", "pron": "r"}
SIGNS |= {"[SEP]": "S", "[CLS]": "C", "broad": "·"}
GROUP: dict[str, Tone] = {  # the colour of a role; the sign repeats its meaning. "broad" has none
    "previous": "ochre",
    "next": "green",
    "same": "orange",
    "punctuation": "brown",
    **dict.fromkeys(RELATIONS, "blue"),
    "[SEP]": "pink",
    "[CLS]": "sky",
}
WORDS = {  # in sentences
    "previous": "the previous token",
    "next": "the next token",
    "same": "the token itself",
    "punctuation": "punctuation",
    **RELATIONS,
    "broad": "none of these",
}
RESTING = ("[SEP]", "[CLS]")
LETTERED = 150  # heads on a map up to which each has room for its sign


def draw(result: HeadRoles) -> Figure:
    if result.show == "map":
        return Figure(head_map(result))
    if result.show == "gallery":
        return Figure(gallery(result))
    if result.claim:
        return Figure(draw_claim(result.claim))
    return Figure(main_roles(result) if result.pattern == "main role" else pattern(result))


def main_roles(result: HeadRoles) -> list[Panel]:
    """Layers down, heads across, with the colour and sign of each head's main role."""
    place = {role: GROUPS.index(tone) for role, tone in GROUP.items()}  # in the palette
    values = [[place.get(role, -1) for role in line] for line in result.roles]
    signs = [[SIGNS[role] for role in line] for line in result.roles]
    grid = replace(table(result, values, signs), palette="groups")
    return [Panel([grid], "layers down, heads across"), Panel([TextLines(key(result))])]


def pattern(result: HeadRoles) -> list[Panel]:
    """The same grid for one measure: darker means more."""
    values = result.measures[result.pattern]
    if result.pattern in ROLES:
        text = [[f"{100 * share:.0f}" for share in line] for line in values]
    else:
        text = [[f"{value:.1f}" for value in line] for line in values]
    grid = replace(table(result, values.astype(np.float32), text), low=0, high=float(values.max()) or 1.0)
    units = {"distance": "mean distance in tokens", "entropy": "entropy in bits"}
    unit = units.get(result.pattern, f"per cent of attention to {words(result.pattern)}")
    return [Panel([grid], f"layers down, heads across: {unit}")]


def table(result: HeadRoles, values: Any, text: list[list[str]]) -> Cells:
    """A cell for each head, which opens it; the pointer shows its measures."""
    layers, heads = result.measures["same"].shape
    hover = []
    doors = []
    for i in range(layers):
        hover.append([f"head {Head(i, j)}: {hover_text(result, i, j)}" for j in range(heads)])
        doors.append([click(i, j) for j in range(heads)])
    rows = [str(layer) for layer in range(1, layers + 1)]
    columns = [str(head) for head in range(1, heads + 1)]
    return Cells(rows, columns, values, text=text, hover=hover, doors=doors)


def click(layer: int, head: int) -> dict[str, object]:
    """The target of a click on a head: that head in the view of attention."""
    return {"view": "attention", "set": {"show": "head", "layer": layer + 1, "head": head + 1, "heads": ""}}


def hover_text(result: HeadRoles, layer: int, head: int) -> str:
    """What the pointer shows after the name of the head: a line for each of its measures."""
    measured = {name: float(values[layer, head]) for name, values in result.measures.items()}
    lines = [""]
    followed = result.relations[layer][head]
    if followed:
        right = f"right for {percent(followed.accuracy)}, the best fixed distance {percent(followed.baseline)}"
        lines.append(f"{words(followed.relation)}: {right}")
    lines += [f"{words(name)} {percent(measured[name])}" for name in ROLES]
    lines.append(f"distance {measured['distance']:.1f} tokens, entropy {measured['entropy']:.1f} bits")
    return "\n".join(lines)


def words(role: str) -> str:
    return WORDS.get(role, role)


def key(result: HeadRoles) -> list[list[StyledWords]]:
    """Each role that occurs: its sign, its meaning, and the number of heads."""
    roles = [role for line in result.roles for role in line]
    lines = []
    for role, sign in SIGNS.items():
        if role in roles:
            meaning = f"rests on {role}" if role in RESTING else words(role)
            tone = GROUP.get(role, "grey")
            lines.append([StyledWords(sign, tone), StyledWords(f"  {meaning} ({roles.count(role)})")])
    return lines


def gallery(result: HeadRoles) -> list[Panel]:
    """A bar for the best head of each pattern, with its baseline as a line across it."""
    bars = []
    for best in result.gallery:
        bars.append(
            Bar(
                label=words(best.pattern),
                value=best.value,
                text=f"{best.head}: {percent(best.value)}",
                hover=gallery_words(best),
                door=gallery_door(best),
                ticks=[Tick(best.baseline)],
            )
        )
    lines = ["Orange: random targets, or the best fixed distance", "Press a bar to see the head at work"]
    return [Panel([Bars(bars, high=1)]), Panel([TextLines([StyledWords(line) for line in lines])])]


def gallery_door(best: Found) -> dict[str, object]:
    """That head on its example, with [CLS] and [SEP] left out, as it was measured."""
    picked = ",".join(f"{span.side}:{span.start}-{span.end}" for span in best.picked)
    chosen = {"show": "arcs", "layer": best.head.layer + 1, "head": best.head.head + 1, "special": "discounted"}
    return {"view": "attention", "set": chosen, "text": best.text, "picked": picked}


def gallery_words(best: Found) -> str:
    """What the pointer shows of a head of the gallery: its number beside the baseline."""
    value = percent(best.value)
    baseline = percent(best.baseline)
    looking, related = best.words
    if not looking:
        return f"head {best.head}: {value} of its attention to words; random {baseline}"
    fixed = f"always looking {best.distance:+d} words away".replace("-", "−")
    return f"head {best.head}: right for {value}, such as {looking} → {related}; {fixed} {baseline}"


def draw_claim(claim: Claim) -> list[Panel]:
    """How often the head is right, beside the best fixed distance and all heads; below, where it looks in each
    sentence."""
    low, high = claim.interval
    own = f"{claim.right} of {len(claim.sentences)}"
    door = {"view": "attention", "set": {"show": "arcs", "layer": claim.head.layer + 1, "head": claim.head.head + 1}}
    distance = always(claim.distance).removeprefix("always ")
    bars = [
        Bar(f"head {claim.head}", claim.share, own, low=low, high=high, door=door),
        Bar(distance, claim.by_distance, percent(claim.by_distance), tone="grey"),
        Bar("a head at random", claim.by_chance, percent(claim.by_chance), tone="grey"),
    ]
    lines = []
    for sentence in claim.sentences:
        words = sentence.words
        looks = f"{words[sentence.start]} → {words[sentence.looked]}"
        if sentence.right:
            sign = StyledWords("✓  ", "green")
        else:
            sign = StyledWords("✗  ", "orange")
            looks = f"{looks}, not {words[sentence.end]}"
        lines.append([sign, StyledWords(f"{looks}:  {sentence.text}")])
    return [Panel([Bars(bars, high=1)]), Panel([TextLines(lines)])]


def always(distance: int) -> str:
    """Looking at a fixed *distance*, in words."""
    side = "left" if distance < 0 else "right"
    return f"always {counted(abs(distance), 'word')} to the {side}"


def say_claim(claim: Claim) -> str:
    """How often the head looks where it should, and whether that shows the claim."""
    low, high = claim.interval
    sentences = [
        f"Head {claim.head} looks at the marked word in {claim.right} of {len(claim.sentences)} sentences: "
        f"{percent(claim.share)} (95 % interval {percent(low)} to {percent(high)}); {always(claim.distance)} is right "
        f"in {percent(claim.by_distance)}, a head at random in {percent(claim.by_chance)}."
    ]
    if claim.picked_on:
        sentences.append(f"It was picked on {claim.picked_on} other sentences.")
    if claim.holds:
        sentences.append("On sentences like these, the claim holds.")
    else:
        sentences.append("That does not show it: one of the other two may be right as often.")
    if claim.as_good == 1:
        sentences.append("1 other head is right as often.")
    elif claim.as_good:
        sentences.append(f"{counted(claim.as_good, 'other head')} are right as often.")
    return " ".join(sentences)


def head_map(result: HeadRoles) -> list[Panel]:
    """Each head at its position on the plane, in the colour of its main role."""
    layers, heads = result.measures["same"].shape
    places = np.zeros((layers, heads, 2)) if result.points is None else result.points
    tones: list[Tone] = []
    signs = []
    hover = []
    doors = []
    for i, j in np.ndindex(layers, heads):
        role = result.roles[i][j]
        tones.append(GROUP.get(role, "grey"))
        signs.append(SIGNS[role])
        hover.append(f"head {Head(i, j)}: {hover_text(result, i, j)}")
        doors.append(click(i, j))
    x, y = places[..., 0].ravel(), places[..., 1].ravel()
    points = Points(x, y, tones=tones, hover=hover, doors=doors, square=True)
    if layers * heads <= LETTERED:
        points = replace(points, size="large", letters=signs)
    return [
        Panel([points]),
        Panel([TextLines([StyledWords("Near: heads that look at the same tokens"), *key(result)])]),
    ]


def say(result: HeadRoles) -> str:
    """The strongest head for the pattern, or the most similar heads, and the text of the measurement."""
    texts = f"on {result.texts} plain sentences" if result.on == "sample" else "on this text"
    source = f"{texts} ({result.tokens:,} tokens)"
    if result.show == "map":
        sentence = say_map(result, source)
    elif result.show == "gallery":
        sentence = say_gallery(result)
    elif result.claim:
        sentence = say_claim(result.claim)
    elif result.pattern == "main role":
        sentence = say_roles(result, source)
    else:
        sentence = say_pattern(result, source)
    return " ".join([sentence, *beyond_limit(result.left_out)])


def say_roles(result: HeadRoles, source: str) -> str:
    """How many heads have each role."""
    counts = Counter(role for line in result.roles for role in line)
    groups = []
    for role in AMONG:
        if counts[role]:
            groups.append(f"{heads_do(counts[role], 'looks', 'look')} at {words(role)}")
    grammar = sum(counts[role] for role in RELATIONS)
    if grammar:
        groups.append(f"{heads_do(grammar, 'follows', 'follow')} a relation of grammar")
    for role in RESTING:
        if counts[role]:
            groups.append(f"{heads_do(counts[role], 'rests', 'rest')} on {role}")
    broad = counts["broad"]
    if broad:
        groups.append(f"{heads_do(broad, 'does', 'do')} none of this")
    share = float(result.among.ordinary.mean())
    return (
        f"Of {counts.total()} heads, measured {source} with [CLS] and [SEP] left out, {join_names(groups)}. Words give "
        f"{percent(share)} of their attention to words."
    )


def heads_do(number: int, singular: str, plural: str) -> str:
    """How many heads, with the verb that fits the number."""
    return f"{number} {singular}" if number == 1 else f"{number} {plural}"


def say_gallery(result: HeadRoles) -> str:
    """The relation whose best head beats the best fixed distance most, and the number of such relations."""
    relations = [head for head in result.gallery if head.words[0]]  # the other patterns have no pair of words
    best = max(relations, key=lambda head: head.gain)
    won = sum(head.gain >= MARGIN for head in relations)
    sentences = [
        "The best head for each pattern, [CLS] and [SEP] left out.",
        f"For {best.pattern} it is {best.head}: it looks at the right word in {percent(best.value)} of the pairs of "
        f"forty annotated sentences, the best fixed distance in {percent(best.baseline)}.",
        f"For {won} of {len(relations)} relations a head beats the distance by {100 * MARGIN:.0f} points.",
    ]
    return " ".join([*sentences, *named_otherwise(result, relations)])


def named_otherwise(result: HeadRoles, relations: Sequence[Found]) -> list[str]:
    """A sentence that says why the grid names the best head for a relation after another one, if it does."""
    for best in relations:
        role = result.roles[best.head.layer][best.head.head]
        both_ways = (best.pattern, " → ".join(reversed(best.pattern.split(" → "))))
        if role in RELATIONS and RELATIONS[role] not in both_ways:
            return [
                f"A head may be the best for several: the grid of roles names {best.head} after {words(role)}, as it"
                " is furthest ahead of the distance there."
            ]
    return []


def strongest(result: HeadRoles, name: str) -> str:
    """The head with the largest share of a pattern, and this share."""
    values = result.measures[name]
    layer, head = (int(i) for i in np.unravel_index(int(values.argmax()), values.shape))
    return f"{Head(layer, head)} ({percent(float(values[layer, head]))})"


def say_pattern(result: HeadRoles, source: str) -> str:
    """The strongest head for the pattern, or those with the lowest and the highest number, beside the median."""
    name = result.pattern
    values = result.measures[name]
    median = float(np.median(values))
    if name in ROLES:
        return (
            f"The strongest head for {words(name)} is {strongest(result, name)}, measured {source}; the median over "
            f"all {values.size} heads is {percent(median)}."
        )
    ends = []
    for place in (values.argmin(), values.argmax()):
        layer, head = (int(i) for i in np.unravel_index(int(place), values.shape))
        ends.append(f"{Head(layer, head)} ({values[layer, head]:.1f})")
    low, high = ends
    unit = "mean distance in tokens" if name == "distance" else "entropy in bits"
    return f"The {unit}, measured {source}: lowest in head {low}, highest in {high}, median {median:.1f}."


def say_map(result: HeadRoles, source: str) -> str:
    """The two heads that are most alike, and how much of the distances the map holds."""
    divergences = result.divergences
    if divergences is None or len(divergences) < 2:
        return f"There is a single head, measured {source}."
    to_others = divergences + np.diag(np.full(len(divergences), np.inf))  # no head is compared with itself
    closest = sorted(int(i) for i in np.unravel_index(int(to_others.argmin()), to_others.shape))
    heads = result.measures["same"].shape[1]
    first, second = (Head(*divmod(i, heads)) for i in closest)
    median = float(np.median(divergences[np.triu_indices(len(divergences), 1)]))
    return (
        f"The two heads most alike {source} are {first} and {second}: their Jensen-Shannon divergence is "
        f"{to_others.min():.2f} bits, the median over all pairs {median:.2f}. The map holds "
        f"{percent(result.preserved)} of what sets the heads apart, from {result.compared:,} rows of attention."
    )

"""Figure for head roles: a cell for each head with its role, or a map where similar heads are close."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from bertexplorer.answers.heads import Head
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import (
    ACCENT,
    ORANGE,
    SHADES,
    beyond_limit,
    finish,
    join_names,
    percent,
    safe,
)
from bertexplorer.views.head_roles.compute import ROLES, Found, HeadRoles
from bertexplorer.views.head_roles.sample_relations import RELATIONS
from bertexplorer.views.view import Example, View

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
            "Previous token",
            "The keys to the cabinet [MASK] on the table.",
            options={"pattern": "previous"},
            shows='role(1, 3) == "previous"',
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
GRAMMAR = "#b9a6e8"
COLOURS = {  # Okabe and Ito (2008), and a neutral; the sign repeats the colour's meaning
    "previous": "#e69f00",
    "next": "#009e73",
    "same": "#d55e00",
    "punctuation": "#f0e442",
    **dict.fromkeys(RELATIONS, GRAMMAR),
    "[SEP]": "#cc79a7",
    "[CLS]": "#56b4e9",
    "broad": "#d5dae1",
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
LINE, MAP = 22, 460  # pixels: a line of the key, the map
NAMED = 150  # heads on the map; beyond that, the markers are smaller


def draw(result: HeadRoles) -> Chart:
    if result.show == "map":
        return draw_map(result)
    if result.show == "gallery":
        return draw_gallery(result)
    return main_roles(result) if result.pattern == "main role" else pattern(result)


def main_roles(result: HeadRoles) -> Chart:
    """Layers down, heads across, with the colour and sign of each head's main role."""
    kinds = list(COLOURS)
    cells = np.array([[kinds.index(role) for role in line] for line in result.roles], dtype=np.uint8)
    edges = np.linspace(0, 1, len(kinds) + 1).tolist()
    scale = []  # each colour from its lower to its upper edge
    for colour, low, high in zip(COLOURS.values(), edges[:-1], edges[1:], strict=True):
        scale += [[low, colour], [high, colour]]
    signs = [[SIGNS[role] for role in line] for line in result.roles]
    fig = table(result, cells, scale, -0.5, len(kinds) - 0.5, text=signs, textfont=kit.ink(15))
    return add_frame(fig, result, key(result))


def pattern(result: HeadRoles) -> Chart:
    """The same grid for one measure: darker means more."""
    values = result.measures[result.pattern]
    share = result.pattern in ROLES
    text = [[f"{100 * v:.0f}" if share else f"{v:.1f}" for v in line] for line in values]
    most, font = float(values.max()) or 1.0, kit.ink(12)
    fig = table(result, values.astype(np.float32), SHADES, 0, most, text=text, textfont=font)
    units = {"distance": "mean distance in tokens", "entropy": "entropy in bits"}
    return add_frame(fig, result, [units.get(result.pattern, f"per cent of attention to {words(result.pattern)}")])


def table(result: HeadRoles, values: np.ndarray, scale: Any, low: float, high: float, **more: Any) -> Chart:
    """A cell for each head; the pointer shows its measures."""
    layers, heads = values.shape
    targets = [[click(i, j) for j in range(heads)] for i in range(layers)]
    hovers = [[f"head {Head(i, j)}: {hover_text(result, i, j)}" for j in range(heads)] for i in range(layers)]
    more |= {"hovertext": hovers, "hovertemplate": "%{hovertext}<extra></extra>"}
    return Chart([kit.cells(values, scale, low, high, customdata=targets, gap=2, **more)])


def click(layer: int, head: int) -> dict[str, object]:
    """The target of a click on a head: that head in the view of attention."""
    return {"view": "attention", "set": {"show": "head", "layer": layer + 1, "head": head + 1, "heads": ""}}


def hover_text(result: HeadRoles, layer: int, head: int) -> str:
    lines = [f"{words(name)} {percent(float(result.measures[name][layer, head]))}" for name in ROLES]
    far, bits = (float(result.measures[name][layer, head]) for name in ("distance", "entropy"))
    followed = result.relations[layer][head]
    if followed:
        right = f"right for {percent(followed.accuracy)}, the best fixed distance {percent(followed.baseline)}"
        lines.insert(0, f"{words(followed.relation)}: {right}")
    return "<br>".join(["", *lines, f"distance {far:.1f} tokens, entropy {bits:.1f} bits"])


def words(role: str) -> str:
    return WORDS.get(role, role)


def add_frame(fig: Chart, result: HeadRoles, lines: list[str]) -> Chart:
    """Add the numbers of layers and heads, and the key under the picture."""
    layers, heads = result.measures["same"].shape
    step = 1 if heads <= 12 else 2
    fig.update_xaxes(side="top", title=kit.title("head"), **kit.counted(heads, step))
    step = 1 if layers <= 12 else 2
    fig.update_yaxes(autorange="reversed", title=kit.title("layer", 2), **kit.counted(layers, step))
    height = 66 + max(34 * layers, 200) + 16 + LINE * len(lines)
    below = 8 + kit.write_below(fig, lines, 8, LINE)
    return finish(fig, height, margin={"l": 8, "r": 8, "t": 62, "b": below})


def key(result: HeadRoles) -> list[str]:
    """Each role that occurs: its sign, its meaning, and the number of heads."""
    roles = [role for line in result.roles for role in line]
    named = {role: f"rests on {role}" if role in RESTING else words(role) for role in COLOURS}
    return [f"{SIGNS[role]}  {named[role]} ({roles.count(role)})" for role in COLOURS if role in roles]


def draw_gallery(result: HeadRoles) -> Chart:
    """A bar for the best head of each pattern, with its baseline as a line across it."""
    found = result.gallery
    fig = Chart()
    labels = [f"{one.head}  {percent(one.value)}" for one in found]
    hovers = [safe(gallery_words(one)) for one in found]
    bars = kit.bars([one.value for one in found], ACCENT, text=labels)
    tips = {"customdata": [gallery_door(one) for one in found], "hovertext": hovers}
    fig.add_trace({**bars, **tips, "hovertemplate": "%{hovertext}<extra></extra>"})
    fig.add_scatter(
        x=[one.baseline for one in found],
        y=list(range(len(found))),
        mode="markers",
        marker={"symbol": "line-ns", "size": 20, "line": {"color": ORANGE, "width": 3}},
        hovertext=[f"baseline {percent(one.baseline)}" for one in found],
        hovertemplate="%{hovertext}<extra></extra>",
    )
    fig.update_xaxes(range=[0, 1.3], visible=False)
    fig.update_yaxes(kit.down([words(one.pattern) for one in found]))
    lines = ["Orange: random targets, or the best fixed distance", "Press a bar to see the head at work"]
    height = max(300, 40 + 34 * len(found))
    below = 8 + kit.write_below(fig, lines, 8, LINE)
    return finish(fig, height + below, bargap=0.35, margin={"l": 8, "r": 8, "t": 24, "b": below})


def gallery_door(one: Found) -> dict[str, object]:
    """That head on its example, with [CLS] and [SEP] left out, as it was measured."""
    picked = ",".join(f"{span.side}:{span.start}-{span.end}" for span in one.picked)
    chosen = {"show": "arcs", "layer": one.head.layer + 1, "head": one.head.head + 1, "special": "discounted"}
    return {"view": "attention", "set": chosen, "text": one.text, "picked": picked}


def gallery_words(one: Found) -> str:
    if not one.words[0]:
        return f"head {one.head}: {percent(one.value)} of its attention to words; random {percent(one.baseline)}"
    fixed = f"always looking {one.distance:+d} words away".replace("-", "−")
    pair = f"{one.words[0]} → {one.words[1]}"
    return f"head {one.head}: right for {percent(one.value)}, such as {pair}; {fixed} {percent(one.baseline)}"


def draw_map(result: HeadRoles) -> Chart:
    """Each head at its position on the plane, in the colour of its main role."""
    points = np.zeros((*result.measures["same"].shape, 2)) if result.points is None else result.points
    positions = list(np.ndindex(points.shape[:2]))
    roles = [result.roles[i][j] for i, j in positions]
    many = len(positions) > NAMED
    fig = Chart()
    fig.add_scatter(
        x=points[..., 0].ravel(),
        y=points[..., 1].ravel(),
        mode="markers+text",
        marker={
            "size": 13 if many else 18,
            "color": [COLOURS[role] for role in roles],
            "line": {"color": "#7a8491", "width": 1},
        },
        text=[SIGNS[role] for role in roles],
        textfont=kit.ink(12),
        customdata=[click(i, j) for i, j in positions],
        hovertext=[f"head {Head(i, j)}: {hover_text(result, i, j)}" for i, j in positions],
        hovertemplate="%{hovertext}<extra></extra>",
        cliponaxis=False,
    )
    fig.update_xaxes(showticklabels=False, showgrid=False)
    fig.update_yaxes(showticklabels=False, showgrid=False, scaleanchor="x")
    lines = ["Near: heads that look at the same tokens", *key(result)]
    below = 8 + kit.write_below(fig, lines, 8, LINE)
    return finish(fig, MAP + below, margin={"l": 16, "r": 16, "t": 16, "b": below})


def say(result: HeadRoles) -> str:
    """The strongest head for the pattern, or the most similar heads, and the text of the measurement."""
    source = f"on {result.texts} plain sentences" if result.on == "sample" else "on this text"
    source += f" ({result.tokens:,} tokens)"
    if result.show == "map":
        sentence = say_map(result, source)
    elif result.show == "gallery":
        sentence = say_gallery(result)
    elif result.pattern == "main role":
        sentence = say_roles(result, source)
    else:
        sentence = say_pattern(result, source)
    return " ".join([sentence, *beyond_limit(result.left_out)])


def say_roles(result: HeadRoles, source: str) -> str:
    roles = [role for line in result.roles for role in line]
    counts = Counter(roles)
    grammar, broad = sum(counts[role] for role in RELATIONS), counts["broad"]
    groups = [
        f"{heads_do(counts[role], 'looks', 'look')} at {words(role)}"
        for role in WORDS
        if counts[role] and role not in (*RELATIONS, "broad")
    ]
    if grammar:
        groups.append(f"{heads_do(grammar, 'follows', 'follow')} a relation of grammar")
    groups += [f"{heads_do(counts[role], 'rests', 'rest')} on {role}" for role in RESTING if counts[role]]
    if broad:
        groups.append(f"{heads_do(broad, 'does', 'do')} none of this")
    share = float(result.among.ordinary.mean())
    return (
        f"Of {len(roles)} heads, measured {source} with [CLS] and [SEP] left out, {join_names(groups)}. Words give "
        f"{percent(share)} of their attention to words."
    )


def heads_do(number: int, one: str, several: str) -> str:
    """How many heads, with the verb that fits the number."""
    return f"{number} {one if number == 1 else several}"


def say_gallery(result: HeadRoles) -> str:
    """The relation whose best head beats the best fixed distance most, and the number of such relations."""
    relations = [one for one in result.gallery if one.words[0]]
    best = max(relations, key=lambda one: one.value - one.baseline)
    won = sum(one.value - one.baseline >= 0.1 for one in relations)
    return (
        f"The best head for each pattern, [CLS] and [SEP] left out. For {best.pattern} it is {best.head}: it looks at "
        f"the right word in {percent(best.value)} of the pairs of forty annotated sentences, the best fixed distance "
        f"in {percent(best.baseline)}. For {won} of {len(relations)} relations a head beats the distance by 10 points."
        f"{named_otherwise(result, relations)}"
    )


def named_otherwise(result: HeadRoles, relations: Sequence[Found]) -> str:
    """Why the grid names the best head for a relation after another one, if it does."""
    for one in relations:
        role = result.roles[one.head.layer][one.head.head]
        both_ways = (one.pattern, " → ".join(reversed(one.pattern.split(" → "))))
        if role in RELATIONS and RELATIONS[role] not in both_ways:
            return (
                f" A head may be the best for several: the grid of roles names {one.head} after {words(role)}, as it"
                " is furthest ahead of the distance there."
            )
    return ""


def strongest(result: HeadRoles, name: str) -> str:
    values = result.measures[name]
    layer, head = (int(i) for i in np.unravel_index(int(values.argmax()), values.shape))
    return f"{Head(layer, head)} ({percent(float(values[layer, head]))})"


def say_pattern(result: HeadRoles, source: str) -> str:
    name, values = result.pattern, result.measures[result.pattern]
    median = float(np.median(values))
    if name in ROLES:
        return (
            f"The strongest head for {words(name)} is {strongest(result, name)}, measured {source}; the median over "
            f"all {values.size} heads is {percent(median)}."
        )
    ends = [np.unravel_index(int(pick(values)), values.shape) for pick in (np.argmin, np.argmax)]
    low, high = (f"{Head(int(i), int(j))} ({values[i, j]:.1f})" for i, j in ends)
    unit = "mean distance in tokens" if name == "distance" else "entropy in bits"
    return f"The {unit}, measured {source}: lowest in head {low}, highest in {high}, median {median:.1f}."


def say_map(result: HeadRoles, source: str) -> str:
    heads = result.measures["same"].shape[1]
    if result.divergences is None or len(result.divergences) < 2:
        return f"There is a single head, measured {source}."
    divergence = result.divergences + np.diag(np.full(len(result.divergences), np.inf))
    first, second = (int(i) for i in np.unravel_index(int(divergence.argmin()), divergence.shape))
    pair = " and ".join(str(Head(*divmod(i, heads))) for i in sorted((first, second)))
    median = float(np.median(result.divergences[np.triu_indices(len(divergence), 1)]))
    return (
        f"The two heads most alike {source} are {pair}: their Jensen-Shannon divergence is "
        f"{divergence[first, second]:.2f} bits, the median over all pairs {median:.2f}. The map holds "
        f"{percent(result.preserved)} of what sets the heads apart, from {result.compared:,} rows of attention."
    )

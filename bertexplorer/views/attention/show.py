"""Figure for attention: every head as a tile, one attention map, or lines between two columns of text."""

from typing import cast

import numpy as np

from bertexplorer.answers.heads import Head
from bertexplorer.answers.strongest_heads import HeadLink
from bertexplorer.charts.marks import Button, Cells, Figure, Panel, StyledWords, TextLines, Tiles
from bertexplorer.charts.style import beyond_limit, clip, percent, quote
from bertexplorer.charts.tiles import pixels, pool, tiles
from bertexplorer.views import difference
from bertexplorer.views.attention import arcs, compute as analysis
from bertexplorer.views.attention.compute import Attention
from bertexplorer.views.protocols import Comparable, ViewResult
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Attention",
    place=1,
    title="Heads",
    question="Who looks at whom?",
    note=(
        "A weight says how much a head reads from a token, not how much that token matters for the answer. What it "
        "reads may be close to nothing (choose norm). Heads rest on a special token when they have nothing to do: on "
        "[SEP] in BERT-base, where it gets more than half in the middle layers. mini was trained to rest less."
    ),
    papers=(
        "Vaswani et al., 2017, Attention Is All You Need",
        "Clark et al., 2019, What Does BERT Look At?",
        "Kobayashi et al., 2020, Attention Is Not Only a Weight",
    ),
    examples=(
        Example(
            "It was too tired",
            "The animal didn't cross the street because it was too tired.",
            options={"special": "discounted"},
            picked="0:43-45",
            shows='head_attention(4, 2, "it", "animal") > 0.5',
        ),
        Example(
            "What it stands for",
            "The animal didn't cross the street because it was too tired.",
            options={"show": "arcs", "layer": 4, "head": 2},
            picked="0:43-45",
            shows='share("animal") > 0.5 and strongest("it") == "animal"',
        ),
        Example(
            "Two sentences",
            "The man went to the store.",
            "He bought a gallon of milk.",
            options={"show": "arcs", "direction": "B to A", "special": "discounted"},
            shows='attention("bought", "man") > attention("bought", "the")',
        ),
        Example("Resting on [CLS]", "The keys to the cabinet [MASK] on the table.", shows='share("[CLS]") > 0.15'),
        Example(
            "Pieces to words",
            "Untranslatable misunderstandings embarrassed the philosophers.",
            options={"show": "head", "merge": True, "special": "discounted"},
            shows='strongest("embarrassed") == "misunderstandings"',
        ),
    ),
    chips="pick",
)

NUMBERED = 10  # tokens up to which cells show their numbers
MAPPED = 512  # tokens up to which each has its own row
LETTERS = 12  # of a token in a button


def draw(result: Attention) -> Figure:
    if result.show == "grid":
        panels = grid(result)
    elif result.show == "arcs":
        panels = arcs.draw(result)
    else:
        panels = token_map(result)
    return Figure(panels, buttons(result))


def buttons(result: Attention) -> list[Button]:
    """Buttons beside the figure: the head that shows most, and the special tokens in or out."""
    offered = []
    if result.show == "grid" and result.link:
        layer, head = result.link.head
        offered.append(Button(f"Open {link_words(result, result.link)}", {"set": opened(layer, head, "arcs")}))
    if any(unit.special for unit in result.columns):
        offered.append(Button("Leave out [CLS] and [SEP]", {"set": {"special": "discounted"}}))
    elif result.special != "shown":
        offered.append(Button("Show [CLS] and [SEP]", {"set": {"special": "shown"}}))
    return offered


def opened(layer: int, head: int, show: str = "head") -> dict[str, object]:
    """The settings that show one head alone."""
    return {"show": show, "layer": layer + 1, "head": head + 1, "heads": ""}


def link_words(result: Attention, link: HeadLink) -> str:
    """The head and the two tokens that it links, in a button."""
    source = clip(result.rows[link.source].label, LETTERS)
    target = clip(result.columns[link.target].label, LETTERS)
    return f"{link.head}: {source} → {target}"


def grid(result: Attention) -> list[Panel]:
    """All heads; a press on one opens it."""
    layers, heads = result.every.shape[:2]
    picture, step = tiles(result.every, None if result.norms else 1.0)
    hover = []
    doors = []
    for i in range(layers):
        hover.append([hover_text(result, i, j) for j in range(heads)])
        doors.append([{"set": opened(i, j)} for j in range(heads)])
    table = Tiles(
        picture,
        rows=[str(layer) for layer in range(1, layers + 1)],
        columns=[str(head) for head in range(1, heads + 1)],
        hover=hover,
        doors=doors,
        framed=[(result.link.head.layer, result.link.head.head)] if result.link else [],
    )
    top = number(result, float(result.every.max()))
    strongest = top if result.norms else f"100 %, largest here {top}"
    return [Panel([table], f"layers down, heads across · strongest: {strongest}"), *shared(step, "pixel")]


def shared(step: int, unit: str) -> list[Panel]:
    """A note below if *step* tokens share a *unit*."""
    if step == 1:
        return []
    return [Panel([TextLines([StyledWords(f"{step} tokens share a {unit}: their largest")])])]


def hover_text(result: Attention, layer: int, head: int) -> str:
    """How a head attends from the tokens that the view is about."""
    gives = result.by_head[layer, head]
    best = int(gives.argmax())
    most = f"{number(result, float(gives[best]))} to {result.columns[best].label}"
    return f"head {Head(layer, head)}: {clip(subject(result), 30)} gives {most}"


def token_map(result: Attention) -> list[Panel]:
    """A row for each attending token, a column for each target."""
    step = tokens_per_cell(result)
    values = pool(pool(result.matrix, step, 0), step, 1).astype(np.float32).round(4)
    text = []
    if max(values.shape) <= NUMBERED:
        for row in values.tolist():
            if result.norms:
                text.append([f"{value:.2f}" for value in row])
            else:
                text.append([f"{100 * value:.0f}" for value in row])
    table = Cells(
        rows=[unit.label for unit in result.rows[::step]],
        columns=[unit.label for unit in result.columns[::step]],
        values=values,
        palette="root",
        low=0,
        high=float(values.max()) or 1.0,
        text=text,
        tokens=True,
        verb="takes from" if result.norms else "gives to",
        unit="" if result.norms else "share",
    )
    strongest = number(result, float(result.matrix.max()))
    return [Panel([table], f"rows look at columns · strongest: {strongest}"), *shared(step, "cell")]


def tokens_per_cell(result: Attention) -> int:
    """The number of tokens that share a cell of the map, in each direction."""
    return max(1, -(-max(result.matrix.shape) // MAPPED))


def number(result: Attention, value: float) -> str:
    """A length, or a share in per cent."""
    return f"{value:.2f}" if result.norms else percent(value)


def subject(result: Attention) -> str:
    """The tokens that the view is about."""
    return " ".join(result.rows[i].label for i in result.about)


def describe_heads(result: Attention) -> str:
    """The chosen heads, at the start of a sentence."""
    layers, heads = result.every.shape[:2]
    chosen = result.chosen
    together = "averaged" if result.combine == "mean" else "each number the largest of them"
    if len(chosen) == 1:
        return f"In layer {chosen[0].layer + 1}, head {chosen[0].head + 1},"
    if len(chosen) == layers * heads:
        return f"Over all {len(chosen)} heads, {together},"
    in_layers = {head.layer for head in chosen}
    if len(in_layers) == 1 and len(chosen) == heads:
        return f"In layer {chosen[0].layer + 1}, its {heads} heads {together},"
    names = ", ".join(map(str, chosen[:6]))
    if len(chosen) > 6:
        names = f"{names} and {len(chosen) - 6} more"
    return f"Over the heads {names}, {together},"


def say(result: Attention) -> str:
    """The main targets of the tokens that the view is about, compared with the other heads."""
    sentences = [say_grid(result) if result.show == "grid" else say_map(result)]
    if result.special == "hidden":
        sentences.append("[CLS] and [SEP] are left out.")
    elif result.special == "discounted":
        sentences.append("Shares are of what is left without [CLS], [SEP].")
    sentences.append(arcs.cut_note(result) if result.show == "arcs" else pooling_note(result))
    sentences += [*result.notes, *beyond_limit(result.left_out)]
    return " ".join(filter(None, sentences))


def pooling_note(result: Attention) -> str:
    """A sentence if neighbouring tokens share a pixel or a cell; otherwise ""."""
    step = pixels(result.every) if result.show == "grid" else tokens_per_cell(result)
    unit = "a pixel" if result.show == "grid" else "a cell"
    return f"{step} neighbouring tokens share {unit}, which shows the largest." if step > 1 else ""


def say_map(result: Attention) -> str:
    """The main target, beside what a random head gives to it, unless all heads are combined."""
    layers, heads = result.every.shape[:2]
    if len(result.chosen) == layers * heads:
        return f"{say_combined(result)}."
    best = int(result.gives.argmax())
    median = number(result, float(np.median(result.by_head[:, :, best])))
    return f"{say_combined(result)}; a random head gives {median} (median of all {layers * heads} heads)."


def say_combined(result: Attention) -> str:
    """The main target of the tokens that the view is about, in the chosen heads together; without the full stop."""
    best = int(result.gives.argmax())
    target = result.columns[best]
    statement = f"{quote(clip(subject(result), 40))} {gives_to(result, float(result.gives[best]), best)}"
    if target.special or target in [result.rows[i] for i in result.about]:
        statement = f"{statement}{say_others(result)}"
    return f"{describe_heads(result)} {statement}"


def gives_to(result: Attention, value: float, column: int) -> str:
    """What is given to a column, as the end of a sentence about the token that looks."""
    to = quote(result.columns[column].label)
    if result.norms:
        return f"takes in a vector of length {value:.2f} from {to}"
    if result.norm_shares:
        return f"has {percent(value)} of what it takes in from {to}"
    return f"gives {percent(value)} of its attention to {to}"


def say_others(result: Attention) -> str:
    """The strongest other word, as a clause after the strongest target, which is the token itself or a special one; ""
    if there is no other word."""
    about = [result.rows[i] for i in result.about]
    gives = result.gives.copy()
    for i, unit in enumerate(result.columns):
        if unit.special or unit in about:
            gives[i] = -1.0
    best = int(gives.argmax())
    if gives[best] < 0:
        return ""
    most = number(result, float(gives[best]))
    return f", and of the other words most to {quote(result.columns[best].label)} ({most})"


def say_grid(result: Attention) -> str:
    """The head that shows most, and what the tokens that the view is about do in all heads together."""
    sentences = ["Each tile is a head: rows look, columns are looked at.", say_strongest(result)]
    layers, heads = result.every.shape[:2]
    if len(result.chosen) == layers * heads:
        sentences.append(f"{say_combined(result)}.")
    return " ".join(sentences)


def say_strongest(result: Attention) -> str:
    """The strongest link between two words, special heads left aside; without one, the head that gives most."""
    link = result.link
    if link:
        source = quote(clip(result.rows[link.source].label, 40))
        median = number(result, float(np.median(result.every[:, :, link.source, link.target])))
        return (
            f"Besides heads that look the same distance away everywhere, {link.head} shows most: {source} "
            f"{gives_to(result, link.weight, link.target)} (median of all heads {median})."
        )
    about = [result.rows[i] for i in result.about]
    columns = [k for k, unit in enumerate(result.columns) if not unit.special and unit not in about]
    if not columns:
        columns = list(range(len(result.columns)))
    table = result.by_head[:, :, columns]
    layer, head, place = (int(i) for i in np.unravel_index(int(table.argmax()), table.shape))
    column = columns[place]
    median = number(result, float(np.median(result.by_head[:, :, column])))
    most = gives_to(result, float(result.by_head[layer, head, column]), column)
    return (
        f"In head {Head(layer, head)} {quote(clip(subject(result), 40))} {most}, more than in any other head "
        f"(median {median})."
    )


def compare(first: Attention, second: Attention) -> str:
    """The largest change of a weight between two results."""
    module = cast("Comparable", analysis)
    keys, ours, theirs = difference.most_different(module, ViewResult(first), ViewResult(second), None)
    if not keys or keys[0] not in ours or keys[0] not in theirs:
        return ""
    before = number(first, ours[keys[0]])
    after = number(first, theirs[keys[0]])
    return f"The largest change is in {analysis.name_row(*keys[0])}: {before} for the first, {after} for the second."


def colours(result: Attention) -> dict[int, float]:
    """The attention from the tokens that the view is about to each position, relative to the largest."""
    gives = result.gives
    top = float(gives.max()) or 1.0
    shades = {}
    for unit, value in zip(result.columns, gives, strict=True):
        for position in unit.positions:
            shades[position] = float(value) / top
    return shades

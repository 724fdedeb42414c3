"""Figure for attention: every head as a tile, one attention map, or lines between two columns of text."""

from typing import cast

import numpy as np

from bertexplorer.answers.heads import Head
from bertexplorer.answers.strongest_heads import Link
from bertexplorer.charts import kit
from bertexplorer.charts.chart import Chart
from bertexplorer.charts.style import MONO, ORANGE, beyond_limit, clip, finish, label, percent, quote, safe
from bertexplorer.charts.tiles import LIGHT, ROOT, pixels, pool, tiles
from bertexplorer.views import difference
from bertexplorer.views.attention import arcs, compute as analysis
from bertexplorer.views.attention.compute import Attention
from bertexplorer.views.protocols import Comparable
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

LETTERS = 12  # of a token next to the map
NUMBERED = 10  # tokens up to which cells show their numbers
MAPPED = 512  # tokens up to which each has its own row
LINE = 24  # px: a row
TALLEST = 1100  # px: all rows
NAMES = 110  # px: the names above


def draw(result: Attention) -> Chart:
    kinds = {"grid": grid, "arcs": arcs.draw, "head": token_map}
    fig = kinds[result.show](result)
    fig.presses = presses(result)
    return fig


def presses(result: Attention) -> list[dict[str, object]]:
    """Buttons beside the figure: the head that shows most, and the special tokens in or out."""
    buttons: list[dict[str, object]] = []
    if result.show == "grid" and result.link:
        buttons.append({"text": f"Open {link_words(result, result.link)}", "set": opened(*result.link.head, "arcs")})
    if any(unit.special for unit in result.columns):
        buttons.append({"text": "Leave out [CLS] and [SEP]", "set": {"special": "discounted"}})
    elif result.special != "shown":
        buttons.append({"text": "Show [CLS] and [SEP]", "set": {"special": "shown"}})
    return buttons


def opened(layer: int, head: int, show: str = "head") -> dict[str, object]:
    """The settings that show one head alone."""
    return {"show": show, "layer": layer + 1, "head": head + 1, "heads": ""}


def link_words(result: Attention, link: Link) -> str:
    return f"{link.head}: {clip(result.rows[link.source].label, 12)} → {clip(result.columns[link.target].label, 12)}"


def grid(result: Attention) -> Chart:
    """All heads; a click on one opens it."""
    layers, heads = result.every.shape[:2]
    picture, step = tiles(result.every, None if result.norms else 1.0)
    fig = Chart()
    image = {"source": picture, "sizing": "stretch", "layer": "below", "xanchor": "left", "yanchor": "top"}
    fig.add_layout_image(**image, xref="x", yref="y", x=0, y=0, sizex=heads, sizey=layers)
    positions = list(np.ndindex(layers, heads))
    fig.add_scatter(
        x=[j + 0.48 for _, j in positions],
        y=[i + 0.48 for i, _ in positions],
        mode="markers",
        marker={"size": 20, "opacity": 0},
        customdata=[{"set": opened(i, j)} for i, j in positions],
        text=[safe(hover_text(result, i, j)) for i, j in positions],
        hovertemplate="%{text}<extra></extra>",
        cliponaxis=False,
    )
    if result.link:
        i, j = result.link.head
        frame = {"x0": j - 0.02, "x1": j + 0.98, "y0": i - 0.02, "y1": i + 0.98}
        fig.add_shape(type="rect", xref="x", yref="y", **frame, line={"color": ORANGE, "width": 3})
    top = number(result, float(result.every.max()))
    strongest = top if result.norms else f"100 %, largest here {top}"
    title = kit.title(f"head · strongest: {safe(strongest)}")
    fig.update_xaxes(title=title, side="top", range=[0, heads], **tile_ticks(heads))
    fig.update_yaxes(title=kit.title("layer", 2), range=[layers, 0], **tile_ticks(layers))
    tile = int(np.clip(450 / layers, 40, 75))
    below = write_pooling_note(fig, step, "pixel")
    height = max(300, 62 + tile * layers + below)
    return finish(fig, height, hoverdistance=-1, margin={"l": 8, "r": 4, "t": 62, "b": below})


def write_pooling_note(fig: Chart, step: int, unit: str) -> int:
    """Write a note under the picture if *step* tokens share a *unit*. Returns the height of the note in pixels."""
    if step == 1:
        return 8
    kit.write_below(fig, [f"{step} tokens share a {unit}: their largest"], 6, 0, 13)
    return 32


def tile_ticks(count: int) -> dict[str, object]:
    """Ticks in the middle of the tiles, from 1."""
    ticks = kit.counted(count, 1 if count <= 12 else 2)
    return {**ticks, "tickvals": [tick + 0.48 for tick in ticks["tickvals"]]}


def hover_text(result: Attention, layer: int, head: int) -> str:
    """How a head attends from the tokens that the view is about."""
    gives = result.by_head[layer, head]
    best = int(gives.argmax())
    most = f"{number(result, float(gives[best]))} to {result.columns[best].label}"
    return f"head {Head(layer, head)}: {clip(subject(result), 30)} gives {most}"


def token_map(result: Attention) -> Chart:
    """A row for each attending token, a column for each target."""
    step = tokens_per_cell(result)
    scale = 1.0 if result.norms else 100.0
    values = pool(pool(result.matrix, step, 0), step, 1).astype(np.float32) * np.float32(scale)
    rows, columns = ([unit.label for unit in units[::step]] for units in (result.rows, result.columns))
    small = max(values.shape) <= NUMBERED
    sign = "" if result.norms else " %"
    gives = "takes from" if result.norms else "gives to"
    number_format = 2 if result.norms else 1
    tip = f"%{{y}} {gives} %{{x}}: %{{z:.{number_format}f}}{sign}<extra></extra>"
    template = "%{z:.2f}" if result.norms else "%{z:.0f}"
    number_template = template if small else None
    style = {"texttemplate": number_template, "textfont": kit.ink(12), "hovertemplate": tip}
    gap = int(max(values.shape) <= 40)
    top = float(values.max()) or 1.0
    heat = kit.cells(values, LIGHT if small else ROOT, 0, top, x=unique_labels(columns), y=unique_labels(rows), gap=gap)
    fig = Chart([{**heat, **style}])
    font = {"family": MONO, "size": 12}
    strongest = number(result, float(result.matrix.max()))
    title = kit.title(f"rows look at columns · strongest: {safe(strongest)}", 6)
    fig.update_xaxes(title=title, side="top", tickangle=-90, tickfont=font, showgrid=False)
    fig.update_yaxes(autorange="reversed", tickfont=font, showgrid=False)
    below = write_pooling_note(fig, step, "cell")
    height = 52 + NAMES + min(TALLEST, max(LINE * len(rows), 180)) + below
    return finish(fig, height, margin={"l": 8, "r": 8, "t": 44, "b": below})


def tokens_per_cell(result: Attention) -> int:
    """The number of tokens that share a cell of the map, in each direction."""
    return max(1, -(-max(result.matrix.shape) // MAPPED))


def unique_labels(names: list[str]) -> list[str]:
    """Distinct labels for an axis that hides overlapping labels. Such an axis needs unique names, so repeated tokens
    get zero-width spaces."""
    repeats: dict[str, int] = {}
    labels = []
    for name in names:
        short = label(name, LETTERS)
        repeats[short] = repeats.get(short, -1) + 1
        labels.append(short + "\u200b" * repeats[short])
    return labels


def number(result: Attention, value: float) -> str:
    return f"{value:.2f}" if result.norms else percent(value)


def subject(result: Attention) -> str:
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
    names = ", ".join(map(str, chosen[:6])) + (f" and {len(chosen) - 6} more" if len(chosen) > 6 else "")
    return f"Over the heads {names}, {together},"


def say(result: Attention) -> str:
    """The main targets of the tokens that the view is about, compared with the other heads."""
    start = say_grid(result) if result.show == "grid" else say_map(result)
    kinds = {
        "hidden": "[CLS] and [SEP] are left out.",
        "discounted": "Shares are of what is left without [CLS], [SEP].",
    }
    more = [kinds[result.special]] if result.special in kinds else []
    more += [arcs.cut_note(result) if result.show == "arcs" else pooling_note(result)]
    return " ".join(text for text in (start, *more, *result.notes, *beyond_limit(result.left_out)) if text)


def pooling_note(result: Attention) -> str:
    """A sentence if neighbouring tokens share a pixel or a cell; otherwise ""."""
    step = pixels(result.every) if result.show == "grid" else tokens_per_cell(result)
    unit = "a pixel" if result.show == "grid" else "a cell"
    return f"{step} neighbouring tokens share {unit}, which shows the largest." if step > 1 else ""


def say_map(result: Attention) -> str:
    best = int(result.gives.argmax())
    median = float(np.median(result.by_head[:, :, best]))
    layers, heads = result.every.shape[:2]
    compare = f"; a random head gives {number(result, median)} (median of all {layers * heads} heads)"
    many = len(result.chosen) == layers * heads
    return f"{say_combined(result)}{'' if many else compare}."


def say_combined(result: Attention) -> str:
    """The main target of the tokens that the view is about, in the chosen heads together."""
    best = int(result.gives.argmax())
    statement = f"{quote(clip(subject(result), 40))} {gives_to(result, float(result.gives[best]), best)}"
    about_itself = result.columns[best] in [result.rows[i] for i in result.about]
    other = "" if not about_itself and not result.columns[best].special else say_others(result)
    return f"{describe_heads(result)} {statement}{other}"


def gives_to(result: Attention, value: float, column: int) -> str:
    to = quote(result.columns[column].label)
    if result.norms:
        return f"takes in a vector of length {value:.2f} from {to}"
    if result.norm_shares:
        return f"has {percent(value)} of what it takes in from {to}"
    return f"gives {percent(value)} of its attention to {to}"


def say_others(result: Attention) -> str:
    """The strongest other word, if the strongest target is the token itself or a special one."""
    about = [result.rows[i] for i in result.about]
    gives = np.array(
        [-1.0 if c.special or c in about else g for c, g in zip(result.columns, result.gives, strict=True)]
    )
    best = int(gives.argmax())
    if gives[best] < 0:
        return ""
    return (
        f", and of the other words most to {quote(result.columns[best].label)} ({number(result, float(gives[best]))})"
    )


def say_grid(result: Attention) -> str:
    """The head that shows most, and what the tokens that the view is about do in all heads together."""
    layers, heads = result.every.shape[:2]
    together = f" {say_combined(result)}." if len(result.chosen) == layers * heads else ""
    return f"Each tile is a head: rows look, columns are looked at. {say_strongest(result)}{together}"


def say_strongest(result: Attention) -> str:
    """The strongest link between two words, special heads left aside; without one, the head that gives most."""
    if link := result.link:
        source = quote(clip(result.rows[link.source].label, 40))
        median = number(result, float(np.median(result.every[:, :, link.source, link.target])))
        return (
            f"Besides heads that look the same distance away everywhere, {link.head} shows most: {source} "
            f"{gives_to(result, link.weight, link.target)} (median of all heads {median})."
        )
    about = [result.rows[i] for i in result.about]
    other_columns = [k for k, unit in enumerate(result.columns) if not unit.special and unit not in about]
    table = result.by_head[:, :, other_columns] if other_columns else result.by_head
    layer, head, column = (int(i) for i in np.unravel_index(int(table.argmax()), table.shape))
    column = other_columns[column] if other_columns else column
    median = number(result, float(np.median(result.by_head[:, :, column])))
    most = gives_to(result, float(result.by_head[layer, head, column]), column)
    return (
        f"In head {Head(layer, head)} {quote(clip(subject(result), 40))} {most}, more than in any other head "
        f"(median {median})."
    )


def compare(first: Attention, second: Attention) -> str:
    """The largest change of a weight between two results."""
    keys, ours, theirs = difference.most_different(cast("Comparable", analysis), first, second, None)
    if not keys or keys[0] not in ours or keys[0] not in theirs:
        return ""
    before, after = (number(first, numbers[keys[0]]) for numbers in (ours, theirs))
    return f"The largest change is in {analysis.name_row(*keys[0])}: {before} for the first, {after} for the second."


def colours(result: Attention) -> dict[int, float]:
    """The attention from the tokens that the view is about to each position, relative to the largest."""
    gives = result.gives
    top = float(gives.max()) or 1.0
    return {p: float(g) / top for unit, g in zip(result.columns, gives, strict=True) for p in unit.positions}

"""Figure for BertViz: its own scripts in one sandboxed HTML document that makes no network requests."""

import json
import re
from importlib import metadata, util
from pathlib import Path
from typing import Any

import numpy as np

from bertexplorer.answers.heads import Head
from bertexplorer.charts.style import beyond_limit, clip, percent, quote
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import ASSETS
from bertexplorer.views.bertviz.compute import BertViz
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Attention",
    place=6,
    title="BertViz",
    question="What do the heads look like in BertViz?",
    note=(
        "Lines of several heads lie on top of each other, so a dark bundle is not one strong head. Attention shows "
        "what a head reads, not why the answer came out as it did."
    ),
    papers=("Vig, 2019, A Multiscale Visualization of Attention in the Transformer Model",),
    examples=(
        Example(
            "It was too tired",
            "The animal didn't cross the street because it was too tired.",
            options={"layers": "4", "special": "left out"},
            shows='attention(4, 2, "it", "animal") > 0.5',
        ),
        Example(
            "Two sentences",
            "The man went to the store.",
            "He bought a gallon of milk.",
            options={"layers": "1-3", "special": "left out"},
            shows='attention(1, 3, "bought", "he") > 0.5',
        ),
        Example(
            "All heads",
            "The keys to the cabinet [MASK] on the table.",
            options={"kind": "model", "special": "left out"},
            shows='attention(5, 11, "[MASK]", "keys") > 0.3',
        ),
        Example(
            "Queries and keys",
            "The capital of France is [MASK].",
            options={"kind": "neuron"},
            shows='attention(1, 3, "is", "france") > 0.9',
        ),
        Example(
            "River bank",
            "She sat on the bank of the river.",
            options={"special": "left out"},
            shows='attention(1, 11, "bank", "river") > 0.5',
        ),
    ),
    chips="pick",
)

VERSION = "1.4.1"  # the substitutions below fit the scripts of this version
LIBRARIES = ("vendor/jquery-3.7.1.min.js", "vendor/d3-5.16.0.min.js", "bertviz.js")
STYLE = """
body { margin: 0; padding: 8px; background: #fff; color: #16202c; overflow: auto; font: 15px "IBM Plex Sans",
sans-serif } select { font: inherit; margin-right: 14px } svg { min-width: 340px } .wide svg { min-width: 970px }
.dark { color-scheme: dark }
.dark body { color-scheme: light; background: none; filter: invert(.94) hue-rotate(180deg) }
"""
PICKERS = {"head": ("layer",), "model": (), "neuron": ("layer", "att_head")}
# pixels, as in BertViz's scripts
MARGIN = 90
LINE = {"head": 22.5, "neuron": 26}
TOP = {"head": 30, "neuron": 100}


def draw(result: BertViz) -> str:
    """A complete document for <iframe sandbox="allow-scripts" srcdoc>. Raises ExplorerError without bertviz VERSION."""
    data = json.dumps(params(result), separators=(",", ":"))
    for sign in "<>&":  # a token must not end the script; JSON treats the escape as the same character
        data = data.replace(sign, f"\\u{ord(sign):04x}")
    scripts = [(ASSETS / name).read_text("utf-8") for name in LIBRARIES]
    scripts += [f"bertviz({data});", source(result.kind)]
    body = "".join(f"<script>{script}</script>\n" for script in scripts)
    pickers = [f'{kind}: <select id="{kind_id}"></select>' for kind, kind_id in labels(result)]
    wide = "" if result.kind == "head" else ' class="wide"'
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>BertViz</title><style>{STYLE}</style>'
        f'</head><body><div id="bertviz"{wide}>{"".join(pickers)}<div id="vis"></div></div>\n{body}</body></html>'
    )


def labels(result: BertViz) -> list[tuple[str, str]]:
    """(label, id in BertViz's scripts) of each menu above the picture."""
    words = {"layer": "Layer", "att_head": "Head"}
    menus = [(words[name], name) for name in PICKERS[result.kind]]
    return menus if result.second is None else [*menus, ("Attention", "filter")]


def params(result: BertViz) -> dict[str, Any]:
    """The parameters of BertViz's scripts. Layers and heads are counted from 1."""
    layers = [layer + 1 for layer in result.layers]
    heads = list(range(1, result.attention.shape[1] + 1))
    data: dict[str, Any] = {
        "tokens": list(result.tokens),
        "second": result.second,
        "root_div_id": "bertviz",
        "display_mode": "light",
        "bidirectional": True,
        "include_layers": layers,
        "include_heads": heads,
        "total_heads": len(heads),
        "attn": thousandths(result.attention),
    }
    if result.kind == "head" and result.link:  # the others lie on top of each other; a press on a square shows them
        data |= {"layer": layers[result.link.head.layer], "heads": [result.link.head.head]}
    if result.queries is not None and result.keys is not None:
        data |= {"queries": thousandths(result.queries), "keys": thousandths(result.keys)}
    return data


def thousandths(values: np.ndarray) -> Any:
    """Lists of whole numbers, which are shorter to write than fractions."""
    return np.rint(1000 * values.astype(np.float64)).astype(int).tolist()


def source(kind: str) -> str:
    """BertViz's own script for *kind*, patched: parameters come from the window, and the neuron view counts from 1."""
    spec = util.find_spec("bertviz")  # located but not imported: the import takes two seconds, for torch and IPython
    installed = metadata.version("bertviz") if spec else "none"
    if spec is None or not spec.submodule_search_locations or installed != VERSION:
        raise ExplorerError(
            f"This view needs bertviz {VERSION}; {installed} is installed. Run: pip install bertviz=={VERSION}"
        )
    text = (Path(spec.submodule_search_locations[0]) / f"{kind}_view.js").read_text("utf-8")
    if kind != "neuron":
        return replace_once(r"const params = PYTHON_PARAMS;[^\n]*", "const params = window.bertviz_params;", text)
    for menu, label in (("layerSelect", "params.include_layers[i]"), ("headSelect", "i + 1")):
        text = replace_once(rf"({menu}\.append\(.*?)\.text\(i\)", rf"\1.text({label})", text)
    return text


def replace_once(pattern: str, new: str, text: str) -> str:
    """*text* with the only match of *pattern* replaced. Raises ExplorerError unless there is exactly one match."""
    changed, count = re.subn(pattern, new, text)
    if count != 1:
        raise ExplorerError(f"A script of bertviz is not that of version {VERSION}. Install the pinned one again.")
    return changed


def height(result: BertViz) -> int:
    """The height of the document in pixels, so that the page can reserve the space."""
    tokens = len(result.tokens)
    if result.kind != "model":
        return int(MARGIN + TOP[result.kind] + LINE[result.kind] * tokens)
    tile = 7 * 12 / result.attention.shape[1] * tokens + 10
    return int(MARGIN + max(38 + tile * len(result.layers), 18 * tokens + 55))


def say(result: BertViz) -> str:
    """What the document shows, and how to read it."""
    heads = result.attention.shape[1]
    notes = {
        "head": "Lines run from the token that looks to the token looked at, a colour for each head; a click on a "
        "coloured square switches a head on or off, a double click shows only that head.",
        "model": "Each tile is a head, each row a layer; a click on a tile opens it.",
        "neuron": "Point at a token and press its plus sign to see its query, the keys it meets, their product number "
        "by number, and the sum that the softmax turns into attention; blue is positive, orange negative.",
    }
    layers = f"{len(result.layers)} layers" if len(result.layers) > 1 else f"layer {result.layers[0] + 1}"
    sentences = [
        f"BertViz ({result.kind} view) of {len(result.tokens)} tokens, {layers} with {heads} heads.",
        notes[result.kind],
    ]
    if result.distances and result.kind == "neuron":
        sentences.append("In this family distances add to the sum: the sums alone do not give the attention.")
    return " ".join([*sentences, *say_link(result), *beyond_limit(result.left_out)])


def say_link(result: BertViz) -> list[str]:
    """The head to look for, if one joins two words."""
    link = result.link
    if not link:
        return []
    head = Head(result.layers[link.head.layer], link.head.head)
    source = quote(clip(result.tokens[link.source], 30))
    target = quote(clip(result.tokens[link.target], 30))
    sentences = [f"Look for head {head}: {source} gives {percent(link.weight)} of its attention to {target}."]
    if result.special == "left out":
        sentences.append("Shares are of what is left without [CLS] and [SEP].")
    return sentences

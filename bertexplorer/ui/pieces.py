"""The small pieces of HTML on the page; everything that comes from outside is escaped here."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from types import ModuleType
from typing import TYPE_CHECKING

from bertexplorer.analysis.receipt import told, versions
from bertexplorer.model.config import HEAD_WORDS, PRETRAINING_WORDS
from bertexplorer.store.catalogue import BY_NAME, CATALOGUE
from bertexplorer.ui.tabs import TABS, slug

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

HEADER = """<header class="masthead"><h1>BERT Explorer</h1>
<p>Type a sentence. See how BERT reads it.</p></header>"""

OTHER = {
    "another checkpoint": "Type the name of the other checkpoint, and press Enter.",
    "another text": "Type the other text, and press Enter.",
}


def turn(number: int) -> str:
    """Whose answer the page shows, for assets/typed.js."""
    return f'<i data-turn="{number}"></i>'


def nav(view: str) -> str:
    """The topics, and the views of each, as two rows of tabs; the browser shows those of the chosen topic."""
    topics = list(dict.fromkeys(tab.GROUP for tab in TABS))
    upper = "".join(tab_button("topic", t, f'data-topic="{escape(t, quote=True)}"') for t in topics)
    lower = "".join(
        tab_button("view", tab.TITLE, f'data-topic="{escape(tab.GROUP, quote=True)}" data-view="{slug(tab)}" hidden')
        for tab in TABS
    )
    return (
        f'<div class="topics" role="tablist" aria-label="Topic" data-view="{escape(view, quote=True)}">{upper}</div>'
        f'<div class="views" role="tablist" aria-label="View" hidden>{lower}</div>'
    )


def tab_button(kind: str, title: str, about: str) -> str:
    return f'<button type="button" class="{kind}" role="tab" aria-selected="false" {about}>{escape(title)}</button>'


def framed(document: str, height: int) -> str:
    """A whole HTML page of *height* pixels inside the page, where its scripts reach nothing outside of it."""
    source, size = escape(document, quote=True), f"height:{height}px"
    return f'<iframe class="frame" sandbox="allow-scripts" title="bertviz" style="{size}" srcdoc="{source}"></iframe>'


def heading(name: str) -> str:
    """What stands beside the answer."""
    return f"<h3 class='beside'>{escape(name if len(name) <= 80 else name[:79] + '…')}</h3>"


def question(tab: ModuleType) -> str:
    """The question that a view answers, as its title."""
    return f"<h2>{escape(tab.QUESTION)}</h2>"


def examples(tab: ModuleType) -> str:
    """The examples of a view as chips."""
    chips = "".join(
        f'<button type="button" class="example" data-example="{i}" title="{escape(e.text, quote=True)}">'
        f"{escape(e.label)}</button>"
        for i, e in enumerate(tab.EXAMPLES)
    )
    return f'<div class="examples" role="group" aria-label="Examples"><span>Try</span>{chips}</div>'


def caption(said: str, note: str) -> str:
    """The figure said aloud, and how not to misread it."""
    return (
        f'<p class="said" role="status" dir="auto">{escape(said)}</p>'
        + f'<details class="misread"><summary>How not to misread this</summary><p>{escape(note)}</p></details>'
        * bool(note)
    )


ADDS = {"mask": "Insert [MASK]", "pair": "Add a second sentence"}


def message(text: str, *, error: bool = True, stands: bool = False, missing: str = "") -> str:
    """A sentence for the person: an error, or what is going on. The figure fades under an error, unless it *stands*: it
    is the answer to what is on the page. *missing*: what the text lacks, a key of ADDS, with a button that adds it."""
    if not text:
        return ""
    kind, role = ("error stands" if stands else "error", "alert") if error else ("busy", "status")
    button = f' <button type="button" data-adds="{missing}">{ADDS[missing]}</button>' if missing else ""
    return f'<p class="message {kind}" role="{role}" dir="auto">{escape(text)}{button}</p>'


def receipt(checkpoint: Checkpoint, took_ms: float, title: str) -> str:
    """Which checkpoint (called *title*), in which precision, how long; a picture that is saved carries the whole
    provenance."""
    short = f"{title} · {checkpoint.precision} · {took_ms:,.0f} ms"
    return f'<p class="receipt" data-whole="{escape(told(checkpoint, title), quote=True)}">{escape(short)}</p>'


def facts(checkpoint: Checkpoint) -> str:
    """What is known of a loaded checkpoint, its absent heads included."""
    config = checkpoint.config
    held = [word for head, word in HEAD_WORDS.items() if head in checkpoint.heads]
    absent = [word for head, word in PRETRAINING_WORDS.items() if head not in checkpoint.heads]
    items = {
        "Family": checkpoint.family,
        "Shape": f"{config.num_layers} layers of {config.num_heads} heads, {config.hidden_size:,} wide",
        "Size": f"{checkpoint.num_parameters / 1e6:,.1f} M parameters, {checkpoint.num_bytes / 1e6:,.0f} MB in memory",
        "Heads": (", ".join(held) or "none") + f" (absent: {', '.join(absent)})" * bool(absent),
        "Licence": checkpoint.licence
        or (BY_NAME[checkpoint.name].licence if checkpoint.name in BY_NAME else "not stated"),
        "Revision": checkpoint.revision,
        "Runs in": f"{checkpoint.precision} on {checkpoint.device.type}",
        "Versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        "Longest text": f"{config.max_positions:,} tokens",
    }
    if checkpoint.unused:
        items["Left aside"] = f"a fine-tuned head ({', '.join(checkpoint.unused)})"
    lines = "".join(f"<dt>{key}</dt><dd>{escape(value)}</dd>" for key, value in items.items())
    return f'<dl class="facts">{lines}</dl>'


def catalogue(here: list[str]) -> str:
    """Every checkpoint of the catalogue: size, heads, licence, and whether it is on this disk."""
    head = "".join(f"<th>{title}</th>" for title in ("checkpoint", "parameters", "MB", "heads", "licence", "here"))
    lines = "".join(
        f'<tr title="{escape(e.about, quote=True)}"><td>{escape(e.name)}</td><td>{e.parameters:g} M</td>'
        f"<td>{e.megabytes:,.0f}</td><td>{', '.join(HEAD_WORDS[h] for h in e.heads)}</td><td>{escape(e.licence)}</td>"
        f"<td>{'yes' if e.name in here else 'no'}</td></tr>"
        for e in CATALOGUE
    )
    table = f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>'
    return f"<details class='catalogue'><summary>All checkpoints and their facts</summary>{table}</details>"


def choices(here: list[str], trained: Sequence[tuple[str, str]] = ()) -> list[tuple[str, str]]:
    """How the picker lists the checkpoints, those on this disk first, those trained here after them: (what a person
    reads, name)."""
    distant = [entry.name for entry in CATALOGUE if entry.name not in here]
    there = [(choice(name, True), name) for name in here]
    own = [(f"{title} · trained here", name) for title, name in trained]
    return [*there, *own, *((choice(name, False), name) for name in distant)]


def choice(name: str, here: bool) -> str:
    """How the picker lists a checkpoint."""
    entry = BY_NAME.get(name)
    where = "on this disk" if here else "to download"
    if entry is None:
        return f"{name} · {where}"
    return f"{name} · {entry.parameters:g} M · {where if here else f'{entry.megabytes:,.0f} MB {where}'}"

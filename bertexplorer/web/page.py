"""The pages as HTML: one frame (page.html) for the server and for a site, which the scripts in static/ fill.

All addresses in it are relative, so that it works below any path."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from string import Template

from bertexplorer.settings import ASSETS

HERE = Path(__file__).parent
STATIC = HERE / "static"
STYLE = ASSETS / "style.css"
PAGES = {"explore": "./", "learn": "learn", "train": "train", "pretrain": "pretrain"}  # script -> address
STYLES = {  # what a page needs besides Explore's
    "learn": ("learn.css",),
    "train": ("train.css", "teach.css"),
    "pretrain": ("train.css",),
}
SANS = ("IBMPlexSans/IBMPlexSans-Regular.woff2", "IBMPlexSans/IBMPlexSans-Bold.woff2")
FONTS = (*SANS, "IBMPlexMono/IBMPlexMono-Regular.woff2")
SCRIPTED = """<div id="$name"></div>
<script type="module" src="$static/$script"></script>
<noscript>A script draws this page. Allow scripts, and reload it.</noscript>"""


def draw(
    name: str,
    pages: Iterable[str],
    static: str,
    *,
    base: str = "./",
    head: str = "",
    content: str = "",
    script: str = "",
) -> str:
    """The HTML of one page.

    Args:
        name: a key of PAGES.
        pages: the pages that the navigation leads to, keys of PAGES.
        static: the folder of scripts, styles and fonts, as seen from *base*.
        base: the way from the page to Explore.
        head: HTML for the head, before the styles.
        content: HTML in place of what the script draws.
        script: the script that draws the page, below *static*; "": that of its name.

    Returns:
        A whole document.

    Example:
        >>> '<a href="train">Train</a>' in draw("explore", PAGES, "scripts")
        True
    """
    styles = () if content else STYLES.get(name, ())
    first = FONTS if name == "explore" else SANS  # the words of its strip have a fixed-width face
    if not content:
        content = Template(SCRIPTED).substitute(name=name, static=static, script=script or f"{name}.js")
    return Template((HERE / "page.html").read_text("utf-8")).substitute(
        base=base,
        title=title(name),
        head=head,
        static=static,
        fonts="".join(preload(f"{static}/fonts/{font}") for font in first),
        style="".join(f'<link rel="stylesheet" href="{static}/{file}">\n' for file in styles),
        links="".join(link(page, current=page == name) for page in pages),
        content=content,
    )


def preload(font: str) -> str:
    """A link that fetches *font* before a style asks for it, so that no line moves when it arrives."""
    return f'<link rel="preload" href="{font}" as="font" type="font/woff2" crossorigin>\n'


def title(name: str) -> str:
    """What the tab of the page *name* is called."""
    return "BERT Explorer" if name == "explore" else f"{name.title()} · BERT Explorer"


def link(page: str, *, current: bool) -> str:
    """The link to *page* in the navigation; *current*: it is the page that is drawn."""
    mark = ' aria-current="page"' if current else ""
    return f'<a href="{PAGES[page]}"{mark}>{page.title()}</a>'


def fonts() -> Path:
    """The folder of FONTS, in gradio's package; found without the seconds that its import takes."""
    gradio = find_spec("gradio")
    assert gradio and gradio.origin
    return Path(gradio.origin).parent / "templates" / "frontend" / "static" / "fonts"


@cache
def scripts() -> str:
    """The address of scripts, styles and fonts on the server. It changes with them, so that browsers can cache
    them."""
    digest = hashlib.sha256()
    files = [*sorted(STATIC.rglob("*.*")), STYLE]
    files += [fonts() / font for font in FONTS]
    for file in files:
        digest.update(file.name.encode() + file.read_bytes())
    return f"scripts/{digest.hexdigest()[:12]}"

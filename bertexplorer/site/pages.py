"""The pages of a site, and the scripts of its views."""

from __future__ import annotations

import html
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from string import Template

from bertexplorer.views import VIEWS
from bertexplorer.web.page import draw, title

HERE = Path(__file__).parent
PAGES = ("explore", "learn", "train")
SCRIPTS = "scripts/web/static"  # below scripts/, a site has the scripts as this package has them
POLICY = "; ".join(  # a host of files cannot be asked to send headers
    (
        "default-src 'self'",
        "script-src 'self' 'wasm-unsafe-eval'",
        "style-src 'self' 'unsafe-inline'",
        "img-src 'self' data: blob:",
        "connect-src 'self' data: blob:",
        "object-src 'none'",
    )
)
ABOUT = "See how BERT reads a sentence. The checkpoint runs in your browser; nothing leaves it."
HEAD = f"""<meta name="description" content="{ABOUT}">
<meta http-equiv="Content-Security-Policy" content="{POLICY}">
"""
SCRIPT = f'<script type="module" src="{SCRIPTS}/site/site.js"></script>\n'  # takes the place of a server


def twins() -> dict[str, str]:
    """View -> the script that computes it in a browser, as seen from the top of a site."""
    return {slug: f"scripts/views/{view.name}/browser.js" for slug, view in VIEWS.items() if view.browser.is_file()}


def explore(address: str = "", checkpoints: Sequence[Mapping[str, str]] = ()) -> str:
    """The page Explore of a site at *address*. *checkpoints*: the name and the folder of each that can be picked."""
    listed = html.escape(json.dumps([dict(one) for one in checkpoints], ensure_ascii=False))
    meta = f'<meta name="checkpoints" content="{listed}">\n'
    return draw("explore", PAGES, SCRIPTS, head=head("BERT Explorer", address) + meta + SCRIPT)


def learn(address: str = "") -> str:
    """The page Learn."""
    return draw("learn", PAGES, SCRIPTS, base="../", head=head(title("learn"), address) + SCRIPT)


def train(address: str = "") -> str:
    """The page Train, whose first part runs in a browser."""
    script = "site/train.js"
    return draw("train", PAGES, SCRIPTS, base="../", head=head(title("train"), address) + SCRIPT, script=script)


def absent(name: str) -> str:
    """A page that a site does not have, which says how to get it."""
    content = Template((HERE / "absent.html").read_text("utf-8")).substitute(title=name.title())
    return draw(name, PAGES, SCRIPTS, base="../", head=head(title(name)), content=content)


def head(title: str, address: str = "") -> str:
    """What the head of a site's page has besides that of a server's; with an *address*, a preview of its links."""
    preview = ""
    if address:
        picture = html.escape(f"{address.rstrip('/')}/thumbnail.png")
        preview = f'<meta property="og:title" content="{title}">\n<meta property="og:image" content="{picture}">\n'
    return HEAD + preview

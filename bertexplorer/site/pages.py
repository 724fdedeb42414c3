"""The pages of a site, and which views run in a browser."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from bertexplorer.core.ask import DEFAULTS
from bertexplorer.views import VIEWS
from bertexplorer.web.page import draw, title

HERE = Path(__file__).parent
PAGES = ("explore", "learn", "train")
SCRIPTS = "scripts/web/static"  # below scripts/, a site has the scripts as this package has them
TARGETS = ("answer", "mask", "next sentence")
CHOICES: dict[str, dict[str, tuple[str, ...]]] = {  # view -> setting -> the choices that a browser has
    "switchboard": {"target": TARGETS},
    "saliency": {"method": ("occlusion",), "target": TARGETS},
    "sentence-similarity": {"pooling": ("own", "mean", "max", "last four summed"), "terms": ("last layer",)},
}
LEFT_OUT: dict[str, tuple[str, ...]] = {  # view -> settings that need a server
    "switchboard": ("neurons", "how", "source", "controls", "tagged_word"),
    "saliency": ("baseline", "steps", "samples", "tagged_word"),
    "layers": ("lens", "target", "tagged_word"),
}
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


def offered(view: str) -> bool:
    """Whether *view* runs in a browser: whether it has a script."""
    return VIEWS[view].browser.is_file()


def twins() -> dict[str, str]:
    """View -> the script that computes it in a browser, as seen from the top of a site."""
    return {slug: f"scripts/views/{view.name}/browser.js" for slug, view in VIEWS.items() if offered(slug)}


def settings_of(view: str, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of *settings* that a browser has, each with its choices. A view of which only examples are recorded shows
    none."""
    if not offered(view):
        return [{**setting, "by_page": True} for setting in settings]
    kept = [setting for setting in settings if setting["name"] not in LEFT_OUT.get(view, ())]
    return [{**setting, **here(view, setting)} for setting in kept]


def here(view: str, setting: dict[str, Any]) -> dict[str, Any]:
    """The default of *setting* in a browser, and its choices; all methods stay, as recorded answers have them."""
    name = setting["name"]
    choices = CHOICES.get(view, {}).get(name, setting["choices"])
    return {"default": defaults_of(view)[name], "choices": setting["choices"] if name == "method" else choices}


def defaults_of(view: str) -> dict[str, Any]:
    """The settings with which *view* opens on a site: a browser's first choice where it lacks the usual one."""
    usual, choices = DEFAULTS[view], CHOICES.get(view, {}) if offered(view) else {}
    return {
        name: value if name not in choices or value in choices[name] else choices[name][0]
        for name, value in usual.items()
    }


def supports(view: str, options: Mapping[str, Any]) -> bool:
    """Whether a browser can compute *view* with these *options*."""
    left_out, choices = LEFT_OUT.get(view, ()), CHOICES.get(view, {})
    return offered(view) and all(
        value in choices[name] if name in choices else name not in left_out or value == DEFAULTS[view][name]
        for name, value in options.items()
    )


def explore(address: str = "") -> str:
    """The page Explore of a site at *address*."""
    return draw("explore", PAGES, SCRIPTS, head=head("BERT Explorer", address) + SCRIPT)


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

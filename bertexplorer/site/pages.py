"""The pages of a site, and which views run in a browser."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from bertexplorer.core.ask import DEFAULTS

HERE = Path(__file__).parent
PAGES = {"explore": "./", "learn": "learn"}  # script -> address
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
    "sentence-similarity": ("first_prompt", "second_prompt"),
    "search": ("prompt", "line_prompt"),
}
SCRIPTED = """<div id="$name" class="column"></div>
<script type="module" src="local/site.js"></script>
<script type="module" src="scripts/$name.js"></script>
<noscript>BERT runs in this page as a script. Allow scripts, and reload it.</noscript>"""


def offered(view: str) -> bool:
    """Whether *view* runs in a browser: whether it has a script."""
    return (HERE / "static" / "views" / f"{view.replace('-', '_')}.js").is_file()


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
    return make_page("explore", "BERT Explorer", "./", address)


def learn(address: str = "") -> str:
    """The page Learn."""
    return make_page(
        "learn", "Learn · BERT Explorer", "../", address, '<link rel="stylesheet" href="scripts/learn.css">\n'
    )


def absent(title: str) -> str:
    """A page that a site does not have, which says how to get it."""
    content = Template((HERE / "absent.html").read_text("utf-8")).substitute(title=title)
    return make_page("", title, "../", content=content)


def make_page(name: str, title: str, base: str, address: str = "", more: str = "", content: str = "") -> str:
    """*name*: of the script and of the element that it fills, unless there is *content*. *base*: the way to the top of
    the site. *more*: for the head."""
    if address:
        picture = html.escape(f"{address.rstrip('/')}/thumbnail.png")
        more += f'<meta property="og:title" content="{title}">\n<meta property="og:image" content="{picture}">\n'
    links = "".join(link(page, to, current=page == name) for page, to in PAGES.items())
    content = content or Template(SCRIPTED).substitute(name=name)
    template = Template((HERE / "page.html").read_text("utf-8"))
    return template.substitute(base=base, title=title, more=more, links=links, content=content)


def link(page: str, to: str, *, current: bool) -> str:
    mark = ' class="active" aria-current="page"' if current else ""
    return f'<a href="{to}"{mark}>{page.title()}</a>'

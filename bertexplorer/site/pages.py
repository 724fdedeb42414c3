"""The pages of a site, and which views run in a browser."""

from __future__ import annotations

import html
from collections.abc import Mapping
from pathlib import Path
from string import Template
from typing import Any

from bertexplorer.options import option_specs
from bertexplorer.views import VIEWS

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
    """Those of *settings* that a browser has, each with its choices; the first of them is the default, if the usual one
    is missing."""
    if not offered(view):
        return settings
    kept = [setting for setting in settings if setting["name"] not in LEFT_OUT.get(view, ())]
    return [{**setting, **fewer(setting, CHOICES.get(view, {}).get(setting["name"]))} for setting in kept]


def supports(view: str, options: Mapping[str, Any]) -> bool:
    """Whether a browser can compute *view* with these *options*."""
    left_out, choices = LEFT_OUT.get(view, ()), CHOICES.get(view, {})
    usual = {setting.name: setting.default for setting in option_specs(VIEWS[view].analysis.Options)}
    return offered(view) and all(
        value in choices[name] if name in choices else name not in left_out or value == usual[name]
        for name, value in options.items()
    )


def fewer(setting: dict[str, Any], choices: tuple[str, ...] | None) -> dict[str, Any]:
    if not choices:
        return {}
    default = setting["default"] if setting["default"] in choices else choices[0]
    return {"choices": choices, "default": default}


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

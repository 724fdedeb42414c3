"""The pages of a site, and which views run in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

VIEWS_HERE = Path(__file__).parent / "static" / "views"
CHOICES: dict[str, dict[str, tuple[str, ...]]] = {}  # view -> setting -> the choices that a browser has
LEFT_OUT: dict[str, tuple[str, ...]] = {}  # view -> settings that need a server

HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="description" content="See how BERT reads a sentence. The checkpoint runs in your browser; nothing leaves it.">
<meta http-equiv="Content-Security-Policy" content="default-src 'self'; script-src 'self' 'unsafe-inline' 'wasm-unsafe-eval'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; connect-src 'self' data: blob:; worker-src 'self'; object-src 'none'">
<base href="{base}">
<title>{title}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="local/site.css">
<link rel="stylesheet" href="scripts/style.css">
<link rel="stylesheet" href="scripts/explore.css">
{styles}</head>
"""
BODY = """<body>
<script>
const dark = matchMedia("(prefers-color-scheme: dark)"), paint = () => document.body.classList.toggle("dark", dark.matches);
dark.addEventListener("change", paint);
paint();
</script>
<div class="gradio-container"><div class="nav-holder"><nav aria-label="Pages"><a href="./"{explore}>Explore</a><a href="learn"{learn}>Learn</a></nav></div>
<main class="main fillable"><div id="{name}" class="column"></div></main></div>
<script type="module">
import "./{up}local/site.js";
import "./{up}scripts/{name}.js";
</script>
<noscript>BERT runs in this page as a script. Allow scripts, and reload it.</noscript>
</body>
</html>
"""
CURRENT = ' class="active" aria-current="page"'


def offered(view: str) -> bool:
    """Whether *view* runs in a browser: whether it has a script."""
    return (VIEWS_HERE / f"{view.replace('-', '_')}.js").is_file()


def settings_of(view: str, settings: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those of *settings* that a browser has, each with its choices."""
    if not offered(view):
        return settings
    kept = [setting for setting in settings if setting["name"] not in LEFT_OUT.get(view, ())]
    choices = CHOICES.get(view, {})
    return [{**setting, "choices": choices.get(setting["name"], setting["choices"])} for setting in kept]


def make_page(name: str, title: str, base: str, styles: str = "") -> str:
    head = HEAD.format(base=base, title=title, styles=styles)
    current = {"explore": "", "learn": "", name: CURRENT}
    return head + BODY.format(name=name, up="" if base == "./" else "../", **current)


EXPLORE = make_page("explore", "BERT Explorer", "./")
LEARN = make_page("learn", "Learn · BERT Explorer", "../", '<link rel="stylesheet" href="scripts/learn.css">\n')

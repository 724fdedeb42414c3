"""The theme of the pages, and the scripts in their head."""

import hashlib
from functools import cache
from pathlib import Path

import gradio as gr

from bertexplorer import ui
from bertexplorer.settings import ASSETS

STATIC = Path(ui.__file__).parent / "static"


def theme() -> gr.themes.Base:
    """Calm: one accent, generous space, faces that gradio bundles."""
    return gr.themes.Base(
        primary_hue=gr.themes.colors.blue,
        neutral_hue=gr.themes.colors.slate,
        text_size=gr.themes.sizes.text_lg,
        radius_size=gr.themes.sizes.radius_md,
        font=[gr.themes.GoogleFont("IBM Plex Sans", weights=(400, 700)), "system-ui", "sans-serif"],
        font_mono=[gr.themes.GoogleFont("IBM Plex Mono"), "ui-monospace", "monospace"],
    )


@cache
def scripts() -> str:
    """The folder that the scripts of Explore are served from: another one for other scripts, so browsers keep them."""
    whole = hashlib.sha256()
    for file in sorted(STATIC.rglob("*.*")):
        whole.update(file.name.encode() + file.read_bytes())
    return f"scripts/{whole.hexdigest()[:12]}"


def head() -> str:
    """Explore is drawn by its own scripts; the other pages ask through gradio (assets/answers.js)."""
    asking = (ASSETS / "answers.js").read_text("utf-8")
    explore = f"""
        document.head.insertAdjacentHTML("beforeend", '<link rel="stylesheet" href="./{scripts()}/explore.css">');
        import("./{scripts()}/explore.js");"""
    return (
        rf"<script>if (/\/(train|pretrain)\/?$/.test(location.pathname)) {{ {asking} }} else {{ {explore} }}</script>"
    )

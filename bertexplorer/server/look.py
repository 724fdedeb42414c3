"""Look: the theme of the pages, and what stands in their head."""

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
    """Explore's scripts, which do nothing on the other pages; and how those ask (assets/answers.js)."""
    folder, asking = scripts(), (ASSETS / "answers.js").read_text("utf-8")
    ours = "".join(f'<link rel="modulepreload" href="./{folder}/{file.name}">' for file in sorted(STATIC.glob("*.js")))
    return f'{ours}<script type="module" src="./{folder}/explore.js"></script><script>{asking}</script>'

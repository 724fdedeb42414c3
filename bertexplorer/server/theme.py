"""The theme of the pages, and the scripts in their head."""

import hashlib
from functools import cache
from pathlib import Path

import gradio as gr

from bertexplorer import web

STATIC = Path(web.__file__).parent / "static"


def theme() -> gr.themes.Base:
    """One accent colour, generous space, fonts that gradio bundles."""
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
    """The folder that the scripts of Explore are served from. It changes with the scripts, so that browsers can cache
    them."""
    digest = hashlib.sha256()
    for file in sorted(STATIC.rglob("*.*")):
        digest.update(file.name.encode() + file.read_bytes())
    return f"scripts/{digest.hexdigest()[:12]}"


def head() -> str:
    """The head of the pages: each loads its script and its styles."""
    return f"""<script>
        const from = "./{scripts()}", page = /\\/(learn|train|pretrain)\\/?$/.exec(location.pathname)?.[1] ?? "explore";
        const styles = {{ explore: [], learn: ["learn"], train: ["train"], pretrain: ["train"] }};
        for (const style of ["frame", "explore", ...styles[page]])
            document.head.insertAdjacentHTML("beforeend", `<link rel="stylesheet" href="${{from}}/${{style}}.css">`);
        import(`${{from}}/${{page}}.js`);
    </script>"""

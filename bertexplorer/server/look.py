"""Look: the theme of the page, and what stands in its head."""

from pathlib import Path

import gradio as gr

from bertexplorer.settings import ASSETS


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


def head() -> str:
    """How the pages ask (assets/answers.js). And gradio's chart script, for the browser to fetch while the first answer
    is computed instead of after it."""
    asking = (ASSETS / "answers.js").read_text("utf-8")
    folder = Path(gr.__file__).parent / "templates" / "frontend" / "assets"
    links = (f'<link rel="modulepreload" href="./assets/{file.name}">' for file in folder.glob("PlotlyPlot-*.js"))
    return "".join([f"<script>{asking}</script>", *links])

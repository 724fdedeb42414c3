"""Look: the theme of the page, and what its head tells the browser to fetch early."""

from pathlib import Path

import gradio as gr


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


def early() -> str:
    """Lets the browser fetch gradio's chart script while the first answer is computed, instead of after it."""
    folder = Path(gr.__file__).parent / "templates" / "frontend" / "assets"
    return "".join(f'<link rel="modulepreload" href="./assets/{file.name}">' for file in folder.glob("PlotlyPlot-*.js"))

"""The pages: a frame of gradio, navigation and theme, into which the scripts in static/ draw each page."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Any

from bertexplorer.settings import ASSETS, Settings
from bertexplorer.web.gradio_patches import before_mounting  # before gradio, whose import it halves

import gradio as gr  # isort: skip

STATIC = Path(__file__).parent / "static"
PAGES = {"Learn": "learn", "Train": "train", "Pretrain": "pretrain"}  # besides Explore: title -> its address


def mount(app: Any, settings: Settings, *, runs: bool = True) -> Any:
    """Mount all pages in the FastAPI *app*, and return it; Train and Pretrain only with *runs*."""
    page = build(runs=runs)
    before_mounting(page, styles())
    return gr.mount_gradio_app(
        app,
        page,
        "/",
        server_name=settings.host,
        server_port=settings.port,
        root_path=settings.root_path or None,
        footer_links=[],
        run_history=False,
        show_error=False,
        ssr_mode=False,
        enable_monitoring=False,
        pwa=False,
        mcp_server=False,
        theme=theme(),
        css_paths=ASSETS / "style.css",
        head=head(),
    )


def build(*, runs: bool = True) -> gr.Blocks:
    """Build all pages; Train and Pretrain only with *runs*."""
    with gr.Blocks(title="BERT Explorer", analytics_enabled=False) as blocks:
        add_page("explore")
    for title, address in PAGES.items():
        if runs or address == "learn":
            with blocks.route(title, address):
                add_page(address)
    return blocks


def add_page(name: str) -> None:
    """Add a column that static/NAME.js fills."""
    gr.Navbar(main_page_name="Explore")
    gr.Column(elem_id=name)


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
    """The folder that the scripts of the pages are served from. It changes with the scripts, so that browsers can cache
    them."""
    digest = hashlib.sha256()
    for file in sorted(STATIC.rglob("*.*")):
        digest.update(file.name.encode() + file.read_bytes())
    return f"scripts/{digest.hexdigest()[:12]}"


def styles() -> str:
    """The styles that all pages share: the frame, and the parts of Explore."""
    frame = (STATIC / "frame.css").read_text(encoding="utf-8")
    return f'<style>{frame}</style><link rel="stylesheet" href="./{scripts()}/explore.css">'


def head() -> str:
    """The head of the pages: each loads its script, and the styles that others lack."""
    return f"""<script>
        const from = "./{scripts()}", page = /\\/(learn|train|pretrain)\\/?$/.exec(location.pathname)?.[1] ?? "explore";
        const style = {{ learn: "learn", train: "train", pretrain: "train" }}[page];
        const link = `<link rel="stylesheet" href="${{from}}/${{style}}.css">`;
        if (style) document.head.insertAdjacentHTML("beforeend", link);
        import(`${{from}}/${{page}}.js`);
    </script>"""

"""Launch: the page put on its port, in its look."""

import sys
import threading
from pathlib import Path

import gradio as gr

from bertexplorer.errors import ExplorerError
from bertexplorer.settings import ASSETS, Settings
from bertexplorer.store.library import Library
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.page import build, page_opening
from bertexplorer.ui.training.desk import Desk


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


def launch(library: Library, settings: Settings, *, block: bool = True) -> int:
    """Serve until interrupted. Returns 0, or 2 after saying on stderr why the port cannot be used."""
    try:
        desk = Desk(library, settings)
    except ExplorerError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return 2
    page = build(library, settings, desk)
    page.queue(api_open=False, default_concurrency_limit=16, max_size=256)
    try:
        page.launch(
            server_name=settings.host,
            server_port=settings.port,
            share=False,
            show_error=False,
            quiet=True,
            footer_links=[],
            run_history=False,
            enable_monitoring=False,
            state_session_capacity=300,
            max_file_size="25mb",
            ssr_mode=False,
            mcp_server=False,
            theme=theme(),
            css_paths=ASSETS / "style.css",
            head=early(),
            prevent_thread_lock=True,
        )
    except OSError as error:
        if "empty port" not in str(error):
            raise
        told = f"Port {settings.port} is in use. Set BERTEXPLORER_PORT={settings.port + 1}, or stop the other program."
        if settings.host not in ("127.0.0.1", "localhost", "0.0.0.0"):  # gradio says no more than that it cannot
            told += f" Or {settings.host} is no address of this machine: set BERTEXPLORER_HOST."
        print(told, file=sys.stderr)  # noqa: T201 - the one place above the command line that speaks
        return 2
    print(f"BERT Explorer is open at {page.local_url}", flush=True)  # noqa: T201
    opening = page_opening(settings)  # torch is imported only now that the page is there
    threading.Thread(target=Explore(library).answer, args=(opening,), daemon=True).start()
    if block:
        page.block_thread()
    return 0

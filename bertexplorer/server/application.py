"""Application: the page, and around it the layers that a request passes, from the outside in."""

import logging
import sys
import warnings
from typing import Any

import gradio as gr
from fastapi import FastAPI
from gradio import queueing
from starlette.middleware.gzip import GZipMiddleware
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from bertexplorer.api import tools
from bertexplorer.api.problems import Problems
from bertexplorer.api.routes import routes
from bertexplorer.engine.lanes import Lanes
from bertexplorer.server.body import Body, largest
from bertexplorer.server.files import Files
from bertexplorer.server.gate import Gate
from bertexplorer.server.guard import Guard
from bertexplorer.server.headers import Headers
from bertexplorer.server.health import Health, Readiness
from bertexplorer.server.line import Events, Line
from bertexplorer.server.look import STATIC, head, scripts, theme
from bertexplorer.server.metrics import Metrics
from bertexplorer.server.owners import Owners, Sessions
from bertexplorer.server.packed import Assets, Packed
from bertexplorer.server.seal import Seal
from bertexplorer.server.watch import Watch
from bertexplorer.settings import ASSETS, Settings
from bertexplorer.ui.explore import Explore
from bertexplorer.ui.page import page_opening
from bertexplorer.ui.slim import Pages
from bertexplorer.ui.state import State
from bertexplorer.ui.training.desk import Desk

LOOKS_S = 0.005  # between two looks for events; gradio's 0.001 takes 7 % of a core while nobody asks
log = logging.getLogger(__name__)
PRIVATE = ("runs", "lines", "index", "corpora", "models", "secret")  # of the data folder; what is made lies beside them


class Logged:
    """In place of the module that gradio prints tracebacks with, which hold what people typed: a line in the log."""

    @staticmethod
    def print_exc() -> None:
        kind = sys.exc_info()[0]
        log.error("gradio failed at an event", extra={"error": kind.__name__ if kind else "none"})


def layered(
    app: ASGIApp,
    settings: Settings,
    seal: Seal,
    ready: Readiness,
    metrics: Metrics | None = None,
    events: Events | None = None,
) -> ASGIApp:
    """*app* behind all layers; *events*: what gradio has taken."""
    metrics, sessions = metrics or Metrics(), Sessions(4 * settings.sessions)
    metrics.gauge("pages", "Pages that were opened lately and are remembered", lambda: len(sessions.owners))
    inside: ASGIApp = Files(Assets(Packed(app)), settings.uploads_dir)
    events = events or Events()
    inside = Line(inside, events, settings.waiting)
    inside = Body(inside, settings, sessions, events.fault)
    inside = Gate(inside, seal, settings.code)
    inside = Owners(inside, seal)
    inside = Health(inside, settings, ready, metrics)
    inside = Guard(inside, settings)
    inside = Headers(inside)
    return Problems(Watch(inside, metrics))


def taken(page: gr.Blocks) -> Events:
    """The events of gradio's queue."""
    queue = page._queue

    def inputs(number: int) -> int | None:
        event = page.fns.get(number)
        return len(event.inputs) if event and event.fn else None

    return Events(
        lambda: len(queue) + sum(job is not None for job in queue.active_jobs),
        lambda session: bool(queue.pending_event_ids_session.get(session)),
        inputs,
    )


def api(explore: Explore, lanes: Lanes, opening: State, desk: Desk | None) -> FastAPI:
    """The HTTP API, and /mcp where the MCP SDK is installed. The parameters are those of `routes`."""
    bare: dict[str, Any] = {"openapi_url": None, "docs_url": None, "redoc_url": None}
    if tools.installed():
        tooled, lifespan = tools.served(explore, lanes, opening.checkpoint)
        app = FastAPI(**bare, lifespan=lifespan)
        app.router.routes.append(Route("/mcp", tooled))
    else:
        app = FastAPI(**bare)
    app.include_router(routes(explore, lanes, opening, desk))
    return app


def mounted(page: gr.Blocks, settings: Settings, explore: Explore, lanes: Lanes, desk: Desk | None = None) -> FastAPI:
    """The pages and the API on an app of our own, with nothing of gradio that they do not need. *lanes*: in which
    answers of the API wait; *desk*: the runs that the API starts, None for an API without."""
    page.queue(api_open=False, default_concurrency_limit=16, max_size=4 * page.max_threads)
    page._queue.sleep_when_free = LOOKS_S
    queueing.traceback = Logged
    page.state_session_capacity = settings.sessions
    app = api(explore, lanes, page_opening(settings), desk)
    app.mount(f"/{scripts()}", GZipMiddleware(StaticFiles(directory=STATIC), minimum_size=1000))
    warnings.filterwarnings("ignore", "SSR mode is not supported", UserWarning)  # said although it is not asked for
    mounted: FastAPI = gr.mount_gradio_app(
        app,
        page,
        "/",
        server_name=settings.host,
        server_port=settings.port,
        footer_links=[],
        run_history=False,
        blocked_paths=[str(settings.data_dir.resolve() / name) for name in PRIVATE],
        show_error=False,
        max_file_size=largest(settings),  # Body has seen as much before, and says it in a sentence
        ssr_mode=False,
        enable_monitoring=False,
        pwa=False,
        mcp_server=False,
        theme=theme(),
        css_paths=ASSETS / "style.css",
        head=head(),
    )
    page.has_launched = True  # else gradio takes any path in a request for an upload, and copies that file to where it
    # serves files from: it looks only at apps that it launched itself
    gradio_app = next(
        route.app for route in mounted.routes if isinstance(route, Mount) and isinstance(route.app, gr.routes.App)
    )
    gradio_app.state_holder = Pages()
    gradio_app.state_holder.set_blocks(page)
    return mounted

"""The application: the page inside the layers that a request passes, outermost first."""

from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bertexplorer.api import tools
from bertexplorer.api.admission import Admission
from bertexplorer.api.calls import Backend
from bertexplorer.api.endpoints import EndpointCalls
from bertexplorer.api.perform import InProcess
from bertexplorer.api.problems import Problems
from bertexplorer.api.routes import routes
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.core.state import State
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.runs.service import RunService
from bertexplorer.server.access_code import AccessCode
from bertexplorer.server.body import BodyLimits
from bertexplorer.server.compression import AssetCache, PageCompression
from bertexplorer.server.cookie_signing import CookieSigner
from bertexplorer.server.headers import Headers
from bertexplorer.server.health import Health, Readiness
from bertexplorer.server.metrics import Metrics
from bertexplorer.server.request_filter import RequestFilter
from bertexplorer.server.request_log import RequestLog
from bertexplorer.server.sessions import OwnerCookies
from bertexplorer.server.stream_limit import StreamLimit
from bertexplorer.settings import Settings
from bertexplorer.web import endpoints, mount
from bertexplorer.web.page import STATIC


def add_layers(
    app: ASGIApp,
    settings: Settings,
    signer: CookieSigner,
    ready: Readiness,
    metrics: Metrics | None = None,
) -> ASGIApp:
    """Wrap *app* in all layers."""
    metrics = metrics or Metrics()
    app = AssetCache(PageCompression(app))
    app = StreamLimit(app)
    app = BodyLimits(app, settings)
    app = AccessCode(app, signer, settings.code)
    app = OwnerCookies(app, signer)
    app = Health(app, settings, ready, metrics)
    app = RequestFilter(app, settings)
    app = Headers(app)
    return Problems(RequestLog(app, metrics))


def create_api(
    answerer: Answerer,
    queues: RequestQueues,
    opening: State,
    service: RunService | None,
    backend: Backend | None = None,
) -> FastAPI:
    """The HTTP API, and /mcp where the MCP SDK is installed. The parameters are those of `routes`."""
    without_docs: dict[str, Any] = {"openapi_url": None, "docs_url": None, "redoc_url": None}
    if tools.installed():
        answering = backend or InProcess(answerer, Admission(queues), opening)
        mcp, lifespan = tools.mcp_app(answerer, answering, opening.checkpoint)
        app = FastAPI(**without_docs, lifespan=lifespan)
        app.router.routes.append(Route("/mcp", mcp))
    else:
        app = FastAPI(**without_docs)
    app.router.routes.extend(routes(answerer, queues, opening, service, backend).routes)
    for path in ("/j", "/j/{code}"):
        app.router.routes.append(Route(path, phone))
    app.router.routes.append(Route("/r/{key}", watching))
    return app


def phone(request: Request) -> Response:
    """The page on which a class votes: a single file."""
    return FileResponse(STATIC / "phone.html", headers={"cache-control": "no-cache"})


def watching(request: Request) -> Response:
    """The page on which a class watches a shared run, a single file as well."""
    return FileResponse(STATIC / "watch.html", headers={"cache-control": "no-cache"})


def mount_page(
    settings: Settings,
    answerer: Answerer,
    queues: RequestQueues,
    service: RunService | None = None,
    backend: Backend | None = None,
) -> FastAPI:
    """Create the app with the pages and the API.

    *queues*: the queues in which requests to the API wait. *service*: starts the runs of the API; None for an API
    without runs. *backend*: where views are computed; None for this process."""
    answering = backend or InProcess(answerer, Admission(queues), opening(settings))
    app = create_api(answerer, queues, opening(settings), service, backend)
    mount.mount(app, runs=service is not None)
    mounted: FastAPI = endpoints.mount(app, EndpointCalls(answerer, answering, settings.checkpoint), settings)
    return mounted

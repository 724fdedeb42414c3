"""The pages in an app: their documents, scripts, styles and fonts."""

from collections.abc import Iterator
from typing import Any

from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route, Router
from starlette.staticfiles import StaticFiles

from bertexplorer.web.page import PAGES, STATIC, STYLE, draw, fonts, scripts

WITHOUT_RUNS = ("explore", "learn")  # the pages of a server that trains nothing


def mount(app: Any, *, runs: bool = True) -> None:
    """Mount all pages in the FastAPI *app*; Train and Pretrain only with *runs*."""
    app.router.routes.extend(documents(runs=runs))
    app.router.routes.extend(files())


def documents(*, runs: bool) -> Iterator[Route]:
    """The pages, each at its address; with a slash behind it, the address leads to the one without."""
    pages = tuple(PAGES) if runs else WITHOUT_RUNS
    for name in pages:
        document = document_of(draw(name, pages, scripts()))
        if name == "explore":
            yield Route("/", beside_gradio(document))
        else:
            yield Route(f"/{name}", document)
            yield Route(f"/{name}/", without_slash)


def document_of(html: str) -> Any:
    """What answers with *html*, which browsers ask for anew each time."""

    async def answer(request: Request) -> Response:
        return HTMLResponse(html, headers={"cache-control": "no-cache"})

    return answer


def beside_gradio(document: Any) -> Any:
    """*document* at the address that the page of gradio gives itself while it shows its API: a reload leads back."""

    async def answer(request: Request) -> Response:
        if request.query_params.get("view") == "api":
            return RedirectResponse("gradio")
        response: Response = await document(request)
        return response

    return answer


async def without_slash(request: Request) -> Response:
    """Lead to the address without a slash: a relative one, as a proxy may serve the page below a path."""
    name = request.url.path.rstrip("/").rpartition("/")[2]
    query = request.scope["query_string"].decode("latin-1")
    return RedirectResponse(f"../{name}?{query}" if query else f"../{name}")


def files() -> tuple[Mount, Mount]:
    """(fonts, which are compressed already; scripts and styles)."""

    async def style(request: Request) -> Response:
        return FileResponse(STYLE)

    others = Router([Route("/style.css", style), Mount("/", StaticFiles(directory=STATIC))])
    return (
        Mount(f"/{scripts()}/fonts", StaticFiles(directory=fonts())),
        Mount(f"/{scripts()}", GZipMiddleware(others, minimum_size=1000)),
    )

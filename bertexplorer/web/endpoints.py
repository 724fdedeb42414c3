"""Endpoints for gradio's clients: a gradio app without components, which lists them and carries calls and answers."""

import inspect
import logging
import warnings
from collections.abc import Callable, Coroutine
from copy import deepcopy
from functools import partial
from typing import Any

import orjson
from starlette.routing import Mount

from bertexplorer.api.endpoints import Endpoint, EndpointCalls
from bertexplorer.core.state import scrub
from bertexplorer.errors import ExplorerError, unforeseen
from bertexplorer.settings import Settings
from bertexplorer.web.callers import Callers
from bertexplorer.web.calls import Calls
from bertexplorer.web.gradio_patches import GRADIO  # noqa: F401 - before gradio, whose import it halves

import gradio as gr  # isort: skip

PAGE = "gradio"  # the address of the page that gradio draws
ABOUT = """# BERT Explorer for Gradio's clients

Every analysis is an endpoint. *Use via API*, below, shows each of them in Python, JavaScript and cURL, for example:

```python
from gradio_client import Client

client = Client("http://localhost:7860")  # the address of this server
client.predict("Paris is the [MASK] of France.", api_name="/fill_mask")
```

Where the server has an access code:

```python
client = Client(address, headers={"Authorization": "Bearer CODE"})
```
"""
AT_ONCE = 40  # calls in progress, of all callers
WAITING = 100  # calls that wait for their turn; more are refused
SESSIONS = 100  # that gradio remembers: each takes 0.3 MB, though endpoints keep nothing in them
log = logging.getLogger(__name__)


def build(calls: EndpointCalls) -> tuple[gr.Blocks, Callers]:
    """The gradio app with an endpoint for each of *calls*, and who calls them. Its one page shows how to call them."""
    with gr.Blocks(title="BERT Explorer", analytics_enabled=False) as blocks:
        blocks.queue(default_concurrency_limit=AT_ONCE, max_size=WAITING, api_open=False)
        blocks.state_session_capacity = SESSIONS
        callers = Callers(blocks._queue)
    with blocks.route("Endpoints", PAGE):
        gr.Navbar(main_page_name="BERT Explorer")
        gr.Markdown(ABOUT)
        for endpoint in calls.endpoints.values():
            add(endpoint, function_of(endpoint, calls, callers), blocks)
    return blocks, callers


def add(endpoint: Endpoint, ask: Callable[..., Any], blocks: gr.Blocks) -> None:
    """Add *endpoint* to the page of *blocks*, with what its documentation says of each argument."""
    dependency = gr.api(ask, api_name=endpoint.name, concurrency_id="endpoints")
    function = blocks.fns[dependency["id"]]
    for component, parameter in zip(function.inputs, endpoint.parameters, strict=True):
        component._api_info["additional_description"] = f"{parameter.name}: {parameter.about}."
        component.example_payload = partial(deepcopy, parameter.example)


def function_of(endpoint: Endpoint, calls: EndpointCalls, callers: Callers) -> Callable[..., Coroutine[Any, Any, Any]]:
    """The function that gradio calls. Its signature and its documentation are what clients see."""
    names = [parameter.name for parameter in endpoint.parameters]

    async def ask(request: gr.Request, *values: Any) -> Any:
        state = request.request.scope["state"]
        try:
            with callers.call(request.session_hash, state["network"]) as sizes:
                answer = await calls(endpoint.name, dict(zip(names, values, strict=True)), state["owner"])
                sizes.append(len(answer))
        except ExplorerError as error:
            raise gr.Error(scrub(str(error)), print_exception=False) from error
        except Exception as error:
            raise gr.Error(unforeseen(log, "an endpoint failed"), print_exception=False) from error
        return orjson.loads(answer)

    ask.__name__ = endpoint.name
    ask.__doc__ = document(endpoint)
    ask.__annotations__ = {"request": gr.Request} | {one.name: one.kind for one in endpoint.parameters}
    ask.__signature__ = signature(endpoint)  # type: ignore[attr-defined]
    return ask


def signature(endpoint: Endpoint) -> inspect.Signature:
    """The arguments of *endpoint*, after the request."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("request", kind, annotation=gr.Request)]
    for one in endpoint.parameters:
        default = inspect.Parameter.empty if one.default is ... else one.default
        parameters.append(inspect.Parameter(one.name, kind, default=default, annotation=one.kind))
    return inspect.Signature(parameters, return_annotation=dict)


def document(endpoint: Endpoint) -> str:
    """What *endpoint* is for and its arguments, as gradio reads a docstring."""
    lines = [endpoint.about, "Parameters:"]
    lines += [f"{one.name}: {one.about}" for one in endpoint.parameters]
    return "\n".join(lines)


def mount(app: Any, calls: EndpointCalls, settings: Settings) -> Any:
    """Mount gradio with the endpoints in the FastAPI *app*, after all its other routes, and return it."""
    blocks, callers = build(calls)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "SSR mode is not supported", UserWarning)  # though it is off
        mounted = gr.mount_gradio_app(
            app,
            blocks,
            "/",
            server_name=settings.host,
            server_port=settings.port,
            root_path=settings.root_path or None,
            footer_links=["api"],
            theme=gr.themes.Base(
                primary_hue=gr.themes.colors.blue,
                neutral_hue=gr.themes.colors.slate,
                font=[gr.themes.GoogleFont("IBM Plex Sans", weights=(400, 700)), "sans-serif"],  # gradio brings it
            ),
            run_history=False,
            show_error=False,
            ssr_mode=False,
            enable_monitoring=False,
            pwa=False,
            mcp_server=False,
        )
    gradio = next(route for route in mounted.router.routes if isinstance(route, Mount) and not route.path)
    gradio.app = Calls(gradio.app, calls.endpoints, callers)
    return mounted

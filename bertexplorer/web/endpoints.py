"""Endpoints for gradio's clients: a gradio app that lists and documents them; `Calls` answers."""

import inspect
import warnings
from collections.abc import Callable, Iterable
from copy import deepcopy
from functools import partial
from typing import Any

from starlette.routing import Mount

from bertexplorer.api.endpoints import Endpoint, EndpointCalls
from bertexplorer.settings import Settings
from bertexplorer.web.calls import PAGE, Calls
from bertexplorer.web.gradio_patches import GRADIO  # noqa: F401 - before gradio, whose import it halves

import gradio as gr  # isort: skip

IDLE_S = 60.0  # between two looks at gradio's queue, which no call reaches; gradio's 0.001 takes 7 % of a core
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


def build(endpoints: Iterable[Endpoint]) -> gr.Blocks:
    """The gradio app that describes the *endpoints*. Its one page shows how to call them."""
    blocks = gr.Blocks(title="BERT Explorer", analytics_enabled=False)
    with blocks.route("Endpoints", PAGE):
        gr.Navbar(main_page_name="BERT Explorer")
        gr.Markdown(ABOUT)
        for endpoint in endpoints:
            add(endpoint, blocks)
    blocks._queue.sleep_when_free = IDLE_S
    blocks._queue.progress_update_sleep_when_free = IDLE_S
    return blocks


def add(endpoint: Endpoint, blocks: gr.Blocks) -> None:
    """Add *endpoint* to the page of *blocks*, with what its documentation says of each argument."""
    dependency = gr.api(described(endpoint), api_name=endpoint.name)
    function = blocks.fns[dependency["id"]]
    for component, parameter in zip(function.inputs, endpoint.parameters, strict=True):
        component._api_info["additional_description"] = f"{parameter.name}: {parameter.about}."
        component.example_payload = partial(deepcopy, parameter.example)


def described(endpoint: Endpoint) -> Callable[..., Any]:
    """A function whose signature and documentation are those of *endpoint*. It is not called: see `Calls`."""

    def ask(**given: Any) -> Any:
        raise NotImplementedError

    ask.__name__ = endpoint.name
    ask.__doc__ = document(endpoint)
    ask.__annotations__ = {parameter.name: parameter.kind for parameter in endpoint.parameters}
    ask.__signature__ = signature(endpoint)  # type: ignore[attr-defined]
    return ask


def signature(endpoint: Endpoint) -> inspect.Signature:
    """The arguments of *endpoint*."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = []
    for parameter in endpoint.parameters:
        default = inspect.Parameter.empty if parameter.default is ... else parameter.default
        parameters.append(inspect.Parameter(parameter.name, kind, default=default, annotation=parameter.kind))
    return inspect.Signature(parameters, return_annotation=dict)


def document(endpoint: Endpoint) -> str:
    """What *endpoint* is for and its arguments, as gradio reads a docstring."""
    lines = [endpoint.about, "Parameters:"]
    lines += [f"{parameter.name}: {parameter.about}" for parameter in endpoint.parameters]
    return "\n".join(lines)


def mount(app: Any, calls: EndpointCalls, settings: Settings) -> Any:
    """Mount gradio with the endpoints in the FastAPI *app*, after all its other routes, and return it."""
    blocks = build(calls.endpoints.values())
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
    gradio.app = Calls(gradio.app, calls)
    return mounted

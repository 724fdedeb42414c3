"""Owner binding: whose event it is, and a handler that sees only what that owner may see."""

import inspect
import logging
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import gradio as gr

from bertexplorer.errors import unforeseen

log = logging.getLogger("bertexplorer.ui.personal")  # the name that readers of the log know


def owner_of(request: gr.Request) -> str:
    """The owner, as the server read it from the browser's cookie; "" without a server, as in tests."""
    return str(getattr(getattr(request, "state", None), "owner", ""))


@contextmanager
def explained(name: str) -> Iterator[None]:
    """Report an unexpected error in a sentence, where gradio would only say "Error"."""
    try:
        yield
    except gr.Error:
        raise
    except Exception as error:
        raise gr.Error(unforeseen(log, "an event failed", event=name), duration=None, print_exception=False) from error


def bind_owner(handler: Callable[..., Any], *first: Any) -> Callable[..., Any]:
    """A handler that calls the bound method *handler* on the object that `of(owner)` returns for the owner of the
    event.

    *first*: arguments that come before the values from the page."""
    whose, method = handler.__self__, handler.__func__  # type: ignore[attr-defined]
    names = inspect.signature(handler).parameters
    hints = typing.get_type_hints(handler)
    special = [name for name in names if hints.get(name) in (gr.Request, gr.EventData)]
    asks = "request" in special

    def call(request: gr.Request, *values: Any) -> Any:
        count = len(special) - asks
        given = [*([request] if asks else []), *values[:count], *first, *values[count:]]
        return method(whose.of(owner_of(request)), *given)

    @wraps(handler)
    def one(request: gr.Request, *values: Any) -> Any:
        with explained(handler.__name__):
            return call(request, *values)

    @wraps(handler)
    def several(request: gr.Request, *values: Any) -> Any:
        with explained(handler.__name__):
            yield from call(request, *values)

    made = several if inspect.isgeneratorfunction(handler) else one
    rest = [names[name] for name in special if name != "request"]
    rest += [one for name, one in names.items() if name not in special][len(first) :]
    head = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request)
    made.__signature__ = inspect.Signature([head, *rest])  # type: ignore[attr-defined]
    made.__annotations__ = {**{name: hints[name] for name in special}, "request": gr.Request}
    return made

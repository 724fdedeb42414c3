"""Owner binding: find the owner of an event, restrict its handler to what that owner may see, and show its errors."""

import inspect
import logging
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

import gradio as gr

from bertexplorer.errors import ExplorerError, unforeseen

log = logging.getLogger("bertexplorer.web.personal")  # a stable name, which log filters may use


def owner_of(request: gr.Request) -> str:
    """The owner, as the server read it from the browser's cookie; "" without a server, as in tests."""
    return str(getattr(getattr(request, "state", None), "owner", ""))


@contextmanager
def report_errors(name: str) -> Iterator[None]:
    """Turn an unexpected error into a readable message; gradio would only show "Error"."""
    try:
        yield
    except gr.Error:
        raise
    except Exception as error:
        raise gr.Error(unforeseen(log, "an event failed", event=name), duration=None, print_exception=False) from error


def bind_owner(handler: Callable[..., Any], *first: Any) -> Callable[..., Any]:
    """Return a handler that calls the bound method *handler* on the object that `for_owner(owner)` returns for the
    owner of the event. What `error(error)` of that object returns for an ExplorerError is the handler's answer, or its
    last one if it is a generator.

    *first*: arguments that come before the values from the page."""
    target, method = handler.__self__, handler.__func__  # type: ignore[attr-defined]
    names = inspect.signature(handler).parameters
    hints = typing.get_type_hints(handler)
    special = [name for name in names if hints.get(name) in (gr.Request, gr.EventData)]
    takes_request = "request" in special

    def call(request: gr.Request, *values: Any) -> Any:
        count = len(special) - takes_request
        arguments = [*([request] if takes_request else []), *values[:count], *first, *values[count:]]
        return method(target.for_owner(owner_of(request)), *arguments)

    @wraps(handler)
    def run_once(request: gr.Request, *values: Any) -> Any:
        with report_errors(handler.__name__):
            try:
                return call(request, *values)
            except ExplorerError as error:
                return target.error(error)

    @wraps(handler)
    def run_generator(request: gr.Request, *values: Any) -> Any:
        with report_errors(handler.__name__):
            try:
                yield from call(request, *values)
            except ExplorerError as error:
                yield target.error(error)

    bound = run_generator if inspect.isgeneratorfunction(handler) else run_once
    parameters = [names[name] for name in special if name != "request"]
    parameters += [parameter for name, parameter in names.items() if name not in special][len(first) :]
    head = inspect.Parameter("request", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=gr.Request)
    bound.__signature__ = inspect.Signature([head, *parameters])  # type: ignore[attr-defined]
    bound.__annotations__ = {**{name: hints[name] for name in special}, "request": gr.Request}
    return bound

"""What a person does, as the handlers of the page hear of it."""

from types import SimpleNamespace

import gradio as gr

from bertexplorer.ui.handlers import Handlers


def asking(tab: str, **query: str) -> SimpleNamespace:
    return SimpleNamespace(session_hash=tab, query_params=query)


def told(**data: object) -> SimpleNamespace:
    return SimpleNamespace(_data=data)


def values(handlers: Handlers, text: str, memory: object = None) -> list[object]:
    settings = [component.value for _, _, component in handlers.screen.settings()]
    return [memory, text, "", "auto", "", "", *settings]


def typing(handlers: Handlers, tab: str, text: str, memory: object = None, **typed: str):
    """A person types *text*, or *typed* elsewhere."""
    boxes = values(handlers, text, memory)
    return handlers.edit(asking(tab), told(typed=typed or {"text": text}), *boxes)


def open_page(handlers: Handlers, tab: str, **link: str):
    """The page opens; what its link asks for, or the opening example, is answered."""
    *_, said = handlers.open(asking(tab, **link))
    return handlers.opened(asking(tab), said.get(handlers.screen.message))


def nothing(handlers: Handlers) -> dict:
    return {handlers.screen.message: gr.skip()}

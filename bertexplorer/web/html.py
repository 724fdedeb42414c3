"""HTML of the pages Train and Pretrain; everything from outside is escaped here."""

import re
from html import escape
from typing import Any

import gradio as gr

from bertexplorer.settings import ASSETS

TOGETHER = re.compile(r"(?<=[<>]) (?=\d)|(?<=\d) (?=%)")  # spaces between a number and its signs, as in kit.js


def snippet(text: str, **settings: Any) -> gr.HTML:
    """HTML in the page's own style."""
    return gr.HTML(text, apply_default_css=False, **settings)


def script(name: str) -> str:
    return (ASSETS / name).read_text("utf-8")


def caption(said: str, note: str) -> str:
    """The caption of a figure, with a note on how not to misread it."""
    unbroken = TOGETHER.sub("\u00a0", said)
    return (
        f'<p class="said" role="status" dir="auto">{escape(unbroken)}</p>'
        + f'<details class="misread"><summary>How not to misread this</summary><p>{escape(note)}</p></details>'
        * bool(note)
    )


def message(text: str, *, error: bool = True) -> str:
    """A message for the user: an error or the current activity."""
    if not text:
        return ""
    kind, role = ("error", "alert") if error else ("busy", "status")
    return f'<p class="message {kind}" role="{role}" dir="auto">{escape(text)}</p>'

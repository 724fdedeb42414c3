"""Prose: Markdown as a tree of the few elements that a lesson may use. HTML in a lesson stays text."""

from __future__ import annotations

from html import escape
from typing import Any

from markdown_it import MarkdownIt

from bertexplorer.core.state import scrub

Tree = list[Any]  # of strings and of [name, attributes, children]
ELEMENTS = {"p", "em", "strong", "code", "pre", "ul", "ol", "li", "a", "blockquote", "h2", "h3", "h4", "br"}
READER = MarkdownIt("commonmark", {"html": False}).disable(["image", "html_block", "html_inline"])


def tree(source: str) -> Tree:
    """*source* as nested elements.

    Example:
        >>> tree("A *word*.")
        [['p', {}, ['A ', ['em', {}, ['word']], '.']]]
    """
    tokens = []
    for block in READER.parse(scrub(source)):
        tokens += block.children or [block]
    root: Tree = []
    open_elements = [root]  # the children of each, from the outermost element to the innermost
    for token in tokens:
        children = open_elements[-1]
        if token.nesting == 1:
            name = token.tag if token.tag in ELEMENTS else "p"
            inside: Tree = []
            children.append([name, attributes(token.attrs), inside])
            open_elements.append(inside)
        elif token.nesting == -1:
            open_elements.pop()
        elif token.type == "softbreak":
            children.append(" ")
        elif token.type == "hardbreak":
            children.append(["br", {}, []])
        elif token.type == "code_inline":
            children.append(["code", {"translate": "no"}, [token.content]])
        elif token.type in ("fence", "code_block"):
            children.append(["pre", {"translate": "no"}, [token.content]])
        elif token.content:
            children.append(token.content)
    return root


def inline(source: str) -> Tree:
    """*source* as nested elements, without the paragraph around a single paragraph."""
    elements = tree(source)
    if len(elements) == 1 and elements[0][0] == "p":
        return elements[0][2]
    return elements


def attributes(attrs: Any) -> dict[str, str]:
    """The safe attributes of an element: a link to one of our pages or to the web."""
    href = str(attrs.get("href", ""))
    if not href.startswith(("https://", "http://", "/", "#", "?")):
        return {}
    return {"href": href}


def html(parts: Tree) -> str:
    """A tree as HTML."""
    written = []
    for part in parts:
        if isinstance(part, str):
            written.append(escape(part))
            continue
        name, attrs, children = part
        if name == "br":
            written.append("<br>")
            continue
        attributes = "".join(f' {key}="{escape(value)}"' for key, value in attrs.items())
        written.append(f"<{name}{attributes}>{html(children)}</{name}>")
    return "".join(written)


def plain(source: str) -> str:
    """The text of *source*, without markup."""
    return words(tree(source))


def quoted(source: str) -> str:
    """The text of *source* for a place without italics: what they quote is in quotation marks, unless it is the whole.

    Example:
        >>> quoted("What does *not* do?")
        'What does “not” do?'
    """
    parts = inline(source)
    return words(parts, quotes=len(parts) > 1)


def words(parts: Tree, quotes: bool = False) -> str:
    """The text of a tree on one line, in which *quotes* puts quotation marks around emphasis."""

    def text(part: Any) -> str:
        if isinstance(part, str):
            return part
        name, _, children = part
        inside = "".join(text(child) for child in children)
        if quotes and name == "em":
            return f"“{inside}”"
        return inside

    return " ".join("".join(text(part) for part in parts).split())

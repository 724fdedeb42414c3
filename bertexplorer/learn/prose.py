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
    root: Tree = []
    stack = [root]
    for token in [part for block in READER.parse(scrub(source)) for part in (block.children or [block])]:
        if token.nesting == 1:
            children: Tree = []
            stack[-1].append([token.tag if token.tag in ELEMENTS else "p", attributes(token.attrs), children])
            stack.append(children)
        elif token.nesting == -1:
            stack.pop()
        elif token.type in ("softbreak", "hardbreak"):
            stack[-1].append(" " if token.type == "softbreak" else ["br", {}, []])
        elif token.type == "code_inline":
            stack[-1].append(["code", {"translate": "no"}, [token.content]])
        elif token.type in ("fence", "code_block"):
            stack[-1].append(["pre", {"translate": "no"}, [token.content]])
        elif token.content:
            stack[-1].append(token.content)
    return root


def inline(source: str) -> Tree:
    """*source* as nested elements, without the paragraph around a single paragraph."""
    elements = tree(source)
    return elements[0][2] if len(elements) == 1 and elements[0][0] == "p" else elements


def attributes(attrs: Any) -> dict[str, str]:
    """The safe attributes of an element: a link to one of our pages or to the web."""
    href = str(attrs.get("href", ""))
    return {"href": href} if href.startswith(("https://", "http://", "/", "#", "?")) else {}


def html(parts: Tree) -> str:
    """A tree as HTML."""
    return "".join(escape(part) if isinstance(part, str) else element(*part) for part in parts)


def element(name: str, attrs: dict[str, str], children: Tree) -> str:
    """An element as HTML."""
    text = "".join(f' {key}="{escape(value)}"' for key, value in attrs.items())
    return "<br>" if name == "br" else f"<{name}{text}>{html(children)}</{name}>"


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
    """The text of a tree, in which *quotes* puts quotation marks around emphasis."""

    def text(part: Any) -> str:
        if isinstance(part, str):
            return part
        inside = "".join(map(text, part[2]))
        return f"“{inside}”" if quotes and part[0] == "em" else inside

    return " ".join("".join(map(text, parts)).split())

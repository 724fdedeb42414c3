"""Finds: conditions and texts as trees, so that a browser grades what a person finds and reads no Python or Markdown.

A condition is [name, …]: an operator or a fact and its arguments. A text is the tree of prose.py, in which a slot is
{value, form}. web/static/site/facts.js evaluates both.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import views_of
from bertexplorer.learn.expressions import SLOT, WANTED, Expression
from bertexplorer.learn.lesson import Block
from bertexplorer.learn.prose import Tree, inline, tree
from bertexplorer.site.offer import Offer
from bertexplorer.views import VIEWS
from bertexplorer.views.facts import fact_methods

OPERATORS: dict[type[ast.AST], str] = {
    ast.And: "and",
    ast.Or: "or",
    ast.Not: "not",
    ast.USub: "-",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
PLACE = "\ue000"  # stands for a slot while Markdown is read; not a space or punctuation, which would end an emphasis
QUOTED = '"'  # the form of a slot whose word gets quotation marks


def find_key(block: Block, offer: Offer) -> dict[str, Any] | None:
    """What a browser needs to grade the find *block*; None if its view does not run there. Raises ExplorerError for an
    expression that cannot be read."""
    view = next(iter(views_of(block)), "")
    if not offer.has(view):
        return None
    names = fact_methods(VIEWS[view].analysis.Facts)
    wanted = Expression.read(block.fields["accept"], names)
    return {
        "accept": expression(wanted.tree),
        "near": [[expression(Expression.read(test, names).tree), text(hint, tree, names)] for test, hint in block.near],
        "limits": wanted.limits,
        "found": text(block.fields.get("found", ""), inline, names),
        "unmet": [unmet(part) for part in parts_of(wanted.tree)],
        "example": inline(block.shown_example),
        "hint": text(block.fields.get("hint", ""), tree, names),
        "after": text(block.fields.get("after", ""), tree, names),
    }


def expression(node: ast.expr) -> Any:
    """A checked *node* as [name, …]; a number or a word stays what it is."""
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Call(func=ast.Name(id=name), args=arguments):
            return [name, *map(expression, arguments)]
        case ast.BoolOp(op=op, values=values):
            return [OPERATORS[type(op)], *map(expression, values)]
        case ast.UnaryOp(op=op, operand=operand):
            return [OPERATORS[type(op)], expression(operand)]
        case ast.BinOp(left=left, op=op, right=right):
            return [OPERATORS[type(op)], expression(left), expression(right)]
        case ast.Compare(left=left, ops=ops, comparators=others):
            sides = [expression(side) for side in (left, *others)]
            return ["and", *([OPERATORS[type(op)], *pair] for op, *pair in zip(ops, sides, sides[1:], strict=False))]
    raise ExplorerError(f"{ast.unparse(node)} is named but not called; write {ast.unparse(node)}().")


def text(source: str, read: Callable[[str], Tree], names: Mapping[str, Any]) -> Tree:
    """*source* as *read* makes a tree of it, with its slots."""
    values = ((expression(Expression.read(match[1], names).tree), match[2] or "") for match in SLOT.finditer(source))
    slots = [{"value": value, "form": form} for value, form in values]
    return with_slots(read(SLOT.sub(PLACE, source)), iter(slots))


def with_slots(parts: Tree, slots: Iterator[Any]) -> Tree:
    """*parts* with the next of *slots* in each place of one."""
    out: Tree = []
    for part in parts:
        if isinstance(part, str):
            first, *others = part.split(PLACE)
            out.append(first)
            for other in others:
                out += [next(slots), other]
        else:
            name, attributes, children = part
            out.append([name, attributes, with_slots(children, slots)])
    return [part for part in out if part != ""]


def parts_of(node: ast.expr) -> list[ast.expr]:
    """The conditions that *node* joins with and."""
    return node.values if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And) else [node]


def unmet(node: ast.expr) -> list[Any]:
    """[condition, what is said if it does not hold, the limit to tell from], as `Expression.describe` says it."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            limit = PLACE if isinstance(right, ast.Constant) else f"`{ast.unparse(right)}`, which is {PLACE}"
            said = inline(f"`{ast.unparse(left)}` is {PLACE}; wanted: {WANTED[type(op)]}{limit}.")
            slots = [{"value": expression(side), "form": QUOTED} for side in (left, right)]
            return [expression(node), with_slots(said, iter(slots)), expression(right)]
    return [expression(node), inline(f"`{ast.unparse(node)}` does not hold."), None]

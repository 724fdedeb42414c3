"""Expressions: the small, closed language in which lessons query facts: numbers, words and comparisons.

Python's parser reads an expression, and this module evaluates it node by node. An expression can name and call facts,
compare, calculate, and join conditions with and, or, not. It has no attributes, subscripts, assignments, loops or
imports, so a lesson from a stranger can do nothing but query facts.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from bertexplorer.errors import ExplorerError

MORE_DIGITS = 3  # at most, for a value that is close to a limit
MAX_LENGTH = 1000
MAX_NODES = 200
MAX_DEPTH = 30
Value = float | str | bool
ARITHMETIC: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
COMPARISONS: dict[type[ast.AST], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
WANTED: dict[type[ast.AST], str] = {
    ast.Eq: "",
    ast.NotEq: "other than ",
    ast.Lt: "less than ",
    ast.LtE: "at most ",
    ast.Gt: "more than ",
    ast.GtE: "at least ",
}
ORDERED = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": abs, "min": min, "max": max, "len": len, "log2": math.log2}
ALLOWED_NODES = (
    *(ast.Expression, ast.BoolOp, ast.And, ast.Or, ast.UnaryOp, ast.Not, ast.USub, ast.BinOp, ast.Compare),
    *(ast.Call, ast.Name, ast.Load, ast.Constant, *ARITHMETIC, *COMPARISONS),
)
SLOT = re.compile(r"\{([^{}]+?)(?::(%|\.\d%|\.\d|,))?\}")  # {is_next():%} in a sentence


@dataclass(frozen=True)
class Expression:
    """A parsed expression that uses only the language and the facts on offer."""

    source: str
    tree: ast.expr

    @classmethod
    def read(cls, source: str, names: Mapping[str, Any]) -> Expression:
        """Parse *source*, which may call FUNCTIONS and *names*. Raises ExplorerError for anything else.

        Example:
            >>> Expression.read("is_next() > 0.5", {"is_next": ...}).value({"is_next": lambda: 0.8})
            True
        """
        source = source.strip()
        if not source or len(source) > MAX_LENGTH:
            raise ExplorerError(f"An expression has {len(source):,} characters; wanted 1 to {MAX_LENGTH:,}.")
        try:
            tree = ast.parse(source, mode="eval")
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise ExplorerError(
                f"{source!r:.80} is not an expression; wanted something like is_next() > 0.5."
            ) from error
        nodes = list(ast.walk(tree))
        if len(nodes) > MAX_NODES or depth(tree) > MAX_DEPTH:
            raise ExplorerError(f"{source!r:.80} is too long for an expression; split it.")
        for node in nodes:
            check(node, source, names)
        return cls(source, tree.body)

    def value(self, facts: Mapping[str, Callable[..., Value]]) -> Value:
        """The value, computed by calling *facts*. Raises ExplorerError if a fact is not available or an operation makes
        no sense, such as a word divided by a number."""
        try:
            value = evaluate(self.tree, {**FUNCTIONS, **facts})
            if not isinstance(value, str | bool):
                value = float(value)
        except (TypeError, ValueError, IndexError, KeyError, ZeroDivisionError, OverflowError) as error:
            if isinstance(error, ExplorerError):
                raise
            raise ExplorerError(f"{self.source!r:.80} cannot be evaluated: {error}.") from error
        if isinstance(value, float) and not math.isfinite(value):
            reason = "not a number" if math.isnan(value) else "infinite"
            raise ExplorerError(f"{self.source!r:.80} has no value here ({reason}).")
        return value

    def number(self, facts: Mapping[str, Callable[..., Value]]) -> float:
        """The value, which must be a number. Raises ExplorerError."""
        value = self.value(facts)
        if isinstance(value, str):
            raise ExplorerError(f"{self.source!r:.80} is the word {value!r:.40}; wanted a number.")
        return float(value)

    def holds(self, facts: Mapping[str, Callable[..., Value]]) -> bool:
        """The value, which must be true or false. Raises ExplorerError."""
        value = self.value(facts)
        if not isinstance(value, bool):
            raise ExplorerError(f"{self.source!r:.80} is {value!r:.40}; wanted a condition, such as is_next() > 0.5.")
        return value

    def unmet(self, facts: Mapping[str, Callable[..., Value]]) -> list[str]:
        """The conditions that do not hold, in Markdown, each with what was found and what was wanted.

        Example:
            >>> Expression.read("p() > 0.5 and 1 < 2", {"p": ...}).unmet({"p": lambda: 0.3})
            ['`p()` is 0.3; wanted: more than 0.5.']
        """
        parts = [self.tree]
        if isinstance(self.tree, ast.BoolOp) and isinstance(self.tree.op, ast.And):
            parts = self.tree.values
        sentences = []
        for part in parts:
            condition = Expression(ast.unparse(part), part)
            with suppress(ExplorerError):  # a later condition may make sense only if an earlier one holds
                if not condition.holds(facts):
                    sentences.append(condition.describe(facts))
        return sentences

    @property
    def limits(self) -> tuple[float, ...]:
        """The numbers that it compares something with."""
        numbers = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Compare):
                for side in (node.left, *node.comparators):
                    if isinstance(side, ast.Constant) and isinstance(side.value, int | float):
                        numbers.append(float(side.value))
        return tuple(numbers)

    def describe(self, facts: Mapping[str, Callable[..., Value]]) -> str:
        """What was found for a condition that does not hold, and what was wanted. Raises ExplorerError."""
        match self.tree:
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                limit = Expression(self.source, right).value(facts)
                limits = [] if isinstance(limit, str) else [float(limit)]
                measured = quote(Expression(self.source, left).value(facts), limits)
                wanted = quote(limit)
                if not isinstance(right, ast.Constant):
                    wanted = f"`{ast.unparse(right)}`, which is {wanted}"
                return f"`{ast.unparse(left)}` is {measured}; wanted: {WANTED[type(op)]}{wanted}."
        return f"`{self.source}` does not hold."


def check(node: ast.AST, source: str, names: Mapping[str, Any]) -> None:
    """Raises ExplorerError for a *node* outside the language, or a name that is not on offer."""
    if not isinstance(node, ALLOWED_NODES):
        raise ExplorerError(f"{source!r:.80} has {type(node).__name__}, which lessons cannot use.")
    if isinstance(node, ast.Constant) and not isinstance(node.value, int | float | str):
        raise ExplorerError(f"{source!r:.80} has {node.value!r:.40}; wanted numbers and words.")
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and node.value > sys.float_info.max:
        raise ExplorerError(f"{source!r:.80} has a number above {sys.float_info.max:.1e}; wanted a smaller one.")
    if isinstance(node, ast.Call) and not (isinstance(node.func, ast.Name) and not node.keywords):
        raise ExplorerError(f"{source!r:.80} calls something that is not a fact.")
    if isinstance(node, ast.Name) and node.id not in FUNCTIONS and node.id not in names:
        offered = ", ".join(sorted(names)) or "no facts"
        raise ExplorerError(f"{source!r:.80} names {node.id!r:.40}, which this view does not offer; it has {offered}.")
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        for is_word, argument in zip(word_arguments(names.get(node.func.id)), node.args, strict=False):
            if is_word and isinstance(argument, ast.Constant) and not isinstance(argument.value, str):
                raise ExplorerError(f"{source!r:.80} has {argument.value!r:.40} where a word in quotes is wanted.")


def depth(tree: ast.AST) -> int:
    """The number of levels of the tree. Without recursion, which a deep tree would exhaust."""
    levels = 0
    nodes = [tree]
    while nodes:
        children: list[ast.AST] = []
        for node in nodes:
            children += ast.iter_child_nodes(node)
        nodes = children
        levels += 1
    return levels


def evaluate(node: ast.expr, names: Mapping[str, Callable[..., Any]]) -> Any:
    """The value of a checked *node*. Raises TypeError, ValueError and the like if it has none."""
    match node:
        case ast.Constant():
            return node.value
        case ast.Call(func=ast.Name() as called):
            return call(called.id, names[called.id], [evaluate(argument, names) for argument in node.args])
        case ast.BoolOp():
            join = all if isinstance(node.op, ast.And) else any
            return join(truth(evaluate(operand, names)) for operand in node.values)
        case ast.UnaryOp(op=ast.Not()):
            return not truth(evaluate(node.operand, names))
        case ast.UnaryOp():
            return -number(evaluate(node.operand, names))
        case ast.BinOp():
            left = number(evaluate(node.left, names))
            right = number(evaluate(node.right, names))
            return ARITHMETIC[type(node.op)](left, right)
        case ast.Compare():
            values = [evaluate(operand, names) for operand in (node.left, *node.comparators)]
            return all(compare(op, a, b) for op, a, b in zip(node.ops, values, values[1:], strict=False))
    raise TypeError(f"{ast.unparse(node)} is named but not called; write {ast.unparse(node)}()")


def call(name: str, fact: Callable[..., Any], arguments: Sequence[Any]) -> Any:
    """Call the *fact* called *name*. Raises TypeError if it takes a word and is given something else."""
    for is_word, value in zip(word_arguments(fact), arguments, strict=False):
        if is_word and not isinstance(value, str):
            raise TypeError(f"{name}() takes a word in quotes here, not {value!r:.40}")
    return fact(*arguments)


def word_arguments(fact: Any) -> list[bool]:
    """For each argument of *fact*, in order, whether it must be a word; none for what has no annotations."""
    annotations = getattr(fact, "__annotations__", {})
    return [kind == "str" for argument, kind in annotations.items() if argument != "return"]


def compare(op: ast.cmpop, left: Any, right: Any) -> bool:
    """Whether *left* *op* *right*. Raises TypeError where words are put in order."""
    if isinstance(op, ORDERED):
        left, right = number(left), number(right)
    return bool(COMPARISONS[type(op)](left, right))


def number(value: Any) -> float:
    """*value* itself. Raises TypeError for anything but a number."""
    if isinstance(value, bool | str) or not isinstance(value, int | float):
        raise TypeError(f"{value!r:.40} is not a number")
    return value


def truth(value: Any) -> bool:
    """*value* itself. Raises TypeError for anything but true and false."""
    if not isinstance(value, bool):
        raise TypeError(f"{value!r:.40} is not a condition")
    return value


def quote(value: Value, beside: Sequence[float] = ()) -> str:
    """*value* in a sentence, a word in quotation marks; *beside* as in `format_value`."""
    return f"“{value}”" if isinstance(value, str) else format_value(value, "", beside)


def format_value(value: Value, form: str = "", beside: Sequence[float] = ()) -> str:
    """*value* in a sentence: *form* is "%" for per cent, ".2" for digits, "," for thousands. *beside*: limits that were
    asked for; if rounding makes the value look like one of them, it gets more digits.

    Example:
        >>> format_value(0.502, "%"), format_value(0.502, "%", [0.5])
        ('50 %', '50.2 %')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "yes" if value else "no"
    limits = [limit for limit in beside if limit != value]
    for more in range(MORE_DIGITS + 1):
        text = format_number(value, form, more)
        if text not in [format_number(limit, form, more) for limit in limits]:
            return text
    return format_number(value, form)  # more digits would not help


def format_number(value: float, form: str, more: int = 0) -> str:
    """*value* in the *form* of format_value, with *more* digits."""
    if form == ",":
        text = f"{value:,.{more}f}"
    elif form.endswith("%"):
        text = f"{100 * value:.{int(form[1:-1] or 0) + more}f} %"
    elif form:
        text = f"{value:.{int(form[1:]) + more}f}"
    else:
        text = f"{value:.{3 + more}g}"
    return text.replace("-", "−")


def slots(sentence: str) -> list[str]:
    """The expressions in the braces of *sentence*."""
    return [match[1] for match in SLOT.finditer(sentence)]


def fill_slots(sentence: str, facts: Mapping[str, Callable[..., Value]], beside: Sequence[float] = ()) -> str:
    """*sentence* with its expressions evaluated; *beside* as in `format_value`. Raises ExplorerError."""

    def written(slot: re.Match[str]) -> str:
        value = Expression.read(slot[1], facts).value(facts)
        return format_value(value, slot[2] or "", beside)

    return SLOT.sub(written, sentence)

"""Three plain lines before one dense one: what the package does without."""

import ast
from collections.abc import Iterator

import pytest

from tests.conftest import ROOT

TREES = {path: ast.parse(path.read_text("utf-8")) for path in (ROOT / "bertexplorer").rglob("*.py")}


def nested_conditionals(tree: ast.AST) -> Iterator[ast.AST]:
    """Conditional expressions with another one inside."""
    for node in ast.walk(tree):
        if isinstance(node, ast.IfExp):
            inside = (inner for part in (node.test, node.body, node.orelse) for inner in ast.walk(part))
            if any(isinstance(inner, ast.IfExp) for inner in inside):
                yield node


def packed_assignments(tree: ast.AST) -> Iterator[ast.AST]:
    """Assignments of three or more values to as many names."""
    for node in ast.walk(tree):
        packed = isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and len(node.value.elts) >= 3
        if packed and any(isinstance(target, ast.Tuple) for target in node.targets):
            yield node


def products_with_a_condition(tree: ast.AST) -> Iterator[ast.AST]:
    """A text or list times a condition, which stands for "if"."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            sides = (node.left, node.right)
            repeated = any(isinstance(side, ast.JoinedStr | ast.List | ast.Constant) for side in sides)
            if repeated and any(is_condition(side) for side in sides):
                yield node


def is_condition(node: ast.AST) -> bool:
    is_bool = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "bool"
    negated = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
    return is_bool or negated or isinstance(node, ast.Compare)


FORBIDDEN = {
    "nested conditional expressions": (nested_conditionals, 0),
    "assignments of three names": (packed_assignments, 0),
    "products with a condition": (products_with_a_condition, 1),  # a sum of flags
}


@pytest.mark.parametrize("what", FORBIDDEN)
def test_there_are_none(what: str) -> None:
    find, allowed = FORBIDDEN[what]
    found = [f"{path.relative_to(ROOT)}:{node.lineno}" for path, tree in TREES.items() for node in find(tree)]
    assert len(found) <= allowed, found


def test_they_would_be_found() -> None:
    text = "x = 1 if a else 2 if b else 3\na, b, c = 1, 2, 3\nx = 's' * (n > 1) + [a] * bool(a)"
    assert [len(list(find(ast.parse(text)))) for find, _ in FORBIDDEN.values()] == [1, 1, 2]

"""Expressions of lessons: their values, and the rejection of everything outside the language."""

import math

import pytest
from hypothesis import given, strategies as st

from bertexplorer.errors import ExplorerError
from bertexplorer.learn.expressions import Expression, fill_slots, slots

FACTS = {"p": {"paris": 0.75, "rome": 0.125}.__getitem__, "top": lambda: "paris", "none": lambda: math.nan}


@pytest.mark.parametrize(
    ("source", "value"),
    [
        ('p("paris")', 0.75),
        ('p("paris") - p("rome") * 2', 0.5),
        ('log2(p("rome"))', -3.0),
        ('-p("rome") / (1 - 0.5)', -0.25),
        ('0.1 < p("rome") < 0.2', True),
        ('top() == "paris" and not p("rome") > 0.5', True),
        ('p("rome") > 0.5 or len(top()) == 5', True),
        ("max(1, 2, 3) + min(4, 5) + abs(-6)", 13.0),
        ("top()", "paris"),
    ],
)
def test_expressions_have_their_values(source, value):
    assert Expression.read(source, FACTS).value(FACTS) == value


@pytest.mark.parametrize(
    "source",
    [
        "p.__class__",
        "top().upper()",
        "p('paris')[0]",
        "[1, 2]",
        "lambda: 1",
        "(x := 1)",
        "p(word='paris')",
        "__import__('os')",
        "open('/etc/passwd')",
        "f'{top()}'",
        "2 ** 9",
        "7 // 2",
        "1 if top() else 2",
        "{top()}",
        "b'x'",
        "None",
        "1j",
        "p(*top())",
        "x for x in top()",
        "import os",
        "",
        "1" * 1001,
        "+".join(["1"] * 150),
        "(" * 90 + "1" + ")" * 90 + "".join("+(1" for _ in range(29)) + ")" * 29,
        "not " * 40 + "(1 > 0)",
    ],
)
def test_other_python_syntax_is_rejected(source):
    with pytest.raises(ExplorerError):
        Expression.read(source, FACTS).value(FACTS)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("'a' * 1000000000", "not a number"),
        ("'a' + 'b'", "not a number"),
        ("1 / 0", "division by zero"),
        ("p('london')", "london"),
        ("p('rome', 3)", "cannot be evaluated"),
        ("none()", "not a number"),
        ("top() > 0.5", "not a number"),
        ("p('rome') and top()", "not a condition"),
        ("top", "write top()"),
        ("top(", "not an expression"),
        ("bottom()", "it has none, p, top"),
    ],
)
def test_meaningless_operations_are_errors(source, message):
    with pytest.raises(ExplorerError, match=message.replace("(", r"\(").replace(")", r"\)")):
        Expression.read(source, FACTS).value(FACTS)


@given(st.text(max_size=60))
def test_any_text_gives_a_value_or_an_error(source):
    try:
        assert isinstance(Expression.read(source, FACTS).value(FACTS), float | str | bool)
    except ExplorerError as error:
        assert str(error)


def test_numbers_and_conditions_are_distinguished():
    with pytest.raises(ExplorerError, match="wanted a number"):
        Expression.read("top()", FACTS).number(FACTS)
    with pytest.raises(ExplorerError, match="wanted a condition"):
        Expression.read("p('rome')", FACTS).holds(FACTS)


def test_slots_in_sentences_are_filled():
    sentence = "{top()} has {p('paris'):%}, or {p('rome'):.1%}; {p('rome'):.2}; {p('rome') * 20000:,}; {p('rome')}."
    assert fill_slots(sentence, FACTS) == "paris has 75 %, or 12.5 %; 0.12; 2,500; 0.125."
    assert slots("{top()} of {p('rome'):%}") == ["top()", "p('rome')"]
    assert fill_slots("No braces {} here.", FACTS) == "No braces {} here."

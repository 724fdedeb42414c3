"""Parsing lessons: faulty parts are reported with their line, and the rest stays."""

import pytest

from bertexplorer.learn.lesson import KINDS, read_lesson
from bertexplorer.learn.prose import html, inline, plain, tree

HEAD = """---
title: Masks
question: Which?
topic: Fill-mask
minutes: 3
can: say
guards: nothing
sources: [a]
---
"""
GUESS = """```predict first
Which *word*?
- [ ] Paris
  > No,
  > not Paris.
- [ ] Rome
  > Yes.
  when: top() == "rome"
view: /?view=fill-mask&text=a
key: top()
```"""


def test_prose_and_blocks_keep_their_order():
    lesson = read_lesson(f"{HEAD}Hello *you*.\n\n{GUESS}\n\nBye.", "masks")
    assert not lesson.problems
    before, block, after = lesson.parts
    assert (before, after) == ("Hello *you*.", "Bye.")
    assert (block.kind, block.id, block.prompt, block.line) == ("predict", "first", "Which *word*?", 12)
    assert block.fields == {"view": "/?view=fill-mask&text=a", "key": "top()"}
    assert [(item.text, item.feedback, item.when) for item in block.items] == [
        ("Paris", "No, not Paris.", ""),
        ("Rome", "Yes.", 'top() == "rome"'),
    ]


def test_a_view_that_would_answer_a_later_question_is_not_shown():
    quiet, odd = (read_lesson(HEAD + GUESS.replace("key:", f"show: {word}\nkey:"), "masks") for word in ("no", "maybe"))
    assert (quiet.blocks[0].link, quiet.blocks[0].shown) == ("/?view=fill-mask&text=a", "")
    assert read_lesson(HEAD + GUESS, "masks").blocks[0].shown == "/?view=fill-mask&text=a"
    assert not odd.blocks and "'maybe' is not what show: may say" in odd.problems[0].text


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        ("```quiz one\nWhat?\n```", 10, "'quiz one' is not a block"),
        ("```predict One\nWhat?\n```", 10, "small letters"),
        ("```predict\nWhat?\n```", 10, "is not a block"),
        ("```say a\nWhat?\n```", 10, "The say a has no model:"),
        ("```say a\nmodel: x\n```", 10, "asks nothing"),
        ("```say a\nWhat?\nmodel: x\n```\n```say a\nWhat?\nmodel: x\n```", 14, "'a' occurs twice"),
        ("```predict a\nQ\n- x\n  value: 1\n- y\n- z\nview: v\nkey: k\n```", 10, "every choice but one needs a value"),
        ("```choice a\nQ\n- [x] x\n  value: 1\n- y\n```", 10, "has values but no view:"),
        ("```say a\nWhat?\nkey: 1\nmodel: x\n```", 12, "A say has no key:"),
        ("```say a\nWhat?\nmodel: x\nmore\n```", 13, "belongs to nothing"),
        ("```say a\nWhat?\nmodel: x", 10, "has no end"),
        ("```choice a\nWhat?\n- [ ] x\n- [ ] y\n```", 10, "0 right answers"),
        ("```choice a\nWhat?\n- [x] x\n```", 10, "1 choices"),
        ("```predict a\nWhat?\n- [ ] x\n- [ ] y\n  when: 1 > 0\nview: v\n```", 10, "not every choice has a when:"),
        ("```share a\nWhat?\n- x\n- y\nview: v\n```", 10, "needs a value:"),
        ("```number a\nWhat?\n- around 3\nview: v\nkey: 1\n```", 10, "'around 3' is not a range"),
        ("```find a\nWhat?\nstart: v\naccept: 1 > 0\nnear: 1 > 0\n```", 14, "near:"),
    ],
)
def test_mistakes_are_reported_with_their_line_and_the_rest_stays(body, line, message):
    lesson = read_lesson(f"{HEAD}{body}\n\n{GUESS}" if "no end" not in message else f"{HEAD}{GUESS}\n{body}", "masks")
    matching = [problem for problem in lesson.problems if message in problem.text]
    assert matching, lesson.problems
    assert matching[0].line == (line if "no end" not in message else 21)
    assert any(block.id == "first" for block in lesson.blocks)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("Hello.", "does not begin with front matter"),
        ("---\ntitle: [a\n---\nx", "not YAML"),
        ("---\n- a\n---\nx", "not a list of fields"),
        ("---\ntitle: a\nauthor: b\n---\nx", "'author'"),
        ("---\ntitle: a\n---\nx", "has no question, topic, minutes, can, guards, sources"),
        ("---\n!!python/object/apply:os.system [ls]\n---\nx", "not YAML"),
        ("x" * 100_001, "100,001 characters"),
        ("", "does not begin with front matter"),
    ],
)
def test_invalid_front_matter_is_reported(source, message):
    assert message in " ".join(problem.text for problem in read_lesson(source, "x").problems)


def bomb(levels=7):
    """Front matter of 1 kB whose title expands to 10 ** levels words."""
    lists = [f"&a{i} [{', '.join([f'*a{i - 1}'] * 10) if i else 'x'}]" for i in range(levels)]
    return HEAD.replace("title: Masks", f"title: [{', '.join(lists)}]")


@pytest.mark.parametrize(
    ("name", "value", "wanted"),
    [
        ("title", "[1, 2]", "title: got a list of 2; wanted a text of 1 to 200 characters."),
        ("title", "x" * 201, "title: got 201 characters; wanted a text of 1 to 200"),
        ("title", "", "title: got nothing; wanted a text"),
        ("topic", "[1, 2]", "topic: got a list of 2; wanted a text of 1 to 100"),
        ("guards", "{a: b}", "guards: got further fields; wanted a text of 1 to 1,000 characters. Put text that has"),
        ("minutes", "many", "minutes: got 'many'; wanted a whole number from 1 to 999."),
        ("minutes", ".nan", "minutes: got '.nan'; wanted a whole number"),
        ("minutes", "3.5", "minutes: got '3.5'; wanted a whole number"),
        ("minutes", "0", "minutes: got '0'; wanted a whole number"),
        ("minutes", "[3]", "minutes: got a list of 1; wanted a whole number"),
        ("sources", "7", "sources: got '7'; wanted a list of 1 to 50 texts"),
        ("sources", "[a: b]", "sources: got further fields; wanted a text of 1 to 500"),
        ("sources", f"[{', '.join('abc' for _ in range(51))}]", "sources: got a list of 51; wanted a list"),
        ("can", "[" * 9 + "]" * 9, "lists within lists"),
        ("can", "*word* and more", "Put text that has a colon or begins with a sign in quotes"),
        ("can", "&a x", "has &, * or ! before a value"),
        ("can", "!!python/name:os.system x", "has &, * or ! before a value"),
    ],
)
def test_each_field_of_the_front_matter_has_a_type_and_a_length(name, value, wanted):
    lines = [f"{name}: {value}" if line.startswith(f"{name}:") else line for line in HEAD.split("\n")]
    lesson = read_lesson("\n".join(lines) + GUESS, "masks")
    (problem,) = lesson.problems
    assert wanted in problem.text
    assert lines[problem.line - 1].startswith(name)
    assert name not in lesson.about and [block.id for block in lesson.blocks] == ["first"]


def test_values_are_kept_as_text():
    about = read_lesson(HEAD.replace("Masks", "1984").replace("say", "yes").replace("[a]", "[b, 2]"), "masks").about
    assert (about["title"], about["can"], about["minutes"], about["sources"]) == ("1984", "yes", 3, ["b", "2"])


def test_aliases_of_aliases_are_refused():
    source = bomb()
    assert len(source) < 1000
    lesson = read_lesson(source + GUESS, "masks")
    assert lesson.about == {} and lesson.problems[0].line == 2 and "not YAML that a lesson may use" in str(lesson)


def test_a_file_of_mistakes_has_fifty_problems_at_most():
    assert len(read_lesson("---\n" + "k: v\n" * 3000 + "---\n" + "```quiz\n```\n" * 5000, "x").problems) == 50


def test_every_kind_is_documented(pytestconfig):
    guide = (pytestconfig.rootpath / "docs" / "lessons.md").read_text()
    assert "## Translations" in guide
    for kind, (needs, may) in KINDS.items():
        row = next(line for line in guide.splitlines() if line.startswith(f"| `{kind}`"))
        assert all(f"`{name}`" in row for name in needs | may), (kind, needs | may)


def test_markup_in_a_lesson_stays_text():
    markup = html(
        tree("<script>alert(1)</script> **b** [a](javascript:alert(1)) [c](https://x.org) ![i](/p.png) `x<y`")
    )
    assert "<script" not in markup and 'javascript:alert(1)"' not in markup and "<img" not in markup
    assert "<strong>b</strong>" in markup and '<a href="https://x.org">c</a>' in markup
    assert '<code translate="no">x&lt;y</code>' in markup


def test_prose_has_a_plain_text():
    assert plain("A *word*, `code` and [a link](https://x.org).") == "A word, code and a link."
    assert inline("A *word*.") == ["A ", ["em", {}, ["word"]], "."]

"""Suite: pairs as a person types them."""

from pathlib import Path

import pytest

import bertexplorer as bx
from bertexplorer.errors import ExplorerError
from bertexplorer.views.suite.typed import typed_rows
from tests.conftest import Tiny


def pairs(typed: str) -> list[tuple[int, str, str, str]]:
    return [(line, *cells.values()) for line, cells in typed_rows(typed, "the first is the stereotype")]


def test_a_line_is_a_pair_or_a_sentence_with_alternatives() -> None:
    assert pairs("A cat sleeps. | A cat sleep.\n\n {She|He} is here. ") == [
        (1, "A cat sleeps.", "A cat sleep.", ""),
        (3, "She is here.", "He is here.", ""),
    ]


def test_further_braces_make_pairs_of_their_own() -> None:
    assert pairs("{A | One} cat {sat|} on the {mat|rug}.") == [
        (1, "A cat sat on the mat.", "One cat sat on the mat.", "sat, mat"),
        (1, "A cat sat on the rug.", "One cat sat on the rug.", "sat, rug"),
        (1, "A cat on the mat.", "One cat on the mat.", ", mat"),
        (1, "A cat on the rug.", "One cat on the rug.", ", rug"),
    ]


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("A cat.", "Line 1 is 'A cat.'; wanted two sentences"),
        ("One. | Two.\nA | B | C", "Line 2 is"),
        ("A cat. |", "wanted two sentences"),
        ("The {cat|dog sleeps.", "Line 1 is .*a brace has no partner"),
        ("The {cat} or {a|b}.", "a brace has no partner, or no | within"),
        ("{a|b|c} cat", "Line 1 has 3 words in its first braces; wanted two"),
        (" \n", "No pairs were typed"),
        ("{a|b} " + "{c|d|e|f} " * 40, "more than 1,000 pairs"),
    ],
)
def test_other_lines_are_refused(typed: str, said: str) -> None:
    with pytest.raises(ExplorerError, match=said.replace("|", r"\|")):
        typed_rows(typed, "the first is right")


def test_typed_pairs_are_scored_as_those_of_a_file(tiny: Tiny) -> None:
    bert = bx.load(tiny("bert-mlm"), precision="fp32")
    typed = bert.suite(pairs="The {cat|dog} sat on the {mat|film}.", pairs_mean="the first is right")
    rows = [
        {"good": f"The cat sat on the {place}.", "bad": f"The dog sat on the {place}.", "category": place}
        for place in ("mat", "film")
    ]
    of_file = bert.suite(rows=rows)
    kept = ("category", "text", "other", "right", "score")
    assert [[row[name] for name in kept] for row in typed.rows] == [
        [row[name] for name in kept] for row in of_file.rows
    ]
    assert "prefers the better sentence" in typed.said
    stereotype = bert.suite(pairs="The {cat|dog} sat.", pairs_mean="the first is the stereotype")
    assert "prefers the stereotype" in stereotype.said


def test_the_command_scores_them_in_a_folder(tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from bertexplorer.cli import main

    arguments = [
        "suite",
        "--pairs",
        "The {cat|dog} sat.",
        "--out",
        str(tmp_path / "out"),
        "--checkpoint",
        str(tiny("bert-mlm")),
    ]
    assert main(arguments) == 0
    assert "The cat sat." in (tmp_path / "out" / "cases.csv").read_text("utf-8")
    assert "1 pairs" in capsys.readouterr().out

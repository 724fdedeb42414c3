"""Template: the label of a row shows what differs between the fillings; an unknown fact lists the names."""

import re

import pytest

import bertexplorer as bx
from bertexplorer.analysis.facts import name_index
from bertexplorer.errors import ExplorerError
from bertexplorer.views.template import draw


def test_labels_of_rows_show_their_differences():
    text = "The {doctor|nurse} {said that [MASK] is busy|said that [MASK] is dead}."
    fig = draw(bx.load("tiny").template(text, words="he, she").value)
    labels = [re.sub("<br>", " ", label) for label in fig.layout.yaxis.ticktext]
    assert labels == [f"{who} / said that [MASK] is {how}" for who in ("doctor", "nurse") for how in ("busy", "dead")]


def test_names_that_are_sentences_are_quoted():
    with pytest.raises(ExplorerError, match=r"There is no candidate 'x'; wanted one of 'He left\.', 'She came\.'\.$"):
        name_index(["He left.", "She came."], "x", "candidate")

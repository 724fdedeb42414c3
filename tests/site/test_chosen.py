"""Which views and lessons a site offers."""

from pathlib import Path

import pytest

from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import BUNDLED, LessonCatalogue
from bertexplorer.model.load import load
from bertexplorer.site import folder
from bertexplorer.site.folder import check_size, chosen_views, not_followed
from bertexplorer.views import VIEWS
from tests.conftest import Tiny

ALL = LessonCatalogue((BUNDLED,))


def test_a_site_has_all_views_unless_some_are_chosen() -> None:
    assert chosen_views((), ALL) == list(VIEWS)
    assert chosen_views(("layers", "attention"), ALL.only(())) == ["attention", "layers"]


def test_the_views_of_its_lessons_are_there_too() -> None:
    lessons = ALL.only(("three-vectors",))
    assert list(lessons.lessons) == ["three-vectors"]
    assert lessons.by_view
    assert set(chosen_views(("attention",), lessons)) == {"attention", *lessons.by_view}


def test_what_does_not_exist_is_named() -> None:
    with pytest.raises(ExplorerError, match="There is no view 'heads'"):
        chosen_views(("heads",), ALL)
    with pytest.raises(ExplorerError, match="There is no lesson 'weather'"):
        ALL.only(("weather",))


@pytest.mark.parametrize(
    ("family", "views"),
    [
        ("bert", set()),
        ("mpnet", {"query-key"}),
        ("nomic", {"query-key"}),
        ("modernbert", {"query-key"}),
        ("electra-discriminator", {"forward-pass"}),
        ("bert-SequenceClassification", {"forward-pass"}),
        ("bert-TokenClassification", {"forward-pass", "layers", "saliency", "switchboard"}),
    ],
)
def test_what_a_script_would_compute_otherwise_is_left_out(family: str, views: set[str], tiny: Tiny) -> None:
    assert not_followed(load(tiny(family), precision="fp32")) == views


def test_what_counts_is_what_a_visitor_fetches(bundled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """fp16 may be too large where 8 bits are not."""
    checkpoint = load(bundled, precision="fp32")
    monkeypatch.setattr(folder, "MAX_BYTES", 1.5 * checkpoint.num_parameters)
    check_size(checkpoint, "8-bit")
    with pytest.raises(ExplorerError, match="weights travel in fp16.*--weights 8-bit"):
        check_size(checkpoint, "fp16")
    monkeypatch.setattr(folder, "MAX_BYTES", checkpoint.num_parameters)
    with pytest.raises(ExplorerError, match=r"Choose a smaller checkpoint\.$"):
        check_size(checkpoint, "8-bit")

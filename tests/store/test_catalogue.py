"""The entry of the bundled checkpoint in the catalogue matches its files."""

from pathlib import Path

import pytest

from bertexplorer.model.heads import HEADS
from bertexplorer.model.load import load
from bertexplorer.store.catalogue import BY_NAME, CATALOGUE, SERIES, series_of
from bertexplorer.store.hub_cache import check_name


def test_the_bundled_checkpoint_matches_its_entry(bundled: Path) -> None:
    entry, checkpoint = BY_NAME["mini"], load(bundled, precision="fp32", device="cpu")
    assert checkpoint.num_parameters / 1e6 == pytest.approx(entry.parameters, abs=0.1)  # written in millions, one digit
    assert (bundled / "model.safetensors").stat().st_size / 1e6 == pytest.approx(entry.megabytes, abs=0.1)  # likewise
    assert set(checkpoint.heads) - {"pooler"} == set(entry.heads)
    assert checkpoint.licence == entry.licence


def test_every_entry_is_complete() -> None:
    assert len(BY_NAME) == len(CATALOGUE) == 20
    for entry in CATALOGUE:
        check_name(entry.name)
        assert set(entry.heads) <= set(HEADS) and (entry.heads or "a vector" in entry.about)
        assert entry.parameters > 1 and entry.licence and entry.about
        assert entry.name == "sentiment" or 1.9 < entry.megabytes / entry.parameters < 4.1, "2 or 4 bytes a parameter"


def test_the_checkpoints_of_a_published_training_have_one_entry() -> None:
    for series in SERIES:
        assert [name for name in series if name in BY_NAME] == list(series)[-1:], "the last step, which is the best"
        for name in series:
            check_name(name)
            assert series_of(name) == series
    assert series_of("google-bert/bert-base-uncased") == {}

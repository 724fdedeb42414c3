"""How weights travel: what 8 bits keep, and when they are too few."""

import numpy as np
import pytest
import torch

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.site import weights
from bertexplorer.site.folder import HERE
from bertexplorer.site.graph import Graphs, named_tensors
from tests.conftest import BUNDLED

PLACES = Graphs.load(HERE / "mini").places


@pytest.fixture(scope="module")
def mini() -> Checkpoint:
    return load(BUNDLED, precision="fp32")


def test_a_block_keeps_its_largest_number_and_misses_half_a_step_at_most() -> None:
    numbers = np.random.default_rng(0).normal(size=64).astype(np.float32)
    numbers[3], numbers[40:64] = 9.0, 0.0
    whole, scales = weights.quantise(numbers)
    back = (whole * scales[:, None]).ravel()
    assert abs(back[3] - 9) < 9e-3  # a scale is in fp16
    assert np.abs(back - numbers)[:32].max() <= 0.51 * scales[0] + 1e-3 * 9
    assert (back[40:] == 0).all()
    assert (weights.quantise(np.zeros(32, np.float32))[0] == 0).all()


def test_the_sizes_are_those_of_the_kinds(mini: Checkpoint) -> None:
    count = sum(int(np.prod(place.shape)) for place in PLACES)
    assert len(weights.pack(mini, PLACES, "fp32")) == 4 * count
    assert len(weights.pack(mini, PLACES, "fp16")) == 2 * count
    assert len(weights.pack(mini, PLACES, "8-bit")) < 1.09 * count


def test_the_weights_lie_where_the_places_say(mini: Checkpoint) -> None:
    packed = np.frombuffer(weights.pack(mini, PLACES, "fp32"), np.float32)
    tensors = named_tensors(mini)
    for place in PLACES:
        stored = packed[place.start : place.start + int(np.prod(place.shape))].reshape(place.shape)
        wanted = tensors[place.name].float().numpy()
        assert np.array_equal(stored, wanted.T if place.transposed else wanted), place.name


def test_mini_bears_8_bits_and_one_that_answers_otherwise_does_not(
    mini: Checkpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert weights.bears_8_bits(mini, PLACES)
    with monkeypatch.context() as patch:
        patch.setattr(
            weights,
            "quantise",
            lambda flat: (np.sign(flat.reshape(-1, 32)).astype(np.int8), np.full(flat.size // 32, 0.05)),
        )
        assert not weights.bears_8_bits(mini, PLACES)
    assert all(
        torch.equal(before, after)
        for before, after in zip(
            named_tensors(load(BUNDLED, precision="fp32")).values(), named_tensors(mini).values(), strict=True
        )
    )

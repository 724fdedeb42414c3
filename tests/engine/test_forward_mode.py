"""Derivatives in forward mode are right whatever other threads derive."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import torch

from bertexplorer import engine
from bertexplorer.engine.forward_mode import jvp
from bertexplorer.model.load import load
from bertexplorer.model.scheduler import ComputeScheduler
from tests.conftest import Tiny


def test_a_thread_that_ends_first_takes_nothing_from_another() -> None:
    """torch's own jvp fails here, or gives 0."""
    at, along = torch.linspace(-2, 2, 5), torch.arange(5.0)

    def derivative(seconds: float) -> torch.Tensor:
        def sine(x: torch.Tensor) -> torch.Tensor:
            halfway = 2 * x
            time.sleep(seconds)
            return (halfway / 2).sin()

        return jvp(sine, (at,), (along,))

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(derivative, [0.2, 0.1, 0.05, 0.0] * 2))
    for one in found:
        torch.testing.assert_close(one, at.cos() * along)


def test_the_rows_of_several_texts_at_once_are_those_of_each_alone(tiny: Tiny) -> None:
    """On a machine of many cores, where several computations have a slot."""
    checkpoint = replace(load(tiny("bert"), precision="fp32"), scheduler=ComputeScheduler(8))
    texts = ["The cat sat on the mat.", "A dog sat in Paris.", "A great film, she said.", "The doctor."]
    encodings = [checkpoint.tokenizer.encode(text) for text in texts]

    def rows(number: int) -> torch.Tensor:
        return engine.token_parts(checkpoint, encodings[number], "mean", integrate=True).rows

    alone = list(map(rows, range(4)))
    with ThreadPoolExecutor(4) as threads:
        for found, wanted in zip(threads.map(rows, [0, 1, 2, 3] * 10), alone * 10, strict=True):
            torch.testing.assert_close(found, wanted)

"""The learning rate along the budget, and the parameters with weight decay."""

import pytest
import torch
from torch import nn

from bertexplorer.training.loop import Budget, State
from bertexplorer.training.optimiser import Learning, adamw, rate
from tests.tolerance import of_sum


@pytest.mark.parametrize(
    ("share", "wanted"),
    [(0.0, 0.0), (0.05, 0.5), (0.1, 1.0), (0.2, 1.0), (0.3, 1.0), (0.65, 0.6), (1.0, 0.2), (1.5, 0.2)],
)
def test_the_rate_rises_holds_and_falls(share: float, wanted: float) -> None:
    learning = Learning(peak=1.0, warmup=0.1, hold=0.2, final=0.2)
    assert rate(share, learning) == pytest.approx(wanted)


def test_the_rate_decays_by_a_cosine_and_is_defined_at_both_ends() -> None:
    learning = Learning(peak=2.0, warmup=0.0, decay="cosine", final=0.0)
    assert [rate(s, learning) for s in (0.0, 0.5, 1.0)] == pytest.approx([2.0, 1.0, 0.0])
    assert rate(0.25, learning) == pytest.approx(2 * (1 + 0.5**0.5) / 2)
    assert rate(0.5, Learning(peak=1.0, warmup=0.0, hold=1.0)) == 1.0
    assert rate(1.0, Learning(peak=1.0, warmup=1.0)) == 1.0


def test_the_share_of_a_budget_follows_steps_or_minutes() -> None:
    state = State(step=30, begun_step=10, seconds=300.0, begun_seconds=60.0)
    assert Budget(steps=40).share(state) == 0.5
    assert Budget(minutes=8).share(state) == 0.5
    assert Budget(steps=10, minutes=1000).share(state) == 1.0, "steps decide where there are any"
    assert Budget().share(state) == 1.0


def test_adamw_equals_that_of_torch_and_does_not_decay_biases_and_norms() -> None:
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4))
    before = [p.detach().clone() for p in module.parameters()]
    optimiser = adamw(module, Learning(weight_decay=0.5, peak=0.1))
    for parameter in module.parameters():
        parameter.grad = torch.zeros_like(parameter)
    optimiser.step()
    after = list(module.parameters())
    torch.testing.assert_close(after[0], before[0] * (1 - 0.1 * 0.5), rtol=0, atol=of_sum(2))
    assert all(torch.equal(a, b) for a, b in zip(after[1:], before[1:], strict=True))

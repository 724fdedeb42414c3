"""The CRF compared with an enumeration of all paths."""

from itertools import product

import pytest
import torch

from bertexplorer.model.crf import CRF, SCALE
from bertexplorer.training.entities import count_illegal
from tests.tolerance import of_sum

LABELS = ("O", "B-X", "I-X", "B-Y")
LENGTHS = (4, 1, 3)


def made(plain: bool) -> CRF:
    torch.manual_seed(0)
    crf = CRF(LABELS, plain)
    with torch.no_grad():
        for parameter in crf.parameters():
            parameter.copy_(torch.randn_like(parameter) / SCALE)
    return crf


def given() -> tuple[torch.Tensor, torch.Tensor]:
    torch.manual_seed(1)
    real = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS)[:, None]
    return 2 * torch.randn(len(LENGTHS), max(LENGTHS), len(LABELS)), real


def every_path(crf: CRF, emissions: torch.Tensor, length: int, plain: bool) -> dict[tuple[int, ...], float]:
    """The score of each path that is allowed."""
    start, steps, end = (SCALE * p.detach() for p in (crf.start, crf.transitions, crf.end))
    result = {}
    for path in product(range(len(LABELS)), repeat=length):
        if plain or not count_illegal([LABELS[i] for i in path]):
            score = start[path[0]] + end[path[-1]] + sum(emissions[w, tag] for w, tag in enumerate(path))
            result[path] = float(score + sum(steps[a, b] for a, b in zip(path, path[1:], strict=False)))
    return result


@pytest.mark.parametrize("plain", [False, True])
def test_partition_best_path_and_marginals_equal_those_of_all_paths(plain: bool) -> None:
    crf, (emissions, real) = made(plain), given()
    log_z, best = crf.partition(emissions, real), crf.decode(emissions, real)
    shares = crf.marginals(emissions, real)
    for row, length in enumerate(LENGTHS):
        paths = every_path(crf, emissions[row], length, plain)
        whole = torch.tensor(list(paths.values())).logsumexp(0)
        allowed = of_sum(len(LABELS), whole, sums=2 * length)  # a step over all labels at each word, and their scores
        assert log_z[row].item() == pytest.approx(whole.item(), abs=allowed)
        assert tuple(best[row, :length].tolist()) == max(paths, key=paths.__getitem__)
        for word, tag in product(range(length), range(len(LABELS))):
            share = sum(torch.tensor(s - whole.item()).exp().item() for p, s in paths.items() if p[word] == tag)
            assert shares[row, word, tag].item() == pytest.approx(share, abs=allowed)
        for path in list(paths)[:20]:
            tags = torch.zeros(len(LENGTHS), max(LENGTHS), dtype=torch.long)
            tags[row, :length] = torch.tensor(path)
            assert crf(emissions, tags, real)[row].item() == pytest.approx(whole.item() - paths[path], abs=2 * allowed)


def test_forbidden_tags_are_never_decoded() -> None:
    crf, (emissions, real) = made(False), given()
    emissions[:, :, 2] += 50.0  # I-X everywhere
    for row, length in zip(crf.decode(emissions, real), LENGTHS, strict=True):
        assert count_illegal([LABELS[i] for i in row[:length]]) == 0
    loose = made(True).decode(emissions, real)
    assert loose[0].tolist() == [2, 2, 2, 2]


@torch.enable_grad()
def test_gradients_are_finite_and_padding_has_none() -> None:
    crf, (emissions, real) = made(False), given()
    emissions.requires_grad_()
    crf(emissions, torch.ones(len(LENGTHS), max(LENGTHS), dtype=torch.long), real).sum().backward()
    assert torch.isfinite(emissions.grad).all() and all(torch.isfinite(p.grad).all() for p in crf.parameters())
    assert not emissions.grad[~real].any() and emissions.grad[real].any()


def test_only_the_scores_are_saved() -> None:
    crf = made(False)
    assert set(crf.state_dict()) == {"start", "end", "transitions"}
    restored = CRF(LABELS, False)
    restored.load_state_dict(crf.state_dict())
    emissions, real = given()
    assert torch.equal(restored.partition(emissions, real), crf.partition(emissions, real))

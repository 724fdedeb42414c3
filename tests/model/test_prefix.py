"""Prefix attention: all tokens see the prefix, later ones also see their past; compared with a loop and with
transformers."""

import itertools

import pytest
import torch

from bertexplorer.model.attention_mask import attention_mask
from bertexplorer.model.forward import Intervention
from tests.model.conftest import Case, make_case
from tests.tiny import RECIPES
from tests.tolerance import assert_same

MASK = torch.tensor([[True] * 6, [True] * 5 + [False], [True] * 4 + [False] * 2])
PREFIX = torch.tensor([0, 3, 4])


@pytest.mark.parametrize(("window", "padded"), list(itertools.product([0, 1, 3], [False, True])))
def test_the_mask_equals_that_of_a_loop(window: int, padded: bool) -> None:
    seen = attention_mask(6, MASK if padded else None, prefix=PREFIX, window=window)
    assert seen is not None and seen.shape == (3, 1, 6, 6)
    for row, i, j in itertools.product(range(3), range(6), range(6)):
        wanted = j <= i or j < PREFIX[row]
        wanted = wanted and not (window and abs(i - j) > window) and not (padded and not MASK[row, j])
        assert bool(seen[row, 0, i, j]) == wanted


def test_an_empty_prefix_is_causal_and_a_full_one_changes_nothing() -> None:
    none, causal = (
        attention_mask(6, MASK, prefix=torch.zeros(3, dtype=torch.long)),
        attention_mask(6, MASK, causal=True),
    )
    whole, plain = attention_mask(6, MASK, prefix=torch.full((3,), 6)), attention_mask(6, MASK)
    assert none is not None and causal is not None and torch.equal(none, causal)
    assert whole is not None and plain is not None and torch.equal(whole, plain)


@pytest.fixture(
    scope="module",
    params=["bert", "roberta", "electra-generator", "distilbert", "mpnet", "deberta", "modernbert", "gte", "eurobert"],
)
def small(request: pytest.FixtureRequest, tiny) -> Case:
    return make_case(request.param, RECIPES[request.param].model, tiny(request.param))


@pytest.mark.parametrize("attention", [False, True])
def test_the_prefix_is_read_as_if_alone_and_the_rest_token_by_token(small: Case, attention: bool) -> None:
    size = 23
    change = Intervention(prefix=torch.tensor([size]))
    whole = small.ours.encoder(small.ids[:1], intervention=change, attention=attention).last
    alone = small.ours.encoder(small.ids[:1, :size], attention=attention).last
    assert_same(small.ours.config, whole[:, :size], alone)
    for end in (size + 1, 31):
        part = small.ours.encoder(small.ids[:1, :end], intervention=change, attention=attention).last
        assert_same(small.ours.config, whole[:, :end], part)


def test_each_row_has_its_own_prefix(small: Case) -> None:
    sizes = torch.tensor([5, 17, 0])
    together = small.run(intervention=Intervention(prefix=sizes)).last
    for row, size in enumerate(sizes):
        segments = None if small.segments is None else small.segments[row : row + 1]
        mask, change = small.mask[row : row + 1], Intervention(prefix=size[None])
        alone = small.ours.encoder(small.ids[row : row + 1], segments, mask, intervention=change).last
        assert_same(small.ours.config, together[row][small.mask[row]], alone[0][small.mask[row]])


def test_prefix_attention_equals_transformers_with_that_mask(tiny) -> None:
    case, sizes = make_case("bert", "BertForPreTraining", tiny("bert")), [5, 17, 0]
    seen = torch.ones(40, 40, dtype=torch.bool).tril().expand(3, 1, 40, 40).clone()
    for row, size in enumerate(sizes):
        seen[row, :, :, :size] = True
    seen &= case.mask[:, None, None, :]
    theirs = case.refer(attention_mask=torch.zeros(seen.shape).masked_fill(~seen, torch.finfo(torch.float32).min))
    ours = case.run(intervention=Intervention(prefix=torch.tensor(sizes)))
    assert_same(case.ours.config, ours.last[case.mask], theirs.hidden_states[-1][case.mask])

"""Interventions in a pass give the numbers of an independent computation."""

import pytest
import torch
from torch import Tensor

from bertexplorer.model.forward import Intervention
from tests.eager import entering
from tests.model.conftest import Case, make_case
from tests.tiny import RECIPES
from tests.tolerance import assert_same

HEAD = 8  # numbers of a head: 32 / 4


@pytest.fixture(
    scope="module",
    params=[
        "bert",
        "roberta",
        "electra-generator",
        "distilbert",
        "albert",
        "mpnet",
        "deberta",
        "modernbert",
        "gte",
        "eurobert",
    ],
)
def small(request: pytest.FixtureRequest, tiny) -> Case:
    return make_case(request.param, RECIPES[request.param].model, tiny(request.param))


def refer(case: Case, layer: int, change) -> Tensor:
    """The reference's last vectors with *change* made to the numbers that enter the output of attention."""
    handle = entering(case.theirs, layer, change)
    try:
        return case.refer().hidden_states[-1][case.mask]
    finally:
        handle.remove()


@pytest.mark.parametrize("attention", [False, True])
@pytest.mark.parametrize("factor", [0.0, 0.5])
def test_a_head_mask_scales_its_head(small: Case, factor: float, attention: bool) -> None:
    layer, head = 1, 2
    head_mask = torch.ones(small.ours.config.num_layers, 4)
    head_mask[layer, head] = factor

    def scale(context: Tensor) -> Tensor:
        context[..., head * HEAD : (head + 1) * HEAD] *= factor
        return context

    ours = small.run(intervention=Intervention(head_mask=head_mask), attention=attention).last[small.mask]
    assert_same(small.ours.config, ours, refer(small, layer, scale))
    assert (ours - small.run().last[small.mask]).abs().max() > 0.01


def test_a_patch_replaces_the_output_of_a_head(small: Case) -> None:
    layer, head = 2, 1
    donor = torch.randn(3, 40, HEAD, generator=torch.Generator().manual_seed(1))

    def patch(context: Tensor) -> Tensor:
        context[..., head * HEAD : (head + 1) * HEAD] = donor
        return context

    head_mask = torch.ones(small.ours.config.num_layers, 4)
    head_mask[layer, head] = 0
    fill = torch.zeros(3, *head_mask.shape, 40, HEAD)
    fill[:, layer, head] = donor
    ours = small.run(intervention=Intervention(head_mask, fill), head_outputs=True)
    assert_same(small.ours.config, ours.last[small.mask], refer(small, layer, patch))
    assert torch.equal(ours.head_outputs[layer][:, head], donor)


def test_patching_a_head_with_its_own_output_changes_nothing(small: Case) -> None:
    plain = small.run(head_outputs=True)
    own = torch.stack(plain.head_outputs, dim=1)
    none = Intervention(torch.zeros(own.shape[1:3]), own)
    assert_same(small.ours.config, small.run(intervention=none).last[small.mask], plain.last[small.mask])


def test_each_row_of_a_batch_has_its_own_change(small: Case) -> None:
    """Masks and fills by row, at some positions of the last layer only, equal the rows run alone."""
    layers, draw = small.ours.config.num_layers, torch.Generator().manual_seed(2)
    ids, at = small.ids[:1].expand(3, -1), torch.tensor([5, 1])
    head_mask = (torch.rand(3, layers, 4, generator=draw) > 0.5).float()
    fill = torch.randn(3, layers, 4, 40, HEAD, generator=draw)
    together = small.ours.encoder(ids, intervention=Intervention(head_mask, fill), positions=at).last
    for row in range(3):
        alone = small.ours.encoder(ids[:1], intervention=Intervention(head_mask[row], fill[row])).last[:, at]
        assert_same(small.ours.config, together[row : row + 1], alone)


@pytest.mark.parametrize("attention", [False, True])
def test_causal_attention_ignores_the_right(small: Case, attention: bool) -> None:
    causal, ids, at = Intervention(causal=True), small.ids[:1], 17
    other = ids.clone()
    other[0, at] = (other[0, at] + 1) % small.ours.config.vocab_size
    first, second = (small.ours.encoder(i, intervention=causal, attention=attention) for i in (ids, other))
    for a, b in zip(first.hidden, second.hidden, strict=True):
        assert torch.equal(a[:, :at], b[:, :at])
    # far beyond rounding (of_encoder gives about 5e-5): another word is read
    assert not torch.allclose(first.last[:, at:], second.last[:, at:], atol=1e-3)
    assert not torch.allclose(*(small.ours.encoder(i).last[:, :at] for i in (ids, other)), atol=1e-3)


@pytest.mark.parametrize("attention", [False, True])
def test_causal_attention_equals_reading_each_beginning_alone(small: Case, attention: bool) -> None:
    """In every layer token i attends to 0..i, so its vector is that of a causal pass over the beginning alone."""
    causal = Intervention(causal=True)
    whole = small.ours.encoder(small.ids[:1], intervention=causal, attention=attention).last
    for end in (1, 2, 9, 30):
        part = small.ours.encoder(small.ids[:1, :end], intervention=causal, attention=attention).last
        assert_same(small.ours.config, whole[:, :end], part)


def test_causal_attention_equals_transformers_with_a_causal_mask(tiny) -> None:
    case = make_case("bert", "BertForPreTraining", tiny("bert"))
    left = torch.ones(40, 40, dtype=torch.bool).tril()[None, None] & case.mask[:, None, None, :]
    theirs = case.refer(attention_mask=torch.zeros(left.shape).masked_fill(~left, torch.finfo(torch.float32).min))
    ours = case.run(intervention=Intervention(causal=True), attention=True)
    for a, b in zip(ours.hidden, theirs.hidden_states, strict=True):
        assert_same(case.ours.config, a[case.mask], b[case.mask])
    for a, b in zip(ours.attention, theirs.attentions, strict=True):
        assert_same(case.ours.config, a.transpose(1, 2)[case.mask], b.transpose(1, 2)[case.mask])


def test_head_mask_and_causal_ignore_padding(small: Case) -> None:
    head_mask = torch.ones(small.ours.config.num_layers, 4)
    head_mask[0, 3] = 0
    both, end = Intervention(head_mask=head_mask, causal=True), int(small.mask[-1].sum())
    segments = None if small.segments is None else small.segments[-1:, :end]
    alone = small.ours.encoder(small.ids[-1:, :end], segments, intervention=both).last
    assert_same(small.ours.config, small.run(intervention=both).last[-1:, :end], alone)


def test_from_embeddings_equals_the_rest_of_forward(small: Case) -> None:
    whole = small.run(attention=True)
    half = small.ours.encoder.from_embeddings(whole.hidden[0], small.mask, attention=True)
    assert all(torch.equal(a, b) for a, b in zip(whole.hidden, half.hidden, strict=True))
    words = small.ours.encoder.embeddings.words(small.ids)
    assert torch.equal(small.ours.encoder.embeddings.finish(words, small.segments), whole.hidden[0])


def test_local_layers_attend_only_to_their_window(tiny) -> None:
    case = make_case("modernbert", "ModernBertForMaskedLM", tiny("modernbert"))
    position = torch.arange(40)
    near = (position[:, None] - position).abs() <= 4  # local_attention 8: 4 on each side
    for layer, weights in enumerate(case.run(attention=True).attention):
        beyond = weights[0].masked_select(~near)
        assert beyond.max() == 0 if layer in (1, 2, 4) else beyond.max() > 0.001

"""Every family gives the numbers of transformers: hidden states, attention and the heads' logits."""

import pytest
import torch
from torch import Tensor, nn

from bertexplorer.model.families import BY_MODEL_TYPE
from bertexplorer.model.weight_map import source_of
from tests.model.conftest import Case, make_case
from tests.tiny import RECIPES
from tests.tolerance import assert_same, assert_within, of_gradient, of_sum


def test_hidden_states_of_every_layer_equal_those_of_transformers(case: Case) -> None:
    ours, theirs = case.run(attention=True).hidden, case.refer().hidden_states
    assert len(ours) == len(theirs) == 1 + case.ours.config.num_layers
    for layer, (mine, other) in enumerate(zip(ours, theirs, strict=True)):
        assert_same(case.ours.config, mine[case.mask], other[case.mask], layers=layer)


def test_attention_of_every_layer_equals_that_of_transformers(case: Case) -> None:
    ours, theirs = case.run(attention=True).attention, case.refer().attentions
    assert len(ours) == len(theirs) == case.ours.config.num_layers
    for layer, (mine, other) in enumerate(zip(ours, theirs, strict=True), 1):
        mine, other = (a.transpose(1, 2)[case.mask] for a in (mine, other))  # rows of real tokens
        assert_same(case.ours.config, mine, other, layers=layer)
        torch.testing.assert_close(mine.sum(-1), torch.ones(mine.shape[:2]), rtol=0, atol=of_sum(mine.shape[-1]))


def test_logits_of_every_head_equal_those_of_transformers(case: Case) -> None:
    ours, theirs, heads, config = case.run(), case.refer(), case.ours.heads, case.ours.config
    if "masked_lm" in heads:
        other = theirs.prediction_logits if "prediction_logits" in theirs else theirs.logits
        assert_same(config, case.ours.masked_lm(ours.last[case.mask]), other[case.mask])
    if "replaced_token" in heads:
        assert_same(config, case.ours.replaced_token(ours.last)[case.mask], theirs.logits[case.mask])
    if "pooler" in heads and "pooler_output" in theirs:
        assert_same(config, case.ours.pooler(ours.last), theirs.pooler_output)
    if "next_sentence" in heads:
        assert_same(config, case.ours.next_sentence(case.ours.pooler(ours.last)), theirs.seq_relationship_logits)
    assert set(heads) & {"masked_lm", "replaced_token", "pooler"}


def test_fused_attention_equals_the_path_that_returns_weights(case: Case) -> None:
    fused, eager = case.run(), case.run(attention=True)
    assert not fused.attention
    for mine, other in zip(fused.hidden, eager.hidden, strict=True):
        assert_same(case.ours.config, mine[case.mask], other[case.mask])
        assert mine.isfinite().all()


def test_the_attention_on_marked_tokens_is_the_sum_of_their_weights(case: Case) -> None:
    marked = case.mask & (torch.arange(case.ids.shape[1]) % 3 == 0)
    shares, eager = case.run(attention=marked), case.run(attention=True)
    assert len(shares.attention) == case.ours.config.num_layers
    for layer, (share, weights) in enumerate(zip(shares.attention, eager.attention, strict=True), 1):
        wanted = (weights * marked[:, None, None, :]).sum(-1, keepdim=True)
        mine, other = (a.transpose(1, 2)[case.mask] for a in (share, wanted))
        assert_same(case.ours.config, mine, other, layers=layer)
    assert_same(case.ours.config, shares.last[case.mask], eager.last[case.mask])


def test_padding_does_not_change_the_numbers(case: Case) -> None:
    short = case.mask[-1].sum()
    segments = None if case.segments is None else case.segments[-1:, :short]
    alone = case.ours.encoder(case.ids[-1:, :short], segments).last
    assert_same(case.ours.config, case.run().last[-1:, :short], alone)


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_head_outputs_are_the_input_of_the_output_layer(tiny, name: str) -> None:
    case = make_case(name, RECIPES[name].model, tiny(name))
    seen: list[Tensor] = []
    for key, module in case.theirs.named_modules():
        if key.endswith(("attention.output.dense", "attn.Wo")):
            module.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    case.refer()
    for mine, other in zip(case.run(head_outputs=True).head_outputs, seen, strict=True):
        assert_same(case.ours.config, mine.transpose(1, 2).flatten(2)[case.mask], other[case.mask])


def eps_of(module: nn.Module) -> float | None:
    return getattr(module, "eps", getattr(module, "variance_epsilon", None))


def test_every_norm_has_the_eps_of_transformers(case: Case) -> None:
    """After the first norm, which reads small numbers, rounding would hide 1e-5 for 1e-12."""
    ours = [module for part in (case.ours.encoder, *case.ours.heads.values()) for module in part.modules()]
    mine, other = ({eps_of(m) for m in each} - {None} for each in (ours, case.theirs.modules()))
    assert mine == other


@pytest.mark.parametrize(
    "name",
    [
        "bert-mlm",
        "roberta",
        "xlm-roberta",
        "camembert",
        "electra-generator",
        "distilbert",
        "albert",
        "mpnet",
        "deberta",
        "nomic",
        "gte",
        "jina",
        "eurobert",
    ],  # fmt: skip
)
def test_gradients_are_those_of_transformers(tiny, name: str) -> None:
    """Of the word vectors, and of every parameter: a layer that repeats (ALBERT) gets the sum over its places."""
    case = make_case(name, RECIPES[name].model, tiny(name))
    weights = torch.randn(*case.ids.shape, case.ours.config.vocab_size, generator=torch.Generator().manual_seed(0))
    weights = weights * case.mask[..., None]
    modules = nn.ModuleDict({"encoder": case.ours.encoder, **case.ours.heads}).requires_grad_(True)
    tables = (case.ours.encoder.embeddings.words, case.theirs.get_input_embeddings())
    mine, other = (table.weight[case.ids].detach().requires_grad_() for table in tables)
    with torch.enable_grad():
        start = case.ours.encoder.embeddings.finish(mine, case.segments)
        last = case.ours.encoder.from_embeddings(start, case.mask).last
        (case.ours.masked_lm(last) * weights).sum().backward()
        given = {"attention_mask": case.mask.long()}
        if case.segments is not None:
            given["token_type_ids"] = case.segments
        (case.theirs(inputs_embeds=other, **given).logits * weights).sum().backward()
    assert_within(mine.grad, other.grad, of_gradient(case.ours.config, other.grad))
    theirs = dict(case.theirs.named_parameters(remove_duplicate=False))
    family = BY_MODEL_TYPE[case.ours.family]
    named = {key: theirs[source_of(family, key).name].grad for key, _ in modules.named_parameters()}
    named = {key: grad for key, grad in named.items() if grad is not None}  # an untied table of words is not read here
    allowed = of_gradient(case.ours.config, torch.cat([grad.flatten() for grad in named.values()]))
    for key, parameter in modules.named_parameters():
        if key in named:
            assert_within(parameter.grad, named[key], allowed)
        else:
            assert key == "encoder.embeddings.words.weight" and parameter.grad is None

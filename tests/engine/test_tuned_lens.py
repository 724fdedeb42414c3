"""The tuned lens is a plain AdamW loop over transformers' hidden states and head; its numbers are those of kl_div."""

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bertexplorer.engine import TunedLens, fit_tuned_lens, layer_log_probs
from bertexplorer.engine.tuned_lens import BATCH, DECAY, EPOCHS, RATE, sample_vocabulary
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Encoding
from bertexplorer.views.layers.tuned_lens import masked_sentences
from tests.conftest import Tiny
from tests.views.conftest import refer
from tests.views.test_layers import FAMILIES, head

CLOSE = 1e-4  # nats


def states_of(model: nn.Module, encodings: list[Encoding]) -> Tensor:
    """Transformers' hidden states at the masks, layers x n x d."""
    result = []
    for encoding in encodings:
        with torch.no_grad():
            hidden = model(input_ids=torch.tensor([encoding.ids]), output_hidden_states=True).hidden_states
        result.append(torch.stack([state[0, list(encoding.masked)] for state in hidden]))
    return torch.cat(result, dim=1)


def log_probs(model: nn.Module, states: Tensor) -> Tensor:
    return head(model, states[None])[0].log_softmax(dim=-1)


def kl(final: Tensor, found: Tensor) -> Tensor:
    return F.kl_div(found, final, log_target=True, reduction="batchmean")


def own_loop(model: nn.Module, state: Tensor, final: Tensor) -> tuple[Tensor, Tensor]:
    """(matrix, bias) fitted over the whole vocabulary by hand."""
    scale, order = state.std(dim=0), torch.Generator().manual_seed(0)
    weight, bias = torch.zeros(state.shape[1], state.shape[1]), torch.zeros(state.shape[1])
    parts = [weight.requires_grad_(), bias.requires_grad_()]
    optimiser = torch.optim.AdamW(
        [{"params": [parts[0]], "weight_decay": DECAY}, {"params": [parts[1]], "weight_decay": 0}]
    )
    batches = [b for _ in range(EPOCHS) for b in torch.randperm(len(state), generator=order).split(BATCH)]
    for step, batch in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - step / len(batches))
        moved = state[batch] + scale * (state[batch] / scale @ weight.T + bias)
        optimiser.zero_grad()
        kl(final[batch], log_probs(model, moved)).backward()
        optimiser.step()
    return (scale[:, None] * weight / scale).detach(), (scale * bias).detach()


@pytest.fixture(scope="module")
def small(tiny: Tiny) -> Checkpoint:
    return load(tiny("bert-mlm"), precision="fp32", device="cpu")


@pytest.fixture(scope="module")
def given(small: Checkpoint) -> tuple[list[Encoding], list[bool]]:
    return masked_sentences(small, 300)


@pytest.fixture(scope="module")
def fitted(small: Checkpoint, given: tuple[list[Encoding], list[bool]]) -> TunedLens:
    return fit_tuned_lens(small, *given)


def test_the_fit_equals_a_loop_by_hand(
    small: Checkpoint, given: tuple[list[Encoding], list[bool]], fitted: TunedLens, tiny: Tiny
) -> None:
    model = refer(tiny("bert-mlm")).model.requires_grad_(False)
    states = states_of(model, given[0])
    held_out = torch.tensor([out for one, out in zip(*given, strict=True) for _ in one.masked])
    finals = log_probs(model, states[-1])
    assert (fitted.positions, fitted.held_out) == (int((~held_out).sum()), int(held_out.sum()))
    assert len(fitted.raw) == len(fitted.tuned) == len(states) - 1 == small.config.num_layers
    for layer, state in enumerate(states[:-1]):
        weight, bias = own_loop(model, state[~held_out], finals[~held_out])
        assert torch.allclose(fitted.weights[layer], weight, atol=2e-3) and torch.allclose(
            fitted.biases[layer], bias, atol=2e-3
        )
        moved = state + state @ weight.T + bias
        for result, vectors in ((fitted.raw[layer], state), (fitted.tuned[layer], moved)):
            assert result == pytest.approx(float(kl(finals[held_out], log_probs(model, vectors[held_out]))), abs=CLOSE)
        own = state + state @ fitted.weights[layer].T + fitted.biases[layer]
        seen = [float(kl(finals[~held_out], log_probs(model, vectors[~held_out]))) for vectors in (state, own)]
        assert best(model, state[~held_out], finals[~held_out]) <= seen[1] + CLOSE and seen[1] < seen[0]


def best(model: nn.Module, state: Tensor, final: Tensor) -> float:
    """The divergence that L-BFGS reaches on the rows of the fit, without any decay."""
    weight, bias = torch.zeros(state.shape[1], state.shape[1]), torch.zeros(state.shape[1])
    optimiser = torch.optim.LBFGS(
        [weight.requires_grad_(), bias.requires_grad_()], max_iter=60, line_search_fn="strong_wolfe"
    )

    def loss() -> Tensor:
        optimiser.zero_grad()
        result = kl(final, log_probs(model, state + state @ weight.T + bias))
        result.backward()
        return result

    optimiser.step(loss)
    return float(loss().detach())


def test_a_second_fit_gives_the_same_maps(
    small: Checkpoint, given: tuple[list[Encoding], list[bool]], fitted: TunedLens
) -> None:
    second = fit_tuned_lens(small, *given)
    assert torch.allclose(second.weights, fitted.weights, atol=1e-5) and second.tuned == pytest.approx(
        fitted.tuned, abs=1e-5
    )
    assert all(parameter.grad is None for parameter in small.masked_lm.parameters())


@pytest.mark.parametrize("precision", ["fp32", "bf16"])
@pytest.mark.parametrize("family", FAMILIES)
def test_maps_of_zeros_give_the_raw_lens(family: str, precision: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision=precision, device="cpu")
    layers, size = checkpoint.config.num_layers, checkpoint.config.hidden_size
    none = TunedLens(torch.zeros(layers, size, size), torch.zeros(layers, size), 0, 0, (), (), 0.0)
    encoding = checkpoint.tokenizer.encode("the capital of <mask> is good .")
    spots = list(encoding.masked)
    assert torch.equal(layer_log_probs(checkpoint, encoding, spots, none), layer_log_probs(checkpoint, encoding, spots))


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family_is_fitted(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encodings, held_out = masked_sentences(checkpoint, 120)
    lens = fit_tuned_lens(checkpoint, encodings, held_out)
    encoding = checkpoint.tokenizer.encode("the capital of <mask> is good .")
    raw, tuned = (layer_log_probs(checkpoint, encoding, encoding.masked, item) for item in (None, lens))
    assert torch.equal(raw[-1], tuned[-1]) and not torch.equal(raw[0], tuned[0]) and bool(tuned.isfinite().all())
    model = refer(tiny(family)).model.requires_grad_(False)
    if family != "modernbert":  # whose hidden states come without the final norm
        states = states_of(model, [item for item, out in zip(encodings, held_out, strict=True) if out])
        final = log_probs(model, states[-1])
        assert lens.raw == pytest.approx([float(kl(final, log_probs(model, s))) for s in states[:-1]], abs=CLOSE)


def test_the_sample_represents_the_vocabulary(bundled: Path) -> None:
    """In a sample whose pieces weigh twice or half as much as they should, the mean is off by more than 0.07."""
    checkpoint = load(bundled, precision="fp32", device="cpu")
    encodings, _ = masked_sentences(checkpoint, 60)
    vectors = states_of(refer(bundled).model, encodings)[-1]
    with torch.no_grad():
        matrix, bias = sample_vocabulary(checkpoint.masked_lm, vectors)
        whole = checkpoint.masked_lm(vectors).logsumexp(dim=-1)
        part = (checkpoint.masked_lm.transform(vectors) @ matrix.T + bias).logsumexp(dim=-1)
    assert len(vectors) >= 60 and len(matrix) < 2500 and abs(float((part - whole).mean())) < 0.03
    assert torch.allclose(part, whole, atol=0.25)  # the noise of a sample of 1,000


def test_a_checkpoint_without_the_head_is_rejected(tiny: Tiny) -> None:
    checkpoint = load(tiny("electra-discriminator"), precision="fp32", device="cpu")
    with pytest.raises(ExplorerError, match="no fill-mask head"):
        fit_tuned_lens(checkpoint, *masked_sentences(checkpoint, 30))

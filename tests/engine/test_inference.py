"""Masked log-probabilities are those of transformers; in bf16 they stay near, and the best are an exact product."""

import copy
import dataclasses
from pathlib import Path

import pytest
import torch

from bertexplorer.engine import inference as engine
from bertexplorer.engine.inference import FP32_CANDIDATES, forward, masked_log_probs, vocabulary_logits
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Intervention
from bertexplorer.model.load import load
from tests.conftest import Tiny
from tests.engine.conftest import Twin
from tests.tolerance import assert_same, of_sum


def test_masked_log_probs_equal_a_loop_over_transformers(twin: Twin) -> None:
    for encoding, result in zip(twin.encodings, masked_log_probs(twin.ours, twin.encodings), strict=True):
        assert result.shape == (len(encoding.masked), twin.ours.config.vocab_size)
        assert result.dtype == torch.float32
        assert_same(twin.ours.config, result, twin.refer(encoding.ids)[list(encoding.masked)])


def test_positions_have_the_requested_order(twin: Twin) -> None:
    requested = [[3, 1], [0], [5, 2, 2], [], [1]]
    result = list(masked_log_probs(twin.ours, twin.encodings, positions=requested))
    for encoding, spots, rows in zip(twin.encodings, requested, result, strict=True):
        assert_same(twin.ours.config, rows, twin.refer(encoding.ids)[spots])


def test_a_small_budget_changes_nothing(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = list(masked_log_probs(twin.ours, twin.encodings))
    monkeypatch.setattr(engine, "batches", lambda encodings, budget: ([e] for e in encodings))
    for one, other in zip(whole, masked_log_probs(twin.ours, twin.encodings), strict=True):
        assert_same(twin.ours.config, one, other)


def test_causal_hides_the_tokens_to_the_right(twin: Twin) -> None:
    """The answer at a mask is that of the text truncated after the mask."""
    for encoding in twin.encodings[:4]:
        spot = encoding.masked[0]
        (result,) = masked_log_probs(twin.ours, [encoding], positions=[[spot]], causal=True)
        changed = encoding.with_ids(dict.fromkeys(range(spot + 1, len(encoding)), 7))
        (other,) = masked_log_probs(twin.ours, [changed], positions=[[spot]], causal=True)
        assert_same(twin.ours.config, result, other)
        (both,) = masked_log_probs(twin.ours, [encoding], positions=[[spot]])
        assert (result - both).abs().max() > 1e-2


def test_causal_equals_transformers_with_a_triangular_mask(twin: Twin) -> None:
    if twin.name == "modernbert":
        pytest.skip("transformers would drop its local window")
    encoding = twin.encodings[2]
    hidden = torch.ones(len(encoding), len(encoding)).triu(1)[None, None] * torch.finfo(torch.float32).min
    with torch.no_grad():
        wanted = twin.theirs(input_ids=torch.tensor([encoding.ids]), attention_mask=hidden).logits[0]
    (result,) = masked_log_probs(twin.ours, [encoding], causal=True)
    assert_same(twin.ours.config, result, wanted.log_softmax(-1)[list(encoding.masked)])


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("padded", [False, True])
def test_the_last_layer_at_some_positions_equals_those_rows_of_a_full_pass(
    twin: Twin, causal: bool, padded: bool
) -> None:
    encodings = twin.encodings[:4] if padded else twin.encodings[2:3]
    requested = torch.tensor([4, 0, 2])
    settings = {"intervention": Intervention(causal=causal), "attention": True, "head_outputs": True}
    part, whole = (forward(twin.ours, encodings, positions=p, **settings) for p in (requested, None))
    for i, encoding in enumerate(encodings):
        real = [(row, int(at)) for row, at in enumerate(requested) if at < len(encoding)]
        rows, places = [r for r, _ in real], [p for _, p in real]
        assert_same(twin.ours.config, part.last[i, rows], whole.last[i, places])
        assert_same(twin.ours.config, part.attention[-1][i][:, rows], whole.attention[-1][i][:, places])
        partial, full = part.head_outputs[-1][i][:, rows], whole.head_outputs[-1][i][:, places]
        assert_same(twin.ours.config, partial, full)
    for one, other in zip(part.hidden[:-1], whole.hidden[:-1], strict=True):
        assert_same(twin.ours.config, one, other)
    fused = forward(twin.ours, encodings, positions=requested, intervention=Intervention(causal=causal))
    assert_same(twin.ours.config, fused.last, part.last)


@pytest.mark.parametrize("bad", [float("inf"), float("nan")])
def test_numbers_that_are_not_finite_are_rejected(twin: Twin, bad: float) -> None:
    head = copy.deepcopy(twin.ours.masked_lm)
    head.output.bias = torch.nn.Parameter(torch.full_like(head.output.bias, bad), requires_grad=False)
    broken = dataclasses.replace(twin.ours, heads={"masked_lm": head})
    with pytest.raises(ExplorerError, match=rf"{twin.name}.*not finite.*fp32"):
        list(masked_log_probs(broken, twin.encodings))


def test_a_missing_mlm_head_is_reported_before_anything_runs(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "forward", lambda *a, **k: pytest.fail("it ran"))
    bare = dataclasses.replace(twin.ours, heads={})
    with pytest.raises(ExplorerError, match="has no fill-mask head"):
        list(masked_log_probs(bare, twin.encodings))


TEXT = "The doctor gave the nurse a [MASK] and went to the [MASK]."
TIED, UNTIED = "bert", "bert-untied"


@pytest.fixture(scope="module")
def mini(bundled: Path) -> Checkpoint:
    return load(bundled, name="mini", precision="bf16", device="cpu")


def vectors(checkpoint: Checkpoint, count: int = 6) -> torch.Tensor:
    draw = torch.Generator().manual_seed(0)
    return torch.randn(count, checkpoint.config.hidden_size, generator=draw).bfloat16()


def check(checkpoint: Checkpoint, matrix: torch.Tensor) -> None:
    given = vectors(checkpoint)
    with torch.inference_mode():
        logits = vocabulary_logits(checkpoint, given)
        hidden = checkpoint.masked_lm.transform(given).float()
        exact = hidden @ matrix.float().T + checkpoint.masked_lm.output.bias.float()
    assert logits.dtype == torch.float32 and logits.shape == exact.shape
    best = exact.topk(min(50, exact.shape[-1])).indices
    allowed = of_sum(hidden.shape[-1], exact)
    torch.testing.assert_close(logits.gather(1, best), exact.gather(1, best), rtol=0, atol=allowed)
    assert (logits.topk(10).indices == exact.topk(10).indices).all(), "the order of the best is that of fp32"
    spacing = 2.0**-8 * exact.abs().clamp(min=1)  # half the distance of neighbours in bf16
    assert ((logits - exact).abs() <= 2 * spacing).all(), "the others are off by bf16's rounding"


def test_the_best_logits_of_the_bundled_checkpoint_are_exact(mini: Checkpoint) -> None:
    assert mini.precision == "bf16" and mini.config.vocab_size > FP32_CANDIDATES
    check(mini, mini.encoder.embeddings.words.weight)


@pytest.mark.parametrize("name", [TIED, UNTIED])
def test_a_vocabulary_smaller_than_the_exact_part_is_exact(name: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(name), precision="bf16", device="cpu")
    plain = load(tiny(name), precision="fp32", device="cpu")
    check(checkpoint, plain.masked_lm.output.weight.bfloat16())


def test_fp32_logits_are_those_of_the_head(tiny: Tiny) -> None:
    checkpoint = load(tiny(TIED), precision="fp32", device="cpu")
    given = vectors(checkpoint).float()
    with torch.inference_mode():
        torch.testing.assert_close(vocabulary_logits(checkpoint, given), checkpoint.masked_lm(given), rtol=0, atol=0)


def test_bf16_gives_the_answers_of_fp32(mini: Checkpoint, bundled: Path) -> None:
    exact = load(bundled, precision="fp32", device="cpu")
    encoding = exact.tokenizer.encode(TEXT)
    (near,), (true,) = (masked_log_probs(c, [encoding]) for c in (mini, exact))
    assert (near.exp() - true.exp()).abs().max() < 0.01
    assert (near.argmax(-1) == true.argmax(-1)).all()

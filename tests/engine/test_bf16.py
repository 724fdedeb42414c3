"""In bf16 the vocabulary's logits stay near those of fp32, and the best ones are an exact product."""

from pathlib import Path

import pytest
import torch

from bertexplorer.engine.inference import FP32_CANDIDATES, masked_log_probs, vocabulary_logits
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from tests.conftest import Tiny
from tests.tolerance import of_sum

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

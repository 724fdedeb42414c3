"""Logits of fine-tuned heads are those of transformers' classes, in any batch, after every layer, with heads off."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pytest
import torch
import transformers
from torch import Tensor

from bertexplorer.engine import (
    ablated_head_logits,
    gradients,
    head_logits,
    layer_head_logits,
)
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Encoding, Text
from tests.conftest import Tiny
from tests.eager import entering
from tests.tiny import TASK_RECIPES, write
from tests.tolerance import assert_same, of_encoder, of_gradient

HEAD = {"SequenceClassification": "sequence_classifier", "TokenClassification": "token_classifier"}
HEAD["QuestionAnswering"] = "span"
TEXTS = (
    Text("the film is good ."),
    Text("a terrible movie , and she said so in the city of london and in paris ."),
    Text("great"),
    Text("the doctor said it works", "she is a nurse in london ."),
)


@dataclass
class Tuned:
    """The same fine-tuned weights twice."""

    head: str
    ours: Checkpoint
    theirs: transformers.PreTrainedModel

    @property
    def encodings(self) -> list[Encoding]:
        return [self.ours.tokenizer.encode(text) for text in TEXTS]

    def refer(self, encoding: Encoding) -> Tensor:
        """l, t x l or t x 2 logits of one text alone, by transformers."""
        more = {}
        if self.ours.config.num_segments and self.ours.family != "modernbert":
            more["token_type_ids"] = torch.tensor([encoding.segments])
        with torch.no_grad():
            out = self.theirs(input_ids=torch.tensor([encoding.ids]), **more)
        return torch.stack([out.start_logits, out.end_logits], -1)[0] if self.head == "span" else out.logits[0]

    def logits(self, encodings: list[Encoding]) -> list[Tensor]:
        return head_logits(self.ours, encodings, self.head)


MEAN = "mean-SequenceClassification"  # ModernBERT with the mean over the tokens in place of [CLS]


@pytest.fixture(scope="module", params=[*TASK_RECIPES, MEAN])
def tuned(request: pytest.FixtureRequest, tiny: Tiny, tmp_path_factory) -> Tuned:
    task = request.param.rpartition("-")[2]
    if request.param == MEAN:
        folder = write(tmp_path_factory.mktemp("mean"), "modernbert-SequenceClassification", classifier_pooling="mean")
    else:
        folder = tiny(request.param)
    theirs = getattr(transformers, f"AutoModelFor{task}").from_pretrained(folder, attn_implementation="eager")
    return Tuned(HEAD[task], load(folder, name=request.param, precision="fp32", device="cpu"), theirs.eval())


def test_logits_equal_a_loop_over_transformers(tuned: Tuned) -> None:
    for encoding, result in zip(tuned.encodings, tuned.logits(tuned.encodings), strict=True):
        assert result.dtype == torch.float32 and result.device.type == "cpu"
        assert_same(tuned.ours.config, result, tuned.refer(encoding))


def test_a_small_budget_changes_nothing(tuned: Tuned, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tuned.logits(tuned.encodings)
    monkeypatch.setattr("bertexplorer.engine.inference.batches", lambda encodings, budget: ([e] for e in encodings))
    for one, other in zip(whole, tuned.logits(tuned.encodings), strict=True):
        assert_same(tuned.ours.config, one, other)


def test_no_text_gives_no_logits(tuned: Tuned) -> None:
    assert tuned.logits([]) == []


def test_the_last_layer_is_the_answer_and_the_first_is_the_input(tuned: Tuned) -> None:
    encoding = tuned.encodings[1]
    result = layer_head_logits(tuned.ours, encoding, tuned.head)
    assert len(result) == tuned.ours.config.num_layers + 1
    assert_same(tuned.ours.config, result[-1], tuned.refer(encoding))
    if tuned.ours.config.norm == "post":  # the others' hidden states come without the final norm
        with torch.no_grad():
            states = tuned.theirs(input_ids=torch.tensor([encoding.ids]), output_hidden_states=True).hidden_states
            head = tuned.ours.head(tuned.head)
            wanted = torch.stack([head(state)[0] for state in states])
        assert_same(tuned.ours.config, result, wanted)


def test_heads_off_equal_a_hook_in_transformers(tuned: Tuned) -> None:
    """Head 2 of layer 2 (from 1) at zero, and all heads on."""
    encoding, config = tuned.encodings[1], tuned.ours.config
    switches = np.ones((2, config.num_layers, config.num_heads), dtype=np.float32)
    switches[0, 1, 1] = 0
    result = ablated_head_logits(tuned.ours, encoding, switches, tuned.head)

    def off(x: Tensor) -> Tensor:
        x[..., config.head_size : 2 * config.head_size] = 0
        return x

    assert_same(config, result[1], tuned.refer(encoding))
    hook = entering(tuned.theirs, 1, off)
    wanted = tuned.refer(encoding)
    hook.remove()
    assert_same(config, result[0], wanted)
    assert (result[0] - result[1]).abs().max() > 1e-3


def targets(tuned: Tuned, encoding: Encoding) -> list[tuple[gradients.Target, Callable[[Tensor], Tensor]]]:
    """(target, the same number from transformers' logits, b x …)."""
    if tuned.head == "sequence_classifier":
        return [
            (gradients.label_target(tuned.ours, encoding, 1), lambda x: x.log_softmax(-1)[:, 1]),
            (gradients.label_target(tuned.ours, encoding, 2, "sigmoid"), lambda x: x[:, 2].sigmoid().log()),
            (gradients.label_target(tuned.ours, encoding, 0, "identity"), lambda x: x[:, 0]),
        ]
    if tuned.head == "token_classifier":
        return [(gradients.tag_target(tuned.ours, 3, 2), lambda x: x[:, 3].log_softmax(-1)[:, 2])]
    return [
        (gradients.span_target(tuned.ours, encoding, side, 4), lambda x, s=side: x[:, :, s].log_softmax(1)[:, 4])
        for side in (0, 1)
    ]


def test_gradients_are_those_of_transformers_and_of_differences(tuned: Tuned) -> None:
    encoding = tuned.encodings[1]
    words = gradients.word_vectors(tuned.ours, encoding.ids)
    one = words.new_ones(1)
    for target, read in targets(tuned, encoding):
        value, slope = gradients.path_gradient(tuned.ours, encoding, target, words, words, one, one)
        leaf = tuned.theirs.get_input_embeddings()(torch.tensor([encoding.ids])).detach().requires_grad_()
        out = tuned.theirs(inputs_embeds=leaf)
        logits = torch.stack([out.start_logits, out.end_logits], -1) if tuned.head == "span" else out.logits
        wanted = read(logits)
        (theirs,) = torch.autograd.grad(wanted.sum(), leaf)
        assert float(value) == pytest.approx(float(wanted.detach()), abs=of_encoder(tuned.ours.config, logits))
        torch.testing.assert_close(
            slope, theirs[0], rtol=0, atol=of_gradient(tuned.ours.config, max(1.0, slope.abs().max()))
        )
        step = 1e-3 * torch.randn(words.shape, generator=torch.Generator().manual_seed(0))
        ends = gradients.path_values(tuned.ours, encoding, target, words - step, words + step, torch.tensor([0.0, 1.0]))
        rise = float((slope * step).sum()) * 2
        assert float(ends[1] - ends[0]) == pytest.approx(rise, abs=4 * of_encoder(tuned.ours.config, logits), rel=0.02)
        assert abs(rise) > 20 * 2**-24


def test_a_missing_head_is_reported_before_anything_runs(tiny: Tiny) -> None:
    ours = load(tiny("bert"), name="bert", precision="fp32", device="cpu")
    for head in HEAD.values():
        with pytest.raises(ExplorerError, match="bert has no .* head .*fine-tuned for it"):
            head_logits(ours, [], head)


def test_bf16_is_near_fp32(tiny: Tiny) -> None:
    for name in ("SequenceClassification", "TokenClassification"):
        exact, half = (load(tiny(f"bert-{name}"), precision=p, device="cpu") for p in ("fp32", "bf16"))
        encodings = [exact.tokenizer.encode(text) for text in TEXTS]
        logits = [head_logits(checkpoint, encodings, HEAD[name]) for checkpoint in (exact, half)]
        for one, other in zip(*logits, strict=True):
            torch.testing.assert_close(one, other, rtol=0, atol=of_encoder(exact.config, one, unit=2.0**-9))

"""Layers are transformers' hidden states through its own MLM head; the last layer is fill-mask."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from bertexplorer.answers.layer_answers import Layers
from bertexplorer.engine.logit_lens import layer_log_probs
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.layers import compute as layers
from bertexplorer.views.layers.compute import MAX_FOLLOWED, Options
from tests.conftest import Tiny
from tests.tolerance import assert_same
from tests.views.conftest import CLOSE, Reference, refer

FRANCE = "Paris is the [MASK] of France."
FAMILIES = (
    "bert-mlm",
    "bert-untied",
    "roberta",
    "xlm-roberta",
    "electra-generator",
    "distilbert",
    "albert",
    "modernbert",
)


def lens(reference: Reference, ids: list[int], spot: int) -> Tensor:
    """Natural-log probabilities at *spot*, layers x v: every hidden state through the head of the class itself."""
    model = reference.model
    with torch.no_grad():
        states = [h[:, spot] for h in model(input_ids=torch.tensor([ids]), output_hidden_states=True).hidden_states]
        rows = [head(model, state)[0] for state in states]
    return torch.stack(rows).double().log_softmax(-1)


def head(model: torch.nn.Module, state: Tensor) -> Tensor:
    kind = model.config.model_type
    if kind == "bert":
        return model.cls(state)
    if kind == "electra":
        return model.generator_lm_head(model.generator_predictions(state))
    if kind == "distilbert":
        return model.vocab_projector(model.vocab_layer_norm(model.activation(model.vocab_transform(state))))
    if kind == "albert":
        return model.predictions(state)
    if kind == "modernbert":
        return model.decoder(model.head(state))
    return model.lm_head(state)


def check(result: Layers, wanted: Tensor, top: int) -> None:
    assert result.most_bits <= math.log2(wanted.shape[1]) and max(a.entropy for a in result.layers) < result.most_bits
    assert [answer.layer for answer in result.layers] == list(range(len(wanted)))
    for answer, row in zip(result.layers, wanted, strict=True):
        best = row.exp().topk(top).values.tolist()
        assert [c.probability for c in answer.candidates] == pytest.approx(best, rel=CLOSE)
        assert [float(row[c.id].exp()) for c in answer.candidates] == pytest.approx(best, rel=CLOSE)
        given = torch.distributions.Categorical(logits=row)
        assert answer.entropy == pytest.approx(float(given.entropy()) / math.log(2), abs=CLOSE)
        final = torch.distributions.Categorical(logits=wanted[-1])
        far = float(torch.distributions.kl_divergence(final, given)) / math.log(2)
        assert answer.divergence == pytest.approx(far, abs=CLOSE)
    for word in result.followed:
        np.testing.assert_allclose(word.probabilities, wanted[:, word.id].exp().numpy(), rtol=CLOSE)
        near = [[int((row > row[word.id] + s).sum()) + 1 for s in (CLOSE, -CLOSE)] for row in wanted]
        assert all(low <= rank <= high for rank, (low, high) in zip(word.ranks.tolist(), near, strict=True))


def test_every_layer_of_mini_equals_that_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    ids = reference.ids(FRANCE)
    result = layers.run(mini, FRANCE, options=Options(words="capital, paris", top=10))
    check(result, lens(reference, ids, result.position), 10)
    assert ids[result.position] == reference.mask and len(result.layers) == 7
    assert [word.token for word in result.followed] == ["capital", "paris"]


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "modernbert"])
def test_every_layer_of_a_family_equals_that_of_transformers(family: str, tiny: Tiny) -> None:
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode("the capital of <mask> is good .")
    result = layers.run(checkpoint, "the capital of <mask> is good .")
    check(result, lens(refer(tiny(family)), list(encoding.ids), encoding.masked[0]), 3)


def test_modernbert_passes_its_final_norm_at_every_layer(tiny: Tiny) -> None:
    """Its hidden states come without it, all but the last."""
    reference, checkpoint = refer(tiny("modernbert")), load(tiny("modernbert"), precision="fp32", device="cpu")
    encoding = checkpoint.tokenizer.encode("the capital of [MASK] is good .")
    spot, ids, model = encoding.masked[0], torch.tensor([encoding.ids]), reference.model
    inner: list[Tensor] = []
    hooks = [layer.register_forward_pre_hook(lambda _, args: inner.append(args[0])) for layer in model.model.layers]
    with torch.no_grad():
        last = model.model(input_ids=ids).last_hidden_state
        states = [*(model.model.final_norm(state) for state in inner), last]
        wanted = torch.stack([head(model, state[0, spot]) for state in states]).double().log_softmax(-1)
    for hook in hooks:
        hook.remove()
    check(layers.run(checkpoint, "the capital of [MASK] is good ."), wanted, 3)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_last_layer_gives_the_answers_of_fill_mask(family: str, tiny: Tiny) -> None:
    for precision in ("fp32", "bf16"):
        checkpoint = load(tiny(family), precision=precision, device="cpu")
        result = layers.run(checkpoint, FRANCE, options=Options(top=10))
        (blank,) = fill_mask.run(checkpoint, FRANCE).blanks
        assert result.layers[-1].candidates == blank.candidates
        assert result.layers[-1].divergence == 0
        assert result.layers[-1].entropy == pytest.approx(blank.entropy, abs=CLOSE)


def test_bf16_is_near_fp32(mini: Checkpoint, bundled: Path) -> None:
    half = load(bundled, name="mini", precision="bf16", device="cpu")
    exact, near = (layers.run(c, FRANCE) for c in (mini, half))
    for a, b in zip(exact.layers, near.layers, strict=True):
        assert a.candidates[0].id == b.candidates[0].id
        assert a.entropy == pytest.approx(b.entropy, abs=0.3)  # bits; near is meant, not equal


def test_the_default_position_is_the_first_mask(mini: Checkpoint) -> None:
    text = "The [MASK] sat on the [MASK]."
    result = layers.run(mini, text)
    assert result.position == 2 and result.other_masks == 1
    wanted = fill_mask.run(mini, text, options=fill_mask.Options(top=3)).blanks[0].candidates
    for results, other in zip(result.layers[-1].candidates, wanted, strict=True):
        assert (results.id, results.probability) == (other.id, pytest.approx(other.probability, rel=CLOSE))


def test_positions_may_be_given_in_any_order_and_twice(mini: Checkpoint) -> None:
    encoding = mini.tokenizer.encode("The [MASK] sat on the [MASK].")
    result = layer_log_probs(mini, encoding, [6, 2, 6])
    assert result.shape == (7, 3, mini.config.vocab_size) and result.dtype == torch.float32
    for column, spot in ((0, 6), (1, 2), (2, 6)):
        assert_same(mini.config, result[:, column], layer_log_probs(mini, encoding, [spot])[:, 0])


def test_the_final_answers_and_the_hidden_word_are_followed(mini: Checkpoint) -> None:
    text = "The farmers cultivate the land to grow crops."
    result = layers.run(mini, Text(text, hidden=(Span(0, 26, 30),)))
    assert {c.id for c in result.layers[-1].candidates} <= {word.id for word in result.followed}
    assert [word.token for word in result.followed if word.hidden] == ["land"]
    assert [int(word.ranks[-1]) for word in result.followed] == sorted(int(w.ranks[-1]) for w in result.followed)
    assert not any(word.hidden for word in layers.run(mini, FRANCE).followed)


def test_unusable_words_and_checkpoints_are_rejected(mini: Checkpoint, tiny: Tiny) -> None:
    with pytest.raises(ExplorerError, match=r"'unbelievably' is cut into \d pieces \(un \+ ##\w+.*one piece"):
        layers.run(mini, FRANCE, options=Options(words="capital, unbelievably"))
    with pytest.raises(ExplorerError, match=f"9 words.*limit is {MAX_FOLLOWED}"):
        layers.run(mini, FRANCE, options=Options(words="a, b, c, d, e, f, g, h, i"))
    with pytest.raises(ExplorerError, match="🤖.*vocabulary"):
        layers.run(mini, FRANCE, options=Options(words="🤖"))
    assert len(layers.run(mini, FRANCE, options=Options(words="Paris, paris")).followed) == 1
    checkpoint = load(tiny("bert-base"), precision="fp32", device="cpu")
    with pytest.raises(ExplorerError, match="no fill-mask head"):
        layers.run(checkpoint, FRANCE)

"""Fresh weights follow BERT: a truncated normal, zeros and ones; such a checkpoint can be saved and loaded."""

from pathlib import Path

import pytest
import torch
from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.initialise import fresh, initialise, with_heads
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.model.text import Tokenizer
from tests.tiny import wordpiece

SIZES = {"num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 128, "max_position_embeddings": 64}


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer(wordpiece(), max_tokens=64)


def described(tokenizer: Tokenizer, **changes: object) -> dict[str, object]:
    return {"model_type": "bert", "vocab_size": tokenizer.vocab_size, "hidden_size": 64, **SIZES, **changes}


def test_fresh_weights_have_the_distribution_of_bert(tokenizer: Tokenizer) -> None:
    checkpoint = fresh(described(tokenizer, initializer_range=0.1), tokenizer, ("masked_lm", "pooler"), seed=0)
    for module in (*checkpoint.encoder.modules(), *checkpoint.heads["masked_lm"].modules()):
        if isinstance(module, nn.LayerNorm):
            assert (module.weight == 1).all() and (module.bias == 0).all()
        elif isinstance(module, nn.Linear | nn.Embedding):
            assert module.weight.abs().max() <= 0.2 and module.weight.mean().abs() < 0.02
            if module.weight.numel() > 3000:
                assert 0.08 < module.weight.std() < 0.1  # a normal of 0.1 cut at two deviations has 0.088
            if isinstance(module, nn.Linear):
                assert (module.bias == 0).all()
    assert checkpoint.masked_lm.output.weight is checkpoint.encoder.embeddings.words.weight


def test_the_seed_determines_the_weights(tokenizer: Tokenizer) -> None:
    one, again, other = (fresh(described(tokenizer), tokenizer, ("masked_lm",), seed=s) for s in (1, 1, 2))
    for (name, a), b, c in zip(
        one.encoder.named_parameters(), again.encoder.parameters(), other.encoder.parameters(), strict=True
    ):
        assert torch.equal(a, b) and (a.ndim == 1 or not torch.equal(a, c)), name


def test_a_random_control_has_other_weights(tiny) -> None:
    checkpoint = load(tiny("bert"), precision="fp32", device="cpu")
    before = checkpoint.encoder.layers[0].attention.query.weight.clone()
    initialise(checkpoint.encoder, 0)
    assert not torch.equal(before, checkpoint.encoder.layers[0].attention.query.weight)
    assert isinstance(checkpoint.encoder, Encoder) and (checkpoint.encoder.layers[0].attention_norm.weight == 1).all()


def test_packed_weights_are_rejected(tiny) -> None:
    checkpoint = load(tiny("bert"), precision="bf16", device="cpu")
    if checkpoint.encoder.layers[0].attention.query.weight.layout == torch.strided:
        pytest.skip("nothing is packed on this machine")
    with pytest.raises(ExplorerError, match="fp32"):
        initialise(checkpoint.encoder, 0)


def test_a_fresh_checkpoint_is_saved_and_loaded(tokenizer: Tokenizer, tmp_path: Path) -> None:
    checkpoint = fresh(described(tokenizer), tokenizer, ("masked_lm", "pooler", "next_sentence"), seed=0)
    save(checkpoint, tmp_path)
    restored = load(tmp_path, precision="fp32", device="cpu")
    assert set(restored.heads) == {"masked_lm", "pooler", "next_sentence"}
    ids = torch.tensor([tokenizer.encode("the cat sat").ids])
    with torch.no_grad():
        assert torch.equal(checkpoint.encoder.eval()(ids).last, restored.encoder(ids).last)


def test_only_missing_heads_are_added(tiny) -> None:
    base = load(tiny("bert-base"), precision="fp32", device="cpu")
    more = with_heads(base, ("masked_lm", "pooler", "next_sentence"), seed=0)
    assert more.pooler is base.pooler and more.encoder is base.encoder and "masked_lm" not in base.heads
    assert more.masked_lm.output.weight is base.encoder.embeddings.words.weight


def test_errors_explain_invalid_requests(tokenizer: Tokenizer, tiny) -> None:
    with pytest.raises(ExplorerError, match="multiple"):
        fresh(described(tokenizer, hidden_size=63), tokenizer, (), seed=0)
    with pytest.raises(ExplorerError, match="pieces"):
        fresh(described(tokenizer, vocab_size=10), tokenizer, (), seed=0)
    with pytest.raises(ExplorerError, match="next-sentence"):
        with_heads(load(tiny("roberta"), precision="fp32"), ("next_sentence",), seed=0)


def test_a_checkpoint_in_memory_has_a_revision_of_its_weights(tiny) -> None:
    ours = load(tiny("bert"), precision="fp32", device="cpu")
    revisions = [fresh(ours.hf_config, ours.tokenizer, ["masked_lm"], seed=seed).revision for seed in (1, 1, 2)]
    assert revisions[0] == revisions[1] != revisions[2] and revisions[0].startswith("sha256:")

"""A valid checkpoint loads in every published layout and precision, with the same numbers."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file, save_model
from transformers import RobertaForMaskedLM

from bertexplorer.errors import ExplorerError
from bertexplorer.model import precision
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from tests.tiny import RECIPES, write
from tests.tolerance import BF16, of_encoder

IDS = torch.arange(5, 25)[None]
MLM_BIAS = "cls.predictions.bias"
WORDS = "bert.embeddings.word_embeddings.weight"


def rewrite(folder: Path, change) -> None:
    """*change* takes the tensors by name and returns those for the file."""
    path = folder / "model.safetensors"
    save_file(change(load_file(path)), path, metadata={"format": "pt"})


def reconfigure(folder: Path, **numbers: object) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | numbers))


def logits(checkpoint: Checkpoint) -> torch.Tensor:
    return checkpoint.masked_lm(checkpoint.encoder(IDS).last)


def shard(folder: Path) -> None:
    tensors = load_file(folder / "model.safetensors")
    files = {name: f"model-0000{1 + i % 2}-of-00002.safetensors" for i, name in enumerate(tensors)}
    for file in set(files.values()):
        save_file({n: t for n, t in tensors.items() if files[n] == file}, folder / file)
    (folder / "model.safetensors").unlink()
    (folder / "model.safetensors.index.json").write_text(json.dumps({"metadata": {}, "weight_map": files}))


def old_spelling(tensors: dict) -> dict:
    spelt = {"LayerNorm.weight": "LayerNorm.gamma", "LayerNorm.bias": "LayerNorm.beta"}
    for new, old in spelt.items():
        tensors = {name.replace(new, old): tensor for name, tensor in tensors.items()}
    return tensors


GOOD = {
    "sharded": shard,
    "gamma and beta": lambda f: rewrite(f, old_spelling),
    "no prefix": lambda f: rewrite(f, lambda t: {n.removeprefix("bert."): v for n, v in t.items()}),
    "stray position_ids": lambda f: rewrite(
        f,
        lambda t: t | {"bert.embeddings.position_ids": torch.arange(64)[None], "a.rotary_emb.inv_freq": torch.ones(4)},
    ),
    "copies of the decoder": lambda f: rewrite(
        f,
        lambda t: t | {"cls.predictions.decoder.weight": t[WORDS] + 0, "cls.predictions.decoder.bias": t[MLM_BIAS] + 0},
    ),
    "only the copy of the bias": lambda f: rewrite(
        f, lambda t: {"cls.predictions.decoder.bias" if n == MLM_BIAS else n: v for n, v in t.items()}
    ),
    "only the copy of the words": lambda f: rewrite(
        f, lambda t: {"cls.predictions.decoder.weight" if n == WORDS else n: v for n, v in t.items()}
    ),
    "classifier beside it": lambda f: rewrite(f, lambda t: t | {"classifier.weight": torch.ones(3, 32)}),
    "unknown config fields": lambda f: reconfigure(f, id2label={"0": "a"}, my_field=[1], transformers_version="9"),
    "older config": lambda f: reconfigure(f, model_type="bert", gradient_checkpointing=False),
}


@pytest.mark.parametrize("change", GOOD.values(), ids=GOOD.keys())
def test_all_valid_layouts_give_the_same_numbers(tiny, tiny_copy, change) -> None:
    folder = tiny_copy("bert")
    change(folder)
    whole, other = load(tiny("bert"), precision="fp32"), load(folder, precision="fp32")
    assert torch.equal(logits(whole), logits(other))
    assert whole.heads.keys() == other.heads.keys()


@pytest.mark.parametrize("name", RECIPES)
def test_the_heads_are_those_in_the_file(tiny, name: str) -> None:
    pretraining = {"masked_lm", "pooler", "next_sentence"}
    expected = {
        "bert": pretraining,
        "bert-untied": pretraining,
        "bert-base": {"pooler"},
        "bert-classifier": {"pooler", "sequence_classifier"},
        "electra-discriminator": {"replaced_token"},
        "electra-wide": {"replaced_token"},
    }
    assert load(tiny(name), precision="fp32").heads.keys() == expected.get(name, {"masked_lm"})


def test_an_absent_head_is_reported_and_not_invented(tiny) -> None:
    checkpoint = load(tiny("bert-mlm"), name="mine", precision="fp32")
    with pytest.raises(ExplorerError, match="mine has no next-sentence head .*fill-mask.*random"):
        _ = checkpoint.next_sentence
    with pytest.raises(ExplorerError, match="no fill-mask head .*replaced-token"):
        _ = load(tiny("electra-wide"), precision="fp32").masked_lm


def test_a_fine_tuned_head_of_another_kind_is_ignored_and_listed(tiny, tiny_copy) -> None:
    folder = tiny_copy("bert-classifier")
    reconfigure(folder, architectures=["BertForMultipleChoice"])
    assert load(folder, precision="fp32").unused == ("classifier.bias", "classifier.weight")
    for name in ("bert", "bert-classifier"):
        assert load(tiny(name), precision="fp32").unused == ()


def test_a_decoder_is_tied_only_if_its_file_says_so(tiny) -> None:
    checkpoint = load(tiny("bert-untied"), precision="fp32")
    stored = load_file(checkpoint.folder / "model.safetensors")
    assert torch.equal(checkpoint.masked_lm.output.weight, stored["cls.predictions.decoder.weight"])
    assert not torch.equal(checkpoint.masked_lm.output.weight, checkpoint.encoder.embeddings.words.weight)
    checkpoint = load(tiny("bert"), precision="fp32")
    assert checkpoint.masked_lm.output.weight is checkpoint.encoder.embeddings.words.weight
    stored = load_file(checkpoint.folder / "model.safetensors").values()
    assert checkpoint.num_parameters == sum(t.numel() for t in stored)
    assert checkpoint.num_bytes == 4 * checkpoint.num_parameters


def test_loaded_weights_outlive_their_file(tiny_copy) -> None:
    checkpoint = load(tiny_copy("bert"), precision="fp32")
    before = logits(checkpoint)
    path = checkpoint.folder / "model.safetensors"
    path.write_bytes(bytes(path.stat().st_size))
    assert torch.equal(before, logits(checkpoint))


def test_facts_about_a_checkpoint(tiny_copy, tmp_path, tiny) -> None:
    folder = tiny_copy("roberta")
    (folder / "README.md").write_text("---\nlicense: apache-2.0\n---\n# A model\n")
    checkpoint = load(folder, precision="fp32")
    assert (checkpoint.name, checkpoint.family, checkpoint.licence) == ("roberta", "roberta", "apache-2.0")
    assert not any(p.requires_grad for p in checkpoint.encoder.parameters())
    assert not checkpoint.encoder.training
    first = checkpoint.revision
    assert first.startswith("sha256:")
    assert load(write(tmp_path / "other", "roberta", seed=1), precision="fp32").revision != first
    snapshot = folder.rename(tmp_path / ("0123456789" * 4))
    assert load(snapshot, precision="fp32").revision == snapshot.name
    config = load(tiny("roberta"), precision="fp32").config
    assert (config.max_positions, config.first_position) == (62, 2)


def test_a_file_written_by_safetensors_save_model_is_loaded(tiny, tmp_path) -> None:
    model = RobertaForMaskedLM.from_pretrained(tiny("roberta")).eval()
    shutil.copytree(tiny("roberta"), tmp_path / "saved")
    save_model(model, str(tmp_path / "saved" / "model.safetensors"))
    assert "roberta.embeddings.word_embeddings.weight" not in load_file(tmp_path / "saved" / "model.safetensors")
    whole, other = load(tiny("roberta"), precision="fp32"), load(tmp_path / "saved", precision="fp32")
    assert torch.equal(logits(whole), logits(other)) and other.unused == ()


CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def asked_anew() -> Iterator[None]:
    """Another answer of the processor than before."""
    precision.has_bf16.cache_clear()
    yield
    precision.has_bf16.cache_clear()


@pytest.mark.parametrize(("has", "dtype"), [(True, torch.bfloat16), (False, torch.float32)])
def test_auto_follows_the_machine(monkeypatch, has: bool, dtype: torch.dtype) -> None:
    monkeypatch.setattr(torch.cpu, "_is_avx512_bf16_supported", lambda: has, raising=False)
    assert precision.resolve("auto", CPU) == dtype


def test_auto_is_fp32_where_torch_cannot_tell(monkeypatch) -> None:
    monkeypatch.delattr(torch.cpu, "_is_avx512_bf16_supported", raising=False)
    assert precision.resolve("auto", CPU) == torch.float32
    assert precision.resolve("auto", torch.device("mps")) == torch.float32


@pytest.mark.parametrize(("name", "dtype"), [("fp32", torch.float32), ("bf16", torch.bfloat16)])
def test_the_encoder_runs_in_the_requested_precision(tiny, name, dtype: torch.dtype) -> None:
    checkpoint = load(tiny("bert"), precision=name, device="cpu")
    assert checkpoint.precision == name
    for module in (checkpoint.encoder, *checkpoint.heads.values()):
        assert {p.dtype for p in module.parameters()} == {dtype}
    assert checkpoint.stored_dtype == torch.float32


def test_bf16_stays_near_fp32(bundled) -> None:
    ids = torch.tensor([[101, 1996, 3007, 1997, 2605, 2003, 103, 1012, 102]])
    fp32, bf16 = (load(bundled, precision=p, device="cpu") for p in ("fp32", "bf16"))
    first, second = (c.masked_lm(c.encoder(ids).last[0, 6]).float().softmax(-1) for c in (fp32, bf16))
    assert first.argmax() == second.argmax()
    assert 0 < (first - second).abs().max() < 0.05


@pytest.mark.parametrize("name", ["bert", "modernbert"])
def test_bf16_ignores_padding_too(tiny, name: str) -> None:
    checkpoint = load(tiny(name), precision="bf16", device="cpu")
    ids = torch.arange(5, 25)[None]
    padded = torch.cat([ids, torch.full((1, 6), checkpoint.config.pad_id)], dim=1)
    mask = torch.arange(26)[None] < 20
    for attention in (False, True):
        alone = checkpoint.encoder(ids, attention=attention).last
        with_padding = checkpoint.encoder(padded, mask=mask, attention=attention).last[:, :20]
        allowed = of_encoder(checkpoint.config, alone, unit=BF16)
        torch.testing.assert_close(alone.float(), with_padding.float(), rtol=0, atol=allowed)

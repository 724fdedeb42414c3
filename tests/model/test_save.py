"""Loading and saving preserves a file bit for bit, and transformers reads it alike."""

import json

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from tests.model.conftest import REAL, Case, read_tensors
from tests.tiny import RECIPES

# an untied decoder has its own; transformers never reads these
UNUSED_BIAS = {"cls.predictions.bias", "lm_head.bias", "predictions.bias"}


def assert_same_tensors(first, second, aside=frozenset()) -> None:
    a, b = read_tensors(first), read_tensors(second)
    if "embeddings.word_embeddings.weight" in a:  # a file without the prefix is saved with it
        a = {f"bert.{name}": tensor for name, tensor in a.items()}
    assert a.keys() == b.keys()
    for name in a.keys() - aside:
        assert a[name].dtype == b[name].dtype, name
        assert torch.equal(a[name].view(torch.uint8), b[name].view(torch.uint8)), name


def test_loading_and_saving_preserve_every_bit(case: Case, tmp_path) -> None:
    save(case.ours, tmp_path)
    assert_same_tensors(case.folder, tmp_path, frozenset() if case.ours.config.tied else UNUSED_BIAS)
    assert json.loads((tmp_path / "config.json").read_text()) == json.loads((case.folder / "config.json").read_text())


def test_transformers_loads_a_saved_checkpoint(case: Case, tmp_path) -> None:
    save(case.ours, tmp_path)
    kind = REAL[case.name][0] if case.name in REAL else RECIPES[case.name].model
    model, report = getattr(transformers, kind).from_pretrained(
        tmp_path, attn_implementation="eager", dtype=torch.float32, output_loading_info=True
    )
    assert not any(report.values()), report
    before = case.refer()
    case.theirs, original = model.eval(), case.theirs
    after = case.refer()
    case.theirs = original
    for key in before:
        pairs = zip(before[key], after[key], strict=True)
        assert all(torch.equal(first, second) for first, second in pairs), key


def test_saved_tokenizer_is_the_same(case: Case, tmp_path) -> None:
    save(case.ours, tmp_path)
    text = "The capital of France is Paris."
    assert load(tmp_path, precision="fp32").tokenizer.encode(text) == case.ours.tokenizer.encode(text)


def test_a_checkpoint_can_be_saved_to_its_own_folder(tiny_copy, tiny) -> None:
    folder = tiny_copy("bert")
    save(load(folder, precision="fp32"), folder)
    assert_same_tensors(tiny("bert"), folder)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_files_keep_their_dtype(tiny_copy, tmp_path, dtype) -> None:
    folder = tiny_copy("modernbert")
    rewrite(folder, lambda name, tensor: tensor.to(dtype))
    save(load(folder, precision="fp32"), tmp_path / "saved")
    assert_same_tensors(folder, tmp_path / "saved")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_mixed_dtypes_lose_no_digits(tiny_copy, tmp_path, dtype) -> None:
    folder = tiny_copy("bert")
    rewrite(folder, lambda name, tensor: tensor.to(dtype) if "LayerNorm" in name else tensor)
    save(load(folder, precision="fp32"), tmp_path / "saved")
    before, after = (load_file(f / "model.safetensors") for f in (folder, tmp_path / "saved"))
    assert all(torch.equal(before[name].double(), after[name].double()) for name in before)


def test_saving_from_a_lower_precision_is_rejected(tiny, tiny_copy, tmp_path) -> None:
    with pytest.raises(ExplorerError, match="bf16.*float32.*los.* digits"):
        save(load(tiny("bert"), precision="bf16"), tmp_path / "saved")
    folder = tiny_copy("distilbert")
    rewrite(folder, lambda name, tensor: tensor.double())
    with pytest.raises(ExplorerError, match="fp32.*float64.*los.* digits"):
        save(load(folder, precision="fp32"), tmp_path / "saved")
    assert not (tmp_path / "saved").exists()


def test_a_bf16_checkpoint_run_in_bf16_can_be_saved(tiny_copy, tmp_path) -> None:
    folder = tiny_copy("roberta")
    rewrite(folder, lambda name, tensor: tensor.bfloat16())
    save(load(folder, precision="bf16"), tmp_path / "saved")
    assert_same_tensors(folder, tmp_path / "saved")


def rewrite(folder, change) -> None:
    path = folder / "model.safetensors"
    save_file({n: change(n, t) for n, t in load_file(path).items()}, path, metadata={"format": "pt"})

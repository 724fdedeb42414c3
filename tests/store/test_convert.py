"""pytorch_model.bin: the numbers equal those read by PyTorch, and no code in a file is run."""

import io
import json
import os
import pickle
import shutil
import time
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bertexplorer import engine
from bertexplorer.core import provenance
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store import convert
from bertexplorer.store.pickled_weights import read
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder

LEGACY = [False, True]


def saved(found: Any, path: Path, *, legacy: bool = False) -> Path:
    torch.save(found, path, _use_new_zipfile_serialization=not legacy)
    return path


def pickled(tiny_copy: Tiny, *, legacy: bool = False, **more: Any) -> Path:
    """A tiny BERT whose weights are only in pytorch_model.bin, like those of old checkpoints."""
    folder = tiny_copy("bert")
    model = transformers.BertForPreTraining.from_pretrained(folder)
    (folder / "model.safetensors").unlink()
    saved(model.state_dict() | more, folder / convert.SINGLE, legacy=legacy)
    return folder


def library(folder: Path, **settings: Any) -> CheckpointRegistry:
    return CheckpointRegistry(Settings(models_dir=folder.parent, data_dir=folder.parent / "data", **settings))


@pytest.mark.parametrize("legacy", LEGACY)
def test_every_kind_of_tensor_is_read_as_in_torch(tmp_path: Path, legacy: bool) -> None:
    base = torch.randn(4, 6)
    kinds = (torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32, torch.int16, torch.int8)
    given = {str(kind): (100 * torch.randn(3, 5)).to(kind) for kind in (*kinds, torch.uint8, torch.bool)}
    given |= {
        "transposed": base.t(),
        "part": torch.randn(10)[3:7],
        "empty": torch.zeros(0, 3),
        "one": torch.tensor(2.5),
    }
    given["parameter"] = torch.nn.Parameter(torch.randn(2, 2))
    path = saved(OrderedDict(given), tmp_path / "weights", legacy=legacy)
    result, wanted = read(path), torch.load(path, weights_only=True)
    assert list(result) == list(wanted)
    for name, tensor in wanted.items():
        ours = torch.from_numpy(result[name].copy())
        ours = ours.view(torch.bfloat16) if tensor.dtype == torch.bfloat16 else ours
        assert ours.dtype == tensor.dtype and torch.equal(ours, tensor), name


def test_a_sentence_encoder_beside_pickled_weights_is_kept(tiny_copy: Tiny) -> None:
    folder = pickled(tiny_copy)
    before = library(folder).get("bert")
    write_sentence_encoder(folder, {"pooling_mode_cls_token": True}, dense=["Tanh"])
    after = library(folder).get("bert")
    assert before.sentence_encoder is None and after.sentence_encoder
    said = "the first token's vector, a dense layer to 40 numbers with Tanh, scaled to length 1"
    assert str(after.sentence_encoder) == said


def test_a_download_that_differs_from_the_published_file_is_rejected(tiny_copy: Tiny) -> None:
    weights = pickled(tiny_copy) / convert.SINGLE
    blob = weights.rename(weights.parent.parent / convert.digest(weights))  # as in the hub's cache
    weights.symlink_to(blob)
    assert library(weights.parent).get("bert").num_parameters > 0
    weights.unlink()
    weights.symlink_to(blob.rename(blob.with_name("0" * 64)))
    with pytest.raises(ExplorerError, match=r"the hub published 0{12}….*delete it from the hub's cache"):
        library(weights.parent).get("bert")


@pytest.mark.parametrize("legacy", LEGACY)
def test_a_pickled_checkpoint_answers_like_transformers(tiny_copy: Tiny, legacy: bool) -> None:
    folder = pickled(tiny_copy, legacy=legacy)
    if not legacy:  # the tied head before the embeddings
        weights = reversed(torch.load(folder / convert.SINGLE, weights_only=True).items())
        saved(dict(weights), folder / convert.SINGLE, legacy=False)
    shelf = library(folder)
    checkpoint = shelf.get("bert", "fp32")
    encoding = checkpoint.tokenizer.encode("the [MASK] was in paris")
    ours = next(engine.masked_log_probs(checkpoint, [encoding], positions=[[2]]))[0]
    model = transformers.BertForPreTraining.from_pretrained(folder).eval()
    with torch.no_grad():
        theirs = model(torch.tensor([encoding.ids])).prediction_logits[0, 2].log_softmax(-1)
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-5)
    message = dict(provenance.checkpoint_facts(checkpoint))["Weights"]
    assert message.startswith("converted from pytorch_model.bin (sha256 ")
    assert convert.digest(folder / convert.SINGLE)[:12] in message
    assert shelf.offline().count("bert") == 1 and not list(folder.glob("*.safetensors"))


def test_a_file_is_converted_once_and_again_after_a_change(tiny_copy: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = pickled(tiny_copy)
    memory = folder.parent / "data"
    first = convert.with_safetensors("bert", folder, memory, allowed=True)
    monkeypatch.setattr(convert, "convert", lambda *_: pytest.fail("converted twice"))
    assert convert.with_safetensors("bert", folder, memory, allowed=True) == first
    monkeypatch.undo()
    (folder / "README.md").write_text("another card")
    second = convert.with_safetensors("bert", folder, memory, allowed=True)
    assert second != first and (second / "README.md").read_text() == "another card"


def test_the_shards_of_a_checkpoint_are_read_together(tiny_copy: Tiny) -> None:
    folder = pickled(tiny_copy)
    whole = torch.load(folder / convert.SINGLE, weights_only=True)
    (folder / convert.SINGLE).unlink()
    parts = [dict(list(whole.items())[::2]), dict(list(whole.items())[1::2])]
    for number, part in enumerate(parts):
        saved(part, folder / f"pytorch_model-{number}.bin")
    places = {name: f"pytorch_model-{number}.bin" for number, part in enumerate(parts) for name in part}
    (folder / convert.INDEX).write_text(json.dumps({"weight_map": places}))
    assert library(folder).get("bert").config.num_layers > 0
    (folder / convert.INDEX).write_text(json.dumps({"weight_map": {"x": "../pytorch_model.bin"}}))
    with pytest.raises(ExplorerError, match="which is not a file of this folder"):
        library(folder).get("bert")


def test_a_page_open_to_others_rejects_pickles(tiny_copy: Tiny) -> None:
    folder = pickled(tiny_copy)
    for settings in ({"host": "0.0.0.0"}, {"pickle": "refuse"}):
        with pytest.raises(ExplorerError, match="BERTEXPLORER_PICKLE=convert"):
            library(folder, **settings).get("bert")
    assert library(folder, host="0.0.0.0", pickle="convert").get("bert").config.num_layers > 0


class Runs:
    """Pickles as a call of *function* with *given*."""

    def __init__(self, function: Any, *given: Any) -> None:
        self.call = function, given

    def __reduce__(self) -> Any:
        return self.call


MARK = "ran"
CODE = f"open({MARK!r}, 'w').close()"
HARMFUL = {
    "system": Runs(os.system, f"touch {MARK}"),
    "eval": Runs(eval, CODE),
    "exec": Runs(exec, CODE),
    "open": Runs(open, MARK, "w"),
    "import": Runs(__import__, "antigravity"),
    "getattr": Runs(getattr, "x", "upper"),
    "numpy": Runs(np.core.multiarray._reconstruct, np.ndarray, (0,), b"b"),
    "load": Runs(torch.load, MARK),
    "rmtree": Runs(shutil.rmtree, MARK),
}


@pytest.mark.parametrize("legacy", LEGACY)
@pytest.mark.parametrize("way", HARMFUL)
def test_a_file_that_runs_code_is_rejected_and_runs_nothing(
    tiny_copy: Tiny, tmp_path: Path, way: str, legacy: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folder = pickled(tiny_copy, legacy=legacy, harm=HARMFUL[way])
    with pytest.raises(ExplorerError, match="which no weights need"):
        read(folder / convert.SINGLE)
    assert not (tmp_path / MARK).exists()


def test_a_rejected_conversion_leaves_no_files(tiny_copy: Tiny) -> None:
    folder = pickled(tiny_copy, harm=HARMFUL["system"])
    with pytest.raises(ExplorerError, match=r"bert cannot be used: pytorch_model.bin cannot be read: it names \w+\.s"):
        library(folder).get("bert")
    assert list((folder.parent / "data" / "converted").iterdir()) == []


def tensor(
    storage: Any = ("storage", "FloatStorage", "0", "cpu", 4), offset: Any = 0, shape: Any = (4,), stride: Any = (1,)
) -> bytes:
    """A pickle of one tensor as described, in protocol 2."""

    class Described:
        def __reduce__(self) -> Any:
            return torch._utils._rebuild_tensor_v2, (Place(), offset, shape, stride, False, OrderedDict())

    class Place:
        pass

    class Writer(pickle.Pickler):
        def persistent_id(self, one: Any) -> Any:
            if isinstance(one, Place):
                kind = getattr(torch, storage[1]) if isinstance(storage[1], str) else storage[1]
                return (storage[0], kind, *storage[2:])
            return None

    stream = io.BytesIO()
    Writer(stream, protocol=2).dump({"weight": Described()})
    return stream.getvalue()


def archive(path: Path, data: bytes, *, twice: bool = False, packed: bool = False, numbers: bytes = bytes(16)) -> Path:
    kind = zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED
    with zipfile.ZipFile(path, "w", kind) as file:
        file.writestr("archive/data.pkl", data)
        file.writestr("archive/data/0", numbers)
        if twice:
            with pytest.warns(UserWarning, match="Duplicate"):
                file.writestr("archive/data/0", numbers)
    return path


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"shape": (10**9,)}, "does not fit into its 4 numbers"),
        ({"shape": (10**9, 1), "stride": (0, 1)}, "does not fit into its 4 numbers"),
        ({"storage": ("storage", "FloatStorage", "0", "cpu", 10**9), "shape": (10**9,)}, "has 16 bytes; wanted 4,000"),
        ({"offset": 2}, "does not fit"),
        ({"offset": -1}, "the shape"),
        ({"stride": (2,)}, "does not fit"),
        ({"stride": (-1,)}, "the strides"),
        ({"shape": (2, 2)}, "the strides"),
        ({"shape": "four"}, "not described"),
        ({"storage": ("storage", "FloatStorage", "1", "cpu", 4)}, "has 0 bytes"),
        ({"storage": ("module", "FloatStorage", "0", "cpu", 4)}, "not described"),
        ({"storage": ("storage", "FloatStorage", "0", "cpu", -4)}, "not described"),
    ],
)
def test_a_tensor_with_a_false_description_is_rejected(tmp_path: Path, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        read(archive(tmp_path / "weights", tensor(**given)))


def test_archives_unlike_those_of_pytorch_are_rejected(tmp_path: Path) -> None:
    assert read(archive(tmp_path / "fine", tensor()))["weight"].tolist() == [0.0] * 4
    with pytest.raises(ExplorerError, match="have the same name"):
        read(archive(tmp_path / "twice", tensor(), twice=True))
    with pytest.raises(ExplorerError, match="is compressed"):
        read(archive(tmp_path / "packed", tensor(), packed=True))


@pytest.mark.parametrize("legacy", LEGACY)
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.9, 0.999])
def test_a_truncated_file_is_rejected(tmp_path: Path, share: float, legacy: bool) -> None:
    path = saved({"a": torch.randn(50, 50), "b": torch.randn(7)}, tmp_path / "weights", legacy=legacy)
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(ExplorerError):
        read(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html><html><body>404</body></html>", "PyTorch did not write it"),
        (pickle.dumps([1, 2]), "PyTorch did not write it"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "PyTorch did not write it"),
    ],
)
def test_files_without_weights_are_rejected(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "weights"
    path.write_bytes(content)
    with pytest.raises(ExplorerError, match=message):
        read(path)


@pytest.mark.parametrize("result", [[torch.zeros(2)], {"model": {"weight": torch.zeros(2)}}, {1: torch.zeros(2)}, {}])
def test_anything_but_weights_by_name_is_rejected(tmp_path: Path, result: Any) -> None:
    with pytest.raises(ExplorerError, match="rather than"):
        read(saved(result, tmp_path / "weights"))


def test_attributes_set_by_a_pickle_are_ignored(tmp_path: Path) -> None:
    """A dictionary that reports other items is read by its content."""

    class Deceptive:
        def __reduce__(self) -> Any:
            return OrderedDict, (), {"items": OrderedDict}, None, iter([("weight", torch.ones(2))])

    path = saved(Deceptive(), tmp_path / "weights")
    assert read(path)["weight"].tolist() == [1.0, 1.0]


@pytest.mark.slow
def test_a_checkpoint_of_the_size_of_bert_base_is_converted_within_the_limits(tmp_path: Path) -> None:
    """Within the limits of the process: 2.2 times the size of the file plus a constant."""
    folder = tmp_path / "base"
    folder.mkdir()
    numbers = {f"layer.{n}": torch.randn(1024, 1024) for n in range(105)}
    path = saved(numbers, folder / convert.SINGLE)
    began = time.monotonic()
    converted = convert.with_safetensors("base", folder, tmp_path, allowed=True)
    assert (converted / "model.safetensors").stat().st_size == pytest.approx(path.stat().st_size, rel=0.01)
    assert time.monotonic() - began < 60

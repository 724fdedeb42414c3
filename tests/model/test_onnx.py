"""onnxruntime computes the same numbers from the file as the encoder."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import onnxruntime
import pytest
import torch

import bertexplorer as bx
from bertexplorer import engine
from bertexplorer.cli import main
from bertexplorer.engine.collate import collate
from bertexplorer.errors import ExplorerError
from bertexplorer.model.initialise import with_heads
from bertexplorer.model.load import load
from bertexplorer.model.onnx import POOLED, export_onnx
from bertexplorer.model.sentence_encoder import MODES
from bertexplorer.python.bert import Bert
from tests import tiny as recipes
from tests.conftest import Tiny
from tests.tolerance import assert_same

pytestmark = pytest.mark.slow


LAYERS = {"modernbert": 3, "albert": 2}  # with global and local attention; with shared weights
OF_ENCODERS = ("bert-mlm", "roberta", "electra-generator", "mpnet", "deberta", "nomic", "gte", "jina")
OWN_POOLING = ("bert-mlm", "albert", "modernbert", "eurobert")  # of a classifier: the other families share these
WITH = [*((family, "") for family in OF_ENCODERS), *((family, "sequence_classifier") for family in OWN_POOLING)]


@pytest.mark.parametrize(("family", "head"), [*WITH, ("bert-mlm", "span")])
def test_the_file_gives_the_outputs_of_the_checkpoint(tmp_path: Path, family: str, head: str) -> None:
    folder = recipes.write(tmp_path / family, family, num_hidden_layers=LAYERS.get(family, 1))
    checkpoint = load(folder, precision="fp32")
    if head:
        labels = ("a", "b", "c") if head == "sequence_classifier" else ()
        checkpoint = with_heads(checkpoint, [head], seed=1, labels=labels)
    names = export_onnx(checkpoint, tmp_path / "model.onnx")
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    draw = np.random.default_rng(0)
    ids = draw.integers(5, checkpoint.config.vocab_size, (3, 11))
    mask = np.ones_like(ids)
    mask[0, 6:] = 0
    given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    given = {entry.name: given[entry.name] for entry in session.get_inputs()}
    assert tuple(entry.name for entry in session.get_outputs()) == names
    result = session.run(None, given)
    seen = torch.from_numpy(mask) > 0
    with torch.no_grad():
        last = checkpoint.encoder(torch.from_numpy(ids), mask=seen).hidden[-1]
        if head == "sequence_classifier":
            expected = [checkpoint.heads[head](last, seen)]
        else:
            expected = [*checkpoint.heads[head](last).unbind(-1)] if head else [checkpoint.masked_lm(last)]
    for ours, theirs in zip(result, expected, strict=True):
        keep = seen if theirs.dim() > 1 and theirs.shape[:2] == ids.shape else slice(None)
        assert_same(checkpoint.config, torch.from_numpy(ours[keep]), theirs[keep])


def test_reduced_weights_are_not_exported(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="fp32"):
        export_onnx(load(tiny("bert-mlm"), precision="bf16"), tmp_path / "model.onnx")


def test_a_run_of_vectors_is_exported_without_a_head(tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = load(tiny("bert-mlm"), precision="fp32")
    assert export_onnx(checkpoint, tmp_path / "model.onnx", head="") == ("last_hidden_state",)
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    ids = np.array([[2, 7, 8, 3]])
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    with torch.no_grad():
        expected = checkpoint.encoder(torch.from_numpy(ids)).hidden[-1]
    assert_same(checkpoint.config, torch.from_numpy(session.run(None, given)[0]), expected)


def test_the_file_of_a_sentence_encoder_has_its_pooling(tmp_path: Path) -> None:
    """All modes beside each other, then a dense layer, so that the encoder is traced once."""
    folder = recipes.write(tmp_path / "bert", "bert", num_hidden_layers=1)
    recipes.write_sentence_encoder(folder, {"pooling_mode": list(MODES)}, dense=["Tanh"])
    checkpoint = load(folder, precision="fp32")
    names = export_onnx(checkpoint, tmp_path / "model.onnx", head=POOLED)
    assert names == ("last_hidden_state", "sentence_embedding")
    texts = ["a cat sat on the mat", "paris"]
    encodings = [checkpoint.sentence_tokenizer.encode(text) for text in texts]
    ids, segments, mask = collate(encodings, checkpoint.tokenizer.pad_id, torch.device("cpu"))
    assert mask is not None
    session = onnxruntime.InferenceSession(str(tmp_path / "model.onnx"), providers=["CPUExecutionProvider"])
    given = {"input_ids": ids, "attention_mask": mask.long(), "token_type_ids": segments}
    _, found = session.run(None, {name: tensor.numpy() for name, tensor in given.items()})
    wanted = engine.sentence_vectors(checkpoint, encodings, layer=1, pooling="own")
    assert_same(checkpoint.config, torch.from_numpy(found), wanted)


def test_a_checkpoint_without_pooling_has_none_in_its_file(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="no pooling of its own"):
        export_onnx(load(tiny("bert"), precision="fp32"), tmp_path / "model.onnx", head=POOLED)


def test_the_command_exports_a_sentence_encoder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = recipes.write_sentence_encoder(recipes.write(tmp_path / "bert", "bert", num_hidden_layers=1), {})
    assert main(["export", str(folder), "-o", str(tmp_path / "out.onnx")]) == 0
    assert "with its pooling: the mean over all tokens" in capsys.readouterr().err
    outputs = onnxruntime.InferenceSession(str(tmp_path / "out.onnx")).get_outputs()
    assert [entry.name for entry in outputs] == ["last_hidden_state", "sentence_embedding"]
    assert main(["export", str(tmp_path / "nothing"), "-o", str(tmp_path / "b.onnx")]) == 2


def test_python_writes_the_file_of_the_command(tmp_path: Path) -> None:
    folder = recipes.write_sentence_encoder(recipes.write(tmp_path / "bert", "bert", num_hidden_layers=1), {})
    bert = bx.load(folder, precision="bf16")  # whose rounding is not in the file
    assert bert.export_onnx(tmp_path / "python.onnx") == tmp_path / "python.onnx"
    assert main(["export", str(folder), "-o", str(tmp_path / "command.onnx")]) == 0
    ids = np.array([[2, 7, 8, 3]])
    given = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    found, wanted = (
        onnxruntime.InferenceSession(str(tmp_path / f"{name}.onnx")).run(["sentence_embedding"], given)[0]
        for name in ("python", "command")
    )
    np.testing.assert_array_equal(found, wanted)
    with pytest.raises(ExplorerError, match="exists already"):
        bert.export_onnx(tmp_path / "python.onnx")


def test_python_writes_no_file_that_it_cannot_make(tiny: Tiny, tmp_path: Path) -> None:
    with pytest.raises(ExplorerError, match="no pooling of its own"):
        bx.load(tiny("bert")).export_onnx(tmp_path / "model.onnx")
    folder = recipes.write_sentence_encoder(recipes.write(tmp_path / "bert", "bert", num_hidden_layers=1), {})
    in_memory = Bert(replace(load(folder), folder=Path()))
    with pytest.raises(ExplorerError, match="is in memory alone"):
        in_memory.export_onnx(tmp_path / "model.onnx")
    (tmp_path / "file").touch()
    with pytest.raises(ExplorerError, match="cannot be written"):
        bx.load(folder).export_onnx(tmp_path / "file" / "model.onnx")

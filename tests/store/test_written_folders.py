"""Folders that people write: that of a run opens on its checkpoint, none is taken for a name of the hub, and files that
changed are read again."""

import json
import shutil
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

import bertexplorer as bx
from bertexplorer.engine.tuned_lens import FILE, read_tuned_lens
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training.checkpointing import MANIFEST
from tests.conftest import Tiny
from tests.tiny import write, write_sentence_encoder


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which is empty."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def library(tmp_path: Path) -> CheckpointRegistry:
    """Checkpoints as Python and the command line see them."""
    return CheckpointRegistry(Settings(models_dir=tmp_path / "models", data_dir=tmp_path / "data"), anywhere=True)


def write_run(folder: Path, place: str = "best/step-000000010", name: str = "bert") -> Path:
    """A run as it lies on the disk: its settings, and a commit that holds a checkpoint."""
    commit = write(folder / place, name)
    sealed = commit.parent if commit.name == "model" else commit
    (sealed / MANIFEST).write_text("{}")
    (folder / "spec.json").write_text(json.dumps({"task": "classification"}))
    return commit


@pytest.mark.parametrize("place", ["best/step-000000010", "commits/000000010/model"])
@pytest.mark.parametrize("name", ["reviews", "runs/reviews", "./runs/reviews", "runs/reviews/"])
def test_the_folder_of_a_run_opens_on_its_checkpoint(
    library: CheckpointRegistry, here: Path, name: str, place: str
) -> None:
    commit = write_run(here / name, place)
    assert list(library.fetch(name)) == [], "nothing is asked of the hub"
    assert library.get(name).folder == commit


def test_a_run_in_the_models_folder_opens_on_the_page(tmp_path: Path) -> None:
    page = CheckpointRegistry(Settings(models_dir=tmp_path / "models", data_dir=tmp_path / "data"))
    commit = write_run(tmp_path / "models" / "reviews")
    assert page.get("reviews").folder == commit


def test_a_run_without_a_checkpoint_says_so(library: CheckpointRegistry, here: Path) -> None:
    (here / "runs/reviews").mkdir(parents=True)
    (here / "runs/reviews/spec.json").write_text("{}")
    with pytest.raises(ExplorerError, match="The run in reviews has no checkpoint yet. Resume it"):
        library.get("runs/reviews")


@pytest.mark.parametrize("name", ["models/mine", "mine"])
def test_an_existing_folder_or_file_is_never_a_name_of_the_hub(
    library: CheckpointRegistry, here: Path, name: str
) -> None:
    (here / name).mkdir(parents=True)
    assert list(library.fetch(name)) == []
    with pytest.raises(ExplorerError, match="No config.json in .*mine"):
        library.get(name)
    (here / name / "notes").write_text("")
    with pytest.raises(ExplorerError, match="notes is a file; wanted the folder of a checkpoint"):
        library.find(f"{name}/notes")


def test_weights_that_are_written_again_are_read_again(tiny: Tiny, here: Path) -> None:
    """The loop of a notebook: train, save_pretrained, bx.load. transformers says what the vectors are."""
    folder = here / "mine"
    for seed in (1, 2):
        write(folder, "bert-base", seed=seed)
        model = transformers.BertModel.from_pretrained(folder).eval()
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        with torch.inference_mode():
            wanted = model(**tokenizer("a great film", return_tensors="pt")).last_hidden_state[0].mean(0)
        found = bx.load(folder, precision="fp32").encode("a great film")
        torch.testing.assert_close(torch.from_numpy(found), wanted, rtol=0, atol=1e-4)
    assert bx.load(folder, precision="fp32").checkpoint is bx.load(folder, precision="fp32").checkpoint


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "1_Pooling/config.json"])
def test_any_file_that_counts_is_read_again(library: CheckpointRegistry, here: Path, file: str) -> None:
    folder = write(here / "mine", "bert-base")
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode": "mean"}')
    modules = [{"path": "", "type": "Transformer"}, {"path": "1_Pooling", "type": "Pooling"}]
    (folder / "modules.json").write_text(json.dumps(modules))
    first, random = library.get("mine"), library.control("mine")
    (folder / "trainer.log").write_text("step 1")
    assert library.get("mine") is first, "a file that is not read changes nothing"
    (folder / file).write_text((folder / file).read_text() + " ")
    assert library.get("mine") is not first and library.control("mine") is not random
    assert len(library.loaded) == 2, "the checkpoints of the old files are not kept"


def test_a_base_that_changed_is_read_again_for_its_adapter(
    library: CheckpointRegistry, here: Path, bundled: Path
) -> None:
    base = Path(shutil.copytree(bundled, here / "mini-copy"))
    adapter = Path(shutil.copytree(bundled.parent / "sentiment", here / "mine"))
    about = json.loads((adapter / "adapter_config.json").read_text())
    (adapter / "adapter_config.json").write_text(json.dumps(about | {"base_model_name_or_path": "mini-copy"}))
    first = library.get(str(adapter))
    weights = load_file(base / "model.safetensors")
    save_file({name: tensor.clone() for name, tensor in weights.items()}, base / "model.safetensors")
    assert library.get(str(adapter)) is not first


def test_pickled_weights_with_a_tuned_lens_beside_them_open_with_it(
    library: CheckpointRegistry, here: Path, tiny: Tiny
) -> None:
    folder = write(here / "mine", "bert-mlm")
    tensors = load_file(folder / "model.safetensors")
    (folder / "model.safetensors").unlink()
    torch.save(tensors, folder / "pytorch_model.bin")
    plain = library.get("mine")
    layers, width = plain.config.num_layers, plain.config.hidden_size
    about = {"positions": 1, "held_out": 1, "raw": [1.0] * layers, "tuned": [0.5] * layers, "seconds": 0.0}
    lens = {"weights": torch.zeros(layers, width, width).half(), "biases": torch.zeros(layers, width).half()}
    save_file(lens, folder / FILE, metadata={"lens": json.dumps(about | {"revision": plain.revision})})
    checkpoint = library.get("mine")
    assert checkpoint.num_parameters == plain.num_parameters
    assert read_tuned_lens(checkpoint) is not None


def test_a_checkpoint_whose_files_were_written_again_names_the_weights_that_it_has(tiny: Tiny, here: Path) -> None:
    """An index of vectors is found by the revision: the old vectors must not be kept as those of the new weights."""
    folder = write(here / "mine", "bert-base", seed=1)
    old, untouched = bx.load(folder).checkpoint, bx.load(shutil.copytree(folder, here / "copy")).checkpoint
    write(folder, "bert-base", seed=2)
    new = bx.load(folder).checkpoint
    assert len({old.revision, new.revision, untouched.revision}) == 3
    assert new.revision == bx.load(shutil.copytree(folder, here / "another")).checkpoint.revision


def test_the_modules_of_a_sentence_encoder_are_not_listed_as_checkpoints(tmp_path: Path) -> None:
    models = tmp_path / "models"
    write_sentence_encoder(write(models / "plain", "bert-base"), {"pooling_mode": "mean"}, dense=["Tanh"])
    older = write_sentence_encoder(write(models / "older", "bert-base"), {"pooling_mode": "mean"})
    (older / "0_Transformer").mkdir()
    for name in ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        shutil.move(older / name, older / "0_Transformer" / name)
    modules = json.loads((older / "modules.json").read_text())
    (older / "modules.json").write_text(json.dumps([{**modules[0], "path": "0_Transformer"}, *modules[1:]]))
    page = CheckpointRegistry(Settings(models_dir=models, data_dir=tmp_path / "data"))
    assert page.local_names() == ["older", "plain"]
    assert [page.get(name).name for name in page.local_names()] == ["older", "plain"]

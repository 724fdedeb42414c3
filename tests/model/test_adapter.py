"""Adapters in PEFT's format: what PEFT and transformers compute with them, and what is refused."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bertexplorer import engine
from bertexplorer.errors import ExplorerError
from bertexplorer.model.adapter import CONFIG, WEIGHTS
from bertexplorer.model.load import load
from bertexplorer.settings import ASSETS, Settings
from bertexplorer.store import examine
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny
from tests.tolerance import of_encoder

Made = Callable[..., tuple[Path, Path]]
TEXTS = ("The film was a joy.", "The food was cold and the waiter was rude.")


def peft_logits(base: Path, adapter: Path, **config: object) -> torch.Tensor:
    """The logits of transformers with PEFT's own reading of the adapter."""
    from peft import PeftModel

    model = transformers.AutoModelForSequenceClassification.from_pretrained(base, dtype=torch.float32, **config)
    model = PeftModel.from_pretrained(model, str(adapter)).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    with torch.no_grad():
        return torch.cat([model(**tokenizer(text, return_tensors="pt")).logits for text in TEXTS])


def our_logits(folder: Path, base: Path) -> torch.Tensor:
    checkpoint = load(folder, precision="fp32", device="cpu", base=base)
    encodings = [[checkpoint.tokenizer.encode(text)] for text in TEXTS]
    return torch.stack([engine.head_logits(checkpoint, one, "sequence_classifier")[0] for one in encodings])


@pytest.fixture
def made(tiny: Tiny, tmp_path: Path) -> Made:
    """A function that lets PEFT make an adapter for a tiny checkpoint, with random numbers throughout."""

    def make(recipe: str = "bert", **settings: object) -> tuple[Path, Path]:
        from peft import LoraConfig, get_peft_model

        torch.manual_seed(0)
        base = tiny(recipe)
        model = transformers.AutoModelForSequenceClassification.from_pretrained(base, num_labels=3)
        usual = {"r": 4, "lora_alpha": 6, "target_modules": ["query", "value", "dense"], "task_type": "SEQ_CLS"}
        model = get_peft_model(model, LoraConfig(**{**usual, **settings}))
        for parameter in model.parameters():
            if parameter.requires_grad:
                torch.nn.init.normal_(parameter, std=0.3)
        model.save_pretrained(tmp_path / "adapter")
        return base, tmp_path / "adapter"

    return make


@pytest.mark.parametrize(
    "settings",
    [{}, {"use_rslora": True}, {"modules_to_save": ["classifier", "pooler"], "target_modules": ["key"]}],
    ids=["LoRA", "rsLoRA", "the pooler too"],
)
def test_an_adapter_of_peft_gives_peft_s_logits(made: Made, settings: dict) -> None:
    base, adapter = made(**settings)
    wanted = peft_logits(base, adapter, num_labels=3)
    checkpoint = load(adapter, precision="fp32", device="cpu", base=base)
    assert checkpoint.labels == ("LABEL_0", "LABEL_1", "LABEL_2") and "masked_lm" not in checkpoint.heads
    torch.testing.assert_close(our_logits(adapter, base), wanted, rtol=0, atol=of_encoder(checkpoint.config, 10.0))
    assert float((wanted - our_logits(adapter, base)).abs().max()) < float(wanted.abs().max())


def test_the_bundled_adapter_gives_peft_s_logits_and_names_its_labels() -> None:
    sentiment, mini = (ASSETS / "checkpoints" / name for name in ("sentiment", "mini"))
    wanted = peft_logits(mini, sentiment, num_labels=2)
    ours = our_logits(sentiment, mini)
    checkpoint = CheckpointRegistry(Settings()).get("sentiment", "fp32")
    torch.testing.assert_close(ours, wanted, rtol=0, atol=of_encoder(checkpoint.config, 10.0))
    assert [checkpoint.labels[i] for i in wanted.argmax(-1)] == ["positive", "negative"]
    assert checkpoint.revision != CheckpointRegistry(Settings()).get("mini", "fp32").revision
    assert (sentiment / WEIGHTS).stat().st_size < 3_000_000


def change(folder: Path, **fields: object) -> None:
    config = json.loads((folder / CONFIG).read_text())
    (folder / CONFIG).write_text(json.dumps({**config, **fields}))


def rename(folder: Path, old: str, new: str) -> None:
    tensors = load_file(folder / WEIGHTS)
    save_file({name.replace(old, new): tensor for name, tensor in tensors.items()}, folder / WEIGHTS)


def flatten(folder: Path) -> None:
    tensors = load_file(folder / WEIGHTS)
    save_file({n: t.flatten() if "lora_A" in n else t for n, t in tensors.items()}, folder / WEIGHTS)


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (lambda folder: change(folder, peft_type="IA3"), "describes 'IA3' of rank 4; wanted LORA"),
        (lambda folder: change(folder, use_dora=True), "sets use_dora, which is not read here. Merge the adapter"),
        (lambda folder: (folder / CONFIG).write_text("["), "is not that of a LoRA adapter"),
        (lambda folder: (folder / CONFIG).write_text("{}"), "is not that of a LoRA adapter"),
        (
            lambda folder: rename(folder, "attention.self.query", "attention.self.magic"),
            "magic, which .* does not have",
        ),
        (lambda folder: rename(folder, "lora_A", "lora_magnitude_vector"), "which is no plain LoRA"),
        (lambda folder: rename(folder, "classifier.weight", "thing.weight"), "lack classifier.weight"),
        (lambda folder: (folder / WEIGHTS).write_bytes(b"no"), "incomplete or damaged"),
        (lambda folder: (folder / CONFIG).write_text(" " * 2_000_000), "is 2,000,000 bytes; wanted at most 1,000,000"),
        (lambda folder: (folder / "config.json").write_text("[]"), "config.json is not that of a LoRA adapter"),
        (lambda folder: change(folder, lora_alpha=10**400), "is not that of a LoRA adapter"),
        (lambda folder: flatten(folder), "lora_A.weight of the adapter is no matrix"),
        (
            lambda folder: (folder / WEIGHTS).rename(folder / "adapter_model.bin"),
            r"it holds adapter_model.bin, which may run code when opened. Save the adapter again",
        ),
    ],
)
def test_an_adapter_that_cannot_be_used_is_refused(made: Made, damage: Callable[[Path], object], words: str) -> None:
    base, adapter = made()
    damage(adapter)
    with pytest.raises(ExplorerError, match=words):
        load(adapter, precision="fp32", device="cpu", base=base)


def test_an_adapter_for_another_checkpoint_is_refused(made: Made, tiny: Tiny, bundled: Path) -> None:
    _, adapter = made()
    with pytest.raises(ExplorerError, match="numbers; in .* it is 384x384. It belongs to another checkpoint"):
        load(adapter, precision="fp32", base=bundled)
    with pytest.raises(ExplorerError, match="which .* does not have. It belongs to another checkpoint"):
        load(adapter, precision="fp32", base=tiny("modernbert"))


@pytest.fixture
def registry(made: Made, tmp_path: Path) -> CheckpointRegistry:
    """Checkpoints with an adapter called "mine"; its base is that of `made`."""
    shutil.copytree(made()[1], tmp_path / "models" / "mine")
    return CheckpointRegistry(Settings(models_dir=tmp_path / "models", data_dir=tmp_path / "data"))


def test_the_base_of_an_adapter_is_found_by_name_in_the_models_folder(registry: CheckpointRegistry, tiny: Tiny) -> None:
    models, base = registry.settings.models_dir, tiny("bert")
    change(models / "mine", base_model_name_or_path=str(base))
    with pytest.raises(ExplorerError, match="outside the models folder"):
        registry.get("mine", "fp32")
    change(models / "mine", base_model_name_or_path="somebody/elsewhere")
    assert "mine" in registry.offline()
    with pytest.raises(ExplorerError, match="mine is an adapter for somebody/elsewhere, which is not on this disk"):
        registry.get("mine", "fp32")
    shutil.copytree(base, models / "elsewhere")
    assert "sequence_classifier" in registry.get("mine", "fp32").heads


def test_a_foreign_base_is_examined_too(
    registry: CheckpointRegistry, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = tiny("bert")
    seen: list[str] = []
    shutil.copytree(base, registry.settings.models_dir / base.name)
    monkeypatch.setattr(examine, "examine", lambda name, folder, data: seen.append(folder.name))
    registry.get("mine", "fp32")
    assert seen == ["mine", base.name]

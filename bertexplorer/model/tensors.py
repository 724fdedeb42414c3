"""The tensors of a checkpoint folder: safetensors only, one file or a sharded index, checked before they are read."""

import json
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from bertexplorer.errors import ExplorerError

DTYPES = {"F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16}
ADAPTER = "adapter_model.safetensors"
PICKLES = ("pytorch_model.bin", "model.pt", "model.bin", "tf_model.h5", "flax_model.msgpack")


@dataclass(frozen=True)
class Stored:
    """One tensor as a file's header describes it."""

    file: Path
    name: str
    shape: tuple[int, ...]
    dtype: str

    def read(self) -> Tensor:
        with safe_open(self.file, "pt") as opened:
            return opened.get_tensor(self.name)


@dataclass(frozen=True)
class Slice(Stored):
    """One of equal slices of axis 0 of another tensor, by a name of its own."""

    whole: Stored
    part: int
    parts: int

    def read(self) -> Tensor:
        return self.whole.read().chunk(self.parts)[self.part] if self.parts > 1 else self.whole.read()


@dataclass(frozen=True)
class Zeros(Stored):
    """A bias that a layout does without."""

    def read(self) -> Tensor:
        return torch.zeros(self.shape, dtype=DTYPES[self.dtype])


def stored_tensors(folder: Path) -> dict[str, Stored]:
    """Name -> header entry for all tensors in *folder*. Raises ExplorerError if there is no valid file."""
    tensors: dict[str, Stored] = {}
    for file in weight_files(folder):
        tensors |= stored_in(file)
    return tensors


def stored_in(file: Path) -> dict[str, Stored]:
    """Name -> header entry for all tensors in *file*. Raises ExplorerError if it is damaged."""
    tensors: dict[str, Stored] = {}
    try:
        with safe_open(file, "pt") as opened:
            for name in opened.keys():  # noqa: SIM118 - not a dict
                entry = opened.get_slice(name)
                tensors[name] = Stored(file, name, tuple(entry.get_shape()), str(entry.get_dtype()))
    except (SafetensorError, OSError) as error:
        size = file.stat().st_size / 1e6 if file.is_file() else 0.0
        raise ExplorerError(
            f"{file.name} is incomplete or damaged ({size:.1f} MB on disk: {error}). Download it again."
        ) from error
    return tensors


def weight_files(folder: Path) -> list[Path]:
    """model.safetensors, or every file that model.safetensors.index.json names; of an adapter, its file."""
    if (folder / ADAPTER).is_file() and not (folder / "model.safetensors").is_file():
        return [folder / ADAPTER]
    index = folder / "model.safetensors.index.json"
    single = folder / "model.safetensors"
    if single.is_file():
        return [single]
    if not index.is_file():
        pickles = [name for name in PICKLES if (folder / name).is_file()]
        reason = f"it holds {', '.join(pickles)}, which may run code when opened" if pickles else "it holds no weights"
        raise ExplorerError(
            f"No model.safetensors in {folder.name}: {reason}. Only safetensors is read. Convert it once with "
            "transformers: AutoModelForPreTraining.from_pretrained(…).save_pretrained(folder)."
        )
    try:
        names = sorted(set(json.loads(index.read_text("utf-8"))["weight_map"].values()))
    except (ValueError, KeyError, AttributeError, TypeError, RecursionError) as error:
        raise ExplorerError(f"{index.name} is not a list of weight files. Download it again.") from error
    for name in names:
        if not isinstance(name, str) or Path(name).name != name or not (folder / name).is_file():
            raise ExplorerError(f"{index.name} names {name!r}, which is not a file of this folder. Download it again.")
    return [folder / name for name in names]

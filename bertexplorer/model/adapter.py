"""Adapters in PEFT's format: small matrices that are added to the weights of another checkpoint when it is loaded.

LoRA (Hu et al., 2021): a weight W becomes W + s B A, where A and B have few rows and columns and s is alpha / r, or
alpha / √r (rsLoRA, Kalajdzievski, 2023). An adapter's file also holds the tensors that were trained whole, such as the
classifier. It names tensors as transformers does, after "base_model.model."."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.families import Family
from bertexplorer.model.tensors import Stored, stored_in
from bertexplorer.model.weight_map import ARCHITECTURES, canonical_names, is_task_head, source_of

CONFIG = "adapter_config.json"
WEIGHTS = "adapter_model.safetensors"
PICKLE = "adapter_model.bin"
PREFIX = "base_model.model."
LOW, HIGH = ".lora_A.weight", ".lora_B.weight"
MAX_BYTES = 1_000_000  # of a JSON file
MOST = 100_000  # labels, or rows of a matrix
WHOLE = re.compile(r"\.modules_to_save(\.\w+)?(?=\.)|\.base_layer(?=\.)")  # within the names of some versions
TASK_TYPES = {"SEQ_CLS": "sequence_classifier", "TOKEN_CLS": "token_classifier", "QUESTION_ANS": "span"}
UNKNOWN = ("use_dora", "fan_in_fan_out", "rank_pattern", "alpha_pattern", "layer_replication", "megatron_config")


@dataclass(frozen=True)
class Adapter:
    """What is added to the checkpoint called *base*."""

    folder: Path
    base: str  # the name or the folder of a checkpoint
    scale: float
    head: str  # of ARCHITECTURES; "" if it has no fine-tuned head
    tensors: dict[str, Stored]  # as transformers names them, without PREFIX


@dataclass(frozen=True)
class Adapted(Stored):
    """A stored tensor with an adapter's product added; fp32, so that nothing is lost."""

    whole: Stored
    low: Stored  # r x in
    high: Stored  # out x r
    scale: float

    def read(self) -> Tensor:
        return self.whole.read().float() + self.scale * (self.high.read().float() @ self.low.read().float())


def is_adapter(folder: Path) -> bool:
    """Whether *folder* holds an adapter and no checkpoint of its own."""
    return (folder / CONFIG).is_file() and not (folder / "model.safetensors").is_file()


def read_adapter(folder: Path) -> Adapter:
    """The adapter in *folder*. Raises ExplorerError if it is of another kind than LoRA, or would compute something else
    than W + s B A."""
    config = read_json(folder / CONFIG)
    try:
        kind, base = config["peft_type"], config["base_model_name_or_path"]
        rank, alpha = int(config["r"]), float(config["lora_alpha"])
    except (ValueError, KeyError, TypeError, OverflowError) as error:
        raise ExplorerError(f"{CONFIG} is not that of a LoRA adapter ({error}). Save it again with PEFT.") from error
    if kind != "LORA" or not 1 <= rank <= MOST or not isinstance(base, str):
        raise ExplorerError(f"{CONFIG} describes {kind!r:.40} of rank {rank}; wanted LORA of rank 1 or more.")
    used = [name for name in UNKNOWN if config.get(name)]
    if used:
        raise ExplorerError(
            f"{CONFIG} sets {', '.join(used)}, which is not read here. Merge the adapter with PEFT first."
        )
    if not (folder / WEIGHTS).is_file():
        reason = f"it holds {PICKLE}, which may run code when opened" if (folder / PICKLE).is_file() else "it is empty"
        raise ExplorerError(f"No {WEIGHTS} in {folder.name}: {reason}. Save the adapter again with PEFT.")
    stored = stored_in(folder / WEIGHTS)
    tensors = {WHOLE.sub("", name.removeprefix(PREFIX)): entry for name, entry in stored.items()}
    odd = [name for name in tensors if "lora_" in name and not name.endswith((LOW, HIGH))]
    if odd:
        raise ExplorerError(f"The adapter holds {odd[0]}, which is no plain LoRA. Merge it with PEFT first.")
    flat = [name for name, entry in tensors.items() if name.endswith((LOW, HIGH)) and len(entry.shape) != 2]
    if flat:
        raise ExplorerError(f"{flat[0]} of the adapter is no matrix. Save it again with PEFT.")
    scale = alpha / (rank**0.5 if config.get("use_rslora") else rank)
    return Adapter(folder, base, scale, TASK_TYPES.get(str(config.get("task_type")), ""), tensors)


def read_json(path: Path) -> dict[str, Any]:
    """The object in a small file. Raises ExplorerError if it is too large, or none."""
    try:
        if path.stat().st_size > MAX_BYTES:
            raise ExplorerError(f"{path.name} is {path.stat().st_size:,} bytes; wanted at most {MAX_BYTES:,}.")
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, ExplorerError):
            raise
        raise ExplorerError(f"{path.name} is not that of a LoRA adapter ({error}). Save it again with PEFT.") from error
    if not isinstance(content, dict):
        raise ExplorerError(f"{path.name} is not that of a LoRA adapter: it holds no object. Save it again with PEFT.")
    return content


def adapted_config(hf: dict[str, Any], adapter: Adapter) -> dict[str, Any]:
    """*hf*, the config.json of the base, with the labels of the adapter: from its own config.json if it has one, else
    LABEL_0, LABEL_1, …"""
    if not adapter.head:
        return hf
    path = adapter.folder / "config.json"
    own = read_json(path) if path.is_file() else {}
    biases = [entry for name, entry in adapter.tensors.items() if is_task_head(name) and name.endswith("bias")]
    count = biases[-1].shape[0] if biases and biases[-1].shape else 2
    if count > MOST:
        raise ExplorerError(f"The adapter {adapter.folder.name} has {count:,} labels; wanted {MOST:,} at most.")
    labels = own.get("id2label") or {str(i): f"LABEL_{i}" for i in range(count)}
    about: dict[str, Any] = {key: own[key] for key in ("problem_type", "classifier_dropout") if key in own}
    return {**hf, **about, "id2label": labels, "architectures": ["Adapted" + ARCHITECTURES[adapter.head]]}


def merged(
    family: Family, adapter: Adapter, stored: dict[str, Stored], names: Mapping[str, str]
) -> tuple[dict[str, Stored], dict[str, str]]:
    """(tensors, canonical name -> the name in them) of the base with *adapter* in it. *stored*, *names*: those of the
    base. Raises ExplorerError if the adapter changes something that the base lacks, or that has another shape."""
    stored, names = dict(stored), dict(names)
    products = {name.removesuffix(LOW): name for name in adapter.tensors if name.endswith(LOW)}
    targets = canonical_names(family, [f"{module}.weight" for module in products])
    for canonical, written in targets.items():
        low, module = adapter.tensors[products[written.removesuffix(".weight")]], written.removesuffix(".weight")
        high = adapter.tensors.get(module + HIGH)
        if canonical not in names or high is None:
            raise ExplorerError(
                f"The adapter {adapter.folder.name} changes {module}, which {adapter.base} does not have. It belongs "
                "to another checkpoint."
            )
        entry = stored[names[canonical]]
        if (high.shape[0], low.shape[1]) != entry.shape or high.shape[1] != low.shape[0]:
            raise ExplorerError(
                f"The adapter {adapter.folder.name} changes {module} by {high.shape[0]}x{low.shape[1]} numbers; in "
                f"{adapter.base} it is {'x'.join(map(str, entry.shape))}. It belongs to another checkpoint."
            )
        stored[entry.name] = Adapted(entry.file, entry.name, entry.shape, entry.dtype, entry, low, high, adapter.scale)
    whole = [name for name in adapter.tensors if not name.endswith((LOW, HIGH))]
    for canonical, written in canonical_names(family, whole).items():
        entry = adapter.tensors[written]
        stored[entry.name] = entry
        names[canonical] = entry.name
    return stored, names


def write_adapter(
    family: Family, modules: nn.ModuleDict, head: str, base: str, settings: Mapping[str, Any], folder: Path
) -> None:
    """Write the LoRA matrices within *modules* (ours, by name) and the fine-tuned *head* to *folder*, for PEFT and for
    us. *settings*: r and lora_alpha. Raises ExplorerError for a family whose files keep several of our matrices in
    one."""
    tensors: dict[str, Tensor] = {}
    targets: set[str] = set()
    kept: set[str] = set()
    for name, tensor in modules.named_parameters(remove_duplicate=False):  # heads may share a layer
        path, low, _ = name.partition(".lora_")
        if not low and not name.startswith(f"{head}."):
            continue
        source = source_of(family, f"{path}.weight" if low else name)
        if source is None or source.parts > 1:
            raise ExplorerError(
                f"An adapter for {family.MODEL_TYPES[0]} cannot be written. Export the checkpoint instead."
            )
        module = source.name.removesuffix(".weight")
        if low:
            tensors[PREFIX + module + (LOW if ".lora_A." in name else HIGH)] = tensor
            targets.add(module.rpartition(".")[2])
        else:
            tensors[PREFIX + source.name] = tensor
            kept.add(source.name.removeprefix(family.PREFIX).partition(".")[0])
    folder.mkdir(parents=True, exist_ok=True)
    task = next(kind for kind, name in TASK_TYPES.items() if name == head)
    config = {"peft_type": "LORA", "task_type": task, "base_model_name_or_path": base, **settings, "bias": "none"}
    config |= {"target_modules": sorted(targets), "modules_to_save": sorted(kept), "inference_mode": True}
    (folder / CONFIG).write_text(json.dumps(config, indent=1), "utf-8")
    save_file({name: tensor.detach().float().cpu().contiguous() for name, tensor in tensors.items()}, folder / WEIGHTS)

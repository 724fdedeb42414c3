"""A Checkpoint -> a folder that transformers loads, tensor for tensor as it was read."""

import json
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.families import BY_MODEL_TYPE
from bertexplorer.model.weight_map import ARCHITECTURES, tied_name, to_published


def save(checkpoint: Checkpoint, folder: str | Path) -> None:
    """Write config.json, model.safetensors and the tokenizer as transformers reads them, in the dtype that the
    checkpoint was stored in. Raises ExplorerError if it runs in a lower precision than that, and for two fine-tuned
    heads, which a file has one name for."""
    running = next(checkpoint.encoder.parameters()).dtype
    if torch.promote_types(running, checkpoint.stored_dtype) != running:
        raise ExplorerError(
            f"{checkpoint.name} was loaded in {checkpoint.precision} but is stored in {checkpoint.stored_dtype}: "
            'saving loses digits. Load it with precision="fp32" first.'
        )
    tasks = [name for name in checkpoint.heads if name in ARCHITECTURES]
    if len(tasks) > 1:
        raise ExplorerError(f"{checkpoint.name} has {' and '.join(tasks)}; a file holds one fine-tuned head. Save one.")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    family = BY_MODEL_TYPE[checkpoint.family]
    modules = nn.ModuleDict({"encoder": checkpoint.encoder, **checkpoint.heads})
    weights = {name: tensor.detach().to_dense() for name, tensor in modules.named_parameters()}  # a shared tensor once
    tied = tied_name(family, checkpoint.config)
    tensors: dict[str, Tensor] = {}
    for name, parts in to_published(family, weights).items():
        if name != tied:
            merged = torch.cat([weights[key] for _, key in parts]) if len(parts) > 1 else weights[parts[0][1]]
            tensors[name] = merged.to("cpu", checkpoint.stored_dtype).contiguous()
    if not checkpoint.config.tied:  # then transformers reads the second copy too
        tensors |= {copy: tensors[name].clone() for copy, name in family.COPIES.items() if name in tensors}
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    hf = {key: value for key, value in checkpoint.hf_config.items() if key != "auto_map"}  # its code stays behind
    (folder / "config.json").write_text(json.dumps(hf, indent=2), "utf-8")
    checkpoint.tokenizer.save(folder)

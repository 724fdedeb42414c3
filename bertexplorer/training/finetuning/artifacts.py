"""The files that a run saves: the best checkpoint with its task, metrics and predictions, and a model card."""

import json
from contextlib import suppress
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.adapter import write_adapter
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.families import BY_MODEL_TYPE
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.training import learners, ownership
from bertexplorer.training.checkpointing import commit
from bertexplorer.training.finetuning.card import write_card
from bertexplorer.training.finetuning.spec import Spec, task_of
from bertexplorer.training.finetuning.trainable import merge_lora
from bertexplorer.training.learner import Learner
from bertexplorer.training.task import Evaluation


def save_best(learner: Learner, folder: Path, spec: Spec, step: int, evaluation: Evaluation) -> None:
    """Commit the learner to *folder*/step-N, in fp32 and with LoRA merged, replacing the previous commit, with its
    *evaluation*, task.json, predictions.jsonl and a model card. Raises Superseded if another process has taken over
    the run, and ExplorerError if the disk is full."""

    def write_all(target: Path) -> None:
        write_checkpoint(learner, spec, torch.float32, target)
        description = task_description(learner, spec) | {
            "metrics": evaluation.metrics,
            "step": step,
            "tables": evaluation.tables,
            "confusion": asdict(evaluation.confusion) if evaluation.confusion else None,
        }
        (target / "task.json").write_text(json.dumps(description, indent=1), "utf-8")
        if spec.tuning.method == "lora" and task_of(spec.task).adapter_head:
            write_lora(learner, spec, target / "adapter")
        lines = "".join(json.dumps(row) + "\n" for row in evaluation.rows)
        (target / "predictions.jsonl").write_text(lines, "utf-8")
        (target / "README.md").write_text(write_card(learner, spec, step, evaluation), "utf-8")

    ownership.check(folder.parent)
    commit(folder, f"step-{step:09d}", write_all, keep=1)


def write_lora(learner: Learner, spec: Spec, target: Path) -> None:
    """Write the LoRA matrices and the head to *target* in PEFT's format, with the labels. Nothing for a family whose
    files have no place for them: the merged checkpoint beside it has all."""
    checkpoint = learner.checkpoint
    family = BY_MODEL_TYPE[checkpoint.family]
    modules = nn.ModuleDict({"encoder": checkpoint.encoder, **checkpoint.heads})
    head = task_of(spec.task).adapter_head
    settings = {"r": spec.tuning.rank, "lora_alpha": 2 * spec.tuning.rank}
    with suppress(ExplorerError):
        write_adapter(family, modules, head, spec.checkpoint, settings, target)
        about = {key: checkpoint.hf_config[key] for key in ("id2label", "problem_type") if key in checkpoint.hf_config}
        (target / "config.json").write_text(json.dumps(about, indent=1), "utf-8")


def task_description(learner: Learner, spec: Spec) -> dict[str, Any]:
    """The JSON that `open_learner` needs besides the weights: the name of the "task", and the learner's state as
    "described"."""
    return {"task": spec.task, "described": learner.state()}


def write_checkpoint(learner: Learner, spec: Spec, dtype: torch.dtype, target: Path) -> None:
    """Write to *target* the checkpoint in transformers format, its task, the trained parts that transformers does not
    know, and the files of a sentence encoder if the task trains one."""
    save(export_checkpoint(learner.checkpoint, dtype), target)
    extra = {name: tensor.detach().cpu().contiguous() for name, tensor in learner.extra.state_dict().items()}
    if extra:
        save_file(extra, target / "task.safetensors")
    for path, content in learner.files().items():
        (target / path).parent.mkdir(exist_ok=True)
        (target / path).write_text(json.dumps(content, indent=1), "utf-8")
    (target / "task.json").write_text(json.dumps(task_description(learner, spec), indent=1), "utf-8")


def export_checkpoint(checkpoint: Checkpoint, dtype: torch.dtype) -> Checkpoint:
    """The checkpoint to save: LoRA merged, and the dtype in its config."""
    hf_config = {**checkpoint.hf_config, "dtype": str(dtype).removeprefix("torch.")}
    return replace(merge_lora(checkpoint), stored_dtype=dtype, hf_config=hf_config)


def open_learner(folder: Path, *, about: Path | None = None) -> Learner:
    """The learner saved in *folder*; its settings may be in another folder *about*, as for a snapshot of version 0.1.
    Raises ExplorerError if there is none."""
    try:
        saved = json.loads(((about or folder) / "task.json").read_text("utf-8"))
        path = folder / "task.safetensors"
        tensors = load_file(path) if path.is_file() else {}
        checkpoint = load(folder, precision="fp32")
        learner = learners.restore(task_of(saved["task"]), checkpoint, saved["described"], tensors)
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, ExplorerError):
            raise
        raise ExplorerError(f"{folder} does not contain a fine-tuned model ({error}).") from error
    return learner

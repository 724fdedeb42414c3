"""What a run saves: the best checkpoint with its task, metrics and predictions, and a model card."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.training import epoch, learners
from bertexplorer.training.checkpointing import commit
from bertexplorer.training.finetuning import lora
from bertexplorer.training.finetuning.card import card
from bertexplorer.training.finetuning.spec import Spec, task_of
from bertexplorer.training.learner import Learner
from bertexplorer.training.task import Evaluation


def keep(learner: Learner, folder: Path, spec: Spec, step: int, found: Evaluation) -> None:
    """Commit the learner to *folder*/step-N, in fp32 and with LoRA merged, replacing the previous one."""

    def write_all(into: Path) -> None:
        write(learner, spec, torch.float32, into)
        about = {**described(learner, spec), "metrics": found.metrics, "step": step}
        about |= {"tables": found.tables, "confusion": asdict(found.confusion) if found.confusion else None}
        (into / "task.json").write_text(json.dumps(about, indent=1), "utf-8")
        lines = "".join(json.dumps(row) + "\n" for row in found.rows)
        (into / "predictions.jsonl").write_text(lines, "utf-8")
        (into / "README.md").write_text(card(learner, spec, step, found), "utf-8")

    epoch.check(folder.parent)
    commit(folder, f"step-{step:09d}", write_all, keep=1)


def described(learner: Learner, spec: Spec) -> dict[str, Any]:
    """What `opened` needs besides weights, as JSON."""
    return {"task": spec.task, "described": learner.state()}


def write(learner: Learner, spec: Spec, dtype: torch.dtype, into: Path) -> None:
    """The checkpoint in transformers format, its task, and the trained parts that transformers does not know."""
    save(exported(learner.checkpoint, dtype), into)
    extra = {name: tensor.detach().cpu().contiguous() for name, tensor in learner.extra.state_dict().items()}
    if extra:
        save_file(extra, into / "task.safetensors")
    (into / "task.json").write_text(json.dumps(described(learner, spec), indent=1), "utf-8")


def exported(checkpoint: Checkpoint, dtype: torch.dtype) -> Checkpoint:
    """The checkpoint to save: LoRA merged, and the dtype in its config."""
    described = {**checkpoint.hf_config, "dtype": str(dtype).removeprefix("torch.")}
    return replace(lora.merged(checkpoint), stored_dtype=dtype, hf_config=described)


def opened(folder: Path, *, about: Path | None = None) -> Learner:
    """The learner saved in *folder*; its settings may lie in another folder *about*, as for a snapshot of version 0.1.
    Raises ExplorerError if there is none."""
    try:
        held = json.loads(((about or folder) / "task.json").read_text("utf-8"))
        path = folder / "task.safetensors"
        tensors = load_file(path) if path.is_file() else {}
        checkpoint = load(folder, precision="fp32")
        learner = learners.restore(task_of(held["task"]), checkpoint, held["described"], tensors)
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, ExplorerError):
            raise
        raise ExplorerError(f"{folder} holds no fine-tuned model ({error}).") from error
    return learner

"""What a run made, to be taken along: a folder as ZIP, ONNX, a place on the hub. Knows no gradio."""

import re
import shutil
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.store import uploads
from bertexplorer.ui.training.desk import Detail


def kept(detail: Detail) -> Path:
    """The folder of the best checkpoint."""
    if detail.best is None:
        raise ExplorerError("This run has kept no checkpoint yet. Wait until it was tried once.")
    return detail.best


def place(detail: Detail, ending: str, folder: Path, owner: str) -> Path:
    """Where a file of the run's name may be written for *owner*."""
    title = re.sub(r"[^\w.-]+", "-", detail.run.name).strip("-.")[:60] or "run"
    return uploads.make(folder, f"{title}{ending}", owner)


def zipped(detail: Detail, folder: Path, owner: str) -> Path:
    """The folder that transformers loads, with model card, task, metrics and predictions."""
    try:
        file = place(detail, ".zip", folder, owner)
        return Path(shutil.make_archive(str(file.with_suffix("")), "zip", kept(detail)))
    except OSError as error:
        raise ExplorerError(f"The ZIP cannot be written ({error.strerror or error}). Make room on the disk.") from error


def onnx(detail: Detail, folder: Path, owner: str) -> Path:
    """The checkpoint with its head, for onnxruntime."""
    from bertexplorer.model.load import load
    from bertexplorer.model.onnx import export_onnx

    file = place(detail, ".onnx", folder, owner)
    export_onnx(load(kept(detail), precision="fp32"), file)
    return file


def pushed(detail: Detail, repository: str, token: str) -> str:
    """Upload the folder to OWNER/NAME on the hub. Returns its address."""
    from bertexplorer.store.hub import upload

    return upload(kept(detail), repository.strip(), token)

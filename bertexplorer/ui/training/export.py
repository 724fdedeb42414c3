"""What a run made, to be taken along: a folder as ZIP, ONNX, a place on the hub. Knows no gradio."""

import re
import shutil
import tempfile
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.ui.training.desk import Detail


def kept(detail: Detail) -> Path:
    """The folder of the best checkpoint."""
    if detail.best is None:
        raise ExplorerError("This run has kept no checkpoint yet. Wait until it was tried once.")
    return detail.best


def place(detail: Detail, ending: str) -> Path:
    """A new file of the run's name."""
    title = re.sub(r"[^\w.-]+", "-", detail.run.name).strip("-.")[:60] or "run"
    return Path(tempfile.mkdtemp(prefix="bertexplorer-")) / f"{title}{ending}"


def zipped(detail: Detail) -> Path:
    """The folder that transformers loads, with model card, task, metrics and predictions."""
    file = place(detail, ".zip")
    try:
        return Path(shutil.make_archive(str(file.with_suffix("")), "zip", kept(detail)))
    except OSError as error:
        raise ExplorerError(f"The ZIP cannot be written ({error.strerror or error}). Make room on the disk.") from error


def onnx(detail: Detail) -> Path:
    """The checkpoint with its head, for onnxruntime."""
    from bertexplorer.model.load import load
    from bertexplorer.model.onnx import export_onnx

    file = place(detail, ".onnx")
    export_onnx(load(kept(detail), precision="fp32"), file)
    return file


def pushed(detail: Detail, repository: str, token: str) -> str:
    """Upload the folder to OWNER/NAME on the hub. Returns its address."""
    from bertexplorer.store.hub import upload

    return upload(kept(detail), repository.strip(), token)

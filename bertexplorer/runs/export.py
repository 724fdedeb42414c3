"""Export of a run: a ZIP of the folder, ONNX, or an upload to the hub. Independent of gradio."""

import json
import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

from bertexplorer.errors import ExplorerError
from bertexplorer.runs.service import RunDetail
from bertexplorer.store import uploads
from bertexplorer.training.checkpointing import MANIFEST
from bertexplorer.training.finetuning import card as model_card
from bertexplorer.training.finetuning.spec import task_of

CARD, PREDICTIONS = "README.md", "predictions.jsonl"


def best_folder(detail: RunDetail) -> Path:
    """The folder of the best checkpoint. Raises ExplorerError if there is none yet."""
    if detail.best is None:
        raise ExplorerError("This run has no checkpoint yet. Wait for its first evaluation.")
    return detail.best


def export_path(detail: RunDetail, suffix: str, folder: Path, owner: str) -> Path:
    """The path of an export file for *owner*, named after the run."""
    title = re.sub(r"[^\w.-]+", "-", detail.run.name).strip("-.")[:60] or "run"
    return uploads.new_file(folder, f"{title}{suffix}", owner)


def contents(detail: RunDetail, *, with_rows: bool) -> dict[str, Path | str]:
    """Name -> file or text of the exported folder, in transformers format with model card, task and metrics.

    Validation rows are people's own text, so they are included on request only."""
    best = best_folder(detail)
    files: dict[str, Path | str] = {}
    for path in sorted(best.rglob("*")):
        if path.is_file() and path.name != MANIFEST:
            files[path.relative_to(best).as_posix()] = path
    has_predictions = PREDICTIONS in files
    if not with_rows:
        files.pop(PREDICTIONS, None)
    if CARD in files:
        card = (best / CARD).read_text("utf-8")
        if with_rows:
            lines = (best / PREDICTIONS).read_text("utf-8").splitlines() if has_predictions else []
            files[CARD] = model_card.with_rows(card, [json.loads(line) for line in lines])
        else:
            files[CARD] = model_card.without_rows(card)
    return files


def write_zip(detail: RunDetail, folder: Path, owner: str, *, with_rows: bool = False) -> Path:
    """The folder as a ZIP below *folder*, for *owner*."""
    return zip_to(export_path(detail, ".zip", folder, owner), detail, with_rows=with_rows)


def zip_to(path: Path, detail: RunDetail, *, with_rows: bool = False) -> Path:
    """Write the folder as the ZIP *path*, which is returned. Weights are not compressed: that would take seconds and
    save a tenth at best. Raises ExplorerError if the disk is full."""
    try:
        with ZipFile(path, "w", ZIP_STORED) as archive:
            for name, content in contents(detail, with_rows=with_rows).items():
                if isinstance(content, str):
                    archive.writestr(name, content)
                else:
                    archive.write(content, name)
        return path
    except OSError as error:
        raise ExplorerError(f"The ZIP cannot be written ({error.strerror or error}). Make room on the disk.") from error


def copy_to(folder: Path, detail: RunDetail, *, with_rows: bool = False) -> Path:
    """Write the files of the export into *folder*, which is returned."""
    for name, content in contents(detail, with_rows=with_rows).items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str):
            target.write_text(content, "utf-8")
        else:
            shutil.copyfile(content, target)
    return folder


def write_onnx(detail: RunDetail, folder: Path, owner: str, *, with_rows: bool = False) -> Path:
    """The checkpoint as an ONNX file below *folder*, for *owner*; it never contains rows."""
    return onnx_to(lambda: export_path(detail, ".onnx", folder, owner), detail)


def onnx_to(path: Callable[[], Path], detail: RunDetail) -> Path:
    """The checkpoint with its head for onnxruntime, with its pooling if the run learned vectors. *path*: names the
    file. Raises ExplorerError for a run whose answers need more than an encoder and one head."""
    from bertexplorer.model.load import load
    from bertexplorer.model.onnx import POOLED, export_onnx

    best = best_folder(detail)
    task = json.loads((best / "task.json").read_text("utf-8"))["task"]
    can = task_of(task).can
    has_further_parts = (best / "task.safetensors").exists() and "vectors" not in can
    if "generates" in can or has_further_parts:
        raise ExplorerError(
            "An ONNX file holds an encoder and one head; the answers of this run need more: a generated text, a CRF, "
            "further columns or scores of sentences. Export the ZIP, and open it with bertexplorer."
        )
    file = path()
    checkpoint = load(best, precision="fp32")
    head = None
    if "vectors" in can:
        head = POOLED if checkpoint.sentence_encoder else ""
    export_onnx(checkpoint, file, head=head)
    return file


def upload(detail: RunDetail, repository: str, token: str, *, with_rows: bool = False) -> str:
    """Upload the folder to OWNER/NAME on the hub. Returns its address."""
    from bertexplorer.store import hub

    with tempfile.TemporaryDirectory(dir=best_folder(detail).parent.parent) as folder:
        return hub.upload(copy_to(Path(folder), detail, with_rows=with_rows), repository.strip(), token)

"""Export of a run: a ZIP of the folder, ONNX, or an upload to the hub. Independent of gradio."""

import json
import re
import shutil
import tempfile
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

from bertexplorer.errors import ExplorerError
from bertexplorer.store import uploads
from bertexplorer.training.checkpointing import MANIFEST
from bertexplorer.training.finetuning.card import with_rows, without_rows
from bertexplorer.ui.training.run_service import RunDetail

CARD, ANSWERS = "README.md", "predictions.jsonl"


def kept(detail: RunDetail) -> Path:
    """The folder of the best checkpoint."""
    if detail.best is None:
        raise ExplorerError("This run has no checkpoint yet. Wait for its first evaluation.")
    return detail.best


def place(detail: RunDetail, ending: str, folder: Path, owner: str) -> Path:
    """The path of an export file for *owner*, named after the run."""
    title = re.sub(r"[^\w.-]+", "-", detail.run.name).strip("-.")[:60] or "run"
    return uploads.new_file(folder, f"{title}{ending}", owner)


def contents(detail: RunDetail, *, rows: bool) -> dict[str, Path | str]:
    """Name -> file or text of the exported folder, in transformers format with model card, task and metrics; with the
    validation *rows* only on request."""
    best = kept(detail)
    found: dict[str, Path | str] = {p.name: p for p in sorted(best.iterdir()) if p.is_file() and p.name != MANIFEST}
    card, answers = best / CARD, best / ANSWERS
    if not rows:
        found.pop(ANSWERS, None)
    if card.is_file():
        text = card.read_text("utf-8")
        examples = map(json.loads, answers.read_text("utf-8").splitlines()) if rows and answers.is_file() else ()
        found[CARD] = with_rows(text, list(examples)) if rows else without_rows(text)
    return found


def zipped(detail: RunDetail, folder: Path, owner: str, *, rows: bool = False) -> Path:
    """The folder as a ZIP. Weights are not compressed: that would take seconds and save a tenth at best."""
    try:
        file = place(detail, ".zip", folder, owner)
        with ZipFile(file, "w", ZIP_STORED) as archive:
            for name, held in contents(detail, rows=rows).items():
                if isinstance(held, str):
                    archive.writestr(name, held)
                else:
                    archive.write(held, name)
        return file
    except OSError as error:
        raise ExplorerError(f"The ZIP cannot be written ({error.strerror or error}). Make room on the disk.") from error


def onnx(detail: RunDetail, folder: Path, owner: str, *, rows: bool = False) -> Path:
    """The checkpoint with its head for onnxruntime; never includes *rows*."""
    from bertexplorer.model.load import load
    from bertexplorer.model.onnx import export_onnx

    file = place(detail, ".onnx", folder, owner)
    export_onnx(load(kept(detail), precision="fp32"), file)
    return file


def pushed(detail: RunDetail, repository: str, token: str, *, rows: bool = False) -> str:
    """Upload the folder to OWNER/NAME on the hub. Returns its address."""
    from bertexplorer.store.hub import upload

    with tempfile.TemporaryDirectory(dir=kept(detail).parent.parent) as place:
        for name, held in contents(detail, rows=rows).items():
            if isinstance(held, str):
                (Path(place) / name).write_text(held, "utf-8")
            else:
                shutil.copyfile(held, Path(place) / name)
        return upload(Path(place), repository.strip(), token)

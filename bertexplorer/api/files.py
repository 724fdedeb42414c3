"""Files: uploads for runs, and exports of runs. A file belongs to the browser that sent it, and stays for a day."""

import shutil
from pathlib import Path as Folder
from typing import Annotated

from fastapi import APIRouter, Path, UploadFile
from pydantic import BaseModel, Field
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from bertexplorer.api.admission import error_reply, json_reply, problem, to_response
from bertexplorer.api.models import of_type
from bertexplorer.api.problems import Route
from bertexplorer.api.upload_turns import UploadTurns
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store import uploads
from bertexplorer.store.uploads import Quota

Id = Annotated[str, Path(description="The id of a file", pattern=r"^[\w-]{1,40}$")]


class FileModel(BaseModel):
    """A file on the server."""

    file: str = Field(description="Its id, for the fields file and dev_file of a run, and for GET /api/v1/files/{id}.")
    name: str


def routes(settings: Settings, quota: Quota) -> APIRouter:
    """POST and GET /api/v1/files."""
    router, turns = APIRouter(prefix="/api/v1/files", route_class=Route, tags=["Runs"]), UploadTurns()
    folder = settings.uploads_dir

    @router.post("", operation_id="upload-file", summary="Upload a file", responses={200: {"model": FileModel}})
    async def upload(request: Request, file: UploadFile) -> Response:
        """Store the rows of a fine-tuning run, or the text of a pretraining run."""
        owner = str(request.scope["state"]["owner"])

        def save() -> Folder:
            quota.check(owner, file.size or 0)
            path = uploads.new_file(folder, file.filename or "rows.csv", owner)
            with path.open("wb") as target:
                shutil.copyfileobj(file.file, target)
            return path

        try:
            async with turns.turn(owner):
                path = await run_in_threadpool(save)
        except ExplorerError as error:
            return to_response(error_reply(error))
        except OSError as error:
            detail = f"The file cannot be stored: {error.strerror or error}. Make room on the server's disk."
            return to_response(problem(507, "No space", detail))
        return to_response(json_reply(file_json(path)))

    @router.get("/{id}", operation_id="download-file", summary="Download a file", **of_type("application/octet-stream"))
    def download(request: Request, id: Id) -> Response:
        """An upload of yours, or an export that was made for you."""
        try:
            path = uploads.find(folder, id, str(request.scope["state"]["owner"]))
        except ExplorerError as error:
            return to_response(problem(404, "Not found", str(error)))
        return FileResponse(path, filename=path.name, media_type="application/octet-stream")

    return router


def file_json(path: Folder) -> dict[str, str]:
    """The fields of FileModel."""
    return {"file": path.parent.name, "name": path.name}

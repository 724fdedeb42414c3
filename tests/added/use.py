"""Adds the view and the task of this folder, and uses them from Python, the command line and the API of the page."""

import json
import sys
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path

HERE = Path(__file__).parent
TEXT = "The cat sat."
ROWS = [{"text": text} for text in ["Is it good?", "It is good.", "Was it so?", "So it was."] * 10]


def add(package: str, folder: str) -> None:
    """Look for modules of *package* in *folder* too."""
    import_module(package).__path__.append(str(HERE / folder))


def main(work: Path) -> dict[str, object]:
    """What each channel answers. *work*: an empty folder."""
    add("bertexplorer.views", "views")
    views = import_module("bertexplorer.views").VIEWS
    vars(views)["folders"] = views.folders | {"letters"}
    tasks = import_module("bertexplorer.training.tasks")
    add("bertexplorer.training.tasks", "tasks")
    questions = import_module("bertexplorer.training.tasks.questions")
    tasks.TASKS = (*tasks.TASKS, questions)  # the word in training/tasks/__init__.py
    tasks.BY_NAME["questions"] = questions

    import bertexplorer as bx
    from bertexplorer.cli import main as command
    from tests.api.conftest import Served

    in_python = bx.letters(TEXT, checkpoint="tiny")
    with redirect_stdout(StringIO()) as printed:
        command(["letters", TEXT, "--checkpoint", "tiny", "--json"])
    server = Served(work / "models", work / "data")
    with server.browser() as browser:
        page = browser.get("/page").json()
        state = {"view": "letters", "text": TEXT, "checkpoint": "tiny"}
        view = browser.post("/view", json={"state": state}).json()
        route = browser.post("/letters", json={"text": TEXT, "checkpoint": "tiny"}).json()
        preview = browser.post("/runs/preview", json={"task": "questions", "checkpoint": "tiny", "rows": ROWS}).json()
    server.close()
    run = bx.train("tiny", task="questions", data=ROWS, out=work / "run", on_event=lambda event: None)
    return {
        "python": [in_python.said, [row["letters"] for row in in_python.rows]],
        "command": [row["letters"] for row in json.loads(printed.getvalue())["rows"]],
        "page": page["views"]["letters"]["title"],
        "view": [view["said"], len(view["figure"]["data"])],
        "route": [row["letters"] for row in route["rows"]],
        "preview": [preview["rows"][0]["text"], preview["stops"]],
        "labels": sorted(entry["label"] for entry in run.predict({"text": "Is it so"})[0]["labels"]),
    }


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))

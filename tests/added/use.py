"""Uses the view that the package of this folder brings, and adds its task: from Python, the command line, the API."""

import json
import sys
from contextlib import redirect_stdout
from importlib import import_module
from io import StringIO
from pathlib import Path

HERE = Path(__file__).parent
TEXT = "The cat sat."
ROWS = [{"text": text} for text in ["Is it good?", "It is good.", "Was it so?", "So it was."] * 10]


def add_task() -> None:
    """What a file in training/tasks and a word in the list there do."""
    tasks = import_module("bertexplorer.training.tasks")
    tasks.__path__.append(str(HERE / "tasks"))
    task = import_module("bertexplorer.training.tasks.questions").TASK
    tasks.TASKS = (*tasks.TASKS, task)
    tasks.BY_NAME[task.name] = task


def main(work: Path) -> dict[str, object]:
    """What each channel answers. *work*: an empty folder."""
    add_task()
    import bertexplorer as bx
    from bertexplorer.cli import main as command
    from tests.api.conftest import Served

    in_python = bx.letters(TEXT, checkpoint="tiny")
    as_method = bx.load("tiny").letters(TEXT)
    with redirect_stdout(StringIO()) as printed:
        command(["letters", TEXT, "--checkpoint", "tiny", "--json"])
    server = Served(work / "models", work / "data", checkpoint="tiny")
    with server.browser() as browser:
        page = browser.get("/page").json()
        link = f"?view=letters&text={TEXT.replace(' ', '+')}&checkpoint=tiny&special=true"
        view = browser.post("/view", json={"link": link}).json()
        route = browser.post("/letters", json={"text": TEXT, "checkpoint": "tiny"}).json()
        program = browser.post("/view/python", json={"link": link}).text
        documented = browser.get("/openapi.json").json()
        preview = browser.post("/runs/preview", json={"task": "questions", "checkpoint": "tiny", "rows": ROWS}).json()
    server.close()
    run = bx.train("tiny", task="questions", data=ROWS, out=work / "run", on_event=lambda event: None)
    return {
        "python": [in_python.said, letters_of(in_python.rows), letters_of(as_method.rows)],
        "command": letters_of(json.loads(printed.getvalue())["rows"]),
        "page": page["views"]["letters"]["title"],
        "link": [view["said"], view["state"]["options"], len(view["figure"]["panels"])],
        "route": letters_of(route["rows"]),
        "program": "bx.letters(" in program or ".letters(" in program,
        "documented": "/api/v1/letters" in documented["paths"],
        "preview": [preview["rows"][0]["text"], preview["stops"]],
        "labels": sorted(entry["label"] for entry in run.predict({"text": "Is it so"})[0]["labels"]),
    }


def letters_of(rows: list[dict[str, int]]) -> list[int]:
    return [row["letters"] for row in rows]


if __name__ == "__main__":
    sys.stdout.write(json.dumps(main(Path(sys.argv[1]))))

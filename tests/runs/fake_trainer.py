"""A trainer that learns nothing: python -m tests.runs.fake_trainer RUN. spec.json gives the number and duration of
its steps, and the fault that occurs at a certain step the first time that it is reached."""

import fcntl
import json
import os
import signal
import sys
import time
from pathlib import Path

from bertexplorer.training.events import Log


def main(folder: Path) -> int:
    spec = json.loads((folder / "spec.json").read_text("utf-8"))
    time.sleep(spec.get("warm_up", 0))
    signals: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    if spec.get("deaf"):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    lock = (folder / "lock").open("a")
    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    (folder / "stop").unlink(missing_ok=True)
    log, step = Log(folder), committed(folder)

    def tell(event: str, **more: object) -> None:
        log.write({"event": event, "time": time.time(), "stretch": 0, "step": step} | more)

    tell("resumed" if step else "begun")
    while step < spec["steps"]:
        step += 1
        time.sleep(spec.get("pause", 0.01))
        tell("steps", share=step / spec["steps"])
        fault(folder, spec.get("faults", {}).get(str(step), ""), tell)
        commit(folder, step)
        heard = not spec.get("deaf") and (folder / "stop").exists() and not spec.get("by_signal")
        if signals or heard:
            tell("stopped")
            return 0
    tell("finished")
    return 0


def fault(folder: Path, kind: str, tell) -> None:
    if not kind or (folder / "faulted").exists():
        return
    (folder / "faulted").touch()
    if kind == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "memory":
        raise MemoryError
    if kind == "raise":
        raise RuntimeError("the well is dry")
    if kind == "tell":
        tell("failed", error="Out of memory at batch 32. Try 16.")
        sys.exit(2)
    if kind == "sleep":
        time.sleep(30)


def committed(folder: Path) -> int:
    path = folder / "commits" / "counter"
    return int(path.read_text()) if path.is_file() else 0


def commit(folder: Path, step: int) -> None:
    (folder / "commits").mkdir(exist_ok=True)
    aside = folder / "commits" / "counter.partial"
    aside.write_text(str(step))
    aside.replace(folder / "commits" / "counter")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))

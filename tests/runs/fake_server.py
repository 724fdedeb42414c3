"""A server that only trains: python -m tests.runs.fake_server FOLDER COUNT STEPS. It accepts COUNT runs, and writes
the id of each as soon as it is accepted."""

import sys
import time
from pathlib import Path

from bertexplorer.errors import ExplorerError
from bertexplorer.runs.jobs import Jobs
from bertexplorer.runs.supervisor import JobSupervisor


def main(folder: Path, count: int, steps: int) -> int:
    try:
        jobs = Jobs(folder, reserve=0)
    except ExplorerError as error:
        print(error, flush=True)
        return 2
    JobSupervisor(jobs, (sys.executable, "-m", "tests.runs.fake_trainer"), poll_s=0.05)
    print("ready", flush=True)
    for n in range(count):
        run = jobs.accept("ann", f"run {n}", {"task": "fake", "steps": steps, "pause": 0.01}, key=f"click {n}")
        print(run.id, flush=True)
    time.sleep(60)
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])))

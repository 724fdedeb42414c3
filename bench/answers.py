"""How long an answer of each view takes over HTTP: its first example, with a text that is new each time.

    python -m bench.answers [--rounds 9] [VIEW …]

One caller; the server is in a thread of the same process, with mini in fp32. Prints the median of each view, its
slowest answer and the processor time of one, and the median over the views. Views without a text of their own (suite,
probe) and slow ones are left out."""

import argparse
import sys
import time
from collections.abc import Sequence
from statistics import median
from typing import Any

from tests.golden.answers import LONG, serve

NAMES = ("Anna", "Paul", "Maria", "Peter", "Laura", "Simon", "Clara", "David", "Emma", "Jonas", "Lily", "Max")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser("python -m bench.answers", description=__doc__)
    parser.add_argument("views", nargs="*")
    parser.add_argument("--rounds", type=int, default=9, choices=range(1, len(NAMES)))
    options = parser.parse_args(arguments)
    medians = {}
    with serve() as client:
        views: dict[str, Any] = client.get("/page").json()["views"]
        for name, view in views.items():
            if (options.views and name not in options.views) or not view["text"] or name in {*LONG, "answer"}:
                continue
            example = view["examples"][0]
            state = {"view": name, "checkpoint": "mini", "precision": "fp32", "pair": example["pair"]}
            state["options"] = {s["name"]: s["default"] for s in view["settings"]} | example["options"]
            times, cpu_began = [], 0.0
            for person in NAMES[: options.rounds + 1]:
                cpu_began = cpu_began or (time.process_time() if times else 0.0)  # the first one only prepares
                asked = {**state, "text": f"{example['text']} {person} saw it.", "picked": example["picked"]}
                began = time.perf_counter()
                client.post("/view", json={"state": asked}).raise_for_status()
                times.append(1000 * (time.perf_counter() - began))
            cpu = 1000 * (time.process_time() - cpu_began) / options.rounds
            medians[name] = median(times[1:])
            print(f"{name:20} {medians[name]:7.1f} ms, slowest {max(times[1:]):6.1f}, processor {cpu:6.1f}", flush=True)
    print(f"{'median over views':20} {median(medians.values()):7.1f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())

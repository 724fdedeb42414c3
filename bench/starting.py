"""How long a start takes and how much memory it needs, beside the imports that it cannot do without.

    python -m bench.starting [--rounds 5]

Medians of new processes that take turns: `import torch`, `import torch, gradio`, the first `bx.fill_mask`, the command
line, the page until it listens and until its first answer is there. Memory (resident) of the server after its start,
and after each view has answered once."""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import httpx

from bench.common import machine
from bench.serving import ROOT, Server

TEXT = "Paris is the [MASK] of France."
CODES = {
    "import torch": ["-c", "import torch"],
    "import torch, gradio": ["-c", "import torch, gradio"],
    "first bx.fill_mask": ["-c", f"import bertexplorer as bx; bx.fill_mask({TEXT!r})"],
    "command line": ["-m", "bertexplorer", "fill-mask", TEXT],
}
RSS = "print(next(l for l in open('/proc/self/status') if l.startswith('VmRSS')).split()[1])"


def run(arguments: list[str]) -> str:
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def start_page() -> dict[str, float]:
    """Seconds until a page listens, and until it has answered once."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        server = Server(folder)
        try:
            server.wait("/healthz")
            listening = time.perf_counter() - began
            server.wait("/readyz")
            return {"page listens": listening, "page is ready": time.perf_counter() - began}
        finally:
            server.end()


def memory() -> dict[str, float]:
    """Megabytes of the server after its start, and after every view."""
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            server.wait("/readyz")
            found = {"after the start": server.memory_mb()}
            with httpx.Client(base_url=f"{server.url}/api/v1", timeout=300) as client:
                views: dict[str, Any] = client.get("/page").raise_for_status().json()["views"]
                for name, view in views.items():
                    example = view["examples"][0]
                    state = {key: example[key] for key in ("text", "pair", "picked")} | {"view": name}
                    options = {setting["name"]: setting["default"] for setting in view["settings"]}
                    checkpoint = "sentiment" if name == "answer" else "mini"
                    state |= {"options": options | example["options"], "checkpoint": checkpoint}
                    client.post("/view", json={"state": state}).raise_for_status()
            return found | {"after every view once": server.memory_mb()}
        finally:
            server.end()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    rounds = parser.parse_args().rounds
    times: dict[str, list[float]] = {}
    for number in range(rounds + 1):
        found = {name: seconds(lambda code=code: run(code)) for name, code in CODES.items()} | start_page()
        for name, value in found.items():
            times.setdefault(name, []).extend([value] if number else [])  # the first round fills the file cache
    medians = {name: median(values) for name, values in times.items()}
    torch, both = medians["import torch"], medians["import torch, gradio"]
    print(f"{machine()}\n\n| start | median | |\n|---|---|---|")
    for name, value in medians.items():
        beside = both if "page" in name else torch
        print(f"| {name} | {value:.2f} s | {value / beside:.2f}× |")
    imports = int(run(["-c", f"import torch, gradio; {RSS}"])) / 1000
    print(f"\n| memory of the server | |\n|---|---|\n| import torch, gradio alone | {imports:.0f} MB |")
    for name, value in memory().items():
        print(f"| {name} | {value:.0f} MB |", flush=True)


if __name__ == "__main__":
    main()

"""All measurements of speed, one after the other, as the tables of docs/benchmarks.md.

    python -m bench.speed [--quick]

On a quiet machine this takes a quarter of an hour; with --quick, which measures less often, five minutes. Each part is
a program of its own, so that none inherits the threads, caches or memory of another."""

import argparse
import subprocess
import sys

from bench.serving import ROOT

PARTS = {  # title -> module, its arguments, those of --quick
    "One sentence to its top five": ("fill_mask", [], ["--rounds", "3"]),
    "The vectors of many texts": ("encode", [], ["--rounds", "2", "--texts", "300"]),
    "A view beside transformers, bertviz and captum": ("views", [], ["--rounds", "3"]),
    "An answer of each view over HTTP": ("answers", [], ["--rounds", "3"]),
    "From a press to the painted figure": ("pressing", [], ["--rounds", "3"]),
    "Fifty callers": ("throughput", [], ["--seconds", "6"]),
    "The start, and memory": ("starting", [], ["--rounds", "1"]),
}


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    failed = 0
    for title, (module, usual, fewer) in PARTS.items():
        print(f"\n## {title}\n", flush=True)
        command = [sys.executable, "-m", f"bench.{module}", *(fewer if quick else usual)]
        failed |= subprocess.run(command, cwd=ROOT, stderr=subprocess.DEVNULL).returncode
    return failed


if __name__ == "__main__":
    sys.exit(main())

"""Quality of the tasks on real data, starting from the bundled checkpoint with default settings: python -m
bench.quality FOLDER [NAME …] [--seeds 3]

Needs ../shared/data. Runs are stored in FOLDER and continued; finished ones are not repeated. Prints a table: the
headline metric on the given dev set, mean and standard deviation over the seeds, the baseline without learning, and
the time."""

import argparse
import json
import subprocess
import sys
from pathlib import Path
from statistics import fmean, stdev

from bertexplorer.training.tasks import BY_NAME

ROOT = Path(__file__).parents[1]
DATA = ROOT.parent / "shared" / "data"
SQUAD = DATA / "squad-format"
CRANFIELD = [str(DATA / "cranfield" / name) for name in ("cran.qry", "cran.all.1400", "cranqrel")]
RUNS: dict[str, list[str]] = {  # without --dev, if the set has none: a tenth is held out by the seed
    "STS-B": ["--task", "similarity", "--data", str(DATA / "stsb" / "stsb-en-train.csv"),
              "--dev", str(DATA / "stsb" / "stsb-en-dev.csv")],
    "WNUT-17, softmax": ["--task", "tagging", "--data", str(DATA / "wnut17" / "wnut17train.conll"),
                         "--dev", str(DATA / "wnut17" / "emerging.dev.conll"), "--set", "head=softmax"],
    "WNUT-17, CRF": ["--task", "tagging", "--data", str(DATA / "wnut17" / "wnut17train.conll"),
                     "--dev", str(DATA / "wnut17" / "emerging.dev.conll"), "--set", "head=crf"],
    "CoLA": ["--task", "classification", "--data", str(DATA / "cola" / "in_domain_train.tsv"),
             "--dev", str(DATA / "cola" / "in_domain_dev.tsv"), "--map", "text=column 4", "label=column 2"],
    "RTE": ["--task", "pair-classification", "--data", str(DATA / "rte" / "train.tsv"),
            "--dev", str(DATA / "rte" / "dev.tsv")],
    "QNLI, its dev set divided": ["--task", "pair-classification", "--data", str(DATA / "qnli" / "dev.tsv"),
                                  "--map", "text_a=question", "text_b=sentence", "label=label"],
    "Cranfield, re-ranking": ["--task", "reranking", "--data", *CRANFIELD],
    "Cranfield, retrieval": ["--task", "retrieval", "--data", *CRANFIELD],
    "SQuAD subset -> XQuAD": ["--task", "question-answering", "--data", str(SQUAD / "squad-dev-subset.json"),
                              "--dev", str(SQUAD / "xquad.en.json")],
    "SST-2": ["--task", "classification", "--data", str(DATA / "sst2" / "train.tsv"),
              "--dev", str(DATA / "sst2" / "dev.tsv")],
}  # fmt: skip


def done(folder: Path) -> dict[str, object] | None:
    """The last event of a finished run."""
    path = folder / "events.jsonl"
    lines = path.read_text("utf-8").splitlines() if path.is_file() else []
    last = json.loads(lines[-1]) if lines else {}
    return last if last.get("event") == "finished" else None


def train(name: str, seed: int, folder: Path, more: list[str]) -> None:
    """Run the command line with this *seed*; it continues where it stopped."""
    command = [sys.executable, "-m", "bertexplorer", "train"]
    if (folder / "spec.json").is_file():
        command += [str(folder), "--task", RUNS[name][1]]
    else:
        command += [*RUNS[name], "--seed", str(seed), "--snapshots", "0", "--out", str(folder), *more]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)


def line(name: str, folders: list[Path]) -> str:
    """A row of the table."""
    result = [(folder, last) for folder in folders if (last := done(folder))]
    task = BY_NAME[RUNS[name][1]]
    values = [float(last["value"]) for _, last in result]  # type: ignore[arg-type]
    spread = f" ± {stdev(values):.3f}" if len(values) > 1 else ""
    ready = next(json.loads(e) for e in (result[0][0] / "events.jsonl").open() if '"event": "ready"' in e)
    floor = ready["floors"].get(task.metric, {"name": "", "value": float("nan")})
    best = json.loads((sorted((result[0][0] / "best").iterdir())[-1] / "task.json").read_text("utf-8"))["metrics"]
    others = ", ".join(f"{key} {best[key]:.3f}" for key in list(task.metrics)[1:4] if key in best)
    seconds = fmean(float(last["seconds"]) for _, last in result)  # type: ignore[arg-type]
    return (
        f"| {name} | {ready['rows']:,} | {task.metrics[task.metric]} **{fmean(values):.3f}**{spread} ({len(values)}) | "
        f"{others} | {floor['name']}: {floor['value']:.3f} | {seconds / 60:.1f} min |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("names", nargs="*", default=[])
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only-table", action="store_true")
    given, more = parser.parse_known_args()
    names = given.names or list(RUNS)
    for seed in range(given.seeds):
        for name in names:
            folder = given.folder / f"{name.lower().replace(' ', '-').replace(',', '').replace('>', '')}-{seed}"
            if not given.only_table and not done(folder):
                train(name, seed, folder, more)
    sys.stdout.write("| data | rows | headline, mean ± deviation (seeds) | others | without learning | time |\n")
    sys.stdout.write("|---|---|---|---|---|---|\n")
    for name in names:
        stem = name.lower().replace(" ", "-").replace(",", "").replace(">", "")
        folders = sorted(path for path in given.folder.glob(f"{stem}-[0-9]") if done(path))
        if folders:
            sys.stdout.write(line(name, folders) + "\n")


if __name__ == "__main__":
    main()

"""Helpers for the benchmarks: interleaved cases, and a checkpoint of BERT-base's shape."""

import platform
import time
from collections.abc import Callable
from pathlib import Path

import torch

from bertexplorer.model.precision import has_bf16

MINI = Path(__file__).parents[2] / "assets" / "checkpoints" / "mini"


def base_shape(folder: Path, kind: str = "BertForMaskedLM") -> Path:
    """A checkpoint of BERT-base's shape with random weights and mini's tokenizer."""
    import transformers

    getattr(transformers, kind)(transformers.BertConfig()).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(MINI).save_pretrained(folder)
    return folder


def medians(cases: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Median milliseconds of each case; the cases are interleaved."""
    for case in cases.values():
        case()
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            started = time.perf_counter()
            case()
            times[name].append(1000 * (time.perf_counter() - started))
    return {name: sorted(result)[len(result) // 2] for name, result in times.items()}


def machine() -> str:
    facts = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    cpu = next((x.partition(":")[2].strip() for x in facts.splitlines() if "model name" in x), platform.processor())
    return f"{cpu}, 2 threads, torch {torch.__version__}, bf16 in hardware: {has_bf16(torch.device('cpu'))}"

"""Helpers for the benchmarks: cases in turn, a checkpoint of BERT-base's shape, the limits of the machine."""

import platform
import time
from collections.abc import Callable
from pathlib import Path

import torch

from bertexplorer.model.precision import has_bf16
from bertexplorer.model.prepacked_linear import multiply, pack_weight

MINI = Path(__file__).parents[1] / "assets" / "checkpoints" / "mini"


def base_shape(folder: Path, kind: str = "BertForMaskedLM") -> Path:
    """A checkpoint of BERT-base's shape with random weights and mini's tokenizer."""
    import transformers

    getattr(transformers, kind)(transformers.BertConfig()).save_pretrained(folder)
    transformers.AutoTokenizer.from_pretrained(MINI).save_pretrained(folder)
    return folder


def medians(cases: dict[str, Callable[[], object]], rounds: int, block: int = 1) -> dict[str, float]:
    """Median milliseconds of each case. The cases take turns, *block* calls each: the threads of another engine slow
    the first call after it, which is left out where a block has several."""
    for case in cases.values():
        case()
    times: dict[str, list[float]] = {name: [] for name in cases}
    for _ in range(rounds):
        for name, case in cases.items():
            for _ in range(1 if block > 1 else 0):
                case()
            for _ in range(block):
                started = time.perf_counter()
                case()
                times[name].append(1000 * (time.perf_counter() - started))
    return {name: sorted(result)[len(result) // 2] for name, result in times.items()}


def read_ms(num_bytes: int) -> float:
    """Milliseconds in which torch reads *num_bytes* of fp32 numbers once: their sum, at the best of many times, over
    more numbers than any cache holds."""
    numbers = torch.ones(64_000_000)
    return best_ms(numbers.sum) * num_bytes / numbers.nbytes


def multiply_ms(flops: float) -> float:
    """Milliseconds in which oneDNN computes *flops* in one fp32 product of packed matrices that stay in the caches."""
    size = 1024
    a, b = torch.randn(size, size), pack_weight(torch.randn(size, size))
    with torch.inference_mode():
        return best_ms(lambda: multiply(a, b, None)) * flops / (2 * size**3)


def best_ms(case: Callable[[], object]) -> float:
    """Milliseconds of the fastest of many calls."""
    times = []
    for _ in range(30):
        started = time.perf_counter()
        case()
        times.append(1000 * (time.perf_counter() - started))
    return min(times)


def machine() -> str:
    facts = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
    cpu = next((x.partition(":")[2].strip() for x in facts.splitlines() if "model name" in x), platform.processor())
    return f"{cpu}, 2 threads, torch {torch.__version__}, bf16 in hardware: {has_bf16(torch.device('cpu'))}"

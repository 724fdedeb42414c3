"""The model card of a run. It includes the user's rows only on request."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from bertexplorer.training.finetuning.spec import Spec
from bertexplorer.training.task import Evaluation

if TYPE_CHECKING:
    from bertexplorer.training.learner import Learner

LIBRARIES = ("torch", "transformers", "tokenizers", "accelerate", "numpy")
EXAMPLES = 3  # example rows in a card


def write_card(learner: Learner, spec: Spec, step: int, evaluation: Evaluation) -> str:
    """A model card with the task, base checkpoint, data, settings, metrics and versions, but without rows."""
    task, start = spec.definition, learner.checkpoint
    lines = ["---"]
    if start.licence:
        lines.append(f"license: {start.licence}")
    lines += [
        f"base_model: {spec.checkpoint}",
        "tags:",
        f"- {spec.task}",
        "---",
        "",
        f"# {spec.name or task.title}",
        "",
    ]
    size = f"{start.num_parameters / 1e6:,.1f} M parameters"
    lines += [f"{task.title}, fine-tuned from {spec.checkpoint} ({start.family}, {size}), kept at step {step:,}.", ""]
    if len(learner.extra):
        lines += ["task.safetensors holds the parts that transformers has no place for.", ""]
    lines += ["## Data", "", markdown_line(dict(spec.data)), ""]
    lines += ["## On the validation rows", "", "| metric | value |", "|---|---|"]
    for key, value in evaluation.metrics.items():
        lines.append(f"| {task.metrics.get(key, key)} | {value:.4f} |")
    lines += ["", "## Settings", "", "| setting | value |", "|---|---|"]
    for name, value in {**asdict(spec.tuning), **spec.options}.items():
        lines.append(f"| {name} | {value} |")
    lines += ["", ", ".join(f"{name} {version(name)}" for name in LIBRARIES), ""]
    return "\n".join(lines)


def without_rows(card: str) -> str:
    """A card of an earlier version without the rows that it contained."""
    return re.sub(r"\nRows to try on:\n\n(- .*\n)*", "", card)


def with_rows(card: str, rows: Sequence[dict[str, Any]]) -> str:
    """A card with the first EXAMPLES of the validation *rows*."""
    sample = "".join(f"- {markdown_line(row)}\n" for row in rows[:EXAMPLES])
    return f"{without_rows(card)}\n## Examples of validation rows\n\n{sample}"


def markdown_line(values: dict[str, Any]) -> str:
    """“key: value, …” on one line of at most 500 characters, without those that are special in Markdown."""
    pairs = ", ".join(f"{key}: {value}" for key, value in values.items() if value not in ("", None))
    return " ".join(pairs.split())[:500].replace("<", "‹").replace("|", "/").replace("`", "'")

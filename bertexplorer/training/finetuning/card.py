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
    licence = f"license: {start.licence}\n" if start.licence else ""
    metric_names = {key: task.metrics.get(key, key) for key in evaluation.metrics}
    metrics = "".join(f"| {metric_names[key]} | {value:.4f} |\n" for key, value in evaluation.metrics.items())
    settings = "".join(f"| {name} | {value} |\n" for name, value in {**asdict(spec.tuning), **spec.options}.items())
    extra_note = (
        "task.safetensors holds the parts that transformers has no place for.\n\n" if len(learner.extra) else ""
    )
    versions = ", ".join(f"{name} {version(name)}" for name in LIBRARIES)
    return (
        f"---\n{licence}base_model: {spec.checkpoint}\ntags:\n- {spec.task}\n---\n\n# {spec.name or task.title}\n\n"
        f"{task.title}, fine-tuned from {spec.checkpoint} ({start.family}, {start.num_parameters / 1e6:,.1f} M "
        f"parameters), kept at step {step:,}.\n\n{extra_note}"
        f"## Data\n\n{markdown_line(dict(spec.data))}\n"
        f"\n## On the validation rows\n\n| metric | value |\n|---|---|\n{metrics}\n"
        f"## Settings\n\n| setting | value |\n|---|---|\n{settings}\n{versions}\n"
    )


def without_rows(card: str) -> str:
    """A card of an earlier version without the rows that it contained."""
    return re.sub(r"\nRows to try on:\n\n(- .*\n)*", "", card)


def with_rows(card: str, rows: Sequence[dict[str, Any]]) -> str:
    """A card with the first of the validation *rows* as examples."""
    sample = "".join(f"- {markdown_line(row)}\n" for row in rows[:EXAMPLES])
    return f"{without_rows(card)}\n## Examples of validation rows\n\n{sample}"


def markdown_line(values: dict[str, Any]) -> str:
    """On one line, without characters that are special in Markdown."""
    pairs = ", ".join(f"{key}: {value}" for key, value in values.items() if value not in ("", None))
    return " ".join(pairs.split())[:500].replace("<", "‹").replace("|", "/").replace("`", "'")

"""The fine-tuning tasks, each a module with the interface of training/task.Task."""

from bertexplorer.training.task import Task
from bertexplorer.training.tasks import (
    adaptation,
    classification,
    distillation,
    next_word,
    pair_classification,
    question_answering,
    reranking,
    retrieval,
    sequence,
    similarity,
    summary,
    tagging,
)

TASKS: tuple[Task, ...] = (
    classification,
    pair_classification,
    tagging,
    question_answering,
    similarity,
    retrieval,
    reranking,
    summary,
    adaptation,
    next_word,
    sequence,
    distillation,
)
BY_NAME: dict[str, Task] = {module.__name__.rpartition(".")[2].replace("_", "-"): module for module in TASKS}

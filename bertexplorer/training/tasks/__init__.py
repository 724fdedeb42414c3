"""The fine-tuning tasks: a module each, which makes a `TASK`."""

from importlib import import_module

from bertexplorer.training.task import AnyTask

MODULES = (  # in the order of the page
    "classification",
    "pair_classification",
    "tagging",
    "question_answering",
    "similarity",
    "retrieval",
    "reranking",
    "summary",
    "adaptation",
    "next_word",
    "sequence",
    "distillation",
)
TASKS: tuple[AnyTask, ...] = tuple(import_module(f"{__name__}.{module}").TASK for module in MODULES)
BY_NAME: dict[str, AnyTask] = {task.name: task for task in TASKS}

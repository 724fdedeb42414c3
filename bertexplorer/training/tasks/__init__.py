"""The fine-tuning tasks, each a module with the names of training/task.Task."""

from types import ModuleType

from bertexplorer.training.tasks import classification, pair_classification

TASKS: tuple[ModuleType, ...] = (classification, pair_classification)
BY_NAME: dict[str, ModuleType] = {module.__name__.rpartition(".")[2].replace("_", "-"): module for module in TASKS}

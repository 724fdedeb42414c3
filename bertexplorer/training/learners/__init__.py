"""The learners of the tasks, by the name of their task: heads, batches, losses, metrics, answers.

classification.py      the encoder with a classification head
tagging.py             the encoder with a token classifier, and a CRF where it is wanted
question_answering.py  the encoder with two logits a token, over all windows of a passage
similarity.py          the encoder alone, whose cosines are to be the scores
retrieval.py           one encoder for queries and passages; the others of a batch are wrong ones
reranking.py           one logit over query and passage
summary.py             a score for each sentence's own [CLS]
adaptation.py          the MLM head, on masks drawn anew each time
next_word.py           the MLM head under a causal mask
sequence.py            the MLM head under a prefix mask, and beam search
distillation.py        a student beside its teacher
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.training.learner import Learner


CLASSES = {
    "classification": "Classifier",
    "tagging": "Tagger",
    "question_answering": "Reader",
    "similarity": "Similarity",
    "retrieval": "Retrieval",
    "reranking": "Reranker",
    "summary": "Summariser",
    "adaptation": "Adapter",
    "next_word": "Continuer",
    "sequence": "Rewriter",
    "distillation": "Distiller",
}  # of each module


def of(task: ModuleType) -> type[Learner]:
    """The class that learns *task*, a module of training/tasks; imports torch."""
    name = getattr(task, "LEARNER", task.__name__.rpartition(".")[2])
    return getattr(import_module(f"{__name__}.{name}"), CLASSES[name])


def create(task: ModuleType, checkpoint: Checkpoint, train: Sequence[Any], options: Any, *, seed: int) -> Learner:
    """*checkpoint* with the head of *task*; new weights are drawn with *seed*. Raises ExplorerError for examples or a
    checkpoint that do not fit the task."""
    return of(task).create(checkpoint, train, options, seed=seed)


def restore(
    task: ModuleType, checkpoint: Checkpoint, state: Mapping[str, Any], tensors: Mapping[str, Tensor]
) -> Learner:
    """A saved learner. *state*: as its `state` returned it; *tensors*: the state dict of its extra parts."""
    return of(task).restore(checkpoint, task.Options(**state["options"]), state, tensors)

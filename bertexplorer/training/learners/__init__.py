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


def of(task: ModuleType) -> ModuleType:
    """The module here that learns *task*, one of training/tasks; imports torch."""
    name = getattr(task, "LEARNER", task.__name__.rpartition(".")[2])
    return import_module(f"{__name__}.{name}")


def begin(task: ModuleType, checkpoint: Checkpoint, train: Sequence[Any], options: Any, *, seed: int) -> Learner:
    """*checkpoint* with the head of *task*, drawn by *seed* where it lacks one. Raises ExplorerError for rows that it
    cannot learn from, and for a checkpoint that it cannot begin with."""
    return of(task).begin(checkpoint, train, options, seed=seed)


def again(
    task: ModuleType, checkpoint: Checkpoint, described: dict[str, Any], tensors: Mapping[str, Tensor]
) -> Learner:
    """A learner that was saved, as it was *described*. *tensors*: of its extra parts."""
    return of(task).again(checkpoint, described, tensors)


def check(task: ModuleType, checkpoint: Checkpoint, train: Sequence[Any], options: Any) -> None:
    """Raises ExplorerError where *task* could not begin with *checkpoint*, before anything is started."""
    if hasattr(of(task), "check"):
        of(task).check(checkpoint, train, options)

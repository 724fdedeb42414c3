"""What classifier.js needs to know of a head that gives texts a label or a score."""

from __future__ import annotations

from typing import Any

from bertexplorer.answers import task_head
from bertexplorer.answers.readout import tuned_readout
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import ACTIVATIONS
from bertexplorer.site.activations import ACTIVATION_NAMES

READ = ("label", "labels", "score")  # the kinds of answers that it follows


def is_read(checkpoint: Checkpoint) -> bool:
    """Whether a browser reads the fine-tuned head of *checkpoint*."""
    readout = tuned_readout(checkpoint)
    return readout is not None and readout.kind in READ


def gives_plain_labels(checkpoint: Checkpoint) -> bool:
    """Whether its head gives one label to a text, as a run of it would: Layers, Saliency and Switchboard read these."""
    about = describe(checkpoint)
    return about is not None and about["kind"] == "label" and not about["caveats"]


def describe(checkpoint: Checkpoint) -> dict[str, Any] | None:
    """The head of *checkpoint* as JSON; None if a browser reads none."""
    readout = tuned_readout(checkpoint)
    if readout is None or readout.kind not in READ:
        return None
    training = task_head.training_of(checkpoint)
    reranks = readout.kind == "score" and task_head.reranks(checkpoint)
    relevance = task_head.relevance_of(checkpoint, 0.0)[0] if reranks else ""
    return {
        "kind": readout.kind,
        "labels": list(checkpoint.labels),
        "pooling": checkpoint.config.pooling,
        "activation": ACTIVATION_NAMES[ACTIVATIONS[checkpoint.config.pooled_activation]],
        "reranks": reranks,
        "relevance": relevance,  # the function that makes one of a score
        "max_tokens": training.max_tokens,
        "caveats": list(task_head.caveats(training)),
    }

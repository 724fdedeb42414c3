"""A student beside its teacher: the teacher less some layers, which learns its answers."""

import copy
import time
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.memo import Memo
from bertexplorer.training.learner import resting
from bertexplorer.training.learners.classification import Classifier
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks import classification
from bertexplorer.training.tasks.classification import Example, names
from bertexplorer.training.tasks.distillation import Options
from bertexplorer.training.texts import Item, TextBatch, by_length, run

TIMED = 4  # batches whose passes are timed
ROUNDS = 5


def begin(checkpoint: Checkpoint, train: Sequence[Example], options: Options) -> "Distiller":
    """*checkpoint* is the teacher. Raises ExplorerError if it is no classifier of the rows' labels, if it has no layer
    to spare, and if nothing is to be learnt."""
    classifies = "sequence_classifier" in checkpoint.heads
    if not classifies or not set(names(train)) <= set(checkpoint.labels):
        held = f"tells {', '.join(checkpoint.labels)}" if classifies else "is no classifier"
        raise ExplorerError(
            f"A teacher is needed that tells {', '.join(names(train)):.200}; {checkpoint.name} {held:.200}. Train one "
            "on these rows first (sentence or pair classification), then start from what that run kept."
        )
    if (checkpoint.folder / "task.safetensors").is_file():
        raise ExplorerError(f"{checkpoint.name} reads other columns beside the text; wanted a teacher of texts alone.")
    if checkpoint.hf_config.get("problem_type") == "multi_label_classification":
        raise ExplorerError(f"{checkpoint.name} gives several labels to a text; wanted a teacher that gives one.")
    if not options.soft + options.task + options.cosine:
        raise ExplorerError("All three weights are 0: nothing would be learnt. Raise one.")
    layers = chosen(checkpoint.config.num_layers, options.student_layers, options.taken)
    return Distiller(student_of(checkpoint, layers), checkpoint, options)


def chosen(layers: int, wanted: int, taken: str) -> list[int]:
    """Which of the teacher's layers (0-based) the student starts from; *spread* over all of 12, 6 are 0, 2, 4, 7, 9 and
    11, as in DistilBERT. Raises ExplorerError unless there are fewer than the teacher has."""
    count = wanted or layers // 2
    if not 0 < count < layers:
        raise ExplorerError(
            f"A student of {count} layers was asked for; the teacher has {layers}. Choose from 1 to {layers - 1}."
            if layers > 1
            else "The teacher has one layer; a student would need fewer. Choose a larger teacher."
        )
    if taken == "first" or count == 1:
        return list(range(count))
    return [round(i * (layers - 1) / (count - 1)) for i in range(count)]


def student_of(teacher: Checkpoint, layers: Sequence[int]) -> Checkpoint:
    """A copy of *teacher* with only some of its layers, the first among them, and its classifier."""
    kept = {name: head for name, head in teacher.heads.items() if name in ("sequence_classifier", "pooler")}
    whole = copy.deepcopy(nn.ModuleDict({"encoder": teacher.encoder, **kept}))  # at once: what is shared stays shared
    encoder = cast(Encoder, whole.pop("encoder"))
    old, described = teacher.config, dict(teacher.hf_config)
    described["n_layers" if "n_layers" in described else "num_hidden_layers"] = len(layers)
    if old.window:  # ModernBERT: which layers see all, by their new number
        kinds = ["sliding_attention" if old.is_local(i) else "full_attention" for i in layers]
        described["layer_types"] = kinds
    global_ = tuple(new for new, i in enumerate(layers) if old.window and not old.is_local(i))
    config = replace(old, num_layers=len(layers), global_layers=global_)
    encoder.layers, encoder.config = nn.ModuleList(encoder.layers[i] for i in layers), config
    made: dict[str, Any] = {"config": config, "encoder": encoder, "heads": dict(whole.items()), "hf_config": described}
    return replace(teacher, **made, folder=Path(), memo=Memo())


class Distiller(Classifier):
    """A student beside its teacher, which rests. The teacher is not trained, and not kept with the student."""

    def __init__(self, student: Checkpoint, teacher: Checkpoint, options: Options) -> None:
        super().__init__(student, classification.Options())
        self.teacher, self.distilling = Classifier(teacher, classification.Options()), options
        weights = {"soft": options.soft, "label": options.task, "cosine": options.cosine}
        self.weights = {name: weight for name, weight in weights.items() if weight}
        self.first_only, self.speed = False, 0.0

    def described(self) -> dict[str, Any]:
        return {"options": asdict(self.distilling), "max_tokens": self.reader.most}

    def counts(self, batch: TextBatch) -> dict[str, int]:
        rows = len(batch.ids)
        counts = {"soft": rows, "label": rows, "cosine": batch.tokens}
        return {name: counts[name] for name in self.weights}

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        """As in DistilBERT (Sanh et al., 2019): T² KL(teacher ‖ student) at temperature T (Hinton et al., 2015), the
        cross entropy of the labels, and 1 - cos between the last hidden states of every token. *right* of soft is
        agreement; the cosine has no right answers."""
        last, logits = passed(self, batch)
        with torch.no_grad():
            last_, logits_ = passed(self.teacher, batch)
        heat = self.distilling.temperature
        ours, theirs = (logits / heat).log_softmax(-1), (logits_ / heat).log_softmax(-1)
        apart = 1 - F.cosine_similarity(last.float(), last_.float(), dim=-1)
        if batch.mask is not None:
            apart = apart * batch.mask
        same = (logits.detach().argmax(-1) == logits_.argmax(-1)).sum()
        soft = heat**2 * F.kl_div(ours, theirs, log_target=True, reduction="sum")
        found = {
            "soft": Loss(soft, len(logits), same),
            "label": cross_entropy(logits, batch.targets),
            "cosine": Loss(apart.sum(), batch.tokens, torch.zeros_like(same)),
        }
        return {name: found[name] for name in self.weights}

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """The student's, and beside it how the teacher does on the same examples. The speed is measured once."""
        self.teacher.bf16 = self.bf16
        found, items = super().evaluate(examples), self.read(examples)
        said = [self.labels[i] for i in self.teacher.probabilities(items).argmax(1)]
        right = [(label,) == example.labels for label, example in zip(said, examples, strict=True)]
        same = [row["predicted"] == label for row, label in zip(found.rows, said, strict=True)]
        teacher, self.speed = sum(right) / len(right), self.speed or self.timed(items)
        metrics = {
            **found.metrics,
            "teacher_accuracy": teacher,
            "kept": found.metrics["accuracy"] / teacher if teacher else 1.0,
            "agreement": sum(same) / len(same),
            "speed": self.speed,
            "size": size(self) / size(self.teacher),
        }
        rows = [row | {"teacher": label} for row, label in zip(found.rows, said, strict=True)]
        return replace(found, metrics=metrics, rows=rows)

    def timed(self, items: Sequence[Item]) -> float:
        """The teacher's time over the student's for the same passes, each the shortest of a few rounds."""
        batches = [
            self.collate([items[i] for i in part]).to(self.checkpoint.device) for part in by_length(items)[:TIMED]
        ]
        times: list[list[float]] = [[], []]
        with resting(self):
            for _ in range(ROUNDS):
                for held, one in zip(times, (self.teacher, self), strict=True):
                    began = time.perf_counter()
                    for batch in batches:
                        passed(one, batch)[1].cpu()  # waits for a GPU
                    held.append(time.perf_counter() - began)
        return min(times[0]) / min(times[1])


def passed(one: Classifier, batch: TextBatch) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b n"]]:
    """The last hidden states and the logits."""
    last = run(one.modules["encoder"], batch.ids, batch.segments, batch.mask)
    return last, cast(Tensor, one.modules["sequence_classifier"](last, batch.mask)).float()


def size(one: Classifier) -> int:
    """Parameters that an answer takes."""
    return sum(parameter.numel() for parameter in one.modules.parameters())

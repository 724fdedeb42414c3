"""Distillation: a student with fewer layers than its teacher learns the teacher's answers."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Self, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.training.labels import label_names
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.learners.classification import Classifier
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.student import create_student, teacher_layers
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks import classification
from bertexplorer.training.tasks.classification import Example
from bertexplorer.training.tasks.distillation import Options
from bertexplorer.training.texts import Item, TextBatch, by_length, forward

TIMED = 4  # batches in the measurement of speed
ROUNDS = 5


class Distiller(Classifier):
    """A student next to its teacher. The teacher is neither trained nor saved with the student."""

    def __init__(self, student: Checkpoint, teacher: Checkpoint, options: Options) -> None:
        super().__init__(student, classification.Options())
        self.teacher, self.distilling = Classifier(teacher, classification.Options()), options
        weights = {"soft": options.soft, "label": options.task, "cosine": options.cosine}
        self.weights = {name: weight for name, weight in weights.items() if weight}
        self.first_only, self.speed = False, 0.0

    @classmethod
    def check(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options) -> list[int]:
        """The layers of the teacher *checkpoint* that its student starts from. Raises ExplorerError if it is not a
        classifier of the rows' labels, if it has no layer to spare, and if all weights are 0."""
        classifies = "sequence_classifier" in checkpoint.heads
        if not classifies or not set(label_names(train)) <= set(checkpoint.labels):
            problem = f"has {', '.join(checkpoint.labels)}" if classifies else "is not a classifier"
            raise ExplorerError(
                f"A teacher with the labels {', '.join(label_names(train)):.200} is needed; {checkpoint.name} "
                f"{problem:.200}. Train one on these rows first (sentence or pair classification), then start "
                "from its best checkpoint."
            )
        if (checkpoint.folder / "task.safetensors").is_file():
            raise ExplorerError(
                f"{checkpoint.name} reads other columns besides the text; wanted a teacher that reads texts alone."
            )
        if checkpoint.hf_config.get("problem_type") == "multi_label_classification":
            raise ExplorerError(f"{checkpoint.name} gives several labels to a text; wanted a teacher that gives one.")
        if not options.soft + options.task + options.cosine:
            raise ExplorerError("All three weights are 0: nothing would be trained. Raise one.")
        return teacher_layers(checkpoint.config.num_layers, options.student_layers, options.taken)

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Any, *, seed: int) -> Self:
        """*checkpoint* is the teacher. Raises ExplorerError as `check` does."""
        layers = cls.check(checkpoint, train, options)
        return cls(create_student(checkpoint, layers, ("sequence_classifier", "pooler")), checkpoint, options)

    @classmethod
    def restore(
        cls, checkpoint: Checkpoint, options: Any, state: Mapping[str, Any], tensors: Mapping[str, Tensor]
    ) -> Learner:
        """The saved student, which is a classifier like any other."""
        return Classifier.restore(checkpoint, classification.Options(), {"weights": (), **state}, tensors)

    def state(self) -> dict[str, Any]:
        return {"options": asdict(self.distilling), "max_tokens": self.max_tokens}

    def counts(self, batch: TextBatch) -> dict[str, int]:
        rows = len(batch.ids)
        counts = {"soft": rows, "label": rows, "cosine": batch.tokens}
        return {name: counts[name] for name in self.weights}

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        """As in DistilBERT (Sanh et al., 2019): T² KL(teacher ‖ student) at temperature T (Hinton et al., 2015), the
        cross entropy of the labels, and 1 - cos between the last hidden states of every token. *right* of soft is
        agreement; the cosine has no right answers."""
        last, logits = forward_pass(self, batch)
        with torch.no_grad():
            teacher_last, teacher_logits = forward_pass(self.teacher, batch)
        temperature = self.distilling.temperature
        student_log_probs = (logits / temperature).log_softmax(-1)
        teacher_log_probs = (teacher_logits / temperature).log_softmax(-1)
        distance = 1 - F.cosine_similarity(last.float(), teacher_last.float(), dim=-1)
        if batch.mask is not None:
            distance = distance * batch.mask
        agreement = (logits.detach().argmax(-1) == teacher_logits.argmax(-1)).sum()
        soft = temperature**2 * F.kl_div(student_log_probs, teacher_log_probs, log_target=True, reduction="sum")
        losses = {
            "soft": Loss(soft, len(logits), agreement),
            "label": cross_entropy(logits, batch.targets),
            "cosine": Loss(distance.sum(), batch.tokens, torch.zeros_like(agreement)),
        }
        return {name: losses[name] for name in self.weights}

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """The student's results, and the teacher's on the same examples. The speed is measured once."""
        self.teacher.bf16 = self.bf16
        result, items = super().evaluate(examples), self.read(examples)
        teacher_labels = [self.labels[i] for i in self.teacher.probabilities(items).argmax(1)]
        right = [(label,) == example.labels for label, example in zip(teacher_labels, examples, strict=True)]
        agreement = [row["predicted"] == label for row, label in zip(result.rows, teacher_labels, strict=True)]
        teacher_accuracy, self.speed = sum(right) / len(right), self.speed or self.measure_speedup(items)
        metrics = {
            **result.metrics,
            "teacher_accuracy": teacher_accuracy,
            "kept": result.metrics["accuracy"] / teacher_accuracy if teacher_accuracy else 1.0,
            "agreement": sum(agreement) / len(agreement),
            "speed": self.speed,
            "size": count_parameters(self) / count_parameters(self.teacher),
        }
        rows = [row | {"teacher": label} for row, label in zip(result.rows, teacher_labels, strict=True)]
        return replace(result, metrics=metrics, rows=rows)

    def measure_speedup(self, items: Sequence[Item]) -> float:
        """The teacher's time divided by the student's for the same passes, each the minimum of a few rounds."""
        batches = [
            self.collate([items[i] for i in part]).to(self.checkpoint.device) for part in by_length(items)[:TIMED]
        ]
        times: list[list[float]] = [[], []]
        with evaluation_mode(self):
            for _ in range(ROUNDS):
                for durations, classifier in zip(times, (self.teacher, self), strict=True):
                    began = time.perf_counter()
                    for batch in batches:
                        forward_pass(classifier, batch)[1].cpu()  # waits for a GPU
                    durations.append(time.perf_counter() - began)
        return min(times[0]) / min(times[1])


def forward_pass(classifier: Classifier, batch: TextBatch) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "b n"]]:
    """The last hidden states and the logits."""
    last = forward(classifier.modules["encoder"], batch.ids, batch.segments, batch.mask)
    return last, cast(Tensor, classifier.modules["sequence_classifier"](last, batch.mask)).float()


def count_parameters(classifier: Classifier) -> int:
    """The number of parameters used for an answer."""
    return sum(parameter.numel() for parameter in classifier.modules.parameters())

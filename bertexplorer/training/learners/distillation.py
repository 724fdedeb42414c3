"""Distillation: a student with fewer layers than its teacher learns the teacher's answers."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, NamedTuple, Self, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.training.labels import label_names
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.learners.classification import Classifier, EvaluatedText
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.student import create_student, teacher_layers
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks import classification
from bertexplorer.training.tasks.classification import Example
from bertexplorer.training.tasks.distillation import Options
from bertexplorer.training.texts import Item, TextBatch, by_length, forward

TIMED = 4  # batches in the measurement of speed
ROUNDS = 5


class DistilledText(EvaluatedText):
    teacher: str  # the teacher's label


class ClassifierOutput(NamedTuple):
    """The last hidden states of a batch, and the logits of its labels."""

    last: Float[Tensor, "b t d"]
    logits: Float[Tensor, "b l"]


class Distiller(Classifier):
    """A student next to its teacher. The teacher is neither trained nor saved with the student."""

    def __init__(self, student: Checkpoint, teacher: Checkpoint, options: Options) -> None:
        """*options*: of distillation. Both classify with one label for each text."""
        super().__init__(student, classification.Options())
        self.teacher, self.distilling = Classifier(teacher, classification.Options()), options
        weights = {"soft": options.soft, "label": options.task, "cosine": options.cosine}
        self.weights = {name: weight for name, weight in weights.items() if weight}
        self.first_only = False  # a loss reads the vectors of all tokens
        self.speed = 0.0  # how much faster than the teacher it is; 0 until it is measured

    @classmethod
    def check(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options) -> None:
        """Raises ExplorerError if the teacher *checkpoint* is not a classifier of the rows' labels, if it has no layer
        to spare, and if all weights are 0."""
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
        teacher_layers(checkpoint.config.num_layers, options.student_layers, options.taken)

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Any, *, seed: int) -> Self:
        """*checkpoint* is the teacher. Raises ExplorerError as `check` does."""
        cls.check(checkpoint, train, options)
        layers = teacher_layers(checkpoint.config.num_layers, options.student_layers, options.taken)
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
        student = forward_pass(self, batch)
        with torch.no_grad():
            teacher = forward_pass(self.teacher, batch)
        temperature = self.distilling.temperature
        student_log_probs = (student.logits / temperature).log_softmax(-1)
        teacher_log_probs = (teacher.logits / temperature).log_softmax(-1)
        soft = temperature**2 * F.kl_div(student_log_probs, teacher_log_probs, log_target=True, reduction="sum")
        agreement = (student.logits.detach().argmax(-1) == teacher.logits.argmax(-1)).sum()
        distance = 1 - F.cosine_similarity(student.last.float(), teacher.last.float(), dim=-1)
        if batch.mask is not None:
            distance = distance * batch.mask
        losses = {
            "soft": Loss(soft, len(batch.ids), agreement),
            "label": cross_entropy(student.logits, batch.targets),
            "cosine": Loss(distance.sum(), batch.tokens, torch.zeros_like(agreement)),
        }
        return {name: losses[name] for name in self.weights}

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """The student's results, and the teacher's on the same examples. The speed is measured once."""
        # 1. The student's answers, and the teacher's beside them
        result = super().evaluate(examples)
        items = self.read(examples)
        self.teacher.bf16 = self.bf16
        teacher_labels = [self.labels[i] for i in self.teacher.probabilities(items).argmax(1)]
        rows: list[DistilledText] = []
        right = agreeing = 0
        for row, label, example in zip(result.rows, teacher_labels, examples, strict=True):
            rows.append({**cast(EvaluatedText, row), "teacher": label})
            right += (label,) == example.labels
            agreeing += row["predicted"] == label

        # 2. Together
        teacher_accuracy = right / len(rows)
        self.speed = self.speed or self.measure_speedup(items)
        metrics = {
            **result.metrics,
            "teacher_accuracy": teacher_accuracy,
            "kept": result.metrics["accuracy"] / teacher_accuracy if teacher_accuracy else 1.0,
            "agreement": agreeing / len(rows),
            "speed": self.speed,
            "size": count_parameters(self) / count_parameters(self.teacher),
        }
        return replace(result, metrics=metrics, rows=rows)

    def measure_speedup(self, items: Sequence[Item]) -> float:
        """The teacher's time divided by the student's for the same passes, each the minimum of a few rounds."""
        batches = []
        for indices in by_length(items)[:TIMED]:
            batches.append(self.collate([items[i] for i in indices]).to(self.checkpoint.device))
        teacher_seconds: list[float] = []
        student_seconds: list[float] = []
        with evaluation_mode(self):
            for _ in range(ROUNDS):
                for seconds, classifier in ((teacher_seconds, self.teacher), (student_seconds, self)):
                    began = time.perf_counter()
                    for batch in batches:
                        forward_pass(classifier, batch).logits.cpu()  # waits for a GPU
                    seconds.append(time.perf_counter() - began)
        return min(teacher_seconds) / min(student_seconds)


def forward_pass(classifier: Classifier, batch: TextBatch) -> ClassifierOutput:
    last = forward(classifier.modules["encoder"], batch.ids, batch.segments, batch.mask)
    logits = cast(Tensor, classifier.modules["sequence_classifier"](last, batch.mask))
    return ClassifierOutput(last, logits.float())


def count_parameters(classifier: Classifier) -> int:
    """The number of parameters used for an answer."""
    return sum(parameter.numel() for parameter in classifier.modules.parameters())

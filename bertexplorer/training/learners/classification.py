"""The encoder with a classification head: one label per text, or several independent ones."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Self, TypedDict

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.initialise import ProblemType, with_heads
from bertexplorer.training.calibration import calibration_bins, calibration_error
from bertexplorer.training.features import FEATURE_PREFIX, Feature, encode_features, feature_cells, fit_features
from bertexplorer.training.labels import label_names
from bertexplorer.training.learner import ExampleInWords, ExplainedAnswer, Learner, Traceable, sequence_logits
from bertexplorer.training.objective import Loss, correct
from bertexplorer.training.task import Confusion, EvaluatedRow, Evaluation
from bertexplorer.training.tasks.classification import Example, Options
from bertexplorer.training.texts import Item, TextBatch


class EvaluatedText(EvaluatedRow):
    """*gold*, *predicted*: labels, with | between several."""

    probability: float  # of the predicted label; of several the highest, 0 if there is none


class LabelProbability(TypedDict):
    label: str
    probability: float


class PredictedLabels(TypedDict):
    """The answer to a text: all labels, the likeliest first."""

    labels: list[LabelProbability]


class Classifier(Traceable):
    """The encoder with its classification head. Where a row has other columns, a linear layer over them adds to the
    logits, as if the last layer of the head were wider. Its weights start at 0."""

    weights = {"label": 1.0}
    heads = ("sequence_classifier",)

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: Options,
        balance: Sequence[float] = (),
        features: Sequence[Feature] = (),
    ) -> None:
        """*balance*: the weight of each label in the loss; (): 1. *features*: how the other columns become numbers."""
        self.balance, self.features = list(balance), list(features)
        self.labels, self.several = checkpoint.labels, options.labels == "several"
        extra = {}
        if features:
            extra["features"] = nn.Linear(sum(feature.width for feature in features), len(self.labels), bias=False)
            nn.init.zeros_(extra["features"].weight)
        super().__init__(checkpoint, options, extra=extra)
        self.first_only = checkpoint.sequence_classifier.first_only

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        """A classifier for the labels of *train*. A head that already has exactly these labels is trained further.
        Raises ExplorerError for fewer than 2 labels, and for too many."""
        labels = label_names(train)
        if set(labels) == set(checkpoint.labels):
            labels = checkpoint.labels
        problem: ProblemType = "single_label_classification"
        if options.labels == "several":
            problem = "multi_label_classification"
        checkpoint = with_heads(checkpoint, ["sequence_classifier"], seed=seed, labels=labels, problem=problem)
        balance = []
        if options.balance:
            counts = Counter(label for example in train for label in example.labels)
            balance = [len(train) / (len(labels) * counts[label]) for label in labels]
        return cls(checkpoint, options, balance, features=fit_features([example.features for example in train]))

    @classmethod
    def restore(
        cls, checkpoint: Checkpoint, options: Any, state: Mapping[str, Any], tensors: Mapping[str, Tensor]
    ) -> Learner:
        features = [Feature(**{**saved, "values": tuple(saved["values"])}) for saved in state.get("features", [])]
        learner = cls(checkpoint, options, state["weights"], features)
        learner.set_max_tokens(state["max_tokens"])
        learner.extra.load_state_dict(dict(tensors))
        return learner

    def state(self) -> dict[str, Any]:
        settings = {"weights": self.balance, "max_tokens": self.max_tokens}
        return {"options": asdict(self.options), **settings, "features": [asdict(feature) for feature in self.features]}

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """The target is the indices of the labels, without those that the head does not know."""
        index = {label: i for i, label in enumerate(self.labels)}
        targets = [[index[label] for label in example.labels if label in index] for example in examples]
        items = self.tokenizer.items([example.texts for example in examples], targets)
        if self.features:
            for i, example in enumerate(examples):
                items[i] = replace(items[i], features=encode_features(self.features, example.features))
        return items

    def targets(self, items: Sequence[Item]) -> Tensor:
        """b x l of 0 and 1 if a text has several labels, else b label indices: -1 for no label or an unknown one."""
        if not self.several:
            return torch.tensor([item.target[0] if item.target else -1 for item in items])
        targets = torch.zeros(len(items), len(self.labels))
        for row, item in enumerate(items):
            targets[row, item.target or []] = 1.0
        return targets

    def logits(self, batch: TextBatch) -> Float[Tensor, "b l"]:
        logits = sequence_logits(self.modules, batch)
        if batch.features is not None:
            logits = logits + self.modules["features"](batch.features).float()
        return logits

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"label": batch.targets.numel()}

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        """Correct, of several labels: each on its own, predicted exactly if its probability is above ½."""
        logits = self.logits(batch)
        if self.several:
            right = (logits.detach() > 0) == (batch.targets > 0)
        else:
            right = correct(logits.detach(), batch.targets)
        return {"label": Loss(self.terms(logits, batch).sum(), batch.targets.numel(), right.sum())}

    def row_losses(self, batch: TextBatch) -> Float[Tensor, " b"]:
        """The loss of each text in nats; of several labels their sum."""
        return self.terms(self.logits(batch), batch).reshape(len(batch.targets), -1).sum(1)

    def example_to_explain(self, cells: Mapping[str, str], answer: str) -> ExplainedAnswer:
        """*answer*: a label."""
        label = answer or self.predict([cells])[0]["labels"][0]["label"]
        if label not in self.labels:
            raise ExplorerError(f"The run knows no label {label!r:.60}; it knows {', '.join(self.labels)[:200]}.")
        texts = tuple(text.strip() for text in input_texts(cells))
        return ExplainedAnswer(label, Example(0, texts, (label,), feature_cells(cells)))

    def describe_example(self, example: Example) -> ExampleInWords:
        return ExampleInWords(example.texts, " | ".join(example.labels))

    def terms(self, logits: Float[Tensor, "b l"], batch: TextBatch) -> Tensor:
        """The terms of the loss: b, or b x l if a text has several labels."""
        scale = logits.new_tensor(self.balance) if self.balance else None
        if self.several:
            return F.binary_cross_entropy_with_logits(logits, batch.targets, pos_weight=scale, reduction="none")
        return F.cross_entropy(logits, batch.targets, weight=scale, reduction="none")

    def probabilities(self, items: Sequence[Item]) -> Float[np.ndarray, "n l"]:
        """The probability of each label (softmax, or sigmoid for several labels), in the order of *items*."""

        def compute(_: list[Item], batch: TextBatch) -> Float[np.ndarray, "b l"]:
            logits = self.logits(batch)
            return (logits.sigmoid() if self.several else logits.softmax(-1)).cpu().numpy()

        return np.array(self.in_batches(items, compute), np.float32).reshape(-1, len(self.labels))

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """A text with several labels counts as correct in the accuracy if all are. A label that was not trained is a
        class that is never predicted: its rows count as wrong, but not in the loss."""
        # 1. The true and the predicted labels, as booleans: a row for each text, a column for each label
        items = self.read(examples)
        probabilities = self.probabilities(items)
        if self.several:
            predicted = probabilities > 0.5
        else:
            predicted = np.eye(len(self.labels), dtype=bool)[probabilities.argmax(1)]
        labels = (*self.labels, *unseen_labels(self.labels, examples))
        index = {label: i for i, label in enumerate(labels)}
        gold = np.zeros((len(examples), len(labels)), bool)
        for row, example in enumerate(examples):
            gold[row, [index[label] for label in example.labels]] = True

        # 2. A row for each text
        rows: list[EvaluatedText] = []
        for i, (example, item) in enumerate(zip(examples, items, strict=True)):
            answer = [self.labels[label] for label in np.flatnonzero(predicted[i])]
            loss = float("nan")  # of a label that was not trained
            if item.target or self.several:
                loss = nats_of_text(probabilities[i], item.target, self.several)
            rows.append(
                {
                    "line": example.line,
                    "text": " [SEP] ".join(example.texts),
                    "gold": " | ".join(example.labels),
                    "predicted": " | ".join(answer),
                    "right": set(answer) == set(example.labels),
                    "loss": loss,
                    "cut": item.left_out,
                    "probability": float(probabilities[i][predicted[i]].max(initial=0)),
                }
            )

        # 3. All texts together; labels that were not trained are never predicted
        predicted = np.pad(predicted, ((0, 0), (0, len(labels) - len(self.labels))))
        return measure(labels, gold, predicted, probabilities, rows, several=self.several)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[PredictedLabels]:
        examples = [Example(0, input_texts(cells), (), feature_cells(cells)) for cells in inputs]
        if not all(example.texts for example in examples):
            raise ExplorerError("The text is empty. Type a sentence.")
        answers: list[PredictedLabels] = []
        for probabilities in self.probabilities(self.read(examples)):
            labels: list[LabelProbability] = []
            for i in np.argsort(-probabilities):
                labels.append({"label": self.labels[i], "probability": float(probabilities[i])})
            answers.append({"labels": labels})
        return answers


def input_texts(cells: Mapping[str, str]) -> tuple[str, ...]:
    """The texts of a new row, one or a pair: its cells that are neither empty nor features."""
    return tuple(text for name, text in cells.items() if text.strip() and not name.startswith(FEATURE_PREFIX))


def unseen_labels(known: Sequence[str], examples: Sequence[Example]) -> list[str]:
    """The labels of *examples* that are not *known*."""
    return sorted({label for example in examples for label in example.labels} - set(known))


def nats_of_text(probabilities: Float[np.ndarray, " l"], target: Sequence[int], several: bool) -> float:
    """The loss of one text; with several labels, a mean over the labels."""
    smallest = 1e-12
    if not several:
        return -float(np.log(max(probabilities[target[0]], smallest)))
    probability_of_truth = np.where(np.isin(np.arange(len(probabilities)), target), probabilities, 1 - probabilities)
    return -float(np.log(np.maximum(probability_of_truth, smallest)).mean())


def measure(
    labels: Sequence[str],
    gold: Bool[np.ndarray, "n l"],
    predicted: Bool[np.ndarray, "n l"],
    probabilities: Float[np.ndarray, "n trained"],
    rows: Sequence[EvaluatedText],
    *,
    several: bool,
) -> Evaluation:
    """The evaluation of *rows*, with metrics as scikit-learn defines them. Macro-F1 is the mean over the classes that
    occur among the true or the predicted ones; it is 0 if there is none. *gold*, *predicted*: whether a row has each of
    *labels*, of which those that were trained come first and have *probabilities*."""
    from sklearn.metrics import f1_score, matthews_corrcoef, precision_recall_fscore_support

    # 1. Over all rows, and for each label
    right = np.array([row["right"] for row in rows])
    losses = [row["loss"] for row in rows if np.isfinite(row["loss"])]
    occur = np.flatnonzero(gold.any(0) | predicted.any(0))
    metrics = {
        "accuracy": float(right.mean()),
        "macro_f1": 0.0,
        "micro_f1": float(f1_score(gold, predicted, average="micro", zero_division=0)),
        "loss": float(np.mean(losses)) if losses else float("nan"),
    }
    if len(occur):
        metrics["macro_f1"] = float(f1_score(gold, predicted, average="macro", labels=occur, zero_division=0))
    by_label = precision_recall_fscore_support(gold, predicted, average=None, zero_division=0)
    table = []
    for name, precision, recall, f1, count in zip(labels, *by_label, strict=True):
        numbers = {"precision": float(precision), "recall": float(recall), "f1": float(f1)}
        table.append({"label": name, **numbers, "examples": int(count)})
    if several:
        return Evaluation(metrics, rows, {"Per label": table})

    # 2. What only one label for a text has
    gold_index, predicted_index = gold.argmax(1), predicted.argmax(1)
    metrics["mcc"] = float(matthews_corrcoef(gold_index, predicted_index)) if len(occur) > 1 else 0.0
    bins = calibration_bins(probabilities.max(1), right)
    metrics["calibration"] = calibration_error(bins)
    calibration = []
    for tenth in bins:
        shares = {"confidence": tenth.confidence, "accuracy": tenth.accuracy}
        calibration.append({"from": tenth.start, **shares, "examples": tenth.examples})
    counts = np.zeros((len(labels), len(labels)), int)
    np.add.at(counts, (gold_index, predicted_index), 1)
    confusion = Confusion(tuple(labels), tuple(tuple(line) for line in counts.tolist()))
    return Evaluation(metrics, rows, {"Per label": table, "Calibration": calibration}, confusion)

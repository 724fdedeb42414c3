"""The encoder with a classification head: one label a text, or each label by itself."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.initialise import with_heads
from bertexplorer.training.features import PREFIX, Feature, beside, encoded, learnt
from bertexplorer.training.learner import resting
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import Confusion, Evaluation
from bertexplorer.training.tasks.classification import Example, Options, names
from bertexplorer.training.texts import Item, Reader, TextBatch, by_length, encode, pad

BINS = 10  # of the calibration


def begin(checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> "Classifier":
    """A classifier over the labels of *train*; a head that is there for just these is gone on with."""
    found = names(train)
    if set(found) == set(checkpoint.labels):
        found = checkpoint.labels
    several = options.labels == "several"
    problem: Any = "multi_label_classification" if several else "single_label_classification"
    made = with_heads(checkpoint, ["sequence_classifier"], seed=seed, labels=found, problem=problem)
    counts = Counter(label for example in train for label in example.labels)
    weights = [len(train) / (len(found) * counts[label]) for label in found] if options.balance else []
    return Classifier(made, options, weights, features=learnt([example.beside for example in train]))


def again(checkpoint: Checkpoint, described: dict[str, Any], tensors: Mapping[str, Tensor]) -> "Classifier":
    """A classifier that was saved."""
    features = [Feature(**{**one, "values": tuple(one["values"])}) for one in described.get("features", [])]
    options = Options(**described["options"])
    made = Classifier(checkpoint, options, described["weights"], described["max_tokens"], features)
    made.extra.load_state_dict(dict(tensors))
    return made


class Classifier:
    """The encoder with its classification head. Where a row has other columns, a linear layer over them adds to the
    logits: the last layer of the head, widened. It begins at 0."""

    weights = {"label": 1.0}

    def __init__(
        self,
        checkpoint: Checkpoint,
        options: Options,
        balance: Sequence[float] = (),
        max_tokens: int = 128,
        features: Sequence[Feature] = (),
    ) -> None:
        self.checkpoint, self.options, self.balance = checkpoint, options, list(balance)
        self.labels = checkpoint.labels
        self.several = options.labels == "several"
        self.extra, self.bf16 = nn.ModuleDict(), False
        head = checkpoint.sequence_classifier
        self.modules = nn.ModuleDict({"encoder": checkpoint.encoder, "sequence_classifier": head})
        self.features = list(features)
        if features:
            wider = nn.Linear(sum(one.width for one in features), len(self.labels), bias=False)
            nn.init.zeros_(wider.weight)
            self.extra["features"] = self.modules["features"] = wider
        self.first_only = not head.mean
        self.limit(max_tokens)

    def limit(self, max_tokens: int) -> None:
        self.reader = Reader(self.checkpoint.tokenizer, max_tokens)

    def described(self) -> dict[str, Any]:
        about = {"options": asdict(self.options), "weights": self.balance, "max_tokens": self.reader.most}
        return about | {"features": [asdict(one) for one in self.features]}

    def read(self, examples: Sequence[Example]) -> list[Item]:
        place = {label: i for i, label in enumerate(self.labels)}
        targets = [[place[label] for label in example.labels if label in place] for example in examples]
        items = self.reader.items([example.texts for example in examples], targets)
        if not self.features:
            return items
        return [
            replace(item, features=encoded(self.features, example.beside))
            for item, example in zip(items, examples, strict=True)
        ]

    def collate(self, items: Sequence[Item]) -> TextBatch:
        if self.several:
            targets = torch.zeros(len(items), len(self.labels))
            for row, item in enumerate(items):
                targets[row, item.target or []] = 1.0
        else:  # -1: a label that was never learnt, or none
            targets = torch.tensor([item.target[0] if item.target else -1 for item in items])
        return pad(items, self.checkpoint.tokenizer.pad_id, targets)

    def logits(self, batch: TextBatch) -> Float[Tensor, "b n"]:
        last = encode(self.modules["encoder"], batch)
        mask = batch.mask if last.shape[1] > 1 else None
        logits = cast(Tensor, self.modules["sequence_classifier"](last, mask)).float()
        return logits if batch.features is None else logits + self.modules["features"](batch.features).float()

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"label": batch.targets.numel() if self.several else len(batch.targets)}

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        logits = self.logits(batch)
        scale = logits.new_tensor(self.balance) if self.balance else None
        if self.several:
            total = F.binary_cross_entropy_with_logits(logits, batch.targets, pos_weight=scale, reduction="sum")
            return {"label": Loss(total, batch.targets.numel(), ((logits.detach() > 0) == (batch.targets > 0)).sum())}
        plain = cross_entropy(logits, batch.targets)
        if scale is None:
            return {"label": plain}
        total = F.cross_entropy(logits, batch.targets, weight=scale, reduction="sum")
        return {"label": Loss(total, plain.count, plain.right)}

    def probabilities(self, items: Sequence[Item]) -> Float[np.ndarray, "n l"]:
        """Of each label, softmax or sigmoid, in the order of *items*."""
        found = np.zeros((len(items), len(self.labels)), np.float32)
        device = self.checkpoint.device
        with resting(self):
            for part in by_length(items):
                logits = self.logits(self.collate([items[i] for i in part]).to(device))
                found[part] = (logits.sigmoid() if self.several else logits.softmax(-1)).cpu().numpy()
        return found

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Accuracy counts a text with several labels as right if all of them are. A label that was never learnt is a
        class of its own that is never predicted: its rows count as wrong, but not in the loss."""
        items = self.read(examples)
        shares = self.probabilities(items)
        every = (*self.labels, *unseen(self.labels, examples))
        place = {label: i for i, label in enumerate(every)}
        gold = np.zeros((len(examples), len(every)), bool)
        for row, example in enumerate(examples):
            gold[row, [place[label] for label in example.labels]] = True
        guess = shares > 0.5 if self.several else np.eye(len(self.labels), dtype=bool)[shares.argmax(1)]
        rows = []
        for example, item, share, said in zip(examples, items, shares, guess, strict=True):
            predicted = [self.labels[i] for i in np.flatnonzero(said)]
            right = set(predicted) == set(example.labels)
            loss = float(nats(share, item.target, self.several)) if item.target or self.several else float("nan")
            given = {"line": example.line, "text": " [SEP] ".join(example.texts), "gold": " | ".join(example.labels)}
            answer = {"predicted": " | ".join(predicted), "right": right, "loss": loss, "cut": item.left_out}
            rows.append(given | answer | {"probability": float(share[said].max(initial=0))})
        guess = np.pad(guess, ((0, 0), (0, len(every) - len(self.labels))))
        return Evaluation(*scores(every, gold, guess, shares, rows, self.several))

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Each input's labels with their probabilities, the likeliest first."""
        examples = [
            Example(0, tuple(v for k, v in given.items() if v.strip() and not k.startswith(PREFIX)), (), beside(given))
            for given in inputs
        ]
        if not all(example.texts for example in examples):
            raise ExplorerError("The text is empty. Type a sentence.")
        shares = self.probabilities(self.read(examples))
        return [
            {"labels": [{"label": self.labels[i], "probability": float(row[i])} for i in np.argsort(-row)]}
            for row in shares
        ]


def unseen(known: Sequence[str], examples: Sequence[Example]) -> list[str]:
    """The labels of *examples* that are not *known*."""
    return sorted({label for example in examples for label in example.labels} - set(known))


def nats(share: Float[np.ndarray, " l"], target: Sequence[int], several: bool) -> float:
    """The loss of one text, a mean over labels where each is decided alone."""
    tiny = 1e-12
    if not several:
        return -float(np.log(max(share[target[0]], tiny)))
    said = np.where(np.isin(np.arange(len(share)), target), share, 1 - share)
    return -float(np.log(np.maximum(said, tiny)).mean())


def scores(
    labels: Sequence[str],
    gold: np.ndarray,
    guess: np.ndarray,
    shares: np.ndarray,
    rows: list[dict[str, Any]],
    several: bool,
) -> tuple[dict[str, float], list[dict[str, Any]], dict[str, list[dict[str, Any]]], Confusion | None]:
    """Metrics, rows, tables, confusion, by scikit-learn's definitions. Macro-F1 is the mean over the classes that occur
    among the true or the predicted ones; it is 0 where no row has either."""
    from sklearn.metrics import f1_score, matthews_corrcoef, precision_recall_fscore_support

    right = np.array([row["right"] for row in rows])
    losses = [row["loss"] for row in rows if np.isfinite(row["loss"])]
    occur = np.flatnonzero(gold.any(0) | guess.any(0))
    metrics = {
        "accuracy": float(right.mean()),
        "macro_f1": float(f1_score(gold, guess, average="macro", labels=occur, zero_division=0)) if len(occur) else 0.0,
        "micro_f1": float(f1_score(gold, guess, average="micro", zero_division=0)),
        "loss": float(np.mean(losses)) if losses else float("nan"),
    }
    precision, recall, f1, count = precision_recall_fscore_support(gold, guess, average=None, zero_division=0)
    table = [
        {"label": name, "precision": float(p), "recall": float(r), "f1": float(f), "examples": int(n)}
        for name, p, r, f, n in zip(labels, precision, recall, f1, count, strict=True)
    ]
    if several:
        return metrics, rows, {"Per label": table}, None
    metrics["mcc"] = float(matthews_corrcoef(gold.argmax(1), guess.argmax(1))) if len(occur) > 1 else 0.0
    bins = calibration(shares.max(1), right)
    metrics["calibration"] = sum(b["examples"] * abs(b["accuracy"] - b["confidence"]) for b in bins) / len(rows)
    counts = np.zeros((len(labels), len(labels)), int)
    np.add.at(counts, (gold.argmax(1), guess.argmax(1)), 1)
    matrix = Confusion(tuple(labels), tuple(tuple(int(n) for n in line) for line in counts))
    return metrics, rows, {"Per label": table, "Calibration": bins}, matrix


def calibration(confidence: np.ndarray, right: np.ndarray) -> list[dict[str, Any]]:
    """Ten bins of confidence (Guo et al., 2017): how sure the answers were and how many were right."""
    place = np.minimum((confidence * BINS).astype(int), BINS - 1)
    return [
        {
            "from": i / BINS,
            "confidence": float(confidence[place == i].mean()),
            "accuracy": float(right[place == i].mean()),
            "examples": int((place == i).sum()),
        }
        for i in range(BINS)
        if (place == i).any()
    ]

"""Extractive summary: the encoder over all sentences at once, with a logit for each."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.initialise import initialise
from bertexplorer.training.extract import KINDS, Rouge, choose, split
from bertexplorer.training.learner import Learner
from bertexplorer.training.objective import Loss
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.summary import METRIC, Example, Options
from bertexplorer.training.texts import Item, TextBatch, encode

PLACES = 10  # rows of the table; the last one is for the tenth place and later
NOT_A_START = -1.0


class Target(NamedTuple):
    """The target of an Item: the positions where its sentences start, and the indices of those to choose."""

    starts: list[int]
    chosen: set[int]


class Summariser(Learner):
    """The encoder over [CLS] first [SEP] [CLS] second [SEP] …, segments in turn, and one logit from the vector of each
    [CLS] (BertSum: Liu, 2019, sections 2.2 and 2.3)."""

    weights = {"sentence": 1.0}

    def __init__(self, checkpoint: Checkpoint, options: Options, max_tokens: int = 512) -> None:
        extra = {"sentence": nn.Linear(checkpoint.config.hidden_size, 1)}
        super().__init__(checkpoint, options, max_tokens, extra=extra)

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        made = cls(checkpoint, options)
        initialise(made.modules["sentence"], seed, checkpoint.hf_config.get("initializer_range", 0.02))
        return made

    def read(self, examples: Sequence[Example]) -> list[Item]:
        return self.items([example.document for example in examples], [set(example.chosen) for example in examples])

    def items(self, documents: Sequence[Sequence[str]], chosen: Sequence[set[int]]) -> list[Item]:
        """As many whole sentences as fit; the first is cut if necessary."""
        read = iter(self.reader.items([(sentence,) for document in documents for sentence in document]))
        return [
            joined([next(read) for _ in document], own, self.max_tokens)
            for document, own in zip(documents, chosen, strict=True)
        ]

    def targets(self, items: Sequence[Item]) -> Float[Tensor, "b t"]:
        """1 or 0 at the start of a sentence, -1 elsewhere."""
        targets = torch.full((len(items), max(len(item.ids) for item in items)), NOT_A_START)
        for row, item in enumerate(items):
            wanted = torch.tensor([float(i in item.target.chosen) for i in range(len(item.target.starts))])
            targets[row, item.target.starts] = wanted
        return targets

    def logits(self, batch: TextBatch) -> Float[Tensor, " s"]:
        """Of all sentences of the batch, document by document."""
        last: Tensor = encode(self.modules["encoder"], batch)
        starts = batch.targets >= 0
        if self.options.pooling == "cls":
            return self.modules["sentence"](last[starts]).float().squeeze(-1)
        logits = self.modules["sentence"](last).float().squeeze(-1)  # their mean is the logit of the mean vector
        real = torch.ones_like(starts) if batch.mask is None else batch.mask
        place = starts.flatten().cumsum(0)[real.flatten()] - 1
        total = logits.new_zeros(int(starts.sum())).index_add(0, place, logits[real])
        return total / torch.bincount(place)

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"sentence": int((batch.targets >= 0).sum())}

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        """Binary cross-entropy, one term per sentence."""
        logits, wanted = self.logits(batch), batch.targets[batch.targets >= 0]
        total = F.binary_cross_entropy_with_logits(logits, wanted, reduction="sum")
        return {"sentence": Loss(total, len(wanted), ((logits.detach() > 0) == (wanted > 0)).sum())}

    def scores(self, items: Sequence[Item]) -> list[Float[np.ndarray, " s"]]:
        """The logits of the sentences that were read, document by document."""

        def compute(part: list[Item], batch: TextBatch) -> list[np.ndarray]:
            sizes = [len(item.target.starts) for item in part]
            return [logits.double().numpy() for logits in self.logits(batch).cpu().split(sizes)]

        return self.in_batches(items, compute)

    def choose(self, document: Sequence[str], logits: Sequence[float]) -> list[int]:
        return choose(document, logits, self.options.sentences, blocking=self.options.blocking)

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """ROUGE against the summaries, compared with the first sentences and with the best ones. A sentence that did
        not fit is never chosen and not in the loss."""
        items, rouge = self.read(examples), Rouge()
        rows: list[dict[str, Any]] = []
        compared: dict[str, list[dict[str, float]]] = {"this": [], "lead": [], "oracle": []}
        losses: list[np.ndarray] = []
        for example, item, logits in zip(examples, items, self.scores(items), strict=True):
            picked, wanted = self.choose(example.document, logits.tolist()), set(example.chosen)
            ways = {"this": picked, "lead": range(self.options.sentences), "oracle": example.chosen}
            for name, way in ways.items():
                compared[name].append(
                    rouge.score([s for i, s in enumerate(example.document) if i in way], example.summary)
                )
            gold = np.array([i in wanted for i in range(len(logits))])
            losses.append(np.logaddexp(0, logits) - gold * logits)
            given = {"line": example.line, "text": " ".join(example.document), "gold": " ".join(example.summary)}
            answer = {"predicted": " ".join(example.document[i] for i in picked), "cut": item.left_out}
            scores = compared["this"][-1] | {"score": compared["this"][-1][METRIC], "loss": float(losses[-1].mean())}
            scores["precision"] = len(wanted & set(picked)) / len(picked)
            rows.append(given | answer | scores | {"chosen": picked, "best": list(example.chosen)})
        means = {name: {key: mean(own, key) for key in KINDS} for name, own in compared.items()}
        metrics = means["this"] | {"oracle_rouge_2": means["oracle"]["rouge_2"], "precision": mean(rows, "precision")}
        metrics["loss"] = float(np.concatenate(losses).mean())
        names = {"this": "picked", "lead": f"Lead-{self.options.sentences}", "oracle": "the best sentences"}
        table = [{"summary": names[name]} | own for name, own in means.items()]
        return Evaluation(metrics, rows, {"ROUGE": table, "Places": places(rows)})

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The sentences in order, with the probability of each and whether it is chosen; null for those not read."""
        documents = [split(given.get("document", "")) for given in inputs]
        if not all(documents):
            raise ExplorerError("The document is empty. Paste a text of several sentences.")
        items = self.items(documents, [set()] * len(documents))
        return [
            self.answer(document, logits.tolist(), item.left_out)
            for document, item, logits in zip(documents, items, self.scores(items), strict=True)
        ]

    def answer(self, document: Sequence[str], logits: Sequence[float], left_out: int) -> dict[str, Any]:
        picked = self.choose(document, logits)
        shares = [float(1 / (1 + np.exp(-logit))) for logit in logits] + [None] * (len(document) - len(logits))
        listed = [
            {"sentence": sentence, "probability": share, "chosen": i in picked}
            for i, (sentence, share) in enumerate(zip(document, shares, strict=True))
        ]
        return {"sentences": listed, "summary": " ".join(document[i] for i in picked), "cut": left_out}


def joined(parts: Sequence[Item], chosen: set[int], most: int) -> Item:
    """The sentences of a document as one input."""
    ids: list[int] = []
    segments: list[int] = []
    starts: list[int] = []
    for part in parts:
        if starts and len(ids) + len(part.ids) > most:
            break
        segments += [len(starts) % 2] * len(part.ids)
        starts.append(len(ids))
        ids += part.ids
    left_out = sum(len(part.ids) for part in parts[len(starts) :]) + sum(part.left_out for part in parts)
    return Item(ids, segments, Target(starts, chosen), left_out)


def mean(rows: Sequence[Mapping[str, Any]], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def places(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How often the sentence at each place was chosen, and was one of the best."""

    def count(key: str, place: int) -> int:
        return sum(min(i, PLACES - 1) == place for row in rows for i in row[key])

    named = [*map(str, range(1, PLACES)), f"{PLACES} and later"]
    return [
        {"sentence": name, "picked": count("chosen", place), "best": count("best", place)}
        for place, name in enumerate(named)
    ]

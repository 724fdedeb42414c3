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
from bertexplorer.training.learner import Learner
from bertexplorer.training.objective import Loss
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.summary import (
    KINDS,
    TASK,
    Example,
    Options,
    Rouge,
    choose_sentences,
    document_sentences,
)
from bertexplorer.training.texts import Item, TextBatch, hidden_states

POSITIONS = 10  # rows of the table; the last one is for the tenth place and later
NOT_A_START = -1.0


class Target(NamedTuple):
    """The target of an Item: the positions where its sentences start, and the indices of those to choose."""

    starts: list[int]
    chosen: set[int]


class Summariser(Learner):
    """The encoder over [CLS] first [SEP] [CLS] second [SEP] …, segments in turn, and one logit from the vector of each
    [CLS] (BertSum: Liu, 2019, sections 2.2 and 2.3)."""

    weights = {"sentence": 1.0}
    max_tokens = 512

    def __init__(self, checkpoint: Checkpoint, options: Options) -> None:
        extra = {"sentence": nn.Linear(checkpoint.config.hidden_size, 1)}
        super().__init__(checkpoint, options, extra=extra)

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        learner = cls(checkpoint, options)
        initialise(learner.modules["sentence"], seed, checkpoint.hf_config.get("initializer_range", 0.02))
        return learner

    def read(self, examples: Sequence[Example]) -> list[Item]:
        return self.items([example.document for example in examples], [set(example.chosen) for example in examples])

    def items(self, documents: Sequence[Sequence[str]], chosen: Sequence[set[int]]) -> list[Item]:
        """As many whole sentences as fit; the first is cut if necessary."""
        sentence_items = iter(self.tokenizer.items([(sentence,) for document in documents for sentence in document]))
        return [
            join_sentences([next(sentence_items) for _ in document], targets, self.max_tokens)
            for document, targets in zip(documents, chosen, strict=True)
        ]

    def targets(self, items: Sequence[Item]) -> Float[Tensor, "b t"]:
        """1 or 0 at the start of a sentence, -1 elsewhere."""
        targets = torch.full((len(items), max(len(item.ids) for item in items)), NOT_A_START)
        for row, item in enumerate(items):
            labels = torch.tensor([float(i in item.target.chosen) for i in range(len(item.target.starts))])
            targets[row, item.target.starts] = labels
        return targets

    def logits(self, batch: TextBatch) -> Float[Tensor, " s"]:
        """The logit of each sentence of the batch, document by document."""
        last: Tensor = hidden_states(self.modules["encoder"], batch)
        starts = batch.targets >= 0
        if self.options.pooling == "cls":
            return self.modules["sentence"](last[starts]).float().squeeze(-1)
        logits = self.modules["sentence"](last).float().squeeze(-1)  # their mean is the logit of the mean vector
        is_token = torch.ones_like(starts) if batch.mask is None else batch.mask
        sentence_of = starts.flatten().cumsum(0)[is_token.flatten()] - 1
        total = logits.new_zeros(int(starts.sum())).index_add(0, sentence_of, logits[is_token])
        return total / torch.bincount(sentence_of)

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"sentence": int((batch.targets >= 0).sum())}

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        """Binary cross-entropy, one term per sentence."""
        logits, targets = self.logits(batch), batch.targets[batch.targets >= 0]
        total = F.binary_cross_entropy_with_logits(logits, targets, reduction="sum")
        return {"sentence": Loss(total, len(targets), ((logits.detach() > 0) == (targets > 0)).sum())}

    def scores(self, items: Sequence[Item]) -> list[Float[np.ndarray, " s"]]:
        """The logits of the sentences that were read, document by document."""

        def compute(part: list[Item], batch: TextBatch) -> list[np.ndarray]:
            sizes = [len(item.target.starts) for item in part]
            return [logits.double().numpy() for logits in self.logits(batch).cpu().split(sizes)]

        return self.in_batches(items, compute)

    def choose(self, document: Sequence[str], logits: Sequence[float]) -> list[int]:
        return choose_sentences(document, logits, self.options.sentences, blocking=self.options.blocking)

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """ROUGE against the summaries, compared with the first sentences and with the best ones. A sentence that did
        not fit is never chosen and not in the loss."""
        items, rouge = self.read(examples), Rouge()
        rows: list[dict[str, Any]] = []
        rouge_scores: dict[str, list[dict[str, float]]] = {"this": [], "lead": [], "oracle": []}
        losses: list[np.ndarray] = []
        for example, item, logits in zip(examples, items, self.scores(items), strict=True):
            # 1. The sentences that this, Lead and the best choice pick, and their ROUGE
            document, best = example.document, set(example.chosen)
            picked = self.choose(document, logits.tolist())
            selections = {"this": picked, "lead": range(self.options.sentences), "oracle": example.chosen}
            for name, chosen in selections.items():
                sentences = [sentence for i, sentence in enumerate(document) if i in chosen]
                rouge_scores[name].append(rouge.score(sentences, example.summary))

            # 2. The row of this document
            is_best = np.array([i in best for i in range(len(logits))])
            losses.append(np.logaddexp(0, logits) - is_best * logits)
            own = rouge_scores["this"][-1]
            row: dict[str, Any] = {"line": example.line, "text": " ".join(document)}
            row |= {"gold": " ".join(example.summary), "predicted": " ".join(document[i] for i in picked)}
            row |= {"cut": item.left_out, **own, "score": own[TASK.metric], "loss": float(losses[-1].mean())}
            row |= {"precision": len(best & set(picked)) / len(picked), "chosen": picked, "best": list(example.chosen)}
            rows.append(row)

        # 3. All documents together
        means = {name: {key: mean(scores, key) for key in KINDS} for name, scores in rouge_scores.items()}
        metrics = means["this"] | {"oracle_rouge_2": means["oracle"]["rouge_2"], "precision": mean(rows, "precision")}
        metrics["loss"] = float(np.concatenate(losses).mean())
        names = {"this": "picked", "lead": f"Lead-{self.options.sentences}", "oracle": "the best sentences"}
        table = [{"summary": names[name]} | scores for name, scores in means.items()]
        return Evaluation(metrics, rows, {"ROUGE": table, "Places": position_table(rows)})

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The sentences in order, with the probability of each and whether it is chosen; null for those not read."""
        documents = [document_sentences(cells.get("document", "")) for cells in inputs]
        if not all(documents):
            raise ExplorerError("The document is empty. Paste a text of several sentences.")
        items = self.items(documents, [set()] * len(documents))
        return [
            self.summarise(document, logits.tolist(), item.left_out)
            for document, item, logits in zip(documents, items, self.scores(items), strict=True)
        ]

    def summarise(self, document: Sequence[str], logits: Sequence[float], left_out: int) -> dict[str, Any]:
        picked = self.choose(document, logits)
        probabilities = [float(1 / (1 + np.exp(-logit))) for logit in logits] + [None] * (len(document) - len(logits))
        sentences = [
            {"sentence": sentence, "probability": probability, "chosen": i in picked}
            for i, (sentence, probability) in enumerate(zip(document, probabilities, strict=True))
        ]
        return {"sentences": sentences, "summary": " ".join(document[i] for i in picked), "cut": left_out}


def join_sentences(parts: Sequence[Item], chosen: set[int], max_tokens: int) -> Item:
    """The sentences of a document as one input."""
    ids: list[int] = []
    segments: list[int] = []
    starts: list[int] = []
    for part in parts:
        if starts and len(ids) + len(part.ids) > max_tokens:
            break
        segments += [len(starts) % 2] * len(part.ids)
        starts.append(len(ids))
        ids += part.ids
    left_out = sum(len(part.ids) for part in parts[len(starts) :]) + sum(part.left_out for part in parts)
    return Item(ids, segments, Target(starts, chosen), left_out)


def mean(rows: Sequence[Mapping[str, Any]], key: str) -> float:
    return float(np.mean([row[key] for row in rows]))


def position_table(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """How often the sentence at each place was chosen, and was one of the best."""

    def count(key: str, position: int) -> int:
        return sum(min(i, POSITIONS - 1) == position for row in rows for i in row[key])

    names = [*map(str, range(1, POSITIONS)), f"{POSITIONS} and later"]
    return [
        {"sentence": name, "picked": count("chosen", position), "best": count("best", position)}
        for position, name in enumerate(names)
    ]

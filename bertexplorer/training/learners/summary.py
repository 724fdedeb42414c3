"""Extractive summary: the encoder over all sentences at once, with a logit for each."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self, TypedDict

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
from bertexplorer.training.task import EvaluatedRow, Evaluation
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


class EvaluatedDocument(EvaluatedRow):
    """*gold*, *predicted*: summaries; *score*: the headline metric."""

    rouge_1: float
    rouge_2: float
    rouge_l: float
    precision: float  # the share of the picked sentences that are among the best
    chosen: list[int]  # indices of the picked sentences
    best: list[int]  # and of the best ones


class ScoredSentence(TypedDict):
    sentence: str
    probability: float | None  # None: it was not read
    chosen: bool


class SummarisedDocument(TypedDict):
    """The answer to a document."""

    sentences: list[ScoredSentence]  # all, in order
    summary: str
    cut: int  # tokens beyond the limit


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
        """The sentences of each of *documents* as one input: as many whole ones as fit; the first is cut if necessary.
        *chosen*: for each, the indices of those to choose."""
        sentence_items = iter(self.tokenizer.items([(sentence,) for document in documents for sentence in document]))
        items = []
        for document, own_chosen in zip(documents, chosen, strict=True):
            parts = [next(sentence_items) for _ in document]
            items.append(join_sentences(parts, own_chosen, self.max_tokens))
        return items

    def targets(self, items: Sequence[Item]) -> Float[Tensor, "b t"]:
        """1 or 0 at the start of a sentence, -1 elsewhere."""
        targets = torch.full((len(items), max(len(item.ids) for item in items)), NOT_A_START)
        for row, item in enumerate(items):
            target = item.target
            targets[row, target.starts] = torch.tensor([float(i in target.chosen) for i in range(len(target.starts))])
        return targets

    def logits(self, batch: TextBatch) -> Float[Tensor, " s"]:
        """The logit of each sentence of the batch, document by document."""
        last: Tensor = hidden_states(self.modules["encoder"], batch)
        starts = batch.targets >= 0
        if self.options.pooling == "cls":
            return self.modules["sentence"](last[starts]).float().squeeze(-1)
        # The mean of the logits of a sentence's tokens is the logit of their mean vector
        logits = self.modules["sentence"](last).float().squeeze(-1)
        is_token = torch.ones_like(starts) if batch.mask is None else batch.mask
        sentence_of = starts.flatten().cumsum(0)[is_token.flatten()] - 1  # token -> index of its sentence
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
        """The indices of the sentences of a summary, in order. *logits*: of the sentences that were read."""
        return choose_sentences(document, logits, self.options.sentences, blocking=self.options.blocking)

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """ROUGE against the summaries, compared with the first sentences and with the best ones. A sentence that did
        not fit is never chosen and not in the loss."""
        items = self.read(examples)
        rouge = Rouge()
        rows: list[EvaluatedDocument] = []
        lead_scores: list[dict[str, float]] = []  # ROUGE of the first sentences of each document
        oracle_scores: list[dict[str, float]] = []  # and of the best ones
        losses: list[np.ndarray] = []
        for example, item, logits in zip(examples, items, self.scores(items), strict=True):
            # 1. The sentences that this, Lead and the best choice pick, and their ROUGE
            document = example.document
            picked = self.choose(document, logits.tolist())
            own = rouge.score([document[i] for i in picked], example.summary)
            lead_scores.append(rouge.score(document[: self.options.sentences], example.summary))
            oracle_scores.append(rouge.score([document[i] for i in example.chosen], example.summary))

            # 2. The row of this document
            best = set(example.chosen)
            is_best = np.array([i in best for i in range(len(logits))])
            losses.append(np.logaddexp(0, logits) - is_best * logits)
            rows.append(
                {
                    "line": example.line,
                    "text": " ".join(document),
                    "gold": " ".join(example.summary),
                    "predicted": " ".join(document[i] for i in picked),
                    "cut": item.left_out,
                    "rouge_1": own["rouge_1"],
                    "rouge_2": own["rouge_2"],
                    "rouge_l": own["rouge_l"],
                    "score": own[TASK.metric],
                    "loss": float(losses[-1].mean()),
                    "precision": len(best & set(picked)) / len(picked),
                    "chosen": picked,
                    "best": list(example.chosen),
                }
            )

        # 3. All documents together
        own_means = mean_rouge(rows)
        oracle_means = mean_rouge(oracle_scores)
        metrics = own_means | {
            "oracle_rouge_2": oracle_means["rouge_2"],
            "precision": float(np.mean([row["precision"] for row in rows])),
            "loss": float(np.concatenate(losses).mean()),
        }
        table = [
            {"summary": "picked", **own_means},
            {"summary": f"Lead-{self.options.sentences}", **mean_rouge(lead_scores)},
            {"summary": "the best sentences", **oracle_means},
        ]
        return Evaluation(metrics, rows, {"ROUGE": table, "Places": position_table(rows)})

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[SummarisedDocument]:
        documents = [document_sentences(cells.get("document", "")) for cells in inputs]
        if not all(documents):
            raise ExplorerError("The document is empty. Paste a text of several sentences.")
        items = self.items(documents, [set()] * len(documents))
        answers = []
        for document, item, logits in zip(documents, items, self.scores(items), strict=True):
            answers.append(self.summarise(document, logits.tolist(), item.left_out))
        return answers

    def summarise(self, document: Sequence[str], logits: Sequence[float], cut: int) -> SummarisedDocument:
        """The answer to *document*. *logits*: of the sentences that were read."""
        picked = self.choose(document, logits)
        sentences: list[ScoredSentence] = []
        for i, sentence in enumerate(document):
            probability = float(1 / (1 + np.exp(-logits[i]))) if i < len(logits) else None
            sentences.append({"sentence": sentence, "probability": probability, "chosen": i in picked})
        return {"sentences": sentences, "summary": " ".join(document[i] for i in picked), "cut": cut}


def join_sentences(parts: Sequence[Item], chosen: set[int], max_tokens: int) -> Item:
    """The sentences of a document as one input of at most *max_tokens*. *chosen*: the indices of those to choose."""
    ids: list[int] = []
    segments: list[int] = []
    starts: list[int] = []
    for part in parts:
        if starts and len(ids) + len(part.ids) > max_tokens:
            break
        segments += [len(starts) % 2] * len(part.ids)
        starts.append(len(ids))
        ids += part.ids
    unread = sum(len(part.ids) for part in parts[len(starts) :])
    left_out = unread + sum(part.left_out for part in parts)
    return Item(ids, segments, target=Target(starts, chosen), left_out=left_out)


def mean_rouge(scores: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The means of the metrics in KINDS."""
    return {key: float(np.mean([row[key] for row in scores])) for key in KINDS}


def position_table(rows: Sequence[EvaluatedDocument]) -> list[dict[str, Any]]:
    """How often the sentence at each place was chosen, and was one of the best."""
    picked = Counter(min(i, POSITIONS - 1) for row in rows for i in row["chosen"])
    best = Counter(min(i, POSITIONS - 1) for row in rows for i in row["best"])
    names = [*map(str, range(1, POSITIONS)), f"{POSITIONS} and later"]
    return [{"sentence": name, "picked": picked[i], "best": best[i]} for i, name in enumerate(names)]

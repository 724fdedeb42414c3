"""Extractive question answering: two logits per token, for the start and the end of the answer, over all windows of a
passage."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.initialise import with_heads
from bertexplorer.model.text import clean
from bertexplorer.training.answers import scores
from bertexplorer.training.answers.rows import Answer, Question
from bertexplorer.training.answers.spans import Found, best, merged
from bertexplorer.training.answers.windows import NOWHERE, Cutter
from bertexplorer.training.learner import Traceable
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.question_answering import Options, texts
from bertexplorer.training.texts import Item, TextBatch, encode


class Reply(NamedTuple):
    """The best spans of a passage, best first, the score of no answer, and the loss in nats per decision."""

    spans: list[Found]
    nothing: float
    loss: float


class Reader(Traceable):
    """The encoder with two logits for each token: the answer starts here, it ends here."""

    weights = {"start": 0.5, "end": 0.5}  # their mean, as in transformers
    heads = ("span",)
    saved = ("silent",)

    def __init__(self, checkpoint: Checkpoint, options: Options, silent: bool, max_tokens: int = 384) -> None:
        """*silent*: whether it may say that there is no answer."""
        super().__init__(checkpoint, options, max_tokens)
        self.silent = silent

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Question], options: Options, *, seed: int) -> Self:
        """A reader that may say that there is no answer if some question of *train* has none."""
        silent = any(not question.answers for question in train)
        return cls(with_heads(checkpoint, ["span"], seed=seed), options, silent)

    def set_max_tokens(self, max_tokens: int) -> None:
        super().set_max_tokens(max_tokens)
        options = self.options
        self.cutter = Cutter(
            self.checkpoint.tokenizer, self.max_tokens, options.question, options.stride, options.longest
        )

    def windows(self, examples: Sequence[Question]) -> list[list[Item]]:
        """The windows of each example, with the first of its answers as target."""
        answers = [one.answers[0] if one.answers else None for one in examples]
        prepare = self.checkpoint.tokenizer.prepare
        return self.cutter.items([(prepare(one.question)[0], one.context) for one in examples], answers)

    def read(self, examples: Sequence[Question]) -> list[Item]:
        """Each window is an item, so there are more items than examples. The target of a window without the answer is
        [CLS]."""
        return [item for items in self.windows(examples) for item in items]

    def targets(self, items: Sequence[Item]) -> Int[Tensor, "b 2"]:
        """The first and the last token of the answer."""
        return torch.tensor([item.target.answer for item in items])

    def logits(self, batch: TextBatch) -> tuple[Float[Tensor, "b t"], Float[Tensor, "b t"]]:
        """(start, end), -inf at padding."""
        found: Tensor = self.modules["span"](encode(self.modules["encoder"], batch)).float()
        if batch.mask is not None:
            found = found.masked_fill(~batch.mask.unsqueeze(2), float("-inf"))
        return found[..., 0], found[..., 1]

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        start, end = self.logits(batch)
        return {"start": cross_entropy(start, batch.targets[:, 0]), "end": cross_entropy(end, batch.targets[:, 1])}

    def row_losses(self, batch: TextBatch) -> Float[Tensor, " b"]:
        """Of each window: the mean of the losses of its start and its end."""
        sides = zip(self.logits(batch), batch.targets.T, strict=True)
        return torch.stack([F.cross_entropy(side, target, reduction="none") for side, target in sides]).mean(0)

    def explained(self, cells: Mapping[str, str], answer: str) -> tuple[str, Question]:
        """*answer*: a text that occurs in the passage; its first occurrence is explained."""
        found = self.predict([cells])[0]
        said, passage = answer or found["said"], found["context"]
        start = passage.find(answer) if answer else found["answers"][0]["start"] if said else -1
        one = Question(0, found["question"], passage, (Answer(said, start),) if said else ())
        if said and (start < 0 or all(item.target.answer == NOWHERE for item in self.windows([one])[0])):
            raise ExplorerError(f"No window of the passage contains {said!r:.60}. Give an answer as it is spelt there.")
        return said or "no answer", one

    def shown(self, example: Question) -> tuple[tuple[str, ...], str]:
        return (example.question, example.context), example.answers[0].text if example.answers else "no answer"

    def replies(self, windows: Sequence[Sequence[Item]]) -> list[Reply]:
        """A reply per passage, over all of its windows."""
        readings = iter(self.in_batches([item for of_one in windows for item in of_one], self.scan))
        replies = []
        for of_one in windows:
            spans, nothing, losses = zip(*(next(readings) for _ in of_one), strict=True)
            every = [span for of_window in spans for span in of_window]
            replies.append(Reply(merged(every, self.options.n_best), min(nothing), float(np.mean(losses))))
        return replies

    def scan(self, items: list[Item], batch: TextBatch) -> Iterator[Reply]:
        """The reply of each window on its own. Spans are in characters of the passage."""
        options = self.options
        start, end = self.logits(batch)
        inside = torch.zeros(start.shape, dtype=torch.bool)  # tokens of the passage
        for row, item in enumerate(items):
            window = item.target
            inside[row, window.at : window.at + window.after - window.first] = True
        found = [t.tolist() for t in best(start, end, inside.to(start.device), options.longest, options.n_best)]
        loss = F.cross_entropy(start, batch.targets[:, 0], reduction="none")
        loss = (loss + F.cross_entropy(end, batch.targets[:, 1], reduction="none")) / 2
        nothing = start[:, 0] + end[:, 0]
        for item, sums, first, last, null, nats in zip(items, *found, nothing.tolist(), loss.tolist(), strict=True):
            passage, shift = item.target.passage, item.target.first - item.target.at
            spans = [
                Found(score, int(passage.starts[i + shift]), int(passage.ends[j + shift]))
                for score, i, j in zip(sums, first, last, strict=True)
                if score > float("-inf")
            ]
            yield Reply(spans, null, nats)

    def shares(self, reply: Reply) -> Float[np.ndarray, " n"]:
        """Softmax over the scores of the spans and, last, of no answer (0 if that is not allowed)."""
        logits = np.array([*(one.score for one in reply.spans), reply.nothing if self.silent else -np.inf])
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()

    def surplus(self, reply: Reply) -> float:
        """By how much no answer beats the best span."""
        return reply.nothing - reply.spans[0].score if reply.spans else float("inf")

    def evaluate(self, examples: Sequence[Question]) -> Evaluation:
        """By the rules of SQuAD 2.0, which equal those of 1.1 if every question has an answer."""
        windows = self.windows(examples)
        replies = self.replies(windows)
        rows, spoken, silent = [], [], []
        for one, items, reply in zip(examples, windows, replies, strict=True):
            top = reply.spans[0] if reply.spans else Found(0.0, 0, 0)
            said = one.context[top.start : top.end]
            quiet = self.silent and self.surplus(reply) > self.options.threshold
            spoken.append(scores.scored(texts(one), said))
            silent.append(scores.scored(texts(one), ""))
            exact, f1 = silent[-1] if quiet else spoken[-1]
            shares = self.shares(reply)
            row = {"line": one.line, "question": one.question, "context": one.context}
            row |= {"gold": " | ".join(dict.fromkeys(texts(one))), "predicted": "" if quiet else said}
            row |= {"right": exact == 1.0, "exact": exact, "f1": f1, "loss": reply.loss, "windows": len(items)}
            row |= {"probability": float(shares[-1 if quiet else 0]), "start": top.start, "end": top.end}
            lost = bool(one.answers) and all(item.target.answer == NOWHERE for item in items)
            rows.append(row | {"lost": lost, "cut": items[0].left_out})
        return Evaluation(self.measured(rows), rows, self.tables(rows, replies, spoken, silent))

    def measured(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """Metrics; separate ones for questions with and without an answer if there are both."""

        def mean(name: str, among: Sequence[Mapping[str, Any]]) -> float:
            return float(np.mean([row[name] for row in among]))

        found = {name: mean(name, rows) for name in ("f1", "exact")}
        answered, not_answered = [r for r in rows if r["gold"]], [r for r in rows if not r["gold"]]
        if answered and not_answered:
            found |= {f"has_answer_{name}": mean(name, answered) for name in ("f1", "exact")}
            found["no_answer"] = mean("f1", not_answered)
        found["lost"] = mean("lost", answered) if answered else 0.0
        return found | {"loss": mean("loss", rows)}

    def tables(
        self,
        rows: Sequence[Mapping[str, Any]],
        replies: Sequence[Reply],
        spoken: Sequence[tuple[float, float]],
        silent: Sequence[tuple[float, float]],
    ) -> dict[str, list[dict[str, Any]]]:
        columns = {name: [row[name] for row in rows] for name in ("question", "exact", "f1")}
        found = {"Per question word": scores.by_word(columns["question"], columns["exact"], columns["f1"])}
        if self.silent:
            surplus = np.array([self.surplus(reply) for reply in replies])
            sides = [np.array([f1 for _, f1 in side]) for side in (spoken, silent)]
            found["No-answer threshold"] = scores.thresholds(surplus, *sides)
        return found

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The best answers with their probabilities and positions in "context", in characters."""
        asked = [Question(0, given.get("question", ""), clean(given.get("context", ""))[0], ()) for given in inputs]
        for one in asked:
            self.checkpoint.tokenizer.prepare(one.context)  # raises ExplorerError if it is too long
            if not one.question.strip() or not one.context.strip():
                raise ExplorerError(f"There is no {'passage' if one.question.strip() else 'question'}. Type one.")
        windows = self.windows(asked)
        found = []
        for one, items, reply in zip(asked, windows, self.replies(windows), strict=True):
            *shares, nothing = self.shares(reply).tolist()
            answers = [
                {"text": one.context[a:b], "start": a, "end": b, "score": score, "probability": share}
                for (score, a, b), share in zip(reply.spans, shares, strict=True)
            ]
            quiet = self.silent and self.surplus(reply) > self.options.threshold
            reading = {"question": one.question, "context": one.context, "answers": answers, "windows": len(items)}
            said = "" if quiet or not answers else answers[0]["text"]
            found.append(reading | {"said": said, "no_answer": nothing if self.silent else None})
        return found

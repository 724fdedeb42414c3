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
from bertexplorer.training.answer_windows import NOWHERE, PassageSpan, WindowCutter, best_spans, merge_windows
from bertexplorer.training.learner import Traceable
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.question_answering import (
    GoldAnswer,
    Options,
    PassageQuestion,
    answer_texts,
    best_match,
    by_question_word,
    thresholds,
)
from bertexplorer.training.texts import Item, TextBatch, hidden_states


class PassageAnswer(NamedTuple):
    """The best spans of a passage, best first, the score of no answer, and the loss in nats per decision."""

    spans: list[PassageSpan]
    no_answer: float
    loss: float


class QuestionAnswerer(Traceable):
    """The encoder with two logits for each token: the answer starts here, it ends here."""

    weights = {"start": 0.5, "end": 0.5}  # their mean, as in transformers
    heads = ("span",)
    saved = ("silent",)
    max_tokens = 384

    def __init__(self, checkpoint: Checkpoint, options: Options, silent: bool) -> None:
        """*silent*: whether it may predict that there is no answer."""
        super().__init__(checkpoint, options)
        self.silent = silent

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[PassageQuestion], options: Options, *, seed: int) -> Self:
        """A question answerer. It may predict that there is no answer if some question of *train* has none."""
        silent = any(not question.answers for question in train)
        return cls(with_heads(checkpoint, ["span"], seed=seed), options, silent)

    def set_max_tokens(self, max_tokens: int) -> None:
        super().set_max_tokens(max_tokens)
        options = self.options
        self.cutter = WindowCutter(
            self.checkpoint.tokenizer, self.max_tokens, options.question, options.stride, options.longest
        )

    def windows(self, examples: Sequence[PassageQuestion]) -> list[list[Item]]:
        """The windows of each example, with the first of its answers as target."""
        answers = [question.answers[0] if question.answers else None for question in examples]
        prepare = self.checkpoint.tokenizer.prepare
        return self.cutter.items([(prepare(question.question)[0], question.context) for question in examples], answers)

    def read(self, examples: Sequence[PassageQuestion]) -> list[Item]:
        """Each window is an item, so there are more items than examples. The target of a window without the answer is
        [CLS]."""
        return [item for items in self.windows(examples) for item in items]

    def targets(self, items: Sequence[Item]) -> Int[Tensor, "b 2"]:
        """The first and the last token of the answer."""
        return torch.tensor([item.target.answer for item in items])

    def logits(self, batch: TextBatch) -> tuple[Float[Tensor, "b t"], Float[Tensor, "b t"]]:
        """(start, end), -inf at padding."""
        logits: Tensor = self.modules["span"](hidden_states(self.modules["encoder"], batch)).float()
        if batch.mask is not None:
            logits = logits.masked_fill(~batch.mask.unsqueeze(2), float("-inf"))
        return logits[..., 0], logits[..., 1]

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        start, end = self.logits(batch)
        return {"start": cross_entropy(start, batch.targets[:, 0]), "end": cross_entropy(end, batch.targets[:, 1])}

    def row_losses(self, batch: TextBatch) -> Float[Tensor, " b"]:
        """Of each window: the mean of the losses of its start and its end."""
        sides = zip(self.logits(batch), batch.targets.T, strict=True)
        return torch.stack([F.cross_entropy(side, target, reduction="none") for side, target in sides]).mean(0)

    def example_to_explain(self, cells: Mapping[str, str], answer: str) -> tuple[str, PassageQuestion]:
        """*answer*: a text that occurs in the passage; its first occurrence is explained."""
        prediction = self.predict([cells])[0]
        text, passage = answer or prediction["said"], prediction["context"]
        if answer:
            start = passage.find(answer)
        else:
            start = prediction["answers"][0]["start"] if text else -1
        question = PassageQuestion(0, prediction["question"], passage, (GoldAnswer(text, start),) if text else ())
        if text and (start < 0 or all(item.target.answer == NOWHERE for item in self.windows([question])[0])):
            raise ExplorerError(f"No window of the passage contains {text!r:.60}. Give an answer as it is spelt there.")
        return text or "no answer", question

    def describe_example(self, example: PassageQuestion) -> tuple[tuple[str, ...], str]:
        return (example.question, example.context), example.answers[0].text if example.answers else "no answer"

    def answers(self, windows: Sequence[Sequence[Item]]) -> list[PassageAnswer]:
        """The answer to each question, over all windows of its passage."""
        by_window = iter(
            self.in_batches([item for passage_windows in windows for item in passage_windows], self.window_answers)
        )
        passage_answers = []
        for passage_windows in windows:
            spans, no_answer, losses = zip(*(next(by_window) for _ in passage_windows), strict=True)
            all_spans = [span for window_spans in spans for span in window_spans]
            passage_answers.append(
                PassageAnswer(merge_windows(all_spans, self.options.n_best), min(no_answer), float(np.mean(losses)))
            )
        return passage_answers

    def window_answers(self, items: list[Item], batch: TextBatch) -> Iterator[PassageAnswer]:
        """The answer in each window alone. Spans are in characters of the passage."""
        options = self.options
        start, end = self.logits(batch)
        inside = torch.zeros(start.shape, dtype=torch.bool)  # tokens of the passage
        for row, item in enumerate(items):
            window = item.target
            inside[row, window.at : window.at + window.after - window.first] = True
        best = best_spans(start, end, inside.to(start.device), options.longest, options.n_best)
        scores, firsts, lasts = (of_rows.tolist() for of_rows in best)
        start_loss = F.cross_entropy(start, batch.targets[:, 0], reduction="none")
        end_loss = F.cross_entropy(end, batch.targets[:, 1], reduction="none")
        losses = ((start_loss + end_loss) / 2).tolist()
        no_answer = (start[:, 0] + end[:, 0]).tolist()
        for row, item in enumerate(items):
            passage = item.target.passage
            shift = item.target.first - item.target.at  # from a token of the window to one of the passage
            spans = []
            for score, first, last in zip(scores[row], firsts[row], lasts[row], strict=True):
                if score > float("-inf"):
                    begins, ends = passage.starts[first + shift], passage.ends[last + shift]
                    spans.append(PassageSpan(score, int(begins), int(ends)))
            yield PassageAnswer(spans, no_answer[row], losses[row])

    def probabilities(self, answer: PassageAnswer) -> Float[np.ndarray, " n"]:
        """Softmax over the scores of the spans and, last, of no answer (0 if that is not allowed)."""
        logits = np.array([*(span.score for span in answer.spans), answer.no_answer if self.silent else -np.inf])
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()

    def no_answer_margin(self, answer: PassageAnswer) -> float:
        """By how much no answer beats the best span."""
        return answer.no_answer - answer.spans[0].score if answer.spans else float("inf")

    def evaluate(self, examples: Sequence[PassageQuestion]) -> Evaluation:
        """By the rules of SQuAD 2.0, which equal those of 1.1 if every question has an answer."""
        windows = self.windows(examples)
        passage_answers = self.answers(windows)
        rows = []
        span_scores = []
        no_answer_scores = []
        for question, items, answer in zip(examples, windows, passage_answers, strict=True):
            top = answer.spans[0] if answer.spans else PassageSpan(0.0, 0, 0)
            text = question.context[top.start : top.end]
            no_answer = self.silent and self.no_answer_margin(answer) > self.options.threshold
            span_scores.append(best_match(answer_texts(question), text))
            no_answer_scores.append(best_match(answer_texts(question), ""))
            exact, f1 = no_answer_scores[-1] if no_answer else span_scores[-1]
            shares = self.probabilities(answer)
            row = {"line": question.line, "question": question.question, "context": question.context}
            row |= {"gold": " | ".join(dict.fromkeys(answer_texts(question))), "predicted": "" if no_answer else text}
            row |= {"right": exact == 1.0, "exact": exact, "f1": f1, "loss": answer.loss, "windows": len(items)}
            row |= {"probability": float(shares[-1 if no_answer else 0]), "start": top.start, "end": top.end}
            lost = bool(question.answers) and all(item.target.answer == NOWHERE for item in items)
            rows.append(row | {"lost": lost, "cut": items[0].left_out})
        return Evaluation(self.metrics(rows), rows, self.tables(rows, passage_answers, span_scores, no_answer_scores))

    def metrics(self, rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
        """Metrics; separate ones for questions with and without an answer if there are both."""

        def mean(name: str, among: Sequence[Mapping[str, Any]]) -> float:
            return float(np.mean([row[name] for row in among]))

        metrics = {name: mean(name, rows) for name in ("f1", "exact")}
        answered, not_answered = [r for r in rows if r["gold"]], [r for r in rows if not r["gold"]]
        if answered and not_answered:
            metrics |= {f"has_answer_{name}": mean(name, answered) for name in ("f1", "exact")}
            metrics["no_answer"] = mean("f1", not_answered)
        metrics["lost"] = mean("lost", answered) if answered else 0.0
        return metrics | {"loss": mean("loss", rows)}

    def tables(
        self,
        rows: Sequence[Mapping[str, Any]],
        passage_answers: Sequence[PassageAnswer],
        span_scores: Sequence[tuple[float, float]],
        no_answer_scores: Sequence[tuple[float, float]],
    ) -> dict[str, list[dict[str, Any]]]:
        columns = {name: [row[name] for row in rows] for name in ("question", "exact", "f1")}
        tables = {"Per question word": by_question_word(columns["question"], columns["exact"], columns["f1"])}
        if self.silent:
            margins = np.array([self.no_answer_margin(answer) for answer in passage_answers])
            sides = [np.array([f1 for _, f1 in side]) for side in (span_scores, no_answer_scores)]
            tables["No-answer threshold"] = thresholds(margins, *sides)
        return tables

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The best answers with their probabilities and positions in "context", in characters."""
        questions = [
            PassageQuestion(0, cells.get("question", ""), clean(cells.get("context", ""))[0], ()) for cells in inputs
        ]
        for question in questions:
            self.checkpoint.tokenizer.prepare(question.context)  # raises ExplorerError if it is too long
            if not question.question.strip() or not question.context.strip():
                raise ExplorerError(f"There is no {'passage' if question.question.strip() else 'question'}. Type one.")
        windows = self.windows(questions)
        results = []
        for question, items, passage_answer in zip(questions, windows, self.answers(windows), strict=True):
            *shares, no_answer_share = self.probabilities(passage_answer).tolist()
            answers = [
                {"text": question.context[a:b], "start": a, "end": b, "score": score, "probability": share}
                for (score, a, b), share in zip(passage_answer.spans, shares, strict=True)
            ]
            no_answer = self.silent and self.no_answer_margin(passage_answer) > self.options.threshold
            result = {
                "question": question.question,
                "context": question.context,
                "answers": answers,
                "windows": len(items),
            }
            text = "" if no_answer or not answers else answers[0]["text"]
            results.append(result | {"said": text, "no_answer": no_answer_share if self.silent else None})
        return results

"""Extractive question answering: two logits per token, for the start and the end of the answer, over all windows of a
passage."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypedDict

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
from bertexplorer.training.learner import ExampleInWords, ExplainedAnswer, Traceable
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import EvaluatedRow, Evaluation
from bertexplorer.training.tasks.question_answering import (
    GoldAnswer,
    Match,
    Options,
    PassageQuestion,
    answer_texts,
    best_match,
    by_question_word,
    thresholds,
)
from bertexplorer.training.texts import Item, TextBatch, hidden_states

NO_ANSWER = "no answer"


class PassageAnswer(NamedTuple):
    """The answer to a question in a window or in a whole passage."""

    spans: list[PassageSpan]  # the best, best first
    no_answer: float  # the score of no answer
    loss: float  # nats per decision

    @property
    def margin(self) -> float:
        """By how much no answer beats the best span."""
        return self.no_answer - self.spans[0].score if self.spans else float("inf")


class BothAnswers(NamedTuple):
    """How well the best span answers a question, and how well no answer does. *margin*: see PassageAnswer."""

    span: Match
    no_answer: Match
    margin: float


class EvaluatedQuestion(EvaluatedRow):
    """*gold*: the different answers, with | between them, "" if there is none; *predicted*: "" for no answer; *cut*:
    tokens of the question."""

    exact: float  # 1 if an answer matches, else 0
    windows: int  # in which the passage was read
    probability: float  # of the predicted answer
    start: int  # of the best span, in characters of the passage
    end: int
    lost: bool  # whether there is an answer, but in no window


class AnswerSpan(TypedDict):
    """A span of a passage, in characters."""

    text: str
    start: int
    end: int
    score: float  # the sum of two logits
    probability: float


class AnsweredQuestion(TypedDict):
    """The answer to a question about a passage."""

    question: str
    context: str
    answers: list[AnswerSpan]  # the best first
    windows: int  # in which the passage was read
    said: str  # the answer; "" for none
    no_answer: float | None  # its probability; None if the learner always answers


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
        """Windows are as long as that. Sets `cutter`, which cuts them."""
        super().set_max_tokens(max_tokens)
        self.cutter = WindowCutter(
            tokenizer=self.checkpoint.tokenizer,
            max_tokens=self.max_tokens,
            question=self.options.question,
            stride=self.options.stride,
            longest=self.options.longest,
        )

    def windows(self, examples: Sequence[PassageQuestion]) -> list[list[Item]]:
        """The windows of each example, with the first of its answers as target."""
        pairs = []
        answers = []
        for example in examples:
            question, _ = self.checkpoint.tokenizer.prepare(example.question)
            pairs.append((question, example.context))
            answers.append(example.answers[0] if example.answers else None)
        return self.cutter.items(pairs, answers)

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
        start, end = self.logits(batch)
        start_loss = F.cross_entropy(start, batch.targets[:, 0], reduction="none")
        end_loss = F.cross_entropy(end, batch.targets[:, 1], reduction="none")
        return torch.stack([start_loss, end_loss]).mean(0)

    def example_to_explain(self, cells: Mapping[str, str], answer: str) -> ExplainedAnswer:
        """*answer*: a text that occurs in the passage; its first occurrence is explained."""
        prediction = self.predict([cells])[0]
        question, passage = prediction["question"], prediction["context"]
        text = answer or prediction["said"]
        if not text:
            return ExplainedAnswer(NO_ANSWER, PassageQuestion(0, question, passage, ()))
        start = passage.find(text) if answer else prediction["answers"][0]["start"]
        example = PassageQuestion(0, question, passage, (GoldAnswer(text, start),))
        if start < 0 or is_lost(self.windows([example])[0]):
            raise ExplorerError(f"No window of the passage contains {text!r:.60}. Give an answer as it is spelt there.")
        return ExplainedAnswer(text, example)

    def describe_example(self, example: PassageQuestion) -> ExampleInWords:
        answer = example.answers[0].text if example.answers else NO_ANSWER
        return ExampleInWords((example.question, example.context), answer)

    def answers(self, windows: Sequence[Sequence[Item]]) -> list[PassageAnswer]:
        """The answer to each question, over all *windows* of its passage."""
        all_windows = [item for passage_windows in windows for item in passage_windows]
        by_window = iter(self.in_batches(all_windows, self.window_answers))
        answers = []
        for passage_windows in windows:
            parts = [next(by_window) for _ in passage_windows]
            answer = PassageAnswer(
                spans=merge_windows([span for part in parts for span in part.spans], self.options.n_best),
                no_answer=min(part.no_answer for part in parts),
                loss=float(np.mean([part.loss for part in parts])),
            )
            answers.append(answer)
        return answers

    def window_answers(self, items: list[Item], batch: TextBatch) -> Iterator[PassageAnswer]:
        """The answer in each window alone. Spans are in characters of the passage."""
        # 1. For all windows of the batch at once
        start, end = self.logits(batch)
        inside = torch.zeros(start.shape, dtype=torch.bool)  # tokens of the passage
        for row, item in enumerate(items):
            window = item.target
            inside[row, window.at : window.at + window.after - window.first] = True
        best = best_spans(start, end, inside.to(start.device), self.options.longest, self.options.n_best)
        scores = best.scores.tolist()
        firsts = best.first.tolist()
        lasts = best.last.tolist()
        start_loss = F.cross_entropy(start, batch.targets[:, 0], reduction="none")
        end_loss = F.cross_entropy(end, batch.targets[:, 1], reduction="none")
        losses = ((start_loss + end_loss) / 2).tolist()
        no_answer = (start[:, 0] + end[:, 0]).tolist()

        # 2. Window by window
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
        no_answer = answer.no_answer if self.silent else -np.inf
        logits = np.array([*(span.score for span in answer.spans), no_answer])
        weights = np.exp(logits - logits.max())
        return weights / weights.sum()

    def is_silent(self, answer: PassageAnswer) -> bool:
        """Whether the answer is that there is none."""
        return self.silent and answer.margin > self.options.threshold

    def evaluate(self, examples: Sequence[PassageQuestion]) -> Evaluation:
        """By the rules of SQuAD 2.0, which equal those of 1.1 if every question has an answer."""
        windows = self.windows(examples)
        rows: list[EvaluatedQuestion] = []
        both: list[BothAnswers] = []
        for question, items, answer in zip(examples, windows, self.answers(windows), strict=True):
            # 1. The best span, and whether it is the answer
            top = answer.spans[0] if answer.spans else PassageSpan(0.0, 0, 0)
            text = question.context[top.start : top.end]
            probabilities = self.probabilities(answer)
            gold = answer_texts(question)
            scores = BothAnswers(best_match(gold, text), best_match(gold, ""), answer.margin)
            both.append(scores)
            silent = self.is_silent(answer)
            match = scores.no_answer if silent else scores.span

            # 2. The row of this question
            rows.append(
                {
                    "line": question.line,
                    "question": question.question,
                    "context": question.context,
                    "gold": " | ".join(dict.fromkeys(gold)),
                    "predicted": "" if silent else text,
                    "right": match.exact == 1.0,
                    "exact": match.exact,
                    "f1": match.f1,
                    "loss": answer.loss,
                    "windows": len(items),
                    "probability": float(probabilities[-1 if silent else 0]),
                    "start": top.start,
                    "end": top.end,
                    "lost": bool(question.answers) and is_lost(items),
                    "cut": items[0].left_out,
                }
            )
        return Evaluation(metrics_of(rows), rows, self.tables(rows, both))

    def tables(self, rows: Sequence[EvaluatedQuestion], both: Sequence[BothAnswers]) -> dict[str, list[dict[str, Any]]]:
        """Scores by question word; and by threshold, if it may predict that there is no answer."""
        questions = [row["question"] for row in rows]
        by_word = by_question_word(questions, [row["exact"] for row in rows], [row["f1"] for row in rows])
        tables: dict[str, list[dict[str, Any]]] = {"Per question word": by_word}
        if self.silent:
            tables["No-answer threshold"] = thresholds(
                np.array([scores.margin for scores in both]),
                span_f1=np.array([scores.span.f1 for scores in both]),
                no_answer_f1=np.array([scores.no_answer.f1 for scores in both]),
            )
        return tables

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[AnsweredQuestion]:
        questions = []
        for cells in inputs:
            question = cells.get("question", "")
            context, _ = clean(cells.get("context", ""))
            self.checkpoint.tokenizer.prepare(context)  # raises ExplorerError if it is too long
            if not question.strip():
                raise ExplorerError("There is no question. Type one.")
            if not context.strip():
                raise ExplorerError("There is no passage. Type one.")
            questions.append(PassageQuestion(0, question, context, ()))
        windows = self.windows(questions)
        results: list[AnsweredQuestion] = []
        for example, items, answer in zip(questions, windows, self.answers(windows), strict=True):
            *probabilities, no_answer = self.probabilities(answer).tolist()
            spans: list[AnswerSpan] = []
            for (score, start, end), probability in zip(answer.spans, probabilities, strict=True):
                text = example.context[start:end]
                spans.append({"text": text, "start": start, "end": end, "score": score, "probability": probability})
            says = spans and not self.is_silent(answer)
            results.append(
                {
                    "question": example.question,
                    "context": example.context,
                    "answers": spans,
                    "windows": len(items),
                    "said": spans[0]["text"] if says else "",
                    "no_answer": no_answer if self.silent else None,
                }
            )
        return results


def is_lost(windows: Sequence[Item]) -> bool:
    """Whether none of the *windows* of a passage contains the answer."""
    return all(window.target.answer == NOWHERE for window in windows)


def metrics_of(rows: Sequence[EvaluatedQuestion]) -> dict[str, float]:
    """Means of *rows*; separate ones for questions with and without an answer if there are both."""
    answered = [row for row in rows if row["gold"]]
    others = [row for row in rows if not row["gold"]]
    metrics = {"f1": mean([row["f1"] for row in rows]), "exact": mean([row["exact"] for row in rows])}
    if answered and others:
        metrics["has_answer_f1"] = mean([row["f1"] for row in answered])
        metrics["has_answer_exact"] = mean([row["exact"] for row in answered])
        metrics["no_answer"] = mean([row["f1"] for row in others])
    metrics["lost"] = mean([row["lost"] for row in answered]) if answered else 0.0
    metrics["loss"] = mean([row["loss"] for row in rows])
    return metrics


def mean(values: Sequence[float]) -> float:
    return float(np.mean(values))

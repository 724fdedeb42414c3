"""Where the answer to a question starts and ends in a passage."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers import task_head
from bertexplorer.answers.head_answer import AnswerSpan, CheckpointAnswer, Row, row
from bertexplorer.answers.head_readout import Logits, TunedReadout
from bertexplorer.answers.question import ClassRows, Question, log_softmax, match_name
from bertexplorer.answers.task_head import LONGEST, NOWHERE
from bertexplorer.charts.marks import Bar, Bars, Columns, Panel, Tone
from bertexplorer.charts.style import clip, decimal, percent, quote
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text

if TYPE_CHECKING:
    from bertexplorer.engine.gradients import Target
    from bertexplorer.model.checkpoint import Checkpoint

NO_ANSWER = "no answer"


# The answer


@dataclass(frozen=True, kw_only=True)
class SpanAnswer(CheckpointAnswer):
    """The spans of the passage, and that it has no answer."""

    kind = "span"
    noun = "span"

    spans: tuple[AnswerSpan, ...] = ()
    nothing: AnswerSpan = AnswerSpan(NO_ANSWER, NOWHERE, NOWHERE, 0.0, 0.0)
    starts: Float[np.ndarray, " t"] = field(default_factory=lambda: np.zeros(0))  # probability of each token
    ends: Float[np.ndarray, " t"] = field(default_factory=lambda: np.zeros(0))
    inside: tuple[int, ...] = ()  # tokens of the passage
    no_answer: bool = False  # whether the answer is that there is none
    span_limit: int = LONGEST  # tokens of a span

    @property
    def best(self) -> AnswerSpan:
        """The span that is the answer, or that there is none."""
        return self.nothing if self.no_answer else self.spans[0]

    @property
    def chosen(self) -> tuple[str, ...]:
        return (self.best.text,)

    @property
    def ranked(self) -> tuple[str, ...]:
        return (self.best.text, *(span.text for span in self.spans[1:]))

    def rows(self) -> list[Row]:
        """A row for each span, for no answer, and for each token of the passage as a start and as an end."""
        table = []
        for rank, span in enumerate((*self.spans, self.nothing), 1):
            kind = NO_ANSWER if span is self.nothing else self.kind
            table.append(row(kind, "", "", span.text, rank, span.probability, span.logit, span is self.best))
        for kind, values in (("start", self.starts), ("end", self.ends)):
            for i in self.inside:
                table.append(row(kind, i, self.tokens[i], kind, "", float(values[i])))
        return table

    def panels(self) -> list[Panel]:
        """The best spans and “no answer”; below, the probability that each token is the start or the end."""
        bars = []
        for span in (*self.spans, self.nothing):
            tone: Tone = "grey" if span is self.nothing else "pale"
            if span is self.best:
                tone = "blue"
            number = percent(span.probability)
            hover = f"{span.text}: {number}, logits add up to {decimal(span.logit)}"
            bars.append(Bar(span.text, span.probability, number, tone, hover))
        columns = []
        for i in self.inside:
            start, end = float(self.starts[i]), float(self.ends[i])
            hover = f"{self.tokens[i]}: starts here {percent(start)}, ends here {percent(end)}"
            columns.append(Bar(self.tokens[i], start, hover=hover, down=end))
        return [
            Panel([Bars(bars, above=True)], "the best spans: p(start) times p(end)"),
            Panel([Columns(columns, tokens=True)], "up: the answer starts here; down: it ends"),
        ]

    def shades(self) -> dict[int, float]:
        """The probability that the answer covers a token: that it started here or before, times that it did not end
        before."""
        covered = np.cumsum(self.starts) * np.cumsum(self.ends[::-1])[::-1]
        return {i: min(1.0, float(covered[i])) for i in self.inside}

    def sentence(self) -> str:
        span = self.spans[0]
        places = f"token {span.first}" if span.first == span.last else f"tokens {span.first} to {span.last}"
        named = f"{quote(clip(span.text, 80))} ({places})"
        start, end = percent(float(self.starts[span.first])), percent(float(self.ends[span.last]))
        sure = f"starts there with {start} and ends there with {end}"
        none = f"“no answer” has {percent(self.nothing.probability)}"
        if self.no_answer:
            return f"The passage has no answer ({none}); the best span is {named}, which {sure}."
        return f"The answer is {named}: it {sure}; {none}."

    def reading(self) -> list[str]:
        sentences = []
        run, read = self.training, self.longest
        if 0 < run.max_tokens < read:
            sentences.append(f"The run reads windows of {run.max_tokens} tokens; here one of {read} is read.")
        if run.allows_no_answer and run.threshold:
            sentences.append(
                "The run says “no answer” if the logits of that exceed those of the best span by over "
                f"{decimal(run.threshold)}."
            )
        if run.task and run.longest != self.span_limit:
            sentences.append(
                f"Spans have at most {self.span_limit} tokens here (Longest span) and {run.longest} in the run."
            )
        return sentences


# How it is read


class SpanReadout(TunedReadout):
    """Where the answer to a question starts or ends in a passage, among all tokens."""

    answer_type = SpanAnswer
    order = 20
    targets = ("span start", "span end")
    head = "span"
    of_tokens = True
    read_at = ""
    outcome = "where the answer starts"

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        return cls.head in checkpoint.heads

    @property
    def side(self) -> int:
        """The column of the head's logits: 0 for the start, 1 for the end."""
        return self.targets.index(self.target)

    def encode(self, text: Text | str) -> Encoding:
        encoding = self.checkpoint.tokenizer.encode(text)
        if not task_head.passage(encoding).any():
            raise ExplorerError(
                "There is no passage in which to look for the answer. The text is the question; type the passage as "
                "the second sentence.",
                code="pair",
            )
        return encoding

    def question(self, text: Text | str, answer: str = "", tagged_word: str = "") -> Question:
        """*answer*: the word of the passage where the span starts or ends."""
        encoding = self.encode(text)
        inside = task_head.passage(encoding)
        if answer.strip():
            words = [word for word in task_head.words(encoding) if inside[word.positions[0]]]
            word = words[match_name([word.text for word in words], answer, "word of the passage")]
            index = word.positions[-self.side]
            return Question(self, encoding, index, index)
        logits = engine.head_logits(self.checkpoint, [encoding], self.head)[0].double().numpy()
        training = task_head.own_training_of(self.checkpoint)
        first, last = task_head.best_spans(logits[:, 0], logits[:, 1], inside, training.longest, 1)[0]
        index = (first, last)[self.side]
        rejected = training.rejects(float(logits[NOWHERE].sum()), float(logits[first, 0] + logits[last, 1]))
        return Question(self, encoding, index, index, rejected=rejected)

    def names(self, encoding: Encoding) -> Sequence[str]:
        return self.checkpoint.tokenizer.show_all(encoding.ids)

    def find(self, typed: str, encoding: Encoding, position: int) -> int:
        return match_name(self.names(encoding), typed, "token")

    def describe(self, question: Question) -> str:
        words = (word.text for word in task_head.words(question.encoding) if question.index in word.positions)
        return f"{self.target.removeprefix('span ')}s at {next(words, question.name(question.index))}"

    def subject(self, question: Question) -> str:
        return f"{('Start', 'End')[self.side]} of the answer, among all tokens: "

    def caveats(self, question: Question) -> tuple[str, ...]:
        sentences = super().caveats(question)
        if question.rejected:
            sentences += ("The answer is that the passage has none; this is about the best span.",)
        return sentences

    def classes(self, logits: Logits, position: int) -> ClassRows:
        return log_softmax(logits[..., self.side])

    def gradient_target(self, encoding: Encoding, position: int, index: int) -> Target:
        from bertexplorer.engine import gradients

        return gradients.span_target(self.checkpoint, encoding, self.side, index)

    def answer(self, text: Text, top: int, longest: int, others: str) -> SpanAnswer:
        encoding = self.encode(text)
        logits = engine.head_logits(self.checkpoint, [encoding], self.head)[0].double().numpy()
        log_probs = log_softmax(logits, axis=0)
        inside = task_head.passage(encoding)

        def extract(first: int, last: int, words: str) -> AnswerSpan:
            logit = float(logits[first, 0] + logits[last, 1])
            return AnswerSpan(words, first, last, logit, float(np.exp(log_probs[first, 0] + log_probs[last, 1])))

        best = task_head.best_spans(logits[:, 0], logits[:, 1], inside, longest, top)
        spans = tuple(extract(first, last, span_text(encoding, first, last)) for first, last in best)
        nothing = extract(NOWHERE, NOWHERE, NO_ANSWER)
        return SpanAnswer(
            tokens=self.checkpoint.tokenizer.show_all(encoding.ids),
            training=self.training,
            longest=len(encoding),
            left_out=encoding.left_out,
            spans=spans,
            nothing=nothing,
            starts=np.exp(log_probs[:, 0]),
            ends=np.exp(log_probs[:, 1]),
            inside=tuple(np.flatnonzero(inside).tolist()),
            no_answer=self.training.rejects(nothing.logit, spans[0].logit),
            span_limit=longest,
        )


def span_text(encoding: Encoding, first: int, last: int) -> str:
    """The characters of the passage from token *first* to token *last*."""
    start, end = encoding.spans[first], encoding.spans[last]
    return encoding.texts[1][start.start : end.end] if start and end else ""

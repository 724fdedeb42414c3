"""Next word: the encoder as a left-to-right language model, which also continues a text."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Self, TypedDict

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import CAUSAL
from bertexplorer.training.generate import NextTokenPredictor, continue_text
from bertexplorer.training.language import (
    AT_ONCE,
    LikelyToken,
    Predictions,
    likeliest_tokens,
    perplexity,
    predictions,
    split_into_items,
    unigram_nats,
)
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import EvaluatedRow, Evaluation
from bertexplorer.training.tasks.adaptation import Example
from bertexplorer.training.tasks.next_word import Options
from bertexplorer.training.texts import Item, TextBatch, forward


class EvaluatedText(EvaluatedRow):
    perplexity: float  # exp(loss)


class ContinuedText(TypedDict):
    """The answer to the beginning of a text."""

    text: str  # with its continuation
    continuation: str
    tokens: list[LikelyToken]  # of the continuation, each with the probability with which it was drawn
    first: list[LikelyToken]  # the likeliest first tokens
    ended: bool  # before the maximum length
    cut: int  # tokens dropped from the beginning of the text


class NextTokens(NamedTuple):
    """The m tokens of a batch that are predicted, from the tokens before them."""

    vectors: Float[Tensor, "m d"]  # of the token before
    ids: Int[Tensor, " m"]
    where: Bool[Tensor, "b s"]  # whether position i + 1 holds such a token; s = t - 1


class CausalLanguageLearner(Learner):
    """The encoder as a language model: it predicts token i + 1 from tokens 0 to i."""

    weights = {"next": 1.0}
    heads = ("masked_lm",)

    def __init__(self, checkpoint: Checkpoint, options: Options, train: Sequence[Example] = ()) -> None:
        """*train*: texts for the unigram baseline."""
        super().__init__(checkpoint, options)
        predicted = (item.ids[1:] for item in self.read(train))
        self.unigram = unigram_nats(predicted, checkpoint.config.vocab_size) if train else None

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        return cls(checkpoint, options, train)

    def parts(self, examples: Sequence[Example]) -> list[list[Item]]:
        """The items of each example: a text beyond the limit becomes several. The first token of an item is not
        predicted."""
        return split_into_items(self.tokenizer, [example.text for example in examples], end=False)

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """Nothing is cut: a long text becomes several items."""
        return [item for parts in self.parts(examples) for item in parts]

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"next": batch.tokens - len(batch.ids)}

    def next_tokens(self, batch: TextBatch) -> NextTokens:
        last = forward(self.modules["encoder"], batch.ids, batch.segments, batch.mask, CAUSAL)
        ids = batch.ids[:, 1:]
        where = torch.ones_like(ids, dtype=torch.bool) if batch.mask is None else batch.mask[:, 1:]
        return NextTokens(last[:, :-1][where], ids[where], where)

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        tokens = self.next_tokens(batch)
        return {"next": cross_entropy(self.modules["masked_lm"](tokens.vectors), tokens.ids)}

    def predictions(self, items: Sequence[Item]) -> list[Predictions]:
        """The predictions for positions 1 and up of each item."""

        def compute(_: list[Item], batch: TextBatch) -> list[Predictions]:
            tokens = self.next_tokens(batch)
            of_batch = predictions(self.modules["masked_lm"], tokens.vectors, tokens.ids)
            return of_batch.split(tokens.where.sum(1).tolist())

        return self.in_batches(items, compute, AT_ONCE)

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Means over all tokens. A row's *predicted* is the likeliest token at each position, given the true tokens
        before it."""
        parts = self.parts(examples)
        items = [item for text_items in parts for item in text_items]
        by_item = iter(self.predictions(items))
        rows: list[EvaluatedText] = []
        sizes = []  # predicted tokens of each row
        for example, text_items in zip(examples, parts, strict=True):
            prediction = Predictions.concatenate([next(by_item) for _ in text_items])
            loss = float(prediction.nats.mean())
            rows.append(
                {
                    "line": example.line,
                    "text": example.text,
                    "gold": example.text,
                    "predicted": self.checkpoint.tokenizer.join(prediction.best.tolist()),
                    "score": float(prediction.right.mean()),
                    "perplexity": perplexity(loss),
                    "loss": loss,
                    "cut": 0,
                }
            )
            sizes.append(len(prediction.nats))
        loss = float(np.average([row["loss"] for row in rows], weights=sizes))
        accuracy = float(np.average([row["score"] for row in rows], weights=sizes))
        metrics = {"perplexity": perplexity(loss), "accuracy": accuracy, "loss": loss}
        if self.unigram is not None:
            nats = np.concatenate([self.unigram[np.asarray(item.ids[1:], int)] for item in items])
            metrics["unigram_perplexity"] = perplexity(float(nats.mean()))
        return Evaluation(metrics, rows)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[ContinuedText]:
        prompts = [cells.get("text", "").strip() for cells in inputs]
        if not all(prompts):
            raise ExplorerError("The text is empty. Type the beginning of a sentence.")
        return [self.continue_prompt(prompt) for prompt in prompts]

    def continue_prompt(self, prompt: str) -> ContinuedText:
        """*prompt* with up to options.length tokens after it, for which its beginning is dropped if need be."""
        # 1. The end of the prompt that leaves room for a continuation
        options, tokenizer = self.options, self.checkpoint.tokenizer
        start, *ids = tokenizer.backend.encode(tokenizer.prepare(prompt)[0]).ids[:-1]  # without [SEP]
        limit = tokenizer.max_tokens - 1
        max_tokens = min(options.length, limit // 2)
        context = ids[-(limit - max_tokens) :]

        # 2. Its continuation
        with evaluation_mode(self):
            continuation = continue_text(
                NextTokenPredictor(self.checkpoint),
                [start, *context],
                max_tokens,
                temperature=options.temperature,
                top_k=options.top_k,
                seed=options.draw,
            )

        # 3. As text: what follows the prompt, unless its last word was changed by what follows
        text = tokenizer.join([*context, *continuation.ids])
        context_text = tokenizer.join(context)
        if text.startswith(context_text):
            continued = text.removeprefix(context_text)
        else:
            continued = tokenizer.join(continuation.ids)
        tokens: list[LikelyToken] = []
        for id, probability in zip(continuation.ids, continuation.shares, strict=True):
            tokens.append({"piece": tokenizer.show(id), "probability": probability})
        return {
            "text": text,
            "continuation": continued,
            "tokens": tokens,
            "first": likeliest_tokens(tokenizer, continuation.first),
            "ended": continuation.ended,
            "cut": len(ids) - len(context),
        }

"""Next word: the encoder as a left-to-right language model, which also continues a text."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import CAUSAL
from bertexplorer.training.generate import NextTokenPredictor, continue_text
from bertexplorer.training.language import (
    AT_ONCE,
    Predictions,
    likeliest_tokens,
    perplexity,
    predictions,
    split_into_items,
    unigram_nats,
)
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.adaptation import Example
from bertexplorer.training.tasks.next_word import Options
from bertexplorer.training.texts import Item, TextBatch, forward


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

    def vectors(self, batch: TextBatch) -> tuple[Float[Tensor, "m d"], Tensor, Bool[Tensor, "b s"]]:
        """(vectors m x d, the next token after each, b x (t - 1) whether positions 1 and up hold such a token)."""
        last = forward(self.modules["encoder"], batch.ids, batch.segments, batch.mask, CAUSAL)
        targets = batch.ids[:, 1:]
        is_target = torch.ones_like(targets, dtype=torch.bool) if batch.mask is None else batch.mask[:, 1:]
        return last[:, :-1][is_target], targets[is_target], is_target

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        vectors, targets, _ = self.vectors(batch)
        return {"next": cross_entropy(self.modules["masked_lm"](vectors), targets)}

    def predictions(self, items: Sequence[Item]) -> list[Predictions]:
        """The predictions for positions 1 and up of each item."""

        def compute(_: list[Item], batch: TextBatch) -> list[Predictions]:
            vectors, targets, is_target = self.vectors(batch)
            return predictions(self.modules["masked_lm"], vectors, targets).split(is_target.sum(1).tolist())

        return self.in_batches(items, compute, AT_ONCE)

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Means over all tokens. A row's *predicted* is the likeliest token at each position, given the true tokens
        before it."""
        parts = self.parts(examples)
        items = [item for text_items in parts for item in text_items]
        by_item = iter(self.predictions(items))
        rows, sizes = [], []
        for example, text_items in zip(examples, parts, strict=True):
            prediction = Predictions.concatenate([next(by_item) for _ in text_items])
            predicted, loss = self.checkpoint.tokenizer.join(prediction.best.tolist()), float(prediction.nats.mean())
            row = {"line": example.line, "text": example.text, "gold": example.text, "predicted": predicted}
            score = float(prediction.right.mean())
            rows.append(row | {"score": score, "perplexity": perplexity(loss), "loss": loss, "cut": 0})
            sizes.append(len(prediction.nats))
        loss, accuracy = (float(np.average([row[key] for row in rows], weights=sizes)) for key in ("loss", "score"))
        metrics = {"perplexity": perplexity(loss), "accuracy": accuracy, "loss": loss}
        if self.unigram is not None:
            nats = np.concatenate([self.unigram[np.asarray(item.ids[1:], int)] for item in items])
            metrics["unigram_perplexity"] = perplexity(float(nats.mean()))
        return Evaluation(metrics, rows)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Each text continued, with the probability of every token and the likeliest first tokens. *cut*: number of
        tokens dropped from the beginning of the text."""
        prompts = [cells.get("text", "").strip() for cells in inputs]
        if not all(prompts):
            raise ExplorerError("The text is empty. Type the beginning of a sentence.")
        return [self.continue_prompt(prompt) for prompt in prompts]

    def continue_prompt(self, prompt: str) -> dict[str, Any]:
        options, tokenizer = self.options, self.checkpoint.tokenizer
        start, *ids = tokenizer.backend.encode(tokenizer.prepare(prompt)[0]).ids[:-1]  # without [SEP]
        limit = tokenizer.max_tokens - 1
        max_tokens = min(options.length, limit // 2)
        context = ids[-(limit - max_tokens) :]
        with evaluation_mode(self):
            predictor = NextTokenPredictor(self.checkpoint)
            continuation = continue_text(
                predictor,
                [start, *context],
                max_tokens,
                temperature=options.temperature,
                top_k=options.top_k,
                seed=options.draw,
            )
        text, context_text = tokenizer.join([*context, *continuation.ids]), tokenizer.join(context)
        follows = text.startswith(context_text)
        continued = text[len(context_text) :] if follows else tokenizer.join(continuation.ids)
        return {
            "text": text,
            "continuation": continued,
            "tokens": [
                {"piece": tokenizer.show(token), "probability": share}
                for token, share in zip(continuation.ids, continuation.shares, strict=True)
            ],
            "first": likeliest_tokens(tokenizer, continuation.first),
            "ended": continuation.ended,
            "cut": len(ids) - len(context),
        }

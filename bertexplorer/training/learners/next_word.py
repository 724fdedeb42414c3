"""Next word: the encoder as a left-to-right language model, which also continues a text."""

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.training.generate import CAUSAL, Writer, continued
from bertexplorer.training.language import AT_ONCE, Predictions, likeliest, perplexity, pieces, predictions, unigram
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.adaptation import Example
from bertexplorer.training.tasks.next_word import Options
from bertexplorer.training.texts import Item, TextBatch, run


class Continuer(Learner):
    """The encoder as a language model: it predicts token i + 1 from tokens 0 to i."""

    weights = {"next": 1.0}
    heads = ("masked_lm",)

    def __init__(
        self, checkpoint: Checkpoint, options: Options, train: Sequence[Example] = (), max_tokens: int = 128
    ) -> None:
        """*train*: texts for the unigram baseline."""
        super().__init__(checkpoint, options, max_tokens)
        predicted = (item.ids[1:] for item in self.read(train))
        self.unigram = unigram(predicted, checkpoint.config.vocab_size) if train else None

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        return cls(checkpoint, options, train)

    def parts(self, examples: Sequence[Example]) -> list[list[Item]]:
        """The items of each example: a text beyond the limit becomes several. The first token of an item is not
        predicted."""
        return pieces(self.reader, [example.text for example in examples], end=False)

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """Nothing is cut: a long text becomes several items."""
        return [item for parts in self.parts(examples) for item in parts]

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"next": batch.tokens - len(batch.ids)}

    def vectors(self, batch: TextBatch) -> tuple[Float[Tensor, "m d"], Tensor, Bool[Tensor, "b s"]]:
        """(vectors m x d, the next token after each, b x (t - 1) whether positions 1 and up hold such a token)."""
        last = run(self.modules["encoder"], batch.ids, batch.segments, batch.mask, CAUSAL)
        targets = batch.ids[:, 1:]
        real = torch.ones_like(targets, dtype=torch.bool) if batch.mask is None else batch.mask[:, 1:]
        return last[:, :-1][real], targets[real], real

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        vectors, targets, _ = self.vectors(batch)
        return {"next": cross_entropy(self.modules["masked_lm"](vectors), targets)}

    def predictions(self, items: Sequence[Item]) -> list[Predictions]:
        """The predictions for positions 1 and up of each item."""

        def compute(_: list[Item], batch: TextBatch) -> list[Predictions]:
            vectors, targets, real = self.vectors(batch)
            return predictions(self.modules["masked_lm"], vectors, targets).split(real.sum(1).tolist())

        return self.in_batches(items, compute, AT_ONCE)

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Means over all tokens. A row's *predicted* is the likeliest token at each position, given the true tokens
        before it."""
        parts = self.parts(examples)
        items = [item for those in parts for item in those]
        every = iter(self.predictions(items))
        rows, sizes = [], []
        for example, those in zip(examples, parts, strict=True):
            found = Predictions.joined([next(every) for _ in those])
            said, loss = self.checkpoint.tokenizer.join(found.best.tolist()), float(found.nats.mean())
            given = {"line": example.line, "text": example.text, "gold": example.text, "predicted": said}
            score = float(found.right.mean())
            rows.append(given | {"score": score, "perplexity": perplexity(loss), "loss": loss, "cut": 0})
            sizes.append(len(found.nats))
        loss, accuracy = (float(np.average([row[key] for row in rows], weights=sizes)) for key in ("loss", "score"))
        metrics = {"perplexity": perplexity(loss), "accuracy": accuracy, "loss": loss}
        if self.unigram is not None:
            nats = np.concatenate([self.unigram[np.asarray(item.ids[1:], int)] for item in items])
            metrics["unigram_perplexity"] = perplexity(float(nats.mean()))
        return Evaluation(metrics, rows)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """Each text continued, with the probability of every token and the likeliest first tokens. *cut*: number of
        tokens dropped from the beginning of the text."""
        prompts = [given.get("text", "").strip() for given in inputs]
        if not all(prompts):
            raise ExplorerError("The text is empty. Type the beginning of a sentence.")
        return [self.answer(prompt) for prompt in prompts]

    def answer(self, prompt: str) -> dict[str, Any]:
        options, tokenizer = self.options, self.checkpoint.tokenizer
        start, *ids = tokenizer.whole.encode(tokenizer.prepare(prompt)[0]).ids[:-1]  # without [SEP]
        room = tokenizer.max_tokens - 1
        most = min(options.length, room // 2)
        kept = ids[-(room - most) :]
        with evaluation_mode(self):
            writer = Writer(self.checkpoint)
            found = continued(
                writer,
                [start, *kept],
                most,
                temperature=options.temperature,
                top_k=options.top_k,
                seed=options.draw,
            )
        whole, before = tokenizer.join([*kept, *found.ids]), tokenizer.join(kept)
        return {
            "text": whole,
            "continuation": whole[len(before) :] if whole.startswith(before) else tokenizer.join(found.ids),
            "tokens": [
                {"piece": tokenizer.show(token), "probability": share}
                for token, share in zip(found.ids, found.shares, strict=True)
            ],
            "first": likeliest(tokenizer, found.first),
            "ended": found.ended,
            "cut": len(ids) - len(kept),
        }

"""Source to target: reads a source in both directions and writes a target from left to right."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Self

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Intervention
from bertexplorer.training.generate import Beam, NextTokenPredictor, beam_search
from bertexplorer.training.language import AT_ONCE, predictions
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.sequence import Example, Options, compare_texts
from bertexplorer.training.texts import Item, LimitedTokenizer, TextBatch, forward


class SequenceLearner(Learner):
    """The encoder under a prefix mask (Dong et al., 2019, UniLM); its MLM head predicts the next token."""

    weights = {"target": 1.0}
    heads = ("masked_lm",)
    saved = ("longest",)

    def __init__(self, checkpoint: Checkpoint, options: Options, longest: int) -> None:
        """*longest*: tokens of a target, its [SEP] included."""
        self.longest = longest
        super().__init__(checkpoint, options)

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        """Raises ExplorerError if the checkpoint has no MLM head."""
        longest = options.longest
        if not longest:
            tokenizer = checkpoint.tokenizer
            targets = LimitedTokenizer(tokenizer, tokenizer.max_tokens).encode([(example.target,) for example in train])
            longest = max(len(target.ids) - 1 for target in targets)
        return cls(checkpoint, options, longest)

    def set_max_tokens(self, max_tokens: int) -> None:
        """A target may take `longest` tokens, but at most half of the limit; its source gets the rest."""
        super().set_max_tokens(max_tokens)
        self.target_limit = min(self.longest, self.max_tokens // 2)
        self.source_tokenizer = LimitedTokenizer(self.checkpoint.tokenizer, self.max_tokens - self.target_limit)
        self.target_tokenizer = LimitedTokenizer(
            self.checkpoint.tokenizer, self.target_limit + 1
        )  # including a [CLS] that is dropped

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """Item.target is the number of tokens of the source. A target that was cut has no end to learn."""
        sources = self.source_tokenizer.items([(example.source,) for example in examples])
        targets = self.target_tokenizer.items([(example.target,) for example in examples])
        items = []
        for source, target in zip(sources, targets, strict=True):
            target_ids = target.ids[1 : -1 if target.left_out else None]
            ids, segments = [*source.ids, *target_ids], [0] * len(source.ids) + [1] * len(target_ids)
            items.append(Item(ids, segments, len(source.ids), source.left_out + target.left_out))
        return items

    def targets(self, items: Sequence[Item]) -> Int[Tensor, " b"]:
        """The number of tokens of each source."""
        return torch.tensor([item.target for item in items])

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"target": batch.tokens - int(batch.targets.sum())}

    def vectors(self, batch: TextBatch) -> tuple[Tensor, Tensor, Bool[Tensor, "b t"]]:
        """(vectors m x d, the next token after each, b x t whether a position holds such a token)."""
        change = Intervention(prefix=batch.targets)
        last = forward(self.modules["encoder"], batch.ids, batch.segments, batch.mask, change)
        is_target = torch.arange(batch.ids.shape[1], device=last.device) >= batch.targets[:, None]
        if batch.mask is not None:
            is_target &= batch.mask
        return last[:, :-1][is_target[:, 1:]], batch.ids[is_target], is_target

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        vectors, targets, _ = self.vectors(batch)
        return {"target": cross_entropy(self.modules["masked_lm"](vectors), targets)}

    def target_losses(self, items: Sequence[Item]) -> list[tuple[float, float]]:
        """(mean loss in nats, accuracy) of the tokens of each item's target, given the true tokens before."""

        def compute(_: list[Item], batch: TextBatch) -> Iterator[tuple[float, float]]:
            vectors, targets, is_target = self.vectors(batch)
            for prediction in predictions(self.modules["masked_lm"], vectors, targets).split(is_target.sum(1).tolist()):
                yield float(prediction.nats.mean()), float(prediction.right.mean())

        return self.in_batches(items, compute, AT_ONCE)

    def write(self, items: Sequence[Item]) -> list[list[Beam]]:
        """The beams of each item's source."""
        options = self.options
        with evaluation_mode(self):
            sources = [item.ids[: item.target] for item in items]
            predictor = NextTokenPredictor(self.checkpoint)
            return beam_search(
                predictor, sources, beams=options.beams, max_tokens=self.target_limit, penalty=options.penalty
            )

    def as_tokenizer_writes(self, text: str) -> str:
        """*text* encoded and decoded: the nearest to it that the checkpoint can write."""
        tokenizer = self.checkpoint.tokenizer
        return tokenizer.join(tokenizer.backend.encode(tokenizer.prepare(text)[0], add_special_tokens=False).ids)

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """Targets are compared as the file has them, in full even if they were cut for training; only an exact match is
        one with the target as the tokenizer writes it, as an uncased one would never be right. The first options.shown
        are generated; loss and accuracy are means over the tokens of all."""
        items = self.read(examples)
        nats, accuracies = zip(*self.target_losses(items), strict=True)
        generated = items[: self.options.shown]
        written = [self.checkpoint.tokenizer.join(beams[0].ids) for beams in self.write(generated)]
        gold = [example.target for example in examples[: len(generated)]]
        metrics, scores = compare_texts(written, gold)
        right = [text == self.as_tokenizer_writes(target) for text, target in zip(written, gold, strict=True)]
        metrics["exact"] = sum(right) / len(right)
        sizes = [len(item.ids) - item.target for item in items]
        for key, values in (("accuracy", accuracies), ("loss", nats)):
            metrics[key] = sum(v * n for v, n in zip(values, sizes, strict=True)) / sum(sizes)
        rows = []
        for at, example in enumerate(examples[: len(generated)]):
            outcome = {"predicted": written[at], "right": right[at], "score": scores[at], "loss": nats[at]}
            about = {"line": example.line, "text": example.source, "gold": example.target}
            rows.append(about | outcome | {"cut": generated[at].left_out})
        return Evaluation(metrics | {"written": float(len(generated))}, rows)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The beams of each source, best first, with their probability. *ended* False: it reached the longest
        length."""
        sources = [cells.get("source", "").strip() for cells in inputs]
        if not all(sources):
            raise ExplorerError("The source is empty. Type a sentence.")
        items = self.read([Example(0, source, "") for source in sources])
        return [
            {
                "beams": [
                    {
                        "text": self.checkpoint.tokenizer.join(beam.ids),
                        "probability": float(torch.tensor(beam.log_prob).exp()),
                        "score": beam.score,
                        "ended": beam.ended,
                    }
                    for beam in beams
                ],
                "cut": item.left_out,
            }
            for item, beams in zip(items, self.write(items), strict=True)
        ]

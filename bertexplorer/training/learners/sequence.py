"""Source to target: reads a source in both directions and writes a target from left to right."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, Self, TypedDict

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Intervention
from bertexplorer.training.generate import Beam, NextTokenPredictor, beam_search
from bertexplorer.training.language import AT_ONCE, predictions
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import EvaluatedRow, Evaluation
from bertexplorer.training.tasks.sequence import Example, Options, compare_texts
from bertexplorer.training.texts import Item, LimitedTokenizer, TextBatch, forward


class WrittenBeam(TypedDict):
    text: str
    probability: float
    score: float  # see `generate.beam_score`
    ended: bool  # False: it reached the longest length


class WrittenTargets(TypedDict):
    """The answer to a source."""

    beams: list[WrittenBeam]  # best first
    cut: int  # tokens of the source beyond the limit


class TargetTokens(NamedTuple):
    """The m tokens of the targets of a batch, which are predicted from the tokens before them."""

    vectors: Float[Tensor, "m d"]  # of the token before
    ids: Int[Tensor, " m"]
    where: Bool[Tensor, "b t"]  # whether a position holds such a token


class TargetScore(NamedTuple):
    """How well the tokens of a target are predicted, each given the true tokens before it."""

    nats: float  # mean loss
    accuracy: float


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
        """Without options.longest, targets may be as long as the longest of *train*. Raises ExplorerError if the
        checkpoint has no MLM head."""
        longest = options.longest
        if not longest:
            tokenizer = checkpoint.tokenizer
            targets = LimitedTokenizer(tokenizer, tokenizer.max_tokens).encode([(example.target,) for example in train])
            longest = max(len(target.ids) - 1 for target in targets)  # without [CLS]
        return cls(checkpoint, options, longest)

    def set_max_tokens(self, max_tokens: int) -> None:
        """A target may take `longest` tokens, but at most half of the limit; its source gets the rest."""
        super().set_max_tokens(max_tokens)
        tokenizer = self.checkpoint.tokenizer
        self.target_limit = min(self.longest, self.max_tokens // 2)
        self.source_tokenizer = LimitedTokenizer(tokenizer, self.max_tokens - self.target_limit)
        self.target_tokenizer = LimitedTokenizer(tokenizer, self.target_limit + 1)  # with a [CLS] that is dropped

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """Item.target is the number of tokens of the source. A target that was cut has no end to learn."""
        sources = self.source_tokenizer.items([(example.source,) for example in examples])
        targets = self.target_tokenizer.items([(example.target,) for example in examples])
        items = []
        for source, target in zip(sources, targets, strict=True):
            target_ids = target.ids[1:]  # without [CLS]
            if target.left_out:
                target_ids = target_ids[:-1]  # without [SEP], the end
            item = Item(
                ids=[*source.ids, *target_ids],
                segments=[0] * len(source.ids) + [1] * len(target_ids),
                target=len(source.ids),
                left_out=source.left_out + target.left_out,
            )
            items.append(item)
        return items

    def targets(self, items: Sequence[Item]) -> Int[Tensor, " b"]:
        """The number of tokens of each source."""
        return torch.tensor([item.target for item in items])

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"target": batch.tokens - int(batch.targets.sum())}

    def target_tokens(self, batch: TextBatch) -> TargetTokens:
        change = Intervention(prefix=batch.targets)
        last = forward(self.modules["encoder"], batch.ids, batch.segments, batch.mask, change)
        where = torch.arange(batch.ids.shape[1], device=last.device) >= batch.targets[:, None]
        if batch.mask is not None:
            where &= batch.mask
        return TargetTokens(last[:, :-1][where[:, 1:]], batch.ids[where], where)

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        tokens = self.target_tokens(batch)
        return {"target": cross_entropy(self.modules["masked_lm"](tokens.vectors), tokens.ids)}

    def target_scores(self, items: Sequence[Item]) -> list[TargetScore]:
        """How well each item's target is predicted."""

        def compute(_: list[Item], batch: TextBatch) -> Iterator[TargetScore]:
            tokens = self.target_tokens(batch)
            of_batch = predictions(self.modules["masked_lm"], tokens.vectors, tokens.ids)
            for prediction in of_batch.split(tokens.where.sum(1).tolist()):
                yield TargetScore(float(prediction.nats.mean()), float(prediction.right.mean()))

        return self.in_batches(items, compute, AT_ONCE)

    def write(self, items: Sequence[Item]) -> list[list[Beam]]:
        """The targets that beam search writes for the source of each item, best first."""
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
        # 1. The tokens of all targets
        items = self.read(examples)
        scores = self.target_scores(items)
        sizes = [len(item.ids) - item.target for item in items]  # tokens of each target
        accuracy = sum(score.accuracy * size for score, size in zip(scores, sizes, strict=True)) / sum(sizes)
        loss = sum(score.nats * size for score, size in zip(scores, sizes, strict=True)) / sum(sizes)

        # 2. The first targets, written
        generated = items[: self.options.shown]
        written = [self.checkpoint.tokenizer.join(beams[0].ids) for beams in self.write(generated)]
        gold = [example.target for example in examples[: len(generated)]]
        metrics, chrf = compare_texts(written, gold)
        rows: list[EvaluatedRow] = []
        for i, text in enumerate(written):
            rows.append(
                {
                    "line": examples[i].line,
                    "text": examples[i].source,
                    "gold": gold[i],
                    "predicted": text,
                    "right": text == self.as_tokenizer_writes(gold[i]),
                    "score": chrf[i],
                    "loss": scores[i].nats,
                    "cut": items[i].left_out,
                }
            )
        metrics["exact"] = sum(row["right"] for row in rows) / len(rows)
        metrics |= {"accuracy": accuracy, "loss": loss, "written": float(len(rows))}
        return Evaluation(metrics, rows)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[WrittenTargets]:
        sources = [cells.get("source", "").strip() for cells in inputs]
        if not all(sources):
            raise ExplorerError("The source is empty. Type a sentence.")
        items = self.read([Example(0, source, "") for source in sources])
        answers: list[WrittenTargets] = []
        for item, beams in zip(items, self.write(items), strict=True):
            written: list[WrittenBeam] = []
            for beam in beams:
                written.append(
                    {
                        "text": self.checkpoint.tokenizer.join(beam.ids),
                        "probability": float(torch.tensor(beam.log_prob).exp()),
                        "score": beam.score,
                        "ended": beam.ended,
                    }
                )
            answers.append({"beams": written, "cut": item.left_out})
        return answers

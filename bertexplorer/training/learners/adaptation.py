"""Domain adaptation: the encoder with its MLM head, which predicts masked tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.settings import ASSETS
from bertexplorer.training.language import Predictions, likeliest, perplexity, pieces, predictions, unigram
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.pretraining.batches import Batch, Collator
from bertexplorer.training.pretraining.objectives import MaskedLanguage, run
from bertexplorer.training.pretraining.pool import SINGLE, Examples
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.adaptation import Example, Options
from bertexplorer.training.texts import Item, by_length, encode, pad

GENERAL = ASSETS / "data" / "general.txt"
SEED = 2018  # of the masks in evaluations
MEASURE = Options()  # the masking in evaluations, whatever the options


class Adapter(MaskedLanguage, Learner):
    """The encoder with its MLM head. The masks are drawn anew each time a row is seen (Liu et al., 2019)."""

    heads = ("masked_lm",)

    def __init__(
        self, checkpoint: Checkpoint, options: Options, train: Sequence[Example] = (), max_tokens: int = 128
    ) -> None:
        """*train*: texts for the unigram baseline."""
        Learner.__init__(self, checkpoint, options, max_tokens)
        self.pairs, self.weights = False, {"mlm": 1.0}
        self.collator = Collator.of(checkpoint.tokenizer, options)
        ordinary = (item.ids[1:-1] for item in self.read(train))
        self.unigram = unigram(ordinary, checkpoint.config.vocab_size) if train else None

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Example], options: Options, *, seed: int) -> Self:
        """Raises ExplorerError if the checkpoint has no MLM head, or the shares of the chosen tokens exceed 1."""
        if options.masked + options.random > 1 + 1e-9:
            raise ExplorerError(
                f"[MASK] and random are {options.masked:g} and {options.random:g} of the chosen tokens; together they "
                "are more than 1. Lower one."
            )
        return cls(checkpoint, options, train)

    def read(self, examples: Sequence[Example]) -> list[Item]:
        """Nothing is cut: a long text becomes several items."""
        return [item for parts in self.parts([example.text for example in examples]) for item in parts]

    def parts(self, texts: Sequence[str]) -> list[list[Item]]:
        return pieces(self.reader, texts, end=True)

    def collate(self, items: Sequence[Item]) -> Any:
        """The masks depend on torch's random state, which the loop sets for each step."""
        return self.hidden(items, self.collator, int(torch.randint(2**62, ())))

    @staticmethod
    def hidden(items: Sequence[Item], collator: Collator, *seed: int) -> Batch:
        examples = Examples.of([(item.ids[1:-1], ()) for item in items], [SINGLE] * len(items))
        return collator.collate(examples, np.random.default_rng(seed))

    def predictions(self, texts: Sequence[str]) -> list[Predictions]:
        """The predictions for each text, under masks that depend only on *texts*."""
        parts = self.parts(texts)
        items = [item for those in parts for item in those]
        found: dict[int, Predictions] = {}
        collator = replace(self.collator, masking=MEASURE)
        with evaluation_mode(self):
            for number, part in enumerate(by_length(items)):
                batch = self.hidden([items[i] for i in part], collator, SEED, number).to(self.checkpoint.device)
                last = run(self.modules["encoder"], batch, batch.ids).flatten(0, 1)[batch.chosen]
                rows = (batch.chosen // batch.ids.shape[1]).cpu().numpy()
                every = predictions(self.modules["masked_lm"], last, batch.targets)
                found |= dict(zip(part, every.split(np.bincount(rows, minlength=len(part)).tolist()), strict=True))
        every_item = (found[i] for i in range(len(items)))
        return [Predictions.joined([next(every_item) for _ in those]) for those in parts]

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """With 15 % of the tokens chosen, 80/10/10, always the same ones; means over all of them. A row's *gold* and
        *predicted* are the chosen tokens and their predictions, in order."""
        found = self.predictions([example.text for example in examples])
        every = Predictions.joined(found)
        general = Predictions.joined(self.predictions(GENERAL.read_text("utf-8").splitlines()))
        metrics = {
            "perplexity": perplexity(float(every.nats.mean())),
            "accuracy": float(every.right.mean()),
            "general_perplexity": perplexity(float(general.nats.mean())),
            "general_accuracy": float(general.right.mean()),
            "loss": float(every.nats.mean()),
        }
        if self.unigram is not None:
            metrics["unigram_perplexity"] = perplexity(float(self.unigram[every.gold].mean()))
        show = self.checkpoint.tokenizer.show
        rows = [
            {
                "line": example.line,
                "text": example.text,
                "gold": " ".join(map(show, one.gold.tolist())),
                "predicted": " ".join(map(show, one.best.tolist())),
                "score": float(one.right.mean()) if len(one.gold) else 1.0,
                "loss": float(one.nats.mean()) if len(one.gold) else 0.0,
                "cut": 0,
            }
            for example, one in zip(examples, found, strict=True)
        ]
        return Evaluation(metrics, rows)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The likeliest tokens for each mask of a text, and the text filled with the best ones."""
        return [self.answer(given.get("text", "")) for given in inputs]

    def answer(self, text: str) -> dict[str, Any]:
        tokenizer = self.checkpoint.tokenizer
        [item] = self.reader.items([(text,)])
        ids = torch.tensor(item.ids)
        masks = (ids == tokenizer.mask_id).nonzero().flatten()
        if not len(masks):
            raise ExplorerError("The text has no blank. Write [MASK] or ___ where a word is to be guessed.")
        with evaluation_mode(self):
            batch = pad([item], tokenizer.pad_id, masks).to(self.checkpoint.device)
            last = encode(self.modules["encoder"], batch)[0, batch.targets]
            chances = self.modules["masked_lm"](last).float().softmax(-1).cpu()
        filled = ids.index_copy(0, masks, chances.argmax(-1))[1:-1]
        blanks = [likeliest(tokenizer, one) for one in chances]
        return {"text": tokenizer.join(filled.tolist()), "blanks": blanks, "cut": item.left_out}

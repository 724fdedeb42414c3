"""Domain adaptation: the encoder with its MLM head, which predicts masked tokens."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypedDict

import numpy as np
import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.settings import ASSETS
from bertexplorer.training.language import (
    LikelyToken,
    Predictions,
    likeliest_tokens,
    perplexity,
    predictions,
    split_into_items,
    unigram_nats,
)
from bertexplorer.training.learner import Learner, evaluation_mode
from bertexplorer.training.pretraining.batches import Collator, MaskedBatch
from bertexplorer.training.pretraining.objectives import MaskedLanguage, forward_batch
from bertexplorer.training.pretraining.pool import SINGLE, Examples
from bertexplorer.training.task import EvaluatedRow, Evaluation
from bertexplorer.training.tasks.adaptation import Example, Options
from bertexplorer.training.texts import Item, by_length, hidden_states, pad

GENERAL = ASSETS / "data" / "general.txt"
SEED = 2018  # of the masks in evaluations
MEASURE = Options()  # the masking in evaluations, whatever the options


class FilledText(TypedDict):
    """The answer to a text with masks."""

    text: str  # with the likeliest tokens filled in
    blanks: list[list[LikelyToken]]  # for each mask
    cut: int  # tokens beyond the limit


class MaskedLanguageLearner(MaskedLanguage, Learner):
    """The encoder with its MLM head. The masks are drawn anew each time a row is seen (Liu et al., 2019)."""

    heads = ("masked_lm",)

    def __init__(self, checkpoint: Checkpoint, options: Options, train: Sequence[Example] = ()) -> None:
        """*train*: texts for the unigram baseline."""
        Learner.__init__(self, checkpoint, options)
        self.pairs = False  # and no teacher: of the losses of MaskedLanguage only the first
        self.teacher = None
        self.weights = {"mlm": 1.0}
        self.collator = Collator.of(checkpoint.tokenizer, options)
        ordinary = (item.ids[1:-1] for item in self.read(train))
        self.unigram = unigram_nats(ordinary, checkpoint.config.vocab_size) if train else None

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
        """The items of each text."""
        return split_into_items(self.tokenizer, texts, end=True)

    def collate(self, items: Sequence[Item]) -> Any:
        """The masks depend on torch's random state, which the loop sets for each step."""
        return self.mask_items(items, self.collator, int(torch.randint(2**62, ())))

    @staticmethod
    def mask_items(items: Sequence[Item], collator: Collator, *seed: int) -> MaskedBatch:
        """*items* as a batch in which *collator* masks tokens; the same *seed* masks the same ones."""
        examples = Examples.of([(item.ids[1:-1], ()) for item in items], [SINGLE] * len(items))
        return collator.collate(examples, np.random.default_rng(seed))

    def predictions(self, texts: Sequence[str]) -> list[Predictions]:
        """The predictions at the masks of each text. Which tokens are masked depends only on *texts*."""
        items_of_texts = self.parts(texts)
        items = [item for text_items in items_of_texts for item in text_items]
        by_item: dict[int, Predictions] = {}
        collator = replace(self.collator, masking=MEASURE)
        with evaluation_mode(self):
            for number, indices in enumerate(by_length(items)):
                batch = self.mask_items([items[i] for i in indices], collator, SEED, number).to(self.checkpoint.device)
                last = forward_batch(self.modules["encoder"], batch, batch.ids).flatten(0, 1)[batch.chosen]
                batch_predictions = predictions(self.modules["masked_lm"], last, batch.targets)
                rows = (batch.chosen // batch.ids.shape[1]).cpu().numpy()  # of each mask
                masks_by_item = np.bincount(rows, minlength=len(indices)).tolist()
                by_item |= zip(indices, batch_predictions.split(masks_by_item), strict=True)
        in_order = (by_item[i] for i in range(len(items)))
        return [Predictions.concatenate([next(in_order) for _ in text_items]) for text_items in items_of_texts]

    def evaluate(self, examples: Sequence[Example]) -> Evaluation:
        """With 15 % of the tokens chosen, 80/10/10, always the same ones; means over all of them. A row's *gold* and
        *predicted* are the chosen tokens and their predictions, in order."""
        per_text = self.predictions([example.text for example in examples])
        overall = Predictions.concatenate(per_text)
        general = Predictions.concatenate(self.predictions(GENERAL.read_text("utf-8").splitlines()))
        metrics = {
            "perplexity": perplexity(float(overall.nats.mean())),
            "accuracy": float(overall.right.mean()),
            "general_perplexity": perplexity(float(general.nats.mean())),
            "general_accuracy": float(general.right.mean()),
            "loss": float(overall.nats.mean()),
        }
        if self.unigram is not None:
            metrics["unigram_perplexity"] = perplexity(float(self.unigram[overall.gold].mean()))
        show = self.checkpoint.tokenizer.show
        rows: list[EvaluatedRow] = []
        for example, prediction in zip(examples, per_text, strict=True):
            masked = len(prediction.gold) > 0
            rows.append(
                {
                    "line": example.line,
                    "text": example.text,
                    "gold": " ".join(map(show, prediction.gold.tolist())),
                    "predicted": " ".join(map(show, prediction.best.tolist())),
                    "score": float(prediction.right.mean()) if masked else 1.0,
                    "loss": float(prediction.nats.mean()) if masked else 0.0,
                    "cut": 0,
                }
            )
        return Evaluation(metrics, rows)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[FilledText]:
        """Raises ExplorerError for a text without a mask."""
        return [self.fill_masks(cells.get("text", "")) for cells in inputs]

    def fill_masks(self, text: str) -> FilledText:
        """The likeliest tokens for each mask of *text*, and *text* with the best ones. Raises ExplorerError if it has
        none."""
        tokenizer = self.checkpoint.tokenizer
        [item] = self.tokenizer.items([(text,)])
        ids = torch.tensor(item.ids)
        masks = (ids == tokenizer.mask_id).nonzero().flatten()
        if not len(masks):
            raise ExplorerError("The text has no mask. Write [MASK] or ___ where a word is missing.")
        with evaluation_mode(self):
            batch = pad([item], tokenizer.pad_id, masks).to(self.checkpoint.device)
            last = hidden_states(self.modules["encoder"], batch)[0, batch.targets]
            probabilities = self.modules["masked_lm"](last).float().softmax(-1).cpu()
        filled = ids.index_copy(0, masks, probabilities.argmax(-1))[1:-1]
        blanks = [likeliest_tokens(tokenizer, row) for row in probabilities]
        return {"text": tokenizer.join(filled.tolist()), "blanks": blanks, "cut": item.left_out}

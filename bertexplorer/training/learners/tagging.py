"""Tagging: the encoder with a token classifier and optionally a CRF over its logits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, cast

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.crf import CRF
from bertexplorer.model.initialise import with_heads
from bertexplorer.model.text import split_words
from bertexplorer.training.entities import scores
from bertexplorer.training.entities.rows import Sentence, is_plain
from bertexplorer.training.entities.tags import OUTSIDE, Entity, entities, iob2, labels, words
from bertexplorer.training.learner import Traceable
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.tagging import Options
from bertexplorer.training.texts import Item, TextBatch, encode

MAX_LABELS = 1000
NO_WORD, UNKNOWN = -100, -1  # targets: not the first token of a word; a tag that was not trained


class Target(NamedTuple):
    """Of a sentence: the indices of the words that are read, the first token of each, and its label (or UNKNOWN)."""

    words: Int[np.ndarray, " w"]
    tokens: Int[np.ndarray, " w"]
    labels: Int[np.ndarray, " w"]


class Answer(NamedTuple):
    """The label of each word that is read, its probability, and the loss of the sentence in nats per word."""

    labels: Int[np.ndarray, " w"]
    shares: Float[np.ndarray, " w"]
    loss: float


class Tagger(Traceable):
    """The encoder with its token classifier and optionally a CRF. A word is represented by its first token."""

    weights = {"tag": 1.0}
    heads = ("token_classifier",)
    saved = ("plain",)

    def __init__(self, checkpoint: Checkpoint, options: Options, plain: bool, max_tokens: int = 128) -> None:
        self.labels, self.plain = checkpoint.labels, plain
        extra = {"crf": CRF(self.labels, plain)} if options.head == "crf" else {}
        super().__init__(checkpoint, options, max_tokens, extra=extra)

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Sentence], options: Options, *, seed: int) -> Self:
        """A tagger for the tags of *train*. A head that already has exactly these tags is trained further."""
        plain = is_plain(train)
        tags = labels((sentence.tags for sentence in train), plain)
        if not 2 <= len(tags) <= MAX_LABELS:
            raise ExplorerError(
                f"The training rows have {len(tags):,} different tag{'s' * (len(tags) != 1)}; wanted 2 to "
                f"{MAX_LABELS:,}. Check which column holds the tags."
            )
        if set(tags) == set(checkpoint.labels):
            tags = checkpoint.labels
        return cls(with_heads(checkpoint, ["token_classifier"], seed=seed, labels=tags), options, plain)

    def read(self, examples: Sequence[Sentence]) -> list[Item]:
        """Words beyond the limit, and those that the tokenizer drops, are not read; an entity without its beginning
        then begins later."""
        place = {label: i for i, label in enumerate(self.labels)}
        items = []
        for one, found in zip(examples, self.reader.cut.encode_batch([one.text for one in examples]), strict=True):
            read, tokens = first_tokens(one.words, found)
            tags = [one.tags[word] for word in read] if one.tags else []
            if not self.plain:
                tags = iob2(entities(tags), len(tags))
            gold = np.array([place.get(tag, UNKNOWN) for tag in tags] or [UNKNOWN] * len(read), int)
            beyond = sum(len(part.ids) - 2 for part in found.overflowing)
            items.append(Item(found.ids, found.type_ids, Target(read, tokens, gold), beyond))
        return items

    def targets(self, items: Sequence[Item]) -> Int[Tensor, "b t"]:
        """The label at the first token of each word that is read, NO_WORD elsewhere."""
        targets = torch.full((len(items), max(len(item.ids) for item in items)), NO_WORD)
        for row, item in enumerate(items):
            targets[row, torch.from_numpy(item.target.tokens)] = torch.from_numpy(item.target.labels)
        return targets

    def logits(self, batch: TextBatch) -> tuple[Float[Tensor, "b w l"], Int[Tensor, "b w"], Bool[Tensor, "b w"]]:
        """(logits of the first token of each word, packed to the left, their labels, False at padding)."""
        real = batch.targets != NO_WORD
        count = max(1, int(real.sum(1).max()))
        order = (~real).int().argsort(dim=1, stable=True)[:, :count]
        last = encode(self.modules["encoder"], batch)
        last = last.gather(1, order.unsqueeze(2).expand(-1, -1, last.shape[2]))
        found: Tensor = self.modules["token_classifier"](last)
        return found.float(), batch.targets.gather(1, order), real.gather(1, order)

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"tag": int((batch.targets >= 0).sum())}

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        """In nats per word; a CRF's loss of a sentence is divided among its words. Accuracy is per word, before the
        CRF."""
        logits, gold, real = self.logits(batch)
        alone = cross_entropy(logits[gold >= 0], gold[gold >= 0])
        if "crf" not in self.modules:
            return {"tag": alone}
        whole = real.any(1)
        paths = self.modules["crf"](logits[whole], gold[whole].clamp(min=0), real[whole])
        return {"tag": Loss(paths.sum(), alone.count, alone.right)}

    def row_losses(self, batch: TextBatch) -> Float[Tensor, " b"]:
        """The sum over the words of a sentence, or the loss of its path in the CRF."""
        logits, gold, real = self.logits(batch)
        wanted = gold.clamp(min=0)
        if "crf" in self.modules:
            return torch.where(real.any(1), self.modules["crf"](logits, wanted, real), 0.0)
        alone = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none")
        return (alone.view_as(wanted) * (gold >= 0)).sum(1)

    def explained(self, cells: Mapping[str, str], answer: str) -> tuple[str, Sentence]:
        """*answer*: a tag for each word, separated by spaces."""
        found = self.predict([cells])[0]
        tags = answer.split() or [word["tag"] for word in found["words"]]
        if len(tags) != len(found["words"]):
            raise ExplorerError(f"The text has {len(found['words'])} words; wanted as many tags, not {len(tags)}.")
        odd = next((tag for tag in tags if tag and tag not in self.labels), None)
        if odd is not None:
            raise ExplorerError(f"The run knows no tag {odd!r:.60}; it knows {', '.join(self.labels)[:200]}.")
        one = Sentence(0, found["text"], tuple((word["start"], word["end"]) for word in found["words"]), tuple(tags))
        return self.shown(one)[1], one

    def shown(self, example: Sentence) -> tuple[tuple[str, ...], str]:
        return (example.text,), self.say(example, example.tags) or "no entity"

    def answers(self, items: Sequence[Item]) -> list[Answer]:
        """An answer per item."""

        def compute(part: list[Item], batch: TextBatch) -> Iterator[Answer]:
            tags, shares, losses = (t.cpu().numpy() for t in self.answer(*self.logits(batch)))
            for row, item in enumerate(part):
                count = len(item.target.words)
                yield Answer(tags[row, :count], shares[row, :count], float(losses[row]))

        return self.in_batches(items, compute)

    def answer(
        self, logits: Float[Tensor, "b w l"], gold: Int[Tensor, "b w"], real: Bool[Tensor, "b w"]
    ) -> tuple[Int[Tensor, "b w"], Float[Tensor, "b w"], Float[Tensor, " b"]]:
        """(labels, their probabilities, nats per word). The loss is NaN for a sentence with an unknown tag."""
        known, count = torch.where(real, gold >= 0, True).all(1), real.sum(1)
        wanted = gold.clamp(min=0)
        if "crf" in self.modules:
            crf = cast(CRF, self.modules["crf"])
            tags, every = crf.decode(logits, real), crf.marginals(logits, real)
            losses = crf(logits, wanted, real)
        else:
            tags, every = logits.argmax(2), logits.softmax(2)
            alone = F.cross_entropy(logits.flatten(0, 1), wanted.flatten(), reduction="none")
            losses = (alone.view_as(wanted) * real).sum(1)
        shares = every.gather(2, tags.unsqueeze(2)).squeeze(2)
        return tags, shares, torch.where(known & (count > 0), losses / count, torch.nan)

    def evaluate(self, examples: Sequence[Sentence]) -> Evaluation:
        """Words beyond the limit count as O, or, with plain tags, as wrong."""
        items = self.read(examples)
        answers = self.answers(items)
        gold, guess, rows, unread = [list(one.tags) for one in examples], [], [], 0
        for one, item, answer in zip(examples, items, answers, strict=True):
            tags = self.tags(item, answer, len(one.words))
            unread += len(tags) - len(item.target.words)
            guess.append(tags)
            record = {"line": one.line, "text": one.text, "gold": self.say(one, one.tags)}
            record |= {
                "predicted": self.say(one, tags),
                "right": tags == list(one.tags),
                "loss": answer.loss,
                "cut": item.left_out,
            }
            spelt = [one.text[start:end] for start, end in one.words]
            rows.append(record | {"words": spelt, "gold_tags": list(one.tags), "predicted_tags": tags})
        losses, sizes = np.array([answer.loss for answer in answers]), [len(item.target.words) for item in items]
        fine = np.isfinite(losses)
        loss = float(np.average(losses[fine], weights=np.array(sizes)[fine])) if fine.any() else float("nan")
        metrics = scores.metrics(gold, guess, self.plain) | {"cut": unread / sum(map(len, gold)), "loss": loss}
        tables = scores.tables(gold, guess, self.plain)
        return Evaluation(metrics, rows, tables, scores.confusion(gold, guess, self.plain))

    def tags(self, item: Item, answer: Answer, count: int) -> list[str]:
        """The tag of each word. A word that was not read has O or no tag, unless an entity continues after it."""
        tags = ["" if self.plain else OUTSIDE] * count
        read = item.target.words
        for i, (word, label) in enumerate(zip(read, answer.labels, strict=True)):
            tags[word] = self.labels[label]
            if i and not self.plain and tags[word].startswith("I-"):
                tags[read[i - 1] + 1 : word] = [tags[word]] * (word - read[i - 1] - 1)
        return tags

    def say(self, one: Sentence, tags: Sequence[str]) -> str:
        """“Ada Lovelace (PER), London (LOC)”, or the plain tags."""
        if self.plain:
            return " ".join(tags)
        return ", ".join(f"{found['text']} ({found['label']})" for found in described(one, entities(tags)))

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The words of each text with tag and probability, and its entities as spans of characters of "text"."""
        texts = [self.reader.prepare(" ".join(given.values()))[0] for given in inputs]
        if not all(text.strip() for text in texts):
            raise ExplorerError("The text is empty. Type a sentence.")
        given = [Sentence(0, text, tuple(split_words(text)), ()) for text in texts]
        items = self.read(given)
        found = []
        for one, item, answer in zip(given, items, self.answers(items), strict=True):
            tags, shares = self.tags(item, answer, len(one.words)), np.zeros(len(one.words))
            shares[item.target.words] = answer.shares
            spelt = [
                {"text": one.text[start:end], "start": start, "end": end, "tag": tag, "probability": float(share)}
                for (start, end), tag, share in zip(one.words, tags, shares, strict=True)
            ]
            spans = words(tags) if self.plain else entities(tags)
            sure = [{"probability": float(np.mean(shares[span.start : span.end]))} for span in spans]
            named = [span | share for span, share in zip(described(one, spans), sure, strict=True)]
            found.append({"text": one.text, "words": spelt, "entities": named, "cut": item.left_out})
        return found


def described(one: Sentence, found: Sequence[Entity]) -> list[dict[str, Any]]:
    """Entities with their text and position, in characters."""
    spans = [(kind, one.words[start][0], one.words[end - 1][1]) for kind, start, end in found]
    return [{"text": one.text[a:b], "label": kind, "start": a, "end": b} for kind, a, b in spans]


def first_tokens(spans: Sequence[tuple[int, int]], found: Any) -> tuple[Int[np.ndarray, " w"], Int[np.ndarray, " w"]]:
    """The indices of the words that have a token, and the first token (of a tokenizers.Encoding) of each."""
    if not spans:
        return np.zeros(0, int), np.zeros(0, int)
    bounds, tokens = np.array(spans), np.array(found.offsets)
    inside = np.flatnonzero((np.array(found.special_tokens_mask) == 0) & (tokens[:, 1] > tokens[:, 0]))
    word = np.searchsorted(bounds[:, 1], tokens[inside, 0], side="right")  # the first that ends after the token begins
    inside, word = inside[word < len(bounds)], word[word < len(bounds)]
    reached = tokens[inside, 1] > bounds[word, 0]
    read, first = np.unique(word[reached], return_index=True)
    return read, inside[reached][first]

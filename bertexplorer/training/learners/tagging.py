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
from bertexplorer.training.entities import (
    OUTSIDE,
    Entity,
    confusion,
    entities,
    head_labels,
    metrics,
    tables,
    to_iob2,
    words_as_entities,
)
from bertexplorer.training.learner import Traceable
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import Evaluation
from bertexplorer.training.tasks.tagging import Options, Sentence, is_plain
from bertexplorer.training.texts import Item, TextBatch, hidden_states
from bertexplorer.wording import plural

MAX_LABELS = 1000
NO_WORD, UNKNOWN = -100, -1  # targets: not the first token of a word; a tag that was not trained


class Target(NamedTuple):
    """Of a sentence: the indices of the words that are read, the first token of each, and its label (or UNKNOWN)."""

    words: Int[np.ndarray, " w"]
    tokens: Int[np.ndarray, " w"]
    labels: Int[np.ndarray, " w"]


class TaggedSentence(NamedTuple):
    """The label of each word that is read, its probability, and the loss of the sentence in nats per word."""

    labels: Int[np.ndarray, " w"]
    probabilities: Float[np.ndarray, " w"]
    loss: float


class Tagger(Traceable):
    """The encoder with its token classifier and optionally a CRF. A word is represented by its first token."""

    weights = {"tag": 1.0}
    heads = ("token_classifier",)
    saved = ("plain",)

    def __init__(self, checkpoint: Checkpoint, options: Options, plain: bool) -> None:
        self.labels, self.plain = checkpoint.labels, plain
        extra = {"crf": CRF(self.labels, plain)} if options.head == "crf" else {}
        super().__init__(checkpoint, options, extra=extra)

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Sentence], options: Options, *, seed: int) -> Self:
        """A tagger for the tags of *train*. A head that already has exactly these tags is trained further."""
        plain = is_plain(train)
        tags = head_labels((sentence.tags for sentence in train), plain)
        if not 2 <= len(tags) <= MAX_LABELS:
            raise ExplorerError(
                f"The training rows have {len(tags):,} different {plural('tag', len(tags))}; wanted 2 to "
                f"{MAX_LABELS:,}. Check which column holds the tags."
            )
        if set(tags) == set(checkpoint.labels):
            tags = checkpoint.labels
        return cls(with_heads(checkpoint, ["token_classifier"], seed=seed, labels=tags), options, plain)

    def read(self, examples: Sequence[Sentence]) -> list[Item]:
        """Words beyond the limit, and those that the tokenizer drops, are not read; an entity without its beginning
        then begins later."""
        index = {label: i for i, label in enumerate(self.labels)}
        items = []
        for sentence, encoding in zip(
            examples, self.tokenizer.truncating.encode_batch([sentence.text for sentence in examples]), strict=True
        ):
            read, tokens = first_tokens(sentence.words, encoding)
            tags = [sentence.tags[word] for word in read] if sentence.tags else []
            if not self.plain:
                tags = to_iob2(entities(tags), len(tags))
            gold = np.array([index.get(tag, UNKNOWN) for tag in tags] or [UNKNOWN] * len(read), int)
            left_out = sum(len(part.ids) - 2 for part in encoding.overflowing)
            items.append(Item(encoding.ids, encoding.type_ids, Target(read, tokens, gold), left_out))
        return items

    def targets(self, items: Sequence[Item]) -> Int[Tensor, "b t"]:
        """The label at the first token of each word that is read, NO_WORD elsewhere."""
        targets = torch.full((len(items), max(len(item.ids) for item in items)), NO_WORD)
        for row, item in enumerate(items):
            targets[row, torch.from_numpy(item.target.tokens)] = torch.from_numpy(item.target.labels)
        return targets

    def logits(self, batch: TextBatch) -> tuple[Float[Tensor, "b w l"], Int[Tensor, "b w"], Bool[Tensor, "b w"]]:
        """(logits of the first token of each word, packed to the left, their labels, False at padding)."""
        is_word = batch.targets != NO_WORD
        count = max(1, int(is_word.sum(1).max()))
        order = (~is_word).int().argsort(dim=1, stable=True)[:, :count]
        last = hidden_states(self.modules["encoder"], batch)
        last = last.gather(1, order.unsqueeze(2).expand(-1, -1, last.shape[2]))
        logits: Tensor = self.modules["token_classifier"](last)
        return logits.float(), batch.targets.gather(1, order), is_word.gather(1, order)

    def counts(self, batch: TextBatch) -> dict[str, int]:
        return {"tag": int((batch.targets >= 0).sum())}

    def losses(self, batch: TextBatch) -> dict[str, Loss]:
        """In nats per word; a CRF's loss of a sentence is divided among its words. Accuracy is per word, before the
        CRF."""
        logits, gold, is_word = self.logits(batch)
        per_word = cross_entropy(logits[gold >= 0], gold[gold >= 0])
        if "crf" not in self.modules:
            return {"tag": per_word}
        has_words = is_word.any(1)
        paths = self.modules["crf"](logits[has_words], gold[has_words].clamp(min=0), is_word[has_words])
        return {"tag": Loss(paths.sum(), per_word.count, per_word.right)}

    def row_losses(self, batch: TextBatch) -> Float[Tensor, " b"]:
        """The sum over the words of a sentence, or the loss of its path in the CRF."""
        logits, gold, is_word = self.logits(batch)
        labels = gold.clamp(min=0)
        if "crf" in self.modules:
            return torch.where(is_word.any(1), self.modules["crf"](logits, labels, is_word), 0.0)
        per_word = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), reduction="none")
        return (per_word.view_as(labels) * (gold >= 0)).sum(1)

    def example_to_explain(self, cells: Mapping[str, str], answer: str) -> tuple[str, Sentence]:
        """*answer*: a tag for each word, separated by spaces."""
        prediction = self.predict([cells])[0]
        tags = answer.split() or [word["tag"] for word in prediction["words"]]
        if len(tags) != len(prediction["words"]):
            raise ExplorerError(f"The text has {len(prediction['words'])} words; wanted as many tags, not {len(tags)}.")
        unknown = next((tag for tag in tags if tag and tag not in self.labels), None)
        if unknown is not None:
            raise ExplorerError(f"The run knows no tag {unknown!r:.60}; it knows {', '.join(self.labels)[:200]}.")
        spans = tuple((word["start"], word["end"]) for word in prediction["words"])
        sentence = Sentence(0, prediction["text"], spans, tuple(tags))
        return self.describe_example(sentence)[1], sentence

    def describe_example(self, example: Sentence) -> tuple[tuple[str, ...], str]:
        return (example.text,), self.format_tags(example, example.tags) or "no entity"

    def answers(self, items: Sequence[Item]) -> list[TaggedSentence]:
        """An answer per item."""

        def compute(part: list[Item], batch: TextBatch) -> Iterator[TaggedSentence]:
            tags, shares, losses = (t.cpu().numpy() for t in self.decode(*self.logits(batch)))
            for row, item in enumerate(part):
                count = len(item.target.words)
                yield TaggedSentence(tags[row, :count], shares[row, :count], float(losses[row]))

        return self.in_batches(items, compute)

    def decode(
        self, logits: Float[Tensor, "b w l"], gold: Int[Tensor, "b w"], is_word: Bool[Tensor, "b w"]
    ) -> tuple[Int[Tensor, "b w"], Float[Tensor, "b w"], Float[Tensor, " b"]]:
        """(the predicted label of each word, its probability, the loss of each sentence in nats per word). The loss is
        NaN for a sentence without words, or with a tag that was not trained."""
        targets = gold.clamp(min=0)  # an unknown tag becomes any label; its sentence has no loss
        if "crf" in self.modules:
            crf = cast(CRF, self.modules["crf"])
            predicted = crf.decode(logits, is_word)
            probabilities = crf.marginals(logits, is_word)
            losses = crf(logits, targets, is_word)
        else:
            predicted = logits.argmax(2)
            probabilities = logits.softmax(2)
            per_word = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none")
            losses = (per_word.view_as(targets) * is_word).sum(1)
        of_predicted = probabilities.gather(2, predicted.unsqueeze(2)).squeeze(2)
        count = is_word.sum(1)
        all_known = ((gold >= 0) | ~is_word).all(1)
        has_loss = all_known & (count > 0)
        return predicted, of_predicted, torch.where(has_loss, losses / count, torch.nan)

    def evaluate(self, examples: Sequence[Sentence]) -> Evaluation:
        """Words beyond the limit count as O, or, with plain tags, as wrong."""
        items = self.read(examples)
        answers = self.answers(items)
        gold = [list(sentence.tags) for sentence in examples]
        predicted = []
        rows = []
        unread = 0
        for sentence, item, answer in zip(examples, items, answers, strict=True):
            tags = self.all_tags(item, answer, len(sentence.words))
            unread += len(tags) - len(item.target.words)
            predicted.append(tags)
            row = {"line": sentence.line, "text": sentence.text, "gold": self.format_tags(sentence, sentence.tags)}
            row |= {
                "predicted": self.format_tags(sentence, tags),
                "right": tags == list(sentence.tags),
                "loss": answer.loss,
                "cut": item.left_out,
            }
            words = [sentence.text[start:end] for start, end in sentence.words]
            rows.append(row | {"words": words, "gold_tags": list(sentence.tags), "predicted_tags": tags})
        losses, word_counts = np.array([answer.loss for answer in answers]), [len(item.target.words) for item in items]
        finite = np.isfinite(losses)
        loss = (
            float(np.average(losses[finite], weights=np.array(word_counts)[finite])) if finite.any() else float("nan")
        )
        reached = metrics(gold, predicted, self.plain) | {"cut": unread / sum(map(len, gold)), "loss": loss}
        matrix = confusion(gold, predicted, self.plain)
        return Evaluation(reached, rows, tables(gold, predicted, self.plain), matrix)

    def all_tags(self, item: Item, answer: TaggedSentence, count: int) -> list[str]:
        """The tag of each word. A word that was not read has O or no tag, unless an entity continues after it."""
        tags = ["" if self.plain else OUTSIDE] * count
        read_words = item.target.words
        for i, (word, label) in enumerate(zip(read_words, answer.labels, strict=True)):
            tags[word] = self.labels[label]
            if i and not self.plain and tags[word].startswith("I-"):
                tags[read_words[i - 1] + 1 : word] = [tags[word]] * (word - read_words[i - 1] - 1)
        return tags

    def format_tags(self, sentence: Sentence, tags: Sequence[str]) -> str:
        """“Ada Lovelace (PER), London (LOC)”, or the plain tags."""
        if self.plain:
            return " ".join(tags)
        return ", ".join(f"{entity['text']} ({entity['label']})" for entity in entity_rows(sentence, entities(tags)))

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
        """The words of each text with tag and probability, and its entities as spans of characters of "text"."""
        texts = [self.tokenizer.prepare(" ".join(cells.values()))[0] for cells in inputs]
        if not all(text.strip() for text in texts):
            raise ExplorerError("The text is empty. Type a sentence.")
        sentences = [Sentence(0, text, tuple(split_words(text)), ()) for text in texts]
        items = self.read(sentences)
        results = []
        for sentence, item, answer in zip(sentences, items, self.answers(items), strict=True):
            tags, probabilities = self.all_tags(item, answer, len(sentence.words)), np.zeros(len(sentence.words))
            probabilities[item.target.words] = answer.probabilities
            word_rows = [
                {"text": sentence.text[start:end], "start": start, "end": end, "tag": tag, "probability": float(share)}
                for (start, end), tag, share in zip(sentence.words, tags, probabilities, strict=True)
            ]
            spans = words_as_entities(tags) if self.plain else entities(tags)
            span_rows = [
                row | {"probability": float(np.mean(probabilities[span.start : span.end]))}
                for row, span in zip(entity_rows(sentence, spans), spans, strict=True)
            ]
            results.append({"text": sentence.text, "words": word_rows, "entities": span_rows, "cut": item.left_out})
        return results


def entity_rows(sentence: Sentence, entities: Sequence[Entity]) -> list[dict[str, Any]]:
    """Entities with their text and position, in characters."""
    spans = [(kind, sentence.words[start][0], sentence.words[end - 1][1]) for kind, start, end in entities]
    return [{"text": sentence.text[a:b], "label": kind, "start": a, "end": b} for kind, a, b in spans]


def first_tokens(
    spans: Sequence[tuple[int, int]], encoding: Any
) -> tuple[Int[np.ndarray, " w"], Int[np.ndarray, " w"]]:
    """The indices of the words that have a token, and the first token (of a tokenizers.Encoding) of each."""
    if not spans:
        return np.zeros(0, int), np.zeros(0, int)
    bounds, tokens = np.array(spans), np.array(encoding.offsets)
    token_indices = np.flatnonzero((np.array(encoding.special_tokens_mask) == 0) & (tokens[:, 1] > tokens[:, 0]))
    # the first word that ends after the token begins
    word_of_token = np.searchsorted(bounds[:, 1], tokens[token_indices, 0], side="right")
    has_word = word_of_token < len(bounds)
    token_indices, word_of_token = token_indices[has_word], word_of_token[has_word]
    overlaps = tokens[token_indices, 1] > bounds[word_of_token, 0]
    words, first = np.unique(word_of_token[overlaps], return_index=True)
    return words, token_indices[overlaps][first]

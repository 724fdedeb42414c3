"""Tagging: the encoder with a token classifier and optionally a CRF over its logits."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Self, TypedDict, cast

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
from bertexplorer.training.learner import ExampleInWords, ExplainedAnswer, Traceable
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.task import EvaluatedRow, Evaluation
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


class WordLogits(NamedTuple):
    """The head's output for the words of a batch, each at its first token, packed to the left."""

    logits: Float[Tensor, "b w l"]
    gold: Int[Tensor, "b w"]  # label, UNKNOWN or, at padding, NO_WORD
    is_word: Bool[Tensor, "b w"]  # False at padding


class WordLabels(NamedTuple):
    """The labels that are predicted for the words of a batch."""

    labels: Int[Tensor, "b w"]
    probabilities: Float[Tensor, "b w"]  # of these labels
    losses: Float[Tensor, " b"]  # of each sentence, in nats per word


class TaggedSentence(NamedTuple):
    """The label of each word that is read, its probability, and the loss of the sentence in nats per word."""

    labels: Int[np.ndarray, " w"]
    probabilities: Float[np.ndarray, " w"]
    loss: float


class EvaluatedSentence(EvaluatedRow):
    """*gold*, *predicted*: the entities with their types, or the plain tags."""

    words: list[str]
    gold_tags: list[str]  # of each word; the confusion matrix counts them
    predicted_tags: list[str]


class TextSpan(TypedDict):
    """A span of a text, *start* up to, not including, *end*, in characters."""

    text: str
    start: int
    end: int


class TaggedWord(TextSpan):
    tag: str
    probability: float


class LabelledSpan(TextSpan):
    label: str


class FoundEntity(LabelledSpan):
    probability: float  # mean of its words


class TaggedText(TypedDict):
    """The answer to a text."""

    text: str
    words: list[TaggedWord]
    entities: list[FoundEntity]
    cut: int  # tokens beyond the limit


class Tagger(Traceable):
    """The encoder with its token classifier and optionally a CRF. A word is represented by its first token."""

    weights = {"tag": 1.0}
    heads = ("token_classifier",)
    saved = ("plain",)

    def __init__(self, checkpoint: Checkpoint, options: Options, plain: bool) -> None:
        """*plain*: whether the tags are plain, without B- and I-."""
        self.labels, self.plain = checkpoint.labels, plain
        extra = {"crf": CRF(self.labels, plain)} if options.head == "crf" else {}
        super().__init__(checkpoint, options, extra=extra)

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Sentence], options: Options, *, seed: int) -> Self:
        """A tagger for the tags of *train*. A head that already has exactly these tags is trained further. Raises
        ExplorerError for fewer than 2 tags, and for too many."""
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
        encodings = self.tokenizer.truncating.encode_batch([sentence.text for sentence in examples])
        items = []
        for sentence, encoding in zip(examples, encodings, strict=True):
            words, tokens = first_tokens(sentence.words, encoding)
            labels = np.full(len(words), UNKNOWN, int)
            if sentence.tags:
                tags = [sentence.tags[word] for word in words]
                if not self.plain:
                    tags = to_iob2(entities(tags), len(tags))
                labels = np.array([index.get(tag, UNKNOWN) for tag in tags], int)
            left_out = sum(len(part.ids) - 2 for part in encoding.overflowing)  # without [CLS] and [SEP]
            items.append(Item(encoding.ids, encoding.type_ids, Target(words, tokens, labels), left_out))
        return items

    def targets(self, items: Sequence[Item]) -> Int[Tensor, "b t"]:
        """The label at the first token of each word that is read, NO_WORD elsewhere."""
        targets = torch.full((len(items), max(len(item.ids) for item in items)), NO_WORD)
        for row, item in enumerate(items):
            targets[row, torch.from_numpy(item.target.tokens)] = torch.from_numpy(item.target.labels)
        return targets

    def logits(self, batch: TextBatch) -> WordLogits:
        is_word = batch.targets != NO_WORD
        count = max(1, int(is_word.sum(1).max()))
        order = (~is_word).int().argsort(dim=1, stable=True)[:, :count]  # the first tokens of words, before all others
        last = hidden_states(self.modules["encoder"], batch)
        last = last.gather(1, order.unsqueeze(2).expand(-1, -1, last.shape[2]))
        logits: Tensor = self.modules["token_classifier"](last)
        return WordLogits(logits.float(), batch.targets.gather(1, order), is_word.gather(1, order))

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

    def example_to_explain(self, cells: Mapping[str, str], answer: str) -> ExplainedAnswer:
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
        return ExplainedAnswer(self.describe_example(sentence).answer, sentence)

    def describe_example(self, example: Sentence) -> ExampleInWords:
        return ExampleInWords((example.text,), self.format_tags(example, example.tags) or "no entity")

    def answers(self, items: Sequence[Item]) -> list[TaggedSentence]:
        """An answer per item."""

        def compute(part: list[Item], batch: TextBatch) -> Iterator[TaggedSentence]:
            decoded = self.decode(self.logits(batch))
            labels, probabilities = decoded.labels.cpu().numpy(), decoded.probabilities.cpu().numpy()
            losses = decoded.losses.tolist()
            for row, item in enumerate(part):
                count = len(item.target.words)
                yield TaggedSentence(labels[row, :count], probabilities[row, :count], losses[row])

        return self.in_batches(items, compute)

    def decode(self, words: WordLogits) -> WordLabels:
        """The labels of words. The loss is NaN for a sentence without words, or with a tag that was not trained."""
        logits, gold, is_word = words
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
        return WordLabels(predicted, of_predicted, torch.where(has_loss, losses / count, torch.nan))

    def evaluate(self, examples: Sequence[Sentence]) -> Evaluation:
        """Words beyond the limit count as O, or, with plain tags, as wrong."""
        # 1. A row for each sentence
        items = self.read(examples)
        answers = self.answers(items)
        rows: list[EvaluatedSentence] = []
        for sentence, item, answer in zip(examples, items, answers, strict=True):
            tags = self.all_tags(item, answer, len(sentence.words))
            rows.append(
                {
                    "line": sentence.line,
                    "text": sentence.text,
                    "gold": self.format_tags(sentence, sentence.tags),
                    "predicted": self.format_tags(sentence, tags),
                    "right": tags == list(sentence.tags),
                    "loss": answer.loss,
                    "cut": item.left_out,
                    "words": [sentence.text[start:end] for start, end in sentence.words],
                    "gold_tags": list(sentence.tags),
                    "predicted_tags": tags,
                }
            )

        # 2. All sentences together
        gold = [row["gold_tags"] for row in rows]
        predicted = [row["predicted_tags"] for row in rows]
        words = sum(map(len, gold))
        words_read = np.array([len(item.target.words) for item in items])
        losses = np.array([answer.loss for answer in answers])
        loss = float("nan")
        has_loss = np.isfinite(losses)
        if has_loss.any():
            loss = float(np.average(losses[has_loss], weights=words_read[has_loss]))
        reached = metrics(gold, predicted, self.plain)
        reached |= {"cut": (words - int(words_read.sum())) / words, "loss": loss}
        matrix = confusion(gold, predicted, self.plain)
        return Evaluation(reached, rows, tables(gold, predicted, self.plain), matrix)

    def all_tags(self, item: Item, answer: TaggedSentence, count: int) -> list[str]:
        """The tags of the *count* words of a sentence. A word that was not read has O or no tag, unless an entity
        continues after it."""
        tags = ["" if self.plain else OUTSIDE] * count
        previous = -1  # the word that was read before
        for word, label in zip(item.target.words, answer.labels, strict=True):
            tag = self.labels[label]
            tags[word] = tag
            continues = previous >= 0 and not self.plain and tag.startswith("I-")
            if continues:
                for between in range(previous + 1, word):
                    tags[between] = tag
            previous = word
        return tags

    def format_tags(self, sentence: Sentence, tags: Sequence[str]) -> str:
        """“Ada Lovelace (PER), London (LOC)”, or the plain tags."""
        if self.plain:
            return " ".join(tags)
        spans = (entity_span(sentence, entity) for entity in entities(tags))
        return ", ".join(f"{span['text']} ({span['label']})" for span in spans)

    def predict(self, inputs: Sequence[Mapping[str, str]]) -> list[TaggedText]:
        texts = [self.tokenizer.prepare(" ".join(cells.values()))[0] for cells in inputs]
        if not all(text.strip() for text in texts):
            raise ExplorerError("The text is empty. Type a sentence.")
        sentences = [Sentence(0, text, tuple(split_words(text)), ()) for text in texts]
        items = self.read(sentences)
        results: list[TaggedText] = []
        for sentence, item, answer in zip(sentences, items, self.answers(items), strict=True):
            tags = self.all_tags(item, answer, len(sentence.words))
            probabilities = np.zeros(len(sentence.words))  # 0 for words that were not read
            probabilities[item.target.words] = answer.probabilities
            words: list[TaggedWord] = []
            for (start, end), tag, probability in zip(sentence.words, tags, probabilities.tolist(), strict=True):
                text = sentence.text[start:end]
                words.append({"text": text, "start": start, "end": end, "tag": tag, "probability": probability})
            found: list[FoundEntity] = []
            for entity in words_as_entities(tags) if self.plain else entities(tags):
                probability = float(np.mean(probabilities[entity.start : entity.end]))
                found.append({**entity_span(sentence, entity), "probability": probability})
            results.append({"text": sentence.text, "words": words, "entities": found, "cut": item.left_out})
        return results


def entity_span(sentence: Sentence, entity: Entity) -> LabelledSpan:
    """An entity, whose bounds are words, in characters."""
    start, end = sentence.words[entity.start][0], sentence.words[entity.end - 1][1]
    return {"text": sentence.text[start:end], "label": entity.kind, "start": start, "end": end}


def first_tokens(
    spans: Sequence[tuple[int, int]], encoding: Any
) -> tuple[Int[np.ndarray, " w"], Int[np.ndarray, " w"]]:
    """(the indices of the words that have a token, the index of the first token of each). *spans*: of the words, in
    characters; *encoding*: a tokenizers.Encoding of their text."""
    if not spans:
        return np.zeros(0, int), np.zeros(0, int)
    words, tokens = np.array(spans), np.array(encoding.offsets)  # first and after the last character of each
    is_special = np.array(encoding.special_tokens_mask) == 1
    is_empty = tokens[:, 1] <= tokens[:, 0]
    indices = np.flatnonzero(~is_special & ~is_empty)  # of tokens
    word_of = np.searchsorted(
        words[:, 1], tokens[indices, 0], side="right"
    )  # the first that ends after the token begins
    has_word = word_of < len(words)
    indices, word_of = indices[has_word], word_of[has_word]
    overlap = tokens[indices, 1] > words[word_of, 0]
    indices, word_of = indices[overlap], word_of[overlap]
    with_token, first = np.unique(word_of, return_index=True)
    return with_token, indices[first]

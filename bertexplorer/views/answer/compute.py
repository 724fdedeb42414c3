"""Answer: the prediction of a fine-tuned head for a text: its label and the words that it rests on, a tag for each
word, or a span."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers import task_head
from bertexplorer.answers.question import log_softmax
from bertexplorer.answers.readout import (
    REPLACED,
    SimilarityReadout,
    SpanReadout,
    TagReadout,
    TunedReadout,
    require_tuned,
)
from bertexplorer.answers.task_head import LONGEST, NOWHERE, AnswerKind, Training
from bertexplorer.answers.texts import encode_candidate, parse_candidates
from bertexplorer.answers.word_merging import Unit, units
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.crf import CRF

KEYS, MEASURE = ("kind", "position", "token", "answer"), "value"
BEST_ONLY = True  # rows lists only those with the largest numbers
LIKELY = 0.5  # probability above which a text has one of several labels
NO_ANSWER = "no answer"
MOST_WORDS = 40  # of a text whose words are hidden, one at a time, to see what its label rests on
PASS_TOKENS = 16_384  # that these texts may have together


@dataclass(frozen=True)
class Options:
    top: Annotated[int, Option("Answers", 1, 100, info="labels, tags of a word, or spans")] = 10
    longest: Annotated[int, Option("Longest span", 1, 200, info="tokens of an answer in a passage")] = LONGEST
    others: Annotated[
        str, Option("Other second texts", info="up to 50, with | between; ranked with the second text", several=True)
    ] = ""


@dataclass(frozen=True)
class Label:
    """One label or tag. *index*: of its logit, 0-based; *value*: its probability, 0 to 1, the score, or the cosine."""

    name: str
    index: int
    logit: float
    value: float


@dataclass(frozen=True)
class HiddenWord:
    """A word of the text. *value*: the probability of the best label, 0 to 1, or the score, when [MASK] takes
    the place of the word."""

    word: str
    positions: tuple[int, ...]  # of its tokens, 0-based
    value: float


@dataclass(frozen=True)
class Passage:
    """A second text. *value*: of the best label of the pair in question, its probability, 0 to 1, or the score."""

    text: str
    value: float
    logit: float
    own: bool = False  # whether it is the second text of the pair in question


@dataclass(frozen=True)
class TaggedWord:
    """A word, or a token that may be replaced, and its tags: the chosen one, then the others, the most probable first.
    A CRF chooses the best path, whose tags need not be the most probable ones."""

    word: str
    positions: tuple[int, ...]  # of its tokens, 0-based; the tag is read at the first
    labels: tuple[Label, ...]

    @property
    def replaced(self) -> float:
        """The probability that another word stood here, by ELECTRA's discriminator."""
        best = self.labels[0]
        return best.value if best.name == REPLACED[1] else 1 - best.value


@dataclass(frozen=True)
class AnswerSpan:
    """A span of the passage. *probability*: that it starts at *first* times that it ends at *last*, each among all
    tokens."""

    text: str
    first: int  # token, 0-based
    last: int  # token, included
    logit: float  # sum of the start's and the end's
    probability: float


@dataclass(frozen=True)
class CheckpointAnswer:
    """An answer of one kind; the fields of other kinds are empty."""

    kind: AnswerKind
    tokens: tuple[str, ...]
    labels: tuple[Label, ...] = ()  # of the text, best first
    hidden: tuple[HiddenWord, ...] = ()  # each word of a short text, in its order
    passages: tuple[Passage, ...] = ()  # the second text and others with the same first, best first; () for it alone
    first: str = ""  # the first text, if there are other second ones
    words: tuple[TaggedWord, ...] = ()
    spans: tuple[AnswerSpan, ...] = ()  # best first
    nothing: AnswerSpan | None = None  # no answer: both at [CLS]
    starts: Float[np.ndarray, " t"] = field(default_factory=lambda: np.zeros(0))  # probability of each token
    ends: Float[np.ndarray, " t"] = field(default_factory=lambda: np.zeros(0))
    inside: tuple[int, ...] = ()  # tokens of the passage
    no_answer: bool = False  # whether the answer is that there is none
    training: Training = Training()
    longest: int = 0  # tokens of the text, or of the longer of two that are encoded alone; a run may cut longer ones
    span_limit: int = LONGEST  # tokens of a span
    by_crf: bool = False  # whether a CRF chose the tags, and gives their probabilities
    reranks: bool = False  # whether the score says how well the second text fits the first
    relevance_function: str = ""  # of a re-ranker: what its files make of the score, such as "Sigmoid"
    relevance: float | None = None  # what that makes of it; None if it is not built in
    top: int = 10  # answers that are drawn
    left_out: int = 0  # tokens beyond the checkpoint's limit
    caveats: tuple[str, ...] = ()  # where a sentence encoder's own cosine differs, as sentences

    @property
    def chosen(self) -> tuple[str, ...]:
        """The answer: the label, those of several labels that are likely, the tag of each word, or the span."""
        if self.kind in ("tag", "replaced"):
            return tuple(word.labels[0].name for word in self.words)
        if self.kind == "span":
            return (NO_ANSWER if self.no_answer else self.spans[0].text,)
        if self.kind == "labels":
            return tuple(label.name for label in self.labels if label.value > LIKELY)
        return (self.labels[0].name,)

    @property
    def scored(self) -> bool:
        """Whether the answer is a score or a cosine, which has no probability."""
        return self.kind in ("score", "similarity")

    @property
    def score(self) -> float | None:
        """The cosine of two texts as a score on the scale of the run's training rows; None if it has no scale."""
        if self.kind != "similarity" or self.training.scale is None:
            return None
        low, high = self.training.scale
        return low + min(1.0, max(0.0, self.labels[0].value)) * (high - low)


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> CheckpointAnswer:
    """The answer of the fine-tuned head; of ELECTRA's discriminator, which tokens were replaced. In question answering
    the first text is the question, the second the passage. A run that learned to compare two texts answers with the
    cosine of their vectors, each read alone.

    Probabilities are a softmax over the labels; a sigmoid of each where a text may have several; over all paths of tags
    where the run has a CRF. Raises ExplorerError without a fine-tuned head, and for a question without a passage."""
    readout = require_tuned(checkpoint)
    encoding = readout.encode(text)
    tokens = checkpoint.tokenizer.show_all(encoding.ids)
    training = task_head.training_of(checkpoint)
    empty = CheckpointAnswer(
        readout.kind,
        tokens,
        training=training,
        reranks=readout.kind == "score" and task_head.reranks(checkpoint),
        top=options.top,
        longest=len(tokens),
        left_out=encoding.left_out,
    )
    if isinstance(readout, SimilarityReadout):
        [[cosine]] = readout.rows([encoding], [0])
        longest = max(map(len, engine.text_positions(encoding)))
        caveats = task_head.pair_caveats(checkpoint, encoding)
        label = Label("cosine", 0, float(cosine), float(cosine))
        return replace(empty, labels=(label,), longest=longest, caveats=caveats)
    if isinstance(readout, TagReadout):
        crf = task_head.crf_of(checkpoint, empty.training)
        return replace(empty, words=tag_words(readout, encoding, options.top, crf), by_crf=crf is not None)
    if isinstance(readout, SpanReadout):
        return with_spans(readout, encoding, empty, options)
    words = hideable_words(checkpoint, encoding)
    logits = text_logits(readout, [encoding, *(encoding.hide(word.positions) for word in words)])
    labels = ranked_labels(readout, readout.names(encoding), logits[0])
    values = label_values(readout, logits[1:])[:, labels[0].index].tolist()
    hidden = tuple(HiddenWord(word.label, word.positions, value) for word, value in zip(words, values, strict=True))
    ranked = rank_passages(readout, Text.of(text), encoding, options.others, labels[0])
    if empty.reranks:
        name, relevance = task_head.relevance_of(checkpoint, labels[0].logit)
        empty = replace(empty, relevance_function=name, relevance=relevance)
    return replace(empty, labels=labels, hidden=hidden, passages=ranked, first=encoding.texts[0] if ranked else "")


def text_logits(readout: TunedReadout, encodings: Sequence[Encoding]) -> Float[np.ndarray, "n l"]:
    """The logits of the labels for each text."""
    logits = engine.head_logits(readout.checkpoint, encodings, readout.head)
    return np.stack([one.double().numpy() for one in logits])


def rank_passages(
    readout: TunedReadout, text: Text, encoding: Encoding, others: str, best: Label
) -> tuple[Passage, ...]:
    """The second text and the *others* by the number of the label *best*, the highest first; () without others. Raises
    ExplorerError without a second text, and for others that cannot be read."""
    if not others.strip():
        return ()
    if encoding.second_start is None:
        raise ExplorerError(
            "There is no second text to rank with the others. Type the first of them as the second sentence.",
            code="pair",
        )
    first = replace(text, second="", hidden=tuple(span for span in text.hidden if span.side == 0))
    pairs = [encode_candidate(readout.checkpoint, first, other) for other in parse_candidates(others)]
    pairs = [pair for pair in pairs if pair.ids != encoding.ids]  # the second text is included already
    passages = [Passage(encoding.texts[1], best.value, best.logit, own=True)]
    if pairs:
        logits = text_logits(readout, pairs)
        values = label_values(readout, logits)[:, best.index].tolist()
        for pair, value, logit in zip(pairs, values, logits[:, best.index].tolist(), strict=True):
            passages.append(Passage(pair.texts[1], value, logit))
    return tuple(sorted(passages, key=lambda passage: -passage.logit if readout.scored else -passage.value))


def hideable_words(checkpoint: Checkpoint, encoding: Encoding) -> list[Unit]:
    """The words that can be hidden; none of a long text, or if the checkpoint has no mask."""
    if encoding.mask_id is None:
        return []
    masked = set(encoding.masked)
    words = [
        unit
        for unit in units(checkpoint, encoding, merge=True)
        if not unit.special and not masked.issuperset(unit.positions)
    ]
    return words if len(words) <= MOST_WORDS and len(words) * len(encoding) <= PASS_TOKENS else []


def ranked_labels(readout: TunedReadout, names: Sequence[str], logits: Float[np.ndarray, " l"]) -> tuple[Label, ...]:
    """A Label for each logit, the largest first."""
    values = label_values(readout, logits[None])[0]
    order = np.argsort(-logits, kind="stable").tolist()
    return tuple(Label(names[i], i, float(logits[i]), float(values[i])) for i in order)


def label_values(readout: TunedReadout, logits: Float[np.ndarray, "n l"]) -> Float[np.ndarray, "n l"]:
    """The probabilities of labels, or the scores."""
    rows = readout.classes(logits, 0)
    return rows if readout.scored else np.exp(rows)


def tag_words(readout: TagReadout, encoding: Encoding, top: int, crf: CRF | None) -> tuple[TaggedWord, ...]:
    """The tags of every word, as *crf* chooses them if there is one. Raises ExplorerError if there is no word."""
    words, names = readout.words(encoding), readout.names(encoding)
    [logits] = engine.head_logits(readout.checkpoint, [encoding], readout.head)
    logits = logits[[word.positions[0] for word in words]]
    all_probabilities, best = tag_probabilities(logits, crf)
    top = max(top, len(REPLACED)) if readout.kind == "replaced" else top
    tagged = []
    for word, word_logits, probabilities, best_tag in zip(
        words, logits.double().numpy(), all_probabilities, best, strict=True
    ):
        order = [best_tag, *(i for i in np.argsort(-probabilities, kind="stable").tolist() if i != best_tag)][:top]
        labels = tuple(Label(names[i], i, float(word_logits[i]), float(probabilities[i])) for i in order)
        tagged.append(TaggedWord(word.text, word.positions, labels))
    return tuple(tagged)


def tag_probabilities(logits: Tensor, crf: CRF | None) -> tuple[Float[np.ndarray, "w l"], list[int]]:
    """For the w x l *logits* of words: the probability of each tag, and the index of each word's chosen tag."""
    if crf is None:
        values = np.exp(log_softmax(logits.double().numpy()))
        return values, values.argmax(axis=1).tolist()
    mask = logits.new_ones(1, len(logits)).bool()
    path: list[int] = crf.decode(logits[None], mask)[0].tolist()
    return crf.marginals(logits[None], mask)[0].double().numpy(), path


def with_spans(readout: SpanReadout, encoding: Encoding, empty: CheckpointAnswer, options: Options) -> CheckpointAnswer:
    """*empty* with the best spans of the passage."""
    logits = engine.head_logits(readout.checkpoint, [encoding], readout.head)[0].double().numpy()
    log_probs = log_softmax(logits, axis=0)
    inside = task_head.passage(encoding)

    def extract(first: int, last: int, text: str) -> AnswerSpan:
        p = float(np.exp(log_probs[first, 0] + log_probs[last, 1]))
        return AnswerSpan(text, first, last, float(logits[first, 0] + logits[last, 1]), p)

    best = task_head.best_spans(logits[:, 0], logits[:, 1], inside, options.longest, options.top)
    spans = tuple(extract(first, last, span_text(encoding, first, last)) for first, last in best)
    nothing = extract(NOWHERE, NOWHERE, NO_ANSWER)
    return replace(
        empty,
        spans=spans,
        nothing=nothing,
        starts=np.exp(log_probs[:, 0]),
        ends=np.exp(log_probs[:, 1]),
        inside=tuple(np.flatnonzero(inside).tolist()),
        span_limit=options.longest,
        no_answer=empty.training.rejects(nothing.logit, spans[0].logit),
    )


def span_text(encoding: Encoding, first: int, last: int) -> str:
    """The characters of the passage from token *first* to token *last*."""
    start, end = encoding.spans[first], encoding.spans[last]
    return encoding.texts[1][start.start : end.end] if start and end else ""


def rows(result: CheckpointAnswer) -> list[dict[str, object]]:
    """A row for each label of the text, each word that was hidden and each second text, each tag of each word, or each
    span and each token of the passage. *value*: the probability, or the score; of a hidden word, that of the best label
    without it. *position* is that of a token, 0-based; empty for the whole text."""
    if result.kind in ("tag", "replaced"):
        return [
            row(result.kind, word.positions[0], word.word, entry.name, rank, entry.value, entry.logit, rank == 1)
            for word in result.words
            for rank, entry in enumerate(word.labels, 1)
        ]
    if result.kind == "span" and result.nothing:
        chosen = result.nothing if result.no_answer else result.spans[0]
        kinds = [*(("span", span) for span in result.spans), (NO_ANSWER, result.nothing)]
        table = [
            row(kind, "", "", span.text, rank, span.probability, span.logit, span is chosen)
            for rank, (kind, span) in enumerate(kinds, 1)
        ]
        sides = (("start", result.starts), ("end", result.ends))
        return table + [
            row(kind, i, result.tokens[i], kind, "", float(values[i]), "", False)
            for kind, values in sides
            for i in result.inside
        ]
    table = [
        row(result.kind, "", "", entry.name, rank, entry.value, entry.logit, entry.name in result.chosen)
        for rank, entry in enumerate(result.labels, 1)
    ]
    scored = []
    if result.score is not None:
        scored.append(row(result.kind, "", "", "score", 2, result.score, "", False))
    if result.relevance is not None:
        scored.append(row(result.kind, "", "", "relevance", 2, result.relevance, "", False))
    without = [
        row("hidden", word.positions[0], word.word, result.labels[0].name, "", word.value, "", False)
        for word in result.hidden
    ]
    ranked = [
        row("passage", "", passage.text, result.labels[0].name, rank, passage.value, passage.logit, passage.own)
        for rank, passage in enumerate(result.passages, 1)
    ]
    return table + scored + without + ranked


def row(
    kind: str, position: object, token: str, answer: str, rank: object, value: float, logit: object, chosen: bool
) -> dict[str, object]:
    fields = {"kind": kind, "position": position, "token": token, "answer": answer}
    return {**fields, "rank": rank, "value": value, "logit": logit, "chosen": chosen}


def is_share(result: CheckpointAnswer) -> bool:
    """A score or a cosine is none."""
    return not result.scored


class Facts(facts.Facts[CheckpointAnswer]):
    """*word* is a word of the text that has a tag."""

    def answer(self, rank: int = 1) -> str:
        """The label or span with this rank; "no answer" where the answer is that there is none."""
        if self._result.kind == "span":
            if rank == 1 and self._result.no_answer:
                return NO_ANSWER
            return facts.item(self._result.spans, rank, "span").text
        return facts.item(self._result.labels, rank, "label").name

    def p(self, name: str) -> float:
        """Probability of a label, 0 to 1; of a regression, its score; of two texts that are compared, their cosine."""
        labels = self._result.labels
        return labels[facts.name_index([label.name for label in labels], name, "label")].value

    def p_without(self, word: str, nth: int = 1) -> float:
        """Probability of the best label, 0 to 1, or the score, when a word is hidden."""
        words = self._result.hidden
        return words[facts.label_index([entry.word for entry in words], word, nth)].value

    def passage(self, rank: int = 1) -> str:
        """The second text with this rank among the others."""
        return facts.item(self._result.passages, rank, "passage").text

    def rests_on(self) -> str:
        """The word without which the best label falls furthest."""
        return facts.item(sorted(self._result.hidden, key=lambda word: word.value), 1, "word").word

    def p_span(self, rank: int = 1) -> float:
        """Probability of the span with this rank, 0 to 1."""
        return facts.item(self._result.spans, rank, "span").probability

    def p_no_answer(self) -> float:
        """Probability that the passage has no answer, 0 to 1."""
        return self._result.nothing.probability if self._result.nothing else 0.0

    def tag(self, word: str, nth: int = 1) -> str:
        """The tag of a word."""
        return self._word(word, nth).labels[0].name

    def p_tag(self, word: str, nth: int = 1) -> float:
        """Probability of the tag of a word, 0 to 1."""
        return self._word(word, nth).labels[0].value

    def tagged(self) -> float:
        """Words with a tag other than O, or tokens taken for replaced."""
        readout = require_tuned(self._checkpoint)
        plain = readout.plain if isinstance(readout, TagReadout) else ""
        return sum(word.labels[0].name != plain for word in self._result.words)

    def p_replaced(self, word: str, nth: int = 1) -> float:
        """Probability that a token was replaced, 0 to 1."""
        return self._word(word, nth).replaced

    def labels(self) -> float:
        """Labels or tags that the head can give."""
        return len(REPLACED if self._result.kind == "replaced" else self._checkpoint.labels)

    def _word(self, word: str, nth: int) -> TaggedWord:
        return self._result.words[facts.label_index([entry.word for entry in self._result.words], word, nth)]

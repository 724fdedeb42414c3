"""Sentence vectors, cosines, the plane of principal components, and the scores of random pairs of words."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.sample_sentences import TOPICS
from bertexplorer.engine.progress import working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import TOKENS, Encoding, Span, Text, overlap

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

Pooling = Literal["own", "mean", "CLS", "max", "last four summed"]
OWN_INFO = "own: as the checkpoint's files say, else the mean"
WORD = re.compile(r"\w+")


@dataclass(frozen=True)
class LabelledLine:
    """An uploaded line, its label, and where it stands in its file, 1 for the first line; 0 if that is not known."""

    text: str
    label: str = ""
    line: int = field(default=0, compare=False)


def built_in() -> tuple[LabelledLine, ...]:
    """The sample sentences, each with its topic."""
    lines: list[LabelledLine] = []
    for topic, sentences in TOPICS.items():
        lines += [LabelledLine(sentence, topic) for sentence in sentences]
    return tuple(lines)


BUILT_IN = built_in()


class VectorIndex(Protocol):
    """A store of vectors that can be searched, such as `store.index`. A collection contains vectors of one kind."""

    def count(self, collection: str) -> int:
        """The number of vectors in *collection*; 0 if there is no such collection."""

    def upsert(self, collection: str, vectors: Float[np.ndarray, "n d"], payloads: Sequence[Mapping[str, Any]]) -> None:
        """Store *vectors* with their *payloads* as entries 0 to n - 1 of *collection*."""

    def query(
        self, collection: str, vector: Float[np.ndarray, " d"], top: int
    ) -> list[tuple[float, Mapping[str, Any]]]:
        """The *top* entries with the greatest cosine with *vector*, best first, each with its payload."""


def layer_of(checkpoint: Checkpoint, layer: int) -> int:
    """*layer* as an index; -1 means the last. Raises ExplorerError if the checkpoint has no such layer."""
    count = checkpoint.config.num_layers
    if not -1 <= layer <= count:
        raise ExplorerError(
            f"Layer {layer} was requested; {checkpoint.name} has layers 1 to {count}, and 0, the input of the first. "
            f"Choose one of these, or -1 for the last."
        )
    return count if layer == -1 else layer


def own_or_mean(checkpoint: Checkpoint, pooling: Pooling) -> Pooling:
    """*pooling*; "mean" for "own" if the checkpoint has no sentence encoder of its own."""
    return "mean" if pooling == "own" and checkpoint.sentence_encoder is None else pooling


NO_PROMPT = "none"  # what is typed for it
WITHOUT_ADAPTERS = (
    "This family has an adapter for each task, which is not read here. Unless one was merged into the checkpoint with "
    "PEFT, these are the vectors of the encoder alone."
)


def without_adapters(checkpoint: Checkpoint) -> str:
    """A sentence if the adapters of *checkpoint* are missing; '' if it has none."""
    return WITHOUT_ADAPTERS if checkpoint.family == "jina_embeddings_v3" else ""


def departure(checkpoint: Checkpoint, pooling: str, layer: int, *, lengths: bool) -> str:
    """A sentence that says that *pooling* at *layer* (an index) makes other vectors than the checkpoint's own sentence
    encoder, or that its adapters are missing; '' if it does not, or if there is none. *lengths*: whether the lengths of
    vectors matter, as they do not for cosines."""
    own = checkpoint.sentence_encoder
    about = without_adapters(checkpoint)
    if own is None:
        return about
    if own.problem:
        return f"{about} {own.problem}".strip()
    steps = own.steps[:-1] if own.normalizes and not lengths else own.steps
    alike = pooling == "own" or (not steps and engine.sentence_encoder_of(checkpoint, pooling).modes == own.modes)
    if alike and pooling != "last four summed" and layer == checkpoint.config.num_layers:
        return about
    return f"{about} This departs from the checkpoint's own sentence encoder: {own}, at the last layer.".strip()


def encode_sentence(checkpoint: Checkpoint, text: Text | str, prompt: str | None = None) -> Encoding:
    """The input of the encoder for the vector of *text*: cut at the limit of the checkpoint's own sentence encoder, and
    in lower case if that reads it so. *prompt*: the name of what stands before the text; None: the checkpoint's
    default, "": nothing. Raises ExplorerError as `Tokenizer.encode` and `SentenceEncoder.prompt` do."""
    text = Text.of(text)
    own, tokenizer = checkpoint.sentence_encoder, checkpoint.sentence_tokenizer
    before = engine.prompt_of(checkpoint, prompt)
    text = put_before(before, text)
    if own and own.lower_case:
        before, text = before.lower(), in_lower_case(text)
    encoding = tokenizer.encode(text)
    if own and not own.pools_prompt and before.strip():
        alone = tokenizer.encode(before)
        encoding = replace(encoding, unpooled=len(alone) - alone.special[-1])  # [SEP] stands after the text
    return encoding


def prompt_name(typed: str) -> str | None:
    """The name of a prompt as `SentenceEncoder.prompt` reads it, from what was typed."""
    typed = typed.strip()
    if not typed:
        return None
    return "" if typed == NO_PROMPT else typed


def put_before(prompt: str, text: Text) -> Text:
    """*text* with *prompt* before it."""

    def move(span: Span) -> Span:
        return Span(0, span.start + len(prompt), span.end + len(prompt)) if span.side == 0 else span

    hidden, picked = (tuple(map(move, spans)) for spans in (text.hidden, text.picked))
    return Text(prompt + text.first, text.second, hidden, picked)


def in_lower_case(text: Text) -> Text:
    """*text* in lower case. Some letters become two, which moves the spans behind them."""

    def move(span: Span) -> Span:
        part = text.second if span.side else text.first
        return span if span.side == TOKENS else Span(span.side, *(len(part[:end].lower()) for end in span[1:]))

    hidden, picked = (tuple(map(move, spans)) for spans in (text.hidden, text.picked))
    return Text(text.first.lower(), text.second.lower(), hidden, picked)


def encode_lines(
    encode: Callable[[str], Encoding], lines: Sequence[LabelledLine]
) -> tuple[list[Encoding], list[int], str]:
    """(encodings, their indices in *lines*, a note for the user). Lines that are empty or too long are left out.
    Raises ExplorerError if none is left."""
    encodings, indices = [], []
    for index, line in enumerate(lines):
        try:
            encodings.append(encode(line.text))
            indices.append(index)
        except ExplorerError:
            continue
    if not encodings:
        raise ExplorerError(f"None of the {len(lines):,} lines can be read. Give lines of text.")
    notices, skipped = [], len(lines) - len(indices)
    if skipped:
        notices.append(f"{skipped:,} of {len(lines):,} lines cannot be read and are left out.")
    if cut := cut_note(encodings, "line"):
        notices.append(cut)
    return encodings, indices, " ".join(notices)


def line_vectors(
    checkpoint: Checkpoint, lines: Sequence[LabelledLine], layer: int, pooling: str, prompt: str | None = None
) -> tuple[Float[np.ndarray, "n d"], list[int], str]:
    """(sentence vectors of *lines*, their indices in *lines*, a note for the user), as in `encode_lines`. *prompt*: as
    in `encode_sentence`. The vectors of BUILT_IN are cached with the checkpoint."""

    def make() -> tuple[Float[np.ndarray, "n d"], list[int], str]:
        encodings, indices, notes = encode_lines(partial(encode_sentence, checkpoint, prompt=prompt), lines)
        vectors = engine.sentence_vectors(checkpoint, encodings, layer=layer, pooling=pooling)
        return vectors.numpy(), indices, notes

    if lines is not BUILT_IN:
        return make()
    found: tuple[Float[np.ndarray, "n d"], list[int], str] = checkpoint.cache.get(
        ("built-in sentences", layer, pooling, prompt), make, lambda made: made[0].nbytes
    )
    return found


def cut_note(encodings: Sequence[Encoding], noun: str) -> str:
    """A sentence that says how many of *encodings*, each a *noun*, were cut at the limit of tokens; '' if none was."""
    cut = [len(encoding) for encoding in encodings if encoding.left_out]
    subject = f"{len(cut):,} {noun}{'s are' if cut[1:] else ' is'}"
    return f"{subject} longer than the {max(cut):,} tokens that are read, and cut." if cut else ""


def unit_vectors(vectors: Float[np.ndarray, "*n d"]) -> Float[np.ndarray, "*n d"]:
    """*vectors* scaled to length 1; a vector of length 0 is unchanged."""
    vectors = np.asarray(vectors, dtype=np.float64)
    return vectors / np.maximum(np.linalg.norm(vectors, axis=-1, keepdims=True), 1e-12)


def cosines(vectors: Float[np.ndarray, "*l n d"]) -> Float[np.ndarray, "*l n n"]:
    """Cosine of every two of the n vectors, layer by layer."""
    ones = unit_vectors(vectors)
    return np.clip(ones @ ones.swapaxes(-1, -2), -1, 1)


def mean_cosine(vectors: Float[np.ndarray, "n d"]) -> float:
    """Mean cosine over all pairs of different rows: the anisotropy of a set (Ethayarajh, 2019). NaN for one row."""
    count = len(vectors)
    if count < 2:
        return float("nan")
    return float((np.square(unit_vectors(vectors).sum(axis=0)).sum() - count) / (count * (count - 1)))


def principal(
    vectors: Float[np.ndarray, "n d"], count: int
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, "count d"], Float[np.ndarray, " count"]]:
    """(mean, axes, shares of the variance) of *count* principal components (Pearson, 1901), from the eigenvectors of
    the covariance, or the singular vectors if there are fewer vectors than dimensions: a tenth of the time for a
    sentence. The greatest entry of each axis is positive, so that a picture always comes out the same. Axes beyond the
    rank have the share 0."""
    vectors = np.asarray(vectors, dtype=np.float64)
    centred = vectors - (centre := np.asarray(vectors.mean(axis=0)))
    if count <= len(vectors) < vectors.shape[1]:
        _, singular_values, axes = np.linalg.svd(centred, full_matrices=False)
        values, axes = np.square(singular_values), axes[:count]
    else:
        values, axes = np.linalg.eigh(centred.T @ centred)
        values, axes = np.maximum(values[::-1], 0), axes[:, ::-1].T[:count]
    axes = axes * np.sign(axes[np.arange(len(axes)), np.abs(axes).argmax(axis=1)])[:, None]
    return centre, axes, values[:count] / max(values.sum(), 1e-12)


def trustworthiness(vectors: Float[np.ndarray, "n d"], points: Float[np.ndarray, "n k"], neighbours: int = 5) -> float:
    """How far the nearest *neighbours* on the map are also near in the full space (Venna and Kaski, 2001). 1: all of
    them are; a random map has about 0.5. Uses Euclidean distances and needs more than 2 * neighbours + 1 rows."""
    count = len(vectors)
    ranks = np.empty((count, count), dtype=np.int64)
    np.put_along_axis(ranks, neighbour_order(vectors), np.arange(count)[None, :], axis=1)  # 1: the nearest, 0: itself
    near = neighbour_order(points)[:, 1 : neighbours + 1]
    beyond = np.maximum(np.take_along_axis(ranks, near, axis=1) - neighbours, 0).sum()
    return 1 - float(beyond) * 2 / (count * neighbours * (2 * count - 3 * neighbours - 1))


def neighbour_order(points: Float[np.ndarray, "n d"]) -> np.ndarray:
    """For each point all points, nearest first, beginning with the point itself."""
    points = np.asarray(points, dtype=np.float64)
    squared_norms = np.square(points).sum(axis=1)
    squared_distances = squared_norms[:, None] + squared_norms[None, :] - 2 * points @ points.T
    np.fill_diagonal(squared_distances, -np.inf)
    return squared_distances.argsort(axis=1, kind="stable")


def piece_positions(encoding: Encoding, span: Span) -> tuple[int, ...]:
    """Positions of the pieces that cover characters of *span*."""
    return tuple(i for i, piece in enumerate(encoding.spans) if piece is not None and overlap(piece, span))


def baseline(checkpoint: Checkpoint) -> Float[np.ndarray, " layers"]:
    """Mean cosine of two different words in different sentences at every layer, 0 first: how close any two words are
    (the anisotropy of Ethayarajh, 2019). Over all such pairs of the built-in sentences. Cached with the checkpoint."""
    means: Float[np.ndarray, " layers"] = checkpoint.cache.get(
        "baseline of random words", lambda: measure_baseline(checkpoint), lambda values: values.nbytes
    )
    return means


def measure_baseline(checkpoint: Checkpoint) -> Float[np.ndarray, " layers"]:
    """As `baseline`, computed."""
    encodings = [checkpoint.tokenizer.encode(line.text) for line in BUILT_IN]
    names = []
    sentence_indices = []
    groups = []
    for sentence_index, encoding in enumerate(encodings):
        occurrences = [
            (match[0].lower(), piece_positions(encoding, Span(0, *match.span())))
            for match in WORD.finditer(encoding.texts[0])
        ]
        occurrences = [(name, positions) for name, positions in occurrences if positions]
        names += [name for name, _ in occurrences]
        sentence_indices += [sentence_index] * len(occurrences)
        groups.append([positions for _, positions in occurrences])
    words, sentences = np.array(names), np.array(sentence_indices)
    random = (words[:, None] != words[None, :]) & (sentences[:, None] != sentences[None, :])
    with working(None):
        vectors = engine.word_vectors(checkpoint, encodings, groups).numpy()
    return np.array([cosines(layer)[random].mean() for layer in vectors])

"""The vectors of the tokens of queries and passages, as the files of a ColBERT say, and what chance gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.vectors import BUILT_IN, put_before
from bertexplorer.engine.progress import working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Span, Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.multi_vector import MultiVectorEncoder, Task


@dataclass(frozen=True, eq=False)
class TokenVectors:
    """The vectors of a text's tokens, each of length 1."""

    encoding: Encoding  # with the tokens of the prompt and those that fill up a query, which have no span
    positions: list[int]  # of the tokens that have a vector
    vectors: Float[np.ndarray, "t e"]


def require_multi_vector(checkpoint: Checkpoint) -> MultiVectorEncoder:
    """What makes a vector of each token. Raises ExplorerError if the checkpoint's files do not say, or cannot be
    followed."""
    encoder = checkpoint.multi_vector
    if encoder is None:
        raise ExplorerError(
            f"{checkpoint.name} has no vectors of tokens of its own: its files are not those of a ColBERT. Choose such "
            "a checkpoint."
        )
    if encoder.problem:
        raise ExplorerError(encoder.problem)
    return encoder


def encode_tokens(checkpoint: Checkpoint, texts: Sequence[Text | str], task: Task) -> list[TokenVectors]:
    """The vectors of the tokens of each of *texts*, read as queries or as documents, by *task*. Raises ExplorerError
    as `require_multi_vector` and `Tokenizer.encode` do, and for another task."""
    encoder = require_multi_vector(checkpoint)
    if task not in encoder.sides:
        raise ExplorerError(f"task: got {task!r:.60}; wanted query or document.")
    if not texts:
        raise ExplorerError("No texts were given. Give a text or a list of them.")
    side = encoder.sides[task]
    read = [side.encode(put_before(side.prompt, Text.of(text))) for text in texts]
    encodings = [encoding for encoding, _ in read]
    made = engine.multi_vectors(checkpoint, encoder, encodings, [attended for _, attended in read])
    result = []
    for encoding, vectors in zip(encodings, made, strict=True):
        positions = side.kept(encoding)
        alone = without_prompt(encoding, len(side.prompt))
        result.append(TokenVectors(alone, positions, vectors[positions].numpy()))
    return result


def without_prompt(encoding: Encoding, length: int) -> Encoding:
    """*encoding* with spans that point into its text without the first *length* characters, the prompt."""
    spans: list[Span | None] = []
    for span in encoding.spans:
        inside = span is not None and span.end > length
        spans.append(Span(0, max(0, span.start - length), span.end - length) if span and inside else None)
    return replace(encoding, texts=(encoding.texts[0][length:], ""), spans=tuple(spans))


def chance_of(checkpoint: Checkpoint) -> float:
    """Mean cosine of two different tokens in different sentences, read as documents: what chance gives. Over the
    built-in sentences. Cached with the checkpoint."""
    return checkpoint.cache.get("chance of tokens", lambda: measure_chance(checkpoint), lambda _: 8)


def measure_chance(checkpoint: Checkpoint) -> float:
    """As `chance_of`, computed."""
    ids: list[int] = []
    sentences: list[int] = []
    vectors = []
    with working(None):
        made = encode_tokens(checkpoint, [line.text for line in BUILT_IN], "document")
    for number, tokens in enumerate(made):
        for place, position in enumerate(tokens.positions):
            if tokens.encoding.special[position]:
                continue
            ids.append(tokens.encoding.ids[position])
            sentences.append(number)
            vectors.append(tokens.vectors[place])
    token = np.array(ids)
    sentence = np.array(sentences)
    rows = np.stack(vectors)
    random = (token[:, None] != token[None, :]) & (sentence[:, None] != sentence[None, :])
    return float((rows @ rows.T)[random].mean())

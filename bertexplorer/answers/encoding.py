"""The vectors of texts as a program asks for them: fewer numbers, scaled, rounded; long texts in windows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.vectors import OWN_INFO, Pooling, cut_note, departure, encode_sentence, layer_of
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, without_panic
from bertexplorer.options import Option

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.sentence_encoder import SentenceEncoder

Numbers = Literal["fp32", "int8", "binary", "ubinary"]
MAX_WINDOWED = 1_000_000  # characters of a text that is read in windows


@dataclass(frozen=True)
class Options:
    """How the vector of a text is made."""

    pooling: Annotated[Pooling, Option("Pooling", info=OWN_INFO)] = "own"
    layer: Annotated[int, Option("Layer", -1, 48, info="0: the input of the first; -1: the last")] = -1
    truncate_dim: Annotated[int, Option("Numbers kept", 0, 16_384, info="the first ones; 0: all")] = 0
    normalize: Annotated[
        Literal["own", "yes", "no"], Option("Scaled to length 1", info="own: as the checkpoint's files say")
    ] = "own"
    numbers: Annotated[
        Numbers, Option("Numbers", info="int8: whole numbers up to 127; binary, ubinary: their signs, 8 in a byte")
    ] = "fp32"
    long: Annotated[
        Literal["cut", "windows"], Option("Long texts", info="windows: the mean of the vectors of their parts")
    ] = "cut"
    stride: Annotated[int, Option("Overlap of windows", 0, 8192, info="tokens that two windows share")] = 0


def encode_texts(
    checkpoint: Checkpoint, texts: Sequence[str], prompt: str | None, options: Options
) -> tuple[np.ndarray, list[str]]:
    """(a vector for each of *texts*, notes: which were cut, how they depart from the checkpoint's own encoder).
    *prompt*: as in `encode_sentence`. Raises ExplorerError as that does, and for settings that do not fit."""
    if not texts:
        raise ExplorerError("No texts were given. Give a text or a list of them.")
    depth = layer_of(checkpoint, options.layer)
    # 1. The input: a text, or its windows.
    if options.long == "cut":
        encodings = [encode_sentence(checkpoint, text, prompt) for text in texts]
        counts = [1] * len(texts)
    else:
        groups = [windows(checkpoint, text, prompt, options.stride) for text in texts]
        encodings = [encoding for group in groups for encoding in group]
        counts = [len(group) for group in groups]
    # 2. Their vectors.
    pooling: str | SentenceEncoder = options.pooling
    scaled = engine.sentence_encoder_of(checkpoint, options.pooling).normalizes
    if options.normalize == "no" and scaled:
        own = engine.sentence_encoder_of(checkpoint, options.pooling)
        pooling = replace(own, steps=own.steps[:-1])
    made = engine.sentence_vectors(checkpoint, encodings, layer=depth, pooling=pooling)
    if options.long == "windows":
        made = engine.mean_of_groups(made, counts, scaled=scaled and options.normalize != "no")
    # 3. What was asked of them.
    vectors = shortened(made.numpy(), options)
    notes = []
    if cut := cut_note(encodings, "text"):
        notes.append(cut)
    if departs := departure(checkpoint, options.pooling, depth, lengths=True):
        notes.append(departs)
    return rounded(vectors, options.numbers), notes


def shortened(vectors: Float[np.ndarray, "n d"], options: Options) -> Float[np.ndarray, "n e"]:
    """The first numbers of *vectors*, scaled if that was asked for. Raises ExplorerError if there are fewer."""
    width = vectors.shape[1]
    if options.truncate_dim > width:
        raise ExplorerError(f"truncate_dim: got {options.truncate_dim:,}; the vectors have {width:,} numbers.")
    if options.truncate_dim:
        vectors = vectors[:, : options.truncate_dim]
    if options.normalize == "yes":
        vectors = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
    return vectors


def rounded(vectors: Float[np.ndarray, "n d"], numbers: Numbers) -> np.ndarray:
    """*vectors* in fewer bits. int8: each is scaled so that its greatest number is 127 or -127, which keeps its cosines
    up to rounding, and does not depend on other texts. binary and ubinary: as in sentence-transformers, signs packed in
    bytes, from -128 or from 0."""
    if numbers == "fp32":
        return np.ascontiguousarray(vectors, dtype=np.float32)
    if numbers == "int8":
        greatest = np.maximum(np.abs(vectors).max(axis=1, keepdims=True), 1e-12)
        return np.rint(vectors / greatest * 127).astype(np.int8)
    bits = np.packbits(vectors > 0, axis=1)
    return bits if numbers == "ubinary" else (bits.astype(np.int16) - 128).astype(np.int8)


def windows(checkpoint: Checkpoint, text: str, prompt: str | None, stride: int, most_tokens: int = 0) -> list[Encoding]:
    """*text* in parts that the encoder reads whole, which share *stride* tokens, each with the *prompt* before it. They
    begin and end between words. *most_tokens*: of a window; 0: as many as the encoder reads. Raises ExplorerError if
    the text is too long, or the stride not shorter than a part."""
    if len(text) > MAX_WINDOWED:
        raise ExplorerError(
            f"The text has {len(text):,} characters; the limit in windows is {MAX_WINDOWED:,}. Split it."
        )
    tokenizer = checkpoint.sentence_tokenizer
    frame = len(encode_sentence(checkpoint, "a", prompt)) - 1  # tokens of the prompt, [CLS] and [SEP]
    room = (most_tokens or tokenizer.max_tokens) - frame
    if not 0 <= stride < room:
        raise ExplorerError(f"stride: got {stride:,}; wanted fewer than the {room:,} tokens of a window.")
    with without_panic():
        encoded = tokenizer.backend.encode(text, add_special_tokens=False)
    if len(encoded) <= room:
        return [encode_sentence(checkpoint, text, prompt)]
    words, offsets = encoded.word_ids, encoded.offsets
    starts = [i for i in range(len(words)) if i == 0 or words[i] != words[i - 1] or words[i] is None]
    starts.append(len(words))
    parts: list[Encoding] = []
    first = 0
    while first < len(words):
        end = max((i for i in starts if first < i <= first + room), default=min(first + room, len(words)))
        part = text[offsets[first][0] : offsets[end - 1][1]]
        if part.strip():
            parts.append(encode_sentence(checkpoint, part, prompt))
        if end == len(words):
            break
        next_first = max((i for i in starts if first < i <= end - stride), default=end)
        first = next_first
    return parts


def options_of(values: dict[str, Any]) -> dict[str, Any]:
    """Settings as Python has them -> as Options have them: None is "own" or all, True "yes"."""
    result = dict(values)
    normalize = result.get("normalize")
    if normalize is None or isinstance(normalize, bool):
        result["normalize"] = {None: "own", True: "yes", False: "no"}[normalize]
    if result.get("truncate_dim") is None:
        result["truncate_dim"] = 0
    return result

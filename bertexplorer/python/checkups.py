"""The doctor in Python: whose vectors are these, and where is my BERT wrong?"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.diagnosis import files, given
from bertexplorer.errors import ExplorerError
from bertexplorer.python.arguments import check_texts
from bertexplorer.python.bert import Bert, load

if TYPE_CHECKING:
    from bertexplorer.diagnosis.answer import VectorDiagnosis
    from bertexplorer.diagnosis.module import StatesDiagnosis


def doctor(
    checkpoint: str | Path | Bert,
    texts: Sequence[str] | str | Path | None = None,
    vectors: Any = None,
    *,
    prompt: str | None = None,
    url: str = "",
    served: str = "",
) -> VectorDiagnosis:
    """Say how another program made vectors of texts, and what differs from the checkpoint's files.

    It searches recipes (pooling, layer, prompt, length, lower case, dense layers, scaling, width, precision, token
    types, special tokens) on some of the texts, and confirms what it finds on the others. Two texts are enough; ten
    that tell recipes apart are printed by `bertexplorer doctor texts`.

    Args:
        checkpoint: as for `load`, or a `Bert`; it is opened in fp32.
        texts: a list of texts, or a file with one on each line. None if the file of *vectors* has them.
        vectors: n rows of numbers, a row for each text; or a .jsonl, .npy or .json file.
        prompt: the name of the prompt in the checkpoint's files that should stand before the texts. None: the default
            one, if the files name one. "": none.
        url: a server in place of *vectors*, whose address ends in /v1/embeddings (OpenAI's) or /embed (Text Embeddings
            Inference). It is sent the texts, by default the ten, and no redirect is followed. Its key is read from the
            variable BERTEXPLORER_DOCTOR_KEY.
        served: the model's name on that server.

    Returns:
        The answer: `said` in sentences, `found`, `as_files`, `recipe`, `rows`.

    Raises:
        ExplorerError: for vectors that cannot be compared, such as those of one text, and for an unknown prompt.

    Example:
        >>> texts = ["Which river flows through Paris?", "A cat sleeps.", "NASA reported it on Monday."]
        >>> answer = bx.doctor("mini", texts, bx.load("mini").encode(texts, pooling="CLS"))
        >>> answer.recipe.pooling, answer.as_files
        ('cls', False)
    """
    from bertexplorer.diagnosis.answer import diagnose

    # 1. The vectors of a server.
    if url:
        if vectors is not None:
            raise ExplorerError("vectors and url: both were given. Give one of them.")
        from bertexplorer.diagnosis import server
        from bertexplorer.diagnosis.texts import TEXTS

        if isinstance(texts, str | Path):
            _, texts = files.read_texts(Path(texts))
        texts = [text for _, text in TEXTS] if texts is None else check_texts("texts", texts)
        vectors = server.fetch(url, texts, model=served, key=os.environ.get(server.KEY, ""))
    if vectors is None:
        raise ExplorerError("vectors: none were given. Give an array with a row for each text, or a file.")
    # 2. Texts and vectors, as many of the one as of the other.
    if isinstance(vectors, str | Path):
        checked = files.read(Path(vectors), text_file(texts))
    elif isinstance(texts, str | Path):
        count, lines = files.read_texts(Path(texts))
        checked = given.check(lines, vectors[:count])
    else:
        checked = given.check(check_texts("texts", texts), vectors)
    # 3. How they were made.
    bert = checkpoint if isinstance(checkpoint, Bert) else load(checkpoint, precision="fp32")
    return diagnose(bert.checkpoint, checked, prompt)


def text_file(texts: Sequence[str] | str | Path | None) -> Path | None:
    """The file of texts beside one of vectors; None if that has them. Raises ExplorerError for a list."""
    if texts is None:
        return None
    if isinstance(texts, str | Path):
        return Path(texts)
    raise ExplorerError(
        f"texts: got {len(texts):,} texts beside a file of vectors; wanted a file of texts, or an array."
    )


def doctor_states(
    checkpoint: str | Path | Bert,
    states: Any,
    texts: Sequence[str] = (),
    *,
    names: Mapping[str, str] | None = None,
) -> StatesDiagnosis:
    """Say where your own BERT goes wrong: the first part that differs from the checkpoint, and what explains it.

    Each part (embeddings, queries, scores, norms …) is computed from what your BERT has just before it, so a later part
    does not differ because an earlier one does. The causes are tried by computing them: no division by √k, a mask that
    is added after the softmax, GELU by tanh, transposed or swapped weights, positions from 1, a norm's eps.

    Args:
        checkpoint: as for `load`: the one whose weights your BERT has. It is opened in fp32.
        states: your torch module, in fp32, which is run once; or a .safetensors file with input_ids and the outputs of
            its modules. Hugging Face's names and those of the minBERT course are known.
        texts: what is read; by default two sentences, the second of which is padded.
        names: for other names: yours -> ours, such as {"blocks.0.q": "layers.0.query"}.

    Returns:
        The answer: `said` in sentences, `first`, `causes`, and `rows` with every part.

    Raises:
        ExplorerError: for another architecture, a module that cannot be run, names that are not known, and tensors of
            another shape.

    Example:
        >>> from transformers import AutoModel  # doctest: +SKIP
        >>> bx.doctor_states("mini", AutoModel.from_pretrained("mini")).first  # doctest: +SKIP
        ''
    """
    from bertexplorer.diagnosis import module

    bert = checkpoint if isinstance(checkpoint, Bert) else load(checkpoint, precision="fp32")
    text_list = check_texts("texts", texts)
    if isinstance(states, str | Path):
        return module.examine_file(bert.checkpoint, Path(states), text_list, names or {})
    if not callable(getattr(states, "named_modules", None)):
        raise ExplorerError(f"states: got {states!r:.60}; wanted a torch module, or the path of a .safetensors file.")
    return module.examine_module(bert.checkpoint, states, text_list, names or {})

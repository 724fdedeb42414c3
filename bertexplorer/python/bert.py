"""Bert: a checkpoint in Python, with every analysis as a method. The functions of the package call it."""

from __future__ import annotations

import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bertexplorer.core.export import FROM_PYTHON
from bertexplorer.core.state import find_word_spans
from bertexplorer.engine.progress import Work, working
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Span, Text, Tokenizer
from bertexplorer.options import build
from bertexplorer.python.arguments import check_rows, check_span, check_text, check_texts, check_words
from bertexplorer.python.describe import LISTS, document, signature
from bertexplorer.python.result import Result
from bertexplorer.settings import Settings, be_quiet
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import VIEWS, view_of

if TYPE_CHECKING:
    import numpy as np
    from jaxtyping import Float

    from bertexplorer.diagnosis.given import TextVectors
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.python.signatures import Methods  # the analyses with their options
else:
    Methods = object

Words = str | Iterable[str | tuple[int, int, int]]


class Bert(Methods):
    """A loaded checkpoint. Every analysis of the package is a method: `bert.attention(text)`.

    `load` and `from_transformers` make it. Use it to ask one checkpoint several questions.

    Example:
        >>> bert = bx.load("mini")
        >>> bert.encode(["Paris", "London"]).shape
        (2, 384)
    """

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.checkpoint = checkpoint

    @property
    def name(self) -> str:
        """The name by which the checkpoint was loaded, such as "mini" or run:ID."""
        return self.checkpoint.name

    def analyse(
        self,
        analysis: str,
        text: str = "",
        pair: str = "",
        *,
        mask: Words = (),
        pick: Words = (),
        lines: Sequence[str] | str | Path | None = None,
        rows: Sequence[Mapping[str, Any]] | str | Path | None = None,
        vectors: Sequence[Mapping[str, Any]] | str | Path | None = None,
        **options: Any,
    ) -> Result:
        """Run an analysis by its name.

        Use it where a program chooses the analysis; else call the method of that name. *mask* and *pick* take a word
        (every occurrence), several, or spans (side, start, end): side 0 is the text, 1 the pair, and end is not
        included.

        Args:
            analysis: a name such as "fill_mask".
            text: the text.
            pair: a second text, read as segment B.
            mask: words to hide.
            pick: words that the analysis is about.
            lines: for search, embedding_map, sentence_similarity and neurons: texts, or a CSV, TSV or TXT file.
            rows: for suite, probe, not_found, threshold and error_analysis: dicts, or a CSV, TSV or JSONL file; or the
                folder or ZIP of a test collection.
            vectors: for whose_vectors: dicts with text and vector, or a JSONL file.
            **options: the settings of the analysis.

        Returns:
            The result: rows, a sentence and a figure.

        Raises:
            ExplorerError: for an unknown analysis, option or value, and if the checkpoint lacks a head.

        Example:
            >>> bx.load("mini").analyse("fill_mask", "Paris is the [MASK] of France.", top=1).rows[0]["token"]
            'capital'
        """
        # 1. The text with its marked words, and the settings.
        check_text("text", text)
        check_text("pair", pair)
        view = view_of(analysis)
        if not view.text:  # then the first argument is a setting
            if text:
                options = {view.first: text, **options}
            text = ""
        tokenizer = self.checkpoint.tokenizer
        hidden = spans(tokenizer, text, pair, mask, "mask")
        picked = spans(tokenizer, text, pair, pick, "pick")
        marked_text = Text(text, pair, hidden, picked)
        joined = {name: join_list(name, value) for name, value in options.items()}
        settings = build(view.analysis.Options, joined, by_name=True)
        # 2. The lines, rows or vectors, and what they come from.
        content: dict[str, Any] = {}
        sources: dict[str, str] = {}
        if lines is not None:
            content["lines"] = read_lines(lines, view.most_lines)
            sources["lines"] = source_of(lines)
        if rows is not None:
            content["rows"] = given_rows(rows)
            sources["rows"] = source_of(rows)
        if vectors is not None:
            content["vectors"] = read_vectors(vectors)
            sources["vectors"] = source_of(vectors)
        if extra := sorted(set(content) - set(view.needs)):
            others = [other.name for other in VIEWS.values() if extra[0] in other.needs]
            raise ExplorerError(f"{analysis} takes no {extra[0]}. Leave them out; {' and '.join(others)} take them.")
        # 3. The analysis. What it says of an error, it says as Python spells it.
        try:
            value = view.run(self.checkpoint, marked_text, settings, **content)
        except ExplorerError as error:
            raise ExplorerError(error.render("python"), code=error.code) from error
        return Result(analysis, value, self.checkpoint, text=marked_text, options=settings, sources=sources)

    def encode(
        self,
        texts: str | Sequence[str],
        *,
        prompt: str | None = None,
        pooling: str = "own",
        layer: int = -1,
        truncate_dim: int | None = None,
        normalize: bool | None = None,
        numbers: str = "fp32",
        long: str = "cut",
        stride: int = 0,
        progress: bool = False,
    ) -> np.ndarray:
        """A vector for each text.

        It warns if a text is cut at the limit of tokens, and if the pooling or the layer departs from the checkpoint's
        own sentence encoder. Texts of similar length are computed together, whatever their order.

        Args:
            texts: a list of texts, or one string.
            prompt: the name of a prompt in the checkpoint's files, such as "query", whose text is put before each
                text. None: the default one, if the files name one. "": none. The tokens of a prompt are left out of
                the pooling where the files say so.
            pooling: "own", as the sentence encoder in the checkpoint's files says, and the mean if there is none;
                "mean" or "max" over all tokens, "CLS", or "last four summed".
            layer: 0 is the input of the first layer, -1 the output of the last.
            truncate_dim: how many numbers of a vector are kept, the first ones. None: all that the files keep.
            normalize: whether vectors are scaled to length 1, after they were cut. None: as the files say.
            numbers: "fp32"; "int8", whole numbers up to 127, each vector on a scale of its own, so compare them by
                cosine; "binary" or "ubinary", the signs, eight in a byte, as sentence-transformers packs them.
            long: what becomes of a text beyond the limit of tokens: it is "cut", or read in "windows", whose vectors
                are averaged.
            stride: how many tokens two windows share.
            progress: whether stderr shows how much is done.

        Returns:
            The vectors in fp32 unless *numbers* says otherwise: n texts by d numbers; for one string, d numbers. d is
            the hidden size, unless the checkpoint's own sentence encoder makes vectors of another.

        Raises:
            ExplorerError: for an unknown prompt, pooling or layer, and if no text is given.

        Example:
            >>> bx.load("mini").encode("Paris").shape
            (384,)
            >>> bx.load("mini").encode(["Paris", "London"], truncate_dim=64, numbers="binary").shape
            (2, 8)
        """
        settings = {
            "pooling": pooling,
            "layer": layer,
            "truncate_dim": truncate_dim,
            "normalize": normalize,
            "numbers": numbers,
            "long": long,
            "stride": stride,
        }
        text_list = one_or_several("texts", texts)
        with shown() if progress else nullcontext():
            vectors, notes = encode_texts(self.checkpoint, text_list, prompt, **settings)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        return vectors[0] if isinstance(texts, str) else vectors

    def encode_batches(self, texts: Iterable[str], *, batch_size: int = 1000, **settings: Any) -> Iterator[np.ndarray]:
        """The vectors of texts that need not fit into memory, batch by batch.

        Args:
            texts: any iterable of texts, such as the lines of a file.
            batch_size: the texts of a batch. Within it, those of similar length are computed together, so that a
                larger one is quicker.
            **settings: as for `encode`.

        Returns:
            An iterator over arrays of at most *batch_size* vectors, in the order of the texts.

        Raises:
            ExplorerError: as `encode` does, and for a batch size below 1.

        Example:
            >>> [batch.shape for batch in bx.load("mini").encode_batches(["Paris", "London", "Rome"], batch_size=2)]
            [(2, 384), (1, 384)]
        """
        if not isinstance(batch_size, int) or batch_size < 1:
            raise ExplorerError(f"batch_size: got {batch_size!r:.60}; wanted a whole number above 0.")
        if isinstance(texts, str):
            raise ExplorerError(f"texts: got {texts!r:.60}; wanted several texts.")
        remaining = iter(texts)
        while batch := list(islice(remaining, batch_size)):
            yield self.encode(batch, **settings)

    def encode_tokens(self, texts: str | Sequence[str], *, task: str) -> np.ndarray | list[np.ndarray]:
        """A vector for each token of a text, of a checkpoint that was trained for late interaction, as ColBERT was.

        The files say how: the projection, what stands before a query and a document, the limits of tokens, the [MASK]
        tokens that fill up a query, the punctuation of documents that is left out. It warns if a text is cut.

        Args:
            texts: a list of texts, or one string.
            task: "query" or "document", which are read differently.

        Returns:
            For each text t tokens by d numbers in fp32, each vector of length 1. For one string, that array. The score
            of a document is the sum over the query's tokens of the best cosine: `(query @ document.T).max(1).sum()`.

        Raises:
            ExplorerError: for a checkpoint of another kind, another task, and if no text is given.

        Example:
            >>> colbert = bx.load("lightonai/GTE-ModernColBERT-v1")  # doctest: +SKIP
            >>> colbert.encode_tokens("Paris", task="query").shape  # doctest: +SKIP
            (32, 128)
        """
        from bertexplorer.answers import multi_vectors
        from bertexplorer.answers.vectors import cut_note

        text_list = one_or_several("texts", texts)
        token_vectors = multi_vectors.encode_tokens(self.checkpoint, text_list, task)  # type: ignore[arg-type]
        if note := cut_note([tokens.encoding for tokens in token_vectors], "text"):
            warnings.warn(note, stacklevel=2)
        vectors = [tokens.vectors for tokens in token_vectors]
        return vectors[0] if isinstance(texts, str) else vectors

    def export_onnx(self, path: str | Path) -> Path:
        """Write the sentence encoder with its pooling as a file for onnxruntime.

        The output `sentence_embedding` is the vector of a text as `encode` makes it: pooled, through the dense layers,
        scaled. Prompt, lower case and length stay with the program that cuts the text into tokens.

        Args:
            path: where to write it; a file of that name must not exist.

        Returns:
            The path.

        Raises:
            ExplorerError: if the checkpoint's files are not those of a sentence encoder, for a model that is in memory
                alone, and without the packages onnx and onnxscript.

        Example:
            >>> bx.load("sentence-transformers/all-MiniLM-L6-v2").export_onnx("minilm.onnx")  # doctest: +SKIP
        """
        from bertexplorer.model.onnx import write_encoder

        file = Path(path)
        if file.exists():
            raise ExplorerError(f"{file} exists already. Choose another name.")
        write_encoder(self.checkpoint, file)
        return file

    def similarity(
        self,
        first: str | Sequence[str],
        second: str | Sequence[str],
        *,
        prompts: tuple[str | None, str | None] = (None, None),
    ) -> Float[np.ndarray, "n m"]:
        """How similar each text of *first* is to each of *second*.

        The checkpoint's files name the measure: the cosine, unless they say otherwise, or the dot product, or a
        distance with a minus before it. A raw cosine means little by itself: compare it with that of unrelated texts,
        as `sentence_similarity` does.

        Args:
            first: n texts, or one string.
            second: m texts, or one string.
            prompts: the prompts of the first and of the second texts, as in `encode`.

        Returns:
            n x m numbers in fp32. One string in place of a list takes that dimension away.

        Raises:
            ExplorerError: for an unknown prompt, and if no text is given.

        Example:
            >>> float(bx.load("mini").similarity("A cat sleeps.", "A kitten naps.")) > 0.5
            True
        """
        rows = one_or_several("first", first)
        columns = one_or_several("second", second)
        table, _, notes = similarity_of(self.checkpoint, rows, columns, prompts)
        for note in notes:
            warnings.warn(note, stacklevel=2)
        row = 0 if isinstance(first, str) else slice(None)
        column = 0 if isinstance(second, str) else slice(None)
        return table[row, column]

    def tokenize(self, text: str, pair: str = "") -> Encoding:
        """The input of the encoder for a text or a pair.

        Args:
            text: the text.
            pair: a second text, read as segment B.

        Returns:
            The ids, segments, spans and words, each of length t.

        Raises:
            ExplorerError: for a text that is empty or cannot be read.
        """
        return self.checkpoint.tokenizer.encode(Text(check_text("text", text), check_text("pair", pair)))

    def control(self) -> Bert:
        """The same architecture and tokenizer with random weights (seed 0).

        Compare a result with that of the control: what it shows as well was not learned.
        """
        from bertexplorer.model.initialise import random_copy

        return Bert(random_copy(self.checkpoint))

    def __getattr__(self, name: str) -> Any:
        if VIEWS.find(name) is None:
            raise AttributeError(f"Bert has no {name!r}; the analyses are {', '.join(sorted(VIEWS.folders))}.")
        return add_documentation(name, lambda *args, **more: self.analyse(name, *args, **more), method=True)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *VIEWS.unordered})

    def __repr__(self) -> str:
        checkpoint = self.checkpoint
        config = checkpoint.config
        shape = f"{config.num_layers} layers, {config.num_heads} heads, hidden size {config.hidden_size}"
        size = f"{checkpoint.num_parameters / 1e6:.1f} M parameters"
        return f"Bert({checkpoint.name!r}: {shape}, {size}, {checkpoint.precision})"


def load(checkpoint: str | Path | Bert = "mini", *, precision: str = "auto") -> Bert:
    """Load a checkpoint, once per process; again if its files have changed. A download is shown on stderr.

    Args:
        checkpoint: the name of a bundled one, a folder, that of a training run included, run:ID, or a name on the
            Hugging Face hub, which is downloaded if it is not on this disk. A `Bert` is returned as it is.
        precision: "fp32", "bf16", or "auto" for the one that the processor computes fastest.

    Returns:
        The checkpoint, with every analysis as a method.

    Raises:
        ExplorerError: if there is no such checkpoint, or it cannot be used.

    Example:
        >>> bx.load("mini").name
        'mini'
    """
    if isinstance(checkpoint, Bert):
        return checkpoint
    if not isinstance(checkpoint, str | Path):
        raise ExplorerError(f"checkpoint: got {checkpoint!r:.60}; wanted a name such as 'mini', a folder, or a Bert.")
    name = str(checkpoint)
    for progress in library().fetch(name):
        end = "\n" if progress.done >= progress.total else ""
        sys.stderr.write(f"\r{name}: {progress.done:.0f} of {progress.total:.0f} MB{end}")
    return Bert(library().get(name, precision))


def checkpoints() -> list[str]:
    """The names of the checkpoints on this disk.

    Returns:
        The names as `load` takes them; those of training runs come last.

    Example:
        >>> "mini" in bx.checkpoints()
        True
    """
    return library().offline() + [name for _, name in library().trained()]


def from_transformers(model: Any, tokenizer: Any, *, name: str = "in memory", precision: str = "") -> Bert:
    """Make every analysis available for a model of transformers in memory.

    Use it for a model that you train or change in a program, without saving it first. The weights are copied, so
    training the model further does not change the result.

    Args:
        model: a model of transformers.
        tokenizer: its tokenizer.
        name: what to call the checkpoint in results.
        precision: as for `load`; by default, that of the model.

    Returns:
        The checkpoint, with every analysis as a method.

    Raises:
        ExplorerError: for an unknown family, a tokenizer without a fast version, or weights that do not fit.

    Example:
        >>> bert = bx.from_transformers(model, tokenizer)  # doctest: +SKIP
        >>> bert.saliency("A good [MASK].").figure  # doctest: +SKIP
    """
    from bertexplorer.model.load import load as load_folder

    if not precision:
        stored = str(getattr(model, "dtype", "")).removeprefix("torch.")
        precision = "bf16" if stored == "bfloat16" else "fp32"
    with tempfile.TemporaryDirectory() as folder:
        try:
            model.save_pretrained(folder)
            tokenizer.save_pretrained(folder)
        except AttributeError as error:
            types = f"{type(model).__name__} and {type(tokenizer).__name__}"
            raise ExplorerError(f"Got {types}; wanted a model and a tokenizer of transformers.") from error
        checkpoint = load_folder(Path(folder), name=name, precision=precision, frozen=True)  # type: ignore[arg-type]
    return Bert(replace(checkpoint, folder=Path()))


@cache
def library() -> CheckpointRegistry:
    """The checkpoints of this process, with the settings of the environment."""
    be_quiet()
    return CheckpointRegistry(Settings.from_env(os.environ), anywhere=True)


def one_or_several(name: str, texts: str | Sequence[str]) -> list[str]:
    """*texts*, the argument *name*, as a list: one string, or several. Raises ExplorerError for anything else."""
    return [texts] if isinstance(texts, str) else check_texts(name, texts)


def encode_texts(
    checkpoint: Checkpoint, texts: Sequence[str], prompt: str | None = None, **settings: Any
) -> tuple[np.ndarray, list[str]]:
    """(a vector for each of *texts*, notes: which were cut, how they depart from the checkpoint's own encoder). The
    arguments are those of `Bert.encode`. Raises ExplorerError as it does."""
    from bertexplorer.answers import encoding

    options = build(encoding.Options, encoding.options_of(settings), by_name=True)
    return encoding.encode_texts(checkpoint, texts, prompt, options)


@contextmanager
def shown() -> Iterator[None]:
    """Show on stderr how much of the block's work is done."""

    class Shown(Work):
        def report(self, done: int, total: int) -> None:
            super().report(done, total)
            sys.stderr.write(f"\r{100 * self.done / max(self.total, 1):.0f} %")

    with working(Shown()):
        yield
    sys.stderr.write("\r     \r")


def similarity_of(
    checkpoint: Checkpoint,
    first: Sequence[str],
    second: Sequence[str],
    prompts: tuple[str | None, str | None] = (None, None),
) -> tuple[Float[np.ndarray, "n m"], str, list[str]]:
    """(how similar each text of *first* is to each of *second*, the name of the measure, notes as of `encode_texts`).
    Raises ExplorerError as `Bert.similarity` does."""
    from bertexplorer import engine

    rows, row_notes = encode_texts(checkpoint, first, prompts[0])
    columns, column_notes = encode_texts(checkpoint, second, prompts[1])
    measure = engine.similarity_measure(checkpoint)
    notes = list(dict.fromkeys([*row_notes, *column_notes]))
    return engine.similarity_table(measure, rows, columns), measure, notes


def spans(tokenizer: Tokenizer, text: str, pair: str, words: Words, name: str) -> tuple[Span, ...]:
    """The spans of *words*, which may be spans already, in the texts as *tokenizer* prepares them. *name*: of the
    argument. Raises ExplorerError for a word or a span that is not in the texts."""
    result: list[Span] = []
    for word in check_words(name, words):
        if isinstance(word, str):
            result += find_word_spans(tokenizer, text, pair, word)
            continue
        lengths = (len(tokenizer.prepare(text)[0]), len(tokenizer.prepare(pair)[0]))
        check_span(name, word, lengths)
        result.append(Span(*word))
    return tuple(dict.fromkeys(result))


def join_list(name: str, value: Any) -> Any:
    """*value* of the setting *name* for the analysis, which reads a list as one string. Raises ExplorerError for an
    item that the analysis would split."""
    if not isinstance(value, list | tuple):
        return value
    separator = LISTS.get(name, ", ")
    for item in value:
        if splitting := {separator.strip(), "\n"} & set(str(item)):
            raise ExplorerError(
                f"{item!r:.60} contains {min(splitting)!r}, which separates the items of {name}. Give it without."
            )
    return separator.join(map(str, value))


def source_of(content: object) -> str:
    """What an argument that may name a file comes from: the name, or that it was given in Python."""
    return str(content) if isinstance(content, str | Path) else FROM_PYTHON


def read_lines(lines: Sequence[str] | str | Path, most: int) -> Sequence[Any]:
    """Lines from a list of texts, a file, or the key of an upload. Raises ExplorerError if there is no such file, or it
    has more than *most* lines."""
    from bertexplorer.answers.vectors import LabelledLine
    from bertexplorer.store.text_uploads import KEY, TextUploads, parse_lines, read_file

    if not isinstance(lines, str | Path):
        return [LabelledLine(text) for text in check_texts("lines", lines)]
    if isinstance(lines, str) and KEY.fullmatch(lines):
        return TextUploads(library().settings.data_dir / "lines").load(lines).lines
    return read_file(Path(lines), partial(parse_lines, most=most)).lines


def given_rows(rows: Sequence[Mapping[str, Any]] | str | Path) -> Sequence[tuple[int, Mapping[str, Any]]]:
    """(line, from 1; cells by column) of each row of dicts, of a file, or of an upload by its key. Raises ExplorerError
    if there is no such file, or it is not a table."""
    from bertexplorer.core.row_uploads import RowUploads, read_rows
    from bertexplorer.store.text_uploads import KEY

    if not isinstance(rows, str | Path):
        return list(enumerate(check_rows("rows", rows), 1))
    if isinstance(rows, str) and KEY.fullmatch(rows):
        return RowUploads(library().settings.data_dir / "rows").load(rows).rows
    return read_rows(Path(rows)).rows


def read_vectors(vectors: Sequence[Mapping[str, Any]] | str | Path) -> TextVectors:
    """Texts with their vectors, from dicts, a file, or the key of an upload. Raises ExplorerError if there is no such
    file, or it has other lines."""
    from bertexplorer.core.vector_uploads import VectorUploads, parse_vectors
    from bertexplorer.diagnosis.given import TextVectors
    from bertexplorer.store.text_uploads import KEY, read_file

    if not isinstance(vectors, str | Path):
        rows = check_rows("vectors", vectors)
        if not all({"text", "vector"} <= set(row) for row in rows):
            raise ExplorerError(
                'vectors: a row lacks its text or its vector; wanted {"text": "…", "vector": [0.1, …]}.'
            )
        return TextVectors([str(row["text"]) for row in rows], [row["vector"] for row in rows])
    if isinstance(vectors, str) and KEY.fullmatch(vectors):
        return VectorUploads(library().settings.data_dir / "vectors").load(vectors).content
    return read_file(Path(vectors), parse_vectors).content


def function(name: str) -> Callable[..., Result]:
    """The analysis *name* as a function of the package: the checkpoint is an argument."""

    def ask(
        text: str = "", pair: str = "", *, checkpoint: str | Path | Bert = "mini", precision: str = "auto", **more: Any
    ) -> Result:
        return load(checkpoint, precision=precision).analyse(name, text, pair, **more)

    return add_documentation(name, ask, method=False)


def add_documentation(name: str, ask: Callable[..., Result], *, method: bool) -> Callable[..., Result]:
    """*ask*, which gets the name, the signature and the documentation of the analysis *name*."""
    ask.__name__ = ask.__qualname__ = name
    ask.__module__ = "bertexplorer"
    ask.__doc__ = document(name)
    ask.__signature__ = signature(name, method=method)  # type: ignore[attr-defined]
    return ask

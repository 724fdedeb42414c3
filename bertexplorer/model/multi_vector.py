"""The multi-vector encoder of a checkpoint: how its files say to make a vector of each token of a text.

ColBERT (Khattab and Zaharia, 2020) compares a query with a passage token by token. Its vectors are those of the last
layer after a projection, scaled to length 1. A query is filled up with [MASK], each of which makes a vector too; the
punctuation of a passage makes none. Such folders are written by sentence-transformers (MultiVectorEncoder), PyLate and
Stanford's ColBERT. `read` makes data of them."""

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.layout import MODULES
from bertexplorer.model.sentence_encoder import (
    MAX_MODULES,
    SETTINGS,
    Dense,
    Normalize,
    SentenceEncoder,
    VectorStep,
    describe_module,
    makes_output,
    read_dense,
    read_json,
    read_limits,
    read_object,
)
from bertexplorer.model.tensors import DTYPES, Stored
from bertexplorer.model.text import Encoding, Text, Tokenizer

Task = Literal["query", "document"]
KINDS = ("MultiVectorEncoder", "ColBERT")  # of sentence-transformers and of PyLate
STANFORD = "HF_ColBERT"  # the architecture in config.json of Stanford's ColBERT, and its other file
STANFORD_SETTINGS = "artifact.metadata"
PROJECTION = "linear.weight"  # beside the encoder's tensors
TOKENS = "token_embeddings"  # what the files call the vectors of the tokens of a text
USUAL_LENGTH = 32  # tokens that a query is filled up to, where a file does not say
NO_VECTOR = SentenceEncoder(
    problem="This checkpoint's files make a vector of each token of a text, as ColBERT does, and none of the whole."
)


@dataclass(frozen=True)
class Expansion:
    """A query with fewer tokens than *length* is filled up with the id *token*."""

    length: int
    token: int
    attended: bool  # whether other tokens look at these
    fixed: bool  # whether a longer query is cut at that length

    def fill(self, encoding: Encoding, piece: str) -> Encoding:
        """*encoding* with the tokens that fill it up, which the vocabulary spells *piece*."""
        count = max(0, self.length - len(encoding))
        return replace(
            encoding,
            tokens=encoding.tokens + count * (piece,),
            original_ids=encoding.original_ids + count * (self.token,),
            ids=encoding.ids + count * (self.token,),
            segments=encoding.segments + count * (0,),
            spans=encoding.spans + count * (None,),
            words=encoding.words + count * (None,),
            special=encoding.special + count * (True,),
        )


@dataclass(frozen=True, eq=False)
class Side:
    """How the texts of one task, queries or documents, are read."""

    prompt: str  # what stands before a text
    tokenizer: Tokenizer  # cuts a text at the limit of the task
    skipped: frozenset[int]  # ids of tokens that are read, but have no vector
    expansion: Expansion | None = None

    def encode(self, text: Text) -> tuple[Encoding, int]:
        """(the input of the encoder for *text*, which begins with the prompt; how many of its tokens others look at).
        Raises ExplorerError as `Tokenizer.encode` does."""
        encoding = self.tokenizer.encode(text)
        if self.expansion is None:
            return encoding, len(encoding)
        piece = str(self.tokenizer.backend.id_to_token(self.expansion.token))
        filled = self.expansion.fill(encoding, piece)
        return filled, len(filled) if self.expansion.attended else len(encoding)

    def kept(self, encoding: Encoding) -> list[int]:
        """The positions of the tokens that have a vector."""
        return [i for i, token in enumerate(encoding.ids) if token not in self.skipped]


@dataclass(frozen=True, eq=False)
class MultiVectorEncoder:
    """What makes a vector of each token of a text: the steps after the last layer, of which the last one scales."""

    sides: Mapping[Task, Side]
    steps: tuple[VectorStep, ...] = ()
    mean: bool = False  # whether a score is the mean over the tokens of the query, not their sum
    problem: str = ""  # a sentence that says why the files cannot be followed; then there are no sides

    @torch.inference_mode()
    def transform(self, tokens: Float[Tensor, "t d"]) -> Float[Tensor, "t e"]:
        """The vectors of tokens from those of the last layer; fp32 on the CPU."""
        for step in self.steps:
            tokens = step(tokens)
        return tokens

    def score(self, query: Float[Tensor, "q e"], document: Float[Tensor, "p e"]) -> float:
        """MaxSim: the sum over the tokens of *query* of the best cosine with one of *document*, or the mean."""
        best = (query @ document.T).amax(dim=1)
        return float(best.mean() if self.mean else best.sum())

    def __str__(self) -> str:
        parts = [str(step) for step in self.steps]
        query, document = self.sides["query"], self.sides["document"]
        for side, noun in ((query, "query"), (document, "passage")):
            if side.prompt.strip():
                parts.append(f"“{side.prompt.strip()}” before a {noun}")
        if query.expansion:
            token = query.tokenizer.backend.id_to_token(query.expansion.token)
            parts.append(f"a query filled up with {token} to {query.expansion.length:,} tokens")
        if document.skipped:
            parts.append(f"{len(document.skipped):,} pieces of a passage left out, such as punctuation")
        return ", ".join(parts)


def read(
    folder: Path, hf: Mapping[str, Any], projection: Stored | None, tokenizer: Tokenizer
) -> MultiVectorEncoder | None:
    """The multi-vector encoder of the checkpoint in *folder*; None if it has none. *hf*: its config.json; *projection*:
    the tensor PROJECTION among its weights. If the files cannot be followed, the result has a `problem`: the checkpoint
    is of use for everything else."""
    try:
        if is_stanford(hf):
            return follow_stanford(folder, hf, projection, tokenizer)
        settings = read_object(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}
        if settings.get("model_type") not in KINDS:
            return None
        return follow(folder, hf, settings, tokenizer)
    except ExplorerError as error:
        return MultiVectorEncoder({}, problem=f"This checkpoint's own vectors of tokens cannot be made: {error}")


def is_stanford(hf: Mapping[str, Any]) -> bool:
    """Whether a config.json is that of Stanford's ColBERT."""
    architectures = hf.get("architectures")
    return isinstance(architectures, list) and STANFORD in architectures


def follow_stanford(
    folder: Path, hf: Mapping[str, Any], projection: Stored | None, tokenizer: Tokenizer
) -> MultiVectorEncoder:
    """As `read`, for Stanford's ColBERT. Raises ExplorerError for files that cannot be followed."""
    file = folder / STANFORD_SETTINGS
    settings = read_object(file) if file.is_file() else {}
    prompts = {
        "query": f"{settings.get('query_token_id') or '[unused0]'} ",
        "document": f"{settings.get('doc_token_id') or '[unused1]'} ",
    }
    expansion = {
        "strategy": "fixed",
        "attend": bool(settings.get("attend_to_mask_tokens")),
        "length": settings.get("query_maxlen") or USUAL_LENGTH,
    }
    knobs = {"document_length": settings.get("doc_maxlen"), "query_expansion": expansion}
    words = list(string.punctuation) if settings.get("mask_punctuation", True) else []
    mask = {"skiplist_words": words}
    limit, lower_case = read_limits(folder, folder)
    marked = marking(tokenizer, lower_case, list(prompts.values()))
    sides = sides_of(hf, marked, prompts, knobs, mask, limit)
    return MultiVectorEncoder(sides, (inline_projection(projection, hf), Normalize()))


def inline_projection(stored: Stored | None, hf: Mapping[str, Any]) -> Dense:
    """The dense layer that lies beside the encoder's weights."""
    width = hf.get("hidden_size", hf.get("dim"))
    if stored is None or len(stored.shape) != 2 or stored.shape[1] != width or stored.dtype not in DTYPES:
        held = f"{'x'.join(map(str, stored.shape))} as {stored.dtype}" if stored else "missing"
        raise ExplorerError(f"{PROJECTION} is {held}; wanted a matrix for {width} numbers.")
    with torch.device("meta"):
        linear = nn.Linear(stored.shape[1], stored.shape[0], bias=False)
    linear.weight = nn.Parameter(stored.read().float(), requires_grad=False)
    return Dense(linear, "Identity")


def follow(
    folder: Path, hf: Mapping[str, Any], settings: Mapping[str, Any], tokenizer: Tokenizer
) -> MultiVectorEncoder:
    """As `read`, for a folder with modules.json. Raises ExplorerError for files that cannot be followed."""
    # 1. The modules: the encoder, then the steps for each token, and the mask.
    modules = read_json(folder / MODULES)
    if not isinstance(modules, list) or not 1 <= len(modules) <= MAX_MODULES:
        raise ExplorerError(f"{MODULES} is not a list of 1 to {MAX_MODULES} modules.")
    (first, path), *others = [describe_module(module) for module in modules]
    if first != "Transformer":
        raise ExplorerError(f"{MODULES} begins with {first}; wanted Transformer.")
    steps, masks = read_modules(folder, others, hf.get("hidden_size", hf.get("dim", 0)))
    if settings["model_type"] == "ColBERT":  # PyLate's code masks and scales, whatever modules there are
        words = settings.get("skiplist_words")
        masks.append({"skiplist_words": list(string.punctuation) if words is None else words})
        steps.append(Normalize())
    if not steps or not isinstance(steps[-1], Normalize):
        raise ExplorerError("Its vectors are not scaled to length 1 at the end, so their products are no cosines.")
    if len(masks) > 1:
        raise ExplorerError(f"{MODULES} names {len(masks)} masks; wanted one.")
    # 2. How texts are read.
    module = folder / path
    limit, lower_case = read_limits(folder, module)
    file = module / "sentence_bert_config.json"
    own = read_object(file) if file.is_file() else {}
    check_encoder(own)
    prefixes = prefixes_of(settings)
    prompts = prompts_of(settings, prefixes)
    marked = marking(tokenizer, lower_case, list(prefixes.values()))
    knobs = {**pylate_knobs(settings), **own}
    sides = sides_of(hf, marked, prompts, knobs, masks[0] if masks else None, limit)
    mean = settings.get("similarity_fn_name") == "meanmaxsim"  # by any other name it is MaxSim
    return MultiVectorEncoder(sides, tuple(steps), mean=mean)


def read_modules(
    folder: Path, described: Sequence[tuple[str, str]], size: int
) -> tuple[list[VectorStep], list[dict[str, Any]]]:
    """(the steps for vectors of *size* numbers, the settings of masks) of the modules after the encoder, as
    `describe_module` describes them."""
    steps: list[VectorStep] = []
    masks: list[dict[str, Any]] = []
    for kind, path in described:
        if kind == "Dense":
            if dense := read_dense(folder / path, size, TOKENS, source=TOKENS):
                steps.append(dense)
                size = dense.linear.out_features
        elif kind == "Normalize":
            if makes_output(folder / path, TOKENS):
                steps.append(Normalize())
        elif kind == "MultiVectorMask":
            masks.append(read_object(folder / path / "config.json"))
        elif kind != "Dropout":  # which does nothing after training
            raise ExplorerError(
                f"{MODULES} names {kind}, which is not read here; wanted Dense, MultiVectorMask or Normalize."
            )
    return steps, masks


def check_encoder(own: Mapping[str, Any]) -> None:
    """Raises ExplorerError for settings of the encoder's module that change its input or output."""
    task = own.get("transformer_task", "feature-extraction")
    if task != "feature-extraction":
        raise ExplorerError(f"The encoder's module has the task {task!r:.60}; wanted 'feature-extraction'.")
    if own.get("processing_kwargs"):
        raise ExplorerError(
            f"The encoder's module sets processing_kwargs {own['processing_kwargs']!r:.80}, which are not read here."
        )


def prefixes_of(settings: Mapping[str, Any]) -> dict[str, str]:
    """What PyLate put before the texts of a task as a token of its own."""
    keys = {"query": "query_prefix", "document": "document_prefix"}
    return {task: texts(key, settings[key] or "") for task, key in keys.items() if key in settings}


def prompts_of(settings: Mapping[str, Any], prefixes: Mapping[str, str]) -> dict[str, str]:
    """What stands before the texts of a task: the prefix, then the prompt."""
    prompts = settings.get("prompts") or {}
    if not isinstance(prompts, dict):
        raise ExplorerError(f"{SETTINGS} has the prompts {prompts!r:.80}; wanted a text for each name.")
    result = {}
    for task in ("query", "document"):
        prefix = prefixes.get(task, "")
        result[task] = prefix + texts("prompts", prompts.get(task) or "").removeprefix(prefix)
    return result


def texts(key: str, value: Any) -> str:
    """*value*, the text of a setting."""
    if not isinstance(value, str):
        raise ExplorerError(f"{SETTINGS} gives {key} {value!r:.60}; wanted a text.")
    return value


def pylate_knobs(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The lengths and the expansion in the settings of PyLate by the names of sentence-transformers. PyLate expands
    queries unless it says otherwise."""
    names = ("query_length", "document_length", "query_expansion")
    knobs = {name: settings[name] for name in names if settings.get(name) is not None}
    if "query_expansion" in settings:
        return {**knobs, "query_expansion": settings["query_expansion"]}
    markers = (*names, "do_query_expansion", "attend_to_expansion_tokens", "attend_to_mask_tokens")
    if not any(name in settings for name in (*markers, "query_prefix", "document_prefix", "skiplist_words")):
        return knobs
    if settings.get("do_query_expansion") is False:
        return {**knobs, "query_expansion": None}
    attend = settings.get("attend_to_expansion_tokens", settings.get("attend_to_mask_tokens"))
    length = knobs.pop("query_length", None) or USUAL_LENGTH
    return {**knobs, "query_expansion": {"strategy": "fixed", "attend": bool(attend), "length": length}}


def sides_of(
    hf: Mapping[str, Any],
    tokenizer: Tokenizer,
    prompts: Mapping[str, str],
    knobs: Mapping[str, Any],
    mask: Mapping[str, Any] | None,
    limit: int | None,
) -> dict[Task, Side]:
    """How queries and documents are read. *mask*: the settings of the mask; None: there is none. *limit*: of the tokens
    of a text, where the files give none for a task."""
    if mask and mask.get("keep_only_token_ids"):
        raise ExplorerError("Its mask keeps certain tokens of a document alone (keep_only_token_ids).")
    expansion = expansion_of(knobs.get("query_expansion"), hf, tokenizer)
    if expansion and mask is None:
        raise ExplorerError(f"{MODULES} names no MultiVectorMask, so the tokens that fill up a query have no vector.")
    skipped = skipped_ids(mask or {}, tokenizer)
    tasks = (mask or {}).get("skiplist_tasks") or ["document"]
    tasks = [tasks] if isinstance(tasks, str) else tasks
    limits = {"query": length_of(knobs, "query_length", limit), "document": length_of(knobs, "document_length", limit)}
    if expansion:
        own = knobs.get("query_length") is not None
        longer = max(limits["query"] or 0, expansion.length) if own else limit
        limits["query"] = expansion.length if expansion.fixed else longer
    sides: dict[Task, Side] = {}
    for task in ("query", "document"):
        most = limits[task]
        reads = tokenizer if most is None else tokenizer.limited(most)
        ids = skipped if task in tasks else frozenset[int]()
        sides[task] = Side(prompts.get(task, ""), reads, ids, expansion if task == "query" else None)
    return sides


def length_of(knobs: Mapping[str, Any], key: str, default: int | None) -> int | None:
    value = knobs.get(key)
    if value is None:
        return default
    if not is_count(value):
        raise ExplorerError(f"Its files give {key} {value!r:.60}; wanted a whole number above 2.")
    return int(value)


def is_count(value: Any) -> bool:
    """Whether *value* is a number of tokens in which a text has room."""
    return isinstance(value, int) and not isinstance(value, bool) and value > 2


def expansion_of(given: Any, hf: Mapping[str, Any], tokenizer: Tokenizer) -> Expansion | None:
    """The expansion of queries that a file describes."""
    if given is None:
        return None
    about = given if isinstance(given, dict) else {}
    strategy = about.get("strategy")
    attend = about.get("attend", False)
    length = about.get("length")
    if strategy not in ("fixed", "min") or not isinstance(attend, bool) or length is None or not is_count(length):
        raise ExplorerError(
            f"Its files give query_expansion {given!r:.100}; wanted a strategy, fixed or min, attend, and a length."
        )
    if length > tokenizer.max_tokens:
        raise ExplorerError(f"Its queries have {length:,} tokens; the encoder reads {tokenizer.max_tokens:,}.")
    if not attend and str(hf.get("model_type")).startswith("deberta"):
        raise ExplorerError(
            "Its queries are filled up with tokens at which none looks, which is not read of a DeBERTa."
        )
    named = about.get("token")
    token = tokenizer.mask_id if named is None else tokenizer.backend.token_to_id(str(named))
    if token is None or token == tokenizer.pad_id:
        raise ExplorerError(f"Its queries are filled up with {named!r:.40}, which is no token for it.")
    return Expansion(length, token, attend, fixed=strategy == "fixed")


def skipped_ids(mask: Mapping[str, Any], tokenizer: Tokenizer) -> frozenset[int]:
    """The ids of the words that a mask names; one that is no piece by itself is left aside."""
    words = mask.get("skiplist_words") or []
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        raise ExplorerError(f"Its mask has the skiplist_words {words!r:.80}; wanted a list of words.")
    found = {word: tokenizer.backend.token_to_id(word) for word in words}
    return frozenset(token for token in found.values() if token is not None)


def marking(tokenizer: Tokenizer, lower_case: bool, prefixes: Sequence[str]) -> Tokenizer:
    """*tokenizer*, which reads each of *prefixes*, or its first word, as one token if the vocabulary has it: these
    checkpoints were trained with it put before a text by its id."""
    tokens = []
    vocabulary = tokenizer.backend.get_vocab(with_added_tokens=True)
    for prefix in prefixes:
        known = [part for part in (prefix, *prefix.split(None, 1)[:1]) if part.strip() and part in vocabulary]
        tokens += known[:1]
    return tokenizer.reading(tokens, lower_case=lower_case)

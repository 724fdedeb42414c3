"""The tokenizer files of a folder -> a tokenizer that gives the ids that transformers' AutoTokenizer gives.

If transformers 5 knows the class of the tokenizer, it reads only the vocabulary from tokenizer.json. The rest comes
from tokenizer_config.json and its own defaults; the two files often contradict each other. This module reads folders of
BERT's and RoBERTa's classes by the same rules, as importing transformers takes seconds. All others are left to it.
"""

import json
from pathlib import Path
from typing import Any

import tokenizers

VOCABULARIES = (  # what a tokenizer can be built from, if there is no tokenizer.json
    ("vocab.txt",),
    ("vocab.json", "merges.txt"),
    ("sentencepiece.bpe.model",),
    ("spiece.model",),
    ("tokenizer.model",),
)
BERT = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer")
AS_IT_IS = ("PreTrainedTokenizer", "TokenizersBackend")  # classes that take all of tokenizer.json
CLASSES = {  # model_type -> the class, if no file names one
    "bert": "BertTokenizer",
    "distilbert": "BertTokenizer",
    "electra": "BertTokenizer",
    "roberta": "RobertaTokenizer",
    "modernbert": "TokenizersBackend",
}
NORMALIZER = {  # BertNormalizer's name -> tokenizer_config.json's, and the default
    "handle_chinese_chars": ("tokenize_chinese_chars", True),
    "strip_accents": ("strip_accents", None),
    "lowercase": ("do_lower_case", True),
}


def as_transformers(folder: Path) -> tokenizers.Tokenizer:
    """tokenizer.json as transformers reads it. Raises what the libraries raise for files that cannot be read."""
    whole = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    said, config = described(folder / "tokenizer_config.json"), described(folder / "config.json")
    named = said.get("tokenizer_class") or config.get("tokenizer_class") or CLASSES.get(str(config.get("model_type")))
    kind = str(named).removesuffix("Fast")
    if kind in AS_IT_IS or not config:
        return whole
    given = json.loads(whole.to_str())
    found = bert(given, said) if kind in BERT else roberta(given, said) if kind == "RobertaTokenizer" else None
    if found is None:
        return by_transformers(folder)
    return whole if found == given else tokenizers.Tokenizer.from_str(json.dumps(found))


def described(file: Path) -> dict[str, Any]:
    """The JSON object in *file*; empty if there is no such file."""
    found = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    if not isinstance(found, dict):
        raise ValueError(f"{file.name} is not a JSON object")
    return found


def bert(given: dict[str, Any], said: dict[str, Any]) -> dict[str, Any] | None:
    """*given*, a tokenizer.json, with the normalizer of BertTokenizer; None if more than that may differ."""
    model, before = given["model"], given.get("pre_tokenizer") or {}
    usual = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    if model["type"] != "WordPiece" or not usual.items() <= model.items() or before.get("type") != "BertPreTokenizer":
        return None
    chosen = {ours: said.get(theirs, default) for ours, (theirs, default) in NORMALIZER.items()}
    if any(value not in (True, False) for name, value in chosen.items() if value is not None or name == "lowercase"):
        return None
    return {**given, "normalizer": {"type": "BertNormalizer", "clean_text": True, **chosen}}


def roberta(given: dict[str, Any], said: dict[str, Any]) -> dict[str, Any] | None:
    """*given*, a tokenizer.json, with the space of RobertaTokenizer; None if more than that may differ."""
    before, after = given.get("pre_tokenizer") or {}, given.get("post_processor") or {}
    plain = before.get("type") == "ByteLevel" and before.get("use_regex", True) and not given.get("normalizer")
    space = said.get("add_prefix_space", False)
    if not plain or after.get("type") != "RobertaProcessing" or space not in (True, False):
        return None
    return {
        **given,
        "pre_tokenizer": {**before, "add_prefix_space": space},
        "post_processor": {**after, "add_prefix_space": space, "trim_offsets": said.get("trim_offsets", True)},
    }


def convert(folder: Path) -> tokenizers.Tokenizer:
    """A tokenizer from the older vocabulary files. Raises FileNotFoundError if there is none."""
    if not any(all((folder / name).is_file() for name in names) for names in VOCABULARIES):
        raise FileNotFoundError("no vocabulary")  # transformers would invent one from the special tokens alone
    return by_transformers(folder)


def by_transformers(folder: Path) -> tokenizers.Tokenizer:
    """The tokenizer that AutoTokenizer builds from *folder*. Code in the folder is never run."""
    from transformers import AutoTokenizer

    made = AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    return tokenizers.Tokenizer.from_str(made.backend_tokenizer.to_str())

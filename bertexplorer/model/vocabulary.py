"""The tokenizer files of a folder -> a tokenizer that gives the ids that transformers' AutoTokenizer gives.

If transformers 5 knows the class of the tokenizer, it reads only the vocabulary from tokenizer.json. The rest comes
from tokenizer_config.json and its own defaults; the two files often contradict each other. This module reads folders of
BERT's and RoBERTa's classes by the same rules, as importing transformers takes seconds. All others are left to it.
"""

import json
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, processors

from bertexplorer.errors import ExplorerError

VOCABULARIES = (  # files from which a tokenizer can be built, if there is no tokenizer.json
    ("vocab.txt",),
    ("vocab.json", "merges.txt"),
    ("sentencepiece.bpe.model",),
    ("spiece.model",),
    ("spm.model",),
    ("tokenizer.model",),
)
BERT = ("BertTokenizer", "DistilBertTokenizer", "ElectraTokenizer")
AS_IT_IS = ("PreTrainedTokenizer", "TokenizersBackend")  # classes that take all of tokenizer.json
SLOW = ("BertJapaneseTokenizer",)  # classes of BERT-like checkpoints without a fast version
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
SPECIAL = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
IGNORED = {  # settings of tokenizer_config.json that change no id
    *("tokenizer_class", "model_max_length", "max_len", "do_basic_tokenize", "name_or_path"),
    *("special_tokens_map_file", "full_tokenizer_file", "tokenizer_file"),
}


def load_like_transformers(folder: Path) -> tokenizers.Tokenizer:
    """tokenizer.json as transformers reads it. Raises the libraries' own errors for files that cannot be read."""
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    settings, config = read_json(folder / "tokenizer_config.json"), read_json(folder / "config.json")
    kind = class_name(settings, config)
    if kind in AS_IT_IS or not config:
        return tokenizer
    original = json.loads(tokenizer.to_str())
    converted = None
    if kind in BERT:
        converted = with_bert_normalizer(original, settings)
    elif kind == "RobertaTokenizer":
        converted = with_roberta_space(original, settings)
    if converted is None:
        return load_with_transformers(folder)
    return tokenizer if converted == original else tokenizers.Tokenizer.from_str(json.dumps(converted))


def ignored_normalizer(folder: Path, backend: tokenizers.Tokenizer) -> str:
    """A sentence for people if tokenizer.json in *folder* names another normalizer than *backend* has, as transformers
    ignores it for classes that it knows; "" if not."""
    named = read_json(folder / "tokenizer.json").get("normalizer")
    used = json.loads(backend.to_str())["normalizer"]
    if not isinstance(named, dict) or effect(named) == effect(used):
        return ""
    differing = [name for name in NORMALIZER if effect(named).get(name) != effect(used or {}).get(name)]
    same_kind = used is not None and named.get("type") == used["type"] == "BertNormalizer"
    what = f"the setting {' and '.join(differing)}" if same_kind else f"the normalizer {named.get('type')!s:.40}"
    return (
        f"{what[0].upper()}{what[1:]} in tokenizer.json is ignored, as in transformers: tokenizer_config.json decides."
    )


def effect(normalizer: dict[str, Any] | None) -> dict[str, Any]:
    """What a normalizer does: BERT's strips accents where it changes to lower case, unless it says otherwise."""
    if not normalizer or normalizer.get("type") != "BertNormalizer":
        return normalizer or {}
    strip = normalizer.get("strip_accents")
    return {**normalizer, "strip_accents": normalizer.get("lowercase") if strip is None else strip}


def class_name(settings: dict[str, Any], config: dict[str, Any]) -> str:
    """The class in transformers, by tokenizer_config.json and config.json."""
    default = CLASSES.get(str(config.get("model_type", "bert")))
    return str(settings.get("tokenizer_class") or config.get("tokenizer_class") or default).removesuffix("Fast")


def read_json(file: Path) -> dict[str, Any]:
    """The JSON object in *file*; empty if there is no such file."""
    content = json.loads(file.read_text("utf-8")) if file.is_file() else {}
    if not isinstance(content, dict):
        raise ValueError(f"{file.name} is not a JSON object")
    return content


def with_bert_normalizer(original: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any] | None:
    """*original*, a tokenizer.json, with the normalizer of BertTokenizer; None if more than that may differ."""
    model, pre_tokenizer = original["model"], original.get("pre_tokenizer") or {}
    defaults = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 100}
    if model["type"] != "WordPiece" or not defaults.items() <= model.items():
        return None
    if pre_tokenizer.get("type") != "BertPreTokenizer":
        return None
    if (flags := normalizer_flags(settings)) is None:
        return None
    return {**original, "normalizer": {"type": "BertNormalizer", "clean_text": True, **flags}}


def normalizer_flags(settings: dict[str, Any]) -> dict[str, Any] | None:
    """The settings of BertNormalizer; None if one is neither true nor false."""
    flags = {ours: settings.get(theirs, default) for ours, (theirs, default) in NORMALIZER.items()}
    strict = {name: value for name, value in flags.items() if value is not None or name == "lowercase"}
    return flags if all(value in (True, False) for value in strict.values()) else None


def bert_from_vocabulary(folder: Path) -> tokenizers.Tokenizer | None:
    """BertTokenizer from vocab.txt; None if more than its usual settings counts."""
    settings = read_json(folder / "tokenizer_config.json") | read_json(folder / "special_tokens_map.json")
    flags, vocabulary = normalizer_flags(settings), models.WordPiece.read_file(str(folder / "vocab.txt"))
    usual = {f"{kind}_token": token for kind, token in SPECIAL.items()}
    unusual = settings.keys() - IGNORED - usual.keys() - {theirs for theirs, _ in NORMALIZER.values()}
    renamed = any(settings.get(name, token) != token for name, token in usual.items())
    more = (folder / "added_tokens.json").is_file() or not vocabulary.keys() >= set(SPECIAL.values())
    if flags is None or unusual or renamed or more:
        return None
    tokenizer = tokenizers.Tokenizer(models.WordPiece(vocabulary, unk_token=SPECIAL["unk"]))
    tokenizer.normalizer = normalizers.BertNormalizer(clean_text=True, **flags)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS]:0 $A:0 [SEP]:0",
        pair="[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    tokenizer.add_special_tokens([tokenizers.AddedToken(token, normalized=False) for token in SPECIAL.values()])
    return tokenizer


def with_roberta_space(original: dict[str, Any], settings: dict[str, Any]) -> dict[str, Any] | None:
    """*original*, a tokenizer.json, with the space of RobertaTokenizer; None if more than that may differ."""
    pre_tokenizer, post_processor = original.get("pre_tokenizer") or {}, original.get("post_processor") or {}
    plain = (
        pre_tokenizer.get("type") == "ByteLevel"
        and pre_tokenizer.get("use_regex", True)
        and not original.get("normalizer")
    )
    space = settings.get("add_prefix_space", False)
    if not plain or post_processor.get("type") != "RobertaProcessing" or space not in (True, False):
        return None
    return {
        **original,
        "pre_tokenizer": {**pre_tokenizer, "add_prefix_space": space},
        "post_processor": {
            **post_processor,
            "add_prefix_space": space,
            "trim_offsets": settings.get("trim_offsets", True),
        },
    }


def convert(folder: Path) -> tokenizers.Tokenizer:
    """A tokenizer from the older vocabulary files. Raises FileNotFoundError if there is none."""
    if not any(all((folder / name).is_file() for name in names) for names in VOCABULARIES):
        raise FileNotFoundError("no vocabulary")  # transformers would invent one from the special tokens alone
    kind = class_name(read_json(folder / "tokenizer_config.json"), read_json(folder / "config.json"))
    if kind in BERT and (folder / "vocab.txt").is_file() and (tokenizer := bert_from_vocabulary(folder)):
        return tokenizer
    return load_with_transformers(folder)


def load_with_transformers(folder: Path) -> tokenizers.Tokenizer:
    """The tokenizer that AutoTokenizer builds from *folder*. Code in the folder is never run."""
    from transformers import AutoTokenizer, BertTokenizer

    settings, config = read_json(folder / "tokenizer_config.json"), read_json(folder / "config.json")
    if class_name(settings, config) in SLOW:
        raise ExplorerError(
            f"The tokenizer of {folder.name} is a {class_name(settings, config)}, which cuts texts by code in place of "
            "the rules of a tokenizer.json. Choose a checkpoint that has one."
        )
    kind = AutoTokenizer if "model_type" in config else BertTokenizer
    try:
        tokenizer = kind.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
        return tokenizers.Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
    except (AttributeError, LookupError, TypeError) as error:  # Python's own words would help nobody
        raise ValueError(
            "transformers cannot make a tokenizer of them, for example because pieces such as [CLS] are missing"
        ) from error

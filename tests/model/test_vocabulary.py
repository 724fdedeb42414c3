"""Contradictory tokenizer files give the ids of AutoTokenizer."""

import json
from pathlib import Path
from typing import Any

import pytest
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model import vocabulary
from bertexplorer.model.text import Tokenizer
from tests.conftest import Tiny

TEXTS = (
    "Caf\u00e9 \u00c0\u00c9 na\u00efve Paris",
    "\u65e5\u672c is a \u65e5\u672c",
    "  the Cat sat",
    "The capital of FRANCE",
    "don't",
)
ANY: dict[str, Any] = {}
CASED, LOWER = {"do_lower_case": False}, {"do_lower_case": True}
MARKED, STRIPPED, SILENT = {"strip_accents": False}, {"strip_accents": True}, {"strip_accents": None}
TOGETHER, SPACE = {"tokenize_chinese_chars": False}, {"add_prefix_space": True}
OWN, AS_IT_IS = "BertTokenizer", "PreTrainedTokenizerFast"
CASES = [  # (checkpoint, tokenizer_class, tokenizer_config.json, the normalizer of tokenizer.json)
    *(("bert", kind, said, {}) for kind in (None, AS_IT_IS) for said in (ANY, CASED, LOWER, MARKED, TOGETHER)),
    *(("bert", OWN, said, {"lowercase": False}) for said in (ANY, LOWER, CASED, STRIPPED, SILENT)),
    *(("bert", OWN, said, {"strip_accents": False}) for said in (ANY, LOWER, CASED, STRIPPED, SILENT)),
    *(("bert", OWN, said, {"handle_chinese_chars": False}) for said in (ANY, TOGETHER)),
    ("bert", "BertTokenizerFast", CASED | STRIPPED, {}),
    ("bert", "BertTokenizerFast", ANY, {"clean_text": False}),
    ("bert", AS_IT_IS, LOWER, {"lowercase": False}),
    ("bert", "SomethingElse", CASED, {}),
    ("distilbert", "DistilBertTokenizer", CASED | TOGETHER, {}),
    ("electra-generator", "ElectraTokenizer", TOGETHER, {}),
    ("electra-discriminator", None, CASED, {}),
    *(("roberta", kind, said, {}) for kind in (None, "RobertaTokenizer", AS_IT_IS) for said in (ANY, SPACE)),
    *(("albert", kind, said, {}) for kind in (None, "AlbertTokenizer", AS_IT_IS) for said in (ANY, CASED, SPACE)),
    *(("modernbert", kind, SPACE, {}) for kind in (None, AS_IT_IS)),
    *(("xlm-roberta", kind, said, {}) for kind in (None, AS_IT_IS) for said in (ANY, {"add_prefix_space": False})),
]


@pytest.mark.parametrize(("name", "kind", "said", "normalizer"), CASES, ids=map(str, range(len(CASES))))
def test_contradictory_files_give_the_ids_of_transformers(
    tiny_copy: Tiny, name: str, kind: str | None, said: dict[str, Any], normalizer: dict[str, Any]
) -> None:
    folder = tiny_copy(name)
    config, whole = folder / "tokenizer_config.json", folder / "tokenizer.json"
    about = {key: value for key, value in json.loads(config.read_text("utf-8")).items() if key != "tokenizer_class"}
    config.write_text(json.dumps(about | said | ({"tokenizer_class": kind} if kind else {})), "utf-8")
    if normalizer:
        given = json.loads(whole.read_text("utf-8"))
        whole.write_text(json.dumps(given | {"normalizer": given["normalizer"] | normalizer}), "utf-8")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = Tokenizer.from_folder(folder, max_tokens=64)
    assert [ours.backend.encode(text).ids for text in TEXTS] == [theirs(text)["input_ids"] for text in TEXTS]
    pair = ours.backend.encode(*TEXTS[:2])
    result = theirs(*TEXTS[:2], return_token_type_ids=True)
    assert (pair.ids, pair.type_ids) == (result["input_ids"], result["token_type_ids"])


def test_a_folder_without_a_tokenizer_config_gives_the_ids_of_transformers(tiny_copy: Tiny) -> None:
    folder = tiny_copy("bert")
    (folder / "tokenizer_config.json").unlink()
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = Tokenizer.from_folder(folder, max_tokens=64)
    assert [ours.backend.encode(text).ids for text in TEXTS] == [theirs(text)["input_ids"] for text in TEXTS]


@pytest.mark.parametrize("said", ["[]", "{", '{"do_lower_case": "yes", "tokenizer_class": "BertTokenizer"}'])
def test_an_unreadable_tokenizer_config_is_reported(tiny_copy: Tiny, said: str) -> None:
    folder = tiny_copy("bert")
    (folder / "tokenizer_config.json").write_text(said, "utf-8")
    with pytest.raises(ExplorerError, match="The tokenizer of bert cannot be read"):
        Tokenizer.from_folder(folder, max_tokens=64)


MAP = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]", "mask_token": "[MASK]"}
USUAL = {"model_max_length": 512, "tokenizer_class": "BertTokenizer", "do_basic_tokenize": True, "max_len": 512}


@pytest.mark.parametrize("said", [ANY, CASED, LOWER, MARKED, STRIPPED, SILENT, TOGETHER, USUAL, USUAL | MAP])
@pytest.mark.parametrize("name", ["bert", "distilbert"])
def test_a_vocabulary_alone_gives_the_tokenizer_of_transformers(
    tiny_copy: Tiny, monkeypatch: pytest.MonkeyPatch, name: str, said: dict[str, Any]
) -> None:
    """Without transformers, whose import takes longer than everything else."""
    folder = only_vocabulary(tiny_copy(name), said)
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    monkeypatch.setattr(vocabulary, "load_with_transformers", lambda _: pytest.fail("transformers was asked"))
    made, wanted = (
        json.loads(each) for each in (vocabulary.convert(folder).to_str(), theirs.backend_tokenizer.to_str())
    )
    assert made == wanted


@pytest.mark.parametrize(
    ("said", "file"),
    [
        ({"do_lower_case": "yes"}, {}),
        ({"mask_token": "the"}, {}),
        ({"never_split": ["the"]}, {}),
        (ANY, {"added_tokens.json": {"[NEW]": 200}}),
        (ANY, {"special_tokens_map.json": MAP | {"mask_token": "paris"}}),
    ],
)
def test_an_unusual_vocabulary_is_read_by_transformers(
    tiny_copy: Tiny, said: dict[str, Any], file: dict[str, Any]
) -> None:
    folder = only_vocabulary(tiny_copy("bert"), said)
    for name, content in file.items():
        (folder / name).write_text(json.dumps(content), "utf-8")
    assert vocabulary.bert_from_vocabulary(folder) is None


def only_vocabulary(folder: Path, said: dict[str, Any]) -> Path:
    """*folder* with vocab.txt instead of tokenizer.json."""
    pieces = Tokenizer.from_folder(folder, max_tokens=64).backend.get_vocab()
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(sorted(pieces, key=pieces.__getitem__)) + "\n", "utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps(said), "utf-8")
    return folder


@pytest.mark.parametrize(
    ("normalizer", "said", "note"),
    [
        ({"type": "BertNormalizer", "lowercase": True, "strip_accents": True}, ANY, ""),  # what lower case implies
        ({"type": "BertNormalizer", "lowercase": True, "strip_accents": False}, ANY, "The setting strip_accents in"),
        ({"type": "BertNormalizer", "lowercase": False}, ANY, "The setting strip_accents and lowercase in"),
        ({"type": "Replace", "pattern": {"String": "a"}, "content": "b"}, ANY, "The normalizer Replace in"),
        (None, ANY, ""),
    ],
)
def test_a_normalizer_that_is_ignored_is_announced(
    tiny_copy: Tiny, normalizer: dict[str, Any] | None, said: dict[str, Any], note: str
) -> None:
    folder = tiny_copy("bert")
    whole, config = folder / "tokenizer.json", folder / "tokenizer_config.json"
    given = json.loads(whole.read_text("utf-8"))
    whole.write_text(json.dumps(given | {"normalizer": normalizer and given["normalizer"] | normalizer}), "utf-8")
    config.write_text(json.dumps(said | {"tokenizer_class": "BertTokenizer"}), "utf-8")
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = Tokenizer.from_folder(folder, max_tokens=64)
    encoding = ours.encode("A Café at Paris")
    assert list(encoding.ids) == theirs("A Café at Paris")["input_ids"], "transformers ignores it too"
    assert [line for line in encoding.notes if "is ignored" in line] == list(ours.notes)
    assert bool(ours.notes) is bool(note) and all(line.startswith(note) for line in ours.notes)

"""Contradictory tokenizer files give the ids of AutoTokenizer."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Tokenizer

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
def test_contradicting_files_give_the_ids_of_transformers(
    tiny_copy: Callable[[str], Path], name: str, kind: str | None, said: dict[str, Any], normalizer: dict[str, Any]
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
    found = theirs(*TEXTS[:2], return_token_type_ids=True)
    assert (pair.ids, pair.type_ids) == (found["input_ids"], found["token_type_ids"])


def test_a_folder_without_a_config_of_its_tokenizer_too(tiny_copy: Callable[[str], Path]) -> None:
    folder = tiny_copy("bert")
    (folder / "tokenizer_config.json").unlink()
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ours = Tokenizer.from_folder(folder, max_tokens=64)
    assert [ours.backend.encode(text).ids for text in TEXTS] == [theirs(text)["input_ids"] for text in TEXTS]


@pytest.mark.parametrize("said", ["[]", "{", '{"do_lower_case": "yes", "tokenizer_class": "BertTokenizer"}'])
def test_a_config_that_is_none_is_named_or_left_to_transformers(tiny_copy: Callable[[str], Path], said: str) -> None:
    folder = tiny_copy("bert")
    (folder / "tokenizer_config.json").write_text(said, "utf-8")
    with pytest.raises(ExplorerError, match="The tokenizer of bert cannot be read"):
        Tokenizer.from_folder(folder, max_tokens=64)

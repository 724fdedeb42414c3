"""Files as their authors published them: other names, more tensors, fewer settings, and the same numbers."""

import json
from pathlib import Path

import pytest
import torch
import transformers

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import Tokenizer
from tests.conftest import Tiny
from tests.model.test_load import logits, rewrite
from tests.tiny import COMMON

LINES = ("The capital of Fränce is paris.", "a  GREAT [MASK] film", "日本", "")


@pytest.fixture
def spm(tiny: Tiny, tmp_path: Path) -> Path:
    """A folder with the tokenizer of DeBERTa-v3 as Microsoft published it: spm.model alone, without a piece [MASK]."""
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    text = tmp_path / "text"
    text.write_text("the capital of france is paris .\na great film , a terrible movie\n" * 20, "utf-8")
    special = {"pad_id": 0, "bos_id": 1, "eos_id": 2, "unk_id": 3}
    pieces = {"pad_piece": "[PAD]", "bos_piece": "[CLS]", "eos_piece": "[SEP]", "unk_piece": "[UNK]"}
    sizes = {"vocab_size": 60, "hard_vocab_limit": False}
    trainer.train(input=str(text), model_prefix=str(tmp_path / "spm"), **sizes, **special, **pieces)
    (tmp_path / "tokenizer_config.json").write_text('{"do_lower_case": false, "vocab_type": "spm"}')
    (tmp_path / "config.json").write_bytes((tiny("deberta") / "config.json").read_bytes())
    return tmp_path


def test_a_deberta_with_only_spm_model_has_the_ids_of_transformers(spm: Path, tmp_path: Path) -> None:
    ours, theirs = Tokenizer.from_folder(spm, max_tokens=64), transformers.AutoTokenizer.from_pretrained(spm)
    assert type(theirs).__name__.startswith("DebertaV2Tokenizer") and ours.mask_id == theirs.mask_token_id
    for line in LINES:
        assert ours.backend.encode(line).ids == theirs(line)["input_ids"]
    pair = ours.backend.encode("the capital", "a movie")
    assert pair.ids == theirs("the capital", "a movie")["input_ids"] and max(pair.type_ids) == 1
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved" / "config.json").write_bytes((spm / "config.json").read_bytes())
    ours.save(tmp_path / "saved")
    restored = transformers.AutoTokenizer.from_pretrained(tmp_path / "saved")
    assert [restored(line)["input_ids"] for line in LINES] == [theirs(line)["input_ids"] for line in LINES]


def test_positions_that_deberta_does_not_add_are_left_out(tiny: Tiny, tiny_copy: Tiny) -> None:
    folder = tiny_copy("deberta")
    rows = {"deberta.embeddings.position_embeddings.weight": torch.ones(COMMON["max_position_embeddings"], 32)}
    rewrite(folder, lambda tensors: tensors | rows)
    whole, other = load(tiny("deberta"), precision="fp32"), load(folder, precision="fp32")
    assert torch.equal(logits(whole), logits(other)) and other.unused == ()


@pytest.mark.parametrize(
    "message", [{}, {"do_lower_case": False}, {"strip_accents": False}, {"tokenize_chinese_chars": False}]
)
@pytest.mark.parametrize("whole", [False, True], ids=["vocab.txt", "tokenizer.json"])
def test_a_config_without_model_type_is_that_of_bert(
    tiny: Tiny, tiny_copy: Tiny, message: dict[str, object], whole: bool
) -> None:
    """As in the first conversions of Google's files: the rest of the config is BERT's, and so are the names."""
    folder = tiny_copy("bert")
    before = transformers.AutoTokenizer.from_pretrained(folder)
    config = json.loads((folder / "config.json").read_text())
    reduced = {key: config[key] for key in config if key not in ("model_type", "architectures", "transformers_version")}
    (folder / "tokenizer_config.json").write_text(json.dumps(message))
    if not whole:
        (folder / "tokenizer.json").unlink()
        (folder / "vocab.txt").write_text("\n".join(before.convert_ids_to_tokens(range(len(before)))))
    theirs = transformers.BertTokenizer.from_pretrained(folder)
    (folder / "config.json").write_text(json.dumps(reduced))
    result = load(folder, precision="fp32")
    assert torch.equal(logits(result), logits(load(tiny("bert"), precision="fp32"))) and result.family == "bert"
    for line in ("The CAFÉ é 日a日 [MASK].", "a b"):
        assert result.tokenizer.backend.encode(line).ids == theirs(line)["input_ids"]


def test_a_config_without_model_type_of_another_family_is_rejected(tiny_copy: Tiny) -> None:
    folder = tiny_copy("roberta")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({key: config[key] for key in config if key != "model_type"}))
    with pytest.raises(ExplorerError, match="model_type None; wanted one of bert"):
        load(folder)

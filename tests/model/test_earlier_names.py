"""Checkpoints as their authors published them: other names, more tensors, fewer settings, and the same numbers."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bertexplorer.answers.readout import kind_of
from bertexplorer.core.provenance import checkpoint_facts
from bertexplorer.errors import ExplorerError
from bertexplorer.model.earlier_names import NOMIC, NOMIC_PUBLISHED
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.model.text import Tokenizer
from tests.conftest import Tiny
from tests.model.conftest import make_case
from tests.model.test_load import logits, rewrite
from tests.tiny import COMMON, write
from tests.tolerance import assert_same

CODE = {"AutoConfig": "configuration_own.OwnConfig", "AutoModel": "modeling_own.OwnModel"}


def rewrite_config(folder: Path, change: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    path = folder / "config.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))


def as_nomic_published(hf: dict[str, Any]) -> dict[str, Any]:
    """The names of GPT-2, angles that start to change at 64 tokens, and a limit of 128."""
    old = {earlier: hf.pop(now) for earlier, now in NOMIC.items() if now in hf}
    old |= {"n_positions": 128, "max_trained_positions": 64, "rotary_emb_base": 1000, "activation_function": "swiglu"}
    return {**hf, **old, **NOMIC_PUBLISHED, "hidden_act": "gelu", "auto_map": CODE}


def as_gte_published(hf: dict[str, Any]) -> dict[str, Any]:
    """Called "new", with the scaling of gte-multilingual-base."""
    del hf["rope_parameters"]
    hf |= {"model_type": "new", "architectures": ["NewForMaskedLM"], "position_embedding_type": "rope"}
    hf |= {"rope_theta": 20_000, "rope_scaling": {"factor": 8.0, "type": "ntk"}, "pack_qkv": True}
    return {**hf, "layer_norm_type": "layer_norm", "logn_attention_scale": False, "auto_map": CODE}


def test_nomic_as_published_is_read_alike(tiny: Tiny, tiny_copy: Tiny) -> None:
    folder = tiny_copy("nomic")
    rewrite_config(folder, as_nomic_published)
    tensors = load_file(folder / "model.safetensors")
    assert any("attn.Wqkv" in name for name in tensors)
    renamed = {re.sub("^nomic_bert", "bert", name): tensor for name, tensor in tensors.items()}
    save_file(renamed, folder / "model.safetensors")
    case = make_case("nomic", "NomicBertForMaskedLM", tiny("nomic"))
    published = load(folder, precision="fp32", device="cpu")
    assert published.config == case.ours.config
    last = published.encoder(case.ids, case.segments, case.mask).last
    assert_same(published.config, published.masked_lm(last)[case.mask], case.refer().logits[case.mask])


def test_gte_as_published_is_read_alike(tiny_copy: Tiny) -> None:
    """Its angles against the formula of its own code: base θ s, frequencies divided by s^(2/k)."""
    folder = tiny_copy("gte")
    rewrite_config(folder, as_gte_published)
    tensors = load_file(folder / "model.safetensors")
    assert any("qkv_proj" in name for name in tensors) and any("up_gate_proj" in name for name in tensors)
    save_file({re.sub("^gte", "new", name): t for name, t in tensors.items()}, folder / "model.safetensors")
    published = load(folder, precision="fp32", device="cpu")
    config = published.config
    cos, _ = published.encoder.rotary(40, config.rope_theta[0], torch.zeros(1))
    size = config.head_size
    for position in (1, 39):
        for i in range(size // 2):
            angle = position / ((20_000 * 8) ** (2 * i / size)) / 8 ** (2 / size)
            assert float(cos[position, i]) == pytest.approx(math.cos(angle), abs=1e-5)


@pytest.mark.parametrize(
    ("name", "published", "kind"),
    [("nomic", as_nomic_published, "NomicBertForMaskedLM"), ("gte", as_gte_published, "GteForMaskedLM")],
)
def test_a_published_one_is_saved_as_transformers_reads_it(
    tiny_copy: Tiny, tmp_path: Path, name: str, published: Callable[[dict[str, Any]], dict[str, Any]], kind: str
) -> None:
    folder = tiny_copy(name)
    rewrite_config(folder, published)
    first = load(folder, precision="fp32", device="cpu")
    assert ("Code", f"its own (auto_map) is not run: it is read as {first.family}") in checkpoint_facts(first)
    save(first, tmp_path / "saved")
    assert "auto_map" not in json.loads((tmp_path / "saved" / "config.json").read_text())
    case = make_case(name, kind, tmp_path / "saved")
    assert case.ours.config == first.config
    logits = first.masked_lm(first.encoder(case.ids, case.segments, case.mask).last)
    assert_same(first.config, logits[case.mask], case.refer().logits[case.mask])


def test_the_head_of_nomic_as_published_has_no_biases(tiny: Tiny, tiny_copy: Tiny) -> None:
    """As transformers reads it: biases of zeros."""
    folder = tiny_copy("nomic")
    rewrite_config(folder, as_nomic_published)
    tensors = load_file(folder / "model.safetensors")
    for name in ("cls.predictions.transform.dense.bias", "cls.predictions.bias"):
        del tensors[name]
    save_file(tensors, folder / "model.safetensors")
    published = load(folder, precision="fp32", device="cpu")
    assert not published.masked_lm.dense.bias.any() and not published.masked_lm.output.bias.any()
    whole = load(tiny("nomic"), precision="fp32", device="cpu")
    assert torch.equal(published.masked_lm.dense.weight, whole.masked_lm.dense.weight)


def test_gte_by_its_own_name_may_have_the_keys_of_its_authors(tiny_copy: Tiny) -> None:
    folder = tiny_copy("gte")
    rewrite_config(folder, lambda hf: as_gte_published(hf) | {"model_type": "gte"})
    config = load(folder, precision="fp32", device="cpu").config
    assert config.rope_theta == (160_000.0, 160_000.0) and config.rope_factor == pytest.approx(8 ** (2 / 8))


def test_a_token_classifier_with_one_label_is_no_tagger(tmp_path: Path) -> None:
    """gte-multilingual-base has one, which weighs the words of a search."""
    folder = write(tmp_path, "gte-TokenClassification", id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0})
    checkpoint = load(folder, precision="fp32", device="cpu")
    assert "token_classifier" in checkpoint.heads and kind_of(checkpoint) is None


def test_code_beside_a_built_in_family_is_not_run(tiny_copy: Tiny) -> None:
    folder = tiny_copy("bert")
    (folder / "modeling_own.py").write_text("raise SystemExit('run')")
    rewrite_config(folder, lambda hf: hf | {"auto_map": CODE})
    assert load(folder, precision="fp32").family == "bert"


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("nomic", {"activation_function": ["swiglu"]}, "cannot be used"),
        ("nomic", {"n_positions": "8192"}, "cannot be used"),
        ("gte", {"architectures": 5}, "cannot be used"),
        ("nomic", {"prenorm": True}, "prenorm = True"),
        ("nomic", {"rotary_emb_fraction": 0.5}, "rotary_emb_fraction = 0.5"),
        ("nomic", {"activation_function": "gelu"}, "activation_function 'gelu'; wanted one of swiglu, geglu"),
        ("gte", {"logn_attention_scale": True}, "logn_attention_scale = True"),
        ("gte", {"rope_scaling": {"type": "dynamic", "factor": 2.0}}, "only 'ntk'"),
        ("gte", {"rope_scaling": {"type": "ntk", "factor": 2.0, "mixed_b": 0.5}}, "mixed_b.*only 'ntk'"),
        ("gte", {"rope_scaling": {"type": "ntk"}}, "cannot be used: KeyError: 'factor'"),
        ("gte", {"rope_scaling": {"type": "ntk", "factor": -1.0}}, "cannot be used"),
        ("gte", {"num_attention_heads": 0}, "cannot be used"),
    ],
)
def test_a_layout_that_was_never_published_is_rejected(
    tiny_copy: Tiny, name: str, change: dict[str, Any], message: str
) -> None:
    folder = tiny_copy(name)
    published = {"nomic": as_nomic_published, "gte": as_gte_published}[name]
    rewrite_config(folder, lambda hf: published(hf) | change)
    with pytest.raises(ExplorerError, match=message):
        load(folder)


def test_a_tensor_that_does_not_split_evenly_is_rejected(tiny_copy: Tiny) -> None:
    folder = tiny_copy("gte")
    tensors = load_file(folder / "model.safetensors")
    name = next(name for name in tensors if "qkv_proj.weight" in name)
    tensors[name] = tensors[name][:-1].clone()
    save_file(tensors, folder / "model.safetensors")
    with pytest.raises(ExplorerError, match="weights lack .*q_proj"):
        load(folder)


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

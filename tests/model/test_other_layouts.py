"""Checkpoints with settings that few have, as transformers and sentence-transformers write them: the same numbers, or a
sentence that says what is wrong."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file, save_file

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.python.bert import Bert
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny
from tests.tiny import write, write_sentence_encoder
from tests.tolerance import assert_same

TEXT = "the capital of france is paris ."


def reconfigure(folder: Path, **values: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | values))
    return folder


def their_logits(folder: Path, checkpoint: Checkpoint) -> torch.Tensor:
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder, attn_implementation="eager").eval()
    ids = torch.tensor([checkpoint.tokenizer.encode(TEXT).ids])
    with torch.inference_mode():
        result: torch.Tensor = model(ids).logits
    return result


def our_logits(checkpoint: Checkpoint) -> torch.Tensor:
    ids = torch.tensor([checkpoint.tokenizer.encode(TEXT).ids])
    with torch.inference_mode():
        return checkpoint.masked_lm(checkpoint.encoder(ids).last)


def opened(folder: Path) -> Checkpoint:
    return load(folder, precision="fp32", device="cpu")


@pytest.mark.parametrize("tied", [True, False])
def test_the_newer_mlm_head_of_deberta_fills_masks_and_is_saved_for_transformers(tmp_path: Path, tied: bool) -> None:
    folder = write(tmp_path / "deberta", "deberta", legacy=False, tie_word_embeddings=tied)
    assert "lm_predictions.lm_head.dense.weight" in load_file(folder / "model.safetensors")
    checkpoint = opened(folder)
    wanted = their_logits(folder, checkpoint)
    assert_same(checkpoint.config, our_logits(checkpoint), wanted)
    save(checkpoint, tmp_path / "saved")
    assert_same(checkpoint.config, their_logits(tmp_path / "saved", checkpoint), wanted)
    assert_same(checkpoint.config, our_logits(opened(tmp_path / "saved")), wanted)


def test_the_head_of_a_discriminator_is_still_left_aside(tmp_path: Path) -> None:
    folder = write(tmp_path / "deberta", "deberta", legacy=False)
    tensors = load_file(folder / "model.safetensors")
    save_file({**tensors, "mask_predictions.dense.bias": torch.zeros(3)}, folder / "model.safetensors")
    assert "masked_lm" not in opened(folder).heads


@pytest.mark.parametrize("recipe", ["eurobert-tied", "modernbert-no-decoder-bias"])
def test_a_tied_head_is_there_if_the_file_says_so(tmp_path: Path, recipe: str) -> None:
    """Its tensors alone do not show it: those of a bare encoder, or of a fine-tuned one, would be the same."""
    folder = write(tmp_path / "model", recipe)
    assert "masked_lm" in opened(folder).heads
    for architectures in (["EuroBertModel"], ["ModernBertModel"], ["ModernBertForSequenceClassification"]):
        assert "masked_lm" not in opened(reconfigure(folder, architectures=architectures)).heads
    assert ("masked_lm" in opened(reconfigure(folder, architectures=None)).heads) == (recipe != "eurobert-tied")


def test_local_layers_without_a_base_of_their_own_have_the_global_one(tmp_path: Path) -> None:
    """local_rope_theta null, as of 2024; the reference has the base spelt out for both, as transformers does now."""
    folder = write(tmp_path / "modernbert", "modernbert")
    kinds = ("full_attention", "sliding_attention")
    same = {kind: {"rope_type": "default", "rope_theta": 160_000.0} for kind in kinds}
    wanted = their_logits(reconfigure(folder, rope_parameters=same), opened(folder))
    older = reconfigure(folder, rope_parameters=None, global_rope_theta=160_000.0, local_rope_theta=None)
    assert_same(opened(older).config, our_logits(opened(older)), wanted)


@pytest.mark.parametrize("name", ["swish", "gelu_python", "gelu_fast", "gelu_accurate", "gelu_python_tanh"])
def test_other_names_of_the_activations_are_read(tmp_path: Path, name: str) -> None:
    folder = write(tmp_path / "bert", "bert-mlm", hidden_act=name)
    checkpoint = opened(folder)
    assert_same(checkpoint.config, our_logits(checkpoint), their_logits(folder, checkpoint))


def test_a_roberta_that_pads_with_another_token_than_its_tokenizer_says_so(tmp_path: Path) -> None:
    folder = write(tmp_path / "roberta", "roberta")
    assert not opened(folder).tokenizer.encode(TEXT).notes
    [note] = opened(reconfigure(folder, pad_token_id=0)).tokenizer.encode(TEXT).notes
    assert note.startswith("config.json gives pad_token_id 0, which is <s>, and the tokenizer pads with <pad>.")
    assert "its numbers are others than these" in note


def vocabulary_alone(folder: Path, **settings: Any) -> Path:
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("\n".join(sorted(vocabulary, key=vocabulary.get)) + "\n")
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


@pytest.mark.parametrize("words", ["basic", "mecab"])
@pytest.mark.parametrize("pieces", ["character", "wordpiece"])
def test_a_japanese_tokenizer_without_rules_is_refused_in_plain_words(tiny_copy: Tiny, words: str, pieces: str) -> None:
    settings = {"tokenizer_class": "BertJapaneseTokenizer", "word_tokenizer_type": words}
    folder = vocabulary_alone(tiny_copy("bert-mlm"), **settings, subword_tokenizer_type=pieces)
    with pytest.raises(
        ExplorerError, match="is a BertJapaneseTokenizer, which cuts texts by code in place of the rules"
    ):
        load(folder)


def test_a_sentencepiece_model_without_special_pieces_is_refused_in_plain_words(
    tiny_copy: Tiny, tmp_path: Path
) -> None:
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    folder = tiny_copy("albert")
    for file in folder.glob("tokenizer*"):
        file.unlink()
    (tmp_path / "text").write_text(f"{TEXT}\n" * 20)
    trainer.train(input=str(tmp_path / "text"), model_prefix=str(folder / "spiece"), vocab_size=19, minloglevel=2)
    with pytest.raises(ExplorerError, match=r"cannot be read \(spiece.model\).*pieces such as \[CLS\] are missing"):
        load(folder)


def in_a_subfolder(folder: Path) -> Path:
    """The files of *folder* as sentence-transformers wrote them until 2021: the encoder in 0_Transformer."""
    outside = {"modules.json", "1_Pooling", "2_Dense", "config_sentence_transformers.json"}
    inner = folder / "0_Transformer"
    inner.mkdir()
    for file in [*folder.iterdir()]:
        if file.name not in outside and file != inner:
            shutil.move(file, inner / file.name)
    modules = json.loads((folder / "modules.json").read_text())
    modules[0]["path"] = "0_Transformer"
    (folder / "modules.json").write_text(json.dumps(modules))
    return folder


@pytest.mark.parametrize("pickled", [False, True])
def test_an_encoder_in_a_subfolder_gives_the_same_vectors(tiny_copy: Tiny, tmp_path: Path, pickled: bool) -> None:
    cls = {"pooling_mode_cls_token": True}
    folder = write_sentence_encoder(tiny_copy("bert-base"), cls, dense=["Tanh"], max_seq_length=6)
    with pytest.warns(UserWarning, match="longer than the 6 tokens"):
        wanted = Bert(opened(folder)).encode([TEXT, "a cat"])
    in_a_subfolder(folder)
    if pickled:
        weights = folder / "0_Transformer" / "model.safetensors"
        torch.save(load_file(weights), weights.with_name("pytorch_model.bin"))
        weights.unlink()
    library = CheckpointRegistry(Settings(models_dir=folder.parent, data_dir=tmp_path / "data"))
    checkpoint = library.get(folder.name, "fp32")
    with pytest.warns(UserWarning, match="longer than the 6 tokens"):
        found = Bert(checkpoint).encode([TEXT, "a cat"])
    torch.testing.assert_close(torch.tensor(found), torch.tensor(wanted), rtol=0, atol=1e-6)
    assert checkpoint.revision.startswith("sha256:")


@pytest.mark.parametrize("path", ["../elsewhere", "/etc", "", None, "0_Missing"])
def test_no_other_place_is_taken_for_the_encoder(tiny_copy: Tiny, path: Any) -> None:
    folder = in_a_subfolder(write_sentence_encoder(tiny_copy("bert-base"), {"pooling_mode": "mean"}))
    shutil.copytree(folder / "0_Transformer", folder.parent / "elsewhere")
    (folder / "modules.json").write_text(json.dumps([{"path": path, "type": "Transformer"}]))
    with pytest.raises(ExplorerError, match="No config.json"):
        load(folder)

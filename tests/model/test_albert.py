"""ALBERT's layers are one layer: in memory, in files, in gradients and in training."""

from copy import deepcopy
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file

from bertexplorer.errors import ExplorerError
from bertexplorer.model.families import albert
from bertexplorer.model.initialise import random_copy, with_heads
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.model.text import Tokenizer
from tests.conftest import Tiny
from tests.model.conftest import make_case
from tests.model.test_load import reconfigure, rewrite
from tests.tiny import write
from tests.tolerance import assert_same

IDS = torch.arange(5, 25)[None]


def test_all_layers_share_one_set_of_weights(tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = load(tiny("albert"), precision="fp32", device="cpu")
    assert len(checkpoint.encoder.layers) == checkpoint.config.num_layers == 3
    assert len(set(checkpoint.encoder.layers)) == len(set(deepcopy(checkpoint.encoder).layers)) == 1
    stored = load_file(checkpoint.folder / "model.safetensors")
    assert checkpoint.num_parameters == sum(tensor.numel() for tensor in stored.values())
    assert checkpoint.num_bytes == 4 * checkpoint.num_parameters
    with torch.no_grad():
        checkpoint.encoder.layers[1].feed_forward.expand.weight += 1
    save(checkpoint, tmp_path)
    saved, name = load_file(tmp_path / "model.safetensors"), f"{albert.LAYER}ffn.weight"
    assert torch.equal(saved.pop(name), stored.pop(name) + 1)
    assert all(torch.equal(saved[name], stored[name]) for name in saved.keys() | stored.keys())


def test_a_file_without_the_prefix_is_loaded(tmp_path: Path) -> None:
    model = transformers.AlbertModel.from_pretrained(write(tmp_path / "made", "albert", num_hidden_layers=2))
    model.save_pretrained(tmp_path / "made")
    case = make_case("albert", "AlbertModel", tmp_path / "made")
    assert set(case.ours.heads) == {"pooler"}
    assert_same(case.ours.config, case.ours.pooler(case.run().last), case.refer().pooler_output)


def test_the_sentence_order_head_is_ignored(tiny: Tiny, tmp_path: Path) -> None:
    """Its logits say which sentence came first, so they must not be read as those of the next sentence."""
    folder = write(tmp_path, "albert")
    torch.manual_seed(0)
    transformers.AlbertForPreTraining.from_pretrained(folder).save_pretrained(folder)
    case = make_case("albert", "AlbertForPreTraining", folder)
    assert set(case.ours.heads) == {"masked_lm", "pooler"}
    assert case.ours.unused == ("sop_classifier.classifier.bias", "sop_classifier.classifier.weight")
    ours, theirs = case.ours.masked_lm(case.run().last), case.refer().prediction_logits
    assert_same(case.ours.config, ours[case.mask], theirs[case.mask])
    with pytest.raises(ExplorerError, match="albert has no next-sentence head"):
        _ = case.ours.next_sentence
    with pytest.raises(ExplorerError, match="albert has no next-sentence head"):
        with_heads(case.ours, ["next_sentence"], seed=0)


def test_the_bias_of_the_decoder_is_used(tiny_copy: Tiny, tmp_path: Path) -> None:
    """transformers uses it, too, although the config ties the two."""
    folder = tiny_copy("albert")
    rewrite(folder, lambda t: t | {"predictions.decoder.bias": torch.zeros_like(t["predictions.bias"])})
    case = make_case("albert", "AlbertForMaskedLM", folder)
    assert not case.ours.masked_lm.output.bias.any()
    logits = case.ours.masked_lm(case.run().last)[case.mask]
    assert_same(case.ours.config, logits, case.refer().logits[case.mask])
    save(case.ours, tmp_path)
    assert_same(case.ours.config, logits, make_case("", "AlbertForMaskedLM", tmp_path).refer().logits[case.mask])


@pytest.mark.parametrize("key", ["num_hidden_groups", "inner_group_num"])
def test_layers_in_groups_are_rejected(tiny_copy: Tiny, key: str) -> None:
    folder = tiny_copy("albert")
    reconfigure(folder, **{key: 2})
    with pytest.raises(ExplorerError, match=f"{key} = 2; only one layer"):
        load(folder, precision="fp32")


def test_random_weights_are_shared_by_all_layers(tiny: Tiny) -> None:
    real = load(tiny("albert"), precision="fp32", device="cpu")
    control = random_copy(real)
    assert len(set(control.encoder.layers)) == 1 and control.num_parameters == real.num_parameters
    assert not torch.allclose(control.encoder(IDS).last, real.encoder(IDS).last)
    assert torch.equal(control.encoder(IDS).last, random_copy(real).encoder(IDS).last)


def test_a_sentencepiece_model_is_sufficient(tiny: Tiny, tmp_path: Path) -> None:
    trainer = pytest.importorskip("sentencepiece").SentencePieceTrainer
    text = tmp_path / "text"
    text.write_text("the capital of france is paris .\na great film , a terrible movie\n" * 20, "utf-8")
    special = {"pad_id": 0, "unk_id": 1, "bos_id": -1, "eos_id": -1, "user_defined_symbols": "[CLS],[SEP],[MASK]"}
    trainer.train(
        input=str(text), model_prefix=str(tmp_path / "spiece"), vocab_size=60, hard_vocab_limit=False, **special
    )
    (tmp_path / "config.json").write_bytes((tiny("albert") / "config.json").read_bytes())
    ours = Tokenizer.from_folder(tmp_path, max_tokens=64)
    theirs = transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours.kind == "Unigram" and type(theirs).__name__.startswith("AlbertTokenizer")
    for line in ("The capital of Fränce is ``paris''.", "a  GREAT [MASK] ﬁlm", "日本"):
        assert ours.backend.encode(line).ids == theirs(line)["input_ids"]
    pair = ours.backend.encode("the capital", "a movie")
    assert pair.type_ids == theirs("the capital", "a movie", return_token_type_ids=True)["token_type_ids"]

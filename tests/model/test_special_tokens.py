"""Special tokens as the tokenizer's files name them: a ModernBERT with <bos> and <eos>, and one without a mask."""

import json
import math
from pathlib import Path

import pytest
import torch
import transformers
from tokenizers import Tokenizer as Backend, processors

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.python.bert import Bert
from bertexplorer.views import VIEWS
from bertexplorer.views.pseudo_likelihood import compute as pseudo_likelihood
from tests import tiny as recipes
from tests.conftest import Tiny

TEXT = "The capital of France is Paris."
SPELT = {"cls": "<bos>", "sep": "<eos>", "mask": "<|mask|>", "pad": "<pad>", "unk": "<unk>"}


def write(folder: Path, ordinary: tuple[str, ...] = (), *, mask: bool = True, named: bool = True) -> Path:
    """A ModernBERT whose special tokens are spelt as in SPELT. *ordinary*: further pieces of the vocabulary. *named*:
    whether tokenizer_config.json names the roles of <bos> and <eos> too, which the post-processor always shows."""
    spelt = {role: token for role, token in SPELT.items() if mask or role != "mask"}
    tokenizer = recipes.byte_level(list(spelt.values()))
    extended = json.loads(tokenizer.to_str())
    vocabulary = extended["model"]["vocab"]
    for piece in ordinary:
        vocabulary[piece] = len(vocabulary)
    tokenizer = Backend.from_str(json.dumps(extended))
    frame = [(token, vocabulary[token]) for token in ("<bos>", "<eos>")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<bos> $A <eos>", pair="<bos> $A <eos> $B:1 <eos>:1", special_tokens=frame
    )
    ids = {f"{role}_token_id": vocabulary[token] for role, token in spelt.items() if role != "mask"}
    recipes.write(folder, "modernbert", **ids, vocab_size=len(vocabulary))
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {f"{role}_token": token for role, token in spelt.items() if named or role not in ("cls", "sep")}
    about |= {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<bos>", "eos_token": "<eos>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    return folder


@pytest.mark.parametrize("ordinary", [(), ("<s>", "</s>"), ("<s>", "</s>", "[CLS]", "[SEP]", "[MASK]")])
@pytest.mark.parametrize("named", [True, False])
def test_a_pseudo_likelihood_does_not_count_bos_and_eos(tmp_path: Path, ordinary: tuple[str, ...], named: bool) -> None:
    folder = write(tmp_path, ordinary, named=named)
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder).eval()
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    ids = theirs(TEXT, return_tensors="pt")["input_ids"]
    assert theirs.convert_ids_to_tokens([ids[0, 0], ids[0, -1]]) == ["<bos>", "<eos>"]
    total = 0.0
    for position in range(1, ids.shape[1] - 1):
        hidden = ids.clone()
        hidden[0, position] = theirs.mask_token_id
        with torch.inference_mode():
            log_probs = model(hidden).logits[0, position].log_softmax(-1)
        total += float(log_probs[ids[0, position]])

    checkpoint = load(folder, precision="fp32")
    result = pseudo_likelihood.run(checkpoint, TEXT, options=pseudo_likelihood.Options(hide="the piece"))

    assert checkpoint.tokenizer.mask_token == "<|mask|>"
    assert result.scored == ids.shape[1] - 2
    assert result.total == pytest.approx(total, rel=1e-5)
    assert result.perplexity == pytest.approx(math.exp(-total / result.scored), rel=1e-5)


def test_special_tokens_have_no_words_and_pieces_spelt_like_them_have(tmp_path: Path) -> None:
    tokenizer = load(write(tmp_path, ("<s>", "</s>"))).tokenizer
    assert {role: tokenizer.special[role] for role in ("cls", "sep")} == {"cls": "<bos>", "sep": "<eos>"}
    assert tokenizer.backend.token_to_id("<s>") not in tokenizer.special_ids
    encoding = tokenizer.encode("The river <bos> is <s> deep.")
    assert [t for t, odd in zip(encoding.tokens, encoding.special, strict=True) if odd] == ["<bos>", "<bos>", "<eos>"]
    assert encoding.notes == ("<bos> in your text is read as special, not as words.",)


@pytest.mark.parametrize("typed", ["The <mask> of France", "The [MASK] of France", "The ___ of France"])
def test_every_spelling_of_the_mask_becomes_the_checkpoints_own(tmp_path: Path, typed: str) -> None:
    encoding = load(write(tmp_path)).tokenizer.encode(typed)
    assert [encoding.tokens[i].strip() for i in encoding.masked] == ["<|mask|>"]


def test_a_token_that_the_files_mark_special_is_no_word(tmp_path: Path) -> None:
    """The added tokens of tokenizer.json, the lists of tokenizer_config.json, and special_tokens_map.json."""
    folder = write(tmp_path, ("<one>", "<two>", "<three>"))
    tokenizer = Backend.from_file(str(folder / "tokenizer.json"))
    tokenizer.add_special_tokens(["<one>"])
    tokenizer.save(str(folder / "tokenizer.json"))
    about = json.loads((folder / "tokenizer_config.json").read_text()) | {"additional_special_tokens": ["<two>"]}
    (folder / "tokenizer_config.json").write_text(json.dumps(about))
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": {"content": "<three>"}}))
    ours = load(folder).tokenizer
    assert {ours.backend.token_to_id(f"<{name}>") for name in ("one", "two", "three")} <= ours.special_ids
    assert ours.special["pad"] == "<three>"


@pytest.mark.parametrize("family", ["modernbert", "bert", "roberta", "xlm-roberta"])
def test_a_token_that_only_the_settings_name_is_found_in_a_text(tiny_copy: Tiny, family: str) -> None:
    """tokenizer.json holds the mask as an ordinary piece; transformers marks it special."""
    folder = tiny_copy(family)
    content = json.loads((folder / "tokenizer.json").read_text())
    content["added_tokens"] = [token for token in content["added_tokens"] if "mask" not in token["content"].lower()]
    (folder / "tokenizer.json").write_text(json.dumps(content))
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    encoding = load(folder).tokenizer.encode("The [MASK] of France")
    assert list(encoding.ids) == theirs(f"The {theirs.mask_token} of France")["input_ids"]
    assert len(encoding.masked) == 1


def test_every_view_answers_or_says_what_is_missing_without_a_mask_token(tmp_path: Path) -> None:
    bert = Bert(load(write(tmp_path, mask=False)))
    for text in ("The [MASK] of France", Text(TEXT, hidden=(Span(0, 4, 11),))):
        with pytest.raises(ExplorerError, match="has no mask token"):
            bert.checkpoint.tokenizer.encode(text)
    silent = set()
    for name in VIEWS.names:
        try:
            assert bert.analyse(name, "" if name in ("suite", "probe") else TEXT).said
        except ExplorerError as error:
            silent |= {name} if "has no mask token" in str(error) else set()
    assert silent >= {"fill_mask", "decoding", "pseudo_likelihood", "layers", "masking", "switchboard", "saliency"}
    assert not silent & {"tokenization", "attention", "head_roles", "word_in_context", "embedding_map", "search"}

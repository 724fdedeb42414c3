"""The pieces are the tokenizer's, the vectors are those of transformers' embedding modules."""

import json
from typing import Any

import numpy as np
import pytest
import torch
import transformers

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.views.tokenization import compute as tokenization
from bertexplorer.views.tokenization.compute import Tokenization, longest_match_first
from tests.conftest import Tiny
from tests.tolerance import AROUND, assert_within, of_sum
from tests.views.conftest import Reference
from tests.views.test_bad_input import ODD

PAIR = Text("The doctor said she works.", "A great film, unbelievable!")
FAMILIES = ("bert", "roberta", "xlm-roberta", "electra-generator", "electra-discriminator", "distilbert", "modernbert")


def catch(module: torch.nn.Module, found: dict[str, Any], name: str) -> Any:
    """Record the input and output of *module*."""

    def keep(_: torch.nn.Module, given: tuple[torch.Tensor, ...], out: torch.Tensor) -> None:
        found[f"{name} in"], found[name] = given[0].reshape(-1, given[0].shape[-1]), out.reshape(-1, out.shape[-1])

    return module.register_forward_hook(keep)


def theirs(model: Any, result: Tokenization) -> dict[str, np.ndarray]:
    """The vectors as transformers makes them, read off its embedding modules by hooks."""
    base = model.base_model
    embeddings = base.embeddings
    modules = {
        "word": getattr(embeddings, "word_embeddings", None) or embeddings.tok_embeddings,
        "position": getattr(embeddings, "position_embeddings", None),
        "segment": getattr(embeddings, "token_type_embeddings", None),
        "normalised": getattr(embeddings, "LayerNorm", None) or embeddings.norm,
        "projected": getattr(base, "embeddings_project", None),
    }
    results: dict[str, Any] = {}
    hooks = [catch(module, results, name) for name, module in modules.items() if module is not None]
    segments = {"token_type_ids": torch.tensor([result.segments])} if "segment" in result.parts else {}
    with torch.no_grad():
        base(input_ids=torch.tensor([result.ids]), **segments)
    for hook in hooks:
        hook.remove()
    results["sum"] = results["normalised in"]
    return {name: np.asarray(results[name]) for name in (*result.parts,)}


def check(result: Tokenization, wanted: dict[str, np.ndarray]) -> None:
    for name, norms in zip(result.parts, result.norms, strict=True):
        rel = of_sum(wanted[name].shape[1], sums=AROUND)
        np.testing.assert_allclose(norms, np.linalg.norm(wanted[name], axis=1), rtol=rel, err_msg=name)
    word, given = torch.tensor(wanted["word"]), torch.tensor(wanted["normalised"])
    assert_within(result.cosines, torch.cosine_similarity(word, given), of_sum(word.shape[1], sums=AROUND))


def test_the_vectors_of_mini_equal_those_of_transformers(mini: Checkpoint, reference: Reference) -> None:
    result = tokenization.run(mini, PAIR)
    coded = reference.tokenizer(PAIR.first, PAIR.second)
    assert list(result.ids) == coded["input_ids"] and list(result.segments) == coded["token_type_ids"]
    assert result.positions == tuple(range(len(result.ids)))
    assert result.parts == ("word", "position", "segment", "sum", "normalised")
    check(result, theirs(reference.model, result))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_vectors_of_every_family_equal_those_of_transformers(family: str, tiny: Tiny) -> None:
    """No fill-mask head is needed."""
    result = tokenization.run(load(tiny(family), precision="fp32", device="cpu"), PAIR)
    model = transformers.AutoModel.from_pretrained(tiny(family)).eval()
    check(result, theirs(model, result))
    assert ("projected" in result.parts) == family.startswith("electra")
    assert ("position" in result.parts) == (family != "modernbert")
    if "roberta" in family:
        assert result.positions[0] == model.config.pad_token_id + 1


def test_the_last_part_is_the_input_of_the_first_layer(tiny: Tiny) -> None:
    from bertexplorer.engine.inference import forward
    from bertexplorer.engine.inputs import input_parts

    for family in ("bert", "electra-generator", "modernbert"):
        for precision in ("fp32", "bf16"):
            checkpoint = load(tiny(family), precision=precision, device="cpu")
            encoding = checkpoint.tokenizer.encode(PAIR)
            *_, last = input_parts(checkpoint, encoding).values()
            assert torch.equal(last, forward(checkpoint, [encoding]).hidden[0][0].float())


def test_a_word_is_split_step_by_step(small: Checkpoint) -> None:
    (word,) = tokenization.run(small, "Unbelievable").words
    assert (word.text, word.read) == ("Unbelievable", "unbelievable")
    assert [(s.piece, s.rest) for s in word.steps] == [("un", "believable"), ("##believ", "able"), ("##able", "")]
    assert [word.read[s.start : s.end] for s in word.steps] == ["un", "believ", "able"]


def test_an_unknown_piece_has_its_reason(small: Checkpoint, mini: Checkpoint) -> None:
    words = tokenization.run(small, "a 🤖 cat").words
    assert [s.piece for s in words[1].steps] == ["[UNK]"] and words[1].text == "🤖"
    assert "“🤖”" in words[1].reason and not words[0].reason
    (part,) = tokenization.run(small, "unß").words
    assert [s.piece for s in part.steps] == ["[UNK]"] and "“##ß”" in part.reason
    (long,) = tokenization.run(mini, "x" * 101).words
    assert "101 characters" in long.reason and long.steps[0].piece == "[UNK]"


@pytest.mark.parametrize(
    "text", [*ODD.values(), "Beyoncé, naïve ŁÓDŹ, İstanbul ﬁne café re\u0301sume\u0301 x\u00ady 10,000 don't"]
)
def test_the_steps_match_the_tokenizer(text: str, mini: Checkpoint, small: Checkpoint) -> None:
    for checkpoint in (mini, small):
        encoding = checkpoint.tokenizer.encode(text)
        model = json.loads(checkpoint.tokenizer.backend.to_str())["model"]
        vocabulary = checkpoint.tokenizer.backend.get_vocab()
        groups: dict[int, list[int]] = {}
        for position, number in enumerate(encoding.words):
            odd = (
                encoding.special[position]
                and checkpoint.tokenizer.slice(encoding, position) == encoding.tokens[position]
            )
            if number is not None and encoding.original_ids[position] != encoding.mask_id and not odd:
                groups.setdefault(number, []).append(encoding.original_ids[position])
        words = tokenization.run(checkpoint, text).words
        assert [[s.id for s in word.steps] for word in words] == list(groups.values())
        for word in words:
            steps, _ = longest_match_first(word.read, vocabulary, model)
            assert steps[: len(word.steps)] == word.steps, "the steps are ours, not copied from the tokenizer"


def test_bpe_and_unigram_words_are_split(tiny: Tiny) -> None:
    for family, kind in (("roberta", "BPE"), ("xlm-roberta", "Unigram")):
        checkpoint = load(tiny(family), precision="fp32", device="cpu")
        result = tokenization.run(checkpoint, "the doctor said paris")
        assert result.kind == kind
        pieces = [step.id for word in result.words for step in word.steps]
        assert pieces == list(result.ids[1:-1])
        assert [word.text for word in result.words] == ["the", "doctor", "said", "paris"]


def test_hidden_words_are_split_as_written_and_read_as_masks(mini: Checkpoint) -> None:
    text = "The farmers cultivate the land."
    result = tokenization.run(mini, Text(text, hidden=(Span(0, 26, 30),)))
    assert "[MASK]" in result.tokens and mini.tokenizer.mask_id in result.ids
    assert "land" in [word.text for word in result.words]

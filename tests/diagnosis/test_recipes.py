"""Whose vectors: recipes planted with transformers are named, and those of others are not."""

import json
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers

import bertexplorer as bx
from bertexplorer.diagnosis.given import check
from bertexplorer.diagnosis.search import search
from bertexplorer.engine.progress import Stopped, Work, working
from bertexplorer.errors import ExplorerError
from tests.conftest import Tiny
from tests.tiny import write, write_sentence_encoder

TEXTS = [
    "paris",
    "the capital of france is Paris",
    "a great film",
    "The doctor said she works as a nurse",
    "a cat sat on the mat",
    "good money in the bank",
    "he was unbelievable",
    "a terrible movie in london",
]
LONG = [" ".join([*TEXTS, *TEXTS[:3]]), " ".join([*TEXTS[::-1], *TEXTS[:4]])]
CLS = {"pooling_mode": "cls"}
PROMPTS = {"prompts": {"query": "query : ", "passage": "money : "}, "default_prompt_name": "query"}


@torch.inference_mode()
def planted(folder: Path, texts: list[str] = TEXTS, **fault: Any) -> np.ndarray:
    """Vectors of transformers: the first token of the last layer, scaled to length 1, but for *fault*."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    if fault.get("types") is False:
        model.embeddings.token_type_embeddings.weight.zero_()
    vectors = []
    for text in texts:
        text = fault.get("prompt", "") + text
        text = text.lower() if fault.get("lower") else text
        read = tokenizer(
            text,
            return_tensors="pt",
            truncation=True,
            max_length=fault.get("limit", 64),
            add_special_tokens=fault.get("special", True),
        )
        given = {"input_ids": read["input_ids"]}
        if fault.get("types") == 1:
            given["token_type_ids"] = torch.ones_like(read["input_ids"])
        states = model(**given, output_hidden_states=True).hidden_states[fault.get("layer", -1)][0]
        pooled = {"cls": states[0], "mean": states.mean(0), "max": states.amax(0), "words": states[1:-1].mean(0)}
        vector = pooled[fault.get("pooling", "cls")][: fault.get("width", 1000)]
        vectors.append((vector / vector.norm() if fault.get("scaled", True) else vector).numpy())
    return np.stack(vectors)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ({}, "as its files say"),
        ({"pooling": "mean"}, "They take the mean over all tokens; the files say the first token's vector."),
        ({"pooling": "max"}, "They take the maximum over all tokens"),
        ({"pooling": "words"}, "the mean over the tokens between [CLS] and [SEP]"),
        ({"layer": -2}, "They come from layer 2 of 3"),
        ({"layer": 0, "pooling": "mean"}, "They come from the embeddings"),
        ({"scaled": False}, "They are not scaled to length 1"),
        ({"width": 16}, "They are cut to their first 16 of 32 numbers."),
        ({"prompt": "query: "}, "The prompt “query: ” stands before each text."),
        ({"types": False}, "The segment vector (token type 0) is not added"),
        ({"types": 1}, "All tokens have token type 1 instead of 0."),
        ({"special": False, "pooling": "mean"}, "The tokens [CLS] and [SEP] are missing."),
        ({"pooling": "mean", "layer": -2, "scaled": False, "prompt": "passage: "}, "The prompt “passage: ”"),
    ],
)
def test_a_planted_recipe_is_named(fault: dict[str, Any], said: str, tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    answer = bx.doctor(folder, TEXTS, planted(folder, **fault))
    assert said in answer.said, answer.said
    assert answer.found == "named" and answer.as_files == (not fault)
    assert answer.exit_code == (1 if fault else 0)
    named = {"pooling", "layer"} & set(fault)
    assert len(answer.differences) >= len(named)
    assert answer.rows[0]["distance, confirmed"] < 1e-6


@pytest.mark.parametrize(
    ("family", "fault"),
    [
        ("roberta", {"lower": True}),
        ("modernbert", {"lower": True}),
        ("modernbert", {"layer": -2}),
        ("mpnet", {"pooling": "mean"}),
        ("distilbert", {"lower": True}),
    ],
)
def test_other_families(family: str, fault: dict[str, Any], tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy(family), CLS)
    answer = bx.doctor(folder, TEXTS, planted(folder, **fault))
    assert answer.found == "named" and answer.recipe
    reads_capitals = family in ("roberta", "modernbert")
    assert answer.recipe.pooling == fault.get("pooling", "cls")
    assert answer.recipe.layer == (2 if "layer" in fault else 3) + (2 if family == "modernbert" else 0)
    assert answer.recipe.reading.lower_case == (reads_capitals and "lower" in fault)


def test_a_missing_and_a_wrong_prompt(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    (folder / "config_sentence_transformers.json").write_text(json.dumps(PROMPTS))
    assert "The prompt “query : ” is missing." in bx.doctor(folder, TEXTS, planted(folder)).said
    wrong = bx.doctor(folder, TEXTS, planted(folder, prompt="money : "))
    assert "The prompt is “money : ”; it should be “query : ”." in wrong.said
    assert bx.doctor(folder, TEXTS, planted(folder, prompt="money : "), prompt="passage").as_files
    assert bx.doctor(folder, TEXTS, planted(folder), prompt="").as_files


def test_the_length_at_which_texts_are_cut(tiny: Tiny, tmp_path: Path) -> None:
    folder = write_sentence_encoder(write(tmp_path / "long", "bert", max_position_embeddings=200), CLS)
    texts = [*TEXTS, *(" ".join([text, *LONG]) for text in TEXTS[:4])]
    answer = bx.doctor(folder, texts, planted(folder, texts, limit=64))
    assert answer.recipe and answer.recipe.reading.max_tokens == 64
    assert "Texts are cut at 64 tokens; the files say 200." in answer.said
    assert bx.doctor(folder, texts, planted(folder, texts, limit=200)).as_files
    only_long = texts[len(TEXTS) :]
    answer = bx.doctor(folder, only_long, planted(folder, only_long, limit=64, pooling="mean"))
    assert answer.recipe and (answer.recipe.reading.max_tokens, answer.recipe.pooling) == (64, "mean")


def test_short_texts_do_not_show_a_cut(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    answer = bx.doctor(folder, TEXTS, planted(folder))
    assert any("whether longer ones are cut, these texts cannot show" in note for note in answer.notes)


@pytest.mark.parametrize("skipped", [False, True])
def test_a_dense_layer_that_is_skipped(skipped: bool, tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS, dense=["Tanh"])
    vectors = planted(folder) if skipped else bx.load(folder, precision="fp32").encode(TEXTS)
    answer = bx.doctor(folder, TEXTS, vectors)
    assert answer.as_files == (not skipped)
    assert ("The dense layer of the files is skipped." in answer.said) == skipped


def test_sums_and_other_scales_are_read_from_the_lengths(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"}, normalize=False)
    mean = planted(folder, pooling="mean", scaled=False)
    tokens = np.array([[len(bx.load(folder).tokenize(text))] for text in TEXTS])
    assert "the sum over all tokens instead of the mean" in bx.doctor(folder, TEXTS, mean * tokens).said
    assert "the sum over all tokens over √t" in bx.doctor(folder, TEXTS, mean * tokens**0.5).said
    assert "multiplied by 3" in bx.doctor(folder, TEXTS, 3 * mean).said


def test_vectors_of_another_model_and_noise_are_none(tiny_copy: Tiny, tmp_path: Path) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    other = write_sentence_encoder(write(tmp_path / "other", "bert", seed=1), CLS)
    noise = np.random.default_rng(0).normal(size=(len(TEXTS), 32))
    for vectors in (planted(other), noise):
        answer = bx.doctor(folder, TEXTS, vectors)
        assert answer.found == "none" and answer.recipe is None and answer.exit_code == 2
        assert "None of" in answer.said and "The nearest is at a distance" in answer.said
    wide = bx.doctor(folder, TEXTS, np.hstack([noise, noise, noise]))
    assert wide.found == "none" and "96 numbers" in wide.said


def test_vectors_in_another_order(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    answer = bx.doctor(folder, TEXTS, np.roll(planted(folder), 1, axis=0))
    assert answer.found == "shuffled" and answer.exit_code == 1
    assert dict(answer.order)[0] == 1 and "another order" in answer.said


@pytest.mark.parametrize(
    ("round_", "said"),
    [
        (lambda x: x.astype(np.float16).astype(np.float32), "rounded to fp16"),
        (lambda x: np.round(x, 3), "rounded to 3 digits"),
        (lambda x: np.rint(x * 127), "whole (int8)"),
        (lambda x: (x > 0).astype(int), "only the signs"),
    ],
)
def test_rounded_numbers_are_recognised(round_: Any, said: str, tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"})
    answer = bx.doctor(folder, TEXTS, round_(planted(folder, pooling="mean")))
    assert answer.found == "named" and answer.recipe and answer.recipe.pooling == "mean"
    assert said in answer.said.lower()


def test_recipes_that_the_texts_do_not_tell_apart_are_all_named(tiny_copy: Tiny) -> None:
    """A text of one token without [CLS] and [SEP] has the same mean, maximum and first token."""
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    words = ["paris", "london", "berlin", "bank"]
    answer = bx.doctor(folder, words, planted(folder, words, special=False))
    assert answer.found == "several" and answer.exit_code == 1
    assert "do not tell them apart" in answer.said


def test_two_texts_are_enough_and_one_is_not(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    vectors = planted(folder, pooling="mean")
    assert bx.doctor(folder, TEXTS[1:3], vectors[1:3]).found == "named"
    with pytest.raises(ExplorerError, match="one to find the recipe"):
        bx.doctor(folder, TEXTS[:1], vectors[:1])


def test_a_search_can_be_stopped(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    given = check(TEXTS, planted(folder))
    work = Work()
    threading.Timer(0.05, lambda: setattr(work, "stopped", True)).start()
    with working(work), pytest.raises(Stopped):
        while True:
            search(bx.load(folder, precision="fp32").checkpoint, given)


def test_a_search_has_one_thread(tiny_copy: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of short passes wait for each other: on a busy machine, two took ten times as long as one."""
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    made = planted(folder)
    bert = bx.load(folder, precision="fp32")
    seen = set()
    forward = bert.checkpoint.encoder.forward

    def watch(*given: Any) -> Any:
        seen.add(torch.get_num_threads())
        return forward(*given)

    monkeypatch.setattr(bert.checkpoint.encoder, "forward", watch)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        assert bx.doctor(bert, TEXTS, made).as_files
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
    assert seen == {1}


@pytest.mark.parametrize(
    ("vectors", "said"),
    [
        (np.full((8, 32), np.nan), "not finite"),
        (np.zeros((8, 32)), "one to find the recipe"),
        (np.ones((8, 32)), "never reached the model"),
        (np.ones((7, 32)), "8 texts and 7 vectors"),
        (np.ones(8), "wanted n rows of numbers"),
        ([[1.0], [1.0, 2.0]] * 4, "all of one length"),
        (np.ones((8, 20_000)), "at most 16,384"),
        ([["a"]] * 8, "not rows of numbers"),
    ],
)
def test_vectors_that_cannot_be_compared(vectors: Any, said: str, tiny: Tiny) -> None:
    with pytest.raises(ExplorerError, match=said.replace("(", r"\(")):
        bx.doctor(tiny("bert"), TEXTS, vectors)


def test_repeated_and_empty_texts_are_left_out(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS)
    made = planted(folder)
    vectors = np.vstack([made, made[:1], made[1:2] + 1, made[:1], np.zeros((1, 32))])
    answer = bx.doctor(folder, [*TEXTS, TEXTS[0], TEXTS[1], " ", "a dog"], vectors)
    assert answer.as_files
    for said in ("1 empty text left out", "1 vector of zeros", "2 repeated texts", "not deterministic"):
        assert any(said in note for note in answer.notes)

"""Head roles: a claim about a head, on sentences in which two words are marked."""

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

import bertexplorer as bx
from bertexplorer.errors import ExplorerError
from bertexplorer.views.head_roles.claim import Claim, measure_claim, parse
from tests.conftest import Tiny

SENTENCES = """The [cat] sat on the {mat}.
A {dog} sat in [Paris].
The {doctor} said that a [film] was good.
The [dog] and the {cat} sat.
A good {film} , said the [doctor] ."""


def claim_of(bert: bx.Bert, typed: str, head: str = "") -> Claim:
    return measure_claim(bert.checkpoint, typed, head)


def test_it_is_what_transformers_attention_says(tiny: Tiny) -> None:
    """By a loop over heads and sentences, with the weights of transformers; pieces of a word by hand."""
    folder = tiny("bert")
    bert = bx.load(folder, precision="fp32")
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    right = []
    for line in SENTENCES.splitlines():
        sentence = parse(line, 1)
        [(start, end)] = sentence.pairs["claim"]
        encoded = tokenizer(sentence.text.split(" "), is_split_into_words=True, return_tensors="pt")
        with torch.no_grad():
            layers = model(**encoded, output_attentions=True).attentions
        words = encoded.word_ids()
        found = []
        for layer in layers:
            for weights in layer[0]:
                rows = [i for i, word in enumerate(words) if word == start]
                given = {
                    other: sum(float(weights[i, j]) for i in rows for j, word in enumerate(words) if word == other)
                    for other in set(words) - {None, start}
                }
                found.append(max(given, key=given.__getitem__) == end)
        right.append(found)
    heads = bert.checkpoint.config.num_heads
    for number, wanted in enumerate(np.array(right).T):
        claim = claim_of(bert, SENTENCES, f"{number // heads + 1}·{number % heads + 1}")
        assert [sentence.right for sentence in claim.sentences] == wanted.tolist()
        assert claim.by_chance == pytest.approx(np.mean(right))
        assert claim.as_good == sum(np.array(right).sum(0) >= sum(wanted)) - 1


def test_a_head_is_picked_on_sentences_that_do_not_judge_it(tiny: Tiny) -> None:
    """Whatever is marked in the sentences that judge, the head is the same."""
    bert = bx.load(tiny("bert"), precision="fp32")
    lines = SENTENCES.splitlines()
    claim = claim_of(bert, SENTENCES)
    assert claim.picked_on == 3 and len(claim.sentences) == 2
    other = lines[:1] + ["The [mat] sat on the {cat}."] + lines[2:3] + ["[A] dog sat on {Paris}."] + lines[4:]
    assert claim_of(bert, "\n".join(other)).head == claim.head
    assert claim_of(bert, SENTENCES, str(claim.head)).picked_on == 0


def test_without_sentences_it_is_about_objects_and_verbs(bundled) -> None:
    answer = bx.load(bundled, precision="fp32").head_roles("x", show="claim")
    assert "the claim holds" in answer.said and answer.tables["claim"][0]["to"] == "wrote"


def test_words_and_signs_are_set_apart() -> None:
    sentence = parse("It isn't so: the {animal}, [it] slept.", 1)
    assert sentence.text == "It isn ' t so : the animal , it slept ."
    assert sentence.pairs["claim"] == ((9, 7),)


@pytest.mark.parametrize(
    ("typed", "head", "said"),
    [
        ("The [cat] {sat}.", "", "Given: 1 sentence; wanted 4 to 200"),
        ("A [cat] sat.\n" * 4, "", "Line 1 is"),
        ("A [cat] {sat} [here].\n" * 4, "", "wanted one word in brackets"),
        ("A [big cat] {sat}.\n" * 4, "", "wanted one word in brackets"),
        ("The [cat] {sat}.\n" * 4, "99·1", "99"),
        ("The [cat] {sat}.\n" * 4, "1·1, 1·2", "a claim is about one head"),
        ("The [cat] {sat}.\n" * 201, "", "Given: 201 sentences"),
        ("The [cat] {sat} " + "and sat " * 200 + "\n" + "The [cat] {sat}.\n" * 3, "", "cannot be read word by word"),
    ],
)
def test_what_cannot_be_measured_is_said(tiny: Tiny, typed: str, head: str, said: str) -> None:
    with pytest.raises(ExplorerError, match=said):
        claim_of(bx.load(tiny("bert"), precision="fp32"), typed, head)


def test_a_claim_that_a_fixed_distance_explains_does_not_hold(bundled) -> None:
    """In each sentence the pronoun stands three words after its noun: a head that looks there shows nothing."""
    nouns = ("animal", "girl", "train", "king", "car", "boy", "dog", "man")
    typed = "\n".join(f"The {{{noun}}} slept because [it] was old." for noun in nouns)
    answer = bx.load(bundled, precision="fp32").head_roles("x", show="claim", sentences=typed)
    assert "does not show it" in answer.said and "always 3 words to the left is right in 100 %" in answer.said
    assert [row["from"] for row in answer.tables["claim"]] == ["it"] * 4

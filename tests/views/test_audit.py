"""An audit: what it finds in files whose faults were planted, beside transformers' tokenizer and brute force."""

import random
from collections import Counter

import pytest
from transformers import AutoTokenizer

import bertexplorer as bx
from bertexplorer.training.data.near_duplicates import ALIKE, RUN, near_duplicates
from bertexplorer.views.audit.compute import KINDS, Audit
from bertexplorer.views.audit.sets import SETS
from tests.conftest import ROOT


def found(result: bx.Result) -> set[tuple[int, str]]:
    return {(row["line"], row["finding"]) for row in result.rows}


def test_planted_faults_are_found_and_nothing_else() -> None:
    assert found(bx.audit("reviews with faults")) == {
        (5, "repeats"), (7, "nearly repeats"), (8, "another label"), (9, "cut"), (11, "unknown")
    }  # fmt: skip


@pytest.mark.parametrize("name", SETS)
def test_counts_are_those_of_transformers(name: str) -> None:
    """Tokens, unknown ones, the longest text and the share that is cut."""
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "assets/checkpoints/mini")
    result = bx.audit(name)
    audit: Audit = result.value
    texts = [line.text for line in SETS[name]]
    read = [tokenizer(text, add_special_tokens=False, return_offsets_mapping=True) for text in texts]
    tokens = [token for one in read for token in one["input_ids"]]
    assert audit.tokens == len(tokens) and audit.longest == 2 + max(len(one["input_ids"]) for one in read)
    assert audit.unknown == pytest.approx(tokens.count(tokenizer.unk_token_id) / len(tokens), abs=1e-12)
    cut = {}
    for line, (text, one) in enumerate(zip(texts, read, strict=True), 1):
        shortened = tokenizer(text, truncation=True, max_length=audit.limit, return_offsets_mapping=True)
        end = max(end for _, end in shortened["offset_mapping"])
        if len(one["input_ids"]) + 2 > audit.limit:
            cut[line] = 1 - end / len(text)
    assert {row["line"]: row["amount"] for row in result.rows if row["finding"] == "cut"} == pytest.approx(cut)


def test_pieces_of_words_are_those_of_transformers() -> None:
    tokenizer = AutoTokenizer.from_pretrained(ROOT / "assets/checkpoints/mini")
    pieces: Counter[str] = Counter()
    for line in SETS["medicine"]:
        for word in tokenizer.backend_tokenizer.pre_tokenizer.pre_tokenize_str(line.text.lower().replace("é", "e")):
            pieces[word[0]] = len(tokenizer.tokenize(word[0]))
    words = {row["word"]: row["pieces"] for row in bx.audit("medicine").tables["words"]}
    wanted = {word: count for word, count in pieces.items() if count >= 3 and word.isalpha()}
    assert words == wanted and words["acetylsalicylic"] == 6


def test_a_vocabulary_that_lacks_a_script_shatters_it() -> None:
    scripts = {row["name"]: row for row in bx.audit("many scripts").tables["scripts"]}
    assert scripts["Latin"]["pieces"] == 1 and scripts["Latin"]["shattered"] == 0
    assert scripts["Greek"]["pieces"] > 4 and scripts["Cyrillic"]["shattered"] > 0.5
    assert {row["line"] for row in bx.audit("many scripts").rows if row["finding"] == "falls apart"} == set(range(2, 9))


def test_near_duplicates_are_those_of_brute_force() -> None:
    rng = random.Random(1)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(2, 8))) for _ in range(500)]
    texts = [" ".join(rng.choices(words, k=rng.randint(3, 25))) for _ in range(150)]
    for _ in range(100):
        letters = list(rng.choice(texts))
        for _ in range(rng.randint(1, 3)):
            letters[rng.randrange(len(letters))] = rng.choice("xyz ")
        texts.append("".join(letters))
    runs = [{text[i : i + RUN] for i in range(len(text) - RUN + 1)} for text in map(normal, texts)]
    wanted = {}
    for i, text in enumerate(map(normal, texts)):
        shares = [0.0]
        for j, other in enumerate(map(normal, texts[:i])):
            if text == other:
                shares = [0.0]
                break
            lengths = sorted((len(text), len(other)))
            shares.append(min(len(runs[i] & runs[j]) / len(runs[i] | runs[j]), lengths[0] / lengths[1]))
        if max(shares) >= ALIKE:
            wanted[i] = max(shares)
    assert len(wanted) > 30
    assert {near.text: near.share for near in near_duplicates(texts)} == pytest.approx(wanted)


def normal(text: str) -> str:
    return " ".join(text.casefold().split())


@pytest.mark.parametrize(
    "texts",
    [["", "  ", "A cat."], ["\ud800 a"], ["\0\0"], ["x" * 500_000], ["🦄"] * 3, ["a"], ["[MASK] [SEP]"], ["ab", "ab "]],
)
def test_odd_texts_are_audited(texts: list[str]) -> None:
    result = bx.audit(lines=texts)
    assert result.said and len(result.figure.data) > 0
    assert {row["finding"] for row in result.rows} <= set(KINDS)


def test_what_is_read_as_nothing_is_empty() -> None:
    assert found(bx.audit(lines=["A cat.", "\u200b", " "])) == {(2, "empty"), (3, "empty")}


def test_a_sentence_encoder_cuts_where_its_vectors_end() -> None:
    bert = bx.load("mini")
    limit = bert.checkpoint.sentence_tokenizer.max_tokens
    at, beyond = "cat " * (limit - 2), "cat " * (limit - 1)
    assert found(bert.audit(lines=[at, beyond])) >= {(2, "cut")} and (1, "cut") not in found(bert.audit(lines=[at]))


def test_the_share_that_is_lost_counts_the_whole_of_a_very_long_text() -> None:
    bert = bx.load("mini")
    text = "cat " * 100_000
    [row] = [row for row in bert.audit(lines=[text]).rows if row["finding"] == "cut"]
    read = 4 * (bert.checkpoint.sentence_tokenizer.max_tokens - 2)
    assert row["amount"] == pytest.approx(1 - read / len(text), abs=1e-4)

"""A checkpoint's own sentence encoder: the vectors equal those that transformers' last layer gives by hand."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor

from bertexplorer import engine
from bertexplorer.answers.vectors import LabelledLine, encode_sentence
from bertexplorer.errors import ExplorerError
from bertexplorer.model.initialise import random_copy
from bertexplorer.model.load import load
from bertexplorer.model.text import Span, Text
from bertexplorer.python.bert import Bert
from bertexplorer.views.embedding_map import compute as embedding_map
from bertexplorer.views.search import compute as search
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder

TEXTS = [
    "The capital of France is Paris.",
    "a cat",
    "The doctor said she works as a nurse, and he was unbelievable",
]
POOLED: dict[str, Callable[[Tensor], Tensor]] = {  # written from the definitions, over the tokens of one text
    "cls": lambda x: x[0],
    "max": lambda x: torch.stack([column.max() for column in x.T]),
    "mean": lambda x: x.sum(0) / x.shape[0],
    "mean_sqrt_len_tokens": lambda x: x.sum(0) / x.shape[0] ** 0.5,
    "weightedmean": lambda x: (
        sum((i + 1) * row for i, row in enumerate(x)) / sum(i + 1 for i in range(len(x)))  # type: ignore[return-value]
    ),
    "lasttoken": lambda x: x[-1],
}
CLS, MEAN = {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, {"pooling_mode": "mean"}


def hidden(folder: Path, text: str, limit: int = 64) -> Tensor:
    """The last layer of transformers, t by d."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(text, return_tensors="pt", truncation=True, max_length=limit)["input_ids"]
    with torch.inference_mode():
        model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
        result: Tensor = model(ids).last_hidden_state[0]
    return result


def asked(folder: Path, texts: list[str] = TEXTS, **more: Any) -> Tensor:
    return torch.tensor(Bert(load(folder, precision="fp32", device="cpu")).encode(texts, **more))


@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
@pytest.mark.parametrize("mode", POOLED)
def test_each_pooling_in_its_newer_spelling(family: str, mode: str, tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy(family), {"pooling_mode": mode}, normalize=False)
    wanted = torch.stack([POOLED[mode](hidden(folder, text)) for text in TEXTS])
    torch.testing.assert_close(asked(folder), wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    ("pooling", "modes"),
    [
        (CLS, ["cls"]),
        ({"pooling_mode_mean_tokens": True}, ["mean"]),
        ({"pooling_mode_lasttoken": True, "include_prompt": True}, ["lasttoken"]),
        (
            {"pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": True, "pooling_mode_cls_token": True},
            ["cls", "max", "mean"],  # in this order, whatever that of the keys
        ),
        ({"pooling_mode": ["mean", "cls"]}, ["mean", "cls"]),
        ({}, ["mean"]),
    ],
)
def test_poolings_with_dense_layers_and_length_1(pooling: dict[str, Any], modes: list[str], tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert-base"), pooling, dense=["Tanh", "Identity"])
    wanted = []
    for text in TEXTS:
        tokens = hidden(folder, text)
        vector = torch.cat([POOLED[mode](tokens) for mode in modes])
        for path, activation in (("2_Dense", torch.tanh), ("3_Dense", lambda x: x)):
            weights = load_file(folder / path / "model.safetensors")
            vector = activation(weights["linear.weight"] @ vector + weights["linear.bias"])
        wanted.append(vector / vector.norm())
    result = asked(folder)
    assert result.shape == (3, 41)
    torch.testing.assert_close(result, torch.stack(wanted), atol=1e-5, rtol=1e-5)


def with_settings(folder: Path, **settings: Any) -> Path:
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    return folder


PROMPTS = {"query": "query: ", "passage": "the passage: "}


def test_a_prompt_is_text_that_stands_before_the_text(tiny_copy: Tiny) -> None:
    folder = with_settings(write_sentence_encoder(tiny_copy("bert"), MEAN), prompts=PROMPTS)
    bare, asking = (
        torch.stack([F.normalize(hidden(folder, before + text).mean(0), dim=0) for text in TEXTS])
        for before in ("", "query: ")
    )
    torch.testing.assert_close(asked(folder), bare, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(asked(folder, prompt="query"), asking, atol=1e-5, rtol=1e-5)
    with_settings(folder, prompts=PROMPTS, default_prompt_name="query")
    torch.testing.assert_close(asked(folder), asking, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(asked(folder, prompt=""), bare, atol=1e-5, rtol=1e-5)
    with pytest.raises(ExplorerError, match="There is no prompt 'title'; the checkpoint's files name query, passage"):
        asked(folder, prompt="title")


@pytest.mark.parametrize("mode", POOLED)
def test_a_prompt_that_the_files_leave_out_of_the_pooling_is_read_and_not_pooled(mode: str, tiny_copy: Tiny) -> None:
    """As INSTRUCTOR has it: [CLS] and the tokens of the prompt are not pooled; positions count from the first token."""
    pooling = {"pooling_mode": mode, "include_prompt": False}
    folder = write_sentence_encoder(tiny_copy("bert"), pooling, normalize=False)
    with_settings(folder, prompts=PROMPTS, default_prompt_name="query")
    wanted = []
    for text in TEXTS:
        tokens = hidden(folder, "query: " + text)
        before = len(hidden(folder, "query: ")) - 1  # without [SEP]
        if mode == "weightedmean":
            weights = torch.arange(1, len(tokens) + 1)[before:, None].float()
            wanted.append((weights * tokens[before:]).sum(0) / weights.sum())
        else:
            wanted.append(POOLED[mode](tokens[before:]))
    torch.testing.assert_close(asked(folder), torch.stack(wanted), atol=1e-5, rtol=1e-5)
    bare = torch.stack([POOLED[mode](hidden(folder, text)) for text in TEXTS])
    torch.testing.assert_close(asked(folder, prompt=""), bare, atol=1e-5, rtol=1e-5)


def test_what_each_token_adds_is_0_for_a_prompt_that_is_not_pooled(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {**MEAN, "include_prompt": False}, normalize=False)
    checkpoint = load(with_settings(folder, prompts=PROMPTS, default_prompt_name="query"), precision="fp32")
    encoding = encode_sentence(checkpoint, TEXTS[0])
    assert checkpoint.sentence_encoder and encoding.unpooled > 2
    for integrate in (False, True):
        parts = engine.token_parts(checkpoint, encoding, checkpoint.sentence_encoder, integrate=integrate)
        torch.testing.assert_close(parts.vector, asked(folder, [TEXTS[0]])[0], atol=1e-5, rtol=1e-5)
    terms = engine.token_parts(checkpoint, encoding, checkpoint.sentence_encoder).rows
    assert not terms[: encoding.unpooled].any()
    torch.testing.assert_close(terms.sum(0), asked(folder, [TEXTS[0]])[0], atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(("dim", "kept"), [(20, 20), (500, 40), (None, 40)])
def test_a_vector_is_cut_to_the_numbers_that_the_files_name(dim: int | None, kept: int, tiny_copy: Tiny) -> None:
    """As Matryoshka checkpoints have it: the first numbers count, after the scaling to length 1."""
    folder = write_sentence_encoder(tiny_copy("bert"), MEAN, dense=["Tanh"])
    whole = asked(folder)
    with_settings(folder, truncate_dim=dim)
    torch.testing.assert_close(asked(folder), whole[:, :kept], atol=1e-6, rtol=0)
    first, second = whole[0, :kept], whole[1, :kept]
    similarity = Bert(load(folder, precision="fp32", device="cpu")).similarity(TEXTS[0], TEXTS[1])
    assert float(similarity) == pytest.approx(float(first @ second / first.norm() / second.norm()), abs=1e-5)


def test_a_cut_vector_is_named_and_its_parts_sum_to_it(tiny_copy: Tiny) -> None:
    folder = with_settings(write_sentence_encoder(tiny_copy("bert"), MEAN), truncate_dim=20)
    checkpoint = load(folder, precision="fp32", device="cpu")
    own = checkpoint.sentence_encoder
    assert own
    assert str(own) == "the mean over all tokens, scaled to length 1, cut to its first 20 numbers"
    parts = engine.token_parts(checkpoint, checkpoint.tokenizer.encode(TEXTS[0]), own)
    torch.testing.assert_close(parts.rows.sum(0), asked(folder, [TEXTS[0]])[0], atol=1e-5, rtol=1e-5)
    assert "departs" in search.run(checkpoint, "a cat", options=search.Options(pooling="mean")).notes


@pytest.mark.parametrize("place", ["tokenizer_config.json", "tokenizer.json"])
@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_a_long_text_loses_its_beginning_where_the_files_say_so(family: str, place: str, tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy(family), MEAN, normalize=False, max_seq_length=6)
    settings = json.loads((folder / place).read_text())
    if place == "tokenizer.json":
        left: dict[str, Any] = {"direction": "Left", "max_length": 64, "strategy": "LongestFirst", "stride": 0}
        settings["truncation"] = left
    else:
        settings["truncation_side"] = "left"
    (folder / place).write_text(json.dumps(settings))
    wanted = torch.stack([hidden(folder, text, 6).mean(0) for text in TEXTS])
    with pytest.warns(UserWarning, match="longer than the 6 tokens that are read, and cut"):
        torch.testing.assert_close(asked(folder), wanted, atol=1e-5, rtol=1e-5)
    tokenizer = load(folder).tokenizer
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text, limit in (("cat dog " * 40, tokenizer.max_tokens), (TEXTS[0], 6)):
        encoding = tokenizer.limited(limit).encode(text)
        assert list(encoding.ids) == theirs(text, truncation=True, max_length=limit)["input_ids"]
        assert min(word for word in encoding.words if word is not None) == 0
        assert any(
            note.startswith("Shortened at its beginning, as the checkpoint's files say: ") for note in encoding.notes
        )


def test_a_dense_layer_whose_output_is_something_else_does_not_change_the_vector(tiny_copy: Tiny) -> None:
    """sentence-transformers keeps such an output beside the vector, under its own name."""
    folder = write_sentence_encoder(tiny_copy("bert"), MEAN, normalize=False)
    plain = asked(folder)
    write_sentence_encoder(folder, MEAN, dense=["Tanh"], normalize=False)
    about = json.loads((folder / "2_Dense" / "config.json").read_text())
    for name in ("sentence_embedding", "another"):
        (folder / "2_Dense" / "config.json").write_text(json.dumps(about | {"module_output_name": name}))
        assert asked(folder).shape == ((3, 40) if name == "sentence_embedding" else (3, 32))
    torch.testing.assert_close(asked(folder), plain, atol=1e-6, rtol=0)


@pytest.mark.parametrize(
    ("name", "measure"),
    [
        (None, lambda a, b: a @ b / (a.norm() * b.norm())),
        ("cosine", lambda a, b: a @ b / (a.norm() * b.norm())),
        ("dot", lambda a, b: a @ b),
        ("euclidean", lambda a, b: -((a - b) ** 2).sum().sqrt()),
        ("manhattan", lambda a, b: -(a - b).abs().sum()),
    ],
)
def test_similarity_is_measured_as_the_files_say(
    name: str | None, measure: Callable[[Tensor, Tensor], Tensor], tiny_copy: Tiny
) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS, normalize=False)
    if name:
        with_settings(folder, similarity_fn_name=name)
    bert = Bert(load(folder, precision="fp32", device="cpu"))
    vectors = [hidden(folder, text)[0] for text in TEXTS]
    wanted = torch.stack([torch.stack([measure(a, b) for b in vectors]) for a in vectors])
    torch.testing.assert_close(torch.tensor(bert.similarity(TEXTS, TEXTS)), wanted, atol=1e-4, rtol=1e-5)
    assert bert.similarity(TEXTS[0], TEXTS).shape == (3,) and bert.similarity(TEXTS[0], TEXTS[1]).shape == ()
    assert float(bert.similarity(TEXTS[0], TEXTS[1])) == pytest.approx(float(wanted[0, 1]), abs=1e-4)


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"prompts": ["query: "]}, "has the prompts"),
        ({"prompts": {"query": 1}}, "has the prompts"),
        ({"prompts": PROMPTS, "default_prompt_name": "title"}, "the default prompt 'title', which is none of"),
        ({"similarity_fn_name": "hamming"}, "the similarity 'hamming'; wanted one of cosine, dot"),
        ({"truncate_dim": 0}, "truncate_dim 0; wanted a whole number above 0"),
        ({"truncate_dim": "64"}, "truncate_dim '64'; wanted a whole number above 0"),
    ],
)
def test_settings_that_cannot_be_followed_are_a_problem(
    settings: dict[str, Any], problem: str, tiny_copy: Tiny
) -> None:
    folder = with_settings(write_sentence_encoder(tiny_copy("bert"), MEAN), **settings)
    with pytest.raises(ExplorerError, match=problem):
        asked(folder)


@pytest.mark.parametrize("limits", [{"max_seq_length": 6}, {"max_seq_length": None}])
def test_the_limit_of_tokens_is_kept_and_said(limits: dict[str, Any], tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), MEAN, **limits)
    if limits["max_seq_length"] is None:
        settings = json.loads((folder / "tokenizer_config.json").read_text())
        (folder / "tokenizer_config.json").write_text(json.dumps(settings | {"model_max_length": 6}))
    wanted = torch.stack([F.normalize(hidden(folder, text, 6).mean(0), dim=0) for text in TEXTS])
    with pytest.warns(UserWarning, match="2 texts are longer than the 6 tokens that are read, and cut"):
        torch.testing.assert_close(asked(folder), wanted, atol=1e-5, rtol=1e-5)
    checkpoint = load(folder)
    assert len(checkpoint.tokenizer.encode(TEXTS[0])) > 6, "other views read the whole text"
    found = search.run(
        checkpoint, TEXTS[0], lines=[LabelledLine(text) for text in TEXTS], options=search.Options(lines="k")
    )
    assert "3 tokens of the text are beyond the checkpoint's limit of 6 tokens." in found.notes
    assert "2 lines are longer than the 6 tokens that are read, and cut." in found.notes
    drawn = embedding_map.run(checkpoint, ". ".join(TEXTS), options=embedding_map.Options(unit="sentences"))
    assert "longer than the 6 tokens that are read, and cut." in drawn.notes


def test_a_text_is_read_in_lower_case_where_the_files_say_so(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("roberta"), MEAN, do_lower_case=True)
    wanted = torch.stack([F.normalize(hidden(folder, text.lower()).mean(0), dim=0) for text in TEXTS])
    torch.testing.assert_close(asked(folder), wanted, atol=1e-5, rtol=1e-5)


def test_a_hidden_word_stays_hidden_in_lower_case(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), MEAN, do_lower_case=True)
    checkpoint = load(folder)
    text = "İİ the cat sat"
    found = search.run(checkpoint, Text(text, hidden=(Span(0, 7, 10),)))
    typed = search.run(checkpoint, "i̇i̇ the [MASK] sat")
    assert [hit.cosine for hit in found.hits] == pytest.approx([hit.cosine for hit in typed.hits], abs=1e-6)


def test_search_and_map_compare_the_vectors_of_the_files(tiny_copy: Tiny) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), CLS, dense=["Tanh"])
    checkpoint = load(folder, precision="fp32", device="cpu")
    weights = load_file(folder / "2_Dense" / "model.safetensors")
    lines = [*TEXTS, "a bank", "the river", "money"]

    def vector(text: str) -> np.ndarray:
        dense = torch.tanh(weights["linear.weight"] @ hidden(folder, text)[0] + weights["linear.bias"])
        return F.normalize(dense, dim=0).double().numpy()

    cosines = np.stack([vector(line) for line in lines]) @ vector(TEXTS[1])
    given = [LabelledLine(line) for line in lines]
    found = search.run(checkpoint, TEXTS[1], options=search.Options(lines="k"), lines=given)
    assert [hit.line for hit in found.hits] == np.argsort(-cosines).tolist()
    assert [hit.cosine for hit in found.hits] == pytest.approx(np.sort(cosines)[::-1], abs=1e-5)
    options = embedding_map.Options(unit="sentences", point=1, lines="k")
    drawn = embedding_map.run(checkpoint, TEXTS[1], options=options, lines=given)
    assert drawn.nearness == pytest.approx(cosines, abs=1e-5)
    assert not found.notes and not drawn.notes


def test_a_choice_that_departs_from_the_files_is_said(tiny_copy: Tiny) -> None:
    checkpoint = load(write_sentence_encoder(tiny_copy("bert"), CLS))
    departs = "departs from the checkpoint's own sentence encoder: the first token's vector, scaled to length 1"
    for options in (search.Options(pooling="mean"), search.Options(layer=1), search.Options(pooling="CLS", layer=0)):
        assert departs in search.run(checkpoint, "a cat", options=options).notes
    for options in (search.Options(), search.Options(pooling="CLS"), search.Options(layer=3)):
        assert not search.run(checkpoint, "a cat", options=options).notes
    for pooling, said in (("mean", True), ("last four summed", True), ("CLS", False), ("own", False)):
        options = embedding_map.Options(unit="sentences", pooling=pooling)  # type: ignore[arg-type]
        assert (departs in embedding_map.run(checkpoint, "a cat", options=options).notes) is said
    with pytest.warns(UserWarning, match="departs from the checkpoint's own"):  # its length is not 1
        Bert(checkpoint).encode("a cat", pooling="CLS")


def test_an_index_is_built_anew_for_another_sentence_encoder(tiny_copy: Tiny) -> None:
    folder = tiny_copy("bert")
    checkpoints = [load(folder)]
    for pooling in (CLS, MEAN, {**MEAN, "include_prompt": False}):
        checkpoints.append(load(write_sentence_encoder(folder, pooling)))
    checkpoints.append(load(with_settings(folder, truncate_dim=7)))
    names = {search.collection(checkpoint, [LabelledLine("a")], 3, "own") for checkpoint in checkpoints}
    assert len(names) == 5


def test_a_random_copy_has_the_shape_of_the_sentence_encoder(tiny_copy: Tiny) -> None:
    original = load(write_sentence_encoder(tiny_copy("bert"), CLS, dense=["Tanh"]), precision="fp32")
    ours, again = (Bert(random_copy(original)).encode("a cat") for _ in range(2))
    assert ours.shape == (40,) and np.array_equal(ours, again)
    assert not np.allclose(ours, Bert(original).encode("a cat"))


def damaged(path: str, content: Any) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        (folder / path).write_text(text)

    return change


def pickled(folder: Path) -> None:
    (folder / "2_Dense" / "model.safetensors").rename(folder / "2_Dense" / "pytorch_model.bin")


def too_wide(folder: Path) -> None:
    width = load_file(folder / "2_Dense" / "model.safetensors")["linear.weight"].shape[1]
    save_file({"linear.weight": torch.zeros(16_385, width)}, folder / "2_Dense" / "model.safetensors")


def other(kind: str, path: str = "2_Dense") -> list[dict[str, str]]:
    kinds = (("", "Transformer"), ("1_Pooling", "Pooling"), (path, kind))
    return [{"path": path, "type": f"sentence_transformers.models.{kind}"} for path, kind in kinds]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (damaged("modules.json", "{"), "not valid JSON"),
        (damaged("modules.json", {}), "not a list of 2 to 10 modules"),
        (damaged("modules.json", [1, 2]), "holds 1; wanted the type of a module"),
        (damaged("modules.json", other("Dense", "../secret")), "a folder beside it"),
        (damaged("modules.json", other("LSTM")), "names LSTM, which is not read here"),
        (damaged("modules.json", other("Dense")[1:]), "names Pooling, Dense; wanted Transformer, Pooling"),
        (damaged("1_Pooling/config.json", {"pooling_mode": "median"}), "wanted one or several of cls, max, mean"),
        (damaged("1_Pooling/config.json", " " * 1_000_001), "is 1,000,001 bytes"),
        (damaged("2_Dense/config.json", {"activation_function": "os.system"}), "has the activation 'os.system'"),
        (damaged("2_Dense/config.json", {"use_residual": True}), "not a plain dense layer"),
        (too_wide, "makes 16,385 numbers of"),
        (pickled, "pytorch_model.bin alone, which may run code"),
        (damaged("sentence_bert_config.json", {"max_seq_length": 1}), "1 tokens; wanted at least 3"),
        (damaged("sentence_bert_config.json", {"max_seq_length": "many"}), "'many' tokens"),
    ],
)
def test_files_that_cannot_be_followed_are_reported_where_they_count(
    change: Callable[[Path], None], said: str, tiny_copy: Tiny
) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), MEAN, dense=["Tanh"], max_seq_length=32)
    change(folder)
    checkpoint = load(folder)
    assert Bert(checkpoint).fill_mask("a [MASK]").rows
    for ask in (lambda: Bert(checkpoint).encode("a cat"), lambda: search.run(checkpoint, "a cat")):
        with pytest.raises(ExplorerError, match="own sentence encoder cannot be used: ") as caught:
            ask()
        assert said in str(caught.value) and "Choose the pooling, such as the mean" in str(caught.value)
    assert said in search.run(checkpoint, "a cat", options=search.Options(pooling="mean")).notes


def test_without_such_files_the_mean_is_taken_as_before(tiny: Tiny) -> None:
    folder = tiny("bert")
    torch.testing.assert_close(
        asked(folder), torch.stack([hidden(folder, text).mean(0) for text in TEXTS]), atol=1e-5, rtol=1e-5
    )
    checkpoint = load(folder)
    assert search.run(checkpoint, "a cat").pooling == "mean"
    assert str(engine.sentence_encoder_of(checkpoint, "own")) == "the mean over all tokens"


@pytest.mark.shared
def test_minilm_with_its_published_files(tmp_path: Path) -> None:
    """all-MiniLM-L6-v2: mean, length 1, 256 tokens (the shared folder holds the encoder alone)."""
    source = Path(__file__).parents[3] / "shared" / "checkpoints" / "minilm"
    folder = Path(shutil.copytree(source, tmp_path / "minilm"))
    older = {"pooling_mode_cls_token": False, "pooling_mode_mean_tokens": True, "pooling_mode_max_tokens": False}
    write_sentence_encoder(folder, older, max_seq_length=256, do_lower_case=False)
    texts = [*TEXTS, "word " * 400]
    wanted = torch.stack([F.normalize(hidden(folder, text, 256).mean(0), dim=0) for text in texts])
    with pytest.warns(UserWarning, match="1 text is longer than the 256 tokens that are read, and cut"):
        result = asked(folder, texts)
    torch.testing.assert_close(result, wanted, atol=1e-5, rtol=1e-5)
    assert result.norm(dim=1).tolist() == pytest.approx([1.0] * 4, abs=1e-5)

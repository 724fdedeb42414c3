"""Vectors, similarities, scores and term weights are those of sentence-transformers, and folders go both ways."""

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import bertexplorer as bx
from bertexplorer import engine
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from bertexplorer.views.answer import compute as answer
from bertexplorer.views.term_weights import compute as term_weights
from tests.conftest import Tiny
from tests.tiny import write, write_sentence_encoder

pytestmark = pytest.mark.slow
TEXTS = [
    "The capital of france is Paris .",
    "a great film",
    "She said the doctor works as a nurse in london, and it is good.",
]
WIDE = {"word_embedding_dimension": 32}  # of the encoder; only they need it
PIPELINES: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {  # family, 1_Pooling/config.json, the rest
    "mean": ("bert", {"pooling_mode": "mean"}, {}),
    "cls, as in 2021": ("bert", {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False}, {}),
    "max and mean": ("roberta", {"pooling_mode": ["max", "mean"]}, {"normalize": False}),
    "last token": ("modernbert", {"pooling_mode": "lasttoken"}, {}),
    "weighted mean": ("mpnet", {"pooling_mode": "weightedmean"}, {}),
    "dense": ("bert", {"pooling_mode": "mean"}, {"dense": ["modules.activation.Tanh", "modules.linear.Identity"]}),
    "a limit": ("bert", {"pooling_mode": "mean"}, {"max_seq_length": 6}),
    "lower case": ("roberta", {"pooling_mode": "mean"}, {"do_lower_case": True}),
    "nomic": ("nomic", {"pooling_mode": "mean"}, {}),
    "gte": ("gte", {"pooling_mode": "cls"}, {}),
    "eurobert": ("eurobert", {"pooling_mode": "mean"}, {}),
}


@pytest.fixture(autouse=True)
def quiet() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def theirs(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})


def close(found: Any, wanted: Any) -> None:
    wanted = np.asarray(wanted)
    np.testing.assert_allclose(found, wanted, atol=2e-5 * max(1.0, float(np.abs(wanted).max())))


@pytest.mark.parametrize("name", PIPELINES)
def test_vectors_are_theirs(tiny_copy: Tiny, name: str) -> None:
    family, pooling, more = PIPELINES[name]
    folder = write_sentence_encoder(tiny_copy(family), WIDE | pooling, **more)
    bert, model = bx.load(folder, precision="fp32"), theirs(folder)
    close(bert.encode(TEXTS), model.encode(TEXTS))


@pytest.mark.parametrize("mode", ["cls", "max", "mean", "mean_sqrt_len_tokens", "weightedmean", "lasttoken"])
@pytest.mark.parametrize("family", ["bert", "roberta", "modernbert"])
def test_prompts_that_are_not_pooled_are_theirs(tiny_copy: Tiny, family: str, mode: str) -> None:
    folder = write_sentence_encoder(tiny_copy(family), {**WIDE, "pooling_mode": mode, "include_prompt": False})
    settings = {"prompts": {"query": "the cat : ", "passage": "money : "}, "default_prompt_name": "passage"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    bert, model = bx.load(folder, precision="fp32"), theirs(folder)
    close(bert.encode(TEXTS), model.encode(TEXTS))
    close(bert.encode(TEXTS, prompt="query"), model.encode(TEXTS, prompt_name="query"))


@pytest.mark.parametrize("more", [{"truncate_dim": 20}, {"truncate_dim": 500}, {}])
@pytest.mark.parametrize("side", ["left", "right"])
def test_cut_vectors_and_texts_cut_at_their_beginning_are_theirs(
    tiny_copy: Tiny, side: str, more: dict[str, Any]
) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {**WIDE, "pooling_mode": "mean"}, max_seq_length=6)
    (folder / "config_sentence_transformers.json").write_text(json.dumps(more))
    about = json.loads((folder / "tokenizer_config.json").read_text())
    (folder / "tokenizer_config.json").write_text(json.dumps(about | {"truncation_side": side}))
    bert, model = bx.load(folder, precision="fp32"), theirs(folder)
    close(bert.encode(TEXTS), model.encode(TEXTS))
    close(bert.similarity(TEXTS, TEXTS), model.similarity(model.encode(TEXTS), model.encode(TEXTS)))


@pytest.mark.parametrize("module", ["2_Dense", "3_Normalize"])
@pytest.mark.parametrize(
    "names",
    [
        {"module_output_name": "another"},
        {"module_output_name": "sentence_embedding"},
        {"module_input_name": "token_embeddings"},
    ],
)
def test_a_module_beside_the_vector_is_as_theirs(tiny_copy: Tiny, module: str, names: dict[str, str]) -> None:
    pooling = {**WIDE, "pooling_mode": "mean"}
    folder = write_sentence_encoder(tiny_copy("bert"), pooling, dense=["modules.linear.Identity"])
    file = folder / module / "config.json"
    file.parent.mkdir(exist_ok=True)
    about = json.loads(file.read_text()) if file.is_file() else {}
    file.write_text(json.dumps(about | names))
    close(bx.load(folder, precision="fp32").encode(TEXTS), theirs(folder).encode(TEXTS))


@pytest.mark.parametrize("measure", ["cosine", "dot", "euclidean", "manhattan"])
def test_prompts_and_similarities_are_theirs(tiny_copy: Tiny, measure: str) -> None:
    folder = write_sentence_encoder(tiny_copy("bert"), {**WIDE, "pooling_mode": "mean"}, normalize=False)
    settings = {"prompts": {"query": "the cat : ", "passage": "money : "}, "default_prompt_name": "passage"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps({**settings, "similarity_fn_name": measure}))
    bert, model = bx.load(folder, precision="fp32"), theirs(folder)
    close(bert.encode(TEXTS), model.encode(TEXTS))  # with the default prompt
    close(bert.encode(TEXTS, prompt="query"), model.encode(TEXTS, prompt_name="query"))
    first, second = model.encode(TEXTS, prompt_name="query"), model.encode(TEXTS[:2])
    close(bert.similarity(TEXTS, TEXTS[:2], prompts=("query", None)), model.similarity(first, second))


def test_a_run_opens_there_and_their_folder_opens_here(tiny: Tiny, tmp_path: Path) -> None:
    rows = [{"text_a": f"a cat {i}", "text_b": f"the cat {i} sat", "score": i % 5} for i in range(20)]
    run = bx.train(
        tiny("bert"), task="similarity", data=rows, out=tmp_path / "run", epochs=0.5, on_event=lambda _: None
    )
    model = theirs(run.best)
    close(bx.load(run.best, precision="fp32").encode(TEXTS), model.encode(TEXTS))
    model.save(str(tmp_path / "theirs"))
    close(bx.load(tmp_path / "theirs", precision="fp32").encode(TEXTS), model.encode(TEXTS))


def write_cross_encoder(folder: Path) -> Path:
    """A cross-encoder without the files of sentence-transformers."""
    write(folder, "bert-SequenceClassification", id2label={"0": "LABEL_0"}, label2id={"LABEL_0": 0})
    settings = json.loads((folder / "tokenizer_config.json").read_text())
    settings["model_input_names"] = ["input_ids", "token_type_ids", "attention_mask"]
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))
    return folder


def test_a_re_ranker_scores_as_theirs(tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    folder = write_cross_encoder(tmp_path / "ranker")
    config = json.loads((folder / "config.json").read_text()) | {"sentence_transformers": {"version": "4.0.0"}}
    (folder / "config.json").write_text(json.dumps(config))
    model = CrossEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
    passages = TEXTS[:2] + ["a cat sat on the mat"]
    wanted = model.predict([(TEXTS[2], passage) for passage in passages], activation_fn=torch.nn.Identity())
    options = answer.Options(others=" | ".join(passages[1:]))
    result = answer.run(load(folder, precision="fp32", device="cpu"), Text(TEXTS[2], passages[0]), options=options)
    assert result.reranks
    found = {passage.text: passage.logit for passage in result.passages}
    close([found[passage] for passage in passages], wanted)
    ranked = model.rank(TEXTS[2], passages, activation_fn=torch.nn.Identity())
    assert [passage.text for passage in result.passages] == [passages[entry["corpus_id"]] for entry in ranked]


@pytest.mark.parametrize("function", [None, torch.nn.Identity(), torch.nn.Tanh(), torch.nn.Sigmoid()])
def test_what_sentence_transformers_saves_as_a_re_ranker_gives_its_relevance(tmp_path: Path, function: Any) -> None:
    from sentence_transformers import CrossEncoder

    given = {} if function is None else {"activation_fn": function}
    CrossEncoder(str(write_cross_encoder(tmp_path / "plain")), device="cpu", **given).save(str(tmp_path / "saved"))
    model = CrossEncoder(str(tmp_path / "saved"), device="cpu", model_kwargs={"dtype": torch.float32})
    bert = bx.load(tmp_path / "saved", precision="fp32")
    result = bert.answer(TEXTS[2], TEXTS[0])
    assert result.value.reranks
    close(result.value.relevance, model.predict([(TEXTS[2], TEXTS[0])])[0])
    [row] = [row for row in result.rows if row["answer"] == "relevance"]
    assert row["value"] == result.value.relevance
    bert.encode(TEXTS)  # the mean, as its files say nothing of vectors


@pytest.mark.parametrize(
    "config",
    [
        {"sentence_transformers": {"version": "5.0.0", "activation_fn": "torch.nn.modules.linear.Identity"}},
        {"sentence_transformers": {"version": "5.0.0", "activation_fn": "torch.nn.modules.activation.Sigmoid"}},
        {"sbert_ce_default_activation_function": "torch.nn.modules.linear.Identity"},  # ms-marco-MiniLM
        {"sentence_transformers": {"version": "4.0.0"}},
        {"sentence_transformers": {"version": "4.0.0", "activation_fn": "somebody.Own"}},
    ],
)
def test_the_function_that_older_files_name_makes_the_relevance(tmp_path: Path, config: dict[str, Any]) -> None:
    from sentence_transformers import CrossEncoder

    folder = write_cross_encoder(tmp_path / "ranker")
    (folder / "config.json").write_text(json.dumps(json.loads((folder / "config.json").read_text()) | config))
    model = CrossEncoder(str(folder), device="cpu", model_kwargs={"dtype": torch.float32})
    result = bx.load(folder, precision="fp32").answer(TEXTS[2], TEXTS[0])
    assert result.value.reranks
    close(result.value.relevance, model.predict([(TEXTS[2], TEXTS[0])])[0])


@pytest.mark.parametrize("family", ["bert-mlm", "distilbert"])
def test_term_weights_are_those_of_their_splade(tiny: Tiny, family: str) -> None:
    from sentence_transformers import SparseEncoder
    from sentence_transformers.sparse_encoder.models import MLMTransformer, SpladePooling

    transformer = MLMTransformer(str(tiny(family)), model_args={"dtype": torch.float32})
    model = SparseEncoder(modules=[transformer, SpladePooling(pooling_strategy="max")], device="cpu")
    checkpoint = load(tiny(family), precision="fp32", device="cpu")
    for text in TEXTS:
        weights, _ = engine.term_weights(checkpoint, checkpoint.tokenizer.encode(text))
        close(weights.numpy(), model.encode([text]).to_dense()[0, : len(weights)].cpu())
    first, second = (model.encode([text]) for text in TEXTS[:2])
    score = term_weights.run(checkpoint, Text(TEXTS[0], TEXTS[1])).score
    assert score == pytest.approx(float(model.similarity(first, second)), rel=1e-4)

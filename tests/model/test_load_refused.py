"""A broken checkpoint is rejected immediately, with a message that names the problem."""

import json
import pickle
import struct
import time
from pathlib import Path

import pytest
import torch

from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from tests.model.test_load import MLM_BIAS, WORDS, reconfigure, rewrite, shard

QUERY = "bert.encoder.layer.0.attention.self.query.weight"


def weights(content: bytes):
    return lambda f: (f / "model.safetensors").write_bytes(content)


def truncate(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-100])


def put(name: str, value: torch.Tensor):
    return lambda f: rewrite(f, lambda t: t | {name: value})


def spoil(name: str, value: float):
    def change(tensors: dict) -> dict:
        tensors[name][0, 0] = value
        return tensors

    return lambda f: rewrite(f, change)


def drop(*names: str):
    return lambda f: rewrite(f, lambda t: {n: v for n, v in t.items() if not n.startswith(names)})


def config(text: str):
    return lambda f: (f / "config.json").write_text(text)


def without(field: str):
    def change(folder: Path) -> None:
        path = folder / "config.json"
        path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != field}))

    return change


def index(weight_map: object, raw: str = ""):
    def change(folder: Path) -> None:
        shard(folder)
        (folder / "model.safetensors.index.json").write_text(raw or json.dumps({"weight_map": weight_map}))

    return change


def lose_shard(folder: Path) -> None:
    shard(folder)
    (folder / "model-00002-of-00002.safetensors").unlink()


def tokenizer(change):
    def damage(folder: Path) -> None:
        path = folder / "tokenizer.json"
        path.write_text(json.dumps(change(json.loads(path.read_text()))))

    return damage


def without_frame(data: dict) -> dict:
    """A tokenizer that puts nothing around a text."""
    frame = ("[CLS]", "[SEP]")
    data["model"]["vocab"] = {(f"({t})" if t in frame else t): i for t, i in data["model"]["vocab"].items()}
    added = [token for token in data["added_tokens"] if token["content"] not in frame]
    return data | {"added_tokens": added, "post_processor": None}


def larger(data: dict) -> dict:
    data["model"]["vocab"] |= {f"extra{i}": 10_000 + i for i in range(3)}
    return data


def only_the_decoder_bias_differs(tensors: dict) -> dict:
    return tensors | {"cls.predictions.decoder.bias": tensors[MLM_BIAS] + 1}


BAD = {  # damage to a valid checkpoint -> text of the message
    "truncated": (truncate, r"model\.safetensors is incomplete or damaged .*MB.*Download it again"),
    "empty": (weights(b""), r"model\.safetensors is incomplete or damaged"),
    "random": (weights(bytes(range(256)) * 9), r"model\.safetensors is incomplete or damaged"),
    "header of 2^62 bytes": (weights(struct.pack("<Q", 2**62) + b"{}"), r"model\.safetensors is incomplete or damaged"),
    "no tensor at all": (lambda f: rewrite(f, lambda t: {}), "weights lack bert.embeddings"),
    "wrong shape": (put(WORDS, torch.ones(50, 32)), f"disagree: {WORDS} is 50x32, expected .*x32"),
    "transposed": (put(QUERY, torch.ones(32)), f"{QUERY} is 32, expected 32x32"),
    "whole numbers": (put(QUERY, torch.ones(32, 32, dtype=torch.int8)), f"{QUERY} is stored as I8"),
    "NaN": (spoil(QUERY, float("nan")), f"NaN or infinity in 1 of .* tensors .*{QUERY}"),
    "infinity": (spoil(WORDS, float("-inf")), f"NaN or infinity in 1 of .*{WORDS}"),
    "NaN in the head": (
        spoil("cls.predictions.transform.dense.weight", float("nan")),
        "NaN.*cls.predictions.transform",
    ),
    "missing tensor": (drop(QUERY), f"weights lack {QUERY}"),
    "missing layer": (drop("bert.encoder.layer.2."), r"lack bert.encoder.layer.2.* and 13 more"),
    "layer too many": (put("bert.encoder.layer.3.output.dense.bias", torch.ones(32)), "hold bert.encoder.layer.3"),
    "extra tensor": (put("bert.adapter.weight", torch.ones(3)), "hold bert.adapter.weight.*model_type"),
    "partial MLM head": (drop("cls.predictions.transform"), "lack cls.predictions.transform"),
    "half an NSP head": (drop("cls.seq_relationship.bias"), "lack cls.seq_relationship.bias"),
    "NSP head without a pooler": (drop("bert.pooler"), "lack bert.pooler"),
    "decoder differs": (
        lambda f: rewrite(f, lambda t: t | {"cls.predictions.decoder.weight": t[WORDS] + 1}),
        "differs",
    ),
    "decoder bias differs": (lambda f: rewrite(f, only_the_decoder_bias_differs), r"decoder\.bias differs"),
    "huge vocabulary": (lambda f: reconfigure(f, vocab_size=10**8), "vocab_size = 100000000.*1,000,000"),
    "vocabulary of another": (lambda f: reconfigure(f, vocab_size=100), "disagree.*expected 100x32"),
    "huge hidden size": (lambda f: reconfigure(f, hidden_size=10**6), "hidden_size = 1000000.*4,096"),
    "100,000 layers": (lambda f: reconfigure(f, num_hidden_layers=100_000), "num_layers = 100000.* 48"),
    "heads do not divide": (lambda f: reconfigure(f, num_attention_heads=5), "multiple"),
    "unknown activation": (lambda f: reconfigure(f, hidden_act="swoosh"), "activation 'swoosh'"),
    "relative positions": (lambda f: reconfigure(f, position_embedding_type="relative_key"), "relative_key"),
    "own code": (
        lambda f: reconfigure(f, model_type="own", auto_map={"AutoModel": "x.Y"}),
        "own code.*auto_map.*never run",
    ),
    "adapters by task": (lambda f: reconfigure(f, lora_adaptations=["query", "passage"]), "query, passage.*not read"),
    "unknown family": (lambda f: reconfigure(f, model_type="llama"), "model_type 'llama'.*wanted one of bert"),
    "family of another type": (lambda f: reconfigure(f, model_type=["bert"]), "model_type"),
    "another family": (lambda f: reconfigure(f, model_type="roberta"), "weights"),
    "config missing": (lambda f: (f / "config.json").unlink(), "No config.json"),
    "config not JSON": (config("hello"), "config.json is not valid JSON"),
    "config of bytes": (lambda f: (f / "config.json").write_bytes(b"\xff\xfe\0"), "config.json is not valid JSON"),
    "config a list": (config("[1]"), "config.json holds a list"),
    "config of 2 MB": (config('{"a": "' + "x" * 2_000_000 + '"}'), "config.json is 2,000,009 bytes"),
    "config nested deep": (config("[" * 200_000), "config.json is not valid JSON"),
    "config lacks a field": (without("hidden_size"), "config.json lacks 'hidden_size'"),
    "index climbs out": (index({WORDS: "../../etc/passwd"}), "index.json names '../../etc/passwd'"),
    "index absolute": (index({WORDS: "/etc/passwd"}), "index.json names '/etc/passwd'"),
    "index names itself": (index({WORDS: "model.safetensors.index.json"}), "index.json is incomplete or damaged"),
    "index with NUL": (index({WORDS: "a\0b"}), "index.json names"),
    "index a list": (index([1, 2]), "not a list of weight files"),
    "index nested deep": (index({}, "[" * 200_000), "index.json is not a list of weight files"),
    "missing shard": (lose_shard, "names 'model-00002-of-00002.safetensors', which is not a file"),
    "no tokenizer": (lambda f: (f / "tokenizer.json").unlink(), "tokenizer of bert cannot be read"),
    "no tokenizer file at all": (
        lambda f: [p.unlink() for p in f.glob("tokenizer*")],
        "tokenizer of bert cannot be read",
    ),
    "damaged tokenizer": (lambda f: (f / "tokenizer.json").write_text("{"), "tokenizer of bert cannot be read"),
    "no [CLS] and no [SEP]": (tokenizer(without_frame), r"files name no token like \[CLS\] and none like \[SEP\]"),
    "tokenizer of another": (tokenizer(larger), "tokenizer of bert has .* pieces but the weights only"),
}


@pytest.mark.parametrize(("damage", "words"), BAD.values(), ids=BAD.keys())
def test_a_broken_checkpoint_is_rejected_with_the_reason(tiny_copy, damage, words: str) -> None:
    folder = tiny_copy("bert")
    damage(folder)
    start = time.thread_time()
    with pytest.raises(ExplorerError, match=f"(?s){words}"):
        load(folder, precision="fp32")
    assert time.thread_time() - start < 2


def test_pickles_are_never_opened(tiny_copy, tmp_path) -> None:
    folder, trace = tiny_copy("bert"), tmp_path / "it ran"
    (folder / "model.safetensors").unlink()

    class Evil:
        def __reduce__(self):
            return (Path.touch, (trace,))

    (folder / "pytorch_model.bin").write_bytes(pickle.dumps({WORDS: Evil()}))
    with pytest.raises(ExplorerError, match="holds pytorch_model.bin.*Only safetensors.*save_pretrained"):
        load(folder)
    assert not trace.exists()


@pytest.mark.parametrize("name", ["", "nowhere", "a\0b"])
def test_a_missing_folder_is_reported(tmp_path, name: str) -> None:
    with pytest.raises(ExplorerError, match="No config.json"):
        load(tmp_path / name)

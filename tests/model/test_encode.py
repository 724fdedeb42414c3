"""What `encode` offers beside a vector: fewer numbers, scaled, rounded; windows; batches; also as a command."""

import json
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import bertexplorer as bx
from bertexplorer.api.calls import Call
from bertexplorer.api.endpoints import make_endpoints, perform_endpoint
from bertexplorer.cli import main
from bertexplorer.core.ask import Answerer
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from tests.conftest import Tiny
from tests.tiny import write_sentence_encoder

TEXTS = ["The capital of france is Paris", "a cat", "good money in the bank of london"]


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.fixture
def bert(tiny_copy: Tiny) -> bx.Bert:
    return bx.load(write_sentence_encoder(tiny_copy("bert"), {"pooling_mode": "mean"}), precision="fp32")


def test_fewer_numbers_scaled_or_not(bert: bx.Bert) -> None:
    full = bert.encode(TEXTS)
    np.testing.assert_array_equal(bert.encode(TEXTS, truncate_dim=8), full[:, :8])
    short = bert.encode(TEXTS, truncate_dim=8, normalize=True)
    np.testing.assert_allclose(np.linalg.norm(short, axis=1), 1, atol=1e-6)
    np.testing.assert_allclose(short * np.linalg.norm(full[:, :8], axis=1)[:, None], full[:, :8], atol=1e-6)
    raw = bert.encode(TEXTS, normalize=False)
    np.testing.assert_allclose(raw, bert.encode(TEXTS, pooling="mean"), atol=1e-6)
    with pytest.raises(ExplorerError, match="the vectors have 32 numbers"):
        bert.encode(TEXTS, truncate_dim=33)
    with pytest.raises(ExplorerError, match="numbers: got 'int4'"):
        bert.encode(TEXTS, numbers="int4")


def test_fewer_bits(bert: bx.Bert) -> None:
    from sentence_transformers.quantization import quantize_embeddings

    full = bert.encode(TEXTS)
    for kind in ("binary", "ubinary"):
        packed = bert.encode(TEXTS, numbers=kind)
        wanted = quantize_embeddings(full, precision=kind)
        assert packed.dtype == wanted.dtype
        np.testing.assert_array_equal(packed, wanted)
    whole = bert.encode(TEXTS, numbers="int8")
    assert whole.dtype == np.int8 and (np.abs(whole).max(axis=1) == 127).all()
    scale = np.abs(full).max(axis=1, keepdims=True) / 127
    assert (np.abs(whole * scale - full) <= scale / 2 + 1e-7).all()
    np.testing.assert_array_equal(bert.encode(TEXTS[0], numbers="int8"), whole[0])


def test_a_long_text_in_windows(bert: bx.Bert) -> None:
    words = [word for text in TEXTS * 12 for word in text.split()]
    long = " ".join(words)
    assert len(words) > 128  # tokens: three windows of 62
    parts = [" ".join(words[start : start + 62]) for start in range(0, len(words), 62)]
    mean = np.mean(bert.encode(parts), axis=0)
    both = bert.encode([long, "a cat"], long="windows")
    np.testing.assert_allclose(both[0], mean / np.linalg.norm(mean), atol=1e-5)
    np.testing.assert_allclose(both[1], bert.encode("a cat"), atol=1e-6)
    overlapping = [" ".join(words[start : start + 62]) for start in range(0, len(words) - 20, 42)]
    mean = np.mean(bert.encode(overlapping), axis=0)
    np.testing.assert_allclose(bert.encode(long, long="windows", stride=20), mean / np.linalg.norm(mean), atol=1e-5)
    with pytest.raises(ExplorerError, match="fewer than the 62 tokens of a window"):
        bert.encode(long, long="windows", stride=62)


@pytest.mark.parametrize("numbers", ["fp32", "int8", "binary", "ubinary"])
def test_the_endpoint_sends_what_python_returns(numbers: str, bert: bx.Bert) -> None:
    asked = {"texts": TEXTS, "truncate_dim": 8, "numbers": numbers, "checkpoint": bert.name, "precision": "fp32"}
    fields = make_endpoints("mini")["encode"].check(asked)
    registry = CheckpointRegistry(Settings(), anywhere=True)
    reply = perform_endpoint(Answerer(registry), Call("endpoint", "encode", "", fields, False))
    wanted = bert.encode(TEXTS, truncate_dim=8, numbers=numbers)
    np.testing.assert_array_equal(np.array(json.loads(reply.body)["vectors"], wanted.dtype), wanted)


def test_batches_of_any_iterable(bert: bx.Bert, capsys: pytest.CaptureFixture[str]) -> None:
    batches = list(bert.encode_batches(iter(TEXTS * 3), batch_size=4, truncate_dim=8))
    assert [batch.shape for batch in batches] == [(4, 8), (4, 8), (1, 8)]
    np.testing.assert_allclose(np.vstack(batches), bert.encode(TEXTS * 3, truncate_dim=8), atol=1e-6)
    for wrong in (0, "2"):
        with pytest.raises(ExplorerError, match="batch_size"):
            next(bert.encode_batches(TEXTS, batch_size=wrong))  # type: ignore[arg-type]
    bert.encode(TEXTS, progress=True)
    assert "100 %" in capsys.readouterr().err


def test_the_command_writes_what_python_returns(bert: bx.Bert, tmp_path: Path) -> None:
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS))
    out = tmp_path / "v.npy"
    command = ["encode", str(tmp_path / "lines.txt"), "-o", str(out), "--checkpoint", bert.name, "--precision", "fp32"]
    assert main([*command, "--truncate-dim", "16", "--numbers", "int8", "--normalize", "yes"]) == 0
    np.testing.assert_array_equal(np.load(out), bert.encode(TEXTS, truncate_dim=16, numbers="int8", normalize=True))


def test_prompts_that_are_left_out_of_the_mean(tiny_copy: Tiny) -> None:
    pooling = {"pooling_mode": "mean", "include_prompt": False}
    folder = write_sentence_encoder(tiny_copy("bert"), pooling, normalize=False)
    settings = {"prompts": {"query": "the cat "}, "default_prompt_name": "query"}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    bert = bx.load(folder, precision="fp32")
    states = bert.encode("a great film")
    assert not np.allclose(states, bert.encode("a great film", prompt=""))

"""Where is my BERT wrong: faults planted in a student's module, with the names of the minBERT course."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

import bertexplorer as bx
from bertexplorer.cli import main
from bertexplorer.errors import ExplorerError
from tests.conftest import Tiny

LOWEST = {  # fault -> what its mask adds at padding
    "mask extended twice": torch.finfo(torch.float32).min,
    "mask extended twice of -10,000": -10_000.0,
    "mask added twice": -10_000.0,
}


class Student(nn.Module):
    """BERT as the course has it; *fault* is what is wrong with it."""

    def __init__(self, folder: Path, fault: str = "") -> None:
        super().__init__()
        config = json.loads((folder / "config.json").read_text())
        self.fault, self.heads = fault, config["num_attention_heads"]
        d, n, self.eps = config["hidden_size"], config["intermediate_size"], config["layer_norm_eps"]
        eps = 1e-3 if fault == "eps" else self.eps
        self.word_embedding = nn.Embedding(config["vocab_size"], d)
        self.pos_embedding = nn.Embedding(config["max_position_embeddings"], d)
        self.tk_type_embedding = nn.Embedding(config["type_vocab_size"], d)
        self.embed_layer_norm = nn.LayerNorm(d, eps=eps)
        self.bert_layers = nn.ModuleList()
        for _ in range(config["num_hidden_layers"]):
            layer = nn.Module()
            layer.self_attention = nn.Module()
            for name in ("query", "key", "value"):
                setattr(layer.self_attention, name, nn.Linear(d, d))
            layer.attention_dense, layer.attention_layer_norm = nn.Linear(d, d), nn.LayerNorm(d, eps=self.eps)
            layer.interm_dense, layer.out_dense = nn.Linear(d, n), nn.Linear(n, d)
            layer.out_layer_norm = nn.LayerNorm(d, eps=self.eps)
            self.bert_layers.append(layer)
        self.load(load_file(folder / "model.safetensors"))

    def load(self, weights: dict[str, Tensor]) -> None:
        names = {
            "word_embedding": "embeddings.word_embeddings",
            "pos_embedding": "embeddings.position_embeddings",
            "tk_type_embedding": "embeddings.token_type_embeddings",
            "embed_layer_norm": "embeddings.LayerNorm",
        }
        parts = {
            "self_attention.query": "attention.self.query",
            "self_attention.key": "attention.self.key",
            "self_attention.value": "attention.self.value",
            "attention_dense": "attention.output.dense",
            "attention_layer_norm": "attention.output.LayerNorm",
            "interm_dense": "intermediate.dense",
            "out_dense": "output.dense",
            "out_layer_norm": "output.LayerNorm",
        }
        for i in range(len(self.bert_layers)):
            names |= {f"bert_layers.{i}.{own}": f"encoder.layer.{i}.{theirs}" for own, theirs in parts.items()}
        state = {}
        for own, theirs in names.items():
            for kind in ("weight", "bias"):
                if (found := weights.get(f"bert.{theirs}.{kind}")) is not None:
                    state[f"{own}.{kind}"] = found.float()
        prefix = "bert_layers.1."
        if self.fault == "swapped":
            a, b = f"{prefix}self_attention.query.weight", f"{prefix}self_attention.key.weight"
            state[a], state[b] = state[b], state[a]
        if self.fault == "transposed":
            state[f"{prefix}attention_dense.weight"] = state[f"{prefix}attention_dense.weight"].T.contiguous()
        if self.fault == "no bias":
            state[f"{prefix}out_dense.bias"] = torch.zeros_like(state[f"{prefix}out_dense.bias"])
        if self.fault == "another layer":
            state[f"{prefix}interm_dense.weight"] = state["bert_layers.0.interm_dense.weight"]
            state[f"{prefix}interm_dense.bias"] = state["bert_layers.0.interm_dense.bias"]
        self.load_state_dict(state)

    def weights_of(self, scores: Tensor, mask: Tensor) -> Tensor:
        fault = self.fault
        if fault == "mask after softmax":
            return scores.softmax(-1) * mask
        if fault == "mask multiplied":
            return (scores * mask).softmax(-1)
        if fault == "no mask":
            return scores.softmax(-1)
        if fault in LOWEST:
            added = (1 - mask) * LOWEST[fault]
            again = 2 * added if fault == "mask added twice" else (1 - added) * LOWEST[fault]
            return (scores + again).softmax(-1)
        return scores.masked_fill(mask == 0, -1e9).softmax(-2 if fault == "softmax over queries" else -1)

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        fault = self.fault
        positions = torch.arange(input_ids.shape[1]) + (fault == "positions from 1")
        x = self.word_embedding(input_ids)
        if fault != "no positions":
            x = x + self.pos_embedding(positions)
        if fault != "no segments":
            x = x + self.tk_type_embedding(torch.zeros_like(input_ids))
        x = self.embed_layer_norm(x)
        mask = attention_mask[:, None, None, :].float()
        for layer in self.bert_layers:
            before = layer.attention_layer_norm(x) if fault == "norm first" else x
            q, k, v = (
                getattr(layer.self_attention, name)(before).unflatten(-1, (self.heads, -1)).transpose(1, 2)
                for name in ("query", "key", "value")
            )
            scores = q @ k.transpose(-1, -2)
            if fault == "√d":
                scores = scores / math.sqrt(x.shape[-1])
            elif fault != "no √k":
                scores = scores / math.sqrt(q.shape[-1])
            weights = self.weights_of(scores, mask)
            context = weights @ (k if fault == "keys for values" else v)
            context = context.reshape(x.shape) if fault == "heads mixed" else context.transpose(1, 2).flatten(2)
            dense = layer.attention_dense(context)
            if fault == "norm first":
                x = x + dense
                x = x + layer.out_dense(F.gelu(layer.interm_dense(layer.out_layer_norm(x))))
                continue
            x = layer.attention_layer_norm(dense if fault == "no residual" else x + dense)
            wide = layer.interm_dense(x)
            if fault == "GELU by tanh":
                wide = F.gelu(wide, approximate="tanh")
            else:
                wide = F.relu(wide) if fault == "ReLU" else F.gelu(wide)
            x = layer.out_layer_norm(x + layer.out_dense(wide))
        return x


FAULTS = {  # fault -> (the first wrong part, a word of the cause)
    "positions from 1": ("the sum of word, position and segment vectors", "from 1"),
    "no positions": ("the sum of word, position and segment vectors", "positions are not added"),
    "no segments": ("the sum of word, position and segment vectors", "segments (token types) are not added"),
    "eps": ("the embeddings after LayerNorm", "eps is 0.001"),
    "no √k": ("layer 1, the heads' outputs, side by side", "not divided by √k"),
    "√d": ("layer 1, the heads' outputs, side by side", "√d instead of √k"),
    "no mask": ("layer 1, the heads' outputs, side by side", "padding is not masked"),
    "mask extended twice": ("layer 1, the heads' outputs, side by side", "the lowest number hides the scores"),
    "mask extended twice of -10,000": ("layer 1, the heads' outputs, side by side", "-10,000 takes digits"),
    "mask after softmax": ("layer 1, the heads' outputs, side by side", "after the softmax"),
    "mask multiplied": ("layer 1, the heads' outputs, side by side", "multiplied"),
    "softmax over queries": ("layer 1, the heads' outputs, side by side", "over the queries"),
    "keys for values": ("layer 1, the heads' outputs, side by side", "keys are averaged"),
    "heads mixed": ("layer 1, the heads' outputs, side by side", "swapping heads and tokens"),
    "norm first": ("layer 1, the queries", "LayerNorm stands before it"),
    "no residual": ("layer 1, the sum with the attention's input", "not added"),
    "GELU by tanh": ("layer 1, the activation of the feed-forward layer", "GELU by tanh"),
    "ReLU": ("layer 1, the activation of the feed-forward layer", "ReLU"),
    "swapped": ("layer 2, the queries", "its weight is that of layers.1.attention.key"),
    "transposed": ("layer 2, the attention's output layer", "transposed"),
    "no bias": ("layer 2, the second feed-forward layer", "bias is missing"),
    "another layer": ("layer 2, the first feed-forward layer", "weights of layers.0.feed_forward.expand"),
}


def test_a_module_without_fault(tiny: Tiny) -> None:
    folder = tiny("bert")
    answer = bx.doctor_states(folder, Student(folder))
    assert not answer.first and answer.exit_code == 0 and "up to rounding" in answer.said
    assert len(answer.rows) == 2 + 3 * 12
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32)
    assert not bx.doctor_states(folder, model.eval()).first


def test_a_mask_that_is_added_twice_changes_nothing(tiny: Tiny) -> None:
    """The weight of padding is 0 by one of -10,000 as by two."""
    answer = bx.doctor_states(tiny("bert"), Student(tiny("bert"), "mask added twice"))
    assert not answer.first, answer.said


@pytest.mark.parametrize("fault", FAULTS)
def test_the_first_wrong_part_and_its_cause(fault: str, tiny: Tiny) -> None:
    folder = tiny("bert")
    part, cause = FAULTS[fault]
    answer = bx.doctor_states(folder, Student(folder, fault))
    assert answer.first == part, answer.said
    assert any(cause in each for each in answer.causes), answer.said
    assert answer.exit_code == 1


def test_dropout_that_is_on_is_said(tiny: Tiny) -> None:
    model = transformers.AutoModel.from_pretrained(tiny("bert"), dtype=torch.float32).train()
    answer = bx.doctor_states(tiny("bert"), model)
    assert not answer.first and "Dropout is on" in answer.notes[0] and model.training


def test_states_in_a_file(tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tiny("bert")
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    ids = torch.tensor([[2, 5, 6, 7, 3]])
    kept = {"input_ids": ids}
    for name, module in model.named_modules():
        if name.endswith(("query", "LayerNorm")):
            module.register_forward_hook(lambda _, __, out, name=name: kept.__setitem__(name, out.contiguous()))
    with torch.inference_mode():
        model(ids)
    file = tmp_path / "dump.safetensors"
    save_file({name: tensor.clone() for name, tensor in kept.items()}, file)
    assert main(["doctor", str(folder), "--states", str(file)]) == 0
    wrong = {**kept, "odd": torch.ones(1)}
    wrong["q"] = wrong.pop("encoder.layer.1.attention.self.query") * 2
    save_file({name: tensor.clone() for name, tensor in wrong.items()}, file)
    assert main(["doctor", str(folder), "--states", str(file), "--map", "q=layers.1.query"]) == 1
    err = capsys.readouterr().err
    assert "layer 2, the queries" in err and "Not known by their names: odd" in err


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"no safetensors", "not a safetensors file"),
        ({"query": torch.ones(1)}, "has no input_ids"),
        ({"input_ids": torch.tensor([[10**6]])}, "rows of ids below"),
        ({"input_ids": torch.tensor([[2, 3]]), "layers.0.query": torch.ones(1, 2, 3)}, "wanted"),
        ({"input_ids": torch.ones(1, 65, dtype=torch.long)}, "at most 64"),
    ],
)
def test_files_that_cannot_be_used(content: Any, said: str, tiny: Tiny, tmp_path: Path) -> None:
    file = tmp_path / "dump.safetensors"
    if isinstance(content, bytes):
        file.write_bytes(content)
    else:
        save_file(content, file)
    with pytest.raises(ExplorerError, match=said):
        bx.doctor_states(tiny("bert"), file)


def test_modules_that_cannot_be_compared(tiny: Tiny) -> None:
    with pytest.raises(ExplorerError, match="wanted a torch module"):
        bx.doctor_states(tiny("bert"), 3)
    with pytest.raises(ExplorerError, match="wanted input_ids among them"):
        bx.doctor_states(tiny("bert"), nn.Linear(2, 2))
    with pytest.raises(ExplorerError, match="wanted BERT's architecture"):
        bx.doctor_states(tiny("modernbert"), Student(tiny("bert")))
    with pytest.raises(ExplorerError, match="There is no 'x'"):
        bx.doctor_states(tiny("bert"), Student(tiny("bert")), names={"x": "layers.0.query"})


def test_modules_of_other_names_are_known_by_their_weights(tiny: Tiny) -> None:
    folder = tiny("bert")
    student = Student(folder, "no bias")
    for i, layer in enumerate(student.bert_layers):
        setattr(student, f"block{i}", layer)
    layers = list(student.bert_layers)
    del student.bert_layers
    student.bert_layers = layers  # type: ignore[assignment] # a plain list, whose modules have no name of the course
    answer = bx.doctor_states(folder, student)
    assert answer.first == "layer 2, the second feed-forward layer", answer.said
    assert "block0.self_attention.query is layer 1, the queries" in answer.notes[0]


def test_tensors_of_other_names_are_known_by_their_values(tiny: Tiny, tmp_path: Path) -> None:
    folder = tiny("bert")
    student = Student(folder, "no √k").eval()
    ids = torch.tensor([[2, 5, 6, 7, 3]])
    kept = {"input_ids": ids}
    watched = {"q0": student.bert_layers[0].self_attention.query, "d0": student.bert_layers[0].attention_dense}
    for name, module in watched.items():
        module.register_forward_hook(lambda _, __, out, name=name: kept.__setitem__(name, out.clone()))
    with torch.inference_mode():
        student(ids, torch.ones_like(ids))
    save_file({**kept, "odd": torch.randn(1, 5, 32)}, tmp_path / "dump.safetensors")
    answer = bx.doctor_states(folder, tmp_path / "dump.safetensors")
    assert "q0 is layer 1, the queries" in answer.notes[0] and "odd" in answer.notes[-1]

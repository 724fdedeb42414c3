"""Tiny folders of multi-vector encoders, as sentence-transformers, PyLate and Stanford's ColBERT write them."""

import json
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file

SIZE = 16  # numbers of a token's vector
MODULES = {
    "Transformer": "sentence_transformers.base.modules.transformer.Transformer",
    "Dense": "sentence_transformers.base.modules.dense.Dense",
    "MultiVectorMask": "sentence_transformers.multi_vector_encoder.modules.multi_vector_mask.MultiVectorMask",
    "Normalize": "sentence_transformers.base.modules.normalize.Normalize",
}
NATIVE = tuple(MODULES)


def write_multi_vector(
    folder: Path,
    *,
    settings: dict[str, Any] | None = None,
    encoder: dict[str, Any] | None = None,
    mask: dict[str, Any] | None = None,
    dense: dict[str, Any] | None = None,
    kinds: tuple[str, ...] = NATIVE,
) -> Path:
    """Add the files of sentence-transformers' MultiVectorEncoder to the checkpoint in *folder*. *settings*:
    config_sentence_transformers.json; *encoder*: sentence_bert_config.json; the others: of their modules."""
    tokens = {"module_input_name": "token_embeddings"}
    config = json.loads((folder / "config.json").read_text())
    contents = {
        "Dense": {"in_features": config.get("hidden_size", config.get("dim")), "out_features": SIZE, "bias": False}
        | {"activation_function": "torch.nn.modules.linear.Identity", **tokens}
        | (dense or {}),
        "MultiVectorMask": {"skiplist_words": [".", ",", "nowhere"], "skiplist_tasks": ["document"], **(mask or {})},
        "Normalize": tokens,
    }
    named = []
    for i, kind in enumerate(kinds):
        path = f"{i}_{kind}" if i else ""
        named.append({"idx": i, "name": str(i), "path": path, "type": MODULES.get(kind, f"other.{kind}")})
        if i:
            (folder / path).mkdir(exist_ok=True)
            (folder / path / "config.json").write_text(json.dumps(contents.get(kind, {})))
        if kind == "Dense":
            weight = {"linear.weight": matrix(contents["Dense"]["in_features"])}
            save_file(weight, folder / path / "model.safetensors")
    about = {"model_type": "MultiVectorEncoder", "similarity_fn_name": "maxsim", **(settings or {})}
    (folder / "modules.json").write_text(json.dumps(named))
    (folder / "config_sentence_transformers.json").write_text(json.dumps(about))
    (folder / "sentence_bert_config.json").write_text(json.dumps(encoder or {}))
    return folder


def write_pylate(folder: Path, **settings: Any) -> Path:
    """The same as PyLate 3 does it: an encoder and a dense layer; the rest is in the settings."""
    about = {"model_type": "ColBERT", "query_prefix": "[Q] ", "document_prefix": "[D] ", "query_length": 12}
    about |= {"similarity_fn_name": "MaxSim", **settings}
    write_multi_vector(folder, settings=about, encoder={"max_seq_length": 30}, kinds=("Transformer", "Dense"))
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["type"] = "pylate.models.Dense.Dense"
    (folder / "modules.json").write_text(json.dumps(modules))
    file = folder / "1_Dense" / "config.json"
    config = json.loads(file.read_text())
    del config["module_input_name"]  # which PyLate did not know
    file.write_text(json.dumps(config))
    return folder


def write_stanford(folder: Path, **metadata: Any) -> Path:
    """The same as Stanford's ColBERT does it: the projection beside the encoder's weights."""
    file, config = folder / "model.safetensors", json.loads((folder / "config.json").read_text())
    tensors = load_file(file) | {"linear.weight": matrix(config["hidden_size"])}
    save_file(tensors, file, {"format": "pt"})
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["HF_ColBERT"]}))
    (folder / "artifact.metadata").write_text(json.dumps(metadata))
    return folder


def matrix(width: int) -> torch.Tensor:
    return torch.randn(SIZE, width, generator=torch.Generator().manual_seed(1)) / width**0.5


def add_tokens(folder: Path, *tokens: str) -> None:
    """Put *tokens* in place of the last pieces of the vocabulary of a WordPiece, so that the weights still fit."""
    file = folder / "tokenizer.json"
    content = json.loads(file.read_text())
    vocabulary = content["model"]["vocab"]
    for token, piece in zip(tokens, sorted(vocabulary, key=lambda piece: -vocabulary[piece]), strict=False):
        vocabulary[token] = vocabulary.pop(piece)
    file.write_text(json.dumps(content))

"""Benchmark: recipes planted in vectors, which the doctor should name; vectors of others, which it should not.

    python -m bench.doctor [FOLDER …] [--cased]

Each FOLDER is an encoder (default: the bundled mini). Each gets three sets of files of sentence-transformers: the mean
scaled to length 1; the first token with prompts and a default one; a dense layer. transformers computes the vectors of
the planted recipe from its definition, not this package. Texts: the ten of `doctor texts`."""

import argparse
import json
import shutil
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from safetensors.torch import save_file

import bertexplorer as bx
from bench.common import MINI, machine
from bertexplorer.diagnosis.answer import VectorDiagnosis
from bertexplorer.diagnosis.texts import TEXTS

ALL = [text for _, text in TEXTS]
PROMPTS = {"query": "query: ", "passage": "passage: "}
SETS: dict[str, dict[str, Any]] = {
    "mean": {"pooling": "mean", "dense": 0, "prompts": {}, "default": None},
    "first token, prompts": {"pooling": "cls", "dense": 0, "prompts": PROMPTS, "default": "query"},
    "dense": {"pooling": "mean", "dense": 256, "prompts": PROMPTS, "default": "query"},
}
FAULTS: dict[str, dict[str, Any]] = {
    "none": {},
    "first token": {"pooling": "cls"},
    "mean": {"pooling": "mean"},
    "max": {"pooling": "max"},
    "no dense layer": {"dense": False},
    "no prompt": {"prompt": ""},
    "wrong prompt": {"prompt": "passage: "},
    "cut at 64": {"limit": 64},
    "cut at 128": {"limit": 128},
    "lower case": {"lower": True},
    "layer before the last": {"layer": -2},
    "not scaled": {"scaled": False},
    "cut to 128 numbers": {"width": 128},
    "token types lost": {"types": False},
}


def write_files(source: Path, folder: Path, kind: dict[str, Any]) -> Path:
    """A copy of the encoder in *source* with the files of sentence-transformers."""
    shutil.copytree(source, folder)
    for file in folder.iterdir():
        file.chmod(0o644)
    config = json.loads((folder / "config.json").read_text())
    kinds = ["Transformer", "Pooling", *(["Dense"] if kind["dense"] else []), "Normalize"]
    modules = []
    for i, name in enumerate(kinds):
        path = "" if i == 0 else f"{i}_{name}"
        modules.append({"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{name}"})
        (folder / path).mkdir(exist_ok=True)
    (folder / "modules.json").write_text(json.dumps(modules))
    size = config["hidden_size"]
    pooling = {"word_embedding_dimension": size, "pooling_mode": kind["pooling"]}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    (folder / "sentence_bert_config.json").write_text(json.dumps({"max_seq_length": 256}))
    settings = {"prompts": kind["prompts"], "default_prompt_name": kind["default"]}
    (folder / "config_sentence_transformers.json").write_text(json.dumps(settings))
    if kind["dense"]:
        torch.manual_seed(0)
        layer = torch.nn.Linear(size, kind["dense"])
        save_file(
            {f"linear.{key}": value for key, value in layer.state_dict().items()}, folder / "2_Dense/model.safetensors"
        )
        about = {"in_features": size, "out_features": kind["dense"], "bias": True}
        (folder / "2_Dense" / "config.json").write_text(
            json.dumps({**about, "activation_function": "torch.nn.modules.activation.Tanh"})
        )
    return folder


@torch.inference_mode()
def vectors(folder: Path, kind: dict[str, Any], fault: dict[str, Any], texts: list[str]) -> np.ndarray:
    """The vectors of the files of *kind* but for *fault*, computed with transformers."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    model = transformers.AutoModel.from_pretrained(folder, dtype=torch.float32).eval()
    own_prompt = kind["prompts"].get(kind["default"], "")
    if fault.get("types") is False:
        model.embeddings.token_type_embeddings.weight.zero_()
    result = []
    for text in texts:
        text = fault.get("prompt", own_prompt) + text
        if fault.get("lower"):
            text = text.lower()
        read = tokenizer(text, return_tensors="pt", truncation=True, max_length=fault.get("limit", 256))
        states = model(**read, output_hidden_states=True).hidden_states[fault.get("layer", -1)][0]
        pooling = fault.get("pooling", kind["pooling"])
        vector = {"cls": states[0], "mean": states.mean(0), "max": states.amax(0)}[pooling]
        if kind["dense"] and fault.get("dense", True):
            torch.manual_seed(0)
            vector = torch.tanh(torch.nn.Linear(len(vector), kind["dense"])(vector))
        vector = vector[: fault.get("width", len(vector))]
        if fault.get("scaled", True):
            vector = vector / vector.norm()
        result.append(vector.numpy())
    return np.stack(result)


def is_right(answer: VectorDiagnosis, kind: dict[str, Any], fault: dict[str, Any], layers: int, size: int) -> bool:
    """Whether the recipe that is named has the fault, and no other."""
    recipe = answer.recipe
    if answer.found != "named" or recipe is None:
        return False
    own_prompt = kind["prompts"].get(kind["default"], "")
    width = kind["dense"] or size
    if kind["dense"] and not fault.get("dense", True):
        width = size
    wanted = {
        "pooling": fault.get("pooling", kind["pooling"]),
        "prompt": fault.get("prompt", own_prompt),
        "max_tokens": fault.get("limit", 256),
        "lower": bool(fault.get("lower")),
        "layer": layers + 1 + fault.get("layer", -1),
        "dense": int(bool(kind["dense"]) and fault.get("dense", True)),
        "width": fault.get("width", width),
        "scaling": "scaled to length 1" if fault.get("scaled", True) else "not scaled",
        "segments": "none" if fault.get("types") is False else "first",
    }
    found = {
        "pooling": recipe.pooling,
        "prompt": recipe.reading.prompt,
        "max_tokens": recipe.reading.max_tokens,
        "lower": recipe.reading.lower_case,
        "layer": recipe.layer,
        "dense": recipe.dense,
        "width": recipe.width,
        "scaling": recipe.scaling,
        "segments": recipe.reading.segments,
    }
    return found == wanted


def has_effect(kind: dict[str, Any], fault: dict[str, Any], cased: bool) -> bool:
    """Whether the fault changes anything with these files."""
    if fault.get("pooling") == kind["pooling"] or (fault.get("lower") and not cased):
        return False
    if "dense" in fault:
        return bool(kind["dense"])
    return "prompt" not in fault or bool(kind["prompts"])


def int8_vectors(
    checkpoint: Any, folder: Path, texts: list[str], pool: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """Vectors from weights that onnxruntime has rounded to int8, its dynamic quantisation."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    from bertexplorer.model.load import load
    from bertexplorer.model.onnx import export_onnx

    exact, small = folder / "exact.onnx", folder / "int8.onnx"
    export_onnx(load(folder, precision="fp32", device="cpu"), exact, head="")
    quantize_dynamic(exact, small, weight_type=QuantType.QInt8)
    session = onnxruntime.InferenceSession(small)
    result = []
    for text in texts:
        encoding = checkpoint.sentence_tokenizer.encode(text)
        ids = np.array([encoding.ids])
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        states = session.run(None, {name.name: feed[name.name] for name in session.get_inputs()})[0][0]
        vector = pool(states)
        result.append(vector / np.linalg.norm(vector))
    return np.stack(result)


def planted(bert: bx.Bert, folder: Path, kind: dict[str, Any], count: dict[str, list[float]]) -> None:
    """Ask about each fault that changes something."""
    config = bert.checkpoint.config
    backend = bert.checkpoint.tokenizer.backend
    cased = backend.encode("The").ids != backend.encode("the").ids
    for about, fault in FAULTS.items():
        if not has_effect(kind, fault, cased):
            continue
        made = vectors(folder, kind, fault, ALL)
        started = time.perf_counter()
        answer = bx.doctor(bert, ALL, made)
        count["seconds"].append(time.perf_counter() - started)
        good = is_right(answer, kind, fault, config.num_layers, config.hidden_size)
        count["planted, named right"].append(good)
        count["planted, named wrong"].append(not good and answer.found == "named")
        if not good:
            print(f"{bert.name}, {about}: {answer.found}: {answer.said}")


def others(bert: bx.Bert, folder: Path, kind: dict[str, Any], count: dict[str, list[float]]) -> None:
    """Ask about vectors in another order, rounded ones, and those of other weights."""
    made = vectors(folder, kind, {}, ALL)
    order = np.random.default_rng(len(count["shuffled"])).permutation(len(ALL))
    count["shuffled"].append(bx.doctor(bert, ALL, made[order]).found == "shuffled")
    answer = bx.doctor(bert, ALL, made.astype(np.float16).astype(np.float32))
    count["fp16, said"].append(answer.as_files and "fp16" in answer.said)
    if kind is not SETS["mean"]:
        return
    for noise in (0.01, 0.03, 0.1):
        moved = revision(folder, folder.with_name(f"{folder.name}-{noise}"), noise)
        answer = bx.doctor(bert, ALL, vectors(moved, kind, {}, ALL))
        count["another revision, none"].append(answer.found == "none")
        print(f"weights moved by {noise:.0%}: {answer.said}")
    answer = bx.doctor(bert, ALL, int8_vectors(bert.checkpoint, folder, ALL, lambda states: states.mean(0)))
    count["int8 weights, said"].append(answer.as_files and "int8" in answer.said)
    print(f"int8: {answer.said}")


def cased(source: Path, folder: Path) -> Path:
    """Another encoder, made of the one in *source*: its weights are moved so far that it is no revision of that, and
    its tokenizer keeps capitals."""
    revision(source, folder, 0.3)
    file = folder / "tokenizer.json"
    file.chmod(0o644)
    content = json.loads(file.read_text("utf-8"))
    content["normalizer"]["lowercase"] = False
    file.write_text(json.dumps(content), "utf-8")
    file = folder / "tokenizer_config.json"
    file.chmod(0o644)
    file.write_text(json.dumps(json.loads(file.read_text("utf-8")) | {"do_lower_case": False}), "utf-8")
    return folder


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="*", type=Path, default=[MINI])
    parser.add_argument("--cased", action="store_true", help="also one that is made of the first and keeps capitals")
    flags = parser.parse_args()
    folders = list(flags.folders)
    torch.set_num_threads(2)
    transformers.utils.logging.disable_progress_bar()
    print(f"{machine()}\n")
    count: dict[str, list[float]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as temporary:
        opened = []
        if flags.cased:
            folders.append(cased(folders[0], Path(temporary) / "cased"))
        for source in folders:
            for name, kind in SETS.items():
                folder = write_files(source, Path(temporary) / f"{source.name} {name}".replace(" ", "-"), kind)
                opened.append((bx.load(folder, precision="fp32"), folder, kind))
        for i, (bert, folder, kind) in enumerate(opened):
            planted(bert, folder, kind, count)
            others(bert, folder, kind, count)
            another, its_folder, its_kind = opened[(i + len(SETS)) % len(opened)]
            if another is not bert:
                made = vectors(its_folder, its_kind, {}, ALL)
                count["another model, none"].append(bx.doctor(bert, ALL, made).found == "none")
    seconds = count.pop("seconds")
    print(f"seconds: median {np.median(seconds):.1f}, most {max(seconds):.1f}")
    for about, passed in count.items():
        print(f"{about}: {int(sum(passed))} of {len(passed)}")


def revision(source: Path, folder: Path, noise: float) -> Path:
    """The encoder in *source* as after more training: each weight moves by *noise* of its matrix's typical size."""
    from safetensors.torch import load_file

    shutil.copytree(source, folder)
    (folder / "model.safetensors").chmod(0o644)
    torch.manual_seed(0)
    weights = {name: tensor.float() for name, tensor in load_file(folder / "model.safetensors").items()}
    moved = {
        name: tensor + noise * tensor.std() * torch.randn_like(tensor)
        for name, tensor in weights.items()
        if tensor.ndim == 2
    }
    save_file(weights | moved, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


if __name__ == "__main__":
    main()

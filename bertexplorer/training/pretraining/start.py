"""The checkpoint and objective of a run: at its start, written to commits, and loaded from them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.initialise import fresh, with_heads
from bertexplorer.model.load import load
from bertexplorer.model.save import save
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.loop import LoopState
from bertexplorer.training.objective import Objective
from bertexplorer.training.pretraining.objectives import CausalLanguage, MaskedLanguage, ReplacedTokens
from bertexplorer.training.pretraining.spec import StageSpec
from bertexplorer.training.run_driver import write_training_state
from bertexplorer.training.student import create_student, teacher_layers

HEADS = {
    "mlm+nsp": ("masked_lm", "pooler", "next_sentence"),
    "mlm+order": ("masked_lm", "pooler", "next_sentence"),
    "mlm": ("masked_lm",),
    "causal": ("masked_lm",),
    "replaced": ("replaced_token",),
}
GENERATOR = 4  # the discriminator's width divided by the generator's
DTYPES = {"fp32": torch.float32, "bf16": torch.bfloat16}


@dataclass(frozen=True, eq=False)
class TrainingSetup:
    """The checkpoint that a run trains (and ELECTRA's generator), and the objective over their modules."""

    checkpoints: Mapping[str, Checkpoint]  # "model", and "generator" if there is one
    objective: Objective[Any]


def create_setup(spec: StageSpec, tokenizer: Tokenizer, device: torch.device) -> TrainingSetup:
    """Create what a run trains at its start: the checkpoint that *spec* names, with missing heads added, or random
    weights. Raises ExplorerError if *spec* cannot start so."""
    objective, seed = spec.running.objective, spec.running.seed
    if spec.start:
        if objective == "replaced":
            raise ExplorerError("Replaced-token detection always starts from scratch. Leave the checkpoint out.")
        checkpoint = load(spec.start, precision="fp32", device=device)
        if spec.start_layers:
            layers = teacher_layers(checkpoint.config.num_layers, spec.start_layers, "spread")
            checkpoint = create_student(checkpoint, layers, list(checkpoint.heads))
        return with_objective({"model": with_heads(checkpoint, HEADS[objective], seed=seed + 1)}, spec)

    checkpoints = {}
    model = fresh(hf_config(spec, tokenizer, 1), tokenizer, HEADS[objective], seed=seed)
    checkpoints["model"] = move_to_device(model, device)
    if objective == "replaced":
        generator_config = hf_config(spec, tokenizer, GENERATOR) | {"architectures": ["ElectraForMaskedLM"]}
        generator = fresh(generator_config, tokenizer, ("masked_lm",), seed=seed + 2, name="generator")
        checkpoints["generator"] = move_to_device(generator, device)
    return with_objective(checkpoints, spec)


def load_setup(folder: Path, spec: StageSpec, device: torch.device) -> TrainingSetup:
    """Create the same structure from the commit in *folder*; RunDriver.resume restores the exact weights. Raises
    ExplorerError if the run cannot go on with the objective of *spec*."""
    task = spec.running.objective
    checkpoints = {p.name: load(p, precision="fp32", device=device) for p in sorted(folder.iterdir()) if p.is_dir()}
    checkpoints["model"] = with_heads(checkpoints["model"], HEADS[task], seed=spec.running.seed + 1)
    return with_objective(checkpoints, spec)


def with_objective(checkpoints: Mapping[str, Checkpoint], spec: StageSpec) -> TrainingSetup:
    """The checkpoints with the objective that *spec* names, all parameters trainable, and compiled if *spec* says so.
    Raises ExplorerError if they lack a head that it needs."""
    task = spec.running.objective
    model = checkpoints["model"]
    teacher = load_teacher(spec.teacher, model) if spec.teacher else None
    objective: Objective[Any]
    if task == "replaced":
        if "generator" not in checkpoints or "replaced_token" not in model.heads:
            raise ExplorerError(
                "A run can continue with replaced-token detection only if it started with it. Start a new run."
            )
        objective = ReplacedTokens(checkpoints["generator"], model)
    elif "masked_lm" not in model.heads:
        raise ExplorerError(f"{model.name} ({model.family}) has no fill-mask head and none can be added. Use BERT.")
    elif task == "causal":
        objective = CausalLanguage(model)
    else:
        objective = MaskedLanguage(
            model,
            pairs=spec.pairs != "none",
            weight=spec.running.pair_weight,
            teacher=teacher,
            teacher_weight=spec.running.teacher_weight,
            special_weight=spec.running.special_weight,
            special_limit=spec.running.special_limit,
        )
    objective.modules.requires_grad_(True)
    if spec.running.compile:
        encoders = [checkpoint.encoder for checkpoint in checkpoints.values()]
        if teacher:
            encoders.append(teacher)
        for encoder in encoders:
            for layer in encoder.layers:
                layer.compile(dynamic=True)  # one program for all layers and lengths
    return TrainingSetup(checkpoints, objective)


def load_teacher(folder: str, student: Checkpoint) -> Encoder:
    """The encoder of the checkpoint in *folder*. Raises ExplorerError unless it has the vocabulary of *student* and
    vectors of the same size."""
    teacher = load(folder, precision="fp32", device=student.device)
    if teacher.tokenizer.backend.get_vocab() != student.tokenizer.backend.get_vocab():
        raise ExplorerError(f"The teacher {teacher.name} has another vocabulary. Choose one that has that of the run.")
    theirs, own = teacher.config.hidden_size, student.config.hidden_size
    if theirs != own:
        raise ExplorerError(
            f"The teacher {teacher.name} has vectors of {theirs} numbers, the run {own}. Choose one that has {own}."
        )
    return teacher.encoder.requires_grad_(False).eval()


def move_to_device(checkpoint: Checkpoint, device: torch.device) -> Checkpoint:
    """*checkpoint* on *device*; its modules are moved."""
    nn.ModuleList([checkpoint.encoder, *checkpoint.heads.values()]).to(device)
    return replace(checkpoint, device=device)


def hf_config(spec: StageSpec, tokenizer: Tokenizer, narrower: int) -> dict[str, Any]:
    """A config.json for the size in *spec*, with the hidden size divided by *narrower*."""
    size = spec.size
    hidden = size.hidden // narrower
    config = {
        "vocab_size": tokenizer.vocab_size,
        "hidden_size": hidden,
        "num_hidden_layers": size.layers,
        "num_attention_heads": max(1, size.heads // narrower),
        "intermediate_size": 4 * hidden,
        "max_position_embeddings": size.positions,
        "hidden_act": "gelu",
        "initializer_range": size.spread,
        "layer_norm_eps": 1e-12,
        "pad_token_id": tokenizer.pad_id,
        "type_vocab_size": 2,
    }
    if spec.running.objective == "replaced":
        architecture = {"model_type": "electra", "architectures": ["ElectraForPreTraining"]}
        return {**config, **architecture, "embedding_size": size.hidden}
    with_pairs = spec.pairs != "none"
    return {
        **config,
        "model_type": "bert",
        "architectures": ["BertForPreTraining" if with_pairs else "BertForMaskedLM"],
    }


def write_commit(
    setup: TrainingSetup, optimiser: torch.optim.Optimizer, state: LoopState, threads: int, folder: Path, dtype: str
) -> None:
    """Write the files for an exact resume (training.safetensors, state.json) and the exported checkpoints."""
    write_training_state(setup.objective.modules, optimiser, state, threads, folder)
    export_checkpoints(setup, folder, dtype)


def export_checkpoints(setup: TrainingSetup, folder: Path, dtype: str) -> None:
    """Write each checkpoint to a folder of its name, in transformers format."""
    for name, checkpoint in setup.checkpoints.items():
        hf_config = {**checkpoint.hf_config, "dtype": "bfloat16" if dtype == "bf16" else "float32"}
        save(replace(checkpoint, stored_dtype=DTYPES[dtype], hf_config=hf_config), folder / name)

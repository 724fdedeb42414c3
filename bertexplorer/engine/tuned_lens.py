"""The tuned lens (Belrose et al., 2023): an affine map for each layer that puts its hidden states into the terms of the
last layer, which the MLM head was trained on.

Each map starts as the identity. AdamW then makes KL(final answer || the layer's answer) small. With the whole
vocabulary this would take minutes, so the loss is over the likely pieces and a random sample of the others, which
stands for all of them. What is reported covers the whole vocabulary, at positions that the fit has not seen.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from bertexplorer.engine import progress
from bertexplorer.engine.gradients import to_fp32
from bertexplorer.engine.vectors import word_vectors
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.heads import MaskedLM
from bertexplorer.model.scheduler import torch_threads
from bertexplorer.model.text import Encoding

FILE = "tuned-lens.safetensors"  # beside the weights that it belongs to
EPOCHS, BATCH = 6, 64
RATE = 2e-3  # of the first step; it falls to 0 in a straight line
DECAY = 3.0  # weight decay, toward the identity
LIKELY = 32  # pieces that each final answer adds to those of the loss
SAMPLED = 1000  # of the other pieces
ROWS = 64  # positions with all their probabilities in memory at once
FULL = 20  # the head with the whole vocabulary takes as long as this many steps of the fit, for each position
Affine = tuple[Float[Tensor, "d d"], Float[Tensor, " d"]]


@dataclass(frozen=True, eq=False)
class TunedLens:
    """The maps of the l hidden states below the last one (0: the input of the first layer), and what they achieve."""

    weights: Float[Tensor, "l d d"]  # fp32; what is added to the identity
    biases: Float[Tensor, "l d"]
    positions: int  # that it was fitted on
    held_out: int  # other positions, that it was measured on
    raw: tuple[float, ...]  # l of them: mean KL(final answer || raw lens) at the held-out positions, in nats
    tuned: tuple[float, ...]  # the same of the tuned lens
    seconds: float  # that this took, with the passes

    @property
    def num_bytes(self) -> int:
        return self.weights.nbytes + self.biases.nbytes

    def translate(self, layer: int, states: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        """Hidden states of a layer in the terms of the last one, before the norm that the encoder may end in."""
        return apply_affine(states.float(), (self.weights[layer], self.biases[layer])).to(states.dtype)


def save_tuned_lens(lens: TunedLens, checkpoint: Checkpoint, folder: Path) -> None:
    """Write *lens* to *folder*, in fp16, for `read_tuned_lens`."""
    about = {
        "positions": lens.positions,
        "held_out": lens.held_out,
        "raw": lens.raw,
        "tuned": lens.tuned,
        "seconds": lens.seconds,
        "revision": checkpoint.revision,
    }
    tensors = {"weights": lens.weights.half().cpu().contiguous(), "biases": lens.biases.half().cpu().contiguous()}
    save_file(tensors, folder / FILE, metadata={"lens": json.dumps(about)})


def read_tuned_lens(checkpoint: Checkpoint) -> TunedLens | None:
    """The lens beside the weights of *checkpoint*, which was fitted to them; None if there is none, or if it was fitted
    to other weights."""
    config = checkpoint.config
    shapes = {
        "weights": [config.num_layers, config.hidden_size, config.hidden_size],
        "biases": [config.num_layers, config.hidden_size],
    }
    try:
        with safe_open(checkpoint.folder / FILE, "pt", device=str(checkpoint.device)) as file:
            about: dict[str, Any] = json.loads(file.metadata()["lens"])
            raw = tuple(float(value) for value in about["raw"])
            tuned = tuple(float(value) for value in about["tuned"])
            # Nothing is read of a file whose tensors or whose weights are not those of the checkpoint.
            fits = all(file.get_slice(name).get_shape() == shape for name, shape in shapes.items())
            complete = len(raw) == len(tuned) == config.num_layers
            if not (fits and complete and about["revision"] == checkpoint.revision):
                return None
            return TunedLens(
                weights=file.get_tensor("weights").float(),
                biases=file.get_tensor("biases").float(),
                positions=int(about["positions"]),
                held_out=int(about["held_out"]),
                raw=raw,
                tuned=tuned,
                seconds=float(about["seconds"]),
            )
    except (OSError, SafetensorError, KeyError, TypeError, ValueError):
        return None


def apply_affine(states: Float[Tensor, "n d"], by: Affine) -> Float[Tensor, "n d"]:
    """*states* through the map *by*: (what is added to the identity, the bias)."""
    return states + F.linear(states, *by)


def fit_tuned_lens(checkpoint: Checkpoint, encodings: Sequence[Encoding], held_out: Sequence[bool]) -> TunedLens:
    """The tuned lens, fitted at the masks of the *encodings* and measured at the masks of those that are *held_out*.

    The seed is fixed, so two fits differ by rounding at most. Raises ExplorerError if there is no MLM head, or if a
    number is not finite."""
    started = time.monotonic()
    num_layers = checkpoint.config.num_layers

    # 1. The work, and the hidden states of all layers at the masks: a row for each mask.
    is_held_out_row: list[bool] = []
    for encoding, is_held_out in zip(encodings, held_out, strict=True):
        is_held_out_row += [is_held_out] * len(encoding.masked)
    held_out_positions = sum(is_held_out_row)
    fit_positions = len(is_held_out_row) - held_out_positions
    fit_steps = EPOCHS * fit_positions * num_layers  # a position counts as a token
    total = fit_steps + FULL * (fit_positions + held_out_positions * (1 + 2 * num_layers))
    progress.expect(sum(map(len, encodings)) + total)
    head = to_fp32(checkpoint.masked_lm, checkpoint.config)
    norm = deepcopy(checkpoint.encoder.norm).float()
    masks: list[list[tuple[int, ...]]] = []  # each is a word of its own
    for encoding in encodings:
        masks.append([(position,) for position in encoding.masked])
    states = word_vectors(checkpoint, encodings, masks).to(checkpoint.device)
    held_out_rows = torch.tensor(is_held_out_row, device=checkpoint.device)
    final = states[-1]
    layers = states[:-1]
    done = 0

    def count(positions: int) -> None:
        nonlocal done
        done += positions
        progress.report(done, total)

    # 2. The fit, over a part of the vocabulary.
    progress.report(0, total)
    with checkpoint.scheduler.slot(heavy=True), torch.no_grad():
        matrix, bias = sample_vocabulary(head, final[~held_out_rows], count)
        target_log_probs = F.linear(head.transform(final[~held_out_rows]), matrix, bias).log_softmax(dim=-1)

    def loss(vectors: Tensor, rows: Tensor) -> Tensor:
        log_probs = F.linear(head.transform(norm(vectors)), matrix, bias).log_softmax(dim=-1)
        return F.kl_div(log_probs, target_log_probs[rows], log_target=True, reduction="batchmean")

    maps = [fit(checkpoint, state[~held_out_rows], loss, count) for state in layers]

    # 3. What it achieves at the positions that the fit has not seen, over the whole vocabulary.
    raw = [0.0] * num_layers
    tuned = [0.0] * num_layers
    for rows in held_out_rows.nonzero()[:, 0].split(ROWS):
        with checkpoint.scheduler.slot(heavy=True), torch.no_grad():
            log_probs = head(final[rows]).log_softmax(dim=-1)
            count(FULL * len(rows))
            for layer, state in enumerate(layers):
                raw[layer] += divergence(log_probs, head(norm(state[rows]))) / held_out_positions
                mapped = apply_affine(state[rows], maps[layer])
                tuned[layer] += divergence(log_probs, head(norm(mapped))) / held_out_positions
                count(FULL * 2 * len(rows))
    if not all(map(math.isfinite, (*raw, *tuned))):
        raise ExplorerError(f"The tuned lens of {checkpoint.name} is not finite. Use the raw lens.")
    return TunedLens(
        weights=torch.stack([weight for weight, _ in maps]),
        biases=torch.stack([bias for _, bias in maps]),
        positions=fit_positions,
        held_out=held_out_positions,
        raw=tuple(raw),
        tuned=tuple(tuned),
        seconds=time.monotonic() - started,
    )


def fit(
    checkpoint: Checkpoint,
    states: Float[Tensor, "n d"],
    loss: Callable[[Tensor, Tensor], Tensor],
    count: Callable[[int], None],
) -> Affine:
    """The map of one layer that makes *loss* (of the mapped states, at their rows) small. *count*: called after each
    step with its number of positions."""
    num_states, size = states.shape
    scale = states.std(dim=0).clamp(min=1e-6)  # so that one rate suits all dimensions
    weight = states.new_zeros((size, size)).requires_grad_()
    bias = states.new_zeros(size).requires_grad_()
    groups = [{"params": [weight], "weight_decay": DECAY}, {"params": [bias], "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=RATE)
    order = torch.Generator().manual_seed(0)
    batches: list[Tensor] = []
    for _ in range(EPOCHS):
        batches += torch.randperm(num_states, generator=order).split(BATCH)
    for step, batch in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - step / len(batches))
        with checkpoint.scheduler.slot(heavy=True), torch_threads(1):
            rows = batch.to(states.device)
            mapped = states[rows] + scale * F.linear(states[rows] / scale, weight, bias)
            value = loss(mapped, rows)
            weight.grad, bias.grad = torch.autograd.grad(value, (weight, bias))  # none for the checkpoint's own weights
            optimiser.step()
        count(len(batch))
    return (scale[:, None] * weight / scale).detach(), (scale * bias).detach()


def sample_vocabulary(
    head: MaskedLM, final: Float[Tensor, "n d"], count: Callable[[int], None] = lambda steps: None
) -> tuple[Float[Tensor, "s e"], Float[Tensor, " s"]]:
    """Rows of the head's output matrix and their biases: of the likely pieces, and of a sample of the others, whose
    biases are raised such that the sample has the weight of them all. *count*: is told how far it is, in steps of the
    fit."""
    # 1. The pieces that some final answer finds likely, and a sample of the others.
    pieces = head.output.out_features
    best = []
    for part in final.split(ROWS):
        best.append(head(part).topk(min(LIKELY, pieces)).indices.flatten())
        count(FULL * len(part))
    likely = torch.cat(best).unique()
    unlikely: Bool[Tensor, " v"] = torch.ones(pieces, dtype=torch.bool, device=final.device)
    unlikely[likely] = False
    other_ids = unlikely.nonzero()[:, 0]
    order = torch.randperm(len(other_ids), generator=torch.Generator().manual_seed(0))
    sampled = other_ids[order[:SAMPLED].to(other_ids.device)]

    # 2. Their rows, the sampled ones with the weight of all that they stand for.
    log_weight = math.log(max(1, len(other_ids)) / max(1, len(sampled)))
    ids = torch.cat([likely, sampled])
    biases = torch.zeros_like(ids, dtype=final.dtype)
    biases[len(likely) :] = log_weight
    if head.output.bias is not None:
        biases = head.output.bias[ids] + biases
    return head.output.weight[ids], biases


def divergence(final_log_probs: Float[Tensor, "n v"], logits: Float[Tensor, "n v"]) -> float:
    """Sum over the rows of KL(final answer || answer of *logits*), in nats, over the whole vocabulary."""
    return float(F.kl_div(logits.log_softmax(dim=-1), final_log_probs, log_target=True, reduction="sum"))

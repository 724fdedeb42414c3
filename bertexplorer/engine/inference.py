"""Forward passes without gradients: encodings in batches under a token budget, and log-probabilities at masks."""

from collections.abc import Iterator, Sequence

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from bertexplorer.engine import activations, progress
from bertexplorer.engine.collate import batches, collate, token_budget
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import CAUSAL, NO_CHANGE, Forward, Intervention
from bertexplorer.model.text import Encoding

FP32_CANDIDATES = 256  # best logits that are computed again in fp32, as bf16 would order near ties at random


def forward(
    checkpoint: Checkpoint,
    encodings: Sequence[Encoding],
    *,
    attention: bool = False,
    head_outputs: bool = False,
    intervention: Intervention = NO_CHANGE,
    positions: Int[Tensor, " q"] | None = None,
) -> Forward:
    """One pass over all *encodings* as one batch. The other arguments are those of `Encoder.forward`. The hidden states
    of a single unchanged encoding are cached for the next call."""
    if len(encodings) == 1 and intervention is NO_CHANGE and not (attention or head_outputs):
        return activations.cached_forward(checkpoint, encodings[0], positions).forward(positions)
    ids, segments, mask = collate(encodings, checkpoint.tokenizer.pad_id, checkpoint.device)
    with checkpoint.scheduler.slot(heavy=len(encodings) > 1), torch.inference_mode():
        return checkpoint.encoder(
            ids,
            segments if checkpoint.config.num_segments else None,
            mask,
            intervention=intervention,
            attention=attention,
            head_outputs=head_outputs,
            positions=positions,
        )


def batches_by_length(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], positions: Int[Tensor, " q"] | None = None
) -> Iterator[tuple[list[int], Forward]]:
    """(indices into *encodings*, their pass) for each batch. Texts of similar length share a batch, which keeps the
    padding small. *positions* as in `Encoder.forward`."""
    order = sorted(range(len(encodings)), key=lambda i: len(encodings[i]))
    done = 0
    tokens = 0
    total = sum(map(len, encodings))
    progress.report(0, total)
    for batch in batches([encodings[i] for i in order], token_budget(checkpoint.device)):
        yield order[done : done + len(batch)], forward(checkpoint, batch, positions=positions)
        done += len(batch)
        tokens += sum(map(len, batch))
        progress.report(tokens, total)


def check_finite(checkpoint: Checkpoint, numbers: Tensor) -> Tensor:
    """Return *numbers*. Raises ExplorerError if one of them is not finite."""
    if not numbers.sum().isfinite() and not numbers.isfinite().all():  # the sum is quicker
        raise ExplorerError(f"{checkpoint.name} gave numbers that are not finite. Try precision fp32.")
    return numbers


def vocabulary_logits(checkpoint: Checkpoint, vectors: Float[Tensor, "n d"]) -> Float[Tensor, "n v"]:
    """Logits of the MLM head in fp32. In bf16, logits near 10 are 0.06 apart, so near ties would come in any order.
    The best FP32_CANDIDATES logits of each row are therefore computed again in fp32."""
    head = checkpoint.masked_lm
    hidden = head.transform(vectors)
    logits = head.output(hidden).float()
    if hidden.dtype == torch.float32:
        return logits
    if checkpoint.config.tied:
        matrix = checkpoint.encoder.embeddings.words.weight
    else:
        matrix = head.output.weight.to_dense()
    for row, vector in zip(logits, hidden.float(), strict=True):
        best = row.topk(min(FP32_CANDIDATES, row.shape[0])).indices
        bias = None if head.output.bias is None else head.output.bias[best].float()
        row[best] = F.linear(vector, matrix[best].float(), bias)
    return logits


def masked_log_probs(
    checkpoint: Checkpoint,
    encodings: Sequence[Encoding],
    *,
    positions: Sequence[Sequence[int]] | None = None,
    causal: bool = False,
) -> Iterator[Float[Tensor, "m v"]]:
    """For each encoding, natural-log probabilities over the vocabulary at its masks (or at the given positions).

    fp32 on the CPU, in the order of *encodings*. The MLM head runs at those positions only. *causal* hides the tokens
    to the right of each token from it. Raises ExplorerError if the checkpoint has no MLM head, or if the result is not
    finite."""
    _ = checkpoint.masked_lm  # raises before anything runs if there is none
    if positions is None:
        positions = [encoding.masked for encoding in encodings]
    change = CAUSAL if causal else NO_CHANGE
    done = 0
    tokens = 0
    total = sum(map(len, encodings))
    progress.report(0, total)
    for batch in batches(encodings, token_budget(checkpoint.device)):
        batch_positions = positions[done : done + len(batch)]
        done += len(batch)
        counts = [len(row_positions) for row_positions in batch_positions]
        rows = torch.arange(len(batch)).repeat_interleave(torch.tensor(counts))
        columns = torch.tensor([i for row_positions in batch_positions for i in row_positions], dtype=torch.long)
        unique_columns, columns = columns.unique(return_inverse=True)
        last = forward(checkpoint, batch, intervention=change, positions=unique_columns.to(checkpoint.device)).last
        with torch.inference_mode():
            vectors = last[rows.to(last.device), columns.to(last.device)]
            log_probs = vocabulary_logits(checkpoint, vectors).cpu().log_softmax(dim=-1)
        tokens += sum(map(len, batch))
        progress.report(tokens, total)
        yield from check_finite(checkpoint, log_probs).split(counts)

"""Logits of the next-sentence head and of the fine-tuned heads: for many texts, and after every layer of one text."""

from collections.abc import Callable, Sequence
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float
from torch import Tensor

from bertexplorer.engine.inference import batches_by_length, check_finite, forward
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.heads import ReplacedToken, TokenClassifier
from bertexplorer.model.text import Encoding

Read = Callable[[Float[Tensor, "b q d"], Bool[Tensor, "b q"] | None], Tensor]


def head_logits(checkpoint: Checkpoint, encodings: Sequence[Encoding], head: str) -> list[Tensor]:
    """For each text or pair the logits of *head*, in the order of *encodings*: l for "sequence_classifier" (its labels)
    and "next_sentence" (is next, is not next), t x l for "token_classifier" (its tags), "replaced_token" (original,
    replaced) and "span" (the answer starts, it ends) at each of t tokens. fp32 on the CPU.

    Raises ExplorerError if the checkpoint has no such head, or if a number is not finite."""
    require_head(checkpoint, head)

    def read(last: Tensor, mask: Tensor | None) -> Tensor:
        return read_head(checkpoint, head, last, mask)

    rows = (0,) if reads_first(checkpoint, head) else None
    return in_batches(checkpoint, encodings, read, rows)


def next_sentence_logits(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> Float[Tensor, "n 2"]:
    """For each pair, the logits (is next, is not next) of Devlin et al. (2019), as `head_logits`."""
    logits = head_logits(checkpoint, encodings, "next_sentence")
    if not logits:
        return torch.empty(0, 2)
    return torch.stack(logits)


def in_batches(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], read: Read, rows: tuple[int, ...] | None
) -> list[Tensor]:
    """The logits that *read* computes for each encoding, without the rows of padding, from the last layer's vectors (of
    the tokens in *rows* only, if given) and the mask of the batch. Raises ExplorerError if one is not finite."""
    positions = None
    if rows is not None:
        positions = torch.tensor(rows, dtype=torch.long, device=checkpoint.device)
    results: dict[int, Tensor] = {}
    for indices, batch in batches_by_length(checkpoint, encodings, positions):
        mask = None
        if rows is None:
            mask = padding([encodings[i] for i in indices], batch.last.device)
        for i, logits in zip(indices, read(batch.last, mask), strict=True):
            if logits.dim() > 1:  # a row for each token
                logits = logits[: len(encodings[i])]
            results[i] = check_finite(checkpoint, logits)
    return [results[i] for i in range(len(encodings))]


def padding(encodings: Sequence[Encoding], device: torch.device) -> Bool[Tensor, "b t"] | None:
    """True for a token, False for padding; None if nothing is padded."""
    lengths = torch.tensor([len(encoding) for encoding in encodings], device=device)
    mask = torch.arange(int(lengths.max()), device=device) < lengths[:, None]
    if mask.all():
        return None
    return mask


def read_sequence(
    checkpoint: Checkpoint, last: Float[Tensor, "b q d"], mask: Bool[Tensor, "b q"] | None = None
) -> Float[Tensor, "b l"]:
    """The logits of the labels from the last layer's vectors: of [CLS] (the first of q), or of all tokens if the head
    takes their mean. fp32 on the CPU."""
    head = checkpoint.sequence_classifier
    with torch.inference_mode():  # the last product in fp32: in bf16, logits of 4 are 0.03 apart
        vectors = head.summary(last, mask).float()
        return F.linear(vectors, head.output.weight.to_dense().float(), head.output.bias.float()).cpu()


def read_tokens(checkpoint: Checkpoint, head: str, last: Float[Tensor, "*n d"]) -> Float[Tensor, "*n l"]:
    """The logits of "token_classifier", "span" or "replaced_token" for the last layer's vectors. fp32 on the CPU."""
    module = cast("TokenClassifier | ReplacedToken", checkpoint.head(head))
    with torch.inference_mode():
        vectors = module.transform(last).float()
        logits = F.linear(vectors, module.output.weight.to_dense().float(), module.output.bias.float()).cpu()
    if isinstance(module, ReplacedToken):
        return ReplacedToken.as_labels(logits[..., 0])
    return logits


def read_next_sentence(checkpoint: Checkpoint, last: Float[Tensor, "n t d"]) -> Float[Tensor, "n 2"]:
    """The logits for the last layer's vectors of [CLS] (the first of t). fp32 on the CPU."""
    output = checkpoint.next_sentence.output
    with torch.inference_mode():  # the last product in fp32: in bf16, logits of 4 are 0.03 apart
        pooled = checkpoint.pooler(last).float()
        return F.linear(pooled, output.weight.to_dense().float(), output.bias.float()).cpu()


def read_head(checkpoint: Checkpoint, head: str, last: Float[Tensor, "b q d"], mask: Tensor | None = None) -> Tensor:
    """The logits of *head* from the last layer's vectors: b x l, or b x q x l for the tokens. fp32 on the CPU."""
    if head == "next_sentence":
        return read_next_sentence(checkpoint, last)
    if head == "sequence_classifier":
        return read_sequence(checkpoint, last, mask)
    return read_tokens(checkpoint, head, last)


def reads_first(checkpoint: Checkpoint, head: str) -> bool:
    """Whether *head* reads the vector of [CLS] alone."""
    if head == "sequence_classifier":
        return checkpoint.sequence_classifier.first_only
    return head == "next_sentence"


def require_head(checkpoint: Checkpoint, head: str) -> None:
    """Raises ExplorerError if the checkpoint has no *head*."""
    _ = checkpoint.head(head)
    if head == "next_sentence":
        _ = checkpoint.pooler


def layer_head_logits(checkpoint: Checkpoint, encoding: Encoding, head: str) -> Tensor:
    """The logits of `head_logits` after every layer, as if it were the last one: layers x l or layers x t x l. Layer 0
    is the input of the first layer. fp32 on the CPU.

    If the encoder ends in a LayerNorm (ModernBERT), it is applied to the earlier layers too, as in `layer_log_probs`.
    Raises ExplorerError if the checkpoint has no such head, or if the result is not finite."""
    require_head(checkpoint, head)
    hidden = forward(checkpoint, [encoding]).hidden
    with torch.inference_mode():
        states = [checkpoint.encoder.norm(state) for state in hidden[:-1]]
        states.append(hidden[-1])
    logits = [read_head(checkpoint, head, state) for state in states]
    return check_finite(checkpoint, torch.cat(logits))

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


def sequence_logits(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> Float[Tensor, "n l"]:
    """For each text or pair the logits of the l labels, in the order of *encodings*. fp32 on the CPU.

    Raises ExplorerError if the checkpoint has no sequence classifier, or if the
    result is not finite."""
    every_token = not checkpoint.sequence_classifier.first_only  # raises before anything runs if there is none
    first = None if every_token else (0,)

    def read(last: Tensor, mask: Tensor | None) -> Tensor:
        return read_sequence(checkpoint, last, mask)

    logits = in_batches(checkpoint, encodings, read, first)
    return torch.stack(logits) if logits else torch.empty(0, checkpoint.config.num_labels)


def token_logits(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], head: str = "token_classifier"
) -> list[Float[Tensor, "t l"]]:
    """For each text the logits of the l labels at each of its t tokens, or with *head* "replaced_token" of original and
    replaced; otherwise as `sequence_logits`."""
    return each_token(checkpoint, encodings, head)


def span_logits(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> list[Float[Tensor, "t 2"]]:
    """For each (question, passage) the logits that the answer starts and that it ends at each of the t tokens;
    otherwise as `sequence_logits`."""
    return each_token(checkpoint, encodings, "span")


def each_token(checkpoint: Checkpoint, encodings: Sequence[Encoding], head: str) -> list[Float[Tensor, "t l"]]:
    _ = checkpoint.head(head)  # raises before anything runs if there is none
    return in_batches(checkpoint, encodings, lambda last, _: read_tokens(checkpoint, head, last), None)


def in_batches(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], read: Read, rows: tuple[int, ...] | None
) -> list[Tensor]:
    """The logits that *read* computes for each encoding, without the rows of padding, from the last layer's vectors (of
    the tokens in *rows* only, if given) and the mask of the batch."""
    positions = None if rows is None else torch.tensor(rows, dtype=torch.long, device=checkpoint.device)
    results: dict[int, Tensor] = {}
    for indices, batch in batches_by_length(checkpoint, encodings, positions):
        mask = None if rows is not None else padding([encodings[i] for i in indices], batch.last.device)
        for i, logits in zip(indices, read(batch.last, mask), strict=True):
            results[i] = check_finite(checkpoint, logits[: len(encodings[i])] if logits.dim() > 1 else logits)
    return [results[i] for i in range(len(encodings))]


def padding(encodings: Sequence[Encoding], device: torch.device) -> Bool[Tensor, "b t"] | None:
    """True for a token, False for padding; None if nothing is padded."""
    lengths = torch.tensor([len(encoding) for encoding in encodings], device=device)
    mask = torch.arange(int(lengths.max()), device=device) < lengths[:, None]
    return None if bool(mask.all()) else mask


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
    return ReplacedToken.as_labels(logits[..., 0]) if isinstance(module, ReplacedToken) else logits


def layer_task_logits(checkpoint: Checkpoint, encoding: Encoding, head: str) -> Tensor:
    """The logits of a fine-tuned *head* after every layer, as if it were the last one: layers x l for
    "sequence_classifier", layers x t x l for the others. Layer 0 is the input of the first layer. fp32 on the CPU.

    If the encoder ends in a LayerNorm (ModernBERT), it is applied to the earlier layers too, as in `layer_log_probs`.
    Raises ExplorerError if the checkpoint has no such head, or if the result is not finite."""
    _ = checkpoint.head(head)
    hidden = forward(checkpoint, [encoding]).hidden
    with torch.inference_mode():
        states = [*(checkpoint.encoder.norm(state) for state in hidden[:-1]), hidden[-1]]
    if head == "sequence_classifier":
        logits = torch.cat([read_sequence(checkpoint, state) for state in states])
    else:
        logits = torch.cat([read_tokens(checkpoint, head, state) for state in states])
    return check_finite(checkpoint, logits)


def next_sentence_logits(checkpoint: Checkpoint, encodings: Sequence[Encoding]) -> Float[Tensor, "n 2"]:
    """For each pair, the logits (is next, is not next) of Devlin et al. (2019), in the order of *encodings*.

    fp32 on the CPU. Raises ExplorerError if the checkpoint has no next-sentence head, or if the result is not
    finite."""
    _ = checkpoint.next_sentence, checkpoint.pooler  # raises before anything runs if there is none
    logits = torch.empty(len(encodings), 2)
    first = torch.zeros(1, dtype=torch.long, device=checkpoint.device)  # the head reads [CLS] only
    for indices, batch in batches_by_length(checkpoint, encodings, first):
        logits[indices] = read_next_sentence(checkpoint, batch.last)
    return check_finite(checkpoint, logits)


def read_next_sentence(checkpoint: Checkpoint, last: Float[Tensor, "n t d"]) -> Float[Tensor, "n 2"]:
    """The logits for the last layer's vectors of [CLS] (the first of t). fp32 on the CPU."""
    output = checkpoint.next_sentence.output
    with torch.inference_mode():  # the last product in fp32: in bf16, logits of 4 are 0.03 apart
        pooled = checkpoint.pooler(last).float()
        return F.linear(pooled, output.weight.to_dense().float(), output.bias.float()).cpu()

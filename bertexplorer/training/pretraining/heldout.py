"""Evaluation of pretraining on held-out documents, with the same masks for all settings."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor, nn

from bertexplorer.engine.masking import MASKED, RANDOM, SAME, Masking
from bertexplorer.errors import ExplorerError
from bertexplorer.model.forward import CAUSAL
from bertexplorer.model.heads import MaskedLM, NextSentence, Pooler
from bertexplorer.model.text import Tokenizer
from bertexplorer.training.objective import Objective
from bertexplorer.training.pretraining.batches import Collator, MaskedBatch
from bertexplorer.training.pretraining.corpus import Shard, token_counts
from bertexplorer.training.pretraining.objectives import (
    CausalLanguage,
    ReplacedTokens,
    forward_batch,
    special_shares,
)
from bertexplorer.training.pretraining.pool import FOLLOWS, NOT, SINGLE, DocumentPool, Kind

SEED = 2018
LONG, SHORT = 128, 24  # tokens of a pair and of a single sentence
KINDS = {MASKED: "mask", SAME: "same", RANDOM: "random"}


def choose_hashes(shards: Sequence[Shard], count: int) -> NDArray[np.uint64]:
    """The *count* smallest hashes of all documents: a random choice that does not depend on the order of the files, and
    that changes little when text is added. Raises ExplorerError if that leaves no document."""
    hashes = np.unique(np.concatenate([s.hashes for s in shards]))
    if len(hashes) <= count:
        raise ExplorerError(
            f"The text has {len(hashes):,} different documents; holding out {count:,} would leave nothing to "
            "learn from. Hold out fewer, or separate the documents with blank lines."
        )
    return hashes[:count]


def write_hashes(hashes: NDArray[np.uint64], path: Path) -> None:
    """One hash a line, 16 hexadecimal digits."""
    path.write_text("".join(f"{int(h):016x}\n" for h in hashes), "ascii")


def read_hashes(path: Path) -> NDArray[np.uint64]:
    """The sorted hashes in such a file. Raises ExplorerError if it is not one."""
    try:
        lines = path.read_text("ascii").split()
        return np.array(sorted(int(line, 16) for line in lines), dtype=np.uint64)
    except (OSError, ValueError, OverflowError) as error:
        raise ExplorerError(
            f"{path} is not a list of held-out documents ({error}); wanted one hash per line."
        ) from error


def split_masks(shards: Sequence[Shard], hashes: NDArray[np.uint64]) -> tuple[list[NDArray[Any]], list[NDArray[Any]]]:
    """(documents for training, held-out documents) of each shard, as booleans."""
    held_out = [np.isin(s.hashes, hashes) for s in shards]
    return [~h for h in held_out], held_out


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Fixed batches, in which 15 % of the tokens are chosen, 80/10/10."""

    pairs: list[MaskedBatch]  # half of them true, half with a B of another document
    same: list[MaskedBatch]  # with a wrong B of the same document
    short: list[MaskedBatch]  # single sentences
    swapped: list[MaskedBatch]  # true pairs in the wrong order
    unigram: dict[str, float]  # nats of the unigram model at the chosen positions of "pairs" and "short"
    uniform: float  # ln V

    def baselines(self) -> dict[str, float]:
        """The losses in nats of the uniform and the unigram model."""
        return {"uniform": self.uniform} | {f"unigram_{name}": nats for name, nats in self.unigram.items()}


def draw_held_out(
    shards: Sequence[Shard], held_out: Sequence[NDArray[Any]], tokenizer: Tokenizer, *, count: int, longest: int = LONG
) -> HeldOut:
    """Draw the held-out examples: *count* pairs of 128 tokens (or *longest*, if smaller), half as many with a wrong B
    of the same document, half as many in the wrong order, and 3 x *count* sentences of at most 24 tokens. They depend
    only on the held-out documents and the vocabulary."""
    room = min(LONG, longest) - 3
    by_name = sorted(range(len(shards)), key=lambda i: shards[i].name)
    pool = DocumentPool([shards[i] for i in by_name], [1.0] * len(by_name), [held_out[i] for i in by_name])
    rng = np.random.default_rng(SEED)
    collator = Collator.of(tokenizer, Masking())

    def batches(kinds: Sequence[Kind], number: int, room: int) -> list[MaskedBatch]:
        drawn = pool.examples(rng, np.resize(kinds, number), np.full(number, room))
        return collator.batches(drawn, 4096, rng)

    # 1. The examples, in this order, as all are drawn with one generator
    same: list[MaskedBatch] = []
    swapped: list[MaskedBatch] = []
    divisible = pool.with_boundary >= 2
    if divisible:
        pairs = batches([Kind.NEXT, Kind.OTHER], count, room)
        if (pool.after - pool.first >= 3).any():  # only then a B of the same document may not follow A
            same = batches([Kind.SAME], count // 2, room)
    else:
        pairs = batches([Kind.TEXT], count, room + 1)
    short = batches([Kind.SENTENCE], 3 * count, min(SHORT, longest) - 2)
    if divisible:
        swapped = batches([Kind.SWAPPED], count // 2, room)

    # 2. What counting words would give
    counts = 1 - token_counts(shards, held_out, tokenizer.vocab_size)  # add-one smoothing
    for shard in shards:
        counts += np.bincount(shard.ids, minlength=len(counts))
    nats = -np.log(counts / counts.sum())
    unigram = {}
    for name, drawn in (("pairs", pairs), ("short", short)):
        unigram[name] = float(np.concatenate([nats[batch.targets.numpy()] for batch in drawn]).mean())
    return HeldOut(
        pairs=pairs,
        same=same,
        short=short,
        swapped=swapped,
        unigram=unigram,
        uniform=log(len(counts)),
    )


@torch.no_grad()
def evaluate(objective: Objective[Any], held_out: HeldOut, device: torch.device, *, bf16: bool) -> dict[str, float]:
    """Losses in nats and accuracies from 0 to 1 at the chosen positions of the held-out text, per kind; also of
    next-sentence prediction if there is a head, and of replaced tokens over the pairs. A causal objective predicts each
    chosen token, unmasked, from its left context alone. Global random states are preserved."""
    modules, causal = objective.modules, isinstance(objective, CausalLanguage)
    training = modules["encoder"].training  # the mode of the ModuleDict itself is not set
    modules.eval()
    encoder = modules["generator" if "generator" in modules else "encoder"]
    metrics: dict[str, float] = {}
    try:
        with torch.random.fork_rng(), torch.autocast(device.type, dtype=torch.bfloat16, enabled=bf16):
            for name, batches in (("pairs", held_out.pairs), ("short", held_out.short)):
                head = cast(MaskedLM, modules["masked_lm"])
                metrics |= token_metrics(
                    name, [predict_tokens(encoder, head, batch.to(device), causal) for batch in batches]
                )
            if not causal:
                metrics |= special_metrics(modules["encoder"], [b.to(device) for b in held_out.short])
            if "next_sentence" in modules and not causal:
                metrics |= next_sentence_metrics(modules, held_out, device)
            if isinstance(objective, ReplacedTokens):
                torch.manual_seed(SEED)
                metrics |= replaced_token_metrics(objective, [b.to(device) for b in held_out.pairs])
    finally:
        modules.train(training)
    return metrics


class TokenPredictions(NamedTuple):
    """The predictions at the chosen positions of a batch."""

    nats: Float[Tensor, " m"]  # their losses
    right: Bool[Tensor, " m"]
    kinds: Int[Tensor, " m"]  # MASKED, SAME or RANDOM


def predict_tokens(encoder: nn.Module, head: MaskedLM, batch: MaskedBatch, causal: bool) -> TokenPredictions:
    """A *causal* encoder predicts a token, unmasked, at the position before it."""
    if causal:
        last = forward_batch(encoder, batch, batch.original, CAUSAL)
    else:
        last = forward_batch(encoder, batch, batch.ids)
    logits: Float[Tensor, "m v"] = head(last.flatten(0, 1)[batch.chosen - int(causal)]).float()
    nats = -logits.log_softmax(-1).gather(-1, batch.targets[:, None]).squeeze(-1)
    right = logits.argmax(-1) == batch.targets
    return TokenPredictions(nats.cpu(), right.cpu(), batch.kinds.cpu())


def token_metrics(name: str, predictions: Sequence[TokenPredictions]) -> dict[str, float]:
    """Loss, accuracy and number of tokens, their keys beginning with *name*; loss and accuracy also for each kind."""
    loss = torch.cat([batch.nats for batch in predictions])
    right = torch.cat([batch.right for batch in predictions]).float()
    kinds = torch.cat([batch.kinds for batch in predictions])
    metrics = {
        f"{name}_loss": float(loss.mean()),
        f"{name}_accuracy": float(right.mean()),
        f"{name}_count": len(loss),
    }
    for kind, word in KINDS.items():
        of_kind = kinds == kind
        if of_kind.any():
            metrics[f"{name}_loss_{word}"] = float(loss[of_kind].mean())
            metrics[f"{name}_accuracy_{word}"] = float(right[of_kind].mean())
    return metrics


def special_metrics(encoder: nn.Module, batches: Sequence[MaskedBatch]) -> dict[str, float]:
    """How much of their attention the words of short sentences, unmasked, give to [CLS] and [SEP]: the mean over heads,
    and the number of heads that give more than half."""
    words = sum(len(batch.ordinary) for batch in batches)
    weighted = []
    for batch in batches:
        _, batch_shares = special_shares(encoder, batch, batch.original)
        weighted.append(batch_shares * (len(batch.ordinary) / words))
    shares = cast(Tensor, sum(weighted))  # of each head
    return {
        "special_share": float(shares.mean()),
        "special_heads": int((shares > 0.5).sum()),
        "heads": shares.numel(),
    }


def replaced_token_metrics(objective: ReplacedTokens, batches: Sequence[MaskedBatch]) -> dict[str, float]:
    """The discriminator on the generator's samples at the chosen positions."""
    losses = [objective.losses(batch)["replaced"] for batch in batches]
    count = sum(loss.count for loss in losses)
    return {
        "replaced_loss": sum(float(loss.total) for loss in losses) / count,
        "replaced_accuracy": sum(int(loss.right) for loss in losses) / count,
    }


def next_sentence_metrics(modules: nn.ModuleDict, held_out: HeldOut, device: torch.device) -> dict[str, float]:
    """Accuracy on true pairs, on wrong pairs from another document, on wrong pairs from the same one, if any document
    has them, and on swapped pairs; on the first two together (equally many), which is what BERT reports; and the mean
    of true and swapped pairs, ALBERT's sentence order. The inputs are masked, as in training."""

    def right_answers(batches: Iterable[MaskedBatch]) -> dict[int, list[bool]]:
        """Label -> whether each pair with this label is answered correctly."""
        by_label: dict[int, list[bool]] = {FOLLOWS: [], NOT: []}
        for batch in batches:
            batch = batch.to(device)
            last = forward_batch(modules["encoder"], batch, batch.ids)
            logits = cast(NextSentence, modules["next_sentence"])(cast(Pooler, modules["pooler"])(last))
            for label, answer in zip(batch.labels.tolist(), logits.argmax(-1).tolist(), strict=True):
                if label != SINGLE:
                    by_label[label].append(label == answer)
        return by_label

    pairs = right_answers(held_out.pairs)
    same_document = right_answers(held_out.same)[NOT]
    if not pairs[FOLLOWS]:
        return {}
    true = float(np.mean(pairs[FOLLOWS]))
    swapped = float(np.mean(right_answers(held_out.swapped)[NOT]))
    both = pairs[FOLLOWS] + pairs[NOT]
    metrics = {
        "nsp_accuracy": sum(both) / len(both),
        "nsp_accuracy_true": true,
        "nsp_accuracy_other": float(np.mean(pairs[NOT])),
    }
    if same_document:
        metrics["nsp_accuracy_same_document"] = float(np.mean(same_document))
    return metrics | {
        "nsp_accuracy_swapped": swapped,
        "order_accuracy": (true + swapped) / 2,
        "nsp_count": len(both),
    }

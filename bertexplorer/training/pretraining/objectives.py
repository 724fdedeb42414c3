"""Pretraining objectives: masked tokens, next sentence, next token, replaced tokens."""

from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import CAUSAL, NO_CHANGE, Intervention
from bertexplorer.model.heads import MaskedLM, NextSentence, Pooler, ReplacedToken
from bertexplorer.training import texts
from bertexplorer.training.objective import Loss, cross_entropy
from bertexplorer.training.pretraining.batches import MaskedBatch


def forward_batch(
    encoder: nn.Module, batch: MaskedBatch, ids: Tensor, change: Intervention = NO_CHANGE
) -> Float[Tensor, "b t d"]:
    return texts.forward(encoder, ids, batch.segments, batch.mask, change)


def special_shares(
    encoder: nn.Module, batch: MaskedBatch, ids: Tensor
) -> tuple[Float[Tensor, "b t d"], Float[Tensor, "l h"]]:
    """The last hidden states, and how much of the attention of all other tokens each head gives to [CLS] and [SEP].

    The shares come out of the same pass, without the weights (see `encoder.add_column`). Under dropout of attention
    they are estimates."""
    is_ordinary = torch.zeros(batch.ids.shape, dtype=torch.bool, device=ids.device)
    is_ordinary.view(-1)[batch.ordinary] = True
    result = encoder(ids, texts.segments_of(encoder, batch.segments), batch.mask, attention=is_ordinary)
    to_ordinary = [share.float().squeeze(-1).transpose(1, 2)[is_ordinary].mean(0) for share in result.attention]
    return result.last, 1 - torch.stack(to_ordinary)


def aligned_logits(head: MaskedLM, vectors: Float[Tensor, "m d"]) -> Float[Tensor, "m v"]:
    """The logits of *head*, from a matrix whose rows are padded to a multiple of 64: the fast kernels of a GPU need
    aligned sizes, and BERT's vocabulary has 30,522 tokens."""
    output = head.output
    padding = -len(output.weight) % 64
    weight, bias = F.pad(output.weight, (0, 0, 0, padding)), F.pad(output.bias, (0, padding))
    return F.linear(head.transform(vectors), weight, bias)[:, : len(output.weight)]


class MaskedLanguage:
    """Masked language modelling, and next-sentence or sentence-order prediction if *pairs* (Devlin et al., 2019).

    With a *teacher*, the mean of the last hidden states of each single text, masked, also learns the direction of the
    teacher's, which reads the text unmasked: 1 - cosine (the third loss of DistilBERT, Sanh et al., 2019, of one vector
    per text). A sentence encoder that is pretrained further remains one. The teacher is not trained.

    With a *special_weight*, each head is penalised for the attention to [CLS] and [SEP] above *special_limit*: the mean
    over heads of max(0, share - limit), where the share is that of all other tokens of a batch. Heads of BERT rest on
    these tokens when they have nothing to do (Clark et al., 2019)."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        *,
        pairs: bool,
        weight: float = 1.0,
        teacher: nn.Module | None = None,
        teacher_weight: float = 1.0,
        special_weight: float = 0.0,
        special_limit: float = 0.3,
    ) -> None:
        self.modules = nn.ModuleDict({"encoder": checkpoint.encoder, **checkpoint.heads})
        self.pairs = pairs
        self.teacher = teacher
        self.special_limit = special_limit
        self.weights = {"mlm": 1.0}
        if pairs:
            self.weights["nsp"] = weight
        if teacher is not None:
            self.weights["vectors"] = teacher_weight
        if special_weight:
            self.weights["special"] = special_weight

    def counts(self, batch: MaskedBatch) -> dict[str, int]:
        counts = {
            "mlm": len(batch.chosen),
            "nsp": len(batch.pairs),
            "vectors": len(batch.singles),
            "special": len(batch.ordinary),
        }
        return {name: count for name, count in counts.items() if name in self.weights}

    def losses(self, batch: MaskedBatch) -> dict[str, Loss]:
        encoder, losses = self.modules["encoder"], dict[str, Loss]()
        if "special" in self.weights:
            last, shares = special_shares(encoder, batch, batch.ids)
            losses["special"] = self.excess(shares, len(batch.ordinary))
        else:
            last = forward_batch(encoder, batch, batch.ids)
        head = cast(MaskedLM, self.modules["masked_lm"])
        vectors = last.flatten(0, 1)[batch.chosen]
        logits = aligned_logits(head, vectors) if vectors.is_cuda else head(vectors)
        losses["mlm"] = cross_entropy(logits, batch.targets)
        if self.pairs and len(batch.pairs):
            pooled = cast(Pooler, self.modules["pooler"])(last[batch.pairs, :1])
            logits = cast(NextSentence, self.modules["next_sentence"])(pooled)
            losses["nsp"] = cross_entropy(logits, batch.labels[batch.pairs])
        if self.teacher is not None and len(batch.singles):
            losses["vectors"] = self.distance(self.teacher, batch, last)
        return losses

    def excess(self, shares: Float[Tensor, "l h"], count: int) -> Loss:
        """The mean over heads of what exceeds the limit, weighted by the *count* of tokens. Right are the heads that
        give at least half of their attention to words."""
        above = (shares - self.special_limit).clamp(min=0).mean()
        return Loss(above * count, count, (shares.detach() <= 0.5).float().mean() * count)

    @staticmethod
    def distance(teacher: nn.Module, batch: MaskedBatch, last: Float[Tensor, "b t d"]) -> Loss:
        """1 - cosine of the mean vectors of each single text, and how many cosines are above 0.9."""
        rows = batch.singles
        mask = None if batch.mask is None else batch.mask[rows]
        with torch.no_grad():
            theirs = texts.forward(teacher, batch.original[rows], batch.segments[rows], mask)
        weights = torch.ones_like(batch.original[rows], dtype=torch.float) if mask is None else mask.float()
        sums = [(vectors.float() * weights[:, :, None]).sum(1) for vectors in (last[rows], theirs)]
        cosines = F.cosine_similarity(sums[0], sums[1])  # of the sums, which have the direction of the means
        return Loss((1 - cosines).sum(), len(rows), (cosines.detach() > 0.9).sum())


class CausalLanguage:
    """Each token is predicted from its left context: the same encoder under a causal mask, targets shifted by one."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.weights = {"causal": 1.0}
        self.modules = nn.ModuleDict({"encoder": checkpoint.encoder, **checkpoint.heads})

    def counts(self, batch: MaskedBatch) -> dict[str, int]:
        return {"causal": batch.tokens - len(batch.ids)}

    def losses(self, batch: MaskedBatch) -> dict[str, Loss]:
        last = forward_batch(self.modules["encoder"], batch, batch.original, CAUSAL)[:, :-1]
        targets = batch.original[:, 1:]
        real = torch.ones_like(targets, dtype=torch.bool) if batch.mask is None else batch.mask[:, 1:]
        return {"causal": cross_entropy(cast(MaskedLM, self.modules["masked_lm"])(last[real]), targets[real])}


class ReplacedTokens:
    """A generator fills the masks, a discriminator detects the replaced tokens (ELECTRA, Clark et al., 2020).

    The two share word, position and segment embeddings; the generator is trained with its own MLM loss only."""

    def __init__(self, generator: Checkpoint, discriminator: Checkpoint, *, weight: float = 50.0) -> None:
        theirs, own = discriminator.encoder.embeddings, generator.encoder.embeddings
        own.words = theirs.words
        own.positions = theirs.positions
        own.segments = theirs.segments
        generator.masked_lm.output.weight = theirs.words.weight
        self.modules = nn.ModuleDict(
            {
                "encoder": discriminator.encoder,
                "replaced_token": discriminator.replaced_token,
                "generator": generator.encoder,
                "masked_lm": generator.masked_lm,
            }
        )
        self.weights = {"mlm": 1.0, "replaced": weight}

    def counts(self, batch: MaskedBatch) -> dict[str, int]:
        return {"mlm": len(batch.chosen), "replaced": batch.tokens}

    def losses(self, batch: MaskedBatch) -> dict[str, Loss]:
        last = forward_batch(self.modules["generator"], batch, batch.ids).flatten(0, 1)[batch.chosen]
        logits = cast(MaskedLM, self.modules["masked_lm"])(last)
        with torch.no_grad():
            sampled = torch.multinomial(logits.float().softmax(-1), 1).squeeze(-1)
            ids = batch.original.flatten().index_copy(0, batch.chosen, sampled).view_as(batch.original)
            replaced = ids != batch.original
        scores = cast(ReplacedToken, self.modules["replaced_token"])(forward_batch(self.modules["encoder"], batch, ids))
        if batch.mask is not None:
            scores, replaced = scores[batch.mask], replaced[batch.mask]
        total = F.binary_cross_entropy_with_logits(scores.float(), replaced.float(), reduction="sum")
        right = ((scores.detach() > 0) == replaced).sum()
        detection = Loss(total, replaced.numel(), right)
        return {"mlm": cross_entropy(logits, batch.targets), "replaced": detection}

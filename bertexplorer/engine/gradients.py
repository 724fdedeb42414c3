"""Gradients of one number of a prediction with respect to the word vectors, in fp32 whatever the checkpoint runs in.

bf16 keeps three digits at every step of every layer. On the bundled checkpoint the integral of the gradients then
misses the sum that it should have by up to a tenth, and no number of steps corrects that. So the weights are widened
to fp32, in a copy that is cached, unless it is large.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, TypeVar, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.engine import progress
from bertexplorer.engine.bi_encoder import text_positions
from bertexplorer.engine.collate import collate
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.forward import NO_CHANGE, Intervention
from bertexplorer.model.heads import MaskedLM, ReplacedToken
from bertexplorer.model.prepacked_linear import can_pack, pack_two_ways
from bertexplorer.model.sentence_encoder import SentenceEncoder
from bertexplorer.model.text import Encoding

TOKEN_BUDGET = 1024  # tokens of one batch: larger ones are no faster, and all activations stay in memory
MAX_COPY = 128_000_000  # bytes of a cached copy
M = TypeVar("M", bound=nn.Module)
LinkFunction = Literal["softmax", "sigmoid", "identity"]
LINKS: dict[LinkFunction, Callable[[Tensor], Tensor]] = {
    "softmax": lambda logits: logits.log_softmax(dim=-1),
    "sigmoid": F.logsigmoid,
    "identity": lambda logits: logits,
}


@dataclass(frozen=True)
class Target:
    """A number to explain, which *read* computes from the encoder's last vectors at the q *positions*."""

    positions: tuple[int, ...]  # 0-based
    read: Callable[[Float[Tensor, "b q d"]], Float[Tensor, " b"]]
    passes: tuple[tuple[int, ...], ...] = ()  # the tokens of each pass if there are several, as in *positions*


def masked_target(checkpoint: Checkpoint, position: int, token: int) -> Target:
    """Natural-log probability of the id *token* at *position* (0-based). Raises ExplorerError if there is no MLM
    head."""
    head = masked_head(checkpoint)

    def read(last: Tensor) -> Tensor:
        return head(last[:, 0]).log_softmax(dim=-1)[:, token]

    return Target((position,), read)


def masked_head(checkpoint: Checkpoint) -> MaskedLM:
    """The MLM head in fp32. The matrix that it shares with the word embeddings lies there unpacked already."""
    if not checkpoint.config.tied:
        return to_fp32(checkpoint.masked_lm, checkpoint.config)
    head = to_fp32(checkpoint.masked_lm, checkpoint.config, without="output.weight")
    if head is not checkpoint.masked_lm:  # a copy
        table = checkpoint.encoder.embeddings.words.weight.float()
        head.output.weight = nn.Parameter(table, requires_grad=False)
    return head


def next_sentence_target(checkpoint: Checkpoint, index: int = 0) -> Target:
    """The log-odds of is next (*index* 0) or is not next (1): its logit minus the other one. Raises ExplorerError if
    there is no such head."""
    head = to_fp32(checkpoint.next_sentence, checkpoint.config)
    pooler = to_fp32(checkpoint.pooler, checkpoint.config)

    def read(last: Tensor) -> Tensor:
        logits = head(pooler(last))
        return logits[:, index] - logits[:, 1 - index]

    return Target((0,), read)


def label_target(checkpoint: Checkpoint, encoding: Encoding, label: int, link: LinkFunction = "softmax") -> Target:
    """The sequence classifier's natural-log probability of *label* (an index of its logits). *link*: "sigmoid" where a
    text may have several labels, "identity" for the logit itself. Raises ExplorerError if there is no such head."""
    head = to_fp32(checkpoint.sequence_classifier, checkpoint.config)
    rows = (0,) if head.first_only else range(len(encoding))

    def read(last: Tensor) -> Tensor:
        return LINKS[link](head(last))[:, label]

    return Target(tuple(rows), read)


def tag_target(checkpoint: Checkpoint, position: int, label: int, head: str = "token_classifier") -> Target:
    """The natural-log probability that *head* gives *label* at *position*. *head* "replaced_token" has the labels
    original and replaced. Raises ExplorerError if there is no such head."""
    module = to_fp32(checkpoint.head(head), checkpoint.config)

    def read(last: Tensor) -> Tensor:
        logits = module(last[:, 0])
        if isinstance(module, ReplacedToken):
            logits = ReplacedToken.as_labels(logits)
        return logits.log_softmax(dim=-1)[:, label]

    return Target((position,), read)


def span_target(checkpoint: Checkpoint, encoding: Encoding, side: int, position: int) -> Target:
    """Natural-log probability, among all tokens, that the answer starts (*side* 0) or ends (1) at *position*. Raises
    ExplorerError if there is no such head."""
    head = to_fp32(checkpoint.span, checkpoint.config)

    def read(last: Tensor) -> Tensor:
        return head(last)[..., side].log_softmax(dim=-1)[:, position]

    return Target(tuple(range(len(encoding))), read)


def cosine_target(encoding: Encoding, sentence_encoder: SentenceEncoder) -> Target:
    """The cosine of the two texts of a pair, each read alone, as in `pair_cosines`."""
    sides = text_positions(encoding)
    count = len(sides[0])

    def read(last: Tensor) -> Tensor:
        first = sentence_encoder.embed(last[:, :count])
        second = sentence_encoder.embed(last[:, count:])
        return F.cosine_similarity(first, second, dim=-1)

    return Target((*sides[0], *sides[1]), read, passes=sides)


def word_vectors(checkpoint: Checkpoint, ids: Sequence[int]) -> Float[Tensor, "t e"]:
    """Rows of the word embedding table, before position, segment and norm. fp32 on the checkpoint's device."""
    with torch.no_grad():
        return checkpoint.encoder.embeddings.words(torch.tensor(list(ids), device=checkpoint.device)).float()


def path_gradient(
    checkpoint: Checkpoint,
    encoding: Encoding,
    target: Target,
    start: Float[Tensor, "t e"],
    end: Float[Tensor, "t e"],
    shares: Float[Tensor, " n"],
    weights: Float[Tensor, " n"],
) -> tuple[Float[Tensor, " n"], Float[Tensor, "t e"]]:
    """The values and gradients of *target* at points on the straight line from *start* to *end*, both word vectors.

    Returns the values after each of the *shares* of the way (0: at *start*, 1: at *end*), and the sum of the
    gradients at these points times *weights*. Positions and segments are always those of *encoding*. fp32 on the CPU.
    Raises ExplorerError if a number is not finite."""
    read = target_function(checkpoint, encoding, target)
    chunk = max(1, TOKEN_BUDGET // len(encoding))  # points of one batch
    share_chunks = shares.to(checkpoint.device).split(chunk)
    weight_chunks = weights.to(checkpoint.device).split(chunk)
    values = []
    gradient = torch.zeros_like(end)
    done = 0
    cost = progress.GRADIENT * len(encoding)  # tokens that a point counts as
    progress.report(0, cost * len(shares))
    for share, weight in zip(share_chunks, weight_chunks, strict=True):
        words = (start + share[:, None, None] * (end - start)).requires_grad_(True)
        with checkpoint.scheduler.slot(heavy=True):
            value = read(words)
            values.append(value.detach())
            gradient += torch.autograd.grad(value @ weight, words)[0].sum(dim=0)
        done += len(share)
        progress.report(cost * done, cost * len(shares))
    all_values = torch.cat(values).cpu()
    gradient = gradient.cpu()
    if not (all_values.isfinite().all() and gradient.isfinite().all()):
        raise ExplorerError(f"{checkpoint.name} gave gradients that are not finite. Try another baseline or method.")
    return all_values, gradient


def path_values(
    checkpoint: Checkpoint,
    encoding: Encoding,
    target: Target,
    start: Float[Tensor, "t e"],
    end: Float[Tensor, "t e"],
    shares: Float[Tensor, " n"],
) -> Float[Tensor, " n"]:
    """The values of *target* on the line of `path_gradient`, without gradients and at a third of the cost. Raises
    ExplorerError if a number is not finite."""
    read = target_function(checkpoint, encoding, target)
    with checkpoint.scheduler.slot(heavy=True), torch.no_grad():
        words = start + shares.to(checkpoint.device)[:, None, None] * (end - start)
        values = read(words).cpu()
    if not values.isfinite().all():
        raise ExplorerError(f"{checkpoint.name} gave numbers that are not finite. Try another baseline or method.")
    return values


def replacement_scores(
    checkpoint: Checkpoint, encoding: Encoding, target: Target, positions: Sequence[int]
) -> Float[Tensor, "q v"]:
    """By how much *target* changes, to first order, if each piece of the vocabulary takes the place of the token at
    each of the q *positions*: (e_new - e_old) · gradient (HotFlip; Ebrahimi et al., 2018). fp32 on the CPU. Raises
    ExplorerError if a number is not finite."""
    words = word_vectors(checkpoint, encoding.ids)
    one = words.new_ones(1)  # a single point, at the text itself
    _, gradient = path_gradient(checkpoint, encoding, target, start=words, end=words, shares=one, weights=one)
    indices = list(positions)
    with torch.no_grad():
        slope = gradient[indices].to(words.device)
        table = checkpoint.encoder.embeddings.words.weight.float()
        return (slope @ table.T - (slope * words[indices]).sum(dim=-1, keepdim=True)).cpu()


def neuron_effects(checkpoint: Checkpoint, encoding: Encoding, target: Target) -> Float[Tensor, "l n"]:
    """By how much *target* changes, to first order, if a neuron is switched off at every token: minus the sum over the
    tokens of its activation times the gradient. fp32 on the CPU. Raises ExplorerError if a number is not finite."""
    config = checkpoint.config
    on = torch.ones(config.num_layers, config.intermediate_size, device=checkpoint.device, requires_grad=True)
    read = target_function(checkpoint, encoding, target, Intervention(neuron_mask=on))
    with checkpoint.scheduler.slot(heavy=True), torch.enable_grad():
        words = word_vectors(checkpoint, encoding.ids)
        effects = -torch.autograd.grad(read(words[None]).sum(), on)[0].cpu()
    if not effects.isfinite().all():
        raise ExplorerError(f"{checkpoint.name} gave gradients that are not finite. Try another text.")
    return effects


def target_function(
    checkpoint: Checkpoint, encoding: Encoding, target: Target, change: Intervention = NO_CHANGE
) -> Callable[[Float[Tensor, "b t e"]], Float[Tensor, " b"]]:
    """A function that computes *target* in fp32 for word vectors that replace those of *encoding*, under *change*."""
    encoder = fp32_encoder(checkpoint)
    positions = torch.tensor(target.positions, device=checkpoint.device)
    _, segments, _ = collate([encoding], checkpoint.tokenizer.pad_id, checkpoint.device)

    def read_passes(words: Tensor) -> Tensor:
        last = []
        for part in target.passes:
            start = encoder.embeddings.finish(words[:, part])
            last.append(encoder.from_embeddings(start, intervention=change).last)
        return target.read(torch.cat(last, dim=1))

    def read(words: Tensor) -> Tensor:
        sides = segments.expand(len(words), -1) if checkpoint.config.num_segments else None
        start = encoder.embeddings.finish(words, sides)
        return target.read(encoder.from_embeddings(start, intervention=change, positions=positions).last)

    return read_passes if target.passes else read


def fp32_encoder(checkpoint: Checkpoint) -> Encoder:
    """The encoder in fp32, without its table of words. On a CPU it is packed for both directions and cached."""
    plain = partial(to_fp32, checkpoint.encoder, checkpoint.config, without="embeddings.words.weight")
    size = 2 * 4 * sum(parameter.numel() for parameter in checkpoint.encoder.layers.parameters())
    if size > MAX_COPY or checkpoint.device.type != "cpu" or not can_pack(torch.float32):
        return plain()

    def make() -> Encoder:
        encoder = plain()
        if encoder is checkpoint.encoder:  # it may still be trained
            return encoder
        pack_two_ways(encoder)
        return encoder

    return cast(Encoder, checkpoint.cache.get("fp32 encoder", make, lambda _: size))


def to_fp32(module: M, config: EncoderConfig, without: str = "") -> M:
    """*module* in plain fp32: itself if it is in fp32 already, else a copy, as the original may be in use elsewhere.
    The parameter called *without* stays empty."""
    if all(parameter.dtype == torch.float32 and not parameter.is_mkldnn for parameter in module.parameters()):
        return module
    with torch.device("meta"):
        copy = type(module)(config)
    weights = {}
    for name, weight in module.named_parameters():  # a layer that repeats comes once
        if name != without:
            weights[name] = weight.detach().to_dense().float()
    copy.load_state_dict(weights, strict=not (without or config.shared_layers), assign=True)
    return copy.eval().requires_grad_(False)

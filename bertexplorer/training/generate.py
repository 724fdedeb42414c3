"""Generate text token by token: a key-value cache, sampling and beam search."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple, cast

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from bertexplorer.engine.masking import Vocabulary
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Encoder, Layer
from bertexplorer.model.forward import CAUSAL, NO_CHANGE, Intervention
from bertexplorer.training.texts import AT_ONCE


@dataclass(frozen=True, eq=False)
class Cache:
    """The tokens read so far, and the keys and values of each layer."""

    ids: Int[Tensor, "b t"]
    segments: Int[Tensor, "b t"]
    keys: tuple[Tensor, ...] = ()  # of each layer, b h t k
    values: tuple[Tensor, ...] = ()  # of each layer, b h t k

    def rows(self, index: Int[Tensor, " r"]) -> "Cache":
        """The rows at *index*, in that order; a row may be repeated."""
        return Cache(
            ids=self.ids[index],
            segments=self.segments[index],
            keys=tuple(keys[index] for keys in self.keys),
            values=tuple(values[index] for values in self.values),
        )


def forward_cached(
    encoder: Encoder,
    ids: Int[Tensor, "b n"],
    segment: int,
    change: Intervention = NO_CHANGE,
    past: Cache | None = None,
) -> tuple[Float[Tensor, "b n d"], Cache]:
    """The last hidden states of *ids*, which follow *past*, and the cache that includes them. Only the new tokens are
    computed; the result equals that of a full pass under *change* in which past tokens do not attend to later ones. The
    encoder must be in evaluation mode; there must be no padding. *segment*: of all new tokens."""
    # 1. The embeddings of the new tokens
    has_segments = encoder.config.num_segments > 1
    segments = torch.full_like(ids, segment if has_segments else 0)
    start = 0  # position of the first new token
    if past:
        start = past.ids.shape[1]
        ids = torch.cat([past.ids, ids], 1)
        segments = torch.cat([past.segments, segments], 1)
    embeddings = encoder.embeddings(ids, segments if has_segments else None)
    x = embeddings[:, start:]

    # 2. Layer by layer, as in model/encoder.py, with the keys and values of all tokens
    keys = []
    values = []
    for index, relations in enumerate(encoder.relations(embeddings, None, change)):
        layer = cast(Layer, encoder.layers[index])
        attention = layer.attention
        entering = layer.attention_norm(x) if layer.pre else x
        angles = relations.angles and (relations.angles[0][start:], relations.angles[1][start:])
        q, k = attention.queries_keys(entering, angles)
        v = attention.split(attention.value(entering))
        if past:
            k = torch.cat([past.keys[index], k], 2)
            v = torch.cat([past.values[index], v], 2)
        bias = attention.bias(q, k, relations.of(slice(start, None)))
        context = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, scale=attention.scale)
        x = x + attention.output(context.transpose(1, 2).flatten(2))
        if layer.pre:
            x = x + layer.feed_forward(layer.output_norm(x))
        else:
            x = layer.attention_norm(x)
            x = layer.output_norm(x + layer.feed_forward(x))
        keys.append(k)
        values.append(v)
    return encoder.norm(x), Cache(ids, segments, tuple(keys), tuple(values))


class NextTokenPredictor:
    """A checkpoint whose MLM head predicts the next token. The only special token that it writes is [SEP], the end."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.encoder = checkpoint.encoder
        self.head = checkpoint.masked_lm
        self.device = checkpoint.device
        tokenizer = checkpoint.tokenizer
        self.end: int = tokenizer.backend.get_vocab()[tokenizer.special["sep"]]
        self.forbidden = torch.ones(checkpoint.config.vocab_size, dtype=torch.bool, device=self.device)
        self.forbidden[Vocabulary.of(tokenizer).ordinary] = False
        self.forbidden[self.end] = False

    def next_log_probs(self, vectors: Float[Tensor, "b d"]) -> Float[Tensor, "b v"]:
        """Natural-log probabilities of the next token after each of *vectors*, over the tokens that may be written."""
        return self.head(vectors).float().masked_fill(self.forbidden, -torch.inf).log_softmax(-1)


@dataclass(frozen=True)
class Continuation:
    """The continuation of a prompt."""

    ids: tuple[int, ...]  # without the end
    shares: tuple[float, ...]  # the probability with which each was drawn
    first: Float[Tensor, " v"]  # the distribution of the first token
    ended: bool  # whether it ended before the limit


def continue_text(
    predictor: NextTokenPredictor,
    prompt: Sequence[int],
    max_tokens: int,
    *,
    temperature: float = 0.0,
    top_k: int = 0,
    seed: int = 0,
) -> Continuation:
    """Up to *max_tokens* tokens, at least 1, after *prompt* under a causal mask. *temperature* 0 takes the likeliest
    token; otherwise one is drawn with *seed* from the distribution sharpened (below 1) or flattened (above), among the
    *top_k* likeliest (0: all)."""
    rng = torch.Generator().manual_seed(seed)

    def read(ids: Sequence[int], past: Cache | None = None) -> tuple[Tensor, Cache]:
        """The log-probabilities of the token after *ids*, which follow *past*."""
        new = torch.tensor([list(ids)], device=predictor.device)
        last, cache = forward_cached(predictor.encoder, new, 0, CAUSAL, past)
        return predictor.next_log_probs(last[:, -1])[0].cpu(), cache

    log_probs, cache = read(prompt)
    first = log_probs.exp()
    ids: list[int] = []
    shares: list[float] = []
    while len(ids) < max_tokens:
        probabilities = sampling_distribution(log_probs, temperature, top_k)
        if temperature:
            token = int(torch.multinomial(probabilities, 1, generator=rng))
        else:
            token = int(probabilities.argmax())
        if token == predictor.end:
            break
        ids.append(token)
        shares.append(float(probabilities[token]))
        log_probs, cache = read([token], cache)
    return Continuation(tuple(ids), tuple(shares), first, ended=len(ids) < max_tokens)


def sampling_distribution(log_probs: Float[Tensor, " v"], temperature: float, top_k: int) -> Float[Tensor, " v"]:
    """The distribution to draw from: softmax of *log_probs* / *temperature* over the *top_k* highest."""
    scaled = log_probs / temperature if temperature else log_probs
    if temperature and 0 < top_k < len(log_probs):
        scaled = scaled.masked_fill(scaled < scaled.topk(top_k).values[-1], -torch.inf)
    return scaled.softmax(-1)


@dataclass(frozen=True)
class Beam:
    """A candidate target."""

    ids: tuple[int, ...]  # without the end
    log_prob: float  # in nats, including the end
    score: float  # see `beam_score`
    ended: bool  # whether it ended before the limit


def beam_score(log_prob: float, tokens: int, penalty: float) -> float:
    """log P / ((5 + tokens) / 6) ** penalty (Wu et al., 2016, equation 14): 0 favours short targets, 1 is close to a
    mean."""
    return float(log_prob / ((5 + tokens) / 6) ** penalty)


def beam_search(
    predictor: NextTokenPredictor, sources: Sequence[Sequence[int]], *, beams: int, max_tokens: int, penalty: float
) -> list[list[Beam]]:
    """For each source (including special tokens) the *beams* best targets of up to *max_tokens* tokens, best first.
    Sources of equal length are batched, so that there is no padding."""
    by_length: dict[int, list[int]] = defaultdict(list)  # length -> indices of sources
    for i, source in enumerate(sources):
        by_length[len(source)].append(i)
    results: dict[int, list[Beam]] = {}
    for length, indices in by_length.items():
        group_size = max(1, AT_ONCE // (beams * (length + max_tokens)))
        for start in range(0, len(indices), group_size):
            group = indices[start : start + group_size]
            ids = torch.tensor([list(sources[i]) for i in group], device=predictor.device)
            results |= zip(group, search_equal_lengths(predictor, ids, beams, max_tokens, penalty), strict=True)
    return [results[i] for i in range(len(sources))]


class OpenTarget(NamedTuple):
    """A target that is still written."""

    row: int  # of its source
    tokens: tuple[int, ...]
    total: float  # its log-probability in nats


class Extension(NamedTuple):
    """An open target and one more token."""

    total: float  # the log-probability of both
    origin: int  # index of the open target
    token: int


def search_equal_lengths(
    predictor: NextTokenPredictor, sources: Int[Tensor, "r t"], beams: int, max_tokens: int, penalty: float
) -> list[list[Beam]]:
    """The *beams* best targets of each of *sources*, of equal length, best first. A source is finished when *beams* of
    its targets have ended."""
    last, cache = forward_cached(predictor.encoder, sources, 0)
    finished: list[list[Beam]] = [[] for _ in sources]
    active = [OpenTarget(row, (), 0.0) for row in range(len(sources))]
    for count in range(1, max_tokens + 1):
        # 1. Each open target with each of its likeliest next tokens
        log_probs, ids = predictor.next_log_probs(last[:, -1]).topk(min(2 * beams, len(predictor.forbidden)))
        extensions = extend(active, log_probs.tolist(), ids.tolist())

        # 2. The best of each source end or stay open
        survivors: list[Extension] = []
        for row, candidates in extensions.items():
            best = sorted(candidates, key=lambda extension: -extension.total)
            for total, origin, token in best[:beams]:
                ended = token == predictor.end
                if ended or count == max_tokens:
                    target = active[origin].tokens if ended else (*active[origin].tokens, token)
                    finished[row].append(Beam(target, total, beam_score(total, count, penalty), ended))
            if len(finished[row]) < beams:
                still_open = [extension for extension in best if extension.token != predictor.end]
                survivors += still_open[:beams]
        if not survivors or count == max_tokens:
            break

        # 3. The open ones are read one token further
        longer = []
        for total, origin, token in survivors:
            longer.append(OpenTarget(active[origin].row, (*active[origin].tokens, token), total))
        active = longer
        origins = torch.tensor([extension.origin for extension in survivors], device=predictor.device)
        new_tokens = torch.tensor([[extension.token] for extension in survivors], device=predictor.device)
        last, cache = forward_cached(predictor.encoder, new_tokens, 1, CAUSAL, cache.rows(origins))
    results = []
    for targets in finished:
        results.append(sorted(targets, key=lambda beam: -beam.score)[:beams])
    return results


def extend(
    active: Sequence[OpenTarget], log_probs: Sequence[Sequence[float]], ids: Sequence[Sequence[int]]
) -> dict[int, list[Extension]]:
    """Row of a source -> its open targets with one more token each, where that can follow. *log_probs*, *ids*: of the
    likeliest next tokens of each open target."""
    extensions: dict[int, list[Extension]] = defaultdict(list)
    for origin, target in enumerate(active):
        for log_prob, token in zip(log_probs[origin], ids[origin], strict=True):
            total = target.total + log_prob
            if isfinite(total):
                extensions[target.row].append(Extension(total, origin, token))
    return extensions

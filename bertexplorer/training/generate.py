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
    """The tokens read so far, and the keys and values of each layer (l of them, each b h t k)."""

    ids: Int[Tensor, "b t"]
    segments: Int[Tensor, "b t"]
    keys: tuple[Tensor, ...] = ()
    values: tuple[Tensor, ...] = ()

    def rows(self, index: Int[Tensor, " r"]) -> "Cache":
        """The rows at *index*, in that order; a row may be repeated."""
        keys, values = (tuple(tensor[index] for tensor in tensors) for tensors in (self.keys, self.values))
        return Cache(self.ids[index], self.segments[index], keys, values)


def forward_cached(
    encoder: Encoder,
    ids: Int[Tensor, "b n"],
    segment: int,
    change: Intervention = NO_CHANGE,
    past: Cache | None = None,
) -> tuple[Float[Tensor, "b n d"], Cache]:
    """The last hidden states of *ids*, which follow *past*, and the cache that includes them. Only the new tokens are
    computed; the result equals that of a full pass under *change* in which past tokens do not attend to later ones. The
    encoder must be in evaluation mode; there must be no padding."""
    segments = torch.full_like(ids, segment if encoder.config.num_segments > 1 else 0)
    start = past.ids.shape[1] if past else 0
    if past:
        ids, segments = torch.cat([past.ids, ids], 1), torch.cat([past.segments, segments], 1)
    embeddings = encoder.embeddings(ids, segments if encoder.config.num_segments > 1 else None)
    x = embeddings[:, start:]
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
            k, v = torch.cat([past.keys[index], k], 2), torch.cat([past.values[index], v], 2)
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
    """The continuation of a prompt: ids without the end, the probability with which each was drawn, the distribution of
    the first token, and whether it ended before the limit."""

    ids: tuple[int, ...]
    shares: tuple[float, ...]
    first: Float[Tensor, " v"]
    ended: bool


def continue_text(
    predictor: NextTokenPredictor,
    prompt: Sequence[int],
    max_tokens: int,
    *,
    temperature: float = 0.0,
    top_k: int = 0,
    seed: int = 0,
) -> Continuation:
    """Up to *max_tokens* tokens after *prompt* under a causal mask. *temperature* 0 takes the likeliest token;
    otherwise one is drawn from the distribution sharpened (below 1) or flattened (above), among the *top_k* likeliest
    (0: all)."""
    draw = torch.Generator().manual_seed(seed)
    last, cache = forward_cached(predictor.encoder, torch.tensor([list(prompt)], device=predictor.device), 0, CAUSAL)
    ids: list[int] = []
    shares: list[float] = []
    first = None
    for _ in range(max_tokens):
        log_probs = predictor.next_log_probs(last[:, -1])[0].cpu()
        first = log_probs.exp() if first is None else first
        probabilities = sampling_distribution(log_probs, temperature, top_k)
        token = int(torch.multinomial(probabilities, 1, generator=draw)) if temperature else int(probabilities.argmax())
        if token == predictor.end:
            break
        ids.append(token)
        shares.append(float(probabilities[token]))
        last, cache = forward_cached(
            predictor.encoder, torch.tensor([[token]], device=predictor.device), 0, CAUSAL, cache
        )
    assert first is not None
    return Continuation(tuple(ids), tuple(shares), first, len(ids) < max_tokens)


def sampling_distribution(log_probs: Float[Tensor, " v"], temperature: float, top_k: int) -> Float[Tensor, " v"]:
    """The distribution to draw from: softmax of *log_probs* / *temperature* over the *top_k* highest."""
    scaled = log_probs / temperature if temperature else log_probs
    if temperature and 0 < top_k < len(log_probs):
        scaled = scaled.masked_fill(scaled < scaled.topk(top_k).values[-1], -torch.inf)
    return scaled.softmax(-1)


@dataclass(frozen=True)
class Beam:
    """A candidate target: ids without the end, its log probability in nats (including the end), its score."""

    ids: tuple[int, ...]
    log_prob: float
    score: float
    ended: bool


def beam_score(log_prob: float, tokens: int, penalty: float) -> float:
    """log P / ((5 + tokens) / 6) ** penalty (Wu et al., 2016, equation 14): 0 favours short targets, 1 is close to a
    mean."""
    return float(log_prob / ((5 + tokens) / 6) ** penalty)


def beam_search(
    predictor: NextTokenPredictor, sources: Sequence[Sequence[int]], *, beams: int, max_tokens: int, penalty: float
) -> list[list[Beam]]:
    """For each source (including special tokens) the *beams* best targets of up to *max_tokens* tokens, best first.
    Sources of equal length are batched, so that there is no padding."""
    groups: dict[int, list[int]] = defaultdict(list)
    for number, source in enumerate(sources):
        groups[len(source)].append(number)
    results: dict[int, list[Beam]] = {}
    for length, numbers in groups.items():
        group_size = max(1, AT_ONCE // (beams * (length + max_tokens)))
        for start in range(0, len(numbers), group_size):
            group = numbers[start : start + group_size]
            ids = torch.tensor([list(sources[i]) for i in group], device=predictor.device)
            results |= dict(zip(group, search_equal_lengths(predictor, ids, beams, max_tokens, penalty), strict=True))
    return [results[i] for i in range(len(sources))]


class OpenTarget(NamedTuple):
    """A target that is still written, of the source in *row*. *total*: its log-probability."""

    row: int
    tokens: tuple[int, ...]
    total: float


class Extension(NamedTuple):
    """The open target with the index *origin* and one more *token*. *total*: the log-probability of both."""

    total: float
    origin: int
    token: int


def search_equal_lengths(
    predictor: NextTokenPredictor, sources: Int[Tensor, "r t"], beams: int, max_tokens: int, penalty: float
) -> list[list[Beam]]:
    """Beam search over sources of equal length. A source is finished when *beams* of its targets have ended."""
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
                survivors += [extension for extension in best if extension.token != predictor.end][:beams]
        if not survivors or count == max_tokens:
            break

        # 3. The open ones are read one token further
        origins = torch.tensor([origin for _, origin, _ in survivors], device=predictor.device)
        new_tokens = torch.tensor([[token] for _, _, token in survivors], device=predictor.device)
        longer = []
        for total, origin, token in survivors:
            longer.append(OpenTarget(active[origin].row, (*active[origin].tokens, token), total))
        active = longer
        last, cache = forward_cached(predictor.encoder, new_tokens, 1, CAUSAL, cache.rows(origins))
    return [sorted(beams_of, key=lambda beam: -beam.score)[:beams] for beams_of in finished]


def extend(
    active: Sequence[OpenTarget], log_probs: Sequence[Sequence[float]], ids: Sequence[Sequence[int]]
) -> dict[int, list[Extension]]:
    """Row -> its open targets with one more token each, where that can follow."""
    extensions: dict[int, list[Extension]] = defaultdict(list)
    for origin, target in enumerate(active):
        for log, token in zip(log_probs[origin], ids[origin], strict=True):
            if isfinite(target.total + log):
                extensions[target.row].append(Extension(target.total + log, origin, token))
    return extensions

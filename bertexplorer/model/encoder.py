"""The whole encoder, top down in the order data flows: embeddings, then layers of attention and feed-forward.

One alphabet for shapes, here and everywhere else:
    b  sequences in the batch        d  hidden size              k  size of one head, d / h
    t  tokens of a sequence          h  attention heads          v  vocabulary
    q  tokens that look at others    l  layers                   e  word embedding size (ELECTRA, ALBERT: < d)
    n  neurons of a feed-forward layer
Layers and heads are counted from 0 in code and from 1 on the page.
"""

from collections.abc import Callable
from typing import cast

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from bertexplorer.model.attention_mask import as_addend, attention_mask
from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.forward import NO_CHANGE, Forward, Intervention
from bertexplorer.model.positions import Angles, Distances, Relations, RelativePositions, Rotary, table


def gelu_tanh(x: Tensor) -> Tensor:
    """GELU by its authors' approximation."""
    return F.gelu(x, approximate="tanh")


ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_python": F.gelu,
    "gelu_new": gelu_tanh,
    "gelu_fast": gelu_tanh,
    "gelu_accurate": gelu_tanh,
    "gelu_python_tanh": gelu_tanh,
    "gelu_pytorch_tanh": gelu_tanh,
    "relu": F.relu,
    "silu": F.silu,
    "swish": F.silu,
    "tanh": torch.tanh,
}


Keep = bool | Bool[Tensor, "b t"]  # which attention to return: all weights, none, or each row's share on these tokens


def make_norm(config: EncoderConfig, size: int) -> nn.Module:
    """LayerNorm, or RMSNorm (Zhang and Sennrich, 2019), which neither centres nor has a bias."""
    if config.rms_norm:
        return nn.RMSNorm(size, eps=config.norm_eps)
    return nn.LayerNorm(size, eps=config.norm_eps, bias=config.norm_bias)


class Embeddings(nn.Module):
    """Word + position + segment vectors, normalised; ELECTRA and ALBERT project the sum up to the hidden size."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        learned = config.rope_theta is None and config.relative != "disentangled"
        self.first_position = config.first_position
        rows = config.max_positions + config.first_position
        self.words = table(config.vocab_size, config.word_size)
        self.positions = table(rows, config.word_size) if learned else None
        self.segments = table(config.num_segments, config.word_size) if config.num_segments else None
        self.norm = make_norm(config, config.word_size) if config.embedding_norm else nn.Identity()
        self.dropout = nn.Dropout(config.dropout)
        self.project = nn.Linear(config.word_size, config.hidden_size) if config.embedding_size else None

    def forward(self, ids: Int[Tensor, "b t"], segments: Int[Tensor, "b t"] | None = None) -> Float[Tensor, "b t d"]:
        return self.finish(self.words(ids), segments)

    def finish(
        self, words: Float[Tensor, "b t e"], segments: Int[Tensor, "b t"] | None = None
    ) -> Float[Tensor, "b t d"]:
        """From word vectors to the input of the first layer. Token i has the position first_position + i."""
        total = words
        if self.segments is not None:
            total = total + (self.segments.weight[0] if segments is None else self.segments(segments))
        if self.positions is not None:
            tokens = words.shape[1]
            total = total + self.positions.weight[self.first_position : self.first_position + tokens]
        normed = self.dropout(self.norm(total))
        return normed if self.project is None else self.project(normed)


class Attention(nn.Module):
    """Multi-head self-attention (Vaswani et al., 2017): softmax(q kᵀ / √k) v in every head, then mixed. With relative
    positions, distances add to the scores; DeBERTa then has three products for a score and divides by √(3 k). In the
    larger EuroBERTs, groups of heads share keys and values (Ainslie et al., 2023)."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.hidden_size
        self.num_heads, self.head_size = config.num_heads, config.head_size
        self.disentangled = config.relative == "disentangled"
        self.scale = (config.head_size * (3 if self.disentangled else 1)) ** -0.5
        self.query = nn.Linear(size, size, bias=config.attention_bias)
        shared = (config.num_key_heads or config.num_heads) * config.head_size
        self.key = nn.Linear(size, shared, bias=config.attention_bias)
        self.value = nn.Linear(size, shared, bias=config.attention_bias)
        self.output = nn.Linear(size, size, bias=config.attention_bias)
        self.dropout = config.attention_dropout

    def split(self, x: Float[Tensor, "b t _"]) -> Float[Tensor, "b h t k"]:
        """One part of *x* for each head; if there are fewer parts than heads, neighbours share one."""
        parts = x.unflatten(-1, (-1, self.head_size)).transpose(1, 2)
        each = self.num_heads // parts.shape[1]
        return parts if each == 1 else parts.repeat_interleave(each, dim=1)

    def forward(
        self,
        x: Float[Tensor, "b t d"],
        relations: Relations,
        change: Callable[[Tensor], Tensor],
        keep: Keep,
        positions: Int[Tensor, " q"] | None,
    ) -> tuple[Float[Tensor, "b q d"], Float[Tensor, "b h q _"] | None, Float[Tensor, "b h q k"]]:
        (q, k), v = self.queries_keys(x, relations.angles, positions), self.split(self.value(x))
        bias = self.bias(q, k, relations if positions is None else relations.of(positions))
        dropout = self.dropout if self.training else 0.0
        weights = None
        if isinstance(keep, Tensor):
            q, k, v = add_column(q, k, v, keep)
        if keep is True:
            weights = self.weigh(q, k, bias)
            context = F.dropout(weights, dropout, self.training) @ v
        elif bias is None and long_bf16_on_cpu(q) and not dropout:  # three plain steps are quicker there
            context = ((q * self.scale) @ k.transpose(-1, -2)).softmax(dim=-1) @ v
        else:
            context = F.scaled_dot_product_attention(q, k, v, attn_mask=bias, dropout_p=dropout, scale=self.scale)
        if isinstance(keep, Tensor):
            size = self.head_size
            context, weights = context[..., :size], context[..., size : size + 1]
        context = change(context)
        return self.output(context.transpose(1, 2).flatten(2)), weights, context

    def queries_keys(
        self, x: Float[Tensor, "b t d"], angles: Angles | None, positions: Int[Tensor, " q"] | None = None
    ) -> tuple[Float[Tensor, "b h q k"], Float[Tensor, "b h t k"]]:
        """Queries (at *positions* only) and keys of every head, rotated if positions are rotary."""
        q, k = self.split(self.query(pick(x, positions))), self.split(self.key(x))
        if angles is not None:
            q = Rotary.rotate(q, angles if positions is None else (angles[0][positions], angles[1][positions]))
            k = Rotary.rotate(k, angles)
        return q, k

    def bias(
        self, q: Float[Tensor, "b h q k"], k: Float[Tensor, "b h t k"], relations: Relations
    ) -> Float[Tensor, "#b #h q t"] | None:
        """What is added to the scaled products: the part of the distances, and the lowest number where a token must not
        look (not -inf: a row that sees nothing must not become NaN). None: nothing."""
        added = None if relations.distances is None else self.by_distance(q, k, relations.distances)
        if relations.mask is None:
            return added
        if added is None:
            return relations.blocked
        return added.masked_fill(~relations.mask, torch.finfo(q.dtype).min)

    def by_distance(
        self, q: Float[Tensor, "b h q k"], k: Float[Tensor, "b h t k"], distances: Distances
    ) -> Float[Tensor, "#b h q t"]:
        """A number for each distance, or DeBERTa's two products: of the query with the distance's key, and of the
        distance's query with the key (He et al., 2021, equation 4)."""
        rows, table = distances
        if not self.disentangled:
            return table[rows].permute(2, 0, 1)[None].to(q.dtype)
        index = rows.expand(*q.shape[:2], -1, -1)
        queries, keys = (self.split(part(table[None])).to(q.dtype) for part in (self.query, self.key))
        own, theirs = (q @ keys.transpose(-1, -2)).gather(3, index), (queries @ k.transpose(-1, -2)).gather(2, index)
        return (own + theirs) * self.scale

    def weigh(
        self, q: Float[Tensor, "b h q k"], k: Float[Tensor, "b h t k"], bias: Float[Tensor, "#b #h q t"] | None
    ) -> Float[Tensor, "b h q t"]:
        """How much of its attention each token (row) gives to each other: softmax(q kᵀ / √k + bias)."""
        scores = (q @ k.transpose(-1, -2)) * self.scale
        if bias is not None:
            scores = scores + bias
        return scores.softmax(dim=-1, dtype=torch.float32).to(q.dtype)


def add_column(
    q: Float[Tensor, "b h q k"], k: Float[Tensor, "b h t k"], v: Float[Tensor, "b h t k"], marked: Bool[Tensor, "b t"]
) -> tuple[Tensor, Tensor, Tensor]:
    """*v* with a column more, which is 1 at the *marked* tokens: the fused kernel averages it like the others, to the
    share of attention that they get. *q* and *k* grow by zeros, as the kernel needs one size, a multiple of 8."""
    column = marked[:, None, :, None].to(v.dtype).expand(*v.shape[:3], 1)
    return F.pad(q, (0, 8)), F.pad(k, (0, 8)), torch.cat([v, F.pad(column, (0, 7))], dim=-1)


def pick(x: Float[Tensor, "b t d"], positions: Int[Tensor, " q"] | None) -> Float[Tensor, "b q d"]:
    return x if positions is None else x[:, positions]


def long_bf16_on_cpu(q: Float[Tensor, "b h q k"]) -> bool:
    """Long enough to be quicker, short enough for h x t x t numbers (ModernBERT reads thousands of tokens)."""
    return q.dtype == torch.bfloat16 and q.device.type == "cpu" and 64 < q.shape[2] <= 1024


class FeedForward(nn.Module):
    """Two Linear layers around an activation. Gated (Shazeer, 2020): a third one, of the same width as the first, whose
    activation scales what the first gives."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        size = config.hidden_size
        wide = config.intermediate_size
        bias = config.mlp_bias and config.expand_bias
        self.activation = ACTIVATIONS[config.activation]
        self.gate = nn.Linear(size, wide, bias=bias) if config.gated else None
        self.expand = nn.Linear(size, wide, bias=bias)
        self.contract = nn.Linear(wide, size, bias=config.mlp_bias)

    def forward(
        self, x: Float[Tensor, "b t d"], factor: Float[Tensor, "*b 1 n"] | None = None
    ) -> Float[Tensor, "b t d"]:
        neurons = self.neurons(x)
        return self.contract(neurons if factor is None else neurons * factor.to(neurons))

    def neurons(self, x: Float[Tensor, "b t d"]) -> Float[Tensor, "b t n"]:
        """The activations between the two layers, one number for each of the n neurons."""
        if self.gate is None:
            return self.activation(self.expand(x))
        return self.activation(self.gate(x)) * self.expand(x)


class Layer(nn.Module):
    """Attention and feed-forward, each added to its input and normalised: after it (BERT) or before it (ModernBERT,
    EuroBERT)."""

    def __init__(self, config: EncoderConfig, index: int) -> None:
        super().__init__()
        self.pre = config.norm == "pre"
        self.attention = Attention(config)
        self.feed_forward = FeedForward(config)
        normalised = self.pre and index == 0 and config.embedding_norm  # its input, by the embeddings
        self.attention_norm = nn.Identity() if normalised else make_norm(config, config.hidden_size)
        self.output_norm = make_norm(config, config.hidden_size)
        self.dropout = nn.Dropout(config.dropout)

    def forward(
        self,
        x: Float[Tensor, "b t d"],
        relations: Relations,
        change: Callable[[Tensor], Tensor],
        keep: Keep,
        positions: Int[Tensor, " q"] | None,
        factor: Float[Tensor, "*b 1 n"] | None = None,
    ) -> tuple[Float[Tensor, "b q d"], Float[Tensor, "b h q _"] | None, Float[Tensor, "b h q k"]]:
        attended, weights, context = self.attention(
            self.attention_norm(x) if self.pre else x, relations, change, keep, positions
        )
        x = pick(x, positions) + self.dropout(attended)
        if self.pre:
            return x + self.dropout(self.feed_forward(self.output_norm(x), factor)), weights, context
        x = self.attention_norm(x)
        return self.output_norm(x + self.dropout(self.feed_forward(x, factor))), weights, context


class Encoder(nn.Module):
    """Token ids in, a vector for every token after every layer out."""

    def __init__(self, config: EncoderConfig) -> None:
        super().__init__()
        self.config = config
        self.embeddings = Embeddings(config)
        self.rotary = Rotary(config.head_size, config.rope_factor) if config.rope_theta else None
        self.relative = RelativePositions(config) if config.relative else None
        own = [Layer(config, index) for index in range(1 if config.shared_layers else config.num_layers)]
        self.layers = nn.ModuleList(own * (config.num_layers // len(own)))  # ALBERT repeats its only one
        self.norm = make_norm(config, config.hidden_size) if config.norm == "pre" else nn.Identity()

    def forward(
        self,
        ids: Int[Tensor, "b t"],
        segments: Int[Tensor, "b t"] | None = None,
        mask: Bool[Tensor, "b t"] | None = None,
        *,
        intervention: Intervention = NO_CHANGE,
        attention: Keep = False,
        head_outputs: bool = False,
        positions: Int[Tensor, " q"] | None = None,
    ) -> Forward:
        """Run the encoder. *mask* is False at padding (None: no padding). *attention*, *head_outputs*: return these
        too; without all weights the fused kernel runs. Tokens as *attention*: how much each token gives to these
        together, b h q 1. *positions*: compute the last layer at these tokens only, so
        that its tensors have q rows, in that order; None: at all tokens."""
        return self.from_embeddings(
            self.embeddings(ids, segments),
            mask,
            intervention=intervention,
            attention=attention,
            head_outputs=head_outputs,
            positions=positions,
        )

    def from_embeddings(
        self,
        x: Float[Tensor, "b t d"],
        mask: Bool[Tensor, "b t"] | None = None,
        *,
        intervention: Intervention = NO_CHANGE,
        attention: Keep = False,
        head_outputs: bool = False,
        positions: Int[Tensor, " q"] | None = None,
        first_layer: int = 0,
    ) -> Forward:
        """The same, but starting from vectors (for saliency and interpolation). *first_layer*: *x* is the input of
        this layer, and the layers below it do not run."""
        relations = self.relations(x, mask, intervention)
        last = self.config.num_layers - 1
        hidden = [x]
        weights = []
        contexts = []
        for index in range(first_layer, len(self.layers)):
            rows = positions if index == last else None
            x, weight, context = self.layers[index](
                x,
                relations[index],
                lambda c, index=index, rows=rows: intervention.apply(index, c, rows),
                attention,
                rows,
                intervention.neuron_factor(index),
            )
            hidden.append(x)
            if attention is not False:
                weights.append(cast(Tensor, weight))
            if head_outputs:
                contexts.append(context)
        hidden[-1] = self.norm(x)
        return Forward(tuple(hidden), tuple(weights), tuple(contexts))

    def relations(
        self, x: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"] | None = None, change: Intervention = NO_CHANGE
    ) -> list[Relations]:
        """How the tokens relate to each other in each layer."""
        is_local = [self.config.is_local(index) for index in range(self.config.num_layers)]
        kinds = {local: self.relations_of_kind(local, x, mask, change) for local in set(is_local)}
        return [kinds[local] for local in is_local]

    def relations_of_kind(
        self, local: bool, x: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"] | None, change: Intervention
    ) -> Relations:
        """How the tokens relate to each other in a *local* layer, whose tokens see a window, or in another one."""
        config, tokens = self.config, x.shape[1]
        window = config.window if local else 0
        allowed = attention_mask(
            tokens, mask, causal=change.causal, prefix=change.prefix, window=window, device=x.device
        )
        angles = self.rotary(tokens, config.rope_theta[local], x) if self.rotary and config.rope_theta else None
        distances = self.relative(tokens) if self.relative else None
        return Relations(allowed, as_addend(allowed, x.dtype), angles, distances)

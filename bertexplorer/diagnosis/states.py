"""The hidden states of texts that are read in one of the ways that are tried."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.diagnosis.recipe import Reading
from bertexplorer.engine import progress
from bertexplorer.engine.bi_encoder import select_tokens
from bertexplorer.engine.collate import batches, collate, token_budget
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.text import Encoding, Tokenizer

FRAME = 2  # [CLS] and [SEP]


class Reader:
    """Encodes texts as readings say. It keeps a tokenizer for each length at which texts are cut."""

    def __init__(self, checkpoint: Checkpoint) -> None:
        self.tokenizer = cache(checkpoint.tokenizer.limited)

    def encode(self, text: str, reading: Reading) -> Encoding:
        """The input of the encoder for *text*. Raises ExplorerError for a text that cannot be read."""
        limit = reading.max_tokens if reading.special else reading.max_tokens + FRAME
        return encode(self.tokenizer(limit), text, reading)


def encode(tokenizer: Tokenizer, text: str, reading: Reading) -> Encoding:
    """The input of the encoder for *text*, whose `unpooled` tokens are those up to the end of the prompt."""
    before = reading.prompt
    if reading.lower_case:
        before = before.lower()
        text = text.lower()
    encoding = tokenizer.encode(before + text)
    unpooled = 0
    if before.strip():
        alone = tokenizer.encode(before)
        unpooled = len(alone) - alone.special[-1]
    if not reading.special:
        typed = [i for i, span in enumerate(encoding.spans) if span is not None]
        encoding = select_tokens(encoding, typed)
        unpooled = max(0, unpooled - 1)
    if reading.segments == "second":
        encoding = replace(encoding, segments=(1,) * len(encoding))
    return replace(encoding, unpooled=min(unpooled, len(encoding) - 1))


def hidden_states(
    checkpoint: Checkpoint, encoder: Encoder, encodings: Sequence[Encoding], *, segments: bool = True
) -> Iterator[tuple[int, Float[Tensor, "layers t d"]]]:
    """(index, the states of every layer, 0 the input of the first) for each of *encodings*, in any order; fp32 on the
    CPU. *segments* False: no vector of a segment is added to the tokens."""
    order = sorted(range(len(encodings)), key=lambda i: len(encodings[i]))
    done = 0
    for batch in batches([encodings[i] for i in order], token_budget(checkpoint.device)):
        progress.check()
        ids, kinds, mask = collate(batch, checkpoint.tokenizer.pad_id, checkpoint.device)
        with checkpoint.scheduler.slot(heavy=len(batch) > 1, short=True), torch.inference_mode():
            if segments:
                passed = encoder(ids, kinds if checkpoint.config.num_segments else None, mask)
            else:
                passed = encoder.from_embeddings(without_segments(encoder, ids), mask)
            states = torch.stack([state.float().cpu() for state in passed.hidden], dim=1)
        for row, encoding in enumerate(batch):
            yield order[done + row], states[row, :, : len(encoding)]
        done += len(batch)


def without_segments(encoder: Encoder, ids: Tensor) -> Float[Tensor, "b t d"]:
    """The input of the first layer, to which no vector of a segment was added."""
    embeddings = encoder.embeddings
    words = embeddings.words(ids)
    if embeddings.segments is not None:
        words = words - embeddings.segments.weight[0]  # which `finish` adds
    return embeddings.finish(words)


def in_precision(checkpoint: Checkpoint, precision: str) -> Encoder:
    """The encoder of *checkpoint* as another program would run it: in "bf16", or with weights in "int8"."""
    with torch.device("meta"):
        encoder = Encoder(checkpoint.config)
    weights = {name: tensor.detach().float() for name, tensor in checkpoint.encoder.state_dict().items()}
    encoder.load_state_dict(weights, assign=True)
    encoder.eval().requires_grad_(False)
    if precision == "bf16":
        return encoder.to(torch.bfloat16)

    def round_input(_: nn.Module, inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        x, *others = inputs
        return (rounded_to_uint8(x), *others)

    for module in list(encoder.modules()):
        if isinstance(module, nn.Embedding | nn.Linear):
            module.weight = nn.Parameter(rounded_to_int8(module.weight), requires_grad=False)
        if isinstance(module, nn.Linear):
            module.register_forward_pre_hook(round_input)
    return encoder


def rounded_to_int8(weight: Tensor) -> Tensor:
    """*weight* on a grid of 255 numbers around 0, as onnxruntime's dynamic quantisation stores a matrix."""
    step = weight.abs().max() / 127
    return (weight / step).round().clamp(-127, 127) * step if step > 0 else weight


def rounded_to_uint8(x: Tensor) -> Tensor:
    """*x* on a grid of 256 numbers from its least to its greatest, 0 among them, as the same computes a product."""
    low = x.min().clamp(max=0)
    high = x.max().clamp(min=0)
    step = (high - low).clamp(min=1e-12) / 255
    zero = (-low / step).round()
    return ((x / step).round() + zero).clamp(0, 255).sub(zero).mul(step)

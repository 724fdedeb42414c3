"""The vectors that add up to the input of the first layer, and the table that the word vectors come from."""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.engine.collate import collate
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Encoding


def input_parts(checkpoint: Checkpoint, encoding: Encoding) -> dict[str, Float[Tensor, "t _"]]:
    """The vectors of every token on the way into the encoder, by name, in this order: word, position and segment if
    the family has them, their sum, the sum after LayerNorm (EuroBERT has none there), and (ELECTRA) its projection to
    the hidden size.

    They are added and normalised in the checkpoint's precision, as in the encoder. Returned in fp32 on the CPU."""
    layer = checkpoint.encoder.embeddings
    ids, segments, _ = collate([encoding], checkpoint.tokenizer.pad_id, checkpoint.device)
    with torch.inference_mode():
        parts = {"word": layer.words(ids[0])}
        total = parts["word"]
        if layer.segments is not None:
            segment = layer.segments(segments[0])
            total = total + segment
        if layer.positions is not None:
            start = layer.first_position
            parts["position"] = layer.positions.weight[start : start + len(encoding)]
            total = total + parts["position"]
        if layer.segments is not None:
            parts["segment"] = segment
        parts["sum"] = total
        if not isinstance(layer.norm, nn.Identity):
            parts["normalised"] = layer.norm(total)
        if layer.project is not None:
            parts["projected"] = layer.project(parts["normalised"])
    return {name: part.float().cpu() for name, part in parts.items()}


def word_similarities(checkpoint: Checkpoint, token: int) -> tuple[Float[Tensor, " v"], Float[Tensor, " v"]]:
    """(cosine, dot product) of the word vector of id *token* with every row of the table. fp32 on the CPU."""
    with torch.inference_mode():
        rows = checkpoint.encoder.embeddings.words.weight.float()
        dots = rows @ rows[token]
        lengths = rows.norm(dim=1)
        cosines = dots / (lengths * lengths[token]).clamp_min(1e-12)
    return cosines.cpu(), dots.cpu()

"""A checkpoint as ONNX, its inputs and outputs named as optimum does. Needs onnx and onnxscript."""

import logging
import warnings
from pathlib import Path
from typing import cast

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.sentence_encoder import Dense, SentenceEncoder

OUTPUTS = {  # the first existing head is used -> its outputs
    "sequence_classifier": ("logits",),
    "token_classifier": ("logits",),
    "span": ("start_logits", "end_logits"),
    "masked_lm": ("logits",),
    "": ("last_hidden_state",),
}
POOLED = "sentence_embedding"  # in place of a head: the checkpoint's own sentence encoder
OUTPUTS_OF_POOLED = ("last_hidden_state", POOLED)


class Pooled(nn.Module):
    """A sentence encoder for texts of several lengths at once: every token that the mask has is pooled."""

    def __init__(self, own: SentenceEncoder) -> None:
        super().__init__()
        self.own = own
        self.dense = nn.ModuleList(step.linear for step in own.steps if isinstance(step, Dense))

    def forward(self, last: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, "b e"]:
        vectors = torch.cat([self.pool(mode, last, mask) for mode in self.own.modes], dim=1)
        for step in self.own.steps:
            vectors = step(vectors)
        return vectors

    def pool(self, mode: str, last: Float[Tensor, "b t d"], mask: Bool[Tensor, "b t"]) -> Float[Tensor, "b d"]:
        """The pooling *mode*, of `sentence_encoder.MODES`, of several texts."""
        if mode == "cls":
            return last[:, 0]
        if mode == "max":
            return last.masked_fill(~mask[:, :, None], torch.finfo(last.dtype).min).amax(dim=1)
        # The others are sums over tokens, each with a share.
        kept = mask.to(last.dtype)
        place = kept.cumsum(dim=1)  # of a token in its text, from 1
        count = place[:, -1:]
        shares = {
            "mean": kept / count,
            "mean_sqrt_len_tokens": kept / count**0.5,
            "weightedmean": kept * place / (kept * place).sum(dim=1, keepdim=True),
            "lasttoken": kept * (place == count),
        }[mode]
        return torch.einsum("bt,btd->bd", shares, last)


class Traced(nn.Module):
    """The encoder and one head, with tensors in and tensors out."""

    def __init__(self, checkpoint: Checkpoint, head: str | None) -> None:
        super().__init__()
        first = next(name for name in OUTPUTS if not name or name in checkpoint.heads)
        self.head_name = first if head is None else head
        self.encoder = checkpoint.encoder
        self.head: nn.Module = nn.Identity()
        if self.head_name == POOLED:
            self.head = Pooled(own_of(checkpoint))
        elif self.head_name:
            self.head = checkpoint.heads[self.head_name]

    def forward(
        self,
        input_ids: Int[Tensor, "b t"],
        attention_mask: Int[Tensor, "b t"],
        token_type_ids: Int[Tensor, "b t"] | None = None,
    ) -> tuple[Tensor, ...]:
        mask = attention_mask > 0
        last = self.encoder(input_ids, token_type_ids, mask).hidden[-1]
        if self.head_name == "sequence_classifier":
            return (self.head(last, mask),)
        if self.head_name == POOLED:
            return (last, self.head(last, mask))
        out = self.head(last)
        return tuple(out.unbind(-1)) if self.head_name == "span" else (out,)


def export_onnx(checkpoint: Checkpoint, file: Path, *, head: str | None = None) -> tuple[str, ...]:
    """Write *checkpoint* in fp32 to *file*, with *head*, one of OUTPUTS ("": none), or POOLED. If it is None, with its
    fine-tuned head, else its MLM head, else none. Returns the names of the outputs. Raises ExplorerError for POOLED of
    a checkpoint without a sentence encoder that can be followed.

    Inputs: input_ids, attention_mask and, if the checkpoint has segments, token_type_ids, all int64 b x t, for any b
    and t."""
    if checkpoint.precision != "fp32":
        raise ExplorerError(f"{checkpoint.name} was opened in {checkpoint.precision}; open it in fp32 to export it.")
    model = Traced(checkpoint, head).eval()
    outputs = OUTPUTS_OF_POOLED if head == POOLED else OUTPUTS[model.head_name]
    names = ["input_ids", "attention_mask"]
    if checkpoint.config.num_segments:
        names.append("token_type_ids")
    ids = torch.tensor([[5, 6, 7, 8, 9], [5, 6, 7, 8, 9]]) % checkpoint.config.vocab_size
    inputs = (ids, torch.tensor([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]]), torch.zeros_like(ids))[: len(names)]
    axes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("tokens", max=checkpoint.tokenizer.max_tokens)}
    chatter = logging.getLogger("torch.onnx")
    before = chatter.level
    chatter.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                model,
                cast(tuple[object, ...], inputs),
                str(file),
                input_names=names,
                output_names=list(outputs),
                dynamic_shapes=tuple(axes for _ in names),
                external_data=False,
                dynamo=True,
                verbose=False,
            )
    except ImportError as error:
        raise ExplorerError("ONNX needs two more packages. Run: pip install onnx onnxscript") from error
    finally:
        chatter.setLevel(before)
    return outputs


def write_encoder(checkpoint: Checkpoint, file: Path) -> None:
    """Write *checkpoint* in fp32 with its pooling to *file*, whole or not at all. Its weights are read again, as those
    in memory may be rounded, or packed for this processor. Raises ExplorerError for a checkpoint without a folder or a
    sentence encoder that can be followed, and for a path that cannot be written."""
    own_of(checkpoint)
    if checkpoint.folder == Path():
        raise ExplorerError(f"{checkpoint.name} is in memory alone. Save it to a folder, and load that.")
    unpacked = load(checkpoint.folder, name=checkpoint.name, precision="fp32", device="cpu", base=checkpoint.base)
    partial = file.with_name(f".{file.name}.partial")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            export_onnx(unpacked, partial, head=POOLED)
            partial.rename(file)
        finally:
            partial.unlink(missing_ok=True)
    except OSError as error:
        raise ExplorerError(f"{file} cannot be written: {error.strerror}. Choose another path.") from error


def own_of(checkpoint: Checkpoint) -> SentenceEncoder:
    """The sentence encoder in the checkpoint's files. Raises ExplorerError if there is none that can be followed."""
    own = checkpoint.sentence_encoder
    if own is None:
        raise ExplorerError(
            f"{checkpoint.name} has no pooling of its own: its files are not those of a sentence encoder. Choose such "
            "a checkpoint."
        )
    if own.problem:
        raise ExplorerError(own.problem)
    return own

"""A checkpoint as ONNX, its inputs and outputs named as optimum does. Needs onnx and onnxscript."""

import logging
import warnings
from pathlib import Path
from typing import cast

import torch
from jaxtyping import Int
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint

OUTPUTS = {  # the first existing head is used -> its outputs
    "sequence_classifier": ("logits",),
    "token_classifier": ("logits",),
    "span": ("start_logits", "end_logits"),
    "masked_lm": ("logits",),
    "": ("last_hidden_state",),
}


class Traced(nn.Module):
    """The encoder and one head, with tensors in and tensors out."""

    def __init__(self, checkpoint: Checkpoint, head: str | None) -> None:
        super().__init__()
        first = next(name for name in OUTPUTS if not name or name in checkpoint.heads)
        self.head_name = first if head is None else head
        self.encoder = checkpoint.encoder
        self.head = checkpoint.heads[self.head_name] if self.head_name else nn.Identity()

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
        out = self.head(last)
        return tuple(out.unbind(-1)) if self.head_name == "span" else (out,)


def export_onnx(checkpoint: Checkpoint, file: Path, *, head: str | None = None) -> tuple[str, ...]:
    """Write *checkpoint* in fp32 to *file*, with *head*, one of OUTPUTS ("": none). If it is None, with its fine-tuned
    head, else its MLM head, else none. Returns the names of the outputs.

    Inputs: input_ids, attention_mask and, if the checkpoint has segments, token_type_ids, all int64 b x t, for any b
    and t."""
    if checkpoint.precision != "fp32":
        raise ExplorerError(f"{checkpoint.name} was opened in {checkpoint.precision}; open it in fp32 to export it.")
    model = Traced(checkpoint, head).eval()
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
                output_names=list(OUTPUTS[model.head_name]),
                dynamic_shapes=tuple(axes for _ in names),
                external_data=False,
                dynamo=True,
                verbose=False,
            )
    except ImportError as error:
        raise ExplorerError("ONNX needs two more packages. Run: pip install onnx onnxscript") from error
    finally:
        chatter.setLevel(before)
    return OUTPUTS[model.head_name]

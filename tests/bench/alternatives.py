"""The same answer from other engines: the head at the mask alone, as ours has it, so that speeds compare.

Each engine is a function from token ids to the logits at the mask. Those that are not installed are left out."""

import io
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from torch import Tensor, nn

Engine = Callable[[Sequence[int], int], np.ndarray]  # ids, position of the mask -> logits, v long


class AtMask(nn.Module):
    """transformers' model, whose head runs at one position."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.model = transformers.BertForPreTraining.from_pretrained(folder, dtype=torch.float32).eval()

    def forward(self, input_ids: Tensor, position: Tensor) -> Tensor:
        last = self.model.bert(input_ids).last_hidden_state
        return self.model.cls.predictions(last[:, position])[0, 0]


def exported(folder: Path) -> bytes:
    """That model as ONNX, for a text of any length."""
    out = io.BytesIO()
    inputs = (torch.tensor([[101, 7, 103, 102]]), torch.tensor([2]))
    shapes = ({1: torch.export.Dim("tokens", min=2, max=512)}, None)
    with torch.no_grad():
        program = torch.onnx.export(AtMask(folder), inputs, dynamic_shapes=shapes, dynamo=True, verbose=False)
    program.save(out)
    return out.getvalue()


def onnxruntime_of(model: bytes, fused: bool = False) -> Engine:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # else its threads slow the next engine
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(ids: Sequence[int], position: int) -> np.ndarray:
        given = {"input_ids": np.array([ids], dtype=np.int64), "position": np.array([position], dtype=np.int64)}
        return np.asarray(session.run(None, given)[0])

    return run

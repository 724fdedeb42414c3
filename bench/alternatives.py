"""The same answer from other engines: the head at the mask alone, as ours has it, so that speeds compare.

An engine is a function from token ids and the position of the mask to the logits there. Those that are not installed
are left out (`pip install openvino`)."""

import io
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
import transformers
from tokenizers import Tokenizer
from torch import Tensor, nn

Engine = Callable[[Sequence[int], int], np.ndarray]  # ids, position -> logits, v long
EXAMPLE = (torch.tensor([[101, 7, 103, 102]]), torch.tensor([2]))


class AtMask(nn.Module):
    """transformers' model, whose head runs at one position."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.model = transformers.BertForMaskedLM.from_pretrained(folder, dtype=torch.float32).eval()

    def forward(self, input_ids: Tensor, position: Tensor) -> Tensor:
        last = self.model.bert(input_ids).last_hidden_state
        return self.model.cls.predictions(last[:, position])[0, 0]


def installed() -> list[str]:
    """The engines that can be measured here."""
    return ["onnxruntime", *(["OpenVINO"] if find_spec("openvino") else [])]


def engines(folder: Path) -> dict[str, Engine]:
    """Each of `installed`, in fp32."""
    makers = {"onnxruntime": lambda: onnxruntime_engine(exported(folder)), "OpenVINO": lambda: openvino_engine(folder)}
    return {name: makers[name]() for name in installed()}


def exported(folder: Path) -> bytes:
    """The model as ONNX, for a text of any length."""
    out = io.BytesIO()
    shapes = ({1: torch.export.Dim("tokens", min=2, max=512)}, None)
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(AtMask(folder), EXAMPLE, dynamic_shapes=shapes, dynamo=True, verbose=False).save(out)
    return out.getvalue()


def onnxruntime_engine(model: bytes) -> Engine:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # its threads would slow the next engine
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])

    def run(ids: Sequence[int], position: int) -> np.ndarray:
        given = {"input_ids": np.array([ids], dtype=np.int64), "position": np.array([position], dtype=np.int64)}
        return np.asarray(session.run(None, given)[0])

    return run


def openvino_engine(folder: Path) -> Engine:
    import openvino

    converted = openvino.convert_model(AtMask(folder), example_input=EXAMPLE)
    settings = {"INFERENCE_NUM_THREADS": torch.get_num_threads(), "INFERENCE_PRECISION_HINT": "f32"}
    compiled = openvino.compile_model(converted, "CPU", settings)

    def run(ids: Sequence[int], position: int) -> np.ndarray:
        given = [np.array([ids], dtype=np.int64), np.array([position], dtype=np.int64)]
        return np.asarray(compiled(given)[0])

    return run


def best_ids(engine: Engine, tokenizer: Tokenizer, text: str, mask_id: int) -> list[int]:
    """The ids of the five best answers for *text*, tokenising included, as a person would write it."""
    ids = tokenizer.encode(text).ids
    logits = engine(ids, ids.index(mask_id))
    best = np.argpartition(logits, -5)[-5:]
    return [int(i) for i in best[np.argsort(-logits[best])]]

"""What 8 bits would gain and lose on this processor: other engines' int8 beside our fp32.

    python -m bench.eight_bits DATA SENTENCE_ENCODER [--rounds 3]

DATA has the folders stsb and cranfield as they are published; SENTENCE_ENCODER is a checkpoint such as
all-MiniLM-L6-v2. Vectors: mean pooling of 1,000 texts as in `bench.encode`, STS-B's dev set (Spearman's
correlation of cosine and score), Cranfield (nDCG at 10). Answers: the everyday sentences of `bench.cloze` on
mini: how many keep their best answer, and how many best answers a person accepts. Engines: torch's and onnxruntime's
dynamic int8 (weights before, activations at each call) and, if openvino and nncf are installed, OpenVINO's int8 with
the ranges of activations from 300 sentences."""

import argparse
import csv
import re
import tempfile
import warnings
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
import transformers
from scipy.stats import spearmanr
from torch import Tensor, nn

import bertexplorer as bx
from bench import cloze
from bench.common import MINI, machine, medians
from bench.encode import make_texts

BATCH = 32
Vectors = Callable[[Sequence[str]], np.ndarray]  # texts -> n x d
Answers = Callable[[Sequence[str]], list[str]]  # texts with [MASK] -> the best piece of each


class Last(nn.Module):
    """The last hidden states, or with *head* the logits, of transformers' model."""

    def __init__(self, folder: Path, head: bool) -> None:
        super().__init__()
        kind = transformers.BertForMaskedLM if head else transformers.BertModel
        self.model = kind.from_pretrained(folder, dtype=torch.float32).eval()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(input_ids, attention_mask)[0]


Run = Callable[[np.ndarray, np.ndarray], np.ndarray]  # ids, mask -> b x t x _


def torch_int8(folder: Path, head: bool) -> Run:
    from torch.ao.quantization import quantize_dynamic

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = quantize_dynamic(Last(folder, head), {nn.Linear})
    return lambda ids, mask: torch_run(model, ids, mask)


def torch_run(model: nn.Module, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return model(torch.from_numpy(ids), torch.from_numpy(mask)).numpy()


def onnxruntime_int8(folder: Path, head: bool) -> Run:
    import onnxruntime
    from onnxruntime.quantization import quantize_dynamic

    axes = {0: torch.export.Dim("b", max=512), 1: torch.export.Dim("t", min=2, max=512)}
    ids, mask = 5 * torch.ones(2, 5, dtype=torch.long), torch.ones(2, 5, dtype=torch.long)  # one tensor is one input
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings(), torch.no_grad():
        warnings.simplefilter("ignore")
        plain, small = Path(scratch, "plain.onnx"), Path(scratch, "small.onnx")
        program = torch.onnx.export(Last(folder, head), (ids, mask), dynamic_shapes=(axes, axes), dynamo=True)
        program.save(plain)
        quantize_dynamic(plain, small, per_channel=True)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        session = onnxruntime.InferenceSession(small.read_bytes(), options, providers=["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return lambda ids, mask: np.asarray(session.run(None, dict(zip(names, (ids, mask), strict=True)))[0])


def openvino_int8(folder: Path, head: bool) -> Run:
    import nncf
    import openvino

    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    ids, mask = 5 * torch.ones(2, 5, dtype=torch.long), torch.ones(2, 5, dtype=torch.long)
    model = openvino.convert_model(Last(folder, head), example_input=(ids, mask))
    given = [tokenizer([text], return_tensors="np", truncation=True, max_length=512) for text in make_texts(300)]
    ranges = nncf.Dataset([(one["input_ids"], one["attention_mask"]) for one in given])
    small = nncf.quantize(model, ranges, model_type=nncf.ModelType.TRANSFORMER, subset_size=300)
    compiled = openvino.compile_model(small, "CPU", {"INFERENCE_NUM_THREADS": torch.get_num_threads()})
    return lambda ids, mask: np.asarray(compiled([ids, mask])[0])


def engines() -> dict[str, Callable[[Path, bool], Run]]:
    with_openvino = bool(find_spec("openvino") and find_spec("nncf"))
    extra = {"OpenVINO int8": openvino_int8} if with_openvino else {}
    return {"torch dynamic int8": torch_int8, "onnxruntime dynamic int8": onnxruntime_int8, **extra}


def as_vectors(run: Run, folder: Path) -> Vectors:
    """The mean of the tokens of each text, texts of similar length together."""
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def encode(texts: Sequence[str]) -> np.ndarray:
        order = sorted(range(len(texts)), key=lambda i: len(texts[i]))
        result: dict[int, np.ndarray] = {}
        for start in range(0, len(order), BATCH):
            part = order[start : start + BATCH]
            given = tokenizer(
                [texts[i] for i in part], padding=True, truncation=True, max_length=512, return_tensors="np"
            )
            ids, mask = (given[key].astype(np.int64) for key in ("input_ids", "attention_mask"))
            shares = mask / mask.sum(axis=1, keepdims=True)
            result |= zip(part, (run(ids, mask) * shares[:, :, None]).sum(axis=1), strict=True)
        return np.stack([result[i] for i in range(len(texts))])

    return encode


def as_answers(run: Run, folder: Path) -> Answers:
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)

    def answer(texts: Sequence[str]) -> list[str]:
        best = []
        for text in texts:
            ids = tokenizer(text, return_tensors="np")["input_ids"].astype(np.int64)
            position = int((ids[0] == tokenizer.mask_token_id).nonzero()[0][0])
            best.append(tokenizer.convert_ids_to_tokens(int(run(ids, np.ones_like(ids))[0, position].argmax())))
        return best

    return answer


def sts(encode: Vectors, data: Path) -> float:
    """Spearman's correlation of cosine and score on STS-B's dev set, in percent."""
    rows = list(csv.reader((data / "stsb" / "stsb-en-dev.csv").read_text("utf-8").splitlines()))
    first, second = (unit(encode([row[side] for row in rows])) for side in (0, 1))
    return 100 * float(spearmanr((first * second).sum(axis=1), [float(row[2]) for row in rows]).statistic)


def retrieval(encode: Vectors, data: Path) -> float:
    """nDCG at 10 on Cranfield, in percent: title and abstract of 1,400 documents, 225 queries."""
    folder = data / "cranfield"
    documents = re.findall(
        r"\.I (\d+)\n\.T\n(.*?)\.A\n.*?\.W\n(.*?)(?=\n\.I |\Z)", read(folder / "cran.all.1400"), re.S
    )
    queries = re.findall(r"\.I \d+\n\.W\n(.*?)(?=\n\.I |\Z)", read(folder / "cran.qry"), re.S)
    gains: dict[tuple[int, int], int] = {}
    for line in read(folder / "QRelsCorrectedforTRECeval").splitlines():
        query, _, document, grade = line.split()
        gains[int(query), int(document)] = max(0, int(grade))
    ids = [int(number) for number, _, _ in documents]
    table = unit(encode([" ".join(queries_text.split()) for queries_text in queries]))
    found = table @ unit(encode([" ".join(f"{title} {body}".split()) for _, title, body in documents])).T
    discounts = 1 / np.log2(np.arange(2, 12))
    scores = []
    for number, row in enumerate(found, 1):
        ranked = [gains.get((number, ids[i]), 0) for i in np.argsort(-row)[:10]]
        ideal = sorted((gain for (query, _), gain in gains.items() if query == number), reverse=True)[:10]
        if sum(ideal):
            scores.append(float((ranked * discounts).sum() / (ideal * discounts[: len(ideal)]).sum()))
    return 100 * float(np.mean(scores))


def read(path: Path) -> str:
    return path.read_text("latin-1")


def unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=Path)
    parser.add_argument("encoder", type=Path)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    torch.set_num_threads(2)
    transformers.logging.set_verbosity_error()
    texts, sentences = make_texts(1000), cloze.read()
    questions = [one.text for one in sentences]
    bert, answers = bx.load(options.encoder, precision="fp32"), bx.load(MINI, precision="fp32")
    encoders: dict[str, Vectors] = {"ours, fp32": lambda given: np.asarray(bert.encode(list(given)))}
    answerers: dict[str, Answers] = {"ours, fp32": lambda given: [best(answers, text) for text in given]}
    for name, make in engines().items():
        encoders[name] = as_vectors(make(options.encoder, False), options.encoder)
        answerers[name] = as_answers(make(MINI, True), MINI)
    times = medians({name: lambda e=encode: e(texts) for name, encode in encoders.items()}, options.rounds)
    ours = answerers["ours, fp32"](questions)
    print(f"{machine()}\n")
    print(
        "| engine | 1,000 texts | | STS-B | Cranfield | best answers kept | accepted |\n|---|---|---|---|---|---|---|"
    )
    for name, encode in encoders.items():
        found = answerers[name](questions)
        kept = sum(a == b for a, b in zip(found, ours, strict=True))
        accepted = sum(word in one.accepted for word, one in zip(found, sentences, strict=True))
        speed = f"{times[name]:,.0f} ms | {times['ours, fp32'] / times[name]:.1f}×"
        quality = f"{sts(encode, options.data):.1f} | {retrieval(encode, options.data):.1f}"
        print(f"| {name} | {speed} | {quality} | {kept} of {len(questions)} | {accepted} |", flush=True)


def best(bert: Any, text: str) -> str:
    return str(bert.fill_mask(text, top=1).rows[0]["token"])


if __name__ == "__main__":
    main()

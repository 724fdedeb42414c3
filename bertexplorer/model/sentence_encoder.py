"""The sentence encoder of a checkpoint: how its files say to make one vector of a text (Reimers and Gurevych, 2019).

sentence-transformers writes modules.json beside the encoder. It names modules that are applied in order: the encoder,
a pooling of its tokens, then dense layers and a normalisation. `read` makes data of these files, and `SentenceEncoder`
applies it."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model import vocabulary
from bertexplorer.model.tensors import DTYPES, stored_tensors

MODULES = "modules.json"
LIMITS = tuple(  # files with the limit of tokens; each holds for its own family, and the first that exists counts
    f"sentence_{family}_config.json"
    for family in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
FOLDER = re.compile(r"[A-Za-z0-9_]{1,50}")  # of a module
MAX_BYTES = 1_000_000  # of a JSON file
MAX_MODULES = 10
FEWEST = 3  # tokens that a text needs: two special tokens and one of its own
ALL = "over all tokens"


def weighted_mean(tokens: Float[Tensor, "t d"]) -> Float[Tensor, " d"]:
    """The mean in which token i, from 0, counts i + 1 times."""
    weights = torch.arange(1, len(tokens) + 1, device=tokens.device, dtype=tokens.dtype)
    return weights @ tokens / weights.sum()


MODES: dict[str, tuple[str, Callable[[Float[Tensor, "t d"]], Float[Tensor, " d"]]]] = {  # -> (its words, the pooling)
    "cls": ("the first token's vector", lambda tokens: tokens[0]),
    "max": (f"the maximum {ALL}", lambda tokens: tokens.amax(dim=0)),
    "mean": (f"the mean {ALL}", lambda tokens: tokens.mean(dim=0)),
    "mean_sqrt_len_tokens": (f"the sum {ALL} over √t", lambda tokens: tokens.sum(dim=0) / len(tokens) ** 0.5),
    "weightedmean": (f"the mean {ALL}, weighted by position", weighted_mean),
    "lasttoken": ("the last token's vector", lambda tokens: tokens[-1]),
}
OLDER = {  # the key of 1_Pooling/config.json in older files -> the mode, in the order of their vectors
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len_tokens",
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "Identity": lambda x: x,
    "Tanh": torch.tanh,
    "ReLU": F.relu,
    "GELU": F.gelu,
    "SiLU": F.silu,
    "Sigmoid": torch.sigmoid,
}


@dataclass(frozen=True, eq=False)
class Dense:
    """A linear layer and its activation, a name of ACTIVATIONS."""

    linear: nn.Linear
    activation: str

    def __call__(self, vectors: Float[Tensor, "n d"]) -> Float[Tensor, "n e"]:
        result: Tensor = ACTIVATIONS[self.activation](self.linear(vectors))
        return result

    def __str__(self) -> str:
        then = "" if self.activation == "Identity" else f" with {self.activation}"
        return f"a dense layer to {self.linear.out_features:,} numbers{then}"


@dataclass(frozen=True)
class Normalize:
    """Scales a vector to length 1; one of length 0 stays."""

    def __call__(self, vectors: Float[Tensor, "n d"]) -> Float[Tensor, "n d"]:
        return F.normalize(vectors, dim=-1)

    def __str__(self) -> str:
        return "scaled to length 1"


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """What makes one vector of the vectors of a text's tokens: the poolings, concatenated, then the steps."""

    modes: tuple[str, ...] = ("mean",)  # of MODES
    steps: tuple[Dense | Normalize, ...] = ()
    max_tokens: int | None = None  # of a text, special tokens included; None: as many as the encoder reads
    lower_case: bool = False  # whether a text is read in lower case
    problem: str = ""  # a sentence that says why the files cannot be followed; then there are no steps

    def pool(self, tokens: Float[Tensor, "t d"]) -> Float[Tensor, " e"]:
        """The pooled vector of one text, without padding."""
        return torch.cat([MODES[mode][1](tokens) for mode in self.modes])

    @torch.inference_mode()
    def transform(self, pooled: Float[Tensor, "n d"]) -> Float[Tensor, "n e"]:
        """The vectors of n texts from their pooled ones; fp32 on the CPU."""
        for step in self.steps:
            pooled = step(pooled)
        return pooled

    @property
    def normalizes(self) -> bool:
        """Whether the last step scales the vector to length 1."""
        return bool(self.steps) and isinstance(self.steps[-1], Normalize)

    @property
    def fingerprint(self) -> str:
        """Differs between two that make different vectors."""
        digest = sha256(f"{self}, {self.max_tokens} tokens, in lower case: {self.lower_case}".encode())
        for step in self.steps:
            for tensor in step.linear.state_dict().values() if isinstance(step, Dense) else ():
                digest.update(tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()

    def __str__(self) -> str:
        return ", ".join([" and ".join(MODES[mode][0] for mode in self.modes), *map(str, self.steps)])


def read(folder: Path, width: int) -> SentenceEncoder | None:
    """The sentence encoder of the checkpoint in *folder*, with vectors of *width* numbers; None if it has none. If the
    files cannot be followed, the result has a `problem`: the checkpoint is of use for everything else."""
    if not (folder / MODULES).is_file():
        return None
    try:
        return follow(folder, width)
    except ExplorerError as error:
        return SentenceEncoder(problem=f"This checkpoint's own sentence encoder cannot be used: {error}")


def follow(folder: Path, width: int) -> SentenceEncoder:
    """As `read`. Raises ExplorerError for files that cannot be followed."""
    modules = read_json(folder / MODULES)
    if not isinstance(modules, list) or not 2 <= len(modules) <= MAX_MODULES:
        raise ExplorerError(f"{MODULES} is not a list of 2 to {MAX_MODULES} modules.")
    described = [describe_module(module) for module in modules]
    kinds = [kind for kind, _ in described]
    if kinds[:2] != ["Transformer", "Pooling"]:
        raise ExplorerError(f"{MODULES} names {', '.join(kinds)}; wanted Transformer, Pooling and then others.")
    modes = pooling_modes(read_object(folder / described[1][1] / "config.json"))
    size, steps = width * len(modes), list[Dense | Normalize]()
    for kind, path in described[2:]:
        if kind == "Dense":
            dense = read_dense(folder / path, size)
            steps.append(dense)
            size = dense.linear.out_features
        elif kind == "Normalize":
            steps.append(Normalize())
        elif kind != "Dropout":  # which does nothing after training
            raise ExplorerError(f"{MODULES} names {kind}, which is not read here; wanted Dense or Normalize.")
    return SentenceEncoder(modes, tuple(steps), *read_limits(folder, folder / described[0][1]))


def describe_module(module: Any) -> tuple[str, str]:
    """(kind, folder) of an entry of modules.json, such as ("Pooling", "1_Pooling")."""
    kind, path = (module.get(key) if isinstance(module, dict) else None for key in ("type", "path"))
    if not isinstance(kind, str) or not isinstance(path, str) or not (path == "" or FOLDER.fullmatch(path)):
        raise ExplorerError(f"{MODULES} holds {module!r:.80}; wanted the type of a module and a folder beside it.")
    return kind.rpartition(".")[2][:80], path


def pooling_modes(config: Mapping[str, Any]) -> tuple[str, ...]:
    """The modes of a pooling's config.json, in the order of their vectors."""
    modes = config.get("pooling_mode", [mode for key, mode in OLDER.items() if config.get(key)] or "mean")
    modes = [modes] if isinstance(modes, str) else modes
    known = isinstance(modes, list) and 1 <= len(modes) <= len(MODES) and all(str(mode) in MODES for mode in modes)
    if not known:
        raise ExplorerError(f"The pooling is {modes!r:.80}; wanted one or several of {', '.join(MODES)}.")
    return tuple(modes)


def read_dense(folder: Path, size: int) -> Dense:
    """The dense layer in *folder* for vectors of *size* numbers."""
    config = read_object(folder / "config.json")
    name = config.get("activation_function", "torch.nn.Tanh")
    activation = str(name).rpartition(".")[2]
    if activation not in ACTIVATIONS or not str(name).startswith("torch."):
        raise ExplorerError(
            f"{folder.name} has the activation {name!r:.80}; wanted one of {', '.join(ACTIVATIONS)} of torch."
        )
    if config.get("use_residual") or config.get("module_input_name", "sentence_embedding") != "sentence_embedding":
        raise ExplorerError(f"{folder.name} is not a plain dense layer after the pooling.")
    if not (folder / "model.safetensors").is_file() and (folder / "pytorch_model.bin").is_file():
        raise ExplorerError(
            f"{folder.name} has its weights in pytorch_model.bin alone, which may run code when opened. Save it as "
            "safetensors once with sentence-transformers."
        )
    stored = stored_tensors(folder)
    weight, bias = stored.get("linear.weight"), stored.get("linear.bias")
    if not weight or len(weight.shape) != 2 or weight.shape[1] != size or (bias and bias.shape != weight.shape[:1]):
        shapes = ", ".join(f"{entry.name} {'x'.join(map(str, entry.shape))}" for entry in stored.values())
        raise ExplorerError(f"{folder.name} holds {shapes or 'no tensor'}; wanted linear.weight for {size:,} numbers.")
    for entry in (weight, bias):
        if entry and entry.dtype not in DTYPES:
            raise ExplorerError(f"{folder.name} is stored as {entry.dtype}; wanted one of {', '.join(DTYPES)}.")
    with torch.device("meta"):
        linear = nn.Linear(size, weight.shape[0], bias=bias is not None)
    linear.weight = nn.Parameter(weight.read().float(), requires_grad=False)
    if bias:
        linear.bias = nn.Parameter(bias.read().float(), requires_grad=False)
    return Dense(linear, activation)


def read_limits(folder: Path, module: Path) -> tuple[int | None, bool]:
    """(limit of tokens, whether texts are read in lower case) for the *module* of the encoder. Without a limit of its
    own, that of the tokenizer counts."""
    file = next((module / name for name in LIMITS if (module / name).is_file()), None)
    config = read_object(file) if file else {}
    limit = config.get("max_seq_length")
    if limit is None:
        limit = vocabulary.read_json(folder / "tokenizer_config.json").get("model_max_length")
    if limit is not None and (not isinstance(limit, int | float) or isinstance(limit, bool) or not limit >= FEWEST):
        raise ExplorerError(f"The limit of a text is {limit!r:.80} tokens; wanted at least {FEWEST}.")
    return None if limit is None else int(min(limit, 1e9)), config.get("do_lower_case") is True


def read_object(file: Path) -> dict[str, Any]:
    content = read_json(file)
    if not isinstance(content, dict):
        raise ExplorerError(f"{file.parent.name}/{file.name} is not a JSON object.")
    return content


def read_json(file: Path) -> Any:
    """The content of a small JSON file of a module."""
    name = f"{file.parent.name}/{file.name}"
    if not file.is_file():
        raise ExplorerError(f"{name} is missing. Download the checkpoint again.")
    if file.stat().st_size > MAX_BYTES:
        raise ExplorerError(f"{name} is {file.stat().st_size:,} bytes; wanted at most {MAX_BYTES:,}.")
    try:
        return json.loads(file.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ExplorerError(f"{name} is not valid JSON.") from error

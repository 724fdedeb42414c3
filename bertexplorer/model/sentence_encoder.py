"""The sentence encoder of a checkpoint: how its files say to make one vector of a text (Reimers and Gurevych, 2019).

sentence-transformers writes modules.json beside the encoder. It names modules that are applied in order: the encoder,
a pooling of its tokens, then dense layers and a normalisation. config_sentence_transformers.json names prompts, which
stand before a text, and the measure of similarity. `read` makes data of these files, and `SentenceEncoder` applies
it."""

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model import vocabulary
from bertexplorer.model.layout import FOLDER, MAX_BYTES, MODULES
from bertexplorer.model.tensors import DTYPES, stored_tensors

SETTINGS = "config_sentence_transformers.json"
LIMITS = tuple(  # files with the limit of tokens; each holds for its own family, and the first that exists counts
    f"sentence_{family}_config.json"
    for family in ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
)
MAX_MODULES = 10
MAX_OUTPUTS = 16_384  # numbers of a dense layer's vector; that of Stella, the longest in use, has 8,192
MAX_WEIGHTS = 100_000_000  # of one dense layer
FEWEST = 3  # tokens that a text needs: two special tokens and one of its own
ALL = "over all tokens"
VECTOR = "sentence_embedding"  # what the files call the vector of a text


def position_weights(tokens: Float[Tensor, "t d"], before: int) -> Float[Tensor, " t"]:
    """Shares that sum to 1, in which the token at position i of its text, from 0, counts i + 1 times. *before*: how
    many tokens of the text stand before these."""
    weights = torch.arange(before + 1, before + len(tokens) + 1, device=tokens.device, dtype=tokens.dtype)
    return weights / weights.sum()


Pool = Callable[[Float[Tensor, "t d"], int], Float[Tensor, " d"]]  # the tokens, how many stand before them -> a vector
Share = Callable[[Float[Tensor, "t d"], int], Float[Tensor, "t _"]]  # how much of each token is in the sum
MODES: dict[str, tuple[str, Pool]] = {  # -> (its words, the pooling)
    "cls": ("the first token's vector", lambda tokens, _: tokens[0]),
    "max": (f"the maximum {ALL}", lambda tokens, _: tokens.amax(dim=0)),
    "mean": (f"the mean {ALL}", lambda tokens, _: tokens.mean(dim=0)),
    "mean_sqrt_len_tokens": (f"the sum {ALL} over √t", lambda tokens, _: tokens.sum(dim=0) / len(tokens) ** 0.5),
    "weightedmean": (
        f"the mean {ALL}, weighted by position",
        lambda tokens, before: position_weights(tokens, before) @ tokens,
    ),
    "lasttoken": ("the last token's vector", lambda tokens, _: tokens[-1]),
}
SHARES: dict[str, Share] = {
    "max": lambda tokens, _: F.one_hot(tokens.argmax(dim=0), len(tokens)).T.to(tokens.dtype),
    "mean": lambda tokens, _: torch.full_like(tokens[:, :1], 1 / len(tokens)),
    "mean_sqrt_len_tokens": lambda tokens, _: torch.full_like(tokens[:, :1], len(tokens) ** -0.5),
    "weightedmean": lambda tokens, before: position_weights(tokens, before)[:, None],
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


Vectors = Float[Tensor, "n d"]
SIMILARITIES: dict[str, Callable[[Vectors, Vectors], Float[Tensor, " n"]]] = {  # of vectors, row by row
    "cosine": lambda first, second: F.cosine_similarity(first, second, dim=-1),
    "dot": lambda first, second: (first * second).sum(dim=-1),
    "euclidean": lambda first, second: -(first - second).norm(dim=-1),
    "manhattan": lambda first, second: -(first - second).abs().sum(dim=-1),
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


@dataclass(frozen=True)
class Truncate:
    """Keeps the first numbers of a vector (Kusupati et al., 2022, Matryoshka)."""

    size: int

    def __call__(self, vectors: Float[Tensor, "n d"]) -> Float[Tensor, "n e"]:
        return vectors[:, : self.size]

    def __str__(self) -> str:
        return f"cut to its first {self.size:,} numbers"


VectorStep = Dense | Normalize | Truncate


@dataclass(frozen=True, eq=False)
class SentenceEncoder:
    """What makes one vector of the vectors of a text's tokens: the poolings, concatenated, then the steps."""

    modes: tuple[str, ...] = ("mean",)  # of MODES
    steps: tuple[VectorStep, ...] = ()
    max_tokens: int | None = None  # of a text, special tokens included; None: as many as the encoder reads
    lower_case: bool = False  # whether a text is read in lower case
    prompts: Mapping[str, str] = field(default_factory=dict)  # what stands before a text, by name
    default_prompt: str = ""  # the name of the one that stands before a text unless another is chosen
    pools_prompt: bool = True  # whether the tokens of a prompt are pooled like those of the text
    similarity: str = "cosine"  # of SIMILARITIES: how two vectors are compared
    problem: str = ""  # a sentence that says why the files cannot be followed; then there are no steps

    def prompt(self, name: str | None) -> str:
        """What stands before a text: the prompt with that *name*, none for "", the default one for None. Raises
        ExplorerError for another name."""
        name = self.default_prompt if name is None else name
        if not name:
            return ""
        if name not in self.prompts:
            known = ", ".join(self.prompts)[:200] or "none"
            raise ExplorerError(f"There is no prompt {name!r:.60}; the checkpoint's files name {known}.")
        return self.prompts[name]

    def pool(self, tokens: Float[Tensor, "t d"], unpooled: int = 0) -> Float[Tensor, " e"]:
        """The pooled vector of one text, without padding and without its first *unpooled* tokens."""
        return torch.cat([MODES[mode][1](tokens[unpooled:], unpooled) for mode in self.modes])

    def embed(self, states: Float[Tensor, "b t d"], unpooled: int = 0) -> Float[Tensor, "b e"]:
        """The vectors of b texts of equal length from the last layer, with gradients; on the device of *states*."""
        vectors = torch.stack([self.pool(tokens, unpooled) for tokens in states]).cpu()
        for step in self.steps:
            vectors = step(vectors)
        return vectors.to(states.device)

    @torch.inference_mode()
    def transform(self, pooled: Float[Tensor, "n d"]) -> Float[Tensor, "n e"]:
        """The vectors of n texts from their pooled ones; fp32 on the CPU."""
        for step in self.steps:
            pooled = step(pooled)
        return pooled

    @property
    def is_sum(self) -> bool:
        """Whether the vector of a text is a sum over its tokens, up to its length: not if a single token is pooled, or
        if a dense layer bends the vector."""
        bends = any(isinstance(step, Dense) and step.activation != "Identity" for step in self.steps)
        return not bends and all(mode in SHARES for mode in self.modes)

    @torch.inference_mode()
    def parts(self, tokens: Float[Tensor, "t d"], unpooled: int = 0) -> Float[Tensor, "t e"]:
        """What each token adds to the vector of its text: rows that sum to it; zeros for the first *unpooled* tokens.
        Only where the vector `is_sum`. fp32 on the CPU."""
        pooled = tokens[unpooled:].float().cpu()
        parts = torch.cat([SHARES[mode](pooled, unpooled) * pooled for mode in self.modes], dim=1)
        for step in self.steps:
            if isinstance(step, Normalize):
                parts = parts / parts.sum(dim=0).norm().clamp(min=1e-12)
            elif isinstance(step, Truncate):
                parts = step(parts)
            else:
                bias = 0 if step.linear.bias is None else step.linear.bias / len(parts)
                parts = parts @ step.linear.weight.T + bias
        return torch.cat([parts.new_zeros(unpooled, parts.shape[1]), parts])

    @property
    def normalizes(self) -> bool:
        """Whether the last step scales the vector to length 1."""
        return bool(self.steps) and isinstance(self.steps[-1], Normalize)

    @property
    def fingerprint(self) -> str:
        """Differs between two that make different vectors."""
        digest = sha256(f"{self}, {self.max_tokens} tokens, in lower case: {self.lower_case}".encode())
        digest.update(self.prompts.get(self.default_prompt, "").encode())
        if not self.pools_prompt:
            digest.update(b"prompts are not pooled")
        for step in self.steps:
            for tensor in step.linear.state_dict().values() if isinstance(step, Dense) else ():
                digest.update(tensor.contiguous().numpy().tobytes())
        return digest.hexdigest()

    def __str__(self) -> str:
        return ", ".join([" and ".join(MODES[mode][0] for mode in self.modes), *map(str, self.steps)])


def read(folder: Path, width: int) -> SentenceEncoder | None:
    """The sentence encoder of the checkpoint in *folder*, with vectors of *width* numbers; None if it has none. If the
    files cannot be followed, the result has a `problem`: the checkpoint is of use for everything else."""
    if not (folder / MODULES).is_file() or is_cross_encoder(folder):
        return None
    try:
        return follow(folder, width)
    except ExplorerError as error:
        return SentenceEncoder(problem=f"This checkpoint's own sentence encoder cannot be used: {error}")


def is_cross_encoder(folder: Path) -> bool:
    """Whether the files in *folder* say that it scores two texts together, and so makes no vector of one."""
    with suppress(ExplorerError):  # `follow` reports a file that cannot be read
        return (folder / SETTINGS).is_file() and read_object(folder / SETTINGS).get("model_type") == "CrossEncoder"
    return False


def follow(folder: Path, width: int) -> SentenceEncoder:
    """As `read`. Raises ExplorerError for files that cannot be followed."""
    modules = read_json(folder / MODULES)
    if not isinstance(modules, list) or not 2 <= len(modules) <= MAX_MODULES:
        raise ExplorerError(f"{MODULES} is not a list of 2 to {MAX_MODULES} modules.")
    described = [describe_module(module) for module in modules]
    kinds = [kind for kind, _ in described]
    if kinds[:2] != ["Transformer", "Pooling"]:
        raise ExplorerError(f"{MODULES} names {', '.join(kinds)}; wanted Transformer, Pooling and then others.")
    pooling = read_object(folder / described[1][1] / "config.json")
    modes = pooling_modes(pooling)
    size, steps = width * len(modes), list[VectorStep]()
    for kind, path in described[2:]:
        if kind == "Dense":
            if dense := read_dense(folder / path, size):
                steps.append(dense)
                size = dense.linear.out_features
        elif kind == "Normalize":
            if makes_output(folder / path):
                steps.append(Normalize())
        elif kind != "Dropout":  # which does nothing after training
            raise ExplorerError(f"{MODULES} names {kind}, which is not read here; wanted Dense or Normalize.")
    max_tokens, lower_case = read_limits(folder, folder / described[0][1])
    prompts, default_prompt, similarity, kept = read_settings(folder / SETTINGS)
    if kept is not None and kept < size:
        steps.append(Truncate(kept))
    return SentenceEncoder(
        modes,
        tuple(steps),
        max_tokens,
        lower_case,
        prompts,
        default_prompt,
        pooling.get("include_prompt") is not False,
        similarity,
    )


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


def makes_output(folder: Path, output: str = VECTOR, *, source: str = VECTOR) -> bool:
    """Whether the module in *folder* changes *output*, not another one beside it. *source*: what it reads if its file
    does not say. Raises ExplorerError if it makes that of something else."""
    config = read_object(folder / "config.json") if (folder / "config.json").is_file() else {}
    source = config.get("module_input_name", source)
    target = config.get("module_output_name")
    if (source if target is None else target) != output:
        return False
    if source != output:
        raise ExplorerError(f"{folder.name} makes {output} of {source!r:.40}, which is not read here.")
    return True


def read_dense(folder: Path, size: int, output: str = VECTOR, *, source: str = VECTOR) -> Dense | None:
    """The dense layer in *folder* for vectors of *size* numbers; None if it does not change *output*. *source* as in
    `makes_output`."""
    if not makes_output(folder, output, source=source):
        return None
    config = read_object(folder / "config.json")
    name = config.get("activation_function", "torch.nn.Tanh")
    activation = str(name).rpartition(".")[2]
    if activation not in ACTIVATIONS or not str(name).startswith("torch."):
        raise ExplorerError(
            f"{folder.name} has the activation {name!r:.80}; wanted one of {', '.join(ACTIVATIONS)} of torch."
        )
    if config.get("use_residual"):
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
    if weight.shape[0] > MAX_OUTPUTS or weight.shape[0] * weight.shape[1] > MAX_WEIGHTS:
        raise ExplorerError(
            f"{folder.name} makes {weight.shape[0]:,} numbers of {size:,}; wanted at most {MAX_OUTPUTS:,}, and "
            f"{MAX_WEIGHTS:,} weights."
        )
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
    places = (module, folder)  # beside the encoder, which lies in the first of them, or in the folder itself
    files = [place / name for place in places for name in LIMITS]
    file = next(filter(Path.is_file, files), None)
    config = read_object(file) if file else {}
    limit = config.get("max_seq_length")
    for place in places:
        if limit is None:
            limit = vocabulary.read_json(place / "tokenizer_config.json").get("model_max_length")
    if limit is not None and (not isinstance(limit, int | float) or isinstance(limit, bool) or not limit >= FEWEST):
        raise ExplorerError(f"The limit of a text is {limit!r:.80} tokens; wanted at least {FEWEST}.")
    return None if limit is None else int(min(limit, 1e9)), config.get("do_lower_case") is True


def read_settings(file: Path) -> tuple[dict[str, str], str, str, int | None]:
    """(prompts by name, the name of the default one or "", the similarity, how many numbers of a vector are kept, None
    for all) in *file*, if it exists."""
    config = read_object(file) if file.is_file() else {}
    prompts, default = config.get("prompts") or {}, config.get("default_prompt_name") or ""
    similarity = config.get("similarity_fn_name") or "cosine"
    if not isinstance(prompts, dict) or not all(isinstance(prompt, str) for prompt in prompts.values()):
        raise ExplorerError(f"{SETTINGS} has the prompts {prompts!r:.80}; wanted a text for each name.")
    if default and default not in prompts:
        raise ExplorerError(f"{SETTINGS} has the default prompt {default!r:.80}, which is none of its prompts.")
    if similarity not in SIMILARITIES:
        raise ExplorerError(
            f"{SETTINGS} has the similarity {similarity!r:.80}; wanted one of {', '.join(SIMILARITIES)}."
        )
    kept = config.get("truncate_dim")
    if kept is not None and (not isinstance(kept, int) or isinstance(kept, bool) or kept < 1):
        raise ExplorerError(f"{SETTINGS} has the truncate_dim {kept!r:.80}; wanted a whole number above 0.")
    return prompts, default, similarity, kept


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

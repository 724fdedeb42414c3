"""The settings of a pretraining run, as in spec.json: text, start and all options."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, Literal

from bertexplorer.engine.masking import Masking
from bertexplorer.errors import ExplorerError
from bertexplorer.options import Option, build, option_specs
from bertexplorer.training import trackers
from bertexplorer.training.optimiser import Learning
from bertexplorer.training.pretraining.examples import Drawing, Pairs

FORMAT = 1
Task = Literal["mlm+nsp", "mlm+order", "mlm", "causal", "replaced"]
PAIRS: dict[str, Pairs] = {"mlm+nsp": "next", "mlm+order": "order"}  # the others read single texts


@dataclass(frozen=True)
class Size:
    """The size of a model that starts from scratch, and of the vocabulary trained for it if none is given."""

    layers: Annotated[int, Option("Layers", 1, 48)] = 2
    hidden: Annotated[int, Option("Hidden size", 8, 4096)] = 128
    heads: Annotated[int, Option("Heads", 1, 128)] = 2
    positions: Annotated[int, Option("Longest input", 16, 8192, "tokens")] = 256
    spread: Annotated[
        float,
        Option(
            "Spread of the first weights",
            0.001,
            1.0,
            "standard deviation; narrow models learn sooner with a larger one",
        ),
    ] = 0.02
    pieces: Annotated[int, Option("Vocabulary", 100, 200_000, "tokens, if one is trained on the text")] = 8000


@dataclass(frozen=True)
class Running:
    """Objective, length, and how often to evaluate and commit."""

    objective: Annotated[Task, Option("Objective")] = "mlm+nsp"
    steps: Annotated[int, Option("Steps", 0, 100_000_000, "0: the minutes decide")] = 0
    minutes: Annotated[float, Option("Minutes", 0.0, 1_000_000.0)] = 10.0
    batch_tokens: Annotated[int, Option("Tokens per step", 64, 10_000_000)] = 8192
    piece_tokens: Annotated[
        int, Option("Tokens at a time", 64, 10_000_000, "a step's gradient is summed over batches of this size")
    ] = 2048
    repeat_steps: Annotated[int, Option("Repeat", 0, 100_000_000, "repeat the text of that many steps; 0: never")] = 0
    static: Annotated[bool, Option("Static masks", info="repeated text keeps its masks")] = False
    pair_weight: Annotated[
        float, Option("Weight of the pairs", 0.0, 100.0, "of their loss, relative to that of the masked words")
    ] = 1.0
    teacher_weight: Annotated[float, Option("Weight of the teacher", 0.0, 1000.0, "of the distance to its vectors")] = (
        1.0
    )
    special_weight: Annotated[
        float, Option("Weight of the limit", 0.0, 1000.0, "of attention to special tokens; 0: none")
    ] = 0.0
    special_limit: Annotated[
        float, Option("Limit of attention to special tokens", 0.0, 1.0, "share that a head may give to [CLS] and [SEP]")
    ] = 0.3
    compile: Annotated[
        bool, Option("Compile", info="the layers with torch.compile: half a minute at the start, then faster on a GPU")
    ] = False
    dropout: Annotated[float, Option("Dropout", 0.0, 0.9)] = 0.0
    seed: Annotated[int, Option("Seed", 0, 2**31 - 1)] = 0
    precision: Annotated[Literal["auto", "fp32", "bf16"], Option("Precision")] = "auto"
    threads: Annotated[int, Option("Threads", 0, 1024, "0: all; the exact resume needs the same number")] = 0
    heldout_documents: Annotated[int, Option("Held-out documents", 2, 1_000_000)] = 1000
    heldout_pairs: Annotated[int, Option("Held-out pairs", 2, 1_000_000, "of 128 tokens, and as many short texts")] = (
        400
    )
    evaluate_minutes: Annotated[float, Option("Evaluate every", 0.0, 100_000.0, "minutes")] = 20.0
    commit_minutes: Annotated[float, Option("Commit every", 0.0, 100_000.0, "minutes")] = 15.0
    keep: Annotated[int, Option("Keep", 1, 1000, "newest commits")] = 2
    export: Annotated[Literal["bf16", "fp32"], Option("Exported weights")] = "bf16"
    probe: Annotated[bool, Option("Probe", info="a linear probe of the frozen encoder at each evaluation")] = False
    snapshots: Annotated[str, Option("Snapshots", info="steps whose weights are kept, comma-separated")] = ""
    report_to: Annotated[str, Option("Report to", info=trackers.INFO)] = ""


@dataclass(frozen=True)
class StageSpec:
    """The settings of one stage of a run."""

    text: tuple[str, ...]  # files and folders
    weights: str = ""  # "kids=3, books=0.2": by the beginning of a file's name; 1 elsewhere, 0 leaves it out
    start: str = ""  # a checkpoint's folder; "": from scratch, as `size` says
    start_layers: int = 0  # number of its layers to keep, spread from first to last as in DistilBERT; 0: all
    vocabulary: str = ""  # a folder with a tokenizer, for a start from scratch; "": trained on the text
    teacher: str = ""  # a checkpoint's folder; its vectors of single texts are learned beside the masked tokens
    heldout: str = ""  # a list of held-out documents; "": chosen from the text
    cache: str = ""  # folder of cached token ids
    masking: Masking = field(default_factory=Masking)
    drawing: Drawing = field(default_factory=Drawing)
    learning: Learning = field(default_factory=Learning)
    running: Running = field(default_factory=Running)
    size: Size = field(default_factory=Size)

    def __post_init__(self) -> None:
        if self.masking.masked + self.masking.random > 1 + 1e-9:
            raise ExplorerError("[MASK] and Random are shares of the chosen tokens; together they are above 1.")
        if self.learning.warmup + self.learning.hold > 1 + 1e-9:
            raise ExplorerError("Warm-up and Hold are shares of the budget; together they are above 1.")
        if self.teacher and self.running.objective in ("causal", "replaced"):
            raise ExplorerError(
                f"A teacher was given with the objective {self.running.objective}; wanted one with masked tokens "
                "(mlm, mlm+nsp or mlm+order). Leave the teacher out, or change the objective."
            )
        if self.running.special_weight and self.running.objective in ("causal", "replaced"):
            raise ExplorerError(
                f"Weight of the limit: got {self.running.special_weight:g} with the objective "
                f"{self.running.objective}; wanted 0, or an objective with masked tokens (mlm, mlm+nsp or mlm+order)."
            )
        if not self.running.steps and not self.running.minutes:
            raise ExplorerError("Steps and Minutes are both 0; wanted a budget.")
        _ = self.snapshot_steps, self.weight("")

    @property
    def pairs(self) -> Pairs:
        """Which second segments its examples have."""
        return PAIRS.get(self.running.objective, "none")

    @property
    def snapshot_steps(self) -> tuple[int, ...]:
        """The steps whose weights are kept. Raises ExplorerError if the setting is none."""
        steps = self.running.snapshots.replace(",", " ").split()
        if not all(step.isdecimal() for step in steps):
            raise ExplorerError(f"Snapshots: got {self.running.snapshots!r}; wanted steps such as 0, 100, 1000.")
        return tuple(map(int, steps))

    def weight(self, name: str) -> float:
        """The weight of the file *name*: that of the longest given prefix of the name. Raises ExplorerError if the
        setting is malformed."""
        weights = {"": 1.0}  # prefix -> weight
        for part in self.weights.split(","):
            part = part.strip()
            if not part:
                continue
            prefix, _, value = part.partition("=")
            try:
                weight = float(value)
            except ValueError as error:
                raise ExplorerError(f"Weights: got {part!r}; wanted name=number, such as books=0.2.") from error
            if not 0 <= weight <= 1e6:
                raise ExplorerError(f"Weights: got {part!r}; wanted a number from 0 to 1,000,000.")
            weights[prefix.strip()] = weight
        longest = max((prefix for prefix in weights if name.startswith(prefix)), key=len)
        return weights[longest]


GROUPS: dict[str, Any] = {  # name of a field of StageSpec whose value is a group of settings -> its class
    f.name: f.default_factory for f in fields(StageSpec) if isinstance(f.default_factory, type)
}


def make_spec(
    plain: Mapping[str, Any], values: Mapping[str, Any], before: StageSpec | None = None, *, by_name: bool = False
) -> StageSpec:
    """A Spec from its *plain* fields (text, start, …) and flat *values* of all its settings, each validated; missing
    ones default to those of *before*, if given. *by_name*: as for `build`. Raises ExplorerError for an unknown setting
    or an invalid value."""
    # 1. The settings, group by group
    known = {option.name: group for group, options in GROUPS.items() for option in option_specs(options)}
    unknown = sorted(set(values) - set(known))
    if unknown:
        raise ExplorerError(f"Unknown setting {', '.join(unknown)}; wanted {', '.join(known)}.")
    groups: dict[str, Any] = {}
    for group, options in GROUPS.items():
        group_values = asdict(getattr(before, group)) if before else {}
        group_values |= {name: value for name, value in values.items() if known[name] == group}
        groups[group] = build(options, group_values, by_name=by_name)
    trackers.parse_trackers(groups["running"].report_to)

    # 2. The other fields
    others: dict[str, Any] = {}
    if before:
        others = {f.name: getattr(before, f.name) for f in fields(StageSpec) if f.name not in GROUPS}
    return StageSpec(**{**others, **plain, **groups})


def save_stages(stages: list[StageSpec], path: Path) -> None:
    """Write all stages of a run, atomically."""
    partial = path.with_suffix(".partial")
    partial.write_text(json.dumps({"format": FORMAT, "stretches": [asdict(s) for s in stages]}, indent=1), "utf-8")
    partial.replace(path)


def read_stages(path: Path) -> list[StageSpec]:
    """The stages of a run. Raises ExplorerError if *path* is not a run's spec.json."""
    try:
        saved = json.loads(path.read_text("utf-8"))
        if saved["format"] != FORMAT:
            raise ValueError(f"format {saved['format']}")
        stages = []
        for stage in saved["stretches"]:
            values: dict[str, Any] = {}
            for group in GROUPS:
                values |= stage.pop(group)
            stages.append(make_spec({**stage, "text": tuple(stage["text"])}, values))
        return stages
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        if isinstance(error, ExplorerError):
            raise
        raise ExplorerError(f"{path} does not describe a run ({error}). Name another folder.") from error

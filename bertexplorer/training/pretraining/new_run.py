"""The folder of a new pretraining run, or of a further stage of one."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bertexplorer.errors import ExplorerError
from bertexplorer.options import build, option_specs
from bertexplorer.training.pretraining import spec as specs

PLAIN = {  # fields of a Spec besides its settings
    "weights": "shares of files, by the beginning of their name: kids=3,books=0.2",
    "start": "folder of the checkpoint to start from, or from --layers of its layers; default: from scratch",
    "vocabulary": "folder of the tokenizer, for a start from scratch; default: one is trained on the text",
    "teacher": "folder of a checkpoint with the same vocabulary, whose vectors of single texts the run learns",
    "heldout": "list of documents to hold out; default: chosen from the text",
    "cache": "folder for token ids",
}


def prepare_folder(folder: Path, text: Sequence[str], settings: Mapping[str, Any], *, new_stage: bool = False) -> None:
    """Write spec.json for a new run on *text*, or add a stage if *new_stage*. *settings*: those of all groups, and the
    fields in PLAIN. Raises ExplorerError for invalid settings, for those that a resume would ignore, and without a
    text for a new run."""
    # 1. What was given
    fields: dict[str, Any] = {name: settings[name] for name in PLAIN if name in settings}
    values = {name: value for name, value in settings.items() if name not in PLAIN}
    if text:
        fields["text"] = tuple(str(Path(file).resolve()) for file in text)
    sizes = [option.name for option in option_specs(specs.Size) if option.name in values]
    if fields.get("start") and "layers" in values:  # the run starts from some of its layers
        fields["start_layers"] = build(specs.Size, {"layers": values.pop("layers")}).layers
        sizes.remove("layers")
    if sizes and fields.get("start"):
        raise ExplorerError(f"The checkpoint has its own sizes; omit {', '.join(sizes)}, or --start.")
    if fields.get("start") and fields.get("vocabulary"):
        raise ExplorerError("The checkpoint has its own vocabulary; omit --vocabulary, or --start.")

    # 2. A new run, a new stage, or a run that is resumed
    path = folder / "spec.json"
    if not path.is_file():
        if not text:
            raise ExplorerError(f"{folder} holds no run. To start one, name its text: --text FILE …")
        folder.mkdir(parents=True, exist_ok=True)
        specs.save_stages([specs.make_spec(fields, values)], path)
    elif new_stage:
        of_the_start = (*sizes, "start", "vocabulary", "teacher", "heldout")
        unchangeable = [name for name in of_the_start if name in fields or name in values]
        if unchangeable:
            raise ExplorerError(f"A new stage cannot change the start of the run; omit {', '.join(unchangeable)}.")
        stages = specs.read_stages(path)
        specs.save_stages([*stages, specs.make_spec(fields, values, stages[-1])], path)
    elif values or fields:
        raise ExplorerError(
            f"{folder} holds a run, which continues with its own settings. To change {', '.join([*fields, *values])} "
            "from here on, add --stretch; to start afresh, name another folder."
        )

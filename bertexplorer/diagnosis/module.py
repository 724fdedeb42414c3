"""Where is my BERT wrong? The states of a module, or of a file that another program wrote, beside a checkpoint's."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, nn

from bertexplorer.diagnosis.guess import guess_modules, guess_tensors
from bertexplorer.diagnosis.names import WORDS, Part, check_names, parts_of
from bertexplorer.diagnosis.walk import Input, Step, Walk, check_architecture
from bertexplorer.engine.collate import collate
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint

TEXTS = ("The bank raised its rates, and savers were glad.", "A cat sleeps.")  # of two lengths: one is padded
LISTED = 8  # names that were guessed, in a note
MAX_FILE = 2_000_000_000  # bytes of a file of states
IDS = ("input_ids", "ids")  # the names of an argument, or of a tensor in a file
MASK = ("attention_mask", "mask")
SEGMENTS = ("token_type_ids", "segments", "segment_ids")


@dataclass(frozen=True, eq=False)
class StatesDiagnosis:
    """Where another BERT departs from a checkpoint: the parts that are wrong by themselves, each with what explains it.

    `bx.doctor_states` returns it.
    """

    said: str
    first: str  # the first part that is wrong; "" if none is
    causes: tuple[str, ...]  # that explain it; () if none of those that were tried does
    rows: tuple[dict[str, Any], ...]  # every part that was compared, in the order of the data
    notes: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """For scripts: 0 if no part is wrong, else 1."""
        return 1 if self.first else 0

    def __repr__(self) -> str:
        return self.said


def examine_module(
    checkpoint: Checkpoint, module: nn.Module, texts: Sequence[str], names: Mapping[str, str]
) -> StatesDiagnosis:
    """Run *module* on *texts*, or on TEXTS, and compare every part that is known by its name, by *names* (its name ->
    ours), or by its weights. Its dropout is off meanwhile; a note says if it was on. Raises ExplorerError for a
    checkpoint of another architecture, for a map with unknown names, and for a module that cannot be run."""
    check_architecture(checkpoint)
    given = encode(checkpoint, texts or TEXTS)
    own = [name for name, _ in module.named_modules() if name]
    check_names(names, own)
    unknown = [name for name in own if parts_of(name, names) == (None, None)]
    guessed = guess_modules(checkpoint, module, unknown)
    notes = []
    if guessed:
        parts = {name: parts_of(known, {})[1] for name, known in guessed.items()}
        notes.append(f"Known by their weights: {listed(parts)}.")
    was_training = module.training
    has_dropout = any(child.training and isinstance(child, nn.Dropout) and child.p for child in module.modules())
    if has_dropout:
        notes.append("Dropout is on, so each pass gives other numbers: call model.eval(). It is off for what follows.")
    module.eval()
    try:
        states = trace(module, given, {**guessed, **names})
    finally:
        module.train(was_training)
    return answer(checkpoint, states, given, notes)


def examine_file(checkpoint: Checkpoint, file: Path, texts: Sequence[str], names: Mapping[str, str]) -> StatesDiagnosis:
    """Compare the tensors in a safetensors *file*, by their names. It holds input_ids, and attention_mask if tokens are
    padded; or the *texts* are given. Raises ExplorerError for a file that cannot be used."""
    check_architecture(checkpoint)
    tensors = read_tensors(file)
    ids = next((tensors[name] for name in IDS if name in tensors), None)
    if ids is None and not texts:
        raise ExplorerError(
            f"{file.name} has no input_ids, so it is not known what was read. Save them in it, or give the texts."
        )
    given = encode(checkpoint, texts) if ids is None else input_of(checkpoint, tensors, ids)
    check_names(names, tensors)
    # 1. Those that are known by their names.
    states: dict[Part, Tensor] = {}
    unknown: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        _, made = parts_of(name, names)
        if made is not None:
            states[made] = tensor
        elif name not in (*IDS, *MASK, *SEGMENTS):
            unknown[name] = tensor
    # 2. Those that are known by their values.
    notes = []
    if unknown:
        ours = {part: tensor for part, tensor in own_states(checkpoint, given).items() if part not in states}
        guessed = guess_tensors(ours, unknown)
        states |= {part: unknown.pop(name) for name, part in guessed.items()}
        if guessed:
            notes.append(f"Known by their values: {listed(guessed)}.")
    if unknown:
        notes.append(f"Not known by their names: {', '.join(sorted(unknown))[:300]}.")
    return answer(checkpoint, states, given, notes)


def listed(parts: Mapping[str, Part | None]) -> str:
    """Names with the parts that they were taken for, in a sentence."""
    phrases = [f"{name} is {part}" for name, part in list(parts.items())[:LISTED]]
    if len(parts) > LISTED:
        phrases.append(f"and {len(parts) - LISTED:,} more")
    return "; ".join(phrases)


def own_states(checkpoint: Checkpoint, given: Input) -> dict[Part, Tensor]:
    """What the checkpoint itself computes in every part."""
    walk = Walk(checkpoint, {}, given)
    walk.run()
    return walk.own


def read_tensors(file: Path) -> dict[str, Tensor]:
    """Name -> tensor, of a safetensors file. Raises ExplorerError for one that cannot be read, or is too large."""
    try:
        if file.stat().st_size > MAX_FILE:
            raise ExplorerError(f"{file.name} has {file.stat().st_size:,} bytes; wanted at most {MAX_FILE:,}.")
        with safe_open(file, framework="pt") as opened:
            return {name: opened.get_tensor(name) for name in opened.keys()}  # noqa: SIM118 - it is no dictionary
    except OSError as error:
        raise ExplorerError(f"{file} cannot be read: {error.strerror}. Give the path of a file.") from error
    except SafetensorError as error:
        raise ExplorerError(
            f"{file.name} is not a safetensors file. Write one with safetensors.torch.save_file; a pickle (.pt, .bin) "
            "is not opened, as it may run code."
        ) from error


def encode(checkpoint: Checkpoint, texts: Sequence[str]) -> Input:
    """The tokens of *texts*, padded."""
    encodings = [checkpoint.tokenizer.encode(text) for text in texts]
    ids, segments, mask = collate(encodings, checkpoint.tokenizer.pad_id, torch.device("cpu"))
    if mask is None:  # nothing is padded
        mask = torch.ones_like(ids, dtype=torch.bool)
    return Input(ids, segments, mask)


def input_of(checkpoint: Checkpoint, tensors: Mapping[str, Tensor], ids: Tensor) -> Input:
    """The input that a file names. Raises ExplorerError for ids that the checkpoint does not have."""
    ids = ids.long()
    ids = ids[None] if ids.ndim == 1 else ids
    if ids.ndim != 2 or not ids.numel() or int(ids.min()) < 0 or int(ids.max()) >= checkpoint.config.vocab_size:
        raise ExplorerError(
            f"input_ids has the shape {tuple(ids.shape)}; wanted rows of ids below {checkpoint.config.vocab_size:,}."
        )
    limit = checkpoint.config.max_positions
    if ids.shape[1] > limit:
        raise ExplorerError(f"input_ids has {ids.shape[1]:,} tokens; wanted at most {limit:,}.")
    mask = next((tensors[name] for name in MASK if name in tensors), torch.ones_like(ids))
    segments = next((tensors[name] for name in SEGMENTS if name in tensors), torch.zeros_like(ids))
    return Input(ids, segments=segments.long().reshape(ids.shape), mask=mask.reshape(ids.shape) > 0)


@torch.inference_mode()
def trace(module: nn.Module, given: Input, names: Mapping[str, str]) -> dict[Part, Tensor]:
    """What goes into and comes out of the parts of *module*. Raises ExplorerError if it cannot be run, or none of its
    modules has a known name."""
    states: dict[Part, Tensor] = {}
    with ExitStack() as stack:
        for name, child in module.named_modules():
            before, after = parts_of(name, names)
            if before is None and after is None:
                continue

            # A hook runs when the loop has ended, so it takes the parts of its module as defaults.
            def keep(_: nn.Module, inputs: Any, output: Any, before: Any = before, after: Any = after) -> None:
                if before is not None and inputs and isinstance(inputs[0], Tensor):
                    states[before] = inputs[0].detach().float().cpu()
                first = output[0] if isinstance(output, tuple) else output
                if after is not None and isinstance(first, Tensor):
                    states[after] = first.detach().float().cpu()

            handle = child.register_forward_hook(keep)
            stack.callback(handle.remove)
        try:
            module(**arguments(module, given))
        except Exception as error:  # code of the person's own, which may raise anything
            raise ExplorerError(f"The module could not be run: {type(error).__name__}: {error!s:.200}") from error
    if not states:
        known = ", ".join(name for name, _ in module.named_modules() if name)[:300]
        raise ExplorerError(
            f"None of the module's parts has a name that is known: {known}. Give names={{'blocks.0.q': "
            f"'layers.0.query'}}; the parts are {', '.join(WORDS)}."
        )
    return states


def arguments(module: nn.Module, given: Input) -> dict[str, Tensor]:
    """The arguments of the module's forward, by the names that it has for them. Raises ExplorerError if it takes no
    ids."""
    parameters = inspect.signature(module.forward).parameters
    result: dict[str, Tensor] = {}
    for known, value in ((IDS, given.ids), (MASK, given.mask.long()), (SEGMENTS, given.segments)):
        name = next((name for name in known if name in parameters), None)
        if name:
            result[name] = value
    if not any(name in result for name in IDS):
        raise ExplorerError(f"The module's forward takes {', '.join(parameters)}; wanted input_ids among them.")
    return result


def answer(
    checkpoint: Checkpoint, states: Mapping[Part, Tensor], given: Input, notes: Sequence[str]
) -> StatesDiagnosis:
    """Compare the *states* of the other program with those of the checkpoint, and say it."""
    steps = Walk(checkpoint, states, given).run()
    rows = tuple(
        {
            "part": str(step.part),
            "difference": step.difference,
            "tolerance": step.tolerance,
            "wrong": step.wrong,
            "explained by": "; ".join(step.causes),
        }
        for step in steps
    )
    wrong = [step for step in steps if step.wrong]
    if not wrong:
        said = f"All {len(steps):,} parts that were compared are those of {checkpoint.name}, up to rounding."
        return StatesDiagnosis(said, first="", causes=(), rows=rows, notes=tuple(notes))
    return StatesDiagnosis(
        said=say(wrong, len(steps)),
        first=str(wrong[0].part),
        causes=wrong[0].causes,
        rows=rows,
        notes=tuple(notes),
    )


def say(wrong: Sequence[Step], compared: int) -> str:
    """The first part that is wrong, what explains it, and how many others are. *compared*: how many parts were."""
    first = wrong[0]
    sentences = [
        f"The first part that differs is {first.part}: by {first.difference:.2g}, where rounding explains "
        f"{first.tolerance:.1g}."
    ]
    if len(first.causes) == 1:
        sentences.append(f"It is explained if {first.causes[0]}.")
    elif first.causes:
        sentences.append(f"It is explained by each of these: {'; '.join(first.causes)}.")
    else:
        sentences.append("None of the faults that are tried explains it.")
    more = [step for step in wrong[1:] if step.part.name != first.part.name]
    if more:
        sentences.append(
            f"On their own, given what stands before them, {len(more):,} other parts differ, too: {more[0].part}."
        )
    elif len(wrong) > 1:
        sentences.append(f"The same part differs in {len(wrong):,} layers.")
    sentences.append(f"{compared:,} parts were compared; what follows from an earlier part does not count.")
    return " ".join(sentences)

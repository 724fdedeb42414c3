"""Facts: what is known about a checkpoint, and what produced an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bertexplorer.analysis.export import provenance_line, versions
from bertexplorer.model.config import HEAD_WORDS, PRETRAINING_WORDS
from bertexplorer.store import convert
from bertexplorer.store.catalogue import BY_NAME, CATALOGUE

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.store.registry import CheckpointRegistry


def receipt(checkpoint: Checkpoint, took_ms: float, title: str) -> dict[str, str]:
    """Which checkpoint (called *title*) answered, in which precision, and how long it took; also the whole provenance,
    which a saved picture includes."""
    short = f"{title} · {checkpoint.precision} · {took_ms:,.0f} ms"
    return {"short": short, "whole": provenance_line(checkpoint, title)}


def of(checkpoint: Checkpoint) -> list[tuple[str, str]]:
    """What is known about a loaded checkpoint, including the heads that it lacks, as (name, words)."""
    config = checkpoint.config
    held = [word for head, word in HEAD_WORDS.items() if head in checkpoint.heads]
    absent = [word for head, word in PRETRAINING_WORDS.items() if head not in checkpoint.heads]
    items = {
        "Family": checkpoint.family,
        "Shape": f"{config.num_layers} layers of {config.num_heads} heads, {config.hidden_size:,} wide",
        "Size": f"{checkpoint.num_parameters / 1e6:,.1f} M parameters, {checkpoint.num_bytes / 1e6:,.0f} MB in memory",
        "Heads": (", ".join(held) or "none") + f" (absent: {', '.join(absent)})" * bool(absent),
        "Licence": checkpoint.licence
        or (BY_NAME[checkpoint.name].licence if checkpoint.name in BY_NAME else "not stated"),
        "Revision": checkpoint.revision,
        "Runs in": f"{checkpoint.precision} on {checkpoint.device.type}",
        "Versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        "Longest text": f"{config.max_positions:,} tokens",
    }
    if origin := convert.conversion_note(checkpoint.folder):
        items["Weights"] = origin
    if checkpoint.unused:
        items["Left aside"] = f"a head that nothing here reads ({', '.join(checkpoint.unused)})"
    return list(items.items())


def checkpoints(library: CheckpointRegistry) -> list[dict[str, Any]]:
    """The checkpoints to choose from: those on this disk, those trained here, and those to download."""
    here = library.offline()
    found = [described(name, True) for name in here]
    found += [{"name": name, "label": f"{title} · trained here", "here": True} for title, name in library.trained()]
    return [*found, *(described(entry.name, False) for entry in CATALOGUE if entry.name not in here)]


def described(name: str, here: bool) -> dict[str, Any]:
    """A checkpoint of the catalogue, or one that somebody put there. Sizes: millions of parameters, megabytes."""
    entry, where = BY_NAME.get(name), "on this disk" if here else "to download"
    if entry is None:
        return {"name": name, "label": f"{name} · {where}", "here": here}
    size = where if here else f"{entry.megabytes:,.0f} MB {where}"
    return {
        "name": name,
        "label": f"{name} · {entry.parameters:g} M · {size}",
        "here": here,
        "about": entry.about,
        "parameters_m": entry.parameters,
        "megabytes": entry.megabytes,
        "heads": [HEAD_WORDS[head] for head in entry.heads],
        "licence": entry.licence,
    }

"""Facts: known facts about checkpoints, and the provenance of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bertexplorer.core.export import provenance_line, versions
from bertexplorer.model.config import HEAD_WORDS, PRETRAINING_WORDS
from bertexplorer.store import convert, hub_cache
from bertexplorer.store.catalogue import BY_NAME, CATALOGUE

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.store.registry import CheckpointRegistry


def answer_provenance(checkpoint: Checkpoint, took_ms: float, title: str) -> dict[str, str]:
    """Two lines: "short", the checkpoint by its *title*, its precision and the milliseconds that the answer took, and
    "whole", the full provenance, which a saved picture includes."""
    short = f"{title} · {checkpoint.precision} · {took_ms:,.0f} ms"
    return {"short": short, "whole": provenance_line(checkpoint, title)}


def checkpoint_facts(checkpoint: Checkpoint) -> list[tuple[str, str]]:
    """The facts about a loaded checkpoint, including the heads that it lacks, as (name, text)."""
    config = checkpoint.config
    present = [word for head, word in HEAD_WORDS.items() if head in checkpoint.heads]
    absent = [word for head, word in PRETRAINING_WORDS.items() if head not in checkpoint.heads]
    heads = ", ".join(present) or "none"
    if absent:
        heads = f"{heads} (absent: {', '.join(absent)})"
    licence = checkpoint.licence
    if not licence:
        licence = BY_NAME[checkpoint.name].licence if checkpoint.name in BY_NAME else "not stated"
    facts = {
        "Family": checkpoint.family,
        "Shape": f"{config.num_layers} layers of {config.num_heads} heads, {config.hidden_size:,} wide",
        "Size": f"{checkpoint.num_parameters / 1e6:,.1f} M parameters, {checkpoint.num_bytes / 1e6:,.0f} MB in memory",
        "Heads": heads,
        "Licence": licence,
        "Revision": checkpoint.revision,
        "Runs in": f"{checkpoint.precision} on {checkpoint.device.type}",
        "Versions": ", ".join(f"{name} {version}" for name, version in versions().items()),
        "Longest text": f"{config.max_positions:,} tokens",
    }
    origin = convert.conversion_note(checkpoint.folder) or hub_cache.conversion_note(checkpoint.folder)
    if origin:
        facts["Weights"] = origin
    if "auto_map" in checkpoint.hf_config:
        facts["Code"] = f"its own (auto_map) is not run: it is read as {checkpoint.family}"
    if checkpoint.family == "jina_embeddings_v3":
        facts["Adapters"] = "those by task are not read; one may have been merged into it"
    if checkpoint.unused:
        facts["Unused weights"] = f"a head that no view reads ({', '.join(checkpoint.unused)})"
    return list(facts.items())


def offered_checkpoints(registry: CheckpointRegistry) -> list[dict[str, Any]]:
    """The checkpoints to choose from: those on this disk, those trained here, and those to download."""
    local = registry.offline()
    offered = [describe_checkpoint(name, here=True) for name in local]
    for title, name in registry.trained():
        offered.append({"name": name, "label": f"{title} · trained here", "here": True})
    for entry in CATALOGUE:
        if entry.name not in local:
            offered.append(describe_checkpoint(entry.name, here=False))
    return offered


def describe_checkpoint(name: str, here: bool) -> dict[str, Any]:
    """A checkpoint of the catalogue, or one that a user added. Sizes: millions of parameters, megabytes."""
    entry = BY_NAME.get(name)
    availability = "on this disk" if here else "to download"
    if entry is None:
        return {"name": name, "label": f"{name} · {availability}", "here": here}
    size = availability if here else f"{entry.megabytes:,.0f} MB {availability}"
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

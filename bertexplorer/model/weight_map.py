"""Tensor names: from ours to the published ones, by a family's table, in both directions."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from torch import nn

from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.families import Family

OLD_SPELLING = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
STRAYS = (r"position_ids$", r"rotary_emb\.", r"token_type_ids$")  # buffers that some versions wrote
ARCHITECTURES = {  # the fine-tuned heads -> the endings of their class names in transformers
    "sequence_classifier": "ForSequenceClassification",
    "token_classifier": "ForTokenClassification",
    "span": "ForQuestionAnswering",
}
TASK_HEADS = ("classifier.", "pre_classifier.", "qa_outputs.", "score.", "head.", "sequence_summary.", "crf.")
NOT_LEARNT = ("lm_predictions.", "mask_predictions.")  # DeBERTa-v3's discriminator was not trained to fill masks
SENTENCE_ORDER = "sop_classifier."  # ALBERT's: which sentence came first, not whether the second follows


@dataclass(frozen=True)
class Source:
    """Where to find one of our tensors in a file: the published name, and which of *parts* equal slices of axis 0."""

    name: str
    part: int = 0
    parts: int = 1


def source_of(family: Family, ours: str) -> Source | None:
    """The source of our tensor *ours* ("encoder.layers.0.attention.query.weight"), None if the family has none."""
    # 1. The name with # for the number of the layer, as the family's table has it.
    layer = re.search(r"\.layers\.(\d+)\.", ours)
    number = layer[1] if layer else "#"
    pattern = ours.replace(f".layers.{number}.", ".layers.#.")
    module, _, kind = pattern.rpartition(".")

    # 2. Its line in the table, which names a tensor, or a module with its weight and bias.
    for key, theirs in family.NAMES.items():
        keys = key if isinstance(key, tuple) else (key,)
        for part, name in enumerate(keys):
            if name in (pattern, module):
                published = theirs if name == pattern else f"{theirs}.{kind}"
                return Source(published.replace("#", number), part, len(keys))
    return None


def tied_name(family: Family, config: EncoderConfig) -> str:
    """The published name of the MLM output matrix if it repeats the word embeddings, else ''."""
    if not config.tied:
        return ""
    source = source_of(family, "masked_lm.output.weight")
    return source.name if source else ""


def canonical_names(family: Family, stored_names: Iterable[str]) -> dict[str, str]:
    """Canonical published name -> the name in the file. Old spellings are renamed, and a missing prefix is restored.

    Names without information of their own (buffers, second copies) are left out.
    """
    stored_names = list(stored_names)
    bare = not any(name.startswith(family.PREFIX) for name in stored_names)
    prefixes = {theirs.split(".#.")[0] for theirs in family.NAMES.values()}
    names: dict[str, str] = {}
    strays = (*STRAYS, *family.STRAYS)
    for name in stored_names:
        is_stray = any(re.search(stray, name) for stray in strays)
        if is_stray:
            continue
        clean = name
        for old, new in OLD_SPELLING.items():
            clean = clean.replace(old, new)
        prefixed = family.PREFIX + clean
        if bare and any(prefixed.startswith(start) for start in prefixes):
            clean = prefixed
        if clean in family.COPIES:  # if the two differ, transformers computes with the copy
            names[family.COPIES[clean]] = name
        else:
            names.setdefault(clean, name)
    return names


def is_task_head(name: str) -> bool:
    """Whether a published name belongs to a head that may be left aside: a fine-tuned one, ALBERT's for the order of
    sentences, or those that DeBERTa-v3 did not learn with. If the head is not in HEADS, it is reported and ignored."""
    return name.startswith((*TASK_HEADS, *NOT_LEARNT, SENTENCE_ORDER))


def share_layers(family: Family, heads: nn.ModuleDict) -> None:
    """Let *heads* share a layer if the file has only one name for it; the layer of the first head replaces the others.
    BERT's pooler also serves its sequence classifier, and ModernBERT's transform serves every head."""
    first_by_name: dict[str, nn.Module] = {}
    for path, module in list(heads.named_modules()):
        if not isinstance(module, nn.Linear | nn.LayerNorm):
            continue
        source = source_of(family, f"{path}.weight")
        if source is None:
            continue
        first = first_by_name.setdefault(source.name, module)
        if first is not module:
            heads.set_submodule(path, first)


def to_published(family: Family, ours: Mapping[str, object]) -> dict[str, list[tuple[int, str]]]:
    """Published name -> [(part, our name)], for writing. If names share a layer, only the first is listed. Raises
    ValueError for a name that the family does not publish."""
    ours_by_part: dict[str, dict[int, str]] = {}  # published name -> part -> our name
    for name in ours:
        source = source_of(family, name)
        if source is None:
            raise ValueError(f"{family.MODEL_TYPES[0]} has no published name for {name}; it cannot be saved.")
        ours_by_part.setdefault(source.name, {}).setdefault(source.part, name)
    return {published: sorted(parts.items()) for published, parts in ours_by_part.items()}

"""A folder of config.json, safetensors and a tokenizer -> a Checkpoint, strictly."""

from collections.abc import Collection
from functools import reduce
from pathlib import Path
from typing import cast

import torch
from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model import multi_vector, precision as precisions, sentence_encoder
from bertexplorer.model.adapter import Adapter, adapted_config, is_adapter, merged, read_adapter
from bertexplorer.model.checkpoint import (
    Checkpoint,
    all_weight_files,
    read_language,
    read_licence,
    translate,
    with_family,
)
from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.cross_encoder import relevance_function
from bertexplorer.model.earlier_names import current_tensors, with_legacy_head
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.families import BY_MODEL_TYPE, Family, read_config
from bertexplorer.model.file_state import file_state
from bertexplorer.model.heads import HEADS, MaskedLM
from bertexplorer.model.layout import encoder_folder
from bertexplorer.model.prepacked_linear import pack
from bertexplorer.model.tensors import DTYPES, Stored, stored_tensors
from bertexplorer.model.text import Tokenizer
from bertexplorer.model.weight_map import (
    ARCHITECTURES,
    canonical_names,
    is_task_head,
    share_layers,
    source_of,
    tied_name,
)


def load(
    folder: str | Path,
    *,
    name: str | None = None,
    precision: precisions.Precision = "auto",
    device: str | torch.device | None = None,
    frozen: bool = False,
    base: Path | None = None,
) -> Checkpoint:
    """Load the checkpoint in *folder*. No code in it is executed, and no weights are made up: a head that is not in
    the file is absent. *frozen*: it will not be trained or exported, so that fp32 layers may be packed too. *base*: the
    folder of the checkpoint that an adapter belongs to; by default the one beside it. Raises ExplorerError that names
    what is missing, extra, misshapen, out of bounds or not finite."""
    folder = Path(folder)
    name = name or folder.name
    adapter = read_adapter(folder) if is_adapter(folder) else None
    home = find_base(adapter, base) if adapter else folder
    root = encoder_folder(home)
    hf = with_family(read_config(root), root)
    if adapter:
        hf = adapted_config(hf, adapter)
    written = file_state(all_weight_files(folder, home if adapter else None))
    hf, stored = with_legacy_head(hf, current_tensors(hf["model_type"], stored_tensors(root)))
    projection = stored.pop(multi_vector.PROJECTION, None) if multi_vector.is_stanford(hf) else None
    family = BY_MODEL_TYPE[hf["model_type"]]
    config = translate(family, hf)
    names = canonical_names(family, stored)
    words, output = source_of(family, "encoder.embeddings.words.weight"), tied_name(family, config)
    if words and words.name not in names and output in names:  # stored once, by the name of the head
        names[words.name] = names.pop(output)
    if adapter:
        stored, names = merged(family, adapter, stored, names)
    modules = build(family, config, names, hf.get("architectures"))
    if adapter and adapter.head:
        drop_other_heads(family, config, modules, names)
    sources = match_weights(family, config, modules, names, stored)
    device = torch.device(device) if device else precisions.best_device()
    dtype = precisions.resolve(precision, device)
    fill(modules, sources, dtype, device)
    if config.tied and "masked_lm" in modules:
        check_copies(family, stored)
        tie(family, modules, names, stored)
    modules.requires_grad_(False).eval()
    pack(modules, shared=True, fp32=frozen)
    encoder = cast(Encoder, modules.pop("encoder"))
    share_layers(family, modules)
    tokenizer = Tokenizer.from_folder(
        root, max_tokens=config.max_positions, pad_id=config.pad_id, segments=config.num_segments
    )
    if tokenizer.vocab_size > config.vocab_size:
        raise ExplorerError(
            f"The tokenizer of {name} has {tokenizer.vocab_size:,} pieces but the weights only {config.vocab_size:,} "
            "rows; they belong to different checkpoints. Put the right tokenizer next to the weights."
        )
    tokenizer.language = read_language(folder)
    if note := padding_note(config, tokenizer):
        tokenizer.notes += (note,)
    by_token = multi_vector.read(home, hf, projection, tokenizer)
    return Checkpoint(
        name=name,
        family=hf["model_type"],
        config=config,
        encoder=encoder,
        heads=dict(modules.items()),
        tokenizer=tokenizer,
        precision=precisions.NAMES[dtype],
        device=device,
        stored_dtype=reduce(torch.promote_types, (DTYPES[entry.dtype] for entry, _, _ in sources.values())),
        hf_config=hf,
        folder=folder,
        base=home if adapter else None,
        licence=read_licence(folder),
        sentence_encoder=multi_vector.NO_VECTOR if by_token else sentence_encoder.read(home, config.hidden_size),
        multi_vector=by_token,
        relevance_function=relevance_function(folder, hf),
        unused=tuple(sorted(n for n in names if is_task_head(n) and n not in used_names(sources))),
        written=written,
    )


def padding_note(config: EncoderConfig, tokenizer: Tokenizer) -> str:
    """A sentence for people if a RoBERTa's config.json and its tokenizer name different tokens as padding, from which
    its positions are counted; "" if not."""
    own, named = tokenizer.special.get("pad"), tokenizer.backend.id_to_token(config.pad_id)
    if not config.first_position or own is None or own == named:
        return ""
    return (
        f"config.json gives pad_token_id {config.pad_id}, which is {named}, and the tokenizer pads with {own}. "
        f"transformers does not count {named} among the positions, so its numbers are others than these."
    )


def find_base(adapter: Adapter, base: Path | None) -> Path:
    """The folder of the checkpoint that *adapter* belongs to. Raises ExplorerError if it is not here."""
    folder = base or adapter.folder.parent / Path(adapter.base).name
    if not (folder / "config.json").is_file():
        raise ExplorerError(
            f"{adapter.folder.name} is an adapter for {adapter.base}, which is not on this disk. Open that checkpoint "
            "first, or put its folder beside the adapter."
        )
    return folder


def drop_other_heads(family: Family, config: EncoderConfig, modules: nn.ModuleDict, names: dict[str, str]) -> None:
    """Leave out the heads of pretraining: they were not trained with the adapter, so they would answer at random."""
    others = {head: modules.pop(head) for head in ("masked_lm", "next_sentence", "replaced_token") if head in modules}
    kept = [wanted_names(family, config, head, module) for head, module in modules.items() if head != "encoder"]
    for head, module in others.items():
        for name in wanted_names(family, config, head, module).difference(*kept):
            names.pop(name, None)
    names.pop(tied_name(family, config), None)


def build(family: Family, config: EncoderConfig, names: dict[str, str], architectures: object = None) -> nn.ModuleDict:
    """The encoder, and the heads for which *names* has tensors, on the meta device: shapes, no memory.

    *architectures*: that entry of config.json, which `task_head` reads."""
    with torch.device("meta"):
        modules = nn.ModuleDict({"encoder": Encoder(config)})
        possible = {head: kind(config) for head, kind in HEADS.items()}
    expected = {head: wanted_names(family, config, head, module) for head, module in possible.items()}
    task = task_head(expected, names, architectures)
    for head, module in possible.items():
        has_tensors = any(name in names and not is_task_head(name) for name in expected[head])
        if head == "masked_lm":
            has_tensors = has_tensors or fills_masks(expected[head], names, architectures)
        if head == task or (has_tensors and head not in ARCHITECTURES):
            modules[head] = module
    if "next_sentence" in modules and "pooler" not in modules:
        modules["pooler"] = possible["pooler"]  # so that match reports that it is missing
    return modules


def fills_masks(expected: set[str], names: Collection[str], architectures: object) -> bool:
    """Whether a file holds an MLM head none of whose tensors is its alone: a tied EuroBERT has no tensor for it, and
    ModernBERT's head.* belongs to other heads too. *architectures* says so; if it does not, there is no other head."""
    if isinstance(architectures, list) and architectures:
        said = any(str(architecture).endswith("ForMaskedLM") for architecture in architectures)
    else:
        said = bool(expected) and not any(map(is_output, names))
    return said and expected <= set(names)


def wanted_names(family: Family, config: EncoderConfig, head: str, module: nn.Module) -> set[str]:
    """The published names of *head*, without the matrix that it shares with the word embeddings."""
    sources = [source_of(family, f"{head}.{key}") for key in module.state_dict()]
    return {source.name for source in sources if source} - {tied_name(family, config)}


def task_head(expected: dict[str, set[str]], names: Collection[str], architectures: object) -> str:
    """The fine-tuned head in a file, one of ARCHITECTURES; '' if there is none of ours, or if it is unclear which.

    Several heads have the same name, classifier. *architectures* says which one it is. If it does not, the other names
    do: a classifier with a dense layer before it (BERT's pooler counts too) classifies sequences."""
    if isinstance(architectures, list) and architectures:
        named = [head for head, end in ARCHITECTURES.items() if any(str(a).endswith(end) for a in architectures)]
        return next((head for head in named if any(is_output(name) and name in names for name in expected[head])), "")
    complete = [head for head in ARCHITECTURES if expected[head] and expected[head] <= set(names)]
    ambiguous = any(expected[head] == expected[complete[0]] for head in complete[1:])
    return complete[0] if complete and not ambiguous else ""


def is_output(name: str) -> bool:
    """Whether a published name belongs to a fine-tuned head only: ModernBERT's head.* belongs to the MLM head too."""
    return is_task_head(name) and not name.startswith("head.")


def match_weights(
    family: Family, config: EncoderConfig, modules: nn.ModuleDict, names: dict[str, str], stored: dict[str, Stored]
) -> dict[str, tuple[Stored, int, int]]:
    """Our name -> (tensor in the file, part, parts), after checking that nothing is missing, extra or misshapen."""
    tied = tied_name(family, config)
    sources: dict[str, tuple[Stored, int, int]] = {}
    missing, misshapen = [], []
    for our_name, tensor in modules.named_parameters():  # a layer that repeats comes once
        source = source_of(family, our_name)
        if source is None or (source.name == tied and our_name == "masked_lm.output.weight"):
            continue
        if source.name not in names:
            missing.append(source.name)
            continue
        entry = stored[names[source.name]]
        expected_shape = (tensor.shape[0] * source.parts, *tensor.shape[1:])
        if entry.shape != expected_shape:
            misshapen.append(f"{entry.name} is {shape(entry.shape)}, expected {shape(expected_shape)}")
        elif entry.dtype not in DTYPES:
            raise ExplorerError(f"{entry.name} is stored as {entry.dtype}; wanted one of {', '.join(DTYPES)}.")
        sources[our_name] = (entry, source.part, source.parts)
    used = used_names(sources)
    extra = [n for c, n in names.items() if n not in used and c != tied and not is_task_head(c)]
    if misshapen:
        raise ExplorerError(
            f"config.json and the weights disagree: {first_few(misshapen)}. Check which config belongs here."
        )
    if missing:
        raise ExplorerError(f"The weights lack {first_few(missing)}. Download the checkpoint again.")
    if extra:
        raise ExplorerError(
            f"The weights hold {first_few(extra)}, which {family.MODEL_TYPES[0]} has no place for, so the numbers "
            "would not be this checkpoint's. Check model_type in config.json."
        )
    return sources


def used_names(sources: dict[str, tuple[Stored, int, int]]) -> set[str]:
    return {entry.name for entry, _, _ in sources.values()}


def shape(sizes: tuple[int, ...]) -> str:
    return "x".join(map(str, sizes))


def first_few(items: list[str]) -> str:
    return ", ".join(items[:3]) + (f" and {len(items) - 3} more" if len(items) > 3 else "")


def fill(
    modules: nn.ModuleDict, sources: dict[str, tuple[Stored, int, int]], dtype: torch.dtype, device: torch.device
) -> None:
    """Give each parameter its tensor, one at a time, so that peak memory stays near the size of the weights."""
    broken: list[str] = []
    for our_name, (entry, part, parts) in sources.items():
        tensor = entry.read()
        if not tensor.sum(dtype=torch.float32).isfinite() and not tensor.isfinite().all():  # the sum is quicker
            broken.append(entry.name)
        path, _, kind = our_name.rpartition(".")
        # clone: a tensor of the file is a view of it, and the file may be replaced
        piece = tensor.chunk(parts)[part].to(device=device, dtype=dtype, copy=True)
        setattr(modules.get_submodule(path), kind, nn.Parameter(piece, requires_grad=False))
    if broken:
        raise ExplorerError(
            f"The weights contain NaN or infinity in {len(broken)} of {len(sources)} tensors (first: {broken[0]}); "
            "this checkpoint is broken. Use another copy."
        )


def check_copies(family: Family, stored: dict[str, Stored]) -> None:
    """Raise if a second copy differs from the first: transformers would keep both, and results would differ."""
    for copy, original in family.COPIES.items():
        if original in family.UNREAD or copy not in stored or original not in stored:
            continue
        if not torch.equal(stored[copy].read(), stored[original].read()):
            raise ExplorerError(
                f"{copy} differs from {original}, though config.json ties them. Set tie_word_embeddings to false in "
                "config.json if they are meant to differ."
            )


def tie(family: Family, modules: nn.ModuleDict, names: dict[str, str], stored: dict[str, Stored]) -> None:
    """Let the MLM output use the word embeddings, after checking that a second copy in the file is identical."""
    words = source_of(family, "encoder.embeddings.words.weight")
    output = source_of(family, "masked_lm.output.weight")
    if words and output and output.name in names:
        first, second = stored[names[words.name]].read(), stored[names[output.name]].read()
        if not torch.equal(first, second):
            raise ExplorerError(
                f"{output.name} differs from {words.name}, though config.json ties them. Set tie_word_embeddings to "
                "false in config.json if they are meant to differ."
            )
    cast(MaskedLM, modules["masked_lm"]).output.weight = cast(Encoder, modules["encoder"]).embeddings.words.weight

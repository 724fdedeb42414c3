"""Fresh weights: a whole untrained checkpoint, or the heads that one lacks."""

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import torch
from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.cache import LRUCache
from bertexplorer.model.checkpoint import Checkpoint, translate
from bertexplorer.model.config import HEAD_WORDS
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.families import BY_MODEL_TYPE
from bertexplorer.model.heads import HEADS, MaskedLM
from bertexplorer.model.sentence_encoder import Dense, SentenceEncoder, VectorStep
from bertexplorer.model.text import Tokenizer
from bertexplorer.model.weight_map import ARCHITECTURES, share_layers, source_of

ProblemType = Literal["single_label_classification", "multi_label_classification", "regression"]


def initialise(module: nn.Module, seed: int, std: float = 0.02) -> None:
    """Draw every parameter of *module* anew, in place, as BERT does: matrices and embeddings from a normal
    distribution cut at two standard deviations, biases 0, norm weights 1. The same *seed* gives the same weights on
    every device. Raises ExplorerError for packed weights (load with precision="fp32")."""
    generator = torch.Generator().manual_seed(seed)
    done: set[int] = set()
    with torch.no_grad():
        for part in module.modules():
            for name, parameter in part.named_parameters(recurse=False):
                if id(parameter) in done:  # tied
                    continue
                done.add(id(parameter))
                if parameter.layout != torch.strided:
                    raise ExplorerError("Packed weights cannot be drawn at random. Load the checkpoint in fp32.")
                if isinstance(part, nn.LayerNorm):
                    parameter.fill_(1.0 if name == "weight" else 0.0)
                elif name == "bias":
                    parameter.zero_()
                else:
                    values = torch.empty(parameter.shape)
                    nn.init.trunc_normal_(values, 0.0, std, -2 * std, 2 * std, generator=generator)
                    parameter.copy_(values)


def fresh(
    hf_config: dict[str, Any], tokenizer: Tokenizer, heads: Sequence[str], *, seed: int, name: str = "fresh"
) -> Checkpoint:
    """A checkpoint of random weights on the CPU in fp32, as *hf_config* (a config.json) describes it.

    Raises ExplorerError if the config is not a valid encoder, or the vocabulary is larger than its table."""
    family = BY_MODEL_TYPE[hf_config["model_type"]]
    config = translate(family, hf_config)
    if tokenizer.vocab_size > config.vocab_size:
        raise ExplorerError(
            f"The vocabulary has {tokenizer.vocab_size:,} pieces, the config {config.vocab_size:,} rows."
        )
    encoder = Encoder(config)
    initialise(encoder, seed, hf_config.get("initializer_range", 0.02))
    bare = Checkpoint(
        name=name,
        family=hf_config["model_type"],
        config=config,
        encoder=encoder,
        heads={},
        tokenizer=tokenizer,
        precision="fp32",
        device=torch.device("cpu"),
        stored_dtype=torch.float32,
        hf_config=hf_config,
        folder=Path(),
        licence="",
    )
    return with_heads(bare, heads, seed=seed + 1)


def random_copy(original: Checkpoint) -> Checkpoint:
    """A checkpoint with the shape, tokenizer and heads of *original* but random weights (always the same) in fp32."""
    copy = fresh(
        original.hf_config, original.tokenizer, list(original.heads), seed=0, name=f"{original.name}, random weights"
    )
    for module in (copy.encoder, *copy.heads.values()):
        module.requires_grad_(False).eval()
    sentence_encoder = random_sentence_encoder(original.sentence_encoder)
    by_token = original.multi_vector
    if by_token:
        by_token = replace(by_token, steps=random_steps(by_token.steps))
    return replace(
        copy,
        sentence_encoder=sentence_encoder,
        multi_vector=by_token,
        relevance_function=original.relevance_function,
    )


def random_sentence_encoder(original: SentenceEncoder | None) -> SentenceEncoder | None:
    """*original* with random weights in its dense layers."""
    if original is None:
        return None
    return replace(original, steps=random_steps(original.steps))


def random_steps(original: Sequence[VectorStep]) -> tuple[VectorStep, ...]:
    """*original* with random weights in its dense layers."""
    steps: list[VectorStep] = []
    for step in original:
        if isinstance(step, Dense):
            step = Dense(deepcopy(step.linear), step.activation)
            initialise(step.linear, seed=len(steps))
        steps.append(step)
    return tuple(steps)


def with_heads(
    checkpoint: Checkpoint,
    heads: Sequence[str],
    *,
    seed: int,
    labels: Sequence[str] = (),
    problem: ProblemType | None = None,
) -> Checkpoint:
    """*checkpoint* with random weights for those of *heads* (names of HEADS) that it lacks. The encoder is shared.

    *labels*: the labels of the classifier, in the order of its logits; none: those in config.json. *problem*: the entry
    of config.json for a sequence classifier's loss; None: the existing one for these labels, else regression for one
    label and single_label_classification for more.

    A fine-tuned head is drawn anew unless there is already one for exactly these labels. It replaces any other
    fine-tuned head. Layers that a file has only once are shared with the existing heads: BERT's pooler, ModernBERT's
    head.*. Raises ExplorerError for a head that the family has no place for (it could not be saved), for two fine-tuned
    heads at once, and for labels that are not a set of names."""
    std = checkpoint.hf_config.get("initializer_range", 0.02)
    family = BY_MODEL_TYPE[checkpoint.family]
    tasks = [name for name in heads if name in ARCHITECTURES]
    if len(tasks) > 1:
        raise ExplorerError(f"A checkpoint holds one fine-tuned head, not {' and '.join(tasks)}. Choose one.")
    if tasks:
        checkpoint = with_task_config(checkpoint, tasks[0], labels, problem)
    if "sequence_classifier" in tasks and source_of(family, "pooler.dense.weight") == source_of(
        family, "sequence_classifier.transform.dense.weight"
    ):
        heads = [*heads, "pooler"]  # so that saving and loading gives the same checkpoint
    added: dict[str, nn.Module] = {}
    for offset, name in enumerate(heads):
        if name not in checkpoint.heads:
            head = HEADS[name](checkpoint.config)
            if any(source_of(family, f"{name}.{key}") is None for key in head.state_dict()):
                words = HEAD_WORDS.get(name, name)
                raise ExplorerError(
                    f"{checkpoint.name}: {checkpoint.family} has no {words} head. Choose a BERT checkpoint."
                )
            initialise(head, seed + offset, std)
            if isinstance(head, MaskedLM) and checkpoint.config.tied:
                head.output.weight = checkpoint.encoder.embeddings.words.weight
            added[name] = head.to(checkpoint.device).eval()
    all_heads = nn.ModuleDict({**checkpoint.heads, **added})
    share_layers(family, all_heads)
    return replace(checkpoint, heads=dict(all_heads.items()), cache=LRUCache())


def with_task_config(
    checkpoint: Checkpoint, head: str, labels: Sequence[str], problem: ProblemType | None
) -> Checkpoint:
    """*checkpoint* with a config for *head* over *labels*, without any other fine-tuned head, and without what is
    cached of their answers."""
    if len(set(labels)) < len(labels) or not all(isinstance(label, str) for label in labels):
        raise ExplorerError(f"The labels are {', '.join(map(str, labels)):.200}; wanted names that all differ.")
    if head == "span":
        names: tuple[str, ...] = ("LABEL_0", "LABEL_1")  # start and end, which transformers does not name
    else:
        names = tuple(labels) or checkpoint.labels
    same = names == checkpoint.labels
    heads = {name: h for name, h in checkpoint.heads.items() if name not in ARCHITECTURES or (name == head and same)}
    hf_config = {k: v for k, v in checkpoint.hf_config.items() if k not in ("num_labels", "problem_type")}
    class_name = family_class(checkpoint.family) + ARCHITECTURES[head]
    hf_config |= {"architectures": [class_name], "id2label": {str(i): label for i, label in enumerate(names)}}
    hf_config["label2id"] = {label: i for i, label in enumerate(names)}
    if head == "sequence_classifier":
        default = "regression" if len(names) == 1 else "single_label_classification"
        hf_config["problem_type"] = problem or (same and checkpoint.hf_config.get("problem_type")) or default
    config = replace(checkpoint.config, num_labels=len(names))
    return replace(checkpoint, heads=heads, config=config, hf_config=hf_config, cache=LRUCache())


def family_class(model_type: str) -> str:
    """The beginning of the class names in transformers: XLMRoberta for xlm-roberta."""
    family = BY_MODEL_TYPE[model_type]
    return family.CLASSES[family.MODEL_TYPES.index(model_type)]

"""Checkpoint: an encoder with the heads in its file. Also reads config.json and the model card."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import torch
from torch import nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.cache import LRUCache
from bertexplorer.model.config import HEAD_WORDS, TASK_WORDS, EncoderConfig, check_bounds
from bertexplorer.model.encoder import ACTIVATIONS, Encoder
from bertexplorer.model.families import BY_MODEL_TYPE, Family
from bertexplorer.model.file_state import FileState, file_state
from bertexplorer.model.heads import (
    MaskedLM,
    NextSentence,
    Pooler,
    ReplacedToken,
    SequenceClassifier,
    SpanScorer,
    TokenClassifier,
)
from bertexplorer.model.layout import encoder_folder
from bertexplorer.model.multi_vector import MultiVectorEncoder
from bertexplorer.model.scheduler import ComputeScheduler
from bertexplorer.model.sentence_encoder import SentenceEncoder
from bertexplorer.model.tensors import stored_tensors, weight_files
from bertexplorer.model.text import Tokenizer


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """An encoder with the heads in its file, ready to run, and where it came from."""

    name: str
    family: str  # model_type of its config.json
    config: EncoderConfig
    encoder: Encoder
    heads: dict[str, nn.Module]  # of HEADS, only what the file holds
    tokenizer: Tokenizer
    precision: str  # fp32 or bf16, as it runs
    device: torch.device
    stored_dtype: torch.dtype  # of the file
    hf_config: dict[str, Any]
    folder: Path
    licence: str
    base: Path | None = None  # the folder of the checkpoint that an adapter was added to
    sentence_encoder: SentenceEncoder | None = None  # as the files beside the weights say; None if there are none
    multi_vector: MultiVectorEncoder | None = None  # the same, of a ColBERT: a vector of each token
    relevance_function: str = ""  # of a cross-encoder: what makes a relevance of its score, such as "Sigmoid"
    unused: tuple[str, ...] = ()  # published names of heads that are not in HEADS and so were ignored
    written: FileState = ()  # of its weight files, when they were read
    # shared by all checkpoints of an app
    scheduler: ComputeScheduler = field(default_factory=ComputeScheduler, repr=False)
    # passes over recent texts
    cache: LRUCache = field(default_factory=LRUCache, repr=False)

    def head(self, name: str) -> nn.Module:
        """The head called *name*. Raises ExplorerError if the checkpoint has none."""
        if name not in self.heads:
            existing = ", ".join(HEAD_WORDS[h] for h in self.heads if h in HEAD_WORDS) or "no head"
            hint = "was fine-tuned for it" if name in TASK_WORDS else "has one, such as mini"
            raise ExplorerError(
                f"{self.name} has no {HEAD_WORDS.get(name, name)} head (it has {existing}); its predictions would be "
                f"random. Choose a checkpoint that {hint}.",
                code="" if name in TASK_WORDS else "head",
            )
        return self.heads[name]

    @property
    def masked_lm(self) -> MaskedLM:
        return cast(MaskedLM, self.head("masked_lm"))

    @property
    def next_sentence(self) -> NextSentence:
        return cast(NextSentence, self.head("next_sentence"))

    @property
    def pooler(self) -> Pooler:
        return cast(Pooler, self.head("pooler"))

    @property
    def replaced_token(self) -> ReplacedToken:
        return cast(ReplacedToken, self.head("replaced_token"))

    @property
    def sequence_classifier(self) -> SequenceClassifier:
        return cast(SequenceClassifier, self.head("sequence_classifier"))

    @property
    def token_classifier(self) -> TokenClassifier:
        return cast(TokenClassifier, self.head("token_classifier"))

    @property
    def span(self) -> SpanScorer:
        return cast(SpanScorer, self.head("span"))

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of the classifier in the order of its logits; LABEL_i if config.json names none."""
        names = self.hf_config.get("id2label") or {}
        return tuple(str(names.get(str(i), f"LABEL_{i}")) for i in range(self.config.num_labels))

    @cached_property
    def sentence_tokenizer(self) -> Tokenizer:
        """The tokenizer for texts of which a vector is made: it cuts them where the sentence encoder does."""
        limit = self.sentence_encoder.max_tokens if self.sentence_encoder else None
        return self.tokenizer if limit is None else self.tokenizer.limited(limit)

    @cached_property
    def num_parameters(self) -> int:
        """The number of parameters; one that two modules share counts once."""
        modules = nn.ModuleDict({"encoder": self.encoder, **self.heads})
        twice = "masked_lm.output.weight" if self.config.tied else ""
        named = modules.named_parameters(remove_duplicate=False)
        return sum({id(p): p.numel() for name, p in named if name != twice}.values())

    @cached_property
    def num_bytes(self) -> int:
        """Bytes of memory that the weights take, including packed copies."""
        modules = nn.ModuleList([self.encoder, *self.heads.values()])
        copies = sum(getattr(module, "packed_bytes", 0) for module in set(modules.modules()))
        return copies + sum(p.numel() * p.element_size() for p in modules.parameters())

    @cached_property
    def revision(self) -> str:
        """The hub commit that it was downloaded from, else the first 12 digits of the SHA-256 of its weight files, or
        of the weights in memory if no files were read, or if the files have changed since."""
        if re.fullmatch(r"[0-9a-f]{40}", self.folder.name):
            return self.folder.name
        digest = sha256()
        if self.folder == Path() or file_state(files := all_weight_files(self.folder, self.base)) != self.written:
            for tensor in nn.ModuleDict({"encoder": self.encoder, **self.heads}).state_dict().values():
                digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().data)
            return f"sha256:{digest.hexdigest()[:12]}"
        for file in files:
            with file.open("rb") as opened:
                while block := opened.read(1 << 20):
                    digest.update(block)
        return f"sha256:{digest.hexdigest()[:12]}"


def all_weight_files(folder: Path, base: Path | None) -> list[Path]:
    """The files with the weights of the checkpoint in *folder*, those of the *base* of an adapter first."""
    of_base = weight_files(encoder_folder(base)) if base else []
    return [*of_base, *weight_files(encoder_folder(folder))]


def with_family(hf: dict[str, Any], folder: Path) -> dict[str, Any]:
    """*hf* with the model_type that configs of 2019 and Google's own files leave out: BERT, if the weights are named as
    BERT's. Raises ExplorerError if they are not."""
    if "model_type" in hf:
        return hf
    if not any(name.startswith("bert.") for name in stored_tensors(folder)):
        raise ExplorerError(f"config.json gives model_type None; wanted one of {', '.join(BY_MODEL_TYPE)}.")
    return hf | {"model_type": "bert"}


def translate(family: Family, hf: dict[str, Any]) -> EncoderConfig:
    """The EncoderConfig of a config.json. Raises ExplorerError if it cannot be built here, or if transformers would
    compute other numbers."""
    try:
        config = family.config(hf)
        check_bounds(config)
    except KeyError as error:
        raise ExplorerError(f"config.json lacks {error.args[0]!r}. Download it again.") from error
    except (TypeError, ValueError, IndexError, AttributeError, ArithmeticError) as error:
        reason = str(error) if str(error).startswith("config.json") else f"config.json cannot be used: {error}"
        raise ExplorerError(reason) from error
    for activation in (config.activation, config.head_activation, config.pooled_activation):
        if not isinstance(activation, str) or activation not in ACTIVATIONS:
            raise ExplorerError(f"config.json gives activation {activation!r}; wanted one of {', '.join(ACTIVATIONS)}.")
    if hf.get("lora_adaptations"):
        raise ExplorerError(
            f"config.json names adapters by task ({', '.join(map(str, hf['lora_adaptations'])):.80}), which are not "
            "read here: without them its vectors would be wrong. Take jinaai/jina-embeddings-v3-hf, and merge one of "
            "its adapters with PEFT."
        )
    for odd in ("is_decoder", "rope_scaling"):
        if hf.get(odd):
            raise ExplorerError(f"config.json gives {odd} = {hf[odd]!r:.80}; such a checkpoint is not supported.")
    if hf.get("position_embedding_type", "absolute") != "absolute":
        raise ExplorerError(
            f"config.json gives position_embedding_type {hf['position_embedding_type']!r}; only 'absolute' is "
            "supported."
        )
    return config


CARD_BYTES = 4000  # of a model card, which its front matter begins


def beginning_of_card(folder: Path) -> str:
    """The beginning of the model card in *folder*; "" if there is none. No more is read of a file from outside."""
    card = folder / "README.md"
    if not card.is_file():
        return ""
    with card.open("rb") as file:
        return file.read(CARD_BYTES).decode("utf-8", errors="replace").replace("\r\n", "\n")


def read_licence(folder: Path) -> str:
    """The licence that the front matter of the model card names; '' if it names none."""
    match = re.search(r"^license:[ \t]*([\w.\-]+)[ \t]*$", beginning_of_card(folder), re.MULTILINE)
    return match[1] if match else ""


# A model card names the language by its code.
LANGUAGES = {
    **{"ar": "Arabic", "cs": "Czech", "da": "Danish", "de": "German", "el": "Greek", "en": "English", "es": "Spanish"},
    **{"fa": "Persian", "fi": "Finnish", "fr": "French", "he": "Hebrew", "hi": "Hindi", "hu": "Hungarian"},
    **{"id": "Indonesian", "it": "Italian", "ja": "Japanese", "ko": "Korean", "nl": "Dutch", "no": "Norwegian"},
    **{"pl": "Polish", "pt": "Portuguese", "ro": "Romanian", "ru": "Russian", "sv": "Swedish", "th": "Thai"},
    **{"tr": "Turkish", "uk": "Ukrainian", "vi": "Vietnamese", "zh": "Chinese"},
}
STEP = re.compile(r"step-\d{1,12}")  # the folder of a step of a training, which has the card of the training


def read_language(folder: Path) -> str:
    """The language that the front matter of the model card names; '' if it names none, or several."""
    home = folder.parent if STEP.fullmatch(folder.name) else folder
    front = re.match(r"---\n(.*?)\n---", beginning_of_card(home), re.DOTALL)
    named = re.search(r"^language:(.*(?:\n[ \t]*-.*)*)", front[1], re.MULTILINE) if front else None
    if named is None:
        return ""
    codes = re.findall(r"[\w-]+", re.sub(r"^[ \t]*-", "", named[1], flags=re.MULTILINE))
    return LANGUAGES.get(codes[0], "") if len(codes) == 1 else ""

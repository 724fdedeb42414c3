"""The checkpoint families: each a table of names and a config, found by the model_type of a config.json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from bertexplorer.errors import ExplorerError
from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.earlier_names import current_config
from bertexplorer.model.families import (
    albert,
    bert,
    deberta,
    distilbert,
    electra,
    eurobert,
    gte,
    jina,
    modernbert,
    mpnet,
    nomic_bert,
    roberta,
)


class Family(Protocol):
    """The module of a family. python/bert.py is the one to read first."""

    @property
    def MODEL_TYPES(self) -> tuple[str, ...]:
        """The values of model_type in config.json."""

    @property
    def CLASSES(self) -> tuple[str, ...]:
        """The beginning of the class names in transformers, one for each of MODEL_TYPES."""

    @property
    def PREFIX(self) -> str:
        """The prefix of the encoder's tensors; files of a bare encoder leave it out."""

    @property
    def NAMES(self) -> Mapping[Any, str]:
        """Our module or tensor -> its published name. # is a layer, from 0. The key is a tuple of our modules if a file
        has one tensor for all of them, in equal slices of axis 0."""

    @property
    def COPIES(self) -> Mapping[str, str]:
        """A second name under which some files repeat a tensor -> its first name."""

    @property
    def UNREAD(self) -> tuple[str, ...]:
        """First names in COPIES whose tensor may differ from the copy: transformers reads the copy alone."""

    @property
    def STRAYS(self) -> tuple[str, ...]:
        """Regular expressions for tensors that transformers does not read, besides those of `weight_map`."""

    def config(self, hf: dict[str, Any], /) -> EncoderConfig:
        """Translate a config.json. Raises KeyError naming what it lacks, and ValueError for an unsupported layout."""


OF_BERT = (bert, roberta, electra, distilbert, albert, mpnet, deberta)
WITH_ROTARY_POSITIONS = (modernbert, nomic_bert, gte, jina, eurobert)
FAMILIES: tuple[Family, ...] = (*OF_BERT, *WITH_ROTARY_POSITIONS)
BY_MODEL_TYPE: dict[str, Family] = {name: family for family in FAMILIES for name in family.MODEL_TYPES}


def read_config(folder: Path) -> dict[str, Any]:
    """config.json as a dict, in the names that transformers has today; it may lack a model_type. Code that the
    checkpoint brings (auto_map) is never run: a built-in family is read with the code here. Raises ExplorerError if the
    file is too large, unreadable, or of an unknown family."""
    path = folder / "config.json"
    if not path.is_file():
        raise ExplorerError(f"No config.json in {folder}; wanted a folder with config.json and model.safetensors.")
    if path.stat().st_size > 1_000_000:
        raise ExplorerError(f"config.json is {path.stat().st_size:,} bytes; wanted at most 1,000,000.")
    try:
        hf = json.loads(path.read_text("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ExplorerError(f"config.json is not valid JSON ({error}). Download it again.") from error
    if not isinstance(hf, dict):
        raise ExplorerError(f"config.json holds a {type(hf).__name__}; wanted an object. Download it again.")
    try:
        hf = current_config(hf)
    except (TypeError, ValueError, AttributeError) as error:
        raise ExplorerError(f"config.json cannot be used: {error}. Download it again.") from error
    known = "model_type" not in hf or (isinstance(hf["model_type"], str) and hf["model_type"] in BY_MODEL_TYPE)
    if "auto_map" in hf and not (known and "model_type" in hf):
        raise ExplorerError(
            "config.json asks for the checkpoint's own code (auto_map), which is never run here. Use a checkpoint of a "
            f"built-in family: {', '.join(BY_MODEL_TYPE)}."
        )
    if not known:
        raise ExplorerError(
            f"config.json gives model_type {hf['model_type']!r:.80}; wanted one of {', '.join(BY_MODEL_TYPE)}."
        )
    return hf

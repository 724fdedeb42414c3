"""A checkpoint of every family, loaded here and by transformers, and a padded batch to run through both."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.earlier_names import current_tensors
from bertexplorer.model.forward import Forward
from bertexplorer.model.load import load
from bertexplorer.model.tensors import stored_tensors
from tests.conftest import BUNDLED, SHARED
from tests.tiny import RECIPES

LENGTHS = (40, 40, 27)  # beyond ModernBERT's local window; the last row is padded
CASES = [name for name in RECIPES if name != "bert-classifier"]
REAL = {"mini": ("BertForPreTraining", BUNDLED), "minilm": ("BertModel", SHARED / "minilm")}


@dataclass
class Case:
    """One checkpoint: ours, the reference and a batch."""

    name: str
    folder: Path
    ours: Checkpoint
    theirs: transformers.PreTrainedModel
    ids: Tensor
    segments: Tensor | None
    mask: Tensor

    def run(self, **settings: object) -> Forward:
        return self.ours.encoder(self.ids, self.segments, self.mask, **settings)

    def refer(self, **changes: Tensor) -> transformers.utils.ModelOutput:
        """The reference on the same batch, with all hidden states and attentions."""
        inputs = {"input_ids": self.ids, "attention_mask": self.mask.long()} | changes
        if self.segments is not None:
            inputs["token_type_ids"] = self.segments
        return self.theirs(**inputs, output_hidden_states=True, output_attentions=True)


def make_case(name: str, kind: str, folder: Path) -> Case:
    ours = load(folder, name=name, precision="fp32", device="cpu")
    theirs = getattr(transformers, kind).from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    config, draw = ours.config, torch.Generator().manual_seed(0)
    shape = (len(LENGTHS), max(LENGTHS))
    ids = torch.randint(config.pad_id + 1, config.vocab_size, shape, generator=draw)
    mask = torch.arange(shape[1]) < torch.tensor(LENGTHS)[:, None]
    segments = torch.randint(0, 2, shape, generator=draw) if config.num_segments == 2 else None
    return Case(name, folder, ours, theirs.eval(), ids.where(mask, config.pad_id), segments, mask)


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """By the names that transformers has today; it writes those of some families in earlier ones."""
    kind = json.loads((folder / "config.json").read_text())["model_type"]
    return {name: entry.read() for name, entry in current_tensors(kind, stored_tensors(folder)).items()}


@pytest.fixture(scope="session", params=[*CASES, "mini", pytest.param("minilm", marks=pytest.mark.shared)])
def case(request: pytest.FixtureRequest) -> Case:
    name = request.param
    if name in REAL:
        return make_case(name, *REAL[name])
    return make_case(name, RECIPES[name].model, request.getfixturevalue("tiny")(name))


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield

"""A tiny checkpoint of each family with an MLM head, loaded here in fp32 and by transformers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Encoding
from tests.conftest import Tiny

NAMES = ("bert", "roberta", "electra-generator", "distilbert", "albert", "modernbert")
SENTENCES = (
    "The capital of france is [MASK].",
    "[MASK].",
    "The doctor said that [MASK] works as a nurse in the city of london, and [MASK] is good.",
    "a great [MASK], a terrible movie",
    "no mask here",
)


@dataclass
class Twin:
    """The same weights twice."""

    name: str
    ours: Checkpoint
    theirs: transformers.PreTrainedModel

    @property
    def encodings(self) -> list[Encoding]:
        return [self.ours.tokenizer.encode(sentence) for sentence in SENTENCES]

    def refer(self, ids: Sequence[int]) -> Tensor:
        """Natural-log probabilities (t x v) of one sequence alone, by transformers."""
        with torch.no_grad():
            return self.theirs(input_ids=torch.tensor([list(ids)])).logits[0].float().log_softmax(-1)


@pytest.fixture(scope="session", params=NAMES)
def twin(request: pytest.FixtureRequest, tiny: Tiny) -> Twin:
    return make_twin(request.param, tiny(request.param))


def make_twin(name: str, folder: Path) -> Twin:
    theirs = transformers.AutoModelForMaskedLM.from_pretrained(folder, attn_implementation="eager")
    return Twin(name, load(folder, name=name, precision="fp32", device="cpu"), theirs.eval())

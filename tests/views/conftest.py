"""The bundled checkpoint twice: loaded here in fp32, and by transformers as the independent source of every number."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
import torch
import transformers
from torch import Tensor

from bertexplorer.model.checkpoint import Checkpoint, translate
from bertexplorer.model.families import BY_MODEL_TYPE
from bertexplorer.model.load import load
from tests.conftest import BUNDLED, Tiny
from tests.tolerance import of_encoder

MINI = translate(BY_MODEL_TYPE["bert"], json.loads((BUNDLED / "config.json").read_text()))
LOGITS = 20.0  # about the largest logit of any checkpoint here, and the size of log-probabilities
CLOSE = of_encoder(MINI, LOGITS)  # nats; also the relative error of a probability
NEAR = of_encoder(MINI)  # numbers around 1: cosines, attention, states


@dataclass
class Reference:
    """The results of transformers with the same weights. Sequences are run one by one, whole, without a cache."""

    model: transformers.PreTrainedModel
    tokenizer: transformers.PreTrainedTokenizerBase

    def ids(self, text: str) -> list[int]:
        return self.tokenizer(text)["input_ids"]

    def log_probs(self, ids: Sequence[int], seen: Tensor | None = None) -> Tensor:
        """Natural-log probabilities, t x v; *seen* (t x t): which tokens each token may attend to."""
        mask = None if seen is None else (~seen).float()[None, None] * torch.finfo(torch.float32).min
        with torch.no_grad():
            logits = self.model(input_ids=torch.tensor([list(ids)]), attention_mask=mask).logits[0]
        return logits.double().log_softmax(-1)

    @property
    def mask(self) -> int:
        return self.tokenizer.mask_token_id


def refer(folder: Path) -> Reference:
    model = transformers.AutoModelForMaskedLM.from_pretrained(folder, attn_implementation="eager", dtype=torch.float32)
    return Reference(model.eval(), transformers.AutoTokenizer.from_pretrained(folder))


@pytest.fixture(scope="session")
def mini(bundled: Path) -> Checkpoint:
    return load(bundled, name="mini", precision="fp32", device="cpu")


@pytest.fixture(scope="session")
def reference(bundled: Path) -> Reference:
    return refer(bundled)


@pytest.fixture(scope="session")
def small(tiny: Tiny) -> Checkpoint:
    """A tiny BERT with a vocabulary small enough to search all of it."""
    return load(tiny("bert-mlm"), name="small", precision="fp32", device="cpu")


@pytest.fixture(scope="session")
def small_reference(tiny: Tiny) -> Reference:
    return refer(tiny("bert-mlm"))

"""Tiny checkpoints with a fine-tuned head, here and in transformers, shared by the tests of fine-tuned answers."""

from dataclasses import dataclass, replace

import torch
import transformers
from torch import Tensor

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.text import Encoding, Text
from tests.conftest import Tiny

CLASSES = {"label": "SequenceClassification", "tag": "TokenClassification", "span": "QuestionAnswering"}
FILM = Text("the film is a great one , she said in london .")
ASKED = Text("where is the cat ?", "the cat sat on a mat in london , and the dog in paris .")
TEXTS = {"label": FILM, "tag": FILM, "span": ASKED}


@dataclass(frozen=True)
class Tuned:
    """The same fine-tuned weights twice. *what*: the kind of answer."""

    what: str
    ours: Checkpoint
    theirs: transformers.PreTrainedModel

    @property
    def text(self) -> Text:
        return TEXTS[self.what]

    @property
    def encoding(self) -> Encoding:
        return self.ours.tokenizer.encode(self.text)

    def logits(self, ids: Tensor) -> Tensor:
        """n x l, n x t x l or n x t x 2, with gradients."""
        segments = torch.tensor([self.encoding.segments]).expand(len(ids), -1)
        more = {"token_type_ids": segments} if self.ours.family == "bert" else {}
        out = self.theirs(input_ids=ids, **more)
        return torch.stack([out.start_logits, out.end_logits], -1) if self.what == "span" else out.logits


def tuned(tiny: Tiny, what: str, family: str = "bert") -> Tuned:
    folder, name = tiny(f"{family}-{CLASSES[what]}"), f"AutoModelFor{CLASSES[what]}"
    theirs = getattr(transformers, name).from_pretrained(folder, attn_implementation="eager")
    return Tuned(what, load(folder, name=what, precision="fp32", device="cpu"), theirs.eval())


def of_problem(checkpoint: Checkpoint, problem: str) -> Checkpoint:
    """*checkpoint* as if its config.json named *problem* as its problem_type."""
    return replace(checkpoint, hf_config={**checkpoint.hf_config, "problem_type": problem})

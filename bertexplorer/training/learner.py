"""A learner: a checkpoint with a task's head, which the loop trains and which then predicts.

What a learner gets, what it gives, and where the parts of each are written down:

    read       examples (tasks/x.py) -> token ids, each with its target   texts.Item
    collate    items -> a batch, padded                                   texts.TextBatch, objective.Batch
    losses     a batch -> its losses, by name                             objective.Loss
    evaluate   examples -> metrics, and a row with the answer to each     task.Evaluation, task.EvaluatedRow
    predict    rows without labels -> the answer to each                  a TypedDict beside the learner
    state      itself -> JSON, from which `restore` makes it again        task.json of a checkpoint

The names of the losses are those in `weights`, also in the dictionaries of `counts` and `losses` and in the events
about steps; the names of the metrics are those in Task.metrics."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.training.objective import Loss
from bertexplorer.training.task import Evaluation
from bertexplorer.training.texts import AT_ONCE, Item, LimitedTokenizer, TextBatch, by_length, hidden_states, pad

Result = TypeVar("Result")


class Learner(ABC):
    """A checkpoint with a task's head: the Objective that the loop trains. A subclass defines `weights`, `heads`,
    `read`, `losses`, `evaluate` and `predict`, and overrides what else differs.

    A learner whose batches depend on their rows also has a method `order` (finetuning/batch_sampler.Order)."""

    weights: dict[str, float]  # name of a loss -> its weight in the sum that is trained
    heads: tuple[str, ...] = ()  # of the checkpoint, trained together with the encoder
    saved: tuple[str, ...] = ()  # attributes, also arguments of __init__, that `state` saves besides the options
    max_tokens = 128  # of an input, until `set_max_tokens` is called
    first_only = False  # whether the head reads only the vector of the first token
    bf16 = False  # whether it computes in bf16

    def __init__(self, checkpoint: Checkpoint, options: Any, *, extra: Mapping[str, nn.Module] | None = None) -> None:
        """*extra*: trained parts that transformers does not know; they are saved in a file of their own."""
        self.checkpoint, self.options = checkpoint, options
        self.extra = nn.ModuleDict(extra).to(checkpoint.device)
        heads = {name: checkpoint.head(name) for name in self.heads}
        self.modules = nn.ModuleDict({"encoder": checkpoint.encoder, **heads, **self.extra})
        self.set_max_tokens(self.max_tokens)

    @classmethod
    def check(cls, checkpoint: Checkpoint, train: Sequence[Any], options: Any) -> None:
        """Raises ExplorerError if no learner can be created from *checkpoint*; called before a run starts. Here every
        checkpoint will do."""
        return

    @classmethod
    def create(cls, checkpoint: Checkpoint, train: Sequence[Any], options: Any, *, seed: int) -> Self:
        """A learner before training; new weights are drawn with *seed*. Raises ExplorerError if the examples or the
        checkpoint do not fit the task."""
        return cls(checkpoint, options)

    @classmethod
    def restore(
        cls, checkpoint: Checkpoint, options: Any, state: Mapping[str, Any], tensors: Mapping[str, Tensor]
    ) -> "Learner":
        """A saved learner. *state*: as `state` returned it, *options* those in it; *tensors*: the state dict of
        `extra`."""
        learner = cls(checkpoint, options, **{name: state[name] for name in cls.saved})
        learner.set_max_tokens(state["max_tokens"])
        learner.extra.load_state_dict(dict(tensors))
        return learner

    def state(self) -> dict[str, Any]:
        """What `restore` needs besides the weights, as JSON: "options" of the task, "max_tokens", and the attributes
        named in `saved`. Explore reads some of these names, of whatever task: `training_of` in answers/task_head.py
        lists them, such as "low" and "high", the ends of a score that is a cosine."""
        saved = {name: getattr(self, name) for name in self.saved}
        return {"options": asdict(self.options), **saved, "max_tokens": self.max_tokens}

    def files(self) -> dict[str, Any]:
        """Further JSON files of the saved checkpoint: path in its folder -> content."""
        return {}

    def set_max_tokens(self, max_tokens: int) -> None:
        """Cut every input to *max_tokens*, or to the longest input of the checkpoint if that is shorter. Sets
        `tokenizer`, which does so."""
        self.max_tokens = min(max_tokens, self.checkpoint.tokenizer.max_tokens)
        self.tokenizer = LimitedTokenizer(self.checkpoint.tokenizer, self.max_tokens)

    @abstractmethod
    def read(self, examples: Sequence[Any]) -> list[Item]:
        """The examples as token ids with their targets. Item.target is read by `targets` and by this learner alone."""

    def targets(self, items: Sequence[Item]) -> Tensor:
        """The targets of a batch of *items*, which become TextBatch.targets."""
        return torch.zeros(len(items))

    def collate(self, items: Sequence[Item]) -> Any:
        """A batch (objective.Batch), padded to the longest item."""
        return pad(items, self.checkpoint.tokenizer.pad_id, self.targets(items))

    def counts(self, batch: Any) -> dict[str, int]:
        """Name of a loss -> the number of its terms in *batch*, before it is computed; here one per target."""
        return dict.fromkeys(self.weights, len(batch.targets))

    @abstractmethod
    def losses(self, batch: Any) -> dict[str, Loss]:
        """Name of a loss -> the loss of *batch*, for each name in `weights`."""

    @abstractmethod
    def evaluate(self, examples: Sequence[Any]) -> Evaluation:
        """The metrics, and a row with the answer to each of *examples*, in evaluation mode. Raises ExplorerError if no
        example has what is measured, such as a passage that answers its query."""

    @abstractmethod
    def predict(self, inputs: Sequence[Mapping[str, str]]) -> Sequence[Any]:
        """The answer to each of *inputs*, rows without labels as column of the task -> text. An answer is a dictionary
        that can be JSON, which the playground shows: a list under "labels", of {"label", "probability"}, as shares,
        anything else as tables. Raises ExplorerError for an empty text."""

    def in_batches(
        self, items: Sequence[Item], compute: Callable[[list[Item], Any], Iterable[Result]], max_tokens: int = AT_ONCE
    ) -> list[Result]:
        """The results of *compute* for *items*, in their order. *compute*(items, batch) is called in evaluation mode
        for batches of items of similar length, *max_tokens* padded tokens each, and returns a result for each of its
        items."""
        results: dict[int, Result] = {}  # index of an item -> its result
        with evaluation_mode(self):
            for indices in by_length(items, max_tokens):
                part = [items[i] for i in indices]
                batch = self.collate(part).to(self.checkpoint.device)
                results |= zip(indices, compute(part, batch), strict=True)
        return [results[i] for i in range(len(items))]


def sequence_logits(modules: nn.ModuleDict, batch: TextBatch) -> Float[Tensor, "b labels"]:
    """The logits of the sequence head of a learner's *modules*, in fp32. Of the cached vectors of a head that reads
    only the first token there is one for each text, and nothing is padded."""
    last = hidden_states(modules["encoder"], batch)
    mask = batch.mask if last.shape[1] > 1 else None
    logits: Tensor = modules["sequence_classifier"](last, mask)
    return logits.float()


class ExplainedAnswer(NamedTuple):
    """An answer whose training rows are sought. *answer*: as text; *example*: the new row as an example of the task
    that has this answer as its label."""

    answer: str
    example: Any


class ExampleInWords(NamedTuple):
    """The texts of an example, and its label, tags, answer or score as text."""

    texts: tuple[str, ...]
    answer: str


class Traceable(Learner):
    """A learner whose answers can be traced to training rows, because each row has a loss of its own."""

    accepts_answer = True  # whether `example_to_explain` accepts an answer other than the learner's own

    @abstractmethod
    def row_losses(self, batch: Any) -> Float[Tensor, " b"]:
        """The loss of each item, in nats where it is a log-probability; their sum is that of `losses`."""

    def answer_losses(self, batch: Any) -> Float[Tensor, " b"]:
        """For examples from `example_to_explain`: a number for each that falls as the answer becomes likelier."""
        return self.row_losses(batch)

    @abstractmethod
    def example_to_explain(self, cells: Mapping[str, str], answer: str) -> ExplainedAnswer:
        """An example of *cells*, a new row, with this *answer*; "": the answer that `predict` gives. Raises
        ExplorerError for an empty text and for an answer that the learner cannot give."""

    @abstractmethod
    def describe_example(self, example: Any) -> ExampleInWords:
        """*example* for people."""

    def outputs(self, items: Sequence[Item]) -> list[Float[np.ndarray, "s d"]]:
        """The head's input for each item: the output of the encoder for the first token, or for all."""

        def compute(part: list[Item], batch: Any) -> list[np.ndarray]:
            last = hidden_states(self.modules["encoder"], batch).float().cpu().numpy()
            outputs = []
            for row, item in enumerate(part):
                tokens = 1 if self.first_only else len(item.ids)
                outputs.append(last[row, :tokens])
            return outputs

        return self.in_batches(items, compute)


@contextmanager
def evaluation_mode(learner: Learner) -> Iterator[None]:
    """No dropout and no gradients, and bf16 if the learner computes in it. Restores the modules' modes and the random
    state on exit."""
    modes = {module: module.training for module in learner.modules.modules()}
    learner.modules.eval()
    try:
        device = learner.checkpoint.device
        with (
            torch.no_grad(),
            torch.random.fork_rng(),
            torch.autocast(device.type, torch.bfloat16, enabled=learner.bf16),
        ):
            yield
    finally:
        for module, mode in modes.items():
            module.training = mode

"""The training loop: a generator of steps. Saving, evaluating and stopping are up to the caller."""

import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import count
from math import isfinite
from time import monotonic, perf_counter
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Dataset

from bertexplorer.errors import ExplorerError
from bertexplorer.training.data_parallel import DataParallel
from bertexplorer.training.objective import Batch, Loss
from bertexplorer.training.optimiser import Learning, rate

MAX_NONFINITE_STEPS = 20  # one after the other, before giving up


@dataclass
class LoopState:
    """The progress of a run. Together with the weights and the optimiser's moments it allows an exact resume."""

    stretch: int = 0  # index of the stage of the run; saved states have it under this name
    step: int = 0  # steps done since the run began; the data and the dropout of a step follow from seed and step
    tokens: int = 0  # seen since the run began, without padding
    seconds: float = 0.0  # spent since the run began
    begun_step: int = 0  # the step at which this stage began: its learning rate counts from there
    begun_seconds: float = 0.0
    skipped: int = 0  # steps left out because their gradient was not finite


@dataclass(frozen=True)
class Budget:
    """The length of a stage: in steps (exactly repeatable) or in minutes (by the clock)."""

    steps: int = 0
    minutes: float = 0.0

    def share(self, state: LoopState) -> float:
        """The share of the budget that is spent, 0 to 1."""
        if self.steps:
            return min(1.0, (state.step - state.begun_step) / self.steps)
        if self.minutes:
            return min(1.0, (state.seconds - state.begun_seconds) / (60 * self.minutes))
        return 1.0


@dataclass(frozen=True)
class StepResult:
    """The result of one step. The keys of its dictionaries are the names of the objective's losses."""

    step: int  # number of the step, from 1
    rate: float  # the learning rate
    losses: dict[str, float]  # means in nats
    right: dict[str, float]  # share of right answers
    counts: dict[str, int]  # number of terms
    norm: float  # of the gradient, before clipping
    tokens: int  # without padding
    padded: int  # tokens with padding
    seconds: float
    skipped: bool = False  # whether its gradient was not finite, so that it changed nothing


@dataclass
class Window:
    """The steps since the last event about steps."""

    steps: list[StepResult] = field(default_factory=list)
    since: float = field(default_factory=monotonic)

    def summary(self) -> dict[str, Any]:
        """The fields of an event about these steps: means over them, of losses weighted by their number of terms.
        "padding" is the share of the tokens that are padding; "skipped" is missing if no step was."""
        steps, last = self.steps, self.steps[-1]
        losses = {}
        accuracies = {}
        for name in last.counts:
            terms = 0
            loss = right = 0.0
            for step in steps:
                own_terms = step.counts.get(name, 0)
                if own_terms:
                    terms += own_terms
                    loss += step.losses[name] * own_terms
                    right += step.right[name] * own_terms
            losses[name] = loss / max(1, terms)
            accuracies[name] = right / max(1, terms)
        tokens = sum(step.tokens for step in steps)
        result: dict[str, Any] = {
            "loss": losses,
            "accuracy": accuracies,
            "rate": last.rate,
            "norm": sum(step.norm for step in steps) / len(steps),
            "tokens_per_second": tokens / sum(step.seconds for step in steps),
            "padding": 1 - tokens / sum(step.padded for step in steps),
        }
        skipped = sum(step.skipped for step in steps)
        if skipped:
            result["skipped"] = skipped
        return result


def train(
    workers: DataParallel,
    optimiser: torch.optim.Optimizer,
    batches: Callable[[int], Sequence[Batch]],
    state: LoopState,
    *,
    learning: Learning,
    budget: Budget,
    seed: int,
) -> Iterator[StepResult]:
    """Train until the budget is spent, updating *state* and the weights, and yielding a StepResult after every step.
    *batches*: a function, number of steps done -> the batches of the next one; *seed*: of dropout. A step whose
    gradient is not finite changes no weight. Raises ExplorerError if that happens MAX_NONFINITE_STEPS times in a row.
    """
    for replica in workers.copies:
        replica.modules.train()
    parameters = [p for p in workers.objective.modules.parameters() if p.requires_grad]
    failed = 0  # steps in a row
    clock = perf_counter()
    while (share := budget.share(state)) < 1:
        # 1. The gradient
        began = perf_counter()
        torch.manual_seed(seed * 1_000_003 + state.step)  # dropout depends only on seed and step, like the data
        step_batches = batches(state.step)
        counts, losses = workers.gradients(step_batches)
        norm = float(nn.utils.clip_grad_norm_(parameters, learning.clip or float("inf")))

        # 2. The weights
        finite = isfinite(norm)
        current_rate = rate(share, learning)
        if finite:
            for group in optimiser.param_groups:
                group["lr"] = current_rate * group.get("scale", 1.0)
            optimiser.step()
        optimiser.zero_grad(set_to_none=True)
        failed = 0 if finite else failed + 1
        if failed >= MAX_NONFINITE_STEPS:
            raise ExplorerError(f"The gradient of {failed} steps in a row was not finite. Lower the learning rate.")

        # 3. The books
        tokens = sum(batch.tokens for batch in step_batches)
        state.step += 1
        state.tokens += tokens
        state.skipped += not finite
        ended = perf_counter()
        state.seconds += ended - clock  # includes the caller's work since the last step
        clock = ended
        yield StepResult(
            step=state.step,
            rate=current_rate,
            losses=means(losses, counts, lambda loss: loss.total),
            right=means(losses, counts, lambda loss: loss.right),
            counts=counts,
            norm=norm,
            tokens=tokens,
            padded=sum(batch.ids.numel() for batch in step_batches),
            seconds=ended - began,
            skipped=not finite,
        )


def means(
    losses: Sequence[dict[str, Loss]], counts: dict[str, int], total: Callable[[Loss], Tensor]
) -> dict[str, float]:
    """Name of a loss -> the sum of *total* over the batches of a step, divided by the number of terms."""
    result = {}
    for name, terms in counts.items():
        if terms:
            result[name] = sum(float(total(batch[name])) for batch in losses if name in batch) / terms
    return result


T = TypeVar("T")


class Prefetched(Generic[T]):
    """Calls *make*, a function of a step's number, for step n + 1 in a thread while step n trains. To be used in a
    with statement, at whose end the thread ends.

    The result of *make* must depend on the number alone. Only one call runs at a time; an error is raised when its step
    is requested."""

    def __init__(self, make: Callable[[int], T]) -> None:
        self.make = make
        self.thread = ThreadPoolExecutor(1, "prefetch")
        self.pending: dict[int, Future[T]] = {}

    def __call__(self, step: int) -> T:
        current = self.pending.pop(step, None) or self.thread.submit(self.make, step)
        self.pending = {step + 1: self.thread.submit(self.make, step + 1)}
        return current.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.thread.shutdown(cancel_futures=True)


def ignore_stop_signals(worker: int) -> None:
    """In a process that prepares batches: a signal to the whole group must only reach the one that trains."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)


class PrefetchedForGPU(Dataset[T]):
    """The same for a GPU, which one thread cannot supply: *processes* prepare the steps from *first* on, in order, and
    the tensors arrive in pinned memory, from which the GPU copies while it computes. The number of a step is not looked
    at: each call returns the next one."""

    def __init__(self, make: Callable[[int], T], first: int, processes: int) -> None:
        self.make = make
        self.loader = DataLoader(
            self,
            batch_size=None,
            sampler=cast(Iterable[int], count(first)),
            num_workers=processes,
            pin_memory=torch.cuda.is_available(),
            multiprocessing_context="fork",  # the text is shared, not copied
            worker_init_fn=ignore_stop_signals,
        )

    def __getitem__(self, step: int) -> T:
        return self.make(step)

    def __call__(self, step: int) -> T:
        return cast(T, next(self.prepared))

    def __enter__(self) -> Self:
        self.prepared = iter(self.loader)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        del self.prepared  # ends the processes

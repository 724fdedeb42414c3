"""Decoding: several masks filled four ways, which shows why independent answers must not be multiplied."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from bertexplorer import engine
from bertexplorer.answers.candidates import encode_masked
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor

    from bertexplorer.model.checkpoint import Checkpoint

MAX_MASKS = 20
METHODS = ("independent", "left to right", "most certain first", "beam")
KEYS, MEASURE = ("method", "order"), "log_probability"


@dataclass(frozen=True)
class Options:
    beam_width: Annotated[int, Option("Beam width", 1, 20)] = 5


@dataclass(frozen=True)
class Step:
    """One mask being filled. Log-probabilities are in nats, given the masks filled before."""

    position: int  # of the token, 0-based
    token: str
    id: int
    log_probability: float


@dataclass(frozen=True)
class Filling:
    """One way to fill all the masks."""

    method: str
    steps: tuple[Step, ...]  # in the order of filling
    claimed: float  # sum of the steps' log-probabilities, as the method itself saw them (nats)
    chained: float  # the same pieces scored left to right, each given the ones before it (nats): comparable

    @property
    def tokens(self) -> tuple[str, ...]:
        """The pieces in text order."""
        return tuple(step.token for step in sorted(self.steps, key=lambda step: step.position))


@dataclass(frozen=True)
class Decoding:
    tokens: tuple[str, ...]
    positions: tuple[int, ...]  # of the masks, left to right
    fillings: tuple[Filling, ...]  # in the order of METHODS
    sentences: tuple[str, ...]  # the text as each one fills it


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Decoding:
    """Fill the masks of *text* four ways: independently, left to right, the most certain first, and by beam
    search. Raises ExplorerError without a mask, and for more than 20."""
    encoding = encode_masked(checkpoint, text)
    if len(encoding.masked) > MAX_MASKS:
        raise ExplorerError(f"The text has {len(encoding.masked)} masks; the limit is {MAX_MASKS}. Hide fewer words.")
    steps = {
        "independent": independent(checkpoint, encoding),
        "left to right": one_by_one(checkpoint, encoding, certain_first=False),
        "most certain first": one_by_one(checkpoint, encoding, certain_first=True),
        "beam": beam(checkpoint, encoding, options.beam_width),
    }
    fillings = []
    sentences = []
    for method, method_steps in steps.items():
        fillings.append(
            Filling(
                method=method,
                steps=tuple(method_steps),
                claimed=sum(step.log_probability for step in method_steps),
                chained=chain(checkpoint, encoding, method_steps),
            )
        )
        filled = fill_masks(encoding, method_steps)
        typed = [id for id, span in zip(filled.ids, encoding.spans, strict=True) if span]
        sentences.append(checkpoint.tokenizer.join(typed))
    return Decoding(encoding.tokens, positions=encoding.masked, fillings=tuple(fillings), sentences=tuple(sentences))


def fill_masks(encoding: Encoding, steps: Sequence[Step]) -> Encoding:
    """*encoding* with the pieces of *steps* in its masks."""
    return encoding.with_ids({step.position: step.id for step in steps})


def step_at(checkpoint: Checkpoint, position: int, log_probs: Tensor, token: int) -> Step:
    """The mask at *position*, whose answers have these *log_probs*, filled with *token*."""
    name = checkpoint.tokenizer.show(token)
    return Step(position, token=name, id=token, log_probability=float(log_probs[token]))


def log_probs_of_pieces(
    checkpoint: Checkpoint, encodings: Sequence[Encoding], positions: Sequence[Sequence[int]]
) -> Iterator[Float[Tensor, "m v"]]:
    """`engine.masked_log_probs` without the rows of the output matrix that have no piece."""
    rows = engine.masked_log_probs(checkpoint, encodings, positions=positions)
    return (row[:, : checkpoint.tokenizer.vocab_size] for row in rows)


def independent(checkpoint: Checkpoint, encoding: Encoding) -> list[Step]:
    """Every mask answered in one pass, while the other masks are still open."""
    log_probs = next(log_probs_of_pieces(checkpoint, [encoding], [encoding.masked]))
    steps = []
    for position, row in zip(encoding.masked, log_probs, strict=True):
        steps.append(step_at(checkpoint, position, row, int(row.argmax())))
    return steps


def one_by_one(checkpoint: Checkpoint, encoding: Encoding, *, certain_first: bool) -> list[Step]:
    """Fill one mask in each pass: the leftmost, or the one whose best answer is the most probable."""
    steps: list[Step] = []
    todo = list(encoding.masked)  # a list of its own, as the best answer may be [MASK] itself
    while todo:
        log_probs = next(log_probs_of_pieces(checkpoint, [fill_masks(encoding, steps)], [todo]))
        chosen = int(log_probs.max(dim=-1).values.argmax()) if certain_first else 0
        row = log_probs[chosen]
        steps.append(step_at(checkpoint, todo.pop(chosen), row, int(row.argmax())))
    return steps


def beam(checkpoint: Checkpoint, encoding: Encoding, width: int) -> list[Step]:
    """Fill left to right, keeping the *width* fillings with the highest joint log-probability. Returns the best one."""
    beams: list[list[Step]] = [[]]
    for position in encoding.masked:
        filled = [fill_masks(encoding, steps) for steps in beams]
        rows = log_probs_of_pieces(checkpoint, filled, [[position]] * len(beams))
        longer = []
        for steps, row in zip(beams, rows, strict=True):
            best = row[0].topk(min(width, row.shape[-1])).indices
            longer += [[*steps, step_at(checkpoint, position, row[0], int(token))] for token in best]
        longer.sort(key=lambda steps: -sum(step.log_probability for step in steps))
        beams = longer[:width]
    return beams[0]


def chain(checkpoint: Checkpoint, encoding: Encoding, steps: Sequence[Step]) -> float:
    """Log-probability of a filling by the chain rule, left to right (nats)."""
    ordered = sorted(steps, key=lambda step: step.position)
    states = [fill_masks(encoding, ordered[:i]) for i in range(len(ordered))]
    log_probs = engine.masked_log_probs(checkpoint, states, positions=[[step.position] for step in ordered])
    return sum(float(row[0, step.id]) for row, step in zip(log_probs, ordered, strict=True))


def rows(result: Decoding) -> list[dict[str, object]]:
    """One row for each step: method, order of filling, and the joint log-probabilities (nats) of its method."""
    return [
        {
            "method": filling.method,
            "order": order,
            "position": step.position,
            "token": step.token,
            "log_probability": step.log_probability,
            "claimed_log_probability": filling.claimed,
            "chained_log_probability": filling.chained,
        }
        for filling in result.fillings
        for order, step in enumerate(filling.steps, 1)
    ]


class Facts(facts.Facts[Decoding]):
    """*method* is one of "independent", "left to right", "most certain first" and "beam"."""

    def filled(self, method: str) -> str:
        """The pieces that the method puts in, in text order, with a space between."""
        return " ".join(self._filling(method).tokens)

    def claimed(self, method: str) -> float:
        """Joint log-probability as the method itself sees it, in nats."""
        return self._filling(method).claimed

    def chained(self, method: str) -> float:
        """Joint log-probability of the same pieces scored left to right, in nats: fit to compare methods."""
        return self._filling(method).chained

    def _filling(self, method: str) -> Filling:
        names = [filling.method for filling in self._result.fillings]
        return self._result.fillings[facts.name_index(names, method, "method")]

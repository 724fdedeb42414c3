"""Masking: which tokens of a text pretraining would mask, what would replace them, and how often.

The defaults are the 15 % and 80/10/10 of BERT (Devlin et al., 2019, section 3.1). The same code draws the masks in the
pretraining here. At least one token of a text is chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import numpy as np
from jaxtyping import Int

from bertexplorer.engine import masking
from bertexplorer.engine.masking import MASKED, RANDOM, SAME
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("roll", "place"), "kind"
SHOWN, COUNTED = 8, 1000  # rolls
KINDS = {MASKED: "mask", SAME: "same", RANDOM: "random"}
NOT_CHOSEN = -1


@dataclass(frozen=True)
class Draw:
    """The seed of the draw."""

    roll: Annotated[int, Option("Roll", 1, 1000, "another number draws again")] = 1


@dataclass(frozen=True)
class Options(masking.Masking, Draw):
    """The masking settings of pretraining, and which draw is shown."""


@dataclass(frozen=True)
class Masked:
    """The rolls for a text of t tokens. Kinds are MASKED, SAME, RANDOM of engine.masking, or NOT_CHOSEN."""

    tokens: tuple[str, ...]
    kinds: Int[np.ndarray, "rolls t"]  # of the first SHOWN rolls
    pieces: tuple[tuple[str, ...], ...]  # [roll][token] as the encoder would read it
    counts: Int[np.ndarray, "t 3"]  # how often each token was chosen in COUNTED rolls, by kind
    can_be_chosen: int  # tokens that are not special
    options: Options

    @property
    def chosen(self) -> float:
        """Share of the tokens that were chosen over the COUNTED rolls, 0 to 1."""
        return float(self.counts.sum()) / (COUNTED * self.can_be_chosen)

    @property
    def shares(self) -> dict[str, float]:
        """The share of each kind among the chosen tokens, 0 to 1 each."""
        total = max(1, int(self.counts.sum()))
        return {word: float(self.counts[:, kind].sum()) / total for kind, word in KINDS.items()}


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Masked:
    """Roll the dice of pretraining over *text*, with hidden words shown. No layer is run. Raises ExplorerError if
    nothing is left to read, or the shares are above 1."""
    if options.masked + options.random > 1 + 1e-9:
        raise ExplorerError(
            f"[MASK] is {options.masked:.2f} and Random {options.random:.2f} of the chosen tokens; together they are "
            "above 1. Lower one."
        )
    tokenizer = checkpoint.tokenizer
    encoding = tokenizer.encode(text)
    ids = np.array([encoding.original_ids])
    fixed = np.array([encoding.special]) | (ids == tokenizer.mask_id)  # a typed mask is no word to predict
    if fixed.all():
        raise ExplorerError("There is no token that could be masked. Type a word.")
    vocabulary = masking.Vocabulary.of(tokenizer)
    counts = np.zeros((len(encoding), len(KINDS)), dtype=np.int64)
    kinds = []
    pieces = []
    rng = np.random.default_rng(options.roll)
    for number in range(COUNTED):
        chosen = masking.choose(ids, fixed, vocabulary, options, rng)
        changed, kinds_drawn = masking.alter(ids, chosen, vocabulary, options, rng)
        positions = np.flatnonzero(chosen[0])
        np.add.at(counts, (positions, kinds_drawn[0, positions]), 1)
        if number < SHOWN:
            kinds.append(np.where(chosen[0], kinds_drawn[0], NOT_CHOSEN))
            pieces.append(tokenizer.show_all(changed[0].tolist()))
    return Masked(
        tokens=tokenizer.show_all(ids[0].tolist()),
        kinds=np.array(kinds, dtype=np.int64),
        pieces=tuple(pieces),
        counts=counts,
        can_be_chosen=int((~fixed).sum()),
        options=options,
    )


def rows(result: Masked) -> list[dict[str, object]]:
    """One row for each token of the rolls that are shown. Rolls and places are counted from 0."""
    return [
        {
            "roll": roll,
            "place": place,
            "token": token,
            "kind": KINDS.get(int(result.kinds[roll, place]), ""),
            "reads": result.pieces[roll][place],
            "chosen_of_1000": int(result.counts[place].sum()),
        }
        for roll in range(len(result.kinds))
        for place, token in enumerate(result.tokens)
    ]


class Facts(facts.Facts[Masked]):
    def chosen(self) -> float:
        """Share of the tokens that are chosen, over 1,000 rolls, 0 to 1."""
        return self._result.chosen

    def share(self, kind: str) -> float:
        """Share of the chosen tokens that become "mask", "random", or stay the "same", 0 to 1."""
        facts.name_index(tuple(self._result.shares), kind, "kind")
        return self._result.shares[kind]

    def masked(self) -> float:
        """Share of all tokens that become [MASK], 0 to 1."""
        return self._result.chosen * self._result.shares[KINDS[MASKED]]

    def overlap(self) -> float:
        """Of the tokens chosen in two rolls, the share that both chose, averaged over the rolls shown, 0 to 1."""
        rolls = [set(np.flatnonzero(roll != NOT_CHOSEN)) for roll in self._result.kinds]
        shares = []
        for i, roll in enumerate(rolls):
            for earlier in rolls[:i]:
                shares.append(len(roll & earlier) / len(roll | earlier))
        return float(np.mean(shares))

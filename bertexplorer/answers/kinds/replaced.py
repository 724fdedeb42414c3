"""Whether each token was replaced, by ELECTRA's discriminator (Clark et al., 2020)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bertexplorer.answers import task_head
from bertexplorer.answers.head_answer import DRAWN, LIKELY, TaggedWord
from bertexplorer.answers.kinds.tag import TagAnswer, TagReadout
from bertexplorer.answers.task_head import Word
from bertexplorer.charts.marks import Bar, Bars, Panel, Rule
from bertexplorer.charts.style import decimal, join_names, percent, quote
from bertexplorer.model.text import Encoding

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

ORIGINAL, REPLACED = TAGS = ("original", "replaced")
NAMED = 8  # tokens in the sentence


@dataclass(frozen=True, kw_only=True)
class ReplacedAnswer(TagAnswer):
    """Whether each token was replaced."""

    kind = "replaced"
    plain = ORIGINAL

    def panels(self) -> list[Panel]:
        """A bar for each token: how likely another one stood there."""
        bars = []
        for word in self.words[:DRAWN]:
            p = replacement(word)
            logit = next(tag.logit for tag in word.labels if tag.name == REPLACED)
            hover = f"{word.word}: {percent(p)} that another token stood here, logit {decimal(logit)}"
            bars.append(Bar(word.word, p, percent(p), "orange" if p > LIKELY else "pale", hover))
        likely = Rule(LIKELY, "grey", "dot")
        return [Panel([Bars(bars, high=1, tokens=True), likely], "how likely another token stood here")]

    def shades(self) -> dict[int, float]:
        """The probability that a token was replaced."""
        shades: dict[int, float] = {}
        for word in self.words:
            shades |= dict.fromkeys(word.positions, replacement(word))
        return shades

    def sentence(self) -> str:
        """The tokens that are taken for replaced, or the one that is closest to it."""
        by_suspicion = sorted(self.words, key=lambda word: -replacement(word))
        named = [f"{quote(word.word)} ({percent(replacement(word))})" for word in by_suspicion]
        count = sum(replacement(word) > LIKELY for word in self.words)
        if not count:
            return f"None of the {len(self.words)} tokens is taken for replaced; closest to it is {named[0]}."
        listed = named[: min(count, NAMED)]
        if count > NAMED:
            listed.append(f"{count - NAMED} more")
        other = "another token" if count == 1 else "other tokens"
        return f"The discriminator says that {other} stood in place of {join_names(listed)}."


def replacement(word: TaggedWord) -> float:
    """The probability that another word stood here."""
    return word.best.value if word.best.name == REPLACED else 1 - word.best.value


class ReplacedReadout(TagReadout):
    """Whether a token was replaced, by ELECTRA's discriminator."""

    answer_type = ReplacedAnswer
    order = 60
    head = "replaced_token"
    outcome = "whether {token} was replaced"
    least_tags = len(TAGS)

    @classmethod
    def fits(cls, checkpoint: Checkpoint) -> bool:
        return cls.head in checkpoint.heads

    def names(self, encoding: Encoding) -> Sequence[str]:
        return TAGS

    def taggable(self, encoding: Encoding) -> tuple[Word, ...]:
        """Each token but those that frame the text."""
        words = []
        for i, token in enumerate(encoding.tokens):
            if not encoding.special[i] or encoding.ids[i] == encoding.mask_id:
                words.append(Word(task_head.display_word(encoding, token, [i]), (i,)))
        return tuple(words)

    def most_telling(self, logits: Float[np.ndarray, "w l"]) -> int:
        """The token that is likeliest to be replaced."""
        return int(logits[:, 1].argmax())

"""Next word: the encoder under a causal mask, whose MLM head predicts the next token; it continues texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

from bertexplorer.options import Option
from bertexplorer.training.task import Ability, Column
from bertexplorer.training.tasks.adaptation import (
    Example as Example,
    baselines as baselines,
    examples as examples,
    inputs as inputs,
)

TITLE = "Next word"
ABOUT = "A checkpoint that reads from left to right and guesses each next token: it can continue a text."
COLUMNS = (Column("text", "Text", "text"),)
METRIC, HIGHER = "perplexity", False
METRICS = {
    "perplexity": "Perplexity",
    "accuracy": "Next-token accuracy",
    "unigram_perplexity": "Perplexity by word counts alone",
    "loss": "Loss",
}
LEARNER, ROWS = "next_word:CausalLanguageLearner", "next-word"
USES_FEATURES = False
CAN: frozenset[Ability] = frozenset({"generates"})
ADAPTER_HEAD = ""
CANDIDATES = 0
SPLIT_BY: tuple[str, ...] = ()
DEFAULTS: dict[str, Any] = {"batch": 16}


@dataclass(frozen=True)
class Options:
    temperature: Annotated[
        float, Option("Temperature", 0.0, 2.0, "0: always the likeliest token; higher: more varied")
    ] = 0.0
    top_k: Annotated[int, Option("Top k", 0, 1000, "sample from this many of the likeliest tokens; 0: all")] = 40
    length: Annotated[int, Option("Maximum tokens", 1, 400, "of a continuation")] = 40
    draw: Annotated[int, Option("Sampling seed", 0, 2**31 - 1)] = 0

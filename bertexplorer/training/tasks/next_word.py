"""Next word: the encoder under a causal mask, whose MLM head predicts the next token; it continues texts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from bertexplorer.options import Option
from bertexplorer.training.task import Column, Task
from bertexplorer.training.tasks.adaptation import examples, inputs


@dataclass(frozen=True)
class Options:
    temperature: Annotated[
        float, Option("Temperature", 0.0, 2.0, "0: always the likeliest token; higher: more varied")
    ] = 0.0
    top_k: Annotated[int, Option("Top k", 0, 1000, "sample from this many of the likeliest tokens; 0: all")] = 40
    length: Annotated[int, Option("Maximum tokens", 1, 400, "of a continuation")] = 40
    draw: Annotated[int, Option("Sampling seed", 0, 2**31 - 1)] = 0


TASK = Task(
    name="next-word",
    title="Next word",
    about="A checkpoint that reads from left to right and guesses each next token: it can continue a text.",
    columns=(Column("text", "Text", "text"),),
    options=Options,
    examples=examples,
    inputs=inputs,
    learner="next_word:CausalLanguageLearner",
    metric="perplexity",
    metrics={
        "perplexity": "Perplexity",
        "accuracy": "Next-token accuracy",
        "unigram_perplexity": "Perplexity by word counts alone",
        "loss": "Loss",
    },
    per_cent=("accuracy",),
    higher=False,
    defaults={"batch": 16},
    can=("generates",),
)

"""Ablations from the papers, small enough to repeat in minutes: settings, measures and published results.

All published numbers are for other data and much larger models: they show which order to expect, not which values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

Measure = Literal["probe", "pairs_accuracy"]
SMALL: Mapping[str, Any] = {  # of all arms, unless an arm overrides them
    "layers": 2,
    "hidden": 128,
    "heads": 2,
    "spread": 0.08,  # about 1 / sqrt(hidden): with 0.02 attention stays even for a long time
    "positions": 64,
    "pieces": 2000,
    "lengths": "32:0.5:0.1, 64:0.5:0.1",
    "batch_tokens": 1024,
    "peak": 2e-3,
    "warmup": 0.1,
    "heldout_documents": 120,
    "heldout_pairs": 100,
    "probe": True,
    "commit_minutes": 1.0,
    "keep": 1,
    "export": "fp32",
}
EVALUATIONS = 6  # of an arm, besides the one before the first step
CLOSE = 0.01  # a smaller difference counts as a tie
UNEQUAL = 1.1  # times as much text in the same minutes is worth a sentence


@dataclass(frozen=True)
class ArmPlan:
    """One run of an experiment. *share*: of the experiment's minutes for an arm."""

    name: str
    values: Mapping[str, Any]
    share: float = 1.0


@dataclass(frozen=True)
class Experiment:
    """Runs that differ in one thing, and what papers found."""

    name: str
    title: str
    question: str
    arms: tuple[ArmPlan, ...]
    published: tuple[Mapping[str, Any], ...]  # the rows of a table
    source: str  # of these results
    better: tuple[tuple[str, str], ...]  # pairs of arms, of which the papers found the first better
    minutes: float = 3.0  # per arm
    measure: Measure = "probe"  # by which it shows here
    unit: Literal["minutes", "step"] = "minutes"  # the x axis of the curves
    note: str = ""


MLM_NSP = "MLM + NSP"
MLM = "MLM only"
LTR = "left to right"
BERT = "Devlin et al., 2019"


class Mix(NamedTuple):
    """What replaces a chosen token, and the published results with it."""

    masked: float  # share that becomes [MASK]
    random: float  # share that becomes a random token
    mnli: float  # percent, as the others
    ner_tuned: float
    ner_frozen: float


MIXES = {  # [MASK]/same/random, in percent
    "80/10/10": Mix(0.8, 0.1, mnli=84.2, ner_tuned=95.4, ner_frozen=94.9),
    "100/0/0": Mix(1.0, 0.0, mnli=84.3, ner_tuned=94.9, ner_frozen=94.0),
    "80/0/20": Mix(0.8, 0.2, mnli=84.1, ner_tuned=95.2, ner_frozen=94.6),
    "80/20/0": Mix(0.8, 0.0, mnli=84.4, ner_tuned=95.2, ner_frozen=94.7),
    "0/20/80": Mix(0.0, 0.8, mnli=83.7, ner_tuned=94.8, ner_frozen=94.6),
    "0/0/100": Mix(0.0, 1.0, mnli=83.6, ner_tuned=94.9, ner_frozen=94.6),
}


def mix_arms() -> tuple[ArmPlan, ...]:
    arms = []
    for name, mix in MIXES.items():
        arms.append(ArmPlan(name, {"masked": mix.masked, "random": mix.random, "objective": "mlm"}))
    return tuple(arms)


def published_mixes() -> tuple[Mapping[str, Any], ...]:
    rows = []
    for name, mix in MIXES.items():
        results = {"MNLI": mix.mnli, "NER fine-tuned": mix.ner_tuned, "NER, vectors only": mix.ner_frozen}
        rows.append({"[MASK]/same/random": name, **results})
    return tuple(rows)


EXPERIMENTS: tuple[Experiment, ...] = (
    Experiment(
        name="tasks",
        title="Pretraining tasks",
        question="Does it help to look in both directions, and to guess the next sentence?",
        arms=(
            ArmPlan(MLM_NSP, {"objective": "mlm+nsp"}),
            ArmPlan(MLM, {"objective": "mlm"}),
            ArmPlan(LTR, {"objective": "causal"}),
        ),
        published=(
            {"arm": MLM_NSP, "MNLI": 84.4, "QNLI": 88.4, "MRPC": 86.7, "SST-2": 92.7, "SQuAD F1": 88.5},
            {"arm": MLM, "MNLI": 83.9, "QNLI": 84.9, "MRPC": 86.5, "SST-2": 92.6, "SQuAD F1": 87.9},
            {"arm": LTR, "MNLI": 82.1, "QNLI": 84.3, "MRPC": 77.5, "SST-2": 92.1, "SQuAD F1": 77.8},
        ),
        source=f"{BERT}, table 5: fine-tuned, 12 layers",
        better=((MLM_NSP, MLM), (MLM, LTR)),
    ),
    Experiment(
        name="convergence",
        title="MLM against left-to-right, by step",
        question="MLM learns from only 15 % of the tokens. Is it slower?",
        arms=(ArmPlan(MLM, {"objective": "mlm"}), ArmPlan(LTR, {"objective": "causal"})),
        published=(
            {"finding": "MLM converges slightly slower, and is better than left-to-right almost at once (MNLI)"},
        ),
        source=f"{BERT}, appendix C.1, figure 5",
        better=((MLM, LTR),),
        minutes=4.0,
        measure="pairs_accuracy",
        unit="step",
        note="Both guess the same tokens of the same held-out text: one sees both sides, the other only the left.",
    ),
    Experiment(
        name="size",
        title="Model size",
        question="Is a larger encoder better after the same number of minutes?",
        arms=(
            ArmPlan("1 layer, 64 wide", {"layers": 1, "hidden": 64, "heads": 1}),
            ArmPlan("2 layers, 128 wide", {}),
            ArmPlan("4 layers, 256 wide", {"layers": 4, "hidden": 256, "heads": 4}),
        ),
        published=(
            {"arm": "3 layers, 768 wide", "perplexity": 5.84, "MNLI": 77.9, "MRPC": 79.8, "SST-2": 88.4},
            {"arm": "6 layers, 768 wide", "perplexity": 4.68, "MNLI": 81.9, "MRPC": 84.8, "SST-2": 91.3},
            {"arm": "12 layers, 768 wide", "perplexity": 3.99, "MNLI": 84.4, "MRPC": 86.7, "SST-2": 92.9},
            {"arm": "24 layers, 1024 wide", "perplexity": 3.23, "MNLI": 86.6, "MRPC": 87.8, "SST-2": 93.7},
        ),
        source=f"{BERT}, table 6: each for the same number of steps, not of minutes",
        better=(("2 layers, 128 wide", "1 layer, 64 wide"), ("4 layers, 256 wide", "2 layers, 128 wide")),
        measure="pairs_accuracy",
        note="Minutes are shared out evenly here, so the larger ones take fewer steps.",
    ),
    Experiment(
        name="steps",
        title="More steps",
        question="Does it keep getting better?",
        arms=(ArmPlan("1 x", {}, share=0.5), ArmPlan("2 x", {}, share=1.0), ArmPlan("4 x", {}, share=2.0)),
        published=({"steps": "500 k", "MNLI": "about 83.4"}, {"steps": "1 M", "MNLI": "84.4"}),
        source=f"{BERT}, appendix C.1: 1.0 points more after a million steps than after half a million",
        better=(("2 x", "1 x"), ("4 x", "2 x")),
        minutes=2.0,
        measure="pairs_accuracy",
        note="Each arm has its own schedule, which ends when the arm does.",
    ),
    Experiment(
        name="mix",
        title="What replaces a chosen token",
        question="Why not always [MASK]?",
        arms=mix_arms(),
        published=published_mixes(),
        source=f"{BERT}, table 8: it matters where vectors are used as they are, because [MASK] never occurs there",
        better=(("80/10/10", "100/0/0"),),
        minutes=1.5,
    ),
    Experiment(
        name="roberta",
        title="BERT against RoBERTa's way",
        question="Are pairs and fixed masks worth it?",
        arms=(
            ArmPlan("pairs, static", {"objective": "mlm+nsp", "repeat_steps": 200, "static": True}),
            ArmPlan("pairs, dynamic", {"objective": "mlm+nsp", "repeat_steps": 200}),
            ArmPlan("document sentences", {"objective": "mlm", "repeat_steps": 200}),
        ),
        published=(
            {"arm": "pairs, static", "SQuAD 2.0 F1": 78.3, "MNLI": 84.3, "SST-2": 92.5},
            {"arm": "pairs, dynamic", "SQuAD 2.0 F1": 78.7, "MNLI": 84.0, "SST-2": 92.9},
            {"arm": "document sentences, no NSP", "SQuAD 2.0 F1": 79.7, "MNLI": 84.7, "SST-2": 92.7},
        ),
        source="Liu et al., 2019, tables 1 and 2",
        better=(("document sentences", "pairs, dynamic"),),
        note="The text of 200 steps is repeated, so it matters whether its masks are too. The published figures on "
        "static against dynamic masks are mixed.",
    ),
    Experiment(
        name="electra",
        title="ELECTRA against MLM",
        question="Is it better to find replaced tokens than to guess masked ones?",
        arms=(ArmPlan("replaced tokens", {"objective": "replaced"}), ArmPlan(MLM, {"objective": "mlm"})),
        published=({"arm": "ELECTRA-Small", "GLUE": 79.9}, {"arm": "BERT-Small", "GLUE": 75.1}),
        source="Clark et al., 2020, table 1: about the same compute",
        better=(("replaced tokens", MLM),),
        minutes=4.0,
    ),
    Experiment(
        name="floor",
        title="No pretraining",
        question="What does an encoder that has learned nothing know?",
        arms=(
            ArmPlan("random weights", {"steps": 1, "peak": 1e-9}, share=0.05),
            ArmPlan(MLM_NSP, {"objective": "mlm+nsp"}),
        ),
        published=({"finding": "random encoders are the usual control; how well they do says how easy a probe is"},),
        source="Hewitt and Liang, 2019; Tenney et al., 2019",
        better=((MLM_NSP, "random weights"),),
        minutes=4.0,
    ),
)
BY_NAME: Mapping[str, Experiment] = {experiment.name: experiment for experiment in EXPERIMENTS}


def arm_settings(experiment: Experiment, arm: ArmPlan, minutes: float) -> dict[str, Any]:
    """The settings of an arm that runs for *minutes*, times its share."""
    arm_minutes = minutes * arm.share
    settings = {**SMALL, **arm.values}
    if "steps" not in arm.values:
        settings["minutes"] = arm_minutes
    return {**settings, "evaluate_minutes": arm_minutes / EVALUATIONS}


def verdicts(experiment: Experiment, reached: Mapping[str, float]) -> list[str]:
    """A sentence for each order that the papers found, on whether it showed here too. *reached*: arm -> value, 0 to 1,
    of the finished arms."""
    sentences = []
    for first, second in experiment.better:
        if first not in reached or second not in reached:
            continue
        difference = reached[first] - reached[second]
        values = f"{100 * reached[first]:.1f} % and {100 * reached[second]:.1f} %"
        if abs(difference) < CLOSE:
            sentences.append(f"{first} and {second} are too close to call here ({values}).")
        elif difference > 0:
            sentences.append(f"{first} is better than {second} here ({values}), as published.")
        else:
            sentences.append(
                f"At this size {first} is not better than {second} ({values}), unlike in the published figures."
            )
    return sentences


def reading_said(experiment: Experiment, tokens: Mapping[str, float]) -> list[str]:
    """A sentence if arms of the same minutes read different amounts of text. *tokens*: arm -> how many it read, of the
    finished arms."""
    of_equal_minutes = [arm.name for arm in experiment.arms if arm.share == 1 and tokens.get(arm.name)]
    if not of_equal_minutes:
        return []
    most = max(of_equal_minutes, key=tokens.__getitem__)
    least = min(of_equal_minutes, key=tokens.__getitem__)
    if tokens[most] < UNEQUAL * tokens[least]:
        return []
    return [
        "This compares equal minutes, not equal amounts of text: "
        f"“{most}” read {tokens[most]:,.0f} tokens, “{least}” read {tokens[least]:,.0f}."
    ]


def reached_value(events: Sequence[Mapping[str, Any]], measure: Measure) -> float | None:
    """The value of *measure* in the last evaluation of a run; None before the first."""
    values = [event[measure] for event in events if event["event"] == "evaluated" and measure in event]
    return float(values[-1]) if values else None

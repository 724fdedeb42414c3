"""The HTML of the page of experiments. Text from people and files is escaped here."""

from html import escape
from urllib.parse import urlencode

from bertexplorer.figures.pretraining import WORDS
from bertexplorer.figures.style import percent
from bertexplorer.runs.experiments import Arm, Trial
from bertexplorer.training.pretraining.experiments import Experiment, verdicts
from bertexplorer.web.training.html import table
from bertexplorer.web.training.run_list import progress_bar, state_text

HEADER = """<header class="masthead"><h1>Pretrain</h1>
<p>How BERT is pretrained: see it, then repeat the papers' experiments in minutes.</p></header>"""
PARK = "The park opens at eight. Dogs must be kept on a lead. There is a small lake behind the trees."


def links(first: str) -> str:
    """Links to views about pretraining. *first*: the first snapshot of the bundled training run, if there is one."""
    targets = (
        ("Masking", "Which words are hidden, and what replaces them", {"view": "masking", "text": PARK}),
        ("Pairs", "True and random next sentences, as they are drawn", {"view": "sentence-pairs", "text": PARK}),
        (
            "Watch it learn",
            "A small BERT from random weights to its end, with a slider",
            {"view": "fill-mask", "text": "They live in the United [MASK] of America.", "checkpoint": first},
        ),
    )
    cards = "".join(
        f'<li><a href="./?{escape(urlencode(query), quote=True)}"><b>{escape(title)}</b>'
        f"<span>{escape(what)}</span></a></li>"
        for title, what, query in targets
        if query.get("checkpoint", "mini")
    )
    return f'<ul class="doors">{cards}</ul>'


def about(experiment: Experiment) -> str:
    """What an experiment runs and measures, and what the papers found."""
    arms = ", ".join(arm.name for arm in experiment.arms)
    text = f"{len(experiment.arms)} runs: {arms}. Measured: {WORDS[experiment.measure].lower()}. {experiment.note}"
    published = [{k: f"{v:g}" if isinstance(v, float) else v for k, v in row.items()} for row in experiment.published]
    return (
        f'<p class="summary">{escape(experiment.question)}</p><p class="note">{escape(text)}</p>'
        f"<h3>Published, on other data and far larger models</h3>{table(published)}"
        f'<p class="note">{escape(experiment.source)}.</p>'
    )


def summary(trial: Trial) -> str:
    """The runs of an experiment, and whether they agree with the papers."""
    rows = "".join(arm_line(arm) for arm in trial.arms)
    parts = [f'<ul class="runs arms">{rows}</ul>']
    if sentences := verdicts(trial.experiment, trial.final_measures()):
        parts.append(f'<p class="summary" role="status">{escape(" ".join(sentences))}</p>')
    parts.append(table([measurements(arm) for arm in trial.arms if arm.last("pairs_accuracy") is not None]))
    return "".join(parts)


def arm_line(arm: Arm) -> str:
    run = arm.run
    link = ""
    if run.state == "finished":
        query = urlencode(
            {"view": "fill-mask", "text": "The king had a beautiful [MASK].", "checkpoint": f"run:{run.id}"}
        )
        link = f'<a class="open" href="./?{escape(query, quote=True)}">Open in Explore</a>'
    return (
        f'<li class="arm"><b>{escape(arm.name)}</b><span class="state {run.state}">{escape(state_text(run))}</span>'
        f"{link}{progress_bar(run)}</li>"
    )


def measurements(arm: Arm) -> dict[str, str]:
    """The last measurements of a run."""

    def share(key: str) -> str:
        value = arm.last(key)
        return "" if value is None else percent(value)

    return {
        "run": arm.name,
        "probe": share("probe"),
        "word taken out": share("probe_words"),
        "does B follow": share("probe_follows"),
        "hidden words": share("pairs_accuracy"),
        "next sentence": share("nsp_accuracy"),
        "on [CLS] and [SEP]": share("special_share"),
        "step": f"{arm.run.step:,}",
        "tokens": f"{(arm.last('tokens') or 0) / 1e6:.1f} M",
    }

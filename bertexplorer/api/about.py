"""About: the limits and the promises of this server in plain English, folded at the end of each page."""

from bertexplorer.engine.queues import SLOW_WAITING
from bertexplorer.runs.experiments import MAX_MINUTES
from bertexplorer.settings import Settings
from bertexplorer.store.text_uploads import MAX_LINES, MAX_UPLOADS

PROMISES = (
    "What you type or upload is shown as text, never run.",
    "An accepted run goes on when you close the page, and survives when the server stops or is killed. A resumed run "
    "repeats a minute at most and ends with exactly the weights it would have had.",
    "Quick answers never wait behind long ones or a run, and a page that waits shows its place in line.",
    "No checkpoint and no file can run code: weights are read from safetensors only, and no address is fetched.",
    "It works without a network. Nothing leaves this server unless you name a checkpoint or a data set on the hub, or "
    "export a run to it.",
    "Where a text is cut, a word is unknown or the precision is reduced, the page says so.",
    "Only your browser sees your runs and uploads. A link to a view of uploaded lines shows them to anyone who has it.",
)
NOT_PROMISED = (
    "Only a cookie identifies your browser: delete it, and you no longer see your runs. Export what you want to keep.",
    "These limits do not protect against attackers. Set an access code on a public network.",
    "A hosted demo may forget everything when it restarts.",
    "Computing time is shared: when many people ask at once, everyone waits.",
)


def parts(settings: Settings) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """(title, lines) of each part of the section."""
    return ("Limits", limits(settings)), ("Promises", PROMISES), ("Not promised", NOT_PROMISED)


def limits(settings: Settings) -> tuple[str, ...]:
    """The limits of this server, from its settings."""
    answer = (f"One answer: at most {settings.tokens:,} tokens through the checkpoint.",) if settings.tokens else ()
    own = (f"All your runs and uploads together: {settings.quota / 1e9:,.1f} GB.",) if settings.quota else ()
    return (
        f"A text or any other entry: {settings.request_kb:,} kB. A checkpoint reads as many tokens as it was made for, "
        "usually 512; the page shows where a longer text was cut.",
        f"Files: {settings.upload_mb} MB at once, {settings.upload_files} at most; kept for a day, or with the run "
        "that learns from them.",
        *answer,
        f"Queue limits: {settings.waiting} fast and {SLOW_WAITING} slow requests. Further requests are retried.",
        f"Text uploads: up to {MAX_LINES:,} lines per file; your latest {MAX_UPLOADS} files are kept.",
        f"Runs: one at a time; the others wait in line. A pretraining run takes at most {MAX_MINUTES:.0f} "
        "minutes. A deleted run can be restored for a week, or until you need its space.",
        *own,
    )

"""Figure for an audit: how many texts have each kind of finding, the words that are shattered, and the scripts."""

from __future__ import annotations

from typing import Any

from bertexplorer.charts.marks import Bar, Bars, Figure, Panel, Tone
from bertexplorer.charts.style import clip, count, decimal, join_names, percent, quote, share
from bertexplorer.views.audit.compute import KINDS, MAX_LINES, SHATTERED, Audit, Finding
from bertexplorer.views.rows import LISTED
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Input",
    place=4,
    first="set",
    title="Your texts",
    question="Can it read these texts?",
    note=(
        "It asks the tokenizer alone, and nothing that the checkpoint computes. A word in many pieces can still be "
        "understood if the checkpoint has seen it often; one that is unknown cannot. Near duplicates matter where "
        "texts are split into training and validation rows: one in each flatters every score."
    ),
    papers=("Broder, 1997, On the Resemblance and Containment of Documents",),
    examples=(
        Example(
            "Reviews with faults",
            "",
            options={"set": "reviews with faults"},
            shows='found("cut") == 1 and found("repeats") == 1 and found("another label") == 1',
        ),
        Example("German", "", options={"set": "German"}, shows='found("falls apart") > 0.5 * texts()'),
        Example("Medicine", "", options={"set": "medicine"}, shows="pieces() > 1.5"),
        Example("Many scripts", "", options={"set": "many scripts"}, shows="unknown() > 0.02 and pieces() > 2"),
        Example("A long report", "", options={"set": "a long report"}, shows='found("cut") > 0 and longest() > 512'),
    ),
    chips="",
    slow=True,
    needs=("lines",),
    text=False,
    most_lines=MAX_LINES,
)

WORDS = 12  # shattered words that are drawn
SCRIPTS = 8


def draw(result: Audit) -> Figure:
    total = len(result.texts)
    bars = []
    for kind in KINDS:
        texts = result.count(kind)
        tone: Tone = "orange" if texts else "grey"
        bars.append(Bar(kind, texts / total, f"{texts:,} of {total:,}", tone))
    panels = [Panel([Bars(bars, high=1, unit="share")], title="Texts")]
    if result.shattered:
        words = []
        for shattered in result.shattered[:WORDS]:
            is_unknown = shattered.pieces < SHATTERED
            text = "unknown" if is_unknown else count(shattered.pieces, "piece")
            if shattered.times > 1:
                text = f"{text}, {shattered.times:,} times"
            door = {"view": "tokenization", "text": shattered.word}
            words.append(Bar(shattered.word, shattered.pieces, text, door=door))
        panels.append(Panel([Bars(words)], title="Words that are shattered or unknown"))
    if len(result.scripts) > 1:
        scripts = []
        for script in result.scripts[:SCRIPTS]:
            hover = f"{count(script.words, 'word')}, {decimal(script.pieces)} pieces each"
            scripts.append(Bar(script.name, script.shattered, share(script.shattered), hover=hover))
        title = f"Words that are unknown or in {SHATTERED} pieces or more, by script"
        panels.append(Panel([Bars(scripts, high=1, unit="share")], title=title))
    return Figure(panels)


def say(result: Audit) -> str:
    """How many texts are odd and how, then what the vocabulary makes of their words."""
    texts = count(len(result.texts), "text")
    odd = []
    for kind, (of_one, of_several) in KINDS.items():
        number = result.count(kind)
        if number:
            odd.append(f"{number:,} {of_one if number == 1 else of_several}")
    sentences = []
    if odd:
        sentences.append(f"Of {texts}, {join_names(odd)}.")
    else:
        sentences.append(f"Nothing odd was found in {texts}.")
    cut = [finding for finding in result.findings if finding.kind == "cut"]
    if cut:
        lost = sum(finding.amount for finding in cut) / len(cut)
        sentences.append(
            f"It reads {result.limit:,} tokens of a text, and the longest has {result.longest:,}; of a text "
            f"that is cut, {percent(lost)} is not read on average."
        )
    unknown = f"{share(result.unknown)} of the tokens are unknown"
    if result.pieces:
        sentences.append(f"A word has {decimal(result.pieces)} pieces on average, and {unknown}.")
    else:
        sentences.append(f"The texts have no words, and {unknown}.")
    if result.shattered:
        named = join_names([quote(clip(shattered.word, 20)) for shattered in result.shattered[:3]])
        sentences.append(f"In {SHATTERED} pieces or more, or unknown, are words such as {named}.")
    if len(result.findings) > LISTED:
        sentences.append(f"The table has the first {LISTED:,} of {len(result.findings):,} findings.")
    return " ".join(sentences)


def compare(first: Audit, second: Audit) -> str:
    """Which of two tokenizers needs fewer pieces for a word."""
    if first.texts != second.texts or first.pieces == second.pieces:
        return ""
    fewer = "The first" if first.pieces < second.pieces else "The second"
    return f"{fewer} needs fewer pieces: {decimal(first.pieces)} against {decimal(second.pieces)} for a word."


def cases(result: Audit, *others: Audit) -> dict[str, Any]:
    """The table of findings, each with whether the *others* have it too. A press on a row shows the pieces of its
    text."""
    theirs = []
    for other in others:
        theirs.append({(finding.line, finding.kind): finding for finding in other.findings})
    rows = []
    for finding in result.findings[:LISTED]:
        same = [findings.get((finding.line, finding.kind)) for findings in theirs]
        rows.append(row(result, finding, same))
    return {
        "rows": rows,
        "score": "the share that is not read, is unknown, or is like the earlier text; else 1",
        "title": "Findings",
        "columns": ["Text", "Finding", "Which", "Share"],
    }


def row(result: Audit, finding: Finding, same: list[Finding | None]) -> dict[str, Any]:
    """A row of the table. *same*: the finding in each of the other results, None where it is not found."""
    others: list[dict[str, Any] | None] = []
    for other in same:
        if other is None:
            others.append(None)
        else:
            others.append({"answer": other.kind, "right": None, "score": round(other.amount, 3)})
    text = result.texts[finding.line].text
    earlier = f"as line {result.line(finding.earlier):,}" if finding.earlier >= 0 else ""
    return {
        "line": result.line(finding.line),
        "category": finding.kind,
        "texts": (clip(text, 160),),
        "wanted": finding.kind,
        "answer": earlier,
        "right": None,
        "score": round(finding.amount, 3),
        "rank": None,
        "others": others,
        "state": {"view": "tokenization", "text": text},
    }

"""Figure for not found: how well the collection is searched, beside a search by words, and the causes of the misses."""

from __future__ import annotations

from typing import Any

import numpy as np

from bertexplorer.answers.bootstrap import compare_paired
from bertexplorer.charts.marks import Bar, Bars, Figure, Panel, Tick, Tone, key
from bertexplorer.charts.style import clip, count, join_names, percent, points
from bertexplorer.diagnosis.misses import CAUSES, UNEXPLAINED, Miss
from bertexplorer.views.not_found.compute import NEAREST, NotFound
from bertexplorer.views.rows import unusable_note, unusable_rows
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Sentences",
    place=7,
    first="set",
    title="Not found",
    question="Why was it not found?",
    note=(
        "A cause is said only if undoing it brings the passage among the first; there may be others. A passage that is "
        "“not explained” may mean what it says with no word of the query, or answer it less well than the one that was "
        "found: look at both. A search by words needs no checkpoint, and is hard to beat on names and numbers."
    ),
    papers=("Robertson and Zaragoza, 2009, The Probabilistic Relevance Framework", "Thakur et al., 2021, BEIR"),
    examples=(
        Example(
            "A handbook", "", shows='missed("cut") == 2 and missed("near duplicate") == 1 and missed("words") == 1'
        ),
        Example("The first alone", "", options={"top": 1}, shows="found() < queries()"),
        Example(
            "Among other texts",
            "",
            options={"set": "the handbook among other texts"},
            shows='missed("hub") == 1 and missed("near duplicate") == 1',
        ),
        Example(
            "Household tips",
            "",
            options={"set": "household tips", "top": 10},
            shows='found() > 2 * found_by_words() and missed("not explained") > 10',
        ),
        Example(
            "With a prompt",
            "",
            options={"set": "household tips with a prompt", "top": 10},
            shows='missed("prompt") > 10',
        ),
    ),
    chips="",
    slow=True,
    needs=("rows",),
    text=False,
)

FOUND = "found here"  # the cause of a row that only another side misses
SAID = {  # of a miss
    "cut": "the part that would be found is not read",
    "long": "in parts it would be found",
    "unreadable": "words in many pieces, or unknown",
    "near duplicate": "passages that repeat it are before it",
    "hub": "passages that are near to everything are before it",
    "names": "names and numbers draw other passages",
    "words": "a search by words would find it",
    "prompt": "with another prompt, or without one, it would be found",
    UNEXPLAINED: "none of these causes",
}


def draw(result: NotFound) -> Figure:
    metrics = []
    for metric in result.metrics:
        low, high = metric.interval
        ticks = [Tick(metric.by_words, "orange")]
        metrics.append(Bar(metric.name, metric.value, percent(metric.value), low=low, high=high, ticks=ticks))
    legend = key(("━", "grey", "95 % interval"), ("┃", "orange", "search by words (BM25)"))
    panels = [Panel([Bars(metrics, high=1, unit="share"), legend])]
    causes = []
    for cause in (*CAUSES, UNEXPLAINED):
        misses = result.count(cause)
        if misses:
            tone: Tone = "grey" if cause == UNEXPLAINED else "blue"
            causes.append(Bar(cause, misses, f"{misses:,}", tone, hover=SAID[cause]))
    if causes:
        panels.append(Panel([Bars(causes)], title="Why it was not found"))
    return Figure(panels)


def say(result: NotFound) -> str:
    """How many queries find their passage, and the causes of the others."""
    queries = len(result.ranks)
    found = result.metrics[0]
    sentences = [
        f"{result.found:,} of {queries:,} queries find what answers them among the first {result.top} of "
        f"{count(len(result.collection.passages), 'passage')}: {percent(found.value)} (95 % interval "
        f"{percent(found.interval.low)} to {percent(found.interval.high)}); a search by words finds "
        f"{percent(found.by_words)}."
    ]
    causes = []
    for cause in (*CAUSES, UNEXPLAINED):
        if result.count(cause):
            causes.append(f"{cause} ({result.count(cause):,})")
    if causes:
        sentences.append(f"Causes of the misses: {join_names(causes)}.")
    if len(result.misses) < queries - result.found:
        sentences.append(f"The first {len(result.misses):,} misses were examined.")
    if result.cut:
        sentences.append(f"{count(result.cut, 'passage')} cannot be read whole.")
    if result.collection.written_prompt:
        sentences.append(f"Before every query stands “{result.collection.written_prompt.strip():.100}”.")
    if result.departure:
        sentences.append(result.departure)
    if result.collection.columns_said:
        sentences.append(result.collection.columns_said)
    if result.collection.unusable:
        sentences.append(f"{unusable_note(result.collection.unusable, 'used')}.")
    return " ".join(sentences)


def compare(first: NotFound, second: NotFound) -> str:
    """How many queries only one of two checkpoints answers, whether that may be chance, and what their first ten
    share."""
    if first.collection != second.collection or first.top != second.top:
        return ""
    first_found = np.array([rank <= first.top for rank in first.ranks], float)
    second_found = np.array([rank <= second.top for rank in second.ranks], float)
    paired = compare_paired(first_found, second_found)
    shared = []
    for ours, theirs in zip(first.nearest, second.nearest, strict=True):
        shared.append(len(set(ours) & set(theirs)) / len(ours))
    low, high = paired.interval
    return (
        f"Only the first finds {paired.only_first:,} of the {len(first.ranks):,} answers, only the second "
        f"{paired.only_second:,}: {paired.verdict('finds more')}. The difference is {points(paired.difference)} points "
        f"(95 % interval {points(low)} to {points(high)}). Of the first {NEAREST} passages they share "
        f"{percent(float(np.mean(shared)))} on average."
    )


def cases(result: NotFound, *others: NotFound) -> dict[str, Any]:
    """The table of misses, with the rank that each of the *others* gives the answer; those of the others alone come
    last. A press compares query and passage."""
    comparable = [other for other in others if other.collection == result.collection]
    rows = [row(result, miss.query, others, miss) for miss in result.misses]
    for query, rank in enumerate(result.ranks):
        found_here_alone = any(other.ranks[query] > other.top for other in comparable) and rank <= result.top
        if found_here_alone:
            rows.append(row(result, query, others))
    return {
        "rows": rows,
        "score": "the rank of the passage, 1 the first",
        "title": "Misses",
        "columns": ["Query and passage", "Cause", "Undone", "Rank"],
        "aside": unusable_rows(result.collection.unusable),
    }


def row(result: NotFound, query: int, others: tuple[NotFound, ...], miss: Miss | None = None) -> dict[str, Any]:
    """A row of the table, with the rank that the *others* give the passage if they searched the same collection.
    *miss*: None for a query that only another misses."""
    asked = result.collection.queries[query]
    prompt = result.collection.written_prompt
    shown = f"… {asked.removeprefix(prompt)}" if prompt else asked
    passage = miss.passage if miss else answer_of(result, query)
    text = result.collection.passages[passage]
    cause = miss.cause if miss else FOUND
    undone = f"rank {miss.after:,}: {miss.what}" if miss and miss.what else ""
    theirs: list[dict[str, Any] | None] = []
    for other in others:
        their_rank = other.ranks[query] if other.collection == result.collection else 0
        if their_rank:
            is_right = their_rank <= other.top
            theirs.append({"answer": f"rank {their_rank:,}", "right": is_right, "score": float(their_rank)})
        else:
            theirs.append(None)
    return {
        "line": query + 1,
        "category": cause,
        "texts": (clip(shown, 120), clip(text, 120)),
        "wanted": cause,
        "answer": undone,
        "right": None,
        "score": float(result.ranks[query]),
        "rank": None,
        "others": theirs,
        "state": {"view": "sentence-similarity", "text": asked, "pair": text},
    }


def answer_of(result: NotFound, query: int) -> int:
    """The nearest passage that answers *query*, which is found."""
    relevant = result.collection.relevant[query]
    near = [passage for passage in result.nearest[query] if passage in relevant]
    return near[0] if near else next(iter(relevant))

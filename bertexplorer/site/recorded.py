"""Recorded answers: what a browser cannot compute, of examples and of lessons, answered when the site is written."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import sha256
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bertexplorer.api.calls import Call
from bertexplorer.api.perform import perform
from bertexplorer.api.view import state_json
from bertexplorer.core.ask import DEFAULTS, Answerer, with_example
from bertexplorer.core.link import restore_state
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.recording import PREFIX
from bertexplorer.model.scheduler import available_cores
from bertexplorer.site.offer import Offer, defaults_of
from bertexplorer.views import VIEWS

INSTEAD = "To ask this of other texts, install the explorer on a computer."
WRITTEN = "computed when this site was written"  # an answer that a visitor sees while the checkpoint arrives
SETTING = "A recorded answer, as a browser lacks one of its settings. Change the text to compute without it."

NOT_DRAWN = {"switchboard": {"controls": 0}}  # what a browser leaves out of an answer


def record(
    answerer: Answerer,
    catalogue: LessonCatalogue,
    views: Sequence[str],
    offer: Offer,
    first: State,
    card: dict[str, Any],
    write: Callable[[str, Any], None],
    tell: Callable[[str], None],
) -> dict[str, str]:
    """Record the answers to states of *views* and of lessons that a browser cannot compute. *write* stores a part by
    its name. Returns the name of the answer to each state, by `key_of`. *card*: what the page shows of the site's
    checkpoint."""
    wanted: dict[str, tuple[State, bool]] = {}
    for state, of_example in states(answerer, catalogue, views, offer, first):
        wanted.setdefault(key_of(state), (state, of_example))

    def record_one(key: str) -> bool:
        state, of_example = wanted[key]
        tell(f"Recording {VIEWS[state.view].title}")
        answer = answer_to(answerer, first, state)
        if answer is None:
            return False
        own = card if state.checkpoint == first.checkpoint else None
        write(name_of(key), as_recorded(answer, state, own, offer.has(state.view), of_example))
        export = perform(answerer, first, Call("export", "json", "", {"state": state_json(state)}))
        write(f"{name_of(key)}.rows", json.loads(export.body)["rows"])
        return True

    with ThreadPoolExecutor(available_cores()) as pool:
        recorded = list(pool.map(record_one, wanted))
    return {key: name_of(key) for key, is_there in zip(wanted, recorded, strict=True) if is_there}


def record_openings(
    answerer: Answerer,
    views: Sequence[str],
    offer: Offer,
    first: State,
    card: dict[str, Any],
    write: Callable[[str, Any], None],
) -> dict[str, str]:
    """Record what a visitor of *views* sees first, who then need not wait for the checkpoint. Returns the name of the
    answer to each state, by `key_of`."""
    known: dict[str, str] = {}
    for state in openings(views, offer, first):
        as_computed = replace(state, options={**state.options, **NOT_DRAWN.get(state.view, {})})
        answer = answer_to(answerer, first, as_computed)
        if answer:
            answer["state"] = {**state_json(state), "precision": "auto"}
            answer["receipt"] = {"short": f"{state.checkpoint} · {WRITTEN}", "whole": provenance_of(card)}
            answer["checkpoint"] = card
            known[key_of(state)] = name_of(key_of(state))
            write(known[key_of(state)], answer)
    return known


def suited(answerer: Answerer, views: Sequence[str], offer: Offer, first: State) -> State:
    """What a visitor sees first: *first*, or, where it is not among *views* or the checkpoint does not answer it, the
    first example of one that it answers. Of an encoder without heads this is the similarity of two sentences."""
    if first.view in views and answer_to(answerer, first, first):
        return first
    candidates = list(filter(offer.has, views))
    if first.view in views:
        candidates.sort(key=lambda name: name != "sentence-similarity")
    for view in candidates:
        state = with_example(VIEWS[view].examples[0], replace(first, view=view, options=defaults_of(view)))
        if answer_to(answerer, first, state):
            return state
    raise ExplorerError(f"{first.checkpoint} answers no view that runs in a browser. Choose another checkpoint.")


def openings(views: Sequence[str], offer: Offer, first: State) -> Iterator[State]:
    """Each of *views* that runs in a browser with its first example, as a link opens it, and with the text of the page,
    as who changes the view gets it."""
    for view in filter(offer.has, views):
        start = replace(first, view=view, options=defaults_of(view))
        yield start
        example = VIEWS[view].examples[0]
        if offer.runs(view, example):
            state = with_example(example, start)
            yield replace(state, options={**start.options, **example.options})


def answer_to(answerer: Answerer, first: State, state: State) -> dict[str, Any] | None:
    """What the server answers; None for a refusal, and for a document, whose own scripts a site does not run."""
    reply = perform(answerer, first, Call("view", "", "", {"state": state_json(state)}))
    answer: dict[str, Any] = json.loads(reply.body)
    return answer if reply.status == 200 and "document" not in answer else None


def name_of(key: str) -> str:
    return sha256(key.encode()).hexdigest()[:12]


def provenance_of(card: dict[str, Any]) -> str:
    """The provenance of an answer that was computed when the site was written, with the weights that it has."""
    return f"{str(card['provenance']).removesuffix(' in a browser')}, {WRITTEN}"


def as_recorded(
    answer: dict[str, Any], state: State, card: dict[str, Any] | None, runs: bool, of_example: bool
) -> dict[str, Any]:
    """*answer* as a site shows it. *runs*: whether its view runs in a browser. The tokens of an example of another one
    cannot be pressed; those of a lesson can, as its questions may ask for one."""
    answer["receipt"]["short"] = f"{state.checkpoint} · recorded, not computed here"
    answer["state"]["precision"] = "auto"
    answer["recorded"] = SETTING if runs else f"A recorded answer. {INSTEAD}"
    if card:
        answer["checkpoint"] = card
        answer["receipt"]["whole"] = provenance_of(card)
    if of_example and not runs and answer["strip"]:
        chips = [{**chip, "span": "", "on": False} for chip in answer["strip"]["chips"]]
        answer["strip"] |= {"press": "", "hint": "", "label": "Tokens.", "chips": chips}
    return answer


def states(
    answerer: Answerer, catalogue: LessonCatalogue, views: Sequence[str], offer: Offer, first: State
) -> Iterator[tuple[State, bool]]:
    """The states to record, and whether each is an example of its view. The views take turns: the examples of one use
    what was kept of those before them, which two at once cannot."""
    most = max(len(VIEWS[name].examples) for name in views)
    for place in range(most):
        for name in views:
            view = VIEWS[name]
            start = replace(first, view=name, checkpoint=view.checkpoint or first.checkpoint)
            for example in view.examples[place : place + 1]:
                if not offer.runs(name, example):
                    yield with_example(example, start), True
    for lesson in catalogue.lessons.values():
        for block in lesson.blocks:
            if block.shown and not block.shown.startswith(PREFIX):
                state = state_of(answerer, block.shown, first)
                if state and not offer.computes(state):
                    yield replace(state, precision="fp32"), False


def state_of(answerer: Answerer, link: str, first: State) -> State | None:
    """The state of a lesson's link; None if it does not restore."""
    state, notice = restore_state(answerer, dict(parse_qsl(urlsplit(link).query, keep_blank_values=True)), first)
    return None if notice else state


def key_of(state: State) -> str:
    """The name of a recorded state, as keyOf of site.js writes it: with the settings that are not at their defaults,
    and without the text where a view does not use it."""
    fields, defaults = state_json(state), defaults_of(state.view)
    options = {**DEFAULTS[state.view], **state.options}
    changed = [f"{name}={plain(value)}" for name, value in sorted(options.items()) if value != defaults[name]]
    uses_text = VIEWS[state.view].text
    texts = [fields[name] if uses_text else "" for name in ("text", "pair", "hidden", "picked")]
    parts = [state.view, *texts, state.against, state.other if state.against else "", changed]
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def plain(value: Any) -> str:
    """A setting as JavaScript writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)

"""What the pages of a site show: the schema of the views, recorded answers for those that need a server, lessons."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from bertexplorer.api.lesson_calls import EXPORTS
from bertexplorer.api.lessons import lesson_json, summary
from bertexplorer.api.page import page_schema
from bertexplorer.api.view import state_json
from bertexplorer.core.ask import Answerer
from bertexplorer.core.state import State, to_link
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.answer_keys import answer_keys
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.lesson import Block, ParsedLesson
from bertexplorer.learn.prose import inline
from bertexplorer.learn.recording import PREFIX, recording
from bertexplorer.runs import learning
from bertexplorer.site.finds import find_key
from bertexplorer.site.offer import Offer, defaults_of
from bertexplorer.site.pages import twins
from bertexplorer.site.recorded import INSTEAD, state_of
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import VIEWS

FILES = ("gift", "moodle", "qti", "csv")  # of a lesson's questions, for learning platforms
ABOUT = (
    "A site of BERT Explorer: files without a server. The checkpoint runs in your browser, and nothing that you type "
    "leaves it.",
    "After the first visit the checkpoint stays in this browser, so that the site opens without a network.",
    "Views that need more than a browser show recorded answers to their examples, and say so.",
    "Training, classes, other checkpoints and uploads of suites need the explorer on a computer.",
)
Tell = Callable[[str], None]


def page(
    library: CheckpointRegistry,
    catalogue: LessonCatalogue,
    offer: Offer,
    first: State,
    shown: Collection[str],
    card: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The schema of the page with the views that are *shown*. *card*: what the page shows of the checkpoint."""
    schema = page_schema(library.settings)
    views = {
        name: {
            **view,
            "offered": offer.has(name),
            "instead": "" if offer.has(name) else INSTEAD,
            "settings": offer.settings_of(name, view["settings"]),
            "defaults": defaults_of(name),  # of all settings, also of those that a browser lacks
            "examples": [
                {**example.as_json, "options": offer.options_of(name, example)} for example in VIEWS[name].examples
            ],
            "upload": view["upload"] if name == "search" else "",
            "as_run": False,
            "several": False,
        }
        for name, view in schema["views"].items()
        if name in shown
    }
    behind = {
        title: {**door, "views": [name for name in door["views"] if name in shown]}
        for title, door in schema["doors"].items()
    }
    return {
        **schema,
        "views": views,
        "doors": {title: door for title, door in behind.items() if door["views"]},
        "twins": twins(),
        "precisions": ["auto"],
        "comparisons": ["", "another text"],
        "about": [["What this is", ABOUT]],
        "opening": {**state_json(first), "precision": "auto"},
        "lessons": catalogue.by_view,
        "site": True,
        "card": card,
    }


def examples_of(view: str, offer: Offer) -> list[dict[str, Any]]:
    """The examples of *view*, each with its settings on a site."""
    return [{**example.as_json, "options": offer.options_of(view, example)} for example in VIEWS[view].examples]


# Lessons


def write_lessons(
    answerer: Answerer, catalogue: LessonCatalogue, offer: Offer, first: State, out: Path, tell: Tell
) -> None:
    """Write every lesson with its keys, in each language, and the recorded runs that lessons show."""
    folder = out / "data" / "lessons"
    languages = {language for _, language in catalogue.translations}
    for language in ("", *sorted(languages)):  # "": English
        ending = f".{language}" if language else ""
        listed = []
        for slug in catalogue.files:
            shown = language if (slug, language) in catalogue.translations else "en"
            lesson = catalogue.lesson(slug, language)
            listed.append({**summary(lesson), "language": shown})
            if not language or shown != "en":
                tell(f"Lesson {lesson.title}")
                content = {**lesson_json(lesson), "language": shown, "languages": catalogue.languages(slug)}
                write_lesson(answerer, lesson, content, offer, first, folder, ending)
        write_json(folder / f"list{ending}.json", listed)


def write_lesson(
    answerer: Answerer,
    lesson: ParsedLesson,
    content: dict[str, Any],
    offer: Offer,
    first: State,
    folder: Path,
    ending: str,
) -> None:
    """Write one lesson as its readers get it, its keys, and its questions for learning platforms."""
    for part in content["parts"]:
        part.pop("class", None)  # a site has no class
        if "view=" in part.get("link", "") and (state := state_of(answerer, part["link"], first)):
            part["link"] = f"/{to_link(replace(state, precision='auto'), defaults_of(state.view))}"
    write_json(folder / f"{lesson.slug}{ending}.json", content)
    write_json(folder / f"{lesson.slug}{ending}.keys.json", keys(answerer, lesson, offer, first))
    for kind in FILES:
        with suppress(ExplorerError):  # the checkpoint may lack what a question asks
            file = EXPORTS[kind](answerer, lesson, first)
            (folder / f"{lesson.slug}{ending}.{kind}").write_bytes(file.encode() if isinstance(file, str) else file)
    for part in lesson.parts:
        if isinstance(part, Block) and part.shown.startswith(PREFIX):
            write_run(folder / "runs", part.shown.removeprefix(PREFIX))


def keys(answerer: Answerer, lesson: ParsedLesson, offer: Offer, first: State) -> dict[str, Any]:
    """The answers of a lesson, each with the kind of its question and its choices; of a find, what to grade it by."""
    found = answer_keys(answerer, lesson, first)
    for block in lesson.blocks:
        if block.id in found:
            found[block.id] |= {"kind": block.kind, "choices": [inline(item.text) for item in block.items]}
        if block.kind == "find":
            try:
                found[block.id]["graded_by"] = find_key(block, offer)
            except ExplorerError as error:
                found[block.id]["problem"] = str(error)
    return found


def write_run(folder: Path, name: str) -> None:
    """Write a recorded run: its curves, a sentence, and how to repeat it."""
    run = recording(PREFIX + name)
    shown = {"title": run.title, "card": run.card, "command": run.command}
    shown["said"] = learning.say(run.curves, higher=run.higher)
    write_json(folder / f"{name}.json", {**shown, "figure": json.loads(learning.draw(run.curves).to_json())})


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False), "utf-8")

"""What the pages of a site show: the schema of the views, recorded answers for those that need a server, lessons."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from bertexplorer.api.calls import Call
from bertexplorer.api.lesson_calls import EXPORTS
from bertexplorer.api.lessons import lesson_json, summary
from bertexplorer.api.page import page_schema
from bertexplorer.api.perform import perform
from bertexplorer.api.view import state_json
from bertexplorer.core.ask import DEFAULTS, Explore, with_example
from bertexplorer.core.link import restore_state
from bertexplorer.core.state import State
from bertexplorer.figures import learning
from bertexplorer.learn.answer_keys import answer_keys
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.lesson import Block, Lesson
from bertexplorer.learn.prose import inline
from bertexplorer.learn.recording import PREFIX, recording
from bertexplorer.site.pages import offered, settings_of, supports
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import VIEWS

FILES = ("gift", "moodle", "qti", "csv")  # of a lesson's questions, for learning platforms
INSTEAD = "To ask this of other texts, install the explorer on a computer."
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
    first: State,
    recorded: dict[str, str],
    card: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The schema of the page: views that run in a browser, and those of which something is *recorded*. *card*: what the
    page shows of the checkpoint."""
    schema = page_schema(library.settings)
    shown = {json.loads(key)[0] for key in recorded}
    views = {
        name: {
            **view,
            "offered": offered(name),
            "instead": "" if offered(name) else INSTEAD,
            "settings": settings_of(name, view["settings"]),
            "usual": DEFAULTS[name],  # of all settings on a server
            "upload": view["upload"] if name == "search" else "",
            "several": False,
        }
        for name, view in schema["views"].items()
        if offered(name) or name in shown
    }
    return {
        **schema,
        "views": views,
        "precisions": ["auto"],
        "comparisons": ["", "another text"],
        "about": [["What this is", ABOUT]],
        "opening": {**state_json(first), "precision": "auto"},
        "lessons": catalogue.by_view,
        "site": True,
        "card": card,
    }


# Recorded answers


def record(explore: Explore, catalogue: LessonCatalogue, first: State, out: Path, tell: Tell) -> dict[str, str]:
    """Record the answers to states that a browser cannot compute: examples, and links of lessons. Returns the file of
    each."""
    known: dict[str, str] = {}
    for state in states(explore, catalogue, first):
        key = key_of(state)
        if key in known:
            continue
        tell(f"Recording {VIEWS[state.view].title}")
        reply = perform(explore, first, Call("view", "", "", {"state": state_json(state)}))
        answer = json.loads(reply.body)
        if reply.status != 200 or "document" in answer:  # a document has scripts of its own, which a site does not run
            continue
        answer["receipt"]["short"] = f"{state.checkpoint} · recorded, not computed here"
        answer["state"]["precision"] = "auto"
        answer["recorded"] = f"A recorded answer. {INSTEAD}"
        rows = json.loads(perform(explore, first, Call("export", "json", "", {"state": state_json(state)})).body)[
            "rows"
        ]
        known[key] = sha256(key.encode()).hexdigest()[:12]
        write_json(out / "data" / "recorded" / f"{known[key]}.json", answer)
        write_json(out / "data" / "recorded" / f"{known[key]}.rows.json", rows)
    write_json(out / "data" / "recorded.json", known)
    return known


def states(explore: Explore, catalogue: LessonCatalogue, first: State) -> Iterator[State]:
    """The states to record."""
    for name, view in VIEWS.items():
        start = replace(first, view=name, checkpoint=view.checkpoint or first.checkpoint)
        for example in view.examples:
            state = with_example(example, start)
            if not computed(state):
                yield state
    for lesson in catalogue.lessons.values():
        for block in lesson.blocks:
            if block.shown and not block.shown.startswith(PREFIX):
                query = dict(parse_qsl(urlsplit(block.shown).query, keep_blank_values=True))
                state, notice = restore_state(explore, query, first)
                if not notice and not computed(state):
                    yield replace(state, precision="fp32")


def computed(state: State) -> bool:
    """Whether a browser can answer *state*."""
    return supports(state.view, state.options) and state.against in ("", "another text")


def key_of(state: State) -> str:
    """The name of a recorded state, as keyOf of site.js writes it: with the settings that are not at their defaults."""
    fields = state_json(state)
    changed = {name: value for name, value in state.options.items() if value != DEFAULTS[state.view][name]}
    options = [f"{name}={plain(value)}" for name, value in sorted(changed.items())]
    texts = [fields[name] for name in ("view", "text", "pair", "hidden", "picked")]
    parts = [*texts, state.against, state.other if state.against else "", options]
    return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))


def plain(value: Any) -> str:
    """A setting as JavaScript writes it."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


# Lessons


def write_lessons(explore: Explore, catalogue: LessonCatalogue, first: State, out: Path, tell: Tell) -> None:
    """Write every lesson with its keys, in each language, and the recorded runs that lessons show."""
    folder = out / "data" / "lessons"
    for language in sorted({"", *(language for _, language in catalogue.translations)}):
        ending = f".{language}" if language else ""
        listed = []
        for slug in catalogue.files:
            shown = language if (slug, language) in catalogue.translations else "en"
            lesson = catalogue.lesson(slug, language)
            listed.append({**summary(lesson), "language": shown})
            if not language or shown != "en":
                tell(f"Lesson {lesson.title}")
                content = {**lesson_json(lesson), "language": shown, "languages": catalogue.languages(slug)}
                write_lesson(explore, lesson, content, first, folder, ending)
        write_json(folder / f"list{ending}.json", listed)


def write_lesson(
    explore: Explore, lesson: Lesson, content: dict[str, Any], first: State, folder: Path, ending: str
) -> None:
    """Write one lesson as its readers get it, its keys, and its questions for learning platforms."""
    for part in content["parts"]:
        part.pop("class", None)  # a site has no class
    write_json(folder / f"{lesson.slug}{ending}.json", content)
    write_json(folder / f"{lesson.slug}{ending}.keys.json", keys(explore, lesson, first))
    for kind in FILES:
        file = EXPORTS[kind](explore, lesson, first)
        (folder / f"{lesson.slug}{ending}.{kind}").write_bytes(file.encode() if isinstance(file, str) else file)
    for part in lesson.parts:
        if isinstance(part, Block) and part.shown.startswith(PREFIX):
            write_run(folder / "runs", part.shown.removeprefix(PREFIX))


def keys(explore: Explore, lesson: Lesson, first: State) -> dict[str, Any]:
    """The answers of a lesson, each with the kind of its question and its choices."""
    blocks = {block.id: block for block in lesson.blocks}
    return {
        name: {**key, "kind": blocks[name].kind, "choices": [inline(item.text) for item in blocks[name].items]}
        for name, key in answer_keys(explore, lesson, first).items()
    }


def write_run(folder: Path, name: str) -> None:
    """Write a recorded run: its curves, a sentence, and how to repeat it."""
    run = recording(PREFIX + name)
    shown = {"title": run.title, "card": run.card, "command": run.command}
    shown["said"] = learning.say(run.curves, higher=run.higher)
    write_json(folder / f"{name}.json", {**shown, "figure": json.loads(learning.draw(run.curves).to_json())})


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False), "utf-8")

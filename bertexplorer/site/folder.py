"""The folder of a site: pages, scripts, the checkpoint, recorded answers and lessons, as plain files for any web server.

The pages are those of the server. Where they ask a server, a worker in the visitor's browser answers (static/site.js).
"""

from __future__ import annotations

import gzip
import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from bertexplorer.api.calls import Call
from bertexplorer.api.lessons import lesson_json, summary
from bertexplorer.api.page import page_schema
from bertexplorer.api.perform import perform
from bertexplorer.api.view import state_json
from bertexplorer.core import provenance
from bertexplorer.core.ask import DEFAULTS, Explore, opening, with_example
from bertexplorer.core.link import restore_state
from bertexplorer.core.state import State
from bertexplorer.errors import ExplorerError
from bertexplorer.figures import learning
from bertexplorer.learn.answer_keys import answer_keys
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.learn.lesson import Block, Lesson
from bertexplorer.learn.prose import inline
from bertexplorer.learn.recording import PREFIX, recording
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.settings import ASSETS
from bertexplorer.site import weights
from bertexplorer.site.graph import Graphs, export
from bertexplorer.site.pages import EXPLORE, LEARN, offered, settings_of
from bertexplorer.site.tokens import describe
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.version import __version__
from bertexplorer.views import VIEWS

HERE = Path(__file__).parent
STATIC = HERE / "static"
SCRIPTS = HERE.parent / "web" / "static"
IMPORT = re.compile(r'(?:from|import)\s*\(?\s*"\./([\w/]+\.js)"')
MAX_BYTES = 500e6  # of a checkpoint in fp32
FONTS = ("IBMPlexSans/IBMPlexSans-Regular", "IBMPlexSans/IBMPlexSans-Bold", "IBMPlexMono/IBMPlexMono-Regular")
INSTEAD = "This view needs the explorer on a computer."
Tell = Callable[[str], None]


def write(
    library: CheckpointRegistry,
    out: Path,
    name: str = "",
    kind: weights.Kind | None = None,
    *,
    tell: Tell = lambda words: None,
) -> dict[str, Any]:
    """Write the site of the checkpoint *name* (by default the page's own) into the empty folder *out*. Returns what it
    decided: the kind of weights, and the bytes of the whole and of a first visit.

    *kind*: how the weights travel; None: in 8 bits if no answer of the examples suffers, else in fp16. Raises
    ExplorerError for a folder that has other files, and for a checkpoint that a browser could not run."""
    if out.exists() and any(out.iterdir()) and not (out / "data" / "site.json").is_file():
        raise ExplorerError(f"{out} has other files. Name an empty folder, or one of an earlier site.")
    name = name or library.settings.checkpoint
    checkpoint = load(library.get(name, "fp32").folder, name=name, precision="fp32")
    check_size(checkpoint)
    tell("Reading the checkpoint")
    graphs = graphs_of(checkpoint)
    words = describe(checkpoint.tokenizer)
    chosen = kind or ("8-bit" if weights.bears_8_bits(checkpoint, graphs.places) else "fp16")
    with_clean_folder(out)
    first = replace(opening(library.settings), checkpoint=name, precision="fp32")
    explore = Explore(library)
    files = write_checkpoint(out, checkpoint, graphs, chosen)
    site = {
        "checkpoint": about(checkpoint, name, chosen),
        "tokenizer": words,
        "packed": chosen,
        "places": graphs.places,
        "files": files,
    }
    write_json(out / "data" / "site.json", site)
    catalogue = LessonCatalogue.of(library.settings)
    write_json(out / "data" / "page.json", page(library, catalogue, first))
    record(explore, catalogue, first, out, tell)
    write_lessons(explore, catalogue, first, out, tell)
    write_scripts(out)
    write_pages(out)
    return {"weights": chosen, **sizes(out)}


def check_size(checkpoint: Checkpoint) -> None:
    """Raises ExplorerError for a checkpoint that is too large for a browser."""
    num_bytes = 4 * checkpoint.num_parameters
    if num_bytes > MAX_BYTES:
        raise ExplorerError(
            f"{checkpoint.name} has {num_bytes / 1e6:,.0f} MB in a browser; the limit is {MAX_BYTES / 1e6:,.0f}. "
            "Choose a smaller checkpoint."
        )


def graphs_of(checkpoint: Checkpoint) -> Graphs:
    """The graphs of *checkpoint*: those of this package if they are its own, else exported."""
    bundled = Graphs.load(HERE / "mini")
    return bundled if bundled.of == str(checkpoint.config) else export(checkpoint)


def with_clean_folder(out: Path) -> None:
    """Remove what an earlier site left in *out*."""
    for part in ("data", "model", "scripts", "local", "learn", "fonts"):
        shutil.rmtree(out / part, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)


# The checkpoint


def write_checkpoint(out: Path, checkpoint: Checkpoint, graphs: Graphs, kind: weights.Kind) -> list[dict[str, Any]]:
    """Write the files that a browser keeps: the graphs, the weights and the runtime. Their names hold their hashes."""
    contents = {"weights": (weights.pack(checkpoint, graphs.places, kind), "bin")}
    contents |= {name: (content, "onnx") for name, content in graphs.files.items()}
    contents["runtime"] = ((STATIC / "vendor" / "ort-wasm-simd-threaded.wasm.gz").read_bytes(), "bin")
    listed = []
    (out / "model").mkdir(parents=True)
    for name, (content, ending) in contents.items():
        path = f"model/{name}-{sha256(content).hexdigest()[:12]}.{ending}"
        (out / path).write_bytes(content)
        listed.append({"name": name, "path": path, "bytes": len(content)})
    return listed


def about(checkpoint: Checkpoint, name: str, kind: weights.Kind) -> dict[str, Any]:
    """What the scripts need to know of a checkpoint, and the card that the page shows."""
    config = checkpoint.config
    facts = [fact for fact in provenance.checkpoint_facts(checkpoint) if fact[0] not in ("Runs in", "Versions")]
    facts.append(("Runs in", f"this browser, in fp32; the weights travelled in {kind}"))
    label = f"{name} · {checkpoint.num_parameters / 1e6:,.1f} M parameters · {kind}"
    whole = f"checkpoint {name}, revision {checkpoint.revision}, weights {kind}, BERT Explorer {__version__} in a browser"
    card = {"name": name, "label": label, "facts": facts, "layers": config.num_layers, "heads": config.num_heads}
    return {
        "name": name,
        "layers": config.num_layers,
        "heads": config.num_heads,
        "hidden_size": config.hidden_size,
        "word_size": config.word_size,
        "has": list(checkpoint.heads),
        "card": {**card, "series": [], "packed": kind, "provenance": whole},
    }


# What the pages show


def page(library: CheckpointRegistry, catalogue: LessonCatalogue, first: State) -> dict[str, Any]:
    """The schema of the page: views that run here, and those whose examples are recorded."""
    schema = page_schema(library.settings)
    for name, view in schema["views"].items():
        view["offered"] = offered(name)
        view["instead"] = "" if view["offered"] else INSTEAD
        view["settings"] = settings_of(name, view["settings"])
        view["upload"] = view["upload"] if name == "search" else ""
        view["several"] = False
    return {
        **schema,
        "precisions": ["auto"],
        "comparisons": ["", "another text"],
        "about": ABOUT,
        "opening": {**state_json(first), "precision": "auto"},
        "lessons": catalogue.by_view,
        "site": True,
    }


ABOUT = (
    (
        "What this is",
        (
            "A site of BERT Explorer: files without a server. The checkpoint runs in your browser, and nothing that "
            "you type leaves it.",
            "After the first visit the checkpoint stays in this browser, so that the site opens without a network.",
            "Views that need more than a browser show recorded answers to their examples, and say so.",
            "Training, classes, other checkpoints and uploads of suites need the explorer on a computer.",
        ),
    ),
)


def record(explore: Explore, catalogue: LessonCatalogue, first: State, out: Path, tell: Tell) -> None:
    """Record the answers to the examples and to the links of lessons of views that do not run in a browser."""
    folder = out / "data" / "recorded"
    folder.mkdir(parents=True)
    known: dict[str, str] = {}
    for state in recorded_states(explore, catalogue, first):
        key = key_of(state)
        if key in known:
            continue
        tell(f"Recording {VIEWS[state.view].title}")
        reply = perform(explore, first, Call("view", "", "", {"state": state_json(state)}))
        content = json.loads(reply.body)
        if reply.status != 200 or "document" in content and len(reply.body) > 3e6:
            continue
        content["receipt"]["short"] = f"{state.checkpoint} · recorded, not computed here"
        content["state"]["precision"] = "auto"
        known[key] = f"{sha256(key.encode()).hexdigest()[:12]}.json"
        write_json(folder / known[key], content)
    write_json(out / "data" / "recorded.json", known)


def recorded_states(explore: Explore, catalogue: LessonCatalogue, first: State) -> Iterator[State]:
    """The states to record."""
    for name, view in VIEWS.items():
        if not offered(name):
            start = replace(first, view=name, checkpoint=view.checkpoint or first.checkpoint)
            yield from (with_example(example, start) for example in view.examples)
    for lesson in catalogue.lessons.values():
        for block in lesson.blocks:
            if block.shown and not block.shown.startswith(PREFIX):
                query = dict(pairs(block.shown))
                state, notice = restore_state(explore, query, first)
                if not notice and not (offered(state.view) and state.against in ("", "another text")):
                    yield replace(state, precision="fp32")


def pairs(link: str) -> list[tuple[str, str]]:
    from urllib.parse import parse_qsl, urlsplit

    return parse_qsl(urlsplit(link).query, keep_blank_values=True)


def key_of(state: State) -> str:
    """The name of a recorded state, as keyOf of site.js writes it."""
    fields = state_json(state)
    options = [f"{name}={plain(value)}" for name, value in sorted({**DEFAULTS[state.view], **state.options}.items())]
    other = state.other if state.against else ""
    parts = [*(fields[name] for name in ("view", "text", "pair", "hidden", "picked")), state.against, other, options]
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
    (folder / "runs").mkdir(parents=True)
    for language in sorted({"", *(language for _, language in catalogue.translations)}):
        listed = []
        for slug in catalogue.files:
            shown = language if (slug, language) in catalogue.translations else "en"
            lesson = catalogue.lesson(slug, language)
            listed.append({**summary(lesson), "language": shown})
            if language and shown == "en":
                continue
            tell(f"Lesson {lesson.title}")
            ending = f".{language}" if language else ""
            content = {**lesson_json(lesson), "language": shown, "languages": catalogue.languages(slug)}
            write_json(folder / f"{slug}{ending}.json", content)
            write_json(folder / f"{slug}{ending}.keys.json", keys(explore, lesson, first))
            for part in lesson.parts:
                if isinstance(part, Block) and part.shown.startswith(PREFIX):
                    write_run(folder / "runs", part.shown.removeprefix(PREFIX))
        write_json(folder / f"list{f'.{language}' if language else ''}.json", listed)


def keys(explore: Explore, lesson: Lesson, first: State) -> dict[str, Any]:
    """The answers of a lesson, each with the kind of its question and its choices."""
    computed = answer_keys(explore, lesson, first)
    blocks = {block.id: block for block in lesson.blocks}
    return {
        name: {**key, "kind": blocks[name].kind, "choices": [inline(item.text) for item in blocks[name].items]}
        for name, key in computed.items()
    }


def write_run(folder: Path, name: str) -> None:
    run = recording(PREFIX + name)
    said = learning.say(run.curves, higher=run.higher)
    shown = json.loads(learning.draw(run.curves).to_json())
    write_json(folder / f"{name}.json", {"title": run.title, "card": run.card, "command": run.command, "said": said, "figure": shown})


# Scripts and pages


def write_scripts(out: Path) -> None:
    """Copy the scripts of the pages that a site has, and those of the site."""
    scripts = out / "scripts"
    scripts.mkdir()
    for name in reachable("explore.js", "learn.js"):
        shutil.copy(SCRIPTS / name, scripts / name)
    for name in ("explore.css", "learn.css", "offline_player.js"):
        shutil.copy(SCRIPTS / name, scripts / name)
    shutil.copy(ASSETS / "style.css", scripts / "style.css")
    shutil.copytree(SCRIPTS / "vendor", scripts / "vendor")
    shutil.copytree(STATIC, out / "local", ignore=shutil.ignore_patterns("*.gz", "sw.js"))
    import gradio

    source = Path(gradio.__file__).parent / "templates" / "frontend" / "static" / "fonts"
    (out / "fonts").mkdir()
    for font in FONTS:
        shutil.copy(source / f"{font}.woff2", out / "fonts")


def reachable(*names: str) -> list[str]:
    """The scripts that *names* import, and these."""
    found: list[str] = []
    waiting = [*names]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.append(name)
            waiting += IMPORT.findall((SCRIPTS / name).read_text("utf-8"))
    return sorted(found)


def write_pages(out: Path) -> None:
    """Write the pages, and the service worker, whose version changes with any file of the site."""
    (out / "index.html").write_text(EXPLORE, "utf-8")
    (out / "learn").mkdir()
    (out / "learn" / "index.html").write_text(LEARN, "utf-8")
    (out / ".nojekyll").write_text("", "utf-8")  # for hosts that would drop some files
    shell = sorted(path.relative_to(out).as_posix() for path in out.rglob("*") if path.is_file() and path.suffix != ".bin")
    digest = sha256()
    for path in shell:
        digest.update(path.encode() + (out / path).read_bytes())
    worker = (STATIC / "sw.js").read_text("utf-8")
    worker = worker.replace("VERSION", json.dumps(digest.hexdigest()[:12])).replace("FILES", json.dumps(shell))
    (out / "sw.js").write_text(worker, "utf-8")


def write_json(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False), "utf-8")


def sizes(out: Path) -> dict[str, int]:
    """The bytes of all files, and about those of a first visit: a page with its scripts, data and the checkpoint, as a
    server sends them that compresses text."""
    whole = {path.relative_to(out).as_posix(): path.stat().st_size for path in out.rglob("*") if path.is_file()}
    first = 0
    for path, size in whole.items():
        part = path.partition("/")[0]
        if part == "model":
            first += size
        elif part in ("scripts", "local", "fonts", "index.html") or path in ("data/page.json", "data/site.json"):
            first += len(gzip.compress((out / path).read_bytes(), 6))
    return {"bytes": sum(whole.values()), "first_visit": first}

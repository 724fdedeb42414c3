"""The folder of a site: pages, scripts, the checkpoint, recorded answers and lessons, as files for any web server.

The pages are those of the server. Where they ask a server, a worker in the visitor's browser answers (web/static/site).
"""

from __future__ import annotations

import gzip
import json
import posixpath
import re
import shutil
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

from torch import nn

from bertexplorer.answers.readout import kind_of, tuned_readout
from bertexplorer.answers.sample_sentences import TOPICS
from bertexplorer.answers.vectors import without_adapters
from bertexplorer.core import provenance
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import LessonCatalogue
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.encoder import ACTIVATIONS
from bertexplorer.model.load import load
from bertexplorer.model.prepacked_linear import pack
from bertexplorer.model.scheduler import ComputeScheduler, available_cores, torch_threads
from bertexplorer.site import classifier, pages, vectors, weights
from bertexplorer.site.activations import ACTIVATION_NAMES
from bertexplorer.site.content import page, write_json, write_lessons
from bertexplorer.site.graph import Graphs, export, named_tensors, shared_names
from bertexplorer.site.offer import Offer
from bertexplorer.site.recorded import record, record_openings, suited
from bertexplorer.site.tokens import describe
from bertexplorer.store.registry import CheckpointRegistry, with_checkpoint
from bertexplorer.version import __version__
from bertexplorer.views import VIEWS
from bertexplorer.web.page import FONTS, STATIC, STYLE, fonts

HERE = Path(__file__).parent
PACKAGE = HERE.parent
SITE = STATIC / "site"
IMPORT = re.compile(r'(?:from|import)\s*\(?\s*"(\.[\w./]+\.m?js)"')
FIRST = (  # where pages and workers begin, beside the twins
    "explore.js",
    "learn.js",
    "theme.js",
    "offline_player.js",
    "teach/worker.js",
    "site/site.js",
    "site/train.js",
    "site/worker.js",
)
PARTS = ("data", "model", "more", "scripts", "local", "learn", "train", "pretrain", "fonts")
MAX_BYTES = 600e6  # of the weights as they travel
PIECE_BYTES = 24_000_000  # of a file: some hosts take none above 25 MB, and a broken download goes on at the next piece
PAGE_BYTES = 250e6  # of memory that a page takes besides its checkpoint
RUNTIME_SHARE = 1.1  # what the runtime takes for a checkpoint, of its bytes
NOT_KEPT = {"model", "more", "README.md", "NOTICE.txt", "thumbnail.png", "sw.js", ".nojekyll"}  # by a service worker


def write(
    library: CheckpointRegistry,
    out: Path,
    name: str | Sequence[str] = "",
    kind: weights.Kind | None = None,
    *,
    address: str = "",
    views: Sequence[str] = (),
    lessons: Sequence[str] | None = None,
    tell: Callable[[str], None] = lambda words: None,
) -> dict[str, Any]:
    """Write the site of the checkpoint *name* (by default the page's own) into *out*, an empty folder or that of an
    earlier site. Returns the kind of weights, how far it moves a probability at how many masks, about the memory
    that a page takes, the bytes of the whole and of a first visit, the titles of the views that are left out, and the
    same of further checkpoints.

    *name*: of several, the first is that of the page and of its lessons, and the others can be picked. *kind*: how the
    weights travel; None: the smallest of which no answer suffers (`weights.choose`). *address*: where the site will be,
    which previews of a link need. *views*: those to offer, besides those that its lessons show; none: all. *lessons*:
    those to offer; None: all. *tell* hears what is being done. Raises ExplorerError for a folder that has other files,
    and for a checkpoint that a browser could not run.

        from bertexplorer.python.bert import library

        write(library(), Path("public"))["bytes"]"""
    if out.exists() and (not out.is_dir() or (any(out.iterdir()) and not (out / "data" / "site.json").is_file())):
        raise ExplorerError(f"{out} has other files. Name an empty folder, or one of an earlier site.")
    names = [name] if isinstance(name, str) else name
    catalogue = LessonCatalogue.of(library.settings)
    catalogue = catalogue if lessons is None else catalogue.only(lessons)
    chosen = chosen_views(views, catalogue)
    # 1. The checkpoints.
    read = [Prepared.read(library, one or library.settings.checkpoint, kind, chosen, catalogue, tell) for one in names]
    if len({one.name for one in read}) < len(read):
        raise ExplorerError("Two of the checkpoints have the same name. Name each once.")
    clean(out)
    picked = [{"name": one.name, "folder": f"more/{number}/" if number else ""} for number, one in enumerate(read)]
    written = []
    for place, one in zip(picked, read, strict=True):
        own_lessons = catalogue.only(()) if place["folder"] else catalogue
        written.append(write_checkpoint_data(library, out / place["folder"], one, own_lessons, len(read) > 1, tell))
    # 2. The pages.
    write_scripts(out)
    write_pages(out, address, picked)
    return {**written[0], "others": written[1:], **sizes(out)}


@dataclass(frozen=True)
class Prepared:
    """A checkpoint that was measured and may be written. *views*: those that were chosen; *wanted*: without those that
    a browser would answer otherwise."""

    name: str
    checkpoint: Checkpoint
    words: dict[str, Any]
    graphs: Graphs
    choice: weights.Choice
    views: list[str]
    wanted: list[str]

    @classmethod
    def read(
        cls,
        library: CheckpointRegistry,
        name: str,
        kind: weights.Kind | None,
        views: list[str],
        catalogue: LessonCatalogue,
        tell: Callable[[str], None],
    ) -> Prepared:
        source = library.get(name, "fp32").folder
        name = source.name if Path(name).is_dir() else name  # a site does not tell where a folder was
        checkpoint = load(source, name=name, precision="fp32")
        all_cores = ComputeScheduler(available_cores() + 1)  # for long work too, as nobody waits for a short answer
        checkpoint = replace(checkpoint, scheduler=all_cores)
        check_size(checkpoint, kind or weights.smallest_kind(checkpoint))
        tell(f"Reading the checkpoint {name}")
        words, graphs = describe(checkpoint.tokenizer), graphs_of(checkpoint)
        tell("Measuring what fewer bits change")
        with torch_threads(1):  # hundreds of short passes
            choice = weights.choose(checkpoint, graphs.places, weights.texts_with_masks(catalogue), kind)
        check_size(checkpoint, choice.kind)
        wanted = [view for view in views if view not in not_followed(checkpoint)]
        return cls(name, checkpoint, words, graphs, choice, views, wanted)


def write_checkpoint_data(
    library: CheckpointRegistry,
    out: Path,
    prepared: Prepared,
    catalogue: LessonCatalogue,
    several: bool,
    tell: Callable[[str], None],
) -> dict[str, Any]:
    """Write what is of one checkpoint: its files, recorded answers, lessons and the schema of its page."""
    # 1. The checkpoint.
    checkpoint, graphs = prepared.checkpoint, prepared.graphs
    kind = prepared.choice.kind
    described = about(checkpoint, prepared.name, kind)
    memory = memory_bytes(checkpoint, kind)
    site = {
        "checkpoint": described,
        "memory": memory,
        "tokenizer": prepared.words,
        "packed": kind,
        "places": graphs.places,
        "shared": shared_names(checkpoint),
        "sentence": vectors.describe(checkpoint),
        "files": write_checkpoint(out, checkpoint, graphs, kind),
    }
    write_json(out / "data" / "site.json", site)
    # The lessons and the recorded answers are those of the weights that a browser gets.
    weights.rounded(checkpoint, graphs.places, kind)
    pack(nn.ModuleList([checkpoint.encoder, *checkpoint.heads.values()]), shared=True, fp32=True)  # quicker
    # 2. What the page shows.
    answerer = Answerer(with_checkpoint(library, checkpoint))
    offer, card = Offer.of(checkpoint), described["card"]
    start = replace(opening(library.settings), checkpoint=prepared.name, precision="fp32")
    first = suited(answerer, prepared.wanted, offer, start)

    def keep(part: str, content: Any) -> None:
        write_json(out / "data" / "recorded" / f"{part}.json", content)

    with torch_threads(1), ThreadPoolExecutor(1) as beside:  # thousands of short passes
        lessons = beside.submit(write_lessons, answerer, catalogue, offer, first, out, tell)
        recorded = record(answerer, catalogue, prepared.wanted, offer, first, card, keep, tell)
        openings = record_openings(answerer, prepared.wanted, offer, first, card, keep)
        lessons.result()
    write_json(out / "data" / "recorded.json", recorded)
    write_json(out / "data" / "openings.json", openings)
    computed, kept = ({json.loads(key)[0] for key in keys} for keys in (openings, recorded))
    shown = {view for view in VIEWS if view in (computed if offer.has(view) else kept)}
    schema = page(library, catalogue, offer, first, shown, card)
    write_json(out / "data" / "page.json", {**schema, "several": several})
    left_out = [VIEWS[view].title for view in prepared.views if view not in shown]
    moved = {"moved": prepared.choice.moved, "masks": prepared.choice.masks}
    return {"name": prepared.name, "weights": kind, **moved, "memory": memory, "left_out": left_out}


def chosen_views(views: Sequence[str], catalogue: LessonCatalogue) -> list[str]:
    """The views of a site: *views* and those that its lessons show, in their usual order; without *views* all. Raises
    ExplorerError for one that does not exist."""
    for name in views:
        if name not in VIEWS:
            raise ExplorerError(f"There is no view {name!r:.60}; wanted one of {', '.join(VIEWS)}.")
    return [name for name in VIEWS if not views or name in views or name in catalogue.by_view]


def not_followed(checkpoint: Checkpoint) -> set[str]:
    """The views whose scripts would answer otherwise than a server: without an MLM head, and with most fine-tuned ones,
    a server reads another head, and positions that turn or shift the scores of attention are not taken apart in a
    browser. The projection of a ColBERT is not applied there."""
    tuned = tuned_readout(checkpoint)
    if tuned and (tuned.kind == "replaced" or classifier.gives_plain_labels(checkpoint)):
        views = {"forward-pass"}
    elif tuned:
        views = {"layers", "saliency", "switchboard", "forward-pass"}
    else:
        views = set() if "masked_lm" in checkpoint.heads else {"layers", "saliency", "switchboard"}
    if checkpoint.multi_vector:
        views |= {"late-interaction"}
    return views | {"query-key"} if checkpoint.config.rope_theta or checkpoint.config.relative else views


def check_size(checkpoint: Checkpoint, kind: weights.Kind) -> None:
    """Raises ExplorerError for a checkpoint whose weights are too large for a visitor."""
    size = weights.num_bytes(checkpoint, kind)
    if size <= MAX_BYTES:
        return
    advice = "Choose a smaller checkpoint."
    if weights.num_bytes(checkpoint, "8-bit") <= MAX_BYTES:
        advice = "Choose a smaller checkpoint, or --weights 8-bit, which changes its answers more."
    raise ExplorerError(
        f"A visitor would fetch {size / 1e6:,.0f} MB for {checkpoint.name}, whose weights travel in {kind}; the limit "
        f"is {MAX_BYTES / 1e6:,.0f}. {advice}"
    )


def memory_bytes(checkpoint: Checkpoint, kind: weights.Kind) -> int:
    """About the most memory that a page takes: the weights as they travelled, those of the graphs in fp32, and room to
    expand the largest tensor."""
    tensors = named_tensors(checkpoint)
    of_graphs = [
        tensor.numel()
        for name, tensor in tensors.items()
        if name != weights.WORD_VECTORS or "masked_lm" in checkpoint.heads
    ]
    largest = max(tensor.numel() for tensor in tensors.values())
    of_checkpoint = weights.num_bytes(checkpoint, kind) + 4 * (sum(of_graphs) + largest)
    return int(PAGE_BYTES + RUNTIME_SHARE * of_checkpoint)


def clean(out: Path) -> None:
    """Remove what an earlier site left in *out*."""
    for part in PARTS:
        shutil.rmtree(out / part, ignore_errors=True)
    out.mkdir(parents=True, exist_ok=True)


# The checkpoint


def graphs_of(checkpoint: Checkpoint) -> Graphs:
    """The graphs of *checkpoint*: those of this package if they are of the same tensors, else exported."""
    bundled = Graphs.load(HERE / "mini")
    names = {place.name for place in bundled.places}
    alike = bundled.of == str(checkpoint.config) and names == set(named_tensors(checkpoint))
    return bundled if alike else export(checkpoint)


def write_checkpoint(out: Path, checkpoint: Checkpoint, graphs: Graphs, kind: weights.Kind) -> list[dict[str, Any]]:
    """Write the files that a browser keeps: the graphs, the weights and the runtime, each in pieces whose names hold
    their hashes."""
    contents = {"weights": (weights.pack(checkpoint, graphs.places, kind), "bin")}
    contents |= {name: (content, "onnx") for name, content in graphs.files.items()}
    contents["runtime"] = ((SITE / "vendor" / "ort-wasm-simd-threaded.wasm.gz").read_bytes(), "bin")
    listed = []
    (out / "model").mkdir(parents=True)
    for name, (content, ending) in contents.items():
        pieces = []
        for start in range(0, len(content), PIECE_BYTES):
            piece = content[start : start + PIECE_BYTES]
            path = f"model/{name}-{sha256(piece).hexdigest()[:12]}.{ending}"
            (out / path).write_bytes(piece)
            pieces.append({"path": path, "bytes": len(piece)})
        listed.append({"name": name, "bytes": len(content), "pieces": pieces})
    return listed


def about(checkpoint: Checkpoint, name: str, kind: weights.Kind) -> dict[str, Any]:
    """What the scripts need to know of a checkpoint, and the card that the page shows."""
    config = checkpoint.config
    facts = [fact for fact in provenance.checkpoint_facts(checkpoint) if fact[0] not in ("Runs in", "Versions")]
    facts.append(("Runs in", f"this browser, in fp32; the weights travelled in {kind}"))
    label = f"{name} · {checkpoint.num_parameters / 1e6:,.1f} M parameters · {kind}"
    made_with = f"revision {checkpoint.revision}, weights {kind}, BERT Explorer {__version__} in a browser"
    card = {
        "name": name,
        "label": label,
        "revision": checkpoint.revision,
        "facts": facts,
        "layers": config.num_layers,
        "heads": config.num_heads,
        "kind": kind_of(checkpoint) or "",
    }
    return {
        "name": name,
        "layers": config.num_layers,
        "heads": config.num_heads,
        "hidden_size": config.hidden_size,
        "word_size": config.word_size,
        "intermediate_size": config.intermediate_size,
        "norm_eps": config.norm_eps,
        "rms_norm": config.rms_norm,
        "pre": config.norm == "pre",
        "activation": ACTIVATION_NAMES[ACTIVATIONS[config.activation]],
        "first_position": config.first_position,
        "has": list(checkpoint.heads),
        "classifier": classifier.describe(checkpoint),
        "remark": without_adapters(checkpoint),
        "sentences": [[topic, sentence] for topic, group in TOPICS.items() for sentence in group],
        "card": {**card, "series": [], "packed": kind, "provenance": f"checkpoint {name}, {made_with}"},
    }


# Scripts and pages


def write_scripts(out: Path) -> None:
    """Copy the scripts and styles that a site needs. Below scripts/ they lie as in this package, so that what they
    import is where they say."""
    for path in needed():
        copy(source_of(path), out / "scripts" / path)
    static = out / pages.SCRIPTS
    for name in ("frame.css", "explore.css", "learn.css", "train.css", "teach.css"):
        copy(STATIC / name, static / name)
    copy(STYLE, static / STYLE.name)
    for folder in (STATIC, SITE):
        for file in (folder / "vendor").iterdir():
            if file.suffix not in (".gz", ".mts"):  # the runtime, which is in model/; types
                copy(file, static / file.relative_to(STATIC))
    for font in FONTS:
        copy(fonts() / font, static / "fonts" / font)


def copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(source, target)


def needed() -> list[str]:
    """The scripts of a site, as paths below this package: where the pages and the worker begin, the views' twins, and
    all that these import."""
    twins = [path.removeprefix("scripts/") for path in pages.twins().values()]
    waiting = [*(f"web/static/{name}" for name in FIRST), *twins]
    found: list[str] = []
    while waiting:
        path = waiting.pop()
        if path in found or "/vendor/" in path:  # vendored scripts are copied whole
            continue
        found.append(path)
        script = source_of(path).read_text("utf-8")
        waiting += [posixpath.normpath(f"{posixpath.dirname(path)}/{name}") for name in IMPORT.findall(script)]
    return sorted(found)


def source_of(path: str) -> Path:
    """The file of a script. The twin of a view that another package brings lies in that package."""
    part, _, rest = path.partition("/")
    name, _, file = rest.partition("/")
    own = [view.folder for view in VIEWS.values() if part == "views" and view.name == name]
    return own[0] / file if own else PACKAGE / path


def write_pages(out: Path, address: str, checkpoints: Sequence[Mapping[str, str]] = ()) -> None:
    """Write the pages, and the service worker, whose version changes with any file of the site. *checkpoints*: the name
    and the folder of each that can be picked."""
    (out / "index.html").write_text(pages.explore(address, checkpoints), "utf-8")
    others = {"learn": pages.learn(address), "train": pages.train(address), "pretrain": pages.absent("pretrain")}
    for name, content in others.items():
        (out / name).mkdir()
        (out / name / "index.html").write_text(content, "utf-8")
    for name in ("README.md", "NOTICE.txt", "thumbnail.png"):
        shutil.copy(HERE / name, out / name)
    (out / ".nojekyll").write_text("", "utf-8")  # for hosts that would drop some files
    files = sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())
    kept = [path.as_posix() for path in files if path.parts[0] not in NOT_KEPT]
    digest = sha256()
    for name in kept:
        digest.update(name.encode() + (out / name).read_bytes())
    worker = (SITE / "sw.js").read_text("utf-8")
    worker = worker.replace("VERSION", json.dumps(digest.hexdigest()[:12])).replace("FILES", json.dumps(kept))
    (out / "sw.js").write_text(worker, "utf-8")


def sizes(out: Path) -> dict[str, int]:
    """The bytes of all files, and about those of a first visit: a page with its scripts, data and the checkpoint, as a
    server sends them that compresses text."""
    whole = {path.relative_to(out).as_posix(): path.stat().st_size for path in out.rglob("*") if path.is_file()}
    first = 0
    for path, size in whole.items():
        part = path.partition("/")[0]
        if part == "model":
            first += size
        elif part in ("scripts", "index.html") or path in ("data/page.json", "data/site.json"):
            first += len(gzip.compress((out / path).read_bytes(), 6))
    return {"bytes": sum(whole.values()), "first_visit": first}

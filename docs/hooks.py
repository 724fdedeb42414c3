"""What mkdocs adds to the written pages: every view, the Python reference and the command line, from the code."""

import ast
import inspect
import io
import re
import sys
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "bertexplorer"
sys.path.insert(0, str(ROOT))

from mkdocs.structure.files import File, Files

import bertexplorer as bx
from bertexplorer.cli import main as run
from bertexplorer.learn.recording import RunFacts
from bertexplorer.options import option_specs
from bertexplorer.python.describe import document, example, explain, signature
from bertexplorer.views import VIEWS
from bertexplorer.views.facts import Facts, fact_methods
from bertexplorer.views.view import View

PUBLIC: tuple[str, ...] = (
    "load",
    "Bert",
    "Result",
    "compare",
    "Comparison",
    "from_transformers",
    "train",
    "pretrain",
    "TrainingRun",
    "SuiteRun",
)
PUBLIC += ("teach", "doctor", "doctor_states", "checkpoints", "lesson", "Lesson", "widget", "app", "serve")
PUBLIC += ("ExplorerError",)
COMMANDS = (
    "serve",
    "checkpoints",
    "fill-mask",
    "suite",
    "probe",
    "whose-vectors",
    "audit",
    "not-found",
    "threshold",
    "error-analysis",
    "encode",
    "doctor",
    "train",
    "export",
    "site",
    "pretrain",
    "lesson",
    "mcp",
    "cluster",
    "completion",
)


OUTPUT = """
Rows go to stdout; the sentence, notes and progress to stderr, progress only if a person sees it. With `--json`,
stdout has all of them. `bertexplorer completion bash > ~/.bertexplorer; echo source ~/.bertexplorer >> ~/.bashrc`
completes commands, flags and values; `zsh` and `fish` are known too. A run that was stopped and can be resumed ends
with code 3, an error with 2.
"""

SECTION = re.compile(r"^(Args|Returns|Raises):$", re.MULTILINE)


def on_page_markdown(markdown: str, page: Any, **more: Any) -> str:
    """The page on lessons ends with the facts of every view."""
    return markdown + facts() if page.file.src_uri == "lessons.md" else markdown


def facts() -> str:
    """What a lesson can ask of each view."""
    parts = ["", "Every view offers these:", "", *table(Facts), ""]
    for view in VIEWS.values():
        kind = view.analysis.Facts
        parts += [f"### {view.title} (`{view.slug}`)", "", inspect.cleandoc(vars(kind).get("__doc__") or ""), ""]
        parts += [*table(kind, without=fact_methods(Facts)), ""]
    parts += ["### Recorded runs", "", inspect.cleandoc(RunFacts.__doc__ or ""), "", *table(RunFacts), ""]
    return "\n".join(parts)


def table(kind: Any, without: Any = ()) -> list[str]:
    """The facts of a class, a row each."""
    rows = []
    for name, method in fact_methods(kind).items():
        if name not in without:
            called = plain(inspect.signature(method)).replace(return_annotation=inspect.Signature.empty)
            rows.append(f"| `{name}{called}` | {cell(prose(inspect.getdoc(method) or ''))} |")
    return ["| fact | |", "|---|---|", *rows]


def on_files(files: Files, config: Any) -> Files:
    """The pages that are written here, and the pictures that they show."""
    for name, content in (
        ("views.md", views()),
        ("reference.md", reference()),
        ("cli.md", cli()),
        ("modules.md", modules()),
    ):
        files.append(File.generated(config, name, content=content))
    files.append(File.generated(config, "llms.txt", abs_src_path=str(ROOT / "llms.txt")))
    for picture in [
        *(ROOT / "assets" / f"{name}.png" for name in ("components", "learn", "train")),
        *sorted((ROOT / "assets" / "views").glob("*.png")),
    ]:
        files.append(File.generated(config, f"pictures/{picture.name}", abs_src_path=str(picture)))
    return files


def views() -> str:
    """A section for each view, by topic."""
    parts = [
        "# Views",
        "",
        "Every view as it opens on the bundled checkpoint, topic by topic; Answer on a run of the built-in films.",
        "",
    ]
    topic = ""
    for view in VIEWS.values():
        if topic != view.topic:
            topic = view.topic
            parts += [f"## {topic}", ""]
        parts += section(view)
    return "\n".join(parts)


def section(view: View) -> list[str]:
    """One view: question, picture, what it computes, how not to misread it, papers, options, and a call."""
    about = re.sub(r"\*(\w+)\*", r"`\1`", prose(document(view.name)))
    rows = [f"| `{s.name}` | {cell(explain(s))} | `{s.default!r}` |" for s in option_specs(view.analysis.Options)]
    table = ["| option | | default |", "|---|---|---|", *rows, ""] if rows else []
    papers = [paper for paper in view.papers if not cited(paper, about + view.note)]
    picture = f"![{view.title}, drawn](pictures/{view.slug}.png){{ loading=lazy }}"
    label = "Papers" if papers == [*view.papers] else "Further papers"
    return [
        f"### {view.title}",
        "",
        f"*{view.question}*",
        "",
        *([picture, ""] if view.name in VIEWS.folders else []),  # the view of another package has none
        about,
        "",
        '!!! note "How not to misread it"',
        f"    {view.note}",
        "",
        *([f"{label}: {'; '.join(papers)}", ""] if papers else []),
        *table,
        "```python",
        example(view.name).removesuffix(".said"),
        "```",
        "",
    ]


def cited(paper: str, text: str) -> bool:
    """Whether *text* names a paper, such as "Vig, 2019, A Multiscale …", by its authors and year."""
    authors, year, _ = paper.split(", ", 2)
    return f"{authors}, {year}" in text or f"{authors} ({year})" in text


def reference() -> str:
    """The names of the package with their documentation."""
    parts = ["# Python reference", "", "```python", "import bertexplorer as bx", "```", ""]
    for name in PUBLIC:
        parts += entry(getattr(bx, name), name)
    parts += [
        "## The analyses",
        "",
        "Each is a function, and without `checkpoint` and `precision` a method of a `Bert`.",
        "",
    ]
    for name in VIEWS.names:
        parts += [f"### {name}", "", "```python", f"bx.{name}{plain(signature(name, method=False))}"]
        parts += ["```", "", *marked(document(name)), ""]
    return "\n".join(parts)


def modules() -> str:
    """The modules of each folder, with the first sentence of each."""
    parts = [
        "# Modules",
        "",
        "The folders from the lowest layer to the highest are listed in `bertexplorer/__init__.py`.",
        "",
    ]
    for folder in sorted({file.parent for file in PACKAGE.rglob("*.py")}):
        rows = [(file.name, first_sentence(file)) for file in sorted(folder.glob("*.py")) if file.name != "__init__.py"]
        parts += [f"## {folder.relative_to(ROOT).as_posix()}", "", first_sentence(folder / "__init__.py"), ""]
        parts += ["| module | |", "|---|---|", *(f"| `{name}` | {cell(said)} |" for name, said in rows), ""]
    return "\n".join(parts)


def first_sentence(file: Path) -> str:
    """What a module says first of itself."""
    text = " ".join((ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "").split("\n\n")[0].split())
    return re.split(r"(?<=[.:]) (?=[A-Z])", text)[0]


def entry(thing: Any, name: str) -> list[str]:
    """A function or a class with its public methods."""
    parts = [f"## {name}", "", *called(thing, name), *marked(inspect.getdoc(thing) or ""), ""]
    members = vars(thing).items() if inspect.isclass(thing) else ()
    for member, value in members:
        target = getattr(value, "func", getattr(value, "fget", value))
        if not member.startswith("_") and inspect.isfunction(target) and inspect.getdoc(target):
            parts += [f"### {name}.{member}", "", *(called(target, member) if target is value else [])]
            parts += [*marked(inspect.getdoc(target) or ""), ""]
    return parts


def called(thing: Any, name: str) -> list[str]:
    """A definition as one writes it, without self."""
    return ["```python", f"{name}{plain(inspect.signature(thing))}", "```", ""]


def plain(taken: inspect.Signature) -> inspect.Signature:
    given = [one.replace(annotation=Plain(one.annotation)) for one in taken.parameters.values() if one.name != "self"]
    gives = taken.return_annotation
    return taken.replace(
        parameters=given, return_annotation=Plain(gives) if gives not in ("None", None) else taken.empty
    )


class Plain(str):
    """An annotation that is printed without quotes, a class by its name."""

    def __new__(cls, annotation: Any) -> Any:
        return super().__new__(cls, annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))

    def __repr__(self) -> str:
        return str(self)


def marked(doc: str) -> list[str]:
    """A docstring as markdown: its arguments and errors as lists, its example as a block."""
    text, _, code = doc.partition("Example:")
    first, *rest = SECTION.split(text)
    parts = [first.strip(), ""]
    for name, content in zip(rest[::2], rest[1::2], strict=True):
        body = re.sub(r"\n +", " ", inspect.cleandoc(content))
        listed = [re.sub(r"^(\*{0,2}\w+): ", r"- `\1`: ", line) for line in body.split("\n")]
        parts += [f"{name}: {' '.join(body.split())}"] if name == "Returns" else [f"{name}:", "", *listed]
        parts.append("")
    code = inspect.cleandoc(code.replace("  # doctest: +SKIP", ""))
    shown = ["", "```python", code, "```"] if code else []
    return [*(re.sub(r"(?<![*`])\*(\w+)\*(?![*`])", r"`\1`", part) for part in parts), *shown]


def prose(doc: str) -> str:
    """The sentences of a documentation, without its sections and example."""
    return SECTION.split(doc)[0].partition("Example:")[0].strip()


def cell(text: str) -> str:
    return text.replace("|", "\\|")


def cli() -> str:
    """The commands with what they print for --help."""
    parts = ["# Command line", "", "`bertexplorer COMMAND`, or `python -m bertexplorer COMMAND` in a checkout.", ""]
    parts += ["Every view is a command. Those for a text take it as `fill-mask` does; `--help` lists the rest.", ""]
    parts += [OUTPUT, ""]
    for command in ("", *COMMANDS):
        out = io.StringIO()
        with redirect_stdout(out), suppress(SystemExit):
            run([command, "--help"] if command else ["--help"])
        parts += [f"## {command or 'All commands'}", "", "```text", out.getvalue().strip(), "```", ""]
    return "\n".join(parts)

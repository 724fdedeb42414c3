"""bertexplorer lesson: lists the lessons and lectures of the page Learn, and checks them for their authors."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from bertexplorer.classroom.lecture import SUFFIX, Lecture, find_lecture, lectures, read_lecture_file
from bertexplorer.classroom.lecture_check import check_lecture
from bertexplorer.cli.waiting import tell
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.csv_safety import as_csv
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import check
from bertexplorer.learn.catalogue import NAME, LessonCatalogue, read_file
from bertexplorer.learn.collect import MAX_FILES, collect
from bertexplorer.learn.lesson import ParsedLesson
from bertexplorer.learn.translation import template, translatable_parts, translate
from bertexplorer.python.result import as_table
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.wording import counted


def command(library: CheckpointRegistry, arguments: Sequence[str]) -> int:
    """Run `bertexplorer lesson`. Returns 0, or 1 if a lesson has problems. Raises ExplorerError for an unknown
    lesson."""
    flags = make_parser().parse_args(arguments)
    catalogue = LessonCatalogue.of(library.settings)
    if flags.what == "translate":
        print("\n".join(line for name in flags.lessons for line in template(catalogue.lesson(name))))
        return 0
    if flags.what == "collect":
        return collect_all(library, catalogue, flags.lessons, flags.out)
    if flags.what == "list":
        print(as_table([summary(slug, lesson) for slug, lesson in catalogue.lessons.items()]))
        print()
        print(as_table([lecture_summary(find_lecture(catalogue, slug)) for slug in lectures(catalogue)]))
        return 0
    names = flags.lessons or [*catalogue.files, *lectures(catalogue)]
    return check_all(library, catalogue, names, flags.checkpoint)


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("bertexplorer lesson", description="List or check lessons and lectures.")
    parser.add_argument("what", choices=("list", "check", "translate", "collect"))
    parser.add_argument(
        "lessons",
        nargs="*",
        help="files, or names from the list; default: all. translate prints the file to fill in; collect takes the "
        "folder of the files that were handed in",
    )
    parser.add_argument("--checkpoint", default="", help="evaluate on this checkpoint instead of the page's")
    parser.add_argument("-o", "--out", type=Path, metavar="FILE.csv", help="where collect writes the grades")
    return parser


def collect_all(
    library: CheckpointRegistry, catalogue: LessonCatalogue, folders: Sequence[str], out: Path | None
) -> int:
    """Write a row for each file that was handed in, and tell the problems. Raises ExplorerError for a folder without
    such files."""
    if not folders or out is None:
        raise ExplorerError("Name the folder of the files and where to write: lesson collect FOLDER -o grades.csv.")
    paths: list[Path] = []
    for folder in folders:
        paths += sorted(Path(folder).glob("*.htm*"))
    if not 0 < len(paths) <= MAX_FILES:
        raise ExplorerError(
            f"{', '.join(folders)[:200]}: {len(paths):,} files end in .html; wanted 1 to {MAX_FILES:,}."
        )
    rows = []
    for number, row in enumerate(collect(Answerer(library), catalogue, paths, opening(library.settings)), 1):
        tell(f"{number} of {len(paths)} files")
        rows.append(row)
    tell("")
    blank: dict[str, object] = {}  # all columns: each lesson has its own
    for row in rows:
        blank |= dict.fromkeys(row, "")
    try:
        out.write_text(as_csv([blank | row for row in rows]), "utf-8", newline="")
    except OSError as error:
        raise ExplorerError(f"{out} cannot be written: {error.strerror}. Choose another path.") from error
    for row in rows:
        if row["problem"]:
            print(f"{row['file']}: {row['problem']}", file=sys.stderr)
    print(f"{counted(len(rows), 'file')} in {out}")
    return 0


def summary(slug: str, lesson: ParsedLesson) -> dict[str, object]:
    about = lesson.about
    row = {"lesson": slug, "title": lesson.title, "topic": about.get("topic", ""), "minutes": about.get("minutes", "")}
    return {**row, "questions": len(lesson.questions)}


def lecture_summary(lecture: Lecture) -> dict[str, object]:
    about = {"lecture": lecture.slug, "title": lecture.title, "minutes": lecture.minutes}
    return {**about, "steps": len(lecture.steps), "votes": len(lecture.votes)}


def check_all(library: CheckpointRegistry, catalogue: LessonCatalogue, names: Sequence[str], checkpoint: str) -> int:
    """Print a line for everything that is evaluated, with its number. Return 1 if something is wrong."""
    answerer, problems = Answerer(library), 0
    for name in names:
        path = Path(name)
        if (match := NAME.fullmatch(path.name)) and match[3]:
            problems += check_translation(catalogue, path, match[2])
            continue
        started = time.perf_counter()
        if path.name.endswith(SUFFIX) or name in lectures(catalogue):
            lecture = read_lecture_file(path) if path.suffix == ".md" else find_lecture(catalogue, name)
            lines = check_lecture(answerer, catalogue, lecture, opening(library.settings), checkpoint)
            size = counted(len(lecture.steps), "step")
        else:
            lesson = read_file(path) if path.suffix == ".md" else catalogue.lesson(name)
            lines = check.check(answerer, lesson, opening(library.settings), checkpoint)
            size = counted(len(lesson.questions), "question")
        for line in lines:
            problems += line.wrong
            where = f"{name}:{line.line}: {line.block}".rstrip(": ")
            print(f"{where}: {'WRONG: ' if line.wrong else ''}{line.text}")
        print(f"{name}: {size}, {time.perf_counter() - started:.1f} s")
    if problems:
        print(f"bertexplorer: {counted(problems, 'problem')} to fix.", file=sys.stderr)
    return 1 if problems else 0


def check_translation(catalogue: LessonCatalogue, path: Path, slug: str) -> int:
    """Print what is missing or stale in the translation *path*, and return how many things. Its English lesson is the
    file beside it, or the one in the catalogue. Raises ExplorerError if a file cannot be read."""
    number = path.name.split("-")[0]
    english_path = path.with_name(f"{number}-{slug}.md")
    english = read_file(english_path) if english_path.exists() else catalogue.lesson(slug)
    try:
        _, problems = translate(english, path.read_text("utf-8-sig"))
    except (OSError, UnicodeDecodeError) as error:
        raise ExplorerError(f"{path} cannot be read as UTF-8. Give a Markdown file.") from error
    for problem in problems:
        print(f"{path}:{problem.line}: WRONG: {problem.text}")
    print(f"{path}: a translation of {len(translatable_parts(english))} parts")
    return len(problems)

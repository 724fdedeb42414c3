"""Catalogue: all lessons: those of the package, those in a teacher's folder, and uploaded ones."""

from __future__ import annotations

import re
import secrets
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from bertexplorer.errors import ExplorerError
from bertexplorer.learn.front_matter import LessonProblem
from bertexplorer.learn.lesson import Block, ParsedLesson, read_lesson
from bertexplorer.learn.translation import translate
from bertexplorer.settings import ASSETS, Settings

NAME = re.compile(r"(\d{1,3})-([a-z0-9-]+)(?:\.([a-z]{2}))?\.md")
OWN = re.compile(r"own-[0-9a-f]{16}")
MAX_BYTES, MAX_UPLOADS = 200_000, 2000
BUNDLED = ASSETS / "lessons"


@dataclass(frozen=True)
class LessonCatalogue:
    """The lessons in *folders*, ordered by the numbers at the beginning of their file names. A lesson in a later folder
    replaces an earlier one with the same name."""

    folders: tuple[Path, ...]
    uploads: Path | None = None  # the folder of uploaded lessons
    chosen: tuple[str, ...] | None = None  # the slugs of those to offer; None: all

    @classmethod
    def of(cls, settings: Settings) -> LessonCatalogue:
        """The lessons of the package, of BERTEXPLORER_LESSONS, and uploaded ones."""
        folders = [BUNDLED]
        if settings.lessons_dir:
            folders.append(settings.lessons_dir)
        return cls(tuple(folders), settings.data_dir / "lessons")

    def save_upload(self, content: bytes) -> str:
        """Store the uploaded lesson *content* and return its slug. Anyone with the link may read the lesson. Raises
        ExplorerError if it is not a lesson."""
        if self.uploads is None or len(content) > MAX_BYTES:
            raise ExplorerError(f"The file has {len(content):,} bytes; a lesson has {MAX_BYTES:,} at most. Split it.")
        try:
            lesson = read_lesson(content.decode("utf-8-sig"), "own")
        except UnicodeDecodeError as error:
            raise ExplorerError("The file is not UTF-8 text. Save it as UTF-8, and upload it again.") from error
        if not lesson.blocks:
            reason = lesson.problems[0].text if lesson.problems else "It asks nothing."
            raise ExplorerError(f"The file is not a lesson. {reason}")
        if self.uploads.is_dir() and len(list(self.uploads.glob("own-*.md"))) >= MAX_UPLOADS:
            raise ExplorerError(f"There are {MAX_UPLOADS:,} uploaded lessons on this server, the most that it stores.")
        slug = f"own-{sha256(content).hexdigest()[:16]}"
        self.uploads.mkdir(parents=True, exist_ok=True)
        partial = self.uploads / f"{slug}.{secrets.token_hex(4)}.partial"
        partial.write_bytes(content)
        partial.replace(self.uploads / f"{slug}.md")
        return slug

    @cached_property
    def files(self) -> dict[str, Path]:
        """Slug -> file, in the order of their numbers, without translations."""
        numbered = []
        for folder in self.folders:
            for path in sorted(folder.glob("*.md")):
                match = NAME.fullmatch(path.name)
                if match and not match[3]:  # else a translation
                    numbered.append((int(match[1]), match[2], path))
        numbered.sort(key=lambda file: file[0])
        files = {slug: path for _, slug, path in numbered}
        if self.chosen is not None:
            return {slug: files[slug] for slug in self.chosen}
        return files

    def only(self, slugs: Sequence[str]) -> LessonCatalogue:
        """The lessons *slugs* of these, in that order. Raises ExplorerError for one that does not exist."""
        for slug in slugs:
            self.lesson(slug)
        return replace(self, chosen=tuple(dict.fromkeys(slugs)))

    @cached_property
    def lessons(self) -> dict[str, ParsedLesson]:
        """Slug -> lesson; each file is read once."""
        return {slug: read_file(path, slug) for slug, path in self.files.items()}

    @cached_property
    def by_view(self) -> dict[str, list[dict[str, str]]]:
        """View -> the lessons that show it, first those that show it in most blocks."""
        uses = []
        for slug, lesson in self.lessons.items():
            times = Counter[str]()
            for block in lesson.blocks:
                times.update(views_of(block))
            uses += [(view, count, {"slug": slug, "title": lesson.title}) for view, count in times.items()]
        uses.sort(key=lambda use: -use[1])
        lessons_of: dict[str, list[dict[str, str]]] = {}
        for view, _, entry in uses:
            lessons_of.setdefault(view, []).append(entry)
        return lessons_of

    def lesson(self, slug: str, language: str = "") -> ParsedLesson:
        """The lesson *slug*, in *language* where there is a translation. Raises ExplorerError if there is no lesson."""
        if self.uploads is not None and OWN.fullmatch(slug):
            upload = self.uploads / f"{slug}.md"
            if upload.is_file():
                return read_upload(upload, slug)
        if slug not in self.files:
            raise ExplorerError(f"There is no lesson {slug!r:.60}; there are {', '.join(self.files)}.")
        return self.translations.get((slug, language), self.lessons[slug])

    @cached_property
    def translations(self) -> dict[tuple[str, str], ParsedLesson]:
        """(slug, language) -> the lesson in that language; parts without a translation are in English."""
        translations: dict[tuple[str, str], ParsedLesson] = {}
        for folder in self.folders:
            for path in sorted(folder.glob("*.??.md")):
                match = NAME.fullmatch(path.name)
                if not match or not path.is_file():
                    continue
                _, slug, language = match.groups()
                if language and slug in self.lessons:
                    source = path.read_text("utf-8-sig", "replace")
                    translations[slug, language], _ = translate(self.lessons[slug], source)
        return translations

    def languages(self, slug: str = "") -> list[str]:
        """The languages that the lesson *slug* is translated into; without a slug, those of all lessons."""
        return sorted({language for name, language in self.translations if slug in ("", name)})


def views_of(block: Block) -> set[str]:
    """The view that *block* shows, if any."""
    return {view for name, view in parse_qsl(urlsplit(block.link).query) if name == "view"}


@lru_cache(maxsize=64)
def read_upload(path: Path, slug: str) -> ParsedLesson:
    """The uploaded lesson in the file *path*, read once: its slug is the hash of its content."""
    return read_file(path, slug)


def read_file(path: Path, slug: str = "") -> ParsedLesson:
    """The lesson in the file *path*; without parts, and with a problem, if the file cannot be read."""
    match = NAME.fullmatch(path.name)
    slug = slug or (match[2] if match else path.stem)
    try:
        return read_lesson(read_text(path), slug)
    except ExplorerError as error:
        return ParsedLesson(slug, {}, problems=(LessonProblem(1, str(error)),))


def read_text(path: Path) -> str:
    """The text of the file *path*. Raises ExplorerError if it cannot be read."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ExplorerError("The file is not UTF-8 text. Save it as UTF-8.") from error
    except OSError as error:
        message = f"{path.name} cannot be read: {error.strerror}. Put a Markdown file there, or remove it."
        raise ExplorerError(message) from error

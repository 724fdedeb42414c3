"""Translations: texts are replaced block by block; stale or missing blocks stay English."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from bertexplorer.cli.lesson import check_translation, command
from bertexplorer.learn.catalogue import BUNDLED, LessonCatalogue
from bertexplorer.learn.grading import grade
from bertexplorer.learn.lesson import read_lesson
from bertexplorer.learn.translation import about_fingerprint, fingerprint, template, translatable_parts, translate
from bertexplorer.settings import Settings
from tests.learn.test_lesson import GUESS, HEAD

ASKED = GUESS.replace('  when: top() == "rome"\n', "")
LESSON = read_lesson(f"{HEAD}Hello.\n\n{ASKED}\n\nBye.", "masks")
FILLED = "\n".join(template(LESSON))
GERMAN = (
    FILLED.replace("Hello.", "Hallo.").replace("Which *word*?", "Welches *Wort*?").replace("- Paris", "- Paris (F)")
)


def test_a_template_is_a_translation_into_english():
    lesson, problems = translate(LESSON, FILLED)
    assert not problems
    assert [translatable_parts(lesson)[id].prompt for id in translatable_parts(LESSON)] == [
        block.prompt for block in translatable_parts(LESSON).values()
    ]


def test_texts_are_replaced_and_keys_still_name_the_english_choice():
    lesson, problems = translate(LESSON, GERMAN.replace("title: Masks", "title: Masken"))
    assert not problems and lesson.title == "Masken" and lesson.parts[0] == "Hallo." and lesson.parts[2] == "Bye."
    block = lesson.block("first")
    assert (block.prompt, block.items[0].text, block.fields["key"]) == ("Welches *Wort*?", "Paris (F)", "top()")
    feedback = grade(block, 1, {"top": lambda: "Paris"})
    assert (feedback.right, feedback.key, feedback.answer) == (False, 0, "Paris (F)")


def test_files_may_begin_with_a_byte_order_mark(tmp_path, capsys):
    """Windows' Notepad writes one."""
    english, german = (text.encode("utf-8-sig") for text in (f"{HEAD}Hello.\n\n{ASKED}\n\nBye.", GERMAN))
    (tmp_path / "01-masks.md").write_bytes(english)
    (tmp_path / "01-masks.de.md").write_bytes(german.replace(b"title: Masks", b"title: Masken"))
    lessons = LessonCatalogue((tmp_path,), tmp_path / "uploads")
    uploaded = lessons.lesson(lessons.save_upload(english))
    for lesson in (lessons.lesson("masks"), uploaded):
        assert (lesson.title, lesson.problems) == ("Masks", ())
    assert lessons.lesson("masks", "de").title == "Masken"
    assert check_translation(lessons, tmp_path / "01-masks.de.md", "masks") == 0, capsys.readouterr().out


def test_hints_are_replaced_and_their_conditions_stay():
    near = 'near: top() == "y" -> "Nearly: {top()}."'
    english = read_lesson(
        f'{HEAD}```find it\nFind it.\nstart: /?view=fill-mask\naccept: top() == "x"\n{near}\n```', "masks"
    )
    german = "\n".join(template(english)).replace("Nearly:", "Fast:")
    lesson, problems = translate(english, german)
    assert not problems and lesson.block("it").near == (('top() == "y"', "Fast: {top()}."),)
    for lacking, message in (
        ("", "it has 0 lines of near:; wanted 1"),
        ('near: top() -> "x"', 'not of the form: "hint"'),
    ):
        lesson, problems = translate(english, german.replace('near: "Fast: {top()}."', lacking))
        assert lesson.block("it").near == english.block("it").near
        assert any(message in problem.text for problem in problems)


@pytest.mark.parametrize(
    ("old", "new", "message", "id"),
    [
        (fingerprint(LESSON.block("first")), "00000000", "The English text of first has changed", "first"),
        ("- Rome", "Rome", "first has 1 items; wanted 2", "first"),
        ("text prose-2", "text prose-9", "There is no block 'prose-9'", "prose-2"),
        ("```text prose-1", "```quiz prose-1", "'quiz prose-1' is not a block", "prose-1"),
    ],
)
def test_stale_or_missing_blocks_stay_english(old, new, message, id):
    assert old in GERMAN
    lesson, problems = translate(LESSON, GERMAN.replace(old, new))
    assert any(message in problem.text for problem in problems)
    assert translatable_parts(lesson)[id].prompt == translatable_parts(LESSON)[id].prompt


def test_a_stale_title_stays_english_and_one_without_a_fingerprint_is_reported():
    german = GERMAN.replace("title: Masks", "title: Masken")
    changed = replace(LESSON, about={**LESSON.about, "question": "Which one?"})
    lesson, problems = translate(changed, german)
    assert lesson.title == "Masks" and "The English text of the front matter has changed" in problems[-1].text
    older = german.replace(f'of: "{about_fingerprint(LESSON)}"\n', "", 1)
    lesson, problems = translate(LESSON, older)
    assert lesson.title == "Masken" and about_fingerprint(LESSON) in problems[-1].text


def test_the_check_lists_stale_parts_of_a_translation(tmp_path, capsys):
    (tmp_path / "30-masks.md").write_text(f"{HEAD}Hello again.\n\n{ASKED}\n\nBye.", "utf-8")
    (tmp_path / "30-masks.de.md").write_text(GERMAN, "utf-8")
    library = SimpleNamespace(settings=Settings(data_dir=tmp_path))
    assert command(library, ["check", str(tmp_path / "30-masks.de.md")]) == 1
    output = capsys.readouterr().out
    assert "WRONG: The English text of prose-1 has changed" in output and output.count("WRONG") == 1
    assert command(library, ["check", str(BUNDLED / "00-welcome.de.md")]) == 0


@pytest.mark.parametrize("file", sorted(BUNDLED.glob("*.??.md")), ids=lambda file: file.name)
def test_bundled_translations_are_complete_and_current(file):
    catalogue = LessonCatalogue((BUNDLED,))
    slug, language = file.name.split(".")[0].partition("-")[2], file.name.split(".")[1]
    _, problems = translate(catalogue.lesson(slug), file.read_text("utf-8"))
    assert not problems
    assert language in catalogue.languages() and catalogue.lesson(slug, language).title != catalogue.lesson(slug).title

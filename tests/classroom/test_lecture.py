"""Lectures: the file, what is wrong in it, and the check of its steps."""

from pathlib import Path

import pytest

from bertexplorer.classroom.lecture import find_lecture, lectures, read_lecture, read_lecture_file
from bertexplorer.classroom.lecture_check import check_lecture
from bertexplorer.classroom.questions import parse_questions
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.errors import ExplorerError
from bertexplorer.learn.catalogue import BUNDLED, LessonCatalogue
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry

HEAD = "---\ntitle: Masks\nminutes: {}\ncan: say what a mask is\n---\n"
VIEW = "```view gap\nWhat is hidden?\nminutes: 4\nview: /?view=fill-mask&text=A+[MASK].\n```\n"
LESSON = "```lesson look\nminutes: 5\nlesson: who-looks-at-whom\n```\n"
VOTE = "```vote ask\nminutes: 3\nlesson: what-is-inside\nquestion: which-is-cut\n```\n"
CATALOGUE = LessonCatalogue((BUNDLED,))
START = opening(Settings())


@pytest.fixture(scope="module")
def answerer(tmp_path_factory: pytest.TempPathFactory) -> Answerer:
    return Answerer(CheckpointRegistry(Settings(data_dir=tmp_path_factory.mktemp("data"))))


def test_steps_have_words_for_the_class_and_notes_for_the_teacher() -> None:
    lecture = read_lecture(f"{HEAD.format(12)}Begin late.\n\n{VIEW}Let them *guess*.\n\n{LESSON}{VOTE}Wait.\n", "masks")
    assert not lecture.problems and lecture.title == "Masks" and lecture.opening == "Begin late."
    view, lesson, vote = lecture.steps
    assert (view.prompt, view.notes, view.minutes) == ("What is hidden?", "Let them *guess*.", 4)
    assert (lesson.kind, lesson.lesson, lesson.notes) == ("lesson", "who-looks-at-whom", "")
    assert (vote.lesson, vote.question, vote.notes) == ("what-is-inside", "which-is-cut", "Wait.")
    assert lecture.votes == (vote,)


@pytest.mark.parametrize(
    ("body", "line", "message"),
    [
        (VIEW + VOTE.replace("vote ask", "vote gap"), 11, "The id 'gap' occurs twice"),
        (VIEW.replace("minutes: 4", "minutes: soon"), 6, "minutes: got 'soon'; wanted a whole number from 1 to 999."),
        (VIEW.replace("minutes: 4", "minutes: 0"), 6, "minutes: got '0'"),
        (LESSON.replace("lesson: who", "view: /?view=fill-mask\nlesson: who"), 8, "A lesson has no view:."),
        (VOTE.replace("question: which-is-cut\n", ""), 6, "The vote ask has no question:."),
        (VOTE.replace("minutes: 3", "- [ ] a\nminutes: 3"), 6, "The vote ask has a list"),
        (VIEW.replace("view gap", "find gap"), 6, "'find gap' is not a block; wanted a kind (view, lesson, vote)"),
        ("", 1, "The lecture has no step"),
        (VIEW + LESSON, 1, "minutes: got 4; the steps take 9 together."),
    ],
)
def test_a_faulty_step_is_named_with_its_line(body: str, line: int, message: str) -> None:
    problem = read_lecture(HEAD.format(4) + body, "masks").problems[0]
    assert (problem.line, problem.text.startswith(message)) == (line, True), problem


def test_notes_belong_to_the_step_above_them() -> None:
    faulty = VIEW.replace("view gap", "view other").replace("minutes: 4", "minutes: 0")
    lecture = read_lecture(f"{HEAD.format(9)}{VIEW}Mine.\n\n{faulty}Of a faulty step.\n\n{LESSON}Of the last.", "masks")
    assert [step.notes for step in lecture.steps] == ["Mine.", "Of the last."]


def test_the_page_leaves_out_steps_that_name_nothing(tmp_path: Path) -> None:
    dead = VIEW.replace("fill-mask", "no-such-view")
    gone = VOTE.replace("which-is-cut", "gone").replace("vote ask", "vote other")
    run = VIEW.replace("view gap", "view run").replace("/?view=fill-mask&text=A+[MASK].", "run:no-such-run")
    (tmp_path / "10-mine.lecture.md").write_text(HEAD.format(14) + dead + VOTE + gone + run)
    lecture = find_lecture(LessonCatalogue((BUNDLED, tmp_path)), "mine")
    assert [step.id for step in lecture.steps] == ["ask"] and lecture.minutes == 3
    assert [problem.line for problem in lecture.problems] == [6, 16, 21]
    assert "question: got 'gone'; wanted one of biggest-part, which-is-cut" in lecture.problems[1].text


def test_a_name_that_the_page_does_not_list_is_found(tmp_path: Path) -> None:
    path = tmp_path / "13-Upper.lecture.md"
    path.write_text(HEAD.format(4) + VIEW)
    (problem,) = read_lecture_file(path).problems
    assert problem.text.startswith("The page does not list 13-Upper.lecture.md; wanted a number and small letters")


def test_a_dead_link_and_an_unknown_lesson_are_found(answerer: Answerer) -> None:
    dead = VIEW.replace("fill-mask", "no-such-view")
    steps = [dead, LESSON.replace("who-looks-at-whom", "nothing"), VOTE.replace("which-is-cut", "gone"), VOTE]
    steps[-1] = steps[-1].replace("vote ask", "vote again")
    lecture = read_lecture(HEAD.format(15) + "".join(steps), "masks")
    lines = list(check_lecture(answerer, CATALOGUE, lecture, START))
    assert [line.wrong for line in lines] == [True, True, True, False]
    assert [line.line for line in lines] == [6, 11, 15, 20]
    assert lines[0].text.startswith("view: got '/?view=no-such-view")
    assert "no-such-view" in lines[0].text and "There is no lesson 'nothing'; there are welcome" in lines[1].text
    assert "question: got 'gone'; wanted one of biggest-part, which-is-cut" in lines[2].text
    assert lines[3].text == "Which of these words is cut into pieces?"


def test_a_lecture_of_ones_own_takes_the_place_of_a_bundled_one(tmp_path: Path) -> None:
    (tmp_path / "10-bert.lecture.md").write_text(HEAD.format(4) + VIEW)
    (tmp_path / "notes.lecture.md").write_text("no number, so it is no lecture")
    catalogue = LessonCatalogue((BUNDLED, tmp_path))
    assert list(lectures(catalogue)) == ["bert", "attention", "teach", "training"]
    assert find_lecture(catalogue, "bert").title == "Masks"
    assert "bert" not in catalogue.files  # a lecture is no lesson
    with pytest.raises(ExplorerError, match="There is no lecture 'x'; there are bert, attention, teach, training."):
        find_lecture(catalogue, "x")


def test_a_class_gets_the_votes_of_a_lecture_in_order(answerer: Answerer) -> None:
    plan = parse_questions(answerer, CATALOGUE, {"lecture": "attention"}, START)
    assert (plan.lecture, plan.lesson) == ("attention", "")
    asked = [(question.lesson, question.block) for question in plan.questions]
    assert asked == [("who-looks-at-whom", "it-looks-at"), ("which-explanation-holds", "hide-one")]


@pytest.mark.parametrize("slug", lectures(CATALOGUE))
def test_bundled_lectures_parse(slug: str) -> None:
    lecture = find_lecture(CATALOGUE, slug)
    assert not lecture.problems and len(lecture.votes) >= 2 and all(step.notes for step in lecture.steps)


@pytest.mark.slow
@pytest.mark.parametrize("slug", lectures(CATALOGUE))
def test_bundled_lectures_can_be_given(slug: str, answerer: Answerer) -> None:
    lines = list(check_lecture(answerer, CATALOGUE, find_lecture(CATALOGUE, slug), START))
    assert not [line for line in lines if line.wrong]

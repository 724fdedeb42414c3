"""The bundled lessons: they parse without problems, their links restore, and every claim, key and example holds."""

import json
import re
from dataclasses import replace

import pytest

from bertexplorer.core.ask import Answerer, opening
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.catalogue import BUNDLED, LessonCatalogue, views_of
from bertexplorer.learn.check import check
from bertexplorer.learn.expressions import Expression
from bertexplorer.learn.lesson import read_lesson
from bertexplorer.learn.recording import FOLDER, PREFIX, recording
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from tests.learn.test_lesson import HEAD

CATALOGUE = LessonCatalogue((BUNDLED,))
START = opening(Settings())
RUNS = sorted(path.stem for path in FOLDER.glob("*.json"))


WORDS_A_MINUTE = 200
SECONDS = {"find": 40, "say": 40}  # to answer a question, once it is read; 25 for the others
LOOK = 3  # seconds that a view takes to load


def minutes_of(lesson):
    """Duration of a lesson: its words read once (with the feedback of one choice), its questions and its views."""
    words = sum(len(lesson.about[name].split()) for name in ("title", "question", "can", "guards"))
    seconds = 0
    for part in lesson.parts:
        if isinstance(part, str):
            words += len(part.split())
            continue
        choices = [] if part.kind == "number" else [item.text for item in part.items]
        texts = [part.prompt, *choices, *(part.fields.get(name, "") for name in ("text", "after", "model"))]
        words += sum(len(re.sub(r"\{[^{}]*\}", "1", text).split()) for text in texts)
        if feedback := [len(item.feedback.split()) for item in part.items if item.feedback]:
            words += sum(feedback) / len(feedback)
        seconds += (SECONDS.get(part.kind, 25) if part.is_question else 0) + (LOOK if part.shown else 0)
    return words / WORDS_A_MINUTE + seconds / 60


@pytest.fixture(scope="module")
def answerer(tmp_path_factory):
    return Answerer(CheckpointRegistry(Settings(data_dir=tmp_path_factory.mktemp("data"))))


@pytest.mark.parametrize("slug", CATALOGUE.files)
def test_bundled_lessons_have_no_problems_and_their_links_restore(slug, answerer):
    lesson = CATALOGUE.lesson(slug)
    assert not lesson.problems
    assert 3 <= lesson.about["minutes"] <= 5 and lesson.about["sources"]
    assert lesson.about["minutes"] == pytest.approx(minutes_of(lesson), abs=0.6)
    for block in lesson.blocks:
        if block.link.startswith(PREFIX):
            recording(block.link)
        elif block.link:
            grading.state_of(answerer, block.link, START)


def test_lessons_on_a_view_begin_with_those_that_show_it_most():
    links = {view: [item["slug"] for item in lessons] for view, lessons in CATALOGUE.by_view.items()}
    assert "sure-and-wrong" in links["fill-mask"][:2] and links["template"][0] == "doctor-and-nurse"
    assert all(
        set(slugs)
        == {slug for slug in CATALOGUE.files if any(view in views_of(b) for b in CATALOGUE.lesson(slug).blocks)}
        for view, slugs in links.items()
    )


def test_every_prediction_states_what_its_feedback_expects():
    for slug in CATALOGUE.files:
        blocks = [block for block in CATALOGUE.lesson(slug).blocks if block.kind == "predict"]
        assert all(sum(item.ticked for item in block.items) == 1 for block in blocks), slug


@pytest.mark.slow
@pytest.mark.parametrize("slug", CATALOGUE.files)
def test_every_claim_key_and_example_holds(slug, answerer):
    lines = list(check(answerer, CATALOGUE.lesson(slug), START))
    assert [line for line in lines if line.wrong or "the feedback expects" in line.text] == []
    assert {line.block for line in lines} >= {
        f"claim {block.id}" for block in CATALOGUE.lesson(slug).blocks if block.kind == "claim"
    }


def test_a_check_on_another_checkpoint_is_reported(answerer):
    lesson, notice = (
        replace(CATALOGUE.lesson("two-blanks"), parts=()),
        "written for mini; what it says need not hold on ",
    )
    right = {
        name: [line.text for line in check(answerer, lesson, START, name) if not line.wrong]
        for name in ("mini", "tiny")
    }
    assert right == {"mini": [], "tiny": [f"{notice}tiny"]}


@pytest.mark.parametrize("name", RUNS)
def test_recordings_are_small_and_offer_their_facts(name):
    content = recording(PREFIX + name)
    assert (FOLDER / f"{name}.json").stat().st_size < 25_000 and content.card and content.curves
    assert len(content.numbers) == len(content.curves) and "/root" not in json.dumps(content.card)


MASK = "/?view=fill-mask&text=A+[MASK]."
CLAIM = "claim a\ntext: x\nview: "
WRONG = {  # a block -> the reported problem
    f"{CLAIM}{MASK}\nholds: top() == 'zebra'": "does not hold: top\\(\\) == 'zebra' \\(top",
    f"{CLAIM}{MASK}\nholds: is_next() > 0": "names 'is_next', which this view does not offer",
    f"{CLAIM}/?view=nothing&text=A\nholds: 1 > 0": "There is no view 'nothing'",
    f"{CLAIM}{MASK}&speed=9\nholds: 1 > 0": "fill-mask has no setting 'speed'",
    f"{CLAIM}{MASK}&top=900\nholds: 1 > 0": "Answers",
    f"{CLAIM}run:none\nholds: best() > 0": "There is no recorded run 'run:none'",
    f"{CLAIM}elsewhere\nholds: 1 > 0": "is not the link of a view",
    f"predict a\nQ\n- [ ] x\n  > f\n- [ ] y\n  > f\nview: {MASK}\nkey: top()": "None of the choices",
    f"predict a\nQ\n- x\n  > f\n  when: 1 > 0\n  value: 7\n- y\n  > f\n  when: 1 < 0\nview: {MASK}": "wanted a share",
    f"find a\nQ\nstart: {MASK}\naccept: top() == 'zebra'\nexample: The [MASK].": "its own example is not accepted",
    f"find a\nQ\nstart: {MASK}\naccept: words() > 0\nafter: It is {{tip()}}.": "names 'tip', which this view",
    f"find a\nQ\nstart: {MASK}\naccept: words() > 0\nafter: It is {{p(1)}}.\nexample: The [MASK].": "has 1 where",
    f"find a\nQ\nstart: {MASK}\naccept: top() == 'zebra'\nexample: {MASK}&top=9": "its own example is not accepted",
    f"find a\nQ\nstart: {MASK}\naccept: 1 > 0\nexample: {MASK}&speed=9": "no setting 'speed'",
    f"click a\nQ\nview: {MASK}\naccept: clicked() == 'zebra'": "0 of 3 tokens are right",
    f"{CLAIM}{MASK}\nholds: mentions(1)": "has 1 where a word in quotes is wanted",
    f"{CLAIM}{MASK}\nholds: p(1.5) > 0": "has 1.5 where a word in quotes is wanted",
    f"{CLAIM}{MASK}\nholds: mentions(words())": "mentions\\(\\) takes a word in quotes here, not 2",
    f"find a\nQ\nstart: {MASK}\naccept: mentions(1)": "has 1 where a word in quotes is wanted",
    f"number a\nQ\nview: {MASK}\nkey: {'9' * 400}": "has a number above 1.8e\\+308; wanted a smaller one",
    f"number a\nQ\nview: {MASK}\nkey: 1e400": "has a number above",
    f"number a\nQ\nview: {MASK}\nkey: 1e300 * 1e300": "has no value here \\(infinite\\)",
    f"number a\nQ\nview: {MASK}\nkey: {'9' * 300} * {'9' * 300}": "cannot be evaluated: int too large",
    f"number a\nQ\nview: {MASK}\nkey: 1\ntolerance: lots": "'lots' is not a number; wanted one such as 0.13",
    f"number a\nQ\nview: {MASK}\nkey: 1\ntolerance: -1": "tolerance: got '-1'; wanted 0 or more",
    f"number a\nQ\n- below x\n  > No.\nview: {MASK}\nkey: 1": "'x' is not a number",
    f"number a\nQ\n- 3 to 2\n  > No.\nview: {MASK}\nkey: 1": "'3 to 2' is an empty range",
}


@pytest.mark.parametrize("block", WRONG)
def test_failed_checks_are_reported_with_their_line(block, answerer):
    lesson = read_lesson(f"{HEAD}\n\n```{block}\n```", "x")
    assert not lesson.problems
    wrong_lines = [line for line in check(answerer, lesson, START) if line.wrong and line.line == 12]
    assert len(wrong_lines) == 1
    with pytest.raises(ExplorerError, match=WRONG[block]):
        raise ExplorerError(wrong_lines[0].text)


@pytest.mark.parametrize(
    "call",
    [
        "/?view=sentence-matrix&text=One+is+here.+Two+is+there.: is_next(0, 1)",
        "/?view=attention&text=A+cat.: head_attention(0, 1, 'a', 'cat')",
        "/?view=attention&text=A+cat.: head_attention(1, -1, 'a', 'cat')",
        "/?view=tokenization&text=A+cat.: length('word', 0)",
        "/?view=bertviz&text=A+cat.: attention(1, 0, 'a', 'cat')",
    ],
)
def test_numbers_counted_from_1_never_count_from_the_end(call, answerer):
    link, _, source = call.partition(": ")
    facts = grading.facts_for(answerer, link, START)
    with pytest.raises(ExplorerError, match="There is no (sentence|layer|head|token) "):
        Expression.read(source, facts).value(facts)

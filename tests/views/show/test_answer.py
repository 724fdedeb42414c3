"""Figure and sentence for answer: labels, tags and spans with the result's own numbers; texts are shown as typed."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from bertexplorer.answers.head_answer import AnswerSpan, CheckpointAnswer, HiddenWord, Label, TaggedWord
from bertexplorer.answers.kinds.label import LabelAnswer, Passage
from bertexplorer.answers.kinds.labels import LabelsAnswer
from bertexplorer.answers.kinds.score import ScoreAnswer
from bertexplorer.answers.kinds.span import SpanAnswer
from bertexplorer.answers.kinds.tag import TagAnswer
from bertexplorer.answers.task_head import Training
from bertexplorer.charts.adaptors import chart
from bertexplorer.charts.marks import Bar
from bertexplorer.views.answer import show as figure
from tests.views.show.conftest import EVIL
from tests.views.show.test_draw import check


def labels(kind: type[LabelAnswer] = LabelAnswer, count: int = 3) -> LabelAnswer:
    shares = [0.7, *[0.3 / (count - 1)] * (count - 1)]
    named = tuple(Label(EVIL if i == 0 else f"l{i}", i, 2.0 - i, p) for i, p in enumerate(shares))
    return kind(tokens=("[CLS]", EVIL, "[SEP]"), labels=named)


def scored() -> ScoreAnswer:
    return ScoreAnswer(tokens=labels().tokens, labels=labels().labels)


def tags(count: int = 5) -> TagAnswer:
    names = ("B-PER", "I-PER", "O", "B-LOC", "O")
    words = tuple(
        TaggedWord(
            EVIL if i == 0 else f"w{i}",
            (i + 1,),
            (Label(names[i % 5], i % 5, 1.0, 0.9 - i % 5 / 10), Label("X", 9, 0.0, 0.05)),
        )
        for i in range(count)
    )
    return TagAnswer(tokens=("[CLS]", *(word.word for word in words), "[SEP]"), words=words)


def spans(tokens: int = 8, no_answer: bool = False) -> SpanAnswer:
    starts, ends = np.full(tokens, 0.3 / (tokens - 1)), np.full(tokens, 0.2 / (tokens - 1))
    starts[4], ends[5] = 0.7, 0.8
    best = (AnswerSpan(EVIL, 4, 5, 3.5, 0.56), AnswerSpan("b", 4, 4, 1.0, 0.02))
    return SpanAnswer(
        tokens=tuple(f"t{i}" for i in range(tokens)),
        spans=best,
        nothing=AnswerSpan("no answer", 0, 0, -1.0, 0.01),
        starts=starts,
        ends=ends,
        inside=tuple(range(3, tokens - 1)),
        no_answer=no_answer,
    )


ALL = [
    labels(),
    labels(LabelsAnswer, 40),
    labels(ScoreAnswer, 2),
    tags(),
    tags(100),
    spans(),
    spans(400),
    spans(no_answer=True),
]


@pytest.mark.parametrize("result", ALL, ids=lambda result: f"{result.kind}-{len(result.tokens)}")
def test_figures_are_valid_and_escaped(result: CheckpointAnswer) -> None:
    fig = figure.draw(result)
    check(fig)
    assert EVIL in fig.to_json() and "&lt;img" in chart(fig).to_json()


def test_bars_show_the_numbers_of_the_result() -> None:
    bars = bars_of(labels())
    assert values(bars) == pytest.approx([0.7, 0.15, 0.15]) and [bar.text for bar in bars] == ["70 %", "15 %", "15 %"]
    assert len(bars_of(labels(LabelsAnswer, 40))) == 10
    bars = bars_of(tags())
    assert values(bars) == pytest.approx([0.9, 0.8, 0.7, 0.6, 0.5]) and bars[1].text == "I-PER 80 %"
    bars, places = bars_of(spans()), bars_of(spans(), panel=1)
    assert values(bars) == [0.56, 0.02, 0.01]
    assert (places[1].value, places[2].down) == (0.7, 0.8) and "t4: starts here 70 %" in places[1].hover


def bars_of(result: CheckpointAnswer, panel: int = 0) -> Sequence[Bar]:
    return figure.draw(result).panels[panel].marks[0].bars  # type: ignore[union-attr]


def values(bars: Sequence[Bar]) -> list[float]:
    return [bar.value for bar in bars]


def hidden(*values: float) -> tuple[HiddenWord, ...]:
    return tuple(HiddenWord(f"w{i}", (i + 1,), value) for i, value in enumerate(values))


def test_hidden_words_are_drawn_with_what_is_left_of_the_best_label() -> None:
    result = replace(labels(), hidden=hidden(0.1, 0.69, 0.9))
    words = bars_of(result, panel=1)
    assert values(words) == [0.1, 0.69, 0.9] and [bar.text for bar in words] == ["10 %", "69 %", "90 %"]
    assert figure.colours(result) == pytest.approx({1: 1.0, 2: 1 / 60, 3: -1 / 3})
    many = replace(labels(), hidden=hidden(*[0.7] * 20, 0.2, *[0.6] * 11))
    assert values(bars_of(many, panel=1)) == [0.2, *[0.6] * 11]  # those that change it most, in the order of the text


def test_second_texts_are_bars_that_open_their_pair() -> None:
    passages = (Passage(EVIL, 2.5, 2.5), Passage("b", 0.7, 0.7, own=True), Passage("c", -1.0, -1.0))
    best = replace(labels().labels[0], logit=2.0, value=2.0)
    result = replace(scored(), labels=(best,), passages=passages, first="why", reranks=True)
    result = replace(result, relevance_function="Sigmoid", relevance=0.8808)
    check(figure.draw(result))
    bars = bars_of(result, panel=1)
    assert values(bars) == [2.5, 0.7, -1.0]
    door = bars[2].door
    assert door == {"text": "why", "pair": "c", "set": {"others": f"{EVIL} | b | c"}}
    assert bars[1].label == "2. b"
    said = figure.say(result)
    assert said.startswith("The score is 2.00, a relevance of 88 % (its sigmoid). Of 3 second texts it is number 2;")
    assert f"first is “{EVIL}” (2.50)." in said
    assert "Of 3 second texts it is first." in figure.say(replace(result, passages=(passages[1], *passages[::2])))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ((0.1, 0.69), f"Hide “w0” and “{EVIL}” falls to 10 %."),
        ((0.1, 0.9), f"Hide “w0” and “{EVIL}” falls to 10 %; hide “w1” and it rises to 90 %."),
        ((0.69, 0.9), f"Hide “w1” and “{EVIL}” rises to 90 %."),
        ((0.69, 0.71), f"No single word decides it: hiding any one of them changes “{EVIL}” by less than 5 points."),
    ],
)
def test_the_sentence_names_the_words_that_the_label_rests_on(values: Sequence[float], sentence: str) -> None:
    assert figure.say(replace(labels(), hidden=hidden(*values))).endswith(sentence)


def test_the_strip_shows_entities_and_covered_tokens() -> None:
    assert figure.colours(labels()) == {}
    assert figure.colours(tags()) == {1: 0.9, 2: 0.8, 4: pytest.approx(0.6)}
    shades = figure.colours(spans())
    assert (
        list(shades) == [3, 4, 5, 6] and max(shades, key=lambda i: shades[i]) in (4, 5) and shades[6] < 0.1 < shades[3]
    )


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (labels(), (EVIL, "70 %", "l1", "15 %")),
        (labels(LabelsAnswer), ("Above 50 %", EVIL, "70 %")),
        (replace(labels(LabelsAnswer), labels=labels().labels[1:]), ("No label", "l1", "15 %")),
        (replace(labels(ScoreAnswer), labels=labels().labels[:1]), ("score", "0.70")),
        (labels(ScoreAnswer), (EVIL, "score", "0.70")),
        (tags(), ("3 of 5 words", f"“{EVIL} w1” (PER)", "“w3” (LOC)", "“w4” with O (50 %)")),
        (replace(tags(), words=tags().words[2:3]), ("None of the 1 words", "O")),
        (spans(), (EVIL, "tokens 4 to 5", "70 %", "80 %", "no answer")),
        (spans(no_answer=True), ("has no answer", "1.0 %", EVIL)),
    ],
)
def test_the_sentence_gives_the_answer_and_its_probability(result: CheckpointAnswer, words: Sequence[str]) -> None:
    assert [word for word in words if word not in figure.say(result)] == []


def test_the_sentence_reports_where_the_run_answers_differently() -> None:
    assert "probabilities are over all paths" in figure.say(
        replace(tags(), training=Training("x", crf=True), by_crf=True)
    )
    message = figure.say(
        replace(tags(), training=Training("x", crf=True, features=("age",), max_tokens=2), longest=3, left_out=7)
    )
    assert "chooses its tags with a CRF" in message and "also reads age" in message
    assert "cut its texts to 2 tokens; here 3 are read" in message and "7 tokens beyond" in message
    ranked = replace(scored(), labels=(Label("relevance", 0, 0.0, 0.0),), reranks=True)
    for name, relevance, said in (
        ("Sigmoid", 0.5, "The score is 0.00, a relevance of 50 % (its sigmoid)."),
        ("Identity", 0.0, "The score is 0.00, which its files take for the relevance as it is."),
        ("Tanh", 0.0, "The score is 0.00, a relevance of 0.00 (by Tanh)."),
        ("Softplus", None, "The score is 0.00, of which its files make a relevance by Softplus, which is not computed"),
    ):
        assert figure.say(replace(ranked, relevance_function=name, relevance=relevance)).startswith(said)


def test_the_sentence_says_how_the_run_looks_for_spans() -> None:
    run = Training("question-answering", True, 2.5, max_tokens=2, longest=7)
    message = figure.say(replace(spans(), training=run, longest=6))
    assert "The run reads windows of 2 tokens; here one of 6 is read." in message and "cut its texts" not in message
    assert "“no answer” if the logits of that exceed those of the best span by over 2.50." in message
    assert "at most 30 tokens here (Longest span) and 7 in the run" in message
    assert "logits exceed" not in figure.say(replace(spans(), training=replace(run, allows_no_answer=False)))


def test_chosen_labels_that_are_not_named_are_counted() -> None:
    named = tuple(Label(f"l{i}", i, 2.0, 0.9) for i in range(14))
    result = replace(labels(LabelsAnswer, 40), labels=named)
    assert figure.say(result).endswith("“l7” (90 %) and 6 more.")

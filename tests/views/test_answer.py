"""Answer: labels, tags and spans are those of transformers, and a run gives the answers of its training code."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from bertexplorer.answers import task_head
from bertexplorer.answers.kinds.label import MOST_WORDS, hideable_words
from bertexplorer.answers.readout import kind_of
from bertexplorer.answers.task_head import Training
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.text import Span, Text
from bertexplorer.training.answer_windows import best_spans
from bertexplorer.training.learners import classification, question_answering, tagging
from bertexplorer.training.tasks import (
    classification as classification_task,
    question_answering as question_task,
    tagging as tagging_task,
)
from bertexplorer.views.answer import compute as answer
from bertexplorer.views.answer.compute import Facts, Options
from tests.conftest import Tiny
from tests.tolerance import of_encoder
from tests.views.conftest import LOGITS
from tests.views.tuned import ASKED, FILM, Tuned, of_problem, tuned

FAMILIES = ("bert", "roberta", "modernbert")


def close(one: Tuned) -> float:
    return of_encoder(one.ours.config, LOGITS)


def logits_of(one: Tuned) -> torch.Tensor:
    with torch.no_grad():
        return one.logits(torch.tensor([one.encoding.ids]))[0].double()


@pytest.mark.parametrize("family", FAMILIES)
def test_labels_are_a_softmax_of_transformers_logits(family: str, tiny: Tiny) -> None:
    twin = tuned(tiny, "label", family)
    result, shares = answer.run(twin.ours, FILM), logits_of(twin).softmax(-1)
    assert [x.value for x in result.labels] == pytest.approx(sorted(shares.tolist(), reverse=True), rel=close(twin))
    assert result.labels[0].name == twin.theirs.config.id2label[int(shares.argmax())] == result.chosen[0]
    assert [x.logit for x in result.labels] == pytest.approx(
        [float(logits_of(twin)[x.index]) for x in result.labels], abs=close(twin)
    )


@pytest.mark.parametrize("family", FAMILIES)
def test_the_label_without_a_word_is_that_of_transformers_for_the_text_with_a_mask(family: str, tiny: Tiny) -> None:
    twin = tuned(tiny, "label", family)
    result = answer.run(twin.ours, FILM)
    encoding, mask = twin.encoding, twin.ours.tokenizer.mask_id
    assert len(result.hidden) == len(FILM.first.split())
    for word in result.hidden:
        ids = [mask if position in word.positions else token for position, token in enumerate(encoding.ids)]
        with torch.no_grad():
            shares = twin.logits(torch.tensor([ids]))[0].double().softmax(-1)
        assert word.value == pytest.approx(float(shares[result.labels[0].index]), rel=close(twin))
    rows = [row for row in answer.rows(result) if row["kind"] == "hidden"]
    assert [row["value"] for row in rows] == [word.value for word in result.hidden]
    facts = Facts(twin.ours, FILM, result)
    assert facts.p_without("film") == result.hidden[1].value
    assert facts.p_without(facts.rests_on()) == min(word.value for word in result.hidden)


def test_words_are_hidden_where_that_is_possible_and_cheap(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    masked = answer.run(twin.ours, replace(FILM, hidden=(Span(0, 0, 3),)))
    assert len(masked.hidden) == len(answer.run(twin.ours, FILM).hidden) - 1  # a mask cannot be hidden
    assert not answer.run(twin.ours, "film " * (MOST_WORDS + 1)).hidden
    assert len(answer.run(twin.ours, "film " * MOST_WORDS).hidden) == MOST_WORDS
    maskless = replace(twin.ours.tokenizer.encode(FILM), mask_id=None)
    assert hideable_words(twin.ours, maskless) == []


def test_second_texts_are_ranked_by_the_score_of_each_pair(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    scorer = of_problem(twin.ours, "regression")
    pair = Text("where is the cat ?", "the cat sat on a mat .")
    others = ["she said in london .", "a great film", "the dog is in paris ."]
    result = answer.run(scorer, pair, options=Options(others=" | ".join([*others, pair.second])))
    alone = {
        text: {label.index: label.logit for label in answer.run(scorer, Text(pair.first, text)).labels}
        for text in [pair.second, *others]
    }
    index = result.labels[0].index
    wanted = sorted(alone, key=lambda text: -alone[text][index])
    assert [passage.text for passage in result.passages] == wanted
    assert [passage.value for passage in result.passages] == pytest.approx(
        [alone[text][index] for text in wanted], abs=close(twin)
    )
    assert [passage.own for passage in result.passages] == [text == pair.second for text in wanted]
    assert [row["token"] for row in answer.rows(result) if row["kind"] == "passage"] == wanted
    labelled = answer.run(twin.ours, pair, options=Options(others=others[0]))
    assert [p.value for p in labelled.passages] == sorted((p.value for p in labelled.passages), reverse=True)
    with pytest.raises(ExplorerError, match="There is no second text to rank"):
        answer.run(scorer, FILM, options=Options(others="a film"))


def test_a_cross_encoder_ranks(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    one = replace(twin.ours, relevance_function="Sigmoid", config=replace(twin.ours.config, num_labels=1))
    assert task_head.reranks(one) and not task_head.reranks(replace(one, relevance_function=""))
    assert not task_head.reranks(replace(one, config=twin.ours.config)), "three labels, as of inference"


def test_the_problem_type_determines_how_the_logits_are_read(tiny: Tiny) -> None:
    twin = tuned(tiny, "label")
    logits = logits_of(twin)
    several = answer.run(of_problem(twin.ours, "multi_label_classification"), FILM)
    assert {x.index: x.value for x in several.labels} == pytest.approx(
        dict(enumerate(logits.sigmoid().tolist())), rel=close(twin)
    )
    assert set(several.chosen) == {x.name for x in several.labels if logits[x.index] > 0}
    score = answer.run(of_problem(twin.ours, "regression"), FILM)
    assert (score.kind, score.labels[0].value) == ("score", pytest.approx(float(logits.max()), abs=close(twin)))
    single = replace(twin.ours, hf_config={}, config=replace(twin.ours.config, num_labels=1))
    assert kind_of(single) == "score" and kind_of(twin.ours) == "label"


@pytest.mark.parametrize("family", FAMILIES)
def test_the_first_token_of_a_word_gives_its_tag(family: str, tiny: Tiny) -> None:
    twin = replace(tuned(tiny, "tag", family))
    text = "unbelievable films, she said."
    result = answer.run(twin.ours, text, options=Options(top=2))
    encoding = twin.ours.tokenizer.encode(text)
    assert [word.word for word in result.words] == ["unbelievable", "films", ",", "she", "said", "."]
    with torch.no_grad():
        shares = twin.theirs(input_ids=torch.tensor([encoding.ids])).logits[0].softmax(-1)
    for word in result.words:
        row = shares[word.positions[0]]
        assert [x.value for x in word.labels] == pytest.approx(row.topk(2).values.tolist(), rel=close(twin))
    assert [p for word in result.words for p in word.positions] == list(range(1, len(encoding) - 1))


@pytest.mark.parametrize("family", FAMILIES)
def test_the_best_spans_are_the_best_of_all_possible_ones(family: str, tiny: Tiny) -> None:
    twin = tuned(tiny, "span", family)
    result, logits = answer.run(twin.ours, ASKED, options=Options(top=4, longest=3)), logits_of(twin)
    inside = [i for i, span in enumerate(twin.encoding.spans) if span and span.side == 1]
    start, end = logits.T
    sums = {(i, j): float(start[i] + end[j]) for i in inside for j in inside if i <= j < i + 3}
    best = sorted(sums, key=lambda pair: -sums[pair])[:4]
    assert [(x.first, x.last) for x in result.spans] == best
    first, last = start.softmax(0), end.softmax(0)
    assert [x.probability for x in result.spans] == pytest.approx(
        [float(first[i] * last[j]) for i, j in best], rel=2 * close(twin)
    )
    assert result.nothing and result.nothing.probability == pytest.approx(
        float(first[0] * last[0]), rel=2 * close(twin)
    )
    a, b = twin.encoding.spans[best[0][0]], twin.encoding.spans[best[0][1]]
    assert a and b and result.spans[0].text == ASKED.second[a.start : b.end]
    assert result.no_answer == (float(start[0] + end[0]) > sums[best[0]])


def test_spans_equal_those_of_training() -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        start, end = draw.normal(size=(2, 12))
        inside = np.arange(12) >= draw.integers(1, 9)
        result = task_head.best_spans(start, end, inside, 4, 5)
        given = [torch.from_numpy(x)[None] for x in (start, end, inside)]
        wanted = best_spans(*given, 4, 5)
        spans = [(int(i), int(j)) for s, i, j in zip(*(x[0] for x in wanted), strict=True) if s > float("-inf")]
        assert result == spans


def test_a_run_gives_the_answers_of_its_training_code(tiny: Tiny) -> None:
    """The probabilities of the playground, in one window."""
    label, tag, span = (tuned(tiny, what) for what in ("label", "tag", "span"))
    (prediction,) = classification.Classifier(label.ours, classification_task.Options()).predict([{"text": FILM.first}])
    result = answer.run(label.ours, FILM)
    assert [(x.name, x.value) for x in result.labels] == [
        (x["label"], pytest.approx(x["probability"], rel=close(label))) for x in prediction["labels"]
    ]
    (prediction,) = tagging.Tagger(tag.ours, tagging_task.Options(head="softmax"), False).predict(
        [{"text": FILM.first}]
    )
    words = answer.run(tag.ours, FILM).words
    assert [(w.word, w.labels[0].name) for w in words] == [(x["text"], x["tag"]) for x in prediction["words"]]
    assert [w.labels[0].value for w in words] == pytest.approx(
        [x["probability"] for x in prediction["words"]], rel=close(tag)
    )
    reader = question_answering.QuestionAnswerer(span.ours, question_task.Options(), True)
    (prediction,) = reader.predict([{"question": ASKED.first, "context": ASKED.second}])
    asked = answer.run(span.ours, ASKED)
    assert [x.text for x in asked.spans] == [x["text"] for x in prediction["answers"]][:10]
    assert asked.chosen == (prediction["said"] or "no answer",)


def test_the_crf_of_a_run_chooses_its_tags(tiny: Tiny, tmp_path: Path) -> None:
    tag = tuned(tiny, "tag").ours
    tagger = tagging.Tagger(tag, tagging_task.Options(head="crf"), True)
    torch.manual_seed(1)
    for parameter in tagger.extra["crf"].parameters():
        torch.nn.init.normal_(parameter, std=0.1)
    described = tagger.state()
    (tmp_path / "task.json").write_text(json.dumps({"task": "tagging", "described": described}))
    run = replace(tag, folder=tmp_path)
    alone = answer.run(run, FILM)
    assert alone.training.crf and not alone.by_crf, "without its file, each word is tagged alone"
    save_file(dict(tagger.extra.state_dict()), tmp_path / "task.safetensors")
    result = answer.run(run, FILM)
    (prediction,) = tagger.predict([{"text": FILM.first}])
    assert [(w.word, w.labels[0].name) for w in result.words] == [(x["text"], x["tag"]) for x in prediction["words"]]
    assert [w.labels[0].value for w in result.words] == pytest.approx(
        [x["probability"] for x in prediction["words"]], rel=10 * close(tuned(tiny, "tag"))
    )
    assert result.by_crf and result.chosen != alone.chosen
    assert [sum(x.value for x in w.labels) for w in result.words] == pytest.approx([1] * len(result.words), abs=1e-5)
    save_file({"crf.start": torch.zeros(2)}, tmp_path / "task.safetensors")
    with pytest.raises(ExplorerError, match=r"task\.safetensors of tag has no CRF for its \d tags"):
        answer.run(run, FILM)


def test_the_settings_saved_with_a_run_are_used(tiny: Tiny, tmp_path: Path) -> None:
    about = {
        "options": {"threshold": 99.0, "head": "crf"},
        "silent": True,
        "max_tokens": 5,
        "features": [{"name": "age"}],
    }
    (tmp_path / "task.json").write_text(json.dumps({"task": "x", "described": about}))
    twin = replace(tuned(tiny, "span").ours, folder=tmp_path)
    result = answer.run(twin, ASKED)
    assert result.training == Training("x", True, 99.0, True, False, ("age",), 5) and not result.no_answer
    (tmp_path / "task.json").write_text(json.dumps({"task": "x", "described": about | {"options": {"threshold": -99}}}))
    assert answer.run(twin, ASKED).no_answer and answer.run(twin, ASKED).chosen == ("no answer",)
    never = about | {"options": {"threshold": -99}, "silent": False}
    (tmp_path / "task.json").write_text(json.dumps({"task": "x", "described": never}))
    assert not answer.run(twin, ASKED).no_answer
    (tmp_path / "task.json").write_text("{")
    with pytest.raises(ExplorerError, match=r"task\.json of span cannot be read"):
        answer.run(twin, ASKED)


def test_no_two_rows_have_the_same_key(tiny: Tiny) -> None:
    for what, text in (("label", FILM), ("tag", FILM), ("span", ASKED)):
        rows = answer.rows(answer.run(tuned(tiny, what).ours, text))
        assert len({tuple(row) for row in rows}) == 1
        keys = [tuple(row[key] for key in answer.KEYS) for row in rows if row["kind"] != "span"]
        assert len(keys) == len(set(keys)) and any(row["chosen"] for row in rows)
        assert all(isinstance(row[answer.MEASURE], float) for row in rows)


def test_errors_name_the_missing_part(mini: Checkpoint, tiny: Tiny) -> None:
    with pytest.raises(
        ExplorerError, match=r"mini has no fine-tuned head \(its heads: fill-mask, next-sentence\).*Train"
    ):
        answer.run(mini, "A cat.")
    with pytest.raises(ExplorerError, match="no passage.*second sentence") as caught:
        answer.run(tuned(tiny, "span").ours, "where is the cat ?")
    assert caught.value.code == "pair"


def test_facts_give_the_numbers_of_tags_and_spans(tiny: Tiny) -> None:
    label, tag, span = (tuned(tiny, what) for what in ("label", "tag", "span"))
    tag_facts = Facts(tag.ours, FILM, answer.run(tag.ours, FILM))
    assert tag_facts.tag("film") in tag.ours.labels and tag_facts.p_tag("film") > 0.25
    span_facts = Facts(span.ours, ASKED, replace(answer.run(span.ours, ASKED), no_answer=False))
    assert span_facts.answer() in ASKED.second and span_facts.p_span() >= span_facts.p_span(2)
    assert 0 < span_facts.p_no_answer() < 1
    with pytest.raises(ExplorerError, match="no label 'great'"):
        Facts(label.ours, FILM, answer.run(label.ours, FILM)).p("great")


def test_hidden_words_and_characters_are_words_of_their_own(tiny: Tiny) -> None:
    twin = tuned(tiny, "tag").ours
    hidden = answer.run(twin, Text(FILM.first, hidden=(Span(0, 4, 8),)))
    assert [word.word for word in hidden.words[:3]] == ["the", "[MASK]", "is"]
    assert [w.word for w in answer.run(twin, "日本 [MASK] cat").words] == ["日", "本", "[MASK]", "cat"]
    for text in ("[MASK]", "\ud800 a", "é", "a " * 200):
        assert answer.rows(answer.run(twin, text))
    assert answer.run(twin, "a " * 200).left_out == 138

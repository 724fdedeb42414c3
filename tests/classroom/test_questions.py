"""Questions for a class: those of a lesson, and BERT's shares next to the votes."""

import pytest
import torch
import transformers

from bertexplorer.classroom.questions import lesson_shares, parse_questions, reveal_answer
from bertexplorer.core.ask import Answerer, opening
from bertexplorer.errors import ExplorerError
from bertexplorer.learn import grading
from bertexplorer.learn.catalogue import BUNDLED, LessonCatalogue
from bertexplorer.learn.lesson import read_lesson
from bertexplorer.settings import ASSETS, Settings
from bertexplorer.store.registry import CheckpointRegistry
from tests.learn.test_lesson import HEAD

MINI = ASSETS / "checkpoints" / "mini"
CATALOGUE = LessonCatalogue((BUNDLED,))
START = opening(Settings())
ODD = f"""{HEAD}```predict a
Which?
- [ ] antidisestablishmentarianism
  value: p("antidisestablishmentarianism")
- [ ] rome
  value: p("rome")
view: /?view=fill-mask&text=Rome+is+the+capital+city+of+[MASK].
key: top()
```"""


@pytest.fixture(scope="module")
def answerer(tmp_path_factory):
    return Answerer(CheckpointRegistry(Settings(data_dir=tmp_path_factory.mktemp("data"))))


def asked(answerer, **request):
    return parse_questions(answerer, CATALOGUE, request, START).questions


def revealed(answerer, slug, block):
    question = next(question for question in asked(answerer, lesson=slug) if question.block == block)
    return reveal_answer(answerer, question, CATALOGUE.lesson(slug).block(block), START)


def test_words_of_a_lesson_come_with_their_probabilities(answerer):
    model = transformers.AutoModelForMaskedLM.from_pretrained(MINI, dtype=torch.float32)
    tokenizer = transformers.AutoTokenizer.from_pretrained(MINI)
    ids = tokenizer("Rome is the capital city of [MASK].", return_tensors="pt")
    at = ids["input_ids"][0].tolist().index(tokenizer.mask_token_id)
    probabilities = model(**ids).logits[0, at].detach().softmax(-1)
    italy, rome = (float(probabilities[tokenizer.vocab[word]]) for word in ("italy", "rome"))
    shares = revealed(answerer, "sure-and-wrong", "paris-is")["shares"]
    assert shares == pytest.approx([italy, rome, 1 - italy - rome], rel=0.1)  # in the precision of the page


def test_the_question_on_a_share_explains_the_vote_of_each_person(answerer):
    questions = {question.block: question for question in asked(answerer, lesson="sure-and-wrong")}
    assert questions["share-rome"].prompt.endswith("where would most of them be?")
    assert questions["share-rome"].choices == ("*berlin*", "*germany*", "every other piece")
    reply = revealed(answerer, "sure-and-wrong", "share-rome")
    assert sum(reply["shares"]) == pytest.approx(1) and reply["after"] and "right" not in reply


def test_a_class_begins_with_the_requested_question(answerer):
    blocks = [question.block for question in asked(answerer, lesson="sure-and-wrong")]
    later = [question.block for question in asked(answerer, lesson="sure-and-wrong", first="not-an-animal")]
    assert later == blocks[2:] and blocks[2] == "not-an-animal"
    with pytest.raises(ExplorerError, match=r"first: got 'in-your-words'; wanted one of paris-is, "):
        asked(answerer, lesson="sure-and-wrong", first="in-your-words")


def test_no_bars_are_shown_if_the_checkpoint_lacks_a_choice(answerer):
    block = read_lesson(ODD, "x").blocks[0]
    facts = grading.facts_for(answerer, block.link, START)
    assert lesson_shares(block, facts) == {} and grading.grade(block, 0, facts).key == 1


@pytest.mark.parametrize(
    ("choices", "wanted"),
    [(("italy", "paris", "something else"), "paris"), (("italy", "now", "something else"), "something else")],
)
def test_a_teachers_own_question_names_berts_first_answer(answerer, choices, wanted):
    link = "/?view=fill-mask&text=The+capital+of+France+is+[MASK]."
    given = {"prompt": "What would BERT put here?", "choices": list(choices), "link": link}
    reply = reveal_answer(answerer, *asked(answerer, question=given), None, START)
    assert [choices[at] for at in reply["right"]] == [wanted] and reply["shares"][-1] > 0.5

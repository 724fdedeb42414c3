"""Each example of each view shows, on the bundled checkpoint, what it is there to show."""

from collections.abc import Iterator
from dataclasses import replace

import pytest

from bertexplorer.core.ask import Explore, opening, with_example
from bertexplorer.learn.expressions import Expression
from bertexplorer.learn.grading import facts_of
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import VIEWS
from bertexplorer.views.view import Example

# View -> example -> what its picture shows, in the language of lessons (docs/lessons.md).
POINTS: dict[str, dict[str, str]] = {
    "forward-pass": {
        "The capital of France": 'answer() == "paris" and settled() > layers() / 2',
        "It was too tired": "open_layer() >= 4 and p() < 0.5",
        "The keys to the cabinet": 'answer() == "are"',
        "Milk": 'answer() == "B follows A"',
        "The farmers": 'answer() == "land" and raised(6) == "land"',
    },
    "fill-mask": {
        "The capital of France": 'top() == "paris"',
        "A pigeon is (not) a bird": 'top() == "bird"',
        "The keys to the cabinet": 'p("are") > 5 * p("is")',
        "A birthday cake": 'top() == "cake"',
        "The farmers": 'top() == "land"',
    },
    "decoding": {
        "Two words that must agree": 'chained("most certain first") > chained("independent")',
        "New York": 'filled("left to right") == "new york" and filled("independent") != "new york"',
        "A whole phrase": 'chained("beam") > chained("independent") + 3',
        "Cause and effect": 'chained("beam") > chained("independent")',
        "Singular or plural": 'chained("left to right") > chained("independent") + 2',
    },
    "pseudo-likelihood": {
        "An ordinary sentence": "perplexity() < 10",
        "One odd word": 'surprise() == "justice"',
        "Agreement": 'surprise() == "is"',
        "Garden path": "perplexity() > 20",
        "Man and store swapped": "perplexity() > 10",
    },
    "contrast": {
        "Farmer, student": 'p("cattle", 1) > p("cattle", 2) and p("textbooks", 2) > p("textbooks", 1)',
        "Doctor, nurse": 'p("her", 2) > 5 * p("her", 1)',
        "Is, is not": 'divergence() < 0.1 and top(1) == "bird" and top(2) == "bird"',
        "River bank, savings bank": "divergence() > 0.5",
        "Then, now": 'p("abbey", 1) > p("abbey", 2) and p("skyscraper", 2) > p("skyscraper", 1)',
    },
    "left-context": {
        "The farmers": "entropy_left() > entropy_both() + 1",
        "The answer comes last": 'top_both() == "dog" and top_left() != "dog"',
        "The capital of France": 'top_both() == "paris" and top_left() != "paris"',
        "The reason comes last": 'top_both() == "church" and top_left() != "church"',
        "A question": 'top_both() == "who" and top_left() != "who"',
    },
    "template": {
        "Doctor, nurse": 'p("nurse", "she") > 2 * p("engineer", "she")',
        "Countries": 'top("France") == "paris" and top("Japan") == "tokyo"',
        "Negation": 'top("pigeon / a") == "bird" and top("pigeon / not a") == "bird"',
        "Agreement": 'ratio("key / cabinets", "is", "are") > 0 and ratio("keys / cabinet", "is", "are") < 0',
        "Verbs": 'top("baked") == "cake" and top("sang") == "song"',
    },
    "next-sentence": {
        "The store": "is_next() > 0.5",
        "Penguins": "is_next() < 0.1 and is_next() < is_next_of(best_candidate())",
        "Wrong order": "is_next() > 0.5 and is_next_swapped() > 0.5",
        "A contradiction": "is_next() > 0.5",
        "A question": 'is_next() > 0.5 and is_next_of("The capital of France is Berlin.") > 0.5',
    },
    "sentence-matrix": {
        "A story": "mean_neighbours() > mean_others() + 0.1",
        "The same story, backwards": "mean_neighbours() > 0.5",
        "Two topics in turn": "mean_neighbours() < 0.1 and mean_others() > 0.3",
        "It says the opposite": "mean_neighbours() > 0.5",
        "Questions and answers": "mean_neighbours() > mean_others()",
    },
    "tokenization": {
        "Embeddings": 'pieces("embeddings") == 4',
        "Unbelievable": 'pieces("unbelievably") > 3',
        "A name": 'pieces("korsakov") > 2',
        "Unknown characters": "unknown() == 2",
        "A pair": "tokens() == 17",
    },
    "input-vectors": {
        "Bank": 'cosine("sum", "word") > cosine("sum", "position")',
        "The same word twice": 'length("position") > 0 and about() == "buffalo"',
        "[CLS]": 'cosine("sum", "position") > cosine("sum", "word")',
        "A hidden word": 'about() == "[MASK]"',
        "In segment B": 'about() == "milk" and length("segment") > 0',
    },
    "nearest-pieces": {
        "Bank": 'neighbour(1) == "banks"',
        "Paris": 'cosine(1) > typical() + 0.2',
        "Good and bad": 'neighbour(2) == "bad" and neighbour(1, 2) == "good"',
        "A number": 'neighbour(1) == "1985"',
        "A piece of a word": 'neighbour(1) == "##isation"',
    },
    "attention": {
        "It was too tired": 'head_attention(4, 2, "it", "animal") > 0.5',
        "What it stands for": 'share("animal") > 0.5 and strongest("it") == "animal"',
        "Two sentences": 'attention("bought", "man") > attention("bought", "the")',
        "Resting on [CLS]": 'share("[CLS]") > 0.15',
        "Pieces to words": 'strongest("embarrassed") == "misunderstandings"',
    },
    "query-key": {
        "The keys to the cabinet": 'weight("keys") > 0.4',
        "River bank": 'weight("river") > 0.5',
        "It was too tired": 'weight("animal") > 0.5',
        "Previous token": 'weight("cabinet") > 0.9',
        "Resting on [CLS]": 'weight("[CLS]") > 0.5',
    },
    "attention-flow": {
        "It was too tired": 'top() == "[MASK]" and raw("because") > 0.1',
        "The keys to the cabinet": 'share("keys") > share("table")',
        "Through [CLS]": 'top() == "[CLS]" and share("[CLS]") > 0.3',
        "Flow": 'top() == "[MASK]" and share("cabinet") > raw("cabinet")',
        "Two sentences": 'raw("gallon") > 0.2',
    },
    "head-roles": {
        "What heads find": 'heads_with("pron") > 0 and heads_with("obj") > 0',
        "All heads": 'heads_with("broad") < 0.5 * all_heads() and heads_with("[CLS]") < 0.2 * all_heads()',
        "Previous token": 'role(1, 3) == "previous"',
        "Resting on [CLS]": 'mean_share("[CLS]") > 0.3',
        "Heads alike": "all_heads() == 72",
    },
    "switchboard": {
        "The capital of France": "after() < before() / 3",
        "The keys to the cabinet": "largest_change() > 0.8 and share_below(0.5) > 0.8",
        "A patch": 'after() > 20 * before()',
        "He or she": "largest_change() < 1",
        "Does B follow A": "largest_change() > 1",
    },
    "bertviz": {
        "It was too tired": 'attention(4, 2, "it", "animal") > 0.5',
        "Two sentences": 'attention(1, 3, "bought", "he") > 0.5',
        "All heads": 'attention(5, 11, "[MASK]", "keys") > 0.3',
        "Queries and keys": 'attention(1, 3, "is", "france") > 0.9',
        "River bank": 'attention(1, 11, "bank", "river") > 0.5',
    },
    "word-in-context": {
        "River bank, money bank": "within(6) > between(6) + 0.15",
        "Three springs": "within(6) > between(6) + 0.1",
        "The capital of France": "mean(6) < static() - 0.1",
        "Doctor and nurse": "mean(6) > static()",
        "With and without not": "mean(6) > 0.9",
    },
    "word-path": {
        "Two banks": "apart(6) < apart(0) - 0.1",
        "The animal and the street": "to_input(6) < 0.5",
        "Three words": "apart(6) > apart(0) + 0.2",
        "What is hidden": "to_input(6) < 0.3",
        "Light and light": "apart(6) < apart(0) - 0.1",
    },
    "embedding-map": {
        "Ten topics": 'neighbour(1) == "The lawyer asked the witness three questions."',
        "A word beats its sense": 'neighbour(1) == "bank" and cosine(1) > 0.9',
        "Input vectors": "mean_cosine() < 0.3",
        "Topics by [CLS]": "mean_cosine() > 0.15",
        "In three dimensions": "explained() > 0.1",
    },
    "search": {
        "A judge in court": 'topic() == "law" and cosine() > chance() + 0.3',
        "Feeling ill": 'topic() == "health"',
        "River bank": "cosine() > chance() + 0.3",
        "Money bank": 'topic() == "money"',
        "By [CLS]": "chance() > 0.2",
    },
    "layers": {
        "The capital of France": 'top() == "paris" and settled() > layers() / 2 and rank("brussels", 1) > 100',
        "The keys to the cabinet": 'top() == "are" and rank("is") > 10',
        "A pigeon is (not) a bird": 'top() == "bird"',
        "He or she": 'top() == "he" and rank("she") == 2',
        "The farmers": 'rank("land") == 1 and rank("rice") > 3',
    },
    "neurons": {
        "The farmers": 'raises() == "land" and half() == 2 and without_random(300) > 0.8 * before()',
        "The capital of France": 'half() == 1 and without(10) < 0.1 * before() < without_random(300)',
        "The keys to the cabinet": 'answer() == "are" and raises() == "are" and half() <= 5',
        "A key": 'change() < -0.5 and peak_token() == "the"',
        "Nothing hidden": 'answer() == ""',
    },
    "sentence-similarity": {
        "Other words, same meaning": "similarity() > chance() + 0.3 and as_similar() == 0 and shared_words() <= 1",
        "Which words did it": 'top_first() == "children" and top_second() == "kids"',
        "Who bit whom": "similarity() > 0.95",
        "Open and closed": "similarity() > 0.8",
        "Nothing in common": "as_similar() > 0.2",
    },
    "term-weights": {
        "A thief in court": 'weight("jail") > 2 or weight("convicted") > 2',
        "Children in the park": 'added() == "play" and source("play") == "playing"',
        "A question and its answer": 'shared() == "passports" or shared() == "passport"',
        "No word in common": "shared_words() == 0 and literal() < 0.01",
        "The other bank": "literal() < 0.05",
    },
    "late-interaction": {
        "The blue toad": 'match("toad") == "toad" and match("sleep") == "sleeps"',
        "Other words": 'match("children") == "kids" and match("football") == "ball"',
        "Two banks": 'match("bank") == "bank" and match("money") == "cash"',
        "Which passage?": 'passage() == "The blue toad sleeps in hollow trees by day."',
        "Before it has read": 'cosine("children") < 0.8 and match("children") == "kids"',
    },
    "answer": {  # of sentiment
        "A good film": 'answer() == "positive" and rests_on() == "joy" and p_without("joy") < 0.5',
        "Negation": 'answer() == "negative" and rests_on() == "not" and p_without("not") < 0.5',
        "About something else": "p(answer()) > 0.9",
    },
    "saliency": {
        "A fish": 'order() == "swims" or order(2) == "swims"',
        "All methods": 'answer() == "egg"',
        "The keys to the cabinet": 'order() == "keys"',
        "Does B follow A?": 'p() > 0.5 and order() == "store"',
        "A baseline that fails": 'answer() == "france"',
    },
    "referee": {
        "The farmers": 'holds("occlusion") and not holds("attention")',
        "A birthday cake": 'holds("occlusion") and holds("integrated gradients")',
        "The capital of France": 'holds("occlusion") and not holds("rollout")',
        "Does B follow A?": "holding() >= 2",
        "A long sentence": 'holds("integrated gradients") and not holds("attention")',
    },
    "masking": {
        "As BERT does it": 'share("mask") > 0.7 and chosen() > 0.1',
        "Whole words": "masked() > 0.1",
        "Always [MASK]": 'share("mask") > 0.99',
        "Forty per cent": "chosen() > 0.35",
        "A pair": "chosen() > 0.1",
    },
    "sentence-pairs": {
        "A story": "accuracy() > 0.8",
        "Wrong pairs from the same text": "accuracy() < 0.7",
        "Another draw": "accuracy() > 0.7",
        "Only wrong pairs": "right() >= pairs() - 1",
        "Only true pairs": "accuracy() > 0.5",
    },
    "suite": {
        "Everyday words": "right() > 0.4 and baseline() < 0.1",
        "Agreement": "low() > 0.9",
        "Who does what": "low() > 0.8",
        "Negation": "low() < 0.5 and right() < 0.75",
        "She or he": "low() > 0.5",
    },
    "probe": {
        "Present or past": "selectivity(best()) > 0.3",
        "Words swapped": "accuracy(3) > accuracy(0) + 0.2 and selectivity(3) > 0.2",
        "Short or long": "accuracy(0) > 0.95",
        "Noun or verb, and its control": "accuracy(best()) > 0.9 and selectivity(best()) < 0.1",
        "One or many, from the table": "accuracy(0) > 0.95",
    },
    "counterfactuals": {
        "He or she?": 'flips() > 0 and new_answer() == "she"',
        "To Japan": 'new_answer() == "tokyo" and replacement() == "japan"',
        "The key to the cabinets": 'answer() == "was" and new_answer() == "are" and changed() == "key"',
        "Penguins at the store": "flips() > 0",
        "What is enough?": 'answer() == "she" and words_left() < 8',
    },
}  # fmt: skip


@pytest.fixture(scope="module")
def explore(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Explore]:
    settings = Settings(data_dir=tmp_path_factory.mktemp("data"), precision="fp32")
    yield Explore(CheckpointRegistry(settings))


EXAMPLES = [
    (slug, example)
    for slug, view in VIEWS.items()
    for example in view.examples
    if not view.tuned or example.label in POINTS.get(slug, {})  # the other examples are for a person's own runs
]


@pytest.mark.parametrize(("view", "example"), EXAMPLES, ids=[f"{slug}-{one.label}" for slug, one in EXAMPLES])
def test_the_example_shows_its_point(explore: Explore, view: str, example: Example) -> None:
    start = opening(explore.registry.settings)
    state = with_example(example, replace(start, view=view, checkpoint=VIEWS[view].checkpoint or start.checkpoint))
    facts = facts_of(explore, state)
    expression = Expression.read(POINTS[view][example.label], facts)
    assert expression.holds(facts), expression.unmet(facts)


def test_every_point_belongs_to_an_example() -> None:
    labels = {slug: {one.label for one in view.examples} for slug, view in VIEWS.items()}
    assert all(label in labels[slug] for slug, points in POINTS.items() for label in points)

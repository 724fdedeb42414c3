"""Collections to begin with, written by the project. In the handbook most questions find their passage; the others do
not, each for another reason. Among other texts, passages that are near to everything hide one more. With a prompt that
the checkpoint was not trained with, many questions of the household tips miss what they find without it."""

import json
from collections.abc import Mapping, Sequence
from typing import Literal

from bertexplorer.settings import ASSETS
from bertexplorer.views.rows import NumberedRow

Name = Literal[
    "a handbook with faults", "the handbook among other texts", "household tips", "household tips with a prompt"
]

BRIDGE = (
    "The old bridge was built in three years, and it was paid for by the towns on both sides of the river. Stone came "
    "from the hills in the north and was brought by boat. "
)
PLAIN = {  # query -> passage
    "when does the swimming pool open": "The swimming pool opens at nine in summer and at ten in winter.",
    "how much is a ticket for children": "Children under twelve swim for half the price.",
    "can I bring my dog to the park": "Dogs may run free in the park behind the school, but not at the lake.",
    "who repairs street lamps": "If a street lamp is dark, call the office for roads. It is repaired within a week.",
    "where do I get a new passport": "A new passport is made in the town hall, on the second floor.",
    "what can I borrow from the library": "The library lends books, games and tools for four weeks.",
    "when is the market": "Farmers sell fruit, cheese and flowers in the square every Friday morning.",
    "how do I register a baby": "Parents register a child with the papers of the hospital and their own.",
    "is there a bus at night": "The last bus leaves the station at midnight, on Saturdays an hour later.",
    "where can I leave old furniture": "Old furniture is collected twice a year. Put it on the pavement.",
}
LONG = {  # what answers stands beyond the tokens that are read
    "where does the key of the cellar hang": BRIDGE * 20 + "The key of the cellar hangs behind the clock.",
    "who rings the bell at noon": BRIDGE * 18 + "The bell is rung at noon by the baker.",
}
MIXED = {  # what answers is read, but stands among much else
    "who feeds the swans in winter": BRIDGE * 8 + "The swans are fed in winter by the boy who lives at the mill.",
}
PERMIT = "A parking permit for residents of the old town costs {} euros a year and is valid in every street."
TWINS = {"what does it cost to park in the old town": PERMIT.format(60)}  # older versions are before it
VERSIONS = [PERMIT.format(price) for price in (40, 45, 50, 55)]
NAMES = {  # the name draws passages that say nothing of the question
    "does Mary Baker keep bees": "Bees are kept behind the mill, and honey is sold there.",
}
OF_NAMES = [
    "Mary Baker was born in the house beside the church.",
    "A prize for young writers is named after Mary Baker.",
    "Mary Baker opened the new hall in the presence of many guests.",
    "The street was called after Mary Baker in spring.",
    "Mary Baker and her brother founded the choir.",
]
CODES = {  # only the words say it
    "form 417": "417: for those who want to put up a fence. Bring a drawing and a photo of the place.",
}
FORMS = {411: "cut a tree", 412: "build a shed", 413: "change a window", 414: "dig a well", 415: "paint a house"}
OF_FORMS = [f"Form {number}: for those who want to {what}. Bring a drawing." for number, what in FORMS.items()]
SHATTERED = {  # the vocabulary has none of these words
    "xqzvltk brvnqwj zkptfgh hall": "The market hall is cleaned on Monday, before anybody comes.",
}
HIDDEN = {  # lines that say little are near to everything: only in a larger collection can that be told from chance
    "what did they find one day": "In the garden of the school a box with old coins came to light.",
}
OF_A_TALE = ["One day they were there.", "There it was, one day.", "And so it was one day."]
PROMPT = "Represent this sentence for searching relevant passages: "  # that of bge-large-en-v1.5
NOTES = 120  # lines of the beekeepers' notes, which answer no question
GAP = {"my neighbour is too loud": "From ten in the evening on the police may be called."}
ANSWERED = {**PLAIN, **LONG, **MIXED, **TWINS, **NAMES, **CODES, **SHATTERED, **GAP}
UNASKED = [*VERSIONS, *OF_NAMES, *OF_FORMS]  # passages that answer no question


def handbook() -> list[NumberedRow]:
    """Each question with its passage, then the passages that answer none."""
    return numbered_rows(ANSWERED, UNASKED)


def handbook_among_others() -> list[NumberedRow]:
    """The handbook with a question more, a tale, the household tips and a club's notes."""
    tips = dict.fromkeys(str(cells["passage"]) for _, cells in household())  # each once
    notes = (ASSETS / "data" / "adaptation.txt").read_text("utf-8").splitlines()[:NOTES]
    return numbered_rows({**ANSWERED, **HIDDEN}, [*UNASKED, *OF_A_TALE, *tips, *notes])


def numbered_rows(answered: Mapping[str, str], others: Sequence[str]) -> list[NumberedRow]:
    """The rows of questions with their passages, and of *others*, which answer none."""
    rows: list[dict[str, object]] = [{"query": query, "passage": passage} for query, passage in answered.items()]
    rows += [{"query": "", "passage": passage, "relevance": 0} for passage in others]
    return list(enumerate(rows, 1))


def household() -> list[NumberedRow]:
    """The built-in rows of the task retrieval."""
    lines = (ASSETS / "data" / "retrieval.jsonl").read_text("utf-8").splitlines()
    return [(number, json.loads(line)) for number, line in enumerate(lines, 1)]


def household_with_a_prompt() -> list[NumberedRow]:
    """The household tips, with PROMPT before each question."""
    return [(number, {**cells, "query": PROMPT + str(cells["query"])}) for number, cells in household()]


def rows_of(name: Name) -> list[NumberedRow]:
    if name == "a handbook with faults":
        return handbook()
    if name == "the handbook among other texts":
        return handbook_among_others()
    if name == "household tips with a prompt":
        return household_with_a_prompt()
    return household()

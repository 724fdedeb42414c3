"""Figure for search: a bar for each result, as long as its cosine, and a tick at that of two random sentences."""

from bertexplorer.charts.marks import Bar, Bars, Figure, Panel, Tick, key
from bertexplorer.charts.style import clip, decimal, quote
from bertexplorer.views.search.compute import Hit, Search
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Embeddings",
    place=4,
    title="Search",
    question="Which lines mean something like this?",
    note=(
        "BERT was trained to fill masks, not to compare sentences: even unrelated sentences have a cosine above 0. "
        "Compare with the score of random sentences, which the figure marks. Checkpoints trained for search do this "
        "better."
    ),
    papers=("Reimers and Gurevych, 2019, Sentence-BERT",),
    examples=(
        Example("A judge in court", "A judge in court", shows='topic() == "law" and cosine() > chance() + 0.3'),
        Example("Feeling ill", "She has a fever and a headache.", shows='topic() == "health"'),
        Example("River bank", "They fish from the bank.", shows="cosine() > chance() + 0.3"),
        Example("Money bank", "She keeps her savings at a bank.", shows='topic() == "money"'),
        Example("By [CLS]", "A judge in court", options={"pooling": "CLS"}, shows="chance() > 0.2"),
    ),
    chips="",
    slow=True,
    needs=("lines", "index"),
)

SHOWN = 480  # letters of a line under the pointer


def draw(result: Search) -> Figure:
    bars = []
    for hit in result.hits:
        name = f"{hit.text} ({hit.label})" if hit.label else hit.text
        tick = Tick(result.chance)
        bars.append(Bar(name, hit.cosine, decimal(hit.cosine), hover=hover(hit), ticks=[tick]))
    chance = key(("┃", "orange", f"two random sentences, {decimal(result.chance)}"))
    return Figure([Panel([Bars(bars, high=1, above=True, axis=True), chance], x="cosine")])


def hover(hit: Hit) -> str:
    """What the pointer shows of a result."""
    group = f" ({hit.label})" if hit.label else ""
    return f"{hit.rank}. line {hit.line + 1}{group}\n{clip(hit.text, SHOWN)}\ncosine {decimal(hit.cosine, 3)}"


def say(result: Search) -> str:
    """The searched collection, the best result, and the score of two random sentences."""
    lines = "built-in sentences" if result.built_in else "uploaded lines"
    best = result.hits[0]
    index_use = {"": "compared one by one", "new": "put into the search index now", "kept": "from the search index"}
    sentence = (
        f"Of {result.count:,} {lines}, {index_use[result.indexed]}, the nearest is {quote(clip(best.text, 80))} with a "
        f"cosine of {best.cosine:.2f}; two sentences taken at random have {result.chance:.2f} on average."
    )
    return f"{sentence} {result.notes}".strip()

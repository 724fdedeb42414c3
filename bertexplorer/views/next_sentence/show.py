"""Figure for next sentence: the tokens with their segment ids, both orders of the pair, and the candidates by rank."""

from bertexplorer.charts.marks import Bar, Bars, Figure, Panel, Token, Tokens, Tone
from bertexplorer.charts.style import beyond_limit, clip, decimal, of_two, percent, quote
from bertexplorer.views.next_sentence.compute import NextSentence, Score
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Sentences",
    place=1,
    title="Next sentence",
    question="Does B follow A?",
    note=(
        "In training, B came from another document half of the time, so the answer rests on topic more than on order "
        "or sense: a shared topic fools it, even where B contradicts A or the two are the wrong way round. Label 0 is "
        "“is next”, label 1 “is not next”: here 0 means yes."
    ),
    papers=("Devlin et al., 2019, BERT",),
    examples=(
        Example(
            "The store",
            "The man went to the store.",
            "He bought a gallon of milk.",
            {"candidates": "Penguins are flightless. | He sold a gallon of milk. | The store was closed."},
            shows="is_next() > 0.5",
        ),
        Example(
            "Penguins",
            "The man went to the store.",
            "Penguins are flightless birds.",
            {"candidates": "He bought a gallon of milk. | Penguins went to the store."},
            shows="is_next() < 0.1 and is_next() < is_next_of(best_candidate())",
        ),
        Example(
            "Wrong order",
            "She walked into the house and sat down.",
            "She walked up to the house and rang the bell.",
            {"candidates": "Then she fell asleep in the chair. | The treaty was signed in 1648."},
            shows="is_next() > 0.5 and is_next_swapped() > 0.5",
        ),
        Example(
            "A contradiction",
            "The museum is closed today.",
            "The museum is open today.",
            {"candidates": "We will visit it tomorrow. | The river is wide and deep."},
            shows="is_next() > 0.5",
        ),
        Example(
            "A question",
            "What is the capital of France?",
            "The capital of France is Paris.",
            {"candidates": "The capital of France is Berlin. | What is the capital of France? | It is Paris. | Yes."},
            shows='is_next() > 0.5 and is_next_of("The capital of France is Berlin.") > 0.5',
        ),
    ),
)

SHOWN = 30  # tokens of each segment to draw
TONES: tuple[Tone, Tone] = ("blue", "orange")  # of segments 0 and 1


def draw(result: NextSentence) -> Figure:
    ways = []
    for way, score in (("A, then B", result.forward), ("B, then A", result.backward)):
        logits = f"logits {decimal(score.logits[0])} is next, {decimal(score.logits[1])} not"
        ways.append(bar(f"{way}: {logits}", score))
    panels = [
        Panel([Tokens(tokens(result))], "What BERT reads, with segment ids"),
        Panel([Bars(ways, high=1, above=True)], "Does the second follow the first? Blue: is next"),
    ]
    if len(result.candidates) > 1:
        candidates = []
        for rank, score in enumerate(result.candidates, 1):
            mark = "B: " if score is result.forward else ""
            candidates.append(bar(f"{rank}. {mark}{score.second}", score))
        panels.append(Panel([Bars(candidates, high=1, above=True)], "A, then each candidate, likeliest first"))
    return Figure(panels)


def tokens(result: NextSentence) -> list[Token]:
    """The tokens of both segments; a long one is cut in the middle."""
    drawn = []
    for segment, tone in enumerate(TONES):
        pieces = [token for token, of in zip(result.tokens, result.segments, strict=True) if of == segment]
        if len(pieces) > SHOWN:
            pieces = [*pieces[: SHOWN - 2], f"… {len(pieces) - SHOWN + 1} more", pieces[-1]]
        for piece in pieces:
            drawn.append(Token(piece, str(segment), tone, f"{piece}: segment {'AB'[segment]}, id {segment}"))
    return drawn


def bar(label: str, score: Score) -> Bar:
    """A blue part for “is next”, on all of it."""
    is_next, not_next = of_two(score.is_next)
    lines = [
        f"A: {score.first}",
        f"B: {score.second}",
        f"is next {is_next}, logit {decimal(score.logits[0])}",
        f"not next {not_next}, logit {decimal(score.logits[1])}",
    ]
    return Bar(label, score.is_next, f"{is_next} is next · {not_next} not", hover="\n".join(lines), behind=1)


def say(result: NextSentence) -> str:
    pair = result.forward
    is_next, not_next = of_two(pair.is_next)
    sentences = [
        f"B follows A with {is_next}, does not with {not_next} (logits "
        f"{decimal(pair.logits[0])} for is next, {decimal(pair.logits[1])} for is not next, in this order); "
        f"the other way round, A follows B with {percent(result.backward.is_next)}."
    ]
    if len(result.candidates) > 1:
        best = result.candidates[0]
        first = "B itself"
        if result.rank > 1:
            first = f"{quote(clip(best.second, 60))}, and B comes {ordinal(result.rank)}"
        sentences.append(f"Of {len(result.candidates)} candidates the likeliest ({percent(best.is_next)}) is {first}.")
    return " ".join([*sentences, *beyond_limit(result.left_out)])


def ordinal(rank: int) -> str:
    """2nd, 3rd, 11th."""
    if rank % 100 in (11, 12, 13):
        return f"{rank}th"
    ending = {1: "st", 2: "nd", 3: "rd"}.get(rank % 10, "th")
    return f"{rank}{ending}"

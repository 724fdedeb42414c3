"""Figure for answer: a bar for each label and for what is left of the best one without a word, for the tag of each
word, for each token that may be replaced, or for each span, with the starts and ends of spans."""

from collections.abc import Sequence

import numpy as np

from bertexplorer.answers import task_head
from bertexplorer.answers.readout import OUTSIDE, REPLACED
from bertexplorer.charts.marks import GROUPS, Bar, Bars, Columns, Figure, Mark, Panel, Rule, Tone
from bertexplorer.charts.passages import RankedPassage, passages_panel
from bertexplorer.charts.style import beyond_limit, clip, decimal, join_names, measure, percent, quote, signed
from bertexplorer.views.answer.compute import LIKELY, CheckpointAnswer, HiddenWord, TaggedWord
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "Fine-tuned",
    place=1,
    title="Answer",
    question="What does the fine-tuned checkpoint answer?",
    note=(
        "The head knows only the labels of its training rows and must give one to any text, even to one about "
        "something else. A high probability says that the text resembles those rows, not that the answer is true. "
        "A softmax over one logit is always 1: of a re-ranker, which has one, read the score, or the relevance. "
        "Hiding one word at a time misses words that count only together, and a text with a mask is unlike those rows; "
        "Saliency has other ways to ask. "
        "ELECTRA's discriminator says of each token whether another one stood there. It learned on words that a small "
        "BERT had put in, so it finds odd words better than mistakes that people make. "
        "sentiment, which comes with the app, learned from 400 sentences made for this project; choose one of your "
        "runs, or any fine-tuned checkpoint."
    ),
    papers=(
        "Devlin et al., 2019, BERT",
        "Lafferty et al., 2001, Conditional Random Fields",
        "Reimers and Gurevych, 2019, Sentence-BERT",
        "Clark et al., 2020, ELECTRA",
    ),
    examples=(
        Example(
            "A good film",
            "The film was a joy from beginning to end.",
            shows='answer() == "positive" and rests_on() == "joy" and p_without("joy") < 0.5',
        ),
        Example(
            "Negation",
            "The film was not a joy at all.",
            shows='answer() == "negative" and rests_on() == "not" and p_without("not") < 0.5',
        ),
        Example("About something else", "The museum opens at nine.", shows="p(answer()) > 0.9"),
        Example(
            "A question and its passage",
            "Where did Ada Lovelace meet Charles Babbage?",
            "Ada Lovelace met the inventor Charles Babbage in London in 1833, at a party of a common friend.",
            kind="span",
        ),
        Example(
            "Two sentences that mean the same",
            "How old is the bridge?",
            "When was the bridge built?",
            kind="similarity",
        ),
    ),
    tuned=True,
    checkpoint="sentiment",
)

HIDDEN = 12  # words of the panel of hidden words
FELT = 0.05  # the least change of a probability or a score that the sentence names
DRAWN = 60  # words
SHARES = {
    "label": "probability of each label",
    "labels": "probability of each label, one by one",
    "score": "score",
    "similarity": "cosine of the two texts",
}


def draw(result: CheckpointAnswer) -> Figure:
    ways = {"tag": tags, "replaced": replaced, "span": spans}
    return Figure(ways.get(result.kind, labels)(result))


def labels(result: CheckpointAnswer) -> list[Panel]:
    """A bar for each label, the best on top; below, what is left of the best one when a word is hidden."""
    bars = []
    for item in result.labels[: result.top]:
        text = measure(item.value, result.scored)
        logit = f", logit {decimal(item.logit)}" if result.kind != "similarity" else ""
        tone: Tone = "blue" if item.name in result.chosen else "pale"
        bars.append(Bar(item.name, item.value, text, tone, f"{item.name}: {text}{logit}"))
    words = [word_bar(result, word) for word in strongest_words(result)]
    low, high = ends([bar.value for bar in (*bars, *words)], result)
    marks: list[Mark] = [Bars(bars, low, high)]
    if result.kind == "labels":
        marks.append(Rule(LIKELY, "grey", "dot"))
    panels = [Panel(marks, SHARES[result.kind])]
    if result.passages:
        found = [
            RankedPassage(passage.text, passage.value, measure(passage.value, result.scored), passage.own)
            for passage in result.passages
        ]
        panels.append(passages_panel(result.first, found, *ends([passage.value for passage in found], result)))
    if words:
        name = "the score" if result.kind == "score" else quote(result.labels[0].name)
        panels.append(Panel([Bars(words, low, high, tokens=True)], f"{name} if one word is hidden"))
    return panels


def ends(values: Sequence[float], result: CheckpointAnswer) -> tuple[float, float]:
    """The ends of the scale: 1 for probabilities and cosines, the largest *values* for scores."""
    low, high = min([0.0, *values]), max([0.0, *values])
    if result.kind == "score":
        return low, high
    return -1.0 if low < 0 else 0.0, 1.0


def word_bar(result: CheckpointAnswer, word: HiddenWord) -> Bar:
    """What is left of the best label without a word."""
    best, text = result.labels[0], measure(word.value, result.scored)
    hover = f"{best.name} with [MASK] in place of {word.word}: {text}, {changed(best.value, word.value)}"
    return Bar(word.word, word.value, text, "orange" if matters(result, word) else "pale", hover)


def changed(before: float, after: float) -> str:
    return f"{signed(after - before)} beside the whole text"


def strongest_words(result: CheckpointAnswer) -> list[HiddenWord]:
    """The words whose hiding changes the best label most, in the order of the text."""
    order = sorted(result.hidden, key=lambda word: -abs(word.value - result.labels[0].value))
    strongest = {word.positions for word in order[:HIDDEN]}
    return [word for word in result.hidden if word.positions in strongest]


def matters(result: CheckpointAnswer, word: HiddenWord) -> bool:
    """Whether hiding *word* lowers the best label by at least a quarter of what is most for a word, and by 5 points."""
    best = result.labels[0].value
    most = max(best - other.value for other in result.hidden)
    return best - word.value >= max(most / 4, FELT)


def tags(result: CheckpointAnswer) -> list[Panel]:
    """A bar for each word with the probability of its tag, in the tone of the tag."""
    tones = tag_tones(result)
    bars = []
    for word in result.words[:DRAWN]:
        best = word.labels[0]
        text, tone = f"{best.name} {percent(best.value)}", tones[entity_type(best.name)]
        bars.append(Bar(word.word, best.value, text, tone, hover(word)))
    return [Panel([Bars(bars, high=1, tokens=True)], "the tag of each word, with its probability")]


def replaced(result: CheckpointAnswer) -> list[Panel]:
    """A bar for each token: how likely another one stood there."""
    bars = []
    for word in result.words[:DRAWN]:
        text = percent(word.replaced)
        logit = next(item.logit for item in word.labels if item.name == REPLACED[1])
        said = f"{word.word}: {text} that another token stood here, logit {decimal(logit)}"
        bars.append(Bar(word.word, word.replaced, text, "orange" if word.replaced > LIKELY else "pale", said))
    likely = Rule(LIKELY, "grey", "dot")
    return [Panel([Bars(bars, high=1, tokens=True), likely], "how likely another token stood here")]


def entity_type(tag: str) -> str:
    """The type of an entity: PER for B-PER."""
    return tag[2:] if tag[:2] in ("B-", "I-") else tag


def tag_tones(result: CheckpointAnswer) -> dict[str, Tone]:
    """The tone of each type of tag in the order of the text, pale for O."""
    kinds = dict.fromkeys(entity_type(word.labels[0].name) for word in result.words)
    entity_kinds = [name for name in kinds if name != OUTSIDE]
    tones: dict[str, Tone] = {name: GROUPS[i % len(GROUPS)] for i, name in enumerate(entity_kinds)}
    return {**tones, OUTSIDE: "pale"}


def hover(word: TaggedWord) -> str:
    lines = [f"{item.name} {percent(item.value)}" for item in word.labels[:4]]
    return f"{word.word}: {', '.join(lines)}"


def spans(result: CheckpointAnswer) -> list[Panel]:
    """The best spans and “no answer”; below, the probability that each token is the start or the end."""
    answer = result.nothing if result.no_answer else result.spans[0]
    bars = []
    for span in [*result.spans, *([result.nothing] if result.nothing else [])]:
        tone: Tone = "grey" if span is result.nothing else "pale"
        if span is answer:
            tone = "blue"
        text = percent(span.probability)
        said = f"{span.text}: {text}, logits add up to {decimal(span.logit)}"
        bars.append(Bar(span.text, span.probability, text, tone, said))
    return [
        Panel([Bars(bars, above=True)], "the best spans: p(start) times p(end)"),
        Panel([Columns(places(result), tokens=True)], "up: the answer starts here; down: it ends"),
    ]


def places(result: CheckpointAnswer) -> list[Bar]:
    """A column for each token, up if the answer starts there and down if it ends."""
    bars = []
    for position in result.inside:
        token = result.tokens[position]
        start, end = float(result.starts[position]), float(result.ends[position])
        said = f"{token}: starts here {percent(start)}, ends here {percent(end)}"
        bars.append(Bar(token, start, hover=said, down=end))
    return bars


def colours(result: CheckpointAnswer) -> dict[int, float]:
    """Position -> shade for the strip: the probability of a word's tag unless it is O, or that the answer covers the
    token. For a label of the whole text, from -1 to 1, how much it falls when the word is hidden."""
    if result.kind == "tag":
        best = [(word, word.labels[0]) for word in result.words]
        return {p: item.value for word, item in best if item.name != OUTSIDE for p in word.positions}
    if result.kind == "replaced":
        return {p: word.replaced for word in result.words for p in word.positions}
    if result.kind != "span":
        falls = {word.positions: result.labels[0].value - word.value for word in result.hidden}
        most = max(FELT, *map(abs, falls.values())) if falls else 1.0
        return {p: fall / most for positions, fall in falls.items() for p in positions}
    # P(started here or before) times P(not ended before)
    covered = np.cumsum(result.starts) * np.cumsum(result.ends[::-1])[::-1]
    return {i: min(1.0, float(covered[i])) for i in result.inside}


def say(result: CheckpointAnswer) -> str:
    """The answer as text, and how the run's own answer may differ."""
    ways = {"tag": say_tags, "replaced": say_replaced, "span": say_span}
    answer = ways.get(result.kind, say_labels)(result)
    return " ".join([answer, *say_passages(result), *say_hidden(result), *remarks(result)])


def say_passages(result: CheckpointAnswer) -> list[str]:
    """Which of the second texts is first, and where that of the pair in question stands."""
    if not result.passages:
        return []
    best, rank = result.passages[0], 1 + [passage.own for passage in result.passages].index(True)
    among = f"Of {len(result.passages)} second texts it is"
    if rank == 1:
        return [f"{among} first."]
    return [f"{among} number {rank}; first is {quote(clip(best.text, 60))} ({measure(best.value, result.scored)})."]


def say_hidden(result: CheckpointAnswer) -> list[str]:
    """The words without which the best label falls furthest, and rises furthest."""
    if not result.hidden:
        return []
    best = result.labels[0]
    name = "the score" if result.kind == "score" else quote(best.name)
    lowest = min(result.hidden, key=lambda word: word.value)
    highest = max(result.hidden, key=lambda word: word.value)
    falls = [f"{name} falls to {measure(lowest.value, result.scored)}"] if best.value - lowest.value >= FELT else []
    rises = [f"rises to {measure(highest.value, result.scored)}"] if highest.value - best.value >= FELT else []
    if not falls and not rises:
        least = "0.05" if result.scored else "5 points"
        return [f"No single word decides it: hiding any one of them changes {name} by less than {least}."]
    if not falls:
        return [f"Hide {quote(highest.word)} and {name} {rises[0]}."]
    sentence = f"Hide {quote(lowest.word)} and {falls[0]}"
    return [f"{sentence}; hide {quote(highest.word)} and it {rises[0]}." if rises else f"{sentence}."]


def say_labels(result: CheckpointAnswer) -> str:
    best, *others = result.labels
    if result.kind == "similarity":
        low, high = result.training.scale or (0.0, 0.0)
        scale = f" on the scale of its training rows, {decimal(low)} to {decimal(high)}"
        score = "" if result.score is None else f" The run reads that as the score {decimal(result.score)}{scale}."
        return f"The two texts, each read alone, have the cosine {decimal(best.value)}.{score}"
    if result.kind == "score":
        subject = f"{quote(best.name)} has the score" if others else "The score is"
        return f"{subject} {decimal(best.value)}{say_relevance(result)}."
    if result.kind == "labels":
        likely = [f"{quote(item.name)} ({percent(item.value)})" for item in result.labels if item.name in result.chosen]
        if likely:
            more = [f"{len(likely) - 8} more"] if len(likely) > 8 else []
            return f"Above 50 %: {join_names([*likely[:8], *more])}."
        return f"No label is above 50 %; the likeliest is {quote(best.name)} with {percent(best.value)}."
    second = f", then {quote(others[0].name)} with {percent(others[0].value)}" if others else ""
    return f"The label is {quote(best.name)} with {percent(best.value)}{second}."


def say_relevance(result: CheckpointAnswer) -> str:
    """What a re-ranker's files make of its score, as the end of a sentence."""
    name, relevance = result.relevance_function, result.relevance
    if not result.reranks:
        return ""
    if relevance is None:
        return f", of which its files make a relevance by {name}, which is not computed here"
    if name == "Identity":
        return ", which its files take for the relevance as it is"
    if name == "Sigmoid":
        return f", a relevance of {percent(relevance)} (its sigmoid)"
    return f", a relevance of {decimal(relevance)} (by {name})"


def say_tags(result: CheckpointAnswer) -> str:
    """The entities, or the first tagged words if tags are not B and I, and the least certain tag."""
    tagged = [word for word in result.words if word.labels[0].name != OUTSIDE]
    least = min(result.words, key=lambda word: word.labels[0].value)
    unsure = f"Least certain is {quote(least.word)} with {least.labels[0].name} ({percent(least.labels[0].value)})."
    if not tagged:
        return f"None of the {len(result.words)} words is tagged: all have {OUTSIDE}. {unsure}"
    examples = [f"{quote(clip(text))} ({name})" for text, name in entities(result)]
    more = f" and {len(examples) - 5} more" if len(examples) > 5 else ""
    listing = join_names(examples) if not more else ", ".join(examples[:5]) + more
    return f"{len(tagged)} of {len(result.words)} words are tagged: {listing}. {unsure}"


def say_replaced(result: CheckpointAnswer) -> str:
    """The tokens that are taken for replaced, or the one that is closest to it."""
    suspects = sorted(result.words, key=lambda word: -word.replaced)
    first, *found = [word for word in suspects if word.replaced > LIKELY] or suspects[:1]
    named = [f"{quote(word.word)} ({percent(word.replaced)})" for word in [first, *found]]
    if first.replaced <= LIKELY:
        return f"None of the {len(result.words)} tokens is taken for replaced; closest to it is {named[0]}."
    more = [f"{len(named) - 8} more"] if len(named) > 8 else []
    other = "another token" if len(named) == 1 else "other tokens"
    return f"The discriminator says that {other} stood in place of {join_names([*named[:8], *more])}."


def entities(result: CheckpointAnswer) -> list[tuple[str, str]]:
    """(words, type) of each entity: I tags extend it, a B tag starts a new one, and plain tags stay single words."""
    runs: list[tuple[list[str], str]] = []
    going = ""
    for word in result.words:
        tag = word.labels[0].name
        if tag.startswith("I-") and going == entity_type(tag):
            runs[-1][0].append(word.word)
        elif tag != OUTSIDE:
            runs.append(([word.word], entity_type(tag)))
        going = entity_type(tag) if tag[:2] in ("B-", "I-") else ""
    return [(" ".join(texts), name) for texts, name in runs]


def say_span(result: CheckpointAnswer) -> str:
    best, nothing = result.spans[0], result.nothing
    places = f"token {best.first}" if best.first == best.last else f"tokens {best.first} to {best.last}"
    quoted_span = f"{quote(clip(best.text, 80))} ({places})"
    sure = f"starts there with {percent(float(result.starts[best.first]))} and ends there with " + percent(
        float(result.ends[best.last])
    )
    none = f"“no answer” has {percent(nothing.probability)}" if nothing else ""
    if result.no_answer:
        return f"The passage has no answer ({none}); the best span is {quoted_span}, which {sure}."
    return f"The answer is {quoted_span}: it {sure}; {none}."


def remarks(result: CheckpointAnswer) -> list[str]:
    """What the figure leaves out, and where the run itself would answer differently."""
    sentences, training = [], result.training
    if result.by_crf:
        sentences.append("The run's CRF chooses the tags together, as one path; probabilities are over all paths.")
    elif training.crf:
        sentences.append(
            "The run chooses its tags with a CRF over these; here it is missing, because task.safetensors is not next "
            "to the weights."
        )
    sentences += [*task_head.caveats(training, result.kind, result.left_out), *result.caveats]
    if result.kind == "span":
        sentences += span_remarks(result)
    elif 0 < training.max_tokens < result.longest:
        sentences.append(f"The run cut its texts to {training.max_tokens} tokens; here {result.longest} are read.")
    if len(result.words) > DRAWN:
        sentences.append(f"The first {DRAWN} of {len(result.words):,} words are drawn.")
    return sentences + beyond_limit(result.left_out)


def span_remarks(result: CheckpointAnswer) -> list[str]:
    """How the run itself looks for an answer in a passage."""
    sentences, training = [], result.training
    if 0 < training.max_tokens < result.longest:
        sentences.append(
            f"The run reads windows of {training.max_tokens} tokens; here one of {result.longest} is read."
        )
    if training.allows_no_answer and training.threshold:
        by = decimal(training.threshold)
        sentences.append(f"The run says “no answer” if the logits of that exceed those of the best span by over {by}.")
    if training.task and training.longest != result.span_limit:
        here = result.span_limit
        sentences.append(f"Spans have at most {here} tokens here (Longest span) and {training.longest} in the run.")
    return sentences

"""Figure for the forward pass: from left to right what goes in, three vectors, the layers, and what comes out."""

from typing import Any

import numpy as np
from jaxtyping import Float

from bertexplorer.answers.strongest_heads import HeadLink
from bertexplorer.charts.picture import Picture
from bertexplorer.charts.style import (
    beyond_limit,
    clip,
    count,
    decimal,
    join_names,
    measure,
    only_first_mask,
    percent,
    quote,
)
from bertexplorer.views.forward_pass.compute import ForwardPass, LayerPart, Raised
from bertexplorer.views.view import Example, View

VIEW = View(
    __package__,
    "The model",
    place=1,
    title="Forward pass",
    question="What happens between your sentence and BERT’s answer?",
    note=(
        "One head of each layer is drawn, the one whose strongest link joins two words that are not neighbours; the "
        "others may do more for the answer, and a strong link does not show that the answer depends on it. The answers "
        "after each layer are read by a head that was trained on the last layer only."
    ),
    papers=(
        "Vaswani et al., 2017, Attention Is All You Need",
        "Devlin et al., 2019, BERT",
        "Geva et al., 2022, Transformer Feed-Forward Layers Build Predictions by Promoting Concepts",
        "Cho et al., 2024, Transformer Explainer",
    ),
    examples=(
        Example(
            "The capital of France",
            "The capital of France is [MASK].",
            shows='answer() == "paris" and settled() > layers() / 2',
        ),
        Example(
            "It was too tired",
            "The animal didn't cross the street because it was too [MASK].",
            picked="0:44-46",
            shows="open_layer() >= 4 and p() < 0.5",
        ),
        Example("The keys to the cabinet", "The keys to the cabinet [MASK] on the table.", shows='answer() == "are"'),
        Example("Milk", "The man went to the store.", "He bought a gallon of milk.", shows='answer() == "B follows A"'),
        Example(
            "The farmers",
            "The farmers cultivate the [MASK] to grow crops.",
            shows='answer() == "land" and raised(6) == "land"',
        ),
    ),
)

NUMBERS = 10  # of each vector that are drawn
STRONGEST = 99  # percentile of the numbers of a stage that gets the strongest colour
ABOVE, BELOW = 64, 228  # pixels of the headings, and of the details of a layer
# pixels of a token, and of one among more than MANY
ROW = 24
LOW_ROW = 18
MANY = 12
ADDED = {1: "A vector for each", 2: "Two vectors, added", 3: "Three vectors, added"}
SHORT = {"B follows A": "it follows", "B does not follow": "it does not"}  # on a bar


def draw(result: ForwardPass) -> Picture:
    """What the script of the picture draws; it has a row for each token, and one for all others together."""
    rows = len(result.tokens)
    if result.others:
        rows += 1
    height = ROW if rows <= MANY else LOW_ROW
    tokens = []
    for token, special in zip(result.tokens, result.special, strict=True):
        tokens.append({"text": clip(token, 12), "special": special})
    data = {
        "tokens": tokens,
        "others": result.others,
        "row": height,
        "highlighted": result.followed,
        "followed": clip(result.tokens[result.followed], 12),
        "pieces": {"title": "What goes in", "says": say_pieces(result), "door": {"view": "tokenization"}},
        "vectors": {
            "title": ADDED[len(addends(result))],
            "says": say_vectors(result),
            "door": {"view": "input-vectors"},
            "stages": [{"name": name, "strip": strip(part)} for name, part in drawn_inputs(result)],
        },
        "layers": [draw_layer(result, i) for i in range(len(result.layers))],
        "open": result.open,
        "heads": rounded(result.layers[result.open].weights),
        "end": draw_end(result),
    }
    return Picture("model", data, height=ABOVE + BELOW + height * rows)


def draw_layer(result: ForwardPass, index: int) -> dict[str, Any]:
    """What the picture shows of one layer, with the head that shows most."""
    part = result.layers[index]
    head = part.link.head.head if part.link else 0
    answer = None
    if part.answer:
        answer = {"token": part.answer.token, "share": measure(part.answer.probability, result.scored)}
    lengths = []
    for vectors in (part.attended, part.fed, part.output):
        lengths.append(decimal(float(np.linalg.norm(vectors[result.followed])), 1))
    raised = []
    for word in gains(part):
        raised.append({"token": word.token, "from": percent(word.before), "to": percent(word.after)})
    return {
        "number": index + 1,
        "head": head + 1,
        "weights": rounded(part.weights[head]),
        "link": draw_link(result, part.link),
        "strip": strip(part.output),
        "answer": answer,
        "lengths": lengths,
        "raised": raised,
        "attention": {"says": say_attention(result, part, index), "door": attention_door(index, head)},
        "feed_forward": {"says": say_feed_forward(result, part, index), "door": neurons_door(index)},
    }


def draw_link(result: ForwardPass, link: HeadLink | None) -> dict[str, Any] | None:
    """The rows that the strongest link joins, and the link in words; None if one of them is not shown, and for a head
    that looks the same distance away in most places."""
    if link is None or link.positional:
        return None
    if link.source not in result.positions or link.target not in result.positions:
        return None
    source = result.positions.index(link.source)
    target = result.positions.index(link.target)
    words = f"{clip(result.tokens[source], 12)} ← {clip(result.tokens[target], 12)}"
    return {"to": source, "from": target, "words": words, "share": percent(link.weight)}


def neurons_door(layer: int) -> dict[str, Any]:
    """Where a press on the feed-forward half leads."""
    return {"view": "neurons", "set": {"layer": layer + 1}}


def attention_door(layer: int, head: int) -> dict[str, Any]:
    """Where a press on the attention half leads."""
    return {"view": "attention", "set": {"show": "arcs", "layer": layer + 1, "head": head + 1}}


def draw_end(result: ForwardPass) -> dict[str, Any]:
    """The bars at the end, or the vectors if there is no head."""
    what = "a vector for each token"
    bars = []
    if result.end.outcome:
        what = result.end.outcome.format(token=clip(result.tokens[result.followed], 12))
        for answer in result.answers:
            bars.append(
                {
                    "token": SHORT.get(answer.token, answer.token),
                    "share": answer.probability,
                    "text": measure(answer.probability, result.scored),
                }
            )
    return {
        "title": "What comes out",
        "says": say_end(result),
        "scored": result.scored,
        "door": {"view": result.end.view},
        "what": what,
        "bars": bars,
    }


def addends(result: ForwardPass) -> list[str]:
    """The names of the vectors that are added up."""
    return [name for name in ("word", "position", "segment") if name in result.inputs]


def drawn_inputs(result: ForwardPass) -> list[tuple[str, Float[np.ndarray, "w _"]]]:
    """The vectors that are added, and what the first layer reads."""
    drawn = [(name, result.inputs[name]) for name in addends(result)]
    read = next(reversed(result.inputs.values()))
    return [*drawn, ("sum", read)]


def strip(vectors: Float[np.ndarray, "w d"]) -> list[list[float]]:
    """The first numbers of each vector, from -1 to 1, the strongest colours."""
    limit = float(np.percentile(np.abs(vectors), STRONGEST)) or 1.0
    shades: list[list[float]] = np.clip(vectors[:, :NUMBERS] / limit, -1, 1).astype(np.float64).round(2).tolist()
    return shades


def rounded(weights: Float[np.ndarray, "..."]) -> list[Any]:
    """Shares with as many digits as a picture can show."""
    shares: list[Any] = weights.astype(np.float64).round(3).tolist()
    return shares


def gains(part: LayerPart) -> list[Raised]:
    """The words that the feed-forward half raises by at least a thousandth."""
    return [word for word in part.raised if word.after - word.before >= 0.001]


# The sentences of the parts, and of the whole


def say_pieces(result: ForwardPass) -> str:
    """The tokens that go in."""
    total = len(result.tokens) + result.others
    sentences = [f"What goes in: {count(total, 'token')}, words or pieces of words."]
    if result.others:
        sentences.append(f"{len(result.tokens)} of them are shown.")
    sentences.append("Grey ones are marks that BERT adds. Every row from here to the right is one token.")
    return " ".join(sentences)


def say_vectors(result: ForwardPass) -> str:
    """The vectors that are added for each token."""
    names = addends(result)
    if len(names) == 1:
        how = f"Each token is looked up in a table: a vector of {result.hidden_size:,} numbers."
    else:
        what = {"word": "which token it is", "position": "where it stands", "segment": "which sentence it is in"}
        listed = join_names([f"{name} ({what[name]})" for name in names])
        how = f"Each token becomes the sum of vectors of {result.hidden_size:,} numbers: {listed}."
    return f"{how} {NUMBERS} of these numbers are drawn, blue above 0 and orange below."


def say_attention(result: ForwardPass, part: LayerPart, index: int) -> str:
    """What the attention half of a layer does, with its strongest link."""
    start = f"Layer {index + 1}, attention: each token gathers from the others."
    if not part.link:
        return f"{start} There are no two words to connect."
    sentences = [start, f"In head {part.link.head}, {say_link(result, part.link)}."]
    if part.link.positional:
        sentences.append("It looks the same distance away in most places.")
    return " ".join(sentences)


def say_link(result: ForwardPass, link: HeadLink) -> str:
    """The link, as a clause without a full stop."""
    source = name_at(result, link.source)
    target = name_at(result, link.target)
    return f"{source} gives {percent(link.weight)} of its attention to {target}"


def name_at(result: ForwardPass, position: int) -> str:
    """The token at *position*, quoted; a number if it is not shown."""
    if position in result.positions:
        return quote(result.tokens[result.positions.index(position)])
    return f"token {position + 1}"


def say_feed_forward(result: ForwardPass, part: LayerPart, index: int) -> str:
    """What the feed-forward half of a layer does, with the words that it raises."""
    token = quote(result.tokens[result.followed])
    start = (
        f"Layer {index + 1}, feed-forward: each token alone passes through {result.intermediate_size:,} neurons, which "
        "add to its vector."
    )
    words = gains(part)
    if not words:
        return start
    raised = [f"{quote(word.token)} from {percent(word.before)} to {percent(word.after)}" for word in words]
    return f"{start} At {token} this raises {join_names(raised)}."


def say_end(result: ForwardPass) -> str:
    """What the head makes of the last vector, and its first answer."""
    if not result.end.outcome:
        return (
            f"What comes out: a vector of {result.hidden_size:,} numbers for each token. This checkpoint has no head "
            "that reads them."
        )
    token = quote(result.tokens[result.followed])
    best = result.answers[0]
    number = measure(best.probability, result.scored)
    if result.end.words:
        what = f"the head turns the vector of {token} into a probability for each of {result.vocab_size:,} pieces"
    else:
        what = f"the head turns the vector of {token} into {result.end.outcome.format(token=token)}"
    return f"What comes out: {what}. First is {quote(best.token)}, {number}."


def say(result: ForwardPass) -> str:
    total = len(result.tokens) + result.others
    layers = len(result.layers)
    goes = "goes" if total == 1 else "go"
    each = "The one layer" if layers == 1 else f"Each of the {layers} layers"
    sentences = [
        f"{count(total, 'token')} {goes} in. {each} first lets every token take in something from the others "
        "(attention), then changes each token by itself (feed-forward)."
    ]
    link = result.layers[result.open].link
    if link and not link.positional:
        sentences.append(f"In head {link.head}, {say_link(result, link)}.")
    sentences.append(say_outcome(result))
    sentences += [*result.end.caveats, *only_first_mask(result.other_masks), *beyond_limit(result.left_out)]
    return " ".join(sentences)


def say_outcome(result: ForwardPass) -> str:
    """What comes out, and since which layer."""
    if not result.end.outcome:
        return "A vector for each token comes out; this checkpoint has no head that reads them."
    if result.end.words and not result.end.hidden:
        token = quote(result.tokens[result.followed])
        return f"Nothing is hidden, so the head repeats the word at {token}. Hide a word to ask for a guess."
    best = result.answers[0]
    outcome = f"{quote(best.token)} comes out ({measure(best.probability, result.scored)})"
    if not result.settled:  # only the last layer is read, or all layers agree
        return f"{outcome}."
    if result.settled + 1 == len(result.layers):
        return f"{outcome}; it is the first answer only in the last layer."
    return f"{outcome}; it is the first answer from layer {result.settled + 1} on."

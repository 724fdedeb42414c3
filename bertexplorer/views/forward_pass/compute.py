"""Forward pass: the whole model on one text, from its pieces through every layer to the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, NamedTuple

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers import readout
from bertexplorer.answers.candidates import Candidate, best_candidates
from bertexplorer.answers.heads import check_number
from bertexplorer.answers.layer_answers import read_question
from bertexplorer.answers.readout import MaskReadout, NextSentenceReadout
from bertexplorer.answers.strongest_heads import HeadLink, is_word, strongest_links, window
from bertexplorer.answers.texts import longest_piece
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.engine.activations import LayerHalves
    from bertexplorer.model.checkpoint import Checkpoint

ANSWERS = 6  # at the end
RAISED = 3  # words that the feed-forward half of a layer raises
KEYS, MEASURE = ("layer", "position"), "length"


@dataclass(frozen=True)
class Options:
    layer: Annotated[
        int, Option("Open layer", 0, 100, info="0: the one whose head connects the followed token most", by_page=True)
    ] = 0


@dataclass(frozen=True)
class Raised:
    """A word that becomes more probable in the feed-forward half of a layer."""

    token: str
    before: float  # probability after the attention half, 0 to 1
    after: float


@dataclass(frozen=True)
class LayerPart:
    """What one layer does to the w tokens shown. Layers and heads are 0-based."""

    weights: Float[np.ndarray, "h w w+1"]  # to the tokens shown, and to all others together
    link: HeadLink | None  # the strongest of its heads, from the followed token if it is a word; None: no two words
    attended: Float[np.ndarray, "w d"]  # vectors after the attention half
    fed: Float[np.ndarray, "w d"]  # what the feed-forward half adds
    output: Float[np.ndarray, "w d"]
    raised: tuple[Raised, ...]  # at the followed token, most first; () if no word is asked for
    answer: Candidate | None  # what the head would answer from this layer; None: it reads only the last


@dataclass(frozen=True)
class End:
    """What the pass ends in: the answer of a head, or the vectors."""

    outcome: str = ""  # what the head makes of the {token} that it reads; "": no head reads it
    view: str = "word-path"  # which shows it in detail
    answers: tuple[Candidate, ...] = ()  # most probable first
    scored: bool = False  # whether it is a score instead of probabilities
    words: bool = False  # whether the head chooses a word
    hidden: bool = False  # whether that word is hidden
    caveats: tuple[str, ...] = ()  # where the answer of a run differs, as sentences


@dataclass(frozen=True)
class ForwardPass:
    tokens: tuple[str, ...]  # shown, w of them
    positions: tuple[int, ...]  # of these, 0-based
    special: tuple[bool, ...]
    followed: int  # index among the tokens shown: the mask, the picked token, or the one that the head reads
    others: int  # tokens of the text that are not shown
    inputs: dict[str, Float[np.ndarray, "w _"]]  # the vectors that add up, and what the first layer reads
    layers: tuple[LayerPart, ...]
    open: int  # the layer to show in detail
    end: End
    vocab_size: int
    intermediate_size: int  # neurons of a feed-forward half
    hidden_size: int
    other_masks: int = 0  # masks that are not followed
    left_out: int = 0  # tokens beyond the checkpoint's limit

    @property
    def answers(self) -> tuple[Candidate, ...]:
        """At the end, most probable first; () of vectors."""
        return self.end.answers

    @property
    def scored(self) -> bool:
        return self.end.scored

    @property
    def settled(self) -> int | None:
        """The layer (0-based) from which the first answer is the final one; None if only the last layer is read."""
        names = [part.answer.token for part in self.layers if part.answer]
        if len(names) < len(self.layers) or self.scored:
            return None
        other = [layer for layer, name in enumerate(names) if name != names[-1]]
        return max(other, default=-1) + 1


class Reading(NamedTuple):
    """Where the pass ends, and what the head answers from each layer, where it can be read."""

    encoding: Encoding
    position: int  # of the token to follow
    end: End
    by_layer: tuple[Candidate, ...] = ()  # without the input of the first layer


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> ForwardPass:
    """One pass over *text*, shown as a whole. It ends in what the checkpoint has: the words at the first mask (without
    one, at the picked token), the decision of a fine-tuned head, whether B follows A, or the vectors themselves.

    The answer after each layer is that of `layers`; the words that a feed-forward half raises are the MLM head's
    probabilities after it less those before it, in the manner of Geva et al. (2022). Of more than WINDOW tokens those
    around the followed one are shown; the attention to all others is added up.
    Raises ExplorerError for a layer that does not exist, and for a text that cannot be read.

        forward_pass.run(checkpoint, "The capital of France is [MASK].").answers[0].token"""
    num_layers = checkpoint.config.num_layers
    check_number(options.layer, num_layers, "layer", low=0)
    encoding, position, end, by_layer = read_end(checkpoint, text)
    positions = window(encoding, position)
    followed = positions.index(position)
    halves = list(engine.layer_halves(checkpoint, encoding, positions))
    weights = np.stack([half.weights.numpy() for half in halves])
    sources = encoding.picked or (position,)  # what the pass is followed for, not any two words
    links = strongest_links(weights, positions, is_word(checkpoint, encoding), sources)
    best = {link.head.layer: link for link in reversed(links)}  # the first of each layer is the strongest
    raised = raised_words(checkpoint, halves, followed) if end.words else [()] * num_layers
    parts = []
    for layer, half in enumerate(halves):
        parts.append(
            LayerPart(
                weights=gather(weights[layer], positions),
                link=best.get(layer),
                attended=half.attended.numpy(),
                fed=half.fed.numpy(),
                output=half.output.numpy(),
                raised=raised[layer],
                answer=by_layer[layer] if by_layer else None,
            )
        )
    strongest = links[0].head.layer if links else num_layers - 1
    inputs = engine.input_parts(checkpoint, encoding)
    return ForwardPass(
        tokens=tuple(checkpoint.tokenizer.show_all([encoding.ids[i] for i in positions])),
        positions=tuple(positions),
        special=tuple(encoding.special[i] for i in positions),
        followed=followed,
        others=len(encoding) - len(positions),
        inputs={name: part[positions].numpy() for name, part in inputs.items()},
        layers=tuple(parts),
        open=options.layer - 1 if options.layer else strongest,
        end=end,
        vocab_size=checkpoint.tokenizer.vocab_size,
        intermediate_size=checkpoint.config.intermediate_size,
        hidden_size=checkpoint.config.hidden_size,
        other_masks=max(0, len(encoding.masked) - 1) if end.words else 0,
        left_out=encoding.left_out,
    )


# What the pass ends in


def read_end(checkpoint: Checkpoint, text: Text | str) -> Reading:
    """The head that answers, and the token that it reads."""
    target = readout.resolve_target(checkpoint, text, "answer")
    tuned = readout.tuned_readout(checkpoint)

    # 1. A fine-tuned head decides
    if tuned and tuned.target == target and not tuned.apart:
        question = tuned.question(text)
        layers = read_question(question, (), ANSWERS).layers
        answers = layers[-1].candidates
        end = End(tuned.outcome, tuned.view, answers, scored=tuned.scored, caveats=question.caveats)
        by_layer = tuple(layer.candidates[0] for layer in layers[1:])
        return Reading(question.encoding, question.position, end, by_layer)

    # 2. Whether B follows A
    encoding = checkpoint.tokenizer.encode(text)
    if target == "next sentence" and not encoding.picked:
        answers = next_sentence_answers(checkpoint, encoding)
        end = End(NextSentenceReadout.outcome, NextSentenceReadout.view, answers)
        return Reading(encoding, position=0, end=end)

    # 3. A word at the first mask, else at the picked token, else at the longest; or the vectors, if no head chooses one
    picked_masks = [position for position in encoding.masked if position in encoding.picked]
    position = [*picked_masks, *encoding.masked, *encoding.picked, longest_piece(encoding)][0]
    if "masked_lm" not in checkpoint.heads:
        return Reading(encoding, position, end=End())
    log_probs = engine.layer_log_probs(checkpoint, encoding, [position])[1:, 0, : checkpoint.tokenizer.vocab_size]
    show = checkpoint.tokenizer.show
    answers = best_candidates(log_probs[-1], show, ANSWERS)
    end = End(MaskReadout.outcome, MaskReadout.view, answers, words=True, hidden=position in encoding.masked)
    by_layer = tuple(best_candidates(row, show, 1)[0] for row in log_probs)
    return Reading(encoding, position, end, by_layer)


def next_sentence_answers(checkpoint: Checkpoint, encoding: Encoding) -> tuple[Candidate, ...]:
    """Whether B follows A, the more probable answer first."""
    log_probs = engine.next_sentence_logits(checkpoint, [encoding])[0].log_softmax(dim=-1)
    return best_candidates(log_probs, ("B follows A", "B does not follow").__getitem__, 2)


# What each layer does


def gather(weights: Float[np.ndarray, "h w t"], positions: Sequence[int]) -> Float[np.ndarray, "h w _"]:
    """The columns of the tokens shown, and the sum of all others."""
    shown = weights[..., positions]
    others = weights.sum(-1, keepdims=True) - shown.sum(-1, keepdims=True)
    return np.concatenate([shown, others], axis=-1)


def raised_words(checkpoint: Checkpoint, halves: Sequence[LayerHalves], followed: int) -> list[tuple[Raised, ...]]:
    """For each layer the words that its feed-forward half makes more probable at the followed token."""
    import torch

    before = torch.stack([half.attended[followed] for half in halves])
    after = torch.stack([half.output[followed] for half in halves])
    log_probs = engine.state_log_probs(checkpoint, torch.cat([before, after]))[:, : checkpoint.tokenizer.vocab_size]
    p_before, p_after = log_probs.exp().chunk(2)  # layers x vocabulary
    words = []
    for layer in range(len(halves)):
        best = (p_after[layer] - p_before[layer]).topk(RAISED).indices.tolist()
        raised = []
        for i in best:
            token = checkpoint.tokenizer.show(i)
            raised.append(Raised(token, before=float(p_before[layer, i]), after=float(p_after[layer, i])))
        words.append(tuple(raised))
    return words


def rows(result: ForwardPass) -> list[dict[str, object]]:
    """A row for each token shown after each layer; layer 0 is the input of the first layer. The lengths are Euclidean:
    of the vector after the attention half, of what the feed-forward half adds, and after the layer. *answer*: what the
    head reads at the followed token."""
    table: list[dict[str, object]] = []
    first = next(reversed(result.inputs.values()))  # what the first layer reads
    for i, token in enumerate(result.tokens):
        table.append(
            {
                "layer": 0,
                "position": result.positions[i],
                "token": token,
                "length_after_attention": None,
                "length_added": None,
                "length": length(first[i]),
                "answer": None,
                "probability": None,
            }
        )
    for layer, part in enumerate(result.layers, 1):
        for i, token in enumerate(result.tokens):
            answer = part.answer if i == result.followed else None
            table.append(
                {
                    "layer": layer,
                    "position": result.positions[i],
                    "token": token,
                    "length_after_attention": length(part.attended[i]),
                    "length_added": length(part.fed[i]),
                    "length": length(part.output[i]),
                    "answer": answer.token if answer else None,
                    "probability": answer.probability if answer else None,
                }
            )
    return table


def length(vector: Float[np.ndarray, " d"]) -> float:
    """The Euclidean length."""
    return float(np.linalg.norm(vector))


class Facts(facts.Facts[ForwardPass]):
    def answer(self, rank: int = 1) -> str:
        """What comes out, with this rank."""
        return facts.item(self._result.answers, rank, "answer").token

    def p(self, rank: int = 1) -> float:
        """Probability of the answer with this rank, 0 to 1."""
        return facts.item(self._result.answers, rank, "answer").probability

    def answer_after(self, layer: int) -> str:
        """What the head would answer after this layer."""
        answer = facts.item(self._result.layers, layer, "layer").answer
        return answer.token if answer else ""

    def settled(self) -> float:
        """The layer from which the first answer is the final one; 0 if only the last layer is read."""
        return 0 if self._result.settled is None else self._result.settled + 1

    def raised(self, layer: int) -> str:
        """The word that the feed-forward half of this layer raises most."""
        words = facts.item(self._result.layers, layer, "layer").raised
        return words[0].token if words else ""

    def open_layer(self) -> float:
        """The layer whose head connects the followed token most."""
        return self._result.open + 1

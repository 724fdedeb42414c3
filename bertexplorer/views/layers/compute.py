"""Layers: the prediction of the checkpoint's own head after each layer, and the layer at which it settles."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from bertexplorer.answers import readout
from bertexplorer.answers.layer_answers import LayerAnswer, Layers, read_question
from bertexplorer.answers.question import TAGGED_INFO
from bertexplorer.answers.readout import ask
from bertexplorer.answers.word_scores import parse_words
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts
from bertexplorer.views.layers.tuned_lens import cached_lens

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_FOLLOWED = 8
KEYS, MEASURE = ("layer", "kind", "token"), "probability"
BEST_ONLY = True  # rows lists only those with the largest numbers


@dataclass(frozen=True)
class Options:
    words: Annotated[str, Option("Follow words", info="or labels, separated by commas; empty: the final answers")] = ""
    top: Annotated[int, Option("Answers per layer", 1, 10, info="five are drawn, all are exported")] = 3
    lens: Annotated[
        Literal["raw", "tuned"],
        Option("Lens", info="tuned: each layer in the last one's terms (Belrose et al., 2023), fitted at first use"),
    ] = "raw"
    target: Annotated[
        Literal["answer", "mask", "label", "tag", "span start", "span end", "score"],
        Option("Read", info="answer: the first mask if there is one, else the fine-tuned head"),
    ] = "answer"
    tagged_word: Annotated[str, Option("Tagged word", info=TAGGED_INFO)] = ""


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Layers:
    """Apply a head, which was trained on the last layer only, after every layer: the MLM head at the first mask of
    *text*, or a fine-tuned head. The result has the score of a regression, or the cosine of two texts.

    In the families that normalise after each block (all but ModernBERT) the head takes a layer's output unchanged. In
    ModernBERT the final LayerNorm belongs to the last layer alone; it is applied to the earlier ones too, as the head
    was trained on normalised vectors. The tuned lens (Belrose et al., 2023) applies an affine map before that, one for
    each layer, fitted once for a checkpoint on built-in English sentences.

    Raises ExplorerError without a mask or a fine-tuned head, without the head that answers, for the tuned lens of a
    fine-tuned head, and for a word to follow that is not a single piece or not a label.

        layers.run(checkpoint, "Paris is the [MASK] of France.", options=Options(lens="tuned")).settled"""
    words = parse_words(options.words)
    if len(words) > MAX_FOLLOWED:
        raise ExplorerError(f"{len(words)} words were given to follow; the limit is {MAX_FOLLOWED}. Remove some.")
    target = readout.resolve_target(checkpoint, text, options.target)
    if target == "next sentence":
        target = "mask"  # the error says what is missing
    if target != "mask" and options.lens == "tuned":
        raise ExplorerError("The tuned lens reads masks, not what a fine-tuned head decides. Use the raw lens.")
    question = ask(checkpoint, text, target, "", options.tagged_word)
    lens = cached_lens(checkpoint) if options.lens == "tuned" else None
    return read_question(question, words, options.top, lens)


def rows(result: Layers) -> list[dict[str, object]]:
    """For each layer one row for each candidate, then one for each followed word. Layer 0 is the input of the first
    layer. held_out_kl_…_bits are empty with the raw lens; at the last layer, which has no map, they are 0. For a
    score, one row for each layer."""
    table: list[dict[str, object]] = []
    for i, answer in enumerate(result.layers):
        place = {"layer": i, "position": result.position}
        if result.scored:
            for score in answer.candidates:
                table.append({**place, "kind": "score", "token": score.token, "score": score.probability})
            continue
        bits = {"entropy_bits": answer.entropy, "kl_to_final_bits": answer.divergence, **lens_columns(result, i)}
        for candidate in answer.candidates:
            entry = {
                "kind": "answer",
                "rank": candidate.rank,
                "token": candidate.token,
                "probability": candidate.probability,
            }
            table.append({**place, **entry, **bits})
        for word in result.followed:
            entry = {
                "kind": "followed",
                "rank": int(word.ranks[i]),
                "token": word.token,
                "probability": float(word.probabilities[i]),
            }
            table.append({**place, **entry, **bits})
    return table


def lens_columns(result: Layers, layer: int) -> dict[str, object]:
    """The columns of the lens at *layer*."""
    if result.tuned is None:
        return {"lens": "raw", "held_out_kl_raw_bits": None, "held_out_kl_tuned_bits": None}
    is_last = layer == len(result.tuned.raw)  # it has no map
    return {
        "lens": "tuned",
        "held_out_kl_raw_bits": 0.0 if is_last else result.tuned.raw[layer],
        "held_out_kl_tuned_bits": 0.0 if is_last else result.tuned.tuned[layer],
    }


class Facts(facts.Facts[Layers]):
    """*layer* 0 is the input of the first layer."""

    def settled(self) -> float:
        """The layer from which the first choice is the final one."""
        return self._result.settled

    def top(self, layer: int = -1) -> str:
        """The first choice at a layer; without one, at the last."""
        return self._layer(layer).candidates[0].token

    def score(self, layer: int = -1) -> float:
        """The score that a layer would give, if the head gives scores; without one, the last."""
        return self._layer(layer).candidates[0].probability

    def entropy(self, layer: int) -> float:
        """Entropy of a layer's answers, in bits."""
        return self._layer(layer).entropy

    def divergence(self, layer: int) -> float:
        """How far a layer's answers are from the final ones: Kullback-Leibler divergence, in bits."""
        return self._layer(layer).divergence

    def rank(self, word: str, layer: int = -1) -> float:
        """Rank of one of the words that the figure follows, at a layer."""
        at = facts.name_index([followed.token for followed in self._result.followed], word, "followed word")
        return int(self._result.followed[at].ranks[self._layer(layer).layer])

    def _layer(self, layer: int) -> LayerAnswer:
        last = len(self._result.layers) - 1
        return facts.item_at_layer(self._result.layers, last if layer == -1 else layer)

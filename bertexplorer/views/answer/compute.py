"""Answer: the prediction of a fine-tuned head for a text: its label and the words that it rests on, a tag for each
word, or a span."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from bertexplorer.answers.head_answer import CheckpointAnswer, TaggedWord
from bertexplorer.answers.kinds.replaced import replacement
from bertexplorer.answers.readout import require_tuned
from bertexplorer.answers.task_head import LONGEST
from bertexplorer.model.text import Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

KEYS, MEASURE = ("kind", "position", "token", "answer"), "value"
BEST_ONLY = True  # rows lists only those with the largest numbers


@dataclass(frozen=True)
class Options:
    top: Annotated[int, Option("Answers", 1, 100, info="labels, tags of a word, or spans")] = 10
    longest: Annotated[int, Option("Longest span", 1, 200, info="tokens of an answer in a passage")] = LONGEST
    others: Annotated[
        str, Option("Other second texts", info="up to 50, with | between; ranked with the second text", several=True)
    ] = ""


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> CheckpointAnswer:
    """The answer of the fine-tuned head; of ELECTRA's discriminator, which tokens were replaced. In question answering
    the first text is the question, the second the passage. A run that learned to compare two texts answers with the
    cosine of their vectors, each read alone.

    Probabilities are a softmax over the labels; a sigmoid of each where a text may have several; over all paths of tags
    where the run has a CRF. Raises ExplorerError without a fine-tuned head, and for a question without a passage."""
    return require_tuned(checkpoint).answer(Text.of(text), options.top, options.longest, options.others)


def rows(result: CheckpointAnswer) -> list[dict[str, object]]:
    """A row for each label of the text, each word that was hidden and each second text, each tag of each word, or each
    span and each token of the passage. *value*: the probability, or the score; of a hidden word, that of the best label
    without it. *position* is that of a token, 0-based; empty for the whole text."""
    return result.rows()


def is_share(result: CheckpointAnswer) -> bool:
    """Whether the numbers are shares; a score or a cosine is none."""
    return not result.scored


class Facts(facts.Facts[CheckpointAnswer]):
    """*word* is a word of the text that has a tag."""

    def answer(self, rank: int = 1) -> str:
        """The label or span with this rank; "no answer" where the answer is that there is none."""
        return facts.item(self._result.ranked, rank, self._result.noun)

    def p(self, name: str) -> float:
        """Probability of a label, 0 to 1; of a regression, its score; of two texts that are compared, their cosine."""
        labels = self._result.labels
        return labels[facts.name_index([label.name for label in labels], name, "label")].value

    def p_without(self, word: str, nth: int = 1) -> float:
        """Probability of the best label, 0 to 1, or the score, when a word is hidden."""
        words = self._result.hidden
        return words[facts.label_index([entry.word for entry in words], word, nth)].value

    def rests_on(self) -> str:
        """The word without which the best label falls furthest."""
        return facts.item(sorted(self._result.hidden, key=lambda word: word.value), 1, "word").word

    def p_span(self, rank: int = 1) -> float:
        """Probability of the span with this rank, 0 to 1."""
        return facts.item(self._result.spans, rank, "span").probability

    def p_no_answer(self) -> float:
        """Probability that the passage has no answer, 0 to 1."""
        return self._result.nothing.probability if self._result.nothing else 0.0

    def tag(self, word: str, nth: int = 1) -> str:
        """The tag of a word."""
        return self._word(word, nth).best.name

    def p_tag(self, word: str, nth: int = 1) -> float:
        """Probability of the tag of a word, 0 to 1."""
        return self._word(word, nth).best.value

    def p_replaced(self, word: str, nth: int = 1) -> float:
        """Probability that a token was replaced, 0 to 1."""
        return replacement(self._word(word, nth))

    def _word(self, word: str, nth: int) -> TaggedWord:
        return self._result.words[facts.label_index([entry.word for entry in self._result.words], word, nth)]

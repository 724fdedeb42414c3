"""Teaching in Python: a classifier from a handful of sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from bertexplorer.errors import ExplorerError
from bertexplorer.python.bert import Bert, load

if TYPE_CHECKING:
    from bertexplorer.teaching.taught import Mistake, Taught


def teach(boxes: Mapping[str, Sequence[str]] | str | Path, checkpoint: str | Path | Bert = "mini") -> TaughtBert:
    """Teach a classifier with a handful of sentences in each of two to six boxes.

    The checkpoint stays as it is; a linear head on its sentence vectors is fitted in moments (logistic regression, each
    box counting alike). Use it to see what an encoder tells apart before you collect rows and train.

    Args:
        boxes: name of a box -> its sentences, 300 in all; or a file that `save` or the page Train wrote.
        checkpoint: as for `load`, or a `Bert`.

    Returns:
        The classifier: how good it is on sentences that were left out, its answers, and a `Bert` for other analyses.

    Raises:
        ExplorerError: for boxes that nothing can be learned from, and for a file that was taught on another encoder.

    Example:
        >>> boxes = {"kitchen": ["Fry the onions.", "Boil soup."], "garden": ["Plant the rose.", "Cut the grass."]}
        >>> taught = bx.teach(boxes)
        >>> taught.ask("Stir the sauce.")["kitchen"] > 0.5
        True
    """
    from bertexplorer.teaching.taught import open_taught, teach

    bert = checkpoint if isinstance(checkpoint, Bert) else load(checkpoint)
    if isinstance(boxes, str | Path):
        return TaughtBert(open_taught(Path(boxes), bert.checkpoint))
    return TaughtBert(teach(bert.checkpoint, boxes))


class TaughtBert:
    """A classifier that was taught with boxes of sentences."""

    def __init__(self, taught: Taught) -> None:
        self._taught = taught

    @property
    def boxes(self) -> dict[str, list[str]]:
        """Name of each box -> its sentences."""
        return {name: list(sentences) for name, sentences in self._taught.boxes.items()}

    @property
    def accuracy(self) -> float | None:
        """The share of different sentences that land in their own box when each is left out in turn, 0 to 1; None if a
        box has fewer than three."""
        score = self._taught.score
        return score.right / score.count if score else None

    @property
    def said(self) -> str:
        """How good it is, in sentences: on what was left out, beside counting words and naming the largest box."""
        from bertexplorer.charts.style import percent
        from bertexplorer.training.finetuning.compare import wilson

        score = self._taught.score
        if score is None:
            return "Too few to say how good it is: give each box 3 different sentences or more."
        low, high = wilson(score.right / score.count, score.count)
        return (
            f"Tested on sentences that it had not learned, {score.right} of {score.count} land in their own box: "
            f"{percent(score.right / score.count)}. Of all such sentences, {percent(low)} to {percent(high)} would "
            f"(95 % interval). Counting words, without BERT, gets {score.by_words}; always naming the largest box gets "
            f"{score.largest}."
        )

    @property
    def mistakes(self) -> tuple[Mistake, ...]:
        """The sentences that land in another box when they are left out: `sentence`, `box`, `said`."""
        return self._taught.mistakes

    def ask(self, sentence: str) -> dict[str, float]:
        """The probability of each box for a sentence, 0 to 1.

        Raises:
            ExplorerError: for an empty sentence.
        """
        if not isinstance(sentence, str):
            raise ExplorerError(f"sentence: got {sentence!r:.60}; wanted a text.")
        [shares] = self._taught.ask([sentence])
        return dict(zip(self._taught.boxes, shares.tolist(), strict=True))

    def save(self, path: str | Path) -> None:
        """Write a file with the sentences and the head, which `teach` and the page Train open. It holds the name and
        the revision of the encoder, and none of its weights."""
        self._taught.save(Path(path))

    @property
    def bert(self) -> Bert:
        """The checkpoint with this head as its classifier, for `answer`, `saliency`, `counterfactuals` and `suite`.

        Example:
            >>> taught = bx.teach({"good": ["I loved it.", "A great film."], "bad": ["I was bored.", "A dull film."]})
            >>> taught.bert.saliency("A great story.", method="occlusion").rows[0]["token"]
            '[CLS]'
        """
        return Bert(self._taught.as_checkpoint())

    def __repr__(self) -> str:
        return f"<taught on {self._taught.checkpoint.name}: {', '.join(self._taught.boxes)}>"

"""Facts: values of a result that expressions in lessons can use, as methods of each analysis's class `Facts`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Text

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

R = TypeVar("R")
Fact = float | str | bool


class Facts(Generic[R]):
    """The facts that every view has: those of the checkpoint and of the text. Lessons use the names of the public
    methods and of their arguments, so these names must not change. Layers, heads and ranks count from 1; layer 0 is the
    input of the first layer."""

    def __init__(self, checkpoint: Checkpoint, text: Text, result: R) -> None:
        self._checkpoint = checkpoint
        self._text = text
        self._result = result

    def parameters(self) -> float:
        """Parameters of the checkpoint, in millions."""
        return self._checkpoint.num_parameters / 1e6

    def table_share(self) -> float:
        """Share of the parameters that are in the table of word vectors, 0 to 1."""
        config = self._checkpoint.config
        return config.vocab_size * config.word_size / self._checkpoint.num_parameters

    def vocabulary(self) -> float:
        """Pieces in the vocabulary."""
        return self._checkpoint.config.vocab_size

    def layers(self) -> float:
        """Layers of the encoder."""
        return self._checkpoint.config.num_layers

    def heads(self) -> float:
        """Heads of each layer."""
        return self._checkpoint.config.num_heads

    def width(self) -> float:
        """Numbers in a token's vector: the hidden size."""
        return self._checkpoint.config.hidden_size

    def words(self, side: int = 1) -> float:
        """Words of the first text, or with 2 of the second."""
        return len(words_of(self._side(side)))

    def shared_words(self) -> float:
        """Different words that are in both texts; capitals do not count."""
        return len(set(words_of(self._text.first)) & set(words_of(self._text.second)))

    def mentions(self, word: str) -> bool:
        """Whether the first text has this word; capitals do not count."""
        return word.casefold() in words_of(self._text.first)

    def _side(self, side: int) -> str:
        return self._text.second if side == 2 else self._text.first


def words_of(text: str) -> list[str]:
    """The words of *text* in lower case, without punctuation."""
    return re.findall(r"\w+(?:['’]\w+)*", text.casefold())


def fact_methods(kind: type[Any]) -> dict[str, Callable[..., Fact]]:
    """The facts of the class *kind*, by name."""
    return {name: method for name, method in inspect.getmembers(kind, inspect.isfunction) if not name.startswith("_")}


def label_index(labels: Sequence[str], name: str, nth: int = 1) -> int:
    """The index of the *nth* label (from 1) equal to *name*. Raises ExplorerError if there are fewer."""
    matches = [i for i, label in enumerate(labels) if label.casefold() == name.casefold()]
    if not 1 <= nth <= len(matches):
        which = f"{name!r:.60}" if nth == 1 else f"{name!r:.60} number {nth}"
        raise ExplorerError(f"There is no {which} among {', '.join(labels)[:200]}.")
    return matches[nth - 1]


def item(items: Iterable[R], number: int, kind: str) -> R:
    """The item with this *number*, from 1. Raises ExplorerError if there is none."""
    numbered = list(items)
    return numbered[zero_based(number, len(numbered), kind)]


def item_at_layer(items: Iterable[R], layer: int) -> R:
    """The item of *layer*, where the first of *items* is that of layer 0. Raises ExplorerError if there is none."""
    by_layer = list(items)
    if not (isinstance(layer, int) and 0 <= layer < len(by_layer)):
        raise ExplorerError(f"There is no layer {layer}; there are 0 to {len(by_layer) - 1}.")
    return by_layer[layer]


def zero_based(number: int, count: int, kind: str) -> int:
    """*number*, counted from 1, as an index from 0. Raises ExplorerError unless it is between 1 and *count*."""
    if not (isinstance(number, int) and 1 <= number <= count):
        raise ExplorerError(f"There is no {kind} {number}; there are {count}.")
    return number - 1


def name_index(names: Sequence[str], name: str, kind: str) -> int:
    """The index of *name* among *names*. Raises ExplorerError, which lists them, if it is not one of them."""
    if name not in names:
        raise ExplorerError(f"There is no {kind} {name!r:.60}; wanted one of {', '.join(map(repr, names))}.")
    return list(names).index(name)

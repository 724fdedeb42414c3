"""Attention: which token looks at which, in one head, in several together, or in all of them side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

import numpy as np
from jaxtyping import Float

from bertexplorer import engine
from bertexplorer.answers.attention_weights import check_length, rescale
from bertexplorer.answers.heads import PLACE, Head, name_heads, one_or_all, parse_heads
from bertexplorer.answers.strongest_heads import HeadLink, is_punctuation, strongest_links
from bertexplorer.answers.word_merging import Unit, merge_attention, units
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Encoding, Text
from bertexplorer.options import Option
from bertexplorer.views import facts

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

MAX_ROWS = 100_000  # of an exported file
KEYS, MEASURE = ("heads", "from", "from_position", "to", "to_position"), "value"


@dataclass(frozen=True)
class Options:
    show: Annotated[Literal["grid", "head", "arcs"], Option("Show", info="a click in the grid opens that head")] = (
        "grid"
    )
    layer: Annotated[int, Option("Layer", 0, 100, info="0: all layers")] = 0
    head: Annotated[int, Option("Head", 0, 100, info="0: all heads")] = 0
    heads: Annotated[str, Option("Or these heads", info="such as 5·3, 5.7; empty: the layer and head chosen")] = ""
    combine: Annotated[Literal["mean", "max"], Option("Several heads", info="their mean, or the largest")] = "mean"
    merge: Annotated[bool, Option("Pieces to words", info="weights to a word are added, weights from it averaged")] = (
        False
    )
    special: Annotated[
        Literal["shown", "hidden", "discounted"],
        Option("[CLS] and [SEP]", info="discounted: left out, and the rest scaled up to 100 %"),
    ] = "shown"
    direction: Annotated[Literal["all", "A to B", "B to A"], Option("Sentences", info="A to B: A looks at B")] = "all"
    measure: Annotated[
        Literal["weight", "norm"], Option("Measure", info="norm: length of what is taken in (Kobayashi et al., 2020)")
    ] = "weight"


@dataclass(frozen=True)
class Attention:
    """Which units (r rows) look at which (c columns). Units are tokens or words. Layers and heads are 0-based."""

    show: str  # grid, head or arcs
    rows: tuple[Unit, ...]  # the units that look
    columns: tuple[Unit, ...]  # the units that are looked at
    every: Float[np.ndarray, "l h r c"]  # weights (0 to 1), or norms of the weighted value vectors
    chosen: tuple[Head, ...]
    combine: str  # mean or max
    matrix: Float[np.ndarray, "r c"]  # the chosen heads combined
    about: tuple[int, ...]  # rows that the view is about: the picked ones, else a default
    picked: bool  # whether the user picked them
    norms: bool  # whether the numbers are norms
    special: str  # shown, hidden or discounted
    notes: tuple[str, ...] = ()
    norm_shares: bool = False  # whether each row of norms is scaled to sum to 1
    left_out: int = 0  # tokens beyond the checkpoint's limit
    link: HeadLink | None = None  # the strongest between two words, of a head that does not always look the same way

    @property
    def gives(self) -> Float[np.ndarray, " c"]:
        """How much the tokens that the view is about give to each column, averaged over these tokens."""
        return self.matrix[list(self.about)].mean(axis=0)

    @property
    def by_head(self) -> Float[np.ndarray, "l h c"]:
        """The same for every head."""
        return self.every[:, :, list(self.about)].mean(axis=2)


def run(checkpoint: Checkpoint, text: Text | str, *, options: Options = Options()) -> Attention:
    """Attention weights (rows sum to 1), or norms ‖α f(x)‖ (Kobayashi et al., 2020), between the tokens of *text*.

    Words are merged from their pieces as Clark et al. (2019) do: weights to a word are added, weights from it averaged.
    Norms are added likewise, which bounds the norm of the whole word from above. Hidden tokens are cut out of the rows
    and of the columns. Raises ExplorerError for an unknown layer or head, a direction without a second text,
    and a text too long to hold all weights."""
    layers, heads = checkpoint.config.num_layers, checkpoint.config.num_heads
    chosen = parse_heads(options.heads, layers, heads) or one_or_all(options.layer, options.head, layers, heads)
    encoding = checkpoint.tokenizer.encode(text)
    check_length(encoding, layers * heads)
    all_units = units(checkpoint, encoding, merge=options.merge)
    rows, columns = select_units(all_units, options)
    measure = engine.value_norms if options.measure == "norm" else engine.attentions
    every = merge_attention(measure(checkpoint, encoding).numpy(), all_units)
    if len(rows) < len(all_units) or len(columns) < len(all_units):
        every = every[:, :, rows][..., columns]
    if options.special == "discounted":
        every = rescale(every)
    stack = [every[i, j] for i, j in chosen]
    matrix = np.max(stack, axis=0) if options.combine == "max" else np.mean(stack, axis=0)
    row_units = tuple(all_units[i] for i in rows)
    column_units = tuple(all_units[i] for i in columns)
    about, picked, notes = focus_rows(encoding, row_units, column_units, matrix)
    shares = options.measure == "norm" and options.special == "discounted"
    link = None
    if rows == columns:
        link = strongest_link(every, row_units, about if picked else ())
    return Attention(
        show=options.show,
        rows=row_units,
        columns=column_units,
        every=every,
        chosen=chosen,
        combine=options.combine,
        matrix=matrix,
        about=about,
        picked=picked,
        norms=options.measure == "norm" and not shares,
        special=options.special,
        notes=notes,
        norm_shares=shares,
        left_out=encoding.left_out,
        link=link,
    )


def strongest_link(
    every: Float[np.ndarray, "l h r r"], all_units: tuple[Unit, ...], about: Sequence[int]
) -> HeadLink | None:
    """The strongest link between two words of all heads, from the units that the view is *about* if there are any; its
    positions count the rows. None if there is none, or only heads that look the same distance away in most places."""
    words = [not unit.special and not all(map(is_punctuation, unit.label)) for unit in all_units]
    links = strongest_links(every, range(len(all_units)), words, about)
    return links[0] if links and not links[0].positional else None


def select_units(all_units: tuple[Unit, ...], options: Options) -> tuple[list[int], list[int]]:
    """(indices of the units that look, of those that are looked at). Raises ExplorerError if none is visible, and for a
    direction without a second text."""
    visible = [i for i, unit in enumerate(all_units) if options.special == "shown" or not unit.special]
    if not visible:
        raise ExplorerError("The text has only [CLS] and [SEP], and these are hidden. Type a sentence.")
    if options.direction == "all":
        return visible, visible
    first = [i for i in visible if all_units[i].side == 0]
    second = [i for i in visible if all_units[i].side == 1]
    if not first or not second:
        raise ExplorerError(
            f"{options.direction!r} needs a pair of sentences; the text is a single one. Add a second sentence, or "
            "choose 'all'.",
            code="pair",
        )
    return (first, second) if options.direction == "A to B" else (second, first)


def focus_rows(
    encoding: Encoding, rows: tuple[Unit, ...], columns: tuple[Unit, ...], matrix: Float[np.ndarray, "r c"]
) -> tuple[tuple[int, ...], bool, tuple[str, ...]]:
    """(rows that the view is about, whether they were picked, notes): the picked rows, else the first mask, else
    the row that gives most to another word."""
    picks = set(encoding.picked)
    picked = tuple(i for i, unit in enumerate(rows) if picks.intersection(unit.positions))
    if picked:
        return picked, True, ()
    notes = ("The picked token is not among those that look here.",) if picks else ()
    masks = [i for i, unit in enumerate(rows) if set(encoding.masked).intersection(unit.positions)]
    if masks:
        return (masks[0],), False, notes
    between_words = np.zeros(matrix.shape, dtype=bool)
    for i, looking in enumerate(rows):
        for j, target in enumerate(columns):
            between_words[i, j] = looking != target and not looking.special and not target.special
    best = 0
    if between_words.any():
        best = int(np.argmax(np.where(between_words, matrix, -1.0))) // len(columns)
    return (best,), False, notes


def rows(result: Attention) -> list[dict[str, object]]:
    """A row for each pair of tokens; in a grid, for each head too. If a grid has more than MAX_ROWS weights, only those
    of the tokens that the view is about are listed, and the measure says so. Positions are those of a unit's first
    token."""
    if result.show != "grid":
        return rows_of_combined_heads(result)
    if result.every.size <= MAX_ROWS:
        return rows_of_each_head(result)
    return rows_of_focus(result)


def rows_of_combined_heads(result: Attention) -> list[dict[str, object]]:
    """A row for each pair of tokens, by the chosen heads together."""
    layers, heads_per_layer = result.every.shape[:2]
    heads = name_heads(result.chosen, layers, heads_per_layer)
    if len(result.chosen) > 1:
        heads = f"{result.combine} of {heads}"
    table = []
    for i, source in enumerate(result.rows):
        for j, target in enumerate(result.columns):
            looks = looks_at(heads, source.label, source.positions[0], target)
            table.append({**looks, "value": float(result.matrix[i, j]), "measure": measure_name(result)})
    return table


def rows_of_each_head(result: Attention) -> list[dict[str, object]]:
    """A row for each head and pair of tokens."""
    table = []
    for layer, head in np.ndindex(result.every.shape[:2]):
        weights = result.every[layer, head]
        for i, source in enumerate(result.rows):
            for j, target in enumerate(result.columns):
                looks = looks_at(str(Head(layer, head)), source.label, source.positions[0], target)
                table.append({**looks, "value": float(weights[i, j]), "measure": measure_name(result)})
    return table


def rows_of_focus(result: Attention) -> list[dict[str, object]]:
    """A row for each head and target of the tokens that the view is about."""
    total = f"{result.every.size:,} rows"
    measure = f"{measure_name(result)}, only from the token that the view is about: all would be {total}"
    source = " ".join(result.rows[i].label for i in result.about)
    position = result.rows[result.about[0]].positions[0]
    by_head = result.by_head
    table = []
    for layer, head in np.ndindex(by_head.shape[:2]):
        for j, target in enumerate(result.columns):
            looks = looks_at(str(Head(layer, head)), source, position, target)
            table.append({**looks, "value": float(by_head[layer, head, j]), "measure": measure})
    return table


def looks_at(heads: str, source: str, position: int, target: Unit) -> dict[str, object]:
    """The columns that say which token looks at which."""
    return {
        "heads": heads,
        "from": source,
        "from_position": position,
        "to": target.label,
        "to_position": target.positions[0],
    }


def measure_name(result: Attention) -> str:
    """What the numbers are."""
    if result.norms:
        return "norm"
    return "share of the norms" if result.norm_shares else "weight"


def name_row(heads: Any, source: Any, _: Any, target: Any, __: Any) -> str:
    """The name of a row in a comparison, from its KEYS: head 1·3 (“didn” → “'”)."""
    name = f"head {heads}" if PLACE.fullmatch(heads) else heads
    return f"{name} (“{source}” → “{target}”)"


def is_share(result: Attention) -> bool:
    """Whether the numbers are shares; norms are lengths."""
    return not result.norms


class Facts(facts.Facts[Attention]):
    """Tokens are named as the figure labels them; *nth* is the occurrence, from 1."""

    def attention(self, source: str, target: str) -> float:
        """What the token *source* gives to *target*, in the heads of the view combined, 0 to 1."""
        return float(self._result.matrix[self._row(source), self._column(target)])

    def head_attention(self, layer: int, head: int, source: str, target: str) -> float:
        """The same in one head."""
        return float(self._head(layer, head)[self._row(source), self._column(target)])

    def share(self, target: str) -> float:
        """What the tokens that the view is about give to *target*, 0 to 1."""
        return float(self._result.gives[self._column(target)])

    def mean_share(self, target: str) -> float:
        """What all tokens give to *target*, averaged over them and all heads, 0 to 1."""
        return float(self._result.every[..., self._column(target)].mean())

    def strongest(self, source: str) -> str:
        """The token that *source* gives most to, itself and special tokens left out."""
        row = self._result.matrix[self._row(source)].copy()
        for i, unit in enumerate(self._result.columns):
            if unit.special or unit.label.casefold() == source.casefold():
                row[i] = -1
        return self._result.columns[int(row.argmax())].label

    def _head(self, layer: int, head: int) -> Float[np.ndarray, "r c"]:
        return facts.item(facts.item(self._result.every, layer, "layer"), head, "head")

    def _row(self, name: str) -> int:
        return facts.label_index([unit.label for unit in self._result.rows], name)

    def _column(self, name: str) -> int:
        return facts.label_index([unit.label for unit in self._result.columns], name)

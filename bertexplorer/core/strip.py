"""The strip: the text as token chips, each a button that hides its token from the checkpoint or picks it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bertexplorer.model.text import TOKENS, Encoding, Span

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

PRESS = {  # the action of a press: the label for screen readers, the visible hint
    "hide": ("Press one to hide it or to show it again.", "Click any word to hide it from BERT."),
    "pick": ("Press one to pick it, with Shift to pick several.", "Click a word to look at it."),
    "": ("", ""),
}


@dataclass(frozen=True)
class Chip:
    """One token as the browser shows it."""

    label: str
    title: str
    side: int  # 0: first text, 1: second
    word: int  # shared by the chips of a word; -1 for a token that is a whole word
    more: bool  # whether it continues the word of the previous chip
    special: bool
    span: str = ""  # the span that a press changes, as in a link; "": a press does nothing
    on: bool = False  # hidden, or picked if a press picks
    masked: bool = False
    typed: bool = False  # a mask that was typed into the text
    colour: float | None = None  # 0 (pale) to 1 (dark); below 0: the colour for evidence against the answer
    cut: int = 0  # tokens left out after this one


def draw(
    checkpoint: Checkpoint, encoding: Encoding, colours: Mapping[int, float] | None = None, *, press: str = "hide"
) -> dict[str, Any]:
    """The strip as JSON. *colours*: position -> colour, as in Chip. *press*: whether a press on a chip should "hide" or
    "pick" its token; "": chips cannot be pressed."""
    last = {span.side: i for i, span in enumerate(encoding.spans) if span}
    word_numbers = words(encoding)
    chips = []
    for i in range(len(encoding)):
        drawn_chip = chip(checkpoint, encoding, i, (colours or {}).get(i), press)
        side = drawn_chip.side
        cut = encoding.cut[side] if last.get(side) == i else 0
        chips.append({**vars(drawn_chip), "word": word_numbers[i], "cut": cut})
    action, hint = PRESS[press]
    return {"press": press, "label": f"Tokens. {action}".strip(), "hint": hint, "notes": encoding.notes, "chips": chips}


def words(encoding: Encoding) -> list[int]:
    """For each token, the number of the word that it is a piece of, counted through both texts; -1 for a whole word."""
    keys = [(side_of(encoding, i), word) for i, word in enumerate(encoding.words)]
    sizes = Counter(keys)
    return [-1 if word is None or sizes[side, word] < 2 else word for side, word in keys]


def side_of(encoding: Encoding, position: int) -> int:
    span = encoding.spans[position]
    return span.side if span else encoding.segments[position]


def chip(checkpoint: Checkpoint, encoding: Encoding, position: int, colour: float | None, press: str) -> Chip:
    picks, tokenizer = press == "pick", checkpoint.tokenizer
    span = encoding.spans[position]
    unknown = encoding.tokens[position] == tokenizer.special.get("unk")
    empty = span is None or span.start == span.end
    special = empty or (encoding.special[position] and not unknown)
    masked = encoding.ids[position] == encoding.mask_id
    typed = encoding.original_ids[position] == encoding.mask_id
    label = tokenizer.mask_token if masked else label_of(checkpoint, encoding, position)
    title = f"token {position}, id {encoding.original_ids[position]}"
    side, more = side_of(encoding, position), continues(encoding, position)
    if not press or (special and not picks):  # there is nothing to hide
        return Chip(label, title, side, -1, more, special)
    if masked and not typed:
        title = f"hidden: {tokenizer.show(encoding.original_ids[position])}, {title}"
    target = Span(TOKENS, position, position + 1) if span is None or special else span
    return Chip(
        label,
        title,
        side,
        -1,
        more,
        special,
        span=f"{target.side}:{target.start}-{target.end}",
        on=position in encoding.picked if picks else masked,
        masked=masked and not picks,
        typed=typed,
        colour=round(colour, 3) if colour is not None and (picks or not masked) else None,
    )


def label_of(checkpoint: Checkpoint, encoding: Encoding, position: int) -> str:
    """The label of a chip: the piece as the vocabulary spells it; for byte-level pieces, the characters."""
    if checkpoint.tokenizer.kind == "WordPiece" or encoding.spans[position] is None:
        return encoding.tokens[position]
    return checkpoint.tokenizer.slice(encoding, position) or checkpoint.tokenizer.show(encoding.original_ids[position])


def continues(encoding: Encoding, position: int) -> bool:
    """Whether the piece continues the word of the piece before it."""
    word = encoding.words[position]
    return position > 0 and word is not None and word == encoding.words[position - 1]

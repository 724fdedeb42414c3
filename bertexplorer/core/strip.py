"""The strip: the text as token chips, each a button that hides its token from the checkpoint or picks it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
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
    colours = colours or {}
    last_of_side = {span.side: position for position, span in enumerate(encoding.spans) if span}
    chips = []
    for position, word in enumerate(words(encoding)):
        token = chip(checkpoint, encoding, position, colours.get(position), press)
        cut = 0
        if last_of_side.get(token.side) == position:
            cut = encoding.cut[token.side]
        chips.append(vars(replace(token, word=word, cut=cut)))
    action, hint = PRESS[press]
    return {"press": press, "label": f"Tokens. {action}".strip(), "hint": hint, "notes": encoding.notes, "chips": chips}


def words(encoding: Encoding) -> list[int]:
    """For each token, the number of the word that it is a piece of, counted through both texts; -1 for a whole word."""
    keys = [(side_of(encoding, i), word) for i, word in enumerate(encoding.words)]
    sizes = Counter(keys)
    return [-1 if word is None or sizes[side, word] < 2 else word for side, word in keys]


def side_of(encoding: Encoding, position: int) -> int:
    """The text that a token belongs to, 0 or 1; of one without characters, its segment."""
    span = encoding.spans[position]
    return span.side if span else encoding.segments[position]


def chip(checkpoint: Checkpoint, encoding: Encoding, position: int, colour: float | None, press: str) -> Chip:
    """The chip of the token at *position*, without the number of its word and what is left out after it, which `draw`
    adds. *colour*, *press*: as in `draw`."""
    tokenizer = checkpoint.tokenizer
    original_id = encoding.original_ids[position]
    span = encoding.spans[position]
    picks = press == "pick"
    masked = encoding.ids[position] == encoding.mask_id
    typed = original_id == encoding.mask_id
    is_unknown = encoding.tokens[position] == tokenizer.special.get("unk")
    is_empty = span is None or span.start == span.end
    special = is_empty or (encoding.special[position] and not is_unknown)

    # 1. A token that is only shown.
    still = Chip(
        label=tokenizer.mask_token if masked else label_of(checkpoint, encoding, position),
        title=f"token {position}, id {original_id}",
        side=side_of(encoding, position),
        word=-1,
        more=continues(encoding, position),
        special=special,
    )
    if not press or (special and not picks):  # there is nothing to hide
        return still

    # 2. One that can be pressed.
    title = still.title
    if masked and not typed:
        title = f"hidden: {tokenizer.show(original_id)}, {title}"
    target = span
    if target is None or special:  # it has no characters that a link could name
        target = Span(TOKENS, position, position + 1)
    if colour is not None:
        colour = round(colour, 3)
    if masked and not picks:
        colour = None
    return replace(
        still,
        title=title,
        span=f"{target.side}:{target.start}-{target.end}",
        on=position in encoding.picked if picks else masked,
        masked=masked and not picks,
        typed=typed,
        colour=colour,
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

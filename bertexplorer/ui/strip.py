"""The strip: the text as token chips, each a button that hides its token from the checkpoint or picks it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from bertexplorer.model.text import TOKENS, Encoding, Span

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint

PRESS = {  # what a press does: for those who listen, for those who see
    "hide": ("Press one to hide it or to show it again.", "Click any word to hide it from BERT."),
    "pick": ("Press one to pick it, with Shift to pick several.", "Click a word to look at it."),
    "": ("", ""),
}


def draw(
    checkpoint: Checkpoint,
    encoding: Encoding,
    link: str,
    colours: Mapping[int, float] | None = None,
    *,
    press: str = "hide",
) -> str:
    """HTML for the strip, everything a person typed escaped. *colours*: position -> 0 (pale) to 1 (dark), below 0 in
    the colour of what speaks against the answer. *press*: what a press on a chip does, "hide" or "pick" its token; "":
    chips are only read."""
    parts = []
    keys = [(side_of(encoding, i), encoding.words[i]) for i in range(len(encoding))]
    last = {span.side: i for i, span in enumerate(encoding.spans) if span}
    for (side, word), group in groupby(range(len(encoding)), key=lambda i: keys[i]):
        pieces = list(group)
        chips = "".join(chip(checkpoint, encoding, i, (colours or {}).get(i), press) for i in pieces)
        joined = word is not None and len(pieces) > 1
        parts.append(f'<span class="word side-{side}">{chips}</span>' if joined else chips)
        if encoding.cut[side] and last[side] in pieces:
            parts.append(f'<span class="cut">cut here: {encoding.cut[side]:,} tokens left out</span>')
    notes = "".join(f'<p class="note">{escape(note)}</p>' for note in encoding.notes)
    does, hint = PRESS[press]
    return (
        f'<div class="strip" role="group" aria-label="Tokens. {does}" dir="auto" data-picks="{int(press == "pick")}" '
        f'data-link="{escape(link, quote=True)}" data-press="">{"".join(parts)}</div>'
        f'<p class="hint">{hint}</p>{notes}'
    )


def side_of(encoding: Encoding, position: int) -> int:
    span = encoding.spans[position]
    return span.side if span else encoding.segments[position]


def chip(checkpoint: Checkpoint, encoding: Encoding, position: int, colour: float | None, press: str) -> str:
    picks = press == "pick"
    span = encoding.spans[position]
    side = side_of(encoding, position)
    label = label_of(checkpoint, encoding, position)
    title = f"token {position}, id {encoding.original_ids[position]}"
    unknown = encoding.tokens[position] == checkpoint.tokenizer.special.get("unk")
    special = span is None or span.start == span.end or (encoding.special[position] and not unknown)
    masked = encoding.ids[position] == encoding.mask_id
    more = " more" * continues(checkpoint, encoding, position)
    if not press or (special and not picks):  # nothing to hide
        label = checkpoint.tokenizer.mask_token if masked else label
        return f'<span class="chip{" special" * special}{more} side-{side}" title="{title}">{escape(label)}</span>'
    typed = encoding.original_ids[position] == encoding.mask_id
    picked = picks and position in encoding.picked
    classes = f"chip side-{side}" + " masked" * (masked and not picks) + more
    classes += " special" * special + " picked" * picked
    size = abs(colour or 0)
    style = f' style="--p:{size:.3f}"' if colour is not None and (picks or not masked) else ""
    classes += " tinted" * bool(style) + " deep" * (bool(style) and size > 0.7)
    classes += " against" * (bool(style) and (colour or 0) < 0)
    hides = f"hidden: {checkpoint.tokenizer.show(encoding.original_ids[position])}, " if masked and not typed else ""
    if span is None or span.start == span.end or special:
        span = Span(TOKENS, position, position + 1)
    pressed = "true" if (picked if picks else masked) else "false"
    where = f"{span.side}:{span.start}-{span.end}"
    return (
        f'<button type="button" class="{classes}" aria-pressed="{pressed}" tabindex="-1" '
        f'data-span="{where}" data-typed="{int(typed)}" title="{escape(hides + title, quote=True)}"{style}>'
        f"{escape(checkpoint.tokenizer.mask_token if masked else label)}</button>"
    )


def label_of(checkpoint: Checkpoint, encoding: Encoding, position: int) -> str:
    """What the chip reads: the piece as the vocabulary spells it; for byte-level pieces, the characters themselves."""
    if checkpoint.tokenizer.kind == "WordPiece" or encoding.spans[position] is None:
        return encoding.tokens[position]
    return checkpoint.tokenizer.slice(encoding, position) or checkpoint.tokenizer.show(encoding.original_ids[position])


def continues(checkpoint: Checkpoint, encoding: Encoding, position: int) -> bool:
    """Whether the piece continues the word of the piece before it."""
    return (
        position > 0
        and encoding.words[position] is not None
        and encoding.words[position] == encoding.words[position - 1]
    )

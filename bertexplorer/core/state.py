"""State: everything that a user has set on the page, to and from a link."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Span, Text, Tokenizer

COMPARISONS = ("", "random weights", "another checkpoint", "another text", "its training")
SURROGATE = re.compile("[\ud800-\udfff]")
MAX_WORD = 500  # characters of a word to look for
SPAN = re.compile(r"([012]):(\d{1,6})-(\d{1,6})")
SPANS = re.compile(rf"({SPAN.pattern}(,{SPAN.pattern}){{0,599}})?")


@dataclass(frozen=True)
class State:
    """What the page shows. *options* holds the settings of the view, by name."""

    text: str
    pair: str = ""
    hidden: tuple[Span, ...] = ()
    picked: tuple[Span, ...] = ()
    checkpoint: str = "mini"
    precision: str = "auto"
    view: str = "fill-mask"
    options: Mapping[str, Any] = field(default_factory=dict)
    against: str = ""  # one of COMPARISONS: the kind of comparison
    other: str = ""  # the other checkpoint or text

    @property
    def compared(self) -> bool:
        """Whether the answer is compared with something that the state names."""
        return bool(self.against) and (not self.against.startswith("another") or bool(self.other.strip()))

    @property
    def as_text(self) -> Text:
        return Text(scrub(self.text), scrub(self.pair), self.hidden, self.picked)


def scrub(text: str | None) -> str:
    """*text* with a replacement character for each lone surrogate, which UTF-8 cannot hold."""
    return SURROGATE.sub("\ufffd", text or "")


def read_spans(written: str) -> tuple[Span, ...]:
    """ "0:4-11,1:0-3" -> spans; anything else is ignored."""
    matches = (SPAN.fullmatch(part.strip()) for part in (written or "").split(",")[:600])
    return tuple(Span(int(m[1]), int(m[2]), int(m[3])) for m in matches if m and int(m[2]) < int(m[3]))


def find_word_spans(tokenizer: Tokenizer, text: str, pair: str, word: str) -> tuple[Span, ...]:
    """The spans of every occurrence of *word* in the texts as *tokenizer* prepares them, none for "". Raises
    ExplorerError if there is none of a word."""
    if not word:
        return ()
    if len(word) > MAX_WORD:
        raise ExplorerError(f"The word has {len(word):,} characters; the limit is {MAX_WORD}. Pick a word of the text.")
    spans = [
        Span(side, match.start(), match.end())
        for side, content in enumerate((text, pair))
        for match in re.finditer(rf"(?<!\w){re.escape(word)}(?!\w)", tokenizer.prepare(content)[0], re.IGNORECASE)
    ]
    if not spans:
        raise ExplorerError(f"{word!r:.60} does not occur in the text. Pick a word that does.")
    return tuple(spans)


def write_spans(spans: tuple[Span, ...]) -> str:
    return ",".join(f"{s.side}:{s.start}-{s.end}" for s in spans)


def shift_spans(spans: tuple[Span, ...], side: int, old: str, new: str) -> tuple[Span, ...]:
    """Shift the spans of *side* after an edit of its text; drop those that the edit touches."""
    if all(span.side != side for span in spans):
        return spans
    head = 0
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    shift, edge = len(new) - len(old), len(old) - tail
    shifted = []
    for span in spans:
        if span.side != side or span.end <= head:
            shifted.append(span)
        elif span.start >= edge:
            shifted.append(Span(side, span.start + shift, span.end + shift))
    return tuple(shifted)


def to_link(state: State, defaults: Mapping[str, Any]) -> str:
    """The query that restores *state*, without the settings at their *defaults*."""
    query: dict[str, str] = {"view": state.view, "text": state.text}
    if state.pair:
        query["pair"] = state.pair
    if state.hidden:
        query["hidden"] = write_spans(state.hidden)
    if state.picked:
        query["picked"] = write_spans(state.picked)
    if state.against:
        query |= {"against": state.against, "versus": state.other}
    query["checkpoint"] = state.checkpoint
    if state.precision != "auto":
        query["precision"] = state.precision
    query |= {name: str(value) for name, value in state.options.items() if value != defaults.get(name)}
    return "?" + urlencode({key: scrub(value) for key, value in query.items()})


def from_link(query: Mapping[str, str], otherwise: State, views: Mapping[str, Mapping[str, Any]]) -> State:
    """The state that a link describes. *views*: the default settings of each view, by name. *otherwise* supplies
    anything missing or unknown."""
    if "text" not in query:
        return otherwise
    view = query.get("view", otherwise.view)
    view = view if view in views else otherwise.view
    return State(
        text=scrub(query["text"]),
        pair=scrub(query.get("pair")),
        hidden=read_spans(query.get("hidden", "")),
        picked=read_spans(query.get("picked", "")),
        against=query.get("against", "") if query.get("against") in COMPARISONS else "",
        other=scrub(query.get("versus")),
        checkpoint=scrub(query.get("checkpoint")) or otherwise.checkpoint,
        precision=query.get("precision", otherwise.precision),
        view=view,
        options={name: scrub(query[name]) for name in views[view] if name in query},
    )

"""State: everything that a user has set on the page, to and from a link."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import Span, Text, Tokenizer

COMPARISONS = ("", "random weights", "another checkpoint", "another text", "other settings", "its training")
NAMED = ("another checkpoint", "another text", "other settings")  # with what the other side is
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
    other: str = ""  # the other checkpoint, text or settings

    @property
    def compared(self) -> bool:
        """Whether the answer is compared with something that the state names."""
        return bool(self.against) and (self.against not in NAMED or bool(self.other.strip()))

    @property
    def as_text(self) -> Text:
        return Text(scrub(self.text), scrub(self.pair), self.hidden, self.picked)


def scrub(text: str | None) -> str:
    """*text* with a replacement character for each lone surrogate, which UTF-8 cannot hold."""
    return SURROGATE.sub("\ufffd", text or "")


def read_spans(written: str) -> tuple[Span, ...]:
    """ "0:4-11,1:0-3" -> spans; anything else is ignored."""
    spans = []
    for part in (written or "").split(",")[:600]:
        match = SPAN.fullmatch(part.strip())
        if match:
            side, start, end = (int(digits) for digits in match.groups())
            if start < end:
                spans.append(Span(side, start, end))
    return tuple(spans)


def find_word_spans(tokenizer: Tokenizer, text: str, pair: str, word: str) -> tuple[Span, ...]:
    """The spans of every occurrence of *word* in the texts as *tokenizer* prepares them, none for "". Raises
    ExplorerError if there is none of a word, and for a word of more than MAX_WORD characters."""
    if not word:
        return ()
    if len(word) > MAX_WORD:
        raise ExplorerError(f"The word has {len(word):,} characters; the limit is {MAX_WORD}. Pick a word of the text.")
    whole_word = re.compile(rf"(?<!\w){re.escape(word)}(?!\w)", re.IGNORECASE)
    spans = []
    for side, typed in enumerate((text, pair)):
        prepared, _ = tokenizer.prepare(typed)
        for match in whole_word.finditer(prepared):
            spans.append(Span(side, match.start(), match.end()))
    if not spans:
        raise ExplorerError(f"{word!r:.60} does not occur in the text. Pick a word that does.")
    return tuple(spans)


def write_spans(spans: tuple[Span, ...]) -> str:
    """Spans as in a link, which `read_spans` reads."""
    return ",".join(f"{span.side}:{span.start}-{span.end}" for span in spans)


def shift_spans(spans: tuple[Span, ...], side: int, old: str, new: str) -> tuple[Span, ...]:
    """Shift the spans of *side* after an edit of its text; drop those that the edit touches."""
    if all(span.side != side for span in spans):
        return spans
    head = 0  # characters that both begin with
    while head < min(len(old), len(new)) and old[head] == new[head]:
        head += 1
    tail = 0  # characters that both end with
    while tail < min(len(old), len(new)) - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    shift = len(new) - len(old)
    tail_start = len(old) - tail
    shifted = []
    for span in spans:
        if span.side != side or span.end <= head:
            shifted.append(span)
        elif span.start >= tail_start:
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
    if view not in views:
        view = otherwise.view
    against = query.get("against", "")
    if against not in COMPARISONS:
        against = ""
    return State(
        text=scrub(query["text"]),
        pair=scrub(query.get("pair")),
        hidden=read_spans(query.get("hidden", "")),
        picked=read_spans(query.get("picked", "")),
        against=against,
        other=scrub(query.get("versus")),
        checkpoint=scrub(query.get("checkpoint")) or otherwise.checkpoint,
        precision=query.get("precision", otherwise.precision),
        view=view,
        options={name: scrub(query[name]) for name in views[view] if name in query},
    )

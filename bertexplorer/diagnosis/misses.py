"""Why a passage was not found: causes in an order, each checked by undoing it.

A cause is said only if the passage is among the first *top* once it is undone; else the miss is not explained by these.
The causes, and how each is undone:

cut             the part of the passage that is not read is read alone, in windows of WINDOW tokens
long            the part that is read is read in such windows, in place of one vector for all of it
unreadable      words that are unknown or shattered are left out of the query and the passage
near duplicate  passages that nearly repeat the wanted one are left out
hub             passages that are near to everything, unrelated sentences too, are left out
names           names and numbers are left out of the query, the passage and those that are ranked before it
words           a search by words (BM25) finds it
prompt          another prompt of the checkpoint's files is put before the query"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from bertexplorer.answers.encoding import windows
from bertexplorer.diagnosis.collection import Searcher
from bertexplorer.errors import ExplorerError
from bertexplorer.model.text import without_panic
from bertexplorer.training.data.near_duplicates import ALIKE, normal, runs
from bertexplorer.training.ranking import words

if TYPE_CHECKING:
    from bertexplorer.model.text import Encoding

CAUSES = ("cut", "long", "unreadable", "near duplicate", "hub", "names", "words", "prompt")
UNEXPLAINED = "not explained"
WINDOW = 64  # tokens of a part of a passage
SHATTERED = 3  # pieces of a word
LEAST = 2  # words of a query that remain without its names
RIVALS = 30  # passages before the wanted one that are read without names
NAME = re.compile(r"(?<![.!?\n] )(?<!^)\b[A-Z][\w'’-]+|\b\d[\d.,:/-]*")  # a capital that begins no sentence; a number


class Undone(NamedTuple):
    """What happens once a possible cause is undone: the new rank, 1 the first; *what*: was undone, for people."""

    rank: int
    what: str


@dataclass(frozen=True)
class Miss:
    """A query whose nearest relevant passage is not among the first."""

    query: int
    passage: int  # the wanted one: of those that answer the query, the one with the best rank
    rank: int
    winner: int  # the passage with the first rank
    cause: str  # one of CAUSES, or UNEXPLAINED
    after: int  # the rank once the cause is undone; that of before if it is not explained
    what: str  # what was undone


def explain(searcher: Searcher, query: int, top: int) -> Miss | None:
    """Why none of the passages that answer *query* is among the first *top*; None if one is."""
    order = searcher.order(searcher.queries[query])
    ranks = {int(passage): rank for rank, passage in enumerate(order, 1)}
    wanted = min(searcher.collection.relevant[query], key=ranks.__getitem__)
    rank = ranks[wanted]
    if rank <= top:
        return None
    before = [int(passage) for passage in order[: rank - 1]]
    miss = Doctor(searcher, query, wanted, before, top)
    for cause in CAUSES:
        undone: Undone | None = getattr(miss, cause.replace(" ", "_"))()
        if undone and undone.rank <= top:
            return Miss(query, wanted, rank, before[0], cause, undone.rank, undone.what)
    return Miss(query, wanted, rank, before[0], UNEXPLAINED, rank, "")


@dataclass(frozen=True)
class Doctor:
    """Undoes one cause after the other, for one miss. Each method is None where there is nothing to undo."""

    searcher: Searcher
    query: int
    wanted: int
    before: Sequence[int]  # the passages that are ranked before the wanted one, the first first
    top: int

    @cached_property
    def asked(self) -> str:
        return self.searcher.collection.queries[self.query]

    @cached_property
    def passage(self) -> str:
        return self.searcher.collection.passages[self.wanted]

    def cut(self) -> Undone | None:
        left_out = int(self.searcher.left_out[self.wanted])
        if not left_out:
            return None
        _, unread = self.windows
        return Undone(self.best_rank(unread), f"{left_out:,} tokens of it are not read, and a part of them is near")

    def long(self) -> Undone | None:
        read, _ = self.windows
        if len(read) < 2:
            return None
        return Undone(self.best_rank(read), f"in {len(read)} parts of {WINDOW} tokens")

    @cached_property
    def windows(self) -> tuple[list[Encoding], list[Encoding]]:
        """Parts of the passage as far as it is read, and of what is not read."""
        searcher = self.searcher
        [encoding] = searcher.encode([self.passage], "")
        spans = [span for span in encoding.spans if span]
        start, end = spans[0].start, spans[-1].end
        text = encoding.texts[0]
        unread = text[:start] if encoding.left_out and start else text[end:]  # some checkpoints cut the beginning

        def parts(text: str) -> list[Encoding]:
            if not text.strip():
                return []
            return windows(searcher.checkpoint, text, searcher.passage_prompt, WINDOW // 2, WINDOW)

        return parts(text[start:end]), parts(unread) if encoding.left_out else []

    def best_rank(self, parts: Sequence[Encoding]) -> int:
        """The rank of the passage if the nearest of *parts* stood for it."""
        if not parts:
            return 1 + len(self.before)
        query = self.searcher.queries[self.query]
        return min(self.searcher.rank(query, self.wanted, vector) for vector in self.searcher.vectors_of(parts))

    def unreadable(self) -> Undone | None:
        found = dict.fromkeys([*self.unreadable_words(self.asked), *self.unreadable_words(self.passage)])
        if not found:
            return None
        pattern = re.compile("|".join(map(re.escape, sorted(found, key=len, reverse=True))))
        rank = self.without(pattern)
        return Undone(rank, f"without {named(list(found))}") if rank else None

    def unreadable_words(self, text: str) -> list[str]:
        """The words that are unknown, or read as SHATTERED pieces or more."""
        tokenizer = self.searcher.checkpoint.sentence_tokenizer
        with without_panic():
            encoding = tokenizer.backend.encode(text, add_special_tokens=False)
        spans: dict[int, list[int]] = {}
        for i, word in enumerate(encoding.word_ids):
            if word is not None:
                spans.setdefault(word, []).append(i)
        found = []
        for pieces in spans.values():
            if len(pieces) >= SHATTERED or any(encoding.ids[i] == tokenizer.unknown_id for i in pieces):
                found.append(text[encoding.offsets[pieces[0]][0] : encoding.offsets[pieces[-1]][1]].strip())
        return [word for word in found if word]

    def without(self, pattern: re.Pattern[str]) -> int | None:
        """The rank of the passage if what *pattern* matches is left out of it and of the query; None if nothing would
        be left of one of them."""
        texts = [" ".join(pattern.sub(" ", text).split()) for text in (self.asked, self.passage)]
        try:
            query = self.searcher.vectors(texts[:1], self.searcher.prompt)[0]
            passage = self.searcher.vectors(texts[1:], self.searcher.passage_prompt)[0]
        except ExplorerError:
            return None
        return self.searcher.rank(query, self.wanted, passage)

    def near_duplicate(self) -> Undone | None:
        own = runs(normal(self.passage))
        alike = []
        for other in self.before:
            theirs = runs(normal(self.searcher.collection.passages[other]))
            if len(own & theirs) >= ALIKE * len(own | theirs):
                alike.append(other)
        if not alike:
            return None
        return Undone(1 + len(self.before) - len(alike), f"without {len(alike)} that nearly repeat it")

    def hub(self) -> Undone | None:
        hubs = [other for other in self.before if self.searcher.hubs[other]]
        if not hubs:
            return None
        return Undone(1 + len(self.before) - len(hubs), f"without {len(hubs)} that unrelated sentences find, too")

    def names(self) -> Undone | None:
        found = list(dict.fromkeys(NAME.findall(self.asked) + NAME.findall(self.passage)))
        if not found or len(self.before) > RIVALS:
            return None
        passages = [self.searcher.collection.passages[i] for i in (*self.before, self.wanted)]
        try:
            query, *others = (" ".join(NAME.sub(" ", text).split()) for text in (self.asked, *passages))
            if len(words(query)) < LEAST:
                return None
            asked = self.searcher.vectors([query], self.searcher.prompt)[0]
            vectors = self.searcher.vectors(others, self.searcher.passage_prompt)
        except ExplorerError:
            return None
        scores = vectors @ asked
        rank = 1 + int((scores[:-1] > scores[-1]).sum())
        return Undone(rank, f"without {named(found)}, on all sides")

    def words(self) -> Undone | None:
        order = self.searcher.by_words.order(self.asked)
        if self.wanted not in order:
            return None
        rare = sorted(
            set(words(self.asked)) & set(words(self.passage)),
            key=lambda word: (len(self.searcher.by_words.postings[word]), word),
        )
        verb = "is" if len(rare) == 1 else "are"
        return Undone(1 + order.index(self.wanted), f"by its words, of which {named(rare[:3])} {verb} the rarest")

    def prompt(self) -> Undone | None:
        own = self.searcher.checkpoint.sentence_encoder
        best = None
        for name, text in (own.prompts if own else {}).items():
            if name == self.searcher.prompt:
                continue
            query = self.searcher.vectors([self.asked], name)[0]
            rank = self.searcher.rank(query, self.wanted)
            if best is None or rank < best.rank:
                best = Undone(rank, f"with the prompt “{name}”: {text!r:.60}")
        return best


def named(words: Sequence[str]) -> str:
    """The first three of *words* in quotation marks."""
    parts = [f"“{word[:30]}”" for word in words[:3]]
    return ", ".join(parts) + (f" and {len(words) - 3:,} more" if len(words) > 3 else "")

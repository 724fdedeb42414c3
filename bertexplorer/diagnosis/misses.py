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
prompt          another prompt is put before the query, or none, as the files name them; or what stands before every
                query, up to a colon, is left out"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
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
    unexplained = Miss(query=query, passage=wanted, rank=rank, winner=before[0], cause=UNEXPLAINED, after=rank, what="")
    doctor = Doctor(searcher, query, wanted, before)
    for cause in CAUSES:
        undone: Undone | None = getattr(doctor, cause.replace(" ", "_"))()
        if undone and undone.rank <= top:
            return replace(unexplained, cause=cause, after=undone.rank, what=undone.what)
    return unexplained


@dataclass(frozen=True)
class Doctor:
    """Undoes one cause after the other, for one miss: a method for each of CAUSES, which gives None where there is
    nothing to undo."""

    searcher: Searcher
    query: int
    wanted: int
    before: Sequence[int]  # the passages that are ranked before the wanted one, the first first

    @cached_property
    def asked(self) -> str:
        """The text of the query."""
        return self.searcher.collection.queries[self.query]

    @cached_property
    def passage(self) -> str:
        """The text of the wanted passage."""
        return self.searcher.collection.passages[self.wanted]

    def cut(self) -> Undone | None:
        """Read the part that is not read."""
        left_out = int(self.searcher.left_out[self.wanted])
        if not left_out:
            return None
        _, unread = self.windows
        return Undone(self.best_rank(unread), f"{left_out:,} of its tokens are not read, and a part of these is near")

    def long(self) -> Undone | None:
        """Read it in parts."""
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
        unread = text[:start] if start else text[end:]  # some checkpoints cut the beginning

        def parts(text: str) -> list[Encoding]:
            if not text.strip():
                return []
            return windows(searcher.checkpoint, text, searcher.passage_prompt, WINDOW // 2, WINDOW)

        if not encoding.left_out:
            return parts(text[start:end]), []
        return parts(text[start:end]), parts(unread)

    def best_rank(self, parts: Sequence[Encoding]) -> int:
        """The rank of the passage if the nearest of *parts* stood for it."""
        if not parts:
            return 1 + len(self.before)
        query = self.searcher.queries[self.query]
        return min(self.searcher.rank(query, self.wanted, vector) for vector in self.searcher.vectors_of(parts))

    def unreadable(self) -> Undone | None:
        """Leave out the words that are unknown or shattered."""
        words_of_both = [*self.unreadable_words(self.asked), *self.unreadable_words(self.passage)]
        broken = list(dict.fromkeys(words_of_both))
        if not broken:
            return None
        longest_first = sorted(broken, key=len, reverse=True)
        rank = self.without(re.compile("|".join(map(re.escape, longest_first))))
        return Undone(rank, f"without {named(broken)}") if rank else None

    def unreadable_words(self, text: str) -> list[str]:
        """The words that are unknown, or read as SHATTERED pieces or more."""
        tokenizer = self.searcher.checkpoint.sentence_tokenizer
        with without_panic():
            encoding = tokenizer.backend.encode(text, add_special_tokens=False)
        pieces_of: dict[int, list[int]] = {}  # word -> its pieces, both by their indices
        for i, word in enumerate(encoding.word_ids):
            if word is not None:
                pieces_of.setdefault(word, []).append(i)
        broken = []
        for pieces in pieces_of.values():
            if len(pieces) >= SHATTERED or any(encoding.ids[i] == tokenizer.unknown_id for i in pieces):
                start, _ = encoding.offsets[pieces[0]]
                _, end = encoding.offsets[pieces[-1]]
                broken.append(text[start:end].strip())
        return [word for word in broken if word]

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
        """Leave out the passages before it that nearly repeat it."""
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
        """Leave out the passages before it that are near to everything."""
        hubs = [other for other in self.before if self.searcher.hubs[other]]
        if not hubs:
            return None
        return Undone(1 + len(self.before) - len(hubs), f"without {len(hubs)} that unrelated sentences find, too")

    def names(self) -> Undone | None:
        """Leave out names and numbers, also of the passages before it; None if there are more than RIVALS of these."""
        names = list(dict.fromkeys(NAME.findall(self.asked) + NAME.findall(self.passage)))
        if not names or len(self.before) > RIVALS:
            return None
        passages = [self.searcher.collection.passages[i] for i in (*self.before, self.wanted)]
        query, *others = (" ".join(NAME.sub(" ", text).split()) for text in (self.asked, *passages))
        if len(words(query)) < LEAST:
            return None
        try:
            asked = self.searcher.vectors([query], self.searcher.prompt)[0]
            vectors = self.searcher.vectors(others, self.searcher.passage_prompt)
        except ExplorerError:
            return None
        *before, own = (vectors @ asked).tolist()
        rank = 1 + sum(score > own for score in before)
        return Undone(rank, f"without {named(names)}, on all sides")

    def words(self) -> Undone | None:
        """Search by words."""
        order = self.searcher.by_words.order(self.asked)
        if self.wanted not in order:
            return None
        postings = self.searcher.by_words.postings
        shared = set(words(self.asked)) & set(words(self.passage))
        rarest_first = sorted(shared, key=lambda word: (len(postings[word]), word))
        verb = "is" if len(rarest_first) == 1 else "are"
        rank = 1 + order.index(self.wanted)
        return Undone(rank, f"by its words, of which {named(rarest_first[:3])} {verb} the rarest")

    def prompt(self) -> Undone | None:
        """Put another prompt before the query, or none: the one by which the passage ranks first."""
        from bertexplorer.model.sentence_encoder import SentenceEncoder  # imports torch, which the page does not need

        searcher = self.searcher
        trials: list[tuple[str, str | None, str]] = []  # the query, the name of its prompt, and what that undoes
        own = searcher.checkpoint.sentence_encoder or SentenceEncoder()
        in_use = own.prompt(searcher.prompt)
        for name, text in own.prompts.items():
            if text != in_use:
                trials.append((self.asked, name, f"with the prompt “{name}”: {text!r:.60}"))
        if in_use:
            trials.append((self.asked, "", f"without the prompt {in_use!r:.60}"))
        written = searcher.collection.written_prompt
        if written:
            trials.append((self.asked.removeprefix(written), searcher.prompt, "without what stands before every query"))

        best = None
        for asked, prompt, what in trials:
            query = searcher.vectors([asked], prompt)[0]
            rank = searcher.rank(query, self.wanted)
            if best is None or rank < best.rank:
                best = Undone(rank, what)
        return best


def named(words: Sequence[str]) -> str:
    """The first three of *words* in quotation marks."""
    first = ", ".join(f"“{word[:30]}”" for word in words[:3])
    return first if len(words) <= 3 else f"{first} and {len(words) - 3:,} more"

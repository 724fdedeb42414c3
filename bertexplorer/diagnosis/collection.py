"""A test collection: queries, passages, and who answers whom; and where a checkpoint ranks each passage."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import commonprefix
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float, Int

from bertexplorer import engine
from bertexplorer.answers.vectors import BUILT_IN, encode_sentence, unit_vectors
from bertexplorer.engine import progress
from bertexplorer.errors import ExplorerError
from bertexplorer.training.data.guess import say_columns, usual_columns
from bertexplorer.training.data.rows import Row, RowProblem
from bertexplorer.training.ranking import BM25, rank_by_score, tie_ranks
from bertexplorer.training.tasks import retrieval
from bertexplorer.training.tasks.retrieval import Example

if TYPE_CHECKING:
    from bertexplorer.model.checkpoint import Checkpoint
    from bertexplorer.model.text import Encoding

COLUMNS = ("query", "passage", "relevance", "negatives")
MAX_PASSAGES, MAX_QUERIES = 10_000, 1_000
AT_ONCE = 256  # passages whose tokens are in memory together
NEAREST = 10  # passages of an unrelated sentence
HUB = 0.2  # share of the unrelated sentences to which a hub is near, at least
CHARACTERS = 4  # of a token, about
OFTEN = 5  # times as often as any passage would be


@dataclass(frozen=True)
class Collection:
    """Queries and passages by their index; *relevant*: of each query, passage -> its grade, above 0."""

    queries: tuple[str, ...]
    passages: tuple[str, ...]
    relevant: tuple[Mapping[int, float], ...]
    unusable: tuple[RowProblem, ...] = ()  # rows that were not used, with the reason
    columns_said: str = ""  # which columns were read under another name

    @cached_property
    def written_prompt(self) -> str:
        """What stands before every query up to a colon, as instructions do; '' if nothing does, or for one query."""
        if len(self.queries) < 2:
            return ""
        begins_with_prompt = re.match(r".*:\s+", commonprefix(self.queries), re.DOTALL)
        return begins_with_prompt.group() if begins_with_prompt else ""


def read_collection(rows: Sequence[tuple[int, Mapping[str, object]]]) -> Collection:
    """The collection in *rows* with the columns query, passage and, if there is one, relevance, or with other usual
    names for them, such as question and document; a passage without a query is one that may be found. Raises
    ExplorerError for other columns, for no query with an answer, and beyond MAX_PASSAGES and MAX_QUERIES."""
    # 1. The columns under the names of the task.
    columns: dict[str, None] = {}
    for _, cells in rows:
        columns.update(dict.fromkeys(map(str, cells)))
    found_columns = usual_columns(columns, COLUMNS)
    if not {"query", "passage"} <= found_columns.keys():
        raise ExplorerError(
            f"The columns are {', '.join(sorted(columns))[:200] or 'none'}; wanted query and passage, and relevance "
            "where passages answer a query more or less well."
        )
    renamed: list[Row] = []
    for line, cells in rows:
        own = {name: cells[column] for name, column in found_columns.items() if column in cells}
        if not any(str(own.get(name) or "").strip() for name in ("query", "relevance")):
            own["relevance"] = "0"  # a passage that may be found
        renamed.append(Row(line, own))

    # 2. The different queries and passages.
    examples, problems = retrieval.examples(renamed, retrieval.Options())
    texts: list[str] = []
    for example in examples:
        texts += [example.passage, *example.negatives]
    passages = numbered(texts)
    answered = [example for example in examples if example.query and example.relevance]
    queries = numbered([example.query for example in answered])
    if not queries:
        raise ExplorerError("No row has a query and a passage that answers it. Give at least one.")
    for what, count, most in (("passages", len(passages), MAX_PASSAGES), ("queries", len(queries), MAX_QUERIES)):
        if count > most:
            raise ExplorerError(f"There are {count:,} {what}; the limit is {most:,}. Give part of them.")
    return Collection(
        queries=tuple(queries),
        passages=tuple(passages),
        relevant=relevance(answered, queries, passages),
        unusable=tuple(problems),
        columns_said=say_columns(found_columns),
    )


def numbered(texts: Sequence[str]) -> dict[str, int]:
    """Each different text -> its index."""
    return {text: index for index, text in enumerate(dict.fromkeys(texts))}


def relevance(
    answered: Sequence[Example], queries: Mapping[str, int], passages: Mapping[str, int]
) -> tuple[dict[int, float], ...]:
    """Of each query, passage -> its highest grade."""
    grades: tuple[dict[int, float], ...] = tuple({} for _ in queries)
    for example in answered:
        of_query = grades[queries[example.query]]
        passage = passages[example.passage]
        of_query[passage] = max(example.relevance, of_query.get(passage, 0.0))
    return grades


class Searcher:
    """A collection as a checkpoint sees it: the vectors of its passages, computed once, and ranks by cosine."""

    def __init__(
        self,
        checkpoint: Checkpoint,
        collection: Collection,
        prompt: str | None,
        passage_prompt: str | None,
        pooling: str = "own",
    ) -> None:
        """*prompt*, *passage_prompt*: the names of what stands before a query and a passage; None: as the files say.
        *pooling*: how a text's vector is made, at the last layer.
        Tells `engine.progress` what the passages cost. Raises ExplorerError for a prompt that the files do not name,
        and for a text that cannot be read."""
        self.checkpoint = checkpoint
        self.collection = collection
        self.prompt = prompt
        self.passage_prompt = passage_prompt
        self.pooling = pooling
        self.ties = tie_ranks(collection.passages)
        self.by_words = BM25(collection.passages)
        self.left_out = np.zeros(len(collection.passages), int)  # tokens of each passage that are not read
        self.queries = self.vectors(collection.queries, prompt)
        progress.foresee(sum(map(len, collection.passages)) // CHARACTERS)
        parts = []
        for start in range(0, len(collection.passages), AT_ONCE):
            encodings = self.encode(collection.passages[start : start + AT_ONCE], passage_prompt)
            self.left_out[start : start + AT_ONCE] = [encoding.left_out for encoding in encodings]
            parts.append(self.vectors_of(encodings))
        self.passages = np.concatenate(parts)

    def encode(self, texts: Sequence[str], prompt: str | None) -> list[Encoding]:
        """The tokens of each text. Raises ExplorerError for a text that cannot be read, which it names."""
        encodings = []
        for text in texts:
            try:
                encodings.append(encode_sentence(self.checkpoint, text, prompt))
            except ExplorerError as error:
                raise ExplorerError(f"{text!r:.60} cannot be searched. {error}") from error
        return encodings

    def vectors_of(self, encodings: Sequence[Encoding]) -> Float[np.ndarray, "n d"]:
        """The vectors of these tokens, of length 1."""
        layer = self.checkpoint.config.num_layers
        made = engine.kept_sentence_vectors(self.checkpoint, encodings, layer=layer, pooling=self.pooling)
        return unit_vectors(made.numpy()).astype(np.float32)

    def vectors(self, texts: Sequence[str], prompt: str | None) -> Float[np.ndarray, "n d"]:
        """The vectors of *texts*, of length 1. Raises ExplorerError for a text that cannot be read."""
        return self.vectors_of(self.encode(texts, prompt))

    def order(self, query: Float[np.ndarray, " d"]) -> Int[np.ndarray, " n"]:
        """All passages, the nearest to *query* first."""
        return rank_by_score(self.passages @ query, self.ties)

    @cached_property
    def hubs(self) -> Bool[np.ndarray, " n"]:
        """The passages that are among the NEAREST of HUB of unrelated sentences, and OFTEN as often as any would be."""
        near = np.zeros(len(self.passages))
        unrelated = [line.text for line in BUILT_IN]
        for query in self.vectors(unrelated, self.prompt):
            near[self.order(query)[:NEAREST]] += 1
        return near / len(BUILT_IN) >= max(HUB, OFTEN * NEAREST / len(near))

    def rank(self, query: Float[np.ndarray, " d"], passage: int, own: Float[np.ndarray, " d"] | None = None) -> int:
        """The rank of *passage*, 1 the first, for the vector of a *query*. *own*: another vector for the passage."""
        scores = self.passages @ query
        score = scores[passage] if own is None else np.float32(own @ query)
        before = (scores > score) | ((scores == score) & (self.ties < self.ties[passage]))
        before[passage] = False
        return 1 + int(before.sum())

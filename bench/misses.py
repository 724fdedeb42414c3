"""Benchmark: faults planted in a collection, which Not found should name; and how long a large collection takes.

    python -m bench.misses [CHECKPOINT] [--each 20] [--large]

Faults are planted one at a time in the built-in rows of the task retrieval, in queries that find their passage among
the first three without them. A planted fault counts if the passage is then no longer among them. `--large` searches
10,000 passages for 1,000 queries in place of that, and prints the seconds and the memory above the encoder."""

import argparse
import random
import resource
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import bertexplorer as bx
from bench.common import machine
from bertexplorer.diagnosis.collection import Collection, Searcher, read_collection
from bertexplorer.diagnosis.misses import explain
from bertexplorer.views.not_found.sets import household

TOP = 3
FILLING = (
    "The bridge was built in three years, and it was paid for by the towns on both sides of the river. Stone came from "
    "the hills in the north and was brought by boat. "
)
UNREADABLE = "xqzvltk brvnqwj zkptfgh"
NAME = "Mary Baker"
Planted = tuple[
    str, Mapping[int, str], Sequence[str]
]  # the query, passages that are exchanged, passages that are added


class Planter:
    """Plants faults for the queries of a collection. *limit*: tokens of a passage that are read."""

    def __init__(self, searcher: Searcher, limit: int) -> None:
        self.searcher, self.collection, self.limit = searcher, searcher.collection, limit
        self.rng = random.Random(0)

    def cut(self, query: int, wanted: int) -> Planted:
        filling = FILLING * (self.limit // 35 + 1)
        return self.collection.queries[query], {wanted: filling + self.collection.passages[wanted]}, []

    def near_duplicate(self, query: int, wanted: int) -> Planted:
        words = self.collection.queries[query].split()
        copies = [f"{self.collection.passages[wanted]} {word}." for word in (words * 5)[:5]]
        return self.collection.queries[query], {}, copies

    def names(self, query: int, wanted: int) -> Planted:
        order = self.searcher.order(self.searcher.queries[query])
        rivals = [int(passage) for passage in order[:12] if passage != wanted][:8]
        exchanged = {rival: f"Of {NAME}: {self.collection.passages[rival]} So said {NAME}." for rival in rivals}
        return f"of {NAME}: {self.collection.queries[query]}", exchanged, []

    def unreadable(self, query: int, wanted: int) -> Planted:
        return f"{UNREADABLE} {self.collection.queries[query]}", {}, []

    def words(self, query: int, wanted: int) -> Planted:
        code = f"{self.rng.randint(100, 999)}"
        return f"code {code}", {wanted: f"{self.collection.passages[wanted]} ({code})"}, []

    def rows(self, query: int, planted: Planted) -> list[tuple[int, dict[str, object]]]:
        asked, exchanged, added = planted
        rows: list[dict[str, object]] = []
        for i, passage in enumerate(self.collection.passages):
            answers = i in self.collection.relevant[query]
            rows.append(
                {"query": asked if answers else "", "passage": exchanged.get(i, passage), "relevance": int(answers)}
            )
        rows += [{"query": "", "passage": passage, "relevance": 0} for passage in added]
        return list(enumerate(rows, 1))


def plant(name: str, each: int) -> None:
    bert = bx.load(name, precision="fp32")
    collection = read_collection(household())
    searcher = Searcher(bert.checkpoint, collection, None, None)
    found = [query for query in range(len(collection.queries)) if explain(searcher, query, TOP) is None]
    random.Random(0).shuffle(found)
    planter = Planter(searcher, bert.checkpoint.sentence_tokenizer.max_tokens)
    faults: dict[str, Callable[[int, int], Planted]] = {
        "cut": planter.cut,
        "near duplicate": planter.near_duplicate,
        "names": planter.names,
        "unreadable": planter.unreadable,
        "words": planter.words,
    }
    named = planted = 0
    for fault, make in faults.items():
        causes: Counter[str] = Counter()
        for query in found:
            [wanted] = list(collection.relevant[query])[:1]
            rows = planter.rows(query, make(query, wanted))
            changed = Searcher(bert.checkpoint, read_collection(rows), None, None)
            miss = explain(changed, 0, TOP)
            if miss:
                causes[miss.cause] += 1
            if causes.total() == each:
                break
        named, planted = named + causes[fault], planted + causes.total()
        print(f"{fault:15} {causes[fault]:3} of {causes.total():3} named; {dict(causes)}", flush=True)
    print(f"{'all':15} {named:3} of {planted:3}: {named / planted:.0%}")


def large(name: str) -> None:
    """10,000 passages and 1,000 queries, made of words of the built-in rows."""
    rng = random.Random(0)
    words: list[str] = []
    for _, row in household():
        words += str(row["passage"]).split()
    passages = [" ".join(rng.choices(words, k=60)) for _ in range(10_000)]
    queries = [" ".join(rng.sample(passage.split(), 6)) for passage in passages[:1000]]
    bert = bx.load(name, precision="fp32")
    bert.encode(passages[:256])
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    collection = Collection(tuple(queries), tuple(passages), tuple({i: 1.0} for i in range(1000)))
    searcher = Searcher(bert.checkpoint, collection, None, None)
    vectors = time.perf_counter() - begun
    misses = [explain(searcher, query, 10) for query in range(100)]
    seconds = time.perf_counter() - begun - vectors
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"vectors {vectors:.0f} s; 100 queries explained, {sum(map(bool, misses))} misses, {seconds:.0f} s")
    print(f"{(after - before) / 1024:.0f} MB more than after the vectors of 256 passages")


def main() -> None:
    parser = argparse.ArgumentParser("python -m bench.misses", description=__doc__)
    parser.add_argument("checkpoint", nargs="?", default="mini")
    parser.add_argument("--each", type=int, default=20, help="planted faults of each kind")
    parser.add_argument("--large", action="store_true")
    flags = parser.parse_args()
    print(machine())
    large(flags.checkpoint) if flags.large else plant(flags.checkpoint, flags.each)


if __name__ == "__main__":
    main()

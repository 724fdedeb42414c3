"""Ranking: BM25, a baseline that needs no training, and metrics."""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log, log2

import numpy as np
from jaxtyping import Float, Int

K1, B = 1.2, 0.75  # of BM25: how soon a repeated word counts no more; how much a long passage is discounted
TOP = 10  # passages that the metrics look at
WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """The words of *text* without case."""
    return WORD.findall(text.casefold())


def words_in_common(first: str, second: str) -> float:
    """The share of the words of two texts that both have (Jaccard)."""
    first_words, second_words = set(words(first)), set(words(second))
    return len(first_words & second_words) / max(1, len(first_words | second_words))


class BM25:
    """Okapi BM25 (Robertson and Zaragoza, 2009, equation 3.15) over *passages*, without stemming or stop words. A word
    in n of N passages weighs ln(1 + (N - n + 0.5) / (n + 0.5)), which never falls below 0."""

    def __init__(self, passages: Sequence[str]) -> None:
        counts = [Counter(words(passage)) for passage in passages]
        lengths = np.array([count.total() for count in counts], float)
        mean_length = lengths.mean() if len(lengths) else 1.0
        self.damp = K1 * (1 - B + B * lengths / max(1.0, mean_length))  # of each passage
        self.tie_ranks = tie_ranks(passages)
        self.postings: dict[str, list[tuple[int, int]]] = defaultdict(list)  # word -> (passage, how often it has it)
        for number, count in enumerate(counts):
            for word, times in count.items():
                self.postings[word].append((number, times))

    def scores(self, query: str) -> Float[np.ndarray, " n"]:
        """The score of each passage, 0 without a word in common; a repeated word of the query counts each time."""
        scores = np.zeros(len(self.damp))
        for word, query_count in Counter(words(query)).items():
            if word in self.postings:
                passages, counts = np.array(self.postings[word]).T
                idf = log(1 + (len(scores) - len(passages) + 0.5) / (len(passages) + 0.5))
                scores[passages] += query_count * idf * counts * (K1 + 1) / (counts + self.damp[passages])
        return scores

    def order(self, query: str) -> list[int]:
        """The indices of the passages with a word in common, best first."""
        scores = self.scores(query)
        return [int(i) for i in rank_by_score(scores, self.tie_ranks) if scores[i] > 0]


def tie_ranks(passages: Sequence[str]) -> Int[np.ndarray, " n"]:
    """The rank of each passage among those with equal scores: by its text, Z before A, as in trec_eval. The order of
    the file, in which relevant passages often come first, must not break ties."""
    ranks = np.empty(len(passages), int)
    ranks[sorted(range(len(passages)), key=passages.__getitem__, reverse=True)] = np.arange(len(passages))
    return ranks


def rank_by_score(scores: Float[np.ndarray, " n"], tie_order: Int[np.ndarray, " n"]) -> Int[np.ndarray, " n"]:
    """The indices of *scores* from highest to lowest; *tie_order*: `tie_ranks` of the passages."""
    return np.lexsort((tie_order, -scores))


def reciprocal_rank(grades: Sequence[float]) -> float:
    """1 / rank of the first relevant passage in the first ten, else 0. *grades*: in the order of the ranking."""
    return next((1 / rank for rank, grade in enumerate(grades[:TOP], 1) if grade > 0), 0.0)


def dcg(grades: Sequence[float]) -> float:
    """DCG: Σ grade / log2(rank + 1) (Järvelin and Kekäläinen, 2002, with the discount of trec_eval)."""
    return sum(grade / log2(rank + 1) for rank, grade in enumerate(grades[:TOP], 1))


def ndcg(grades: Sequence[float], judged: Sequence[float]) -> float:
    """The DCG divided by that of the best order of all *judged* grades; 0 if no grade is above 0."""
    best = dcg(sorted(judged, reverse=True))
    return dcg(grades) / best if best else 0.0


def recall(grades: Sequence[float], judged: Sequence[float]) -> float:
    """The share of the relevant passages that is in the first ten."""
    return sum(grade > 0 for grade in grades[:TOP]) / max(1, sum(grade > 0 for grade in judged))


def ranking_metrics(grades: Sequence[float], judged: Sequence[float]) -> dict[str, float]:
    """All three metrics of one query."""
    return {
        "mrr_10": reciprocal_rank(grades),
        "ndcg_10": ndcg(grades, judged),
        "recall_10": recall(grades, judged),
    }

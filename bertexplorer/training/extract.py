"""Extractive summaries: choosing sentences, and ROUGE."""

import re
from collections import Counter
from collections.abc import Sequence

from bertexplorer.training.pretraining.sentences import sentences
from bertexplorer.training.ranking import words

KINDS = {"rouge_1": "rouge1", "rouge_2": "rouge2", "rouge_l": "rougeLsum"}


def split(text: str) -> list[str]:
    """The sentences of a text. A line break ends a sentence."""
    return [sentence for line in re.split(r"[\r\n]+", text) for sentence in sentences(line.strip())]


def ngrams(text: str, n: int) -> Counter[tuple[str, ...]]:
    found = words(text)
    return Counter(zip(*(found[i:] for i in range(n)), strict=False))


def overlap(found: Counter[tuple[str, ...]], gold: Counter[tuple[str, ...]]) -> float:
    """F1 of the n-grams, each counted as often as in both (Lin, 2004)."""
    total = found.total() + gold.total()
    return 2 * (found & gold).total() / total if total else 0.0


def oracle(document: Sequence[str], summary: str, most: int) -> list[int]:
    """Up to *most* sentences of *document*, in its order, chosen greedily while each adds to ROUGE-1 + ROUGE-2 against
    *summary* (Nallapati et al., 2017, section 3.2; Liu, 2019)."""
    gold = [ngrams(summary, n) for n in (1, 2)]
    grams = [[ngrams(sentence, n) for n in (1, 2)] for sentence in document]
    chosen: list[int] = []
    held, best = [Counter[tuple[str, ...]](), Counter[tuple[str, ...]]()], 0.0
    while len(chosen) < most:
        scores = {
            i: sum(overlap(held[n] + own[n], gold[n]) for n in (0, 1)) for i, own in enumerate(grams) if i not in chosen
        }
        found = max(scores, key=lambda i: scores[i], default=-1)
        if found < 0 or scores[found] <= best:
            break
        best = scores[found]
        chosen.append(found)
        held = [held[n] + grams[found][n] for n in (0, 1)]
    return sorted(chosen)


def choose(document: Sequence[str], scores: Sequence[float], most: int, *, blocking: bool) -> list[int]:
    """The *most* sentences with the highest scores, in the order of *document*. *blocking*: skip a sentence that shares
    three consecutive words with a better one (Paulus et al., 2018)."""
    chosen: list[int] = []
    seen: set[tuple[str, ...]] = set()
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        own = set(ngrams(document[i], 3))
        if len(chosen) < most and not (blocking and own & seen):
            chosen.append(i)
            seen |= own
    return sorted(chosen)


class Rouge:
    """ROUGE F1 as rouge-score counts it, with stemming; ROUGE-L over the sentences of a summary."""

    def __init__(self) -> None:
        from rouge_score.rouge_scorer import RougeScorer

        self.scorer = RougeScorer(list(KINDS.values()), use_stemmer=True)

    def score(self, found: Sequence[str], gold: Sequence[str]) -> dict[str, float]:
        """Of the sentences *found* against those of *gold*."""
        scores = self.scorer.score("\n".join(gold), "\n".join(found))
        return {key: float(scores[kind].fmeasure) for key, kind in KINDS.items()}

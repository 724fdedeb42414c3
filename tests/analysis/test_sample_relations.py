"""The forty annotated sentences, and the benchmark that measures heads on them, against plain loops."""

import pytest

from bench import relations
from bertexplorer import engine
from bertexplorer.analysis import head_relations
from bertexplorer.analysis.sample_relations import RELATIONS, read_row, related_sentences
from bertexplorer.analysis.sample_sentences import SAMPLE
from bertexplorer.model.checkpoint import Checkpoint


def test_every_relation_joins_two_words_of_its_sentence() -> None:
    assert len(related_sentences()) == len({sentence.text for sentence in related_sentences()}) == 40
    assert not {sentence.text for sentence in related_sentences()} & set(SAMPLE)
    for sentence in related_sentences():
        count = len(sentence.text.split())
        for name, pairs in sentence.pairs.items():
            assert name in RELATIONS
            assert all(0 <= start < count and 0 <= end < count and start != end for start, end in pairs)
    assert all(sum(len(s.pairs.get(name, ())) for s in related_sentences()) >= 25 for name in RELATIONS)


def test_a_row_is_read_word_by_word() -> None:
    row = {"sentence": "The cat saw the dog .", **dict.fromkeys(RELATIONS, "")}
    sentence = read_row({**row, "det": "the>cat the.2>dog", "obj": "saw>dog"})
    assert sentence.pairs == {**dict.fromkeys(RELATIONS, ()), "det": ((0, 1), (3, 4)), "obj": ((2, 4),)}
    with pytest.raises(ValueError, match=r"'the.3' is not in 'The cat saw the dog \.'"):
        read_row({**row, "det": "the.3>dog"})


def test_shares_and_hits_are_those_of_plain_loops(mini: Checkpoint) -> None:
    reads = [head_relations.read(mini, sentence) for sentence in related_sentences()[:3]]
    layer, head = 3, 1
    rest, hits, tries = [], 0, 0
    for sentence in related_sentences()[:3]:
        encoding = mini.tokenizer.encode(sentence.text)
        weights = engine.attentions(mini, encoding)[layer, head]
        special = [i for i in range(len(encoding)) if encoding.special[i]]
        rest += [float(weights[i, special].sum()) for i in range(len(encoding)) if i not in special]
        for start, end in sentence.pairs["det"]:
            tokens = [
                [i for i, word in enumerate(encoding.words) if word == w] for w in range(len(sentence.text.split()))
            ]
            given = [float(weights[tokens[start]][:, columns].sum(1).mean()) for columns in tokens]
            most = max(float(weights[tokens[start]][:, [mark]].mean()) for mark in special)
            hits += given[end] == max(given) and given[end] > most
            tries += 1
    assert abs(float(relations.resting(reads)[layer, head]) - sum(rest) / len(rest)) < 1e-6
    heads, distances = head_relations.accuracy(reads, "det", back=False)
    assert abs(float(heads[layer, head]) - hits / tries) < 1e-9
    ends = [end - start for sentence in related_sentences()[:3] for start, end in sentence.pairs["det"]]
    assert distances[1] == sum(end == 1 for end in ends) / len(ends)

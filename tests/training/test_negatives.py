"""No batch has a passage that answers the query of another row."""

from collections import defaultdict

import numpy as np
import pytest

from bertexplorer.training.finetuning.batch_sampler import batches_without_conflicts


@pytest.mark.parametrize("seed", range(8))
def test_no_passage_answers_another_rows_query(seed: int) -> None:
    draw = np.random.default_rng(seed)
    count, batch = int(draw.integers(5, 120)), int(draw.integers(2, 20))
    pairs = [(int(draw.integers(count // 2 + 1)), f"p{draw.integers(count // 2 + 1)}") for _ in range(count)]
    known = defaultdict(set)
    for query, passage in pairs:
        known[query].add(passage)
    passages = [{passage, f"n{draw.integers(9)}"} if draw.integers(2) else {passage} for _, passage in pairs]
    result = batches_without_conflicts(
        passages, [known[query] for query, _ in pairs], draw.permutation(count).tolist(), batch
    )
    assert len(result) == -(-count // batch), "as many batches in every epoch"
    assert all(1 <= len(rows) <= batch for rows in result)
    used = [row for rows in result for row in rows]
    assert len(used) == len(set(used))
    for rows in result:
        for row in rows:
            others = set().union(*(passages[other] for other in rows if other != row))
            assert not others & known[pairs[row][0]]


def test_all_rows_are_used_without_conflicts() -> None:
    passages = [{f"p{i}"} for i in range(33)]
    result = batches_without_conflicts(passages, passages, list(range(33)), 32)
    assert sorted(map(len, result)) == [16, 17], "of like size: a batch of one would teach nothing"
    assert sorted(row for rows in result for row in rows) == list(range(33))


def test_a_row_that_fits_in_no_batch_is_left_out() -> None:
    same = [{"a"}] * 5
    assert batches_without_conflicts(same, same, [4, 2, 0, 1, 3], 3) == [[4], [2]]

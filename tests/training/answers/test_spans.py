"""The best spans compared with a double loop over all spans."""

import torch

from bertexplorer.training.answer_windows import PassageSpan, best_spans, merge_windows


def test_the_best_spans_equal_those_of_a_double_loop() -> None:
    draw = torch.Generator().manual_seed(0)
    for longest, count in ((1, 3), (4, 6), (30, 200)):
        start, end = torch.randn(3, 9, generator=draw), torch.randn(3, 9, generator=draw)
        inside = torch.zeros(3, 9, dtype=torch.bool)
        inside[0, 4:8] = inside[1, 2:9] = inside[2, 5:6] = True
        scores, first, last = best_spans(start, end, inside, longest, count)
        for row in range(3):
            all_spans = [
                ((start[row, i] + end[row, j]).item(), i, j)
                for i in range(9)
                for j in range(i, min(9, i + longest))
                if inside[row, i] and inside[row, j]
            ]
            wanted = sorted(all_spans, reverse=True)[:count]
            result = list(zip(scores[row].tolist(), first[row].tolist(), last[row].tolist(), strict=True))
            assert [entry for entry in result if entry[0] > float("-inf")] == wanted


def test_a_span_found_in_several_windows_counts_once() -> None:
    result = [PassageSpan(1.0, 0, 4), PassageSpan(3.0, 5, 9), PassageSpan(2.0, 0, 4), PassageSpan(0.5, 7, 9)]
    assert merge_windows(result, 10) == [PassageSpan(3.0, 5, 9), PassageSpan(2.0, 0, 4), PassageSpan(0.5, 7, 9)]
    assert merge_windows(result, 1) == [PassageSpan(3.0, 5, 9)]

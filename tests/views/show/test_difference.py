"""Two results side by side: matching rows and the largest differences."""

from collections.abc import Sequence
from types import SimpleNamespace

import numpy as np
import pytest

from bertexplorer.charts.marks import Bar, Figure
from bertexplorer.charts.style import percent
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.views import difference
from bertexplorer.views.attention import compute as attention, show as attention_figure
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.head_roles import compute as head_roles

SHARES = SimpleNamespace(KEYS=("token",), MEASURE="share", rows=lambda result: result)
LISTS = SimpleNamespace(KEYS=("layer", "token"), MEASURE="probability", rows=lambda result: result)


def bars(fig: Figure | None) -> Sequence[Bar]:
    assert fig is not None
    return fig.panels[0].marks[0].bars


def lines(fig: Figure | None) -> list[str]:
    """Each row of the figure: its name and both numbers."""
    return [f"{bar.label}: {bar.text}" for bar in bars(fig)]


def row(layer: int, token: str, probability: float) -> dict[str, object]:
    return {"layer": layer, "token": token, "probability": probability}


def test_rows_are_sorted_by_their_difference() -> None:
    ours = {("a",): 0.9, ("b",): 0.30, ("c",): 0.01}
    theirs = {("a",): 0.4, ("b",): 0.31, ("d",): 0.28}
    assert difference.sort_by_difference(ours, theirs, best_only=True) == [("a",), ("d",), ("b",), ("c",)]
    ours, theirs = {("answer",): 0.24000001, ("followed",): 0.24000002}, {("answer",): 0.0, ("followed",): 0.0}
    assert difference.sort_by_difference(ours, theirs, best_only=False) == [("answer",), ("followed",)]
    assert difference.sort_by_difference({**ours, ("followed",): 0.25}, theirs, best_only=False)[0] == ("followed",)


def test_rows_without_a_counterpart_come_last() -> None:
    # Two checkpoints with different numbers of heads: the heads that both have come first.
    heads = SimpleNamespace(KEYS=("layer", "head"), MEASURE="change_bits", rows=lambda result: result)
    ours, theirs = {(1, 1): 0.04, (1, 2): 0.1, (1, 3): 2.5, (1, 4): -3.0}, {(1, 1): -2.63, (1, 2): 0.2}
    sides = [[{"layer": i, "head": j, "change_bits": v} for (i, j), v in side.items()] for side in (ours, theirs)]
    assert difference.most_different(heads, *sides, None)[0] == [(1, 1), (1, 2), (1, 4), (1, 3)]
    # The best words of a layer that only one checkpoint has.
    best = SimpleNamespace(**vars(LISTS), BEST_ONLY=True)
    sides = [row(1, "a", 0.4), row(2, "b", 0.9), row(1, "c", 0.5)], [row(1, "a", 0.3)]
    assert difference.most_different(best, *sides, None)[0] == [(1, "c"), (1, "a"), (2, "b")]


def test_labels_name_what_differs_and_both_numbers() -> None:
    fig = difference.draw(LISTS, [row(1, "a", 0.5), row(2, "a", 0.2)], [row(1, "a", 0.1)], ("one", "two"))
    assert lines(fig) == ["layer 1: 50 % → 10 %", "layer 2: 20 % → not listed"]
    assert [(bar.value, [tick.value for tick in bar.ticks]) for bar in bars(fig)] == [(0.5, [0.1]), (0.2, [])]
    placed = SimpleNamespace(KEYS=("position", "token"), MEASURE="probability", rows=lambda result: result)
    first = [{"position": 1, "token": "is", "probability": 0.5}, {"position": 2, "token": "big", "probability": 0.2}]
    second = [{"position": 1, "token": "are", "probability": 0.1}, {"position": 2, "token": "big", "probability": 0.2}]
    fig = difference.draw(placed, first, second, ("one", "two"))
    assert lines(fig) == ["position 1 · is/are: 50 % → 10 %"]
    rows = [row(11, "children", 0.0002), row(12, "a", 0.027)]
    fig = difference.draw(LISTS, rows, [row(11, "children", 0.0003), row(12, "a", 0.04)], ("one", "two"))
    assert lines(fig) == ["layer 12 · a: 2.7 % → 4.0 %"]


def test_rows_that_do_not_differ_are_drawn_only_if_none_does() -> None:
    rows = [row(1, "a", 0.5), row(2, "b", 0.2)]
    changed = difference.draw(LISTS, rows, [row(1, "a", 0.5 + 1e-3), row(2, "b", 0.3)], ("one", "two"))
    assert lines(changed) == ["layer 2 · b: 20 % → 30 %"] and "what differs most" in changed.panels[0].title
    alike = difference.draw(LISTS, rows, rows, ("one", "two"))
    assert len(lines(alike)) == 2 and alike.panels[0].title == "nothing differs by as much as is shown: probability"


@pytest.mark.parametrize("measure", ["cosine", "change_bits", "above_random", "norm_sum", "log_ratio"])
def test_other_measures_from_0_to_1_are_not_formatted_as_shares(measure: str) -> None:
    analysis = SimpleNamespace(KEYS=("token",), MEASURE=measure, rows=lambda result: result)
    fig = difference.draw(analysis, [{"token": "a", measure: 0.31}], [{"token": "a", measure: 0.28}], ("one", "two"))
    assert lines(fig) == ["a: 0.31 → 0.28"] and fig.panels[0].marks[0].unit == ""


def test_norms_of_attention_are_lengths_and_its_weights_are_shares() -> None:
    checkpoint = CheckpointRegistry().get("mini")
    for measure, in_percent in (("norm", False), ("weight", True)):
        options = attention.Options(show="head", measure=measure)
        result = attention.run(checkpoint, "The cat sat.", options=options)
        assert all(0 <= entry["value"] <= 1 for entry in attention.rows(result))
        fig = difference.draw(attention, result, result, ("one", "two"))
        assert all(("%" in line) == in_percent for line in lines(fig))


@pytest.mark.parametrize("options", [{}, {"layer": 2}, {"head": 1}, {"combine": "max"}])
def test_attention_of_checkpoints_with_different_numbers_of_heads_is_compared(options: dict[str, object]) -> None:
    checkpoints = [CheckpointRegistry().get(name) for name in ("mini", "tiny")]
    chosen = attention.Options(show="head", **options)
    results = [attention.run(checkpoint, "The cat sat.", options=chosen) for checkpoint in checkpoints]
    assert results[0].every.shape[:2] != results[1].every.shape[:2]
    fig = difference.draw(attention, *results, ("mini", "tiny"))
    assert len(lines(fig)) == 16 and not any("not listed" in line for line in lines(fig))


def test_distances_and_entropies_of_heads_are_not_shares() -> None:
    for pattern, expected in (("distance", False), ("entropy", False), ("[SEP]", True), ("main role", True)):
        assert difference.is_share(head_roles, SimpleNamespace(pattern=pattern)) is expected


def test_shares_outside_0_to_1_stay_shares() -> None:
    fig = difference.draw(SHARES, [{"token": "a", "share": -0.14}], [{"token": "a", "share": 0.2}], ("one", "two"))
    assert lines(fig) == ["a: −14 % → 20 %"] and fig.panels[0].marks[0].unit == "share"


def test_a_view_without_a_measure_has_no_difference() -> None:
    assert difference.draw(SimpleNamespace(rows=lambda result: result), [], [], ("one", "two")) is None
    assert difference.draw(LISTS, [], [], ("one", "two")) is None


def test_unlisted_numbers_are_looked_up() -> None:
    """The answers to the other sentence have a number in this one, too, instead of "not listed"."""
    checkpoint = CheckpointRegistry().get("mini")
    texts = "The capital of France is [MASK].", "The planet of France is [MASK]."
    first, second = (fill_mask.run(checkpoint, text) for text in texts)
    fig = difference.draw(fill_mask, first, second, texts, (checkpoint, checkpoint))
    message = lines(fig)
    assert len(message) == 16 and not any("not listed" in line for line in message)
    expected = fill_mask.run(checkpoint, texts[1], options=fill_mask.Options(words="paris")).blanks[0].words[0]
    best = first.blanks[0].candidates[0]
    assert best.token == "paris"
    assert f"paris: {percent(best.probability)} → {percent(expected.probability)}" in message


def test_names_keep_what_tells_them_apart() -> None:
    names = ["The man sat by the bank of the wide old river.", "The man sat by the bank of the narrow new river."]
    cut = difference.distinct_names(names, 30)
    assert all(len(name) <= 30 for name in cut) and "wide" in cut[0] and "narrow" in cut[1]
    assert difference.distinct_names(["mini", "tiny"], 30) == ["mini", "tiny"]
    pairs = ["A, B · The man went to the store. · Penguins", "candidate · The man went to the store. · Penguins fly."]
    beside_others = difference.distinct_names([*pairs, f"{pairs[1][:-4]}swim."], 30)
    assert len(set(beside_others)) == 3 and beside_others[1].endswith("fly.") and beside_others[2].endswith("swim.")
    keys = [("1·3", "bank", 6, "the", 5), ("1·3", "the", 1, "went", 3), ("2·7", "doctor", 2, "[CLS]", 0)]
    message = difference.names_of(keys, ("heads", "from", "from_position", "to", "to_position"))
    assert message == ["1·3 · bank 6 · the 5", "1·3 · the 1 · went 3", "2·7 · doctor 2 · [CLS] 0"]
    once = difference.names_of([(1, "a", "b", 2), (2, "a", "b", 3)], ("layer", "from", "to", "to_position"))
    assert once == ["layer 1 · to position 2", "layer 2 · to position 3"]


def test_of_each_head_the_largest_change_is_named_in_words() -> None:
    mini = CheckpointRegistry().get("mini", "fp32")
    first, second = (attention.run(mini, text) for text in ("The cat didn't sleep.", "The dog didn't sleep."))
    fig = difference.draw(attention, first, second, ("one", "two"))
    assert fig is not None
    labels = lines(fig)
    heads = [label.partition(" (")[0] for label in labels]
    assert len(set(heads)) == len(heads) == difference.DRAWN
    keys, ours, theirs = difference.most_different(attention, first, second, None)
    changes = [abs(ours[key] - theirs[key]) for key in keys]
    assert changes == sorted(changes, reverse=True)
    every = np.abs(first.every - second.every)
    assert changes[0] == pytest.approx(float(every.max()), abs=1e-6)
    layer, head, source, target = np.unravel_index(int(every.argmax()), every.shape)
    assert labels[0].startswith(f"head {layer + 1}·{head + 1} (“{keys[0][1]}” → “{keys[0][3]}”)")
    assert (keys[0][2], keys[0][4]) == (source, target)
    sentence = attention_figure.compare(first, second)
    assert sentence.startswith(f"The largest change is in head {layer + 1}·{head + 1} (“")
    assert attention_figure.compare(first, first).endswith(" for the second.")

"""Wilson's interval against scipy's, and the warning about few validation rows."""

import pytest
from scipy.stats import binomtest

from bertexplorer.training.finetuning.compare import interval_sentence, sample_size_warning, wilson


@pytest.mark.parametrize(("right", "count"), [(0, 1), (1, 1), (3, 6), (5, 6), (6, 6), (87, 100), (1, 5000)])
def test_the_interval_equals_that_of_scipy(right: int, count: int) -> None:
    theirs = binomtest(right, count).proportion_ci(method="wilson")
    wanted = pytest.approx((theirs.low, theirs.high), abs=1e-6)  # 1.959964, as it is written, has 7 digits
    assert wilson(right / count, count) == wanted


def test_without_rows_the_interval_is_0_to_1() -> None:
    assert wilson(0.0, 0) == (0.0, 1.0)


def test_few_rows_cause_a_warning() -> None:
    assert "Accuracy on 6 validation rows is known only to within 31 percentage points" in sample_size_warning(
        6, "Accuracy", is_share=True
    )
    assert "1 validation row is" in sample_size_warning(1, "Accuracy", is_share=True) and not sample_size_warning(
        400, "Accuracy", is_share=True
    )
    assert "rough" in sample_size_warning(6, "ROUGE-2", is_share=False) and not sample_size_warning(
        100, "ROUGE-2", is_share=False
    )


def test_a_measured_metric_is_reported_with_its_interval() -> None:
    assert interval_sentence(5 / 6, 6, "Accuracy") == (
        "Accuracy on 6 validation rows: the 95 % interval is 43.6 % to 97.0 % (Wilson)."
    )

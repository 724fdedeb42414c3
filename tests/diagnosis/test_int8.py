"""Weights that onnxruntime has rounded to int8 are recognised by their vectors."""

from pathlib import Path

import pytest

import bertexplorer as bx
from bench import doctor
from bench.common import MINI

pytestmark = pytest.mark.slow


def test_weights_in_int8_are_said(tmp_path: Path) -> None:
    folder = doctor.write_files(MINI, tmp_path / "mean", doctor.SETS["mean"])
    bert = bx.load(folder, precision="fp32")
    made = doctor.int8_vectors(bert.checkpoint, folder, doctor.ALL, lambda states: states.mean(0))
    answer = bx.doctor(bert, doctor.ALL, made)
    assert answer.as_files and "The weights are rounded to int8" in answer.said

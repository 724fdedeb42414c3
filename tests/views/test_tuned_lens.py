"""The tuned lens in Layers: nearer to the final answer than the raw one on sentences that its fit has not seen."""

import shutil
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import torch

from bertexplorer import engine
from bertexplorer.answers.layer_answers import Layers, Tuned
from bertexplorer.engine import progress
from bertexplorer.engine.progress import Stopped, Work, working
from bertexplorer.engine.queues import RequestQueues
from bertexplorer.engine.tuned_lens import EPOCHS, FILE, FULL, save_tuned_lens
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.views.layers import compute as layers, tuned_lens
from bertexplorer.views.layers.compute import Options
from tests.conftest import Tiny

FRANCE = "Paris is the [MASK] of France."
TUNED = Options(lens="tuned", words="capital, paris", top=10)


@pytest.fixture(scope="module")
def tuned(mini: Checkpoint) -> Layers:
    return layers.run(mini, FRANCE, options=TUNED)


@pytest.mark.slow
def test_the_tuned_lens_is_better_than_the_raw_one_at_every_layer_of_mini(tuned: Layers) -> None:
    result = tuned.tuned
    assert result is not None and result.worse == ()
    assert all(new < 0.75 * old for old, new in zip(result.raw, result.tuned, strict=True)), (result.raw, result.tuned)
    assert result.positions > 600 and 150 < result.held_out < result.positions / 2


@pytest.mark.slow
def test_the_last_layer_is_untouched(tuned: Layers, mini: Checkpoint) -> None:
    raw = layers.run(mini, FRANCE, options=replace(TUNED, lens="raw"))
    assert raw.tuned is None and tuned.layers[-1] == raw.layers[-1]
    assert all(one.candidates != other.candidates for one, other in zip(tuned.layers[:-1], raw.layers, strict=False))


@pytest.mark.slow
def test_rows_hold_both_lenses(tuned: Layers, mini: Checkpoint) -> None:
    rows, raw = layers.rows(tuned), layers.rows(layers.run(mini, FRANCE, options=replace(TUNED, lens="raw")))
    assert tuned.tuned is not None and [tuple(row) for row in rows] == [tuple(row) for row in raw]
    assert {row["lens"] for row in rows} == {"tuned"} and {row["held_out_kl_raw_bits"] for row in raw} == {None}
    third = next(row for row in rows if row["layer"] == 3)
    held_out = (third["held_out_kl_raw_bits"], third["held_out_kl_tuned_bits"])
    assert held_out == (tuned.tuned.raw[3], tuned.tuned.tuned[3])
    assert rows[-1]["layer"] == 6 and rows[-1]["held_out_kl_tuned_bits"] == 0


@pytest.mark.slow
def test_the_lens_of_mini_is_the_one_that_a_fit_gives(mini: Checkpoint) -> None:
    shipped, fitted = engine.read_tuned_lens(mini), tuned_lens.fit_on_samples(mini)
    assert shipped is not None and (shipped.positions, shipped.held_out) == (fitted.positions, fitted.held_out)
    assert fitted.tuned == pytest.approx(shipped.tuned, rel=0.01), "run python -m bench.tuned_lens"
    states = torch.randn(50, mini.config.hidden_size, generator=torch.Generator().manual_seed(0))
    for layer in range(mini.config.num_layers):
        first, second = (lens.translate(layer, states) for lens in (shipped, fitted))
        assert torch.cosine_similarity(first, second).min() > 0.999


def test_a_lens_is_read_only_beside_the_weights_that_it_was_fitted_to(
    bundled: Path, small: Checkpoint, tiny: Tiny, tmp_path: Path
) -> None:
    assert engine.read_tuned_lens(load(bundled, device="cpu")) is not None
    assert engine.read_tuned_lens(small) is None
    folder = Path(shutil.copytree(tiny("bert-mlm"), tmp_path / "own"))
    checkpoint = load(folder, device="cpu")
    lens = tuned_lens.fit_on_samples(checkpoint)
    save_tuned_lens(lens, checkpoint, folder)
    found = engine.read_tuned_lens(checkpoint)
    assert found is not None and found.tuned == lens.tuned
    torch.testing.assert_close(found.weights, lens.weights, rtol=2**-10, atol=1e-6)  # stored in fp16
    (folder / FILE).write_bytes((bundled / FILE).read_bytes())
    assert engine.read_tuned_lens(checkpoint) is None, "it belongs to mini"
    (folder / FILE).write_bytes(b"no lens")
    assert engine.read_tuned_lens(checkpoint) is None
    save_tuned_lens(replace(lens, weights=torch.zeros(1000, 40, 40), biases=torch.zeros(1000, 40)), checkpoint, folder)
    assert engine.read_tuned_lens(checkpoint) is None, "its tensors are not those of the checkpoint"
    save_tuned_lens(replace(lens, raw=(0.0,)), checkpoint, folder)
    assert engine.read_tuned_lens(checkpoint) is None, "a number for each layer is missing"


def test_worse_layers_are_named() -> None:
    assert Tuned(10, 5, (2.0, 1.0, 0.5), (1.0, 1.1, 0.5)).worse == (1,)


def test_the_lens_is_fitted_once(small: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    first = tuned_lens.cached_lens(small)
    monkeypatch.setattr(tuned_lens, "fit_on_samples", lambda _: pytest.fail("fitted again"))
    assert tuned_lens.cached_lens(small) is first


def test_a_caller_that_stops_does_not_stop_waiting_callers(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, begun, go, work = load(tiny("bert-mlm"), device="cpu"), threading.Event(), threading.Event(), Work()
    real, calls, result = engine.fit_tuned_lens, [], []

    def fit(*given: object) -> object:
        calls.append(1)
        if len(calls) == 1:
            begun.set()
            go.wait(20)
            work.stopped = True
        return real(*given)

    def ask(mine: Work | None) -> None:
        with working(mine):
            try:
                result.append(tuned_lens.cached_lens(checkpoint))
            except Stopped as error:
                result.append(error)

    monkeypatch.setattr(engine, "fit_tuned_lens", fit, raising=False)
    threads = [threading.Thread(target=ask, args=(mine,)) for mine in (work, None)]
    threads[0].start()
    assert begun.wait(20)
    threads[1].start()
    go.set()
    for thread in threads:
        thread.join(60)
    assert sorted(type(item).__name__ for item in result) == ["Stopped", "TunedLens"] and len(calls) == 2


def test_a_caller_that_waits_shows_the_progress_of_the_fit(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, half_done, go = load(tiny("bert-mlm"), device="cpu"), threading.Event(), threading.Event()
    queues = RequestQueues(cores=8)
    first, second, third = queues.new_work(), queues.new_work(), queues.new_work()

    def fit(*given: object) -> engine.TunedLens:
        progress.report(0, 20_000)
        progress.report(10_000, 20_000)
        half_done.set()
        go.wait(20)
        return engine.TunedLens(torch.zeros(1, 2, 2), torch.zeros(1, 2), 1, 1, (0.0,), (0.0,), 0.0)

    def ask(work: Work) -> object:
        with queues.turn(work):
            return tuned_lens.cached_lens(checkpoint)

    monkeypatch.setattr(tuned_lens, "fit_on_samples", fit)
    with ThreadPoolExecutor(3) as threads:
        answers = [threads.submit(ask, first)]
        assert half_done.wait(20)
        answers += [threads.submit(ask, work) for work in (second, third)]
        end = time.monotonic() + 20
        while not queues.progress(third) and time.monotonic() < end:
            time.sleep(0.01)
        seen = [queues.progress(work) for work in (first, second, third)]
        queues.stop(second)
        with pytest.raises(Stopped):
            answers[1].result(20)
        go.set()
        assert answers[0].result(20) is answers[2].result(20)
    assert [each["done"] for each in seen] == [0.5, 0.5, 0.5] and all(each["seconds"] >= 1 for each in seen)


def test_held_out_sentences_are_not_fitted(small: Checkpoint) -> None:
    encodings, held_out = tuned_lens.masked_sentences(small, tuned_lens.POSITIONS)
    sides = [
        {sentence.texts[0] for sentence, out in zip(encodings, held_out, strict=True) if out is side}
        for side in (True, False)
    ]
    assert sides[0] and sides[1] and not sides[0] & sides[1]
    assert sum(len(sentence.masked) for sentence in tuned_lens.masked_sentences(small, 50)[0]) in range(50, 60)
    assert tuned_lens.masked_sentences(small, 50)[0] == encodings[: len(tuned_lens.masked_sentences(small, 50)[0])]


def test_words_of_a_group_stay_together() -> None:
    groups = tuned_lens.sentence_groups()
    assert len({line for group in groups for line in group}) == sum(map(len, groups)) > 500
    (walk,) = [group for group in groups if "That walk took an hour." in group]
    assert "They walk to the lake on Sundays." in walk and groups == tuned_lens.sentence_groups()


def test_progress_counts_to_the_end(tiny: Tiny, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint, work = load(tiny("bert-mlm"), precision="fp32", device="cpu"), Work()
    with working(work):
        tuned_lens.cached_lens(checkpoint)
    assert work.long and work.done == work.total > 0
    reports, checkpoint = [], load(tiny("bert-mlm"), precision="fp32", device="cpu")
    monkeypatch.setattr(Work, "report", lambda work, done, total: reports.append(done / total))
    with working(Work()):
        tuned_lens.cached_lens(checkpoint)
    fit = reports[reports.index(0, 1) :]  # after the passes
    assert max(after - before for before, after in pairwise(fit)) < 0.15, "nothing that takes long goes unreported"
    fitted = engine.fit_tuned_lens(checkpoint, *tuned_lens.masked_sentences(checkpoint, 300))
    steps = EPOCHS * fitted.positions * checkpoint.config.num_layers
    assert work.total > steps + FULL * fitted.positions, "the head with the whole vocabulary counts, too"
    with working(Work(limit=100)), pytest.raises(ExplorerError, match="limit is 100"):
        tuned_lens.fit_on_samples(checkpoint)


def test_unsupported_checkpoints_are_rejected(tiny: Tiny) -> None:
    for name, message in (
        ("bert-base", "no fill-mask head"),
        ("electra-discriminator", "Use the raw lens"),
        ("bert-SequenceClassification", "Use the raw lens"),
    ):
        checkpoint = load(tiny(name), precision="fp32", device="cpu")
        with pytest.raises(ExplorerError, match=message):
            layers.run(checkpoint, "The film is great." if "Seq" in name else FRANCE, options=Options(lens="tuned"))

"""The key-value cache does not change the result; beam search against all targets and against a plain loop."""

from pathlib import Path

import pytest
import torch

from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.forward import Intervention
from bertexplorer.model.load import load
from bertexplorer.training.generate import (
    CAUSAL,
    NextTokenPredictor,
    beam_score,
    beam_search,
    continue_text,
    forward_cached,
    sampling_distribution,
)
from tests.tolerance import assert_same, assert_within, of_encoder, of_sum

FAMILIES = ["bert", "roberta", "electra-generator", "distilbert", "albert", "mpnet", "deberta", "modernbert"]


@pytest.fixture(scope="module", params=FAMILIES)
def checkpoint(request: pytest.FixtureRequest, tiny) -> Checkpoint:
    return load(tiny(request.param), precision="fp32", device="cpu")


@pytest.fixture(scope="module")
def bert(tiny) -> Checkpoint:
    return load(tiny("bert"), precision="fp32", device="cpu")


@pytest.fixture(autouse=True)
def no_gradients():
    with torch.no_grad():
        yield


def full_pass(checkpoint: Checkpoint, source: list[int], target: list[int]) -> torch.Tensor:
    """Log probabilities at every position from one pass under the prefix mask (no source: a causal one)."""
    segments = torch.tensor([[0] * len(source) + [int(bool(source))] * len(target)])
    change = Intervention(prefix=torch.tensor([len(source)]))
    given = segments if checkpoint.config.num_segments > 1 else None
    last = checkpoint.encoder(torch.tensor([source + target]), given, intervention=change).last
    return NextTokenPredictor(checkpoint).next_log_probs(last[0])


@pytest.mark.parametrize("source", [0, 11])
def test_cached_passes_equal_one_full_pass(checkpoint: Checkpoint, source: int) -> None:
    """In one, two and ten passes; ModernBERT's local layers see only 4 tokens back."""
    ids = torch.randint(5, checkpoint.config.vocab_size, (3, 24), generator=torch.Generator().manual_seed(0))
    segments = (torch.arange(24) >= source).long().expand(3, 24) if source else torch.zeros(3, 24, dtype=torch.long)
    given = segments if checkpoint.config.num_segments > 1 else None
    change = Intervention(prefix=torch.full((3,), source))
    wanted = checkpoint.encoder(ids, given, intervention=change).last
    first, memory = forward_cached(checkpoint.encoder, ids[:, :11], 0, Intervention(prefix=torch.full((3,), source)))
    result = [first]
    for start, end in ((11, 14), *((i, i + 1) for i in range(14, 24))):
        last, memory = forward_cached(checkpoint.encoder, ids[:, start:end], int(bool(source)), CAUSAL, memory)
        result.append(last)
    assert_same(checkpoint.config, torch.cat(result, 1), wanted)


def test_rows_of_the_cache_equal_separate_passes(checkpoint: Checkpoint) -> None:
    ids = torch.randint(5, checkpoint.config.vocab_size, (3, 9), generator=torch.Generator().manual_seed(1))
    _, memory = forward_cached(checkpoint.encoder, ids[:, :8], 0, CAUSAL)
    some, _ = forward_cached(checkpoint.encoder, ids[[2, 0, 2], 8:], 0, CAUSAL, memory.rows(torch.tensor([2, 0, 2])))
    alone, _ = forward_cached(checkpoint.encoder, ids[[2, 0, 2]], 0, CAUSAL)
    assert_same(checkpoint.config, some[:, -1], alone[:, -1])


def test_special_tokens_have_probability_0_and_the_others_sum_to_1(checkpoint: Checkpoint) -> None:
    writer = NextTokenPredictor(checkpoint)
    chances = writer.next_log_probs(torch.randn(4, checkpoint.config.hidden_size)).exp()
    assert_within(chances.sum(-1), torch.ones(4), of_sum(chances.shape[-1], 10.0))
    special = checkpoint.tokenizer.special_ids - {writer.end}
    assert float(chances[:, sorted(special)].max()) == 0 < float(chances[:, writer.end].min())


def test_the_beams_are_the_best_of_all_possible_targets(bert: Checkpoint) -> None:
    """A wide enough search is exhaustive: every target of up to two tokens, scored by full passes."""
    writer, source = NextTokenPredictor(bert), [2, 10, 11, 12, 3]
    first = full_pass(bert, source, [])[-1]
    every = {(): (float(first[writer.end]), 1, True)}
    for a in torch.isfinite(first).nonzero().flatten().tolist():
        if a != writer.end:
            second = float(first[a]) + full_pass(bert, source, [a])[-1]
            every |= {(a, b): (float(second[b]), 2, False) for b in range(len(second)) if b != writer.end}
            every[(a,)] = float(second[writer.end]), 2, True
    allowed = 2 * of_encoder(bert.config, 10.0)  # of two log-probabilities; the relative error of their product too
    for penalty in (0.0, 1.0):
        [beams] = beam_search(writer, [source], beams=20_000, max_tokens=2, penalty=penalty)
        wanted = sorted(((beam_score(p, n, penalty), ids) for ids, (p, n, _) in every.items()), reverse=True)[:50]
        assert [beam.ids for beam in beams[:50]] == [ids for _, ids in wanted]
        for beam, (value, ids) in zip(beams, wanted, strict=False):
            assert abs(beam.score - value) < allowed and beam.ended == every[ids][2]
    assert abs(sum(torch.tensor(b.log_prob).exp() for b in beams) - 1) < allowed + of_sum(len(beams))


def plain_search(bert: Checkpoint, source: list[int], beams: int, most: int, penalty: float) -> list[tuple]:
    """The same search without a cache: one full pass for each hypothesis."""
    writer, open_, result = NextTokenPredictor(bert), [([], 0.0)], []
    for tokens in range(1, most + 1):
        candidates = []
        for ids, total in open_:
            logs = full_pass(bert, source, ids)[-1]
            candidates += [(total + float(logs[t]), ids, t) for t in range(len(logs))]
        candidates.sort(key=lambda c: -c[0])
        for total, ids, token in candidates[:beams]:
            if token == writer.end:
                result.append((ids, total, beam_score(total, tokens, penalty)))
            elif tokens == most:
                result.append(([*ids, token], total, beam_score(total, tokens, penalty)))
        if len(result) >= beams:
            break
        open_ = [([*ids, t], total) for total, ids, t in candidates if t != writer.end][:beams]
    return sorted(result, key=lambda f: -f[2])[:beams]


@pytest.mark.parametrize("beams", [1, 3])
def test_beam_search_equals_a_plain_loop_for_each_row(checkpoint: Checkpoint, beams: int) -> None:
    end = NextTokenPredictor(checkpoint).end
    checkpoint.masked_lm.output.bias[end] += 4.0  # so that some end
    sources = [[5, 6, 7, end], [8, 9, 10, end], [11, 12, 13, 14, 15, end], [5, 6, end]]
    try:
        result = beam_search(NextTokenPredictor(checkpoint), sources, beams=beams, max_tokens=6, penalty=0.6)
        for source, ours in zip(sources, result, strict=True):
            wanted = plain_search(checkpoint, source, beams, 6, 0.6)
            assert [list(beam.ids) for beam in ours] == [ids for ids, _, _ in wanted]
            for beam, (_, total, value) in zip(ours, wanted, strict=True):
                allowed = 6 * of_encoder(checkpoint.config, 10.0)  # six log-probabilities
                assert abs(beam.log_prob - total) < allowed and abs(beam.score - value) < allowed
    finally:
        checkpoint.masked_lm.output.bias[end] -= 4.0


def test_greedy_search_takes_the_likeliest_token(bert: Checkpoint) -> None:
    prompt, ids = [2, 10, 11], []
    result = continue_text(NextTokenPredictor(bert), prompt, 8)
    for share in result.shares:
        logs = full_pass(bert, [], prompt + ids)[-1]
        ids.append(int(logs.argmax()))
        assert abs(share - float(logs.max().exp())) < of_encoder(bert.config, logs[logs.isfinite()])
    assert list(result.ids) == ids
    assert_within(result.first, full_pass(bert, [], prompt)[-1].exp(), of_encoder(bert.config))
    assert result.ended == (int(full_pass(bert, [], prompt + ids)[-1].argmax()) == NextTokenPredictor(bert).end)


def test_sampling_follows_the_seed_and_the_k_likeliest(bert: Checkpoint) -> None:
    writer = NextTokenPredictor(bert)
    one, same, other = (continue_text(writer, [2, 9], 12, temperature=1.5, seed=s).ids for s in (0, 0, 1))
    assert one == same != other
    assert (
        continue_text(writer, [2, 9], 12, temperature=1.0, top_k=1, seed=5).ids == continue_text(writer, [2, 9], 12).ids
    )
    logs = torch.tensor([0.5, 0.3, 0.2]).log()
    assert_within(sampling_distribution(logs, 0.5, 2), torch.tensor([0.25, 0.09, 0.0]) / 0.34, of_sum(3, sums=4))


def test_generation_stops_at_the_end_token(bert: Checkpoint, tmp_path: Path) -> None:
    writer = NextTokenPredictor(bert)
    bert.masked_lm.output.bias[writer.end] += 1e3
    try:
        result = continue_text(writer, [2, 9], 5)
        assert result.ids == () and result.ended
        [[beam]] = beam_search(writer, [[2, 9, 3]], beams=1, max_tokens=5, penalty=1.0)
        assert beam.ids == () and beam.ended and abs(beam.log_prob) < 1e-6  # the others have exp(-1000), which is 0
    finally:
        bert.masked_lm.output.bias[writer.end] -= 1e3

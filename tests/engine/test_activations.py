"""A text takes one pass for any results in any order; they equal those of separate passes."""

import threading
import time

import pytest
import torch

from bertexplorer.engine import (
    attentions,
    forward,
    head_outputs,
    hidden_states,
    layer_log_probs,
    masked_log_probs,
    value_norms as engine_value_norms,
)
from bertexplorer.model.cache import LRUCache
from bertexplorer.model.encoder import Encoder
from bertexplorer.model.load import load
from bertexplorer.model.text import Text
from bertexplorer.views.fill_mask import compute as fill_mask
from bertexplorer.views.layers import compute as layers
from bertexplorer.views.next_sentence import compute as next_sentence
from bertexplorer.views.tokenization import compute as tokenization
from tests.engine.conftest import Twin, make_twin
from tests.tolerance import assert_same, of_encoder


class Count:
    """How often an encoder runs from the first layer on, and from a later one."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.whole = self.late = 0
        run = Encoder.from_embeddings

        def counted(encoder: Encoder, *given: object, **named: object) -> object:
            self.late += bool(named.get("first_layer"))
            self.whole += not named.get("first_layer")
            return run(encoder, *given, **named)  # type: ignore[arg-type]

        monkeypatch.setattr(Encoder, "from_embeddings", counted)


def test_results_derived_from_a_pass_are_those_of_transformers(twin: Twin) -> None:
    for encoding in twin.encodings:
        with torch.no_grad():
            out = twin.theirs(torch.tensor([encoding.ids]), output_hidden_states=True, output_attentions=True)
        assert_same(twin.ours.config, attentions(twin.ours, encoding), torch.cat(out.attentions))
        result, theirs = hidden_states(twin.ours, encoding), torch.cat(out.hidden_states)
        assert_same(twin.ours.config, result, theirs)


def test_head_outputs_and_norms_are_those_of_the_formula(twin: Twin) -> None:
    encoding, ours = twin.encodings[0], twin.ours
    ran = forward(ours, [encoding], attention=True, head_outputs=True)
    assert_same(ours.config, head_outputs(ours, encoding), torch.cat(ran.head_outputs))
    result = engine_value_norms(ours, encoding)
    size = ours.config.head_size
    for at, layer in enumerate(ours.encoder.layers):
        x = layer.attention_norm(ran.hidden[at][0]) if layer.pre else ran.hidden[at][0]
        for head in range(ours.config.num_heads):
            columns = slice(head * size, (head + 1) * size)
            weight, bias = layer.attention.value.weight[columns], layer.attention.value.bias
            value = x @ weight.T + (0 if bias is None else bias[columns])
            for i in range(len(encoding)):
                for j in range(len(encoding)):
                    given = ran.attention[at][0, head, i, j] * (layer.attention.output.weight[:, columns] @ value[j])
                    assert result[at, head, i, j] == pytest.approx(
                        float(given.norm()), abs=of_encoder(ours.config, given)
                    )


def test_a_second_question_about_a_text_starts_no_pass(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = make_twin(twin.name, twin.ours.folder).ours  # with nothing remembered
    encoding, count = ours.tokenizer.encode("The capital of france is [MASK]."), Count(monkeypatch)
    first = next(masked_log_probs(ours, [encoding]))
    assert (count.whole, count.late) == (1, 0)
    layer_log_probs(ours, encoding, encoding.masked)
    attentions(ours, encoding)
    head_outputs(ours, encoding)
    assert (count.whole, count.late) == (1, 0)
    whole = hidden_states(ours, encoding)  # the last layer at the other tokens too
    assert (count.whole, count.late) == (1, 1)
    repeated = next(masked_log_probs(ours, [encoding]))
    assert_same(ours.config, repeated, first)
    assert_same(ours.config, whole[-1:], forward(ours, [encoding, encoding]).last[:1].float())
    hidden_states(ours, ours.tokenizer.encode("The capital of england is [MASK]."))
    assert (count.whole, count.late) == (3, 1)  # one by the line above


def test_views_of_one_text_share_one_pass(bundled, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    mini, count = load(bundled, name="mini", precision="fp32", device="cpu"), Count(monkeypatch)
    text = Text("The man went to the [MASK].", "He bought milk.")
    for view in (fill_mask, layers, tokenization):
        view.run(mini, text)
    assert (count.whole, count.late) == (1, 0)
    next_sentence.run(mini, text)  # (A, B) and (B, A) go through the encoder together
    assert count.whole == 2


def test_changed_passes_are_never_cached(twin: Twin) -> None:
    encoding = twin.encodings[0]
    plain = next(masked_log_probs(twin.ours, [encoding]))
    causal = next(masked_log_probs(twin.ours, [encoding], causal=True))
    assert (plain - causal).abs().max() > 1e-3
    assert torch.equal(next(masked_log_probs(twin.ours, [encoding])), plain)


def test_the_cache_keeps_its_limit_and_drops_the_oldest() -> None:
    cache = LRUCache(limit=100)
    for key in "abcd":
        cache.get(key, lambda key=key: key.upper(), lambda value: 30)
        cache.get("a", lambda: pytest.fail("made twice"), len)
    assert list(cache.entries) == ["c", "d", "a"] and cache.num_bytes == 90
    cache.get("huge", lambda: "x", lambda value: 101)
    assert cache.num_bytes <= 100 and "huge" not in cache.entries


def test_simultaneous_callers_share_one_computation() -> None:
    cache, computed, result = LRUCache(), [], []

    def make() -> int:
        computed.append(1)
        time.sleep(0.05)
        return 7

    threads = [threading.Thread(target=lambda: result.append(cache.get("k", make, lambda v: 1))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == [7] * 8 and len(computed) == 1


def test_an_error_is_raised_and_not_cached() -> None:
    cache = LRUCache()
    with pytest.raises(ZeroDivisionError):
        cache.get("k", lambda: 1 // 0, lambda v: 1)
    assert cache.get("k", lambda: 5, lambda v: 1) == 5

"""Attribution: gradients are captum's on transformers' model; occlusion, LIME and attention follow from it by hand."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from captum.attr import IntegratedGradients, LayerGradientXActivation, LayerIntegratedGradients

from bertexplorer import engine
from bertexplorer.answers import attribution
from bertexplorer.answers.attribution import METHODS, Baseline, Method
from bertexplorer.answers.question import ClassRow, Question
from bertexplorer.answers.readout import MaskReadout
from bertexplorer.answers.word_merging import units
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.config import EncoderConfig
from bertexplorer.model.load import load
from bertexplorer.model.text import Encoding, Text
from bertexplorer.views.referee import compute as referee
from bertexplorer.views.saliency import compute as saliency
from bertexplorer.views.saliency.compute import Options, Saliency
from tests.conftest import Tiny
from tests.tolerance import assert_within, of_encoder, of_gradient
from tests.views.conftest import LOGITS, MINI, refer

FAMILIES = ("bert-mlm", "bert-untied", "roberta", "electra-generator", "distilbert", "modernbert")
SENTENCE = "the capital of <mask> is good ."
PAIR = Text("the man said it works .", "she is in london .")
STEPS = 12


class Twin:
    """One tiny family, loaded here as the page loads it and by transformers, with a mask in a sentence."""

    def __init__(self, folder: Path, precision: str = "fp32") -> None:
        self.ours = load(folder, name=folder.name, precision=precision, device="cpu", frozen=True)  # type: ignore[arg-type]
        self.reference = refer(folder)
        self.encoding = self.ours.tokenizer.encode(SENTENCE)
        self.ids = torch.tensor([self.encoding.ids])
        (self.spot,) = self.encoding.masked
        self.token = int(self.reference.log_probs(self.encoding.ids)[self.spot].argmax())
        odd = self.ours.tokenizer.special_ids
        self.words = [i for i, token in enumerate(self.encoding.ids) if token not in odd]

    def run(self, method: str, **options: object) -> Saliency:
        return saliency.run(self.ours, SENTENCE, options=Options(method=method, merge=False, **options))

    def scores(self, method: str, **options: object) -> np.ndarray:
        (result,) = self.run(method, **options).attributions
        return result.scores

    def log_prob(self, ids: torch.Tensor) -> torch.Tensor:
        """What is explained, by transformers, for each row of *ids*."""
        return self.reference.model(input_ids=ids).logits[:, self.spot].log_softmax(-1)[:, self.token]

    def log_prob_of_vectors(self, vectors: torch.Tensor) -> torch.Tensor:
        logits = self.reference.model(inputs_embeds=vectors).logits
        return logits[:, self.spot].log_softmax(-1)[:, self.token]

    def whole_words(self) -> list[list[int]]:
        """The positions of each word, by the tokenizer's own count."""
        count = self.encoding.words
        return [[i for i in self.words if count[i] == word] for word in dict.fromkeys(count[i] for i in self.words)]

    def without(self, *positions: int) -> float:
        return self.without_each([positions])[0]

    def without_each(self, hidden: Sequence[Sequence[int]]) -> list[float]:
        """What is explained with each of the sets of positions *hidden*; many texts a pass."""
        ids = self.ids.repeat(len(hidden), 1)
        for row, positions in zip(ids, hidden, strict=True):
            row[list(positions)] = self.encoding.mask_id
        with torch.no_grad():
            return torch.cat([self.log_prob(part) for part in ids.split(128)]).tolist()


@pytest.fixture(scope="module", params=FAMILIES)
def twin(request: pytest.FixtureRequest, tiny: Tiny) -> Twin:
    return Twin(tiny(request.param))


def close(config: EncoderConfig, found: np.ndarray, wanted: np.ndarray) -> None:
    """The scores of the words are differences and slopes of log-probabilities, whose size is that of logits."""
    assert_within(found, wanted, of_gradient(config, LOGITS))


@pytest.mark.parametrize("baseline", ["[MASK]", "[PAD]", "zero"])
def test_integrated_gradients_equal_those_of_captum(twin: Twin, baseline: Baseline) -> None:
    layer = twin.reference.model.get_input_embeddings()
    start = twin.ids.clone()
    start[0, twin.words] = {"[PAD]": twin.ours.tokenizer.pad_id}.get(baseline, twin.encoding.mask_id)
    if baseline == "zero":
        vectors, low = layer(twin.ids).detach(), layer(twin.ids).detach().clone()
        low[0, twin.words] = 0
        wanted = IntegratedGradients(twin.log_prob_of_vectors).attribute(vectors, low, n_steps=STEPS)
        rise = twin.log_prob_of_vectors(vectors) - twin.log_prob_of_vectors(low)
    else:
        method = LayerIntegratedGradients(twin.log_prob, layer)
        wanted = method.attribute(twin.ids, baselines=start, n_steps=STEPS, method="gausslegendre")
        rise = twin.log_prob_of_vectors(layer(twin.ids)) - twin.log_prob_of_vectors(layer(start))
    (result,) = twin.run("integrated gradients", baseline=baseline, steps=STEPS).attributions
    close(twin.ours.config, result.scores, wanted[0].sum(-1).detach().double().numpy())
    assert result.completeness is not None and result.completeness.steps == STEPS
    assert result.completeness.rise == pytest.approx(float(rise.detach()), abs=of_encoder(twin.ours.config, LOGITS))
    gap = float(result.scores.sum()) - float(rise.detach())
    assert result.completeness.error == pytest.approx(gap, abs=of_encoder(twin.ours.config, LOGITS))
    assert set(np.flatnonzero(result.scores)) <= set(twin.words)


def test_gradient_x_input_equals_that_of_captum(twin: Twin) -> None:
    layer = twin.reference.model.get_input_embeddings()
    wanted = LayerGradientXActivation(twin.log_prob, layer).attribute(twin.ids)
    close(twin.ours.config, twin.scores("gradient x input"), wanted[0].sum(-1).detach().double().numpy())


def test_occlusion_equals_a_loop_by_hand(twin: Twin) -> None:
    whole = twin.without()
    close(
        twin.ours.config,
        twin.scores("occlusion"),
        np.array([whole - twin.without(i) for i in range(len(twin.encoding))]),
    )


def test_occlusion_hides_a_word_with_all_its_pieces(twin: Twin) -> None:
    result = saliency.run(twin.ours, SENTENCE, options=Options(method="occlusion"))
    found = [result.attributions[0].scores[unit_of(result, word)] for word in twin.whole_words()]
    close(twin.ours.config, np.array(found), np.array([twin.without() - twin.without(*w) for w in twin.whole_words()]))


def unit_of(result: Saliency, word: list[int]) -> int:
    return [list(unit.positions) for unit in result.units].index(word)


def test_the_players_of_shap_are_words(twin: Twin) -> None:
    """Shapley's formula over the words, each hidden with all its pieces."""
    words = twin.whole_words()
    count = len(words)
    value = {
        shown: twin.without(*(p for i in range(count) if i not in shown for p in words[i]))
        for size in range(count + 1)
        for shown in itertools.combinations(range(count), size)
    }
    wanted = np.zeros(count)
    for shown, before in value.items():
        for i in set(range(count)) - set(shown):
            gain = value[tuple(sorted((*shown, i)))] - before
            wanted[i] += gain / (count * math.comb(count - 1, len(shown)))
    result = saliency.run(twin.ours, SENTENCE, options=Options(method="SHAP", samples=2**count))
    [attribution] = result.attributions
    assert attribution.exact and attribution.samples == 2**count and attribution.errors is None
    close(twin.ours.config, np.array([attribution.scores[unit_of(result, word)] for word in words]), wanted)


@pytest.mark.parametrize("parts", [12, 20, 30, 60])
def test_an_estimate_by_shap_says_its_error(parts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over many seeds, the misses are not larger than the standard errors say, nor half as large, and most scores are
    within two of them."""
    random = np.random.default_rng(1)
    alone, together = random.normal(size=parts), np.triu(random.normal(size=(parts, parts)), 1) / 4
    exact = alone + (together.sum(axis=0) + together.sum(axis=1)) / 2
    third = random.permutation(parts)[:9].reshape(3, 3)  # three words that count only together, so size 3 matters
    exact[third] += 1 / 3
    misses, errors = [], []
    for seed in range(20):
        monkeypatch.setattr(attribution, "SEED", seed)
        kept, weights, fixed = attribution.coalitions(parts, 200)
        gains = kept @ alone + np.einsum("ni,ij,nj->n", kept, together, kept) + kept[:, third].all(axis=2).sum(axis=1)
        misses.append(attribution.shapley(kept, gains, weights, exact.sum()) - exact)
        errors.append(attribution.shapley_errors(kept, gains, weights, exact.sum(), fixed))
    ratio = np.sqrt(np.square(misses).mean() / np.square(errors).mean())
    assert 0.5 < ratio < 1.15
    assert (np.abs(misses) < 2 * np.array(errors)).mean() > 0.88


def test_too_few_random_texts_give_no_error() -> None:
    kept, weights, fixed = attribution.coalitions(99, 200)
    assert np.isnan(attribution.shapley_errors(kept, kept.sum(axis=1).astype(float), weights, 99.0, fixed)).all()
    kept, weights, fixed = attribution.coalitions(5, 50)
    assert not attribution.shapley_errors(kept, kept.sum(axis=1).astype(float), weights, 5.0, fixed).any(), "exact"


def test_occlusion_of_a_long_text_shares_the_drop_of_a_group(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribution, "PASS_TOKENS", 0)
    monkeypatch.setitem(attribution.FEWEST, "groups", 3)
    positions = [i for i in range(len(twin.encoding)) if i != twin.spot]
    wanted = np.zeros(len(twin.encoding))
    for group in np.array_split(positions, range(-(-len(positions) // 3), len(positions), -(-len(positions) // 3))):
        wanted[group] = (twin.without() - twin.without(*group)) / len(group)
    close(twin.ours.config, twin.scores("occlusion"), wanted)


def test_lime_equals_a_least_squares_fit_by_hand(twin: Twin) -> None:
    """The same samples; the ridge as least squares with a row for each penalty."""
    shown = attribution.random_subsets(len(twin.words), 60)
    values = [twin.without(*(w for w, visible in zip(twin.words, row, strict=True) if not visible)) for row in shown]
    weights = [np.exp(-((100 * (1 - np.sqrt(row.mean())) / 25) ** 2)) ** 0.5 for row in shown]
    left = np.hstack([shown, np.ones((60, 1))]) * np.sqrt(weights)[:, None]
    penalty = np.eye(len(twin.words), len(twin.words) + 1)
    right = np.concatenate([np.array(values) * np.sqrt(weights), np.zeros(len(twin.words))])
    wanted, *_ = np.linalg.lstsq(np.vstack([left, penalty]), right, rcond=None)
    (result,) = twin.run("LIME", samples=60).attributions
    close(twin.ours.config, result.scores[twin.words], wanted[:-1])
    assert set(np.flatnonzero(result.scores)) <= set(twin.words) and result.samples == 60


def test_shapley_values_equal_the_mean_over_all_subsets_by_hand(twin: Twin) -> None:
    """Shapley's formula: what a token adds to each set of others, weighted by how many orders show that set first."""
    words, count = twin.words, len(twin.words)
    subsets = [shown for size in range(count + 1) for shown in itertools.combinations(range(count), size)]
    hidden = [[words[i] for i in range(count) if i not in shown] for shown in subsets]
    value = dict(zip(subsets, twin.without_each(hidden), strict=True))
    wanted = [
        sum(
            (value[tuple(sorted((*shown, i)))] - v) / (count * math.comb(count - 1, len(shown)))
            for shown, v in value.items()
            if i not in shown
        )
        for i in range(count)
    ]
    (result,) = twin.run("SHAP", samples=2000).attributions
    close(twin.ours.config, result.scores[words], np.array(wanted))
    assert result.exact and result.samples == 2**count
    assert result.scores.sum() == pytest.approx(twin.without() - twin.without(*words), abs=1e-4)


def test_shapley_values_are_estimated_from_the_texts_that_weigh_most() -> None:
    """Twelve parts whose effects depend on each other, against all 4,096 subsets; totals are exact all the same."""
    parts, random = 12, np.random.default_rng(1)
    alone, together = random.normal(size=parts), np.triu(random.normal(size=(parts, parts)), 1) / 4
    kept, weights, _ = attribution.coalitions(parts, 200)
    gains = kept @ alone + np.einsum("ni,ij,nj->n", kept, together, kept)
    found = attribution.shapley(kept, gains, weights, alone.sum() + together.sum())
    exact = alone + (together.sum(axis=0) + together.sum(axis=1)) / 2  # a pair's effect is shared equally
    assert len(kept) == 200 and set(kept.sum(axis=1)) >= {1, 2, 10, 11}
    assert found.sum() == pytest.approx(exact.sum())
    assert found == pytest.approx(exact, abs=0.15 * np.abs(exact).max())
    every, all_weights, _ = attribution.coalitions(parts, 5000)
    gains = every @ alone + np.einsum("ni,ij,nj->n", every, together, every)
    assert len(every) == 2**parts - 2
    assert attribution.shapley(every, gains, all_weights, exact.sum()) == pytest.approx(exact)


@pytest.mark.parametrize(("parts", "samples"), [(126, 200), (40, 50), (99, 64)])
def test_few_samples_still_determine_every_score(parts: int, samples: int) -> None:
    """Each part adds its own number: any set of texts that determines the scores gives exactly these."""
    alone = np.random.default_rng(2).normal(size=parts)
    kept, weights, _ = attribution.coalitions(parts, samples)
    assert np.linalg.matrix_rank(kept[:, :-1] - kept[:, -1:].astype(float)) == parts - 1
    assert attribution.shapley(kept, kept @ alone, weights, alone.sum()) == pytest.approx(alone)


@pytest.mark.parametrize("tokens", [20, 64, 130, 257, 512, 1024])
def test_a_text_of_any_length_is_read_often_enough(tokens: int) -> None:
    parts = len(attribution.group_neighbours([(i,) for i in range(tokens - 3)], tokens))
    assert 2 * parts <= attribution.shap_samples(50, parts, tokens)


@pytest.mark.parametrize(("parts", "texts"), [(1, 0), (2, 2), (3, 6), (4, 14), (5, 30)])
def test_a_few_parts_have_every_combination_once(parts: int, texts: int) -> None:
    kept, weights, _ = attribution.coalitions(parts, 50)
    assert len(kept) == len(weights) == len({tuple(row) for row in kept}) == texts


def test_attention_and_rollout_equal_a_computation_by_hand(twin: Twin) -> None:
    with torch.no_grad():
        layers = twin.reference.model(input_ids=twin.ids, output_attentions=True).attentions
    means = [layer[0].mean(dim=0).double() for layer in layers]
    assert_within(twin.scores("attention"), means[-1][twin.spot].numpy(), of_encoder(twin.ours.config))
    rolled = torch.eye(len(twin.encoding), dtype=torch.float64)
    for mean in means:
        rolled = (mean / 2 + torch.eye(len(mean)) / 2) @ rolled
    assert_within(twin.scores("rollout"), rolled[twin.spot].numpy(), of_encoder(twin.ours.config))


def test_the_explained_number_and_its_answer_are_those_of_transformers(twin: Twin) -> None:
    result = twin.run("all", steps=4, samples=50)
    assert [results.method for results in result.attributions] == list(METHODS)
    assert result.value == pytest.approx(twin.without(), abs=of_encoder(twin.ours.config, LOGITS))
    assert result.probability == pytest.approx(np.exp(result.value))
    assert result.answer == twin.ours.tokenizer.show(twin.token) and result.position == twin.spot
    for method, results in zip(METHODS, result.attributions, strict=True):
        scores = twin.scores(method, steps=4, samples=50)
        assert_within(results.scores, scores, of_gradient(twin.ours.config, LOGITS))


@pytest.fixture(scope="module")
def pair(tiny: Tiny) -> tuple[Checkpoint, torch.nn.Module]:
    theirs = transformers.BertForNextSentencePrediction.from_pretrained(tiny("bert"), attn_implementation="eager")
    return load(tiny("bert"), name="pair", precision="fp32", device="cpu"), theirs.eval()


def test_next_sentence_attributions_equal_those_of_captum(pair: tuple[Checkpoint, torch.nn.Module]) -> None:
    ours, theirs = pair
    encoding = ours.tokenizer.encode(PAIR)
    ids, segments = torch.tensor([encoding.ids]), torch.tensor([encoding.segments])

    def gap(ids: torch.Tensor) -> torch.Tensor:
        logits = theirs(input_ids=ids, token_type_ids=segments.expand(len(ids), -1)).logits
        return logits[:, 0] - logits[:, 1]

    start = torch.where(torch.tensor([[s is None for s in encoding.spans]]), ids, encoding.mask_id)
    layer = theirs.get_input_embeddings()
    options = Options(method="all", target="next sentence", steps=STEPS, merge=False)
    result = saliency.run(ours, PAIR, options=options)
    scores = {results.method: results.scores for results in result.attributions}
    wanted = LayerIntegratedGradients(gap, layer).attribute(ids, start, n_steps=STEPS, method="gausslegendre")
    close(ours.config, scores["integrated gradients"], wanted[0].sum(-1).detach().double().numpy())
    wanted = LayerGradientXActivation(gap, layer).attribute(ids)
    close(ours.config, scores["gradient x input"], wanted[0].sum(-1).detach().double().numpy())
    with torch.no_grad():
        rows = ids.repeat(len(encoding), 1).fill_diagonal_(encoding.mask_id)
        close(ours.config, scores["occlusion"], (gap(ids) - gap(rows)).double().numpy())
        assert result.value == pytest.approx(float(gap(ids)), abs=of_encoder(ours.config, LOGITS))
    assert result.probability == pytest.approx(1 / (1 + np.exp(-result.value)))
    assert (result.answer, result.position, result.other_masks) == ("is next", 0, 0)


def test_gradients_of_a_bf16_checkpoint_are_those_in_fp32(bundled: Path, mini: Checkpoint) -> None:
    """Its weights are stored in bf16, so both hold the same numbers."""
    half = load(bundled, name="mini", precision="bf16", device="cpu")
    text, before = "Paris is the [MASK] of France.", next(half.encoder.parameters()).dtype
    for method in ("integrated gradients", "gradient x input"):
        a, b = (saliency.run(c, text, options=Options(method=method, steps=8)) for c in (half, mini))
        assert (a.precision, b.precision) == ("bf16", "fp32")
        assert_within(a.attributions[0].scores, b.attributions[0].scores, of_gradient(MINI, LOGITS))
    assert next(half.encoder.parameters()).dtype == before == torch.bfloat16


class Linear(MaskReadout):
    """A number to which each visible token adds its weight."""

    def __init__(self, question: Question, weights: np.ndarray) -> None:
        super().__init__(question.checkpoint)
        self.shown, self.weights = question.encoding.ids, weights

    def rows(self, encodings: Sequence[Encoding], positions: Sequence[int]) -> Iterator[ClassRow]:
        for encoding in encodings:
            visible = [a == b for a, b in zip(encoding.ids, self.shown, strict=True)]
            yield self.weights[visible].sum(keepdims=True)


@pytest.mark.parametrize("method", ["occlusion", "LIME", "SHAP"])
def test_a_linear_function_is_recovered(method: Method, mini: Checkpoint) -> None:
    question = saliency.ask_within_limit(mini, "The farmers cultivate the [MASK] to grow crops.", "mask", "")
    weights = np.arange(len(question.encoding)) - 4.0
    question = replace(question, readout=Linear(question, weights), index=0)
    words = units(mini, question.encoding)
    result = attribution.attribute(question, method, words, baseline="[MASK]", steps=4, samples=1000)
    spots = list(question.hideable)
    allowed = 0.2 if method == "LIME" else 1e-9  # of 1,000 draws; float64
    assert result.scores[spots] == pytest.approx(weights[spots], abs=allowed)


def test_lime_draws_subsets_of_every_size_equally_often() -> None:
    shown = attribution.random_subsets(5, 3000)
    assert shown[0].all() and not shown[1:].all(axis=1).any() and (shown == attribution.random_subsets(5, 3000)).all()
    shares = np.bincount(shown[1:].sum(axis=1), minlength=5) / 2999
    assert shares == pytest.approx([0.2] * 5, abs=0.03)  # four standard deviations of 3,000 draws
    assert attribution.sample_weight(1.0) == 1 and attribution.sample_weight(0.0) < 1e-3  # exp(-8)


def test_a_long_text_takes_fewer_steps(mini: Checkpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few steps if the scores then add up to their required sum within MISSED, otherwise more, and finally as many as
    requested."""
    text = "She put the milk in the [MASK] to keep it cold."
    monkeypatch.setattr(attribution, "LONG", 4)
    for steps in (*attribution.TRIES, saliency.Options().steps):
        result = saliency.run(mini, text).attributions[0].completeness
        assert result.steps == steps
        monkeypatch.setattr(attribution, "MISSED", abs(result.error / result.rise) / 2)


def test_each_text_is_read_once(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    """LIME, SHAP, occlusion and the referee's curves hide many of the same words."""
    read: list[tuple[int, ...]] = []
    original = engine.masked_log_probs

    def watched(checkpoint: Checkpoint, encodings: Sequence[Encoding], **more: Any) -> Any:
        read.extend(encoding.ids for encoding in encodings)
        return original(checkpoint, encodings, **more)

    monkeypatch.setattr(engine, "masked_log_probs", watched)
    referee.run(twin.ours, SENTENCE)
    assert len(read) - 1 == len(set(read))  # once more for the answer that is explained

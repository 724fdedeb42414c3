"""A run that compares two texts: its cosine is that of transformers, and every method explains it."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

from bertexplorer import engine
from bertexplorer.answers.readout import kind_of
from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint
from bertexplorer.model.load import load
from bertexplorer.model.sentence_encoder import SentenceEncoder
from bertexplorer.model.text import Text
from bertexplorer.views import difference
from bertexplorer.views.answer import compute as answer, show as figure
from bertexplorer.views.layers import compute as layers
from bertexplorer.views.referee import compute as referee, show as referee_figure
from bertexplorer.views.saliency import compute as saliency, show as saliency_figure
from bertexplorer.views.switchboard import compute as switchboard
from tests.conftest import Tiny
from tests.tiny import FAMILIES
from tests.tolerance import of_encoder
from tests.views.tuned import FILM, of_problem, tuned

PAIR = Text("the cat sat on the mat", "a dog in paris , she said .")


def compared(folder: Path, into: Path, pooling: str = "mean", task: str = "similarity") -> Checkpoint:
    """The checkpoint in *folder*, saved as our runs save it."""
    shutil.copytree(folder, into)
    described = {"options": {"pooling": pooling}, "low": 1.0, "high": 5.0, "max_tokens": 128}
    (into / "task.json").write_text(json.dumps({"task": task, "described": described}))
    return load(into, name="compares", precision="fp32", device="cpu")


def cosine(folder: Path, ids: Sequence[Sequence[int]], pooling: str) -> float:
    theirs = transformers.AutoModel.from_pretrained(folder, attn_implementation="eager").eval()
    with torch.no_grad():
        last = [theirs(torch.tensor([item])).last_hidden_state[0] for item in ids]
    return float(torch.cosine_similarity(*(item[0] if pooling == "cls" else item.mean(0) for item in last), dim=0))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("family", FAMILIES)
def test_the_cosine_is_that_of_transformers(family: str, pooling: str, tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = compared(tiny(family), tmp_path / "run", pooling)
    alone = [checkpoint.tokenizer.encode(side).ids for side in (PAIR.first, PAIR.second)]
    encoding = checkpoint.tokenizer.encode(PAIR)
    assert [tuple(encoding.ids[i] for i in side) for side in engine.text_positions(encoding)] == alone
    result = answer.run(checkpoint, PAIR)
    wanted = cosine(tiny(family), alone, pooling)
    close = of_encoder(checkpoint.config)
    assert result.kind == "similarity" and result.labels[0].value == pytest.approx(wanted, abs=close)
    assert result.score == pytest.approx(1 + 4 * max(0.0, wanted), abs=4 * close)
    assert [row["answer"] for row in answer.rows(result)] == ["cosine", "score"]
    assert f"cosine {wanted:.2f}"[:8] in figure.say(result) and figure.draw(result).panels


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_every_method_explains_the_cosine(pooling: str, tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = compared(tiny("bert"), tmp_path / "run", pooling)
    result = saliency.run(checkpoint, PAIR, options=saliency.Options(method="all", steps=64))
    value = answer.run(checkpoint, PAIR).labels[0].value
    assert result.target == "score" and result.value == pytest.approx(value, abs=1e-5) and np.isnan(result.probability)
    by = {attribution.method: attribution for attribution in result.attributions}
    path = by["integrated gradients"]
    assert path.completeness and path.scores.sum() == pytest.approx(path.completeness.rise, abs=2e-3)
    assert "of one text at a time" in saliency_figure.say(result)
    encoding = checkpoint.tokenizer.encode(PAIR)
    lost = []
    masked = [
        encoding.with_ids(dict.fromkeys(side[1:-1], encoding.mask_id)) for side in engine.text_positions(encoding)
    ]
    rises = value - engine.pair_cosines(checkpoint, masked, SentenceEncoder((pooling,))).double().numpy()
    assert path.completeness.rise == pytest.approx(rises.sum(), abs=1e-4)
    for i in range(len(encoding)):
        hidden = encoding.with_ids({i: encoding.mask_id})
        lost.append(value - float(engine.pair_cosines(checkpoint, [hidden], SentenceEncoder((pooling,)))[0]))
    np.testing.assert_allclose(by["occlusion"].scores, lost, atol=1e-5)
    for method in ("attention", "rollout"):
        assert by[method].scores.sum() == pytest.approx(1, abs=1e-5) and (by[method].scores >= 0).all()


def test_the_gradient_equals_a_difference_of_cosines(tiny: Tiny, tmp_path: Path) -> None:
    from bertexplorer.engine import gradients

    checkpoint = compared(tiny("bert"), tmp_path / "run")
    encoding = checkpoint.tokenizer.encode(PAIR)
    target = gradients.cosine_target(encoding, SentenceEncoder())
    words = gradients.word_vectors(checkpoint, encoding.ids)
    value, slope = gradients.path_gradient(
        checkpoint, encoding, target, words, words, words.new_ones(1), words.new_ones(1)
    )
    assert float(value) == pytest.approx(
        float(engine.pair_cosines(checkpoint, [encoding], SentenceEncoder())[0]), abs=1e-5
    )
    step = 1e-2 * torch.randn(words.shape, generator=torch.Generator().manual_seed(0))
    ends = gradients.path_values(checkpoint, encoding, target, words - step, words + step, torch.tensor([0.0, 1.0]))
    assert float(ends[1] - ends[0]) == pytest.approx(2 * float((slope * step).sum()), rel=0.02)


def test_the_cosine_is_computed_after_every_layer(tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = compared(tiny("bert"), tmp_path / "run")
    theirs = transformers.AutoModel.from_pretrained(tiny("bert")).eval()
    with torch.no_grad():
        first, second = (
            torch.stack(theirs(torch.tensor([ids]), output_hidden_states=True).hidden_states)[:, 0].mean(1)
            for ids in (checkpoint.tokenizer.encode(side).ids for side in (PAIR.first, PAIR.second))
        )
    result = layers.run(checkpoint, PAIR)
    wanted = torch.cosine_similarity(first, second, dim=-1)
    assert result.scored and result.scores == pytest.approx(wanted.tolist(), abs=of_encoder(checkpoint.config))


@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_a_head_that_is_off_is_off_in_both_texts(pooling: str, tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = compared(tiny("bert"), tmp_path / "run", pooling)
    result = switchboard.run(checkpoint, PAIR, options=switchboard.Options(off="2·3", controls=2))
    assert result.scored and result.target == "cosine"
    theirs = transformers.AutoModel.from_pretrained(tiny("bert"), attn_implementation="eager").eval()
    wide = checkpoint.config.hidden_size // checkpoint.config.num_heads

    def off(_: object, args: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, ...]:
        args[0][..., 2 * wide : 3 * wide] = 0
        return args

    theirs.encoder.layer[1].attention.output.dense.register_forward_pre_hook(off)
    with torch.no_grad():
        last = [
            theirs(torch.tensor([checkpoint.tokenizer.encode(side).ids])).last_hidden_state[0]
            for side in (PAIR.first, PAIR.second)
        ]
    wanted = torch.cosine_similarity(*(item[0] if pooling == "cls" else item.mean(0) for item in last), dim=0)
    assert result.after.value == pytest.approx(float(wanted), abs=of_encoder(checkpoint.config))
    assert result.change[1, 2] == pytest.approx(result.after.value - result.before.value, abs=1e-6)
    with pytest.raises(ExplorerError, match="encodes the two texts separately"):
        switchboard.run(checkpoint, PAIR, options=switchboard.Options(how="patch", source="the cat"))


def test_masks_are_still_patched_and_a_foreign_folder_is_not_a_run(tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = compared(tiny("bert-mlm"), tmp_path / "run")
    options = switchboard.Options(how="patch", source="the dog sat .", controls=0)
    assert not switchboard.run(checkpoint, "the [MASK] sat .", options=options).scored
    (tmp_path / "run" / "task.json").write_text('{"name": "somebody else\'s"}')
    assert kind_of(checkpoint) is None


def test_the_referee_rejects_two_compared_texts(tiny: Tiny, tmp_path: Path) -> None:
    """With all words of both hidden, two texts of the same length are alike."""
    with pytest.raises(ExplorerError, match="compares two texts"):
        referee.run(compared(tiny("bert"), tmp_path / "run"), PAIR)


def test_the_curves_of_a_regression_are_scores(tiny: Tiny) -> None:
    checkpoint = of_problem(tuned(tiny, "label").ours, "regression")
    result = referee.run(checkpoint, FILM, options=referee.Options(orders=3, points=6))
    value = answer.run(checkpoint, FILM).labels[0].value
    assert result.scored and all(trial.deletion[0] == pytest.approx(value, abs=1e-5) for trial in result.trials)
    assert "score" in referee.rows(result)[0] and referee_figure.draw(result).panels
    assert "%" not in referee_figure.say(result)


def test_compared_cosines_are_not_drawn_as_percentages(tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = compared(tiny("bert"), tmp_path / "run")
    for module in (answer, layers, switchboard):
        result = module.run(checkpoint, PAIR)
        drawn = difference.draw(module, result, result, ("before", "after"))
        assert drawn and drawn.panels[0].marks[0].unit == "" and "%" not in drawn.to_json()


def test_one_text_is_not_compared(tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = compared(tiny("bert"), tmp_path / "run", task="retrieval")
    with pytest.raises(ExplorerError, match="compares two texts, and there is only one") as caught:
        answer.run(checkpoint, "the cat")
    assert caught.value.code == "pair"
    assert kind_of(replace(checkpoint, folder=Path())) is None


def test_a_run_that_began_with_a_classifier_answers_with_its_cosine(tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = compared(tiny("bert-SequenceClassification"), tmp_path / "run")
    assert "sequence_classifier" in checkpoint.heads and answer.run(checkpoint, PAIR).kind == "similarity"


def test_texts_that_share_the_limit_are_announced(tiny: Tiny, tmp_path: Path) -> None:
    checkpoint = compared(tiny("bert"), tmp_path / "run")
    long, shared = Text("a cat " * 22, "a dog " * 18), "Here both texts share the limit"
    for text, expected in ((long, True), (PAIR, False)):
        assert (shared in figure.say(answer.run(checkpoint, text))) is expected
        assert (shared in saliency_figure.say(saliency.run(checkpoint, text))) is expected
    said = saliency_figure.say(saliency.run(checkpoint, PAIR))
    assert "the text changes the cosine by" in said

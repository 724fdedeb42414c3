"""A run that also learns the vectors of a teacher, and one whose layers are compiled."""

import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import torch
import torch.nn.functional as F
import transformers
from safetensors.torch import load_file

from bertexplorer.engine.masking import Masking
from bertexplorer.errors import ExplorerError
from bertexplorer.model.load import load
from bertexplorer.model.text import Tokenizer
from bertexplorer.runs import run_folder
from bertexplorer.training.pretraining import spec as specs
from bertexplorer.training.pretraining.batches import Collator, MaskedBatch
from bertexplorer.training.pretraining.objectives import MaskedLanguage
from bertexplorer.training.pretraining.pool import DocumentPool, Kind
from bertexplorer.training.pretraining.run import pretrain
from bertexplorer.training.pretraining.start import load_teacher
from tests import tiny as recipes
from tests.conftest import ROOT
from tests.tolerance import of_encoder
from tests.training.conftest import Begin


@pytest.fixture(scope="module")
def teacher(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return recipes.write(tmp_path_factory.mktemp("teacher"), seed=5)


@pytest.fixture(scope="module")
def batch(pool: DocumentPool, tokenizer: Tokenizer) -> MaskedBatch:
    """Two pairs, and four single texts of different lengths."""
    kinds = np.array([Kind.NEXT, Kind.TEXT, Kind.OTHER, Kind.TEXT, Kind.SENTENCE, Kind.TEXT])
    examples = pool.examples(np.random.default_rng(0), kinds, np.array([40, 30, 40, 12, 20, 25]))
    return Collator.of(tokenizer, Masking(chosen=0.3)).collate(examples, np.random.default_rng(1))


def test_the_loss_of_a_teacher_is_that_of_means_of_hidden_states_in_transformers(
    batch: MaskedBatch, tiny, teacher: Path
) -> None:
    student = load(tiny("bert"), precision="fp32", device="cpu")
    objective = MaskedLanguage(student, pairs=True, teacher=load_teacher(str(teacher), student), teacher_weight=3.0)
    with torch.no_grad():
        loss = objective.losses(batch)["vectors"]
    reads = {folder: transformers.BertModel.from_pretrained(folder).eval() for folder in (tiny("bert"), teacher)}
    wanted = []
    for row in (1, 3, 4, 5):
        size = int(batch.mask[row].sum())
        means = []
        for folder, ids in ((tiny("bert"), batch.ids), (teacher, batch.original)):  # the student reads masks
            with torch.no_grad():
                means.append(reads[folder](input_ids=ids[row : row + 1, :size]).last_hidden_state[0].mean(0))
        wanted.append(1 - float(F.cosine_similarity(*means, dim=0)))
    assert loss.count == 4 == objective.counts(batch)["vectors"] and batch.singles.tolist() == [1, 3, 4, 5]
    assert abs(float(loss.total) - sum(wanted)) < 4 * of_encoder(student.config, 1.0)
    assert int(loss.right) == sum(cosine < 0.1 for cosine in wanted)
    assert objective.weights == {"mlm": 1.0, "nsp": 1.0, "vectors": 3.0}


def test_pairs_have_no_loss_of_a_teacher(pool: DocumentPool, tokenizer: Tokenizer, tiny, teacher: Path) -> None:
    examples = pool.examples(np.random.default_rng(0), np.array([Kind.NEXT] * 3), np.array([40, 30, 20]))
    pairs = Collator.of(tokenizer, Masking()).collate(examples, np.random.default_rng(1))
    student = load(tiny("bert"), precision="fp32", device="cpu")
    objective = MaskedLanguage(student, pairs=True, teacher=load_teacher(str(teacher), student))
    assert objective.losses(pairs).keys() == {"mlm", "nsp"} and objective.counts(pairs)["vectors"] == 0


def test_a_run_learns_the_vectors_of_its_teacher(begin: Begin, tiny, teacher: Path) -> None:
    plain = {"vocabulary": "", "start": str(tiny("bert")), "teacher": str(teacher)}
    before = load_file(teacher / "model.safetensors")
    far, near = (
        begin(name, plain=plain, steps=12, peak=1e-2, threads=1, teacher_weight=weight, seed=1)
        for name, weight in (("far", 0.0), ("near", 10.0))
    )
    losses = []
    for folder in (far, near):
        list(pretrain(folder))
        last = [event for event in run_folder.history(folder) if event["event"] == "steps"][-1]
        losses.append(last["loss"]["vectors"])
    assert losses[1] < 0.8 * losses[0]
    after = load_file(teacher / "model.safetensors")
    assert all(torch.equal(before[name], after[name]) for name in before)


def test_an_unsuitable_teacher_is_refused(begin: Begin, tiny, teacher: Path, tmp_path: Path) -> None:
    wide = recipes.write(tmp_path / "wide", hidden_size=64)
    start = {"vocabulary": "", "start": str(tiny("bert"))}
    for number, (folder, message) in enumerate(((wide, "has vectors of 64 numbers"), (tiny("mpnet"), "vocabulary"))):
        with pytest.raises(ExplorerError, match=message):
            list(pretrain(begin(str(number), plain={**start, "teacher": str(folder)})))
    with pytest.raises(ExplorerError, match="with the objective causal; wanted one with masked tokens"):
        specs.make_spec({"text": ("a",), "teacher": str(teacher)}, {"objective": "causal"})


TRACED = """
import sys, torch
from pathlib import Path
from bertexplorer.training.pretraining.run import pretrain
original, count = torch.compile, [0]
def traced(model, **options):
    count[0] += 1
    return original(model, **options, backend="aot_eager")
torch.compile = traced
for folder in sys.argv[1:]:
    list(pretrain(Path(folder)))
print(count[0])
"""


@pytest.mark.slow
def test_compiled_layers_learn_the_same(begin: Begin) -> None:
    """Traced as for a GPU, but without a C++ compiler, which may be missing; in a process that does not check the
    shapes of tensors, which Dynamo replaces."""
    folders = [begin(name, compile=name == "traced", threads=1, layers=2) for name in ("plain", "traced")]
    command = [sys.executable, "-c", TRACED, *map(str, folders)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "2\n", "each layer is compiled"
    one, other = (load_file(sorted((f / "commits").iterdir())[-1] / "training.safetensors") for f in folders)
    assert one.keys() == other.keys()
    assert all(torch.allclose(one[name], other[name], atol=1e-5) for name in one)


def test_padded_lengths_are_multiples_on_request(pool: DocumentPool, tokenizer: Tokenizer) -> None:
    examples = pool.examples(np.random.default_rng(0), np.array([Kind.TEXT] * 3), np.array([29, 21, 17]))
    collate = partial(Collator.collate, examples=examples)
    plain, padded = (
        collate(Collator.of(tokenizer, Masking(), multiple), rng=np.random.default_rng(1)) for multiple in (1, 8)
    )
    longest = plain.ids.shape[1]
    assert longest % 8 and padded.ids.shape[1] == -(-longest // 8) * 8
    assert torch.equal(padded.original[:, :longest], plain.original) and not padded.mask[:, longest:].any()
    assert padded.tokens == plain.tokens and (padded.original[:, longest:] == tokenizer.pad_id).all()

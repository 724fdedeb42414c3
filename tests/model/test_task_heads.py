"""Fine-tuned heads give the logits of transformers' classes, and those classes load checkpoints made here."""

from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch import Tensor, nn

from bertexplorer.errors import ExplorerError
from bertexplorer.model.checkpoint import Checkpoint, translate
from bertexplorer.model.config import HEAD_WORDS
from bertexplorer.model.families import BY_MODEL_TYPE
from bertexplorer.model.heads import HEADS
from bertexplorer.model.initialise import with_heads
from bertexplorer.model.load import load
from bertexplorer.model.prepacked_linear import can_pack
from bertexplorer.model.save import save
from tests.model.conftest import Case, make_case, read_tensors
from tests.model.test_load import reconfigure, rewrite
from tests.tiny import FAMILIES, RECIPES, TASK_RECIPES, write
from tests.tolerance import assert_same

HEAD = {"SequenceClassification": "sequence_classifier", "TokenClassification": "token_classifier"}
HEAD["QuestionAnswering"] = "span"
AUTO = {head: f"AutoModelFor{task}" for task, head in HEAD.items()}
COUNT = {"sequence_classifier": 3, "token_classifier": 4, "span": 2}
NAMED = {"sequence_classifier": ("a", "b", "c"), "token_classifier": ("O", "B-X"), "span": ()}


def head_of(name: str) -> str:
    return HEAD[name.rpartition("-")[2]]


def our_logits(case: Case, head: str) -> Tensor:
    last = case.run().last
    if head == "sequence_classifier":
        return case.ours.sequence_classifier(last, case.mask)
    return case.ours.head(head)(last)[case.mask]


def their_logits(case: Case, head: str) -> Tensor:
    out = case.refer()
    logits = torch.stack([out.start_logits, out.end_logits], dim=-1) if head == "span" else out.logits
    return logits if head == "sequence_classifier" else logits[case.mask]


def assert_same_logits(case: Case, head: str) -> None:
    ours, theirs = our_logits(case, head), their_logits(case, head)
    assert ours.shape == theirs.shape
    assert_same(case.ours.config, ours, theirs)


def drop(*names: str) -> Callable[[dict], dict]:
    return lambda tensors: {n: t for n, t in tensors.items() if n not in names}


@pytest.fixture(scope="session", params=TASK_RECIPES)
def tuned(request: pytest.FixtureRequest, tiny) -> Case:
    return make_case(request.param, TASK_RECIPES[request.param].model, tiny(request.param))


def test_the_head_is_loaded_with_its_labels(tuned: Case) -> None:
    head = head_of(tuned.name)
    assert set(tuned.ours.heads) - {"pooler"} == {head} and tuned.ours.unused == ()
    assert tuned.ours.config.num_labels == COUNT[head] == len(tuned.ours.labels)
    assert list(tuned.ours.labels) == [tuned.theirs.config.id2label[i] for i in range(COUNT[head])]


def test_logits_are_those_of_transformers(tuned: Case) -> None:
    assert_same_logits(tuned, head_of(tuned.name))


def test_dropout_is_applied_where_transformers_applies_it(tuned: Case) -> None:
    config, head = deepcopy(tuned.theirs.config), head_of(tuned.name)
    config.update(
        {"classifier_dropout": 0.3, "classifier_dropout_prob": 0.3, "seq_classif_dropout": 0.25, "qa_dropout": 0.15}
    )
    theirs = type(tuned.theirs)(config)
    ours = HEADS[head](translate(BY_MODEL_TYPE[config.model_type], config.to_dict()))
    shares = [m.p for m in ours.modules() if isinstance(m, nn.Dropout)]
    named = [(name, m.p) for name, m in theirs.named_modules() if isinstance(m, nn.Dropout)]
    outside = [p for name, p in named if not name.startswith(f"{theirs.base_model_prefix}.")]
    outside = [p for p in outside if p] or outside  # DeBERTa's pooler has one of 0
    assert shares == (outside or [0.0])  # the span heads have dropout only in DistilBERT and ModernBERT
    assert outside or head == "span" or "eurobert" in tuned.name


@pytest.mark.parametrize("name", ["roberta-SequenceClassification", "electra-SequenceClassification"])
def test_dropout_precedes_the_dense_layer(tiny, name: str) -> None:
    case = make_case(name, TASK_RECIPES[name].model, tiny(name))
    classifier, theirs = case.ours.sequence_classifier, case.theirs.classifier
    last = case.run().last
    for head in (classifier, theirs):
        head.train()
        torch.manual_seed(3)
        logits = head(last)
        torch.manual_seed(3)
        assert torch.equal(logits, head(last))
    torch.manual_seed(3)
    ours = classifier(last)
    torch.manual_seed(3)
    assert_same(case.ours.config, ours, theirs(last), layers=0)  # of the same vectors


def test_mean_pooling_ignores_the_padding(tmp_path: Path) -> None:
    write(tmp_path, "modernbert-SequenceClassification", classifier_pooling="mean", classifier_activation="relu")
    case = make_case("modernbert", "ModernBertForSequenceClassification", tmp_path)
    assert_same_logits(case, "sequence_classifier")
    last = case.run().last[:1]
    head = case.ours.sequence_classifier
    assert_same(case.ours.config, head(last), head(last, torch.ones(last.shape[:2], dtype=torch.bool)), layers=0)


def test_loading_and_saving_preserve_every_bit(tuned: Case, tmp_path: Path) -> None:
    save(tuned.ours, tmp_path)
    before, after = (read_tensors(folder) for folder in (tuned.folder, tmp_path))
    assert before.keys() == after.keys() and all(torch.equal(before[n], after[n]) for n in before)
    model, report = getattr(transformers, AUTO[head_of(tuned.name)]).from_pretrained(tmp_path, output_loading_info=True)
    assert not any(report.values()), report
    assert type(model) is type(tuned.theirs) and model.config.id2label == tuned.theirs.config.id2label


WITH_HEAD = [
    (family, head)
    for family in FAMILIES
    for task, head in HEAD.items()
    if f"{RECIPES[family].model_type}-{task}" in TASK_RECIPES
]


@pytest.mark.parametrize(("family", "head"), WITH_HEAD)
def test_a_head_that_is_added_is_loaded_by_transformers(tiny, tmp_path: Path, family: str, head: str) -> None:
    """The checkpoint has its pretraining heads, too: transformers reads those that its class has."""
    base = load(tiny(family), name="made", precision="fp32", device="cpu")
    checkpoint = with_heads(base, [head], seed=1, labels=NAMED[head])
    save(checkpoint, tmp_path)
    case = make_case("made", AUTO[head], tmp_path)
    assert case.theirs.config.architectures == [type(case.theirs).__name__]
    assert set(case.ours.heads) == set(checkpoint.heads) >= {*base.heads, head}
    assert case.ours.labels == checkpoint.labels == (NAMED[head] or ("LABEL_0", "LABEL_1"))
    assert case.theirs.config.label2id == {label: i for i, label in enumerate(checkpoint.labels)}
    case.ours = checkpoint
    assert_same_logits(case, head)
    restored = load(tmp_path, precision="fp32", device="cpu")
    assert restored.num_parameters == checkpoint.num_parameters == sum(t.numel() for t in stored(tmp_path).values())


@pytest.mark.parametrize("family", FAMILIES)
def test_the_pretraining_heads_are_unchanged_by_a_new_one(tiny, tmp_path: Path, family: str) -> None:
    base = load(tiny(family), precision="fp32", device="cpu")
    save(with_heads(base, ["sequence_classifier"], seed=1), tmp_path)
    restored, ids = load(tmp_path, precision="fp32", device="cpu"), torch.arange(5, 25)[None]
    for name in set(base.heads) - {"next_sentence"}:
        first, second = base.head(name)(base.encoder(ids).last), restored.head(name)(restored.encoder(ids).last)
        assert torch.equal(first, second), name


def stored(folder: Path) -> dict[str, Tensor]:
    return load_file(folder / "model.safetensors")


def test_layers_stored_once_are_shared(tiny) -> None:
    bert = with_heads(load(tiny("bert"), precision="fp32"), ["sequence_classifier"], seed=0)
    assert bert.sequence_classifier.transform.dense is bert.pooler.dense
    bare = with_heads(load(tiny("bert-mlm"), precision="fp32"), ["sequence_classifier"], seed=0)
    assert bare.sequence_classifier.transform.dense is bare.pooler.dense
    modern = with_heads(load(tiny("modernbert"), precision="fp32"), ["token_classifier"], seed=0)
    assert modern.token_classifier.transform.dense is modern.masked_lm.dense
    assert modern.token_classifier.transform.norm is modern.masked_lm.norm


def test_stored_layers_are_shared_in_bf16_too(tiny) -> None:
    if not can_pack():
        pytest.skip("nothing is packed on this machine")
    checkpoint = load(tiny("bert-SequenceClassification"), precision="bf16", device="cpu")
    assert checkpoint.sequence_classifier.transform.dense is checkpoint.pooler.dense
    assert checkpoint.num_parameters == sum(t.numel() for t in stored(checkpoint.folder).values())


def test_a_head_is_kept_for_its_labels_and_initialised_for_others(tiny) -> None:
    base = load(tiny("roberta-SequenceClassification"), precision="fp32", device="cpu")
    for labels in ((), ("bad", "so-so", "good")):
        assert with_heads(base, ["sequence_classifier"], seed=0, labels=labels).sequence_classifier is (
            base.sequence_classifier
        )
    for labels in (("good", "so-so", "bad"), ("bad", "good")):
        other = with_heads(base, ["sequence_classifier"], seed=0, labels=labels)
        assert other.sequence_classifier is not base.sequence_classifier and other.labels == labels
        assert other.sequence_classifier.output.out_features == other.config.num_labels == len(labels)
    other = with_heads(base, ["token_classifier"], seed=0)
    assert set(other.heads) == {"token_classifier"} and other.labels == base.labels
    assert set(with_heads(other, ["span"], seed=0).heads) == {"span"} and set(base.heads) == {"sequence_classifier"}


def test_the_seed_determines_a_head(tiny) -> None:
    base = load(tiny("distilbert"), precision="fp32", device="cpu")
    one, again, other = (
        with_heads(base, ["sequence_classifier"], seed=seed).sequence_classifier.output.weight for seed in (1, 1, 2)
    )
    assert torch.equal(one, again) and not torch.equal(one, other)


def problem_of(checkpoint: Checkpoint) -> object:
    return checkpoint.hf_config.get("problem_type")


def test_the_problem_type_follows_from_the_labels(tiny) -> None:
    base = load(tiny("bert-base"), precision="fp32", device="cpu")
    single = with_heads(base, ["sequence_classifier"], seed=0, labels=["score"])
    assert problem_of(single) == "regression" and single.config.num_labels == 1
    many = with_heads(base, ["sequence_classifier"], seed=0, labels=["a", "b"], problem="multi_label_classification")
    assert (
        problem_of(many)
        == problem_of(with_heads(many, ["sequence_classifier"], seed=0))
        == ("multi_label_classification")
    )
    assert problem_of(with_heads(many, ["sequence_classifier"], seed=0, labels="xy")) == "single_label_classification"
    assert problem_of(with_heads(many, ["token_classifier"], seed=0)) is None
    assert problem_of(base) is None and base.labels == ("LABEL_0", "LABEL_1")


def test_heads_are_recognised_by_names_without_architectures(tiny_copy) -> None:
    for name in TASK_RECIPES:
        folder = tiny_copy(name)
        reconfigure(folder, architectures=None)
        checkpoint = load(folder, precision="fp32")
        if name.startswith("modernbert"):  # three heads have the same names: none is guessed
            assert not checkpoint.heads and "classifier.weight" in checkpoint.unused
        else:
            assert set(checkpoint.heads) - {"pooler"} == {head_of(name)}


BAD = {
    "label count": (lambda f: reconfigure(f, id2label={"0": "a", "1": "b"}), "classifier.weight is 3x32, .*2x32"),
    "no bias": (lambda f: rewrite(f, drop("classifier.bias")), "lack classifier.bias"),
    "no pooler": (
        lambda f: rewrite(f, drop("bert.pooler.dense.weight", "bert.pooler.dense.bias")),
        "lack bert.pooler.dense.weight",
    ),
    "labels no object": (lambda f: reconfigure(f, id2label=["a", "b", "c"]), r"id2label = \['a'.*wanted an object"),
    "no number": (lambda f: reconfigure(f, id2label=None, num_labels="many"), "'many'"),
    "too many": (lambda f: reconfigure(f, id2label=None, num_labels=10**9), "num_labels = 1000000000"),
    "dropout": (lambda f: reconfigure(f, classifier_dropout=1.5), "sequence_dropout = 1.5"),
}


@pytest.mark.parametrize(("change", "words"), BAD.values(), ids=BAD.keys())
def test_an_invalid_file_is_rejected(tiny_copy, change, words: str) -> None:
    folder = tiny_copy("bert-SequenceClassification")
    change(folder)
    with pytest.raises(ExplorerError, match=words):
        load(folder, precision="fp32")


def test_an_unknown_pooling_is_rejected(tiny_copy) -> None:
    folder = tiny_copy("modernbert-SequenceClassification")
    reconfigure(folder, classifier_pooling="max")
    with pytest.raises(ExplorerError, match="'max'"):
        load(folder, precision="fp32")


def test_errors_explain_invalid_requests(tiny, tmp_path: Path) -> None:
    base = load(tiny("bert-base"), name="mine", precision="fp32", device="cpu")
    with pytest.raises(ExplorerError, match="one fine-tuned head"):
        with_heads(base, ["sequence_classifier", "span"], seed=0)
    both = replace(base, heads={name: nn.Identity() for name in ("token_classifier", "span")})
    with pytest.raises(ExplorerError, match="mine has token_classifier and span; .*one fine-tuned head"):
        save(both, tmp_path)
    with pytest.raises(ExplorerError, match=r"a, b, a; wanted .*differ"):
        with_heads(base, ["token_classifier"], seed=0, labels=["a", "b", "a"])
    with pytest.raises(ExplorerError, match="mine has no sentence-label head .*fine-tuned"):
        _ = base.sequence_classifier
    assert set(COUNT) < set(HEAD_WORDS) and not set(TASK_RECIPES) & set(RECIPES)

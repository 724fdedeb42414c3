"""Unusable input raises clear errors on the command line and in a run, and changes no files."""

from pathlib import Path

import pytest
import tokenizers

from bertexplorer.cli.pretrain import main
from bertexplorer.errors import ExplorerError
from bertexplorer.training.pretraining import heldout, spec as specs
from bertexplorer.training.pretraining.corpus import Shard
from bertexplorer.training.pretraining.run import pretrain
from tests.training.conftest import Begin

ONE = "The cat sat. The dog ran. A man was in the city.\n" * 20


def test_next_sentence_prediction_requires_two_training_documents(begin: Begin, tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(ONE)
    with pytest.raises(ExplorerError, match="leave nothing to learn|blank lines"):
        list(pretrain(begin("a", plain={"text": (str(tmp_path / "one.txt"),)})))
    (tmp_path / "two.txt").write_text("\n\n".join([ONE, "The nurse said so. It was good.", "He is a man. She is not."]))
    plain = {"text": (str(tmp_path / "two.txt"),)}
    with pytest.raises(ExplorerError, match="two sentences or more: 1; wanted 2"):
        list(pretrain(begin("b", plain=plain, heldout_documents=2)))
    assert list(pretrain(begin("c", plain=plain, heldout_documents=2, objective="mlm")))[-1]["event"] == "finished"


def test_a_vocabulary_without_a_mask_is_rejected(begin: Begin, vocabulary: Path, tmp_path: Path) -> None:
    text = (vocabulary / "tokenizer.json").read_text().replace("[MASK]", "[HIDE]")
    (tmp_path / "tokenizer.json").write_text(text)
    with pytest.raises(ExplorerError, match="The vocabulary in .* has no mask token"):
        list(pretrain(begin(plain={"vocabulary": str(tmp_path)})))


def test_a_checkpoint_with_another_vocabulary_is_rejected(begin: Begin, tiny_copy) -> None:
    folder = tiny_copy("bert")
    whole = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    whole.add_tokens([f"extra{i}" for i in range(50)])
    whole.save(str(folder / "tokenizer.json"))
    with pytest.raises(ExplorerError, match="different checkpoints"):
        list(pretrain(begin(plain={"vocabulary": "", "start": str(folder)})))


def test_checkpoints_unsuitable_for_the_objective_are_rejected(begin: Begin, tiny) -> None:
    for name, task in (("distilbert", "mlm+nsp"), ("roberta", "mlm+nsp"), ("bert", "replaced")):
        with pytest.raises(ExplorerError):
            list(pretrain(begin(name, plain={"vocabulary": "", "start": str(tiny(name))}, objective=task)))


def test_invalid_sizes_are_rejected(begin: Begin) -> None:
    for number, values in enumerate(({"hidden": 17}, {"positions": 16})):
        with pytest.raises(ExplorerError):
            list(pretrain(begin(str(number), **values)))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"masked": 0.8, "random": 0.3}, "together"),
        ({"warmup": 0.6, "hold": 0.6}, "together"),
        ({"steps": 0, "minutes": 0}, "budget"),
        ({"chosen": "nan"}, "Chosen"),
        ({"objective": "x"}, "Objective"),
        ({"snapshots": "a"}, "Snapshots"),
        ({"steps": 1.5}, "Steps"),
        ({"learning": 3}, "Unknown"),
    ],
)
def test_contradictory_settings_are_rejected(values: dict[str, object], message: str) -> None:
    with pytest.raises(ExplorerError, match=message):
        specs.make_spec({"text": ("a",)}, values)


@pytest.mark.parametrize("weights", ["books", "books=x", "books=-1", "=inf", "a=nan"])
def test_invalid_weights_are_rejected(weights: str) -> None:
    with pytest.raises(ExplorerError, match="Weights"):
        specs.make_spec({"text": ("a",), "weights": weights}, {})


def test_the_weight_of_the_longest_prefix_applies() -> None:
    spec = specs.make_spec({"text": ("a",), "weights": "kids=3, kids_a=2, =0.5"}, {})
    assert [spec.weight(n) for n in ("kids_b.txt", "kids_asp.txt", "wiki")] == [3, 2, 0.5]


def test_the_command_line_reports_errors_and_changes_nothing(begin: Begin, capsys, tmp_path: Path, tiny) -> None:
    folder = begin()
    before = (folder / "spec.json").read_bytes()
    start = ["--start", str(tiny("bert"))]
    for arguments, message in (
        ([str(tmp_path / "none")], "holds no run"),
        ([str(folder), "--peak", "1"], "add --stretch"),
        ([str(folder), "--stretch", "--peak", "x"], "Learning rate"),
        ([str(folder), "--stretch", *start], "cannot change the start of the run"),
        ([str(tmp_path / "new"), "--text", "x", *start, "--hidden", "32"], "its own sizes"),
        ([str(tmp_path / "new"), "--text", "x", *start, "--vocabulary", "y"], "its own vocabulary"),
        ([str(tmp_path / "gone"), "--text", str(tmp_path / "gone.txt")], "There is no text at"),
    ):
        assert main(arguments) == 2
        assert message in capsys.readouterr().err
    assert (folder / "spec.json").read_bytes() == before
    (folder / "spec.json").write_text("{}")
    assert main([str(folder)]) == 2 and "does not describe a run" in capsys.readouterr().err


def test_the_list_of_held_out_documents_is_reproducible(shards: list[Shard], tmp_path: Path) -> None:
    chosen = heldout.choose_hashes(shards, 30)
    assert (heldout.choose_hashes(shards[::-1], 30) == chosen).all() and len(set(chosen.tolist())) == 30
    heldout.write_hashes(chosen, tmp_path / "list")
    assert (heldout.read_hashes(tmp_path / "list") == chosen).all()
    training, held_out = heldout.split_masks(shards, chosen)
    assert sum(h.sum() for h in held_out) >= 30 and all((k ^ h).all() for k, h in zip(training, held_out, strict=True))
    with pytest.raises(ExplorerError, match="Hold out fewer"):
        heldout.choose_hashes(shards, 130)
    for text in ("xyz\n", "-1\n", "f" * 17, "é"):
        (tmp_path / "bad").write_text(text)
        with pytest.raises(ExplorerError, match="not a list of held-out"):
            heldout.read_hashes(tmp_path / "bad")

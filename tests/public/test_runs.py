"""Training from Python: a run is trained on rows, and its checkpoint answers."""

import json
from pathlib import Path
from zipfile import ZipFile

import pytest
import torch
import transformers

import bertexplorer as bx
from bertexplorer.runs.export import write_zip
from bertexplorer.runs.run_folder import Run
from bertexplorer.runs.service import RunDetail
from tests.conftest import ROOT, Tiny

ROWS = [{"text": f"a {'bad' if i % 2 else 'good'} film {i}", "label": "neg" if i % 2 else "pos"} for i in range(24)]


def test_a_run_trained_on_rows_answers(tiny: Tiny, tmp_path: Path) -> None:
    seen: list[str] = []
    run = bx.train(
        tiny("bert"),
        task="classification",
        data=ROWS,
        out=tmp_path / "films",
        name="Films",
        epochs=1,
        batch=4,
        on_event=lambda event: seen.append(event["event"]),
    )
    assert run.state == "finished" and seen[-1] == "finished" and [e["event"] for e in run.events] == seen
    assert run.spec["name"] == "Films" and run.spec["tuning"]["epochs"] == 1 and run.metrics
    (answer,) = run.predict({"text": "a good film"})
    assert {row["label"] for row in answer["labels"]} == {"pos", "neg"}
    assert run.load().checkpoint.labels == ("neg", "pos")
    assert bx.TrainingRun(str(tmp_path / "films")).resume(seen.append).state == "finished"


def test_metrics_are_of_the_checkpoint_that_answers_and_the_latest_have_a_name(tiny: Tiny, tmp_path: Path) -> None:
    dev = ROWS[:8]
    run = bx.train(
        tiny("bert"),
        task="classification",
        data=ROWS,
        dev=dev,
        out=tmp_path / "run",
        epochs=3,
        rate=0.01,
        batch=4,
        on_event=lambda _: None,
    )
    worse = {"event": "evaluated", "time": 0.0, "stretch": 0, "step": 99, "metrics": {"accuracy": 0.0, "loss": 9.0}}
    with (run.folder / "events.jsonl").open("a") as events:  # as after further steps
        events.write(json.dumps(worse) + "\n")
    answers = [max(answer["labels"], key=lambda row: row["probability"])["label"] for answer in run.predict(dev)]
    right = sum(answer == row["label"] for answer, row in zip(answers, dev, strict=True))
    assert run.metrics["accuracy"] == right / len(dev) > 0
    assert run.latest_metrics == worse["metrics"]


def test_a_file_with_other_column_names_is_mapped(tiny: Tiny, tmp_path: Path) -> None:
    lines = ["what,which", *(f"{row['text']},{row['label']}" for row in ROWS)]
    (tmp_path / "rows.csv").write_text("\n".join(lines), "utf-8")
    run = bx.train(
        bx.load(tiny("bert")),
        task="classification",
        data=tmp_path / "rows.csv",
        dev=[{"what": row["text"], "which": row["label"]} for row in ROWS[:4]],
        columns={"text": "what", "label": "which"},
        out=tmp_path / "run",
        epochs=0.2,
        on_event=lambda event: None,
    )
    assert run.spec["data"] | {"summary": ""} == {
        "file": "rows.csv",
        "summary": "",
        "mapping": {"text": "what", "label": "which"},
        "skipped": 0,
        "train": 24,
        "dev": 4,
    }


@pytest.mark.parametrize("pooling", ["cls", "mean"])
def test_a_similarity_run_encodes_as_it_was_trained(tiny: Tiny, tmp_path: Path, pooling: str) -> None:
    rows = [{"text_a": f"a cat {i}", "text_b": f"the cat {i} sat", "score": i % 5} for i in range(20)]
    settings = {"pooling": pooling, "epochs": 0.5, "max_tokens": 8, "on_event": lambda _: None}
    run = bx.train(tiny("bert"), task="similarity", data=rows, out=tmp_path / "run", **settings)
    tokenizer = transformers.AutoTokenizer.from_pretrained(run.best)
    text = "the capital of france is paris and london"
    ids = tokenizer(text, return_tensors="pt", truncation=True, max_length=8)["input_ids"]
    with torch.inference_mode():
        last = transformers.AutoModel.from_pretrained(run.best).eval()(ids).last_hidden_state[0]
    wanted = last[0] if pooling == "cls" else last.mean(dim=0)
    with pytest.warns(UserWarning, match="1 text is longer than the 8 tokens that are read, and cut"):
        assert bx.load(run.best, precision="fp32").encode(text) == pytest.approx(wanted.numpy(), abs=1e-5)
    detail = RunDetail(Run("a" * 32, folder=run.folder, spec=run.spec), [], None, run.best)
    exported = ZipFile(write_zip(detail, tmp_path / "exports", "a" * 32)).namelist()
    assert {"modules.json", "1_Pooling/config.json", "sentence_bert_config.json"} <= set(exported)


def test_guessed_columns_are_printed_and_scores_are_no_labels(
    tiny: Tiny, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"what": row["text"], "which": row["label"], "more": "x"} for row in ROWS]
    bx.train(tiny("bert"), task="classification", data=rows, out=tmp_path / "run", epochs=0.2, on_event=lambda _: None)
    said = "label=which (by its content, 2 different values), text=what (its texts are the longest); not used: more"
    assert f"note: columns: {said}\n" in capsys.readouterr().err
    pairs = ROOT / "assets" / "data" / "similarity.csv"
    with pytest.raises(
        bx.ExplorerError, match="12 different numbers, .* The task similarity learns scores from this f"
    ):
        bx.train(tiny("bert"), task="classification", data=pairs, out=tmp_path / "scores")
    assert "text=text_a (its texts are the longest); not used: text_b\n" in capsys.readouterr().err
    assert not (tmp_path / "scores").exists()


def test_bad_input_is_reported(tiny: Tiny, tmp_path: Path) -> None:
    def train(**given: object) -> None:
        whole = {"task": "classification", "data": ROWS, "out": tmp_path / "new", **given}
        bx.train(tiny("bert"), **whole)  # type: ignore[arg-type]

    for message, given in {
        "There is no task 'sorting'; wanted one of": {"task": "sorting"},
        "Unknown setting epoch; wanted": {"epoch": 3},
        "^epochs: got 'many'; wanted a number": {"epochs": "many"},
        "data is a int; wanted the name of a file, a list of dictionaries or a DataFrame": {"data": 3},
        "nowhere.csv cannot be read": {"data": "nowhere.csv"},
        "exists. Name a new folder": {"out": tmp_path},
    }.items():
        (tmp_path / "something").touch()
        with pytest.raises(bx.ExplorerError, match=message):
            train(**given)
    assert not (tmp_path / "new").exists()
    with pytest.raises(bx.ExplorerError, match="is only in memory"):
        bx.train(bx.load(tiny("bert")).control(), task="classification", data=ROWS, out=tmp_path / "new")
    with pytest.raises(bx.ExplorerError, match="has no checkpoint yet"):
        bx.TrainingRun(tmp_path / "new").predict({"text": "a"})


def test_a_text_is_pretrained_on(tmp_path: Path) -> None:
    documents = ["\n".join(f"The {a} number {i} is {b}." for a in "abc" for b in "de") for i in range(30)]
    (tmp_path / "text.txt").write_text("\n\n".join(documents), "utf-8")
    sizes = {"layers": 1, "hidden": 8, "heads": 2, "positions": 32, "pieces": 110, "lengths": "32:1:0"}
    few = {"steps": 2, "batch_tokens": 256, "heldout_documents": 4, "heldout_pairs": 4, "threads": 1}
    run = bx.pretrain(tmp_path / "text.txt", out=tmp_path / "run", on_event=lambda event: None, **sizes, **few)
    assert run.state == "finished" and len(run.load().fill_mask("The [MASK] is d.").rows) == 10
    with pytest.raises(bx.ExplorerError, match="contains a run"):
        bx.pretrain(tmp_path / "text.txt", out=tmp_path / "run")
    with pytest.raises(bx.ExplorerError, match="^layers: got 'two'; wanted a whole number"):
        bx.pretrain(tmp_path / "text.txt", out=tmp_path / "other", layers="two")

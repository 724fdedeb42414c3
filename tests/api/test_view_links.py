"""The route of the Explore page: links, settings in sentences, comparisons, files of the numbers."""

import csv
import io
import json
import shutil
from typing import Any
from urllib.parse import urlencode

import pytest

from bertexplorer.core.ask import DEFAULTS, Answerer
from bertexplorer.core.state import State
from bertexplorer.settings import Settings
from bertexplorer.store.registry import CheckpointRegistry
from bertexplorer.training.checkpointing import commit
from tests.conftest import Tiny
from tests.server.conftest import Api
from tests.server.talk import VIEW, state

FRANCE = "The capital of France is [MASK]."
RUN = "ab" * 16


@pytest.fixture(scope="module")
def api(tiny: Tiny, tmp_path_factory: pytest.TempPathFactory) -> Api:
    """With two checkpoints, and a run that ended with a third."""
    folder = tmp_path_factory.mktemp("links")
    shutil.copytree(tiny("bert"), folder / "models" / "small")
    shutil.copytree(tiny("bert-untied"), folder / "models" / "other")
    run = folder / "data" / "runs" / RUN
    commit(run / "best", "step-1", lambda into: shutil.copytree(tiny("bert"), into, dirs_exist_ok=True))
    (run / "spec.json").write_text(json.dumps({"folder": str(tiny("bert")), "name": "first"}))
    (run / "name").write_text("my films")
    settings = Settings(models_dir=folder / "models", data_dir=folder / "data")
    return Api(Answerer(CheckpointRegistry(settings)), State(FRANCE, checkpoint="small", precision="fp32"))


def link(**query: str) -> dict[str, str]:
    return {"link": "?" + urlencode(query)}


def test_a_link_opens_its_state_and_its_comparison(api: Api) -> None:
    shown = api.shown(link(view="layers", text="A cat is a [MASK].", hidden="0:2-5", top="5", checkpoint="other"))
    opened = shown["state"]
    assert (opened["view"], opened["text"], opened["hidden"]) == ("layers", "A cat is a [MASK].", "0:2-5")
    assert (opened["options"]["top"], opened["checkpoint"], shown["notice"]) == (5, "other", "")
    assert [chip["title"] for chip in shown["strip"]["chips"] if chip["masked"]][0].startswith("hidden: cat")
    shown = api.shown(link(text=FRANCE, against="another text", versus="A cat is a [MASK].", words="paris"))
    assert (shown["state"]["against"], shown["state"]["other"]) == ("another text", "A cat is a [MASK].")
    assert shown["beside"]["figure"] and shown["state"]["options"]["words"] == "paris"


def test_a_link_of_version_0_1_opens_as_before(api: Api) -> None:
    query = "?view=attention&text=Paris+is+a+city.&picked=0:0-5&checkpoint=small&show=arcs&layer=2"
    shown = api.shown({"link": query})
    opened, options = shown["state"], shown["state"]["options"]
    assert (opened["view"], opened["text"], opened["picked"]) == ("attention", "Paris is a city.", "0:0-5")
    assert (options["show"], options["layer"], shown["notice"]) == ("arcs", 2, "")
    assert [chip["label"] for chip in shown["strip"]["chips"] if chip["on"]] == ["paris"]
    assert api.shown({"link": query.removeprefix("?")})["state"] == opened


@pytest.mark.parametrize("query", ["", "?", "?utm=1", "?view=fill-mask"])
def test_a_link_without_a_text_opens_the_default_text(api: Api, query: str) -> None:
    assert api.shown({"link": query})["state"]["text"] == FRANCE


def test_names_in_a_link_that_do_not_exist_are_reported_with_the_answer(api: Api) -> None:
    shown = api.shown(link(view="heads", text=FRANCE, top="many"))
    assert shown["notice"].startswith("There is no view 'heads'.") and "settings are left out" in shown["notice"]
    assert shown["figure"] and shown["state"]["options"] == DEFAULTS["fill-mask"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"top": None}, "Answers: got None; wanted a whole number from 1 to 100."),
        ({"top": "many"}, "Answers: got 'many'"),
        ({"top": 0}, "Answers: got 0"),
        ({"top": 101}, "Answers: got 101"),
        ({"top": 1.5}, "Answers: got 1.5"),
        ({"evil": 1}, "Unknown setting evil; wanted top, words."),
    ],
)
def test_an_invalid_setting_is_reported_and_the_next_one_is_used(
    api: Api, options: dict[str, Any], sentence: str
) -> None:
    assert sentence in api.problem(state(FRANCE, options=options))["detail"]
    for kind in ("csv", "json", "python"):
        assert sentence in api.problem(state(FRANCE, options=options), f"{VIEW}/{kind}")["detail"]
    assert api.shown(state(FRANCE, options={"top": "5"}))["state"]["options"]["top"] == 5


def test_an_impossible_comparison_is_reported_with_the_answer(api: Api) -> None:
    shown = api.shown(state(FRANCE, against="another checkpoint", other="no/where"))
    assert "not on this disk" in shown["beside"]["said"] and not shown["beside"]["figure"] and shown["figure"]
    shown = api.shown(state(FRANCE, against="another text", other="no mask"))
    assert "Nothing is hidden" in shown["beside"]["said"] and shown["figure"]
    for against in ("another checkpoint", "another text"):
        shown = api.shown(state(FRANCE, against=against, other=" "))
        assert "beside" not in shown and shown["state"]["against"] == against


def test_a_file_has_the_numbers_and_their_origin(api: Api) -> None:
    question = state(FRANCE, options={"top": 3})
    answer = api.post(question, f"{VIEW}/csv")
    rows = list(csv.DictReader(io.StringIO(answer.text)))
    assert answer.headers["x-file-name"] == "fill-mask_small_fp32.csv" and len(rows) == 3
    assert "small" in rows[0]["made_with"] and [row["made_with"] for row in rows[1:]] == ["", ""]
    result = json.loads(api.post(question, f"{VIEW}/json").text)["rows"]
    assert [row["token"] for row in result] == [row["token"] for row in rows]
    program = api.post(question, f"{VIEW}/python")
    compile(program.text, "receipt", "exec")
    assert program.headers["x-file-name"].endswith(".py") and FRANCE in program.text
    assert api.problem(state("A cat."), f"{VIEW}/csv")["missing"] == "mask"


@pytest.mark.parametrize("kind", ["xml", "CSV", "..", "csv.zip"])
def test_other_kinds_of_files_do_not_exist(api: Api, kind: str) -> None:
    answer = api.post(state(FRANCE), f"{VIEW}/{kind}")
    assert answer.status_code in (404, 405, 422) and (kind == ".." or "wanted one of csv" in answer.json()["detail"])


def test_a_run_is_shown_by_its_name_and_its_checkpoints(api: Api) -> None:
    shown = api.shown(state(FRANCE, checkpoint=f"run:{RUN}", against="another checkpoint", other=f"run:{RUN}@0"))
    assert shown["checkpoint"]["label"].startswith("my films, best · ") and shown["receipt"]["short"].startswith("my f")
    assert [name for name, *_ in shown["checkpoint"]["series"]] == [f"run:{RUN}@0", f"run:{RUN}"]
    assert (shown["beside"]["ours"], shown["beside"]["name"]) == ("my films, best", "my films, before")
    assert "run:" not in json.dumps([shown["said"], shown["beside"]])


def test_uploaded_lines_are_searched(api: Api) -> None:
    key, message = api.answerer.save_upload(
        api.answerer.lines, b"a great film\nthe cat sat on the mat\na bank of the river\n", "a.txt"
    )
    assert "3 lines" in message
    question = {"view": "search", "options": {"lines": key}}
    shown = api.shown(state("a cat", **question))
    assert shown["figure"] and "3" in shown["said"] and shown["state"]["options"]["lines"] == key
    rows = json.loads(api.post(state("a cat", **question), f"{VIEW}/json").text)["rows"]
    assert "the cat sat on the mat" in json.dumps(rows)
    assert api.problem(state("a cat", view="search", options={"lines": "../x"}))["detail"]

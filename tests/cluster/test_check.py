"""Everything that can be wrong with a node is said in a sentence that says what to do."""

from dataclasses import replace
from pathlib import Path

import pytest

from bertexplorer.cluster.check import Facts, Node, check, facts, problems
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings

HERE = Facts("3.11.7", "0.2.0", "2.13.0", 1000.0, "check-1", 8, 32_000)
NODE = Node("node-2", "id", 8.0, 16_000)
SETTINGS = Settings(data_dir=Path("/data"), runs_url="s3://runs")


def test_a_node_like_the_server_is_well() -> None:
    assert not list(problems(NODE, replace(HERE, python="3.11.9", clock=1001.0), HERE, SETTINGS))


@pytest.mark.parametrize(
    ("there", "node", "words"),
    [
        ({"python": "3.12.1"}, {}, ("python is 3.12", "the server has 3.11", "same image")),
        ({"bertexplorer": "0.1.0"}, {}, ("bertexplorer is 0.1.0", "same image")),
        ({"torch": "not installed"}, {}, ("torch is not installed",)),
        ({"clock": 1600.0}, {}, ("600 s ahead", "NTP")),
        ({"clock": 400.0}, {}, ("600 s behind", "NTP")),
        ({"seen": "No such file or directory"}, {}, ("/data", "No such file", "Mount it")),
        ({"stored": "s3://runs refuses: 403"}, {}, ("storage of runs", "403", "credentials for s3://runs")),
        ({"cores": 2}, {}, ("counts 8 CPUs where 2 are", "--num-cpus=2")),
        ({}, {"memory_mb": 3000}, ("3,000 MB", "5,096", "BERTEXPLORER_MEMORY_MB to 2,000")),
    ],
)
def test_what_is_wrong_is_said(there: dict[str, object], node: dict[str, object], words: tuple[str, ...]) -> None:
    (said,) = problems(replace(NODE, **node), replace(HERE, **there), HERE, SETTINGS)
    assert all(word in said for word in words) and said.endswith(".")


def test_too_few_cores() -> None:
    (said,) = problems(replace(NODE, cpus=2.0), HERE, HERE, replace(SETTINGS, worker_cores=4))
    assert "offers 2 CPUs" in said and "BERTEXPLORER_WORKER_CORES=2" in said


def test_a_node_without_cpus_runs_no_replica() -> None:
    assert not list(problems(replace(NODE, cpus=0.0, memory_mb=10), HERE, HERE, SETTINGS))


def test_the_facts_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("seen")
    found = Facts(**facts(str(tmp_path / "a")))
    assert found.seen == "seen" and found.memory_mb > 100 and found.cores >= 1 and found.torch[0].isdigit()
    assert "No such file" in facts(str(tmp_path / "b"))["seen"] and not found.stored
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "word").write_text("a word")
    assert facts("", f"file://{tmp_path}/store")["stored"] == "a word"
    assert "refuses" in facts("", f"file://{tmp_path}/a")["stored"]


def test_no_cluster_is_named() -> None:
    with pytest.raises(ExplorerError, match="BERTEXPLORER_RAY"):
        list(check(Settings()))

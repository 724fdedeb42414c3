"""For every problem of a node, the check recommends what to do."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bertexplorer.cluster.check import (
    Node,
    NodeFacts,
    check_cluster,
    cluster_problems,
    node_facts,
    node_problems,
)
from bertexplorer.errors import ExplorerError
from bertexplorer.settings import Settings

SERVER = NodeFacts("3.11.7", "0.2.0", "2.13.0", 1000.0, "check-1", 8, 32_000)
NODE = Node("node-2", "id", 8.0, 16_000)
SETTINGS = Settings(data_dir=Path("/data"), runs_url="s3://runs")


def test_a_node_like_the_server_has_no_problems() -> None:
    assert not list(node_problems(NODE, replace(SERVER, python="3.11.9", clock=1001.0), SERVER, SETTINGS))


@pytest.mark.parametrize(
    ("facts", "node", "words"),
    [
        ({"python": "3.12.1"}, {}, ("python is 3.12", "the server has 3.11", "same image")),
        ({"bertexplorer": "0.1.0"}, {}, ("bertexplorer is 0.1.0", "same image")),
        ({"torch": "not installed"}, {}, ("torch is not installed",)),
        ({"clock": 1600.0}, {}, ("600 s ahead", "NTP")),
        ({"clock": 400.0}, {}, ("600 s behind", "NTP")),
        ({"data_marker": "No such file or directory"}, {}, ("/data", "No such file", "Mount it")),
        (
            {"storage_marker": "The storage of runs failed: 403"},
            {},
            ("storage of runs", "403", "credentials for s3://runs"),
        ),
        ({"cores": 2}, {}, ("counts 8 CPUs, but the node has 2", "--num-cpus=2")),
        ({}, {"memory_mb": 3000}, ("3,000 MB", "5,096", "BERTEXPLORER_MEMORY_MB to 2,000")),
    ],
)
def test_each_problem_is_reported_with_advice(
    facts: dict[str, object], node: dict[str, object], words: tuple[str, ...]
) -> None:
    (problem,) = node_problems(replace(NODE, **node), replace(SERVER, **facts), SERVER, SETTINGS)
    assert all(word in problem for word in words) and problem.endswith(".")


def test_too_few_cores_and_a_missing_address_are_reported() -> None:
    (problem,) = node_problems(replace(NODE, cpus=2.0), SERVER, SERVER, replace(SETTINGS, worker_cores=4))
    assert "offers 2 CPUs" in problem and "BERTEXPLORER_WORKER_CORES=2" in problem
    assert not list(node_problems(replace(NODE, cpus=0.0, memory_mb=10), SERVER, SERVER, SETTINGS))
    with pytest.raises(ExplorerError, match="BERTEXPLORER_RAY"):
        list(check_cluster(Settings()))


def test_a_node_without_a_view_of_the_server_is_reported() -> None:
    settings = replace(SETTINGS, plugins=("letters", "marks"))
    assert not list(node_problems(NODE, replace(SERVER, views=("letters", "marks", "spots")), SERVER, settings))
    (problem,) = node_problems(NODE, replace(SERVER, views=("marks",)), SERVER, settings)
    assert problem == "it lacks views of other packages: letters. Install these packages there too."


def test_facts_of_this_machine_are_collected(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("seen")
    facts = NodeFacts(**node_facts(str(tmp_path / "a")))
    assert facts.data_marker == "seen" and facts.memory_mb > 100 and facts.cores >= 1 and facts.torch[0].isdigit()
    assert "No such file" in node_facts(str(tmp_path / "b"))["data_marker"] and not facts.storage_marker
    (tmp_path / "store").mkdir()
    (tmp_path / "store" / "word").write_text("a word")
    assert node_facts("", f"file://{tmp_path}/store")["storage_marker"] == "a word"
    assert "failed" in node_facts("", f"file://{tmp_path}/a")["storage_marker"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"workers": 3}, ()),
        ({"workers": 4}, ("room for 3 of 4 replicas of 1 CPU and 5,096 MB", "lower BERTEXPLORER_WORKERS")),
        ({"workers": 2, "worker_cores": 8}, ("room for 1 of 2 replicas of 8 CPUs",)),
        ({"workers": 1, "worker_cores": 8, "runs": "ray"}, ("runs would wait forever",)),
        ({"workers": 1, "worker_cores": 7, "runs": "ray"}, ()),
    ],
)
def test_the_capacity_of_all_nodes_is_checked(change: dict[str, Any], words: tuple[str, ...]) -> None:
    problems = list(cluster_problems([NODE, replace(NODE, cpus=0.0)], replace(SETTINGS, **change)))
    assert len(problems) == bool(words) and all(word in problems[0] for word in words)

"""The server's side of Ray Serve, without a cluster."""

from dataclasses import replace
from pathlib import Path

from bertexplorer.cluster.ray_backend import application_name
from bertexplorer.settings import Settings


def test_two_servers_on_one_cluster_have_replicas_of_their_own(tmp_path: Path) -> None:
    settings = Settings(data_dir=tmp_path / "one")
    name = application_name(settings)
    assert name.startswith("bertexplorer-") and name != application_name(replace(settings, data_dir=tmp_path / "two"))
    assert name == application_name(replace(settings, data_dir=tmp_path / "two" / ".." / "one", workers=3))

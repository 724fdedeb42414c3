"""The compose file and the KubeRay manifest of docs/scaling.md are valid YAML, and keep what the page promises."""

import re
from typing import Any

import yaml

from tests.conftest import ROOT

BLOCKS = re.findall(r"```yaml\n(.*?)```", (ROOT / "docs" / "scaling.md").read_text("utf-8"), re.DOTALL)
COMPOSE, MANIFEST = map(yaml.safe_load, BLOCKS)


def test_a_worker_has_no_health_check_of_a_server() -> None:
    server, worker = (COMPOSE["services"][name] for name in ("server", "worker"))
    assert "HEALTHCHECK" in (ROOT / "Dockerfile").read_text("utf-8") and worker["healthcheck"] == {"disable": True}
    assert "BERTEXPLORER_CODE" in server["environment"] and "BERTEXPLORER_CODE" not in worker["environment"]
    assert server["environment"]["RAY_USAGE_STATS_ENABLED"] == worker["environment"]["RAY_USAGE_STATS_ENABLED"] == "0"


def test_ray_in_a_pod_sends_no_usage_reports_and_has_working_probes() -> None:
    groups = [MANIFEST["spec"]["headGroupSpec"], *MANIFEST["spec"]["workerGroupSpecs"]]
    ports = [6379, int(groups[1]["rayStartParams"]["node-manager-port"])]
    for group, port in zip(groups, ports, strict=True):
        pod: dict[str, Any] = group["template"]["spec"]
        ray = pod["containers"][0]
        assert {"name": "RAY_USAGE_STATS_ENABLED", "value": "0"} in ray["env"]
        assert ray["livenessProbe"]["tcpSocket"] == ray["readinessProbe"]["tcpSocket"] == {"port": port}
        assert pod["securityContext"] == {"fsGroup": 1000} and {volume["name"] for volume in pod["volumes"]} == {
            mount["name"] for mount in ray["volumeMounts"]
        }

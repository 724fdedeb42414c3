"""Shared runs: whoever has the link sees the curve, and nothing else."""

import httpx
import pytest

from tests.api.classes import refused
from tests.api.conftest import Served
from tests.api.test_runs import other, started, write  # noqa: F401

READY = {"event": "ready", "step": 0, "floors": {"accuracy": {"name": "always “negative”", "value": 0.5}}}
SEEN = {"name", "state", "progress", "said", "metric", "values", "loss", "floor", "share"}


def steps(count: int) -> list[dict[str, object]]:
    return [{"event": "steps", "step": i, "epoch": i / 100, "loss": {"loss": 1 / (1 + i)}} for i in range(count)]


def evaluated(epoch: float, value: float) -> dict[str, object]:
    return {"event": "evaluated", "step": 1, "epoch": epoch, "metrics": {"accuracy": value, "loss": 0.4}}


def test_a_link_shows_the_curve_and_nothing_else(
    served: Served,
    browser: httpx.Client,
    other: httpx.Client,  # noqa: F811
) -> None:
    run = started(browser, name="Ours")
    assert not browser.get(f"/runs/{run['id']}/report").json()["shared"]
    shared = browser.post(f"/runs/{run['id']}/share", json={}).json()
    assert shared["address"].endswith(f"/r/{shared['key']}")
    assert browser.post(f"/runs/{run['id']}/share", json={}).json()["key"] == shared["key"], "the link stays"
    assert browser.get(f"/runs/{run['id']}/report").json()["shared"]
    write(served, run["id"], READY, evaluated(0, 0.5), *steps(1000), evaluated(1, 0.75), evaluated(2, float("nan")))
    seen = other.get(f"/shared/{shared['key']}").json()
    assert set(seen) == SEEN and (seen["name"], seen["state"]) == ("Ours", "queued")
    assert seen["values"] == [[0, 0.5], [1, 0.75]] and seen["floor"] == ["always “negative”", 0.5]
    assert len(seen["loss"]) <= 300 and seen["loss"][-1] == [9.99, pytest.approx(0.001)]
    assert other.get(f"{served.url}/r/{shared['key']}").status_code == 200
    assert other.get(f"/shared/{shared['key']}/qr.svg").headers["content-type"] == "image/svg+xml"
    for path in ("", "/report", "/events"):
        assert other.get(f"/runs/{run['id']}{path}").status_code == 404


def test_only_the_owner_shares_and_ends_it(browser: httpx.Client, other: httpx.Client) -> None:  # noqa: F811
    run = started(browser)
    assert other.post(f"/runs/{run['id']}/share", json={}).status_code == 404
    key = browser.post(f"/runs/{run['id']}/share", json={}).json()["key"]
    assert other.post(f"/runs/{run['id']}/unshare", json={}).status_code == 404
    assert other.get(f"/shared/{key}").status_code == 200
    browser.delete(f"/runs/{run['id']}")
    browser.post(f"/runs/{run['id']}/unshare", json={})
    for wrong in (key, "0" * 16, "../../run"):
        answer = other.get(f"/shared/{wrong}")
        assert answer.status_code == 404
    refused(other.get(f"/shared/{key}"), "This run is not shared (any more). Ask its owner for a new link.", 404)


def test_a_deleted_run_is_not_shown(browser: httpx.Client, other: httpx.Client) -> None:  # noqa: F811
    run = started(browser)
    key = browser.post(f"/runs/{run['id']}/share", json={}).json()["key"]
    browser.delete(f"/runs/{run['id']}")
    browser.post(f"/runs/{run['id']}/delete", json={})
    refused(other.get(f"/shared/{key}"), "This run was deleted.", 404)
    browser.post(f"/runs/{run['id']}/restore", json={})
    assert other.get(f"/shared/{key}").status_code == 200

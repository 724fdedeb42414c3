"""A call goes to a replica that has its checkpoint, equal texts to the same one, and elsewhere once that is busy."""

from collections import Counter

import pytest

from bertexplorer.api.calls import Call
from bertexplorer.cluster.routing import MARGIN, MAX_CHECKPOINTS, Router

IDLE = {"0": 0.0, "1": 0.0, "2": 0.0, "3": 0.0}


def test_a_checkpoint_stays_in_one_replica_while_it_is_idle() -> None:
    router = Router()
    homes = {name: {router.pick(name, str(n), IDLE) for n in range(20)} for name in map(str, range(40))}
    assert all(len(replicas) == 1 for replicas in homes.values())
    assert set.union(*homes.values()) == set(IDLE), "different checkpoints are spread"


def test_a_busy_home_replica_shares_its_texts_with_a_second_one() -> None:
    router = Router()
    first = router.pick("mini", "a", IDLE)
    assert router.pick("mini", "a", {**IDLE, first: MARGIN}) == first
    second = router.pick("mini", "a", {**IDLE, first: MARGIN + 1})
    assert second != first
    replicas = [router.pick("mini", str(n), IDLE) for n in range(100)]
    assert replicas == [router.pick("mini", str(n), IDLE) for n in range(100)], "equal texts go to the same cache"
    assert set(replicas) == {first, second} and min(Counter(replicas).values()) > 20


def test_loads_stay_balanced_under_pressure() -> None:
    router, loads = Router(), dict(IDLE)
    for n in range(100):
        loads[router.pick("mini", str(n % 7), loads)] += 1
    assert max(loads.values()) - min(loads.values()) <= MARGIN + 1


def test_a_dead_replica_is_no_longer_a_home() -> None:
    router = Router()
    first = router.pick("mini", "a", IDLE)
    others = {name: load for name, load in IDLE.items() if name != first}
    second = router.pick("mini", "a", others)
    router.forget(first)
    assert second != first and router.pick("mini", "a", IDLE) == second, "the replica that has the checkpoint"


def test_the_number_of_remembered_checkpoints_is_limited() -> None:
    router = Router()
    for n in range(2 * MAX_CHECKPOINTS):
        router.pick(str(n), "", IDLE)
    assert len(router.homes) == MAX_CHECKPOINTS


@pytest.mark.parametrize(
    ("kind", "given", "routing_key"),
    [
        ("view", {"state": {"text": "a", "pair": "b", "checkpoint": " mini "}}, ("mini", "a\0b")),
        ("view", {"link": "?text=a+b&checkpoint=x%2Fy"}, ("x/y", "a b\0")),
        ("analysis", {"text": "a", "checkpoint": "mini"}, ("mini", "a\0")),
        ("view", {"state": {"text": 1, "checkpoint": None}}, ("", "\0")),
        ("view", {"state": []}, ("", "\0")),
        ("view", None, ("", "\0")),
        ("export", [1], ("", "\0")),
    ],
)
def test_the_routing_key_of_a_call(kind: str, given: object, routing_key: tuple[str, str]) -> None:
    assert Call(kind, "", "a" * 32, given).routing_key == routing_key  # type: ignore[arg-type]

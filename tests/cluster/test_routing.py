"""A call goes to a replica that has its checkpoint, for equal texts to the same, and elsewhere once that is busier."""

from collections import Counter

import pytest

from bertexplorer.api.calls import Call
from bertexplorer.cluster.routing import MARGIN, REMEMBERED, Router

IDLE = {"0": 0.0, "1": 0.0, "2": 0.0, "3": 0.0}


def test_a_checkpoint_stays_in_one_replica_while_that_is_idle() -> None:
    router = Router()
    homes = {name: {router.pick(name, str(n), IDLE) for n in range(20)} for name in map(str, range(40))}
    assert all(len(found) == 1 for found in homes.values())
    assert set.union(*homes.values()) == set(IDLE), "and different ones are spread"


def test_a_busy_home_gets_a_second_one_and_texts_are_shared_out() -> None:
    router = Router()
    first = router.pick("mini", "a", IDLE)
    assert router.pick("mini", "a", {**IDLE, first: MARGIN}) == first
    second = router.pick("mini", "a", {**IDLE, first: MARGIN + 1})
    assert second != first
    found = [router.pick("mini", str(n), IDLE) for n in range(100)]
    assert found == [router.pick("mini", str(n), IDLE) for n in range(100)], "equal texts meet their cache"
    assert set(found) == {first, second} and min(Counter(found).values()) > 20


def test_loads_stay_level_under_a_rush() -> None:
    router, loads = Router(), dict(IDLE)
    for n in range(100):
        loads[router.pick("mini", str(n % 7), loads)] += 1
    assert max(loads.values()) - min(loads.values()) <= MARGIN + 1


def test_a_replica_that_died_is_no_home_any_more() -> None:
    router = Router()
    first = router.pick("mini", "a", IDLE)
    rest = {name: load for name, load in IDLE.items() if name != first}
    second = router.pick("mini", "a", rest)
    router.forget(first)
    assert second != first and router.pick("mini", "a", IDLE) == second, "where the checkpoint is"


def test_names_that_people_type_fill_no_memory() -> None:
    router = Router()
    for n in range(2 * REMEMBERED):
        router.pick(str(n), "", IDLE)
    assert len(router.homes) == REMEMBERED


@pytest.mark.parametrize(
    ("kind", "given", "asks"),
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
def test_what_a_call_asks(kind: str, given: object, asks: tuple[str, str]) -> None:
    assert Call(kind, "", "a" * 32, given).asks == asks  # type: ignore[arg-type]

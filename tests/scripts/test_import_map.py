"""Who imports whom: no circle, no arrow up, and no room of more than a fifth of its house."""

from __future__ import annotations

from functools import cache

import pytest

from import_map import AGENT, COMMANDS, LIBRARY, build, draw, read

pytestmark = pytest.mark.together("syntax")

NAMES = (LIBRARY, AGENT, COMMANDS)
houses = cache(read)  # with the first test that asks, and not while tests are collected
PART = 1 / 5
"""No room holds more than such a part of its house's lines."""


@pytest.mark.parametrize("name", NAMES)
def test_the_houses_stand(name: str) -> None:
    house = houses()[name]
    assert house.circles() == []
    assert house.arrows_up() == []


@pytest.mark.parametrize("name", NAMES)
def test_no_room_is_more_than_a_fifth_of_its_house(name: str) -> None:
    house = houses()[name]
    shares = {room.name: house.share(room) for room in house.rooms}
    assert {room: share for room, share in shares.items() if share > PART} == {}
    assert sum(shares.values()) == pytest.approx(1)


def test_the_whole_shows_every_room_of_the_agent() -> None:
    rooms = {room.name: room.lines for room in houses()[LIBRARY].rooms}
    assert {f"agent.{room.name}": room.lines for room in houses()[AGENT].rooms}.items() <= rooms.items()
    names = [room.name for room in houses()[LIBRARY].rooms]
    assert max(map(names.index, ("chain", "client", "cli"))) < names.index("agent.host")


def test_the_houses_are_those_of_the_tree() -> None:
    assert set(houses()) == set(NAMES)
    assert {"chain", "client", "cli", "agent.engine"} <= {room.name for room in houses()[LIBRARY].rooms}
    assert {"engine", "reconciling", "__main__"} <= {room.name for room in houses()[AGENT].rooms}
    assert "_lazy" in {room.name for room in houses()[COMMANDS].rooms}
    assert houses()[LIBRARY].lines > 40_000
    assert houses()[LIBRARY].generated > 1_000


LINES = {"roof": 10, "wall": 30, "ground": 60}


def test_a_house_is_drawn_from_its_roof() -> None:
    house = build("A house", LINES, [("roof", "wall"), ("wall", "ground"), ("wall", "wall"), ("wall", "sky")])
    assert draw(house).splitlines() == [
        "A house: 100 lines in 3 rooms",
        "  roof        10   10%  → wall",
        "  wall        30   30%  → ground",
        "  ground      60   60%",
    ]
    assert not house.circles()
    assert not house.arrows_up()
    told = draw(build("A house", LINES, [], generated=7)).splitlines()[0]
    assert told == "A house: 100 lines in 3 rooms, and 7 generated"


def test_an_arrow_up_would_be_found() -> None:
    house = build("A house", LINES, [("wall", "roof")], ["ground", "wall", "roof"])
    assert house.arrows_up() == ["wall → roof"]
    assert not house.circles()


def test_a_circle_would_be_found() -> None:
    house = build("A house", LINES, [("wall", "roof"), ("roof", "ground"), ("ground", "wall")])
    assert sorted(house.circles()) == ["ground", "roof", "wall"]
    assert house.arrows_up()

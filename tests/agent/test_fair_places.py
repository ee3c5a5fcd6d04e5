"""Whoever is slow keeps no place from others, and nobody loses what he has."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from leasehold_agent.reconciling._fair_places import FairPlaces, PlaceHeld, PlaceLost, slowest

WINDOW = 30.0


class TestWhoLeaves:
    def test_the_slowest_of_those_who_had_their_time(self) -> None:
        slow, fast, new = PlaceHeld("a", 0, 10), PlaceHeld("b", 0, 1_000), PlaceHeld("c", 90, 0)
        assert slowest([fast, slow, new], 100, WINDOW) is slow
        assert slowest([new], 100, WINDOW) is None
        assert slowest([], 100, WINDOW) is None

    def test_of_a_tenant_with_several_first(self) -> None:
        """However fast they are: four places of one tenant are three too many."""
        lone, mine, other = PlaceHeld("a", 0, 10), PlaceHeld("b", 0, 1_000), PlaceHeld("b", 0, 2_000)
        assert slowest([lone, other, mine], 100, WINDOW) is mine

    def test_nobody_is_asked_twice(self) -> None:
        told, next_ = PlaceHeld("a", 0, 10), PlaceHeld("b", 0, 1_000)
        told.lost.set()
        assert slowest([told, next_], 100, WINDOW) is next_
        with pytest.raises(PlaceLost):
            told.check()
        next_.check()


async def until(holds: Callable[[], bool]) -> None:
    while not holds():  # noqa: ASYNC110  # a list announces nothing
        await asyncio.sleep(0)


class Clock:
    def __init__(self) -> None:
        self.time = 0.0

    def __call__(self) -> float:
        return self.time


class TestPlaces:
    async def test_nobody_leaves_while_nobody_waits(self) -> None:
        places = FairPlaces(2, 0.0)
        async with places.place("a") as first, places.place("a") as second:
            assert [place.lost.is_set() for place in (first, second)] == [False, False]

    async def test_whoever_left_goes_on_where_he_was(self) -> None:
        places, done, steps = FairPlaces(1, 0.0), list[str](), list[int]()

        async def slow(place: PlaceHeld) -> None:
            while len(steps) < 3:
                steps.append(len(steps))
                if len(steps) == 2:
                    await place.lost.wait()
                place.check()
            done.append("slow")

        async def quick(place: PlaceHeld) -> None:
            done.append("quick")

        trickling = asyncio.create_task(places.in_turns("a", slow))
        await until(lambda: len(steps) == 2)
        await places.in_turns("b", quick)
        await trickling
        assert (done, steps) == (["quick", "slow"], [0, 1, 2])

    async def test_one_a_window_leaves(self) -> None:
        clock = Clock()
        places = FairPlaces(2, WINDOW, clock)
        held = [await places.place("a").__aenter__(), await places.place("b").__aenter__()]
        waiting = asyncio.get_running_loop().create_future()
        places._line.append(waiting)
        clock.time = WINDOW
        held[0].got = 7
        for _ in range(3):
            places._make_way(waiting)
        assert [place.lost.is_set() for place in held] == [False, True]
        assert [place.got for place in held] == [0, 0]
        clock.time = 2 * WINDOW
        places._make_way(asyncio.get_running_loop().create_future())  # one who is not first has nobody leave
        assert not held[0].lost.is_set()
        places._make_way(waiting)
        assert held[0].lost.is_set()

    async def test_a_tenant_without_a_place_comes_before_one_who_has_some(self) -> None:
        places, order = FairPlaces(2, WINDOW), list[str]()
        leave = asyncio.Event()

        async def stay(place: PlaceHeld) -> None:
            order.append(place.whose)
            await leave.wait()

        first = [asyncio.create_task(places.in_turns(whose, stay)) for whose in ("a", "a", "a", "b")]
        await until(lambda: len(order) == 2)
        places._held[0].lost.set()
        first[0].cancel()
        await until(lambda: len(order) == 3)
        assert order == ["a", "a", "b"]
        leave.set()
        await asyncio.gather(*first, return_exceptions=True)

    async def test_who_gives_up_in_the_line_leaves_it(self) -> None:
        places = FairPlaces(1, WINDOW)
        async with places.place("a"):
            waiting = asyncio.create_task(places.place("b").__aenter__())
            await asyncio.sleep(0)
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)
        async with places.place("c"):
            pass
        assert (places._held, places._line) == ([], [])

    async def test_work_goes_on_where_its_place_is_lost(self) -> None:
        place, work = PlaceHeld("a", 0), asyncio.get_running_loop().create_future()
        place.lost.set()
        with pytest.raises(PlaceLost):
            await place.unless_lost(work)
        assert not work.cancelled()
        work.set_result(b"x")
        assert await place.unless_lost(work) == b"x"

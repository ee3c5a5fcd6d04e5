"""Lines to agents: one for each machine, another when its document changes, and none closed under somebody's feet."""

from __future__ import annotations

import pytest

from leasehold.gateway._lines import LOOK_SECONDS, Lines
from leasehold.gateway._refusals import Busy, NotHere
from leasehold.market import AgentLine, Contact


class Line:
    """What `Lines` uses of a line."""

    def __init__(self, machine: int) -> None:
        self.machine = machine
        self.closed = False

    async def close(self) -> None:
        self.closed = True


class World:
    def __init__(self, most: int = 2) -> None:
        self.time = 0.0
        self.contacts: dict[int, Contact] = {}
        self.made: list[Line] = []
        self.lines = Lines(self.contact_of, self.make, most=most, clock=lambda: self.time)

    def names(self, machine: int, endpoint: str) -> None:
        self.contacts[machine] = Contact.model_construct(version=1, endpoints=(endpoint,))

    async def contact_of(self, machine: int) -> Contact:
        if machine not in self.contacts:
            raise NotHere("There is no such machine")
        return self.contacts[machine]

    def make(self, machine: int, contact: Contact) -> AgentLine:
        self.made.append(Line(machine))
        return self.made[-1]  # type: ignore[return-value]


@pytest.fixture
def world() -> World:
    made = World()
    for machine in range(4):
        made.names(machine, f"https://{machine}.example")
    return made


async def test_a_machine_has_one_line(world: World) -> None:
    async with world.lines.to(1) as first, world.lines.to(1) as second:
        assert first is second
    async with world.lines.to(1) as third:
        assert third is first


async def test_another_document_means_another_line_and_the_old_one_ends_with_its_last_user(
    world: World,
) -> None:
    async with world.lines.to(1):
        world.names(1, "https://moved.example")
        async with world.lines.to(1):
            assert len(world.made) == 1  # it was looked up a moment ago
        world.time += LOOK_SECONDS
        async with world.lines.to(1):
            assert len(world.made) == 2
        assert not world.made[0].closed
    assert [line.closed for line in world.made] == [True, False]


async def test_a_document_that_stayed_keeps_its_line(world: World) -> None:
    async with world.lines.to(1):
        pass
    world.time += LOOK_SECONDS
    async with world.lines.to(1):
        assert len(world.made) == 1


async def test_the_line_that_was_used_longest_ago_ends(world: World) -> None:
    for machine in (0, 1, 0, 2):
        async with world.lines.to(machine):
            pass
    assert [line.machine for line in world.made if line.closed] == [1]


async def test_lines_in_use_are_bounded_and_stay(world: World) -> None:
    async with world.lines.to(0), world.lines.to(1):
        with pytest.raises(Busy):
            async with world.lines.to(2):
                pass
        assert not any(line.closed for line in world.made)
    async with world.lines.to(2):
        pass


async def test_a_machine_that_is_not_there_leaves_nothing(world: World) -> None:
    with pytest.raises(NotHere):
        async with world.lines.to(9):
            pass
    await world.lines.close()
    assert not world.made


async def test_all_end_together(world: World) -> None:
    async with world.lines.to(0):
        pass
    await world.lines.close()
    assert [line.closed for line in world.made] == [True]

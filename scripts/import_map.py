"""Draws who imports whom, from the code: the whole, the agent, the command line.

    python scripts/import_map.py

A room is a package or a file that lies directly in its house; the whole is the library's house with the agent's on top
of it, whose rooms are called `agent.…` there. Rooms stand from the ground up, each with its lines, its part of the
house's lines, and the rooms that it takes from. Generated code is told apart: it makes no room larger. How imports are
read, and the order of the rooms where there is one, are those of the layer tests.
"""

from __future__ import annotations

import runpy
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
LIBRARY, AGENT = "leasehold", "leasehold_agent"
COMMANDS = f"{LIBRARY}.cli"


@dataclass(frozen=True)
class Room:
    """`takes`: the rooms of the same house that it imports from."""

    name: str
    lines: int
    takes: frozenset[str]


@dataclass(frozen=True)
class House:
    """`rooms` from the ground up: in the order that somebody gave, else so that each takes from those before it.

    generated: lines of generated code, which are in no room.
    """

    name: str
    rooms: tuple[Room, ...]
    generated: int = 0

    @property
    def lines(self) -> int:
        return sum(room.lines for room in self.rooms)

    def share(self, room: Room) -> float:
        """The room's part of the house's lines, 0 to 1."""
        return room.lines / self.lines

    def reached(self, name: str) -> set[str]:
        """Rooms that lie under `name` in any number of steps; `name` itself if it is on a circle."""
        takes, reached, ahead = {room.name: room.takes for room in self.rooms}, set[str](), [name]
        while ahead:
            new = takes[ahead.pop()] - reached
            reached |= new
            ahead += new
        return reached

    def circles(self) -> list[str]:
        """Rooms that import themselves by way of others."""
        return [room.name for room in self.rooms if room.name in self.reached(room.name)]

    def arrows_up(self) -> list[str]:
        """`a → b` where b stands above a."""
        place = {room.name: number for number, room in enumerate(self.rooms)}
        return [
            f"{room.name} → {taken}"
            for room in self.rooms
            for taken in sorted(room.takes)
            if place[taken] > place[room.name]
        ]


def build(
    name: str,
    lines: Mapping[str, int],
    arrows: Iterable[tuple[str, str]],
    order: Iterable[str] = (),
    generated: int = 0,
) -> House:
    """A house of rooms with so many lines. arrows: (who imports, from whom). order: of those rooms that have one; what
    is not named in it lies below. An arrow within a room, or to what is no room, is none.
    """
    takes: dict[str, set[str]] = {room: set() for room in lines}
    for room, taken in arrows:
        if room in takes and taken in takes and room != taken:
            takes[room].add(taken)
    rooms = {room: Room(room, count, frozenset(takes[room])) for room, count in lines.items()}
    unsorted = House(name, tuple(rooms.values()))
    named = [room for room in order if room in rooms]
    free = sorted(rooms.keys() - set(named), key=lambda room: (len(unsorted.reached(room)), room))
    return House(name, tuple(rooms[room] for room in [*free, *named]), generated)


def read() -> dict[str, House]:
    """The three houses as they stand in the tree."""
    layers = runpy.run_path(str(ROOT / "tests/offchain/test_layers.py"))
    agent_layers = runpy.run_path(str(ROOT / "tests/agent/test_layers.py"))
    modules = list(layers["modules"]())
    lines = {module: len(path.read_text().splitlines()) for module, path in modules}
    generated = {module for module, path in modules if "_generated" in path.parts}
    written = [(module, path) for module, path in modules if module not in generated]
    arrows = [(module, taken) for module, path in written for taken in layers["imports"](module, path)]

    def house(title: str, package: str, order: Iterable[str]) -> House:
        def room_of(name: str) -> str:
            if package == LIBRARY and name.startswith(f"{AGENT}."):
                return _wing(name.split(".")[1])
            inside = name.removeprefix(package + ".")
            return "" if inside == name else inside.split(".")[0]

        counts, apart = dict[str, int](), 0
        for module, count in lines.items():
            if room := room_of(module):
                counts[room] = counts.get(room, 0) + count * (module not in generated)
                apart += count * (module in generated)
        between = ((room_of(one), room_of(other)) for one, other in arrows)
        return build(title, {room: count for room, count in counts.items() if count}, between, order, apart)

    drawn = agent_layers["drawn"]
    wings = drawn(ROOT / "agent" / AGENT)
    return {
        LIBRARY: house("The whole", LIBRARY, [*layers["ROOMS"], *map(_wing, wings)]),
        AGENT: house("The agent", AGENT, wings),
        COMMANDS: house("The command line", COMMANDS, drawn(ROOT / "offchain" / LIBRARY / "cli")),
    }


def _wing(room: str) -> str:
    """What a room of the agent is called in the drawing of the whole."""
    return f"agent.{room}"


def draw(house: House) -> str:
    """The house as text, its roof first."""
    width = max(len(room.name) for room in house.rooms)
    rows = [
        f"  {room.name:<{width}}  {room.lines:>6,}  {house.share(room):>4.0%}"
        + (f"  → {', '.join(sorted(room.takes))}" if room.takes else "")
        for room in reversed(house.rooms)
    ]
    apart = f", and {house.generated:,} generated" if house.generated else ""
    return "\n".join([f"{house.name}: {house.lines:,} lines in {len(house.rooms)} rooms{apart}", *rows])


def main() -> None:
    for house in read().values():
        print(draw(house), end="\n\n")


if __name__ == "__main__":
    main()

"""Contract and agent agree on who has which card, whatever happens in whatever order: 100,000 steps, and some on a real
chain.

A step opens, resizes or closes a lease, withholds, joins, retires, describes anew, loses a card, brings it back, puts
another in its place, counts the cards in another order, or restarts an agent. After each, over two hosts of one
provider with up to three machines each:

- no cell of a card is given twice;
- a lease has the cards that were sold to it, or none and a sentence: never others;
- it has them whenever they are here, well, and nobody else's before;
- what a lease opens on while the chain has heard what is lost, it is given.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Awaitable, Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from devnet.cell_book import CellBook, NoRoom, cells, place
from devnet.pool import PoolChain
from leasehold.chain import LeaseRequest, LeaseState, Machine, MachineStatus, Terms
from leasehold.errors import ContractError, SettingsError
from leasehold_agent._config import AgentSettings
from leasehold_agent.cards import WHOLE, Asked, HardwareFiles, InService, Part, choose_part
from leasehold_agent.chain import ChainSnapshot, Desired
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import Card, Inventory, SilentCard
from leasehold_agent.reconciling import HostFacts

PROVIDER, TENANT, OPERATOR = 1, 2, 3
SHARES = (1, 2, 4, 8, 8, 8, 16, 24, 32)
TIDY = (30, 10, 24, 4, 12, 5, 2, 3, 4, 5, 2, 2, 3, 0)
"""How often each step comes where the owner does what `describe` says; else he names cards by hand."""
UNTIDY = (30, 6, 12, 1, 3, 3, 2, 3, 2, 8, 1, 2, 3, 10)
TERMS = Terms(10**18, 0, 1, 30 * 86_400, 0, 60_000)
ENGINE = EngineFacts(quota=True, runtimes=("runc",), root=Path("/none"))


class Host:
    """A host with cards, some of which do not answer; its agent knows what lies in the folder, and nothing more."""

    def __init__(self, number: int, folder: Path, rng: Random) -> None:
        self.number, self.folder, self.rng = number, folder, rng
        self.slots = [self._card(slot) for slot in range(rng.choice((2, 4, 8)))]
        self.lost: set[str] = set()
        self.made = len(self.slots)
        self.restart()

    def _card(self, serial: int) -> Card:
        return Card("H100", 80 << 30, f"GPU-{self.number}-{serial}")

    @property
    def inventory(self) -> Inventory:
        answering = tuple(card for card in self.slots if card.uuid not in self.lost)
        silent = tuple(SilentCard("nvidia", "lost") for card in self.slots if card not in answering)
        return Inventory(answering, "570", "cpu", 64, 65 << 30, (), "6.1", silent=silent)

    def restart(self) -> None:
        files = HardwareFiles(self.folder / str(self.number))
        self.facts = HostFacts(AgentSettings(), self.inventory, ENGINE, 1 << 40, "boot", files)

    def look(self) -> None:
        self.facts.inventory = self.inventory

    def replace_card(self) -> None:
        """Another card in the slot of one, for good."""
        slot = self.rng.randrange(len(self.slots))
        self.lost.discard(self.slots[slot].uuid)
        self.slots[slot] = self._card(self.made)
        self.made += 1

    def describe(self, sold: dict[int, InService], again: int | None = None) -> tuple[bytes, int]:
        part = choose_part(self.inventory, Asked(again=again), sold, None)
        gpus = [{"uuid_hash": card.uuid_hash} for card in part.cards]
        document = {"gpus": gpus, "cpu_units": 0, "host_units": part.host_units}
        return self.facts.hardware.keep(json.dumps(document).encode()), part.units


class Play:
    """One sequence of steps, by its seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.rng = Random(seed)
        self.book = CellBook()
        self.hosts = [Host(number, folder, self.rng) for number in (1, 2)]
        self.heard: set[int] = set()  # machines whose lost cells the chain has heard of, as they are now
        self.steps: dict[str, Callable[[], None]] = {
            "open": self.open, "resize": self.resize, "close": self.close, "withhold": self.withhold,
            "agent withholds": self.say, "join": self.join, "retire": self.retire, "again": self.again,
            "lose": self.lose, "mend": self.mend, "replace": self.replace, "reorder": self.reorder,
            "restart": self.restart, "by hand": self.by_hand,
        }  # fmt: skip
        self.weights = TIDY if seed % 2 else UNTIDY

    def step(self) -> str:
        name = self.rng.choices(list(self.steps), self.weights)[0]
        with contextlib.suppress(NoRoom, SettingsError):
            self.steps[name]()
        return name

    # ------------------------------------------------------------------------------------------------------ steps

    def open(self) -> None:
        number = self._machine()
        lease = self.book.open(number, self.rng.choice(SHARES))
        if number in self.heard:
            assert self._given(number)[lease].problem is None, "what is on sale can be given"

    def resize(self) -> None:
        lease = self.rng.choice(list(self.book.leases) or [0])
        if lease:
            self.book.resize(lease, self.rng.choice(SHARES))
            self.heard -= set(self.sold(self._host(self.book.leases[lease].machine)))

    def close(self) -> None:
        if self.book.leases:
            self.book.close(self.rng.choice(list(self.book.leases)))

    def withhold(self) -> None:
        """The provider's own word, which may put back on sale what his agent took out."""
        number = self._machine()
        self.book.withhold(number, self.rng.getrandbits(8 * self.book.machines[number].gpus))
        self.heard.discard(number)

    def say(self) -> None:
        host = self.rng.choice(self.hosts)
        for number, lost in host.facts.allocation(self.chain(host)).withheld.items():
            machine = self.book.machines[number]
            own = self.rng.choice((0, machine.withheld))
            self.book.withhold(number, lost | own)
            self.heard.add(number)

    def join(self) -> None:
        host = self.rng.choice(self.hosts)
        sold = self.sold(host)
        if len(sold) < 3:
            hardware, units = host.describe(sold)
            if not any(self._cards(hardware) == machine.cards for machine in sold.values()):
                self.book.register(host.number, self.rng.randint(1, units), hardware)

    def retire(self) -> None:
        self.book.retire(self._machine())

    def again(self) -> None:
        """A machine is described once more: in its order, with spare cards in the place of those that are gone."""
        number = self._machine()
        host = self._host(number)
        hardware, units = host.describe(self.sold(host), number)
        if units >= self.book.machines[number].gpus:
            self.book.set_hardware(number, hardware)
            self.heard.discard(number)

    def by_hand(self) -> None:
        """The owner says what he likes: cards in any order, cards of another machine, a card twice."""
        host = self.rng.choice(self.hosts)
        chosen = self.rng.sample(host.slots, self.rng.randint(1, len(host.slots)))
        chosen += chosen[: self.rng.random() < 0.1]
        gpus = [{"uuid_hash": card.uuid_hash} for card in chosen[:8]]
        document = {"gpus": gpus, "host_units": len(host.slots)}
        hardware = host.facts.hardware.keep(json.dumps(document).encode())
        fitting = [n for n, sold in self.sold(host).items() if sold.units <= len(gpus)]
        if fitting and self.rng.random() < 0.7:
            self.book.set_hardware(self.rng.choice(fitting), hardware)
        elif len(self.sold(host)) < 3:
            self.book.register(host.number, self.rng.randint(1, len(gpus)), hardware)
        self.heard -= set(self.sold(host))

    def lose(self) -> None:
        host = self.rng.choice(self.hosts)
        host.lost.add(self.rng.choice(host.slots).uuid)
        self._changed(host)

    def mend(self) -> None:
        host = self.rng.choice(self.hosts)
        if host.lost:
            host.lost.remove(self.rng.choice(sorted(host.lost)))
            self._changed(host)

    def replace(self) -> None:
        host = self.rng.choice(self.hosts)
        host.replace_card()
        self._changed(host)

    def reorder(self) -> None:
        host = self.rng.choice(self.hosts)
        self.rng.shuffle(host.slots)
        self._changed(host)

    def restart(self) -> None:
        self.rng.choice(self.hosts).restart()

    def _changed(self, host: Host) -> None:
        host.look()
        self.heard -= set(self.sold(host))

    # --------------------------------------------------------------------------------------------------- what is so

    def _machine(self) -> int:
        in_service = [number for number, machine in self.book.machines.items() if not machine.retired]
        if not in_service:
            raise NoRoom
        return self.rng.choice(in_service)

    def _host(self, number: int) -> Host:
        return self.hosts[self.book.machines[number].operator - 1]

    def _cards(self, hardware: bytes) -> tuple[str, ...]:
        found = [host.facts.hardware.of(hardware) for host in self.hosts]
        return next(described.cards for described in found if described is not None)

    def sold(self, host: Host) -> dict[int, InService]:
        return {
            number: InService(machine.gpus, self._cards(machine.hardware[-1])[: machine.gpus])
            for number, machine in self.book.machines.items()
            if machine.operator == host.number and not machine.retired
        }

    def chain(self, host: Host) -> ChainSnapshot:
        mine = {n: m for n, m in self.book.machines.items() if m.operator == host.number}
        return ChainSnapshot(
            current=True,
            now=1,
            machines={number: _machine(number, machine) for number, machine in mine.items()},
            leases={
                lease: _desired(lease, held, mine[held.machine].hardware[held.revision - 1])
                for lease, held in self.book.leases.items()
                if held.machine in mine
            },
            hardware={number: machine.hardware[-1] for number, machine in mine.items()},
        )

    def _given(self, number: int) -> Any:
        host = self._host(number)
        return host.facts.allocation(self.chain(host)).given

    def check(self) -> None:
        given_to: dict[str, int] = {}
        for host in self.hosts:
            found = host.facts.allocation(self.chain(host)).given
            here = {card.uuid_hash for card in host.inventory.gpus}
            for lease, given in found.items():
                wanted = tuple(self._wanted(lease))
                assert given.parts in ((), wanted), "a lease has what was sold to it, or nothing"
                assert bool(given.parts) == (given.problem is None)
                for part in given.parts:
                    assert part.card in here
                    assert not given_to.get(part.card, 0) & part.cells, "nothing is given twice"
                    given_to[part.card] = given_to.get(part.card, 0) | part.cells
            for lease, given in found.items():
                if not given.parts and here.issuperset(part.card for part in self._wanted(lease)):
                    assert self._is_anothers(lease, host, given_to), given.problem

    def _wanted(self, lease: int) -> Iterator[Part]:
        """What was sold: the cards that the machine had then, in its order."""
        held = self.book.leases[lease]
        cards = self._cards(self.book.machines[held.machine].hardware[held.revision - 1])
        for gpu in range(8):
            if held.placement >> 8 >> gpu & 1:
                yield Part(cards[gpu], held.placement & 0xFF)

    def _is_anothers(self, lease: int, host: Host, given_to: dict[str, int]) -> bool:
        """Whether some of it is held by a lease of before, has passed to another machine, or was named twice."""
        held = self.book.leases[lease]
        machine, described = held.machine, self.book.machines[held.machine].hardware[held.revision - 1]
        if len(set(self._cards(described))) < len(self._cards(described)):
            return True
        other = {card for number, sold in self.sold(host).items() if number != machine for card in sold.cards}
        return any(
            part.card in other or given_to.get(part.card, 0) & part.cells for part in self._wanted(lease)
        )

    def check_who_is_on_a_card(self) -> None:
        """Parts of a card may be many leases' at once, eight cells in all; a whole one is nobody else's."""
        for host in self.hosts:
            chain = self.chain(host)
            shares = [host.facts.share(desired, chain) for desired in chain.leases.values()]
            for card in host.inventory.gpus:
                cells = [share.cells for share in shares if card.uuid in share.gpu_uuids]
                assert sum(part.bit_count() for part in cells) <= 8
                assert len(cells) < 2 or WHOLE not in cells

    def check_host_is_not_oversold(self) -> None:
        for host in self.hosts:
            chain = self.chain(host)
            shares = [host.facts.share(desired, chain) for desired in chain.leases.values()]
            assert sum(share.cpus for share in shares) <= host.inventory.cores + 0.001 * len(shares)
            assert sum(share.memory_bytes for share in shares) <= host.inventory.memory_bytes


def _machine(number: int, machine: Any) -> Machine:
    status = MachineStatus.RETIRED if machine.retired else MachineStatus.VERIFIED
    return Machine(
        number, "0xp", "0xo", status, False, False, False, machine.gpus, machine.revision, 1, 0,
        machine.leased | machine.withheld, machine.leased, machine.withheld, 0, TERMS,
    )  # fmt: skip


def _desired(lease: int, held: Any, hardware: bytes) -> Desired:
    return Desired(
        lease, held.machine, "0xt", LeaseState.ACTIVE, held.placement, b"", 0, 10, 0, "0xt", hardware=hardware
    )


def played(folder: Path, seed: int, steps: int) -> None:
    play = Play(folder / str(seed), seed)
    done: list[str] = []
    for number in range(steps):
        done.append(play.step())
        try:
            play.check()
            if number % 50 == 0:
                play.check_host_is_not_oversold()
                play.check_who_is_on_a_card()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}, step {number}, after {done[-8:]}: {error}") from error


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 8))]
)
def test_contract_and_agent_agree(tmp_path: Path, seed: int) -> None:
    played(tmp_path, seed, 1_000)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8, 100))
def test_contract_and_agent_agree_over_100_000_steps(tmp_path: Path, seed: int) -> None:
    """Three sequences of a thousand are in the quick lane; these and the five beside them are the others."""
    played(tmp_path, seed, 1_000)


@pytest.mark.slow
async def test_the_book_is_as_the_contract(chain: PoolChain) -> None:
    """The same steps on a real chain: each lease sits where the book has it."""
    rng, book, ours = Random(11), CellBook(), dict[int, int]()
    for account in (PROVIDER, TENANT):
        await chain.token(account).approve(chain.deployment.controller, 10**30)
    consent = await chain.consent(PROVIDER, chain.signer(OPERATOR))
    operator, tenant = chain.pool(OPERATOR), chain.pool(TENANT)
    number, _ = await chain.pool(PROVIDER).register(
        TERMS, 3, 1, bytes(32), bytes(32), chain.address(OPERATOR), consent
    )
    assert number == book.register(1, 3, bytes(32))
    for _ in range(70):
        step = rng.choice(("open", "open", "open", "close", "resize", "withhold"))
        lease, share = rng.choice(list(ours) or [0]), rng.choice((1, 2, 4, 8, 16))
        if step == "withhold":
            withheld = rng.getrandbits(24) & rng.getrandbits(24) & rng.getrandbits(24)
            book.withhold(number, withheld)
            await operator.withhold(number, withheld)
        elif step == "close" and lease:
            book.close(ours.pop(lease))
            await tenant.close(lease)
        elif step == "resize" and lease:
            assert _refused(partial(book.resize, ours[lease], share)) == await _reverts(
                tenant.resize(lease, share)
            )
        elif step == "open" and not _refused(partial(book.open, number, share)):
            request = LeaseRequest(
                number, 1, share, 3_600, TERMS.price, bytes(31) + b"1", allow_unverified=True
            )
            opened, _ = await tenant.open(request)
            await operator.start(opened, bytes(32))
            ours[opened] = max(book.leases)
        for there, here in ours.items():
            assert (await tenant.lease_of(there)).placement == book.leases[here].placement
        assert (await tenant.machine_of(number)).leased == book.machines[number].leased


def _refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except NoRoom:
        return True
    return False


async def _reverts(call: Awaitable[object]) -> bool:
    try:
        await call
    except ContractError:
        return True
    return False


@pytest.mark.parametrize(
    ("busy", "share", "placement"),
    [
        (0, 1, 0x0101), (0x01, 1, 0x0102), (0x03, 1, 0x0104), (0x0F, 1, 0x0110), (0xFF, 1, 0x0201),
        (0x0100, 1, 0x0202), (0x01, 2, 0x010C), (0x0F, 2, 0x0130), (0x3F, 2, 0x0203), (0x1000, 4, 0x020F),
        (0x0001, 8, 0x02FF),
    ],
)  # fmt: skip
def test_where_the_contract_puts_a_share(busy: int, share: int, placement: int) -> None:
    """Those of `test_place_takes_the_smallest_hole` in tests/contracts/unit/Libraries.t.sol."""
    assert place(busy, share, 2) == placement
    assert not cells(placement) & busy

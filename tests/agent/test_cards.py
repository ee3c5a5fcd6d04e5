"""Every lease has the cards that it paid for: a card is its UUID, by the document whose digest is on the chain."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from leasehold.chain import LeaseState, Machine, MachineStatus, Terms
from leasehold.errors import SettingsError
from leasehold_agent._config import AgentSettings
from leasehold_agent.cards import (
    Asked,
    Described,
    HardwareFiles,
    Holding,
    InService,
    LeasePlace,
    LeaseShare,
    Part,
    allocate,
    choose_part,
)
from leasehold_agent.chain import ChainSnapshot, Desired
from leasehold_agent.engine import EngineFacts
from leasehold_agent.host import SILENT, Ailment, Card, Inventory, SilentCard
from leasehold_agent.reconciling import HostFacts

GIB = 1 << 30
CARDS = tuple(Card("NVIDIA H100 80GB HBM3", 80 * GIB, f"GPU-{n}") for n in range(4))
HASHES = tuple(card.uuid_hash for card in CARDS)
HOST = Inventory(CARDS, "570", "A processor", 16, 65 * GIB, (), "6.1")
PLAIN = replace(HOST, gpus=(), driver=None)
WHOLE = 0xFF


def machine(number: int, gpus: int, status: MachineStatus = MachineStatus.VERIFIED) -> Machine:
    terms = Terms(1, 0, 1, 1, 0, 60_000)
    return Machine(number, "0xp", "0xo", status, False, False, False, gpus, 1, 1, 0, 0, 0, 0, 0, terms)


def document(*cards: Card, units: int = 0, host_units: int = 4) -> bytes:
    gpus = [{"uuid_hash": card.uuid_hash} for card in cards]
    return json.dumps({"gpus": gpus, "cpu_units": units, "host_units": host_units}).encode()


class Site:
    """A host with what its machines were described as, and the chain's word on them."""

    def __init__(self, folder: Path, inventory: Inventory = HOST) -> None:
        self.files = HardwareFiles(folder / "hardware")
        engine = EngineFacts(quota=True, runtimes=("runc",), root=Path("/none"))
        self.facts = HostFacts(AgentSettings(), inventory, engine, 400, "boot", self.files)
        self.machines: dict[int, Machine] = {}
        self.hardware: dict[int, bytes] = {}
        self.leases: dict[int, Desired] = {}

    def join(self, number: int, described: bytes, gpus: int) -> None:
        self.machines[number] = machine(number, gpus)
        self.hardware[number] = self.files.keep(described)

    def retire(self, number: int) -> None:
        self.machines[number] = replace(self.machines[number], status=MachineStatus.RETIRED)

    def lease(
        self, lease: int, number: int, placement: int, state: LeaseState = LeaseState.ACTIVE
    ) -> LeaseShare:
        self.leases[lease] = Desired(
            lease,
            number,
            "0xt",
            state,
            placement,
            b"",
            0,
            10,
            0,
            "0xt",
            hardware=self.hardware[number],
        )
        return self.share(lease)

    def share(self, lease: int) -> LeaseShare:
        return self.facts.share(self.leases[lease], self.chain)

    @property
    def chain(self) -> ChainSnapshot:
        return ChainSnapshot(True, 1, 1, self.machines, self.leases, hardware=self.hardware)

    def withheld(self) -> Mapping[int, int]:
        return self.facts.allocation(self.chain).withheld

    def lose(self, *cards: Card) -> None:
        gpus = tuple(card for card in self.facts.inventory.gpus if card not in cards)
        self.facts.inventory = replace(self.facts.inventory, gpus=gpus)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


class TestWhoHasWhat:
    def test_a_machine_that_retired_counts_nothing(self, site: Site) -> None:
        """It was an IndexError, for GPUs were counted over all machines that there had ever been."""
        site.join(1, document(*CARDS), 4)
        site.retire(1)
        site.join(2, document(*CARDS), 4)
        share = site.lease(7, 2, 0x08FF)
        assert (share.gpu_uuids, share.cpus, share.memory_bytes, share.disk_bytes) == (
            ("GPU-3",),
            4.0,
            16 * GIB,
            100,
        )

    def test_nor_does_it_halve_a_cpu_host(self, tmp_path: Path) -> None:
        site = Site(tmp_path, PLAIN)
        described = document(units=8, host_units=8)
        site.join(1, described, 8)
        site.retire(1)
        site.join(2, described, 8)
        share = site.lease(7, 2, 0x0101)
        assert (share.cpus, share.memory_bytes, share.gpu_uuids, share.problem) == (0.25, GIB, (), None)

    def test_a_card_that_does_not_answer_moves_nobody(self, site: Site) -> None:
        site.join(1, document(*CARDS), 4)
        site.lose(CARDS[0])
        assert site.lease(1, 1, 0x02FF).gpu_uuids == ("GPU-1",)
        lost = site.lease(2, 1, 0x01FF)
        assert (lost.gpu_uuids, lost.problem) == (
            (),
            "GPU 0 does not answer, or is not in this host any more.",
        )
        assert site.withheld() == {1: 0xFF}
        assert site.share(1).cpus == 4.0

    def test_a_card_that_is_ill_is_not_given_either(self, site: Site) -> None:
        site.join(1, document(*CARDS), 4)
        site.facts.ill = {HASHES[2]: Ailment("ecc", "1 uncorrectable memory errors")}
        share = site.lease(1, 1, 0x04FF, LeaseState.OPENED)
        assert share.problem == "GPU 2 is ill, and given to nobody before it is well again."
        assert site.withheld() == {1: 0xFF << 16}

    def test_a_lease_that_is_billed_keeps_its_card_though_that_is_ill(self, site: Site) -> None:
        """Its command may be started again: better on a card that is hot than on none."""
        site.join(1, document(*CARDS), 4)
        site.facts.ill = {HASHES[2]: Ailment("heat", "95 °C")}
        assert site.lease(1, 1, 0x04FF).gpu_uuids == ("GPU-2",)
        assert site.withheld() == {1: 0xFF << 16}
        site.facts.ill = {HASHES[2]: SILENT}
        assert site.share(1).problem == "GPU 2 does not answer, or is not in this host any more."
        assert site.withheld() == {1: 0xFF << 16}

    def test_what_ails_a_lease_is_what_ails_its_own_cards(self, site: Site) -> None:
        site.join(1, document(*CARDS), 4)
        site.lease(1, 1, 0x06FF)
        heat = Ailment("heat", "95 °C")
        site.facts.ill = {HASHES[2]: heat, HASHES[3]: SILENT}
        assert site.facts.ailments(site.leases[1]) == {HASHES[2]: heat}
        site.lose(CARDS[1])
        assert site.facts.ailments(site.leases[1]) == {HASHES[1]: SILENT, HASHES[2]: heat}

    def test_the_order_in_which_the_driver_counts_means_nothing(self, site: Site) -> None:
        site.join(1, document(*CARDS), 4)
        before = [
            site.lease(n, 1, 0x01FF << n if n == 0 else (1 << 8 + n) | WHOLE).gpu_uuids for n in range(4)
        ]
        site.facts.inventory = replace(HOST, gpus=CARDS[::-1])
        assert [site.share(n).gpu_uuids for n in range(4)] == before

    def test_two_machines_on_one_host(self, site: Site) -> None:
        site.join(1, document(CARDS[2], CARDS[0]), 2)
        site.join(2, document(CARDS[1], CARDS[3]), 2)
        first, second = site.lease(1, 1, 0x03FF), site.lease(2, 2, 0x03FF)
        assert (first.gpu_uuids, second.gpu_uuids) == (("GPU-2", "GPU-0"), ("GPU-1", "GPU-3"))
        assert (first.cpus + second.cpus, first.memory_bytes + second.memory_bytes) == (16.0, 64 * GIB)

    def test_half_a_host_that_is_sold_is_half_of_it_from_the_start(self, site: Site) -> None:
        site.join(1, document(*CARDS[:2]), 2)
        assert site.lease(1, 1, 0x03FF).cpus == 8.0

    def test_machines_that_say_more_than_there_is_share_it(self, tmp_path: Path) -> None:
        site = Site(tmp_path, PLAIN)
        for number in (1, 2):
            site.join(number, document(units=8, host_units=8), 8)
        assert site.lease(1, 1, 0xFFFF).cpus + site.lease(2, 2, 0xFFFF).cpus == 16.0

    def test_a_card_that_two_machines_name_is_given_once(self, site: Site) -> None:
        site.join(1, document(*CARDS[:2]), 2)
        site.join(2, document(*CARDS[1:3]), 2)
        assert site.lease(1, 1, 0x02FF).gpu_uuids == ("GPU-1",)
        assert site.lease(2, 2, 0x01FF).problem == "GPU 0 belongs to machine 1 of this host."
        assert site.withheld() == {1: 0, 2: 0xFF}

    def test_a_card_named_twice_is_given_once(self, site: Site) -> None:
        site.join(1, document(CARDS[0], CARDS[0]), 2)
        assert site.lease(1, 1, 0x03FF).gpu_uuids == ()
        assert site.withheld() == {1: 0xFF << 8}

    def test_more_gpus_than_were_described(self, site: Site) -> None:
        site.join(1, document(*CARDS[:1]), 2)
        assert site.lease(1, 1, 0x02FF).problem == "GPU 1 is none that the machine was described with."
        assert site.withheld() == {1: 0xFF << 8}

    def test_a_card_is_replaced(self, site: Site) -> None:
        """Whoever paid for the old one is not given the new one; whoever rents afterwards is."""
        site.join(1, document(*CARDS[:2]), 2)
        site.lease(1, 1, 0x01FF), site.lease(2, 1, 0x02FF)
        site.lose(CARDS[1], CARDS[3])
        site.hardware[1] = site.files.keep(document(CARDS[0], CARDS[2]))
        assert site.share(1).gpu_uuids == ("GPU-0",)
        assert site.share(2).problem is not None
        assert site.withheld() == {1: 0}
        assert site.lease(3, 1, 0x02FF).gpu_uuids == ("GPU-2",)

    def test_a_machine_that_is_described_in_another_order_gives_nobody_anothers_card(
        self, site: Site
    ) -> None:
        """The chain takes GPU 0 for free: the card that it is now is still a lease's from before."""
        site.join(1, document(*CARDS[:2]), 2)
        assert site.lease(1, 1, 0x02FF).gpu_uuids == ("GPU-1",)
        site.hardware[1] = site.files.keep(document(CARDS[1], CARDS[0]))
        assert site.withheld() == {1: 0xFF}
        assert site.lease(2, 1, 0x01FF).gpu_uuids == ()
        assert site.share(1).gpu_uuids == ("GPU-1",)

    def test_a_machine_that_is_not_known_here_sells_nothing(self, site: Site) -> None:
        site.join(1, document(*CARDS), 4)
        for file in (site.files._folder).iterdir():
            file.unlink()
        site.files = site.facts.hardware = HardwareFiles(site.files._folder)
        assert site.lease(1, 1, 0x01FF).problem is not None
        assert site.withheld() == {1: (1 << 32) - 1}

    def test_a_host_without_its_driver_withholds_all_and_gives_it_back(self, site: Site) -> None:
        site.join(1, document(*CARDS), 4)
        site.lose(*CARDS)
        assert site.withheld() == {1: (1 << 32) - 1}
        site.facts.inventory = HOST
        assert site.withheld() == {1: 0}

    def test_a_resize_moves_only_what_it_should(self, site: Site) -> None:
        site.join(1, document(*CARDS), 4)
        before = site.lease(1, 1, 0x02FF)
        site.leases[1] = replace(site.leases[1], placement=0x0AFF)
        assert (before.gpu_uuids, site.share(1).gpu_uuids) == (("GPU-1",), ("GPU-1", "GPU-3"))
        assert before.devices != site.share(1).devices

    def test_other_cells_of_a_cpu_host_are_no_other_devices(self, tmp_path: Path) -> None:
        site = Site(tmp_path, PLAIN)
        site.join(1, document(units=4), 4)
        assert site.lease(1, 1, 0x0101).devices == site.lease(1, 1, 0x010F).devices


class TestPlaces:
    """What the contract rules out is still not given twice."""

    def test_of_two_claims_to_the_same_cells_one_is_given(self) -> None:
        described = Described(HASHES, 0)
        places = [LeasePlace(lease, 1, 0x01FF, described) for lease in (5, 3)]
        given = allocate([Holding(1, 4, described)], places, HASHES).given
        assert given[3].parts == (Part(HASHES[0], WHOLE),)
        assert given[5].problem is not None

    def test_parts_of_a_card(self) -> None:
        described = Described(HASHES, 0)
        places = [
            LeasePlace(1, 1, 0x0103, described),
            LeasePlace(2, 1, 0x010C, described),
            LeasePlace(3, 1, 0x0110, described),
        ]
        given = allocate([Holding(1, 4, described)], places, HASHES).given
        assert [given[lease].parts[0].cells for lease in (1, 2, 3)] == [0x03, 0x0C, 0x10]


class TestFiles:
    def test_a_document_that_was_changed_is_none(self, tmp_path: Path) -> None:
        files = HardwareFiles(tmp_path)
        digest = files.keep(document(*CARDS))
        assert files.of(digest) == Described(HASHES, 0, 4)
        (tmp_path / f"{digest.hex()}.json").write_bytes(document(*CARDS[::-1]))
        assert HardwareFiles(tmp_path).of(digest) is None

    @pytest.mark.parametrize("text", [b"[]", b"{}", b'{"gpus": [{}]}', b"\xff", b'{"gpus": 3}'])
    def test_what_is_no_hardware_document(self, tmp_path: Path, text: bytes) -> None:
        """Any may stand on the chain: whoever has the provider's key puts it there."""
        (tmp_path / f"{hashlib.sha256(text).hexdigest()}.json").write_bytes(text)
        assert HardwareFiles(tmp_path).of(hashlib.sha256(text).digest()) is None


class TestDescribing:
    """Which cards a machine is described with."""

    def part(self, inventory: Inventory = HOST, asked: Asked | None = None, **sold: InService) -> list[str]:
        machines = {int(number[1:]): machine for number, machine in sold.items()}
        part = choose_part(inventory, asked or Asked(), machines, None)
        assert part.units == len(part.cards)
        return [card.uuid for card in part.cards]

    def test_all_of_them_and_then_those_that_are_left(self) -> None:
        assert self.part() == ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]
        assert self.part(m1=InService(2, (HASHES[0], HASHES[2]))) == ["GPU-1", "GPU-3"]

    def test_those_that_are_named(self) -> None:
        assert self.part(asked=Asked(("GPU-3", "GPU-1"))) == ["GPU-3", "GPU-1"]

    def test_one_model_a_machine_and_no_more_than_eight(self) -> None:
        other = Card("NVIDIA A100", 1, "GPU-a")
        mixed = replace(HOST, gpus=(*CARDS, other))
        assert self.part(mixed) == ["GPU-0", "GPU-1", "GPU-2", "GPU-3"]
        assert self.part(mixed, m1=InService(4, HASHES)) == ["GPU-a"]
        many = replace(HOST, gpus=tuple(Card("m", 1, f"GPU-{n}") for n in range(10)))
        assert len(self.part(many)) == 8

    def test_a_machine_that_is_there_keeps_its_order(self) -> None:
        order = (HASHES[2], HASHES[0])
        again = InService(2, order)
        assert self.part(asked=Asked(again=1), m1=again) == ["GPU-2", "GPU-0"]
        lost = replace(HOST, gpus=(CARDS[0], CARDS[1]))
        assert self.part(lost, asked=Asked(again=1), m1=again) == ["GPU-1", "GPU-0"]

    def test_where_all_is_sold_the_only_machine_is_meant(self) -> None:
        assert self.part(m1=InService(4, HASHES[::-1])) == ["GPU-3", "GPU-2", "GPU-1", "GPU-0"]
        with pytest.raises(SettingsError, match="as machines 1, 2: name one"):
            self.part(m1=InService(2, HASHES[:2]), m2=InService(2, HASHES[2:]))

    @pytest.mark.parametrize(
        ("asked", "why"),
        [
            (Asked(("GPU-0",)), "GPU-0 belongs to machine 1"),
            (Asked(("GPU-9",)), "no card that answers"),
            (Asked(("GPU-1", "GPU-1")), "named twice"),
            (Asked(("GPU-1",), units=2), "not both"),
            (Asked(units=2), "name cards"),
            (Asked(again=3), "not one of this host's"),
        ],
    )
    def test_what_cannot_be_described(self, asked: Asked, why: str) -> None:
        with pytest.raises(SettingsError, match=why):
            self.part(asked=asked, m1=InService(1, (HASHES[0],)))

    def test_a_gap_is_never_closed_by_moving_up(self) -> None:
        lost = replace(HOST, gpus=CARDS[1:2])
        with pytest.raises(SettingsError, match="GPU 0 of the machine does not answer"):
            self.part(lost, asked=Asked(again=1), m1=InService(2, HASHES[:2]))

    def test_units_of_a_cpu_host(self) -> None:
        def units(asked: Asked, **sold: InService) -> tuple[int, int]:
            machines = {int(number[1:]): machine for number, machine in sold.items()}
            part = choose_part(PLAIN, asked, machines, None)
            return part.units, part.host_units

        assert units(Asked()) == (8, 8)
        assert units(Asked(units=3)) == (3, 8)
        assert units(Asked(), m1=InService(3)) == (5, 8)
        assert units(Asked(), m1=InService(8)) == (8, 8)
        assert units(Asked(again=1), m1=InService(3), m2=InService(5)) == (3, 8)
        with pytest.raises(SettingsError, match="5 of this host's 8 CPU units are left, not 6"):
            units(Asked(units=6), m1=InService(3))
        with pytest.raises(SettingsError, match="at most 8 units"):
            units(Asked(units=9))
        with pytest.raises(SettingsError, match="no card"):
            units(Asked(("GPU-0",)))

    def test_a_host_whose_driver_is_away_sells_no_units_instead(self) -> None:
        away = replace(PLAIN, silent=(SilentCard("nvidia", "no driver"),))
        for asked, sold in ((Asked(), {}), (Asked(again=1), {1: InService(2, HASHES[:2])})):
            with pytest.raises(SettingsError, match="answer"):
                choose_part(away, asked, sold, None)
            with pytest.raises(SettingsError, match="answer"):
                choose_part(PLAIN if sold else away, asked, sold, None)

"""Which cards a host finds, what it says of each, and of those that it does not sell. NVML is the real pynvml."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from tests.agent.nvml.standin import DRIVER_MISMATCH, GPU_IS_LOST, NO_DRIVER, RTX_4090, MigDevice, StandIn

from leasehold_agent.host import Card, Inventory, _nvidia, hash_of, take_inventory
from leasehold_agent.host._nvidia import look_at_nvidia
from leasehold_agent.host._pci import PciDevice, graphics, same_address

Bus = Callable[..., Path]


@pytest.fixture
def bus(tmp_path: Path) -> Bus:
    """Writes devices as the kernel lists them: address to (vendor, class), and who holds them."""

    def write(devices: dict[str, tuple[int, int]], *, drivers: dict[str, str] | None = None) -> Path:
        for address, (vendor, kind) in devices.items():
            folder = tmp_path / "devices" / address
            (folder / "drm" / "renderD128").mkdir(parents=True)
            (folder / "vendor").write_text(f"0x{vendor:04x}\n")
            (folder / "class").write_text(f"0x{kind:06x}\n")
            if holder := (drivers or {}).get(address):
                (tmp_path / holder).mkdir(exist_ok=True)
                (folder / "driver").symlink_to(tmp_path / holder)
        return tmp_path / "devices"

    return write


NVIDIA = (0x10DE, 0x030200)


def told(inventory: Inventory) -> str:
    return "\n".join(inventory.problems)


def cards_of(inventory: Inventory) -> list[Card]:
    return list(inventory.gpus)


def test_what_a_card_says_of_itself(nvml: StandIn, tmp_path: Path) -> None:
    nvml.set(cuda=12_090)
    card = nvml.add(numa=1, pcie=1, pcie_width=8, power_limit=600_000)
    host = take_inventory(tmp_path)
    (found,) = host.gpus
    assert (host.driver, host.cuda) == ("615.71.05", "12.9")
    assert found == Card(
        model="NVIDIA H100 80GB HBM3",
        memory_bytes=85_520_809_984,
        uuid=card.uuid,
        pci="0000:10:00.0",
        clock_mhz=1_980,
        memory_clock_mhz=2_619,
        pcie=5,
        lanes=16,
        lanes_now=8,
        numa=1,
        mig=False,
        ecc=True,
        power_watts=600,
        capability="9.0",
    )
    assert found.document() == {
        "model": "NVIDIA H100 80GB HBM3",
        "memory_bytes": 85_520_809_984,
        "uuid_hash": hash_of(card.uuid),
        "clock_mhz": {"compute": 1_980, "memory": 2_619},
        "pcie": {"generation": 5, "lanes": 16},
        "numa": 1,
        "peers": [],
        "mig": {"capable": True, "enabled": False},
        "ecc": True,
        "power_watts": 600,
        "capability": "9.0",
    }


def test_a_card_that_idles_is_described_as_one_that_works(nvml: StandIn, tmp_path: Path) -> None:
    """A link slows down when nothing is sent, and the document is measured: it would be another one each time."""
    card = nvml.add()
    before = take_inventory(tmp_path).gpus[0].document()
    card.set({"pcie": 1, "clock.sm": 210, "temperature": 80, "power": 500_000, "memory_used": 1 << 30})
    assert take_inventory(tmp_path).gpus[0].document() == before


def test_what_a_card_lacks_is_left_out(nvml: StandIn, tmp_path: Path) -> None:
    nvml.add(RTX_4090)
    (found,) = take_inventory(tmp_path).gpus
    assert (found.mig, found.ecc, found.numa, found.links) == (None, None, None, ())
    assert found.document().keys() == {
        "model",
        "memory_bytes",
        "uuid_hash",
        "clock_mhz",
        "pcie",
        "peers",
        "mig",
        "power_watts",
        "capability",
    }


def test_a_card_that_is_cut_up_says_so(nvml: StandIn, tmp_path: Path) -> None:
    nvml.add().partition([MigDevice("MIG-a", ids=(7, 0))])
    assert take_inventory(tmp_path).gpus[0].document()["mig"] == {"capable": True, "enabled": True}


def test_cards_that_are_joined_in_pairs(nvml: StandIn, tmp_path: Path) -> None:
    cards = [nvml.add() for _ in range(4)]
    nvml.join(*cards[:2], links=12)
    nvml.join(*cards[2:], links=12)
    cards[0].set({"nvlink.5": None})
    peers = [{link.uuid: link.links for link in card.links} for card in cards_of(take_inventory(tmp_path))]
    assert peers[0] == {cards[1].uuid: 11}
    assert peers[3] == {cards[2].uuid: 12}


def test_cards_behind_a_switch_all_reach_one_another(nvml: StandIn, tmp_path: Path) -> None:
    """As in a server with eight of them: links lead to switches, which are no cards."""
    cards = [nvml.add() for _ in range(8)]
    for card in cards[:7]:
        card.set({"nvlinks": 18, **{f"nvlink.{link}": "00000000:06:00.0" for link in range(18)}})
    found = cards_of(take_inventory(tmp_path))
    assert [len(card.links) for card in found] == [6] * 7 + [0]
    assert {link.links for link in found[0].links} == {18}


def test_a_link_to_a_card_that_is_lost_is_none_to_a_switch(nvml: StandIn, tmp_path: Path) -> None:
    one, lost, other = nvml.add(), nvml.add(), nvml.add()
    nvml.join(one, lost, links=4)
    lost.lose()
    found = cards_of(take_inventory(tmp_path))
    assert [card.uuid for card in found] == [one.uuid, other.uuid]
    assert found[0].links == ()


def test_a_lost_card_is_named_and_moves_no_other(nvml: StandIn, bus: Bus) -> None:
    nvml.add()
    lost = nvml.add()
    nvml.add()
    lost.lose()
    on_bus = bus({f"0000:{0x10 + n:02x}:00.0": NVIDIA for n in range(3)})
    host = take_inventory(on_bus)
    assert [card.index for card in host.gpus] == [0, 2]
    (silent,) = host.silent
    assert (silent.index, silent.why) == (1, "GPU is lost")
    assert "index 1" in told(host)
    assert "GPU is lost" in told(host)


def test_a_card_that_dies_while_it_is_asked(nvml: StandIn, tmp_path: Path) -> None:
    """It said who it is, and is gone by its last fact."""
    card = nvml.add()
    card.fail(GPU_IS_LOST, "capability")
    host = take_inventory(tmp_path)
    assert host.gpus == ()
    assert host.silent[0].pci == "0000:10:00.0"


def test_a_fact_that_fails_is_left_out(nvml: StandIn, tmp_path: Path) -> None:
    nvml.add().fail(999, "power_limit")
    assert take_inventory(tmp_path).gpus[0].power_watts is None


def test_a_card_that_hangs_keeps_nobody(nvml: StandIn) -> None:
    """Nothing waits for it longer than is said, and the others are sold."""
    nvml.add()
    nvml.add().hang()
    found = look_at_nvidia((), seconds=0.2)
    assert [card.index for card in found.cards] == [0]
    assert [(card.index, card.why) for card in found.silent] == [(1, "no answer in 0.2 s")]


def test_a_driver_that_hangs_keeps_nobody(nvml: StandIn, bus: Bus, monkeypatch: pytest.MonkeyPatch) -> None:
    nvml.add()
    nvml.set({"init.hang": 1})
    monkeypatch.setattr(_nvidia, "_DRIVER_SECONDS", 0.1)
    host = take_inventory(bus({"0000:10:00.0": NVIDIA}))
    assert (host.gpus, [card.pci for card in host.silent]) == ((), ["0000:10:00.0"])
    assert "does not answer: look at `dmesg`" in told(host)


def test_a_driver_that_fails_is_said(nvml: StandIn, bus: Bus) -> None:
    """It is there, and cannot even count."""
    nvml.add()
    nvml.set({"cards.error": 999})
    host = take_inventory(bus({"0000:10:00.0": NVIDIA}))
    assert (host.gpus, [card.pci for card in host.silent]) == ((), ["0000:10:00.0"])
    assert "Unknown Error" in told(host)


def test_a_card_that_only_the_bus_shows(nvml: StandIn, bus: Bus) -> None:
    """One that another driver holds, as for a virtual machine."""
    nvml.add(pci="00000000:10:00.0")
    on_bus = bus(
        {"0000:10:00.0": NVIDIA, "0000:11:00.0": NVIDIA, "0000:11:00.1": (0x10DE, 0x040300)},
        drivers={"0000:11:00.0": "vfio-pci"},
    )
    host = take_inventory(on_bus)
    (silent,) = host.silent
    assert (silent.index, silent.pci) == (None, "0000:11:00.0")
    assert "vfio-pci" in told(host)
    assert len(host.gpus) == 1


def test_a_driver_that_fits_not_is_not_no_card(nvml: StandIn, tmp_path: Path) -> None:
    nvml.add()
    nvml.set(init=DRIVER_MISMATCH)
    host = take_inventory(tmp_path)
    assert host.gpus == ()
    assert "reboot" in told(host)


def test_a_card_without_a_driver_is_said(nvml: StandIn, bus: Bus, tmp_path: Path) -> None:
    nvml.set(init=NO_DRIVER)
    assert take_inventory(tmp_path / "none").problems == ()
    host = take_inventory(bus({"0000:10:00.0": NVIDIA}))
    assert "0000:10:00.0" in told(host)
    assert "Driver Not Loaded" in told(host)
    assert [card.pci for card in host.silent] == ["0000:10:00.0"]


def test_no_library_and_no_card_is_normal(
    nvml: StandIn, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("LEASEHOLD_NVML")
    host = take_inventory(tmp_path)
    assert (host.gpus, host.problems) == ((), ())


def test_other_vendors_are_refused_by_name(nvml: StandIn, bus: Bus) -> None:
    on_bus = bus(
        {
            "0000:03:00.0": (0x8086, 0x030000),
            "0000:04:00.0": (0x8086, 0x038000),
            "0000:05:00.0": (0x1A03, 0x030000),  # the screen of a server's maintenance board
            "0000:06:00.0": (0x1DA3, 0x120000),
            "0000:07:00.0": (0xBEEF, 0x030200),
            "0000:08:00.0": (0x8086, 0x020000),  # a network card
        }
    )
    said = take_inventory(on_bus).refused
    assert len(said) == 3
    assert "Intel (0000:03:00.0, 0000:04:00.0)" in said[1]
    assert "Habana" in said[0]
    assert "vendor beef" in said[2]


@pytest.mark.parametrize(
    ("written", "address"),
    [("00000000:3B:00.0", "0000:3b:00.0"), ("00010000:E1:00.0", "10000:e1:00.0"), ("0000:3b:00.0",) * 2],
)
def test_addresses_are_compared_as_the_kernel_writes_them(written: str, address: str) -> None:
    assert same_address(written) == address


def test_a_bus_that_cannot_be_read_has_nothing(tmp_path: Path) -> None:
    """A device that is taken away while it is looked at."""
    (tmp_path / "0000:01:00.0").mkdir()
    assert graphics(tmp_path) == ()
    assert graphics(tmp_path / "none") == ()


AMD = (0x1002, 0x120000)
MI300X = {
    "name": "AMD Instinct MI300X",
    "memory": 206_141_652_992,
    "driver": "6.12.12",
    "pcie": [5, 16],
    "power_cap": 750_000_000,
    "clock_0": 2_100,
    "clock_5": 1_300,
    "ecc": 32_767,
    "numa": 0,
    "link": "AMDSMI_LINK_TYPE_XGMI",
}


@pytest.fixture
def rocm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[[list[dict[str, object]]], None]]:
    """A host on which AMD's library can be imported, and has these cards."""
    monkeypatch.syspath_prepend(str(Path(__file__).parent / "rocm"))
    monkeypatch.setenv("LEASEHOLD_AMDSMI", str(tmp_path / "amd.json"))
    yield lambda cards: (tmp_path / "amd.json").write_text(json.dumps(cards)) and None
    sys.modules.pop("amdsmi", None)


def test_amds_cards_by_its_library(nvml: StandIn, rocm: Callable[..., None], bus: Bus) -> None:
    rocm([{**MI300X, "uuid": f"amd-{n}", "bdf": f"0000:{n}5:00.0"} for n in range(1, 3)])
    host = take_inventory(bus({"0000:15:00.0": AMD, "0000:25:00.0": AMD}))
    assert host.problems == ()
    assert (host.driver, host.cuda) == ("6.12.12", None)
    first, second = host.gpus
    assert (first.vendor, first.model, first.pcie, first.lanes) == ("amd", "AMD Instinct MI300X", 5, 16)
    assert (first.power_watts, first.clock_mhz, first.memory_clock_mhz, first.ecc) == (
        750,
        2_100,
        1_300,
        True,
    )
    assert [link.uuid for link in first.links] == [second.uuid]
    assert first.devices == ("/dev/kfd", "/dev/dri/renderD128")
    assert first.document()["mig"] == {"capable": False, "enabled": False}


def test_one_of_amds_cards_does_not_answer(nvml: StandIn, rocm: Callable[..., None], bus: Bus) -> None:
    cards = [{**MI300X, "uuid": f"amd-{n}", "bdf": f"0000:{n}5:00.0"} for n in range(1, 3)]
    rocm([{**cards[0], "dead": True}, cards[1]])
    host = take_inventory(bus({"0000:15:00.0": AMD, "0000:25:00.0": AMD}))
    assert [card.uuid for card in host.gpus] == ["amd-2"]
    assert [card.index for card in host.silent] == [0]


def test_an_amd_card_that_no_container_could_be_given(
    nvml: StandIn, rocm: Callable[..., None], bus: Bus
) -> None:
    on_bus = bus({"0000:15:00.0": AMD})
    (on_bus / "0000:15:00.0/drm/renderD128").rmdir()
    rocm([{**MI300X, "uuid": "amd-1", "bdf": "0000:15:00.0"}])
    host = take_inventory(on_bus)
    assert (host.gpus, host.silent[0].pci) == ((), "0000:15:00.0")


def test_one_vendors_cards_are_sold(nvml: StandIn, rocm: Callable[..., None], bus: Bus) -> None:
    """A processor's own graphics are a card to AMD's library, and nobody rents these."""
    card = nvml.add()
    rocm([{**MI300X, "name": "AMD Radeon Graphics", "uuid": "apu", "bdf": "0000:15:00.0"}])
    host = take_inventory(bus({"0000:10:00.0": NVIDIA, "0000:15:00.0": AMD}))
    assert [gpu.uuid for gpu in host.gpus] == [card.uuid]
    assert (host.driver, host.problems) == ("615.71.05", ())
    assert "AMD Radeon Graphics at 0000:15:00.0 is not sold beside" in host.refused[0]


def test_a_lease_is_given_the_files_of_its_cards_and_no_others(
    nvml: StandIn, rocm: Callable[..., None], bus: Bus
) -> None:
    on_bus = bus({"0000:15:00.0": AMD, "0000:25:00.0": AMD})
    (on_bus / "0000:25:00.0/drm/renderD128").rename(on_bus / "0000:25:00.0/drm/renderD129")
    rocm([{**MI300X, "uuid": f"amd-{n}", "bdf": f"0000:{n}5:00.0"} for n in range(1, 3)])
    host = take_inventory(on_bus)
    assert host.devices_of(["amd-2"]) == ("/dev/kfd", "/dev/dri/renderD129")
    assert host.devices_of(["amd-2", "amd-1"]) == ("/dev/kfd", "/dev/dri/renderD128", "/dev/dri/renderD129")
    assert host.devices_of([]) == ()


def test_older_rocm_gives_watts_and_not_applicable(
    nvml: StandIn, rocm: Callable[..., None], bus: Bus
) -> None:
    few = {
        "name": "AMD Radeon RX 7900 XTX",
        "memory": 1,
        "uuid": "a",
        "bdf": "0000:15:00.0",
        "power_cap": 339,
    }
    rocm([{**few, "pcie": ["N/A", "N/A"]}])
    (card,) = take_inventory(bus({"0000:15:00.0": AMD})).gpus
    assert (card.power_watts, card.pcie, card.lanes, card.ecc, card.links) == (339, None, None, None, ())


def test_amds_cards_without_its_library_are_refused_by_name(nvml: StandIn, bus: Bus) -> None:
    host = take_inventory(bus({"0000:15:00.0": AMD}))
    assert host.gpus == ()
    assert "AMD cards (0000:15:00.0) are not sold" in told(host)
    assert "`amdsmi`" in told(host)


def test_amds_driver_does_not_answer(nvml: StandIn, rocm: Callable[..., None], bus: Bus) -> None:
    rocm([])
    assert "DRIVER_NOT_LOADED" in told(take_inventory(bus({"0000:15:00.0": AMD})))


def test_rdma_devices(nvml: StandIn, tmp_path: Path) -> None:
    for name, state, rate in (
        ("mlx5_0", "4: ACTIVE", "400 Gb/sec (4X NDR)"),
        ("mlx5_1", "1: DOWN", "40 Gb/sec"),
    ):
        port = tmp_path / "infiniband" / name / "ports" / "1"
        port.mkdir(parents=True)
        (port / "state").write_text(f"{state}\n")
        (port / "rate").write_text(f"{rate}\n")
    found = take_inventory(tmp_path / "none", rdma=tmp_path / "infiniband").rdma
    assert [(device.name, device.gbits) for device in found] == [("mlx5_0", 400.0)]


def test_present_devices_are_asked_of_no_library_that_is_theirs(bus: Bus) -> None:
    on_bus = bus({"0000:15:00.0": AMD}, drivers={"0000:15:00.0": "amdgpu"})
    assert graphics(on_bus) == (PciDevice("0000:15:00.0", 0x1002, "amdgpu", ("/dev/dri/renderD128",)),)

"""The library that stands in for a driver's: what it says comes through the real pynvml, and changes while it is
watched.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator

import pynvml
import pytest
from tests.agent.nvml.standin import DRIVER_MISMATCH, RTX_4090, XID, Card, MigDevice, StandIn

from devnet.patience import patient

_ASK = """
import pynvml
pynvml.nvmlInit()
print(pynvml.nvmlDeviceGetName(pynvml.nvmlDeviceGetHandleByIndex(0)), flush=True)
input()
print(pynvml.nvmlDeviceGetTemperature(pynvml.nvmlDeviceGetHandleByIndex(0), 0))
"""


@pytest.fixture
def session(nvml: StandIn) -> Iterator[StandIn]:
    pynvml.nvmlInit()
    yield nvml
    pynvml.nvmlShutdown()


def handle(card: Card) -> object:
    return pynvml.nvmlDeviceGetHandleByIndex(card.index)


def test_the_host(session: StandIn) -> None:
    session.set(driver="580.65.06", cuda=12_090)
    assert pynvml.nvmlSystemGetDriverVersion() == "580.65.06"
    assert pynvml.nvmlSystemGetCudaDriverVersion_v2() == 12_090
    assert pynvml.nvmlSystemGetNVMLVersion() == "13.615.71.05"
    assert pynvml.nvmlDeviceGetCount() == 0
    session.add()
    session.add(RTX_4090)
    assert pynvml.nvmlDeviceGetCount() == 2


FACTS: list[tuple[str, object, Callable[[object], object], object]] = [
    ("name", "A card", pynvml.nvmlDeviceGetName, "A card"),
    ("uuid", "GPU-1", pynvml.nvmlDeviceGetUUID, "GPU-1"),
    ("serial", "17", pynvml.nvmlDeviceGetSerial, "17"),
    ("memory", 80 << 30, lambda h: pynvml.nvmlDeviceGetMemoryInfo(h).total, 80 << 30),
    ("memory_used", 7, lambda h: pynvml.nvmlDeviceGetMemoryInfo(h).used, 7),
    (
        "memory_reserved",
        9,
        lambda h: pynvml.nvmlDeviceGetMemoryInfo(h, version=pynvml.nvmlMemory_v2).reserved,
        9,
    ),
    ("pci", "00000001:B3:00.0", lambda h: pynvml.nvmlDeviceGetPciInfo(h).busId, "00000001:B3:00.0"),
    ("pcie", 3, pynvml.nvmlDeviceGetCurrPcieLinkGeneration, 3),
    ("pcie_max", 6, pynvml.nvmlDeviceGetMaxPcieLinkGeneration, 6),
    ("pcie_width", 8, pynvml.nvmlDeviceGetCurrPcieLinkWidth, 8),
    ("pcie_width_max", 4, pynvml.nvmlDeviceGetMaxPcieLinkWidth, 4),
    ("pcie_replays", 5, pynvml.nvmlDeviceGetPcieReplayCounter, 5),
    ("pcie_rx", 11, lambda h: pynvml.nvmlDeviceGetPcieThroughput(h, 1), 11),
    ("numa", 3, lambda h: list(pynvml.nvmlDeviceGetMemoryAffinity(h, 1, 0)), [8]),
    ("ecc", 0, pynvml.nvmlDeviceGetEccMode, [0, 0]),
    ("ecc_pending", 0, pynvml.nvmlDeviceGetEccMode, [1, 0]),
    ("ecc.uncorrected.volatile", 2, lambda h: pynvml.nvmlDeviceGetTotalEccErrors(h, 1, 0), 2),
    ("ecc.corrected.aggregate", 3, lambda h: pynvml.nvmlDeviceGetTotalEccErrors(h, 0, 1), 3),
    ("remapped", "1 2 1 0", pynvml.nvmlDeviceGetRemappedRows, (1, 2, 1, 0)),
    ("power", 123_000, pynvml.nvmlDeviceGetPowerUsage, 123_000),
    ("power_limit", 450_000, pynvml.nvmlDeviceGetPowerManagementLimit, 450_000),
    ("power_limit", 451_000, pynvml.nvmlDeviceGetEnforcedPowerLimit, 451_000),
    ("power_min", 100, pynvml.nvmlDeviceGetPowerManagementLimitConstraints, [100, 700_000]),
    ("energy", 1 << 40, pynvml.nvmlDeviceGetTotalEnergyConsumption, 1 << 40),
    ("temperature", 91, lambda h: pynvml.nvmlDeviceGetTemperature(h, 0), 91),
    ("temperature", 92, lambda h: pynvml.nvmlDeviceGetTemperatureV(h, 0), 92),
    ("threshold.1", 83, lambda h: pynvml.nvmlDeviceGetTemperatureThreshold(h, 1), 83),
    ("clock.sm", 1_755, lambda h: pynvml.nvmlDeviceGetClockInfo(h, 1), 1_755),
    ("clock_max.mem", 2_619, lambda h: pynvml.nvmlDeviceGetMaxClockInfo(h, 2), 2_619),
    ("throttle", 0x48, pynvml.nvmlDeviceGetCurrentClocksEventReasons, 0x48),
    ("throttle", 0x40, pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, 0x40),
    ("gpu_use", 98, lambda h: pynvml.nvmlDeviceGetUtilizationRates(h).gpu, 98),
    ("memory_use", 55, lambda h: pynvml.nvmlDeviceGetUtilizationRates(h).memory, 55),
    ("fan", 70, pynvml.nvmlDeviceGetFanSpeed, 70),
    ("capability", "12 1", pynvml.nvmlDeviceGetCudaComputeCapability, (12, 1)),
    ("mig_pending", 1, pynvml.nvmlDeviceGetMigMode, [0, 1]),
]


@pytest.mark.parametrize(
    ("key", "value", "ask", "answer"), FACTS, ids=[f"{at}-{fact[0]}" for at, fact in enumerate(FACTS)]
)
def test_a_fact_of_a_card(
    session: StandIn, key: str, value: object, ask: Callable[[object], object], answer: object
) -> None:
    """Of the second of two, through a handle from before the change."""
    session.add()
    card = session.add()
    held = handle(card)
    card.set({key: value})
    assert ask(held) == answer


def test_what_a_card_lacks_is_not_supported(session: StandIn) -> None:
    game = handle(session.add(RTX_4090))
    asked: list[Callable[[object], object]] = [
        pynvml.nvmlDeviceGetEccMode,
        pynvml.nvmlDeviceGetMigMode,
        lambda card: pynvml.nvmlDeviceGetNvLinkState(card, 0),
        lambda card: pynvml.nvmlDeviceGetMemoryAffinity(card, 1, 0),
    ]
    for ask in asked:
        with pytest.raises(pynvml.NVMLError_NotSupported):
            ask(game)


def test_cards_are_found_by_what_names_them(session: StandIn) -> None:
    session.add()
    card = session.add(pci="00000000:3B:00.0")
    by_uuid = pynvml.nvmlDeviceGetHandleByUUID(card.uuid)
    by_pci = pynvml.nvmlDeviceGetHandleByPciBusId("0000:3b:00.0")
    assert [pynvml.nvmlDeviceGetIndex(found) for found in (by_uuid, by_pci)] == [1, 1]
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetHandleByUUID("GPU-none")


def test_links_lead_to_cards(session: StandIn) -> None:
    one, other = session.add(), session.add()
    session.join(one, other, links=4)
    one.set({"nvlink.3": None})
    ups = [pynvml.nvmlDeviceGetNvLinkState(handle(one), link) for link in range(4)]
    assert ups == [1, 1, 1, 0]
    assert pynvml.nvmlDeviceGetNvLinkRemotePciInfo(handle(one), 0).busId == other.get("pci")
    with pytest.raises(pynvml.NVMLError_InvalidArgument):
        pynvml.nvmlDeviceGetNvLinkState(handle(one), 4)


def test_how_near_two_cards_are(session: StandIn) -> None:
    near, switch, far = session.add(switch="a"), session.add(switch="a"), session.add(numa=1)
    levels = [
        pynvml.nvmlDeviceGetTopologyCommonAncestor(handle(near), handle(card)) for card in (switch, far)
    ]
    assert levels == [pynvml.NVML_TOPOLOGY_SINGLE, pynvml.NVML_TOPOLOGY_SYSTEM]


def test_processes(session: StandIn) -> None:
    card = session.add()
    assert pynvml.nvmlDeviceGetComputeRunningProcesses(handle(card)) == []
    card.run((12, 1 << 30), (13, 5))
    card.run((14, 6), kind="mps")
    found = pynvml.nvmlDeviceGetComputeRunningProcesses(handle(card))
    assert [(process.pid, process.usedGpuMemory) for process in found] == [(12, 1 << 30), (13, 5)]
    assert [p.pid for p in pynvml.nvmlDeviceGetMPSComputeRunningProcesses(handle(card))] == [14]
    card.run()
    assert pynvml.nvmlDeviceGetComputeRunningProcesses(handle(card)) == []


def test_mig_devices(session: StandIn) -> None:
    card = session.add({"mig_profile.0": "19 1 7 16 1 9856 MIG 1g.10gb", **_minimal()})
    card.partition(
        [MigDevice("MIG-a", ids=(7, 0)), MigDevice("MIG-b", ids=(2, 0), slices=3, mib=40_192, sms=60)]
    )
    parent = handle(card)
    assert pynvml.nvmlDeviceGetMigMode(parent) == [1, 1]
    second = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, 1)
    assert pynvml.nvmlDeviceIsMigDeviceHandle(second).value == 1
    assert pynvml.nvmlDeviceGetUUID(second) == "MIG-b"
    assert pynvml.nvmlDeviceGetUUID(pynvml.nvmlDeviceGetHandleByUUID("MIG-a")) == "MIG-a"
    assert pynvml.nvmlDeviceGetMemoryInfo(second).total == 40_192 << 20
    shape = pynvml.nvmlDeviceGetAttributes(second)
    assert (shape.gpuInstanceSliceCount, shape.memorySizeMB, shape.multiprocessorCount) == (3, 40_192, 60)
    assert (pynvml.nvmlDeviceGetGpuInstanceId(second), pynvml.nvmlDeviceGetComputeInstanceId(second)) == (
        2,
        0,
    )
    above = pynvml.nvmlDeviceGetDeviceHandleFromMigDeviceHandle(second)
    assert pynvml.nvmlDeviceGetUUID(above) == card.uuid
    card.run((5, 1, 7, 0), (6, 2, 2, 0))
    assert [p.pid for p in pynvml.nvmlDeviceGetComputeRunningProcesses(second)] == [6]
    profile = pynvml.nvmlDeviceGetGpuInstanceProfileInfo(parent, 0)
    assert (profile.id, profile.instanceCount, profile.memorySizeMB) == (19, 7, 9_856)
    assert profile.name == "MIG 1g.10gb"
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetMigDeviceHandleByIndex(parent, 2)
    card.partition(None)
    with pytest.raises(pynvml.NVMLError_NotFound):
        pynvml.nvmlDeviceGetUUID(second)


def _minimal() -> dict[str, object]:
    return {"name": "NVIDIA H100 80GB HBM3", "memory": 1, "mig": 0, "mig_most": 7}


def test_a_card_is_lost_while_it_is_watched(session: StandIn) -> None:
    card, well = session.add(), session.add()
    held = handle(card)
    card.lose()
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        pynvml.nvmlDeviceGetTemperature(held, 0)
    with pytest.raises(pynvml.NVMLError_GpuIsLost):
        handle(card)
    assert pynvml.nvmlDeviceGetTemperature(handle(well), 0) == 34
    card.fail(None)
    card.fail(999, "temperature")
    assert pynvml.nvmlDeviceGetPowerUsage(held) == 72_000
    with pytest.raises(pynvml.NVMLError_Unknown):
        pynvml.nvmlDeviceGetTemperature(held, 0)


def test_events_reach_whoever_waits(session: StandIn) -> None:
    """What was before is not told, nor what nobody asked about."""
    card, other = session.add(), session.add()
    card.xid(31)
    events = pynvml.nvmlEventSetCreate()
    pynvml.nvmlDeviceRegisterEvents(handle(card), pynvml.nvmlEventTypeXidCriticalError, events)
    other.xid(13)
    with pytest.raises(pynvml.NVMLError_Timeout):
        pynvml.nvmlEventSetWait(events, 1)
    later = threading.Timer(0.05, card.xid, (79,))
    later.start()
    told = pynvml.nvmlEventSetWait(events, patient(30) * 1_000)
    later.join()
    assert (told.eventType, told.eventData) == (XID, 79)
    assert pynvml.nvmlDeviceGetIndex(told.device) == card.index
    pynvml.nvmlEventSetFree(events)


def test_a_call_that_hangs_goes_on_when_the_card_does(session: StandIn) -> None:
    card = session.add()
    held = handle(card)
    card.hang()
    asked = threading.Thread(target=pynvml.nvmlDeviceGetName, args=(held,), daemon=True)
    asked.start()
    asked.join(0.05)
    assert asked.is_alive()
    card.hang(False)
    asked.join(patient(30))
    assert not asked.is_alive()


def test_a_driver_that_is_not_the_librarys(nvml: StandIn) -> None:
    nvml.set(init=DRIVER_MISMATCH)
    with pytest.raises(pynvml.NVMLError_LibRmVersionMismatch):
        pynvml.nvmlInit()


def test_without_a_session_nothing_is_said(nvml: StandIn) -> None:
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlDeviceGetCount()


def test_without_a_file_there_is_no_library(nvml: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LEASEHOLD_NVML")
    with pytest.raises(pynvml.NVMLError_LibraryNotFound):
        pynvml.nvmlInit()


def test_another_process_sees_them_and_their_changes(nvml: StandIn) -> None:
    card = nvml.add()
    asked = subprocess.Popen(
        [sys.executable, "-c", _ASK], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with asked:
        assert asked.stdout is not None
        assert asked.stdout.readline() == "NVIDIA H100 80GB HBM3\n"
        card.set(temperature=77)
        said, _ = asked.communicate("\n", timeout=patient(30))
        assert said == "77\n"


def test_changes_of_two_are_both_kept(nvml: StandIn) -> None:
    """Whoever changes the file reads it again, so that nothing is undone."""
    one, other = nvml.add(), StandIn(nvml.file).card(0)
    one.set(temperature=50)
    other.set(power=1)
    assert (one.get("temperature"), one.get("power")) == ("50", "1")

"""NVIDIA's cards, by NVML.

A card that has died may answer with an error, or never: each is asked by itself and for so long only. NVML may also be
there and fit no driver, which is not the same as no card.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import pynvml

from leasehold_agent.host._bounded import bounded
from leasehold_agent.host._card import Card, CardLink, SilentCard, VendorCards
from leasehold_agent.host._pci import PciDevice, same_address

T = TypeVar("T")
VENDOR = 0x10DE
_DRIVER_SECONDS, _CARD_SECONDS = 20.0, 5.0
_SWITCH = 2  # NVML_NVLINK_DEVICE_TYPE_SWITCH
_MISMATCH = (
    "The NVIDIA driver in the kernel is of another version than its library, as after an upgrade without a reboot: "
    "reboot the host. Until then none of its NVIDIA cards can be used or sold."
)
_HUNG = "The NVIDIA driver does not answer: look at `dmesg`, and reboot the host. Until then none of its cards is sold."


@dataclass(frozen=True)
class _Asked:
    """A card, and where its links lead: cards by their PCI addresses, and how many to a switch."""

    card: Card
    links: Counter[str]
    to_switch: int


def look_at_nvidia(present: Sequence[PciDevice], seconds: float = _CARD_SECONDS) -> VendorCards:
    """What NVML says of the cards. present: those on the bus. seconds: the longest wait for one card."""
    try:
        bounded(pynvml.nvmlInit, _DRIVER_SECONDS)
    except pynvml.NVMLError as error:
        return VendorCards(
            problems=_no_session(error, present), silent=_missing(present, (), "no driver answers")
        )
    except TimeoutError:
        return VendorCards(problems=(_HUNG,), silent=_missing(present, (), "the driver does not answer"))
    try:
        return _cards(present, seconds)
    except pynvml.NVMLError as error:
        return VendorCards(
            problems=_no_session(error, present), silent=_missing(present, (), "no driver answers")
        )
    except TimeoutError:
        return VendorCards(problems=(_HUNG,), silent=_missing(present, (), "the driver does not answer"))
    finally:
        with contextlib.suppress(pynvml.NVMLError, TimeoutError):
            bounded(pynvml.nvmlShutdown, seconds)


def _no_session(error: Any, present: Sequence[PciDevice]) -> tuple[str, ...]:
    if error.value == pynvml.NVML_ERROR_LIB_RM_VERSION_MISMATCH:
        return (_MISMATCH,)
    absent = error.value in (pynvml.NVML_ERROR_LIBRARY_NOT_FOUND, pynvml.NVML_ERROR_DRIVER_NOT_LOADED)
    if absent and not present:
        return ()
    where = f" ({', '.join(device.address for device in present)})" if present else ""
    return (
        f"This host's NVIDIA cards{where} are not sold, since their driver does not answer ({error}): "
        "install it, and see that `nvidia-smi` lists them.",
    )


def _cards(present: Sequence[PciDevice], seconds: float) -> VendorCards:
    driver = bounded(lambda: _optional(pynvml.nvmlSystemGetDriverVersion), seconds)
    cuda = bounded(lambda: _optional(pynvml.nvmlSystemGetCudaDriverVersion_v2), seconds)
    asked: list[_Asked] = []
    silent: list[SilentCard] = []
    for index in range(bounded(pynvml.nvmlDeviceGetCount, seconds)):
        try:
            asked.append(bounded(lambda index=index: _card(index), seconds))  # type: ignore[misc]
        except (pynvml.NVMLError, TimeoutError) as error:
            silent.append(SilentCard("nvidia", str(error), index, _address_of(index, seconds)))
    known = [other.card.pci for other in asked] + [card.pci for card in silent]
    if "" not in known:  # else one on the bus may be the one whose address is not known
        silent += _missing(present, known, "the driver does not list it")
    return VendorCards(_linked(asked), tuple(silent), driver, _cuda(cuda))


def _missing(present: Sequence[PciDevice], known: Sequence[str], why: str) -> tuple[SilentCard, ...]:
    """Those on the bus that are none of these."""
    return tuple(
        SilentCard(
            "nvidia", f"{why}; {device.driver} holds it" if device.driver else why, None, device.address
        )
        for device in present
        if device.address not in known
    )


def _address_of(index: int, seconds: float) -> str:
    """Where a card sits that does not answer otherwise, or nothing."""

    def ask() -> str:
        return same_address(pynvml.nvmlDeviceGetPciInfo(pynvml.nvmlDeviceGetHandleByIndex(index)).busId)

    with contextlib.suppress(pynvml.NVMLError, TimeoutError):
        return bounded(ask, seconds)
    return ""


def _card(index: int) -> _Asked:
    """Raises NVMLError where the card does not say who it is, or is lost while it is asked."""
    handle = pynvml.nvmlDeviceGetHandleByIndex(index)
    capability = _optional(pynvml.nvmlDeviceGetCudaComputeCapability, handle)
    mig = _optional(pynvml.nvmlDeviceGetMigMode, handle)
    ecc = _optional(pynvml.nvmlDeviceGetEccMode, handle)
    power = _optional(pynvml.nvmlDeviceGetPowerManagementLimit, handle)
    nodes = _optional(pynvml.nvmlDeviceGetMemoryAffinity, handle, 1, pynvml.NVML_AFFINITY_SCOPE_NODE)
    links, to_switch = _links(handle)
    card = Card(
        model=pynvml.nvmlDeviceGetName(handle),
        memory_bytes=int(pynvml.nvmlDeviceGetMemoryInfo(handle).total),
        uuid=pynvml.nvmlDeviceGetUUID(handle),
        index=index,
        pci=same_address(pynvml.nvmlDeviceGetPciInfo(handle).busId),
        clock_mhz=_optional(pynvml.nvmlDeviceGetMaxClockInfo, handle, pynvml.NVML_CLOCK_SM),
        memory_clock_mhz=_optional(pynvml.nvmlDeviceGetMaxClockInfo, handle, pynvml.NVML_CLOCK_MEM),
        pcie=_optional(pynvml.nvmlDeviceGetMaxPcieLinkGeneration, handle),
        lanes=_optional(pynvml.nvmlDeviceGetMaxPcieLinkWidth, handle),
        lanes_now=_optional(pynvml.nvmlDeviceGetCurrPcieLinkWidth, handle),
        numa=_lowest(int(nodes[0])) if nodes is not None else None,
        mig=None if mig is None else bool(mig[0]),
        ecc=None if ecc is None else bool(ecc[0]),
        power_watts=None if power is None else power // 1_000,
        capability=None if capability is None else f"{capability[0]}.{capability[1]}",
    )
    return _Asked(card, links, to_switch)


def _links(handle: object) -> tuple[Counter[str], int]:
    """The NVLinks that are up, by the PCI address of the card at the other end; and how many lead to a switch."""
    links: Counter[str] = Counter()
    to_switch = 0
    for link in range(pynvml.NVML_NVLINK_MAX_LINKS):
        up = _optional(pynvml.nvmlDeviceGetNvLinkState, handle, link)
        if up is None:
            break
        if not up:
            continue
        if _optional(pynvml.nvmlDeviceGetNvLinkRemoteDeviceType, handle, link) == _SWITCH:
            to_switch += 1
        elif (other := _optional(pynvml.nvmlDeviceGetNvLinkRemotePciInfo, handle, link)) is not None:
            links[same_address(other.busId)] += 1
    return links, to_switch


def _linked(asked: Sequence[_Asked]) -> tuple[Card, ...]:
    """The cards with whom each reaches: behind a switch, everybody else who is behind one."""
    return tuple(
        replace(
            one.card,
            links=tuple(
                CardLink(other.card.uuid, links)
                for other in asked
                if other is not one
                and (links := one.links[other.card.pci] or min(one.to_switch, other.to_switch))
            ),
        )
        for one in asked
    )


def _optional(ask: Callable[..., T], *arguments: object) -> T | None:
    """A fact that not every card or driver has. Raises NVMLError_GpuIsLost: then it is no matter of facts."""
    try:
        return ask(*arguments)
    except pynvml.NVMLError as error:
        if error.value in (pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_UNINITIALIZED):
            raise
        return None


def _lowest(mask: int) -> int | None:
    """The number of its lowest bit."""
    return (mask & -mask).bit_length() - 1 if mask else None


def _cuda(number: int | None) -> str | None:
    """13040 is 13.4."""
    return None if number is None else f"{number // 1_000}.{number % 1_000 // 10}"

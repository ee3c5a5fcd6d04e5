"""AMD's cards, by `amdsmi`: the package that comes with ROCm, and that the agent does not depend on."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from leasehold_agent.host._bounded import bounded
from leasehold_agent.host._card import Card, CardLink, SilentCard, VendorCards
from leasehold_agent.host._pci import PciDevice

VENDOR = 0x1002
_SECONDS = 20.0
_MICRO = 1_000_000


def look_at_amd(present: Sequence[PciDevice], seconds: float = _SECONDS) -> VendorCards:
    """What `amdsmi` says of the cards. present: those on the bus; where there are none, nothing is imported."""
    if not present:
        return VendorCards()
    try:
        library = bounded(lambda: importlib.import_module("amdsmi"), seconds)
    except (
        ImportError,
        OSError,
        TimeoutError,
        KeyError,
    ) as error:  # its ROCm is looked up where it is imported
        return VendorCards(
            problems=(_refused(present, f"`amdsmi`, which comes with ROCm, is not to be had ({error})"),)
        )
    try:
        return bounded(lambda: _cards(library, present), seconds)
    except (library.AmdSmiException, TimeoutError) as error:
        return VendorCards(problems=(_refused(present, f"their driver does not answer ({error})"),))


def _refused(present: Sequence[PciDevice], why: str) -> str:
    where = ", ".join(device.address for device in present)
    return f"This host's AMD cards ({where}) are not sold, since {why}: install ROCm for the agent's Python."


def _cards(library: Any, present: Sequence[PciDevice]) -> VendorCards:
    library.amdsmi_init()
    try:
        handles = library.amdsmi_get_processor_handles()
        cards: list[Card] = []
        silent: list[SilentCard] = []
        for index, handle in enumerate(handles):
            try:
                card = _card(library, index, handle, handles, present)
                if card.devices:
                    cards.append(card)
                else:
                    silent.append(
                        SilentCard("amd", "the kernel has no render device for it", index, card.pci)
                    )
            except library.AmdSmiException as error:
                silent.append(SilentCard("amd", str(error), index))
        driver = (
            _optional(library, lambda: library.amdsmi_get_gpu_driver_info(handles[0])) if handles else None
        )
        return VendorCards(tuple(cards), tuple(silent), driver and str(driver["driver_version"]))
    finally:
        with contextlib.suppress(library.AmdSmiException):
            library.amdsmi_shut_down()


def _card(
    library: Any, index: int, handle: object, handles: Sequence[object], present: Sequence[PciDevice]
) -> Card:
    """Raises AmdSmiException where the card does not say who it is."""
    address = str(library.amdsmi_get_gpu_device_bdf(handle)).lower()
    nodes = [node for device in present if device.address == address for node in device.nodes]
    pcie = _optional(library, lambda: library.amdsmi_get_pcie_info(handle)) or {}
    cap = _optional(library, lambda: library.amdsmi_get_power_cap_info(handle)) or {}
    ecc = _optional(library, lambda: library.amdsmi_get_gpu_ecc_enabled(handle))
    return Card(
        model=str(library.amdsmi_get_gpu_asic_info(handle)["market_name"]),
        memory_bytes=int(library.amdsmi_get_gpu_memory_total(handle, library.AmdSmiMemoryType.VRAM)),
        uuid=str(library.amdsmi_get_gpu_device_uuid(handle)),
        vendor="amd",
        index=index,
        pci=address,
        clock_mhz=_highest(library, handle, library.AmdSmiClkType.GFX),
        memory_clock_mhz=_highest(library, handle, library.AmdSmiClkType.MEM),
        pcie=_number(pcie.get("pcie_static", {}), "pcie_interface_version"),
        lanes=_number(pcie.get("pcie_static", {}), "max_pcie_width"),
        lanes_now=_number(pcie.get("pcie_metric", {}), "pcie_width"),
        numa=_optional(library, lambda: int(library.amdsmi_topo_get_numa_node_number(handle))),
        links=_links(library, handle, handles),
        ecc=None if ecc is None else bool(ecc),
        power_watts=_watts(_number(cap, "power_cap")),
        devices=("/dev/kfd", *nodes) if nodes else (),
    )


def _links(library: Any, handle: object, handles: Sequence[object]) -> tuple[CardLink, ...]:
    """The cards that this one reaches by xGMI."""
    others = [other for other in handles if other is not handle and _by_xgmi(library, handle, other)]
    uuids = (_uuid(library, other) for other in others)
    return tuple(CardLink(uuid, 1) for uuid in uuids if uuid is not None)


def _uuid(library: Any, handle: object) -> str | None:
    """None for a card that does not answer."""
    uuid = _optional(library, lambda: library.amdsmi_get_gpu_device_uuid(handle))
    return None if uuid is None else str(uuid)


def _by_xgmi(library: Any, one: object, other: object) -> bool:
    link = _optional(library, lambda: library.amdsmi_topo_get_link_type(one, other)) or {"type": None}
    return bool(link["type"] == library.AmdSmiLinkType.AMDSMI_LINK_TYPE_XGMI)


def _highest(library: Any, handle: object, kind: object) -> int | None:
    clock = _optional(library, lambda: library.amdsmi_get_clock_info(handle, kind)) or {}
    return _number(clock, "max_clk")


def _number(facts: Mapping[str, object], name: str) -> int | None:
    """What is not known there is "N/A"."""
    value = facts.get(name)
    return value if isinstance(value, int) else None


def _watts(cap: int | None) -> int | None:
    """ROCm 6.1 and later give microwatts, those before watts."""
    return cap // _MICRO if cap is not None and cap >= _MICRO else cap


def _optional(library: Any, ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except library.AmdSmiException:
        return None

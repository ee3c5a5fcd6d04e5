"""What a host with ROCm has: AMD's library, over cards that a file describes (`LEASEHOLD_AMDSMI`, JSON, read anew).

Names, arguments and answers are those of amdsmi 26.
"""

from __future__ import annotations

import json
import os
from enum import IntEnum
from pathlib import Path
from typing import Any


class AmdSmiException(Exception):
    """What the library raises for whatever goes wrong."""


class AmdSmiMemoryType(IntEnum):
    VRAM = 0


class AmdSmiClkType(IntEnum):
    SYS = 0
    GFX = 0
    MEM = 5


class AmdSmiLinkType(IntEnum):
    AMDSMI_LINK_TYPE_INTERNAL = 0
    AMDSMI_LINK_TYPE_PCIE = 1
    AMDSMI_LINK_TYPE_XGMI = 2


def _cards() -> list[dict[str, Any]]:
    return list(json.loads(Path(os.environ["LEASEHOLD_AMDSMI"]).read_text()))


def _fact(handle: int, name: str) -> Any:
    card = _cards()[handle]
    if card.get("dead"):
        raise AmdSmiException("AMDSMI_STATUS_NO_HSMP_SUP")
    if name not in card:
        raise AmdSmiException("AMDSMI_STATUS_NOT_SUPPORTED")
    return card[name]


def amdsmi_init() -> None:
    if not _cards():
        raise AmdSmiException("AMDSMI_STATUS_DRIVER_NOT_LOADED")


def amdsmi_shut_down() -> None:
    return None


def amdsmi_get_processor_handles() -> list[int]:
    return list(range(len(_cards())))


def amdsmi_get_gpu_asic_info(handle: int) -> dict[str, Any]:
    return {"market_name": _fact(handle, "name"), "vendor_id": "0x1002", "asic_serial": "0x1"}


def amdsmi_get_gpu_memory_total(handle: int, kind: AmdSmiMemoryType) -> int:
    return int(_fact(handle, "memory"))


def amdsmi_get_gpu_device_uuid(handle: int) -> str:
    return str(_fact(handle, "uuid"))


def amdsmi_get_gpu_device_bdf(handle: int) -> str:
    return str(_fact(handle, "bdf"))


def amdsmi_get_gpu_driver_info(handle: int) -> dict[str, Any]:
    return {"driver_name": "amdgpu", "driver_version": _fact(handle, "driver"), "driver_date": ""}


def amdsmi_get_pcie_info(handle: int) -> dict[str, Any]:
    generation, lanes = _fact(handle, "pcie")
    static = {"max_pcie_width": lanes, "max_pcie_speed": 32_000, "pcie_interface_version": generation}
    return {"pcie_static": static, "pcie_metric": {"pcie_width": lanes, "pcie_speed": "N/A"}}


def amdsmi_get_power_cap_info(handle: int) -> dict[str, Any]:
    return {"power_cap": _fact(handle, "power_cap")}


def amdsmi_get_clock_info(handle: int, kind: AmdSmiClkType) -> dict[str, Any]:
    return {"clk": 100, "min_clk": 100, "max_clk": _fact(handle, f"clock_{kind.value}")}


def amdsmi_get_gpu_ecc_enabled(handle: int) -> int:
    return int(_fact(handle, "ecc"))


def amdsmi_topo_get_numa_node_number(handle: int) -> int:
    return int(_fact(handle, "numa"))


def amdsmi_topo_get_link_type(one: int, other: int) -> dict[str, int]:
    return {"hops": 1, "type": AmdSmiLinkType[_fact(one, "link")].value}

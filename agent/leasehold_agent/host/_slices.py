"""Slices of NVIDIA's cards, and who computes on a card: what NVML says now, of a card by its UUID.

A driver that does not answer in time raises OSError, as one that is not here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import pynvml

from leasehold_agent.host._bounded import bounded

T = TypeVar("T")
_SECONDS = 20.0


def mig_devices(card: str) -> dict[int, str]:
    """The UUID of each slice that a container can be given, by the number of its GPU instance. Raises OSError."""
    return _asked(card, lambda handle: dict(_slices(handle)))


def mig_enabled(card: str) -> bool:
    """Whether the card is to be cut, now and not after a reset. Raises OSError."""
    return _asked(card, _mig_enabled)


def processes_on(card: str) -> frozenset[int]:
    """The processes that compute on the card, or on a slice of it. Raises OSError."""
    return _asked(card, lambda handle: frozenset(_processes(handle)))


def takes_many(card: str) -> bool:
    """Whether processes beside each other can compute on the card. Raises OSError."""
    return _asked(card, _takes_many)


def _mig_enabled(handle: Any) -> bool:
    try:
        return bool(pynvml.nvmlDeviceGetMigMode(handle)[0] == pynvml.NVML_DEVICE_MIG_ENABLE)
    except pynvml.NVMLError_NotSupported:
        return False


def _takes_many(handle: Any) -> bool:
    return bool(pynvml.nvmlDeviceGetComputeMode(handle) == pynvml.NVML_COMPUTEMODE_DEFAULT)


def _slices(handle: Any) -> Iterator[tuple[int, str]]:
    for number in range(pynvml.nvmlDeviceGetMaxMigDeviceCount(handle)):
        with contextlib.suppress(pynvml.NVMLError_NotFound):
            device = pynvml.nvmlDeviceGetMigDeviceHandleByIndex(handle, number)
            yield pynvml.nvmlDeviceGetGpuInstanceId(device), _text(pynvml.nvmlDeviceGetUUID(device))


def _processes(handle: Any) -> Iterator[int]:
    for process in pynvml.nvmlDeviceGetComputeRunningProcesses(handle):
        yield process.pid


def _asked(card: str, ask: Callable[[Any], T]) -> T:
    def session() -> T:
        pynvml.nvmlInit()
        try:
            return ask(pynvml.nvmlDeviceGetHandleByUUID(card))
        finally:
            pynvml.nvmlShutdown()

    try:
        return bounded(session, _SECONDS)
    except (pynvml.NVMLError, TimeoutError) as error:
        raise OSError(f"the card does not answer ({error})") from error


def _text(value: str | bytes) -> str:
    return value.decode() if isinstance(value, bytes) else value

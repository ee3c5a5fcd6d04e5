"""What NVIDIA's cards do now: one look at all of them, which takes so long at most, whatever one of them does.

One session is held open, for what happens to a card between two looks (an XID) is told to whoever has asked before.
Whoever resets a card, or unloads its driver, has to stop the agent for that long.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, TypeVar

import pynvml

from leasehold_agent.host._bounded import OneCall

T = TypeVar("T")
MOST_EVENTS: Final = 1_024
"""A tenant's program can bring about as many as it likes: no more are read in one look."""
_GONE: Final = (pynvml.NVML_ERROR_GPU_IS_LOST, pynvml.NVML_ERROR_NOT_FOUND, pynvml.NVML_ERROR_RESET_REQUIRED)
_RENEW_SECONDS: Final = 60.0


@dataclass(frozen=True)
class CardReading:
    """A card at one moment; None is what it does not say. `busy` and `memory_busy` are parts of 100, `temperature` and
    `slows_at` °C, `throttle` NVML's bits of reasons, ECC errors those since the driver came up. `remap_failed`: memory
    that is broken could not be replaced. `processes` are bytes of the card's memory by process.
    """

    busy: int | None = None
    memory_busy: int | None = None
    memory_used: int | None = None
    memory_bytes: int | None = None
    temperature: int | None = None
    slows_at: int | None = None
    power_watts: float | None = None
    clock_mhz: int | None = None
    memory_clock_mhz: int | None = None
    throttle: int = 0
    corrected: int | None = None
    uncorrected: int | None = None
    remap_failed: bool = False
    processes: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Silence:
    """A card says nothing. `lost`: by what its driver says it is gone, and not only late."""

    lost: bool


@dataclass(frozen=True)
class CardLook:
    """By a card's UUID, what it says, and the numbers of the XIDs since the look before."""

    cards: Mapping[str, CardReading | Silence]
    xids: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


class CardWatch:
    """Looks again and again, from one thread. `seconds`: the longest wait for an answer; `clock`: monotonic seconds."""

    def __init__(self, seconds: float = 2.0, clock: Callable[[], float] = time.monotonic) -> None:
        self._seconds, self._clock = seconds, clock
        self._session: OneCall[_Session] = OneCall()
        self._open: _Session | None = None
        self._events: OneCall[dict[str, tuple[int, ...]]] = OneCall()
        self._cards: dict[str, OneCall[CardReading]] = {}
        self._renewed = float("-inf")

    def look(self, cards: Collection[str]) -> CardLook:
        """At these cards, all at once. Takes `seconds` at most."""
        if not cards:
            return CardLook({})
        ends = time.monotonic() + self._seconds
        session = self._get_session()
        if session is None:
            return CardLook(dict.fromkeys(cards, Silence(lost=False)))
        self._cards = {card: self._cards.get(card) or OneCall() for card in cards}
        self._events.begin(lambda: session.events(cards))
        for card, asked in self._cards.items():
            asked.begin(partial(read_card, card))
        answers = {card: self._answer(asked, ends) for card, asked in self._cards.items()}
        xids: Mapping[str, tuple[int, ...]] = {}
        with contextlib.suppress(TimeoutError, pynvml.NVMLError):
            xids = self._events.answer(ends - time.monotonic())
        if any(isinstance(said, Silence) for said in answers.values()):
            self._renew()
        return CardLook(answers, xids)

    @property
    def hangs(self) -> bool:
        """Whether the driver still owes an answer."""
        cards = any(asked.hangs for asked in self._cards.values())
        return cards or self._session.hangs or self._events.hangs

    def close(self) -> None:
        """End the session, unless something still waits for an answer in it."""
        if not self.hangs and (self._open or self._session.unheard):
            if session := self._get_session():
                session.close()
            self._open = None

    def _get_session(self) -> _Session | None:
        if self._open is None:
            self._session.begin(_Session)
            with contextlib.suppress(TimeoutError, pynvml.NVMLError):
                self._open = self._session.answer(self._seconds)
        return self._open

    def _answer(self, asked: OneCall[CardReading], ends: float) -> CardReading | Silence:
        try:
            return asked.answer(ends - time.monotonic())
        except TimeoutError:
            return Silence(lost=False)
        except pynvml.NVMLError as error:
            return Silence(lost=error.value in _GONE)

    def _renew(self) -> None:
        """A session does not see a card that came back after it began. It costs too much for each look."""
        if self._clock() - self._renewed >= _RENEW_SECONDS:
            self._renewed = self._clock()
            self.close()


class _Session:
    """NVML, open, and a queue in the driver of what happens to cards. Raises NVMLError."""

    def __init__(self) -> None:
        pynvml.nvmlInit()
        try:
            self._queue = pynvml.nvmlEventSetCreate()
        except BaseException:
            pynvml.nvmlShutdown()
            raise
        self._heard: set[str] = set()

    def close(self) -> None:
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlEventSetFree(self._queue)
        with contextlib.suppress(pynvml.NVMLError):
            pynvml.nvmlShutdown()

    def events(self, cards: Collection[str]) -> dict[str, tuple[int, ...]]:
        """The XIDs that there were, by card."""
        for card in set(cards) - self._heard:
            with contextlib.suppress(pynvml.NVMLError):  # a card that knows no events, or is lost
                handle = pynvml.nvmlDeviceGetHandleByUUID(card)
                pynvml.nvmlDeviceRegisterEvents(handle, pynvml.nvmlEventTypeXidCriticalError, self._queue)
                self._heard.add(card)
        numbers: dict[str, tuple[int, ...]] = {}
        for _ in range(MOST_EVENTS if self._heard else 0):
            try:
                event = pynvml.nvmlEventSetWait(self._queue, 0)
            except pynvml.NVMLError_Timeout:
                break
            with contextlib.suppress(
                pynvml.NVMLError
            ):  # a card that is lost has no name; its silence is seen
                card = str(pynvml.nvmlDeviceGetUUID(event.device))
                numbers[card] = (*numbers.get(card, ()), int(event.eventData))
        return numbers


def read_card(card: str) -> CardReading:
    """Ask the card of that UUID, in a session that is open. Raises NVMLError where it does not answer."""
    handle = pynvml.nvmlDeviceGetHandleByUUID(card)
    memory = pynvml.nvmlDeviceGetMemoryInfo(handle)  # every card knows it: one that does not is no card
    use = _fact(pynvml.nvmlDeviceGetUtilizationRates, handle)
    power = _fact(pynvml.nvmlDeviceGetPowerUsage, handle)
    rows = _fact(pynvml.nvmlDeviceGetRemappedRows, handle)
    return CardReading(
        busy=None if use is None else int(use.gpu),
        memory_busy=None if use is None else int(use.memory),
        memory_used=int(memory.used),
        memory_bytes=int(memory.total),
        temperature=_fact(pynvml.nvmlDeviceGetTemperature, handle, pynvml.NVML_TEMPERATURE_GPU),
        slows_at=_fact(
            pynvml.nvmlDeviceGetTemperatureThreshold, handle, pynvml.NVML_TEMPERATURE_THRESHOLD_SLOWDOWN
        ),
        power_watts=None if power is None else power / 1_000,
        clock_mhz=_fact(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_SM),
        memory_clock_mhz=_fact(pynvml.nvmlDeviceGetClockInfo, handle, pynvml.NVML_CLOCK_MEM),
        throttle=int(_fact(pynvml.nvmlDeviceGetCurrentClocksThrottleReasons, handle) or 0),
        corrected=_errors(handle, pynvml.NVML_MEMORY_ERROR_TYPE_CORRECTED),
        uncorrected=_errors(handle, pynvml.NVML_MEMORY_ERROR_TYPE_UNCORRECTED),
        remap_failed=rows is not None and bool(rows[3]),
        processes=_processes(handle),
    )


def _errors(handle: Any, kind: int) -> int | None:
    return _fact(pynvml.nvmlDeviceGetTotalEccErrors, handle, kind, pynvml.NVML_VOLATILE_ECC)


def _processes(handle: Any) -> dict[int, int]:
    processes = _fact(pynvml.nvmlDeviceGetComputeRunningProcesses, handle) or ()
    return {process.pid: int(process.usedGpuMemory or 0) for process in processes}


def _fact(ask: Callable[..., T], *arguments: object) -> T | None:
    """What not every card or driver knows. Raises NVMLError where the card is gone or the session over."""
    try:
        return ask(*arguments)
    except pynvml.NVMLError as error:
        if error.value in (*_GONE, pynvml.NVML_ERROR_UNINITIALIZED):
            raise
        return None

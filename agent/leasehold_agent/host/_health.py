"""Which cards are ill, by what was read of them: a rule, and nothing that asks a card.

A driver that is late once, or a card that is hot for a moment, is not ill: an answer has to be missing, and heat or a
brake of the hardware to be seen, twice in a row. An XID is told once, so that it counts for a while. What a tenant's
own program brings about by a mistake in it (13, 31, 43, 45 and the like) says nothing of the card, and everybody who
leases one could have it taken off sale so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from leasehold_agent.host._readings import CardLook, CardReading, Silence

Cause = Literal["silent", "xid", "ecc", "heat", "throttled"]
BROKEN_XIDS: Final = frozenset({48, 62, 64, 74, 79, 95, 110, 119, 120, 136, 140, 143})
"""NVIDIA's catalogue of XIDs: memory that is broken, a controller or its firmware that has stopped, NVLink, the bus."""
XID_SECONDS: Final = 3_600
"""How long a card counts as broken after the last such XID: the cure is a reset, which it does not tell of."""
CALM_SECONDS: Final = 60
"""How long nothing may be seen of an illness before it is over, unless the host's owner says otherwise."""
HARDWARE_BRAKES: Final = 0x08 | 0x40 | 0x80
"""NVML's reasons for lower clocks: the hardware's own slowdown, by heat, or by its power supply."""
_IN_A_ROW: Final = 2
_COOLER: Final = 5  # °C below the limit before a card that was too hot is not


@dataclass(frozen=True)
class Ailment:
    """`detail`: a few words for people, as they were when it began."""

    cause: Cause
    detail: str


SILENT: Final = Ailment("silent", "it does not answer")


@dataclass(frozen=True)
class Patient:
    """What is remembered of a card, in monotonic seconds. `missed`, `braked` and `hot`: looks in a row."""

    missed: int = 0
    braked: int = 0
    hot: int = 0
    xid: int | None = None
    broken_until: float = float("-inf")
    calm_from: float = float("-inf")
    ailment: Ailment | None = None


@dataclass
class CardWard:
    """Of all cards of a host; a card that is no longer looked at is forgotten. calm: as `CALM_SECONDS`."""

    calm: float = CALM_SECONDS
    patients: dict[str, Patient] = field(default_factory=dict)

    def see(self, look: CardLook, now: float) -> Mapping[str, Ailment]:
        """By UUID, what ails cards after this look. now: monotonic seconds."""
        self.patients = {
            card: judged(self.patients.get(card, Patient()), said, look.xids.get(card, ()), now, self.calm)
            for card, said in look.cards.items()
        }
        return {card: p.ailment for card, p in self.patients.items() if p.ailment is not None}


def judged(
    before: Patient,
    said: CardReading | Silence,
    xids: tuple[int, ...],
    now: float,
    calm: float = CALM_SECONDS,
) -> Patient:
    """The card after one more look."""
    seen = _counted(before, said)
    if broken := [number for number in xids if number in BROKEN_XIDS]:
        seen = replace(seen, xid=broken[-1], broken_until=now + XID_SECONDS)
    ailment = _found(seen, said, now)
    if ailment is not None:
        same = before.ailment is not None and before.ailment.cause == ailment.cause
        return replace(seen, calm_from=now + calm, ailment=before.ailment if same else ailment)
    return replace(seen, ailment=before.ailment if now < before.calm_from else None)


def _counted(before: Patient, said: CardReading | Silence) -> Patient:
    if isinstance(said, Silence):
        return replace(before, missed=_IN_A_ROW if said.lost else before.missed + 1)
    return replace(
        before,
        missed=0,
        hot=before.hot + 1 if _is_hot(before, said) else 0,
        braked=before.braked + 1 if said.throttle & HARDWARE_BRAKES else 0,
    )


def _is_hot(before: Patient, said: CardReading) -> bool:
    if said.temperature is None or said.slows_at is None:
        return False
    return said.temperature >= said.slows_at - (_COOLER if before.hot >= _IN_A_ROW else 0)


def _found(seen: Patient, said: CardReading | Silence, now: float) -> Ailment | None:
    """The gravest first."""
    if seen.missed >= _IN_A_ROW:
        return SILENT
    if now < seen.broken_until:
        return Ailment("xid", f"XID {seen.xid}")
    if isinstance(said, Silence):
        return None
    if said.uncorrected or said.remap_failed:
        errors = f"{said.uncorrected} uncorrectable memory errors" if said.uncorrected else ""
        return Ailment("ecc", errors or "broken memory that could not be replaced")
    if seen.hot >= _IN_A_ROW:
        return Ailment("heat", f"{said.temperature} °C")
    if seen.braked >= _IN_A_ROW:
        return Ailment("throttled", "its hardware slows it down")
    return None

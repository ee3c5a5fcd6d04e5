"""Each cause once: which alerts are new, which causes are over, when what did not arrive is tried again. All pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from leasehold.guarding._alerts import Alert
from leasehold.home import Pending, ToldCause

REARM_SECONDS = 300
"""How long a cause has to be away until it is told anew: what flickers is told once."""
FIRST_RETRY, LAST_RETRY = 30, 3_600
GIVEN_UP_AFTER = 86_400
GIVEN_UP_TRIES = 12
"""An alert that nobody took for so many seconds, and as often, is worth nothing any more."""
FAILING_TRIES = 3
"""Attempts in vain after which a channel is said, by the others, to take nothing."""


@dataclass(frozen=True)
class Telling:
    """What is remembered from now on, and what is to be told."""

    told: Mapping[str, ToldCause]
    new: tuple[Alert, ...]


def tell(
    told: Mapping[str, ToldCause], alerts: Iterable[Alert], unsure: Collection[str], now: int
) -> Telling:
    """Which of the alerts are new. unsure: causes, or kinds of them, of which nobody knows whether they stand."""
    present = {alert.cause: alert for alert in alerts}
    kept: dict[str, ToldCause] = {}
    for cause, standing in told.items():
        if cause in present:
            kept[cause] = replace(standing, over=0)
        elif cause in unsure or cause.partition(":")[0] in unsure:
            kept[cause] = standing
        elif not standing.over:
            kept[cause] = replace(standing, over=max(1, now))
        elif 0 <= now - standing.over < REARM_SECONDS:
            kept[cause] = standing
    new = tuple(alert for cause, alert in present.items() if cause not in kept)
    kept |= {alert.cause: ToldCause(now) for alert in new}
    return Telling(kept, new)


def queued(
    pending: tuple[Pending, ...], new: Iterable[Alert], channels: Iterable[str], now: int
) -> tuple[Pending, ...]:
    """What waits, with an entry for each new alert and channel behind it. A channel that is set no more has none."""
    names = tuple(channels)
    waiting = tuple(entry for entry in pending if entry.channel in names)
    return waiting + tuple(Pending(name, alert.to_json(now), now, due=now) for alert in new for name in names)


def due(pending: Iterable[Pending], channel: str, now: int) -> Pending | None:
    """What a channel is given next: the oldest, and while that is not due, nothing behind it either."""
    first = next((entry for entry in pending if entry.channel == channel), None)
    return first if first is not None and (first.due <= now or first.due > now + LAST_RETRY) else None


def failed(entry: Pending, now: int) -> Pending | None:
    """The same for its next try; `None` where it is given up."""
    if (
        now - entry.first >= GIVEN_UP_AFTER and entry.tries >= GIVEN_UP_TRIES
    ):  # not where the clock has jumped
        return None
    wait = min(FIRST_RETRY << min(entry.tries, 16), LAST_RETRY)
    return replace(entry, tries=entry.tries + 1, due=now + wait)


def failing(pending: Iterable[Pending]) -> tuple[str, ...]:
    """Channels that take nothing."""
    return tuple(sorted({entry.channel for entry in pending if entry.tries >= FAILING_TRIES}))

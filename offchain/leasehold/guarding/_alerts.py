"""What a snapshot gives to warn of: a pure function from how things stand to the causes that there are.

What is in a sentence may come from strangers (a machine's reason, a lease's name): it is made plain and short here, for
it goes into letters' subjects and onto telephones.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from hashlib import sha256

from leasehold.chain import LeaseState, format_lease
from leasehold.guarding._settings import GuardSettings, KeepSettings
from leasehold.guarding._sights import LeaseSight, PastSight, Snapshot
from leasehold.market import Json, Money, extension_cost, format_duration, format_time

LONGEST = 400
"""Characters of a sentence."""
_LONGEST_WORD = 80


class AlertKind(StrEnum):
    """What an alert is about. ACTED: the guard has done something. TROUBLE: it cannot do what it is for. STARTED,
    CONFIRM: of a guard for others, whom nobody watches starting, and who asks before he tells.
    """

    NOTICE = "notice"
    END_NEAR = "end-near"
    ESCROW_LOW = "escrow-low"
    CRASH_LOOP = "crash-loop"
    IDLE = "idle"
    OUTAGE = "outage"
    PRICE = "price"
    NOT_STARTED = "not-started"
    STARTED = "started"
    ENDED = "ended"
    JOB = "job"
    ACTED = "acted"
    TROUBLE = "trouble"
    TEST = "test"
    CONFIRM = "confirm"


URGENT = frozenset(
    {AlertKind.NOTICE, AlertKind.END_NEAR, AlertKind.ESCROW_LOW, AlertKind.OUTAGE, AlertKind.TROUBLE}
)


@dataclass(frozen=True)
class Alert:
    """One cause to warn of, in a sentence. about: the lease, run, machine or part that it is about; once per kind and
    `about` while it stands. lease: as people write it.
    """

    kind: AlertKind
    about: str
    said: str
    lease: str | None = None

    @property
    def cause(self) -> str:
        """By which it is known that it was told."""
        return f"{self.kind}:{self.about}"

    @property
    def urgent(self) -> bool:
        return self.kind in URGENT

    def to_json(self, since: int) -> dict[str, Json]:
        """As channels send it. `id` is the same however often one cause is sent. since: unix seconds."""
        return {
            "version": 1,
            "id": sha256(f"{self.cause} {since}".encode()).hexdigest()[:32],
            "kind": str(self.kind),
            "urgent": self.urgent,
            "at": since,
            "lease": self.lease,
            "said": self.said,
        }


def harmless(text: str, longest: int = LONGEST) -> str:
    """The text as one line without what steers a terminal or a letter, and no longer than `longest`."""
    plain = "".join(" " if unicodedata.category(letter)[0] in "CZ" else letter for letter in text)
    plain = " ".join(plain.split())
    return plain if len(plain) <= longest else f"{plain[: longest - 1]}…"


def alerts_of(snapshot: Snapshot, settings: GuardSettings, money: Money) -> list[Alert]:
    """Everything there is to warn of now. Pure."""
    alerts = [
        *_own(snapshot, settings, money),
        *(alert for lease in snapshot.leases for alert in _lease(lease, snapshot, settings, money)),
        *(_past(past) for past in snapshot.past),
    ]
    return [Alert(a.kind, a.about, harmless(a.said), a.lease) for a in alerts]


def unsure_of(snapshot: Snapshot) -> set[str]:
    """Causes of which this look cannot say that they are over."""
    silent = [lease for lease in snapshot.leases if not lease.answers]
    return {f"{kind}:{lease.lease.id}" for lease in silent for kind in (AlertKind.CRASH_LOOP, AlertKind.IDLE)}


def acted(about: str, said: str, lease: int | None = None) -> Alert:
    """That the guard has done something."""
    return Alert(AlertKind.ACTED, about, harmless(said), None if lease is None else format_lease(lease))


def trouble(about: str, said: str) -> Alert:
    """That the guard cannot do something. about: a word for what."""
    return Alert(AlertKind.TROUBLE, about, harmless(said))


# ------------------------------------------------------------------------------------------------------- of a lease


def _lease(sight: LeaseSight, snapshot: Snapshot, settings: GuardSettings, money: Money) -> Iterator[Alert]:
    lease, now, shown = sight.lease, snapshot.now, _called(sight.lease.id, sight.name)

    def alert(kind: AlertKind, said: str) -> Alert:
        return Alert(kind, str(lease.id), said, format_lease(lease.id))

    if lease.state is LeaseState.OPENED:
        if now > lease.start + sight.window:
            yield alert(
                AlertKind.NOT_STARTED, f"{shown} was not started in time: all of its escrow comes back."
            )
        return
    if not sight.runs or now >= lease.end:
        return
    if sight.started:
        yield alert(AlertKind.STARTED, f"{shown} has started, and is paid until {format_time(lease.end)}.")
    if lease.noticed:
        yield alert(AlertKind.NOTICE, f"{shown} is under notice and ends {format_time(lease.end)}.")
    else:
        left = snapshot.own.left if sight.aside is None else sight.aside
        yield from (alert(*said) for said in _ending(sight, now, shown, left, settings, money))
    if sight.down or sight.silent >= settings.silent_after:
        yield alert(AlertKind.OUTAGE, _outage(sight, shown))
    if sight.looping:
        yield alert(
            AlertKind.CRASH_LOOP, f"The command of {_lower(shown)} ends and is started again and again."
        )
    if sight.exit_code is not None and sight.job is None:
        yield alert(
            AlertKind.IDLE,
            f"The command of {_lower(shown)} has ended with {sight.exit_code}, and it is paid for.",
        )
    elif settings.idle_after and sight.idle:
        span = format_duration(settings.idle_after)
        yield alert(
            AlertKind.IDLE, f"{shown} has used neither processor nor card for {span}, and is paid for."
        )
    if sight.cheaper is not None:
        machine, price = sight.cheaper
        said = f"{money.show(price)} per GPU-hour, and {_lower(shown)} pays {money.show(lease.price)}"
        yield alert(AlertKind.PRICE, f"Machine {machine} has the same card for {said}.")


def _ending(
    sight: LeaseSight, now: int, shown: str, left: int, settings: GuardSettings, money: Money
) -> Iterator[tuple[AlertKind, str]]:
    """That it ends soon and nobody extends it, or that what is left does not pay for the next extension."""
    lease, keep = sight.lease, keep_of(sight, settings)
    if keep is not None and sight.job is None:
        step = min(keep.by, lease.start + keep.at_most - lease.end)
        if step > 0 and (needs := extension_cost(lease, step)) > left:
            ends = f"{shown} ends {format_time(lease.end)}"
            yield (
                AlertKind.ESCROW_LOW,
                f"{ends}: the next extension costs {money.show(needs)}, and {money.show(left)} are left.",
            )
        if step > 0:
            return
    if sight.job is None and settings.end_near and lease.end - now <= settings.end_near:
        yield AlertKind.END_NEAR, f"{shown} ends {format_time(lease.end)}."


def keep_of(sight: LeaseSight, settings: GuardSettings) -> KeepSettings | None:
    """The rule by which a lease is extended: what was said as it was rented, else the first that fits."""
    if sight.kept is not None:
        return sight.kept
    rules = (rule for rule in settings.keep.values() if rule.label is None or rule.label in sight.labels)
    return next(rules, None)


def _outage(sight: LeaseSight, shown: str) -> str:
    if sight.down:
        since = format_time(sight.down)
        return f"Machine {sight.lease.machine} of {_lower(shown)} is down since {since}: that time is not billed."
    waited = f"The agent of {_lower(shown)} has said nothing for {format_duration(sight.silent)}"
    return f"{waited}; a challenge stands." if sight.answer_by else f"{waited}."


def _past(past: PastSight) -> Alert:
    lease, shown = past.lease, _called(past.lease.id, past.name)
    how = {
        LeaseState.CANCELLED: "was not started, and everything came back",
        LeaseState.REJECTED: "was given back",
    }.get(lease.state, "is over")
    kind = AlertKind.NOT_STARTED if lease.state is LeaseState.CANCELLED else AlertKind.ENDED
    why = f" (the machine's word: {harmless(past.reason, _LONGEST_WORD)})" if past.reason else ""
    return Alert(kind, str(lease.id), f"{shown} {how}{why}.", format_lease(lease.id))


# ------------------------------------------------------------------------------------------------------- of itself


def _own(snapshot: Snapshot, settings: GuardSettings, money: Money) -> Iterator[Alert]:
    own = snapshot.own
    if own.gas < _wei(settings.gas_low):
        yield trouble(
            "gas", "The guard's wallet has hardly any coins left for gas: what is due may not be sent."
        )
    if own.waiting:
        yield trouble(
            "waiting", "A transaction of the guard's wallet is not mined: nothing else is sent until it is."
        )
    if own.expiry and own.expiry - snapshot.now < 86_400:
        yield trouble(
            "leave", f"The guard's leave as a delegate ends {format_time(own.expiry)}: set it anew."
        )
    for channel in own.failing:
        yield trouble(f"channel-{channel}", f"Alerts by {channel} do not arrive: look at its settings.")


def _wei(coins: str) -> int:
    whole, _, part = coins.partition(".")
    return int(whole) * 10**18 + int(part.ljust(18, "0")[:18] or "0")


def _called(lease: int, name: str) -> str:
    shown = format_lease(lease)
    return f"Lease {shown}" if name in ("", shown) else f"Lease {shown} ({harmless(name, _LONGEST_WORD)})"


def _lower(shown: str) -> str:
    return shown[:1].lower() + shown[1:]

"""Why a machine takes no such lease as things stand.

    MachineUnavailable
    ├── MachineGone
    ├── MachineClosed
    ├── NobodyMeasured
    ├── NoSpotPrice
    ├── DurationNotServed
    ├── LeavingTooSoon
    ├── MaintenanceNear
    ├── ShareNotServed
    ├── ShareNotSold
    │   └── ResizeNotSold
    ├── ShareTaken
    │   ├── ResizeTaken
    │   └── ShareWithheld
    └── SomebodyElses
    MarketError
    └── PriceAboveMaximum

Durations are seconds, shares cells, prices token units per GPU-hour.
"""

from __future__ import annotations

from leasehold.errors import error_type
from leasehold.market._errors import MachineUnavailable, MarketError


@error_type("machine-gone", problem="Machine {machine} has retired", advice="choose another.")
class MachineGone(MachineUnavailable):
    """It takes no lease any more."""

    machine: int


@error_type("machine-closed", problem="Machine {machine} {why} and takes no lease", advice="choose another.")
class MachineClosed(MachineUnavailable):
    """It takes no lease for now. why: the sentence's verb and what follows."""

    machine: int
    why: str


@error_type(
    "nobody-measured",
    problem="Nobody has measured machine {machine}",
    advice="allow an unverified machine, to rent it all the same.",
)
class NobodyMeasured(MachineUnavailable):
    """No committee has seen its hardware, and the wish takes only what one has."""

    machine: int


@error_type(
    "no-spot-price",
    problem="Machine {machine} sells no spot leases",
    advice="ask for no spot lease, or choose another machine.",
)
class NoSpotPrice(MachineUnavailable):
    """Its terms name no spot price."""

    machine: int


@error_type(
    "price-above-maximum",
    problem="Machine {machine} asks {price:money} an hour and your maximum is {maximum:money}",
    advice="raise it or choose another machine.",
)
class PriceAboveMaximum(MarketError):
    """The machine asks more than the renter's maximum."""

    machine: int
    price: int
    maximum: int


@error_type(
    "duration-not-served",
    problem="Machine {machine} is leased for {shortest:duration} to {longest:duration}, not {asked:duration}",
    advice="choose a duration between them.",
)
class DurationNotServed(MachineUnavailable):
    """Its terms allow only longer or shorter leases."""

    machine: int
    shortest: int
    longest: int
    asked: int


@error_type(
    "leaving-too-soon",
    problem="Machine {machine} leaves the market in {left:duration}",
    advice="choose a shorter lease or another machine.",
)
class LeavingTooSoon(MachineUnavailable):
    """Its terms name a last day before the lease would end."""

    machine: int
    left: int


@error_type(
    "maintenance-near",
    problem="Machine {machine} will be worked on from {begin:utc} to {end:utc}, and takes no lease that runs then",
    advice="choose a shorter lease or another machine.",
)
class MaintenanceNear(MachineUnavailable):
    """Its owner has announced a window that the lease would reach into."""

    machine: int
    begin: int
    end: int


@error_type(
    "share-not-served",
    problem="Machine {machine} has {gpus} GPUs and cannot serve {share:share}",
    advice="choose a smaller share.",
)
class ShareNotServed(MachineUnavailable):
    """No machine of its size could."""

    machine: int
    gpus: int
    share: int


@error_type(
    "share-not-sold",
    problem="Machine {machine} leases no less than {smallest:share} of a GPU",
    advice="choose that share, or another machine.",
)
class ShareNotSold(MachineUnavailable):
    """Its provider sells no such small one."""

    machine: int
    smallest: int


@error_type(
    "resize-not-sold",
    problem="Machine {machine} leases no less than {smallest:share} of a GPU",
    advice="take that, or move the lease.",
)
class ResizeNotSold(ShareNotSold):
    """The same, for a lease that it has."""


@error_type(
    "share-taken",
    problem="Machine {machine} has no room for {share:share} of a GPU now",
    advice="take a smaller share or another machine.",
)
class ShareTaken(MachineUnavailable):
    """Other leases have the cells."""

    machine: int
    share: int


@error_type(
    "resize-taken",
    problem="Machine {machine} has no room for {share:share} of a GPU now",
    advice="take another share, or move the lease.",
)
class ResizeTaken(ShareTaken):
    """The same, for a lease that it has."""


@error_type(
    "share-withheld",
    problem="Machine {machine} has {share:share} of a GPU free, and its provider keeps that out of sale now",
    advice="take a smaller share or another machine.",
)
class ShareWithheld(ShareTaken):
    """Nobody has the cells, and they are not sold."""


@error_type(
    "somebody-elses",
    problem="Machine {machine} belongs to {provider}, not to {account}",
    advice="use its provider's wallet.",
)
class SomebodyElses(MachineUnavailable):
    """Only its provider does that with a machine."""

    machine: int
    provider: str
    account: str

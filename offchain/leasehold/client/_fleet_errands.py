"""What the hosts of a fleet are asked to do by themselves, with their own keys: nothing of it needs the owner's."""

from __future__ import annotations

import enum
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from leasehold.client._fleet_joining import HostLeft
from leasehold.client._shells import HostAnswer
from leasehold.fields import in_words

Number = Annotated[int, Field(ge=0, lt=1 << 64)]
Word = Annotated[str, StringConstraints(max_length=64)]


class Errand(enum.Enum):
    """A command of the agent's. REPORT costs stake."""

    CHECK = ("check",)
    STATUS = ("status", "--json")
    DRAIN = ("drain",)
    UNDRAIN = ("drain", "--undo")
    REPORT = ("report", "--yes")
    RECOVER = ("report", "--undo")

    @property
    def command(self) -> tuple[str, ...]:
        """As it is typed on the host."""
        return ("leasehold-agent", *self.value)


class _Shown(BaseModel):
    # A later agent shows more; what is read here must have the right form.
    model_config = ConfigDict(frozen=True, extra="ignore")


class _Machine(_Shown):
    machine: Number
    down_since: Number | None = None


class _Lease(_Shown):
    lease: Word
    phase: Word


class _Gas(_Shown):
    leases: Number


class HostStatus(_Shown):
    """What a host's agent sees, by its own word. at: unix seconds, when it looked. gas: for how many more leases."""

    at: Number
    current: bool = False
    machines: Annotated[tuple[_Machine, ...], Field(max_length=64)] = ()
    leases: Annotated[tuple[_Lease, ...], Field(max_length=4_096)] = ()
    gas: _Gas | None = None

    @property
    def running(self) -> tuple[str, ...]:
        """The leases that run, as people write them."""
        return tuple(lease.lease for lease in self.leases if lease.phase == "running")


def host_status(answer: HostAnswer) -> HostStatus | HostLeft:
    """What the answer to `Errand.STATUS` says."""
    if not answer.well:
        return HostLeft(answer.host.name, answer.why)
    try:
        return HostStatus.model_validate_json(answer.said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"])) or "its status"
        return HostLeft(answer.host.name, f"{where}: {in_words(first['msg'])}")

"""How an account's leases stand at one moment, as far as a guard can know: nothing in here is asked for or sent."""

from __future__ import annotations

from dataclasses import dataclass

from leasehold.chain import Lease, LeaseState
from leasehold.guarding._settings import KeepSettings


@dataclass(frozen=True)
class LeaseSight:
    """One live lease. Seconds, unix seconds, token units.

    name: what it is called. answers: its agent has said how it stands. silent: for how long it has not, as this guard
    has seen it. down: since when its machine is down on the chain; 0: it is not. exit_code: of a command that has ended
    for good. looping: its container is started again and again. idle: it has used no processor and no card; `None`:
    nobody knows. job: a run that is recovered has it. labels: WORD=VALUE that it has. cheaper: the best machine of its
    kind now and what it asks per GPU-hour. answer_by: until when its machine may answer a challenge; 0: none stands.
    window: its start window. checkpoint: the newest that its agent names, where one's own node has not got it. begins:
    it took the place of a lease whose last checkpoint it can be given. kept: as it was rented to be extended.
    aside: what may be spent on extending it where a sum is put aside for it alone. started: since the last look.
    """

    lease: Lease
    name: str
    answers: bool = False
    silent: int = 0
    down: int = 0
    exit_code: int | None = None
    looping: bool = False
    idle: bool | None = None
    job: str | None = None
    labels: frozenset[str] = frozenset()
    cheaper: tuple[int, int] | None = None
    answer_by: int = 0
    window: int = 0
    checkpoint: str = ""
    begins: bool = False
    kept: KeepSettings | None = None
    aside: int | None = None
    started: bool = False

    @property
    def runs(self) -> bool:
        return self.lease.state is LeaseState.ACTIVE


@dataclass(frozen=True)
class PastSight:
    """A lease that is over since the last look. reason: why it was declined, if so."""

    lease: Lease
    name: str
    reason: str = ""
    noticed: bool = False


@dataclass(frozen=True)
class JobSight:
    """A run that is to be recovered, and has something left to do. interval: seconds between its checkpoints; 0: it
    makes none.
    """

    name: str
    interval: int = 0


@dataclass(frozen=True)
class OwnSight:
    """How the guard itself stands. gas: wei in its wallet. waiting: something of it is not mined. left: token units
    that it may still spend: of the account's ledger and allowance, or as a delegate up to the cap. expiry: of its leave
    as a delegate, unix seconds; 0: it is none. failing: channels that take no alert.
    """

    gas: int
    waiting: bool = False
    left: int = 0
    expiry: int = 0
    failing: tuple[str, ...] = ()


@dataclass(frozen=True)
class Snapshot:
    """Everything at `now`, by the chain. settleable: faults of the account's machines have a step that is due."""

    now: int
    own: OwnSight
    leases: tuple[LeaseSight, ...] = ()
    past: tuple[PastSight, ...] = ()
    jobs: tuple[JobSight, ...] = ()
    settleable: bool = False

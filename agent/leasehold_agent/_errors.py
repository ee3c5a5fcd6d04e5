"""What goes wrong in the agent. All are `leasehold.errors.AgentError`: one `except` catches the package.

AgentError
├── EngineDown          the Docker engine does not answer
├── EngineRefused       it answers that something cannot be done
│   └── OutputTooLarge  an output comes to more than is packed of its lease
├── NoContainer         the lease has no running container
│   ├── CommandEnded    its command has ended before it was ready
│   └── NotRead         it is over, and its files are not to be had
├── LimitNotHeld        no disk limit holds now, so nothing starts
├── UploadsFull         too many uploads that no lease has claimed
├── CodeUnwanted         code that the lease does not name
├── CodeLost            code that was here is damaged or gone
├── CodeNotWritten      code that only the engine can unpack
├── ImageTooLarge       an image comes to more than this host takes
├── ImageDelayed        a registry did not answer the engine
├── NoRoom              the disk is full of what can go: it goes first
├── StillStopping       the lease that this one renews has not stopped yet
├── VolumeTrouble       a volume cannot be made, opened or closed now
│   └── WrongVolumeKey  it was made under another key
├── VolumeHeld          another lease has it
├── CheckpointFailed    no checkpoint can be made of what is there
├── CommitFailed        no image can be made of a container
├── CommitUnderWay      one is being made of it for another key
├── GasKept             the operator's last gas is for answers
│   └── ClosingTooDear  closing a lease for its tenant would cost more than this host gives
├── OrderVoid           a closing order that is not taken
├── NetworkError        the firewall refused a rule
├── AlreadyRunning      another agent holds the state folder, or serves here with the same key
├── NodesDisagree       what one node says another does not
└── Declined            this lease cannot run here, and why
"""

from __future__ import annotations

from typing import Literal

from leasehold.errors import AgentError

DeclineReason = Literal[
    "workload-missing",
    "workload-invalid",
    "image-unknown",
    "dataset-missing",
    "code-missing",
    "not-ready",
    "no-card",
    "no-disk",
    "volume-held",
    "port-taken",
    "unsupported",
    "start-failed",
    "maintenance",
    "tenant-record",
]


class EngineDown(AgentError):
    """The Docker engine does not answer; what runs keeps running, and the agent tries again."""

    code = "engine-unavailable"


class EngineRefused(AgentError):
    """The Docker engine says that this cannot be done; trying again will not help by itself."""


class OutputTooLarge(EngineRefused):
    """An output is larger than what this host packs for its lease."""


class ImageTooLarge(AgentError):
    """An image comes to more, unpacked, than this host takes."""

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"it comes to more than the {limit:,} bytes that this host takes of one (`image_limit`)."
        )


class ImageDelayed(AgentError):
    """A registry did not answer this host's engine. What exactly went wrong stays in the host's log: a tenant chose the
    name, and would learn from it what else answers here.
    """

    def __init__(self, registry: str) -> None:
        super().__init__(f"This host's engine has no answer from {registry} yet; it is tried again.")


class NoRoom(AgentError):
    """This host's disk has no room for `wants` bytes now. What leases before have left makes way, then this goes on."""

    def __init__(self, wants: int = 0) -> None:
        super().__init__("This host's disk has no room for it now.")
        self.wants = wants


class GasKept(AgentError):
    """What gas the operator has left is kept for signs of life; the rest waits until it has more."""


class ClosingTooDear(GasKept):
    """Closing a lease for its tenant would cost more of the chain's coin than this host gives for it (`close_cost`)."""


class OrderVoid(AgentError):
    """A closing order that would not close its lease, or that this host does not take."""

    code = "order-refused"


class NoContainer(AgentError):
    """The lease has no running container."""

    code = "not-running"


class CommandEnded(NoContainer):
    """The command has ended before it was ready; the text says how."""


class NotRead(NoContainer):
    """The lease is over and its files are not read here now; the text says why."""


class StillStopping(AgentError):
    """The lease before this one in its slot still runs here; once it has stopped, its data goes on in this one."""


class VolumeTrouble(AgentError):
    """A volume cannot be made, opened, closed or read here now; the text says why. What holds on to it may let go."""

    code = "volume-busy"


class WrongVolumeKey(VolumeTrouble):
    """The volume was made under another key than the workload has."""

    def __init__(self) -> None:
        super().__init__("it was made under another key")


class VolumeHeld(AgentError):
    """A lease has the volume: two would write over each other's file system."""

    def __init__(self, lease: int) -> None:
        super().__init__("Another lease has the volume.")
        self.lease = lease


class CheckpointFailed(AgentError):
    """No checkpoint can be made of what is there; the text says why, for the lease's tenant."""


class CommitFailed(AgentError):
    """No image can be made of a container; the text says why, for the lease's tenant."""


class CommitUnderWay(AgentError):
    """An image is being made of the lease for another key."""

    code = "too-many-requests"

    def __init__(self) -> None:
        super().__init__("An image is being made of this lease already: wait for that.")


class LimitNotHeld(AgentError):
    """The file system holds no container to its disk limit now; nothing starts until it does."""


class UploadsFull(AgentError):
    """Uploads that no lease has claimed fill their share of the disk; try again later."""

    code = "store-full"


class CodeUnwanted(AgentError):
    """A folder of code that the lease's workload does not name, or that cannot travel."""

    code = "code-refused"


class CodeLost(AgentError):
    """Code that was handed over is damaged or gone; it is waited for anew."""

    def __init__(self) -> None:
        super().__init__("Some of the code is gone from this host; hand it over again.")


class CodeNotWritten(AgentError):
    """This host does not write a folder of code into a container itself; the engine unpacks it. The text says why."""


class NetworkError(AgentError):
    """A firewall rule could not be set; without it no container is started."""


class AlreadyRunning(AgentError):
    """Another agent holds the state folder, or has the same key beside the same engine; two would fight over the same
    containers.
    """


class Declined(AgentError):
    """The lease cannot run here. `reason` goes on the chain; the text says more, to the tenant."""

    def __init__(self, reason: DeclineReason, detail: str) -> None:
        super().__init__(detail)
        self.reason: DeclineReason = reason
        self.detail = detail


class NodesDisagree(AgentError):
    """What one node of the chain says is not what a second one says; it is asked again."""

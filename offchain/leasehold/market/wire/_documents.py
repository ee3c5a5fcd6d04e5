"""What the agent's API answers, field by field: the source of docs/reference/agent-api.json."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, field_validator

from leasehold.chain import ClosingOrder, cid_to_bytes

Phase = Literal[
    "pulling",
    "fetching",
    "starting",
    "ready",
    "running",
    "stopped",
    "finished",
    "stopping",
    "ended",
    "declined",
]
PowerWish = Literal["stop", "start", "restart"]
"""What a tenant can have done with a container while its lease goes on."""
CheckpointWhy = Literal["interval", "notice", "stop", "asked"]


def _cid(text: str) -> str:
    cid_to_bytes(text)
    return text


CidText = Annotated[str, AfterValidator(_cid)]
"""What goes into a workload, and to one's own IPFS node, at an agent's word."""
Whole = Annotated[int, Field(ge=0)]
_YEAR_9999 = 253_402_300_799  # its last second
_NO_HOST_HAS = 2**63  # bytes, or seconds; less than this is false of what is no number, too


class WireDocument(BaseModel):
    # A newer agent may say more.
    model_config = ConfigDict(frozen=True, extra="ignore")


class Problem(WireDocument):
    """RFC 9457. `type` is the refusal's code, which stays what it is."""

    type: str
    title: str
    status: int
    detail: str


class Health(WireDocument):
    """`time` is the agent's clock, in unix seconds: compare it before you blame a signature. `operations`: what a
    session with it may grant; an agent that says none is of before `FORMER_OPS` grew, and refuses more than these.
    """

    status: Literal["ok"] = "ok"
    version: str
    time: Whole
    operations: list[str] = []


class ContactSignature(WireDocument):
    """The operator's EIP-712 `Contact{machine, digest, issuedAt}`, r, s, v. The digest is the SHA-256 of the contact's
    canonical JSON.
    """

    machine: Whole
    issuedAt: Whole  # noqa: N815  # EIP-712's own name
    signature: str


class MachineInfo(WireDocument):
    """Which machines this agent runs, and its contact document as it stands now, signed for each of them: it counts
    beside the one that the chain names, from `issued_at` on.
    """

    chain: Whole
    controller: str
    operator: str
    machines: list[int]
    contact: dict[str, JsonValue]
    signatures: list[ContactSignature] = []


class ReceiptMessage(WireDocument):
    """EIP-712 `Receipt`, as its wire names."""

    chain: Whole
    controller: str
    machine: Whole
    digest: str
    expiresAt: Whole  # noqa: N815  # EIP-712's own name


class SignedReceipt(WireDocument):
    """The operator holds the workload until `expiresAt` at least. `signature` is r, s, v, the operator's."""

    receipt: ReceiptMessage
    signature: str


class OpenPort(WireDocument):
    container: int
    host: int
    protocol: Literal["tcp", "udp"]


class Container(WireDocument):
    """`state` is the engine's own word; `exit_code` that of a command that has finished."""

    state: str | None
    exit_code: int | None


class LeaseNotice(WireDocument):
    """The provider ends the lease early: at `ends_at`, in unix seconds. `spot` leases may be, for nothing."""

    ends_at: int
    reason: Literal["spot", "terminated"]


class Kept(WireDocument):
    """How long the container of a lease that is over is kept, in unix seconds: `until` where the host has the room,
    `paid_until` where it is wanted by leases that begin. A disk that runs full is made room on before that. For
    `read_seconds` in all its files can still be read by SSH, SFTP and exec.
    """

    until: int
    paid_until: int
    read_seconds: int = 0


class LeaseStatus(WireDocument):
    """`lease` as it is shown (`12.1`), `lease_id` as the chain has it, in decimal; `end` in unix seconds; `name` as
    its workload has it. `renews`: the lease, as it is shown, with whose data it goes on. `exit_code` is that of a
    command that has ended by itself, and is not started again; `closes_when_done`: the agent has an order to close the
    lease then. `volumes`: the names of those that it has, which are kept as long as it is. `host`: at which its ports
    are published, if it has any. `checkpoint`: the CID of its newest one.
    """

    lease: str
    lease_id: str
    tenant: str
    machine: int
    phase: Phase
    reason: str | None
    progress: str | None
    ports: list[OpenPort]
    container: Container | None
    end: int | None
    outputs: list[str]
    result_cid: str | None
    notice: LeaseNotice | None = None
    kept: Kept | None = None
    name: str | None = None
    renews: str | None = None
    host: str | None = None
    exit_code: int | None = None
    closes_when_done: bool = False
    volumes: list[str] = []
    checkpoint: CidText | None = None


class ClosingOrderDocument(WireDocument):
    """A tenant's signed `close` of the lease in the path, for when the command of `workload` (SHA-256 of the sealed
    bytes, in hex) has ended by itself. `nonce` in decimal, `deadline` in unix seconds, `proof` in hex, over the
    `Execute` of that one call, `close(lease)` of the pool.
    """

    nonce: Annotated[str, Field(pattern=r"^(0|[1-9][0-9]{0,77})$")]
    deadline: Annotated[int, Field(ge=0, le=2**53 - 1)]
    proof: Annotated[str, Field(pattern=r"^0x([0-9a-f]{2})+$")]
    workload: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]

    @classmethod
    def of(cls, order: ClosingOrder, workload: bytes) -> Self:
        """The order as it travels."""
        return cls(
            nonce=str(order.nonce),
            deadline=order.deadline,
            proof="0x" + order.proof.hex(),
            workload=workload.hex(),
        )

    def order(self, account: str, controller: str, lease: int) -> ClosingOrder:
        """The order that it is, of that account's lease in that pool; whose proof holds is for `verify` to say."""
        proof = bytes.fromhex(self.proof[2:])
        return ClosingOrder(account, controller, lease, int(self.nonce), self.deadline, proof)


class SshCertificate(WireDocument):
    """An OpenSSH certificate, as a line of a file, that lets its key into one lease until then (unix seconds)."""

    certificate: str
    valid_until: int


class VolumeExportStatus(WireDocument):
    """An export of a volume. `read`: bytes read so far. `detail`: why it failed."""

    state: Literal["running", "done", "failed"]
    cid: CidText | None = None
    read: Whole = 0
    detail: str = ""


class LeaseVolume(WireDocument):
    """A volume that a lease names: `size` bytes of the host's disk, of which `used` where that is known; none where it
    is not there. `attached`: to this lease.
    """

    name: str
    path: str
    size: Whole | None = None
    used: Whole | None = None
    attached: bool = False
    export: VolumeExportStatus | None = None


class LeaseVolumes(WireDocument):
    lease: str
    volumes: list[LeaseVolume]


class CheckpointStanding(WireDocument):
    """A whole checkpoint, which the machine's IPFS node keeps. `at`: when it was begun, unix seconds. `why` it was
    taken; `read`: bytes that were read for it.
    """

    cid: CidText
    at: Whole
    why: CheckpointWhy
    read: Whole = 0


class LeaseCheckpoints(WireDocument):
    """The checkpoints of a lease, the oldest first. `running`: one is being taken. `trouble`: why the last attempt made
    none, in a sentence.
    """

    lease: str
    kept: list[CheckpointStanding]
    running: bool = False
    trouble: str = ""


class LeaseImage(WireDocument):
    """The image that was made of a lease's container: an archive of `size` bytes, which lies at `cid`, sealed to
    `recipient`, and was begun `at` unix seconds. `running`: one is being made, of which `read` bytes have been read.
    `trouble`: why the last attempt made none, in a sentence.
    """

    lease: str
    cid: CidText | None = None
    recipient: str = ""
    size: Whole = 0
    at: Whole = 0
    running: bool = False
    read: Whole = 0
    trouble: str = ""


class LeaseReading(WireDocument):
    """What a lease had used by unix second `at`: seconds on processors, bytes, a number of processes; what grows counts
    from the container's start. Of cards: memory that the lease uses, and how busy (0 to 100) and hot (°C) those are
    that it has alone. Null is what the host does not know, and what no host can have: an agent writes what it likes,
    and nobody can count with that, or show it.
    """

    at: Annotated[int, Field(ge=0, le=_YEAR_9999)]
    cpu_seconds: float | None = None
    memory: int | None = None
    processes: int | None = None
    read: int | None = None
    written: int | None = None
    received: int | None = None
    sent: int | None = None
    card_memory: int | None = None
    card_busy: float | None = None
    card_temperature: int | None = None

    @field_validator("*")
    @classmethod
    def _likely(cls, value: float | None) -> float | None:
        return value if value is not None and 0 <= value < _NO_HOST_HAS else None


class LeaseMetrics(WireDocument):
    """The last hour by the minute, and up to a day by the quarter of an hour, oldest first. The last is the newest."""

    lease: str
    readings: list[LeaseReading]


Moment = Annotated[int, Field(ge=0, le=_YEAR_9999)]


class AuditedAct(WireDocument):
    """What one caller asked of a lease in one hour, of one kind and with one outcome, told together.

    `op`: the operation, or `ssh`. `session`: the address of the session's key under which it was asked, or the
    fingerprint of the key that came by SSH; none where the account itself signed. `outcome`: `done` (it was let in),
    `begun` (that was not seen), or the refusal's code. `first`, `last`: unix seconds by the host's clock.
    """

    account: str
    session: str | None
    op: str
    outcome: str
    first: Moment
    last: Moment
    times: Whole


class RefusedTries(WireDocument):
    """How often somebody who could not show a right was turned away from a lease for one reason, a refusal's code."""

    reason: str
    times: Whole
    last: Moment


class LeaseAudit(WireDocument):
    """Who did what on a lease while it was its tenant's, the oldest first; and, counted, who was turned away.

    `dropped`: entries that are told no more, since there were too many. `lost`: acts of any lease that the host's disk
    did not take since its agent began.
    """

    lease: str
    acts: list[AuditedAct]
    refused: list[RefusedTries]
    dropped: Whole = 0
    lost: Whole = 0


class SessionsWithdrawn(WireDocument):
    """The keys of sessions that the lease's agent listens to no more, of its tenant's."""

    lease: str
    sessions: list[str]


class CodeWanted(WireDocument):
    """Which pieces of a folder of code the host lacks: a bit for each, the first the highest, in hex. They are counted
    as they come first in the list. `left` is how many.
    """

    left: Whole
    missing: Annotated[str, Field(pattern=r"^(?:[0-9a-f]{2})*$")]

    @classmethod
    def of(cls, missing: Sequence[bool]) -> Self:
        bits = "".join("1" if lacks else "0" for lacks in missing)
        bits += "0" * (-len(bits) % 8)
        return cls(left=sum(missing), missing=f"{int(bits or '0', 2):0{len(bits) // 4}x}" if bits else "")

    def bits(self, count: int) -> list[bool]:
        """Of so many pieces, which are lacking."""
        width = len(self.missing) * 4
        text = f"{int(self.missing or '0', 16):0{width}b}" if width else ""
        return [bit == "1" for bit in text[:count].ljust(count, "0")]


class CodeTaken(WireDocument):
    """How many pieces of a pack were new to the host, and how many of the folder's it lacks now."""

    taken: Whole
    left: Whole


class CommandEnd(WireDocument):
    """How a command ended that was run on a request's body: its exit code, and the first KiB of what it said."""

    exit: int
    said: str


class AgentResults(WireDocument):
    """`cid` of what was published; `files` are the paths inside the container that it was made of."""

    cid: str
    files: list[str]

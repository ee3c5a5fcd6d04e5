"""What an operator signs of its machine and of a lease on it, so that whoever has it can show it to anybody.

A statement is a JSON object; the operator signs `Statement{chain, controller, machine, digest, issuedAt}` (EIP-712, in
the pool's domain), whose digest is the SHA-256 of the object's canonical JSON. Times are unix seconds by the host's
clock; `block` and `block_hash` are the chain's head as the agent saw it last, which no host can have known before.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, JsonValue, StringConstraints

from leasehold.market.wire._documents import Whole, WireDocument

Hash = Annotated[str, StringConstraints(pattern=r"^(0x[0-9a-f]{64})?$")]
Text = Annotated[str, StringConstraints(max_length=128, pattern=r"^[ -~]*$")]
Moment = Annotated[int, Field(ge=0, lt=2**48)]


class SignedStatement(WireDocument):
    """A statement as it was signed; `signature` is r, s, v, the operator's."""

    statement: dict[str, JsonValue]
    signature: str


class Heartbeat(WireDocument):
    """`kind` "heartbeat": the machine's agent lives. `serves`: it could start and run leases; `running`: how many
    containers of leases do.
    """

    version: Literal[1] = 1
    kind: Literal["heartbeat"] = "heartbeat"
    machine: Whole
    time: Moment
    block: Moment
    block_hash: Hash
    serves: bool
    running: Whole


class LeaseStanding(WireDocument):
    """`kind` "lease": how a lease's container stands. `lease` as the chain has it, in decimal. `started_at` and
    `ended_at` of its last start and its last end, 0 if there was none; `ended_by` says whose end that was: the
    command's own, a hand's on the host, or the host's and its engine's. `ends` and `kills`: how often it ended, and how
    often by a hand.
    """

    version: Literal[1] = 1
    kind: Literal["lease"] = "lease"
    machine: Whole
    lease: Annotated[str, StringConstraints(pattern=r"^[0-9]{1,78}$")]
    time: Moment
    block: Moment
    block_hash: Hash
    container: Text
    state: Text
    started_at: Moment
    ended_at: Moment
    ended_by: Literal["", "command", "hand", "host"]
    exit_code: Annotated[int, Field(ge=-(2**31), lt=2**31)] | None
    ends: Whole
    kills: Whole

    @property
    def runs(self) -> bool:
        return self.state == "running"

    @property
    def over(self) -> bool:
        """Whether its last run has ended, so that it can be told from the one before it."""
        return self.state in ("exited", "dead") and self.started_at < self.ended_at

"""A closing order: one `execute` of `close` of one lease, which its tenant signs beforehand and anybody may send.

It is for the end of a job, when the tenant may be asleep. Its nonce has a row of its own, named by the pool and the
lease: it waits for no other of the account's signatures, and none waits for it. It does nothing for another lease, nor
once the lease is over or somebody else's; its tenant takes it back by spending its nonce.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from eth_utils.crypto import keccak

from leasehold.chain._abi import functions
from leasehold.chain._eip712 import Call, Domain
from leasehold.chain._proof import IsAuthorized, TypedDataSigner, sign, verify_proof
from leasehold.chain._typed import Execute

CLOSING_SECONDS = 90 * 86_400
"""How long past the latest end of the lease, as it stands, an order is good: a lease that is extended has one still."""

_ROW = b"leasehold.closing-order"
_KEY_BYTES = 24  # `Accounts` counts nonces by keys of 192 bits


def closing_key(controller: str, lease: int) -> int:
    """The row of nonces that a lease's closing orders have, as `AccountsContract.nonce_of` takes it."""
    named = _ROW + bytes.fromhex(controller[2:]) + lease.to_bytes(32, "big")
    return int.from_bytes(keccak(named)[:_KEY_BYTES], "big")


@dataclass(frozen=True)
class ClosingOrder:
    """That `account` closes `lease` of the pool at `controller`, until `deadline` (unix seconds).

    nonce: the row's next. proof: over `message`; empty before it is signed.
    """

    account: str
    controller: str
    lease: int
    nonce: int
    deadline: int
    proof: bytes = b""

    @cached_property
    def calls(self) -> tuple[Call, ...]:
        """The one call that it makes. Nothing else can be written in an order."""
        return (Call(self.controller, functions("Controller")["close"].encode(self.lease)),)

    @cached_property
    def message(self) -> Execute:
        """What is signed. Raises TypedDataError for what no field can hold."""
        return Execute(account=self.account, calls=self.calls, nonce=self.nonce, deadline=self.deadline)

    @property
    def in_its_row(self) -> bool:
        """Whether its nonce is of the lease's own row: one of another would hold up, or be held up."""
        return self.nonce >> 64 == closing_key(self.controller, self.lease)

    async def signed(self, accounts: Domain, wallet: TypedDataSigner) -> ClosingOrder:
        """The same with the proof of the account's own key. accounts: the domain of `Accounts`."""
        proof = await sign(self.message, accounts, wallet)
        return ClosingOrder(self.account, self.controller, self.lease, self.nonce, self.deadline, proof)

    async def verify(self, accounts: Domain, is_authorized: IsAuthorized) -> None:
        """Returns when the account has signed it. Raises ProofMalformed, ProofWrongKey, ChainError, TypedDataError."""
        await verify_proof(self.account, self.message.digest(accounts), self.proof, is_authorized)

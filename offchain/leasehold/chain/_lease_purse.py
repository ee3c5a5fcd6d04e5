"""A lease's purse: an account of its own, whose money extends that one lease or goes back to its tenant.

It is a group of two of whom one is enough: the tenant, and a key that is thrown away as soon as it has signed. What it
signed is all that anybody else can do with the purse, which is why whoever has it need not be trusted: so many
extensions of that lease by so many seconds, and the rest back into the tenant's ledger, each for a fee to who sends it.
The purse holds no more than the tenant has put there. A delegate could not be held to that: he may open a lease at a
machine of his own, for all that he may spend.

Extensions have a row of nonces of their own, in which one is good after the other; what goes back has another. When
each is sent is not bound: sent early or all at once, the money is in the lease's escrow, of which the tenant has back
what is unused by closing it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from eth_utils.crypto import keccak

from leasehold.chain._abi import functions
from leasehold.chain._eip712 import Call, Domain
from leasehold.chain._group import Group
from leasehold.chain._proof import Proof, ProofKind, TypedDataSigner, recover_signer
from leasehold.chain._typed import Execute
from leasehold.errors import ProofMalformed, ProofWrongKey

PURSE_EXTENSIONS = int.from_bytes(keccak(b"leasehold.purse.extensions")[:24], "big")
"""The row of nonces of its extensions, as `AccountsContract.nonce_of` takes it."""
PURSE_RETURNS = int.from_bytes(keccak(b"leasehold.purse.returns")[:24], "big")
"""The row of what goes back: of all that is signed for its first nonce one thing happens."""

_SALT = b"leasehold.purse"


@dataclass(frozen=True)
class LeasePurse:
    """That `lease` of the pool at `controller` is extended by `seconds`, up to `count` times, until `deadline`
    (unix seconds), and what is left goes back to `tenant`.

    key: the address of the key that signs it and is thrown away. payee: into whose ledger `fee` token units go each
    time. most: token units that one extension takes at most while the lease has the share that it has now; by it is
    reckoned what is left.
    """

    tenant: str
    controller: str
    lease: int
    key: str
    payee: str
    fee: int
    seconds: int
    most: int
    count: int
    deadline: int

    @cached_property
    def group(self) -> Group:
        """Who the purse is. Its salt names the pool and the lease. Raises InvalidSigners where the two are one."""
        salt = keccak(_SALT + bytes.fromhex(self.controller[2:]) + self.lease.to_bytes(32, "big"))
        return Group.of(1, (self.tenant, self.key), salt)

    @property
    def whole(self) -> int:
        """Token units that are put into it: for all extensions and their fees."""
        return self.left(0)

    def left(self, used: int) -> int:
        """Token units that are in it after so many extensions, or a little more."""
        return (self.count - used) * (self.most + self.fee)

    def extension(self, accounts: Domain, number: int) -> Execute:
        """The one with that number, from 0 on. accounts: the domain of `Accounts`."""
        extend = functions("Controller")["extend"].encode(self.lease, self.seconds)
        return self._made(accounts, Call(self.controller, extend), (PURSE_EXTENSIONS << 64) | number)

    def going_back(self, accounts: Domain, used: int) -> Execute:
        """What is left after so many extensions, less a fee, into the tenant's ledger."""
        amount = self.left(used) - self.fee
        transfer = functions("Controller")["transfer"].encode(self.tenant, amount)
        return self._made(accounts, Call(self.controller, transfer), PURSE_RETURNS << 64)

    def _made(self, accounts: Domain, call: Call, nonce: int) -> Execute:
        payment = functions("Controller")["transfer"].encode(self.payee, self.fee)
        return Execute(
            account=self.group.address(accounts.verifying_contract),
            calls=(Call(self.controller, payment), call),
            nonce=nonce,
            deadline=self.deadline,
        )

    async def signed(self, accounts: Domain, key: TypedDataSigner) -> SignedPurse:
        """With every signature that it needs. key: whose address is `key`; throw it away afterwards."""
        extensions = [self.extension(accounts, number) for number in range(self.count)]
        returns = [self.going_back(accounts, used) for used in range(self.count)]
        signatures = [
            await key.sign_typed_data(message.typed_data(accounts)) for message in (*extensions, *returns)
        ]
        return SignedPurse(self, tuple(signatures[: self.count]), tuple(signatures[self.count :]))


@dataclass(frozen=True)
class SignedPurse:
    """A purse, and signatures of its key (r, s, v): of its extensions in turn, and of what goes back after so many."""

    purse: LeasePurse
    extensions: tuple[bytes, ...]
    returns: tuple[bytes, ...]

    def check(self, accounts: Domain) -> None:
        """Returns where every signature is the key's. No contract is asked. Raises ProofMalformed, ProofWrongKey,
        InvalidSigners, TypedDataError.
        """
        purse = self.purse
        if (len(self.extensions), len(self.returns)) != (purse.count, purse.count):
            raise ProofMalformed(f"it has not {purse.count} signatures of each kind")
        for number in range(purse.count):
            self._check(purse.extension(accounts, number).digest(accounts), self.extensions[number])
            self._check(purse.going_back(accounts, number).digest(accounts), self.returns[number])

    def _check(self, digest: bytes, signature: bytes) -> None:
        if (signer := recover_signer(digest, signature)) != self.purse.key:
            raise ProofWrongKey(f"{signer} signed it, not {self.purse.key}")

    def extension(self, accounts: Domain, number: int) -> bytes:
        """The call of `Accounts` that makes the extension with that number, whoever sends it."""
        return self._call(accounts, self.purse.extension(accounts, number), self.extensions[number])

    def going_back(self, accounts: Domain, used: int) -> bytes:
        """The call of `Accounts` that gives back what is left after so many."""
        return self._call(accounts, self.purse.going_back(accounts, used), self.returns[used])

    def _call(self, accounts: Domain, message: Execute, signature: bytes) -> bytes:
        proofs = {self.purse.key: Proof(ProofKind.KEY, signature).encode()}
        proof = self.purse.group.prove(message.digest(accounts), proofs)
        return execute_data(message, proof)


def execute_data(message: Execute, proof: bytes) -> bytes:
    """The call of `Accounts` that does what was signed."""
    calls: Sequence[Call] = list(message.calls)
    return functions("Accounts")["execute"].encode(
        message.account, calls, message.nonce, message.deadline, proof
    )

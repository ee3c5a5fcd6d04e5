"""Gasless calls: one `execute` that somebody else sends, and that pays him for the gas out of the account's ledger.

The payment is the first of the calls that are signed: it happens together with them, or not at all. Their nonces have
a row of their own: of all that an account has signed for one nonce one thing happens at most, so that what is signed
again takes the place of what nobody sent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from eth_utils.crypto import keccak

from leasehold.chain._abi import functions
from leasehold.chain._eip712 import Call, Domain
from leasehold.chain._proof import Proof, ProofKind, TypedDataSigner, recover_signer, sign
from leasehold.chain._typed import Execute
from leasehold.errors import ProofWrongKey

GASLESS_SECONDS = 600
"""How long what was signed may be sent: long enough for a block in which gas is dear, short enough to wait for."""
GASLESS_KEY = int.from_bytes(keccak(b"leasehold.gasless")[:24], "big")
"""Their row of nonces, as `AccountsContract.nonce_of` takes it: the same in every pool."""


@dataclass(frozen=True)
class GaslessCalls:
    """That `account` pays `fee` token units to `payee`'s ledger in the pool at `controller` and then makes `calls`,
    until `deadline` (unix seconds).

    nonce: the row's next. proof: over `message`; empty before it is signed.
    """

    account: str
    controller: str
    payee: str
    fee: int
    calls: tuple[Call, ...]
    nonce: int
    deadline: int
    proof: bytes = b""

    @cached_property
    def message(self) -> Execute:
        """What is signed. Raises TypedDataError for what no field can hold."""
        transfer = functions("Controller")["transfer"]
        payment = Call(self.controller, transfer.encode(self.payee, self.fee))
        return Execute(
            account=self.account, calls=(payment, *self.calls), nonce=self.nonce, deadline=self.deadline
        )

    @property
    def data(self) -> bytes:
        """The call of `Accounts` that does it, whoever sends it."""
        message, execute = self.message, functions("Accounts")["execute"]
        return execute.encode(
            message.account, list(message.calls), message.nonce, message.deadline, self.proof
        )

    @property
    def in_its_row(self) -> bool:
        """Whether its nonce is of the row of gasless calls: one of another would hold up, or be held up."""
        return self.nonce >> 64 == GASLESS_KEY

    async def signed(self, accounts: Domain, wallet: TypedDataSigner) -> GaslessCalls:
        """The same with the proof of the account's own key. accounts: the domain of `Accounts`."""
        return replace(self, proof=await sign(self.message, accounts, wallet))

    def check_key(self, accounts: Domain) -> None:
        """Returns when the account's own key has signed it. No contract is asked, which could change its mind between
        being asked and the block. Raises ProofMalformed, ProofWrongKey, TypedDataError.
        """
        proof, digest = Proof.decode(self.proof), self.message.digest(accounts)
        if proof.kind is not ProofKind.KEY:
            raise ProofWrongKey(f"the proof is not of the key of {self.account} itself")
        if (signer := recover_signer(digest, proof.payload)) != self.account:
            raise ProofWrongKey(f"{signer} signed it, not {self.account}")

"""What a renter and whoever sends for him tell each other: which calls, for which fee, and what was signed.

Both sides are strangers. The fee is signed together with the calls, so neither can be swapped; what may be sent at all
is this list of functions. Each of them runs the pool's own code and no stranger's: a proof, an offer or a consent has
the chain ask a contract that may burn gas, or answer otherwise in the block than it did a moment before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Final

from pydantic import BaseModel, ConfigDict, Field

from leasehold.agreements._document import Address, Hex, unhex
from leasehold.agreements._errors import NotGasless
from leasehold.chain import Call, CallUnreadable, GaslessCalls, decode_calls

MOST_GASLESS_CALLS: Final = 4
_MOST_DATA: Final = 4_096
_FUNCTIONS: Final[Mapping[str, frozenset[str]]] = {
    "Controller": frozenset(
        (
            "cancelUnstarted",
            "close",
            "extend",
            "failover",
            "open",
            "reject",
            "resize",
            "setWorkload",
            "transfer",
            "withdraw",
        )
    ),
    "Accounts": frozenset(("setDelegate",)),
    "Reputation": frozenset(("rate",)),
}

Amount = Annotated[str, Field(pattern=r"^[0-9]{1,29}$")]
_Nonce = Annotated[str, Field(pattern=r"^[0-9]{1,78}$")]


class Exchanged(BaseModel):
    """What strangers say to one another: exactly these fields."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class GaslessCall(Exchanged):
    """One call: which contract of the pool, and with which data."""

    target: Address
    data: Annotated[Hex, Field(max_length=2 + 2 * _MOST_DATA)]


_Calls = Annotated[tuple[GaslessCall, ...], Field(min_length=1, max_length=MOST_GASLESS_CALLS)]


class GaslessWish(Exchanged):
    """Which calls `account` would have sent."""

    account: Address
    calls: _Calls


class GaslessTerms(Exchanged):
    """By whom gasless calls are sent. payee: into whose ledger fees go. sender: who pays the gas. most_seconds: how
    long what is signed may be good at most.
    """

    payee: Address
    sender: Address
    most_seconds: int


class GaslessQuote(Exchanged):
    """What sending costs. fee: token units, into the ledger of `payee`. valid_until: unix seconds up to which it is
    taken, unless gas has become dearer by more than the fee leaves room for. gas: about how much it takes.
    """

    payee: Address
    fee: Amount
    gas: int
    valid_until: int


class SignedGasless(Exchanged):
    """Calls with their payment, signed by the account's key: `GaslessCalls` by wire names."""

    account: Address
    payee: Address
    fee: Amount
    calls: _Calls
    nonce: _Nonce
    deadline: int
    proof: Hex

    @classmethod
    def of(cls, signed: GaslessCalls) -> SignedGasless:
        """As it travels."""
        return cls(
            account=signed.account,
            payee=signed.payee,
            fee=str(signed.fee),
            calls=said_calls(signed.calls),
            nonce=str(signed.nonce),
            deadline=signed.deadline,
            proof="0x" + signed.proof.hex(),
        )

    def to_calls(self, controller: str) -> GaslessCalls:
        """What it says of the pool at `controller`."""
        return GaslessCalls(
            account=self.account,
            controller=controller,
            payee=self.payee,
            fee=int(self.fee),
            calls=calls_said(self.calls),
            nonce=int(self.nonce),
            deadline=self.deadline,
            proof=unhex(self.proof),
        )


class GaslessOutcome(Exchanged):
    """What became of it. transaction and block: where it was done; `null` while it is on its way."""

    transaction: str | None
    block: int | None


def said_calls(calls: Sequence[Call]) -> tuple[GaslessCall, ...]:
    """Calls as they travel."""
    return tuple(GaslessCall(target=call.target, data="0x" + call.data.hex()) for call in calls)


def calls_said(calls: Sequence[GaslessCall]) -> tuple[Call, ...]:
    """Calls as they are signed."""
    return tuple(Call(call.target, unhex(call.data)) for call in calls)


def check_gasless(calls: Sequence[Call], contracts: Mapping[str, str]) -> None:
    """Whether these may be sent for others. contracts: the pool's, as `Pool.contracts` has them. Raises NotGasless."""
    try:
        decoded = decode_calls(calls, contracts)
    except CallUnreadable as error:
        raise NotGasless(error.reason) from error
    for call in decoded:
        if call.function not in _FUNCTIONS.get(call.contract, ()):
            raise NotGasless(f"`{call.function}` is not among what others send")

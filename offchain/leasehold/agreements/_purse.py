"""What a tenant hands to whoever is to extend a lease out of its purse, and what he is told of it.

Both sides are strangers. The tenant works out every message himself, from what his page shows him; who extends checks
that the key has signed exactly those, and can make nothing else of them.
"""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from leasehold.agreements._document import Address, Hex, unhex
from leasehold.agreements._gasless import Amount, Exchanged
from leasehold.chain import LeasePurse, SignedPurse, format_lease

MOST_EXTENSIONS: Final = 64
"""That one purse holds."""
PURSE_STEP: Final = (600, 30 * 86_400)
"""Seconds of one extension, from and to."""
PURSE_SECONDS: Final = 366 * 86_400
"""How long what was signed may be good."""

_Seconds = Annotated[int, Field(ge=PURSE_STEP[0], le=PURSE_STEP[1])]
_Signature = Annotated[Hex, Field(min_length=132, max_length=132)]
_Signatures = Annotated[tuple[_Signature, ...], Field(min_length=1, max_length=MOST_EXTENSIONS)]


class PurseOffer(Exchanged):
    """By whom leases are extended out of purses. fee: token units for each extension, and for what goes back, into the
    ledger of `payee`; it leaves room for gas that becomes dearer. before: seconds before its end in which a lease is
    extended. most: extensions of one purse.
    """

    payee: Address
    fee: Amount
    before: int
    most: int


class BroughtPurse(Exchanged):
    """A purse as it travels: `SignedPurse` by wire names, but for the tenant, who is signed in, and the lease, which
    the path names. There are as many extensions as signatures.
    """

    key: Address
    payee: Address
    fee: Amount
    seconds: _Seconds
    most: Amount
    deadline: int
    extensions: _Signatures
    returns: _Signatures

    @classmethod
    def of(cls, signed: SignedPurse) -> BroughtPurse:
        """As it travels."""
        purse = signed.purse
        return cls(
            key=purse.key,
            payee=purse.payee,
            fee=str(purse.fee),
            seconds=purse.seconds,
            most=str(purse.most),
            deadline=purse.deadline,
            extensions=tuple("0x" + signature.hex() for signature in signed.extensions),
            returns=tuple("0x" + signature.hex() for signature in signed.returns),
        )

    def to_signed(self, tenant: str, controller: str, lease: int) -> SignedPurse:
        """What it says of that lease."""
        purse = LeasePurse(
            tenant=tenant,
            controller=controller,
            lease=lease,
            key=self.key,
            payee=self.payee,
            fee=int(self.fee),
            seconds=self.seconds,
            most=int(self.most),
            count=len(self.extensions),
            deadline=self.deadline,
        )
        return SignedPurse(purse, tuple(map(unhex, self.extensions)), tuple(map(unhex, self.returns)))


class HeldPurse(Exchanged):
    """What a gateway holds for a lease. account: the purse's. made: how many of `count` extensions of `seconds` were
    made. holds: token units in it. trouble: why it was not extended when it was looked at last, if it was to be.
    """

    account: Address
    lease: str
    tenant: Address
    key: Address
    payee: Address
    fee: Amount
    seconds: int
    most: Amount
    count: int
    made: int
    holds: Amount
    deadline: int
    trouble: str | None

    @classmethod
    def of(cls, purse: LeasePurse, accounts: str, made: int, holds: int, trouble: str | None) -> HeldPurse:
        """accounts: the contract's address."""
        return cls(
            account=purse.group.address(accounts),
            lease=format_lease(purse.lease),
            tenant=purse.tenant,
            key=purse.key,
            payee=purse.payee,
            fee=str(purse.fee),
            seconds=purse.seconds,
            most=str(purse.most),
            count=purse.count,
            made=made,
            holds=str(holds),
            deadline=purse.deadline,
            trouble=trouble,
        )

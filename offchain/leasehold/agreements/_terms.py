"""Files with what an account has agreed to: a lease's acceptance, a provider's offer; and a request for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

from pydantic import Field

from leasehold.agreements._document import Address, Document, Hex, unhex
from leasehold.agreements._errors import FileRefused, NotOfThisLease, OfAnotherPool
from leasehold.chain import Deployment
from leasehold.chain.typed import AcceptTransfer, Domain, Offer, Session, SessionKey
from leasehold.errors import TypedDataError
from leasehold.market import SignedOffer

Number = Annotated[str, Field(pattern=r"^[0-9]{1,78}$")]


class AcceptanceFile(Document):
    """`account` takes over `leases` (ids on chain). proofs: one for each lease, in their order."""

    leasehold: Literal["acceptance"] = "acceptance"
    version: Literal[1] = 1
    chain: int
    pool: Address
    account: Address
    deadline: int
    leases: tuple[Number, ...]
    proofs: tuple[Hex, ...]

    @classmethod
    def of(
        cls, deployment: Deployment, messages: Sequence[AcceptTransfer], proofs: Sequence[bytes]
    ) -> AcceptanceFile:
        """Of acceptances that share an account and a deadline."""
        return cls(
            chain=deployment.chain_id,
            pool=deployment.controller,
            account=messages[0].account,
            deadline=messages[0].deadline,
            leases=tuple(str(message.lease) for message in messages),
            proofs=tuple("0x" + proof.hex() for proof in proofs),
        )

    def proof_of(self, lease: int, deployment: Deployment) -> bytes:
        """The proof that the account takes over `lease`.

        Raises:
            FileRefused: the acceptance is of another pool, or not of this lease.
        """
        check_place(self.chain, self.pool, deployment, "acceptance")
        for number, proof in zip(self.leases, self.proofs, strict=False):
            if int(number) == lease:
                return unhex(proof)
        raise NotOfThisLease(lease, self.account)


class OfferFile(Document):
    """Terms that a provider signed. message: the `Offer` by wire names."""

    leasehold: Literal["offer"] = "offer"
    version: Literal[1] = 1
    chain: int
    pool: Address
    provider: Address
    message: dict[str, object]
    proof: Hex

    @classmethod
    def of(cls, deployment: Deployment, provider: str, offer: Offer, proof: bytes) -> OfferFile:
        return cls(
            chain=deployment.chain_id,
            pool=deployment.controller,
            provider=provider,
            message=offer.to_json(),
            proof="0x" + proof.hex(),
        )

    @property
    def offer(self) -> Offer:
        """Raises FileRefused when the message is damaged."""
        try:
            return Offer.from_json(self.message)
        except TypedDataError as error:
            raise FileRefused(f"The offer is damaged ({error}): ask for it again.") from error

    def signed(self, deployment: Deployment) -> SignedOffer:
        """The offer and its proof. Raises FileRefused for another pool's."""
        check_place(self.chain, self.pool, deployment, "offer")
        return SignedOffer(self.offer, unhex(self.proof))


class QuoteRequestFile(Document):
    """What a renter would like: cells, seconds, and the most per GPU-hour in token units, if it was said."""

    leasehold: Literal["quote-request"] = "quote-request"
    version: Literal[1] = 1
    chain: int
    pool: Address
    machine: Annotated[int, Field(ge=1, lt=1 << 32)]
    cells: Annotated[int, Field(ge=1, le=64)]
    duration: Annotated[int, Field(ge=1, lt=1 << 32)]
    spot: bool = False
    tenant: Address
    price: Annotated[str, Field(pattern=r"^[0-9]{1,25}$")] | None = None
    note: Annotated[str, Field(max_length=2_000)] = ""


class AccessFile(Document):
    """A session that `account` grants to somebody else's `key`: these operations on these leases, until `expires_at`.

    It opens nothing without that key, and may travel in the open.
    """

    leasehold: Literal["access"] = "access"
    version: Literal[1] = 1
    chain: int
    pool: Address
    account: Address
    key: Address
    leases: Annotated[tuple[Number, ...], Field(min_length=1, max_length=64)]
    operations: Annotated[
        tuple[Annotated[str, Field(max_length=64)], ...], Field(min_length=1, max_length=64)
    ]
    expires_at: Annotated[int, Field(ge=0, lt=1 << 64)]
    proof: Hex

    @classmethod
    def of(cls, session: Session, proof: bytes) -> AccessFile:
        return cls(
            chain=session.chain,
            pool=session.controller,
            account=session.account,
            key=session.key,
            leases=tuple(map(str, session.leases)),
            operations=session.ops,
            expires_at=session.expires_at,
            proof="0x" + proof.hex(),
        )

    @property
    def session(self) -> Session:
        """What was signed."""
        return Session(
            account=self.account,
            chain=self.chain,
            controller=self.pool,
            leases=tuple(map(int, self.leases)),
            ops=self.operations,
            key=self.key,
            expires_at=self.expires_at,
        )

    def covers(self, lease: int) -> bool:
        """Whether it is of that lease."""
        return str(lease) in self.leases

    def opened(self, private_key: bytes) -> SessionKey:
        """The session together with its key (32 bytes)."""
        return SessionKey(self.session, unhex(self.proof), private_key)


def check_place(chain: int, pool: str, deployment: Deployment, what: str) -> None:
    """Raises FileRefused when the file is for another pool than the deployment's."""
    if (chain, pool) != (deployment.chain_id, deployment.controller):
        raise OfAnotherPool(what, pool, chain)


def pool_domain(deployment: Deployment) -> Domain:
    """Where offers and sessions count."""
    return Domain(deployment.chain_id, deployment.controller)


def accounts_domain(deployment: Deployment) -> Domain:
    """Where executions and acceptances count."""
    return Domain(deployment.chain_id, deployment.accounts)

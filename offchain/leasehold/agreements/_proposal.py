"""What a group is asked to sign, as a file, and the signatures that come back.

A proposal names the group and holds EIP-712 messages. Whoever signs trusts nothing that the file says about itself: the
domain comes from the signer's own deployment file, the group's address and every digest are computed here.

Kinds: `execute` (calls that anybody may then send), `acceptance` (of leases that are transferred to the group), `offer`
(terms of the group's machines), `session` (a throw-away key that may talk to agents for the group).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from leasehold.agreements._document import Address, Document, Hex, kind_in, read_file, unhex
from leasehold.agreements._errors import FileRefused, NoSigner, OfAnotherPool, SignaturesMissing
from leasehold.agreements._group import GroupTerms
from leasehold.chain import AccountsContract, Call, Deployment
from leasehold.chain.typed import (
    AcceptTransfer,
    Domain,
    Execute,
    Group,
    Offer,
    Proof,
    ProofKind,
    Safe,
    Session,
    Struct,
    TypedDataSigner,
    recover_signer,
    sign,
)
from leasehold.errors import ProofMalformed, ProofWrongKey, TypedDataError

LIFETIME = 7 * 86_400  # seconds that a proposal waits for its signatures
Kind = Literal["execute", "acceptance", "offer", "session"]
_STRUCTS: Mapping[str, type[Struct]] = {
    "execute": Execute,
    "acceptance": AcceptTransfer,
    "offer": Offer,
    "session": Session,
}


class ProposalFile(Document):
    """A proposal. messages: by wire names. signatures: by signer, a proof for each message."""

    leasehold: Literal["proposal"] = "proposal"
    version: Literal[1] = 1
    kind: Kind
    chain: int
    pool: Address
    account: Address
    group: GroupTerms
    messages: Annotated[tuple[dict[str, object], ...], Field(min_length=1, max_length=256)]
    signatures: dict[Address, tuple[Hex, ...]] = Field(default_factory=dict)


class SignatureFile(Document):
    """One signer's proofs over the messages of a proposal, named by their digests."""

    leasehold: Literal["signature"] = "signature"
    version: Literal[1] = 1
    digests: tuple[Hex, ...]
    signer: Address
    proofs: tuple[Hex, ...]


@dataclass(frozen=True)
class Proposal:
    """A proposal whose group, account, chain and pool are what they say."""

    kind: Kind
    deployment: Deployment
    group: Group
    messages: tuple[Struct, ...]

    @cached_property
    def account(self) -> str:
        return self.group.address(self.deployment.accounts)

    @cached_property
    def domain(self) -> Domain:
        """Calls and acceptances are for `Accounts` to judge, the rest for the pool."""
        place = (
            self.deployment.accounts if self.kind in ("execute", "acceptance") else self.deployment.controller
        )
        return Domain(self.deployment.chain_id, place)

    @cached_property
    def digests(self) -> tuple[bytes, ...]:
        """What is signed, computed here."""
        return tuple(message.digest(self.domain) for message in self.messages)

    @property
    def execution(self) -> Execute:
        """The one message of an `execute`."""
        (message,) = self.messages
        assert isinstance(message, Execute)
        return message

    @property
    def deadline(self) -> int:
        """The last timestamp at which every message works."""
        return min(_deadline(message) for message in self.messages)

    @classmethod
    def of(cls, file: ProposalFile, deployment: Deployment) -> Proposal:
        """The proposal in a file.

        Raises:
            FileRefused: it is for another pool or chain, or its parts contradict one another.
        """
        if (file.chain, file.pool) != (deployment.chain_id, deployment.controller):
            raise OfAnotherPool("proposal", file.pool, file.chain)
        struct = _STRUCTS[file.kind]
        try:
            messages = tuple(struct.from_json(message) for message in file.messages)
        except TypedDataError as error:
            raise FileRefused(f"The proposal is damaged ({error}): ask for it again.") from error
        proposal = cls(file.kind, deployment, file.group.group(), messages)
        if isinstance(proposal.group, Safe) and proposal.group.chain != deployment.chain_id:
            raise OfAnotherPool("proposal", file.pool, proposal.group.chain)
        if proposal.account != file.account:
            raise FileRefused(
                f"The proposal says that its group is {file.account}, and its signers make {proposal.account}: do not "
                "sign it."
            )
        if file.kind == "execute" and len(messages) != 1:
            raise FileRefused("The proposal holds several executions: do not sign it.")
        for message in messages:
            proposal._check(message)
        return proposal

    def _check(self, message: Struct) -> None:
        """Whether a message speaks of this account and this pool."""
        place = (self.deployment.chain_id, self.deployment.controller)
        said: dict[str, object] = {}
        if isinstance(message, Execute | AcceptTransfer | Offer | Session):
            said["account"] = message.account == self.account
        if isinstance(message, AcceptTransfer):
            said["pool"] = message.controller == place[1]
        if isinstance(message, Session):
            said["pool"] = (message.chain, message.controller) == place
        if isinstance(message, Execute):
            said["calls"] = bool(message.calls)
        for what, right in said.items():
            if not right:
                raise FileRefused(f"A message of the proposal has another {what}: do not sign it.")

    def file(self, signatures: Mapping[str, Sequence[bytes]] | None = None) -> ProposalFile:
        """The proposal as it travels."""
        return ProposalFile(
            kind=self.kind,
            chain=self.deployment.chain_id,
            pool=self.deployment.controller,
            account=self.account,
            group=GroupTerms.of(self.group),
            messages=tuple(message.to_json() for message in self.messages),
            signatures={
                signer: tuple("0x" + proof.hex() for proof in proofs)
                for signer, proofs in (signatures or {}).items()
            },
        )

    # ----------------------------------------------------------------------------------------------- signatures

    async def sign(self, signer: TypedDataSigner) -> tuple[bytes, ...]:
        """The signer's proofs, one for each message.

        Raises:
            FileRefused: it is no signer of the group.
        """
        if signer.address not in self.group.signers:
            raise NoSigner(signer.address, tuple(self.group.signers))
        return tuple([await self._signed(message, signer) for message in self.messages])

    async def _signed(self, message: Struct, signer: TypedDataSigner) -> bytes:
        if isinstance(self.group, Safe):
            shown = self.group.message(message.digest(self.domain))
            return Proof(ProofKind.KEY, await signer.sign_typed_data(shown)).encode()
        return await sign(message, self.domain, signer)

    def checked(self, signer: str, proofs: Iterable[bytes]) -> tuple[bytes, ...]:
        """A signer's proofs, if they are over these messages and of one of the group.

        Raises:
            FileRefused.
        """
        given = tuple(proofs)
        if signer not in self.group.signers:
            raise FileRefused(f"{signer} is no signer of this group: leave that signature out.")
        if len(given) != len(self.messages):
            raise FileRefused(
                f"{signer} signed {len(given)} messages of {len(self.messages)}: have it signed again."
            )
        for digest, proof in zip(self.digests, given, strict=True):
            try:
                decoded = Proof.decode(proof)
                own = self.group.signed(digest)
                if decoded.kind is ProofKind.KEY and recover_signer(own, decoded.payload) != signer:
                    raise ProofWrongKey(f"it is not {signer}'s, or over something else")
            except (ProofMalformed, ProofWrongKey) as error:
                raise FileRefused(
                    f"The signature of {signer} does not hold ({error}): have it signed again."
                ) from error
        return given

    def missing(self, signatures: Mapping[str, Sequence[bytes]]) -> tuple[str, ...]:
        """Who could still sign, while it takes more."""
        if len(signatures) >= self.group.threshold:
            return ()
        return tuple(signer for signer in self.group.signers if signer not in signatures)

    def prove(self, signatures: Mapping[str, Sequence[bytes]]) -> tuple[bytes, ...]:
        """The group's proof of each message.

        Raises:
            FileRefused: signatures are missing; says whose would do.
        """
        if missing := self.missing(signatures):
            raise SignaturesMissing(len(signatures), self.group.threshold, tuple(missing))
        return tuple(
            self.group.prove(digest, {signer: proofs[place] for signer, proofs in signatures.items()})
            for place, digest in enumerate(self.digests)
        )


def load_proposal(path: Path, deployment: Deployment) -> tuple[Proposal, dict[str, tuple[bytes, ...]]]:
    """The proposal in a file, and the signatures that it holds already, checked."""
    file = read_file(path, ProposalFile)
    proposal = Proposal.of(file, deployment)
    return proposal, {
        signer: proposal.checked(signer, map(unhex, proofs)) for signer, proofs in file.signatures.items()
    }


def gather_signatures(proposal: Proposal, paths: Iterable[Path]) -> dict[str, tuple[bytes, ...]]:
    """The signatures in signature files, and in copies of the proposal.

    Raises:
        FileRefused: one is of something else, or does not hold.
    """
    proofs_by: dict[str, tuple[bytes, ...]] = {}
    for path in paths:
        if kind_in(path) == "proposal":
            other, signatures = load_proposal(path, proposal.deployment)
            digests, more = other.digests, signatures
        else:
            file = read_file(path, SignatureFile)
            digests = tuple(map(unhex, file.digests))
            more = {file.signer: tuple(map(unhex, file.proofs))}
        if digests != proposal.digests:
            raise FileRefused(f"{path} signs something else than this proposal: have this one signed.")
        proofs_by |= {signer: proposal.checked(signer, proofs) for signer, proofs in more.items()}
    return proofs_by


async def propose_calls(
    accounts: AccountsContract,
    deployment: Deployment,
    group: Group,
    calls: Sequence[Call],
    *,
    deadline: int,
    key: int = 0,
) -> Proposal:
    """The execution of `calls`, at the group's next nonce of `key`."""
    account = group.address(deployment.accounts)
    nonce = await accounts.nonce_of(account, key)
    execution = Execute(account=account, calls=tuple(calls), nonce=nonce, deadline=deadline)
    return Proposal("execute", deployment, group, (execution,))


def _deadline(message: Struct) -> int:
    if isinstance(message, Execute | AcceptTransfer):
        return message.deadline
    assert isinstance(message, Offer | Session)
    return message.expires_at

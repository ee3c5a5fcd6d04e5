"""Signatures of groups, gathered from browsers that are never open together: `/api/v1/groups/{address}/proposals`.

A proposal and its signatures are the files that people hand one another (`leasehold.agreements`), and are checked as
those are: the group's address and every digest are worked out here, a Safe's owners are read from the chain, and each
signature is one of the group's own, or is not kept. Only one of a group's signers brings a proposal for it, since it
comes with a signature. Everybody may read what is gathered, and submit it: that it is enough, the chain says.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Final

from eth_utils.address import is_checksum_address
from eth_utils.crypto import keccak
from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, JsonValue
from sqlalchemy import Select, delete, func, insert, select
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine

from leasehold.agreements import GroupTerms, Proposal, ProposalFile, SignatureFile, unhex
from leasehold.chain import Deployment, Rpc
from leasehold.chain.typed import IsAuthorized, Proof, ProofKind, Safe, read_safe
from leasehold.gateway._bodies import json_body, read_json
from leasehold.gateway._gateway_tables import (
    Exclusive,
    groups,
    proposals,
    put_row,
    signatures,
    signers,
    take_turn,
)
from leasehold.gateway._limits import CallRates
from leasehold.gateway._parts import PartOf
from leasehold.gateway._places import Places
from leasehold.gateway._refusals import BadRequest, Conflicting, KeepsNoMore, NotHere, QuotaUsed
from leasehold.gateway._relaying import CallerOf
from leasehold.rates import RateLimit

MOST_BODY: Final = 256 * 1024
MOST_MESSAGES: Final = 16
MOST_SECONDS: Final = 60 * 86_400
"""To a proposal's deadline."""
MOST_OF_A_GROUP: Final = 32
MOST_BYTES_OF_A_GROUP: Final = 1 << 20
"""Since whoever asks for what a group is to sign, asks for all of it."""
MOST_ALTOGETHER: Final = 50_000
DAILY: Final = RateLimit(200, 86_400)
"""Proposals from one network: a group costs nothing to make up."""
MOST_ASKED: Final = {"all": 32, "caller": 8}
"""Proposals whose signatures the chain is asked about; a contract may take its time, and whoever likes deploys one."""
ASKED_SECONDS: Final = 20.0
MOST_GROUPS: Final = 200
"""That one account is told of at once."""

_DIGEST: Final = re.compile(r"0x[0-9a-f]{64}")

Signatures = Mapping[str, tuple[bytes, ...]]


class Gathered(BaseModel):
    """What has been gathered. proposal: the file, with its signatures; missing: who could still sign, while it takes
    more; proofs: the group's, of each message, once there are enough; deadline: unix seconds.
    """

    model_config = ConfigDict(frozen=True)

    digest: str
    account: str
    kind: str
    threshold: int
    signed: list[str]
    missing: list[str]
    deadline: int
    proposal: dict[str, JsonValue]
    proofs: list[str] | None


class AllGathered(BaseModel):
    """A group's proposals that are open."""

    items: list[Gathered]
    total: int
    next: None = None


class Gathering:
    """What the routes need. is_authorized: `AccountsContract.is_authorized`; caller_of: by what a caller is counted;
    now: unix seconds; daily: proposals that one caller may bring; seconds: for which contracts that sign are waited
    for.
    """

    def __init__(
        self,
        engine: AsyncEngine,
        deployment: Deployment,
        rpc: Rpc,
        is_authorized: IsAuthorized,
        *,
        caller_of: CallerOf,
        now: Callable[[], float] = time.time,
        daily: RateLimit = DAILY,
        seconds: float = ASKED_SECONDS,
    ) -> None:
        self._engine = engine
        self._deployment = deployment
        self._rpc = rpc
        self._is_authorized = is_authorized
        self.caller_of = caller_of
        self._now = now
        self._daily = CallRates(daily, now)
        self._asking = Places(MOST_ASKED)
        self._seconds = seconds

    async def bring(self, account: str, file: ProposalFile, *, network: str) -> Gathered:
        """Keeps a proposal of that group, and its signatures. network: the caller's.

        Raises FileRefused, BadRequest, Busy, GatewayFull, TooManyCalls, QuotaUsed, KeepsNoMore, ChainError.
        """
        proposal = Proposal.of(file, self._deployment)
        if proposal.account != account:
            raise BadRequest("The proposal is another group's;", f"bring it to {proposal.account}.")
        self._check_bounds(proposal)
        given = {signer: tuple(map(unhex, proofs)) for signer, proofs in file.signatures.items()}
        if not given:
            raise BadRequest("Nobody has signed it yet;", "sign it first: one of the group's brings it.")
        await self._check_all(proposal, given, network)
        digest = digest_of(proposal)
        self._daily.take(network)
        async with self._engine.begin() as connection:
            await take_turn(connection, Exclusive.PROPOSALS)
            document = proposal.file().model_dump_json(exclude_none=True)
            await self._make_room(connection, account, digest, len(document))
            await _put(connection, digest, proposal, document)
            for signer, proofs in given.items():
                await _sign(connection, digest, signer, proofs)
        return await self.read(account, digest)

    async def sign(self, account: str, digest: str, file: SignatureFile, *, network: str) -> Gathered:
        """Keeps one signer's word. network: the caller's.

        Raises NotHere, FileRefused, BadRequest, Conflicting, Busy, GatewayFull, ChainError.
        """
        proposal = await self._proposal(account, digest)
        if tuple(map(unhex, file.digests)) != proposal.digests:
            raise Conflicting(
                "The signature is of something else than this proposal;", "have this one signed."
            )
        proofs = tuple(map(unhex, file.proofs))
        await self._check_all(proposal, {file.signer: proofs}, network)
        async with self._engine.begin() as connection:
            await take_turn(
                connection, Exclusive.PROPOSALS
            )  # or it goes between this look at it and the signature
            known = (
                await connection.execute(select(proposals.c.digest).where(proposals.c.digest == digest))
            ).scalar()
            if known is None:
                raise NotHere("That proposal is over;", "propose it again.")
            await _sign(connection, digest, file.signer, proofs)
        return await self.read(account, digest)

    async def read(self, account: str, digest: str) -> Gathered:
        """What has been gathered of one. Raises NotHere."""
        proposal = await self._proposal(account, digest)
        wanted = select(signatures.c.signer, signatures.c.proofs).where(signatures.c.digest == digest)
        async with self._engine.connect() as connection:
            rows = (await connection.execute(wanted.order_by(signatures.c.signer))).all()
        given = {signer: tuple(map(unhex, proofs.split())) for signer, proofs in rows}
        return _gathered(digest, proposal, given)

    async def of(self, account: str) -> AllGathered:
        """Those of a group that can still be carried out, the one that ends first before the others."""
        wanted = select(proposals.c.digest).where(
            proposals.c.account == account, proposals.c.deadline >= int(self._now())
        )
        async with self._engine.connect() as connection:
            digests = (await connection.execute(wanted.order_by(proposals.c.deadline))).scalars().all()
        items = [await self.read(account, digest) for digest in digests[:MOST_OF_A_GROUP]]
        return AllGathered(items=items, total=len(digests))

    async def signed_by(self, member: str, limit: int = MOST_GROUPS) -> dict[str, GroupTerms]:
        """Groups and Safes with something open that the account has signed, by their addresses. Nobody else can make
        one of these; the last to end before the others.
        """
        signed = (signatures.c.digest == proposals.c.digest) & (signatures.c.signer == member)
        query = (
            select(groups.c.account, groups.c.terms)
            .join(proposals, proposals.c.account == groups.c.account)
            .join(signatures, signed)
            .where(proposals.c.deadline >= int(self._now()))
            .group_by(groups.c.account, groups.c.terms)
            .order_by(func.max(proposals.c.deadline).desc())
        )
        return await self._terms(query.limit(limit))

    async def asking(
        self, member: str, *, after: str = "", limit: int = MOST_GROUPS
    ) -> tuple[dict[str, GroupTerms], str | None]:
        """Groups and Safes that have something to sign for the account, in the order of their addresses, and after
        which there are more. Anybody makes up some of which he says that it signs for them: whoever asks on sees all.
        """
        here = (signers.c.digest == proposals.c.digest) & (signers.c.signer == member)
        query = (
            select(groups.c.account, groups.c.terms)
            .join(proposals, proposals.c.account == groups.c.account)
            .join(signers, here)
            .where(groups.c.account > after, proposals.c.deadline >= int(self._now()))
            .distinct()
            .order_by(groups.c.account)
        )
        found = list((await self._terms(query.limit(limit + 1))).items())
        return dict(found[:limit]), found[limit - 1][0] if len(found) > limit else None

    async def group(self, account: str) -> GroupTerms | None:
        """Who signs for that account, by what it is asked to sign."""
        query = (
            select(groups.c.account, groups.c.terms)
            .join(proposals, proposals.c.account == groups.c.account)
            .where(groups.c.account == account, proposals.c.deadline >= int(self._now()))
        )
        return (await self._terms(query.limit(1))).get(account)

    # ------------------------------------------------------------------------------------------------------ privately

    async def _terms(self, query: Select[Any, Any]) -> dict[str, GroupTerms]:
        async with self._engine.connect() as connection:
            rows = (await connection.execute(query)).all()
        return {account: GroupTerms.model_validate_json(terms) for account, terms in rows}

    async def _proposal(self, account: str, digest: str) -> Proposal:
        if _DIGEST.fullmatch(digest) is None:  # no database takes every text
            raise NotHere("There is no such proposal of that group here;", "have it brought.")
        here = (proposals.c.digest == digest) & (proposals.c.account == account)
        wanted = select(proposals.c.document).where(here, proposals.c.deadline >= int(self._now()))
        async with self._engine.connect() as connection:
            document = (await connection.execute(wanted)).scalar()
        if document is None:
            raise NotHere("There is no such proposal of that group here;", "have it brought.")
        return Proposal.of(ProposalFile.model_validate_json(document), self._deployment)

    def _check_bounds(self, proposal: Proposal) -> None:
        now = int(self._now())
        if not now < proposal.deadline <= now + MOST_SECONDS:
            raise BadRequest(
                "Its deadline is over, or further than is kept;", "propose it again with another."
            )
        if len(proposal.messages) > MOST_MESSAGES:
            raise BadRequest(f"A proposal has {MOST_MESSAGES} messages at most;", "divide it.")

    async def _check_all(self, proposal: Proposal, given: Signatures, network: str) -> None:
        """Whether all of these hold; of a few at a time, since the chain may be asked. Raises as `sign`."""
        with self._asking.taken(caller=network):
            try:
                async with asyncio.timeout(self._seconds):
                    await self._check_safe(proposal)
                    for signer, proofs in given.items():
                        await self._check(proposal, signer, proofs)
            except TimeoutError:
                raise BadRequest(
                    "The contracts that sign did not answer in time;", "try again later."
                ) from None

    async def _check_safe(self, proposal: Proposal) -> None:
        """A Safe's owners are who the chain says, whatever a file does. Raises Conflicting, NotASafe, ChainError."""
        group = proposal.group
        if not isinstance(group, Safe):
            return
        now = await read_safe(self._rpc, group.at, self._deployment.chain_id)
        if (now.signers, now.threshold) != (group.signers, group.threshold):
            raise Conflicting("The Safe has other owners than the proposal says;", "propose it again.")

    async def _check(self, proposal: Proposal, signer: str, proofs: Iterable[bytes]) -> None:
        """Whether they are that signer's, over these messages. Raises FileRefused, BadRequest, ChainError."""
        for digest, proof in zip(proposal.digests, proposal.checked(signer, proofs), strict=True):
            kind = Proof.decode(proof).kind
            if kind is ProofKind.KEY:
                continue
            contract = kind is ProofKind.ERC1271 and not isinstance(proposal.group, Safe)
            if not contract or not await self._is_authorized(signer, digest, proof):
                raise BadRequest(f"The signature of {signer} does not hold;", "have it signed again.")

    async def _make_room(self, connection: AsyncConnection, account: str, digest: str, size: int) -> None:
        """Forgets what is over; beside this one, if it is here, there must be room for `size` bytes.

        Raises QuotaUsed, KeepsNoMore.
        """
        over = select(proposals.c.digest).where(proposals.c.deadline < int(self._now()))
        await connection.execute(delete(signatures).where(signatures.c.digest.in_(over)))
        await connection.execute(
            delete(signers).where(signers.c.digest.in_(over) | (signers.c.digest == digest))
        )
        await connection.execute(delete(proposals).where(proposals.c.deadline < int(self._now())))
        await connection.execute(delete(groups).where(groups.c.account.not_in(select(proposals.c.account))))
        rows = select(func.count()).select_from(proposals).where(proposals.c.digest != digest)
        own = (await connection.execute(rows.where(proposals.c.account == account))).scalar_one()
        written = select(func.coalesce(func.sum(func.length(proposals.c.document)), 0))
        others = written.where(proposals.c.account == account, proposals.c.digest != digest)
        size += (await connection.execute(others)).scalar_one()
        if own >= MOST_OF_A_GROUP or size > MOST_BYTES_OF_A_GROUP:
            raise QuotaUsed(
                "The group has as many open proposals as are kept;", "let one end, or carry one out."
            )
        if (await connection.execute(rows)).scalar_one() >= MOST_ALTOGETHER:
            raise KeepsNoMore(
                "This gateway has as many open proposals as it keeps;", "hand the file on instead."
            )


def digest_of(proposal: Proposal) -> str:
    """By what a proposal is called: its message's digest; of several, the hash of all of theirs."""
    digests = proposal.digests
    return "0x" + (digests[0] if len(digests) == 1 else keccak(b"".join(digests))).hex()


async def _put(connection: AsyncConnection, digest: str, proposal: Proposal, document: str) -> None:
    row = {"digest": digest, "account": proposal.account, "deadline": proposal.deadline, "document": document}
    await put_row(connection, proposals, row)
    terms = proposal.file().group.model_dump_json(exclude_none=True)
    await put_row(connection, groups, {"account": proposal.account, "terms": terms})
    members = [{"digest": digest, "signer": signer} for signer in proposal.group.signers]
    await connection.execute(insert(signers), members)


async def _sign(connection: AsyncConnection, digest: str, signer: str, proofs: Iterable[bytes]) -> None:
    written = " ".join("0x" + proof.hex() for proof in proofs)
    await put_row(connection, signatures, {"digest": digest, "signer": signer, "proofs": written})


def _gathered(digest: str, proposal: Proposal, given: Signatures) -> Gathered:
    enough = len(given) >= proposal.group.threshold
    return Gathered(
        digest=digest,
        account=proposal.account,
        kind=proposal.kind,
        threshold=proposal.group.threshold,
        signed=sorted(given),
        missing=list(proposal.missing(given)),
        deadline=proposal.deadline,
        proposal=proposal.file(given).model_dump(mode="json", exclude_none=True),
        proofs=["0x" + proof.hex() for proof in proposal.prove(given)] if enough else None,
    )


router = APIRouter(prefix="/api/v1/groups", tags=["groups"])
TheGathering = Annotated[Gathering, Depends(PartOf(Gathering))]


def _account(address: str) -> str:
    if not is_checksum_address(address):
        raise BadRequest("That is no address with its checksum (EIP-55);", "write it with one.")
    return address


@router.get("/{address}/proposals")
async def open_proposals(gathering: TheGathering, address: str) -> AllGathered:
    """What a group is asked to sign."""
    return await gathering.of(_account(address))


@router.post("/{address}/proposals", status_code=201, openapi_extra=json_body(ProposalFile))
async def bring(gathering: TheGathering, address: str, request: Request) -> Gathered:
    """Brings a proposal that one of the group's at least has signed."""
    file = await read_json(request, ProposalFile, MOST_BODY)
    return await gathering.bring(_account(address), file, network=gathering.caller_of(request))


@router.get("/{address}/proposals/{digest}")
async def proposal(gathering: TheGathering, address: str, digest: str) -> Gathered:
    """One proposal, its signatures, and once there are enough the group's proofs."""
    return await gathering.read(_account(address), digest)


@router.post("/{address}/proposals/{digest}/signatures", openapi_extra=json_body(SignatureFile))
async def sign(gathering: TheGathering, address: str, digest: str, request: Request) -> Gathered:
    """Brings one signer's signature."""
    file = await read_json(request, SignatureFile, MOST_BODY)
    return await gathering.sign(_account(address), digest, file, network=gathering.caller_of(request))

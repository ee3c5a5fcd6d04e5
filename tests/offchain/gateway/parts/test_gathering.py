"""Groups' signatures: kept if one of the group made them over this very proposal, and otherwise not at all."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest
from eth_abi.abi import encode
from eth_utils.crypto import keccak
from fastapi import FastAPI
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from leasehold.agreements import Proposal, ProposalFile, SignatureFile
from leasehold.chain import ZERO_ADDRESS, Deployment, LocalSigner
from leasehold.chain.typed import Call, Execute, Group, Offer, Proof, ProofKind, Safe
from leasehold.gateway import _gathering
from leasehold.gateway._gathering import MOST_SECONDS, Gathering
from leasehold.rates import RateLimit

ADDRESSES = ["0x" + f"{n}" * 40 for n in range(1, 5)]
DEPLOYMENT = Deployment(31337, "0x" + "ab" * 32, *ADDRESSES, 1, "TUSD", 6)
SIGNERS = sorted((LocalSigner(bytes([n]) * 32) for n in (1, 2, 3)), key=lambda signer: signer.address.lower())
ADA, GRACE, EDSGER = SIGNERS
EVE = LocalSigner(b"\x09" * 32)
CONTRACT = "0x" + "7" * 40
SAFE = "0x" + "8" * 40


class Clock:
    time = 1_700_000_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Chain:
    """What the chain says of contracts' signatures, and of a Safe's owners: the outermost edge."""

    approved: set[tuple[str, bytes]] = field(default_factory=set)
    owners: list[str] = field(default_factory=lambda: [signer.address for signer in SIGNERS])
    threshold: int = 2
    asked: int = 0
    answers: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.answers.set()

    async def is_authorized(self, account: str, digest: bytes, proof: bytes) -> bool:
        self.asked += 1
        await self.answers.wait()
        return (account, proof) in self.approved

    async def eth_call(self, to: str, data: bytes, **more: object) -> bytes:
        answers: dict[bytes, tuple[str, object]] = {
            keccak(text="VERSION()")[:4]: ("string", "1.4.1"),
            keccak(text="getOwners()")[:4]: ("address[]", self.owners),
            keccak(text="getThreshold()")[:4]: ("uint256", self.threshold),
        }
        kind, value = answers[data[:4]]
        return encode([kind], [value])


def gathering_of(engine: AsyncEngine, chain: Chain, clock: Clock, **more: Any) -> Gathering:
    """A caller is counted by what it says here that its network is."""
    return Gathering(
        engine,
        DEPLOYMENT,
        chain,  # type: ignore[arg-type]
        chain.is_authorized,
        caller_of=lambda request: request.headers.get("x-network", ""),
        now=clock,
        **more,
    )


@pytest.fixture
def chain() -> Chain:
    return Chain()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def page(
    engine: AsyncEngine, chain: Chain, clock: Clock, app_of: Callable[..., FastAPI]
) -> AsyncIterator[httpx.AsyncClient]:
    app = app_of([_gathering.router], gathering_of(engine, chain, clock))
    async with httpx.AsyncClient(
        transport=httpx.ASGITransport(app), base_url="http://gate.example"
    ) as client:
        yield client


def proposed(group: Group, nonce: int = 0, seconds: int = 3600) -> Proposal:
    account = group.address(DEPLOYMENT.accounts)
    calls = (Call(target=DEPLOYMENT.controller, data=b"\x12\x34"),)
    execution = Execute(account=account, calls=calls, nonce=nonce, deadline=int(Clock.time) + seconds)
    return Proposal("execute", DEPLOYMENT, group, (execution,))


def group_of(*more: str, threshold: int = 2) -> Group:
    return Group.of(threshold, [*(signer.address for signer in SIGNERS), *more])


async def brought(
    page: httpx.AsyncClient, proposal: Proposal, *signers: LocalSigner, **edits: Any
) -> httpx.Response:
    given = {signer.address: await proposal.sign(signer) for signer in signers}
    body = {**proposal.file(given).model_dump(mode="json", exclude_none=True), **edits}
    return await page.post(f"/api/v1/groups/{proposal.account}/proposals", json=body)


async def signature(proposal: Proposal, signer: LocalSigner) -> dict[str, Any]:
    proofs = await proposal.sign(signer)
    return dict(
        SignatureFile(
            digests=tuple("0x" + digest.hex() for digest in proposal.digests),
            signer=signer.address,
            proofs=tuple("0x" + proof.hex() for proof in proofs),
        ).model_dump(mode="json")
    )


def place(proposal: Proposal) -> str:
    return f"/api/v1/groups/{proposal.account}/proposals/0x{proposal.digests[0].hex()}"


async def test_two_of_three_sign_and_anybody_has_the_groups_proof(page: httpx.AsyncClient) -> None:
    proposal = proposed(group_of())
    first = (await brought(page, proposal, ADA)).json()
    assert (first["signed"], first["proofs"]) == ([ADA.address], None)
    assert sorted(first["missing"]) == sorted([GRACE.address, EDSGER.address])
    answer = await page.post(place(proposal) + "/signatures", json=await signature(proposal, EDSGER))
    given = {signer.address: await proposal.sign(signer) for signer in (ADA, EDSGER)}
    assert answer.json()["proofs"] == ["0x" + proof.hex() for proof in proposal.prove(given)]
    assert answer.json()["missing"] == []
    assert (await page.get(place(proposal))).json() == answer.json()
    listed = (await page.get(f"/api/v1/groups/{proposal.account}/proposals")).json()
    assert (listed["items"], listed["total"]) == ([answer.json()], 1)
    file = ProposalFile.model_validate(answer.json()["proposal"])
    assert Proposal.of(file, DEPLOYMENT).digests == proposal.digests


async def test_who_is_no_signer_brings_and_signs_nothing(page: httpx.AsyncClient) -> None:
    proposal = proposed(group_of())
    assert (await brought(page, proposal)).status_code == 400
    stranger = proposed(Group.of(1, [EVE.address, ADA.address]))
    forged = [proof.hex() for proof in await stranger.sign(EVE)]
    for signer in (EVE.address, ADA.address):
        answer = await brought(page, proposal, signatures={signer: ["0x" + proof for proof in forged]})
        assert answer.status_code == 400, signer
    assert (await page.get(place(proposal))).status_code == 404
    await brought(page, proposal, ADA)
    body = {**await signature(proposal, GRACE), "signer": EVE.address}
    assert (await page.post(place(proposal) + "/signatures", json=body)).status_code == 400
    body = {**await signature(proposal, GRACE), "signer": EDSGER.address}
    assert (await page.post(place(proposal) + "/signatures", json=body)).status_code == 400
    assert (await page.get(place(proposal))).json()["signed"] == [ADA.address]


async def test_a_signature_of_something_else_is_not_taken(page: httpx.AsyncClient) -> None:
    proposal, other = proposed(group_of()), proposed(group_of(), nonce=1)
    await brought(page, proposal, ADA)
    own = await signature(other, GRACE)
    assert (await page.post(place(proposal) + "/signatures", json=own)).status_code == 409
    said = {**own, "digests": ["0x" + proposal.digests[0].hex()]}
    assert (await page.post(place(proposal) + "/signatures", json=said)).status_code == 400


async def test_a_proposal_that_says_another_group_chain_or_pool_is_refused(page: httpx.AsyncClient) -> None:
    proposal = proposed(group_of())
    weaker = proposal.file().model_dump(mode="json", exclude_none=True)["group"]
    for edits in (
        {"group": {**weaker, "threshold": 1}},
        {"account": EVE.address},
        {"chain": 1},
        {"pool": DEPLOYMENT.token},
        {"messages": []},
        {"version": 2},
        {"more": 1},
    ):
        assert (await brought(page, proposal, ADA, **edits)).status_code == 400, edits
    other = proposed(group_of(threshold=3))
    body = other.file({ADA.address: await other.sign(ADA)}).model_dump(mode="json", exclude_none=True)
    answer = await page.post(f"/api/v1/groups/{proposal.account}/proposals", json=body)
    assert answer.status_code == 400


async def test_one_groups_proposal_is_not_under_another(page: httpx.AsyncClient) -> None:
    proposal = proposed(group_of())
    await brought(page, proposal, ADA)
    digest = place(proposal).rpartition("/")[2]
    assert (await page.get(f"/api/v1/groups/{EVE.address}/proposals/{digest}")).status_code == 404
    assert (await page.get(f"/api/v1/groups/{EVE.address.lower()}/proposals/{digest}")).status_code == 400
    assert (await page.get(f"/api/v1/groups/{EVE.address}/proposals")).json()["items"] == []


async def test_no_group_brings_what_another_one_says(page: httpx.AsyncClient) -> None:
    """It would have the same digest, and take the other one's place."""
    group, eves = group_of(), Group.of(1, [EVE.address])
    account = group.address(DEPLOYMENT.accounts)
    offer = Offer(
        account=account,
        machine=1,
        revision=1,
        price=5,
        cells=8,
        duration=3600,
        spot=False,
        tenant=ZERO_ADDRESS,
        nonce=1,
        expires_at=int(Clock.time) + 3600,
    )
    own = Proposal("offer", DEPLOYMENT, group, (offer,))
    assert (await brought(page, own, ADA)).status_code == 201
    assert (await brought(page, Proposal("offer", DEPLOYMENT, eves, (offer,)), EVE)).status_code == 400
    assert (await page.get(place(own))).json()["signed"] == [ADA.address]


async def test_what_is_no_digest_is_not_looked_for(page: httpx.AsyncClient, engine: AsyncEngine) -> None:
    """PostgreSQL refuses some texts, which would look like a database that gives no answer."""
    asked: list[str] = []

    @event.listens_for(engine.sync_engine, "before_cursor_execute")
    def note(
        connection: object, cursor: object, statement: str, parameters: object, context: object, many: bool
    ) -> None:
        asked.append(repr(parameters))

    proposal = proposed(group_of())
    group = f"/api/v1/groups/{proposal.account}/proposals"
    for digest in ("a%00b", "0x" + "%00" * 64):
        assert (await page.get(f"{group}/{digest}")).status_code == 404
        body = await signature(proposal, ADA)
        assert (await page.post(f"{group}/{digest}/signatures", json=body)).status_code == 404
    assert asked == []


async def test_a_contract_signs_by_its_own_rule_or_not(page: httpx.AsyncClient, chain: Chain) -> None:
    proposal = proposed(group_of(CONTRACT))
    await brought(page, proposal, ADA)
    body = {**await signature(proposal, GRACE), "signer": CONTRACT, "proofs": ["0x02abcd"]}
    assert (await page.post(place(proposal) + "/signatures", json=body)).status_code == 400
    chain.approved.add((CONTRACT, b"\x02\xab\xcd"))
    answer = await page.post(place(proposal) + "/signatures", json=body)
    assert CONTRACT in answer.json()["signed"]
    for kind in ("03", "04", "05", "00"):
        odd = {**body, "proofs": [f"0x{kind}abcd"]}
        assert (await page.post(place(proposal) + "/signatures", json=odd)).status_code == 400


async def test_a_safes_owners_are_who_the_chain_says(page: httpx.AsyncClient, chain: Chain) -> None:
    """A file may name whomever it likes as owners of a Safe, and its address does not show it."""
    forged = Safe(1, (EVE.address,), at=SAFE, chain=31337)
    assert (await brought(page, proposed(forged), EVE)).status_code == 409
    real = Safe(2, tuple(signer.address for signer in SIGNERS), at=SAFE, chain=31337)
    proposal = proposed(real)
    assert (await brought(page, proposal, ADA)).status_code == 201
    chain.owners = [EVE.address, *chain.owners[1:]]
    answer = await page.post(place(proposal) + "/signatures", json=await signature(proposal, GRACE))
    assert answer.status_code == 409


async def test_signing_again_takes_the_place_of_what_was_signed(page: httpx.AsyncClient) -> None:
    proposal = proposed(group_of())
    await brought(page, proposal, ADA)
    again = await brought(page, proposal, ADA, GRACE)
    assert sorted(again.json()["signed"]) == sorted([ADA.address, GRACE.address])
    once_more = await brought(page, proposal, EDSGER)
    assert len(once_more.json()["signed"]) == 3
    listed = (await page.get(f"/api/v1/groups/{proposal.account}/proposals")).json()
    assert listed["total"] == 1


async def test_a_group_has_only_so_many_open_and_what_is_over_makes_room(
    page: httpx.AsyncClient, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_gathering, "MOST_OF_A_GROUP", 3)
    group = group_of()
    for nonce in range(3):
        assert (await brought(page, proposed(group, nonce), ADA)).status_code == 201
    more = proposed(group, 3, seconds=7200)
    assert (await brought(page, more, ADA)).status_code == 403
    clock.time += 3601
    assert (await page.get(place(proposed(group, 0)))).status_code == 404
    assert (await brought(page, more, ADA)).status_code == 201


@pytest.mark.parametrize("seconds", [-1, 0, MOST_SECONDS + 1])
async def test_a_deadline_is_near_and_ahead(page: httpx.AsyncClient, seconds: int) -> None:
    assert (await brought(page, proposed(group_of(), seconds=seconds), ADA)).status_code == 400


async def test_a_body_is_bounded(page: httpx.AsyncClient) -> None:
    headers = {"content-type": "application/json"}
    answer = await page.post(
        f"/api/v1/groups/{EVE.address}/proposals", content=b" " * 300_000, headers=headers
    )
    assert answer.status_code == 413
    deep = b'{"messages": ' + b"[" * 50_000
    answer = await page.post(f"/api/v1/groups/{EVE.address}/proposals", content=deep, headers=headers)
    assert answer.status_code == 400


async def test_who_may_sign_is_told_which_groups_ask(engine: AsyncEngine, chain: Chain, clock: Clock) -> None:
    """Also of a Safe: the chain was asked who owns it when the proposal was brought."""
    gathering = gathering_of(engine, chain, clock)
    safe = Safe(2, tuple(signer.address for signer in SIGNERS), at=SAFE, chain=31337)
    for proposal in (proposed(group_of()), proposed(group_of(), 1), proposed(safe, seconds=60)):
        await gathering.bring(
            proposal.account, proposal.file({ADA.address: await proposal.sign(ADA)}), network="ada"
        )
    told, _ = await gathering.asking(GRACE.address)
    assert set(told) == {group_of().address(DEPLOYMENT.accounts), SAFE}
    assert told[SAFE].safe == SAFE
    assert await gathering.asking(EVE.address) == ({}, None)
    clock.time += 61
    assert set((await gathering.asking(GRACE.address))[0]) == {group_of().address(DEPLOYMENT.accounts)}
    assert await gathering.group(SAFE) is None


async def test_one_network_fills_no_gateway(
    engine: AsyncEngine, chain: Chain, clock: Clock, app_of: Callable[..., FastAPI]
) -> None:
    """A group costs nothing to make up, and whoever makes up many has as many places."""
    app = app_of([_gathering.router], gathering_of(engine, chain, clock, daily=RateLimit(2, 86_400)))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://gate.example") as client:

        async def bring(number: int, network: str) -> int:
            proposal = proposed(group_of("0x" + f"{number:040x}"))
            file = proposal.file({ADA.address: await proposal.sign(ADA)}).model_dump(mode="json")
            place = f"/api/v1/groups/{proposal.account}/proposals"
            return (await client.post(place, json=file, headers={"x-network": network})).status_code

        assert [await bring(number, "one") for number in (1, 2, 3)] == [201, 201, 429]
        assert await bring(4, "another") == 201


async def test_groups_that_name_somebody_hide_none_of_his(
    engine: AsyncEngine, chain: Chain, clock: Clock
) -> None:
    """Anybody makes up groups of which he says that somebody else signs for them."""
    gathering = gathering_of(engine, chain, clock)

    async def bring(proposal: Proposal, signer: LocalSigner) -> None:
        file = proposal.file({signer.address: await proposal.sign(signer)})
        await gathering.bring(proposal.account, file, network="")

    own, asked = proposed(group_of(), seconds=60), proposed(group_of(threshold=3), seconds=60)
    await bring(own, GRACE)
    await bring(asked, ADA)
    for number in range(5):
        await bring(proposed(group_of(EVE.address), number, seconds=7200), EVE)
        await bring(proposed(group_of(EVE.address, "0x" + f"{number + 1:040x}"), seconds=7200), EVE)
    assert set(await gathering.signed_by(GRACE.address, 1)) == {own.account}

    seen, after = list[str](), ""
    while True:
        told, following = await gathering.asking(GRACE.address, after=after, limit=3)
        seen += told
        if following is None:
            break
        after = following
    assert {own.account, asked.account} <= set(seen)
    assert len(seen) == len(set(seen)) == 8, "of one group all that it is asked is one line"


async def test_who_asks_for_which_groups_he_signs_has_no_proposal_read(
    engine: AsyncEngine, chain: Chain, clock: Clock
) -> None:
    """They are 256 KiB each, and 200 of them for each call that anybody makes."""
    gathering = gathering_of(engine, chain, clock)
    proposal = proposed(group_of())
    await gathering.bring(
        proposal.account, proposal.file({ADA.address: await proposal.sign(ADA)}), network=""
    )
    asked: list[str] = []

    def noted(_: object, __: object, statement: str, *___: object) -> None:
        asked.append(statement)

    event.listen(engine.sync_engine, "before_cursor_execute", noted)
    try:
        await gathering.asking(GRACE.address)
        await gathering.signed_by(ADA.address)
        await gathering.group(proposal.account)
    finally:
        event.remove(engine.sync_engine, "before_cursor_execute", noted)
    assert len(asked) == 3
    assert not [statement for statement in asked if "document" in statement]


async def test_what_a_group_is_asked_has_bounds_together(
    page: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks for it asks for all of it."""
    one = len(proposed(group_of()).file().model_dump_json(exclude_none=True))
    monkeypatch.setattr(_gathering, "MOST_BYTES_OF_A_GROUP", 2 * one + 10)
    answers = [await brought(page, proposed(group_of(), nonce), ADA) for nonce in (1, 2, 3, 2)]
    assert [answer.status_code for answer in answers] == [201, 201, 403, 201]


async def by_a_contract(page: httpx.AsyncClient) -> httpx.Response:
    """A proposal that a contract alone has signed, if one asks it."""
    proposal = proposed(group_of(CONTRACT))
    given = {CONTRACT: (Proof(ProofKind.ERC1271, b"\x01").encode(),)}
    body = proposal.file(given).model_dump(mode="json", exclude_none=True)
    return await page.post(f"/api/v1/groups/{proposal.account}/proposals", json=body)


async def test_contracts_that_take_their_time_are_asked_a_few_at_a_time(
    page: httpx.AsyncClient, chain: Chain
) -> None:
    """Whoever likes deploys one that burns all the gas that a node's call may take."""
    chain.answers.clear()
    most = _gathering.MOST_ASKED["caller"]
    answers = asyncio.as_completed([by_a_contract(page) for _ in range(40)])
    async with asyncio.timeout(20):
        for _ in range(40 - most):
            assert (await next(answers)).status_code == 429
    assert chain.asked == most
    chain.answers.set()
    assert [(await answer).status_code for answer in answers] == [400] * most


async def test_a_contract_that_never_answers_is_not_waited_for(
    engine: AsyncEngine, chain: Chain, clock: Clock, app_of: Callable[..., FastAPI]
) -> None:
    chain.answers.clear()
    app = app_of([_gathering.router], gathering_of(engine, chain, clock, seconds=0.01))
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(transport=transport, base_url="http://gate.example") as page:
        answer = await by_a_contract(page)
    assert answer.status_code == 400
    assert "did not answer in time" in answer.json()["detail"]

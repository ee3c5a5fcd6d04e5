"""Two gateways on one PostgreSQL, behind one address: either may be killed, and nobody who uses them has to know."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from eth_account import Account
from websockets.asyncio.client import connect
from websockets.exceptions import WebSocketException

from devnet.patience import patient
from devnet.pool import PoolChain
from devnet.postgres import Postgres
from leasehold.agreements import Proposal, SignatureFile
from leasehold.chain import LeaseRequest, LocalSigner
from leasehold.chain.typed import Call, Execute, Group

from .one_address import OneAddress
from .test_gateway import OPERATOR, PROVIDER, RENTER, UNIT, Running, register, running
from .test_gateway_parts import Browser

pytestmark = pytest.mark.slow
T = TypeVar("T")
LISTENERS = 4  # of each kind, so that each of the two has some
GONE = (httpx.TransportError, WebSocketException, OSError)


class Ear:
    """Somebody who listens, and connects again where a connection ends. free: cells of the machine as last heard;
    block: the newest that was heard of; begun: how many connections it took.
    """

    def __init__(self, frames: Callable[[], AsyncIterator[Any]]) -> None:
        self._frames = frames
        self.block, self.begun = 0, 0
        self.free: int | None = None
        self._heard = asyncio.Condition()

    async def listen(self) -> None:
        """For ever."""
        while True:
            with suppress(*GONE):
                self.begun += 1
                async for frame in self._frames():
                    async with self._heard:
                        self._take(frame)
                        self._heard.notify_all()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(patient(60)), self._heard:
            await self._heard.wait_for(holds)

    def _take(self, frame: Any) -> None:
        self.block = max(self.block, (frame["block"] or {"number": 0})["number"])
        if frame["topic"] == "machines" and frame["machines"]:
            self.free = frame["machines"][-1]["free_cells"]


def by_socket(url: str) -> Callable[[], AsyncIterator[Any]]:
    async def frames() -> AsyncIterator[Any]:
        live = url.replace("http", "ws") + "/api/v1/live"
        async with connect(live, proxy=None, open_timeout=patient(10)) as socket:
            await socket.send(json.dumps({"subscribe": ["machines"]}))
            async for text in socket:
                yield json.loads(text)

    return frames


def by_events(url: str) -> Callable[[], AsyncIterator[Any]]:
    async def frames() -> AsyncIterator[Any]:
        async with (
            httpx.AsyncClient(timeout=patient(60), trust_env=False) as client,
            client.stream("GET", url + "/api/v1/events?topics=machines") as answer,
        ):
            async for line in answer.aiter_lines():
                if line.startswith("data: "):
                    yield json.loads(line.removeprefix("data: "))

    return frames


@asynccontextmanager
async def listening(url: str) -> AsyncIterator[list[Ear]]:
    ears = [Ear(by(url)) for by in (by_socket, by_events) for _ in range(LISTENERS)]
    tasks = [asyncio.create_task(ear.listen()) for ear in ears]
    try:
        yield ears
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def carried_on(call: Callable[[], Awaitable[T]]) -> T:
    """What a browser does with a connection that broke: the same once more."""
    async with asyncio.timeout(patient(60)):
        while True:
            try:
                return await call()
            except httpx.TransportError:
                continue


async def writes(replica: Running) -> bool:
    async with httpx.AsyncClient(timeout=patient(30), trust_env=False) as client:
        return "leasehold_gateway_writes 1" in (await client.get(replica.url + "/metrics")).text


async def writer_of(replicas: list[Running]) -> Running:
    """The one that was elected."""
    async with asyncio.timeout(patient(60)):
        while True:
            for replica in replicas:
                if await writes(replica):
                    return replica


async def proposed(chain: PoolChain, signers: list[LocalSigner]) -> Proposal:
    group = Group.of(2, [signer.address for signer in signers])
    account = group.address(chain.deployment.accounts)
    head = await chain.rpc.header()
    assert head is not None
    calls = (Call(target=chain.deployment.controller, data=b"\x12\x34"),)
    execution = Execute(account=account, calls=calls, nonce=0, deadline=head.timestamp + 30 * 86_400)
    return Proposal("execute", chain.deployment, group, (execution,))


async def signature(proposal: Proposal, signer: LocalSigner) -> dict[str, Any]:
    proofs = await proposal.sign(signer)
    file = SignatureFile(
        digests=tuple("0x" + digest.hex() for digest in proposal.digests),
        signer=signer.address,
        proofs=tuple("0x" + proof.hex() for proof in proofs),
    )
    return dict(file.model_dump(mode="json"))


async def test_either_of_two_replicas_may_be_killed(
    chain: PoolChain, postgres: Postgres, tmp_path: Path
) -> None:
    machine, database = await register(chain), postgres.make()
    signers = [chain.signer(account) for account in (PROVIDER, RENTER, OPERATOR)]
    proposal = await proposed(chain, signers)
    async with AsyncExitStack() as stack:

        async def begun(name: str) -> Running:
            replica = await stack.enter_async_context(running(chain, tmp_path / name, "--database", database))
            await replica.at(chain.anvil.block_number)
            return replica

        replicas = list(await asyncio.gather(begun("one"), begun("two")))
        address = await stack.enter_async_context(OneAddress(*(r.url for r in replicas)).serving())
        client = await stack.enter_async_context(
            httpx.AsyncClient(
                base_url=address.url,
                headers={"origin": address.url, "connection": "close"},  # each call to the next of the two
                timeout=patient(30),
                trust_env=False,
            )
        )
        key = Account.from_key(chain.anvil.accounts[RENTER].key)
        browser = Browser(address.url, client, key, chain.deployment, machine)
        assert await browser.sign_in() == chain.address(RENTER)
        given = {signers[0].address: await proposal.sign(signers[0])}
        body = proposal.file(given).model_dump(mode="json", exclude_none=True)
        path = f"/api/v1/groups/{proposal.account}/proposals"
        brought = await client.post(path, json=body)
        assert brought.status_code == 201, brought.text

        free = 16
        for elected in (True, False):
            async with listening(address.url) as ears:  # some of them with each of the two
                await asyncio.gather(*(ear.until(lambda ear=ear: ear.block > 0) for ear in ears))  # type: ignore[misc]
                writer = await writer_of(replicas)
                victim = next(replica for replica in replicas if (replica is writer) == elected)
                before = [ear.begun for ear in ears]
                victim.process.kill()
                wish = LeaseRequest(machine, 1, 8, 7_200, 2 * UNIT, b"w" * 32, allow_unverified=True)
                await chain.pool(RENTER).open(wish)
                free -= 8
                await victim.process.wait()

                async def told() -> Any:
                    return (await client.get("/api/v1/machines")).json()["items"][0]["free_cells"]

                await asyncio.gather(
                    *(ear.until(lambda ear=ear: ear.block >= chain.anvil.block_number) for ear in ears)  # type: ignore[misc]
                )
                assert await carried_on(told) == free
                assert [ear.begun for ear in ears] != before, "some had been with the one that was killed"
                session = await carried_on(lambda: client.get("/api/v1/session"))
                assert session.json()["account"] == chain.address(RENTER)
                gathered = (await carried_on(lambda: client.get(path))).json()["items"]
                assert gathered[0]["signed"] == [signers[0].address]
            replicas[replicas.index(victim)] = await begun("three" if elected else "four")
            address.urls = [replica.url for replica in replicas]
        more = await signature(proposal, signers[1])
        signed = await carried_on(
            lambda: client.post(f"{path}/{gathered[0]['digest']}/signatures", json=more)
        )
        assert signed.json()["signed"] == sorted(signer.address for signer in signers[:2])
        assert signed.json()["proofs"]

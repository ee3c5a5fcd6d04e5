"""A gateway that extends leases out of purses: for their tenants alone, when it is time, once, and at no loss."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, replace

import httpx
import pytest
from fastapi import FastAPI
from sqlalchemy.ext.asyncio import AsyncEngine

from devnet.pool import PoolChain
from devnet.purses import FEE, HOUR, PAYEE, RENTER, UNIT, PurseScene
from leasehold.agreements import BroughtPurse
from leasehold.chain import LocalSigner, Sender, Sends, SignedPurse, format_lease
from leasehold.chain.typed import AcceptTransfer, sign
from leasehold.gateway import _purses
from leasehold.gateway._extending import UNPAID_SECONDS, Extending
from leasehold.gateway._gas_costs import GasLosses, GasPricing
from leasehold.gateway._gas_key import GasKey
from leasehold.gateway._held_purses import HeldPurses
from leasehold.gateway._purses import Purses
from leasehold.gateway._sessions import SessionStore
from leasehold.gateway._signing_in import SigningIn

from .conftest import ORIGIN

RELAY, OTHER = 5, 7
PRICE = 100 * UNIT  # of a coin, in the pool's token


class Clock:
    """It stands still."""

    time = 1_000.0

    def __call__(self) -> float:
        return self.time


@dataclass
class Keeper:
    """A gateway that extends, and a browser at it in which the tenant is signed in."""

    scene: PurseScene
    page: httpx.AsyncClient
    extending: Extending
    held: HeldPurses
    signing_in: SigningIn
    engine: AsyncEngine
    elected: list[bool]

    @property
    def path(self) -> str:
        return f"/api/v1/leases/{format_lease(self.scene.lease)}/purse"

    async def sign_in(self, account: str) -> None:
        now = self.signing_in.now()
        token, _ = await SessionStore(self.engine).begin(account, ORIGIN, now)
        self.page.cookies = httpx.Cookies({"__Host-leasehold": token})

    async def bring(self, signed: SignedPurse) -> httpx.Response:
        return await self.page.post(self.path, json=BroughtPurse.of(signed).model_dump(mode="json"))

    async def brought(self, count: int = 3) -> SignedPurse:
        """One with its money in it."""
        signed = await self.scene.signed(await self.scene.purse(count))
        assert (await self.bring(signed)).status_code == 200
        await self.scene.fund(signed.purse)
        return signed

    async def look(self) -> None:
        """As it comes sooner or later."""
        self.extending.wake(self.scene.lease)
        await self.extending.look()

    async def said(self) -> dict[str, object]:
        return dict((await self.page.get(self.path)).json())

    async def sent(self) -> int:
        """Transactions of the key that pays the gas."""
        return int(
            await self.scene.chain.rpc.call(
                "eth_getTransactionCount", [self.scene.chain.address(RELAY), "latest"]
            ),
            16,
        )


def made_keeper(
    scene: PurseScene, engine: AsyncEngine, signing_in: SigningIn, sender: Sends, most_price: int = 10**12
) -> tuple[Purses, Extending, HeldPurses, list[bool]]:
    chain, elected = scene.chain, [True]
    pricing, losses = GasPricing(PRICE, most_price), GasLosses(10**18, Clock())
    key, held = GasKey(chain.rpc, sender, pricing), HeldPurses(engine, chain.deployment.controller)
    extending = Extending(chain.rpc, chain.pool(), held, key, pricing, losses, elected=lambda: elected[0])
    purses = Purses(
        chain.rpc,
        chain.pool(),
        held,
        extending,
        key,
        chain.address(PAYEE),
        pricing,
        caller_of=lambda connection: "somewhere",
        clock=Clock(),
    )
    return purses, extending, held, elected


@pytest.fixture
async def keeper(
    chain: PoolChain,
    engine: AsyncEngine,
    app_of: Callable[..., FastAPI],
    browse: Callable[..., httpx.AsyncClient],
) -> AsyncIterator[Keeper]:
    scene = await PurseScene.opened(chain)

    async def nobody(account: str, digest: bytes, proof: bytes) -> bool:
        return False

    signing_in = SigningIn(
        engine, origins=(ORIGIN,), chain_id=chain.deployment.chain_id, is_authorized=nobody, now=Clock()
    )
    purses, extending, held, elected = made_keeper(scene, engine, signing_in, chain.sender(RELAY))
    async with browse(app_of([_purses.router], purses, signing_in)) as page:
        made = Keeper(scene, page, extending, held, signing_in, engine, elected)
        await made.sign_in(scene.tenant)
        yield made
    await extending.close()


def code_of(answer: httpx.Response) -> str:
    return f"{answer.status_code} {answer.json()['code']}"


# ------------------------------------------------------------------------------------------------------ what it is for


async def test_a_lease_is_extended_before_its_end_and_not_sooner(keeper: Keeper) -> None:
    """Three times, each when it is near its end; then what rounding left stays, and the gateway forgets it."""
    scene = keeper.scene
    signed = await keeper.brought()
    end = (await scene.now()).end
    await keeper.look()
    assert (await scene.now()).end == end
    for number in range(1, 4):
        scene.near_its_end(end)
        await keeper.look()
        await keeper.look()
        end += HOUR
        assert (await scene.now()).end == end
        if number < 3:
            assert (await keeper.said())["made"] == number
    assert await keeper.sent() == 3
    assert code_of(await keeper.page.get(keeper.path)) == "404 not-here"
    assert await scene.holds(signed.purse) == 0
    scene.near_its_end(end)
    await keeper.look()
    assert (await scene.now()).end == end


async def test_what_is_left_goes_back_when_the_lease_is_closed(keeper: Keeper) -> None:
    scene = keeper.scene
    signed = await keeper.brought()
    before = await scene.chain.pool().balance_of(scene.tenant)
    await scene.chain.pool(RENTER).close(scene.lease)
    closed = await scene.chain.pool().balance_of(scene.tenant)
    assert closed > before
    await keeper.look()
    assert await scene.holds(signed.purse) == 0
    assert await scene.chain.pool().balance_of(scene.tenant) == closed + signed.purse.whole - FEE
    await keeper.look()
    assert await keeper.held.count() == 0
    assert await keeper.sent() == 1


async def test_who_extends_does_not_lose_by_it(keeper: Keeper) -> None:
    """The fee that it asks for pays for the gas of the dearest, the first, twice over."""
    offer = (await keeper.page.get("/api/v1/purses")).json()
    signed = await keeper.scene.signed(await keeper.scene.purse(fee=int(offer["fee"]), payee=offer["payee"]))
    assert (await keeper.bring(signed)).status_code == 200
    await keeper.scene.fund(signed.purse)
    keeper.scene.near_its_end((await keeper.scene.now()).end)
    relay = keeper.scene.chain.address(RELAY)
    before = await keeper.scene.chain.rpc.balance(relay)
    await keeper.look()
    cost = before - await keeper.scene.chain.rpc.balance(relay)
    assert 0 < cost * PRICE <= int(offer["fee"]) * 10**18


# -------------------------------------------------------------------------------------------------- who may bring what


async def test_only_the_tenant_brings_one(keeper: Keeper) -> None:
    scene = keeper.scene
    signed = await scene.signed()
    await keeper.sign_in(scene.chain.address(OTHER))
    assert code_of(await keeper.bring(signed)) == "409 conflict"
    theirs = await scene.signed(await scene.purse(tenant=scene.chain.address(OTHER)))
    assert code_of(await keeper.bring(theirs)) == "409 conflict"
    keeper.page.cookies.clear()
    assert code_of(await keeper.bring(signed)) == "401 not-signed-in"
    assert await keeper.held.count() == 0


async def test_what_does_not_hold_is_not_kept(keeper: Keeper) -> None:
    """Nobody's money is at stake; but who believes that his lease is kept should be right."""
    scene = keeper.scene
    signed, purse = await scene.signed(), await scene.purse()
    now = await scene.chain.rpc.now()
    bad = {
        "fee to another": await scene.signed(replace(purse, payee=scene.chain.address(OTHER))),
        "too little": await scene.signed(replace(purse, most=purse.most - 1)),
        "over": await scene.signed(replace(purse, deadline=now - 1)),
        "before its end": await scene.signed(replace(purse, deadline=now + 60)),
        "for ever": await scene.signed(replace(purse, deadline=1 << 60)),
        "another key": replace(signed, purse=replace(purse, key=scene.chain.address(OTHER))),
        "the tenant's": replace(signed, purse=replace(purse, key=scene.tenant)),
        "one missing": replace(signed, returns=signed.returns[:2]),
        "swapped": replace(signed, extensions=signed.returns),
        "no signature": replace(signed, extensions=(b"\x11" * 65,) * 3),
    }
    for name, wrong in bad.items():
        assert code_of(await keeper.bring(wrong)) == "400 bad-request", name
    assert code_of(await keeper.bring(await scene.signed(replace(purse, fee=0)))) == "409 fee-too-low"
    assert await keeper.held.count() == 0


async def test_one_with_money_in_it_is_not_thrown_away(keeper: Keeper) -> None:
    """Its signatures may be nowhere else; one that was never paid for makes way."""
    scene = keeper.scene
    first = await scene.signed(await scene.purse(2))
    assert (await keeper.bring(first)).status_code == 200
    other = LocalSigner("0x" + "7c" * 32)
    purse = replace(await scene.purse(), key=other.address)
    signed = await purse.signed(scene.domain, other)
    assert (await keeper.bring(signed)).status_code == 200
    await scene.fund(signed.purse)
    assert code_of(await keeper.bring(first)) == "409 conflict"
    assert (await keeper.bring(signed)).status_code == 200
    assert (await keeper.said())["key"] == other.address


# ---------------------------------------------------------------------------------------------- what happens meanwhile


async def test_a_lease_that_was_handed_over_is_not_paid_for(keeper: Keeper) -> None:
    """The other has the lease, and what its closing brings: so the rest goes back to whom it is of, at once."""
    scene, chain = keeper.scene, keeper.scene.chain
    signed = await keeper.brought()
    deadline = await chain.rpc.now() + 600
    acceptance = AcceptTransfer(
        account=chain.address(OTHER),
        controller=chain.deployment.controller,
        lease=scene.lease,
        deadline=deadline,
    )
    proof = await sign(acceptance, scene.domain, chain.signer(OTHER))
    await chain.pool(RENTER).transfer_lease(scene.lease, chain.address(OTHER), deadline, proof)
    end = (await scene.now()).end
    before = await chain.pool().balance_of(scene.tenant)
    scene.near_its_end(end)
    await keeper.look()
    assert (await scene.now()).end == end
    assert await chain.pool().balance_of(scene.tenant) == before + signed.purse.whole - FEE


async def test_a_purse_that_was_emptied_is_said_to_be(keeper: Keeper) -> None:
    """Taken back, or never paid: no gas is spent on it."""
    scene = keeper.scene
    assert (await keeper.bring(await scene.signed())).status_code == 200
    scene.near_its_end((await scene.now()).end)
    await keeper.look()
    assert await keeper.sent() == 0
    assert "too little" in str((await keeper.said())["trouble"])


async def test_one_that_is_not_paid_for_keeps_no_place(keeper: Keeper) -> None:
    """A lease on one's own machine costs nothing: with so many of them nobody else's purse would be taken."""
    scene = keeper.scene
    await scene.chain.pool(RENTER).extend(scene.lease, 10 * HOUR)
    assert (await keeper.bring(await scene.signed())).status_code == 200
    await keeper.look()
    scene.chain.anvil.advance(UNPAID_SECONDS - 60)
    await keeper.look()
    assert await keeper.held.count() == 1
    scene.chain.anvil.advance(60)
    await keeper.look()
    assert await keeper.held.count() == 0
    assert await keeper.sent() == 0


async def test_one_that_is_paid_for_late_stays(keeper: Keeper) -> None:
    scene = keeper.scene
    await scene.chain.pool(RENTER).extend(scene.lease, 10 * HOUR)
    signed = await scene.signed()
    assert (await keeper.bring(signed)).status_code == 200
    await keeper.look()
    scene.chain.anvil.advance(UNPAID_SECONDS - 60)
    await scene.fund(signed.purse)
    for _ in range(2):
        scene.chain.anvil.advance(UNPAID_SECONDS)
        await keeper.look()
    assert await keeper.held.count() == 1


async def test_after_a_resize_as_much_goes_back_as_was_signed_for(keeper: Keeper) -> None:
    """An extension costs twice as much then; the rest of what does not fit stays for the tenant's own word."""
    scene = keeper.scene
    signed = await keeper.brought()
    await scene.chain.pool(RENTER).resize(scene.lease, 16)
    scene.near_its_end((await scene.now()).end)
    await keeper.look()
    left = signed.purse.whole - 4 * UNIT - FEE
    assert await scene.holds(signed.purse) == left
    await scene.chain.pool(RENTER).close(scene.lease)
    await keeper.look()
    assert await scene.holds(signed.purse) == left - signed.purse.left(2)


async def test_two_who_send_the_same_extend_once(keeper: Keeper) -> None:
    """Another replica that thinks that it is elected, too, or anybody who has copied what is on its way."""
    scene = keeper.scene
    signed = await keeper.brought()
    end = (await scene.now()).end
    scene.near_its_end(end)
    await scene.send(signed.extension(scene.domain, 0), sender=OTHER)
    await keeper.look()
    assert (await scene.now()).end == end + HOUR
    assert await keeper.sent() == 0


async def test_gas_that_became_too_dear_is_told_and_not_paid(keeper: Keeper) -> None:
    scene, chain = keeper.scene, keeper.scene.chain
    await keeper.brought()
    _, extending, _, _ = made_keeper(
        scene, keeper.engine, keeper.signing_in, chain.sender(RELAY), most_price=1
    )
    scene.near_its_end((await scene.now()).end)
    await extending.look()
    assert await keeper.sent() == 0
    assert "dearer" in str(extending.trouble_of(scene.lease))
    await extending.close()


async def test_a_key_without_gas_money_says_so(keeper: Keeper) -> None:
    scene, chain = keeper.scene, keeper.scene.chain
    await keeper.brought()
    poor = Sender(chain.rpc, LocalSigner("0x" + "77" * 32), poll=0.01)
    _, extending, _, _ = made_keeper(scene, keeper.engine, keeper.signing_in, poor)
    scene.near_its_end((await scene.now()).end)
    await extending.look()
    assert "no gas money" in str(extending.trouble_of(scene.lease))
    await keeper.look()  # another one does it
    assert await keeper.sent() == 1
    await extending.close()


async def test_who_is_not_elected_sends_nothing(keeper: Keeper) -> None:
    scene = keeper.scene
    await keeper.brought()
    end = (await scene.now()).end
    scene.near_its_end(end)
    slept: list[float] = []

    class Enough(Exception):
        """It has looked as often as the test wants."""

    async def sleep(seconds: float) -> None:
        slept.append(seconds)
        keeper.elected[0] = True
        if len(slept) == 2:
            raise Enough

    keeper.elected[0] = False
    with pytest.raises(Enough):
        await keeper.extending.keep(sleep)
    assert (await scene.now()).end == end + HOUR
    assert await keeper.sent() == 1


async def test_a_gateway_without_a_key_says_so(app_of: Callable[..., FastAPI]) -> None:
    transport = httpx.ASGITransport(app_of([_purses.router]))
    async with httpx.AsyncClient(transport=transport, base_url="http://gate.example") as page:
        assert code_of(await page.get("/api/v1/purses")) == "503 not-served"

"""A gateway whose index and sessions lie on PostgreSQL, and what becomes of them when its tables or its server go."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account

from devnet.patience import patient
from devnet.pool import PoolChain
from devnet.postgres import Postgres
from leasehold.chain import LeaseRequest

from .test_gateway import PROVIDER, RENTER, UNIT, Running, register, running
from .test_gateway_parts import Browser

pytestmark = pytest.mark.slow
CALLERS = 6
BUSY_SECONDS = 30


@pytest.fixture
def own_server() -> Iterator[Postgres]:
    """For tests that kill it."""
    with Postgres() as server:
        yield server


def name_of(url: str) -> str:
    return url.partition("@/")[2].partition("?")[0]


def tables_of(server: Postgres, url: str) -> list[str]:
    listed = server.do(
        name_of(url), "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'chain\\_%'"
    )
    return sorted(name for (name,) in listed)


def dump(server: Postgres, url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of the index, in order."""
    return {
        name: sorted(server.do(name_of(url), f"SELECT * FROM {name}"), key=repr)
        for name in tables_of(server, url)
    }


async def rent(chain: PoolChain, machine: int) -> int:
    wish = LeaseRequest(machine, 1, 8, 7_200, 2 * UNIT, b"w" * 32, allow_unverified=True)
    lease, _ = await chain.pool(RENTER).open(wish)
    return lease


async def read_anew(server: Postgres, chain: PoolChain, home: Path) -> dict[str, list[tuple[Any, ...]]]:
    """What a gateway makes of the chain that was never disturbed."""
    url = server.make()
    async with running(chain, home, "--database", url) as gateway:
        await gateway.at(chain.anvil.block_number)
    return dump(server, url)


async def test_tables_that_are_dropped_come_back_from_the_chain(
    chain: PoolChain, postgres: Postgres, tmp_path: Path
) -> None:
    machine, url = await register(chain), postgres.make()
    await rent(chain, machine)
    async with running(chain, tmp_path / "home", "--database", url) as gateway:
        await gateway.at(chain.anvil.block_number)
        gateway.process.kill()
        await gateway.process.wait()
    before = dump(postgres, url)
    assert before["chain_leases"]
    postgres.do(name_of(url), f"DROP TABLE {', '.join(tables_of(postgres, url))} CASCADE")
    async with running(chain, tmp_path / "home", "--database", url) as gateway:
        await gateway.at(chain.anvil.block_number)
        (listed,) = (await gateway.get("/api/v1/machines"))["items"]
        assert listed["free_cells"] == 8
    assert dump(postgres, url) == before


@dataclass
class Load:
    """Callers of some paths, in turn. A call that fails otherwise than a gateway says it does ends all of it."""

    gateway: Running
    cookies: httpx.Cookies
    paths: dict[str, bool]
    """Whether they need the database."""
    statuses: dict[str, int] = field(default_factory=dict)
    _answered: asyncio.Condition = field(default_factory=asyncio.Condition)

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            for number in range(CALLERS):
                tasks.create_task(self._call(number))

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(patient(120)), self._answered:
            await self._answered.wait_for(holds)

    async def all_served(self) -> None:
        """Every path answers."""
        self.statuses.clear()
        await self.until(lambda: all(self.statuses.get(path) == 200 for path in self.paths))

    async def all_refused(self) -> None:
        """Every path that needs the database is refused."""
        await self.until(
            lambda: all(self.statuses.get(path) == 503 for path, needs in self.paths.items() if needs)
        )

    async def _call(self, number: int) -> None:
        """Each begins elsewhere, so that one path which waits leaves the others to be called."""
        paths = list(self.paths.items())
        limit = httpx.Timeout(patient(BUSY_SECONDS))
        async with httpx.AsyncClient(
            base_url=self.gateway.url, cookies=self.cookies, timeout=limit, trust_env=False
        ) as client:
            for turn in itertools.count(number):
                path, needs = paths[turn % len(paths)]
                address = f"198.18.{turn >> 8 & 0xFF}.{turn & 0xFF}"
                answer = await client.get(path, headers={"x-forwarded-for": address})
                _check(answer, needs=needs)
                async with self._answered:
                    self.statuses[path] = answer.status_code
                    self._answered.notify_all()


def _check(answer: httpx.Response, *, needs: bool) -> None:
    """What an answer may be: itself, or the documented refusal, which says nothing of the database."""
    if answer.status_code == 200:
        return
    assert needs, answer.text
    assert answer.status_code == 503, answer.text
    assert "leasehold-postgres" not in answer.text
    assert "SELECT" not in answer.text
    if "readyz" not in str(answer.url):
        assert answer.json()["code"] == "index-unreachable"
        assert int(answer.headers["retry-after"]) > 0


async def signed_in(gateway: Running, chain: PoolChain, machine: int) -> httpx.Cookies:
    async with httpx.AsyncClient(
        base_url=gateway.url, headers={"origin": gateway.url}, timeout=patient(30), trust_env=False
    ) as client:
        key = Account.from_key(chain.anvil.accounts[RENTER].key)
        browser = Browser(gateway.url, client, key, chain.deployment, machine)
        assert await browser.sign_in() == chain.address(RENTER)
        return client.cookies


@pytest.mark.parametrize("how", ["killed", "frozen"])
async def test_a_database_that_goes_under_load_refuses_cleanly_and_loses_nothing(
    chain: PoolChain, own_server: Postgres, tmp_path: Path, how: str
) -> None:
    machine, url = await register(chain), own_server.make()
    first = await rent(chain, machine)
    proxy = ("--proxy", "127.0.0.0/8")  # so that each call comes from another address: none has a limit
    async with running(chain, tmp_path / "home", "--database", url, *proxy) as gateway:
        await gateway.at(chain.anvil.block_number)
        paths = {
            "/api/v1/machines?q=state:free": False,
            "/api/v1/leases?state=live": True,
            f"/api/v1/leases/{first >> 16}": True,
            f"/api/v1/machines/{machine}": True,
            f"/api/v1/providers/{chain.address(PROVIDER)}": True,
            "/api/v1/session": True,
            "/readyz": True,
        }
        load = Load(gateway, await signed_in(gateway, chain, machine), paths)
        running_load = asyncio.create_task(load.run())
        try:
            await load.all_served()
            await asyncio.to_thread(own_server.kill if how == "killed" else own_server.freeze)
            await load.all_refused()
            second = await rent(chain, machine)
            await asyncio.to_thread(own_server.start if how == "killed" else own_server.thaw)
            await load.all_served()
            await gateway.at(chain.anvil.block_number)
        finally:
            running_load.cancel()
            with suppress(asyncio.CancelledError):
                await running_load
        live = await gateway.get(f"/api/v1/leases?tenant={chain.address(RENTER)}")
        assert {lease["number"] for lease in live["items"]} == {str(first), str(second)}
    assert dump(own_server, url) == await read_anew(own_server, chain, tmp_path / "other")

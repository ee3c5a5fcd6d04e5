"""The guides about faults and verification, typed word for word, on a chain whose time is moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from devnet.account import Account
from devnet.desk import ROOT, Desk
from devnet.nursery import Nursery
from devnet.site import Site, make_site
from devnet.transcript import blocks
from devnet.walkthrough import Walkthrough
from devnet.world import Party, World
from leasehold.chain import Answered, Challenged, FaultFiled, Pool

from .test_bad_input import address
from .test_reorg import another_chain

pytestmark = pytest.mark.slow

GUIDES = ROOT / "docs/guides"
HOUR, DAY = 3_600, 86_400
SEAT = 550  # a seat's price and the tenth that a fine takes first


@pytest.fixture
def alone(world: World) -> Iterator[Site]:
    with another_chain(world) as chain, make_site(chain, "--max", "40d", tick_seconds=0.5) as site:
        yield site


@pytest.fixture
def desk(nursery: Nursery, tmp_path: Path) -> Desk:
    return Desk(tmp_path, nursery)


def somebody(site: Site, name: str, tokens: int = 0, key: str = "") -> Party:
    """Somebody new who has a wallet, with that key where one is given, gas and so many tokens."""
    party = site.world.party(f"{name}-of-{site.renter.name}")
    site.world.fund(party.wallet(name, bytes.fromhex(key.removeprefix("0x")) if key else None), tokens=tokens)
    return party


async def scores(pool: Pool, seller: str) -> tuple[int, int]:
    """A provider's score as the guide computes it, and as the chain does."""
    (formula,) = blocks(GUIDES / "score.md", "python")
    names: dict[str, Callable[[int, int, int, int], int]] = {}
    exec(formula.text, None, names)
    account, slashed = await pool.account_of(seller), await (await pool.faults()).slashed_of(seller)
    params = await pool.params(await pool.params_version())
    broken = account.terminated + account.unstarted
    computed = names["score"](account.fees_paid, slashed, broken, params.min_stake_per_gpu)
    return computed, await (await pool.reputation()).score_of(seller)


def test_what_a_fault_costs(alone: Site, desk: Desk) -> None:
    lease = alone.rent("--for", "20d")
    arbiter = somebody(alone, "arbiter", key=alone.world.anvil.accounts[0].key)

    def dark() -> None:
        alone.host.kill()
        alone.renter("challenge", str(alone.machine), "--yes")
        assert len(alone.here(Challenged)) == 2
        alone.world.anvil.advance(601)

    def back() -> None:
        alone.host.start()
        alone.until(lambda: alone.here(FaultFiled))

    moments = {
        "the agent has answered": lambda: alone.until(lambda: alone.here(Answered)),
        "the agent has died and ten minutes after the next one": dark,
        "the agent is back": back,
        "two days": lambda: alone.world.anvil.advance(2 * DAY + 1),
    }
    terminals = {"": desk.of(alone.renter), "provider": desk.of(alone.provider), "arbiter": desk.of(arbiter)}
    with Walkthrough(terminals, moments) as reader:
        reader.walk(GUIDES / "faults.md")
    alone.renter("close", lease, "--yes")
    computed, score = Account(alone.world).pool(lambda pool: scores(pool, address(alone.provider)))
    assert 0 < computed == score


def test_how_a_machine_is_verified(alone: Site, desk: Desk) -> None:
    others = [somebody(alone, f"validator-{number}", tokens=SEAT) for number in range(4)]
    you, anvil = somebody(alone, "you", tokens=SEAT + 10), alone.world.anvil

    def all_of_them(*command: str) -> None:
        with ThreadPoolExecutor(len(others)) as threads:
            list(threads.map(lambda one: one(*command, "--yes"), others))

    def then(act: Callable[[], None], seconds: int) -> Callable[[], None]:
        """`act`, and later."""

        def done() -> None:
            act()
            anvil.advance(seconds)

        return done

    moments = {
        "three days": then(lambda: all_of_them("validator", "stake", "--approve"), 3 * DAY + 1),
        "a block": anvil.mine,
        "the others have committed": then(
            lambda: all_of_them("validator", "commit", "1", "--pass", "--score", "900"), 4 * HOUR
        ),
        "the others have revealed": then(lambda: all_of_them("validator", "reveal", "1"), 2 * HOUR),
    }
    with Walkthrough({"": desk.of(you), "renter": desk.of(alone.renter)}, moments) as reader:
        reader.walk(GUIDES / "verification.md")

"""Whether all is there that renting needs: each thing tried as it will be used, and what is wrong said as errors are.

LeaseholdError
├── NoPoolNamed
├── ClockApart
├── NothingToPayWith
├── PoolMayTakeNothing
├── NoAgentAnswers
└── NoSshClient
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final

from leasehold.chain import UNLIMITED, Deployment
from leasehold.client._client import PoolClient
from leasehold.client._connect import connect
from leasehold.client._locked_wallet import LockedWallet
from leasehold.errors import AgentError, GasFundsLow, LeaseholdError, SettingsError, error_type
from leasehold.home import Home
from leasehold.market import AllowanceMissing, Json, NotEnoughFunds, format_duration

MOST_APART: Final = 60
"""Seconds that this computer's clock may be behind the chain: requests are signed for a time."""
_ASKED = 8


@error_type("no-pool-named", problem="No pool is named", advice="name its deployment file.")
class NoPoolNamed(SettingsError):
    """Nothing says which pool is meant."""


@error_type(
    "clock-apart",
    problem="This computer's clock is {seconds:duration} behind the chain",
    advice="set it right.",
)
class ClockApart(LeaseholdError):
    """What is signed for a time would be refused."""

    seconds: int


@error_type("nothing-to-pay-with", problem="{address} has none of the pool's token", advice="send it some.")
class NothingToPayWith(NotEnoughFunds):
    """Neither the wallet nor its ledger holds anything."""

    address: str


@error_type(
    "pool-may-take-nothing",
    problem="The pool may take nothing from the wallet, and its ledger is empty",
    advice="let it take what you mean to spend.",
)
class PoolMayTakeNothing(AllowanceMissing):
    """The first rent would ask for it."""


@error_type(
    "no-agent-answers",
    problem="None of the {asked} machines' agents that were asked answers",
    advice="see whether this computer reaches the internet, and your IPFS node its peers.",
)
class NoAgentAnswers(AgentError):
    """No machine can be reached from here."""

    asked: int


@error_type("no-ssh-client", problem="There is no `ssh` here", advice="install OpenSSH's client.")
class NoSshClient(LeaseholdError):
    """A shell on a lease needs it."""


@dataclass(frozen=True)
class Diagnosis:
    """One thing that was tried. said: what was found. problem: what is wrong with it, and how to mend that."""

    what: str
    said: str
    problem: LeaseholdError | None = None

    def line(self, said: Callable[[LeaseholdError], str] = str) -> str:
        """What was found, or is wrong. said: how this face tells that."""
        return self.said if self.problem is None else said(self.problem)

    def to_json(self, said: Callable[[LeaseholdError], str] = str) -> dict[str, Json]:
        """For a program."""
        works, code = self.problem is None, self.problem.code if self.problem else None
        return {"what": self.what, "works": works, "said": self.line(said), "code": code}


@dataclass(frozen=True)
class Setup:
    """What is to be examined. wallet: `None` where there is none, whose `problem` says why. opens: whether its password
    may be asked for.
    """

    home: Home
    deployment: Path | None
    rpc: Sequence[str]
    ipfs: str
    wallet: LockedWallet | None
    problem: LeaseholdError | None = None
    opens: bool = True


Check = Callable[[], Awaitable[str]]


async def examine(setup: Setup) -> AsyncIterator[Diagnosis]:
    """Try everything, one after the other. What cannot be tried without what failed before is left out. Nothing is
    sent.
    """
    yield Diagnosis("version", f"{version('leasehold')}, Python {sys.version.split()[0]}")
    yield await _tried("ssh", _ssh)
    yield await _tried("wallet", lambda: _wallet(setup))
    deployments = list[Deployment]()

    async def deployment() -> str:
        if setup.deployment is None:
            raise NoPoolNamed
        deployments.append(Deployment.load(setup.deployment))
        pool = deployments[0]
        return f"{pool.controller} on chain {pool.chain_id}, {pool.token_symbol}"

    yield await _tried("pool", deployment)
    if not deployments:
        return
    wallet = setup.wallet
    opening = connect(
        deployments[0], wallet=wallet, rpc=setup.rpc, ipfs=setup.ipfs, home=setup.home, sends=False
    )
    try:
        client = await opening
    except LeaseholdError as error:
        yield Diagnosis("chain", ", ".join(setup.rpc), error)
        return
    try:
        async for diagnosis in _of_pool(client, has_wallet=wallet is not None):
            yield diagnosis
    finally:
        await client.close()


async def _of_pool(client: PoolClient, *, has_wallet: bool) -> AsyncIterator[Diagnosis]:
    yield await _tried("chain", lambda: _chain(client))
    yield await _tried("clock", lambda: _clock(client))
    if has_wallet:
        yield await _tried("gas", lambda: _gas(client))
        yield await _tried("money", lambda: _money(client))
    yield await _tried("ipfs", lambda: _ipfs(client))
    yield await _tried("agents", lambda: _agents(client))


async def _tried(what: str, check: Check) -> Diagnosis:
    try:
        return Diagnosis(what, await check())
    except LeaseholdError as error:
        return Diagnosis(what, error.problem, error)


async def _ssh() -> str:
    if (path := shutil.which("ssh")) is None:
        raise NoSshClient
    return path


async def _wallet(setup: Setup) -> str:
    if setup.wallet is None:
        assert setup.problem is not None
        raise setup.problem
    if setup.wallet.asks_each_time:
        await setup.wallet.unlock()
        return f"{setup.wallet.name}, {setup.wallet.address}, in a hardware wallet that answers"
    if not setup.opens:
        return f"{setup.wallet.name}, {setup.wallet.address}; nobody gave its password, so it was not opened"
    await setup.wallet.unlock()
    return f"{setup.wallet.name}, {setup.wallet.address}, opens"


async def _chain(client: PoolClient) -> str:
    head = await client.rpc.header()
    return f"chain {client.deployment.chain_id} at block {head.number if head else 0}"


async def _clock(client: PoolClient) -> str:
    """A chain that rests has old blocks: only a clock that is behind one is wrong for sure."""
    head = await client.rpc.header()
    behind = (head.timestamp if head else 0) - int(time.time())
    if behind > MOST_APART:
        raise ClockApart(behind)
    return "not behind the chain" if behind <= 0 else f"{format_duration(behind)} behind the chain"


async def _gas(client: PoolClient) -> str:
    balance = int(await client.rpc.call("eth_getBalance", (client.account, "latest")), 16)
    if balance == 0:
        raise GasFundsLow(client.account, 0, 10**15)
    return f"{balance / 10**18:.6f} of the chain's coin"


async def _money(client: PoolClient) -> str:
    funds, money = await client.renter().funds(), client.money
    if funds.ledger + funds.wallet == 0:
        raise NothingToPayWith(client.account)
    if funds.ledger == 0 and funds.allowance == 0:
        raise PoolMayTakeNothing
    may = "all of it" if funds.allowance == UNLIMITED else money.show(funds.allowance)
    wallet, ledger = money.show(funds.wallet), money.show(funds.ledger)
    return f"{wallet} in the wallet, of which the pool may take {may}; {ledger} in the ledger"


async def _ipfs(client: PoolClient) -> str:
    return f"{client.ipfs_address}, peer {(await client.ipfs.id()).peer_id}"


async def _agents(client: PoolClient) -> str:
    """Whether one of some machines' agents says something now."""
    listings = [listing for listing in await client.search() if listing.contact is not None][:_ASKED]
    if not listings:
        return "no machine is there to be asked"
    heard = await client.contacts().answering(listings)
    if not heard:
        raise NoAgentAnswers(len(listings))
    return f"{len(heard)} of {len(listings)} that were asked answer"

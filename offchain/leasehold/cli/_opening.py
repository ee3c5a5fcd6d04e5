"""How a command reaches its pool and the plan of what it wants, and what it says meanwhile."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from leasehold.cli._invocation import Invocation
from leasehold.cli._output import Output
from leasehold.client import LockedWallet, Observer, Plan, Plannable, PoolClient, Update, connect

if TYPE_CHECKING:
    from leasehold.chain import Receipt

P = TypeVar("P", bound=Plan[Any])


class Narrator(Observer):
    """Says on the terminal what is being waited for, and keeps in mind what Ctrl-C would leave behind."""

    def __init__(self, out: Output) -> None:
        self._out = out
        self._before = out.if_interrupted

    @contextmanager
    def working(self, what: str) -> Iterator[Update]:
        with self._out.working(what) as update:
            yield update

    def waiting(self, what: str) -> None:
        self._out.report(what)

    def signed(self, transaction: str, nonce: int) -> None:
        self._before = self._out.if_interrupted
        self._out.if_interrupted = (
            f"Interrupted while transaction {transaction} (nonce {nonce}) was under way: it may be mined all the same, "
            "and does then what was asked for. Look before you send it again, with `leasehold leases` or `wallet "
            "balance`."
        )

    def mined(self, receipt: Receipt) -> None:
        self._out.if_interrupted = (
            f"Interrupted after transaction {receipt.tx_hash} was mined: what it did stands, and nothing more was "
            "sent. `leasehold leases` and `leasehold wallet balance` show how things are."
        )

    def refused(self) -> None:
        self._out.if_interrupted = self._before


@asynccontextmanager
async def open_session(
    call: Invocation, *, signs: bool = False, account: bool = True
) -> AsyncIterator[PoolClient]:
    """Connect to the deployment's chain. Without `account` no wallet is needed.

    signs: the wallet's password is asked for at once, and the client may send. A dry run's may not.

    Raises:
        SettingsError: no deployment is named, or no such group is known. WrongChain, RpcUnavailable. WalletError.
    """
    signs = signs and not call.dry_run
    settings, deployment = call.settings, call.deployment
    wallet = None
    if signs or account:
        wallet = LockedWallet(call.home.keystore, call.chosen(), call.password)
    opening = connect(
        deployment,
        wallet=wallet,
        rpc=settings.rpc,
        ipfs=settings.ipfs,
        home=call.home,
        group=call.group,
        account=call.account,
        observer=Narrator(call.out),
        sends=signs,
        documents_timeout=settings.documents_timeout,
    )
    async with opening as client:
        if signs and client.group is None and wallet is not None:
            call.out.if_interrupted = "Interrupted: nothing was sent."
            await wallet.unlock()
        yield client


@asynccontextmanager
async def planned(call: Invocation, request: Plannable[P], *, signs: bool = True) -> AsyncIterator[P]:
    """The request's plan, for as long as its client is open. Raises as `open_session`, and why it cannot be done."""
    async with open_session(call, signs=signs) as client:
        yield await client.plan(request)

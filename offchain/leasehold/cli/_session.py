"""Where one command's parts are put together, and taken apart again in reverse."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import Deployment, KeyInfo, Pool, Rpc, Sender, Signer, Token
from leasehold.cli._settings import Settings
from leasehold.errors import SettingsError, WalletError
from leasehold.market import Money

if TYPE_CHECKING:
    from leasehold.cli._invocation import Invocation


@dataclass
class Session:
    """One command's view of the chain. `signer` and `sender` exist when the command asked for them."""

    settings: Settings
    deployment: Deployment
    rpc: Rpc
    pool: Pool
    token: Token
    wallet: KeyInfo | None
    signer: Signer | None
    sender: Sender | None

    @property
    def money(self) -> Money:
        return Money.of(self.deployment)

    @property
    def account(self) -> str:
        """The wallet's address.

        Raises:
            WalletError: the command was started without a wallet.
        """
        if self.wallet is None:
            raise WalletError("This needs a wallet: make one with `leasehold wallet new NAME`.")
        return self.wallet.address

    async def now(self) -> int:
        """Unix seconds by which the next block will judge: the head's, or the clock's if that is later."""
        header = await self.rpc.header()
        return max(int(time.time()), header.timestamp if header else 0)


@asynccontextmanager
async def open_session(call: Invocation, *, signs: bool, account: bool) -> AsyncIterator[Session]:
    """Connect to the deployment's chain, and unlock the wallet if the command signs.

    Raises:
        SettingsError: no deployment is named. WrongChain, RpcUnavailable. WalletError.
    """
    settings = call.settings
    if settings.deployment is None:
        raise SettingsError(
            "No pool is named: pass --deployment FILE before the command, or set LEASEHOLD_DEPLOYMENT."
        )
    deployment = Deployment.load(settings.deployment)
    wallet = call.chosen() if signs or account else None
    async with Rpc(settings.rpc) as rpc:
        await rpc.check_chain(
            deployment
        )  # before the password: nobody should unlock a key for the wrong chain
        signer: Signer | None = None
        if signs and wallet is not None:
            signer = await call.keystore.unlock(wallet.name, call.password(wallet.name))
        sender = Sender(rpc, signer) if signer else None
        pool, token = Pool(rpc, deployment, sender), Token(rpc, deployment.token, sender)
        yield Session(settings, deployment, rpc, pool, token, wallet, signer, sender)

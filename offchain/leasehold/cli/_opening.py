"""How a command reaches the chain: its session, opened and closed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from leasehold.chain import Deployment, KeyInfo, Pool, Rpc, Sender, Sends, Signer, Token, TypedData
from leasehold.cli._acting import AsDelegate, Proposed, Proposing
from leasehold.cli._groups import Groups
from leasehold.cli._invocation import Invocation
from leasehold.cli._proposing import file_proposal
from leasehold.cli._session import Session
from leasehold.errors import ContractError, SettingsError


class _Unlocking:
    """A wallet that asks for its password when something is to be signed, and not before."""

    def __init__(self, call: Invocation, wallet: KeyInfo) -> None:
        self._call = call
        self._wallet = wallet
        self._opened: Signer | None = None

    @property
    def address(self) -> str:
        return self._wallet.address

    async def open(self) -> Signer:
        if self._opened is None:
            password = self._call.password(self._wallet.name)
            self._opened = await self._call.keystore.unlock(self._wallet.name, password)
        return self._opened

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        return await (await self.open()).sign_transaction(transaction)

    async def sign_typed_data(self, message: TypedData) -> bytes:
        return await (await self.open()).sign_typed_data(message)


@asynccontextmanager
async def open_session(
    call: Invocation, *, signs: bool = False, account: bool = True
) -> AsyncIterator[Session]:
    """Connect to the deployment's chain. Without `account` no wallet is needed.

    signs: the wallet's password is asked for at once, and the session gets a sender. A dry run's gets none: it can send
    nothing.
    A group's command ends where it would send something: that becomes a proposal, written on the way out.

    Raises:
        SettingsError: no deployment is named, or no such group is known. WrongChain, RpcUnavailable. WalletError.
    """
    signs = signs and not call.dry_run
    settings = call.settings
    if settings.deployment is None:
        raise SettingsError(
            "No pool is named: pass --deployment FILE before the command, or set LEASEHOLD_DEPLOYMENT."
        )
    deployment = Deployment.load(settings.deployment)
    other = call.acting.account_for(Groups(settings.home), deployment.accounts)
    wallet = call.chosen() if signs or account else None
    async with AsyncExitStack() as stack:
        rpc = await stack.enter_async_context(Rpc(settings.rpc, report=call.out.report))
        await rpc.check_chain(
            deployment
        )  # before the password: nobody should unlock a key for the wrong chain
        signer = _Unlocking(call, wallet) if wallet else None
        reader, acting = Pool(rpc, deployment), call.acting
        sender: Sends | None = None
        if acting.group is not None and other is not None:
            sender = Proposing(other, reader) if signs else None
        elif signs and signer is not None:
            await signer.open()
            own = Sender(rpc, signer, report=call.out.report)
            sender = AsDelegate(own, other, reader) if other is not None else own
        pool, token = Pool(rpc, deployment, sender), Token(rpc, deployment.token, sender)
        session = Session(
            settings, deployment, rpc, pool, token, wallet, signer, sender, stack, acting=acting, other=other
        )
        try:
            yield session
        except Proposed as proposed:
            await file_proposal(call, session, proposed.calls)
        except ContractError as refused:  # said outside, where nobody knows the token any more
            refused.in_money(session.money.show)
            raise

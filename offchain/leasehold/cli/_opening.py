"""How a command reaches the chain: its session, opened and closed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager

from eth_utils.crypto import keccak

from leasehold.chain import Deployment, KeyInfo, Pool, Receipt, Rpc, Sender, Sends, Signer, Token, TypedData
from leasehold.cli._acting import AsDelegate, Proposed, Proposing
from leasehold.cli._groups import Groups
from leasehold.cli._invocation import Invocation
from leasehold.cli._proposing import file_proposal
from leasehold.cli._session import Session
from leasehold.errors import ContractError, LeaseholdError, SettingsError


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
        raw = await (await self.open()).sign_transaction(transaction)
        name, nonce = f"0x{keccak(raw).hex()}", int(transaction["nonce"])
        self._call.out.if_interrupted = (
            f"Interrupted while transaction {name} (nonce {nonce}) was under way: it may be mined all the same, and "
            "does then what was asked for. Look before you send it again, with `leasehold leases` or `wallet balance`."
        )
        return raw

    async def sign_typed_data(self, message: TypedData) -> bytes:
        return await (await self.open()).sign_typed_data(message)


class _Counting:
    """Sends, and keeps in mind what Ctrl-C would leave behind."""

    def __init__(self, sender: Sends, call: Invocation) -> None:
        self._sender = sender
        self._call = call

    @property
    def address(self) -> str:
        return self._sender.address

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        before = self._call.out.if_interrupted
        try:
            receipt = await self._sender.send(to, data, value)
        except LeaseholdError:
            self._call.out.if_interrupted = before
            raise
        self._call.out.if_interrupted = (
            f"Interrupted after transaction {receipt.tx_hash} was mined: what it did stands, and nothing more was "
            "sent. `leasehold leases` and `leasehold wallet balance` show how things are."
        )
        return receipt


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
            call.out.if_interrupted = "Interrupted: nothing was sent."
            await signer.open()
            own = _Counting(Sender(rpc, signer, report=call.out.report), call)
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
            refused.in_money(session.money)
            raise

"""The front door: from a deployment file and a wallet to a pool in which things can be done."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Generator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any

from eth_utils.crypto import keccak

from leasehold.chain import (
    Deployment,
    Pool,
    Receipt,
    Rpc,
    Sender,
    Sends,
    Signer,
    Token,
    TypedData,
    asks_each_time,
    signer_of,
)
from leasehold.chain.typed import Group, read_safe
from leasehold.client._address import parse_address
from leasehold.client._client import PoolClient
from leasehold.client._gasless import GaslessBy, GaslessSender
from leasehold.client._locked_wallet import LockedWallet, Password
from leasehold.client._observer import Observer
from leasehold.client._on_behalf import AsDelegate, Proposing
from leasehold.client._permits import WithPermit
from leasehold.client._safes import SafeAt
from leasehold.client._tenant_errors import GaslessForOthers, TwoActors
from leasehold.errors import ContractError, KeyMissing, LeaseholdError, WalletError
from leasehold.home import DEFAULT_HOME, Home

if TYPE_CHECKING:
    from eth_account.signers.local import LocalAccount
    from web3 import AsyncWeb3

DEFAULT_RPC = ("http://127.0.0.1:8545",)
DEFAULT_IPFS = "/ip4/127.0.0.1/tcp/5001"
_UNASKED = 45.0
"""Seconds after which a transaction that is not mined is signed again, at a higher price."""
_ONCE = math.inf
"""The same where somebody would be asked on his device to sign what looks like a second payment."""


class _Observed:
    """Signs, and says what of it may be mined from now on."""

    def __init__(self, signer: Signer, observer: Observer) -> None:
        self._signer = signer
        self._observer = observer

    @property
    def address(self) -> str:
        return self._signer.address

    @property
    def asks_each_time(self) -> bool:
        return asks_each_time(self._signer)

    async def sign_transaction(self, transaction: Mapping[str, int | str | bytes]) -> bytes:
        raw = await self._signer.sign_transaction(transaction)
        self._observer.signed(f"0x{keccak(raw).hex()}", int(transaction["nonce"]))
        return raw

    async def sign_typed_data(self, message: TypedData) -> bytes:
        return await self._signer.sign_typed_data(message)


class _Counting:
    """Sends, and says what of it was mined."""

    def __init__(self, sender: Sends, observer: Observer) -> None:
        self._sender = sender
        self._observer = observer

    @property
    def address(self) -> str:
        return self._sender.address

    async def send(self, to: str, data: bytes = b"", value: int = 0) -> Receipt:
        try:
            receipt = await self._sender.send(to, data, value)
        except LeaseholdError:
            self._observer.refused()
            raise
        self._observer.mined(receipt)
        return receipt


class Connecting(AbstractAsyncContextManager[PoolClient]):
    """A connection that is about to be made: enter it with `async with`, or await it and close the client yourself."""

    def __init__(self, opening: AbstractAsyncContextManager[PoolClient]) -> None:
        self._opening = opening

    async def __aenter__(self) -> PoolClient:
        client = await self._opening.__aenter__()
        client.opening = self._opening
        return client

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._opening.__aexit__(kind, error, trace)

    def __await__(self) -> Generator[object, None, PoolClient]:
        return self.__aenter__().__await__()


def connect(
    deployment: Deployment | str | Path,
    *,
    wallet: str | Signer | LocalAccount | None = None,
    password: Password | None = None,
    rpc: str | Sequence[str] | None = None,
    w3: AsyncWeb3[Any] | None = None,
    ipfs: str = DEFAULT_IPFS,
    home: str | Path | Home = DEFAULT_HOME,
    group: Group | SafeAt | str | None = None,
    account: str | None = None,
    observer: Observer | None = None,
    sends: bool = True,
    documents_timeout: float = 10.0,
    docker_config: Path | None = None,
    gasless: GaslessBy | None = None,
) -> Connecting:
    """Open a pool.

        async with leasehold.connect("pool.json", wallet="me", password="…") as pool:
            print(await pool.search("model ~ H100 and price < 2"))

    In a notebook `pool = await leasehold.connect(…)` does as well; `await pool.close()` ends it.

    Args:
        deployment: the pool's file, or what is in it.
        wallet: the name of one in the home's keystore, eth-account's `LocalAccount`, or anything that signs, such as a
            `LedgerSigner`. Without one it is the default account of `w3`, if that has one; else the pool can be read.
        password: of the wallet in the keystore, or what is asked for it, once, when something is first signed; a wallet
            that is held open (`UnlockedWallets`) needs none, and one in a device only to open results.
        rpc: addresses of nodes, the preferred first; beside `w3`, those that are asked where it does not answer.
        w3: a web3.py client of your own. All that is read and sent goes through its provider and its middleware; it
            stays yours to close.
        ipfs: multiaddr of your own Kubo node. It is not asked before it is needed.
        home: the folder with wallets, sessions and the pool's index; the index is made anew where it is missing.
        group: the group (or its name in the home), or the Safe (`SafeAt`), whose proposals are to be made: nothing is
            sent.
        account: the account whose delegate the wallet is: it pays from its ledger.
        observer: told what is being waited for, asked on a device, signed and mined.
        sends: whether transactions may be sent; where not, a wallet signs words to agents and nothing else.
        documents_timeout: seconds to wait for one machine's document.
        docker_config: the file of `docker login`, whose logins find private images by their tags; they go to no
            machine.
        gasless: a gateway that sends what the wallet signs, for a wallet without the chain's coin. Everything is paid
            from the ledger then, the gateway's fee with it.

    Raises:
        SettingsError: the deployment file cannot be read, or no such group is known. KeyMissing. InvalidInput: the
        account is no address, or there is a group besides. WrongChain: the node serves another chain. RpcUnavailable.
    """
    if group is not None and account is not None:
        raise TwoActors
    if gasless is not None and (group is not None or account is not None):
        raise GaslessForOthers
    folder = home if isinstance(home, Home) else Home(Path(home).expanduser())
    return Connecting(
        _opened(
            deployment if isinstance(deployment, Deployment) else Deployment.load(deployment),
            _signer(folder, wallet, password, w3),
            (rpc,) if isinstance(rpc, str) else rpc,
            w3,
            ipfs,
            folder,
            folder.groups.get(group) if isinstance(group, str) else group,
            account,
            observer or Observer(),
            sends,
            documents_timeout,
            docker_config,
            gasless,
        )
    )


def _signer(
    home: Home,
    wallet: str | Signer | LocalAccount | None,
    password: Password | None,
    w3: AsyncWeb3[Any] | None,
) -> Signer | None:
    if wallet is None:
        return _default_account(w3)
    if not isinstance(wallet, str):
        return wallet if isinstance(wallet, LockedWallet) else signer_of(wallet)
    known = {kept.name: kept for kept in home.keystore.list()}
    if wallet not in known:
        raise KeyMissing(wallet)
    return LockedWallet(home, known[wallet], password if password is not None else _nobody)


def _nobody(name: str) -> str:
    raise WalletError(f"Wallet `{name}` has a password: give it, or a function that is asked for it.")


def _default_account(w3: AsyncWeb3[Any] | None) -> Signer | None:
    if w3 is None or not w3.eth.default_account:
        return None
    from leasehold.chain import Web3Signer

    return Web3Signer(w3)


@asynccontextmanager
async def _opened(
    deployment: Deployment,
    signer: Signer | None,
    rpcs: Sequence[str] | None,
    w3: AsyncWeb3[Any] | None,
    ipfs: str,
    home: Home,
    group: Group | SafeAt | None,
    account: str | None,
    observer: Observer,
    sends: bool,
    documents_timeout: float,
    docker_config: Path | None,
    gasless: GaslessBy | None,
) -> AsyncIterator[PoolClient]:
    other = parse_address(account) if account is not None else None
    async with AsyncExitStack() as stack:
        others: Sequence[str | AsyncWeb3[Any]] = rpcs or ()
        nodes = (w3, *others) if w3 is not None else others if rpcs is not None else DEFAULT_RPC
        rpc = await stack.enter_async_context(Rpc(nodes, report=observer.waiting))
        await rpc.check_chain(deployment)
        if isinstance(group, SafeAt):
            group = await read_safe(rpc, parse_address(group.address), deployment.chain_id)
        if group is not None:
            other = group.address(deployment.accounts)
        reader = Pool(rpc, deployment)
        sender: Sends | None = None
        locked = signer if isinstance(signer, LockedWallet) else None
        if locked is not None:
            locked.tell = observer.asked_on_device
        signer = _Observed(signer, observer) if signer is not None else None
        if sends and gasless is not None and signer is not None:
            sender = GaslessSender(rpc, signer, reader, gasless, observer)
        elif sends:
            sender = _sender(rpc, signer, reader, observer, other, is_group=group is not None)
        client = PoolClient(
            home, deployment, rpc, Pool(rpc, deployment, sender), Token(rpc, deployment.token, sender), signer, sender,
            stack, other, group, observer, ipfs, documents_timeout,
            docker_config, locked, w3,
        )  # fmt: skip
        try:
            yield client
        except ContractError as refused:  # said outside, where nobody knows the token any more
            refused.in_money(client.money)
            raise


def _sender(
    rpc: Rpc, signer: Signer | None, reader: Pool, observer: Observer, other: str | None, *, is_group: bool
) -> Sends | None:
    if is_group:
        assert other is not None
        return Proposing(other, reader)
    if signer is None:
        return None
    bump_after = _ONCE if asks_each_time(signer) else _UNASKED
    own = _Counting(Sender(rpc, signer, bump_after=bump_after, report=observer.waiting), observer)
    if other is not None:
        return AsDelegate(own, other, reader)
    return WithPermit(own, signer, reader, Token(rpc, reader.deployment.token))

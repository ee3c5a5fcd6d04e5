"""Fixtures that every area shares: a chain of one's own, bare or with a pool on it."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from devnet.anvil import Anvil
from devnet.contracts import deploy_fast
from leasehold.chain import Deployment, LocalSigner, Pool, Rpc, Sender, Token


@dataclass(frozen=True)
class PoolState:
    """A chain with a deployed pool, to start others from. deployment: the file that deploying wrote."""

    state: Path
    deployment: Path


@dataclass(frozen=True)
class PoolChain:
    """A running chain with a pool and funded accounts: 0 deployed it and owns it."""

    anvil: Anvil
    deployment: Deployment
    rpc: Rpc

    def signer(self, account: int) -> LocalSigner:
        return LocalSigner(self.anvil.accounts[account].key)

    def address(self, account: int) -> str:
        return self.anvil.accounts[account].address

    def sender(self, account: int) -> Sender:
        return Sender(self.rpc, self.signer(account), poll=0.01)

    def pool(self, account: int | None = None) -> Pool:
        """The pool's binding, with the account's key if one is named."""
        return Pool(self.rpc, self.deployment, None if account is None else self.sender(account))

    def token(self, account: int | None = None) -> Token:
        return Token(self.rpc, self.deployment.token, None if account is None else self.sender(account))


@pytest.fixture
def anvil() -> Iterator[Anvil]:
    """A bare chain."""
    with Anvil() as chain:
        yield chain


@pytest.fixture(scope="session")
def pool_state(tmp_path_factory: pytest.TempPathFactory) -> PoolState:
    """Deploys once; what is started from it costs 0.1 s."""
    folder = tmp_path_factory.mktemp("pool")
    with Anvil() as chain:
        deployment = deploy_fast(chain.url, folder)
        return PoolState(chain.save(folder / "state.json"), deployment)


@pytest.fixture
async def chain(pool_state: PoolState) -> AsyncIterator[PoolChain]:
    """A chain of the test's own with a pool on it."""
    anvil = Anvil()
    anvil.start(state=pool_state.state)
    try:
        async with Rpc([anvil.url]) as rpc:
            yield PoolChain(anvil, Deployment.load(pool_state.deployment), rpc)
    finally:
        anvil.stop()

"""The command line over a real chain: Typer's runner, Anvil with a pool, keystores of Anvil's accounts."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import pytest
from typer.testing import CliRunner

from devnet.anvil import Anvil
from leasehold.chain import Deployment, Keystore
from leasehold.cli import app

PASSWORD = "correct horse"


class PoolState(Protocol):
    """What the shared fixture `pool_state` gives."""

    @property
    def state(self) -> Path: ...
    @property
    def deployment(self) -> Path: ...


@dataclass
class Ran:
    """How a command ended. `json` is stdout, which has to be one document."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@dataclass
class Cli:
    """A person at a terminal: a home of their own, a chain, and a wallet for each name."""

    home: Path
    deployment: Path
    rpc: str
    ipfs: str = "/ip4/127.0.0.1/tcp/1"
    env: dict[str, str] = field(default_factory=dict)

    def __call__(self, *args: str, wallet: str | None = None, typed: str = "", ok: bool = True) -> Ran:
        """Run a command; `ok` demands that it ends well."""
        env = {
            "LEASEHOLD_HOME": str(self.home),
            "LEASEHOLD_DEPLOYMENT": str(self.deployment),
            "LEASEHOLD_RPC": self.rpc,
            "LEASEHOLD_IPFS": self.ipfs,
            "LEASEHOLD_PASSWORD": PASSWORD,
            "LEASEHOLD_DOCUMENTS_TIMEOUT": "5",
            "COLUMNS": "200",
            "NO_COLOR": "1",
            **({"LEASEHOLD_WALLET": wallet} if wallet else {}),
            **self.env,
        }
        result = CliRunner(env=env).invoke(app, args, input=typed)
        ran = Ran(result.exit_code, result.stdout, result.stderr)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        if ok:
            assert ran.code == 0, f"{args} ended with {ran.code}: {ran.err}{ran.out}"
        else:
            assert ran.code != 0, f"{args} ended well: {ran.out}"
            assert "Traceback" not in ran.err
        return ran


@dataclass
class Pool:
    """A running chain with a pool on it; account 0 owns the pool."""

    anvil: Anvil
    deployment: Deployment
    path: Path


@pytest.fixture
def pool(pool_state: PoolState) -> Iterator[Pool]:
    anvil = Anvil()
    anvil.start(state=pool_state.state)
    try:
        yield Pool(anvil, Deployment.load(pool_state.deployment), pool_state.deployment)
    finally:
        anvil.stop()


@pytest.fixture
def cli(tmp_path: Path, pool: Pool) -> Cli:
    """Wallets `renter` (account 1) and `provider` (account 2), with keystores that open in no time."""
    home = tmp_path / "home"
    keystore = Keystore(home / "keys", iterations=2)
    for name, account in (("renter", 1), ("provider", 2)):
        key = bytes.fromhex(pool.anvil.accounts[account].key.removeprefix("0x"))
        asyncio.run(keystore.new(name, PASSWORD, key=key))
    return Cli(home, pool.path, pool.anvil.url)

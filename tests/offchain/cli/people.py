"""More people at the command line than the two of `conftest`, and what they share."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

from leasehold.chain import Keystore

from .conftest import PASSWORD, Cli, Host, Pool, served, signer_of

# Anvil's accounts, which all hold the pool's token and gas.
SIGNERS = {"ada": 4, "grace": 5, "edsger": 6, "barbara": 7}


def add_wallets(cli: Cli, pool: Pool) -> dict[str, str]:
    """Wallets of the signers in the one home, by name; returns their addresses."""
    keystore = Keystore(cli.home / "keys", iterations=2)
    for name, account in SIGNERS.items():
        key = bytes.fromhex(pool.anvil.accounts[account].key.removeprefix("0x"))
        asyncio.run(keystore.new(name, PASSWORD, key=key))
    return {name: pool.anvil.accounts[account].address for name, account in SIGNERS.items()}


def tampered(path: Path, change: Any) -> Path:
    """A copy of a JSON file that `change` was done to."""
    document = json.loads(path.read_text())
    change(document)
    other = path.with_name(f"tampered-{path.name}")
    other.write_text(json.dumps(document))
    return other


def join_another(market: Cli, host: Host, *, operator: int, options: tuple[str, ...] = ()) -> int:
    """One more machine like the host's, served by another of Anvil's accounts; returns its id."""
    document = json.loads(host.path.read_text())
    served(document, host.pool, signer_of(host.pool, operator))
    path = host.path.with_name(f"machine-{operator}.json")
    path.write_text(json.dumps(document))
    wanted = ("--price", "2.5", *options, "--approve", "--yes", "--json")
    joined = market("provider", "join", str(path), *wanted, wallet="provider").json
    return int(joined["machine"])

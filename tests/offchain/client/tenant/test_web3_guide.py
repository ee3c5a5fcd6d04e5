"""The guide on web3.py: its programs, run as they stand, one after the other."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from pathlib import Path

import pytest

from .conftest import OTHER, World

GUIDE = Path(__file__).parents[4] / "docs/guides/your-own-web3.md"


async def run(program: str, environment: dict[str, str], folder: Path) -> str:
    """What a program prints. It must end well."""
    ran = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        program,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, failed = await ran.communicate()
    assert ran.returncode == 0, failed.decode()
    return said.decode()


@pytest.mark.slow
async def test_its_programs_do_what_it_says(world: World, tmp_path: Path) -> None:
    programs = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(programs) == 2
    environment = {
        "LEASEHOLD_DEPLOYMENT": str(world.chain.deployment.save(tmp_path)),
        "LEASEHOLD_RPC": world.chain.anvil.url,
        "LEASEHOLD_HOME": str(tmp_path / "home"),
        "WALLET_KEY": world.chain.anvil.accounts[OTHER].key,
    }
    own, given = [await run(program, environment, tmp_path) for program in programs]
    assert "asked for eth_sendRawTransaction\n" in own
    assert "ledger: 10 " in own
    assert "machines: 1\n" in given
    assert re.search(r"^gas: \d+$", given, re.MULTILINE)
    assert re.search(r"^refused: 0x[0-9a-f]{8}", given, re.MULTILINE)
    assert await world.chain.pool().balance_of(world.address(OTHER)) == 6 * 10**18

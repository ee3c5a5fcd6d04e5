"""Whoever ends the sentinel silences no machine: it is begun again, knows what the first one knew, and answers once."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.agent.test_full_host import OPERATOR, PROVIDER, WINDOW, Host, challenge, children, lent, standing

from devnet.engine import Engine
from devnet.patience import patient
from leasehold.chain import Pool, Sender
from leasehold.errors import ContractError
from leasehold_agent.chain import Told
from leasehold_agent.chain._sentinel import Sentinel

pytestmark = pytest.mark.slow

# As `run` has it, but for the agent itself.
BESIDE = """
import sys
from leasehold_agent._config import load_settings
from leasehold_agent._logs import configure_logs
from leasehold_agent.chain import sentinel_beside
configure_logs()
with sentinel_beside(load_settings()):
    print("beside", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def settings_file(chain: Any, docker_engine: Engine, tmp_path: Path) -> Path:
    """Of an agent whose operator's key is here."""
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    (state / "operator.key").write_text(chain.anvil.accounts[OPERATOR].key)
    (state / "operator.key").chmod(0o600)
    file = tmp_path / "agent.toml"
    lines = {
        "state_dir": f'"{state}"',
        "deployment": f'"{chain.deployment.save(tmp_path / "pool")}"',
        "rpc": f'["{chain.anvil.url}"]',
        "docker": f'"{docker_engine.url}"',
        "owner": f'"{chain.address(PROVIDER)}"',
    }
    file.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    return file


@pytest.fixture
def beside_of(settings_file: Path, tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Begins a process of a program that has a sentinel beside it; what both say goes to `said`."""
    with contextlib.ExitStack() as stack:

        def begin(program: str) -> subprocess.Popen[str]:
            said = stack.enter_context((tmp_path / "said").open("w"))
            process = subprocess.Popen(
                [sys.executable, "-c", program],
                stdin=subprocess.PIPE,
                stdout=said,
                stderr=said,
                text=True,
                env={**os.environ, "LEASEHOLD_AGENT_CONFIG": str(settings_file)},
            )
            stack.callback(process.communicate)
            stack.callback(process.kill)
            ready = time.monotonic() + patient(90)
            while "beside" not in (tmp_path / "said").read_text():
                assert process.poll() is None
                assert time.monotonic() < ready
                time.sleep(0.02)
            return process

        yield begin


@pytest.fixture
def beside(beside_of: Callable[[str], subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """As `run` has it."""
    return beside_of(BESIDE)


async def reached(ready: Callable[[], Any]) -> Any:
    """What `ready` answers, once that is something."""
    async with asyncio.timeout(patient(90)):
        while True:
            answer = ready()
            if inspect.isawaitable(answer):
                answer = await answer
            if answer:
                return answer
            await asyncio.sleep(0.02)


def is_restarter(process: int) -> bool:
    return b"_restarter.py" in Path(f"/proc/{process}/cmdline").read_bytes()


def spoil(settings: Path) -> None:
    settings.write_text("no settings = [")


def lines_of(file: Path) -> list[str]:
    return file.read_text().splitlines()


async def both(agent: int) -> tuple[int, int]:
    """The restarter that has become one, and the sentinel."""
    (restarter,) = await reached(lambda: children(agent))
    await reached(lambda: is_restarter(restarter))
    (sentinel,) = await reached(lambda: children(restarter))
    return restarter, sentinel


async def test_a_sentinel_that_was_killed_answers_all_the_same(
    chain: Any, beside: subprocess.Popen[str], settings_file: Path, tmp_path: Path
) -> None:
    """By the settings with which the agent runs, whatever is written where those came from."""
    machine, lease, _ = await lent(chain)
    restarter, first = await both(beside.pid)
    spoil(settings_file)
    os.kill(first, signal.SIGKILL)
    asked = await challenge(chain, machine, lease)
    chain.anvil.advance(WINDOW // 4)

    async def answered() -> bool:
        return await standing(chain, machine) != asked

    await reached(answered)
    assert children(restarter) - {first}
    assert any("started again" in line and '"code": -9' in line for line in lines_of(tmp_path / "said"))


async def test_the_process_between_is_no_third_copy(beside: subprocess.Popen[str]) -> None:
    restarter, _ = await both(beside.pid)
    lines = lines_of(Path(f"/proc/{restarter}/smaps_rollup"))
    own = sum(int(line.split()[1]) for line in lines if line.startswith("Private_"))
    assert own < 10 << 10  # KiB; as a fork it has more than 16 MiB after a while


async def test_one_that_cannot_become_small_watches_as_it_is(
    beside_of: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    process = beside_of("import sys; sys.executable = '/none/python'" + BESIDE)
    (restarter,) = children(process.pid)
    await reached(lambda: any("/none/python" in line for line in lines_of(tmp_path / "said")))
    assert not is_restarter(restarter)
    assert len(children(restarter)) == 1


async def test_neither_outlives_the_agent(beside: subprocess.Popen[str]) -> None:
    restarter, first = await both(beside.pid)
    os.kill(first, signal.SIGKILL)
    (second,) = await reached(lambda: children(restarter) - {first})
    beside.kill()
    await reached(lambda: not any(Path(f"/proc/{process}").exists() for process in (restarter, second)))


async def test_a_killed_restarter_leaves_no_sentinel_that_nobody_watches(
    beside: subprocess.Popen[str],
) -> None:
    """Its silence is told of then (`Told.lacks`), and the agent answers itself."""
    restarter, first = await both(beside.pid)
    os.kill(restarter, signal.SIGKILL)
    await reached(lambda: not Path(f"/proc/{first}").exists())
    assert beside.poll() is None


async def test_an_answer_whose_sender_did_not_see_it_mined(chain: Any) -> None:
    """Whoever comes after sends none beside it where the node counts what waits, and nothing where it is mined."""
    machine, lease, _ = await lent(chain)
    asked, signer = await challenge(chain, machine, lease), chain.signer(OPERATOR)
    chain.anvil.advance(WINDOW // 4)
    chain.anvil.mine()

    def begun() -> Sentinel:
        pool = Pool(chain.rpc, chain.deployment, Sender(chain.rpc, signer, poll=0.02, overtakes=10**17))
        return Sentinel(chain.rpc, pool, Told(), signer.address, chain.address(PROVIDER), Host().alive)

    mined, second = _mined(chain, signer.address), begun()
    chain.anvil.request("evm_setAutomine", False)
    try:
        first = asyncio.create_task(begun().look())
        sent = await reached(lambda: _pending(chain, signer.address))
        first.cancel()
        await asyncio.wait({first})
        with pytest.raises(ContractError, match="not challenged"):
            await second.look()
        assert _pending(chain, signer.address) == sent
        chain.anvil.mine()
        assert await second.look() == []
    finally:
        chain.anvil.request("evm_setAutomine", True)
    assert await standing(chain, machine) != asked
    assert _mined(chain, signer.address) == mined + 1


async def test_two_that_answer_at_once_answer_once(chain: Any) -> None:
    """As agent and sentinel may: the later one finds that nothing stands any more, or is told so by the chain."""
    machine, lease, operator = await lent(chain)
    asked = await challenge(chain, machine, lease)
    chain.anvil.advance(WINDOW // 4)
    chain.anvil.mine()
    looks = [
        Sentinel(chain.rpc, pool, Told(), chain.address(OPERATOR), chain.address(PROVIDER), Host().alive)
        for pool in (operator, chain.pool(OPERATOR))
    ]
    ends = await asyncio.gather(*(each.look() for each in looks), return_exceptions=True)
    assert [machine] in ends, ends
    assert await standing(chain, machine) != asked


def _pending(chain: Any, account: str) -> dict[str, Any]:
    """Hashes of the account's transactions that no block has yet."""
    pending = chain.anvil.request("txpool_content")["pending"]
    mine = {address.lower(): each for address, each in pending.items()}.get(account.lower(), {})
    return {nonce: transaction["hash"] for nonce, transaction in mine.items()}


def _mined(chain: Any, account: str) -> int:
    return int(chain.anvil.request("eth_getTransactionCount", account, "latest"), 16)

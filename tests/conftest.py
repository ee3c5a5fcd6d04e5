"""Fixtures that every area shares: a chain of one's own, bare or with a pool on it."""

import fcntl
import gc
import os
import signal
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from _pytest.terminal import TerminalReporter
from hypothesis import HealthCheck, settings

from devnet import copies
from devnet.anvil import Anvil
from devnet.contracts import deploy_fast
from devnet.pool import PoolChain
from devnet.postgres import Postgres
from leasehold.chain import Deployment, Rpc

# What runs in the background ignores Ctrl-C, and so do its children: those that a test presses it for must not.
signal.signal(signal.SIGINT, signal.default_int_handler)


# However slow the machine is, no example is one too many, or takes too long.
settings.register_profile("any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any machine")

# What takes longest begins first where several run side by side, so that nobody waits for one file at the end.
LONGEST_FIRST = ("e2e", "scripts", "adversary", "agent")


LONGEST_ID = 40


def pytest_make_parametrize_id(val: object) -> str | None:
    """A long value names its test by its beginning alone: one of 16 MiB made each worker send 64 MiB of names."""
    if isinstance(val, str | bytes) and len(val) > LONGEST_ID:
        return f"{val[:LONGEST_ID]!r} and so on"
    return None


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.register(copies)


def pytest_configure() -> None:
    gc.disable()  # what is imported and collected stays: docs/decisions/0352


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Files of the long areas first, where several run side by side; else as they stand, cheapest first."""
    if config.option.copies > 1:
        items.sort(key=lambda item: _rank(item.path))


def pytest_collection_finish() -> None:
    """What has been imported and collected stays, and no collection of garbage looks through it, then or later."""
    gc.collect()
    gc.freeze()
    gc.enable()


NO_TIME = "there was no time left for it"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    """Who has until then (unix seconds) begins nothing afterwards: docs/decisions/0329."""
    if time.time() >= float(os.environ.get("LEASEHOLD_TESTS_UNTIL", "inf")):
        pytest.skip(NO_TIME)


def pytest_terminal_summary(terminalreporter: TerminalReporter) -> None:
    """That something was not begun stands where whoever reads the end sees it."""
    skipped = [
        report for report in terminalreporter.stats.get("skipped", ()) if NO_TIME in report.longreprtext
    ]
    if skipped:
        files = sorted({report.location[0] for report in skipped})
        terminalreporter.section("not begun, for want of time")
        terminalreporter.write_line(f"{len(skipped)} tests of {', '.join(files)}")


def _rank(path: Path) -> int:
    area = path.relative_to(Path(__file__).parent).parts[0]
    return LONGEST_FIRST.index(area) if area in LONGEST_FIRST else len(LONGEST_FIRST)


@dataclass(frozen=True)
class PoolState:
    """A chain with a deployed pool, to start others from. deployment: the file that deploying wrote."""

    state: Path
    deployment: Path


@pytest.fixture
def anvil() -> Iterator[Anvil]:
    """A bare chain."""
    with Anvil() as chain:
        yield chain


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A database server that all tests share, each with databases of its own. Who stops it starts one of its own."""
    with Postgres() as server:
        yield server


@pytest.fixture
def postgres_url(postgres: Postgres) -> str:
    """A new database."""
    return postgres.make()


@pytest.fixture(scope="session")
def pool_state(tmp_path_factory: pytest.TempPathFactory) -> PoolState:
    """Deploys once, for all copies of this process; what is started from it costs 0.1 s."""
    folder = copies.common_folder(tmp_path_factory) / "pool"
    folder.mkdir(exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # who comes later finds it made
        made = folder / "made"
        if not made.exists():
            making = Path(tempfile.mkdtemp(dir=folder))
            with Anvil() as chain:
                deploy_fast(chain.url, making)
                chain.save(making / "state.json")
            making.rename(made)
    (deployment,) = made.glob("[0-9]*.json")
    return PoolState(made / "state.json", deployment)


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

"""What cannot run is declined with its reason, in bounded time, at no cost to anybody."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from devnet.engine import Engine
from leasehold.chain import LeaseState
from leasehold.datasets import new_identity, recipient_of
from leasehold.workload import seal

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = 2
NOBODY_HAS = "bafkreiaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
NO_SUCH_IMAGE = "sha256:" + "0" * 64


async def declined(rig: Rig, lease: int) -> str:
    """Waits for the decline, and checks that the tenant has everything back. Returns the reason on the
    chain.
    """
    await rig.reaches(lease, LeaseState.CANCELLED)
    found = await rig.lease(lease)
    assert found.deposit > 0
    assert await rig.chain.pool().balance_of(rig.chain.address(TENANT)) == found.deposit
    index = rig.host.chain._index  # type: ignore[attr-defined]  # the reason stands in an event only

    async def indexed() -> bool:
        record = await index.lease(lease)
        return record is not None and bool(record.reason)

    await rig.until(indexed)
    return str((await index.lease(lease)).reason)


WORKLOADS: dict[str, tuple[dict[str, object], str]] = {
    "image nobody has": ({"image": NO_SUCH_IMAGE}, "image-unknown"),
    "archive nobody has": ({"image": f"ipfs:{NOBODY_HAS}"}, "image-unknown"),
    "registry nobody named": ({"image": "127.0.0.1:1/x@" + NO_SUCH_IMAGE}, "unsupported"),
    "dataset nobody has": ({"datasets": [{"cid": NOBODY_HAS, "path": "/data"}]}, "dataset-missing"),
    "never ready": ({"readiness": {"command": ["false"], "timeout": 1}}, "not-ready"),
    "port that nobody serves": ({"readiness": {"http": {"port": 80}, "timeout": 1}}, "not-ready"),
    "ends before it is ready": (
        {"command": ["false"], "readiness": {"command": ["true"], "timeout": 5}},
        "start-failed",
    ),
    "command that does not exist": ({"command": ["/no/such/command"]}, "start-failed"),
    "job that fails at once": ({"kind": "batch", "command": ["false"]}, "start-failed"),
    "more memory than its cells buy": ({"memory": "4TiB"}, "unsupported"),
    "more processors than its cells buy": ({"cpu": 512}, "unsupported"),
    "cells where it wants a whole card": ({"share": "cells"}, "unsupported"),
    "port outside the host's range": ({"ports": [{"container": 80, "host": 80}]}, "unsupported"),
}
DAILY = frozenset(
    (
        "image nobody has",
        "dataset nobody has",
        "never ready",
        "job that fails at once",
        "cells where it wants a whole card",
    )
)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        pytest.param(*workload, id=name, marks=[] if name in DAILY else [pytest.mark.slow])
        for name, workload in WORKLOADS.items()
    ],
)
async def test_a_workload_that_cannot_run(rig: Rig, fields: dict[str, object], reason: str) -> None:
    lease = await rig.open(rig.workload(**fields))
    assert await declined(rig, lease) == reason

    async def over() -> bool:
        return (await rig.handle(lease)).phase in ("declined", "ended")

    await rig.until(over)


@pytest.mark.slow
async def test_a_workload_that_nobody_delivers(rig: Rig) -> None:
    lease = await rig.open(upload=False)
    assert await declined(rig, lease) == "workload-missing"


@pytest.mark.slow
async def test_a_workload_sealed_to_another_machine(rig: Rig) -> None:
    sealed = seal(rig.workload(), recipient_of(new_identity()))
    assert await declined(rig, await rig.open_sealed(sealed)) == "workload-invalid"


async def test_bytes_that_are_no_workload(rig: Rig) -> None:
    assert await declined(rig, await rig.open_sealed(b"not sealed at all")) == "workload-invalid"


@pytest.mark.slow
async def test_a_full_disk(rig_of: Callable[..., Any]) -> None:
    rig: Rig = await rig_of(disk_reserve=1 << 50)
    assert await declined(rig, await rig.open()) == "no-disk"


@pytest.mark.slow
async def test_a_port_that_another_process_serves(rig_of: Callable[..., Any], docker_engine: Engine) -> None:
    """The engine finds out when it starts the container; another of the range is taken, until there is
    none.
    """
    with _listening_inside(docker_engine) as port:
        rig: Rig = await rig_of(first_port=port, last_port=port)
        lease = await rig.open(rig.workload(ports=[{"container": 80}]))
        assert await declined(rig, lease) == "port-taken"


@pytest.mark.slow
async def test_a_workload_that_comes_while_the_agent_waits(rig_of: Callable[..., Any]) -> None:
    rig: Rig = await rig_of(fetch_seconds=30)
    sealed = seal(rig.workload(), rig.identity.age_recipient)
    lease = await rig.open_sealed(sealed, upload=False)
    await rig.until(lambda: rig.host.leases.record(lease).progress == "fetching the workload")
    await rig.ipfs.put_block(sealed)
    await rig.reaches(lease, LeaseState.ACTIVE)


@contextlib.contextmanager
def _listening_inside(engine: Engine) -> Iterator[int]:
    """A process that listens in the engine's network namespace; its port."""
    script = (
        "import socket,sys; s=socket.create_server(('0.0.0.0',0)); print(s.getsockname()[1],flush=True); "
    )
    command = engine.in_netns(sys.executable, "-c", script + "sys.stdin.read()")
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield int(process.stdout.readline())
        process.communicate()


@pytest.mark.slow
async def test_a_copy_of_somebody_elses_workload(rig: Rig) -> None:
    """Whoever sees the digest on the chain may rent with the same sealed bytes, and finds nothing."""
    sealed = seal(rig.workload().for_tenant(rig.chain.address(3)), rig.identity.age_recipient)
    assert await declined(rig, await rig.open_sealed(sealed)) == "workload-invalid"
    own = await rig.open(rig.workload().for_tenant(rig.chain.address(TENANT)))
    await rig.reaches(own, LeaseState.ACTIVE)


async def test_a_command_that_ends_after_the_first_look_is_told_too(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing stood in the refund's reason where it had still run when its container was looked at first."""
    monkeypatch.setattr("leasehold_agent.reconciling._bring_up._wait", _saw_it_run)
    lease = await rig.open(rig.workload(command=["sh", "-c", "exit 3"]))
    assert await declined(rig, lease) == "start-failed"
    await rig.until(lambda: rig.host.leases.folder(lease).load().failure is not None)
    assert rig.host.leases.folder(lease).load().failure_detail == "The command ended at once, with 3."


async def _saw_it_run(*_: object) -> None:
    """As the first look is, which comes before the command has ended."""


@pytest.mark.slow
async def test_what_failed_at_start_is_told_for_an_hour(rig: Rig) -> None:
    """The container and its log would be gone with the refund, and nobody would know what was wrong."""
    lease = await rig.open(rig.workload(command=["sh", "-c", "echo no such model >&2; exit 3"]))
    assert await declined(rig, lease) == "start-failed"
    await rig.until(lambda: rig.host.leases.folder(lease).load().cleared)
    await rig.restart()
    await rig.until(lambda: lease in rig.host.snapshot.leases)
    told = await rig.handle(lease)
    assert (told.phase, told.reason) == ("declined", "The command ended at once, with 3.")
    assert (told.exit_code, told.container_id, told.kept_log) == (3, None, True)
    assert b"".join([chunk async for chunk in rig.runtime.logs(lease, None, False)]) == b"no such model\n"
    assert await rig.container(lease) is None
    rig.chain.anvil.advance(3_601)
    rig.chain.anvil.mine(1)
    await rig.until(lambda: not rig.host.leases.folder(lease).exists)

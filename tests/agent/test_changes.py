"""What can happen to a lease that runs: notice, other cells, another tenant. Real chain and engine.

Resizing and transferring are played by what the agent is told of the chain, so that each can be tried with a
container alone; tests/e2e does both with the contracts.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from leasehold.chain import LeaseState
from leasehold.datasets import new_identity, recipient_of
from leasehold_agent.cards import LeaseShare
from leasehold_agent.chain import ChainSnapshot, Desired
from leasehold_agent.engine import ContainerFacts

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

pytestmark = pytest.mark.slow

PROVIDER, TENANT, OTHER = 1, 2, 3
READ = "cat /run/leasehold/notice.json"
KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIC3LxRFhQcZJ8y5f0kWmWfTO8gkIl7nZ8t2hXbq3GkqT"
READER = new_identity()
OUT = {"path": "/out", "recipients": [recipient_of(READER)]}


async def running(rig: Rig, lease: int) -> ContainerFacts:
    await rig.reaches(lease, LeaseState.ACTIVE)
    await rig.until(lambda: (d := rig.host.snapshot.leases.get(lease)) and d.state is LeaseState.ACTIVE)
    container = await rig.container(lease)
    assert container is not None
    return container


async def give_notice(rig: Rig, lease: int) -> None:
    """What it costs lies in the provider's ledger before."""
    pool = rig.chain.pool(PROVIDER)
    await pool.deposit(rig.chain.address(PROVIDER), 100 * 10**18)
    await pool.terminate(lease)


def seen(rig: Rig, **changes: Any) -> None:
    """From now on the agent sees every live lease with `changes`, and its node says the same."""
    real = rig.host.chain.snapshot

    async def snapshot(known: Collection[int]) -> ChainSnapshot:
        found = await real(known)
        leases: dict[int, Desired] = {
            lease: replace(desired, **changes) if desired.state is LeaseState.ACTIVE else desired
            for lease, desired in found.leases.items()
        }
        return replace(found, leases=leases)

    async def so(lease: int, said: Any) -> bool:
        return True

    rig.host.chain.snapshot = snapshot  # type: ignore[method-assign]  # played
    rig.host.chain.is_tenant = so  # type: ignore[method-assign]
    rig.host.chain.has_workload = so  # type: ignore[method-assign]
    rig.reconciler.wake()


class TestNotice:
    async def test_the_container_hears_of_it(self, rig: Rig) -> None:
        """As any user, whole, and with the end that the chain has."""
        lease = await rig.open(rig.workload(grace=0), duration=86_400)
        await running(rig, lease)
        assert (await rig.inside(lease, READ))[0] != 0
        await give_notice(rig, lease)
        await rig.until(lambda: (rig.host.leases.folder(lease).told / "notice.json").exists())
        code, text = await rig.inside(lease, READ)
        end = (await rig.lease(lease)).end
        assert (code, json.loads(text)) == (0, {"ends_at": end, "reason": "terminated"})
        assert (await rig.inside(lease, "stat -c %a /run/leasehold/notice.json"))[1] == "644\n"
        assert (await rig.inside(lease, "rm /run/leasehold/notice.json"))[0] != 0
        notice = (await rig.handle(lease)).notice
        assert notice is not None
        assert notice.ends_at == end

    async def test_a_restarted_agent_says_it_only_where_it_is_not_said(self, rig: Rig) -> None:
        lease = await rig.open(rig.workload(grace=0), duration=86_400)
        await running(rig, lease)
        await rig.stop()
        await give_notice(rig, lease)
        await rig.start()
        file = rig.host.leases.folder(lease).told / "notice.json"
        await rig.until(file.exists)
        written = file.stat().st_ino
        await rig.restart()
        await rig.until(lambda: rig.host.snapshot.current)
        await rig.reconciler.tick()
        await rig.reconciler.settle()
        assert file.stat().st_ino == written
        file.unlink()
        await rig.until(file.exists)

    async def test_a_notice_that_is_reorganised_away_is_taken_back(self, rig: Rig) -> None:
        lease = await rig.open(rig.workload(grace=0), duration=86_400)
        await running(rig, lease)
        before = rig.chain.anvil.request("evm_snapshot")
        await give_notice(rig, lease)
        file = rig.host.leases.folder(lease).told / "notice.json"
        await rig.until(file.exists)
        rig.chain.anvil.request("evm_revert", before)
        rig.chain.anvil.mine(2)
        await rig.until(lambda: not file.exists())
        assert (await rig.inside(lease, READ))[0] != 0


class TestOtherCells:
    async def test_limits_change_while_it_runs(self, rig: Rig) -> None:
        lease = await rig.open(rig.workload(grace=0))
        before = await running(rig, lease)
        whole = rig.host.share(rig.host.snapshot.leases[lease])
        seen(rig, placement=0x010F)
        await rig.until(lambda: rig.host.leases.folder(lease).load().placement == 0x010F)
        limits = await _limits(rig, lease)
        assert limits == (int(whole.cpus / 2 * 10**9), whole.memory_bytes // 2)
        after = await rig.container(lease)
        assert after is not None
        assert (after.id, after.pid) == (before.id, before.pid)

    async def test_other_gpus_mean_another_container_with_the_same_data(self, rig: Rig) -> None:
        """The engine cannot give a running container a GPU, so that it is made anew out of what it had written."""
        secrets = {"token": "s3cret"}
        workload = rig.workload(grace=0, secrets=secrets, env={"HERE": "yes"}, memory="64MiB")
        lease = await rig.open(workload)
        before = await running(rig, lease)
        assert (await rig.inside(lease, "echo kept > /state"))[0] == 0
        await _pretend_other_gpus(rig)
        seen(rig, placement=0x010F)

        async def anew() -> bool:
            container = await rig.container(lease)
            return container is not None and container.running and container.id != before.id

        await rig.until(anew)
        command = 'cat /state /run/secrets/token; echo " $HERE"'
        assert await rig.inside(lease, command) == (0, "kept\ns3cret yes\n")
        kept = f"leasehold.kept={rig.host.containers.names.container(lease)}"
        assert len(_images(rig, kept)) == 1

    async def test_what_it_was_made_anew_from_goes_with_its_data(self, rig_of: Callable[..., Any]) -> None:
        rig: Rig = await rig_of(retention_min=0, retention_max=0)
        lease = await rig.open(rig.workload(grace=0))
        before = await running(rig, lease)
        await _pretend_other_gpus(rig)
        seen(rig, placement=0x010F)

        async def anew() -> bool:
            container = await rig.container(lease)
            return container is not None and container.running and container.id != before.id

        await rig.until(anew)
        await rig.chain.pool(TENANT).close(lease)
        await rig.until(lambda: not rig.host.leases.folder(lease).exists)
        assert _images(rig, f"leasehold.kept={rig.host.containers.names.container(lease)}") == []


class TestAnotherTenant:
    async def test_the_container_runs_on_and_the_former_keys_do_not(self, rig: Rig) -> None:
        """A workload that names its tenant too: who may run it is decided by who set it."""
        workload = rig.workload(grace=0, ssh_keys=[KEY]).for_tenant(rig.chain.address(TENANT))
        lease = await rig.open(workload)
        before = await running(rig, lease)
        assert (await rig.handle(lease)).ssh_keys == (KEY,)
        seen(rig, tenant=rig.chain.address(OTHER))
        await rig.until(lambda: rig.host.leases.folder(lease).load().tenant == rig.chain.address(OTHER))
        handle = await rig.handle(lease)
        assert (handle.tenant, handle.ssh_keys) == (rig.chain.address(OTHER), ())
        await rig.reconciler.settle()
        after = await rig.container(lease)
        assert after is not None
        assert after.pid == before.pid

    async def test_the_former_tenants_secrets_do_not_pass_on(self, rig: Rig) -> None:
        """Neither in the container that runs on, nor in its files, nor where it is made anew."""
        lease = await rig.open(rig.workload(grace=0, secrets={"token": "hush"}))
        before = await running(rig, lease)
        read = "cat /run/secrets/token"
        assert await rig.inside(lease, read) == (0, "hush")
        assert (await rig.inside(lease, "echo mine > /run/secrets/token; rm /run/secrets/token"))[0] != 0
        seen(rig, tenant=rig.chain.address(OTHER))
        await rig.until(lambda: rig.host.leases.folder(lease).load().tenant == rig.chain.address(OTHER))
        assert (await rig.inside(lease, read))[0] != 0
        written = await rig.host.containers.engine._call(lambda client: client.diff(before.name))
        assert not [each["Path"] for each in written or () if "token" in each["Path"]]
        await rig.host.containers.engine.remove(before.name)

        async def back() -> bool:
            container = await rig.container(lease)
            return container is not None and container.running

        await rig.until(back)
        assert (await rig.inside(lease, read))[0] != 0

    async def test_a_container_that_is_gone_comes_back_for_the_new_tenant(self, rig: Rig) -> None:
        lease = await rig.open(rig.workload(grace=0).for_tenant(rig.chain.address(TENANT)))
        before = await running(rig, lease)
        seen(rig, tenant=rig.chain.address(OTHER))
        await rig.until(lambda: rig.host.leases.folder(lease).load().tenant == rig.chain.address(OTHER))
        await rig.host.containers.engine.remove(before.name)

        async def back() -> bool:
            container = await rig.container(lease)
            return container is not None and container.running

        await rig.until(back)
        assert rig.host.leases.folder(lease).load().failure is None

    async def test_nothing_is_packed_for_the_former_tenant(self, rig: Rig) -> None:
        """Its outputs would be sealed to a key that is not the new tenant's."""
        lease = await rig.open(
            rig.workload(kind="batch", command=["sh", "-c", "sleep 1; echo 1 > /out/a"], outputs=[OUT])
        )
        seen(rig, tenant=rig.chain.address(OTHER))
        await rig.until(lambda: rig.host.leases.folder(lease).load().published)
        assert (await rig.handle(lease)).result_cid is None


# ---------------------------------------------------------------------------------------------------- below it all


async def _pretend_other_gpus(rig: Rig) -> None:
    """The lease's new cells lie on another GPU, as far as the agent knows; the engine here has none to give."""
    real = rig.host.share

    def share(desired: Desired) -> LeaseShare:
        found = real(desired)
        return replace(found, gpu_uuids=() if desired.placement != 0x01FF else ("GPU-before",))

    rig.host.share = share  # type: ignore[method-assign]  # played


async def _limits(rig: Rig, lease: int) -> tuple[int, int]:
    name = rig.host.containers.names.container(lease)
    found = await rig.host.containers.engine._call(
        lambda client: client.inspect_container(name)["HostConfig"]
    )
    return int(found["NanoCpus"]), int(found["Memory"])


def _images(rig: Rig, label: str) -> list[str]:
    client = rig.host.containers.engine._client
    assert client is not None
    return [image["Id"] for image in client.images(filters={"label": label}, all=True)]

"""How long a lease takes from `LeaseOpened` mined to its container running, beside `docker run` of the same.

Both use one engine, image, dataset, set of limits and a bridge network made for the occasion. Ours counts
from just before the transaction is handed to the chain's node (which mines it at once); both count to the
moment at which the engine reports the container's start. They take turns, so that a noisy machine is
noisy to both; medians count.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import docker

from devnet import images
from devnet.world import Host, World
from leasehold.chain import (
    Consent,
    Deployment,
    LeaseRequest,
    LeaseState,
    LocalSigner,
    Pool,
    Rpc,
    Sender,
    Terms,
    Token,
)
from leasehold.datasets import Ipfs
from leasehold.market import canonical
from leasehold.workload import Workload, digest, load_workload, seal

GOAL = 1.15
ROUNDS = 9
_MEMORY, _CPUS, _DISK = 256 << 20, 1, 1 << 30
_TERMS = Terms(
    price=10**18,
    spot_price=0,
    min_duration=1,
    max_duration=86_400,
    trial=0,
    available_until_day=60_000,
)


def run() -> list[dict[str, Any]]:
    """The rows of this suite; times in milliseconds."""
    with tempfile.TemporaryDirectory(prefix="leasehold-bench-") as folder:
        return asyncio.run(_run(Path(folder, "world")))


async def _run(folder: Path) -> list[dict[str, Any]]:
    with World(folder) as world:
        tiny = images.tiny()
        images.load(world.engine.url, tiny)
        host = world.host("provider", tick_seconds=3.0)
        provider = world.anvil.accounts[1].address
        operator = json.loads(host.describe(provider).read_text())
        signed = operator["consent"]
        consent = Consent(signed["deadline"], bytes.fromhex(signed["proof"][2:]))
        world.fund(operator["operator"])
        async with Rpc([world.anvil.url]) as rpc, Ipfs(world.provider_ipfs.api) as ipfs:
            bench = Bench(world, host, rpc, operator["contact"]["age_recipient"], tiny.id)
            await bench.join(operator, consent)
            data = folder / "data"
            data.mkdir()
            (data / "file").write_bytes(os.urandom(1 << 20))
            bench.dataset = (await ipfs.add_folder(data)).cid
            bench.folder = data
            with world.running(host):
                host.wait_for(lambda line: line.get("event") == "serving")
                await bench.lease()  # the dataset is cached from here on
                bench.plain()
                ours, reference = [], []
                for _ in range(ROUNDS):
                    ours.append(await bench.lease())
                    reference.append(bench.plain())
    mine, theirs = statistics.median(ours) * 1000, statistics.median(reference) * 1000
    return [
        {
            "name": "agent.start_to_running",
            "ours": mine,
            "reference": theirs,
            "ratio": mine / theirs,
            "goal": f"≤ {GOAL} × docker run",
            "ok": mine / theirs <= GOAL,
        }
    ]


class Bench:
    """A provider's machine and a tenant, who rents it again and again."""

    dataset: str
    folder: Path

    def __init__(self, world: World, host: Host, rpc: Rpc, recipient: str, image: str) -> None:
        self._world = world
        self._host = host
        self._rpc = rpc
        self._recipient = recipient
        self.image = image
        self._deployment = Deployment.load(world.deployment)
        self._tenant = LocalSigner(world.anvil.accounts[2].key)
        self._pool = Pool(rpc, self._deployment, Sender(rpc, self._tenant, poll=0.02))
        self._machine = 0
        self._round = 0

    async def join(
        self, described: Mapping[str, Any], consent: Consent, units: int = 1, contact: bytes = bytes(32)
    ) -> None:
        provider = Sender(self._rpc, LocalSigner(self._world.anvil.accounts[1].key), poll=0.02)
        for sender in (provider, Sender(self._rpc, self._tenant, poll=0.02)):
            await Token(self._rpc, self._deployment.token, sender).approve(
                self._deployment.controller, 10**30
            )
        pool = Pool(self._rpc, self._deployment, provider)
        hardware = sha256(canonical(described["hardware"])).digest()
        self._machine, _ = await pool.register(
            _TERMS, units, 1, hardware, contact, described["operator"], consent
        )

    async def lease(self) -> float:
        """Seconds from handing in the transaction to the container's start."""
        self._round += 1
        transaction = await self.prepared(self._workload(), 8)
        since = time.time()
        self._world.anvil.request("eth_sendRawTransaction", transaction)
        name, started = await asyncio.to_thread(self._started, "leasehold-", since)
        await self._end(name)
        return started - since

    async def prepared(self, workload: Workload, share: int) -> str:
        """The signed transaction that opens a lease of so many cells, whose workload is where the agent looks."""
        sealed = seal(workload, self._recipient)
        await self._upload(sealed)
        return await self._signed(sealed, share)

    def plain(self) -> float:
        """Seconds from `docker network create` and `docker run` to the container's start."""
        self._round += 1
        name = f"plain-{self._round}"
        engine = ["docker", "-H", self._world.engine.url]
        since = time.time()
        _quiet([*engine, "network", "create", name])
        limits = ["--memory", str(_MEMORY), "--memory-swap", str(_MEMORY), "--cpus", str(_CPUS)]
        limits += ["--pids-limit", "4096", "--storage-opt", f"size={_DISK}", "--shm-size", str(64 << 20)]
        limits += ["--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--init"]
        mount = ["--mount", f"type=bind,source={self.folder},target=/data,readonly"]
        run = [*engine, "run", "--detach", "--name", name, "--network", name, *limits, *mount]
        _quiet([*run, self.image, "sleep", "600"])
        _, started = self._started("plain-", since)
        _quiet([*engine, "rm", "--force", name])
        _quiet([*engine, "network", "rm", name])
        return started - since

    def _workload(self) -> Workload:
        return load_workload(
            {
                "version": 1,
                "image": self.image,
                "command": ["sleep", "600"],
                "memory": _MEMORY,
                "cpu": _CPUS,
                "disk": _DISK,
                "grace": 0,
                "datasets": [{"cid": self.dataset, "path": "/data"}],
            }
        )

    async def _upload(self, sealed: bytes) -> None:
        """Where the agent finds it, as its API would have put it there."""
        async with Ipfs(self._world.provider_ipfs.api) as ipfs:
            await ipfs.put_block(sealed)

    async def _signed(self, sealed: bytes, share: int) -> str:
        request = LeaseRequest(
            machine=self._machine,
            revision=1,
            share=share,
            duration=3_600,
            max_price=_TERMS.price,
            workload=digest(sealed),
            allow_unverified=True,
        )
        anvil = self._world.anvil
        fields: Mapping[str, int | str | bytes] = {
            "type": 2,
            "chainId": self._deployment.chain_id,
            "nonce": int(anvil.request("eth_getTransactionCount", self._tenant.address, "pending"), 16),
            "to": self._deployment.controller,
            "data": Pool.encode("open", request),
            "value": 0,
            "gas": 500_000,
            "maxFeePerGas": 10**10,
            "maxPriorityFeePerGas": 0,
        }
        return "0x" + (await self._tenant.sign_transaction(fields)).hex()

    def _started(self, prefix: str, since: float) -> tuple[str, float]:
        """Name and time of the first container of that prefix that the engine started after `since`."""
        client = docker.DockerClient(base_url=self._world.engine.url, timeout=60)
        try:
            with contextlib.closing(
                client.events(since=int(since), decode=True, filters={"event": "start"})
            ) as events:
                for event in events:
                    name, at = event["Actor"]["Attributes"]["name"], event["timeNano"] / 1e9
                    if name.startswith(prefix) and at >= since:
                        return name, at
        finally:
            client.close()
        raise RuntimeError("the engine's events ended")

    async def _end(self, name: str) -> None:
        """Close the newest lease once it is billed, and wait until its container has stopped."""
        lease = await self._pool.slot_count() << 16
        while (await self._pool.lease_of(lease)).state is LeaseState.OPENED:  # noqa: ASYNC110 - the chain is polled
            await asyncio.sleep(0.02)
        await self._pool.close(lease)
        with self._world.engine.client() as client:
            while client.containers.get(name).status == "running":  # noqa: ASYNC110 - and the engine
                await asyncio.sleep(0.02)


def _quiet(command: list[str]) -> None:
    subprocess.run(command, check=True, capture_output=True)


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))
    print(json.dumps(run(), indent=2))

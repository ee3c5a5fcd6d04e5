"""A tenant who acts through the SDK, where a test wants one transaction at one moment and no more around it.

Its methods block. A lease's program is a shell script for the tiny image, which copies an answer out of its
dataset and says when it is ready.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import random
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import pyrage

from devnet.site import Site
from leasehold.chain import (
    Deployment,
    Lease,
    LeaseRequest,
    LocalSigner,
    Pool,
    Rpc,
    Sender,
    Token,
    cid_from_bytes,
    format_lease,
)
from leasehold.datasets import Ipfs
from leasehold.workload import digest, fetch_results, load_workload, seal

T = TypeVar("T")
_numbers = itertools.count(1)

PROGRAM = """
mkdir -p /results
cp /data/set/answer /results/answer
echo "$ROUND" > /results/round
trap '[ -z "$DEAF" ] && exit 0' TERM
while [ -n "$GATE" ] && [ ! -e /gate-is-open ]; do sleep 0.05; done
touch /ready
while :; do sleep 1 & wait $!; done
"""


@dataclass
class Tenant:
    """An account of its own with money and an allowance, who rents the site's machine."""

    site: Site
    key: str = field(default_factory=lambda: "0x" + secrets.token_hex(32))

    def __post_init__(self) -> None:
        world = self.site.world
        self._identity = pyrage.x25519.Identity.generate()
        machine = json.loads((self.site.host.folder / "machine.json").read_text())
        self._recipient = str(machine["contact"]["age_recipient"])
        self.address = LocalSigner(self.key).address
        world.fund(self.address, tokens=10_000)
        self._token(lambda token: token.approve(world.facts["controller"], 10**30))

    # ---------------------------------------------------------------------------------------------- transactions

    def pool(self, act: Callable[[Pool], Awaitable[T]]) -> T:
        """What `act` gives, with the pool's binding and this tenant's key."""

        async def go() -> T:
            async with Rpc([self.site.world.anvil.url]) as rpc:
                return await act(Pool(rpc, self._deployment, self._sender(rpc)))

        return asyncio.run(go())

    def open(self, sealed: bytes, *, deliver: bool = True, duration: int = 3_600) -> str:
        """Opens a lease on the whole machine; the lease as people write it."""
        if deliver:
            self.deliver(sealed)

        async def act(pool: Pool) -> int:
            machine = await pool.machine_of(self.site.machine)
            lease, _ = await pool.open(
                LeaseRequest(
                    machine=self.site.machine,
                    revision=machine.revision,
                    max_price=machine.terms.price,
                    share=8,
                    duration=duration,
                    workload=digest(sealed),
                    allow_unverified=True,
                )
            )
            return lease

        return format_lease(self.pool(act))

    def lease(self, number: int) -> Lease:
        return self.pool(lambda pool: pool.lease_of(number))

    def wealth(self) -> int:
        """What the tenant has in the wallet and in the pool's ledger."""
        return self._token(lambda token: token.balance(self.address)) + self.ledger(self.address)

    def ledger(self, account: str) -> int:
        return self.pool(lambda pool: pool.balance_of(account))

    # ------------------------------------------------------------------------------------------------------- data

    def dataset(self, answer: str, size: int = 1 << 16) -> str:
        """A folder in the renter's IPFS node with `answer` and `size` bytes of ballast; its CID."""
        folder = self.site.renter.home / f"dataset-{next(_numbers)}"
        folder.mkdir()
        (folder / "answer").write_text(answer)
        (folder / "ballast").write_bytes(random.Random(answer).randbytes(size))
        return str(self._ipfs(lambda ipfs: ipfs.add_folder(folder)).cid)

    def sealed(self, dataset: str, *, grace: int = 1, **environment: str) -> bytes:
        """A workload of PROGRAM over `dataset`, sealed for the machine; its results are the tenant's alone."""
        document = {
            "version": 1,
            "image": self.site.tiny,
            "command": ["sh", "-c", PROGRAM],
            "env": environment,
            "egress": "none",
            "grace": grace,
            "datasets": [{"cid": dataset, "path": "/data/set"}],
            "outputs": [{"path": "/results", "recipients": [str(self._identity.to_public())]}],
            "readiness": {"command": ["test", "-e", "/ready"], "timeout": 120},
        }
        return seal(load_workload(document), self._recipient)

    def deliver(self, sealed: bytes) -> None:
        """Puts the sealed workload where the agent looks for it."""
        self._ipfs(lambda ipfs: ipfs.put_block(sealed))

    def result(self, cid: bytes, lease: str) -> dict[str, str]:
        """The files of a published result, decrypted."""
        target = self.site.renter.home / f"results-{next(_numbers)}"
        shown, key = cid_from_bytes(cid), str(self._identity)
        self._ipfs(lambda ipfs: fetch_results(shown, key, target, ipfs, lease=lease, timeout=20))
        return {path.name: path.read_text() for path in Path(target, "results").iterdir()}

    # --------------------------------------------------------------------------------------------------- privately

    @property
    def _deployment(self) -> Deployment:
        return Deployment.load(self.site.world.deployment)

    def _sender(self, rpc: Rpc) -> Sender:
        return Sender(rpc, LocalSigner(self.key), poll=0.02)

    def _token(self, act: Callable[[Token], Awaitable[T]]) -> T:
        async def go() -> T:
            async with Rpc([self.site.world.anvil.url]) as rpc:
                return await act(Token(rpc, self.site.world.facts["token"], self._sender(rpc)))

        return asyncio.run(go())

    def _ipfs(self, act: Callable[[Ipfs], Awaitable[Any]]) -> Any:
        async def go() -> Any:
            async with Ipfs(self.site.world.renter_ipfs.api) as ipfs:
                return await act(ipfs)

        return asyncio.run(go())

"""A tenant who acts through the SDK, where a test wants one transaction at one moment and no more around it.

Its methods block. A lease's program is a shell script for the tiny image, which copies an answer out of its
dataset and says when it is ready.
"""

from __future__ import annotations

import asyncio
import itertools
import os
import random
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pyrage

from devnet.account import Account
from devnet.patience import patient
from devnet.site import Site
from leasehold.chain import Lease, LeaseRequest, Pool, cid_from_bytes, format_lease
from leasehold.datasets import Ipfs
from leasehold.workload import Workload, digest, fetch_results, load_workload

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


class Tenant(Account):
    """An account with money and an allowance, who rents the site's machine."""

    def __init__(self, site: Site) -> None:
        super().__init__(site.world, tokens=10_000)
        self.site = site
        self._identity = pyrage.x25519.Identity.generate()

    # ---------------------------------------------------------------------------------------------- transactions

    def open(self, sealed: bytes, *, deliver: bool = True, **request: Any) -> str:
        """Opens a lease on the whole machine for an hour, unless `request` says otherwise; the lease as people
        write it.
        """
        if deliver:
            self.deliver(sealed)
        wanted = self.request(sealed, **request)

        async def act(pool: Pool) -> int:
            return (await pool.open(wanted))[0]

        return format_lease(self.pool(act))

    def request(self, sealed: bytes, **request: Any) -> LeaseRequest:
        """What `open` asks for."""
        machine = self.pool(lambda pool: pool.machine_of(self.site.machine))
        values: dict[str, Any] = {"share": 8, "duration": 3_600, "max_price": machine.terms.price} | request
        return LeaseRequest(
            machine=self.site.machine,
            revision=machine.revision,
            workload=digest(sealed),
            allow_unverified=True,
            **values,
        )

    def lease(self, number: int) -> Lease:
        return self.pool(lambda pool: pool.lease_of(number))

    # ------------------------------------------------------------------------------------------------------- data

    def dataset(self, answer: str, size: int = 1 << 16) -> str:
        """A folder in the renter's IPFS node with `answer` and `size` bytes of ballast; its CID."""
        folder = (
            self.site.renter.home / f"dataset-{os.getpid()}-{next(_numbers)}"
        )  # attackers are copies of a process
        folder.mkdir()
        (folder / "answer").write_text(answer)
        (folder / "ballast").write_bytes(random.Random(answer).randbytes(size))
        return str(self._ipfs(lambda ipfs: ipfs.add_folder(folder)).cid)

    def sealed(self, dataset: str, *, grace: int = 1, **environment: str) -> bytes:
        """`workload` of PROGRAM, sealed for the site's machine."""
        return self.site.seal(self.workload(dataset, grace=grace, environment=environment))

    def workload(
        self,
        dataset: str,
        *,
        program: str = PROGRAM,
        grace: int = 1,
        environment: Mapping[str, str] | None = None,
        **fields: Any,
    ) -> Workload:
        """`program` over `dataset`; its results are the tenant's alone. fields: more of the workload's."""
        document = {
            "version": 1,
            "image": self.site.tiny,
            "command": ["sh", "-c", program],
            "env": dict(environment or {}),
            "egress": "none",
            "grace": grace,
            "datasets": [{"cid": dataset, "path": "/data/set"}],
            "outputs": [{"path": "/results", "recipients": [str(self._identity.to_public())]}],
            "readiness": {"command": ["test", "-e", "/ready"], "timeout": 120},
            **fields,
        }
        return load_workload(document)

    def deliver(self, sealed: bytes) -> None:
        """Puts the sealed workload where the agent looks for it."""
        self._ipfs(lambda ipfs: ipfs.put_block(sealed))

    def result(self, cid: bytes, lease: str) -> dict[str, str]:
        """The files of a published result, decrypted; none of a program that was stopped before it made any."""
        target = self.site.renter.home / f"results-{next(_numbers)}"
        shown, key = cid_from_bytes(cid), str(self._identity)
        self._ipfs(lambda ipfs: fetch_results(shown, key, target, ipfs, lease=lease, timeout=patient(20)))
        return {path.name: path.read_text() for path in target.glob("results/*")}

    # --------------------------------------------------------------------------------------------------- privately

    def _ipfs(self, act: Callable[[Ipfs], Awaitable[Any]]) -> Any:
        async def go() -> Any:
            async with Ipfs(self.world.renter_ipfs.api) as ipfs:
                return await act(ipfs)

        return asyncio.run(go())

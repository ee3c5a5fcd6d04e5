"""How a lease's sealed workload comes here, and what it says."""

from __future__ import annotations

import asyncio
import hashlib
from dataclasses import dataclass

from leasehold.chain import cid_of_digest
from leasehold.errors import DatasetUnavailable, WorkloadError, WorkloadUnsupported
from leasehold.files import replace_file
from leasehold.workload import Workload, unseal
from leasehold_agent._errors import Declined
from leasehold_agent.chain import Desired
from leasehold_agent.reconciling._leases import LeaseBook, log_step
from leasehold_agent.reconciling._supplies import Supplies


@dataclass(frozen=True)
class Intake:
    """`wait`: the most seconds for a workload that nobody has delivered yet."""

    leases: LeaseBook
    supplies: Supplies
    wait: float

    async def workload(self, desired: Desired) -> Workload:
        """The lease's workload, which lies in its folder from now on. Raises Declined."""
        if (known := self.leases.workload(desired.lease)) is not None:
            return known
        folder, record = self.leases.folder(desired.lease), self.leases.record(desired.lease)
        record.waiting, record.progress = "workload-missing", "fetching the workload"
        log_step(desired.lease, "fetch")
        sealed = await self._sealed(desired)
        log_step(desired.lease, "unseal")
        try:
            opened = unseal(sealed, self.leases.age_identity)
        except WorkloadUnsupported as error:
            raise Declined("unsupported", str(error)) from error
        except WorkloadError as error:
            raise Declined("workload-invalid", str(error)) from error
        replace_file(folder.sealed, sealed)
        record.workload = (desired.workload.hex(), opened)
        return opened

    async def _sealed(self, desired: Desired) -> bytes:
        """The sealed workload: uploaded already, uploaded while we wait, or pinned where IPFS finds it."""
        uploads = self.supplies.uploads
        if (uploaded := await uploads.get(desired.workload)) is not None:
            return uploaded
        cid = cid_of_digest(desired.workload)
        ipfs = asyncio.create_task(self.supplies.ipfs.get_block(cid, self.wait))
        upload = asyncio.create_task(uploads.wait(desired.workload))
        try:
            await asyncio.wait({ipfs, upload}, timeout=self.wait, return_when=asyncio.FIRST_COMPLETED)
            if upload.done():
                return upload.result()
            if not ipfs.done():
                raise Declined("workload-missing", "Nobody delivered the sealed workload.")
            sealed = ipfs.result()
        except DatasetUnavailable as error:
            raise Declined("workload-missing", "Nobody delivered the sealed workload.") from error
        finally:
            for task in (ipfs, upload):
                task.cancel()
            await asyncio.gather(ipfs, upload, return_exceptions=True)
        if hashlib.sha256(sealed).digest() != desired.workload:
            raise Declined("workload-invalid", "The bytes that came are not those the lease names.")
        return sealed

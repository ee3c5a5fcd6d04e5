"""What a tenant asks about a lease, and keys that it lets in."""

from __future__ import annotations

from dataclasses import asdict

import structlog
from fastapi import APIRouter, Request

from leasehold.chain import format_lease
from leasehold.market.wire import (
    AgentResults,
    LeaseMetrics,
    LeaseReading,
    LeaseStanding,
    LeaseStatus,
    NoResults,
    NotRunning,
    SignedStatement,
    SshCertificate,
)
from leasehold_agent.api._answers import stated, status_of
from leasehold_agent.api._calls import KeyText, LeaseText, no_body
from leasehold_agent.api._shared import api_of
from leasehold_agent.ssh import is_over

_log = structlog.get_logger("leasehold_agent.api")

router = APIRouter()


@router.get("/v1/leases/{lease}", operation_id="lease_status")
async def status(request: Request, lease: LeaseText) -> LeaseStatus:
    """How far the lease is, and why it is not running if it is not."""
    api = api_of(request)
    no_body(request)
    return status_of((await api.grant(request, lease, "lease.status"))[1])


@router.get("/v1/leases/{lease}/statement", operation_id="lease_statement")
async def statement(request: Request, lease: LeaseText) -> SignedStatement:
    """How the lease's container stands, asked of the engine now and signed by the operator: a `LeaseStanding`."""
    api = api_of(request)
    no_body(request)
    _, handle = await api.grant(request, lease, "lease.status")
    standing, seen = await api.context.runtime.standing(handle.lease), api.context.seen()
    said = LeaseStanding(
        machine=handle.machine,
        lease=str(handle.lease),
        time=api.context.now(),
        block=seen.block,
        block_hash=seen.block_hash,
        **asdict(standing),
    )
    return await stated(api, said)


@router.get("/v1/leases/{lease}/results", operation_id="lease_results")
async def results(request: Request, lease: LeaseText) -> AgentResults:
    """Where the outputs are in IPFS, once they are packed."""
    api = api_of(request)
    no_body(request)
    _, handle = await api.grant(request, lease, "lease.results")
    if handle.result_cid is None:
        raise NoResults(
            "Nothing has been published yet; outputs are packed when the job finishes or the lease ends."
        )
    return AgentResults(cid=handle.result_cid, files=list(handle.outputs))


@router.put("/v1/leases/{lease}/ssh/{key}", operation_id="lease_ssh", status_code=201)
async def ssh(request: Request, lease: LeaseText, key: KeyText) -> SshCertificate:
    """Let an Ed25519 key into the lease by SSH for some minutes. It is shown together with the certificate."""
    api = api_of(request)
    no_body(request)
    grant, handle = await api.grant(request, lease, "lease.ssh")
    if is_over(handle, api.context.now()):
        raise NotRunning(
            f"The lease is {handle.phase} and lets no new key in: while its files are kept, use a key of its "
            "workload, or run commands in it without SSH."
        )
    certificate, until = api.certificates.mint(
        bytes.fromhex(key), handle.lease, api.tenure(grant).holds, ends_at=grant.ends_at
    )
    _log.info("ssh.certificate", lease=format_lease(handle.lease), until=until)
    return SshCertificate(certificate=certificate, valid_until=until)


@router.get("/v1/leases/{lease}/metrics", operation_id="lease_metrics")
async def metrics(request: Request, lease: LeaseText) -> LeaseMetrics:
    """What the lease has used while it was its tenant's."""
    api = api_of(request)
    no_body(request)
    _, handle = await api.grant(request, lease, "lease.metrics")
    samples = await api.context.runtime.usage(handle.lease, handle.tenant)
    readings = [LeaseReading(**asdict(sample)) for sample in samples]
    return LeaseMetrics(lease=format_lease(handle.lease), readings=readings)

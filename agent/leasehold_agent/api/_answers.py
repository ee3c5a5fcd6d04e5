"""What several routes answer: how a lease is, and a statement under the operator's signature."""

from __future__ import annotations

import hashlib

from leasehold.chain import format_lease
from leasehold.chain.typed import Statement
from leasehold.market import canonical
from leasehold.market.wire import (
    Container,
    Heartbeat,
    Kept,
    LeaseNotice,
    LeaseStanding,
    LeaseStatus,
    OpenPort,
    SignedStatement,
)
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent.api._shared import Api


async def stated(api: Api, said: LeaseStanding | Heartbeat) -> SignedStatement:
    """What is said, with the operator's signature."""
    statement = said.model_dump(mode="json")
    message = Statement(
        api.domain.chain_id,
        api.domain.verifying_contract,
        said.machine,
        hashlib.sha256(canonical(statement)).digest(),
        said.time,
    )
    signature = await api.context.operator.sign_typed_data(message.typed_data(api.domain))
    return SignedStatement(statement=statement, signature="0x" + signature.hex())


def status_of(handle: LeaseHandle) -> LeaseStatus:
    notice = handle.notice
    container = Container(state=handle.container_state, exit_code=handle.exit_code)
    return LeaseStatus(
        lease=format_lease(handle.lease),
        lease_id=str(handle.lease),
        tenant=handle.tenant,
        machine=handle.machine,
        phase=handle.phase,
        reason=handle.reason,
        progress=handle.progress,
        ports=[OpenPort(container=p.container, host=p.host, protocol=p.protocol) for p in handle.ports],
        container=container if handle.container_id or handle.container_state or handle.kept_log else None,
        end=handle.end,
        outputs=list(handle.outputs),
        result_cid=handle.result_cid,
        notice=LeaseNotice(ends_at=notice.ends_at, reason=notice.reason) if notice else None,
        kept=_kept(handle),
        name=handle.name,
        volumes=list(handle.volumes),
        checkpoint=handle.checkpoint,
        exit_code=handle.ended_with,
        closes_when_done=handle.closes_when_done,
        renews=None if handle.renews is None else format_lease(handle.renews),
        host=handle.host,
    )


def _kept(handle: LeaseHandle) -> Kept | None:
    if handle.kept_until is None or handle.paid_until is None:
        return None
    return Kept(until=handle.kept_until, paid_until=handle.paid_until, read_seconds=handle.read_seconds or 0)

"""Documents that are kept for later: a sealed workload, and its tenant's order to close."""

from __future__ import annotations

import asyncio
from typing import Final

import structlog
from fastapi import APIRouter, Request
from pydantic import ValidationError

from leasehold.chain.typed import Receipt
from leasehold.errors import ChainError
from leasehold.market.wire import (
    MAX_ORDER,
    MAX_UPLOAD,
    UPLOAD,
    BadCall,
    ChainUnreachable,
    ClosingOrderDocument,
    LeaseStatus,
    ReceiptMessage,
    SignedReceipt,
    UnknownLease,
)
from leasehold_agent.api._answers import status_of
from leasehold_agent.api._calls import DigestText, LeaseText, binary_body, lease_of
from leasehold_agent.api._gate import address_of
from leasehold_agent.api._shared import api_of, named_body

_log = structlog.get_logger("leasehold_agent.api")


RECEIPT_SECONDS: Final = 3600
ORDER_SECONDS: Final = 10.0
"""How long the chain is waited for that judges a closing order."""

_ORDER_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": ClosingOrderDocument.model_json_schema()}},
    }
}

router = APIRouter()


@router.put(
    "/v1/workloads/{digest}",
    operation_id="put_workload",
    status_code=201,
    openapi_extra=binary_body(MAX_UPLOAD),
)
async def put_workload(request: Request, digest: DigestText) -> SignedReceipt:
    """Keep a sealed workload until a lease opens with its digest. Any account may; `lease` is 0."""
    api = api_of(request)
    expected = bytes.fromhex(digest)
    grant, sealed = await named_body(request, api, expected, UPLOAD, 0, MAX_UPLOAD)
    await api.context.runtime.workloads.put(expected, sealed, address_of(request))
    receipt = Receipt(
        chain=api.domain.chain_id,
        controller=api.domain.verifying_contract,
        machine=grant.request.machine,
        digest_=expected,
        expires_at=api.context.now() + RECEIPT_SECONDS,
    )
    signature = await api.context.operator.sign_typed_data(receipt.typed_data(api.domain))
    _log.info("workload.received", account=grant.request.account, digest=digest, bytes=len(sealed))
    return SignedReceipt(
        receipt=ReceiptMessage.model_validate(receipt.to_json()), signature="0x" + signature.hex()
    )


@router.put(
    "/v1/leases/{lease}/closing-orders/{digest}",
    operation_id="put_closing_order",
    openapi_extra=_ORDER_BODY,
)
async def put_closing_order(request: Request, lease: LeaseText, digest: DigestText) -> LeaseStatus:
    """Keep its tenant's signed `close`, to be sent when the job is done: in place of an earlier one."""
    api = api_of(request)
    number, runtime = lease_of(lease), api.context.runtime
    grant, body = await named_body(
        request, api, bytes.fromhex(digest), "lease.closing-order", number, MAX_ORDER
    )
    try:
        document = ClosingOrderDocument.model_validate_json(body)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        raise BadCall(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from None
    order = document.order(grant.request.account, api.domain.verifying_contract, number)
    try:
        async with asyncio.timeout(ORDER_SECONDS):
            await runtime.keep_order(number, order, bytes.fromhex(document.workload))
    except (ChainError, TimeoutError):
        raise ChainUnreachable(
            "The chain must say whether the order is good, and does not answer; try again.", retry_after=10
        ) from None
    handle = await runtime.lookup(number)
    if handle is None:
        raise UnknownLease("There is no such lease here any more.")
    return status_of(handle)

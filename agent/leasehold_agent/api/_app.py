"""The agent's HTTP API: routes, and nothing else that decides."""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from functools import lru_cache, partial
from importlib.metadata import version
from typing import Annotated, Final

import orjson
import structlog
from fastapi import FastAPI, Path, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection

from leasehold.chain import InvalidLeaseId, format_lease, parse_lease
from leasehold.chain.typed import Domain, Receipt
from leasehold.errors import AgentError
from leasehold.market.wire import (
    EMPTY_BODY,
    EXEC_PROTOCOL,
    LOG_OFFSET,
    MAX_UPLOAD,
    UPLOAD,
    AgentResults,
    BadCall,
    BodyTooLarge,
    Container,
    DigestMismatch,
    Health,
    Kept,
    LeaseMetrics,
    LeaseNotice,
    LeaseReading,
    LeaseStatus,
    MachineInfo,
    NoResults,
    NotRunning,
    OpenPort,
    Problem,
    ReceiptMessage,
    SignedReceipt,
)
from leasehold_agent._runtime import LeaseHandle, ServeContext
from leasehold_agent.access import Admission, StreetDoor, network
from leasehold_agent.api._auth import Authorizer, Grant, SignedCall
from leasehold_agent.api._exec import serve_exec
from leasehold_agent.api._gate import Gate, Ready
from leasehold_agent.api._limits import UploadLimits, UploadRates
from leasehold_agent.api._logs import read_log
from leasehold_agent.api._nonces import NonceStore
from leasehold_agent.api._problems import MEDIA_TYPE, LastResort, answer, problem
from leasehold_agent.api._streams import HeldResponse, cut, until

_log = structlog.get_logger("leasehold_agent.api")

RECEIPT_SECONDS: Final = 3600
VERSION: Final = version("leasehold")
"""Read once: whoever asks would have the disk read each time."""
UPLOAD_SECONDS: Final = 30.0
RECHECK_SECONDS: Final = 3.0
APPROVAL_SECONDS: Final = 60.0
"""How often the chain is asked anew about the contract or group under whose approval a stream is open."""
MOST_TAIL: Final = 100_000

LeaseText = Annotated[
    str,
    Path(alias="lease", pattern=r"^[0-9]{1,76}(\.[0-9]{1,5})?$", description="as it is shown: 12 or 12.1"),
]
_SEALED_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {
            "application/octet-stream": {
                "schema": {"type": "string", "format": "binary", "maxLength": 1048576}
            }
        },
    }
}
DigestText = Annotated[
    str, Path(alias="digest", pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the sealed bytes, in hex")
]

_DESCRIPTION = """\
What a machine's agent does for the tenants of its leases.

Every call but `/v1/health` and `/v1/machine` needs `Authorization: Leasehold <base64url of canonical JSON
{"proof": hex, "request": {…}}>`. The request is EIP-712 typed data `Request` in the pool's domain;
`paramsHash` is the SHA-256 of canonical JSON `{"body": SHA-256 of the body in hex, "method", "path",
"query"}`. A request is valid for 300 s at most and serves once.

`GET /v1/leases/{lease}/exec` upgrades to a WebSocket (subprotocol `leasehold.exec.1`). The client's first
frame is text, `{"command": […], "tty": bool, "env": {}, "size": [rows, columns]}`. Binary frames begin with
one byte, 0 standard input, 1 output, 2 error. Text frames from the client are `{"resize": [rows, columns]}`
and `{"eof": true}`; the last frame of the agent is `{"exit": n}`, or `{"error": type, "detail": sentence}`.
"""


@dataclass
class Api:
    """What the routes share. `limits` and `admission` may be set by a test."""

    context: ServeContext
    authorizer: Authorizer
    admission: Admission = field(default_factory=Admission)
    limits: UploadLimits = field(default_factory=lambda: UploadLimits(UploadRates(), time.monotonic))
    recheck_seconds: float = RECHECK_SECONDS
    approval_seconds: float = APPROVAL_SECONDS

    def __post_init__(self) -> None:
        self.door = StreetDoor(
            limits=self.admission.door, connections=self.admission.connections, known=self.admission.known
        )

    @property
    def domain(self) -> Domain:
        return Domain(self.context.chain_id, self.context.controller)

    async def grant(self, connection: HTTPConnection, lease: str, op: str) -> tuple[Grant, LeaseHandle]:
        """The caller's right to a lease's call without a body."""
        grant = await self.authorizer.check(
            connection.headers.getlist("authorization"),
            _call(connection, EMPTY_BODY),
            op=op,
            lease=_lease(lease),
        )
        assert grant.handle is not None  # for every operation but the upload
        visitor = self.door.find(connection.scope.get("client"))
        if visitor is not None:
            self.door.know(visitor, grant.handle.lease)
        return grant, grant.handle

    async def until_revoked(self, grant: Grant) -> None:
        """Returns once the caller may no longer: the lease changed hands, the session ended, the approval is gone."""
        asked = time.monotonic()
        while await self.authorizer.still(grant):
            if time.monotonic() - asked >= self.approval_seconds:
                asked = time.monotonic()
                if not await self.authorizer.still_approved(grant):
                    return
            await asyncio.sleep(self.recheck_seconds)


def create_authorizer(context: ServeContext, nonces: NonceStore) -> Authorizer:
    return Authorizer(
        runtime=context.runtime,
        domain=Domain(context.chain_id, context.controller),
        machines=context.machines,
        is_authorized=context.is_authorized,
        nonces=nonces,
        now=context.now,
    )


def create_app(api: Api) -> FastAPI:
    """The API as an ASGI application."""
    app = FastAPI(
        title="Leasehold agent",
        version="1",
        description=_DESCRIPTION,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        responses={
            "default": {"model": Problem, "content": {MEDIA_TYPE: {}}, "description": "Refused, and why"}
        },
    )
    app.add_middleware(LastResort)
    app.add_middleware(Gate, door=api.door)
    for kind in (AgentError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)
    _public_routes(app, api)
    _upload_route(app, api)
    _lease_routes(app, api)
    _stream_routes(app, api)
    return app


def openapi(app: FastAPI) -> bytes:
    """The API's description as committed in docs/reference/agent-api.json."""
    return orjson.dumps(app.openapi(), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS) + b"\n"


def _public_routes(app: FastAPI, api: Api) -> None:
    @lru_cache(maxsize=1)
    def description() -> bytes:
        return orjson.dumps(app.openapi())

    @app.get("/v1/openapi.json", include_in_schema=False)
    async def described() -> Response:
        return Ready(description())

    @app.get("/v1/health", operation_id="health")
    async def health() -> Health:
        """That the agent answers, and its clock."""
        return Health(version=VERSION, time=api.context.now())

    @lru_cache(maxsize=1)
    def introduction(machines: tuple[int, ...], contact: bytes) -> bytes:
        """The bytes of the answer, made anew when something in it changes."""
        info = MachineInfo(
            chain=api.domain.chain_id,
            controller=api.domain.verifying_contract,
            operator=api.context.operator.address,
            machines=list(machines),
            contact=orjson.loads(contact),
        )
        return info.model_dump_json().encode()

    @app.get("/v1/machine", operation_id="machine", response_model=MachineInfo)
    async def machine() -> Response:
        """Which machines this agent runs, and how to reach it."""
        return Ready(introduction(tuple(api.context.machines()), api.context.contact()))


def _upload_route(app: FastAPI, api: Api) -> None:
    @app.put(
        "/v1/workloads/{digest}", operation_id="put_workload", status_code=201, openapi_extra=_SEALED_BODY
    )
    async def put_workload(request: Request, digest: DigestText) -> SignedReceipt:
        """Keep a sealed workload until a lease opens with its digest. Any account may; `lease` is 0."""
        address = request.client.host if request.client else ""
        api.limits.call(address)
        _check_length(request)
        expected = bytes.fromhex(digest)
        # The path names the body's digest, so that the caller is known before a byte of the body is read.
        grant = await api.authorizer.check(
            request.headers.getlist("authorization"), _call(request, expected), op=UPLOAD, lease=0
        )
        api.limits.account(grant.request.account)
        sealed = await _body(request, MAX_UPLOAD)
        api.limits.bytes(address, len(sealed))
        if hashlib.sha256(sealed).digest() != expected:
            raise DigestMismatch("The bytes have another SHA-256 than the path says; send them again.")
        await api.context.runtime.workloads.put(expected, sealed, network(address))
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


def _lease_routes(app: FastAPI, api: Api) -> None:
    @app.get("/v1/leases/{lease}", operation_id="lease_status")
    async def status(request: Request, lease: LeaseText) -> LeaseStatus:
        """How far the lease is, and why it is not running if it is not."""
        _no_body(request)
        return _status((await api.grant(request, lease, "lease.status"))[1])

    @app.get("/v1/leases/{lease}/results", operation_id="lease_results")
    async def results(request: Request, lease: LeaseText) -> AgentResults:
        """Where the outputs are in IPFS, once they are packed."""
        _no_body(request)
        _, handle = await api.grant(request, lease, "lease.results")
        if handle.result_cid is None:
            raise NoResults(
                "Nothing has been published yet; outputs are packed when the job finishes or the lease ends."
            )
        return AgentResults(cid=handle.result_cid, files=list(handle.outputs))

    @app.get("/v1/leases/{lease}/metrics", operation_id="lease_metrics")
    async def metrics(request: Request, lease: LeaseText) -> LeaseMetrics:
        """What the lease has used while it was its tenant's."""
        _no_body(request)
        _, handle = await api.grant(request, lease, "lease.metrics")
        samples = await api.context.runtime.usage(handle.lease, handle.tenant)
        readings = [LeaseReading(**asdict(sample)) for sample in samples]
        return LeaseMetrics(lease=format_lease(handle.lease), readings=readings)


def _stream_routes(app: FastAPI, api: Api) -> None:
    @app.get(
        "/v1/leases/{lease}/logs",
        operation_id="lease_logs",
        response_class=Response,
        responses={
            200: {"content": {"text/plain": {}}, "description": f"The log; see the header {LOG_OFFSET}"}
        },
    )
    async def logs(
        request: Request,
        lease: LeaseText,
        tail: Annotated[
            int | None, Query(ge=0, le=MOST_TAIL, description="last lines; all if left out")
        ] = None,
        follow: Annotated[bool, Query(description="go on until the container ends")] = False,
        offset: Annotated[int, Query(ge=0, description="go on from this byte of the log")] = 0,
    ) -> Response:
        """Standard output and error of the lease's container."""
        _no_body(request)
        grant, handle = await api.grant(request, lease, "lease.logs")
        if handle.container_id is None and not handle.kept_log:
            raise NotRunning(f"The lease is {handle.phase}; it has no log here. `leasehold show` says why.")
        if tail is not None and offset:
            raise BadCall("Ask for `tail` or for `offset`, not both.")
        # Its place first: looking for the last lines reads the whole log.
        with ExitStack() as held:
            held.enter_context(api.admission.streams.take(handle.lease))
            async with api.admission.opening.turn(handle.lease):
                stream = await read_log(
                    api.context.runtime, handle.lease, tail=tail, follow=follow, offset=offset
                )
            headers = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}
            if stream.offset is not None:
                headers[LOG_OFFSET] = str(stream.offset)
            return HeldResponse(
                until(
                    partial(api.until_revoked, grant),
                    stream.chunks,
                    partial(api.admission.line.carry, handle.lease),
                ),
                held.pop_all(),
                media_type="text/plain; charset=utf-8",
                headers=headers,
            )

    @app.websocket("/v1/leases/{lease}/exec")
    async def exec_(socket: WebSocket, lease: LeaseText) -> None:
        try:
            grant, handle = await api.grant(socket, lease, "lease.exec")
            if handle.container_id is None:
                raise NotRunning(f"The lease is {handle.phase}; nothing can be run in it yet.")
            with api.admission.streams.take(handle.lease):
                asked = socket.scope.get("subprotocols", [])
                await socket.accept(EXEC_PROTOCOL if EXEC_PROTOCOL in asked else None)
                await cut(
                    partial(api.until_revoked, grant),
                    serve_exec(socket, api.context.runtime, handle.lease, api.admission),
                )
        except AgentError as error:
            await socket.send_denial_response(problem(error))


def _status(handle: LeaseHandle) -> LeaseStatus:
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
    )


def _kept(handle: LeaseHandle) -> Kept | None:
    if handle.kept_until is None or handle.paid_until is None:
        return None
    return Kept(until=handle.kept_until, paid_until=handle.paid_until)


def _lease(text: str) -> int:
    try:
        lease = parse_lease(text)
    except InvalidLeaseId as error:
        raise BadCall(str(error)) from None
    if format_lease(lease) != text:
        raise BadCall(f"Write the lease as {format_lease(lease)}.")
    return lease


def _call(connection: HTTPConnection, body_digest: bytes) -> SignedCall:
    scope = connection.scope
    return SignedCall(
        method=scope.get("method", "GET"),  # a WebSocket's handshake is a GET
        path=bytes(scope["raw_path"]).decode("ascii", "replace"),
        query=bytes(scope["query_string"]).decode("ascii", "replace"),
        body_digest=body_digest,
        address=connection.client.host if connection.client else "",
    )


def _check_length(request: Request) -> None:
    stated = request.headers.get("content-length", "0")
    if not stated.isdigit() or int(stated[:20]) > MAX_UPLOAD:
        raise BodyTooLarge("A sealed workload may have 1 MiB; put large inputs into a dataset.")


async def _body(request: Request, most: int) -> bytes:
    """The body, given up on as soon as it is too long or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise BodyTooLarge("A sealed workload may have 1 MiB; put large inputs into a dataset.")
    except TimeoutError:
        raise BadCall("The body did not arrive in time; send it again.") from None
    except ClientDisconnect:
        raise BadCall("The body broke off.") from None
    return bytes(body)


def _no_body(request: Request) -> None:
    """No signature covers the body of a call that has none, so that there must be none."""
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        raise BadCall("This call takes no body.")

"""The agent's HTTP API: routes, and nothing else that decides."""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import AsyncIterator
from contextlib import ExitStack, asynccontextmanager
from dataclasses import asdict, dataclass, field
from functools import cached_property, lru_cache, partial
from importlib.metadata import version
from typing import Annotated, BinaryIO, Final

import orjson
import structlog
from fastapi import FastAPI, Path, Query, Request, Response, WebSocket
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, HTTPConnection

from leasehold.chain import InvalidLeaseId, format_lease, parse_lease
from leasehold.chain.typed import Contact, Domain, Receipt, Statement
from leasehold.errors import AgentError, ChainError
from leasehold.market import canonical
from leasehold.market.wire import (
    EMPTY_BODY,
    EXEC_PROTOCOL,
    LOG_OFFSET,
    MAX_CODE,
    MAX_ORDER,
    MAX_UPLOAD,
    UPLOAD,
    AgentResults,
    BadCall,
    BodyTooLarge,
    ChainUnreachable,
    CheckpointStanding,
    ClosingOrderDocument,
    CodeTaken,
    CodeWanted,
    ContactSignature,
    Container,
    DigestMismatch,
    Health,
    Heartbeat,
    Kept,
    LeaseCheckpoints,
    LeaseMetrics,
    LeaseNotice,
    LeaseReading,
    LeaseStanding,
    LeaseStatus,
    LeaseVolume,
    LeaseVolumes,
    MachineInfo,
    NoResults,
    NotRunning,
    OpenPort,
    Problem,
    ReceiptMessage,
    SignedReceipt,
    SignedStatement,
    SshCertificate,
    UnknownLease,
)
from leasehold.workload import MAX_PACKED
from leasehold_agent._runtime import LeaseHandle, ServeContext, Wish
from leasehold_agent.access import Admission, Slots
from leasehold_agent.api._auth import Authorizer, Grant, SignedCall, Tenure
from leasehold_agent.api._exec import serve_exec
from leasehold_agent.api._gate import Gate, Ready, address_of, side_of, visitor_of
from leasehold_agent.api._limits import UploadLimits, UploadRates
from leasehold_agent.api._logs import read_log
from leasehold_agent.api._nonces import NonceStore
from leasehold_agent.api._problems import MEDIA_TYPE, LastResort, answer, problem
from leasehold_agent.api._received import received
from leasehold_agent.api._streams import HeldResponse, cut, until
from leasehold_agent.ssh import Certificates, is_over

_log = structlog.get_logger("leasehold_agent.api")

RECEIPT_SECONDS: Final = 3600
HEARTBEAT_SECONDS: Final = 10
VERSION: Final = version("leasehold")
"""Read once: whoever asks would have the disk read each time."""
UPLOAD_SECONDS: Final = 30.0
ORDER_SECONDS: Final = 10.0
"""How long the chain is waited for that judges a closing order."""
RECHECK_SECONDS: Final = 3.0
APPROVAL_SECONDS: Final = 60.0
"""How often the chain is asked anew about the contract or group under whose approval a stream is open."""
MOST_TAIL: Final = 100_000
CODE_OF_LEASE: Final = 4
"""Bodies of code that one lease's tenant may be sending."""
CODE_AT_ONCE: Final = 2
"""Of all that have come whole, how many are taken apart at a time: each costs some MiB of memory."""

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


def _packed_body(most: int) -> dict[str, object]:
    binary = {"type": "string", "format": "binary", "maxLength": most}
    return {"requestBody": {"required": True, "content": {"application/octet-stream": {"schema": binary}}}}


DigestText = Annotated[
    str, Path(alias="digest", pattern=r"^[0-9a-f]{64}$", description="SHA-256 of the body, in hex")
]
VolumeText = Annotated[
    str, Path(alias="name", pattern=r"^[a-z0-9][a-z0-9._-]{0,62}$", description="what its tenant calls it")
]
_ORDER_BODY: Final = {
    "requestBody": {
        "required": True,
        "content": {"application/json": {"schema": ClosingOrderDocument.model_json_schema()}},
    }
}

KeyText = Annotated[
    str, Path(alias="key", pattern=r"^[0-9a-f]{64}$", description="an Ed25519 public key: 32 bytes in hex")
]

_DESCRIPTION = """\
What a machine's agent does for the tenants of its leases.

Every call but `/v1/health`, `/v1/machine` and heartbeats needs `Authorization: Leasehold <base64url of canonical JSON
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
        self.codes = Slots(CODE_OF_LEASE)
        self.door = self.admission.street_door()
        self.back_door = self.admission.back_door()

    @cached_property
    def certificates(self) -> Certificates:
        """What lets keys into leases by SSH."""
        return Certificates(self.context.now)

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
        if (visitor := visitor_of(connection.scope)) is not None:
            visitor.know(grant.handle.lease)
        return grant, grant.handle

    async def until_revoked(self, grant: Grant) -> None:
        """Returns once the caller may no longer: the lease changed hands, the session ended, the approval is gone."""
        tenure = self.tenure(grant)
        while await tenure.holds():  # noqa: ASYNC110  # a clock and a chain announce nothing
            await asyncio.sleep(self.recheck_seconds)

    def tenure(self, grant: Grant) -> Tenure:
        return Tenure(self.authorizer, grant, self.approval_seconds)


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
    app.add_middleware(Gate, known=api.admission.known)
    for kind in (AgentError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, answer)
    _public_routes(app, api)
    _upload_route(app, api)
    _lease_routes(app, api)
    _power_routes(app, api)
    _volume_routes(app, api)
    _checkpoint_routes(app, api)
    _order_route(app, api)
    _code_routes(app, api)
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

    introduced: dict[tuple[tuple[int, ...], bytes], bytes] = {}
    signing = asyncio.Lock()

    @app.get("/v1/machine", operation_id="machine", response_model=MachineInfo)
    async def machine() -> Response:
        """Which machines this agent runs, how to reach it, and what it has at hand: signed by its operator."""
        asked = tuple(api.context.machines()), api.context.contact()
        async with signing:  # of many who ask at once, the first has it signed
            if asked not in introduced:
                ready = await _introduction(api, *asked)
                introduced.clear()
                introduced[asked] = ready
        return Ready(introduced[asked])

    beats: dict[int, tuple[int, bytes]] = {}

    @app.get("/v1/machines/{machine}/heartbeat", operation_id="heartbeat", response_model=SignedStatement)
    async def heartbeat(machine: Annotated[int, Path(ge=0, lt=2**32)]) -> Response:
        """That the machine's agent lives: a `Heartbeat`, signed by its operator every ten seconds at most."""
        if machine not in api.context.machines():
            raise UnknownLease("This agent does not run that machine; look at /v1/machine.")
        async with signing:
            at, ready = beats.get(machine, (0, b""))
            if not 0 <= api.context.now() - at < HEARTBEAT_SECONDS:
                at, seen = api.context.now(), api.context.seen()
                said = Heartbeat(machine=machine, time=at, **asdict(seen))
                ready = (await _stated(api, said)).model_dump_json().encode()
                beats[machine] = at, ready
        return Ready(ready)


async def _stated(api: Api, said: LeaseStanding | Heartbeat) -> SignedStatement:
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


async def _introduction(api: Api, machines: tuple[int, ...], contact: bytes) -> bytes:
    """The bytes of the answer, made and signed anew when something in it changes."""
    document, digest = orjson.loads(contact), hashlib.sha256(contact).digest()
    signatures = []
    for machine in machines:
        said = Contact(machine=machine, digest_=digest, issued_at=document.get("issued_at", 0))
        signature = await api.context.operator.sign_typed_data(said.typed_data(api.domain))
        signatures.append(
            ContactSignature(machine=machine, issuedAt=said.issued_at, signature="0x" + signature.hex())
        )
    info = MachineInfo(
        chain=api.domain.chain_id,
        controller=api.domain.verifying_contract,
        operator=api.context.operator.address,
        machines=list(machines),
        contact=document,
        signatures=signatures,
    )
    return info.model_dump_json().encode()


def _upload_route(app: FastAPI, api: Api) -> None:
    @app.put(
        "/v1/workloads/{digest}", operation_id="put_workload", status_code=201, openapi_extra=_SEALED_BODY
    )
    async def put_workload(request: Request, digest: DigestText) -> SignedReceipt:
        """Keep a sealed workload until a lease opens with its digest. Any account may; `lease` is 0."""
        expected = bytes.fromhex(digest)
        grant, sealed = await _named_body(request, api, expected, UPLOAD, 0, MAX_UPLOAD)
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


def _lease_routes(app: FastAPI, api: Api) -> None:
    @app.get("/v1/leases/{lease}", operation_id="lease_status")
    async def status(request: Request, lease: LeaseText) -> LeaseStatus:
        """How far the lease is, and why it is not running if it is not."""
        _no_body(request)
        return _status((await api.grant(request, lease, "lease.status"))[1])

    @app.get("/v1/leases/{lease}/statement", operation_id="lease_statement")
    async def statement(request: Request, lease: LeaseText) -> SignedStatement:
        """How the lease's container stands, asked of the engine now and signed by the operator: a `LeaseStanding`."""
        _no_body(request)
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
        return await _stated(api, said)

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

    @app.put("/v1/leases/{lease}/ssh/{key}", operation_id="lease_ssh", status_code=201)
    async def ssh(request: Request, lease: LeaseText, key: KeyText) -> SshCertificate:
        """Let an Ed25519 key into the lease by SSH for some minutes. It is shown together with the certificate."""
        _no_body(request)
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

    @app.get("/v1/leases/{lease}/metrics", operation_id="lease_metrics")
    async def metrics(request: Request, lease: LeaseText) -> LeaseMetrics:
        """What the lease has used while it was its tenant's."""
        _no_body(request)
        _, handle = await api.grant(request, lease, "lease.metrics")
        samples = await api.context.runtime.usage(handle.lease, handle.tenant)
        readings = [LeaseReading(**asdict(sample)) for sample in samples]
        return LeaseMetrics(lease=format_lease(handle.lease), readings=readings)


def _power_routes(app: FastAPI, api: Api) -> None:
    async def power(request: Request, lease: str, wish: Wish) -> LeaseStatus:
        _no_body(request)
        grant, handle = await api.grant(request, lease, f"lease.{wish}")
        await api.context.runtime.power(handle.lease, wish)
        _log.info(f"lease.{wish}", lease=format_lease(handle.lease), account=grant.request.account)
        return _status(await api.context.runtime.lookup(handle.lease) or handle)

    @app.put("/v1/leases/{lease}/stop", operation_id="lease_stop")
    async def stop(request: Request, lease: LeaseText) -> LeaseStatus:
        """Stop the lease's container, with its grace, until it is started. The lease goes on, and so does its bill."""
        return await power(request, lease, "stop")

    @app.put("/v1/leases/{lease}/start", operation_id="lease_start")
    async def start(request: Request, lease: LeaseText) -> LeaseStatus:
        """Start a container that was stopped, or whose command has ended by itself."""
        return await power(request, lease, "start")

    @app.put("/v1/leases/{lease}/restart", operation_id="lease_restart")
    async def restart(request: Request, lease: LeaseText) -> LeaseStatus:
        """Stop the lease's container, with its grace, and start it again."""
        return await power(request, lease, "restart")


def _volume_routes(app: FastAPI, api: Api) -> None:
    async def told(handle: LeaseHandle) -> LeaseVolumes:
        facts = await api.context.runtime.volumes(handle.lease)
        volumes = [LeaseVolume.model_validate(asdict(volume)) for volume in facts]
        return LeaseVolumes(lease=format_lease(handle.lease), volumes=volumes)

    @app.get("/v1/leases/{lease}/volumes", operation_id="lease_volumes")
    async def volumes(request: Request, lease: LeaseText) -> LeaseVolumes:
        """The volumes that the lease's workload names, and how their exports stand."""
        _no_body(request)
        return await told((await api.grant(request, lease, "lease.volumes"))[1])

    @app.put("/v1/leases/{lease}/volumes/{name}/export", operation_id="lease_export")
    async def export(request: Request, lease: LeaseText, name: VolumeText) -> LeaseVolumes:
        """Begin to put what a volume holds on IPFS, sealed under its key. It is asked for until it is done."""
        _no_body(request)
        grant, handle = await api.grant(request, lease, "lease.export")
        await api.context.runtime.export(handle.lease, name)
        _log.info(
            "lease.export", lease=format_lease(handle.lease), account=grant.request.account, volume=name
        )
        return await told(handle)

    @app.delete("/v1/leases/{lease}/volumes/{name}", operation_id="lease_discard")
    async def discard(request: Request, lease: LeaseText, name: VolumeText) -> LeaseVolumes:
        """Remove a volume of the tenant's that no lease has attached."""
        _no_body(request)
        grant, handle = await api.grant(request, lease, "lease.discard")
        await api.context.runtime.discard(handle.lease, name)
        _log.info(
            "lease.discard", lease=format_lease(handle.lease), account=grant.request.account, volume=name
        )
        return await told(handle)


def _checkpoint_routes(app: FastAPI, api: Api) -> None:
    async def told(handle: LeaseHandle) -> LeaseCheckpoints:
        facts = await api.context.runtime.checkpoints(handle.lease)
        kept = [CheckpointStanding.model_validate(asdict(made)) for made in facts.kept]
        return LeaseCheckpoints(
            lease=format_lease(handle.lease), kept=kept, running=facts.running, trouble=facts.trouble
        )

    @app.get("/v1/leases/{lease}/checkpoints", operation_id="lease_checkpoints")
    async def checkpoints(request: Request, lease: LeaseText) -> LeaseCheckpoints:
        """The lease's checkpoints that are whole, each a CID, and how the last attempt went."""
        _no_body(request)
        return await told((await api.grant(request, lease, "lease.checkpoints"))[1])

    @app.put("/v1/leases/{lease}/checkpoints", operation_id="lease_checkpoint")
    async def checkpoint(request: Request, lease: LeaseText) -> LeaseCheckpoints:
        """Begin to take one now, unless one is being taken. They are asked for until it is done."""
        _no_body(request)
        grant, handle = await api.grant(request, lease, "lease.checkpoint")
        await api.context.runtime.take_checkpoint(handle.lease)
        _log.info("lease.checkpoint", lease=format_lease(handle.lease), account=grant.request.account)
        return await told(handle)


def _order_route(app: FastAPI, api: Api) -> None:
    @app.put(
        "/v1/leases/{lease}/closing-orders/{digest}",
        operation_id="put_closing_order",
        openapi_extra=_ORDER_BODY,
    )
    async def put_closing_order(request: Request, lease: LeaseText, digest: DigestText) -> LeaseStatus:
        """Keep its tenant's signed `close`, to be sent when the job is done: in place of an earlier one."""
        number, runtime = _lease(lease), api.context.runtime
        grant, body = await _named_body(
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
        except (ChainError, TimeoutError) as error:
            raise ChainUnreachable(
                f"The chain must say whether the order is good, and does not answer: {error}", retry_after=10
            ) from None
        handle = await runtime.lookup(number)
        if handle is None:
            raise UnknownLease("There is no such lease here any more.")
        return _status(handle)


def _code_routes(app: FastAPI, api: Api) -> None:
    working = asyncio.Semaphore(CODE_AT_ONCE)

    @app.put(
        "/v1/leases/{lease}/code/{digest}",
        operation_id="offer_code",
        openapi_extra=_packed_body(MAX_CODE),
    )
    async def offer_code(request: Request, lease: LeaseText, digest: DigestText) -> CodeWanted:
        """Which pieces of the folder that the lease's workload names this host lacks. The body is its list, zstd."""
        async with (
            _code_body(request, api, lease, bytes.fromhex(digest), MAX_CODE) as (handle, body),
            working,
        ):
            folded = await asyncio.to_thread(body.read)
            lacking = await api.context.runtime.offer_code(handle.lease, handle.tenant, folded)
        return CodeWanted.of(lacking)

    @app.put(
        "/v1/leases/{lease}/code-packs/{digest}",
        operation_id="put_code",
        openapi_extra=_packed_body(MAX_PACKED),
    )
    async def put_code(request: Request, lease: LeaseText, digest: DigestText) -> CodeTaken:
        """Keep some of these pieces, for this tenant. The body is each piece behind its length in 4 bytes, zstd."""
        async with (
            _code_body(request, api, lease, bytes.fromhex(digest), MAX_PACKED) as (handle, body),
            working,
        ):
            pack = await asyncio.to_thread(body.read)
            taken, left = await api.context.runtime.take_code(handle.lease, handle.tenant, pack)
        return CodeTaken(taken=taken, left=left)


@asynccontextmanager
async def _code_body(
    request: Request, api: Api, lease: str, digest: bytes, most: int
) -> AsyncIterator[tuple[LeaseHandle, BinaryIO]]:
    """Whose code comes, and the body: only so many of one lease at once."""
    _check_length(request, most)
    grant = await api.authorizer.check(
        request.headers.getlist("authorization"), _call(request, digest), op="lease.code", lease=_lease(lease)
    )
    assert grant.handle is not None
    number = grant.handle.lease
    if (visitor := visitor_of(request.scope)) is not None:
        visitor.know(number)
    with api.codes.take(number), api.admission.streams.take(number):
        carried = partial(api.admission.line.carry, number)
        async with received(request, most, digest, api.context.state_dir, carried) as body:
            yield grant.handle, body


async def _named_body(
    request: Request, api: Api, digest: bytes, op: str, lease: int, most: int
) -> tuple[Grant, bytes]:
    """The caller's right to a call with a body, and the body, whose digest the path names: so the caller is known
    before a byte of it is read.
    """
    address = address_of(request)
    api.limits.call(address)
    _check_length(request, most)
    grant = await api.authorizer.check(
        request.headers.getlist("authorization"), _call(request, digest), op=op, lease=lease
    )
    api.limits.account(grant.request.account)
    body = await _body(request, most)
    api.limits.bytes(address, len(body), side_of(request))
    if hashlib.sha256(body).digest() != digest:
        raise DigestMismatch("The bytes have another SHA-256 than the path says; send them again.")
    return grant, body


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
        address=address_of(connection),
    )


def _check_length(request: Request, most: int) -> None:
    stated = request.headers.get("content-length", "0")
    if not stated.isdigit() or int(stated[:20]) > most:
        raise _too_large(most)


def _too_large(most: int) -> BodyTooLarge:
    if most == MAX_UPLOAD:
        return BodyTooLarge("A sealed workload may have 1 MiB; put large inputs into a dataset.")
    return BodyTooLarge(f"The body may have {most} bytes.")


async def _body(request: Request, most: int) -> bytes:
    """The body, given up on as soon as it is too long or too slow."""
    body = bytearray()
    try:
        async with asyncio.timeout(UPLOAD_SECONDS):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise BadCall("The body did not arrive in time; send it again.") from None
    except ClientDisconnect:
        raise BadCall("The body broke off.") from None
    return bytes(body)


def _no_body(request: Request) -> None:
    """No signature covers the body of a call that has none, so that there must be none."""
    if request.headers.get("content-length", "0") != "0" or "transfer-encoding" in request.headers:
        raise BadCall("This call takes no body.")

"""A machine's agent, as a tenant talks to it: upload, status, logs, commands, results.

The certificate in the machine's contact document is the only one that is trusted, and every request is
signed: by the wallet itself, or by a session's throw-away key (`SessionCache`).
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import secrets
import socket
import ssl
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import BinaryIO, Final, Protocol, Self, TypeVar

import httpx
import orjson
from pydantic import BaseModel, ValidationError
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import InvalidHandshake, InvalidStatus
from websockets.typing import Subprotocol

from leasehold._bounded import Unreadable, read_bounded
from leasehold._connections import tidy
from leasehold.chain import ClosingOrder, format_lease
from leasehold.chain.typed import (
    Domain,
    Receipt,
    Request,
    SessionKey,
    TypedDataSigner,
    recover_signer,
    sign_request,
)
from leasehold.errors import AgentError, ProofError, TypedDataError
from leasehold.market._agent_exec import ExecStream
from leasehold.market._agent_input import PIECE as FED
from leasehold.market._agent_input import Feed, FeedFailed, InputRequest
from leasehold.market._agent_output import OutputRequest, Take, TakeFailed
from leasehold.market._agent_socket import AgentSocket, Answer
from leasehold.market._documents import Contact
from leasehold.market._errors import StatementInvalid
from leasehold.market._peers import direct_endpoints
from leasehold.market._statements import Signed, checked
from leasehold.market._straight import StraightConnect, let_go
from leasehold.market.wire import (
    EMPTY_BODY,
    EXEC_PROTOCOL,
    FORMER_OPS,
    LOG_OFFSET,
    MAX_FRAME,
    MAX_UPLOAD,
    UPLOAD,
    AgentRefusal,
    AgentResults,
    AgentUnreachable,
    BadReceipt,
    BodyTooLarge,
    ChainUnreachable,
    ClosingOrderDocument,
    CodeTaken,
    CodeWanted,
    CommandEnd,
    EngineUnavailable,
    Health,
    LeaseAudit,
    LeaseCheckpoints,
    LeaseImage,
    LeaseMetrics,
    LeaseStanding,
    LeaseStatus,
    LeaseVolumes,
    MachineInfo,
    PowerWish,
    SessionsWithdrawn,
    SignedReceipt,
    SignedStatement,
    SshCertificate,
    TooManyRequests,
    encode_authorization,
    params_hash,
    refusal,
)
from leasehold.workload import CodeTree, fold

D = TypeVar("D", bound=BaseModel)
T = TypeVar("T")
S = TypeVar("S", bound=AgentSocket)

REQUEST_SECONDS: Final = 120
CONNECT_SECONDS: Final = 10.0
DIRECT_SECONDS: Final = 3.0
"""To connect to an address, where there is another way."""
ANSWER_SECONDS: Final = 60.0
PATIENCE_SECONDS: Final = 300.0
TRUST_SECONDS: Final = 30.0
HEARD: Final = 1 << 20
"""Bytes of which the loop hears at once: to wake it for each piece costs more than the piece."""
_PAUSES: Final = (0.0, 0.1, 0.2, 0.4, 0.8)
_MOST_ANSWER: Final = 4 * 1024 * 1024
_OFFSET: Final = re.compile("[0-9]{1,19}")
_PASSING = (ChainUnreachable, EngineUnavailable, TooManyRequests)


class Tunnel(Protocol):
    """Another way to the agent, where none of its endpoints answers."""

    async def open(self) -> str:
        """An https address on this host that leads to the agent. Raises `AgentUnreachable`."""
        ...

    async def close(self) -> None: ...


@dataclass(frozen=True)
class HeldWorkload:
    """The operator's signed word that it holds a sealed workload until `receipt.expires_at` at least."""

    receipt: Receipt
    signature: bytes


class AgentClient:
    """Talks to the agent of one machine for one account.

    `contact` is the machine's contact document and `operator` its operator's address, both as the chain
    names them. `signer` is the account's wallet or a session of it; `account` is needed only where a
    wallet's key is not the account itself (ERC-1271). `former` gives a session of `FORMER_OPS`, for an agent that says
    of no operation that it knows it, and refuses a session that grants others. `now` is unix seconds, `sleep` waits
    for seconds. Every method raises `AgentRefusal`'s subclasses for what the agent refuses and `AgentUnreachable` when
    no endpoint answers.
    """

    def __init__(
        self,
        contact: Contact,
        domain: Domain,
        machine: int,
        operator: str,
        signer: TypedDataSigner | SessionKey,
        *,
        account: str | None = None,
        former: Callable[[], Awaitable[SessionKey]] | None = None,
        tunnel: Tunnel | None = None,
        now: Callable[[], float] = time.time,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        own = signer.session.account if isinstance(signer, SessionKey) else signer.address
        self._account = account or own
        self._domain = domain
        self._machine = machine
        self._operator = operator
        self._signer = signer
        self._former = former
        self._operations: tuple[str, ...] = ()
        self._tunnel = tunnel
        self._ways: list[str | Tunnel] = [*direct_endpoints(contact), *([tunnel] if tunnel else [])]
        self._now = now
        self._sleep = sleep
        self._found: tuple[str, float] | None = None
        self._tls = pinned(contact.certificate)
        self._http = tidy(
            httpx.AsyncClient(
                transport=httpx.AsyncHTTPTransport(
                    verify=self._tls, socket_options=_keep_alive(), trust_env=False
                ),
                timeout=httpx.Timeout(ANSWER_SECONDS, connect=CONNECT_SECONDS),
                headers={"accept-encoding": "identity"},
                trust_env=False,
            )
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        await self._http.aclose()
        if self._tunnel is not None:
            await self._tunnel.close()

    # Calls

    async def health(self) -> Health:
        return await self._document(Health, "GET", "/v1/health")

    async def operations(self) -> tuple[str, ...]:
        """What the agent can be asked for, as far as it says so."""
        await self._base()
        return self._operations or FORMER_OPS

    async def machine(self) -> MachineInfo:
        return await self._document(MachineInfo, "GET", "/v1/machine")

    async def put_workload(self, sealed: bytes) -> HeldWorkload:
        """Hand over a sealed workload (≤ 1 MiB). Raises `BadReceipt` unless the machine's operator signs for it."""
        if len(sealed) > MAX_UPLOAD:
            raise BodyTooLarge("A sealed workload may have 1 MiB; put large inputs into a dataset.")
        digest = hashlib.sha256(sealed).digest()
        path = f"/v1/workloads/{digest.hex()}"
        sign = partial(self._sign, "PUT", path, "", UPLOAD, 0, digest)
        answer = await self._document(SignedReceipt, "PUT", path, sign=sign, body=sealed)
        return self._checked(answer, digest)

    async def status(self, lease: int) -> LeaseStatus:
        return await self._of_lease(LeaseStatus, lease, "", "lease.status")

    async def statement(self, lease: int) -> SignedStatement:
        """How the lease's container stands, signed by the machine's operator. Raises StatementInvalid for what it has
        not signed, or of something else.
        """
        signed = await self._of_lease(SignedStatement, lease, "/statement", "lease.status")
        self._own(checked(signed, self._domain), lease)
        return signed

    async def heartbeat(self) -> SignedStatement:
        """That the machine's agent lives, signed by its operator; anybody may ask. Raises as `statement`."""
        path = f"/v1/machines/{self._machine}/heartbeat"
        signed = await self._document(SignedStatement, "GET", path)
        self._own(checked(signed, self._domain), None)
        return signed

    def _own(self, signed: Signed, lease: int | None) -> None:
        said, own = signed.said, signed.signer.lower() == self._operator.lower()
        about = int(said.lease) if isinstance(said, LeaseStanding) else None
        if not own or said.machine != self._machine or about != lease:
            raise StatementInvalid("the agent's answer is another's, or of something else")

    async def results(self, lease: int) -> AgentResults:
        """Where the outputs are. Raises `NoResults` while there are none."""
        return await self._of_lease(AgentResults, lease, "/results", "lease.results")

    async def ssh_certificate(self, lease: int, key: bytes) -> SshCertificate:
        """Have an Ed25519 public key (32 bytes) let into the lease by SSH for some minutes. Raises `NotRunning`."""
        path = f"/v1/leases/{format_lease(lease)}/ssh/{key.hex()}"
        sign = partial(self._sign, "PUT", path, "", "lease.ssh", lease, EMPTY_BODY)
        return await self._document(SshCertificate, "PUT", path, sign=sign)

    async def put_closing_order(self, lease: int, order: ClosingOrder, workload: bytes) -> LeaseStatus:
        """Have the agent close the lease once the command of `workload` (a digest) has ended by itself. Raises
        `OrderRefused` where it does not, `NotRunning` and `UnknownLease` while it has not taken the lease on.
        """
        body = ClosingOrderDocument.of(order, workload).model_dump_json().encode()
        digest = hashlib.sha256(body).digest()
        path = f"/v1/leases/{format_lease(lease)}/closing-orders/{digest.hex()}"
        sign = partial(self._sign, "PUT", path, "", "lease.closing-order", lease, digest)
        return await self._document(LeaseStatus, "PUT", path, sign=sign, body=body)

    async def offer_code(self, lease: int, tree: CodeTree) -> CodeWanted:
        """Show the agent the list of the folder that the lease's workload names; it says what it lacks of it. Raises
        `CodeRefused` where it is another, or too large, `NotRunning` and `UnknownLease` while it has not taken the
        lease on.
        """
        body = fold(tree.encoded)
        path, sign = self._code_call(lease, "code", body)
        return await self._document(CodeWanted, "PUT", path, sign=sign, body=body)

    async def put_code(self, lease: int, pack: bytes) -> CodeTaken:
        """Hand over some of the pieces that it lacks, as `leasehold.workload.packs` packs them. Raises as `offer_code`,
        `StoreFull`.
        """
        path, sign = self._code_call(lease, "code-packs", pack)

        def put(request: InputRequest) -> Answer:
            try:
                return request.run(partial(_write_pieces, pack), lambda count: None, ANSWER_SECONDS)
            except AgentUnreachable as error:  # it may have come, and may come twice
                raise error.__cause__ or error from None

        status, answer = await self._in_thread(InputRequest, "PUT", path, sign, put)
        if status != httpx.codes.OK:
            raise _refused(status, answer)
        return _understood(CodeTaken, answer)

    def _code_call(
        self, lease: int, what: str, body: bytes
    ) -> tuple[str, Callable[[], Awaitable[dict[str, str]]]]:
        """The path of a body of code, and what signs a call there."""
        digest = hashlib.sha256(body).digest()
        path = f"/v1/leases/{format_lease(lease)}/{what}/{digest.hex()}"
        return path, partial(self._sign, "PUT", path, "", "lease.code", lease, digest)

    async def power(self, lease: int, wish: PowerWish) -> LeaseStatus:
        """Have the lease's container stand still, run again, or begin anew. Raises `NotRunning` for one that is not
        billed, or whose command has ended where it is to stop.
        """
        path = f"/v1/leases/{format_lease(lease)}/{wish}"
        sign = partial(self._sign, "PUT", path, "", f"lease.{wish}", lease, EMPTY_BODY)
        return await self._document(LeaseStatus, "PUT", path, sign=sign)

    async def volumes(self, lease: int) -> LeaseVolumes:
        """The volumes that the lease's workload names, and how their exports stand."""
        return await self._of_lease(LeaseVolumes, lease, "/volumes", "lease.volumes")

    async def export_volume(self, lease: int, name: str) -> LeaseVolumes:
        """Begin to export a volume that the lease has attached. Raises `NotRunning` where it has not."""
        path = f"/v1/leases/{format_lease(lease)}/volumes/{name}/export"
        sign = partial(self._sign, "PUT", path, "", "lease.export", lease, EMPTY_BODY)
        return await self._document(LeaseVolumes, "PUT", path, sign=sign)

    async def discard_volume(self, lease: int, name: str) -> LeaseVolumes:
        """Remove a volume that no lease has attached."""
        path = f"/v1/leases/{format_lease(lease)}/volumes/{name}"
        sign = partial(self._sign, "DELETE", path, "", "lease.discard", lease, EMPTY_BODY)
        return await self._document(LeaseVolumes, "DELETE", path, sign=sign)

    async def checkpoints(self, lease: int) -> LeaseCheckpoints:
        """The lease's checkpoints that are whole, and how the last attempt went."""
        return await self._of_lease(LeaseCheckpoints, lease, "/checkpoints", "lease.checkpoints")

    async def take_checkpoint(self, lease: int) -> LeaseCheckpoints:
        """Begin to take one now. Raises `NotRunning` where the lease has no folder for them."""
        path = f"/v1/leases/{format_lease(lease)}/checkpoints"
        sign = partial(self._sign, "PUT", path, "", "lease.checkpoint", lease, EMPTY_BODY)
        return await self._document(LeaseCheckpoints, "PUT", path, sign=sign)

    async def image(self, lease: int) -> LeaseImage:
        """The image that was made of the lease's container, and how the last attempt went."""
        return await self._of_lease(LeaseImage, lease, "/image", "lease.image")

    async def commit(self, lease: int, recipient: str) -> LeaseImage:
        """Begin to make one, sealed to an age recipient. Raises `NotRunning`, `TooManyRequests` while one is made for
        another.
        """
        path = f"/v1/leases/{format_lease(lease)}/image/{recipient}"
        sign = partial(self._sign, "PUT", path, "", "lease.commit", lease, EMPTY_BODY)
        return await self._document(LeaseImage, "PUT", path, sign=sign)

    async def audit(self, lease: int) -> LeaseAudit:
        """Who did what on the lease while it was the account's."""
        return await self._of_lease(LeaseAudit, lease, "/audit", "lease.audit")

    async def revoke_session(self, lease: int, session: str) -> SessionsWithdrawn:
        """Have the agent listen no more, on that lease, to the account's session of that key. Raises `StoreFull`."""
        path = f"/v1/leases/{format_lease(lease)}/sessions/{session.lower()}"
        sign = partial(self._sign, "DELETE", path, "", "lease.revoke", lease, EMPTY_BODY)
        return await self._document(SessionsWithdrawn, "DELETE", path, sign=sign)

    async def metrics(self, lease: int) -> LeaseMetrics:
        """What the lease has used so far, for a day at most."""
        return await self._of_lease(LeaseMetrics, lease, "/metrics", "lease.metrics")

    async def logs(
        self,
        lease: int,
        *,
        tail: int | None = None,
        follow: bool = False,
        since: int | None = None,
        timestamps: bool = False,
    ) -> AsyncGenerator[bytes, None]:
        """The lease's log, or its last `tail` lines; with `follow`, until its container ends.

        since: no line from before, in unix seconds by the machine's clock. timestamps: each line begins with when it
        was written. A connection that breaks off is taken up again at the same byte, for five minutes of silence at
        most; an agent that says nothing for so long of a log that is not followed is given up, too.
        """
        view = {} if since is None else {"since": str(since)}
        if timestamps:
            view["timestamps"] = "true"
        position, query = 0, view if tail is None else {**view, "tail": str(tail)}
        first, patience = True, _Patience(self._sleep)
        while True:
            if follow:
                query = {**query, "follow": "true"}
            try:
                async with self._stream_log(lease, query) as response:
                    said = response.headers.get(LOG_OFFSET, "")
                    position = int(said) if _OFFSET.fullmatch(said) else position
                    async for data in response.aiter_raw():
                        first = False
                        patience.renew()
                        position += len(data)
                        yield data
                return
            except httpx.TransportError as error:
                self._found = None
                if isinstance(error, httpx.ReadTimeout):
                    raise _fell_silent() from None
                if not follow:
                    raise AgentUnreachable("The log broke off;", "ask for it again.") from error
            except AgentUnreachable:
                if first:
                    raise
            except _PASSING:
                if first:
                    raise
            first = False
            query = {**view, "offset": str(position)} if position else query
            await patience.wait()

    @asynccontextmanager
    async def exec(
        self,
        lease: int,
        command: Sequence[str],
        *,
        tty: bool = False,
        env: Mapping[str, str] | None = None,
        size: tuple[int, int] | None = None,
    ) -> AsyncIterator[ExecStream]:
        """Run a command in the lease's container; `size` is (rows, columns). Leaving the block ends it."""
        path = f"/v1/leases/{format_lease(lease)}/exec"
        start = {"command": list(command), "tty": tty, "env": dict(env or {}), "size": size}
        base = await self._base()

        async def connected() -> ClientConnection:
            return await StraightConnect(
                "wss://" + base.removeprefix("https://") + path,
                ssl=self._tls,
                additional_headers=await self._sign("GET", path, "", "lease.exec", lease, EMPTY_BODY),
                subprotocols=[Subprotocol(EXEC_PROTOCOL)],
                max_size=MAX_FRAME,
                max_queue=4,
                compression=None,
                proxy=None,
                open_timeout=ANSWER_SECONDS,
                ping_interval=None,  # output that is held back is no sign of a dead connection
                close_timeout=2,
            )

        try:
            connection = await self._persist(connected)
        except InvalidStatus as error:
            raise _refused(error.response.status_code, bytes(error.response.body or b"")) from None
        except (OSError, TimeoutError, InvalidHandshake) as error:
            self._found = None
            raise AgentUnreachable(f"The agent at {base} does not answer: {error}") from error
        try:
            for (
                option
            ) in _keep_alive():  # nobody pings, and a machine may vanish while it is only listened to
                connection.transport.get_extra_info("socket").setsockopt(*option)
            await connection.send(orjson.dumps(start).decode())
            yield ExecStream(connection)
        finally:
            await let_go(connection)

    async def exec_on(
        self,
        lease: int,
        command: Sequence[str],
        feed: Feed,
        counted: Callable[[int], None] = lambda count: None,
    ) -> CommandEnd:
        """Run a command in the lease's container on what `feed` writes, in a thread, which may be much; how it ended.
        counted: hears, in the loop, of so many bytes more. What `feed` raises is raised, and ends the command.
        """
        try:
            status, answer = await self._command(
                InputRequest,
                lease,
                "/exec",
                {"command": _in_json(command)},
                counted,
                lambda request, heard: request.run(feed, heard),
            )
        except FeedFailed as failed:
            raise failed.error from None
        if status != httpx.codes.OK:
            raise _refused(status, answer)
        return _understood(CommandEnd, answer)

    async def exec_from(
        self,
        lease: int,
        command: Sequence[str],
        take: Take,
        given: bytes = b"",
        counted: Callable[[int], None] = lambda count: None,
        *,
        much: bool = False,
    ) -> CommandEnd:
        """Run a command in the lease's container on `given`, of some KiB, and have `take` read what it writes, in a
        thread, which may be much; how it ended. counted: hears, in the loop, of so many bytes more. much: it is
        likely to be, and the agent is told so. What `take` raises is raised, unless the command has written all it had
        and failed.
        """
        try:
            status, answer = await self._command(
                OutputRequest,
                lease,
                "/exec/output",
                {"command": _in_json(command), **({"much": "true"} if much else {})},
                counted,
                lambda request, heard: request.run(given, take, heard),
            )
        except TakeFailed as failed:
            if failed.answer is None or not (end := _end_of(failed.answer[1])).exit:
                raise failed.error from None
            return end
        if status != httpx.codes.OK:
            raise _refused(status, answer)
        return _end_of(answer)

    async def _command(
        self,
        kind: type[S],
        lease: int,
        ending: str,
        asked: Mapping[str, str],
        counted: Callable[[int], None],
        run: Callable[[S, Callable[[int], None]], Answer],
    ) -> Answer:
        """What a request about a command comes to, which `run` makes in a thread."""
        path = f"/v1/leases/{format_lease(lease)}{ending}"
        query = str(httpx.QueryParams(asked))
        sign = partial(self._sign, "POST", path, query, "lease.exec", lease, EMPTY_BODY)
        loop, unheard = asyncio.get_running_loop(), 0

        def heard(count: int) -> None:
            nonlocal unheard
            if (unheard := unheard + count) >= HEARD:
                loop.call_soon_threadsafe(counted, unheard)
                unheard = 0

        try:
            return await self._in_thread(
                kind, "POST", f"{path}?{query}", sign, lambda request: run(request, heard)
            )
        finally:
            if unheard:
                counted(unheard)

    async def _in_thread(
        self,
        kind: type[S],
        method: str,
        target: str,
        sign: Callable[[], Awaitable[dict[str, str]]],
        run: Callable[[S], Answer],
    ) -> Answer:
        """What a request of its own connection comes to, which `run` makes in a thread."""
        base = await self._base()

        async def ask() -> Answer:
            request = kind(
                base,
                target,
                await sign(),
                method=method,
                tls=self._tls,
                options=_keep_alive(),
                connect=CONNECT_SECONDS,
                answer=ANSWER_SECONDS,
            )
            return await _run_in_thread(request, lambda: run(request))

        try:
            return await self._persist(ask)
        except OSError as error:
            self._found = None
            raise AgentUnreachable(f"The agent at {base} does not answer: {error};", "try again.") from error

    # How

    async def _of_lease(self, kind: type[D], lease: int, ending: str, op: str) -> D:
        path = f"/v1/leases/{format_lease(lease)}{ending}"
        sign = partial(self._sign, "GET", path, "", op, lease, EMPTY_BODY)
        return await self._document(kind, "GET", path, sign=sign)

    async def _sign(
        self, method: str, path: str, query: str, op: str, lease: int, body_digest: bytes
    ) -> dict[str, str]:
        now = int(self._now())
        request = Request(
            account=self._account,
            chain=self._domain.chain_id,
            controller=self._domain.verifying_contract,
            machine=self._machine,
            lease=lease,
            op=op,
            params_hash=params_hash(method, path, query, body_digest),
            issued_at=now,
            expires_at=now + REQUEST_SECONDS,
            nonce=secrets.token_bytes(32),
        )
        proof = await sign_request(request, self._domain, await self._key())
        return {"Authorization": encode_authorization(request, proof)}

    async def _key(self) -> TypedDataSigner | SessionKey:
        """What signs, once it is known what the agent understands."""
        if self._former is not None:
            await self._base()
            if not self._operations:
                self._signer = await self._former()
            self._former = None
        return self._signer

    async def _base(self) -> str:
        """Where the agent answers; that way goes first from now on, and is not asked again for a while."""
        if self._found is not None and self._now() < self._found[1] + TRUST_SECONDS:
            return self._found[0]
        problems: list[AgentUnreachable] = []
        for way in list(self._ways):
            try:
                base = await self._answering(way)
            except AgentUnreachable as error:
                problems.append(error)
            else:
                self._ways.remove(way)
                self._ways.insert(0, way)
                self._found = (base, self._now())
                return base
        tried = "; ".join(error.problem for error in problems) or "it names none"
        raise AgentUnreachable(
            f"The machine's agent does not answer at its endpoints ({tried});",
            problems[-1].advice if problems else "try again later.",
        )

    async def _answering(self, way: str | Tunnel) -> str:
        """The address of the API by that way. Raises `AgentUnreachable` unless the agent is there."""
        base = way.rstrip("/") if isinstance(way, str) else await way.open()
        timeout = DIRECT_SECONDS if isinstance(way, str) and len(self._ways) > 1 else CONNECT_SECONDS
        try:
            ask = partial(self._asked, "GET", base + "/v1/health", connect=timeout)
            _, answer = await self._persist(ask)
        except httpx.TransportError as error:
            said = str(error) or type(error).__name__
            shown = base if isinstance(way, str) else "through its IPFS node"
            raise AgentUnreachable(f"{shown}: {said};", "try again later.") from error
        with suppress(ValidationError):  # whatever it says, it is there
            self._operations = tuple(Health.model_validate_json(answer).operations)
        return base

    async def _persist(self, act: Callable[[], Awaitable[T]]) -> T:
        """What `act` gives. An agent that many strangers call turns some away before it knows who they are: whose
        connection is cut comes again at once, a few times.
        """
        for pause in _PAUSES:
            try:
                return await act()
            except (httpx.TransportError, OSError) as error:
                if not _was_cut(error):
                    raise
            await self._sleep(pause)
        return await act()

    async def _asked(
        self,
        method: str,
        url: str,
        headers: dict[str, str] | None = None,
        content: bytes | None = None,
        *,
        connect: float = CONNECT_SECONDS,
    ) -> tuple[httpx.Response, bytes]:
        timeout = httpx.Timeout(ANSWER_SECONDS, connect=connect)
        async with self._http.stream(
            method, url, headers=headers, content=content, timeout=timeout
        ) as response:
            return response, await _read(response)

    async def _document(
        self,
        kind: type[D],
        method: str,
        path: str,
        *,
        sign: Callable[[], Awaitable[dict[str, str]]] | None = None,
        body: bytes = b"",
    ) -> D:
        base = await self._base()

        async def ask() -> tuple[httpx.Response, bytes]:
            # Signed anew each time: a request serves once, and who was cut off cannot know whether it has.
            headers = None if sign is None else await sign()
            return await self._asked(method, base + path, headers, body if method == "PUT" else None)

        try:
            response, answer = await self._persist(ask)
        except httpx.TransportError as error:
            self._found = None
            raise AgentUnreachable(
                f"The agent at {base} broke off: {str(error) or type(error).__name__};", "try again."
            ) from error
        if not response.is_success:
            raise _refused(response.status_code, answer)
        return _understood(kind, answer)

    @asynccontextmanager
    async def _stream_log(self, lease: int, query: Mapping[str, str]) -> AsyncIterator[httpx.Response]:
        path = f"/v1/leases/{format_lease(lease)}/logs"
        encoded = str(httpx.QueryParams(query))
        headers = await self._sign("GET", path, encoded, "lease.logs", lease, EMPTY_BODY)
        url = await self._base() + path + (f"?{encoded}" if encoded else "")
        # One that is followed may be quiet for as long as it likes; that it is there is said at once.
        quiet = httpx.Timeout(CONNECT_SECONDS, read=None if "follow" in query else PATIENCE_SECONDS)
        async with AsyncExitStack() as held:
            try:
                async with asyncio.timeout(PATIENCE_SECONDS):
                    response = await held.enter_async_context(
                        self._http.stream("GET", url, headers=headers, timeout=quiet)
                    )
            except TimeoutError:
                raise _fell_silent() from None
            if not response.is_success:
                raise _refused(response.status_code, await _read(response))
            yield response

    def _checked(self, answer: SignedReceipt, digest: bytes) -> HeldWorkload:
        try:
            receipt = Receipt.from_json(answer.receipt.model_dump())
            signature = bytes.fromhex(answer.signature.removeprefix("0x"))
            signed_by = recover_signer(receipt.digest(self._domain), signature)
        except (ValueError, TypedDataError, ProofError):
            raise BadReceipt("The agent's receipt cannot be read;", "do not open a lease on it.") from None
        expected = (self._domain.chain_id, self._domain.verifying_contract, self._machine, digest)
        if (receipt.chain, receipt.controller, receipt.machine, receipt.digest_) != expected:
            raise BadReceipt("The agent's receipt is for something else;", "do not open a lease on it.")
        if signed_by.lower() != self._operator.lower():
            raise BadReceipt(f"The receipt is signed by {signed_by}, not by the operator {self._operator}.")
        if receipt.expires_at <= self._now():
            raise BadReceipt("The agent's receipt has expired already;", "do not open a lease on it.")
        return HeldWorkload(receipt, signature)


class _Patience:
    """Waits longer each time, and gives up after `PATIENCE_SECONDS` without a byte."""

    def __init__(self, sleep: Callable[[float], Awaitable[None]]) -> None:
        self._sleep = sleep
        self.renew()

    def renew(self) -> None:
        self._next, self._waited = 0.5, 0.0

    async def wait(self) -> None:
        if self._waited >= PATIENCE_SECONDS:
            raise AgentUnreachable(
                "The log broke off, and the agent has not answered since;", "ask for it again."
            )
        await self._sleep(self._next)
        self._waited += self._next
        self._next = min(self._next * 2, 15.0)


def pinned(certificate: str) -> ssl.SSLContext:
    """A TLS context that trusts exactly this certificate (PEM), whatever name it is reached by.

    Raises `AgentUnreachable` for what is no certificate: nobody can be sure to reach that agent.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname = False  # the key is what identifies the agent; its address may change
    try:
        context.load_verify_locations(cadata=certificate)
    except (ssl.SSLError, ValueError):
        raise AgentUnreachable(
            "The machine's contact document holds no certificate;", "choose another machine."
        ) from None
    return context


def _was_cut(error: BaseException | None) -> bool:
    """Whether the other side took a connection and ended it without a word."""
    while error is not None:
        if isinstance(
            error, ConnectionResetError | BrokenPipeError | ssl.SSLEOFError | httpx.RemoteProtocolError
        ):
            return True
        error = error.__cause__ or error.__context__
    return False


def _fell_silent() -> AgentUnreachable:
    return AgentUnreachable(
        f"The agent has said nothing of the log for {PATIENCE_SECONDS:.0f} seconds;",
        "ask for its last lines, or again later.",
    )


def _keep_alive() -> list[tuple[int, int, int]]:
    """A follower of a quiet log finds out within minutes that the other side is gone."""
    options = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for name, value in (("TCP_KEEPIDLE", 60), ("TCP_KEEPINTVL", 20), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            options.append((socket.IPPROTO_TCP, getattr(socket, name), value))
    return options


async def _read(response: httpx.Response) -> bytes:
    try:
        return await read_bounded(response, _MOST_ANSWER)
    except Unreadable as error:
        raise AgentError(f"The agent's answer cannot be read, since {error};", "tell its provider.") from None


async def _run_in_thread(request: AgentSocket, run: Callable[[], Answer]) -> Answer:
    """Given up, it is cut, and its thread is waited for: it uses what its caller may take away then."""
    working = asyncio.ensure_future(asyncio.to_thread(run))
    try:
        return await asyncio.shield(working)
    finally:
        if not working.done():
            request.cut()
            await asyncio.gather(working, return_exceptions=True)


def _in_json(command: Sequence[str]) -> str:
    return orjson.dumps(list(command)).decode()


def _write_pieces(body: bytes, writer: BinaryIO) -> None:
    """So that each of them has its time, and not all of it one."""
    view = memoryview(body)
    for start in range(0, len(body), FED):
        writer.write(view[start : start + FED])


def _end_of(answer: bytes) -> CommandEnd:
    """How a command ended that wrote an answer. Raises AgentRefusal where the agent says that it does not know."""
    with suppress(ValueError, KeyError, TypeError):
        problem = orjson.loads(answer)
        raise refusal(str(problem["type"]), str(problem["detail"]))
    return _understood(CommandEnd, answer)


def _understood(kind: type[D], answer: bytes) -> D:
    try:
        return kind.model_validate_json(answer)
    except ValidationError:
        raise AgentError(
            "The agent's answer is not understood;", "update leasehold, or tell its provider."
        ) from None


def _refused(status: int, answer: bytes) -> AgentRefusal:
    try:
        problem = orjson.loads(answer)
        name, detail = str(problem["type"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError):
        return AgentRefusal(f"The agent answered with status {status} and no reason; try again later.")
    return refusal(name, detail)

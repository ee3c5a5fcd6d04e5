"""What stays open: a log that is followed, and a command's input and output."""

from __future__ import annotations

from contextlib import ExitStack
from functools import partial
from typing import Annotated, Final

from fastapi import APIRouter, Query, Request, Response, WebSocket

from leasehold.errors import AgentError
from leasehold.market.wire import EXEC_PROTOCOL, LOG_OFFSET, BadCall, CommandEnd, NotRunning
from leasehold_agent._runtime import LogView
from leasehold_agent.api._calls import LeaseText, binary_body, body_of, check_length, no_body
from leasehold_agent.api._exec import serve_exec
from leasehold_agent.api._exec_input import command_of, serve_input
from leasehold_agent.api._exec_output import MOST_INPUT, CommandResponse, output_of
from leasehold_agent.api._logs import read_log
from leasehold_agent.api._problems import problem
from leasehold_agent.api._shared import api_of
from leasehold_agent.api._streams import HeldResponse, cut, until

MOST_TAIL: Final = 100_000
_INPUT: Final = {
    "requestBody": {
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    }
}
_PIECES: Final = (
    "Pieces of what it writes, each behind its length in 4 bytes; behind a length of 0 its end, in JSON"
)
_LATEST: Final = 1 << 40  # seconds: an engine reads no larger time

router = APIRouter()


@router.get(
    "/v1/leases/{lease}/logs",
    operation_id="lease_logs",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": f"The log; see the header {LOG_OFFSET}"}},
)
async def logs(
    request: Request,
    lease: LeaseText,
    tail: Annotated[int | None, Query(ge=0, le=MOST_TAIL, description="last lines; all if left out")] = None,
    follow: Annotated[bool, Query(description="go on until the container ends")] = False,
    offset: Annotated[int, Query(ge=0, description="go on from this byte of the log")] = 0,
    since: Annotated[
        int | None, Query(ge=0, le=_LATEST, description="no line from before, in unix seconds")
    ] = None,
    timestamps: Annotated[bool, Query(description="each line begins with when it was written")] = False,
) -> Response:
    """Standard output and error of the lease's container."""
    api = api_of(request)
    no_body(request)
    grant, handle = await api.grant(request, lease, "lease.logs")
    if handle.container_id is None and not handle.kept_log:
        raise NotRunning(f"The lease is {handle.phase}; it has no log here. `leasehold show` says why.")
    view = LogView(since, timestamps)
    if view.by_time and handle.container_id is None:
        raise NotRunning(
            "The lease's container is gone, and with it the times of its lines: ask for its log without them."
        )
    if tail is not None and offset:
        raise BadCall("Ask for `tail` or for `offset`, not both.")
    # Its place first: looking for the last lines reads the whole log.
    with ExitStack() as held:
        held.enter_context(api.admission.streams.take(handle.lease))
        async with api.admission.opening.turn(handle.lease):
            stream = await read_log(
                api.context.runtime,
                handle.lease,
                tail=tail,
                follow=follow,
                offset=offset,
                view=view,
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


@router.post("/v1/leases/{lease}/exec", operation_id="lease_exec", openapi_extra=_INPUT)
async def exec_on_input(
    request: Request,
    response: Response,
    lease: LeaseText,
    command: Annotated[str, Query(description="what to run: a list of words, in JSON")] = "",
) -> CommandEnd:
    """Run a command in the lease's container on the body, which no signature covers: its length is not known."""
    api = api_of(request)
    grant, handle = await api.grant(request, lease, "lease.exec")
    words = command_of(command)
    if handle.container_id is None:
        raise NotRunning(f"The lease is {handle.phase}; nothing can be run in it yet.")
    response.headers["Connection"] = "close"  # there may be more of the body, which nobody reads
    ends = list[CommandEnd]()

    async def serve() -> None:
        runtime, admission = api.context.runtime, api.admission
        ends.append(await serve_input(request, runtime, handle.lease, words, admission))

    with api.admission.streams.take(handle.lease):
        await cut(partial(api.until_revoked, grant), serve())
    if not ends:
        raise NotRunning("The right to this lease has ended, and the command with it.")
    return ends[0]


@router.post(
    "/v1/leases/{lease}/exec/output",
    operation_id="exec_output",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": _PIECES}},
    openapi_extra=binary_body(MOST_INPUT),
)
async def exec_to_output(
    request: Request,
    lease: LeaseText,
    command: Annotated[str, Query(description="what to run: a list of words, in JSON")] = "",
    much: Annotated[bool, Query(description="it may write a lot; it runs alike, and goes faster")] = False,
) -> Response:
    """Run a command in the lease's container and hand out what it writes. The body is what it reads, which no
    signature covers.
    """
    api = api_of(request)
    check_length(request, MOST_INPUT)
    grant, handle = await api.grant(request, lease, "lease.exec")
    words = command_of(command)
    if handle.container_id is None:
        raise NotRunning(f"The lease is {handle.phase}; nothing can be run in it yet.")
    runtime, admission = api.context.runtime, api.admission
    with ExitStack() as held:
        held.enter_context(admission.streams.take(handle.lease))
        given = await body_of(request, MOST_INPUT)
        async with admission.opening.turn(handle.lease):
            stream = await runtime.exec(handle.lease, words, much=much and not given)
        output = until(
            partial(api.until_revoked, grant),
            output_of(stream, given),
            partial(admission.line.carry, handle.lease),
        )
        return CommandResponse(stream, output, held.pop_all())


@router.websocket("/v1/leases/{lease}/exec")
async def exec_(socket: WebSocket, lease: LeaseText) -> None:
    api = api_of(socket)
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

"""The way to an agent: what a browser signed arrives as it was, and neither side makes the gateway do anything else."""

from __future__ import annotations

import asyncio
import hashlib
import re
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from ipaddress import ip_network
from pathlib import Path

import httpx
import orjson
import pytest
from fastapi import FastAPI
from websockets.asyncio.client import ClientConnection, connect
from websockets.client import ClientProtocol
from websockets.exceptions import ConnectionClosed
from websockets.protocol import Event
from websockets.utils import accept_key

from devnet.local_leases import LocalLeases
from devnet.patience import patient
from devnet.serving import CHAIN, CONTROLLER, MACHINE, Chain, Clock, certificate, serve_context
from leasehold._slices import MOST_FRAGMENTS, SLICE
from leasehold.chain import LocalSigner
from leasehold.chain.typed import Domain, Request, sign_request
from leasehold.gateway import _relaying, _terminals
from leasehold.gateway._lines import Lines
from leasehold.gateway._places import Places
from leasehold.gateway._refusals import NotHere
from leasehold.gateway._relaying import MOST_AT_ONCE, Relay, keys_of
from leasehold.market import AgentLine, Contact, Dialling
from leasehold.market.wire import EXEC_PROTOCOL, MAX_FRAME, MAX_UPLOAD, encode_authorization, params_hash
from leasehold_agent._runtime import LeaseHandle
from leasehold_agent.api import ApiServer

LEASE = (12 << 16) + 1
DOMAIN = Domain(CHAIN, CONTROLLER)
LOOPBACK = Dialling((ip_network("127.0.0.0/8"),))
AppOf = Callable[..., FastAPI]
Serve = Callable[[FastAPI], Awaitable[str]]


@dataclass
class Agent:
    """A real agent's API on the loopback, whose leases are processes."""

    leases: LocalLeases
    wallet: LocalSigner
    clock: Clock
    contact: Contact

    async def signed(
        self, method: str, path: str, op: str, *, query: str = "", body: bytes = b"", lease: int = LEASE
    ) -> str:
        """A credential, as the browser makes it."""
        request = Request(
            account=self.wallet.address,
            chain=CHAIN,
            controller=CONTROLLER,
            machine=MACHINE,
            lease=lease,
            op=op,
            params_hash=params_hash(method, path, query, hashlib.sha256(body).digest()),
            issued_at=self.clock(),
            expires_at=self.clock() + 60,
            nonce=hashlib.sha256(f"{method}{path}{query}{len(body)}".encode()).digest(),
        )
        return encode_authorization(request, await sign_request(request, DOMAIN, self.wallet))


@pytest.fixture
async def agent(tmp_path: Path) -> AsyncIterator[Agent]:
    root, folder = tmp_path / "leases", tmp_path / "agent"
    root.mkdir()
    folder.mkdir(mode=0o700)
    leases, clock = LocalLeases(root), Clock()
    wallet, operator = LocalSigner(b"\1" * 32), LocalSigner(b"\3" * 32)
    context = serve_context(folder, leases, operator, clock, Chain(set()))
    leases.add(
        LeaseHandle(LEASE, wallet.address, MACHINE, "running", container_id="c", container_state="running")
    )
    server = await ApiServer.open(context)
    port = await server.start("127.0.0.1", 0)
    document = {**orjson.loads(context.contact()), "endpoints": [f"https://127.0.0.1:{port}"]}
    yield Agent(leases, wallet, clock, Contact.model_validate(document))
    await server.close()
    await leases.close()


@asynccontextmanager
async def relayed(
    contact: Contact, app_of: AppOf, dialling: Dialling = LOOPBACK, reading: float = 30.0, **most: int
) -> AsyncIterator[tuple[FastAPI, Relay]]:
    async def contact_of(machine: int) -> Contact:
        if machine != MACHINE:
            raise NotHere("There is no such machine")
        return contact

    lines = Lines(contact_of, lambda machine, known: AgentLine(known, dialling, patience=patient(10)))
    places = Places({**MOST_AT_ONCE, **most})
    relay = Relay(lines, caller_of=lambda connection: "somebody", places=places, reading=reading)
    yield app_of([_relaying.router, _terminals.router], relay), relay
    await lines.close()


@pytest.fixture
async def gateway(agent: Agent, app_of: AppOf, serve: Serve) -> AsyncIterator[httpx.AsyncClient]:
    async with relayed(agent.contact, app_of) as (app, _):
        base = f"http://{await serve(app)}/api/v1/agents/{MACHINE}"
        async with httpx.AsyncClient(base_url=base, trust_env=False, timeout=patient(10)) as client:
            yield client


async def until(holds: Callable[[], bool]) -> None:
    """Waits for what surely comes."""
    async with asyncio.timeout(patient(10)):
        while not holds():  # noqa: ASYNC110  # neither announces it
            await asyncio.sleep(0)


# ------------------------------------------------------------------------------------------------------ a real agent


async def test_what_was_signed_arrives_as_it_was(agent: Agent, gateway: httpx.AsyncClient) -> None:
    path = "/v1/leases/12.1"
    signed = await agent.signed("GET", path, "lease.status")
    answer = await gateway.get(path, headers={"authorization": signed})
    assert answer.json()["phase"] == "running"
    again = await gateway.get(path, headers={"authorization": signed})
    assert (again.status_code, again.json()["type"]) == (401, "request-replayed")


async def test_a_query_arrives_byte_for_byte(agent: Agent, gateway: httpx.AsyncClient) -> None:
    await agent.leases.say(LEASE, b"one\ntwo\n", end=True)
    path, query = "/v1/leases/12.1/logs", "tail=%31&&since=0"
    signed = await agent.signed("GET", path, "lease.logs", query=query)
    url = httpx.URL(str(gateway.base_url).rstrip("/") + path)
    request = httpx.Request(
        "GET", url, headers={"authorization": signed}, extensions={"target": f"{url.path}?{query}".encode()}
    )
    answer = await gateway.send(request)
    assert (answer.status_code, answer.text) == (200, "two\n")


async def test_a_sealed_workload_is_handed_over(agent: Agent, gateway: httpx.AsyncClient) -> None:
    sealed = b"age-encryption.org/v1 " + bytes(range(256)) * 100
    digest = hashlib.sha256(sealed)
    path = f"/v1/workloads/{digest.hexdigest()}"
    signed = await agent.signed("PUT", path, "workload.put", body=sealed, lease=0)
    answer = await gateway.put(path, content=sealed, headers={"authorization": signed})
    assert answer.status_code == 201
    assert agent.leases.workloads.kept == {digest.digest(): sealed}


async def test_nothing_of_the_browsers_but_its_credential_goes_on(
    agent: Agent, gateway: httpx.AsyncClient
) -> None:
    answer = await gateway.get(
        "/v1/health", headers={"cookie": "__Host-leasehold=secret", "x-forwarded-for": "1.2.3.4"}
    )
    assert answer.status_code == 200
    assert "operations" in answer.json()


async def test_a_log_is_followed_as_it_grows(agent: Agent, gateway: httpx.AsyncClient) -> None:
    path = "/v1/leases/12.1/logs"
    signed = await agent.signed("GET", path, "lease.logs", query="follow=1")
    async with gateway.stream("GET", path + "?follow=1", headers={"authorization": signed}) as answer:
        chunks = answer.aiter_raw()
        await agent.leases.say(LEASE, b"first\n")
        assert await anext(chunks) == b"first\n"
        await agent.leases.say(LEASE, b"last\n", end=True)
        assert b"".join([chunk async for chunk in chunks]) == b"last\n"
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"


async def test_a_browser_that_leaves_ends_what_it_followed(agent: Agent, gateway: httpx.AsyncClient) -> None:
    path = "/v1/leases/12.1/logs"
    signed = await agent.signed("GET", path, "lease.logs", query="follow=1")
    async with gateway.stream("GET", path + "?follow=1", headers={"authorization": signed}) as answer:
        await agent.leases.say(LEASE, b"first\n")
        chunks = answer.aiter_raw()  # held, since one that is thrown away ends the answer with it
        await anext(chunks)
        assert agent.leases.logs_of[LEASE].followers == 1
    await until(lambda: agent.leases.logs_of[LEASE].followers == 0)


async def test_a_command_is_run_on_a_body(agent: Agent, gateway: httpx.AsyncClient) -> None:
    path = "/v1/leases/12.1/exec"
    query = str(httpx.QueryParams({"command": '["wc","-c"]'}))
    signed = await agent.signed("POST", path, "lease.exec", query=query)
    answer = await gateway.post(f"{path}?{query}", content=b"x" * 300_000, headers={"authorization": signed})
    assert answer.json() == {"exit": 0, "said": "300000\n"}


async def credential(agent: Agent) -> str:
    signed = await agent.signed("GET", "/v1/leases/12.1/exec", "lease.exec")
    return "leasehold.credential." + signed.removeprefix("Leasehold ")


async def test_a_terminal(agent: Agent, gateway: httpx.AsyncClient) -> None:
    url = str(gateway.base_url).replace("http:", "ws:").rstrip("/") + "/v1/leases/12.1/exec"
    protocols = [EXEC_PROTOCOL, await credential(agent)]
    async with connect(url, subprotocols=protocols, proxy=None, open_timeout=patient(10)) as terminal:  # type: ignore[arg-type]
        assert terminal.subprotocol == EXEC_PROTOCOL
        await terminal.send('{"command": ["cat"], "tty": false, "env": {}, "size": null}')
        await terminal.send(b"\0hello\n")
        assert await terminal.recv() == b"\1hello\n"
        await terminal.send('{"eof":true}')
        assert orjson.loads(await terminal.recv()) == {"exit": 0}
        with pytest.raises(ConnectionClosed):
            await terminal.recv()
    # The credential has served: whoever copies it has nothing.
    async with connect(url, subprotocols=protocols, proxy=None, open_timeout=patient(10)) as thief:  # type: ignore[arg-type]
        assert orjson.loads(await thief.recv())["error"] == "request-replayed"


async def test_a_terminal_without_one_credential_is_refused(gateway: httpx.AsyncClient) -> None:
    url = str(gateway.base_url).replace("http:", "ws:").rstrip("/") + "/v1/leases/12.1/exec"
    for protocols in (
        [EXEC_PROTOCOL],
        ["leasehold.credential.abc"],
        [EXEC_PROTOCOL, "leasehold.credential.a", "leasehold.credential.b"],
        [EXEC_PROTOCOL, "leasehold.credential.a!b"],
    ):
        async with connect(url, subprotocols=protocols, proxy=None, open_timeout=patient(10)) as terminal:  # type: ignore[arg-type]
            assert orjson.loads(await terminal.recv())["error"] == "bad-request", protocols


async def test_a_terminal_that_leaves_ends_its_command(agent: Agent, gateway: httpx.AsyncClient) -> None:
    url = str(gateway.base_url).replace("http:", "ws:").rstrip("/") + "/v1/leases/12.1/exec"
    protocols = [EXEC_PROTOCOL, await credential(agent)]
    async with connect(url, subprotocols=protocols, proxy=None, open_timeout=patient(10)) as terminal:  # type: ignore[arg-type]
        await terminal.send(
            '{"command": ["sh", "-c", "echo up; sleep 600"], "tty": false, "env": {}, "size": null}'
        )
        assert await terminal.recv() == b"\1up\n"
    (stream,) = agent.leases.streams
    await asyncio.wait_for(stream.wait(), patient(10))


async def test_other_paths_of_the_agents_port_are_not_reached(gateway: httpx.AsyncClient) -> None:
    for path in ("/v1/openapi.json", "/metrics", "/v1/leases/7/../8/logs", "/v1/leases/7%2f..%2f8"):
        target = gateway.base_url.raw_path.rstrip(b"/") + path.encode()
        request = gateway.build_request("GET", "/", headers={"authorization": "Leasehold abc"})
        request.extensions["target"] = target
        answer = await gateway.send(request)
        assert (answer.status_code, answer.json()["code"]) == (404, "not-here")


@pytest.mark.parametrize(
    "header", ["", "Bearer abc", "Leasehold", "Leasehold a b", "Leasehold " + "a" * 30_000]
)
async def test_what_is_not_signed_for_an_agent_does_not_go_on(
    gateway: httpx.AsyncClient, header: str
) -> None:
    answer = await gateway.get("/v1/leases/12.1", headers={"authorization": header} if header else {})
    assert (answer.status_code, answer.json()["code"]) == (400, "bad-request")


async def test_a_body_is_bounded_before_it_is_read(gateway: httpx.AsyncClient) -> None:
    path = "/v1/workloads/" + "ab" * 32
    signed = {"authorization": "Leasehold abc"}
    answer = await gateway.put(path, content=b"x" * (MAX_UPLOAD + 1), headers=signed)
    assert (answer.status_code, answer.json()["code"]) == (413, "too-much")

    async def endless() -> AsyncIterator[bytes]:
        yield b"x"

    chunked = await gateway.put(path, content=endless(), headers=signed)
    assert (chunked.status_code, chunked.json()["code"]) == (400, "bad-request")


async def test_a_machine_that_is_not_there(agent: Agent, app_of: AppOf, serve: Serve) -> None:
    async with (
        relayed(agent.contact, app_of) as (app, _),
        httpx.AsyncClient(trust_env=False, timeout=patient(10)) as client,
    ):
        base = f"http://{await serve(app)}/api/v1/agents"
        for machine, status in (
            ("8", 404),
            ("-1", 400),
            ("99999999999", 400),
            ("07", 400),
            ("x", 400),
            ("127.0.0.1", 400),
        ):
            assert (await client.get(f"{base}/{machine}/v1/health")).status_code == status, machine


# ----------------------------------------------------------------------------------------------- hostile agents


@dataclass
class Hostile:
    """A TLS server that answers `/v1/health`, and everything else as it likes."""

    port: int
    contact: Contact
    answer: bytes = b""
    frames: bytes = b""
    """Behind a handshake. deaf: what is answered to them is not read, until there was `enough` where it hangs."""
    deaf: bool = False
    asked: list[bytes] = field(default_factory=list)
    hang: bool = False
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    enough: asyncio.Event = field(default_factory=asyncio.Event)


@pytest.fixture
async def hostile(tmp_path: Path) -> AsyncIterator[Hostile]:
    pem, key = certificate(tmp_path)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem, key)
    made: list[Hostile] = []

    async def serve_one(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host = made[0]
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"GET /v1/health"):
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}")
            else:
                host.asked.append(head)
                if host.deaf:
                    writer.transport.pause_reading()  # type: ignore[attr-defined]  # of a socket's
                writer.write(accepted(head) + host.frames if host.frames else host.answer)
                await writer.drain()
                if host.hang:
                    await (host.enough.wait() if host.deaf else reader.read())
                    host.ended.set()
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(serve_one, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    contact = Contact.model_validate(
        {
            "version": 1,
            "endpoints": [f"https://127.0.0.1:{port}"],
            "certificate": pem.read_text(),
            "age_recipient": "age1qqqq",
        }
    )
    made.append(Hostile(port, contact))
    yield made[0]
    server.close()
    await server.wait_closed()


def said(head: str, body: bytes = b"") -> bytes:
    return f"HTTP/1.1 {head}\r\nConnection: close\r\n\r\n".encode() + body


async def ask(
    contact: Contact, app_of: AppOf, path: str = "/v1/machine", dialling: Dialling = LOOPBACK
) -> httpx.Response:
    async with relayed(contact, app_of, dialling) as (app, _):
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://gate.example") as client:
            return await client.get(
                f"/api/v1/agents/{MACHINE}{path}", headers={"authorization": "Leasehold abc"}
            )


async def test_a_page_in_an_answer_never_runs_in_the_gateways_origin(hostile: Hostile, app_of: AppOf) -> None:
    page = b"<script>alert(1)</script>"
    hostile.answer = said(
        "200 OK\r\nContent-Type: text/html\r\nSet-Cookie: __Host-leasehold=mine; Path=/; Secure\r\n"
        "Content-Security-Policy: script-src *\r\nX-Content-Type-Options: sniff\r\nRefresh: 0;url=//evil\r\n"
        'Access-Control-Allow-Origin: *\r\nService-Worker-Allowed: /\r\nClear-Site-Data: "*"\r\n'
        f"Content-Disposition: inline\r\nContent-Length: {len(page)}",
        page,
    )
    answer = await ask(hostile.contact, app_of)
    assert answer.content == page
    assert dict(answer.headers) == {
        "content-type": "application/json",
        "content-length": str(len(page)),
        "cache-control": "no-store",
        "content-disposition": 'attachment; filename="agent-answer"',
        "content-security-policy": "default-src 'none'; sandbox",
        "cross-origin-resource-policy": "same-origin",
        "x-content-type-options": "nosniff",
    }


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 304, 300])
async def test_no_redirect_is_followed_or_handed_on(hostile: Hostile, app_of: AppOf, status: int) -> None:
    hostile.answer = said(
        f"{status} Go\r\nLocation: http://169.254.169.254/latest/meta-data\r\nContent-Length: 0"
    )
    answer = await ask(hostile.contact, app_of)
    assert (answer.status_code, answer.json()["code"]) == (502, "agent-silent")
    assert "location" not in answer.headers
    assert len(hostile.asked) == 1


async def test_no_redirect_of_a_terminal_is_followed(hostile: Hostile, app_of: AppOf, serve: Serve) -> None:
    """The library that speaks WebSockets would follow it by itself, to whatever the agent names."""
    called = asyncio.Event()

    async def elsewhere(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        called.set()
        writer.close()

    other = await asyncio.start_server(elsewhere, "127.0.0.1", 0)
    port = other.sockets[0].getsockname()[1]
    hostile.answer = said(f"302 Go\r\nLocation: wss://127.0.0.1:{port}/\r\nContent-Length: 0")
    async with relayed(hostile.contact, app_of) as (app, _):
        url = f"ws://{await serve(app)}/api/v1/agents/{MACHINE}/v1/leases/12.1/exec"
        protocols = [EXEC_PROTOCOL, "leasehold.credential.abc"]
        async with connect(url, subprotocols=protocols, proxy=None, open_timeout=patient(10)) as terminal:  # type: ignore[arg-type]
            assert orjson.loads(await terminal.recv())["error"] == "agent-silent"
    other.close()
    await other.wait_closed()
    assert not called.is_set()


def accepted(head: bytes) -> bytes:
    """What an agent answers to the beginning of a WebSocket."""
    key = re.search(rb"sec-websocket-key: *(\S+)", head, re.IGNORECASE)
    assert key is not None
    proof = accept_key(key[1].decode()).encode()
    return (
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: %b\r\nSec-WebSocket-Protocol: %b\r\n\r\n" % (proof, EXEC_PROTOCOL.encode())
    )


@asynccontextmanager
async def terminal_of(hostile: Hostile, app_of: AppOf, serve: Serve) -> AsyncIterator[ClientConnection]:
    """A browser's, through a gateway, to an agent that sends what `hostile.frames` are."""
    async with relayed(hostile.contact, app_of) as (app, _):
        url = f"ws://{await serve(app)}/api/v1/agents/{MACHINE}/v1/leases/12.1/exec"
        protocols = [EXEC_PROTOCOL, "leasehold.credential.abc"]
        async with connect(url, subprotocols=protocols, proxy=None, open_timeout=patient(10)) as terminal:  # type: ignore[arg-type]
            yield terminal


async def test_a_great_many_small_frames_of_an_agents_let_others_have_their_turn(
    hostile: Hostile, app_of: AppOf, serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A terminal of single bytes had kept a gateway from everybody else for as long as it went on."""
    counts, taken = list[int](), ClientProtocol.events_received

    def counted(protocol: ClientProtocol) -> list[Event]:
        events = taken(protocol)
        counts.append(len(events) if protocol.uri.secure else 0)  # the browser here is another of them
        return events

    monkeypatch.setattr(ClientProtocol, "events_received", counted)
    hostile.frames, hostile.hang = b"\x82\2\1x" * 20_000, True
    async with terminal_of(hostile, app_of, serve) as terminal:
        for _ in range(20_000):
            assert await asyncio.wait_for(terminal.recv(), patient(20)) == b"\1x"
    assert max(counts) <= SLICE // 4 + 1


@pytest.mark.parametrize(
    "frames", [b"\2\0" + b"\0\0" * (MOST_FRAGMENTS + 1), b"\x89\x7d" + b"x" * 125], ids=["fragments", "pings"]
)
async def test_an_agents_terminal_that_comes_to_nothing_is_cut(
    hostile: Hostile, app_of: AppOf, serve: Serve, frames: bytes
) -> None:
    """Each empty fragment, and each answer that the agent did not read, lay in the gateway's memory."""
    hostile.deaf = frames[0] != 2
    hostile.frames, hostile.hang = frames * (200_000 if hostile.deaf else 1), not hostile.deaf
    async with terminal_of(hostile, app_of, serve) as terminal:
        await asyncio.wait_for(terminal.wait_closed(), patient(20))
        assert terminal.close_code == 1011


async def test_an_agent_that_reads_nothing_keeps_no_terminals_place(
    hostile: Hostile, app_of: AppOf, serve: Serve
) -> None:
    """The goodbye lies behind what it does not read, and whoever waits for that had waited for ever."""
    hostile.deaf, hostile.hang, hostile.frames = True, True, b"\x82\2\1x"
    async with relayed(hostile.contact, app_of, reading=0.2) as (app, relay):
        url = f"ws://{await serve(app)}/api/v1/agents/{MACHINE}/v1/leases/12.1/exec"
        protocols = [EXEC_PROTOCOL, "leasehold.credential.abc"]
        async with connect(url, subprotocols=protocols, proxy=None, open_timeout=patient(10)) as terminal:  # type: ignore[arg-type]
            assert await terminal.recv() == b"\1x"
            with suppress(ConnectionClosed):
                async with asyncio.timeout(patient(10)):
                    while True:
                        await terminal.send(bytes(MAX_FRAME))
        await until(lambda: not relay.places.count)
    hostile.enough.set()
    await hostile.ended.wait()


async def test_a_refusal_is_a_problem_and_asks_for_no_password(hostile: Hostile, app_of: AppOf) -> None:
    hostile.answer = said(
        "401 No\r\nWWW-Authenticate: Basic realm=gateway\r\nRetry-After: 7\r\nContent-Length: 2", b"{}"
    )
    answer = await ask(hostile.contact, app_of)
    assert answer.status_code == 401
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.headers["retry-after"] == "7"
    assert "www-authenticate" not in answer.headers


@pytest.mark.parametrize(
    "head",
    [
        "200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2",
        "200 OK\r\nContent-Length: 99999999999",
        "101 Switching Protocols\r\nUpgrade: websocket",
        "200 OK\r\nContent-Length: nothing",
        "999 Odd\r\nContent-Length: 0",
    ],
)
async def test_an_answer_that_is_none_is_told_so(hostile: Hostile, app_of: AppOf, head: str) -> None:
    hostile.answer = said(head, b"{}")
    answer = await ask(hostile.contact, app_of)
    assert (answer.status_code, answer.json()["code"]) == (502, "agent-silent")


async def test_an_answer_in_pieces_of_a_byte_is_cut(hostile: Hostile, app_of: AppOf, serve: Serve) -> None:
    """Each takes the gateway, and whoever else waits for it, as long as one of many KiB."""
    hostile.answer = said("200 OK\r\nTransfer-Encoding: chunked", b"1\r\nx\r\n" * 20_000 + b"0\r\n\r\n")
    async with relayed(hostile.contact, app_of) as (app, relay):
        base = await serve(app)
        async with httpx.AsyncClient(trust_env=False, timeout=patient(10)) as client:
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(f"http://{base}/api/v1/agents/{MACHINE}/v1/machine")
        await until(lambda: not relay.places.count)


async def test_an_endless_answer_is_cut(hostile: Hostile, app_of: AppOf, serve: Serve) -> None:
    hostile.answer = said("200 OK", b"x" * (5 << 20))
    async with relayed(hostile.contact, app_of) as (app, relay):
        base = await serve(app)
        async with httpx.AsyncClient(trust_env=False, timeout=patient(10)) as client:
            with pytest.raises(httpx.RemoteProtocolError):
                await client.get(f"http://{base}/api/v1/agents/{MACHINE}/v1/machine")
        await until(lambda: not relay.places.count)


async def test_what_hangs_frees_its_places_when_its_browser_goes(
    hostile: Hostile, app_of: AppOf, serve: Serve
) -> None:
    hostile.answer, hostile.hang = said("200 OK", b"x"), True
    async with relayed(hostile.contact, app_of, caller=1) as (app, relay):
        url = f"http://{await serve(app)}/api/v1/agents/{MACHINE}/v1/machine"
        async with httpx.AsyncClient(trust_env=False, timeout=patient(10)) as client:
            async with client.stream("GET", url) as answer:
                chunks = answer.aiter_raw()  # held, since one that is thrown away ends the answer with it
                await anext(chunks)
                second = await client.get(url)
                assert (second.status_code, second.json()["code"]) == (429, "busy")
            await asyncio.wait_for(hostile.ended.wait(), patient(10))
        await until(lambda: not relay.places.count)


async def test_one_caller_takes_no_machine_for_himself(hostile: Hostile, app_of: AppOf, serve: Serve) -> None:
    """Two addresses had all the places at a machine, and its other renters none."""
    hostile.answer, hostile.hang = said("200 OK", b"x"), True
    assert MOST_AT_ONCE["visit"] * 5 < MOST_AT_ONCE["machine"]
    async with relayed(hostile.contact, app_of, visit=1) as (app, relay):
        url = f"http://{await serve(app)}/api/v1/agents/{MACHINE}/v1/machine"
        async with (
            httpx.AsyncClient(trust_env=False, timeout=patient(10)) as client,
            client.stream("GET", url) as answer,
        ):
            chunks = answer.aiter_raw()
            await anext(chunks)
            assert (await client.get(url)).json()["code"] == "busy"
            with relay.places.taken(**keys_of("somebody else", MACHINE)):
                pass
        await until(lambda: not relay.places.count)


# ------------------------------------------------------------------------------------------- where it does not go


@pytest.mark.parametrize(
    "endpoint",
    [
        "https://127.0.0.1:{port}",
        "https://localhost:{port}",
        "https://2130706433:{port}",
        "https://[::ffff:127.0.0.1]:{port}",
    ],
)
async def test_a_document_cannot_name_what_only_the_gateway_reaches(
    hostile: Hostile, app_of: AppOf, endpoint: str
) -> None:
    contact = hostile.contact.model_copy(update={"endpoints": (endpoint.format(port=hostile.port),)})
    answer = await ask(contact, app_of, dialling=Dialling())
    assert (answer.status_code, answer.json()["code"]) == (502, "agent-silent")
    assert not hostile.asked


async def test_another_certificate_is_not_spoken_to(hostile: Hostile, app_of: AppOf, tmp_path: Path) -> None:
    folder = tmp_path / "other"
    folder.mkdir()
    pem, _ = certificate(folder)
    contact = hostile.contact.model_copy(update={"certificate": pem.read_text()})
    answer = await ask(contact, app_of, "/v1/leases/12.1")
    assert answer.status_code == 502
    assert not hostile.asked


async def test_a_closed_port_and_one_that_speaks_something_else_look_the_same(
    app_of: AppOf, hostile: Hostile
) -> None:
    """Or a document could have the gateway look through its network."""

    async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"SSH-2.0-secret\r\n")
        await writer.drain()
        writer.close()

    other = await asyncio.start_server(greet, "127.0.0.1", 0)
    answers = []
    for port in (other.sockets[0].getsockname()[1], 1023 + 1):
        contact = hostile.contact.model_copy(update={"endpoints": (f"https://127.0.0.1:{port}",)})
        answers.append((await ask(contact, app_of)).json())
    other.close()
    await other.wait_closed()
    assert answers[0] == answers[1]


async def test_a_document_without_a_certificate_is_told_so(hostile: Hostile, app_of: AppOf) -> None:
    contact = hostile.contact.model_copy(update={"certificate": "none"})
    assert (await ask(contact, app_of)).status_code == 502

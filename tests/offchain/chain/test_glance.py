"""A glance at the head: the block, or nothing at all, whatever a node does."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from devnet.pool import PoolChain
from leasehold.chain import Deployment, head_at_a_glance
from leasehold.chain import _glance as glance

DEPLOYMENT = Deployment(1, "0xgen", "", "", "", "", 1, "", 18)
HEAD = "0x" + "ab" * 32


def told(chain: object = "0x1", genesis: object = "0xgen", head: object = HEAD) -> bytes:
    """What a node of the deployment's chain says, or one that has something else to say."""
    results = (chain, {"hash": genesis}, {"hash": head})
    return json.dumps([{"id": number, "result": result} for number, result in enumerate(results)]).encode()


def answer(body: bytes, *, status: str = "200 OK", **headers: object) -> bytes:
    lines = [f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items()]
    return f"HTTP/1.1 {status}\r\n{''.join(lines)}\r\n".encode() + body


@asynccontextmanager
async def node(
    said: bytes | None, trust: ssl.SSLContext | None = None
) -> AsyncIterator[tuple[str, list[bytes]]]:
    """The port of a node that says that to everybody, and what it was asked. Nothing: it never answers."""
    asked: list[bytes] = []
    serving: list[asyncio.Task[object]] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        serving.append(task)
        with suppress(OSError, asyncio.IncompleteReadError):  # whoever asked may go away at any moment
            asked.append(await reader.readuntil(b"\r\n\r\n"))
            if said is None:
                await reader.read()  # until whoever asked has gone
            else:
                writer.write(said)
            writer.close()
            await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=trust)
    async with server:
        yield f"127.0.0.1:{server.sockets[0].getsockname()[1]}", asked
        await asyncio.gather(*serving)


async def test_the_head_of_a_chain(chain: PoolChain) -> None:
    head = await chain.rpc.header()
    assert head is not None
    assert await head_at_a_glance(chain.anvil.url, chain.deployment) == head.hash
    for stranger in (replace(chain.deployment, chain_id=7), replace(chain.deployment, genesis="0x00")):
        assert await head_at_a_glance(chain.anvil.url, stranger) is None


WHOLE = told()
ANSWERS: dict[str, tuple[bytes, bool]] = {
    "as it should be": (answer(WHOLE), True),
    "with its length": (answer(WHOLE, content_length=len(WHOLE)), True),
    "in another order": (answer(json.dumps(json.loads(WHOLE)[::-1]).encode()), True),
    "of another chain": (answer(told(chain="0x2")), False),
    "of another history": (answer(told(genesis="0xother")), False),
    "without a block": (answer(told(head=None)), False),
    "of a number": (answer(told(head=7)), False),
    "cut off": (answer(WHOLE, content_length=len(WHOLE) + 1), False),
    "in chunks": (answer(b"%x\r\n%b\r\n0\r\n\r\n" % (len(WHOLE), WHOLE), transfer_encoding="chunked"), False),
    "compressed": (answer(WHOLE, content_encoding="gzip"), False),
    "redirected": (answer(WHOLE, status="302 Found", location="http://127.0.0.1:1"), False),
    "an error": (answer(WHOLE, status="500 Oh"), False),
    "one error for all": (answer(b'{"id": 0, "error": {"code": 1}}'), False),
    "an error in the list": (answer(b'[{"id": 0, "error": {}}, {"id": 1}, {"id": 2}]'), False),
    "numbered without end": (answer(WHOLE.replace(b'"id": 1', b'"id": 1e999')), False),
    "too few": (answer(json.dumps(json.loads(WHOLE)[:2]).encode()), False),
    "no JSON": (answer(b"hello"), False),
    "a number where a list belongs": (answer(b"7"), False),
    "without end": (answer(b" " * (glance._MOST_ANSWER + 1) + WHOLE), False),
    "lists in lists": (answer(b"[" * 200_000), False),
    "nothing": (b"", False),
    "no HTTP": (b"SSH-2.0-OpenSSH\r\n", False),
    "bytes": (bytes(range(256)), False),
}


@pytest.mark.parametrize("what", ANSWERS)
async def test_what_is_odd_is_no_answer(what: str) -> None:
    said, good = ANSWERS[what]
    async with node(said) as (place, _):
        assert await head_at_a_glance(f"http://{place}", DEPLOYMENT) == (HEAD if good else None)


async def test_silence_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(glance, "_SECONDS", 0.05)
    async with node(None) as (place, _):
        assert await head_at_a_glance(f"http://{place}", DEPLOYMENT) is None


@pytest.mark.parametrize(
    "address",
    ["http://me:secret@{}", "ftp://{}", "ws://{}", "{}", "http://", "http://[", "http://127.0.0.1:99999"],
)
async def test_what_is_no_plain_address_is_left_alone(address: str) -> None:
    async with node(answer(WHOLE)) as (place, asked):
        assert await head_at_a_glance(address.format(place), DEPLOYMENT) is None
        assert not asked


async def test_nobody_goes_past_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    async with node(answer(WHOLE)) as (place, asked):
        monkeypatch.setattr(glance, "_LOOPBACK", frozenset())  # as if it were far away
        monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
        assert await head_at_a_glance(f"http://{place}", DEPLOYMENT) is None
        assert not asked
        monkeypatch.delenv("http_proxy")
        assert await head_at_a_glance(f"http://{place}", DEPLOYMENT) == HEAD


async def test_a_certificate_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    certificate, trust = self_signed(tmp_path)
    async with node(answer(WHOLE), trust) as (place, asked):
        assert await head_at_a_glance(f"https://{place}", DEPLOYMENT) is None
        assert not asked
        monkeypatch.setattr("certifi.where", lambda: str(certificate))
        assert await head_at_a_glance(f"https://{place}/path?key=1", DEPLOYMENT) == HEAD
        assert asked[0].startswith(b"POST /path?key=1 HTTP/1.0\r\n")


def self_signed(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A certificate for 127.0.0.1 that nobody has signed but its owner, and how a server shows it."""
    import datetime
    import ipaddress

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([])
    start = datetime.datetime(2020, 1, 1)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number(), start)
        .not_valid_after(datetime.datetime(2120, 1, 1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False
        )
        .sign(key, hashes.SHA256())
    )
    path = folder / "certificate.pem"
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    whole = folder / "both.pem"
    path.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    whole.write_bytes(private + path.read_bytes())
    trust = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trust.load_cert_chain(whole)
    return path, trust

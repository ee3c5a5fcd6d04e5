"""Each channel against a server that takes alerts, and against servers that would have it hang, move or talk."""

from __future__ import annotations

import hmac
import json
import socket
import time
from email import message_from_bytes
from email.policy import default

import pytest

from devnet.edges import answers, drips, drips_a_greeting, edge, streams_for_ever, takes_mail
from leasehold.guarding import GuardSettings, NoChannels, NotDelivered, signature, try_channels
from leasehold.guarding._alerts import Alert, AlertKind
from leasehold.guarding._channels import Mail, MailHandles, Ntfy, Webhook
from leasehold.guarding._settings import MailServer, Secret

ALERT = Alert(AlertKind.NOTICE, "1", "Lease 12 is under notice.", "12").to_json(1_000)
TOKEN = "swordfish"


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", TOKEN)


def webhook(url: str, seconds: float = 30.0) -> Webhook:
    return Webhook(url, Secret(env="HOOK"), seconds=seconds)


def mail(port: int, seconds: float = 30.0) -> Mail:
    table = {
        "host": "127.0.0.1",
        "port": port,
        "tls": "none",
        "sender": "it@example.org",
    }
    return Mail(MailServer.model_validate(table), "me@example.org", seconds=seconds)


async def test_a_webhook_gets_a_signed_document() -> None:
    async with edge(answers("204 No Content")) as server:
        await webhook(server.url).send(ALERT)
    ((head, body),) = server.heard
    assert json.loads(body) == ALERT
    assert head.startswith("POST /hook ")
    signed = next(line for line in head.splitlines() if line.lower().startswith("x-leasehold-signature"))
    at, _, version = signed.partition(": ")[2].partition(",")
    stamp = int(at.removeprefix("t="))
    assert abs(stamp - time.time()) < 600
    digest = hmac.digest(TOKEN.encode(), f"{stamp}.".encode() + body, "sha256").hex()
    assert version == f"v1={digest}"
    assert signature(TOKEN, stamp, body) != signature(TOKEN, stamp + 1, body) != signature("x", stamp, body)
    assert TOKEN not in head + body.decode()


@pytest.mark.parametrize("status", ["301 Moved", "307 Temporary Redirect"])
async def test_a_webhook_is_not_followed_elsewhere(status: str) -> None:
    """It may redirect to what only this computer reaches."""
    async with edge(answers("200 OK")) as inside, edge(answers(status, f"Location: {inside.url}")) as server:
        with pytest.raises(NotDelivered, match=f"it answered {status[:3]}"):
            await webhook(server.url).send(ALERT)
        assert not inside.heard


async def test_what_a_webhook_says_is_not_read() -> None:
    async with edge(streams_for_ever) as server:
        await webhook(server.url).send(ALERT)
        await server.left.wait()  # the connection is closed


async def test_a_server_that_drips_is_left() -> None:
    async with edge(drips) as server:
        with pytest.raises(NotDelivered, match="did not answer within"):
            await webhook(server.url, seconds=0.3).send(ALERT)
        await server.left.wait()


async def test_what_is_said_of_a_channel_holds_nothing_of_its_address() -> None:
    async with edge(answers("500 No")) as server:
        url = f"{server.url}/{TOKEN}?key={TOKEN}"
        for problem in (url, url.replace(str(server.port), "1")):
            with pytest.raises(NotDelivered) as refused:
                await webhook(problem).send(ALERT)
            assert TOKEN not in str(refused.value)
            assert "127.0.0.1" not in str(refused.value)


async def test_ntfy_gets_a_message() -> None:
    async with edge(answers("200 OK")) as server:
        await Ntfy(server.url, "mine", Secret(env="HOOK")).send(ALERT)
        await Ntfy(server.url, "mine").send({**ALERT, "urgent": False})
    (head, body), (plain_head, plain) = server.heard
    assert json.loads(body) == {
        "topic": "mine", "title": "Leasehold: notice, lease 12", "message": "Lease 12 is under notice.",
        "priority": 4, "tags": ["notice"],
    }  # fmt: skip
    assert f"Bearer {TOKEN}" in head
    assert "authorization" not in plain_head.lower()
    assert json.loads(plain)["priority"] == 3


async def test_a_token_that_no_header_can_hold_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """The guard goes on with its other channels."""
    monkeypatch.setenv("HOOK", "schlüssel")
    async with edge(answers("200 OK")) as server:
        with pytest.raises(NotDelivered, match="token"):
            await Ntfy(server.url, "mine", Secret(env="HOOK")).send(ALERT)
    assert not server.heard


async def test_a_letter() -> None:
    async with edge(takes_mail()) as server:
        await mail(server.port).send(ALERT)
    ((_, raw),) = server.heard
    letter = message_from_bytes(raw, policy=default)
    assert (letter["Subject"], letter["To"]) == ("Leasehold: notice, lease 12", "me@example.org")
    assert "Lease 12 is under notice." in letter.as_string()
    assert str(ALERT["id"]) in letter["Message-ID"]


async def test_no_letter_has_more_heads_than_it_should() -> None:
    """What an alert says of a lease is the lease's number, but whoever edits the notes may write what he likes."""
    async with edge(takes_mail()) as server:
        await mail(server.port).send({**ALERT, "lease": "12\r\nBcc: all@example.org"})
    letter = message_from_bytes(server.heard[0][1], policy=default)
    assert letter["Bcc"] is None


async def test_a_letters_head_is_on_the_wire_as_mail_programs_read_it() -> None:
    """A long line would be folded into an encoded word, which is no address to end it at (RFC 8058)."""
    stop = f"https://gateway.leasehold-pool.example.org/api/v1/alerts/stop/{'T' * 43}"
    async with edge(takes_mail()) as server:
        await mail(server.port).send({**ALERT, "stop": f"https://g.example/{'x' * 900}", "stop_post": stop})
    head, _, body = server.heard[0][1].partition(b"\r\n\r\n")
    assert f"List-Unsubscribe: <{stop}>".encode() in head.split(b"\r\n")
    assert b"=?" not in head
    assert max(map(len, head.split(b"\r\n") + body.split(b"\r\n"))) <= 998


@pytest.mark.parametrize("word", [b"MAIL", b"RCPT"])
async def test_a_server_that_refuses_a_letter(word: bytes) -> None:
    async with edge(takes_mail(word)) as server:
        with pytest.raises(NotDelivered, match="it was not taken"):
            await mail(server.port).send(ALERT)


async def test_a_mail_server_that_is_not_there() -> None:
    async with edge(takes_mail()) as server:
        pass
    with pytest.raises(NotDelivered):
        await mail(server.port).send(ALERT)


async def test_a_mail_server_that_drips_holds_no_thread() -> None:
    async with edge(drips_a_greeting) as server:
        with pytest.raises(NotDelivered, match="did not answer within"):
            await mail(server.port, seconds=0.3).send(ALERT)
        await server.left.wait()


def test_a_connection_that_comes_after_the_wait_is_over_ends_at_once() -> None:
    """A first address that swallows packets may hold the connecting longer than the whole letter has."""
    handles, (late, other) = MailHandles(), socket.socketpair()
    with late, other:
        handles.break_off()
        handles.take(late)
        other.settimeout(30)
        assert other.recv(1) == b""
    handles.close()


async def test_a_mail_server_without_tls_where_that_was_asked_for() -> None:
    async with edge(takes_mail()) as server:
        for tls in ("starttls", "tls"):
            table = {"host": "localhost", "port": server.port, "sender": "it@example.org", "tls": tls}
            with pytest.raises(NotDelivered):
                await Mail(MailServer.model_validate(table), "me@example.org", seconds=5).send(ALERT)
        assert not server.heard


async def test_every_channel_is_tried() -> None:
    async with edge(answers("200 OK")) as good, edge(answers("403 No")) as bad:
        table = {
            "webhook": {"url": good.url, "secret": {"env": "HOOK"}},
            "ntfy": {"url": bad.url, "topic": "mine"},
            "mail": {"host": "localhost", "tls": "none", "port": 1, "to": "a@b", "sender": "c@d"},
        }
        tried = [(one.channel, one.problem is None) async for one in try_channels(GuardSettings.of(table))]
        assert tried == [("webhook", True), ("mail", False), ("ntfy", False)]
    assert json.loads(good.heard[0][1])["kind"] == "test"
    with pytest.raises(NoChannels):
        [one async for one in try_channels(GuardSettings.of({}))]

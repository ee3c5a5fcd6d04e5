"""Where an alert goes because a stranger says so: never to what only the sender's own computer or network reaches."""

from __future__ import annotations

import asyncio
import os
import ssl
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from devnet.edges import Edge, answers, edge, request
from devnet.serving import certificate
from leasehold.guarding import AlertReach, AlertRecipient, NotDelivered
from leasehold.guarding import _channels as channelling
from leasehold.guarding import _reach as reaching
from leasehold.guarding._alerts import Alert, AlertKind
from leasehold.guarding._channels import Webhook
from leasehold.guarding._settings import Secret
from leasehold.market import Dialling, InvalidInput

ALERT = Alert(AlertKind.NOTICE, "1", "Lease 12 is under notice.", "12").to_json(1_000)


@pytest.fixture(autouse=True)
def secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOOK", "swordfish")


class Names:
    """What names mean, by what was asked of them in turn."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self.answers.pop(0)

    def reach(self, **more: Any) -> AlertReach:
        return AlertReach(dialling=Dialling(resolve=self), **more)


def hook(url: str, reach: AlertReach) -> Webhook:
    return Webhook(url, Secret(env="HOOK"), reach=reach, seconds=30.0)


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1", "::1", "10.0.0.1", "192.168.1.1", "172.16.0.1", "100.64.0.1", "169.254.169.254", "0.0.0.0",
        "fd00:ec2::254", "fe80::1", "::ffff:127.0.0.1", "64:ff9b::7f00:1", "2002:7f00:1::", "224.0.0.1", "fc00::1",
        "100.100.100.200", "168.63.129.16", "::", "255.255.255.255",
    ],
)  # fmt: skip
async def test_a_name_that_means_the_inside_is_not_called(address: str) -> None:
    """Nor is one that means the outside, too: of two addresses a client may take either."""
    for meant in ([address], ["93.184.216.34", address]):
        with pytest.raises(NotDelivered, match="nothing that may be called is there"):
            await hook("https://hook.example/x", Names(meant).reach()).send(ALERT)


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "[::1]", "169.254.169.254", "127.1", "0x7f000001", "2130706433", "localhost"]
)
async def test_an_address_of_the_inside_is_not_called_however_it_is_written(host: str) -> None:
    """By the resolver of this very computer."""
    with pytest.raises(NotDelivered, match="nothing that may be called is there"):
        await hook(f"https://{host}/x", AlertReach()).send(ALERT)


async def test_what_a_name_means_is_asked_once_and_that_is_called(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It means something else the next time (DNS rebinding), which leads nowhere; and the certificate is the name's."""
    certified, key = certificate(tmp_path, "hook.example")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certified, key)
    trusted = ssl.create_default_context(cafile=str(certified))
    monkeypatch.setattr(reaching, "authorities", lambda: trusted)
    async with edge(answers("204 No Content"), tls=context) as server:
        names = Names(["127.0.0.1"], ["10.9.8.7"])
        monkeypatch.setattr(reaching, "_HTTPS", server.port)
        monkeypatch.setattr(Dialling, "allows", lambda self, address: address == "127.0.0.1")
        await hook(f"https://hook.example:{server.port}/x", names.reach()).send(ALERT)
        assert names.asked == [("hook.example", server.port)]
        assert f"host: hook.example:{server.port}" in server.heard[0][0].lower()
        with pytest.raises(NotDelivered, match="cannot be reached"):
            await hook(f"https://other.example:{server.port}/x", Names(["127.0.0.1"]).reach()).send(ALERT)
        with pytest.raises(NotDelivered, match="nothing that may be called"):
            await hook(f"https://hook.example:{server.port}/x", names.reach()).send(ALERT)
    assert len(server.heard) == 1


async def test_a_server_that_breaks_its_tls_off_or_has_no_name_is_not_delivered_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is raised then is neither httpx's nor ours: whoever sends to many would end by it."""

    async def speaks_plainly(
        server: Edge, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await request(server, reader)
        os.write(writer.get_extra_info("socket").fileno(), b"HTTP/1.1 200 OK in the clear\r\n\r\n")
        await asyncio.Event().wait()

    certified, key = certificate(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certified, key)
    trusted = ssl.create_default_context(cafile=str(certified))
    for module in (reaching, channelling):
        monkeypatch.setattr(module, "authorities", lambda: trusted)
    async with edge(speaks_plainly, tls=context) as server:
        reach = AlertReach(frozenset({f"127.0.0.1:{server.port}"}))
        url = f"https://127.0.0.1:{server.port}/x"
        for channel in (hook(url, reach), replace(hook(url, reach), reach=None)):
            with pytest.raises(NotDelivered, match="SSLError"):
                await channel.send(ALERT)
    for name in ("xn--.example", "a" * 64 + ".example", "a..example"):
        with pytest.raises(NotDelivered):
            await hook(f"https://{name}/x", Names([]).reach()).send(ALERT)
        with pytest.raises(NotDelivered):
            await replace(hook(f"https://{name}/x", AlertReach()), reach=None).send(ALERT)


async def test_a_name_of_other_letters_is_asked_for_as_it_is_written() -> None:
    """A resolver that writes again what was read may write another (`straße` as `strasse`)."""
    names = Names(["10.0.0.1"])
    with pytest.raises(NotDelivered, match="nothing that may be called is there"):
        await hook("https://xn--strae-oqa.example/x", names.reach()).send(ALERT)
    assert names.asked == [("xn--strae-oqa.example", 443)]


async def test_no_redirect_leads_inside() -> None:
    async with (
        edge(answers("200 OK")) as inside,
        edge(answers("307 Moved", f"Location: {inside.url}")) as server,
    ):
        places = frozenset({f"127.0.0.1:{server.port}", f"127.0.0.1:{inside.port}"})
        with pytest.raises(NotDelivered, match="it answered 307"):
            await hook(server.url, AlertReach(places)).send(ALERT)
        assert not inside.heard


async def test_a_place_of_the_operators_is_called_by_its_exact_name() -> None:
    async with edge(answers("204 No Content")) as server:
        reach = AlertReach(frozenset({f"127.0.0.1:{server.port}"}))
        await hook(server.url, reach).send(ALERT)
        assert len(server.heard) == 1
        for other in (f"http://localhost:{server.port}/", f"http://127.0.0.1:{server.port + 1}/"):
            with pytest.raises(InvalidInput):
                reach.checked(other)
            with pytest.raises(NotDelivered):  # though nobody has looked at its text before
                await hook(other, reach).send(ALERT)


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org/", "https://example.org:22/", "https://example.org:8443/", "ftp://example.org/",
        "https://ada:pw@example.org/", "https://", "https://exämple.org/", "https://example.org\\@127.0.0.1/", "//x/",
        "https://example.org/ x", "https://example.org/\r\nHost: inside", "https://[::1", "https://example.org:99999/",
        "https://a..example.org/", "https://*.example.org/", "https://ex%61mple.org/", "https://[fe80::1%25eth0]/",
        "https://" + "a" * 64 + ".org/", "https://" + "a." * 130 + "org/", "https://-a.org/", "https://[v1.x]/",
        "https://xn--ls8h.org/", "https://xn--.org/",
        "https://example.org/%", "https://example.org/%%34%31", "https://[example.org]/", "https://[127.0.0.1]/",
        "", "example.org", "https://example.org/" + "x" * 500, "file:///etc/passwd", "gopher://example.org:443/",
    ],
)  # fmt: skip
def test_what_is_no_address_of_a_web_server_on_the_internet_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        AlertRecipient.model_validate({"way": "webhook", "address": url}).checked(AlertReach()) if len(
            url
        ) <= 500 else AlertReach().checked(url)


def test_what_is_one_is_taken() -> None:
    """As it is called then: each as whatever means the same."""
    for url, called in (
        ("https://example.org", "https://example.org"), ("https://EXAMPLE.org:443/a?b=c#d", "https://example.org/a?b=c"),
        (" https://example.org/x ", "https://example.org/x"), ("https://x.org/a/../%7e%2f?%41", "https://x.org/~%2F?A"),
        ("https://[2606:4700::1]/x", "https://[2606:4700::1]/x"), ("https://xn--strae-oqa.org/x", "https://xn--strae-oqa.org/x"),
    ):  # fmt: skip
        assert AlertReach().checked(url) == called

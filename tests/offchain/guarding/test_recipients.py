"""Where somebody wants to be told: written in a thousand ways and counted as one, and shown to nobody."""

from __future__ import annotations

import json
from email import message_from_bytes
from email.policy import default
from typing import Any

import pytest
from pydantic import ValidationError

from devnet.edges import answers, edge, takes_mail
from leasehold.guarding import AlertReach, AlertRecipient, MailServer, confirmation
from leasehold.market import InvalidInput

REACH = AlertReach()


def made(**fields: Any) -> AlertRecipient:
    return AlertRecipient.model_validate(fields).checked(REACH)


@pytest.mark.parametrize(
    "address",
    [
        "ada", "ada@", "@example.org", "ada@localhost", "ada@[127.0.0.1]", "ada@127.0.0.1", "a,b@example.org",
        "ada@example.org,bob@example.org", "ada@example.org\r\nBcc: all@example.org", "ada@example.org\n",
        "<ada@example.org>", "group:ada@example.org;", "bob%inside@example.org", "inside!bob@example.org",
        '"a b"@example.org', "ada@example.org ada@example.com", "ädä@example.org", "a" * 65 + "@example.org",
    ],
)  # fmt: skip
def test_no_letter_goes_to_more_or_other_boxes_than_one(address: str) -> None:
    if address.strip() == "ada@example.org":
        assert made(way="mail", address=address).address == "ada@example.org"
        return
    with pytest.raises(InvalidInput):
        made(way="mail", address=address)


HOOKS = (
    "https://example.org/hook", "https://EXAMPLE.org:443/hook", "https://example.org./hook#2",
    "https://example.org//hook", "https://example.org/%68ook", "https://example.org/./hook?",
    "https://example.org/a/%2e%2E/hook",
)  # fmt: skip
TOPICS = (
    {"topic": "mine"},
    {"topic": "mine", "address": "https://ntfy.sh/"},
    {"topic": "mine", "token": "t"},
)


def test_who_refuses_refuses_what_is_his_however_it_is_written_and_nobody_elses() -> None:
    """Else whoever has a place that is counted with another's refuses that for everybody."""
    ones = {made(way="webhook", address=address).place for address in HOOKS}
    assert ones == {made(way="ntfy", address="https://example.org", topic="hook").place}
    assert len({made(way="ntfy", **topic).place for topic in TOPICS}) == 1
    assert len({made(way="mail", address=name).place for name in ("Ada.B@X.org", "ada.b@x.org")}) == 1
    paths = "hook", "hook;a", "hook?a", "hook?b", "Hook", "hook%2fa", "hook/a", "hook/"
    others = [
        *({"way": "webhook", "address": f"https://example.org/{path}"} for path in paths),
        {"way": "ntfy", "topic": "hook"}, {"way": "ntfy", "topic": "Hook"},
        *({"way": "mail", "address": f"{box}@example.org"} for box in ("ada.b", "adab", "ada.b+1")),
    ]  # fmt: skip
    assert len({made(**fields).place for fields in others}) == len(others)


@pytest.mark.parametrize("address", HOOKS)
def test_what_is_called_is_what_is_compared(address: str) -> None:
    """No server reads another place in an address than this."""
    called = made(way="webhook", address=address).address
    assert called.replace("//hook", "/hook").replace("org.", "org") == "https://example.org/hook"


@pytest.mark.parametrize("behind", ["evestopic", "?x", "a/../b", "%61", "//"])
def test_an_ntfy_server_has_no_path(behind: str) -> None:
    """There a message goes to that, whatever topic it names."""
    with pytest.raises(InvalidInput, match="nothing behind its host"):
        made(way="ntfy", address=f"https://ntfy.sh/{behind}", topic="adas")


def test_one_box_is_one_however_it_is_written() -> None:
    written = (
        "ada.lovelace@example.org",
        "AdaLovelace@EXAMPLE.org",
        "ada.lovelace+1@example.org",
        "a.dalovelace+x@example.org",
    )
    assert len({made(way="mail", address=address).key for address in written}) == 1
    hooks = [*HOOKS, "https://example.org/hook?1", "https://example.org/hook;a", "https://example.org/Hook/"]
    keys = {made(way="webhook", address=address).key for address in hooks}
    assert keys == {made(way="ntfy", address="https://example.org", topic="hook").key}
    assert len({made(way="ntfy", **topic).key for topic in TOPICS}) == 1
    assert made(way="ntfy", topic="mine").key != made(way="ntfy", topic="other").key
    assert made(way="webhook", address="https://example.org/a").site == "example.org"


def test_nothing_of_a_secret_is_in_what_is_shown_or_counted() -> None:
    secrets = ("SECRETTOPIC", "secret-path", "adalovelace", "TOKEN")
    for place in (
        made(way="ntfy", topic="SECRETTOPIC", token="TOKEN"),
        made(way="webhook", address="https://example.org/secret-path?key=TOKEN"),
        made(way="mail", address="adalovelace@example.org"),
    ):
        assert not any(secret in text for secret in secrets for text in (place.shown, place.key, place.site))


@pytest.mark.parametrize(
    "fields",
    [
        {"way": "ntfy"}, {"way": "ntfy", "topic": "a/b"}, {"way": "webhook", "address": "https://x.org", "topic": "a"},
        {"way": "ntfy", "topic": "a", "token": "x\r\ny"}, {"way": "webhook", "address": "https://x.org", "token": "x"},
        {"way": "sms"}, {"way": "webhook", "address": "https://x.org", "more": 1},
    ],
)  # fmt: skip
def test_what_is_no_place_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        made(**fields)


async def test_a_place_is_told_by_its_way_with_the_link_that_ends_it() -> None:
    stops = {
        "stop": "https://gate.example/#/alerts/stop/x",
        "stop_post": "https://gate.example/api/v1/alerts/stop/x",
    }
    alert = {**confirmation("0xAb", "https://gate.example", "ABCDE23456", 7), **stops}
    async with edge(answers("200 OK")) as web, edge(takes_mail()) as post:
        reach = AlertReach(frozenset({f"127.0.0.1:{web.port}"}))
        server = MailServer.model_validate(
            {"host": "127.0.0.1", "port": post.port, "tls": "none", "sender": "gate@example.org"}
        )
        for place in (
            {"way": "webhook", "address": web.url},
            {"way": "ntfy", "address": web.url.removesuffix("/hook"), "topic": "mine"},
            {"way": "mail", "address": "ada@example.org"},
        ):
            channel = AlertRecipient.model_validate(place).checked(reach).channel("secret", reach, server)
            assert channel is not None
            await channel.send(alert)
    (_, hooked), (_, noted) = web.heard
    assert (json.loads(hooked)["kind"], json.loads(hooked)["code"]) == ("confirm", "ABCDE23456")
    for text in (json.loads(hooked)["said"], json.loads(noted)["message"]):
        assert "ABCDE23456" in text
        assert "0xAb" in text
    assert stops["stop"] in json.loads(noted)["message"]
    letter = message_from_bytes(post.heard[0][1], policy=default)
    assert letter["List-Unsubscribe"] == f"<{stops['stop_post']}>"
    assert letter["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert stops["stop"] in letter.get_content()
    assert "ABCDE23456" in letter.get_content()


def test_without_a_mail_server_there_is_no_way_to_a_box() -> None:
    assert made(way="mail", address="ada@example.org").channel("", REACH, None) is None

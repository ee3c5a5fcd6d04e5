"""The text that a wallet shows before it signs: nothing but the standard's lines, for this site, chain and time."""

import pytest

from leasehold.gateway._refusals import SignInRefused
from leasehold.gateway._sign_in_message import MAX_MESSAGE, SignInMessage, check_message

ORIGIN = "https://gate.example:8443"
ADDRESS = "0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266"
NOW = 1_700_000_000.0

PLAIN = f"""gate.example:8443 wants you to sign in with your Ethereum account:
{ADDRESS}

Find and rent GPUs.

URI: {ORIGIN}/market
Version: 1
Chain ID: 31337
Nonce: 0123456789abcdef
Issued At: 2023-11-14T22:13:20.000Z
Expiration Time: 2023-11-14T22:23:20Z
Not Before: 2023-11-14T22:13:19+00:00
Request ID: some-id
Resources:
- https://gate.example/a
- ipfs://bafy"""


def test_a_message_is_read_whole() -> None:
    message = SignInMessage.parse(PLAIN)
    assert (message.domain, message.scheme, message.address) == ("gate.example:8443", None, ADDRESS)
    assert (message.chain, message.nonce, message.issued, message.expires) == (
        31337,
        "0123456789abcdef",
        NOW,
        NOW + 600,
    )
    check_message(message, ORIGIN, {ORIGIN}, 31337, NOW)


def test_what_is_optional_may_be_missing() -> None:
    lines = PLAIN.splitlines()
    short = "\n".join(["https://" + lines[0], *lines[1:3], *lines[4:10]])
    message = SignInMessage.parse(short)
    assert (message.scheme, message.expires, message.begins) == ("https", None, None)
    check_message(message, ORIGIN, {ORIGIN}, 31337, NOW)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Version: 1", "Version: 2"),
        ("Chain ID: 31337", "Chain ID: 031337"),
        ("Chain ID: 31337", "Chain ID: ٣١٣٣٧"),
        ("Chain ID: 31337", "Chain ID: 31337\nChain ID: 1"),
        ("Nonce: 0123456789abcdef", "Nonce: short"),
        ("Nonce: 0123456789abcdef", "Nonce: 0123456789abcdef;x"),
        (f"URI: {ORIGIN}/market", f"URI: {ORIGIN}/market\nURI: https://evil.example"),
        (f"URI: {ORIGIN}/market", "URI: no uri at all"),
        (ADDRESS, ADDRESS.lower()),
        (ADDRESS, ADDRESS[:-1] + "5"),
        (ADDRESS, ADDRESS + " "),
        ("Find and rent GPUs.", "Find\nand rent"),
        ("Find and rent GPUs.", "Find \u202e rent"),
        ("Find and rent GPUs.", "Find \x00"),
        ("\nIssued", "\r\nIssued"),
        ("- ipfs://bafy", "- ipfs://bafy\nAnd: more"),
        ("- ipfs://bafy", "- ipfs://bafy\n"),
        ("Issued At: 2023-11-14T22:13:20.000Z", "Issued At: 2023-13-14T22:13:20.000Z"),
        ("Issued At: 2023-11-14T22:13:20.000Z", "Issued At: 2023-11-14 22:13:20"),
        ("your Ethereum account", "your ethereum account"),
        ("gate.example:8443 wants", "user@gate.example:8443 wants"),
        ("gate.example:8443 wants", " gate.example:8443 wants"),
        ("Find and rent GPUs.", "x" * MAX_MESSAGE),
    ],
)
def test_anything_else_in_it_is_refused(old: str, new: str) -> None:
    assert old in PLAIN
    with pytest.raises(SignInRefused):
        SignInMessage.parse(PLAIN.replace(old, new, 1))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("gate.example:8443 wants", "evil.example wants"),
        ("gate.example:8443 wants", "gate.example wants"),
        ("gate.example:8443 wants", "http://gate.example:8443 wants"),
        (f"URI: {ORIGIN}/market", "URI: https://evil.example/"),
        (f"URI: {ORIGIN}/market", f"URI: {ORIGIN}.evil.example/"),
        (f"URI: {ORIGIN}/market", f"URI: {ORIGIN}@evil.example/"),
        ("Chain ID: 31337", "Chain ID: 1"),
        ("Issued At: 2023-11-14T22:13:20.000Z", "Issued At: 2023-11-14T22:15:20.000Z"),
        ("Issued At: 2023-11-14T22:13:20.000Z", "Issued At: 2023-11-14T22:03:19.000Z"),
        ("Expiration Time: 2023-11-14T22:23:20Z", "Expiration Time: 2023-11-14T22:13:20Z"),
        ("Not Before: 2023-11-14T22:13:19+00:00", "Not Before: 2023-11-14T22:13:19-00:01"),
    ],
)
def test_a_message_for_another_site_chain_or_time_is_refused(old: str, new: str) -> None:
    assert old in PLAIN
    message = SignInMessage.parse(PLAIN.replace(old, new, 1))
    with pytest.raises(SignInRefused):
        check_message(message, ORIGIN, {ORIGIN}, 31337, NOW)


def test_a_message_for_another_of_the_gateways_own_origins_is_refused() -> None:
    message = SignInMessage.parse(PLAIN)
    with pytest.raises(SignInRefused):
        check_message(message, "https://other.example", {ORIGIN, "https://other.example"}, 31337, NOW)
    with pytest.raises(SignInRefused):
        check_message(message, ORIGIN, {"https://other.example"}, 31337, NOW)

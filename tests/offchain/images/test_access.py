"""Where passwords for registries may go, and what registries are shown."""

from __future__ import annotations

import base64
from collections.abc import Mapping

import pytest

from leasehold.images import Login, RealmElsewhere, RegistryAnswer, authorization, base_url, check_realm

ALICE = Login("ghcr.io", "alice", "sesame")


class Tokens:
    """A house of tokens, which notes what it hears."""

    def __init__(self, body: bytes = b'{"token": "short"}', status: int = 200) -> None:
        self.body, self.status = body, status
        self.heard: list[tuple[str, str, Mapping[str, str], bytes]] = []

    async def ask(
        self, method: str, url: str, headers: Mapping[str, str], *, body: bytes = b"", most: int
    ) -> RegistryAnswer:
        self.heard.append((method, url, headers, body))
        return RegistryAnswer(self.status, (), self.body)


@pytest.mark.parametrize(
    ("registry_name", "realm"),
    [
        ("docker.io", "https://auth.docker.io/token"),
        ("ghcr.io", "https://ghcr.io/token"),
        ("registry.gitlab.com", "https://gitlab.com/jwt/auth"),
        ("nvcr.io", "https://nvcr.io/proxy_auth"),
        ("nvcr.io", "https://authn.nvidia.com/token"),
        ("registry.lan:5000", "https://registry.lan:5001/auth"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000/auth"),
    ],
)
def test_where_passwords_may_go(registry_name: str, realm: str) -> None:
    check_realm(registry_name, realm)


@pytest.mark.parametrize(
    ("registry_name", "realm"),
    [
        ("ghcr.io", "http://ghcr.io/token"),
        ("ghcr.io", "https://ghcr.io.evil.example/token"),
        ("ghcr.io", "https://ghcr.io@evil.example/token"),
        ("ghcr.io", "https://auth.docker.io/token"),
        ("ghcr.io", "http://169.254.169.254/latest"),
        ("docker.io", "https://auth.docker.io.evil.example/"),
        ("127.0.0.1:5000", "http://127.0.0.1:22/"),
        ("ghcr.io", "file:///etc/shadow"),
        ("ghcr.io", ""),
        ("ghcr.io", "https://[ghcr.io/token"),
        ("ghcr.io", "https://ghcr.io\\@evil.example/"),
    ],
)
def test_where_none_goes(registry_name: str, realm: str) -> None:
    with pytest.raises(RealmElsewhere, match="to the registry alone"):
        check_realm(registry_name, realm)


def test_in_clear_only_on_a_loopback() -> None:
    assert base_url("docker.io") == "https://registry-1.docker.io"
    assert base_url("10.0.0.1:5000") == "https://10.0.0.1:5000"
    assert [base_url(at) for at in ("127.0.0.1:5000", "localhost:5000")] == [
        "http://127.0.0.1:5000",
        "http://localhost:5000",
    ]


async def test_a_password_becomes_a_token_where_the_registry_has_its_own_tokens() -> None:
    tokens = Tokens()
    challenge = 'Bearer realm="https://ghcr.io/token",service="ghcr.io"'
    assert await authorization(tokens.ask, [challenge], "ghcr.io", "a/b", ALICE) == "Bearer short"
    ((method, url, headers, _),) = tokens.heard
    assert (method, url) == ("GET", "https://ghcr.io/token?scope=repository%3Aa%2Fb%3Apull&service=ghcr.io")
    assert headers["Authorization"] == "Basic " + base64.b64encode(b"alice:sesame").decode()


async def test_nvidia_names_no_service_and_writes_without_quotes() -> None:
    tokens = Tokens()
    challenge = 'Bearer realm="https://nvcr.io/proxy_auth",scope=repository:nvidia/x:pull'
    assert await authorization(tokens.ask, [challenge], "nvcr.io", "nvidia/x", None) == "Bearer short"
    assert tokens.heard[0][1] == "https://nvcr.io/proxy_auth?scope=repository%3Anvidia%2Fx%3Apull"


async def test_an_identity_token_is_posted_and_stands_in_no_address() -> None:
    tokens, lasting = Tokens(), Login("ghcr.io", identity_token="lasting")
    challenge = 'Bearer realm="https://ghcr.io/token",service="ghcr.io"'
    await authorization(tokens.ask, [challenge], "ghcr.io", "a/b", lasting)
    ((method, url, headers, body),) = tokens.heard
    assert (method, url) == ("POST", "https://ghcr.io/token")
    assert b"refresh_token=lasting" in body
    assert "Authorization" not in headers


@pytest.mark.parametrize(
    "challenge",
    [
        'Bearer\trealm="https://evil.example/",service="x"',
        'BEARER   realm="https://evil.example/"',
        'Bearer realm="https://ghcr.io/token",REALM="https://evil.example/"',
        'Bearer realm="https://evil.example/",realm="https://ghcr.io/token"',
        'Bearer realm="https://evil.example/",x="a\\",realm=https://ghcr.io/token"',
    ],
    ids=["tab", "capitals", "twice in capitals", "twice", "escaped"],
)
async def test_what_engines_read_otherwise_goes_nowhere(challenge: str) -> None:
    """An engine takes the last of two names, whatever their case, ends a word at a tab, and knows escapes."""
    tokens = Tokens()
    with pytest.raises(RealmElsewhere):
        await authorization(tokens.ask, [challenge], "ghcr.io", "a/b", ALICE)
    assert tokens.heard == []


@pytest.mark.parametrize("login", [None, ALICE])
async def test_one_of_several_realms_that_leads_elsewhere_is_enough(login: Login | None) -> None:
    """Without a password too: an answer from a host of the renter's own network would go back to the registry."""
    tokens = Tokens()
    challenges = [
        'Bearer realm="https://ghcr.io/token",service="x"',
        'Bearer realm="http://169.254.169.254/latest/meta-data/",service="x"',
    ]
    with pytest.raises(RealmElsewhere, match=r"169\.254\.169\.254"):
        await authorization(tokens.ask, challenges, "ghcr.io", "a/b", login)
    assert tokens.heard == []


@pytest.mark.parametrize(
    "body",
    [
        b"{}",
        b"[]",
        b'{"token": 7}',
        b'{"token": "a\\r\\nHost: evil.example"}',
        b'{"token": "\\u00e9"}',
        b'{"token": "' + b"x" * (17 << 10) + b'"}',
    ],
)
async def test_what_is_no_token_is_not_shown(body: bytes) -> None:
    challenge = 'Bearer realm="https://ghcr.io/token"'
    assert await authorization(Tokens(body).ask, [challenge], "ghcr.io", "a/b", None) is None


async def test_a_registry_without_tokens_sees_the_password_itself() -> None:
    tokens = Tokens()
    shown = await authorization(tokens.ask, ['Basic realm="acme"'], "ghcr.io", "a/b", ALICE)
    assert shown == "Basic " + base64.b64encode(b"alice:sesame").decode()
    assert await authorization(tokens.ask, ['Basic realm="acme"'], "ghcr.io", "a/b", None) is None
    assert tokens.heard == []


def test_a_login_is_shown_without_its_password() -> None:
    assert "sesame" not in repr(ALICE)
    assert (ALICE.user, Login("ghcr.io", identity_token="x").user) == ("alice", "the holder of its token")

"""A workload's tag becomes a digest, and a login goes with it only where that was meant for machines."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

from leasehold.client import LoginStaysHere, Observer, PoolClient
from leasehold.client import _images as pinning
from leasehold.home import Home
from leasehold.images import ImageResolver, Login, LoginUnreadable, RegistryAnswer
from leasehold.workload import RegistryLogin, Workload, load_workload

MANIFEST = json.dumps(
    {
        "config": {"digest": "sha256:" + "c" * 64},
        "layers": [{"digest": "sha256:" + "1" * 64, "size": 3 * 10**9}],
    }
).encode()
DIGEST = f"sha256:{hashlib.sha256(MANIFEST).hexdigest()}"
PRIVATE, PUBLIC = "ghcr.io/acme/secret:1", "ghcr.io/acme/open:1"


@dataclass
class Client:
    """As far as it is used."""

    home: Home
    docker_config: Path | None = None
    observer: Observer = field(default_factory=Observer)

    def images(self, login: RegistryLogin | None = None) -> ImageResolver:
        return pinning.resolver(cast(PoolClient, self), login)

    async def pin(self, workload: Workload) -> pinning.PinnedWorkload:
        return await pinning.pin(cast(PoolClient, self), workload)


async def ask(_: str, url: str, headers: Mapping[str, str], **__: Any) -> RegistryAnswer:
    """A registry that gives one image to all, and the other to whoever has the password."""
    opened = headers.get("Authorization", "").endswith(base64.b64encode(b"alice:sesame").decode())
    if "/acme/open/" in url or opened:
        return RegistryAnswer(200, (), MANIFEST)
    return RegistryAnswer(401, ('Basic realm="x"',))


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Client:
    monkeypatch.setattr(pinning, "ImageResolver", partial(ImageResolver, ask=ask))
    return Client(Home(tmp_path))


def workload(image: str, **more: Any) -> Workload:
    return load_workload({"version": 1, "image": image, **more})


def docker(folder: Path) -> Path:
    path = folder / "config.json"
    packed = base64.b64encode(b"alice:sesame").decode()
    path.write_text(json.dumps({"auths": {"ghcr.io": {"auth": packed}}}))
    return path


async def test_what_everybody_may_have_takes_no_login_along(client: Client) -> None:
    client.home.registry_logins.keep(Login("ghcr.io", "alice", "sesame"))
    pinned = await client.pin(workload(PUBLIC))
    assert pinned.workload.image == f"ghcr.io/acme/open@{DIGEST}"
    assert (pinned.workload.registry, pinned.cautions) == (None, ())
    assert pinned.rows() == (("image", f"{PUBLIC} is {DIGEST} now, 3 GB to fetch"),)
    assert pinned.to_json() == {
        "image": f"ghcr.io/acme/open@{DIGEST}",
        "image_named": PUBLIC,
        "image_bytes": 3 * 10**9,
    }


async def test_what_is_pinned_already_asks_nobody(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pinning, "ImageResolver", None)
    for image in (f"ghcr.io/acme/open@{DIGEST}", DIGEST):
        pinned = await client.pin(workload(image))
        assert (pinned.workload.image, pinned.image, pinned.rows(), pinned.to_json()) == (image, None, (), {})


async def test_a_login_that_was_left_for_machines_goes_along_and_is_told(client: Client) -> None:
    client.home.registry_logins.keep(Login("ghcr.io", "alice", "sesame"))
    pinned = await client.pin(workload(PRIVATE))
    assert pinned.workload.registry == RegistryLogin(server="ghcr.io", username="alice", password="sesame")
    assert "the machine's owner can read it" in pinned.cautions[0]
    assert "sesame" not in "".join(pinned.cautions) + repr(pinned) + json.dumps(pinned.to_json())


async def test_dockers_login_stays_on_this_computer(client: Client, tmp_path: Path) -> None:
    client.docker_config = docker(tmp_path)
    with pytest.raises(LoginStaysHere, match="for user alice alone"):
        await client.pin(workload(PRIVATE))


async def test_the_same_login_left_for_machines_too(client: Client, tmp_path: Path) -> None:
    client.docker_config = docker(tmp_path)
    client.home.registry_logins.keep(Login("ghcr.io", "alice", "sesame"))
    assert (await client.pin(workload(PRIVATE))).workload.registry is not None


async def test_a_workload_with_a_login_of_its_own(client: Client) -> None:
    own = {"server": "ghcr.io", "username": "alice", "password": "sesame"}
    client.home.registry_logins.keep(Login("ghcr.io", "bob", "wrong"))
    pinned = await client.pin(workload(PRIVATE, registry=own))
    assert pinned.workload.registry is not None
    assert pinned.workload.registry.username == "alice"
    assert "login of alice" in pinned.cautions[0]


async def test_a_login_that_no_workload_takes(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    async def lets_all_in(_: str, url: str, headers: Mapping[str, str], **__: Any) -> RegistryAnswer:
        known = "Authorization" in headers
        return RegistryAnswer(200, (), MANIFEST) if known else RegistryAnswer(401, ('Basic realm="x"',))

    monkeypatch.setattr(pinning, "ImageResolver", partial(ImageResolver, ask=lets_all_in))
    client.home.registry_logins.keep(Login("ghcr.io", "a b", "sesame"))
    with pytest.raises(LoginUnreadable, match="no such login"):
        await client.pin(workload(PRIVATE))


async def test_a_registry_of_this_very_computer_is_told(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinned = await client.pin(workload("localhost:5000/acme/open/x:1"))
    assert "to the machine it is the machine itself" in pinned.cautions[0]

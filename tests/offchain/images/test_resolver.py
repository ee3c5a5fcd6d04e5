"""A tag becomes the digest of what the registry has, computed from what came."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from leasehold.images import (
    DigestDiffers,
    ImageNotFound,
    ImageResolver,
    Login,
    NoSuchPlatform,
    RealmElsewhere,
    RegistryAnswer,
    RegistryBusy,
    RegistryLoginRefused,
    RegistryOdd,
    RegistryUnreachable,
    _resolver,
)

ALICE = Login("ghcr.io", "alice", "sesame")
CONFIG = "sha256:" + "c" * 64
LAYERS = [{"digest": "sha256:" + f"{n}" * 64, "size": size} for n, size in ((1, 1_000), (2, 234))]


def digest_of(body: bytes) -> str:
    return f"sha256:{hashlib.sha256(body).hexdigest()}"


def image(**more: Any) -> bytes:
    return json.dumps({"schemaVersion": 2, "config": {"digest": CONFIG}, "layers": LAYERS, **more}).encode()


def index(*platforms: tuple[str, bytes], **more: Any) -> bytes:
    def part(platform: str, body: bytes) -> dict[str, Any]:
        system, processor, *variant = platform.split("/")
        named = {"os": system, "architecture": processor, **({"variant": variant[0]} if variant else {})}
        return {"digest": digest_of(body), "size": len(body), "platform": named}

    return json.dumps({"schemaVersion": 2, "manifests": [part(*one) for one in platforms], **more}).encode()


@dataclass
class Registry:
    """Of one repository. blobs: by tag; each is also there by its digest. password: what has to be shown, if any."""

    blobs: dict[str, bytes] = field(default_factory=dict)
    password: str | None = None
    status: int = 200
    digest: str | None = None
    realm: str = "https://ghcr.io/token"
    also: Mapping[str, bytes] = field(default_factory=dict)
    heard: list[tuple[str, Mapping[str, str]]] = field(default_factory=list)

    async def ask(
        self, method: str, url: str, headers: Mapping[str, str], *, body: bytes = b"", most: int
    ) -> RegistryAnswer:
        self.heard.append((url, headers))
        if url.startswith("https://ghcr.io/token"):
            good = "Basic" in headers.get("Authorization", "")
            return RegistryAnswer(200, (), b'{"token": "%s"}' % (b"alices" if good else b"anybodys"))
        if self.status != 200:
            return RegistryAnswer(self.status)
        if self.password is not None and headers.get("Authorization") != "Bearer alices":
            return RegistryAnswer(401, (f'Bearer realm="{self.realm}",service="ghcr.io"',))
        if url.endswith("/v2/"):
            return RegistryAnswer(200)
        known = {**self.blobs, **{digest_of(blob): blob for blob in self.blobs.values()}, **self.also}
        wanted = url.rpartition("/")[2]
        if wanted not in known:
            return RegistryAnswer(404)
        return RegistryAnswer(200, (), known[wanted], self.digest)


def resolver(registry: Registry, login: Login | None = None) -> ImageResolver:
    async def login_for(server: str) -> Login | None:
        assert server == "ghcr.io"
        return login

    return ImageResolver(login_for, registry.ask)


async def test_a_tag_becomes_the_digest_of_what_came() -> None:
    registry = Registry({"1": image()}, digest=digest_of(image()))
    resolved = await resolver(registry).resolve("ghcr.io/x/y:1")
    assert resolved.named == "ghcr.io/x/y:1"
    assert resolved.reference == f"ghcr.io/x/y@{digest_of(image())}"
    assert resolved.ids == {digest_of(image()), CONFIG}
    assert (resolved.download, resolved.platforms, resolved.login) == (1_234, (), None)
    assert [url for url, _ in registry.heard] == ["https://ghcr.io/v2/x/y/manifests/1"]


async def test_of_a_list_the_machines_own_is_looked_at_and_the_list_is_signed() -> None:
    arm, amd = image(annotations={"for": "arm"}), image()
    listed = index(("linux/arm64/v8", arm), ("unknown/unknown", b"{}"), ("linux/amd64", amd))
    registry = Registry({"latest": listed, "arm": arm, "amd": amd})
    resolved = await resolver(registry).resolve("ghcr.io/x/y")
    assert resolved.digest == digest_of(listed)
    assert resolved.ids == {digest_of(listed), digest_of(amd), CONFIG}
    assert resolved.platforms == ("linux/arm64", "linux/amd64")
    there = await resolver(registry).resolve(resolved.reference, "linux/arm64")
    assert (there.digest, digest_of(arm) in there.ids) == (resolved.digest, True)
    with pytest.raises(NoSuchPlatform, match="it is for linux/arm64, linux/amd64"):
        await resolver(registry).resolve("ghcr.io/x/y", "linux/riscv64")


async def test_of_several_for_one_processor_the_plainest() -> None:
    fast, plain = image(annotations={"for": "v3"}), image()
    listed = index(("linux/amd64/v3", fast), ("linux/amd64", plain))
    registry = Registry({"latest": listed, "a": fast, "b": plain})
    assert digest_of(plain) in (await resolver(registry).resolve("ghcr.io/x/y")).ids


async def test_a_layer_that_comes_twice_is_sent_once() -> None:
    twice = image(layers=[*LAYERS, LAYERS[0]])
    assert (await resolver(Registry({"1": twice})).resolve("ghcr.io/x/y:1")).download == 1_234


# ------------------------------------------------------------------------------------------------- who asks


async def test_a_login_is_shown_only_where_anybody_is_refused() -> None:
    public = Registry({"1": image()})
    assert (await resolver(public, ALICE).resolve("ghcr.io/x/y:1")).login is None
    assert all("Authorization" not in headers for _, headers in public.heard)
    private = Registry({"1": image()}, password="sesame")
    assert (await resolver(private, ALICE).resolve("ghcr.io/x/y:1")).login == ALICE
    with pytest.raises(ImageNotFound, match=r"no ghcr\.io/x/y:1 for everybody: check the name"):
        await resolver(private).resolve("ghcr.io/x/y:1")
    with pytest.raises(ImageNotFound, match="for user alice"):
        await resolver(private, ALICE).resolve("ghcr.io/x/y:2")


async def test_whoever_asks_too_much_is_told_so() -> None:
    with pytest.raises(RegistryBusy, match="log in to it"):
        await resolver(Registry(status=429)).resolve("ghcr.io/x/y")


@pytest.mark.parametrize(
    "realm", ["https://evil.example/token", "http://169.254.169.254/", "http://ghcr.io/token"]
)
async def test_nothing_is_asked_where_a_challenge_points_elsewhere(realm: str) -> None:
    registry = Registry({"1": image()}, password="sesame", realm=realm)
    with pytest.raises(RealmElsewhere):
        await resolver(registry, ALICE).resolve("ghcr.io/x/y:1")
    assert {url.split("/")[2] for url, _ in registry.heard} == {"ghcr.io"}
    assert all("Authorization" not in headers for _, headers in registry.heard)


async def test_a_login_is_tried_before_it_is_kept() -> None:
    await resolver(Registry(password="sesame")).check_login(ALICE)
    with pytest.raises(RegistryLoginRefused, match="user bob"):
        await resolver(Registry(password="sesame")).check_login(Login("ghcr.io", "bob"))


# ------------------------------------------------------------------------------------- registries that lie


async def test_another_image_than_the_one_that_was_named() -> None:
    other = digest_of(b"another")
    registry = Registry({}, also={other: image()})
    with pytest.raises(DigestDiffers, match="gave another image"):
        await resolver(registry).resolve(f"ghcr.io/x/y@{other}")


async def test_another_digest_than_the_one_it_says() -> None:
    registry = Registry({"1": image()}, digest=digest_of(b"another"))
    with pytest.raises(DigestDiffers):
        await resolver(registry).resolve("ghcr.io/x/y:1")


async def test_another_image_than_its_own_list_names() -> None:
    listed = index(("linux/amd64", b"another"))
    registry = Registry({"1": listed}, also={digest_of(b"another"): image()})
    with pytest.raises(DigestDiffers):
        await resolver(registry).resolve("ghcr.io/x/y:1")


@pytest.mark.parametrize(
    ("body", "why"),
    [
        (b"{", "no JSON"),
        (b"[" * 100_000, "no JSON"),
        (b"[]", "no manifest"),
        (b"{}", "no manifest"),
        (b"<html>", "no JSON"),
        (json.dumps({"fsLayers": []}).encode(), "first format"),
        (index(("linux/amd64", image()), layers=[]), "at once"),
        (image(layers=7), "no manifest"),
        (image(layers=["x"]), "no manifest"),
        (image(layers=[{"digest": CONFIG, "size": -1}]), "no size"),
        (image(layers=[{"digest": CONFIG, "size": 2**60}]), "no size"),
        (image(layers=[{"digest": CONFIG, "size": True}]), "no size"),
        (image(layers=[{"digest": "md5:1", "size": 1}]), "no digest"),
        (image(layers=[LAYERS[0]] * 4_097), "more than 4096"),
        (image(config=None), "no manifest"),
    ],
)
async def test_what_is_no_image(body: bytes, why: str) -> None:
    with pytest.raises(RegistryOdd, match=why):
        await resolver(Registry({"1": body})).resolve("ghcr.io/x/y:1")


async def test_a_list_that_leads_to_a_list_leads_nowhere() -> None:
    inner = index(("linux/amd64", image()))
    registry = Registry({"1": index(("linux/amd64", inner)), "inner": inner})
    with pytest.raises(RegistryOdd, match="another list"):
        await resolver(registry).resolve("ghcr.io/x/y:1")
    assert len(registry.heard) == 2


async def test_a_platform_that_would_move_a_cursor_is_not_told() -> None:
    listed = json.dumps(
        {"manifests": [{"digest": CONFIG, "platform": {"os": "\x1b[2J", "architecture": "x"}}]}
    )
    with pytest.raises(NoSuchPlatform, match="none that is named"):
        await resolver(Registry({"1": listed.encode()})).resolve("ghcr.io/x/y:1")


@pytest.mark.parametrize("status", [301, 307, 418, 500, 503])
async def test_what_is_no_answer(status: int) -> None:
    """A redirect is none: whoever is pointed at would be asked with what the registry may see."""
    with pytest.raises(RegistryUnreachable, match=f"it answers {status}"):
        await resolver(Registry(status=status)).resolve("ghcr.io/x/y")


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("ConnectError"), "ConnectError"),
        (TimeoutError(), "does not answer"),
        (ValueError("x"), "cannot be read"),
    ],
)
async def test_a_registry_that_cannot_be_asked(error: Exception, said: str) -> None:
    async def away(*_: Any, **__: Any) -> RegistryAnswer:
        raise error

    with pytest.raises(RegistryUnreachable, match=said):
        await ImageResolver(ask=away).resolve("ghcr.io/x/y")


async def test_a_registry_that_goes_on_for_ever_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_resolver, "_SECONDS", 0.01)

    async def silent(*_: Any, **__: Any) -> RegistryAnswer:
        await asyncio.Event().wait()
        raise AssertionError

    with pytest.raises(RegistryUnreachable, match="takes too long"):
        await ImageResolver(ask=silent).resolve("ghcr.io/x/y")

"""The templates that come along, typed: images by tag from a registry, with secrets of the lease's own.

There is no hub of images here. What answers in their place is `devnet.stand_ins`, under each template's own flags but
for `--image`.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet import stand_ins
from devnet.desk import ROOT, Desk
from devnet.nursery import Nursery
from devnet.registry import PASSWORD, USERNAME, Registry
from devnet.same_port import SamePort
from devnet.site import Site, make_site
from devnet.walkthrough import Walkthrough
from devnet.world import World
from leasehold.chain import LeaseClosed

pytestmark = pytest.mark.slow

TEMPLATES = ("batch", "comfyui", "jupyter", "pytorch", "ubuntu", "vllm")


@pytest.fixture(scope="module")
def open_registry(world: World) -> Iterator[Registry]:
    """On the engine's loopback and on everybody's, with the stand-in under each template's name."""
    with Registry(world.engine, open_to_all=True) as registry, SamePort(world.engine.netns, registry.port):
        stand_in = stand_ins.build(world.engine)
        for name in TEMPLATES:
            registry.push(stand_in, f"stand-in/{name}", "2.5")
        with world.engine.client() as client:
            client.images.remove(stand_in, force=True)
        yield registry


@pytest.fixture(scope="module")
def private_registry(world: World) -> Iterator[Registry]:
    with (
        Registry(world.engine) as registry,
        SamePort(world.engine.netns, int(registry.server.rpartition(":")[2])),
    ):
        registry.push("leasehold/tiny:1", "acme/secret")
        yield registry


@pytest.fixture(scope="module")
def site(world: World, open_registry: Registry, private_registry: Registry) -> Iterator[Site]:
    known = [open_registry.server, private_registry.server]
    with make_site(world, registries=known, tick_seconds=0.5, contact_every=1) as made:
        yield made
        with world.engine.client() as client:
            for image in client.images.list():
                named = [*image.attrs["RepoTags"], *image.attrs["RepoDigests"]]
                if any(name.startswith(tuple(known)) for name in named):
                    with contextlib.suppress(Exception):
                        client.images.remove(image.id, force=True)


def wish(site: Site, registry: Registry, name: str, *more: str) -> tuple[str, ...]:
    image = f"{registry.server}/stand-in/{name}:2.5"
    return (
        "rent", "--template", name, "--image", image, "--machine", str(site.machine), "--for", "1h", "--share", "1/8",
        "--allow-unverified", "--yes", *more,
    )  # fmt: skip


def rented(site: Site, registry: Registry, name: str, *more: str) -> tuple[str, dict[str, str]]:
    """The lease, and the secrets that were shown."""
    done = site.renter.run(*wish(site, registry, name, "--json"), *more)
    assert done.returncode == 0, done.stderr
    shown = dict(re.findall(r"^(jupyter-token|api-key)\s+(\S+)$", done.stderr, re.MULTILINE))
    return str(json.loads(done.stdout)["lease"]), shown


def asked(site: Site, lease: str, path: str, *headers: str) -> tuple[int, str]:
    """What a server inside answers to one question from inside: its status and its words."""
    code = (
        "import sys, urllib.request, urllib.error\n"
        "request = urllib.request.Request(sys.argv[1], headers=dict(h.split('=', 1) for h in sys.argv[2:]))\n"
        "try: answer = urllib.request.urlopen(request)\n"
        "except urllib.error.HTTPError as error: answer = error\n"
        "print(answer.status, answer.read().decode())\n"
    )
    done = site.renter.run("exec", lease, "--", "python3", "-c", code, f"http://127.0.0.1:{path}", *headers)
    assert done.returncode == 0, done.stderr
    status, _, said = done.stdout.partition(" ")
    return int(status), said


def test_a_notebook_behind_a_token_that_is_shown_once(site: Site, open_registry: Registry) -> None:
    lease, shown = rented(site, open_registry, "jupyter")
    token = shown["jupyter-token"]
    assert asked(site, lease, f"8888/api/status?token={token}")[0] == 200
    assert asked(site, lease, "8888/api/status?token=guessed")[0] == 403
    (container,) = site.containers(lease)
    assert token not in json.dumps(container)
    assert not container["HostConfig"]["PortBindings"]
    told = json.dumps(site.renter("show", lease)) + json.dumps(site.renter("leases"))
    assert token not in told
    script = "echo kept > /home/jovyan/work/note"
    assert site.renter.run("exec", lease, "--", "sh", "-c", script).returncode == 0
    site.renter("close", lease, "--yes")

    again, other = rented(site, open_registry, "jupyter")
    assert other["jupyter-token"] != token
    assert site.renter.run("exec", again, "--", "cat", "/home/jovyan/work/note").stdout == "kept\n"
    site.renter("close", again, "--yes")


def test_a_model_is_served_to_who_has_the_key(site: Site, open_registry: Registry) -> None:
    small = (
        "--volume",
        "models:/models",
    )  # as much as an eighth of this machine has room for
    lease, shown = rented(site, open_registry, "vllm", "-e", "MODEL=acme/small", *small)
    status, said = asked(site, lease, "8000/v1/models", f"Authorization=Bearer {shown['api-key']}")
    assert (status, json.loads(said)["data"][0]["id"]) == (200, "acme/small")
    assert asked(site, lease, "8000/v1/models")[0] == 401
    (container,) = site.containers(lease)
    assert list(container["HostConfig"]["PortBindings"]) == ["8000/tcp"]
    site.renter("close", lease, "--yes")


def test_graphs_behind_no_published_port(site: Site, open_registry: Registry) -> None:
    lease, _ = rented(site, open_registry, "comfyui")
    assert asked(site, lease, "8188/system_stats")[0] == 200
    (container,) = site.containers(lease)
    assert not container["HostConfig"]["PortBindings"]
    site.renter("close", lease, "--yes")


@pytest.mark.parametrize(("name", "folder"), [("pytorch", "/workspace"), ("ubuntu", "/")])
def test_a_shell(site: Site, open_registry: Registry, name: str, folder: str) -> None:
    lease, _ = rented(site, open_registry, name)
    assert site.renter.run("exec", lease, "--", "pwd").stdout == f"{folder}\n"
    done = site.renter.run("ssh", lease, "--", "echo by the wallet")
    assert done.stdout == "by the wallet\n", done.stderr
    site.renter("close", lease, "--yes")


def test_a_job_ends_its_bill_and_leaves_its_result(site: Site, open_registry: Registry) -> None:
    refused = site.renter.run(*wish(site, open_registry, "batch"))
    assert (refused.returncode, "write it behind `--`" in refused.stderr) == (2, True)
    lease, _ = rented(site, open_registry, "batch", "--", "sh", "-c", "echo 42 > /out/answer")
    site.until(lambda: site.events(LeaseClosed, lease))
    folder = site.renter.home / "batch-results"
    site.renter("results", lease, str(folder))
    assert (folder / "out" / "answer").read_text() == "42\n"


def test_a_tag_is_shown_sealed_by_its_digest_and_found_at_hand_afterwards(
    site: Site, open_registry: Registry
) -> None:
    image = f"{open_registry.server}/stand-in/ubuntu:2.5"
    dry = site.renter(*wish(site, open_registry, "ubuntu", "--dry-run"))
    assert re.fullmatch(
        rf"{re.escape(open_registry.server)}/stand-in/ubuntu@sha256:[0-9a-f]{{64}}", dry["image"]
    )
    assert (dry["image_named"], dry["image_bytes"] > 10**6) == (image, True)
    lease, _ = rented(site, open_registry, "ubuntu")
    (container,) = site.containers(lease)
    assert container["Config"]["Image"] == dry["image"]
    site.renter("close", lease, "--yes")
    (there,) = site.until(
        lambda: [
            row
            for row in site.renter("machines", "--image", image, "--sort", "cold-start")
            if row["id"] == site.machine and row["image_at_hand"]
        ]
    )
    assert there["cold_start"] == 0


def test_what_is_on_a_lease_becomes_another_image(site: Site, open_registry: Registry) -> None:
    lease = site.rent("--share", "1/8")
    image = f"{open_registry.server}/stand-in/pytorch:2.5"
    words = (
        "set-workload",
        lease,
        "--template",
        "pytorch",
        "--image",
        image,
        "--shm",
        "32MiB",
        "--workdir",
        "/srv",
    )
    dry = site.renter(*words, "--dry-run")
    assert dry["image_named"] == image
    site.renter(*words, "--yes")
    site.until(lambda: site.renter.run("exec", lease, "--", "pwd").stdout == "/srv\n")
    site.renter("close", lease, "--yes")


def test_a_private_image_by_a_login_that_was_left_for_machines(
    site: Site, private_registry: Registry
) -> None:
    image = f"{private_registry.server}/acme/secret:1"
    arguments = (
        "rent", "--image", image, "--machine", str(site.machine), "--for", "1h", "--share", "1/8", "--allow-unverified",
        "--yes",
    )  # fmt: skip
    docker = site.renter.home / "docker.json"
    docker.write_text(private_registry.docker_config())
    site.renter.environment = {**site.renter.environment, "LEASEHOLD_DOCKER_CONFIG": str(docker)}
    refused = site.renter.run(*arguments, "--", "sleep", "3600")
    assert (refused.returncode, "stays on this computer" in refused.stderr) == (6, True), refused.stderr
    server = private_registry.server
    wrong = site.renter.run("registry", "login", server, "-u", USERNAME, stdin="guessed\n")
    assert (wrong.returncode, f"does not know user {USERNAME}" in wrong.stderr) == (6, True), wrong.stderr
    kept = site.renter.run("registry", "login", server, "-u", USERNAME, stdin=f"{PASSWORD}\n")
    assert kept.returncode == 0, kept.stderr
    done = site.renter.run(*arguments, "--", "sleep", "3600")
    assert done.returncode == 0, done.stderr
    assert "the machine's owner can read it" in done.stderr
    assert PASSWORD not in done.stdout + done.stderr


def test_the_guide_is_typed(site: Site, nursery: Nursery, tmp_path: Path) -> None:
    with Walkthrough({"": Desk(tmp_path, nursery).of(site.renter)}) as reader:
        assert reader.walk(ROOT / "docs/guides" / "images.md") == 4

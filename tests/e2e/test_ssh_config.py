"""OpenSSH, and what uses it, finds a lease by its name; a port of it comes to this computer."""

from __future__ import annotations

import os
import re
import subprocess
import urllib.request
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from devnet.patience import patient
from devnet.site import Site
from devnet.world import Party

pytestmark = pytest.mark.slow


@pytest.fixture
def at_home(site: Site, tmp_path: Path) -> Party:
    """The renter, with a home folder of the test's own, in which OpenSSH has a configuration already."""
    (tmp_path / ".ssh").mkdir(mode=0o700)
    (tmp_path / ".ssh" / "config").write_text("Host elsewhere\n  Port 2200\n")
    environment: Mapping[str, str] = {
        **site.renter.environment,
        "HOME": str(tmp_path),
        "LEASEHOLD_PASSWORD": site.renter.password_file.read_text().strip(),
    }
    return replace(site.renter, environment=environment)


def ssh(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """As any program would: without a password, a terminal or anything of Leasehold's in the environment."""
    return subprocess.run(
        ["ssh", "-F", str(folder / ".ssh" / "config"), "-o", "BatchMode=yes", *words],
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        capture_output=True,
        text=True,
        timeout=patient(60),
        stdin=subprocess.DEVNULL,
        check=False,
    )


def test_ssh_train(site: Site, at_home: Party, tmp_path: Path) -> None:
    lease = site.rent("--name", "train", command=["sleep", "3600"], ssh_keys=[])
    told = at_home("ssh-config")
    assert told["hosts"] == [[f"lease-{lease}", "train"]]
    for alias in ("train", f"lease-{lease}"):
        done = ssh(tmp_path, alias, "echo it is $LEASEHOLD_LEASE; uname")
        assert done.returncode == 0, done.stderr
        assert "Linux" in done.stdout
    (tmp_path / "file").write_text("by scp")
    copy = ["scp", "-F", str(tmp_path / ".ssh/config"), str(tmp_path / "file"), "train:/file"]
    subprocess.run(
        copy, check=True, timeout=patient(60), env={"PATH": os.environ["PATH"]}, capture_output=True
    )
    assert ssh(tmp_path, "train", "cat /file").stdout == "by scp"
    assert "port 2200" in ssh(tmp_path, "-G", "elsewhere").stdout
    assert at_home.run("ssh-config", "--print").stdout.startswith("# Written by")
    command = at_home("edit", lease, "/srv", "--print")["command"]
    assert command == ["code", "--remote", "ssh-remote+train", "/srv"]
    assert at_home("ssh-config", "--undo") == {"undone": True}
    assert (tmp_path / ".ssh" / "config").read_text() == "Host elsewhere\n  Port 2200\n"
    assert not list((site.renter.home / "ssh").iterdir())


def test_without_vs_code_it_says_what_to_install(site: Site, at_home: Party, tmp_path: Path) -> None:
    lease = site.rent(command=["sleep", "3600"], ssh_keys=[])
    alone = replace(at_home, environment={**at_home.environment, "PATH": "/nowhere"}, nursery=None)
    done = alone.run("edit", lease, "--code")
    assert done.returncode != 0
    assert "Remote - SSH" in done.stderr


def test_a_port_comes_here(site: Site, at_home: Party, tmp_path: Path) -> None:
    serve = "mkdir /www; echo hello > /www/index.html; exec httpd -f -p 127.0.0.1:8888 -h /www"
    lease = site.rent(command=["sh", "-c", serve], ssh_keys=[])
    process = at_home.popen("port", lease, "8888", "--no-open")
    try:
        assert process.stdout is not None
        said = next(line for line in process.stdout if "leads there" in line)
        address = re.search(r"http://\S+", said)
        assert address is not None, said
        with urllib.request.urlopen(address[0], timeout=patient(20)) as answer:
            assert answer.read() == b"hello\n"
    finally:
        process.terminate()
        process.communicate(timeout=patient(20))


def test_a_port_that_is_published_is_shown_with_its_host(site: Site, at_home: Party) -> None:
    lease = site.rent(command=["sleep", "3600"], ports=[{"container": 8888}], ssh_keys=[])
    shown = at_home.run("show", lease).stdout
    assert re.search(rf"8888/tcp at {re.escape(site.engine.address)}:\d+", shown), shown

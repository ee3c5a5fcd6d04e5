"""What `docker login` has left."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from leasehold.images import Login, LoginUnreadable, docker_login

PACKED = base64.b64encode(b"alice:open:sesame").decode()


def config(folder: Path, **content: Any) -> Path:
    path = folder / "config.json"
    path.write_text(json.dumps(content))
    return path


def helper(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program `docker-credential-test` that is found first."""
    program = folder / "docker-credential-test"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_login_in_the_file(tmp_path: Path) -> None:
    path = config(
        tmp_path, auths={"ghcr.io": {"auth": PACKED}, "quay.io": {"identitytoken": "lasting"}, "x": {}}
    )
    assert docker_login(path, "ghcr.io") == Login("ghcr.io", "alice", "open:sesame")
    assert docker_login(path, "quay.io") == Login("quay.io", identity_token="lasting")
    assert docker_login(path, "x") is None
    assert docker_login(path, "ghcr.io:5000") is None
    assert docker_login(tmp_path / "none.json", "ghcr.io") is None


@pytest.mark.parametrize("key", ["https://index.docker.io/v1/", "index.docker.io", "docker.io"])
def test_docker_hub_has_names_of_its_own(tmp_path: Path, key: str) -> None:
    path = config(tmp_path, auths={key: {"auth": PACKED}})
    assert docker_login(path, "docker.io") == Login("docker.io", "alice", "open:sesame")


def test_a_program_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper(tmp_path, monkeypatch, 'read key; printf \'{"Username": "bob", "Secret": "for %s"}\' "$key"')
    path = config(tmp_path, credHelpers={"ghcr.io": "test"}, auths={"ghcr.io": {}})
    assert docker_login(path, "ghcr.io") == Login("ghcr.io", "bob", "for ghcr.io")
    path = config(tmp_path, credsStore="test")
    assert docker_login(path, "docker.io") == Login("docker.io", "bob", "for https://index.docker.io/v1/")


def test_a_program_keeps_a_token(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper(tmp_path, monkeypatch, 'printf \'{"Username": "<token>", "Secret": "lasting"}\'')
    assert docker_login(config(tmp_path, credsStore="test"), "a.example") == Login(
        "a.example", identity_token="lasting"
    )


def test_a_program_that_has_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    helper(tmp_path, monkeypatch, "echo credentials not found in native keychain; exit 1")
    assert docker_login(config(tmp_path, credsStore="test"), "a.example") is None


@pytest.mark.parametrize("name", ["gone", "../evil", "test; rm", "test"])
def test_a_program_that_cannot_be_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    helper(tmp_path, monkeypatch, "echo no JSON")
    with pytest.raises(LoginUnreadable, match=r"a\.example"):
        docker_login(config(tmp_path, credsStore=name), "a.example")


@pytest.mark.parametrize("content", ["{", "[]", '{"auths": {"a.example": {"auth": "%%"}}}'])
def test_a_damaged_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "config.json"
    path.write_text(content)
    with pytest.raises(LoginUnreadable):
        docker_login(path, "a.example")

"""`leasehold registry`: logins that are kept for machines, tried before they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from leasehold.cli import app
from leasehold.cli import registry as verbs
from leasehold.errors import SettingsError
from leasehold.home import RegistryLogins
from leasehold.images import ImageResolver, Login, RegistryAnswer


@pytest.fixture(autouse=True)
def _known(monkeypatch: pytest.MonkeyPatch) -> None:
    """A registry that knows one password."""

    async def ask(_: str, url: str, headers: Mapping[str, str], **__: Any) -> RegistryAnswer:
        good = headers.get("Authorization") == "Basic YWxpY2U6c2VzYW1l"
        return RegistryAnswer(200) if good else RegistryAnswer(401, ('Basic realm="x"',))

    monkeypatch.setattr(verbs, "ImageResolver", lambda: ImageResolver(ask=ask))


def run(home: Path, *words: str, typed: str = "") -> Any:
    return CliRunner(env={"LEASEHOLD_HOME": str(home)}).invoke(app, ("registry", *words), input=typed)


def test_a_login_is_tried_kept_listed_and_forgotten(tmp_path: Path) -> None:
    kept = run(tmp_path, "login", "GHCR.io", "-u", "alice", typed="sesame\n")
    assert kept.exit_code == 0, kept.output
    assert "whose owners can read it" in " ".join(kept.stderr.split())
    assert "sesame" not in kept.output
    path = tmp_path / "keys/registries.json"
    assert path.stat().st_mode & 0o777 == 0o600
    assert RegistryLogins(tmp_path).all() == {"ghcr.io": Login("ghcr.io", "alice", "sesame")}
    listed = run(tmp_path, "list", "--json")
    assert json.loads(listed.stdout) == [{"server": "ghcr.io", "username": "alice"}]
    assert run(tmp_path, "logout", "ghcr.io").exit_code == 0
    assert run(tmp_path, "logout", "ghcr.io").exit_code == 2
    assert "sesame" not in path.read_text()


def test_docker_hub_has_one_name(tmp_path: Path) -> None:
    assert run(tmp_path, "login", "index.docker.io", "-u", "alice", typed="sesame\n").exit_code == 0
    assert list(RegistryLogins(tmp_path).all()) == ["docker.io"]


@pytest.mark.parametrize(
    ("words", "typed", "code", "says"),
    [
        (("login", "ghcr.io", "-u", "alice"), "wrong\n", 6, "does not know user alice"),
        (("login", "ghcr.io", "-u", "alice"), "", 2, "nobody to ask"),
        (("login", "https://ghcr.io", "-u", "alice"), "sesame\n", 2, "is no registry"),
        (("login", "ghcr.io", "-u", ""), "sesame\n", 2, "a name and a password"),
    ],
)
def test_what_is_no_login_is_not_kept(
    tmp_path: Path, words: tuple[str, ...], typed: str, code: int, says: str
) -> None:
    refused = run(tmp_path, *words, typed=typed)
    assert refused.exit_code == code, refused.output
    assert says in " ".join(refused.stderr.split())
    assert not (tmp_path / "keys").exists()


@pytest.mark.parametrize("content", ["{", "[]", '{"ghcr.io": 7}'])
def test_a_damaged_file_of_logins(tmp_path: Path, content: str) -> None:
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys/registries.json").write_text(content)
    with pytest.raises(SettingsError, match="is damaged"):
        RegistryLogins(tmp_path).all()

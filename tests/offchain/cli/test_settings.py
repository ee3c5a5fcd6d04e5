"""Settings: what stands before the command, the environment, the file; and what is wrong with them."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.cli._options import Globals
from leasehold.cli._settings import Settings, load_settings
from leasehold.errors import SettingsError


@pytest.fixture(autouse=True)
def nobody_has_said_anything(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in Settings.__dataclass_fields__:
        monkeypatch.delenv(f"LEASEHOLD_{name.upper()}", raising=False)
    monkeypatch.setenv("LEASEHOLD_HOME", str(tmp_path))


def test_the_nearest_word_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text(
        'rpc = ["http://file"]\nipfs = "file"\nwallet = "file"\ndocuments_timeout = 3\n'
    )
    monkeypatch.setenv("LEASEHOLD_RPC", "http://one, http://two")
    monkeypatch.setenv("leasehold_ipfs", "environment")
    monkeypatch.setenv("LEASEHOLD_WALLET", "")  # says nothing
    monkeypatch.setenv("LEASEHOLD_NONSENSE", "1")
    settings = load_settings(Globals(ipfs="given", deployment=Path("~/pool.json")))
    assert settings == Settings(
        home=tmp_path,
        deployment=Path("~/pool.json").expanduser(),
        rpc=("http://one", "http://two"),
        ipfs="given",
        wallet="file",
        documents_timeout=3.0,
    )
    assert load_settings(Globals(rpc=("http://given",))).rpc == ("http://given",)


def test_where_nothing_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LEASEHOLD_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load_settings(Globals()) == Settings(home=tmp_path / ".config/leasehold")


def test_a_password_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEASEHOLD_PASSWORD", "correct horse")
    settings = load_settings(Globals())
    assert settings.password == "correct horse"
    assert "horse" not in repr(settings)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("rpc = 7", "The setting `rpc` is wrong"),
        ("rpc = []", "The setting `rpc` is wrong"),
        ("rpc = [7]", "it should be a text"),
        ("wallet = 7", "The setting `wallet` is wrong (it should be a text): correct LEASEHOLD_WALLET"),
        ("deployment = []", "it should be a text"),
        ('documents_timeout = "soon"', "it should be a number"),
        ("documents_timeout = -1", "greater than 0"),
        ("documents_timeout = nan", "greater than 0"),
        ("walet = 'me'", "The setting `walet` is wrong (there is no such field)"),
        ("rpc =", "config.toml cannot be read"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "config.toml").write_text(line + "\n")
    with pytest.raises(SettingsError) as refused:
        load_settings(Globals())
    assert said in str(refused.value)


def test_a_home_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(SettingsError, match="is no folder"):
        load_settings(Globals(home=tmp_path / "file"))

"""Variables and secrets as they are given at the prompt."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.cli._given import parse_variable, read_secret, read_variables
from leasehold.market import InvalidInput


def test_a_variable_is_written_out_or_taken_from_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "a=b")
    assert parse_variable("A=1=2") == ("A", "1=2")
    assert parse_variable("A=") == ("A", "")
    assert parse_variable("HF_TOKEN") == ("HF_TOKEN", "a=b")
    monkeypatch.setenv("EMPTY", "")
    assert parse_variable("EMPTY") == ("EMPTY", "")
    for name in ("NOWHERE", ""):
        with pytest.raises(InvalidInput, match="is not set here"):
            parse_variable(name)


def test_a_file_of_variables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_HERE", "there")
    first, second = tmp_path / "one.env", tmp_path / "two.env"
    first.write_text("# what it is\n\nA=1\n  B='as it stands' # so\nFROM_HERE\n")
    second.write_text("A=2\r\n")
    assert read_variables([first, second]) == {"A": "2", "B": "'as it stands' # so", "FROM_HERE": "there"}
    with pytest.raises(InvalidInput, match="name another file with --env-file"):
        read_variables([tmp_path / "none"])


def test_a_secret_comes_from_a_file_or_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "token"
    file.write_text("hunter2\n")
    assert read_secret(f"token=@{file}") == read_secret(f"token={file}") == ("token", "hunter2\n")
    monkeypatch.setenv("HF_TOKEN", "hunter3")
    assert read_secret("HF_TOKEN") == ("HF_TOKEN", "hunter3")
    with pytest.raises(InvalidInput, match="write --secret token=@FILE"):
        read_secret("token")


@pytest.mark.parametrize(
    ("content", "says"), [(b"\xff", "no text in UTF-8"), (b"x" * (1 << 20) + b"x", "larger than 1 MiB")]
)
def test_a_file_that_cannot_be_a_secret(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "token"
    file.write_bytes(content)
    with pytest.raises(InvalidInput, match=says):
        read_secret(f"token=@{file}")

"""Settings that cannot be read, and what the host refuses: one sentence, and never a traceback."""

from __future__ import annotations

import errno
import subprocess
import sys
from pathlib import Path

import pytest

from leasehold.errors import SettingsError
from leasehold_agent._config import load_settings
from leasehold_agent.cli import _app as cli


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("RPC", "[http://one", "rpc: it is no JSON list"),
        ("API_PORT", "many", "api_port: it should be a valid integer"),
        ("HOURS", "nights", "hours: 'nights' names no hours"),
        ("HOURS_ZONE", "Berlin", "hours_zone: 'Berlin' is no time zone"),
        ("HOURS_CELLS", "0:9", "hours_cells: '0:9' names no cells"),
        ("TENANTS", "endd>=1", "tenants: .*did you mean .ended."),
        ("SPEED_PEER", "203.0.113.5:8703", "speed_peer: it is no address such as"),
        ("SPEED_PEER", "http://[bad", "speed_peer: "),
        ("SPEED_PEER", "http://203.0.113.5:99999", "speed_peer: "),
        ("SPEED_PEER", "file:///etc/passwd", "speed_peer: it is no address such as"),
    ],
)
def test_a_variable_that_cannot_be_read(
    name: str, text: str, says: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("LEASEHOLD_HOME", str(tmp_path))
    monkeypatch.setenv(f"LEASEHOLD_AGENT_{name}", text)
    with pytest.raises(SettingsError, match=says):
        load_settings()


def test_addresses_of_nodes_with_commas_between(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LEASEHOLD_HOME", str(tmp_path))
    monkeypatch.setenv("LEASEHOLD_AGENT_RPC", "http://one:8545, http://two:8545")
    assert load_settings().rpc == ("http://one:8545", "http://two:8545")
    monkeypatch.setenv("LEASEHOLD_AGENT_RPC", '["http://one:8545"]')
    assert load_settings().rpc == ("http://one:8545",)


@pytest.mark.parametrize("text", ["rpc = [", b"\xff\xfe".decode("latin-1"), "rpcs = []"])
def test_a_file_that_cannot_be_read(text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(text, encoding="latin-1")
    monkeypatch.setenv("LEASEHOLD_AGENT_CONFIG", str(file))
    with pytest.raises(SettingsError, match=r"agent\.toml"):
        load_settings()


def test_a_setting_that_there_is_none_of(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """What an older agent took, or a slip of the pen: nobody should think that it does anything."""
    file = tmp_path / "agent.toml"
    file.write_text("heartbeat_port = 9100\n")
    monkeypatch.setenv("LEASEHOLD_AGENT_CONFIG", str(file))
    with pytest.raises(
        SettingsError, match=rf"heartbeat_port: there is no such setting; take it out of {file}\."
    ):
        load_settings()


@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            OSError(errno.EADDRINUSE, "error while attempting to bind on address ('0.0.0.0', 8701)"),
            "api_port",
        ),
        (
            PermissionError(errno.EACCES, "Permission denied", "/var/lib/leasehold"),
            "/var/lib/leasehold: Perm",
        ),
    ],
)
def test_what_the_host_refuses(
    error: OSError, says: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(*, standalone_mode: bool) -> None:
        raise error

    monkeypatch.setattr(cli, "app", refuse)
    with pytest.raises(SystemExit) as ended:
        cli.main()
    assert ended.value.code == 1
    said = capsys.readouterr().err
    assert says in said
    assert "Traceback" not in said


@pytest.mark.slow
def test_a_missing_extra_is_named() -> None:
    """As after `pip install leasehold`: the entry point imports what only `leasehold[agent]` brings."""
    program = "import sys; sys.modules['docker'] = None; from leasehold_agent.__main__ import main; main()"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "The agent needs docker, which is not installed: run `pip install 'leasehold[agent]'`.\n"
    )


@pytest.mark.slow
def test_what_is_logged_beside_an_answer_is_not_in_it() -> None:
    """`leasehold-agent describe > machine.json` on a host of which there is something to say."""
    program = (
        "import sys, structlog; from leasehold_agent.cli import _app; "
        "_app.app = lambda **_: (structlog.get_logger('leasehold_agent').warning('odd'), print('{}')); _app.main()"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "{}\n")
    assert "odd" in done.stderr

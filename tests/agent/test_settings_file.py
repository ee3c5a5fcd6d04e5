"""Where the settings file is looked for, by unit and prompt alike, and what is said of all settings."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

import agent_settings
from leasehold.errors import SettingsError
from leasehold_agent import _config_file
from leasehold_agent._config import AgentSettings, load_settings
from leasehold_agent._config_file import config_file, settings_file
from leasehold_agent._config_text import in_force, meaning, sample, variable
from leasehold_agent.cli import _app as cli

ROOT = Path(__file__).parents[2]
NOBODY = 65_534


class Places:
    """A host's `/etc` and somebody's home, for files."""

    def __init__(self, folder: Path) -> None:
        self.host = folder / "etc/leasehold/agent.toml"
        self.home = folder / "home"
        self.own = self.home / ".config/leasehold/agent.toml"
        for file in (self.host, self.own):
            file.parent.mkdir(parents=True)


@pytest.fixture
def places(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Places:
    made = Places(tmp_path)
    for name in ("LEASEHOLD_AGENT_CONFIG", "LEASEHOLD_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(made.home))
    monkeypatch.setattr(_config_file, "OF_THE_HOST", made.host)
    return made


def test_the_nearest_file_is_read_and_no_other(
    places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert (settings_file(), config_file()) == (None, places.host)
    places.host.write_text('country = "IS"\nconfirmations = 3\n')
    assert (load_settings().country, load_settings().confirmations) == ("IS", 3)
    places.own.write_text('country = "NO"\n')
    assert (load_settings().country, load_settings().confirmations) == ("NO", 12)
    (tmp_path / "agent.toml").write_text('country = "SE"\n')
    monkeypatch.setenv("LEASEHOLD_HOME", str(tmp_path))
    assert load_settings().country == "SE"
    (tmp_path / "agent.toml").unlink()
    assert load_settings().country == "IS", "LEASEHOLD_HOME is in the place of ~/.config/leasehold"
    (tmp_path / "x.toml").write_text('country = "FI"\n')
    monkeypatch.setenv("LEASEHOLD_AGENT_CONFIG", str(tmp_path / "x.toml"))
    assert load_settings().country == "FI"
    assert config_file() == tmp_path / "x.toml"


def test_a_file_that_is_named_has_to_be_there(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """A slip of the pen does not let a command go on with the settings of another agent, or with none."""
    places.host.write_text('country = "IS"\n')
    monkeypatch.setenv("LEASEHOLD_AGENT_CONFIG", "/nowhere/agent.toml")
    with pytest.raises(SettingsError, match=r"names /nowhere/agent\.toml, which is not there"):
        load_settings()


def test_a_file_of_another_in_the_home_that_sudo_left_is_passed_over(places: Places) -> None:
    places.host.write_text('country = "IS"\n')
    places.own.write_text('docker = "tcp://192.0.2.1:2375"\n')
    os.chown(places.own, NOBODY, NOBODY)
    assert settings_file() == places.host
    places.host.unlink()
    said = CliRunner().invoke(cli.app, ["settings"]).output
    assert f"{places.own} is passed over: it is another account's." in said


@pytest.mark.parametrize("closed", ["file", "folder"])
def test_without_the_right_to_read_it_that_is_said(
    closed: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By an account that may not: root may read everything. What cannot be looked at is not taken for missing."""
    monkeypatch.setenv("HOME", "/nonexistent")
    with tempfile.TemporaryDirectory() as outside:  # the folders of tests are root's alone
        Path(outside).chmod(0o755)
        places = Places(Path(outside))
        monkeypatch.setattr(_config_file, "OF_THE_HOST", places.host)
        places.host.write_text('country = "IS"\n')
        (places.host if closed == "file" else places.host.parent).chmod(0o600)
        monkeypatch.setattr(sys, "argv", ["leasehold-agent", "settings"])
        os.seteuid(NOBODY)
        try:
            with pytest.raises(SystemExit) as ended:
                cli.main()
        finally:
            os.seteuid(0)
    assert ended.value.code == SettingsError.exit_code
    assert capsys.readouterr().err == (
        f"{places.host} may not be read by this account: give the command as its owner, with `sudo`.\n"
    )


def test_settings_in_force_say_where_they_came_from(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    places.host.write_text('country = "IS"\napi_port = 9001\n')
    monkeypatch.setenv("leasehold_agent_api_port", "9002")
    monkeypatch.setenv("LEASEHOLD_AGENT_RPC", "http://one:8545,http://two:8545")
    found = {each.name: (each.value, each.origin) for each in in_force(load_settings())}
    assert found["country"] == ('"IS"', str(places.host))
    assert found["api_port"] == ("9002", "leasehold_agent_api_port")
    assert found["rpc"] == ('["http://one:8545", "http://two:8545"]', "LEASEHOLD_AGENT_RPC")
    assert found["ssh_port"] == ("8702", "default")
    assert found.keys() == AgentSettings.model_fields.keys()
    shown = json.loads(CliRunner().invoke(cli.app, ["settings", "--json"]).stdout)
    assert shown["country"] == {"value": '"IS"', "from": str(places.host)}


def test_the_unit_names_no_file_and_no_folder_of_programs() -> None:
    """It reads what the prompt reads, and finds the command where a package or pip has put it."""
    unit = (ROOT / "agent/leasehold-agent.service").read_text()
    assert "LEASEHOLD_AGENT_CONFIG" not in unit
    assert "\nExecStart=leasehold-agent run\n" in unit


# ------------------------------------------------------------------------------------------------------ as it is told


@pytest.mark.parametrize("name", AgentSettings.model_fields)
def test_every_setting_says_what_it_is(name: str) -> None:
    said = meaning(AgentSettings.model_fields[name])
    assert said.endswith("."), f"write a docstring below {name} in _config.py"


def test_the_sample_changes_nothing_and_each_of_its_lines_can_be_taken(places: Places) -> None:
    assert tomllib.loads(sample()) == {}
    lines = [line[1:] for line in sample().splitlines() if line.startswith("#") and line[1:2].isalpha()]
    places.host.write_text("\n".join(line for line in lines if not line.endswith("=")))
    settings = load_settings()
    for name, field in AgentSettings.model_fields.items():
        default = field.get_default(call_default_factory=True, validated_data={})
        assert getattr(settings, name) == default or default in (None, "", ())


def test_sample_and_reference_are_those_of_the_code() -> None:
    assert agent_settings.SAMPLE.read_text() == sample(), "python scripts/agent_settings.py"
    assert agent_settings.PAGE.read_text() == agent_settings.page(), "python scripts/agent_settings.py"


def test_the_sample_at_the_prompt(places: Places) -> None:
    assert CliRunner().invoke(cli.app, ["settings", "--sample"]).stdout == sample()
    assert variable("rpc") == "LEASEHOLD_AGENT_RPC"

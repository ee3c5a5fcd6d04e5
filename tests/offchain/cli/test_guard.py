"""`leasehold guard`: its settings, its verbs, and the unit that it prints."""

from __future__ import annotations

import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
from pydantic import BaseModel

from leasehold.guarding import GuardSettings
from leasehold.guarding._settings import KeepSettings
from leasehold.home import as_toml, read_config, write_config
from leasehold.market import parse_duration

from .conftest import Cli

ROOT = Path(__file__).resolve().parents[3]
TABLE = """\
wallet = "renter"

[guard]
every = "5m"

[guard.keep.training]
by = "1h"
at_most = "2d"
budget = "50"
label = "project=x"

[guard.ntfy]
topic = "mine"
url = "http://127.0.0.1:1"
"""


def test_what_init_writes_anew_leaves_the_guards_settings(tmp_path: Path) -> None:
    """And what it writes is TOML, however deep."""
    (tmp_path / "config.toml").write_text(TABLE)
    write_config(tmp_path, {"wallet": "other", "rpc": ["http://one"]})
    known = read_config(tmp_path)
    assert (known["wallet"], known["guard"]) == ("other", tomllib.loads(TABLE)["guard"])
    deep = {"a": {"b c": {"d": 'x"\n', "e": True}, "f": 1}, "g": "h"}
    assert tomllib.loads(as_toml(deep)) == deep
    GuardSettings.of(known["guard"])  # type: ignore[arg-type]


def test_one_look_tells_what_it_would_do_and_status_what_it_did(cli: Cli) -> None:
    (cli.home / "config.toml").write_text(TABLE)
    assert cli("guard", "once", "--dry-run", "--json", wallet="renter").json == {
        "alerts": [], "deeds": [], "trouble": None, "dry_run": True,
    }  # fmt: skip
    assert not (cli.home / "guard").exists()
    assert cli("guard", "status", "--json", wallet="renter").json["looked"] is None
    assert cli("guard", "once", wallet="renter").out == "All is well.\n"
    known = cli("guard", "status", "--json", wallet="renter").json
    assert (known["at_work"], known["watched"], known["standing"]) == (False, 0, [])
    assert known["looked"]
    shown = cli("guard", "status", wallet="renter").out
    assert "at work      no" in shown


def test_a_test_says_which_channel_works(cli: Cli) -> None:
    (cli.home / "config.toml").write_text(TABLE)
    tried = cli("guard", "test", ok=False)
    assert tried.code == 1
    assert tried.out.startswith("ntfy: ntfy did not take the alert: it cannot be reached")
    assert "127.0.0.1" not in tried.out
    assert cli("guard", "test", "--json", ok=False).json[0]["works"] is False


def test_a_unit_says_all_that_was_said(cli: Cli, tmp_path: Path) -> None:
    password = tmp_path / "pass word%"
    nodes = ("--rpc", 'https://one/v2/swordfish"$x', "--rpc", "http://two/a,b")
    printed = cli(*nodes, "guard", "unit", "--password-file", str(password), "--wallet", "renter").out
    (line,) = [line for line in printed.splitlines() if line.startswith("ExecStart=")]
    assert f'--password-file "{str(password).replace("%", "%%")}"' in line
    assert f"--home {cli.home}" in line
    kept = cli.home / "guard" / "unit.env"
    assert f"EnvironmentFile={kept}" in printed.splitlines()
    assert "swordfish" not in printed  # a key stands in it, and everybody reads a command line
    assert (kept.stat().st_mode & 0o777, kept.parent.stat().st_mode & 0o077) == (0o600, 0)
    (name,) = shlex.split(kept.read_text())
    assert name == 'LEASEHOLD_RPC=https://one/v2/swordfish"$x,http://two/a%2Cb'
    assert line.count("guard run --wallet renter") == 1
    assert "UMask=0077" in printed
    assert "correct horse" not in printed
    assert json.loads(
        cli("guard", "unit", "--password-file", str(password), "--wallet", "renter", "--json").out
    )


def test_a_unit_lets_results_lie_where_their_run_wants_them(cli: Cli, tmp_path: Path) -> None:
    """By default that is the folder in which the run was begun, wherever it is: a guard that goes on with a run and may
    not write there fetches nothing.
    """
    printed = cli("guard", "unit", "--password-file", str(tmp_path / "word"), "--wallet", "renter").out
    assert not {"ProtectSystem=strict", "PrivateTmp=yes"} & set(printed.splitlines())
    assert not re.search(
        r"^(ProtectHome|ReadOnlyPaths|InaccessiblePaths|DynamicUser)=", printed, re.MULTILINE
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("guard = 7", "`guard` in config.toml is no table"),
        ("[guard]\nevry = 5", "The guard's setting `evry` is wrong (there is no such setting)"),
        (
            '[guard.webhook]\nurl = "http://example.org"\nsecret = {env = "X"}',
            "it should begin with https://",
        ),
        ('[guard.ntfy]\ntopic = "mine"\ntoken = {env = "NOBODY_SETS"}', "A channel's secret cannot be read"),
    ],
)
def test_what_is_wrong_is_one_sentence(cli: Cli, text: str, says: str) -> None:
    (cli.home / "config.toml").write_text(text)
    ran = cli("guard", "test", ok=False)
    said = (ran.err + ran.out).splitlines()
    assert len(said) == 1
    assert says in said[0]
    assert cli("leases", wallet="renter").code == 0  # and it is no other command's business


def test_a_recovered_run_needs_a_budget(cli: Cli) -> None:
    words = ("run", "--recover", "--image", "sha256:" + "0" * 64, "--allow-unverified", "--", "true")
    ran = cli(*words, wallet="renter", ok=False)
    assert (ran.code, ran.err.splitlines()) == (
        2,
        ["A run that is recovered may be paid for on several machines: name the most that it may spend in all with "
         "--budget."],
    )  # fmt: skip


GUIDE, REFERENCE = (ROOT / "docs" / folder / "guard.md" for folder in ("guides", "reference"))


def test_what_the_guide_shows_is_read() -> None:
    blocks = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.S)
    assert len(blocks) == 2
    for block in blocks:
        GuardSettings.of(tomllib.loads(block)["guard"])


@pytest.mark.parametrize("model", [GuardSettings, KeepSettings])
def test_the_reference_says_what_is_usual(model: type[BaseModel]) -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \| (.*) \|$", REFERENCE.read_text(), re.M)
    usual = {name: value.strip("`") for name, value in rows}
    tables = {"keep", "webhook", "mail", "ntfy"}
    for name, field in model.model_fields.items():
        if name in tables:
            continue
        said = usual[name]
        if field.is_required():
            assert said == "needed"
        elif name == "label":
            assert field.default is None
        elif said.startswith('"') and isinstance(field.default, int):
            assert parse_duration(said.strip('"')) == field.default, name
        else:
            assert json.loads(said) == field.default, name

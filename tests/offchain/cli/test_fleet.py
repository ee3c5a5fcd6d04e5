"""`leasehold provider fleet` at the prompt: what is shown, asked once, done, and what a host does not do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from devnet.ssh_hosts import Hosts
from leasehold.chain import LocalSigner

from .conftest import Cli, Host, Kubo, Pool, served

FLEET = """
price = "2.5"
at_once = 2
[hosts.one]
labels = ["rack"]
[hosts.two]
price = "3"
gpus = 1
[hosts.gone]
"""


@pytest.fixture
def hosts(
    cli: Cli, kubo: Kubo, host: Host, pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Hosts:
    """Two that are what `host` is, with keys of their own, and one that no ssh reaches."""
    cli.ipfs = kubo.api
    made = Hosts(tmp_path)
    for name, value in made.environment.items():
        monkeypatch.setenv(name, value)
    for number, name in enumerate(("one", "two"), 1):
        document = json.loads(host.path.read_text())
        served(document, pool, LocalSigner(f"0x{number:064x}"))
        (tmp_path / f"{name}.json").write_text(json.dumps(document))
        made.describes(name, tmp_path / f"{name}.json")
    made.answer("gone", "echo 'ssh: connect to host gone port 22: No route to host' >&2; exit 255")
    (tmp_path / "fleet.toml").write_text(FLEET)
    return made


def fleet(cli: Cli, hosts: Hosts, *words: str, ok: bool = True, typed: str = "") -> tuple[int, str, str]:
    file = str(Path(hosts.environment["SSH_STAND_IN"]).parent / "fleet.toml")
    done = cli("provider", "fleet", words[0], file, *words[1:], wallet="provider", ok=ok, typed=typed)
    return done.code, done.out, done.err


@pytest.mark.slow
def test_it_is_shown_asked_once_and_done(cli: Cli, hosts: Hosts) -> None:
    code, out, err = fleet(cli, hosts, "join", "--dry-run", ok=False)
    assert code == 8, "one host does not answer"
    rows = {
        line.split()[0]: line.split()[-5:] for line in out.splitlines() if line.startswith(("one", "two"))
    }
    assert rows == {"one": ["2", "2.5", "200", "TUSD", "1/8"], "two": ["1", "3", "100", "TUSD", "1/8"]}
    assert "one   NVIDIA H100 80GB HBM3 " in out
    assert "All together, 2 of 3 hosts" in out
    assert "300 TUSD, of which 300 TUSD from the wallet" in out
    assert "gone: ssh: connect to host gone port 22: No route to host" in err
    assert cli("machines", "--json").json == []

    code, out, err = fleet(cli, hosts, "join", "--approve", "--yes", "--json", ok=False)
    assert code == 8
    done = json.loads(out)
    assert [(each["host"], each["machine"]) for each in done["joined"]] == [("one", 1), ("two", 2)]
    assert [each["host"] for each in done["left"]] == ["gone"]

    code, out, err = fleet(cli, hosts, "join", "--only", "gone", "--yes", ok=False)
    assert (code, "has to join" in out, "nothing was sent: gone could not be asked" in out) == (
        8,
        False,
        True,
    )

    code, out, _ = fleet(cli, hosts, "join", "--only", "rack", "--only", "two")
    assert (code, "one: it is machine 1 already" in out, "No host has to join." in out) == (0, True, True)


def test_a_contact_that_is_only_younger_is_not_published(cli: Cli, hosts: Hosts, tmp_path: Path) -> None:
    """Each time that a host describes itself it says when."""
    fleet(cli, hosts, "join", "--approve", "--yes", "--only", "rack")
    document = json.loads((tmp_path / "one.json").read_text())
    document["contact"]["issued_at"] += 100
    (tmp_path / "one.json").write_text(json.dumps(document))
    code, out, _ = fleet(cli, hosts, "update", "--only", "rack")
    assert "Nothing has changed." in out
    document["contact"]["location"] = {"country": "IS"}
    (tmp_path / "one.json").write_text(json.dumps(document))
    code, out, _ = fleet(cli, hosts, "update", "--only", "rack", "--yes")
    assert (code, [line.split() for line in out.splitlines()][1]) == (0, ["one", "1", "contact"])


def test_nobody_said_yes(cli: Cli, hosts: Hosts) -> None:
    code, _, _ = fleet(cli, hosts, "drain", ok=False)
    assert code == 11
    assert hosts.asked("one") == []
    code, out, _ = fleet(cli, hosts, "report", "--dry-run")
    assert "Would ask 3 hosts: one, two, gone." in out
    assert hosts.asked("one") == []


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (("drain", "--yes"), "leasehold-agent drain"),
        (("drain", "--undo", "--yes"), "leasehold-agent drain --undo"),
        (("report", "--yes"), "leasehold-agent report --yes"),
        (("report", "--undo", "--yes"), "leasehold-agent report --undo"),
        (("check",), "leasehold-agent check"),
    ],
)
def test_an_errand_is_run_on_every_host_that_answers(
    words: tuple[str, ...], command: str, cli: Cli, hosts: Hosts
) -> None:
    hosts.answer("two", "printf 'Machine 2 \\033[31mtakes\\n'")
    code, out, _ = fleet(cli, hosts, *words, ok=False)
    assert code == 8
    for name in ("one", "two", "gone"):
        (asked,) = hosts.asked(name)
        assert asked.endswith(f"-- {name} {command}")
    assert [line.split()[:2] for line in out.splitlines()[1:]] == [
        ["one", "ok"],
        ["two", "ok"],
        ["gone", "failed"],
    ]
    assert "\x1b" not in out
    assert "Machine 2 \ufffd[31mtakes" in out


def test_what_agents_see(cli: Cli, hosts: Hosts) -> None:
    status = {
        "at": 0,
        "current": True,
        "machines": [{"machine": 7, "down_since": 5}],
        "leases": [{"lease": "3", "phase": "running"}, {"lease": "4", "phase": "ended"}],
        "gas": {"leases": 12},
    }
    hosts.answer("one", f"echo '{json.dumps(status)}'")
    code, out, _ = fleet(cli, hosts, "status", "--json", ok=False)
    assert code == 8
    said = {each["host"]: each["said"] for each in json.loads(out)["hosts"]}
    assert said["one"] == (
        "machine 7 is down; 1 of 2 leases run; gas for 12 leases; seen 1970-01-01 00:00:00 UTC"
    )
    assert said["two"].startswith("its status: Invalid JSON")


def test_each_hosts_word_is_kept(cli: Cli, hosts: Hosts, tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    code, _, _ = fleet(cli, hosts, "describe", "--output", str(tmp_path / "kept"), "--only", "rack")
    assert code == 0
    assert (tmp_path / "kept/one.json").read_bytes() == (tmp_path / "one.json").read_bytes()
    (asked,) = hosts.asked("one")
    assert (
        f"describe --owner {json.loads((tmp_path / 'one.json').read_text())['consent']['provider']}" in asked
    )

"""`leasehold run`, `init` and `doctor` over a real chain, without an agent behind it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from leasehold.errors import SettingsError
from leasehold.runs import Project, load_project

from .conftest import Cli
from .test_rent import IMAGE, balance

RUN = ("run", "--image", IMAGE, "--allow-unverified", "--yes", "--name", "train")
JOB = ("--", "true")

WRONG: dict[str, tuple[tuple[str, ...], str]] = {
    "nothing to run": (("run", "--yes"), "What should run? Name an image"),
    "two folders": (("run", ".", ".", *JOB), "write it so: ./train -- python train.py"),
    "no folder": (
        ("run", "./nowhere", *JOB),
        "./nowhere is no folder: name one, and write the command behind `--`",
    ),
    "a command without --": (("run", "python"), "write the command behind `--`"),
    "closing when": ((*RUN, "--close-when", "soon", *JOB), "say done, idle 10m or never"),
    "done for ten minutes": ((*RUN, "--close-when", "done 10m", *JOB), "say done, idle 10m or never"),
    "idle for how long": ((*RUN, "--close-when", "idle x", *JOB), "'x' is not a duration"),
    "idle, and nobody there": ((*RUN, "--close-when", "idle", "--detach", *JOB), "Somebody has to stay"),
    "no such run": (("run", "--attach", "nothing"), "No run nothing was begun here: begin one"),
    "a run without a name": (("run", "--attach", "../x"), "is no name for a run: use letters"),
    "a name that is none": (("run", "--image", IMAGE, "--name", "a/b", *JOB), "is no name for a run"),
    "a budget in words": ((*RUN, "--budget", "five", *JOB), "five"),
    "a budget of nothing": ((*RUN, "--budget", "0.000001", *JOB), "a minute there costs more"),
    "a price below all": ((*RUN, "--max-price", "0.1", *JOB), "0.1"),
    "no such card": ((*RUN, "--gpu", "b200", *JOB), "No machine matches: widen the search"),
    "no such machine": ((*RUN, "--machine", "7", *JOB), "There is no machine 7"),
    "no time at all": ((*RUN, "--start-within", "0s", *JOB), "set the times above zero"),
    "longer than it serves": (
        (*RUN, "--for", "400d", "--at-most", "500d", *JOB),
        "is leased for 10m to 7d, not 400d",
    ),
    "results in the way": (
        (*RUN, "--results", ".", *JOB),
        "is there already, and the run's results go into a new",
    ),
}


def test_what_is_wrong_is_one_sentence_and_nothing_is_sent(
    market: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    before = balance(market)
    for why, (typed, says) in WRONG.items():
        ran = market(*typed, wallet="renter", ok=False)
        lines = ran.err.strip().splitlines()
        assert len(lines) == 1, (why, ran.err, ran.out)
        assert says in lines[0], (why, lines)
        assert ran.out == "", why
    assert balance(market) == before
    assert not list((market.home / "runs").glob("*/*.json"))


def test_where_no_agent_answers_nothing_is_opened(
    market: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The machine is tried, noted as over, and the run has ended: the same line again begins anew."""
    monkeypatch.chdir(tmp_path)
    before = balance(market)
    for _ in range(2):
        ran = market(*RUN, *JOB, wallet="renter", ok=False)
        assert ran.code == 10
        assert "Run train found no machine that ran it: machine 1" in ran.err.splitlines()[-1]
    assert balance(market)["wallet"] == before["wallet"]
    (path,) = (market.home / "runs").glob("*/*.json")
    record = json.loads(path.read_text())
    assert (record["ended"], [tried["cost"] for tried in record["tries"]]) == ("none", [0])
    assert path.stat().st_mode & 0o777 == 0o600
    path.write_text("{")
    damaged = market(*RUN, *JOB, wallet="renter", ok=False)
    assert "cannot be read, and says which leases a run has open" in damaged.err


def test_a_dry_run_shows_the_first_machine_and_the_bounds(market: Cli, tmp_path: Path) -> None:
    market.env["HOME"] = str(tmp_path)
    more = ("--results", str(tmp_path / "new"), "--budget", "3", "--dry-run", "--json")
    told = market(*RUN, *more, *JOB, wallet="renter").json
    assert (told["run"], told["machine"], told["deposit"], told["dry_run"]) == ("train", 1, "2.5", True)
    assert not list((market.home / "runs").glob("*/*.json"))
    shorter = market(*RUN, *more, "--for", "2h", *JOB, wallet="renter").json
    assert (shorter["duration"], shorter["deposit"]) == (4_320, "3")


@pytest.mark.slow
def test_init_asks_nothing_without_a_terminal_and_doctor_tries_it(
    market: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project := tmp_path / "my project").mkdir()
    monkeypatch.chdir(project)
    made = market(
        "init", "--pool", str(market.deployment), "--node", market.rpc, "--kubo", market.ipfs, "--wallet", "ada",
        "--json",
    ).json  # fmt: skip
    assert (made["wallet"], made["made"], made["project"]) == ("ada", True, "leasehold.toml")
    assert load_project(project).name == "my-project"
    market.env = dict.fromkeys(("LEASEHOLD_DEPLOYMENT", "LEASEHOLD_RPC", "LEASEHOLD_IPFS"), "")
    tried = market("doctor", "--json", ok=False)
    works = {finding["what"]: finding["works"] for finding in tried.json}
    assert works == {
        "version": True, "ssh": True, "wallet": True, "pool": True, "chain": True, "clock": True, "gas": False,
        "money": False, "ipfs": True, "agents": False,
    }  # fmt: skip
    assert tried.code == 1
    said = {finding["what"]: finding["said"] for finding in tried.json}
    assert "None of the 1 machines' agents that were asked answers" in said["agents"]
    again = market("init", "--project", "other", "--json").json
    assert (again["made"], again["deployment"], load_project(project).name) == (
        False,
        made["deployment"],
        "my-project",
    )
    rich = market("doctor", wallet="renter", ok=False).out
    assert "ok    money: 1000000 TUSD in the wallet" in rich
    for typed, says in (
        (("init", "--node", "nonsense"), "is no address of a node: write it such as"),
        (("init", "--kubo", "nonsense"), "is no multiaddr: write it such as"),
        (("init", "--project", "a b"), "is no name for a run"),
        (("init", "--pool", "nowhere.json"), "nowhere.json"),
    ):
        assert says in market(*typed, ok=False).err


def test_doctor_where_nothing_is_set(cli: Cli) -> None:
    cli.env = {"LEASEHOLD_DEPLOYMENT": "", "LEASEHOLD_HOME": str(cli.home / "empty")}
    ran = cli("doctor", ok=False)
    assert ran.code == 1
    assert "WRONG wallet: There is no wallet yet: make one with `leasehold wallet new NAME`." in ran.out
    assert "WRONG pool: No pool is named: " in ran.out
    cli.env = {"LEASEHOLD_RPC": "http://127.0.0.1:1"}
    assert "WRONG chain: " in cli("doctor", wallet="renter", ok=False).out


def test_a_projects_file(tmp_path: Path) -> None:
    (tmp_path / "leasehold.toml").write_text(
        'name = "train"\ngpu = "h100"\nat-most = "2h"\nbudget = 5\nshare = "1/2"\ncommand = ["python", "a.py"]\n'
        'code = "src"\n[workload]\nimage = "python:3"\n'
    )
    assert load_project(tmp_path) == Project(
        name="train",
        gpu="h100",
        at_most=7_200,
        budget="5",
        share=4,
        command=("python", "a.py"),
        code=tmp_path / "src",
        workload={"image": "python:3"},
    )
    assert load_project(tmp_path / "elsewhere") == Project()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('nmae = "x"', "has no key `nmae`: did you mean `name`?"),
        ("xyzzy = 1", "has no key `xyzzy`: it may have name, workload"),
        ("name = 1", "`name` is wrong: it should be a text"),
        ('command = "python a.py"', "`command` is wrong: it should be a list of texts"),
        ('at-most = "soon"', "`at-most` is wrong: 'soon'"),
        ("spot = 1", "`spot` is wrong: it should be true or false"),
        ("budget = true", "`budget` is wrong: it should be an amount"),
        ('share = "1/3"', "`share` is wrong"),
        ("name = ", "cannot be read"),
    ],
)
def test_a_projects_file_that_is_wrong(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "leasehold.toml").write_text(text)
    with pytest.raises(SettingsError) as wrong:
        load_project(tmp_path)
    assert says in str(wrong.value)

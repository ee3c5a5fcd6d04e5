"""What is typed wrong is answered with one sentence that says what to do: in a pipe, without a terminal or colours."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from leasehold.cli import app

from .conftest import Cli, PoolState, person, running

IMAGE = "sha256:" + "ab" * 32
NOBODY = "0x" + "12" * 20
RENT = ("rent", "--for", "1h", "--image", IMAGE)

# The words, and a part of what is said.
WRONG: tuple[tuple[str, str], ...] = (
    ("clsoe 1", "close"),
    ("close", "name leases, a label"),
    ("close --al", "--all"),
    ("close abc", "no running lease of yours is called that"),
    ("close 77", "leasehold leases"),
    ("close 1 --all", "one of these"),
    ("close --all", "no running lease"),
    ("close --label x", "WORD=VALUE"),
    ("close --label project=x", "has the label project=x"),
    ("close gang:x", "12 or 12.1"),
    ("close 12.99999", "12.99999"),
    ("extend", "see `leasehold extend --help`."),
    ("extend 1 soon", "soon"),
    ("extend 1 -5m", "--help"),
    ("extend 77 1h", "leasehold leases"),
    ("reject abc", "no running lease"),
    ("rate 77 9", "less than or equal to 5"),
    ("rate 77 five", "a valid integer"),
    ("rate --all 5", "no ended lease"),
    ("resize 77 1/3", "1/8"),
    ("resize 77", "see `leasehold resize --help`."),
    ("show", "see `leasehold show --help`."),
    ("show abc", "is not a lease"),
    ("show 77", "leasehold leases"),
    ("logs nothing", "no lease of yours is called that"),
    ("logs 77 --tail -3", "greater than or equal to 0"),
    ("logs 77", "leasehold leases"),
    ("exec 77 ls", "leasehold leases"),
    ("exec 77", "see `leasehold exec --help`."),
    ("exec 77 -e A ls", "A"),
    ("metrics abc", "is not a lease"),
    ("ssh abc", "is not a lease"),
    ("ssh 77", "leasehold leases"),
    ("results 77 DIR --wait never", "never"),
    ("results abc DIR", "is not a lease"),
    ("top --onc", "--once"),
    ("cost --by week", "choose day, lease or label"),
    ("cost --csv --json", "choose one of"),
    ("cost --since yesterday", "yesterday"),
    ("cost --svg /dev/null/cost.svg", "name another with --svg"),
    ("name 77 x", "leasehold leases"),
    ("name machine:9 x", "machine"),
    ("name 0x12 x", "40 hex digits"),
    ("label 77 a", "WORD=VALUE"),
    ("leases --as-group none", "group"),
    ("machines gpuu:H100", "did you mean 'gpu'?"),
    ("machines price<<2", "Column"),
    ("machines mem>=lots", "lots"),
    ("machines --sort nothing", "use one of"),
    ("machines cuda>=x", "x"),
    ("machines isolation:bogus", "choose one of whole, mig, mps, cooperative, time-slice"),
    ("machines kind:tpu", "choose one of gpu, cpu"),
    ("machine 0", "is no machine"),
    ("machine abc", "is no machine"),
    ("machine 99", "leasehold machines"),
    ("machine 99 --share 3/4", "3/4"),
    ("rent --for 1h", "--image"),
    ("rent --for 1x --image " + IMAGE, "1x"),
    ("rent --for 1h --gang 0 --image " + IMAGE, "equal to 1"),
    ("rent --for 1h --search gpuu:x --image " + IMAGE, "gpuu"),
    ("rent --for 1h --image " + IMAGE, "machine"),
    ("rent --for 1h --machine 99 --image " + IMAGE, "leasehold machines"),
    ("rent --for 1h --share 9 --image " + IMAGE, "9"),
    ("rent --for 1h --max-price cheap --image " + IMAGE, "cheap"),
    ("rent --for 1h --image nonsense:", "image"),
    ("rent --for 1h --env 1 --image " + IMAGE, "1"),
    ("move 77 99", "--image"),
    ("move 77 99 --code . --image " + IMAGE, "copy it in"),
    ("failover abc", "is not a lease"),
    ("transfer 77 " + NOBODY, "--acceptance"),
    ("transfer 77 x --acceptance /nowhere", "/nowhere"),
    ("challenge 99", "leasehold"),
    ("faults --machine x", "see `leasehold faults --help`."),
    ("fault 99", "check its number"),
    ("wallet approve -1", "-"),
    ("wallet approve much", "much"),
    ("wallet deposit 1 --to ada", "ada"),
    ("wallet withdraw 1000000", "ledger"),
    ("wallet new renter", "renter"),
    ("gateway run --listen nowhere", "127.0.0.1:8088"),
    ("gateway run --listen 127.0.0.1:99999", "127.0.0.1:8088"),
    ("gateway run --origin https://me@app.example/path", "https://app.example"),
    ("gateway run --gasless-wallet renter", "--coin-price"),
    ("gateway run --gasless-wallet renter --coin-price 0", "price"),
    ("gateway run --gasless-wallet renter --coin-price 5 --fees-to ada", "ada"),
    ("gateway run --gasless-wallet nobody --coin-price 5", "nobody"),
    ("gateway run --coin-price 5", "--gasless-wallet"),
    ("gateway run --mail-from gate@example.org", "--mail-server"),
    ("gateway run --mail-server mail.example.org", "--mail-from"),
    ("gateway run --mail-server mail.example.org --mail-from gate@example.org --mail-tls none", "TLS"),
    ("gateway run --mail-server mail.example.org:x --mail-from gate@example.org", "port"),
    ("gateway run --alerts-to nowhere", "127.0.0.1:8088"),
    ("--gasless http://127.0.0.1:1 wallet withdraw 1 --yes", "--most-fee"),
    ("guard unit", "--password-file"),
    ("offer cancel 99", "No offer with the nonce 99 was signed here"),
    ("group create la/b --threshold 1 --signer " + NOBODY, "la/b"),
    ("checkpoints 77 --get x --at-most much", "much"),
    ("checkpoints 77 --now --get x", "take one first"),
    ("guard test", "No channel for alerts is set"),
    ("guard run --for-account x", "40 hex digits"),
    ("guard once --every 5", "--every"),
    ("wallet balance --wallet none", "leasehold wallet"),
    ("delegate set x --cap 1", "40 hex digits"),
    ("provider join /nowhere.json --price 1", "/nowhere.json"),
    ("provider terms 99 --price 1", "leasehold"),
    ("provider claim x", "12 or 12.1"),
    ("pool propose feeBps", "NAME=VALUE"),
    ("init --project a/b", "is no name for a run"),
    ("init --pool /nowhere.json", "LEASEHOLD_DEPLOYMENT"),
    ("doctor now", "see `leasehold doctor --help`."),
    ("run", "--image"),
    ("run a b -- ls", "./train -- python train.py"),
    ("run --attach nothing", "begin one"),
    ("run --close-when soon --image python -- ls", "done, idle 10m or never"),
    ("run --budget lots --image " + IMAGE, "such as 2.5"),
    ("set-workload 77", "--image"),
    ("set-workload abc --image " + IMAGE, "a name that it has"),
    ("set-workload 77 --image nonsense:", "image"),
    ("stop", "see `leasehold stop --help`."),
    ("stop 77", "leasehold leases"),
    ("start --label x", "see `leasehold start --help`."),
    ("restart 77 now", "see `leasehold restart --help`."),
    ("accept-transfer 77", "leasehold leases"),
    ("accept-transfer abc", "such as 12 or 12.1"),
    ("auto-extend 77 --by 1h", "--at-most"),
    ("auto-extend 77 --by 1h --at-most soon", "such as 90m, 2h or 1d"),
    ("request-quote 99", "--for"),
    ("ssh-config --key abc", "such as 12 or 12.1"),
    ("edit abc", "a name that it has"),
    ("port abc 8888", "a name that it has"),
    ("port 77 http", "write 8888, or 8888:9999"),
    ("port 77 99999", "write 8888, or 8888:9999"),
    ("cp a b", "LEASE:/PATH"),
    ("cp 77:work ./x", "77:/work"),
    ("cp abc:/work ./x", "a name that it has"),
    ("sync 77:/a 78:/b", "LEASE:/PATH"),
    ("statement abc", "a name that it has"),
    ("prove 77", "nothing to answer"),
    ("compensate x", "see `leasehold compensate --help`."),
    ("pools all", "see `leasehold pools --help`."),
    ("logs 77 --since yesterday", "such as 90m, 2h or 1d"),
    ("results 77 DIR --only", "write its value behind it"),
    ("rent --for 1h --label x --image " + IMAGE, "such as project=vision"),
    ("validator top-up 9 1", "leasehold validator list"),
    ("validator leave", "see `leasehold validator leave --help`."),
    ("validator exit 9", "leasehold validator list"),
    ("validator request 99", "leasehold machines"),
    ("validator rounds x", "see `leasehold validator rounds --help`."),
    ("validator draw 99", "check its number"),
    ("validator commit 99 --failed", "--fail"),
    ("validator reveal 99", "check its number"),
    ("validator collect 99", "check its number"),
    ("validator statements x", "leave it out"),
    ("validator attest sign 99", "--from"),
    ("validator attest send /nowhere.json", "leave it out"),
    ("templates show nothing", "or name a file"),
    ("registry login", "see `leasehold registry login --help`."),
    ("registry logout nowhere.example", "leasehold registry list"),
    ("volume rm 77 data", "leasehold leases"),
    ("volume export abc data", "such as 12 or 12.1"),
    ("volume import /nowhere data", "name the one that the volume is to hold"),
    ("dataset add /nowhere", "name another"),
    ("dataset add ftp://", "write it in full"),
    ("dataset rm notacid", "bafy…"),
    ("dataset get notacid DIR", "bafy…"),
    ("dataset ls notacid", "bafy…"),
    ("group create lab", "--signer"),
    ("group create lab --threshold 3 --signer " + NOBODY, "name 1 to 16 signers"),
    ("group create lab --threshold 1 --signer ada", "40 hex digits"),
    ("group show nothing", "leasehold group create"),
    ("group approve /nowhere.json", "name another file"),
    ("group execute", "see `leasehold group execute --help`."),
    ("group execute /nowhere.json", "name another file"),
    ("group order /nowhere.json", "name another file"),
    ("group renew /nowhere.json", "name another file"),
    ("group rotate lab lab2", "leasehold group create"),
    ("group session nothing", "leasehold group create"),
    ("group rescue nothing all --to " + NOBODY, "leasehold group create"),
    ("access share 77 ada", "--to"),
    ("access accept /nowhere.json", "name another file"),
    ("access revoke 77 x", "leasehold leases"),
    ("audit abc", "a name that it has"),
    ("checkpoints 77", "leasehold leases"),
    ("checkpoints abc", "such as 12 or 12.1"),
    ("commit 77", "leasehold leases"),
    ("commit abc", "such as 12 or 12.1"),
    ("services list now", "see `leasehold services list --help`."),
    ("offer sign", "--machine"),
    ("offer sign --machine 99 --for 1h --price cheap", "such as 2.5"),
    ("offer list now", "see `leasehold offer list --help`."),
    ("offer cancel", "see `leasehold offer cancel --help`."),
    ("offer cancel x", "name another file"),
    ("provider fleet join /nowhere.toml", "correct the file"),
    ("provider fleet drain", "see `leasehold provider fleet drain --help`."),
    ("provider retire 99", "leasehold machines"),
    ("provider delist x", "leasehold machines"),
    ("provider stake 99 lots", "such as 2.5"),
    ("provider terminate x", "such as 12 or 12.1"),
    ("provider answer 99", "nothing to answer"),
    ("provider appeal 99", "check its number"),
    ("delegate revoke " + NOBODY, "leasehold delegate list"),
    ("wallet unlock soon", "such as 90m, 2h or 1d"),
    ("wallet add-hardware vault --path 44/60", "m/44'/60'/0'/0/0"),
    ("wallet add-hardware vault --at tcp://example.org:9999", "--at usb"),
    ("wallet add-hardware vault --at tcp://127.0.0.1:1", "open its Ethereum app"),
    ("wallet add-hardware renter", "renter"),
    ("wallet add-hardware a/b", "cannot name a wallet"),
    ("wallet lock now", "leasehold wallet list"),
    ("provider tenants endd>=1", "did you mean 'ended'"),
    ("group safe lab 0x1", "40 hex digits"),
    ("access share 1 --to 0x1 --read --logs", "pass --read or --logs"),
    ("leases --as-safe 0x1", "40 hex digits"),
    ("services announce oracle --at https://a.example --yes", "use one of access"),
    ("services connect", "see `leasehold services connect --help`."),
    ("pool rule 99", "--stands"),
    ("pool execute 99", "check its number"),
    ("pool licence x", "40 hex digits"),
    ("pool cancel", "nothing to cancel"),
    ("--deployment /nowhere leases", "/nowhere"),
    ("--nosuch leases", "--help"),
)


@pytest.fixture(scope="module")
def someone(pool_state: PoolState, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cli]:
    """A renter in a pool without machines, whose answers nobody types."""
    with running(pool_state, pool_state.state) as pool:
        cli = person(tmp_path_factory.mktemp("someone") / "home", pool)
        cli.env = {"COLUMNS": "80", "NO_COLOR": "1", "TERM": "dumb", "LEASEHOLD_WALLET": "renter"}
        yield cli


def test_there_are_enough_of_them() -> None:
    assert len(WRONG) >= 60
    assert len({words for words, _ in WRONG}) == len(WRONG)
    assert verbs() <= {words.split()[0] for words, _ in WRONG}


def verbs() -> set[str]:
    """All that stands behind `leasehold`, groups of verbs too."""
    command: Any = get_command(app)
    return set(command.list_commands(command.make_context("leasehold", [], resilient_parsing=True)))


@pytest.mark.parametrize(("words", "says"), WRONG, ids=[words for words, _ in WRONG])
def test_a_wrong_input_gets_one_sentence(someone: Cli, words: str, says: str, tmp_path: Path) -> None:
    typed = [str(tmp_path / word) if word == "DIR" else word for word in words.split()]
    result = CliRunner(env=someone.environment()).invoke(app, [*typed], input="")
    assert result.exit_code not in (0, 1), result.output
    assert isinstance(result.exception, SystemExit)
    assert result.stdout == ""
    (line,) = result.stderr.splitlines()
    assert says in line, line
    assert line[-1] in ".?"
    assert "\x1b" not in line
    assert "Traceback" not in line


@pytest.mark.parametrize("term", ["-image:python", "-h100", "-gpu:H100", "-host"])
def test_a_search_that_begins_with_a_minus_is_a_search(someone: Cli, term: str) -> None:
    """An `h` in it asks for no help."""
    result = CliRunner(env=someone.environment()).invoke(app, ["machines", term])
    assert (result.exit_code, result.stdout) == (0, "The pool has no machine yet: look again later.\n")


@pytest.mark.slow
@pytest.mark.parametrize("words", ["close abc", "machines gpuu:x", "clsoe 1", "machine abc"])
def test_nobody_reads_it_any_more(someone: Cli, words: str) -> None:
    """A closed pipe: no traceback, and a code that says that it failed."""
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-c", "from leasehold.cli import main; main()", *words.split()]
    environment = {**os.environ, **someone.environment()}
    with subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=write, stderr=subprocess.PIPE
    ) as process:
        os.close(write)
        assert process.stderr is not None
        said = process.stderr.read().decode()
        assert process.wait() != 0
    assert "Traceback" not in said
    assert said.count("\n") == 1

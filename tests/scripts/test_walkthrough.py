"""A document is walked at real terminals: what drifts fails, and says where."""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.nursery import Nursery
from devnet.patience import patient
from devnet.terminal import Hung, Terminal
from devnet.transcript import Cue
from devnet.walkthrough import Drifted, Walkthrough

ENVIRONMENT = {"PATH": os.environ["PATH"]}


@pytest.fixture
def in_the_background() -> Iterator[None]:
    """As whoever runs the tests with `nohup … &`: what a terminal sends is ignored, and children inherit that."""
    were = {kind: signal.signal(kind, signal.SIG_IGN) for kind in (signal.SIGINT, signal.SIGHUP)}
    yield
    for kind, handler in were.items():
        signal.signal(kind, handler)


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    with Terminal(ENVIRONMENT, tmp_path, tmp_path / "typed") as made:
        yield made


def walked(tmp_path: Path, text: str, **moments: object) -> int:
    page = tmp_path / "page.txt"
    page.write_text(text)
    with Walkthrough({"": Terminal(ENVIRONMENT, tmp_path, tmp_path / "typed")}, moments) as reader:  # type: ignore[arg-type]
        return reader.walk(page)


def test_a_shell_keeps_what_was_set_and_tells_how_it_ended(terminal: Terminal) -> None:
    assert terminal.run("x=1; cd /") == (0, "")
    assert terminal.run("echo $x; pwd; (exit 7)") == (7, "1\n/\n")
    assert terminal.run("cat <<END\nfirst\nsecond\nEND") == (0, "first\nsecond\n")


def test_it_is_a_terminal_with_somebody_at_it(terminal: Terminal) -> None:
    code, said = terminal.run("test -t 0 && read -p 'Sure? ' x; echo =$x", [Cue("Sure", "yes\n")])
    assert (code, said) == (0, "Sure? yes\n=yes\n")
    hidden = "stty -echo; printf 'Password: '; read x; stty echo; echo; echo $x"
    assert terminal.run(hidden, [Cue("Password: ", "secret\n", hidden=True)]) == (0, "Password: \nsecret\n")


@pytest.mark.usefixtures("in_the_background")
def test_ctrl_c_ends_what_runs_and_not_the_shell(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "said").write_text("runs\n")  # by one process, as dash loses a Ctrl-C while it starts another
    code, said = terminal.run("tail -f said", [Cue("runs\n", "\x03")])
    assert (code, said) == (128 + signal.SIGINT, "runs\n^C\n")
    assert terminal.run("echo on") == (0, "on\n")


def test_what_does_not_come_is_told(terminal: Terminal) -> None:
    with pytest.raises(Hung, match="'Sure' was not seen"):
        terminal.run("true", [Cue("Sure", "y\n")])
    with pytest.raises(Hung, match="the shell has ended"):
        terminal.run("exit")


@pytest.mark.usefixtures("in_the_background")
def test_a_terminal_ends_with_what_runs_at_it(tmp_path: Path) -> None:
    with Terminal(ENVIRONMENT, tmp_path, tmp_path / "typed") as terminal:
        _, said = terminal.run("sleep 1d & echo pid $!")
        handle = os.pidfd_open(int(said.rpartition("pid ")[2]))
    assert select.select([handle], [], [], patient(10))[0] == [handle]
    os.close(handle)


def test_a_document_that_says_what_happens_is_walked(tmp_path: Path) -> None:
    done: list[str] = []
    text = (
        "```sh\nread -p '[y/N]: ' x && test $x = y\n```\n"
        "```console\n$ x=hello\n$ echo $x world\nhello …\n```\n```console fails\n$ false\n```\n"
        "```sh after lunch\necho $x\n```\n```console parse: it wants another machine\n$ no-such-thing\n```\n"
    )
    assert walked(tmp_path, text, lunch=lambda: done.append("lunch")) == 5
    assert done == ["lunch"]


def test_what_stays_goes_on_while_the_rest_is_typed(tmp_path: Path) -> None:
    page, there = tmp_path / "page.txt", tmp_path / "there"
    page.write_text(
        "```console stays\n"
        "other$ bash -c 'trap \"rm there; exit\" INT; touch there; echo it is $PPID; read nothing'\nit is …\n```\n"
        "```console\n$ ls there\nthere\n```\n"
    )
    terminals = {name: Terminal(ENVIRONMENT, tmp_path, tmp_path / f"typed-{name}") for name in ("", "other")}
    with Walkthrough(terminals) as reader:
        assert reader.walk(page) == 2
        assert reader.heard["other"].startswith("it is ")
        assert there.exists()
    assert not there.exists()  # what went on has had its Ctrl-C


@pytest.mark.parametrize("command", ["echo another", "exit"])
def test_what_does_not_stay_fails(tmp_path: Path, command: str) -> None:
    with pytest.raises(Drifted):
        walked(tmp_path, f"```console stays\n$ {command}\nit is …\n```\n")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("```console\n$ echo a\nb\n```\n", "page.txt:2: echo a\nsaid:\na\n\nand not: b"),
        ("```console\n$ false\n```\n", "exited with 1"),
        ("```console fails\n$ true\n```\n", "exited with 0"),
        ("```sh\nno-such-command\n```\n", "exited with 127"),
    ],
)
def test_a_document_that_has_drifted_fails(tmp_path: Path, text: str, says: str) -> None:
    with pytest.raises(Drifted) as drifted:
        walked(tmp_path, text)
    assert says in str(drifted.value)


@pytest.mark.slow
def test_a_nursery_s_scripts_are_the_commands(tmp_path: Path) -> None:
    """With this folder, these streams and this terminal; Ctrl-C reaches them."""
    scripts = tmp_path / "bin"
    scripts.mkdir()
    environment = {
        "PATH": f"{scripts}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "LEASEHOLD_HOME": str(tmp_path),
    }
    with Nursery() as nursery:
        nursery.put_scripts(scripts)
        with Terminal(environment, tmp_path, tmp_path / "typed") as terminal:
            asked = [
                Cue("Password of wallet me: ", "secret words\n", hidden=True),
                Cue("confirmation: ", "\x03"),
            ]
            assert terminal.run("leasehold wallet new me", asked)[0] == 130
            assert terminal.run("leasehold no-such-verb")[0] == 2
            code, said = terminal.run(
                "leasehold wallet list | cat; leasehold-agent --help > help && wc -l help"
            )
            assert (code, "There is no wallet yet" in said, " help" in said) == (0, True, True)
    assert (tmp_path / "help").exists()

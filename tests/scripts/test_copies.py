"""Tests run by copies of one process: each once, whole files by one of them, and what ends early is told."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from devnet.patience import patient

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def ran(folder: Path, *options: str, **files: str) -> tuple[int, str]:
    """What pytest says of such files, each by its name, run by two copies."""
    for name, text in files.items():
        (folder / f"{name}.py").write_text(text)
    with begun(folder, *options) as process:
        said, _ = process.communicate(timeout=patient(60))
    return process.returncode, said


def begun(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "pytest", "-p", "devnet.copies", "--copies", "2", "-rA"]
    return subprocess.Popen(
        [*command, "-p", "no:cacheprovider", f"--basetemp={folder / 'made'}", *options, "."],
        cwd=folder,
        env={
            **os.environ,
            "PYTHONPATH": str(SCRIPTS),
            "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # others' plugins take a second to import
            "HERE": str(folder),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


NOTED = """
import os, pathlib, pytest
def noted(word):
    with open(os.environ["HERE"] + "/notes", "a") as notes:
        notes.write(f"{word} {os.getpid()}\\n")
"""
SESSION = (
    NOTED
    + """
@pytest.fixture(scope="session", autouse=True)
def session():
    noted("begins")
    yield
    noted("ends")
"""
)
NOTES = (
    NOTED
    + """
@pytest.mark.parametrize("number", range(3))
def test_one(number, tmp_path):
    noted(__name__)
    assert tmp_path.is_dir()
"""
)


def notes(folder: Path) -> list[tuple[str, str]]:
    return [(word, process) for word, process in map(str.split, (folder / "notes").read_text().splitlines())]


def test_each_runs_once_and_a_file_s_in_one_process(tmp_path: Path) -> None:
    code, said = ran(tmp_path, conftest=SESSION, **{f"test_{name}": NOTES for name in "abcde"})
    assert (code, "15 passed" in said) == (0, True), said
    of_a_file = {
        word: {process for name, process in notes(tmp_path) if name == word} for word in ("test_a", "test_e")
    }
    assert {len(processes) for processes in of_a_file.values()} == {1}
    words = [word for word, _ in notes(tmp_path)]
    assert {words.count(f"test_{name}") for name in "abcde"} == {3}
    assert (
        words.count("begins") == words.count("ends") == len({process for _, process in notes(tmp_path)}) <= 2
    )


def test_what_belongs_together_runs_in_one_process(tmp_path: Path) -> None:
    together = NOTES + "pytestmark = pytest.mark.together('these')\n"
    code, said = ran(tmp_path, test_a=together, test_b=NOTES, test_c=together)
    assert code == 0, said
    assert len({process for name, process in notes(tmp_path) if name in ("test_a", "test_c")}) == 1


def test_a_failure_is_told_with_what_was_printed(tmp_path: Path) -> None:
    failing = "def test_bad():\n    print('a word of its own')\n    assert 1 == 2\ndef test_good(): pass\n"
    code, said = ran(
        tmp_path, test_a=failing, test_b="import pytest\ndef test_no(): pytest.skip('why not')\n"
    )
    assert code == 1
    for words in ("1 failed, 1 passed, 1 skipped", "assert 1 == 2", "a word of its own", "why not"):
        assert words in said


def test_what_a_test_warns_of_is_told(tmp_path: Path) -> None:
    warning = "import warnings\nclass Own(UserWarning): pass\ndef test_it(): warnings.warn(Own('beware'))\n"
    code, said = ran(tmp_path, test_a=warning)
    assert code == 0
    assert "Own: beware" in said


def test_what_a_dead_process_did_not_run_has_failed(tmp_path: Path) -> None:
    dying = (
        "import os, signal\ndef test_dies(): os.kill(os.getpid(), signal.SIGKILL)\ndef test_after(): pass\n"
    )
    code, said = ran(tmp_path, test_a=dying, test_b="def test_well(): pass\n")
    assert (code, "2 failed, 1 passed" in said) == (1, True), said
    assert "the process that was to run it has ended" in said


def test_an_error_of_pytest_s_own_is_no_success(tmp_path: Path) -> None:
    broken = "def pytest_runtest_protocol(item):\n    if 'bad' in item.name: raise RuntimeError('its own')\n"
    code, said = ran(
        tmp_path, conftest=broken, test_a="def test_bad(): pass\n", test_b="def test_good(): pass\n"
    )
    assert (code, "its own" in said, "FAILED test_a.py::test_bad" in said) == (1, True, True), said


def test_the_first_failure_may_end_it(tmp_path: Path) -> None:
    """The other one is in the middle of something, which it undoes."""
    waiting = NOTED + (
        "import signal\n@pytest.fixture\ndef held():\n    yield\n    noted('undone')\n"
        "def test_waits(held):\n    noted('waits')\n    signal.pause()\n"
    )
    failing = (
        "import os, pathlib\ndef test_bad():\n    notes = pathlib.Path(os.environ['HERE'], 'notes')\n"
        "    while not notes.exists(): pass\n    assert False\n"
    )
    code, said = ran(tmp_path, "-x", test_a=waiting, test_b=failing)
    assert (code, "stopping after 1 failures" in said) == (1, True), said
    assert [word for word, _ in notes(tmp_path)] == ["waits", "undone"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_stays_behind(tmp_path: Path, number: int) -> None:
    """Whoever was to hear of it is gone: a copy ends with its next word."""
    going = (
        NOTED + "import time\n@pytest.mark.parametrize('n', range(2_000))\ndef test_one(n): noted('one')\n"
    )
    for name in ("test_a", "test_b"):
        (tmp_path / f"{name}.py").write_text(going)
    with begun(tmp_path, "-q") as process:
        while not (tmp_path / "notes").exists() or len({pid for _, pid in notes(tmp_path)}) < 2:
            assert process.poll() is None
        handles = [os.pidfd_open(int(pid)) for pid in {pid for _, pid in notes(tmp_path)}]
        process.send_signal(number)
        process.communicate(timeout=patient(60))
    for handle in handles:
        assert select.select([handle], [], [], patient(60))[0]
        os.close(handle)

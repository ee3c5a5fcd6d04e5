"""A long run says at its end how long each of its parts took."""

import subprocess
from pathlib import Path

import pytest

PARTS = Path(__file__).parents[2] / "scripts/parts.sh"


def run(*lines: str) -> subprocess.CompletedProcess[str]:
    """A script of these lines that uses the parts."""
    script = "\n".join(["set -euo pipefail", f". '{PARTS}'", *lines])
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)


def test_each_part_and_the_whole_are_told():
    done = run('part "the first"', "SECONDS=7", 'part "the second"', "SECONDS=12")
    assert done.returncode == 0
    assert [line.split(maxsplit=2) for line in done.stdout.splitlines()[-5:-2]] == [
        ["7", "s", "the first"],
        ["5", "s", "the second"],
        ["12", "s", "altogether"],
    ]
    assert done.stdout.endswith("\nAll of it passed.\n")


@pytest.mark.parametrize(("command", "code"), [("false", 1), ("exit 3", 3), ("kill -INT $$", 130)])
def test_what_failed_is_said_last(command, code):
    done = run('part "the first"', "SECONDS=7", 'part "the second"', command, 'part "the third"')
    assert done.returncode == code
    last = done.stdout.splitlines()[-1]
    assert last == f"Failed with exit code {code}: the second. What would have followed was not run."
    assert "7 s  the first" in done.stdout
    assert "the third" not in done.stdout


def test_who_names_no_part_hears_nothing():
    assert run("true").stdout == ""

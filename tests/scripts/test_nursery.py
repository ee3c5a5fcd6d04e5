"""What is forked is a command like any other, but for its imports."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.nursery import Nursery
from devnet.patience import patient
from devnet.world import BIN

ASKS = ["wallet", "new", "a", "--password-file", "/dev/stdin"]


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    with Nursery() as made:
        yield made


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if name == "PATH" or name.startswith("COVERAGE")
    }
    return {**kept, "HOME": str(tmp_path), "LEASEHOLD_HOME": str(tmp_path / "home")}


@pytest.mark.parametrize(
    ("command", "arguments"),
    [
        ("leasehold", ["wallet", "list", "--json"]),
        pytest.param("leasehold", ["no-such-verb"], marks=pytest.mark.slow),
        pytest.param("leasehold-agent", ["describe"], marks=pytest.mark.slow),
    ],
)
def test_it_ends_and_says_as_the_installed_script(nursery, env, command, arguments):
    plain = subprocess.run(
        [str(BIN / command), *arguments],
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    forked = nursery.run(command, arguments, env, timeout=patient(60))
    assert (forked.returncode, forked.stdout, forked.stderr) == (plain.returncode, plain.stdout, plain.stderr)


@pytest.mark.slow
def test_each_is_a_process_of_its_own(nursery, env, tmp_path):
    """One waits for its password while another comes and goes; then it has its input, and its own home."""
    ours, theirs = os.pipe()
    with open(os.devnull, "w") as nothing, open(theirs, "wb") as typed:
        said = nothing.fileno()
        with open(ours) as given:
            waits = nursery.begin("leasehold", ASKS, env, stdin=given.fileno(), stdout=said, stderr=said)
        other = {**env, "LEASEHOLD_HOME": str(tmp_path / "another")}
        done = nursery.run("leasehold", ["wallet", "list", "--json"], other, timeout=patient(60))
        assert (done.returncode, waits.poll()) == (0, None)
        typed.write(b"correct horse\n")
    assert waits.wait(patient(60)) == 0
    assert (tmp_path / "home/keys/a.json").exists()
    assert not (tmp_path / "another/keys/a.json").exists()


@pytest.mark.slow
def test_a_signal_ends_it_and_is_told(nursery, env):
    ours, theirs = os.pipe()
    with open(os.devnull, "w") as nothing, open(ours) as given, open(theirs, "wb"):
        said = nothing.fileno()
        waits = nursery.begin("leasehold", ASKS, env, stdin=given.fileno(), stdout=said, stderr=said)
        with pytest.raises(subprocess.TimeoutExpired):
            waits.wait(0)
        waits.kill()
        assert waits.wait(patient(60)) == -signal.SIGKILL
        waits.send_signal(signal.SIGTERM)  # which reaches nobody any more


@pytest.mark.slow
def test_it_goes_with_whom_it_was_made_for():
    with Nursery() as made:
        assert Path(f"/proc/{made.pid}").exists()
    assert not Path(f"/proc/{made.pid}").exists()

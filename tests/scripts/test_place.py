"""A world's folder is one process's alone: nobody else removes what lies in it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from devnet.place import PlaceTaken, own
from devnet.world import World

HOLDER = """
import sys
from pathlib import Path
from devnet.place import own
with own(Path(sys.argv[1])):
    (Path(sys.argv[1]) / "wallet").write_text("dear")
    print("there", flush=True)
    sys.stdin.read()
"""
SCRIPTS = Path(__file__).parents[2] / "scripts"


def test_a_world_that_runs_is_left_alone_and_one_whose_process_is_gone_is_replaced(tmp_path: Path) -> None:
    folder = tmp_path / "world"
    command = [sys.executable, "-c", HOLDER, str(folder)]
    with subprocess.Popen(
        command, cwd=SCRIPTS, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "there\n"
        for enter in (own(folder), World(folder)):
            with pytest.raises(PlaceTaken, match=f"process {other.pid}"), enter:
                pass
        assert (folder / "wallet").read_text() == "dear"
        other.kill()
    with own(folder):
        assert list(folder.iterdir()) == []
    assert not folder.exists()

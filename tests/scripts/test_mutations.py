"""`make mutations`: whether a planted bug is found depends on the bug, not on luck nor on what an earlier run left."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMENT = """--- a/contracts/companions/Reputation.sol
+++ b/contracts/companions/Reputation.sol
@@ -1,2 +1,3 @@
 // SPDX-License-Identifier: Apache-2.0
+// A comment.
 pragma solidity 0.8.30;
"""
NONSENSE = COMMENT.replace("+// A comment.", "+no Solidity")


def mutations(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ROOT / "scripts" / "mutations.py", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_every_invariant_has_a_bug() -> None:
    found = re.findall(r"function invariant_(\d\d)_", (ROOT / "tests/invariants/Invariants.sol").read_text())
    kept = {path.name[:2] for path in (ROOT / "tests/invariants/mutations").glob("*.patch")}
    assert set(found) == kept


def test_every_bug_can_be_planted() -> None:
    """Contracts change under them."""
    for patch in sorted((ROOT / "tests/invariants/mutations").glob("*.patch")):
        command = ["git", "apply", "--check", str(patch)]
        said = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        assert said.returncode == 0, f"{patch.name}: {said.stderr}"


@pytest.mark.deep
def test_a_bug_that_is_none_is_no_verdict(tmp_path: Path) -> None:
    (tmp_path / "17-a-comment.patch").write_text(COMMENT)
    (tmp_path / "17-nonsense.patch").write_text(NONSENSE)
    said = mutations("--patches", str(tmp_path), "--jobs", "1")
    assert said.returncode == 1, said.stdout + said.stderr
    assert "it changes no bytecode" in said.stdout
    assert "it does not compile" in said.stdout


@pytest.mark.deep
def test_every_bug_is_found_with_twenty_seeds() -> None:
    said = mutations("--seeds", "20")
    assert said.returncode == 0, said.stdout + said.stderr


@pytest.mark.slow
def test_the_compiler_is_asked_once(tmp_path: Path) -> None:
    """The second time the same question is answered from memory, and another one is not."""
    compiler = ROOT / "scripts/toolchain/solc_remembered.py"
    environment = {"SOLC_MEMORY": str(tmp_path), "PATH": "/usr/bin:/bin:/usr/local/bin"}
    answers = []
    for content in ("contract A {}", "contract A {}", "contract A { uint256 x; }"):
        question = {
            "language": "Solidity",
            "sources": {"A.sol": {"content": content}},
            "settings": {"outputSelection": {"*": {"*": ["evm.bytecode"]}}},
        }
        done = subprocess.run(
            [compiler, "--standard-json"],
            input=json.dumps(question).encode(),
            env=environment,
            capture_output=True,
            check=True,
        )
        answers.append((json.loads(done.stdout)["contracts"], len(list(tmp_path.iterdir()))))
    assert answers[0] == answers[1]
    assert [kept for _, kept in answers] == [1, 1, 2]
    assert answers[2][0] != answers[0][0]

"""What the dApp takes from the library is what the library has now."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import dapp
from leasehold.chain import Params


def test_the_committed_files_are_up_to_date() -> None:
    assert dapp.stale(dapp.render()) == []


def test_every_function_and_event_that_is_asked_for_exists() -> None:
    abi = dapp.pool_abi(dapp.ROOT)
    named = {
        kind: {entry["name"] for entry in abi if entry["type"] == kind} for kind in ("function", "event")
    }
    assert named == {"function": dapp.FUNCTIONS, "event": dapp.EVENTS}
    judged = {entry["name"] for entry in dapp.faults_abi(dapp.ROOT) if entry["type"] == "function"}
    assert judged == dapp.FAULT_FUNCTIONS


def test_a_file_that_says_something_else_is_stale(tmp_path: Path) -> None:
    path = Path("errors.ts")
    (tmp_path / path).write_text("something else")
    assert dapp.stale({path: "this"}, tmp_path) == [path]


def test_the_pool_s_page_says_what_each_parameter_is_for() -> None:
    said = re.findall(
        r"^  (\w+): \"", (dapp.ROOT / dapp.DAPP / "pages/pool/meanings.ts").read_text(), re.MULTILINE
    )
    accounts = {"arbiter", "sink"}  # the page says of these whose they are
    assert said == [field.name for field in fields(Params) if field.name not in accounts]

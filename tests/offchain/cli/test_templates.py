"""`leasehold templates`, and what a template makes of a workload's flags."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from leasehold.cli import app
from leasehold.cli._command import Invocation
from leasehold.cli._from_template import from_template
from leasehold.cli._options import Globals
from leasehold.cli._output import Output
from leasehold.market import InvalidInput


def run(home: Path, *words: str) -> Any:
    return CliRunner(env={"LEASEHOLD_HOME": str(home), "COLUMNS": "200"}).invoke(app, ("templates", *words))


def test_they_are_listed_without_a_word_more(tmp_path: Path) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/mine.toml").write_text('image = "debian:12"\n[template]\nsummary = "my own"\n')
    assert "my own" in run(tmp_path).stdout
    listed = {one["name"]: one for one in json.loads(run(tmp_path, "--json").stdout)}
    assert listed["mine"] == {"name": "mine", "summary": "my own", "image": "debian:12", "own": True}
    assert listed["jupyter"]["own"] is False
    assert run(tmp_path, "list", "--json").stdout == run(tmp_path, "--json").stdout


def test_one_is_printed_as_it_is(tmp_path: Path) -> None:
    printed = run(tmp_path, "show", "ubuntu").stdout
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/copy.toml").write_text(printed)
    assert run(tmp_path, "show", "copy").stdout == printed
    assert json.loads(run(tmp_path, "show", "ubuntu", "--json").stdout)["text"] == printed
    unknown = run(tmp_path, "show", "nope")
    assert (unknown.exit_code, "choose one of batch" in unknown.stderr) == (6, True)


def call(home: Path, *, dry_run: bool = False) -> Invocation:
    return Invocation(Globals(home=home), Output(), dry_run=dry_run)


def test_a_secret_is_made_and_shown_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = from_template(call(tmp_path), "jupyter", (), None)
    secrets = data["secrets"]
    assert isinstance(secrets, dict)
    shown = capsys.readouterr().out
    assert shown.count(secrets["jupyter-token"]) == 1
    assert "then           leasehold port LEASE 8888" in shown
    again = from_template(call(tmp_path), "jupyter", (), None)["secrets"]
    assert again != secrets


def test_a_dry_run_shows_no_secret(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    secrets = from_template(call(tmp_path, dry_run=True), "vllm", (), None)["secrets"]
    assert isinstance(secrets, dict)
    assert secrets["api-key"] not in capsys.readouterr().out


def test_ones_own_secret_is_neither_made_nor_shown(tmp_path: Path) -> None:
    assert "secrets" not in from_template(call(tmp_path), "jupyter", ("jupyter-token",), None)


def test_a_job_wants_a_command(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="write it behind `--`"):
        from_template(call(tmp_path), "batch", (), [])
    assert from_template(call(tmp_path), "batch", (), ["true"])["kind"] == "batch"

"""What a project's file and what is said besides make together: a run."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.errors import SettingsError
from leasehold.market import InvalidInput
from leasehold.runs import (
    PROJECT_FILE,
    CloseWhen,
    Project,
    begin_project,
    job_of,
    load_project,
    project_name,
    run_named,
)
from leasehold.workload import CodeFolder, Workload, load_workload

RECIPIENT = "age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p"


def a_workload(**fields: object) -> Workload:
    return load_workload({"version": 1, "image": "python:3", **fields}, recipients=[RECIPIENT])


def test_what_is_said_wins_and_nothing_is_not_said() -> None:
    written = Project(name="train", at_most=60, spot=True, search="gpu:a100", budget="5")
    typed = Project(at_most=0, spot=False, search="", budget=None, share=4)
    assert typed.over(written) == Project(
        name="train", at_most=0, spot=True, search="gpu:a100", budget="5", share=4
    )


def test_what_nobody_has_said_is_as_a_run_has_it() -> None:
    workload = a_workload()
    run = Project().run(workload)
    assert run.name == run_named(workload, None)
    assert run.results == Path(f"results-{run.name}")
    assert (run.at_most, run.start_within, run.gone_after, run.idle) == (43_200, 300, 300, 600)
    assert (run.rent.seconds, run.rent.search, run.rent.spot, run.rent.code) == (3_600, "", False, None)
    assert run.close_when is CloseWhen.DONE


def test_all_that_is_said_is_in_the_run(tmp_path: Path) -> None:
    said = Project(
        name="train", code=tmp_path, search="mem>=80", gpu="RTX 4090", share=4, spot=True, max_price="2",
        step=600, at_most=7_200, budget="5", start_within=60, gone_after=90, close_when="idle 10m",
        results=tmp_path / "new", allow_unverified=True,
    )  # fmt: skip
    run = said.run(a_workload(), machines=(7,), approves=True)
    rent = run.rent
    assert (rent.search, rent.machines, rent.code) == ('mem>=80 gpu:"RTX 4090"', (7,), CodeFolder(tmp_path))
    assert (rent.seconds, rent.share, rent.spot, rent.max_price) == (600, 4, True, "2")
    assert (run.at_most, run.start_within, run.gone_after) == (7_200, 60, 90)
    assert (run.close_when, run.idle, run.budget, run.results) == (CloseWhen.IDLE, 600, "5", tmp_path / "new")
    assert run.approves
    assert rent.allow_unverified
    assert Project(gpu="h100").run(a_workload()).rent.search == "gpu:h100"


@pytest.mark.parametrize("text", ["soon", "done 10m", "never 1h", ""])
def test_no_time_to_close(text: str) -> None:
    if not text:
        assert Project(close_when=text).run(a_workload()).close_when is CloseWhen.DONE
        return
    with pytest.raises(InvalidInput, match="is no time to close: say done, idle 10m or never"):
        Project(close_when=text).run(a_workload())


def test_a_runs_workload_is_a_job_that_leaves_its_outputs() -> None:
    job = job_of(a_workload(), recipient=RECIPIENT)
    assert job.kind == "batch"
    assert [(output.path, output.public) for output in job.outputs] == [("/outputs", False)]
    public = job_of(a_workload(), recipient=None, public=True)
    assert [(output.path, output.public) for output in public.outputs] == [("/outputs", True)]
    assert job_of(a_workload(), recipient=None).outputs == ()
    own = job_of(a_workload(restart="always", outputs=[{"path": "/mine"}]), recipient=RECIPIENT)
    assert own.kind != "batch"
    assert [output.path for output in own.outputs] == ["/mine"]


def test_a_project_is_begun_once(tmp_path: Path) -> None:
    assert begin_project(tmp_path, None) is None
    path = begin_project(tmp_path, "train", "# what it is\n")
    assert path == tmp_path / PROJECT_FILE
    assert path.read_text() == '# what it is\nname = "train"\n'
    assert begin_project(tmp_path, "other") == path
    assert begin_project(tmp_path, None) == path
    assert load_project(tmp_path) == Project(name="train")


def test_a_folders_run_is_called_after_it() -> None:
    assert project_name(Path("/home/me/my project")) == "my-project"
    assert project_name(Path("/")) == "run"
    assert len(project_name(Path("x" * 99))) == 64


def test_a_file_that_is_none_says_which_key(tmp_path: Path) -> None:
    (tmp_path / PROJECT_FILE).write_text('budget = "5"\nworkload = 7\n')
    with pytest.raises(SettingsError, match="`workload` is wrong: it should be a text"):
        load_project(tmp_path)

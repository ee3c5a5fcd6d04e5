"""Templates: what comes along is a workload each, what is made for a lease is made anew, and files of people count."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold.errors import WorkloadError, WorkloadInvalid
from leasehold.images import parse_reference
from leasehold.workload import (
    Template,
    TemplateUnknown,
    WorkloadKind,
    all_templates,
    find_template,
    load_workload,
)

SHIPPED = ("batch", "comfyui", "jupyter", "pytorch", "ubuntu", "vllm")
OWN = 'version = 1\nimage = "debian:12"\n[template]\nsummary = "mine"\n'


def test_these_come_along(tmp_path: Path) -> None:
    assert tuple(template.name for template in all_templates(tmp_path)) == SHIPPED


@pytest.mark.parametrize("name", SHIPPED)
def test_each_is_a_workload_that_says_what_it_is(tmp_path: Path, name: str) -> None:
    template = find_template(name, tmp_path)
    workload = load_workload({**template.content, "secrets": template.new_secrets()})
    assert parse_reference(workload.image).tag
    assert template.text.startswith("# ")
    assert template.table.summary != Template.__doc__
    assert template.table.use
    assert not template.own
    told = " ".join([*workload.command, *workload.env.values()])
    for secret in template.table.secrets:
        assert f"/run/secrets/{secret}" in told
        assert f"<{secret}>" in " ".join(template.table.use)


def test_what_asks_nobody_who_he_is_is_not_published(tmp_path: Path) -> None:
    for name in SHIPPED:
        template = find_template(name, tmp_path)
        assert not template.content.get("ports") or template.table.secrets, name


def test_a_batch_job_has_no_readiness_and_a_result(tmp_path: Path) -> None:
    job = load_workload(find_template("batch", tmp_path).content)
    assert (job.kind, [output.path for output in job.outputs]) == (WorkloadKind.BATCH, ["/out"])


def test_secrets_are_made_anew_and_not_where_somebody_gives_his_own(tmp_path: Path) -> None:
    template = find_template("jupyter", tmp_path)
    first, second = template.new_secrets(), template.new_secrets()
    assert first.keys() == second.keys() == {"jupyter-token"}
    assert first != second
    assert min(map(len, first.values())) >= 32
    assert template.new_secrets(["jupyter-token"]) == {}


def test_ones_own_counts_instead(tmp_path: Path) -> None:
    (tmp_path / "ubuntu.toml").write_text(OWN)
    (tmp_path / "mine.toml").write_text(OWN)
    (tmp_path / ".#mine.toml").write_text("of an editor")
    assert find_template("ubuntu", tmp_path).own
    assert {template.name for template in all_templates(tmp_path)} == {*SHIPPED, "mine"}
    named = find_template(str(tmp_path / "mine.toml"), tmp_path / "none")
    assert (named.name, named.table.summary, named.content["image"]) == ("mine", "mine", "debian:12")


@pytest.mark.parametrize("name", ["nope", "", "..", "Ubuntu", "ubuntu\0"])
def test_a_name_that_is_none(tmp_path: Path, name: str) -> None:
    with pytest.raises(TemplateUnknown, match="choose one of batch, comfyui"):
        find_template(name, tmp_path)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"version =", "is no TOML"),
        (b"\xff", "is no TOML"),
        (b"[template]\nsecret = ['x']", "template"),
        (b"[template]\nsecrets = ['../x']", "template"),
        (b"[template]\nsummary = '\xc2\x9b2J'", "would move a cursor"),
        (b'[template]\nsummary = "\\u009b2J"', "template"),
        (b"template = 7", "template"),
        (b"#" * (300 << 10), "larger than 256 KiB"),
    ],
)
def test_a_file_that_is_no_template(tmp_path: Path, content: bytes, says: str) -> None:
    file = tmp_path / "odd.toml"
    file.write_bytes(content)
    with pytest.raises(WorkloadInvalid, match=says):
        find_template(str(file), tmp_path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(WorkloadError, match="cannot be read"):
        find_template("./nowhere.toml", tmp_path)
    with pytest.raises(WorkloadError, match="cannot be read"):
        find_template(f"{tmp_path}/", tmp_path)

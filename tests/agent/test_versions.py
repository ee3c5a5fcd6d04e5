"""Which parts of a host are older than they should be, said at start and by `describe`."""

from __future__ import annotations

from pathlib import Path

import pytest

from leasehold_agent.documents import concerns
from leasehold_agent.engine import EngineFacts


def facts(images_by_containerd: bool = False, **versions: str) -> EngineFacts:
    return EngineFacts(
        True, ("runc",), Path("/none"), versions=versions, containerd_images=images_by_containerd
    )


@pytest.mark.parametrize("version", ["1.1.5+ds1", "1.2.7", "v1.0", "0.1.0"])
def test_an_old_runc_is_named(version: str) -> None:
    (said,) = concerns(facts(runc=version, Engine="28.5.1", other="1.0"), gpus=False)
    assert f"runc {version} is older than 1.2.8" in said


@pytest.mark.parametrize("version", ["1.2.8", "1.3.3", "2.0.0-rc.1"])
def test_a_new_one_is_not(version: str) -> None:
    assert concerns(facts(runc=version, Engine="29.0.0"), gpus=False) == []


@pytest.mark.parametrize(
    ("says", "wanted"),
    [("1.17.7", ["older than 1.17.8"]), ("1.17.8", []), ("1.18.0-rc.2", []), (None, ["cannot be seen"])],
)
def test_the_toolkit_of_a_host_with_cards(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, says: str | None, wanted: list[str]
) -> None:
    if says is not None:
        tool = tmp_path / "nvidia-ctk"
        tool.write_text(f"#!/bin/sh\necho NVIDIA Container Toolkit CLI version {says}\n")
        tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin")
    said = concerns(facts(), gpus=True)
    assert len(said) == len(wanted)
    assert all(words in sentence for words, sentence in zip(wanted, said, strict=True))
    assert concerns(facts(), gpus=False) == []


def test_images_that_name_addresses() -> None:
    (said,) = concerns(facts(images_by_containerd=True), gpus=False)
    assert "0106" in said

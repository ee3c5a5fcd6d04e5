"""From the container's folder to the tenant's, by way of IPFS; hostile on both ends."""

import asyncio
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from devnet.kubo import Kubo
from devnet.patience import patient
from leasehold.datasets import FilePart, FolderPart, Ipfs, Part, new_identity, recipient_of
from leasehold.errors import AgeKeyInvalid, DestinationExists, ResultsInvalid, SealBroken, WrongIdentity
from leasehold.workload import (
    NoSuchResult,
    ResultInGit,
    ResultsUnasked,
    WorkloadOutput,
    fetch_results,
    pack_outputs,
)

LEASE = "eip155:31337/0xe7f1725E7734CE288F8367e1Bb143E90bb3F0512/786432@1"
TENANT = new_identity()
READER = recipient_of(TENANT)


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Any:
    with Kubo(tmp_path_factory.mktemp("node")) as node:
        yield node


@pytest.fixture
async def ipfs(node: Kubo) -> AsyncIterator[Ipfs]:
    async with Ipfs(node.api, timeout=patient(10)) as ipfs:
        yield ipfs


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """What a container left below its output paths."""
    root = tmp_path / "root"
    (root / "out/model").mkdir(parents=True)
    (root / "out/model/weights").write_bytes(bytes(range(256)) * 9000)
    (root / "out/model/best").symlink_to("weights")
    (root / "out/run").write_text("#!/bin/sh\n")
    (root / "out/run").chmod(0o755)
    (root / "report.txt").write_text("accuracy 0.97")
    (root / "public").mkdir()
    (root / "public/readme").write_text("for everybody")
    return root


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def contents(folder: Path) -> list[bytes]:
    return [path.read_bytes() for path in folder.rglob("*") if path.is_file()]


def private(path: str) -> WorkloadOutput:
    return WorkloadOutput(path=path, recipients=(READER,))


def public(path: str) -> WorkloadOutput:
    return WorkloadOutput(path=path, public=True)


async def test_outputs_come_back_at_their_paths(ipfs: Ipfs, root: Path, tmp_path: Path) -> None:
    outputs = [private("/out"), private("/report.txt"), public("/public"), private("/never/made")]
    cid = await pack_outputs(root, outputs, [], ipfs, lease=LEASE)
    results = await fetch_results(cid, TENANT, tmp_path / "results", ipfs, lease=LEASE)
    got = tmp_path / "results"
    assert (got / "out/model/weights").read_bytes() == (root / "out/model/weights").read_bytes()
    assert os.readlink(got / "out/model/best") == "weights"
    assert os.access(got / "out/run", os.X_OK)
    assert (got / "report.txt").read_text() == "accuracy 0.97"
    assert (got / "public/readme").read_text() == "for everybody"
    assert [(o.path, o.name, o.size, o.missing) for o in results.manifest.outputs] == [
        ("/out", "0.age", 256 * 9000 + 10, False),
        ("/report.txt", "1.age", 13, False),
        ("/public", "2", 13, False),
        ("/never/made", None, 0, True),
    ]
    assert names(tmp_path) == {"root", "results"}


@pytest.mark.parametrize(
    ("wishes", "files"),
    [
        (["/out/model"], {"out/model/weights", "out/model/best"}),
        (["weights", "*.txt"], {"out/model/weights", "report.txt"}),
        (["/out/m*/w*"], {"out/model/weights"}),
        (["/report.txt/"], {"report.txt"}),
        (["/public"], {"public/readme"}),
        (["model/best", "*/readme"], {"out/model/best", "public/readme"}),
    ],
)
async def test_only_what_is_wanted(
    ipfs: Ipfs, root: Path, tmp_path: Path, wishes: list[str], files: set[str]
) -> None:
    outputs = [private("/out"), private("/report.txt"), public("/public"), private("/never/made")]
    cid = await pack_outputs(root, outputs, [], ipfs, lease=LEASE)
    got = tmp_path / "results"
    await fetch_results(cid, TENANT, got, ipfs, only=wishes)
    assert {str(path.relative_to(got)) for path in got.rglob("*") if not path.is_dir()} == files
    assert not [path for path in got.rglob("*") if path.is_dir() and not any(path.iterdir())]


@pytest.mark.parametrize("wish", ["nothing", "/out/nothing", "/elsewhere/*", "/never/made"])
async def test_nothing_that_is_wanted(ipfs: Ipfs, root: Path, tmp_path: Path, wish: str) -> None:
    cid = await pack_outputs(root, [private("/out"), private("/never/made")], [], ipfs, lease=LEASE)
    with pytest.raises(NoSuchResult, match="the lease's outputs are /out, /never/made"):
        await fetch_results(cid, TENANT, tmp_path / "results", ipfs, only=[wish])
    assert names(tmp_path) == {"root"}


async def test_what_is_public_needs_no_key_beside_what_is_private(
    ipfs: Ipfs, root: Path, tmp_path: Path
) -> None:
    cid = await pack_outputs(root, [private("/out"), public("/public")], [], ipfs, lease=LEASE)
    await fetch_results(cid, None, tmp_path / "results", ipfs, only=["/public/*"])
    assert names(tmp_path / "results") == {"public"}


async def test_into_a_folder_that_has_something(ipfs: Ipfs, root: Path, tmp_path: Path) -> None:
    """What is in the way is replaced, and a link that lies in wait there is never followed."""
    cid = await pack_outputs(root, [private("/out"), private("/report.txt")], [], ipfs, lease=LEASE)
    got, outside = tmp_path / "got", tmp_path / "outside"
    (outside / "model").mkdir(parents=True)
    (outside / "weights").write_text("mine")
    got.mkdir()
    (got / "out").symlink_to(outside)
    (got / "report.txt").symlink_to(outside / "weights")
    (got / "notes").write_text("kept")
    with pytest.raises(DestinationExists):
        await fetch_results(cid, TENANT, got, ipfs)
    for _ in range(2):
        await fetch_results(cid, TENANT, got, ipfs, force=True)
        assert names(got) == {"out", "report.txt", "notes"}
        assert (got / "out/model/weights").read_bytes() == (root / "out/model/weights").read_bytes()
        assert (got / "report.txt").read_text() == "accuracy 0.97"
    assert (outside / "weights").read_text() == "mine"
    assert not any((outside / "model").iterdir())


async def test_a_folder_in_a_files_place_is_left(ipfs: Ipfs, root: Path, tmp_path: Path) -> None:
    cid = await pack_outputs(root, [private("/out"), private("/report.txt")], [], ipfs, lease=LEASE)
    got = tmp_path / "got"
    (got / "report.txt").mkdir(parents=True)
    with pytest.raises(DestinationExists, match=r"report\.txt"):
        await fetch_results(cid, TENANT, got, ipfs, force=True)
    assert names(got) == {"report.txt"}


async def test_private_ones_can_be_read_by_their_recipients_alone(
    ipfs: Ipfs, root: Path, tmp_path: Path
) -> None:
    agents_choice = new_identity()
    cid = await pack_outputs(root, [private("/report.txt")], [recipient_of(agents_choice)], ipfs, lease=LEASE)
    for number, key in enumerate((TENANT, agents_choice)):
        await fetch_results(cid, key, tmp_path / str(number), ipfs)
        assert (tmp_path / str(number) / "report.txt").read_text() == "accuracy 0.97"
    with pytest.raises(WrongIdentity):
        await fetch_results(cid, new_identity(), tmp_path / "no", ipfs)
    with pytest.raises(ResultsInvalid, match="no key was given"):
        await fetch_results(cid, None, tmp_path / "no", ipfs)
    assert names(tmp_path) == {"root", "0", "1"}
    sealed = {entry.name: entry.cid for entry in await ipfs.ls(cid)}["0.age"]
    assert b"accuracy" not in await ipfs.read_file(sealed, 1_000_000)


async def test_public_ones_need_no_key(ipfs: Ipfs, root: Path, tmp_path: Path) -> None:
    cid = await pack_outputs(root, [public("/public/readme")], [], ipfs, lease=LEASE)
    await fetch_results(cid, None, tmp_path / "results", ipfs)
    assert (tmp_path / "results/public/readme").read_text() == "for everybody"


async def test_a_private_output_without_readers_is_not_published(ipfs: Ipfs, root: Path) -> None:
    with pytest.raises(AgeKeyInvalid):
        await pack_outputs(root, [WorkloadOutput(path="/out")], [], ipfs, lease=LEASE)


# --------------------------------------------------------------------------------------------- hostile to the host


@pytest.mark.parametrize("make", [private, public])
async def test_nothing_outside_the_container_is_published(
    ipfs: Ipfs, root: Path, tmp_path: Path, make: Any
) -> None:
    """Links to the host's files, as an output itself, on the way to one, and inside one; and a pipe."""
    secret = tmp_path / "host"
    secret.mkdir()
    (secret / "key").write_text("the host's own")
    (root / "direct").symlink_to(secret)
    (root / "way").symlink_to(tmp_path)
    (root / "out/absolute").symlink_to(secret / "key")
    (root / "out/relative").symlink_to("../../host/key")
    os.mkfifo(root / "out/pipe")
    outputs = [make("/direct"), make("/way/host"), make("/out")]
    cid = await pack_outputs(root, outputs, [], ipfs, lease=LEASE)
    results = await fetch_results(cid, TENANT, tmp_path / "results", ipfs)
    assert [(o.missing, o.skipped) for o in results.manifest.outputs] == [(True, 0), (True, 0), (False, 3)]
    assert all(b"the host's own" not in content for content in contents(tmp_path / "results"))
    assert not (tmp_path / "results/out/absolute").is_symlink()


# ------------------------------------------------------------------------------------------- hostile to the tenant


async def forged(ipfs: Ipfs, manifest: object, *parts: Part) -> str:
    content = manifest if isinstance(manifest, bytes) else json.dumps(manifest).encode()
    return await ipfs.add_stream([FolderPart("r"), *parts, FilePart("r/manifest.json", [content])])


def a_manifest(*outputs: dict[str, object], **changes: object) -> dict[str, object]:
    return {"version": 1, "lease": LEASE, "outputs": list(outputs)} | changes


def entry(**changes: object) -> dict[str, object]:
    return {"path": "/out", "name": "0", "public": True, "size": 1} | changes


@pytest.mark.parametrize(
    ("manifest", "reason"),
    [
        (b"no json", "1 faults"),
        (a_manifest(version=2), "1 faults"),
        (a_manifest(more=1), "1 faults"),
        (a_manifest(entry(path="/../../etc")), "1 faults"),
        (a_manifest(entry(path="relative")), "1 faults"),
        (a_manifest(entry(name="../0")), "1 faults"),
        (a_manifest(entry(), entry()), "1 faults"),
        (a_manifest(*(entry(path=path, name=None) for path in ("/a", "/a-", "/a/L/x"))), "1 faults"),
        (a_manifest(entry(), entry(path="/other")), "named twice"),
        (a_manifest(entry(name="7")), "7 of its manifest is not there"),
        (a_manifest(lease="another"), "of lease another"),
    ],
)
async def test_manifests_that_lie(ipfs: Ipfs, tmp_path: Path, manifest: object, reason: str) -> None:
    cid = await forged(ipfs, manifest, FolderPart("r/0"), FilePart("r/0/out", [b"x"]))
    with pytest.raises(ResultsInvalid, match=reason):
        await fetch_results(cid, TENANT, tmp_path / "results", ipfs, lease=LEASE)
    assert not names(tmp_path)


def a_project(tmp_path: Path) -> Path:
    """A folder with something that its owner runs."""
    project = tmp_path / "project"
    (project / ".git/hooks").mkdir(parents=True)
    (project / "train.py").write_text("mine")
    return project


def everything(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


async def test_a_path_that_nobody_asked_for_is_refused(ipfs: Ipfs, tmp_path: Path) -> None:
    """A host that names the tenant's own sources as outputs, into whose folder he lets the results."""
    project = a_project(tmp_path)
    lies = a_manifest(entry(), entry(path="/train.py", name="1"))
    parts = (
        FolderPart("r/0"),
        FilePart("r/0/out", [b"x"]),
        FolderPart("r/1"),
        FilePart("r/1/train.py", [b"bad"]),
    )
    cid = await forged(ipfs, lies, *parts)
    for force in (False, True):
        with pytest.raises(ResultsUnasked, match=r"/train\.py.*asked for /out\b"):
            await fetch_results(
                cid, None, project if force else tmp_path / "n", ipfs, asked=["/out"], force=force
            )
    assert everything(project) == {"train.py"}
    assert (project / "train.py").read_text() == "mine"
    assert names(tmp_path) == {"project"}
    await fetch_results(cid, None, project, ipfs, asked=["/out"], only=["/out"], force=True)
    assert everything(project) == {"train.py", "out"}
    assert (project / "train.py").read_text() == "mine"


@pytest.mark.parametrize("where", ["/out", "/deep/out"])
@pytest.mark.parametrize("odd", ["train.py", ".git/config", "ou", "outer/x"])
async def test_nothing_lies_beside_its_output(ipfs: Ipfs, tmp_path: Path, where: str, odd: str) -> None:
    """The manifest is as it should be, and what comes as that output has more at its root."""
    parts: list[Part] = [FolderPart("r/0"), FilePart("r/0/out", [b"x"])]
    parts += [FolderPart(f"r/0/{odd.split('/')[0]}")] if "/" in odd else []
    cid = await forged(ipfs, a_manifest(entry(path=where)), *parts, FilePart(f"r/0/{odd}", [b"bad"]))
    with pytest.raises(ResultsInvalid, match="beside"):
        await fetch_results(cid, None, tmp_path / "results", ipfs)
    assert not names(tmp_path)


@pytest.mark.parametrize("git", [".git", ".GIT"])
@pytest.mark.parametrize("below", ["", "deep/"])
async def test_nothing_is_laid_over_a_git_folder(ipfs: Ipfs, tmp_path: Path, git: str, below: str) -> None:
    """Whose hooks and settings Git runs, when its owner next says `git status`."""
    project = a_project(tmp_path)
    parts: list[Part] = [FolderPart("r/0"), *([FolderPart("r/0/deep")] if below else [])]
    parts += [FolderPart(f"r/0/{below}{git}"), FilePart(f"r/0/{below}{git}/config", [b"bad"])]
    cid = await forged(ipfs, a_manifest(entry(path=f"/{below or git}".rstrip("/"))), *parts)
    with pytest.raises(ResultInGit, match="into a new folder"):
        await fetch_results(cid, None, project, ipfs, force=True)
    assert everything(project) == {"train.py"}
    assert names(project) == {".git", "train.py"}
    await fetch_results(cid, None, tmp_path / "new", ipfs)
    assert everything(tmp_path / "new") == {f"{below}{git}/config"}


async def test_what_no_list_names_is_told(ipfs: Ipfs, tmp_path: Path) -> None:
    """It would be pinned with the rest, and may be as large as anything that IPFS has."""
    parts = FolderPart("r/0"), FilePart("r/0/out", [b"x"]), FilePart("r/large", [b"x"])
    cid = await forged(ipfs, a_manifest(entry()), *parts)
    assert (await fetch_results(cid, None, tmp_path / "results", ipfs)).unread == ("large",)


async def test_what_are_no_results(ipfs: Ipfs, tmp_path: Path) -> None:
    with pytest.raises(ResultsInvalid, match=r"no manifest\.json"):
        await fetch_results(await ipfs.put_block(b"x"), TENANT, tmp_path / "results", ipfs)
    cid = await forged(
        ipfs, a_manifest(entry(name="0.age", public=False)), FilePart("r/0.age", [b"not sealed"])
    )
    with pytest.raises(SealBroken):
        await fetch_results(cid, TENANT, tmp_path / "results", ipfs)
    assert not names(tmp_path)


async def test_nothing_is_overwritten(ipfs: Ipfs, root: Path, tmp_path: Path) -> None:
    cid = await pack_outputs(root, [public("/public")], [], ipfs, lease=LEASE)
    taken = tmp_path / "taken"
    taken.mkdir()
    (taken / "mine").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to("nowhere")
    for dest in (taken, tmp_path / "file", tmp_path / "link"):
        with pytest.raises(DestinationExists):
            await fetch_results(cid, None, dest, ipfs)
    assert (taken / "mine").read_text() == "mine"
    (tmp_path / "empty").mkdir()
    await fetch_results(cid, None, tmp_path / "empty", ipfs)
    assert (tmp_path / "empty/public/readme").exists()


async def test_a_folder_that_fills_up_meanwhile_is_left_alone(ipfs: Ipfs, root: Path, tmp_path: Path) -> None:
    cid = await pack_outputs(root, [public("/public")], [], ipfs, lease=LEASE)
    dest = tmp_path / "results"

    def intrude(done: int, total: int) -> None:
        dest.mkdir(exist_ok=True)
        (dest / "mine").write_text("mine")

    with pytest.raises(DestinationExists):
        await fetch_results(cid, None, dest, ipfs, intrude)
    assert await asyncio.to_thread(lambda: [p.name for p in dest.iterdir()]) == ["mine"]

"""Outputs as a tenant may have left them: each comes out in a folder of its own, bounded, and only once."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from devnet.engine import Engine as DevEngine
from devnet.images import Image
from devnet.patience import patient
from leasehold.workload import WorkloadOutput
from leasehold_agent.engine import Engine
from leasehold_agent.host import remove_tree, tree_size
from leasehold_agent.store import collect
from leasehold_agent.store._outputs import OutputLedger

NAME = "outputs-of-a-tenant"
_MADE = """
mkdir -p /out/sub /deep; cd /out
echo one > file; ln file second; ln -s file link; ln -s . here; ln -s /etc/passwd absolute
ln -s ../../x outside; mkfifo pipe; printf x > "$(printf 'not\\377utf8')"; ln -s sub/../../.. tricky
cd /deep; for i in $(seq 300); do mkdir d; cd d; done; echo low > low
echo only > /single; ln -s /out /linked; mkdir /many; cd /many; for i in $(seq 50); do echo > $i; done
"""


@contextlib.contextmanager
def left_behind(docker_engine: DevEngine, image: str, script: str) -> Iterator[None]:
    """A stopped container in which `script` has run."""
    with docker_engine.client() as client:
        container = client.containers.create(image, ["sh", "-c", script], name=NAME, network_mode="none")
        try:
            container.start()
            assert container.wait(timeout=patient(30))["StatusCode"] == 0, container.logs()
            yield
        finally:
            container.remove(force=True)


async def take(docker_engine: DevEngine, target: Path, *paths: str, limit: int = 1 << 20) -> list[str]:
    engine = Engine(docker_engine.url)
    try:
        return await collect(engine, NAME, [WorkloadOutput(path=path) for path in paths], target, limit, 0)
    finally:
        engine.close()


async def test_what_can_travel_does(docker_engine: DevEngine, tiny: Image, tmp_path: Path) -> None:
    paths = ("/out", "/deep", "/single", "/linked", "/nothing")
    with left_behind(docker_engine, tiny.id, _MADE):
        assert await take(docker_engine, tmp_path / "outputs", *paths) == []
    taken = tmp_path / "outputs"
    assert (taken / "0/out/file").read_text() == (taken / "0/out/second").read_text() == "one\n"
    assert sorted(os.listdir(taken / "0/out")) == ["file", "here", "link", "second", "sub"]
    assert os.readlink(taken / "0/out/here") == "."
    assert (taken / "2/single").read_text() == "only\n"
    assert not (taken / "4").exists()
    ledger = OutputLedger.load(taken).taken
    skipped = {"absolute", "outside", "pipe", "not UTF-8", "tricky"}
    assert [ledger[index].skipped for index in (0, 2, 3, 4)] == [len(skipped), 0, 1, 0]
    assert ledger[1].skipped == 300 - 127 + 1  # what is deeper than a dataset may be
    assert tree_size(taken / "1") == 0


async def test_a_second_attempt_takes_what_is_missing(
    docker_engine: DevEngine, tiny: Image, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that does not fit does not keep the others, nor is any copied twice."""
    script = "mkdir /a /b /c; echo a > /a/x; head -c 100000 /dev/zero > /b/x; echo c > /c/x"
    target = tmp_path / "outputs"
    with left_behind(docker_engine, tiny.id, script):
        engine = Engine(docker_engine.url)
        outputs = [WorkloadOutput(path=path) for path in ("/a", "/b", "/c")]
        usage = shutil.disk_usage(tmp_path)
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=50_000))
        with pytest.raises(OSError, match="no room to pack"):
            await collect(engine, NAME, outputs, target, 1 << 20, 0)
        monkeypatch.undo()
        (target / "0/a/mine").write_text("still here")
        assert (target / "2/c/x").read_text() == "c\n"
        assert await collect(engine, NAME, outputs, target, 1 << 20, 0) == []
        assert (target / "0/a/mine").exists()
        assert (target / "1/b/x").stat().st_size == 100_000
        with docker_engine.client() as client:  # another run may have written something else
            client.containers.get(NAME).start()
            client.containers.get(NAME).wait()
        assert await collect(engine, NAME, outputs, target, 1 << 20, 0) == []
        assert not (target / "0/a/mine").exists()
        engine.close()


async def test_names_of_one_file_count_each(docker_engine: DevEngine, tiny: Image, tmp_path: Path) -> None:
    """Or a file of a megabyte with a thousand names would be packed as a gigabyte."""
    script = "mkdir /out; cd /out; head -c 300000 /dev/zero > 0; for i in $(seq 9); do ln 0 $i; done"
    with left_behind(docker_engine, tiny.id, script):
        (left,) = await take(docker_engine, tmp_path / "outputs", "/out")
    assert "/out" in left
    assert os.listdir(tmp_path / "outputs") == ["taken.json"]


def test_a_folder_deeper_than_a_path_may_be_goes(tmp_path: Path) -> None:
    (tmp_path / "aside").write_text("stays")
    top = tmp_path / "top"
    top.mkdir()
    descriptor = os.open(top, os.O_RDONLY)
    for _ in range(2_000):
        name = "d" * 200
        os.mkdir(name, dir_fd=descriptor)
        os.symlink(tmp_path, "link", dir_fd=descriptor)
        below = os.open(name, os.O_RDONLY, dir_fd=descriptor)
        os.close(descriptor)
        descriptor = below
    os.close(descriptor)
    for number in range(2_500):
        (top / f"{number}").touch()
    remove_tree(top)
    remove_tree(top)
    assert [path.name for path in tmp_path.iterdir()] == ["aside"]

"""From one real node to another, and onto the disk: complete, checked, and going on after an interruption."""

import asyncio
import os
import subprocess
from pathlib import Path

import pytest

from devnet.kubo import Kubo, kubo_binary
from devnet.patience import patient
from leasehold.chain import InvalidCid
from leasehold.datasets import Ipfs, new_identity, recipient_of
from leasehold.errors import (
    AgeKeyInvalid,
    DatasetCorrupt,
    DatasetError,
    DatasetTooLarge,
    DatasetUnavailable,
    DatasetUnsafe,
    IpfsError,
    IpfsUnreachable,
    SealBroken,
    WrongIdentity,
)

from .conftest import snapshot

NOBODYS = "bafkreigh2akiscaildcqabsyg3dfr6chu3fgpregiymsck7e7aqa4s52zy"


def ipfs_add(node: Kubo, folder: Path, options: list[str]) -> str:
    """The CID that Kubo's own command gives."""
    command = [str(kubo_binary()), "add", "-r", "-H", "-Q", *options, str(folder)]
    added = subprocess.run(command, env=node.environment(), capture_output=True, text=True, check=True)
    return added.stdout.strip()


def times(root: Path) -> dict[Path, int]:
    """When each file was last written, in nanoseconds."""
    return {p: p.stat().st_mtime_ns for p in root.rglob("*") if p.is_file() and not p.is_symlink()}


async def test_a_folder_travels_whole(publisher: Ipfs, fetcher: Ipfs, folder: Path, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    dataset = await publisher.add_folder(folder, progress=lambda done, total: seen.append((done, total)))
    content = sum(len(data) for data in snapshot(folder).values() if isinstance(data, bytes))
    assert dataset.size == content
    assert dataset.key is None
    assert seen[-1] == (content, content)
    seen.clear()
    fetched = await fetcher.fetch(
        dataset.cid, tmp_path / "copy", progress=lambda done, total: seen.append((done, total))
    )
    assert snapshot(tmp_path / "copy") == snapshot(folder)
    assert (fetched.path, fetched.size, fetched.files) == (tmp_path / "copy", content, 44)
    assert seen[0] == (0, content)
    assert seen[-1] == (content, content)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


async def test_one_folder_has_one_cid_and_it_is_kubos(
    publisher: Ipfs, fetcher: Ipfs, publisher_node: Kubo, folder: Path
) -> None:
    first = (await publisher.add_folder(folder)).cid
    assert (await fetcher.add_folder(folder)).cid == first
    options = ["--cid-version=1", "--chunker=size-1048576", "--max-file-links=1024"]
    assert await asyncio.to_thread(ipfs_add, publisher_node, folder, options) == first


@pytest.mark.parametrize(
    "options",
    [
        ["--cid-version=0"],
        ["--cid-version=0", "--trickle", "--chunker=size-65536"],
        ["--cid-version=1", "--raw-leaves=false", "--inline"],
        ["--cid-version=1", "--hash=blake2b-256", "--chunker=size-262144"],
        ["--cid-version=1", "--hash=sha2-512", "--max-file-links=3"],
        ["--cid-version=1", "--max-directory-links=8"],
    ],
)
async def test_whatever_layout_others_chose(
    options: list[str], publisher_node: Kubo, fetcher: Ipfs, folder: Path, tmp_path: Path
) -> None:
    cid = await asyncio.to_thread(ipfs_add, publisher_node, folder, options)
    await fetcher.fetch(cid, tmp_path / "copy")
    assert snapshot(tmp_path / "copy") == snapshot(folder)


async def test_a_single_file_goes_under_its_cid(publisher: Ipfs, fetcher: Ipfs, tmp_path: Path) -> None:
    cid = await publisher.put_block(b"hello")
    fetched = await fetcher.fetch(cid, tmp_path / "copy")
    assert fetched.path == tmp_path / "copy" / cid
    assert fetched.path.read_bytes() == b"hello"


async def test_an_interrupted_fetch_goes_on(
    publisher: Ipfs, fetcher_node: Kubo, folder: Path, tmp_path: Path
) -> None:
    """Cut at its first progress; what is there then is kept, what was spoiled meanwhile is mended."""
    cid = (await publisher.add_folder(folder)).cid
    copy = tmp_path / "copy"
    async with Ipfs(fetcher_node.api) as ipfs:
        task: asyncio.Task[object] | None = None

        def cut(done: int, _: int) -> None:
            assert task is not None
            if done:
                task.cancel()

        task = asyncio.create_task(ipfs.fetch(cid, copy, progress=cut))
        with pytest.raises(asyncio.CancelledError):
            await task
        (copy / "large.bin").write_bytes((folder / "large.bin").read_bytes()[: 3 * 1024 * 1024 + 5])
        (copy / "deep").mkdir(exist_ok=True)
        (copy / "deep/1.txt").write_text("something longer than it was")
        kept = copy / "deep/2.txt"
        kept.write_text("2")
        before = kept.stat()
        await ipfs.fetch(cid, copy)
    assert snapshot(copy) == snapshot(folder)
    assert (kept.stat().st_ino, kept.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)


async def test_a_complete_fetch_writes_nothing_again(publisher: Ipfs, folder: Path, tmp_path: Path) -> None:
    cid = (await publisher.add_folder(folder)).cid
    await publisher.fetch(cid, tmp_path / "copy")
    before = times(tmp_path / "copy")
    assert len(before) == 44
    await publisher.fetch(cid, tmp_path / "copy")
    assert times(tmp_path / "copy") == before


# ----------------------------------------------------------------------------------------------------------- sealed


async def test_a_sealed_folder_opens_for_its_keys_alone(
    publisher: Ipfs, fetcher: Ipfs, folder: Path, tmp_path: Path
) -> None:
    friend = new_identity()
    dataset = await publisher.add_folder(folder, encrypt_to=[recipient_of(friend)])
    assert dataset.key is not None
    assert dataset.key not in repr(dataset)
    for number, key in enumerate((dataset.key, friend)):
        fetched = await fetcher.fetch(dataset.cid, tmp_path / f"copy{number}", key=key)
        assert snapshot(tmp_path / f"copy{number}") == snapshot(folder)
        assert fetched.files == 44
    assert os.access(tmp_path / "copy0/deep/run.sh", os.X_OK)
    assert not os.access(tmp_path / "copy0/large.bin", os.X_OK)
    with pytest.raises(WrongIdentity):
        await fetcher.fetch(dataset.cid, tmp_path / "no", key=new_identity())
    assert not any((tmp_path / "no").iterdir())


async def test_a_key_for_what_is_not_sealed(publisher: Ipfs, folder: Path, tmp_path: Path) -> None:
    cid = (await publisher.add_folder(folder)).cid
    with pytest.raises(DatasetCorrupt, match="one file"):
        await publisher.fetch(cid, tmp_path / "copy", key=new_identity())
    block = await publisher.put_block(b"not sealed at all")
    with pytest.raises(SealBroken):
        await publisher.fetch(block, tmp_path / "copy", key=new_identity())
    with pytest.raises(AgeKeyInvalid):
        await publisher.fetch(block, tmp_path / "copy", key="AGE-NO")


async def test_sealing_twice_gives_two_cids(publisher: Ipfs, folder: Path) -> None:
    one, two = [await publisher.add_folder(folder, encrypt=True, pin=False) for _ in range(2)]
    assert one.cid != two.cid
    assert one.key != two.key


# ----------------------------------------------------------------------------------------------------------- limits


async def test_too_large_is_refused_before_the_download(
    publisher: Ipfs, fetcher: Ipfs, folder: Path, tmp_path: Path
) -> None:
    dataset = await publisher.add_folder(folder)
    with pytest.raises(DatasetTooLarge) as caught:
        await fetcher.fetch(dataset.cid, tmp_path / "copy", max_bytes=dataset.size - 1)
    assert (caught.value.size, caught.value.limit) == (dataset.size, dataset.size - 1)
    assert not list((tmp_path / "copy").rglob("*.bin"))
    await fetcher.fetch(dataset.cid, tmp_path / "copy", max_bytes=dataset.size)
    sealed = await publisher.add_folder(folder, encrypt=True)
    with pytest.raises(DatasetTooLarge):
        await fetcher.fetch(sealed.cid, tmp_path / "sealed", key=sealed.key, max_bytes=sealed.size - 1)


async def test_what_does_not_fit_on_the_disk_is_not_begun(
    publisher: Ipfs, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = await publisher.add_folder(folder)
    full = os.statvfs_result((4096, 4096, 1000, 1, 1, 0, 0, 0, 0, 255))
    monkeypatch.setattr(os, "statvfs", lambda _: full)
    with pytest.raises(DatasetTooLarge, match="there is room for 4096"):
        await publisher.fetch(dataset.cid, tmp_path / "copy")


async def test_a_disk_that_fills_up(
    publisher: Ipfs, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = await publisher.add_folder(folder)

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(DatasetError, match="No space left on device"):
        await publisher.fetch(dataset.cid, tmp_path / "copy")


async def test_what_nobody_has_ends_in_bounded_time(fetcher: Ipfs, tmp_path: Path) -> None:
    async with asyncio.timeout(patient(15)):
        for call in (
            fetcher.fetch(NOBODYS, tmp_path / "x", timeout=0.4),
            fetcher.get_block(NOBODYS, timeout=0.4),
            fetcher.pin(NOBODYS, timeout=0.4),
            fetcher.ls(NOBODYS, timeout=0.4),
            fetcher.size(NOBODYS, timeout=0.4),
            fetcher.read_file(NOBODYS, 10, timeout=0.4),
        ):
            with pytest.raises(DatasetUnavailable) as caught:
                await call
            assert caught.value.cid == NOBODYS
    assert not (tmp_path / "x").exists()


async def test_cancelling_does_not_wait_for_the_timeout(fetcher: Ipfs) -> None:
    started = asyncio.Event()

    async def wait_for_nobody() -> None:
        started.set()
        await fetcher.get_block(NOBODYS, timeout=600)

    task = asyncio.create_task(wait_for_nobody())
    await started.wait()
    await asyncio.sleep(0)
    task.cancel()
    async with asyncio.timeout(patient(10)):
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_no_node_at_all(tmp_path: Path, folder: Path) -> None:
    async with Ipfs("/ip4/127.0.0.1/tcp/1", timeout=2) as ipfs:
        for call in (
            ipfs.id(),
            ipfs.fetch(NOBODYS, tmp_path / "x"),
            ipfs.add_folder(folder),
            ipfs.put_block(b"x"),
        ):
            with pytest.raises(IpfsUnreachable, match="start it, or correct its address"):
                await call


@pytest.mark.parametrize("api", ["nonsense", "/ip4/127.0.0.1/udp/1", "/unix/tmp/x"])
def test_addresses_that_are_none(api: str) -> None:
    with pytest.raises(IpfsUnreachable):
        Ipfs(api)


async def test_texts_that_are_no_cid(fetcher: Ipfs, tmp_path: Path) -> None:
    with pytest.raises(InvalidCid):
        await fetcher.fetch("nonsense", tmp_path / "x")
    with pytest.raises(InvalidCid):
        await fetcher.get_block("bafyreib7alvidpdyqstwbhdxgbvbw5ok5cn7ykydjmx5xvrmvm6i2o2txu")  # dag-cbor
    with pytest.raises(InvalidCid):
        await fetcher.pin("../../etc")


# ------------------------------------------------------------------------------------------- folders that cannot travel


async def test_links_out_of_the_folder_are_refused(publisher: Ipfs, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for target in ("/etc/passwd", "../../etc/passwd", "a/../../x", "./.."):
        (source / "link").symlink_to(target)
        with pytest.raises(DatasetUnsafe, match="leads out of its folder"):
            await publisher.add_folder(source)
        (source / "link").unlink()


async def test_what_is_neither_file_nor_folder_is_refused(publisher: Ipfs, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    os.mkfifo(source / "pipe")
    with pytest.raises(DatasetUnsafe, match="neither file nor folder"):
        await publisher.add_folder(source)
    (source / "pipe").unlink()
    os.close(os.open(os.fsencode(source) + b"/\xff", os.O_CREAT))
    with pytest.raises(DatasetUnsafe, match="not UTF-8"):
        await publisher.add_folder(source)


async def test_a_folder_that_is_not_there(publisher: Ipfs, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(DatasetError, match="is no folder to read"):
            await publisher.add_folder(path)


async def test_a_file_that_shrinks_breaks_the_whole_addition(
    publisher: Ipfs, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = await publisher.pins()
    monkeypatch.setattr(os, "pread", lambda *_: b"")
    for encrypt in (False, True):
        with pytest.raises(DatasetError, match="became shorter"):
            await publisher.add_folder(folder, encrypt=encrypt)
    assert await publisher.pins() == pins


# --------------------------------------------------------------------------------------------------- the small commands


async def test_blocks(publisher: Ipfs, fetcher: Ipfs) -> None:
    cid = await publisher.put_block(b'{"version":1}')
    assert await fetcher.get_block(cid) == b'{"version":1}'
    assert await fetcher.read_file(cid, 13) == b'{"version":1}'
    assert await fetcher.size(cid) == 13
    assert await fetcher.get_block(await publisher.put_block(b"")) == b""
    with pytest.raises(DatasetTooLarge):
        await fetcher.read_file(cid, 12)
    with pytest.raises(DatasetTooLarge):
        await publisher.put_block(bytes(2 * 1024 * 1024 + 1))


async def test_pinning(publisher: Ipfs, fetcher: Ipfs, folder: Path) -> None:
    cid = (await publisher.add_folder(folder)).cid
    await publisher.unpin(cid)
    assert cid not in await publisher.pins()
    await fetcher.pin(cid)
    assert cid in await fetcher.pins()
    assert await fetcher.is_pinned(cid)
    await fetcher.unpin(cid)
    await fetcher.unpin(cid)
    assert not await fetcher.is_pinned(cid)
    assert cid not in await fetcher.pins()


async def test_listing(publisher: Ipfs, fetcher: Ipfs, folder: Path) -> None:
    dataset = await publisher.add_folder(folder)
    listed = {entry.name: entry for entry in await fetcher.ls(dataset.cid)}
    assert set(listed) == {".hidden", "deep", "here", "large.bin"}
    assert listed["large.bin"].size >= 9 * 1024 * 1024 + 17
    assert await fetcher.ls(listed["large.bin"].cid) == []
    assert await fetcher.size(listed["large.bin"].cid) == 9 * 1024 * 1024 + 17
    assert await fetcher.size(dataset.cid) >= dataset.size


async def test_peers(publisher: Ipfs, fetcher: Ipfs, publisher_node: Kubo) -> None:
    peer = await publisher.id()
    assert peer.peer_id == publisher_node.peer_id
    await fetcher.swarm_connect(peer.addresses[0])
    with pytest.raises(IpfsError, match="swarm/connect"):
        await fetcher.swarm_connect("/ip4/127.0.0.1/tcp/1/p2p/" + peer.peer_id[:-1])

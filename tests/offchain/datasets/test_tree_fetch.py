"""A checkpoint that is fetched for a person, or kept on his own node: what a stranger has made of it leads nowhere,
holds nothing else, and is no larger than was allowed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.offchain.datasets.odd_trees import look
from tests.offchain.datasets.test_hostile import (
    EMPTY_FOLDER,
    file_of,
    folder_of,
    found,
    link,
    node,
    raw,
    serving,
)
from tests.offchain.datasets.test_sealed_trees import FOLDER, KEY, LINK, OTHER, ROW, index_of

from devnet.patience import patient
from leasehold.chain import cid_from_bytes
from leasehold.datasets import Ipfs, TreePack
from leasehold.datasets._sealed_tree import TreeSeal
from leasehold.errors import (
    DatasetCorrupt,
    DatasetError,
    DatasetTooLarge,
    DatasetUnavailable,
    DestinationExists,
    WrongIdentity,
)

from .conftest import Answer

Lying = Callable[[Answer], Ipfs]
MOST = 1 << 30


def tree(files: dict[str, bytes], **more: bytes) -> tuple[str, list[bytes]]:
    """A tree as it lies on IPFS: its CID and its blocks. more: what lies in the folder of chunks beside them."""
    named = {name: block for name, block in {**files, **more}.items() if name != "index"}
    data = folder_of(*(link(raw(block), name, len(block)) for name, block in sorted(named.items())))
    root = folder_of(link(node(data), "data", 0), link(raw(files["index"]), "index", len(files["index"])))
    return cid_from_bytes(node(root)), [root, data, files["index"], *named.values()]


def sealed(*rows: list[Any], chunk: bytes = b"0123", key: bytes = KEY) -> dict[str, bytes]:
    """What whoever has the key may seal: an index of these rows, and one chunk."""
    block = TreeSeal(key).seal(chunk, b"chunk")
    digest = hashlib.sha256(block).hexdigest()
    index = TreeSeal(key).seal(index_of(*rows, chunks=[digest]), b"index")
    return {"index": index, digest: block}


async def both(
    ipfs: Ipfs, cid: str, folder: Path, error: type[Exception], key: bytes = KEY, most: int = MOST
) -> None:
    """It is neither kept nor unpacked, and nothing stays of the attempt."""
    with pytest.raises(error):
        await ipfs.check_tree(cid, key, most, timeout=patient(2))
    with pytest.raises(error):
        await ipfs.fetch_tree(cid, key, folder / "out", most, timeout=patient(2))
    assert found(folder) == []


@pytest.fixture
def made(tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    (folder / "deep/er").mkdir(parents=True)
    (folder / "deep/er/weights").write_bytes(os.urandom(3 << 20))
    (folder / "deep/latest").symlink_to("er/weights")
    (folder / "state").write_bytes(b"step 7")
    (folder / "empty").touch()
    return folder


async def test_it_comes_back_as_it_went(publisher: Ipfs, fetcher: Ipfs, made: Path, tmp_path: Path) -> None:
    root = os.open(made, os.O_RDONLY | os.O_DIRECTORY)
    cid = await publisher.add_stream(TreePack(KEY).parts(root))
    os.close(root)
    size = (3 << 20) + 6
    await fetcher.check_tree(cid, KEY, size)
    with pytest.raises(DatasetTooLarge):
        await fetcher.check_tree(cid, KEY, size - 1)
    with pytest.raises(WrongIdentity):
        await fetcher.check_tree(cid, OTHER, size)
    (tmp_path / "out").mkdir()
    fetched = await fetcher.fetch_tree(cid, KEY, tmp_path / "out", size)
    assert (fetched.size, fetched.files, fetched.left_out) == (size, 3, 0)
    assert look(tmp_path / "out") == look(made)
    with pytest.raises(DestinationExists):
        await fetcher.fetch_tree(cid, KEY, tmp_path / "out", size)
    await fetcher.weigh(cid, size + (1 << 20))
    with pytest.raises(DatasetTooLarge):
        await fetcher.weigh(cid, size)


OUTSIDE = ["/etc/passwd", "..", "../x", "d/../../x", "../../../../root/.ssh", "d/.."]


@pytest.mark.parametrize("target", OUTSIDE)
async def test_a_link_that_leads_out_is_left_out(lying: Lying, tmp_path: Path, target: str) -> None:
    cid, blocks = tree(sealed(ROW, [*LINK[:7], target]))
    fetched = await lying(serving(*blocks)).fetch_tree(cid, KEY, tmp_path / "out", MOST)
    assert fetched.left_out == 1
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["f"]


async def test_nothing_is_written_through_a_link(lying: Lying, tmp_path: Path) -> None:
    """A link, and then an entry below it, or in its place."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "work").mkdir()
    rows = ([-1, "l", *LINK[2:7], "."], [0, *ROW[1:]])
    cid, blocks = tree(sealed(*rows))
    await both(lying(serving(*blocks)), cid, tmp_path / "work", DatasetCorrupt)
    twice = tree(sealed([-1, "f", *LINK[2:7], "g"], ROW))
    await both(lying(serving(*twice[1])), twice[0], tmp_path / "work", DatasetCorrupt)


async def test_what_has_rights_of_others_has_its_callers(lying: Lying, tmp_path: Path) -> None:
    """A file that root owns, that nobody may read, with the bit that runs it as its owner; a folder like it."""
    shut = [-1, "d", 0, 0o1000, 0, 0, 0, -1]
    cid, blocks = tree(sealed(shut, [0, "f", 1, 0o6000, 12_345, 12_345, 0, ROW[7]]))
    await lying(serving(*blocks)).fetch_tree(cid, KEY, tmp_path / "out", MOST)
    status = (tmp_path / "out/d/f").stat()
    assert (status.st_uid, status.st_mode & 0o7777) == (os.getuid(), 0o600)
    assert (tmp_path / "out/d").stat().st_mode & 0o7777 == 0o700


HOSTILE: dict[str, tuple[dict[str, bytes], type[Exception]]] = {
    "another key": (sealed(ROW, key=OTHER), WrongIdentity),
    "a chunk under another key": (
        {"index": TreeSeal(KEY).seal(index_of(ROW, chunks=[hashlib.sha256(b"x").hexdigest()]), b"index"),
         hashlib.sha256(b"x").hexdigest(): b"x"}, WrongIdentity,
    ),
    "a chunk that is shorter than it says": (sealed([*ROW[:7], [9, [[0, 9, 0, 0]]]]), DatasetCorrupt),
    "a name that leads out": (sealed([-1, "../f", *ROW[2:]]), DatasetCorrupt),
    "a chunk named twice": (
        {"index": TreeSeal(KEY).seal(index_of(FOLDER, chunks=["00" * 32] * 2), b"index")}, DatasetCorrupt,
    ),
    "a chunk that nobody has": (
        {"index": TreeSeal(KEY).seal(index_of(ROW, chunks=["11" * 32]), b"index")}, DatasetError,
    ),
    "an index that is none": ({"index": TreeSeal(KEY).seal(b"[]", b"index")}, DatasetCorrupt),
}  # fmt: skip


@pytest.mark.parametrize(("files", "error"), HOSTILE.values(), ids=HOSTILE)
async def test_what_its_machine_has_made_of_it_is_refused(
    lying: Lying, tmp_path: Path, files: dict[str, bytes], error: type[Exception]
) -> None:
    cid, blocks = tree(files)
    (tmp_path / "work").mkdir()
    await both(lying(serving(*blocks)), cid, tmp_path / "work", error)


async def test_what_is_fetchable_and_no_checkpoint_is_refused(lying: Lying, tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    named = folder_of(link(raw(b"hello"), "index", 5))
    file = file_of([5], link(raw(b"hello"), "", 5))
    for root in (b"hello", EMPTY_FOLDER, named, file):
        cid = cid_from_bytes((raw if root == b"hello" else node)(root))
        await both(lying(serving(root, b"hello")), cid, tmp_path / "work", DatasetCorrupt)


async def test_what_lies_beside_its_chunks_is_not_kept_along(lying: Lying) -> None:
    """Whoever keeps a CID keeps all below it: gigabytes that no index names."""
    cid, blocks = tree(sealed(ROW), more=b"of somebody else's")
    with pytest.raises(DatasetCorrupt):
        await lying(serving(*blocks)).check_tree(cid, KEY, MOST)


async def test_many_parts_of_one_chunk_are_counted_as_what_they_come_to(lying: Lying, tmp_path: Path) -> None:
    rows = [[-1, f"f{number}", *ROW[2:]] for number in range(100)]
    cid, blocks = tree(sealed(*rows))
    (tmp_path / "work").mkdir()
    await both(lying(serving(*blocks)), cid, tmp_path / "work", DatasetTooLarge, most=399)
    await lying(serving(*blocks)).check_tree(cid, KEY, 400)


async def test_an_index_of_blocks_without_end_is_not_read(lying: Lying, tmp_path: Path) -> None:
    """Sixty-four levels of a file of no bytes, each of which names the one below it a thousand times."""
    blocks = [file_of([])]
    for _ in range(3):
        blocks.append(file_of([0] * 1_000, *[link(node(blocks[-1]), "", 0)] * 1_000))
    root = folder_of(link(node(EMPTY_FOLDER), "data", 0), link(node(blocks[-1]), "index", 0))
    ipfs, cid = lying(serving(root, EMPTY_FOLDER, *blocks)), cid_from_bytes(node(root))
    with pytest.raises(DatasetTooLarge):
        await ipfs.weigh(cid, 1 << 18)


async def test_one_that_nobody_has_leaves_nothing_behind(lying: Lying, tmp_path: Path) -> None:
    cid, _ = tree(sealed(ROW))
    (tmp_path / "work").mkdir()
    await both(lying(serving()), cid, tmp_path / "work", DatasetUnavailable)

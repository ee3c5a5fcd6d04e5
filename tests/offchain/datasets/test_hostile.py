"""What a stranger may publish, and what a node may claim, to get out of the folder or to pass off other bytes."""

import asyncio
import hashlib
import io
import os
import stat
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from devnet.kubo import Kubo
from leasehold.chain import cid_from_bytes, cid_of_digest
from leasehold.datasets import (
    FilePart,
    FolderPart,
    Ipfs,
    LinkPart,
    encrypt,
    new_identity,
    recipient_of,
)
from leasehold.errors import (
    DatasetCorrupt,
    DatasetError,
    DatasetTooLarge,
    DatasetUnavailable,
    DatasetUnsafe,
    IpfsError,
    IpfsUnreachable,
    LeaseholdError,
    SealBroken,
)

from .conftest import Answer, snapshot

Lying = Callable[[Answer], Ipfs]
KEY = new_identity()
HELLO = hashlib.sha256(b"hello").digest()
EMPTY_FOLDER = b"\x0a\x02\x08\x01"


def found(root: Path) -> list[str]:
    """The names of everything below."""
    return [path.name for path in root.rglob("*")]


# ------------------------------------------------------------------------------------------- blocks made by hand


def varint(number: int) -> bytes:
    encoded = b""
    while number > 0x7F:
        encoded += bytes((number & 0x7F | 0x80,))
        number >>= 7
    return encoded + bytes((number,))


def field(number: int, content: bytes) -> bytes:
    return bytes((number << 3 | 2,)) + varint(len(content)) + content


def raw(content: bytes) -> bytes:
    return b"\x01\x55\x12\x20" + hashlib.sha256(content).digest()


def node(block: bytes) -> bytes:
    return b"\x01\x70\x12\x20" + hashlib.sha256(block).digest()


def link(cid: bytes, name: str, size: int) -> bytes:
    return field(2, field(1, cid) + field(2, name.encode()) + b"\x18" + varint(size))


def folder_of(*links: bytes) -> bytes:
    return b"".join(links) + field(1, b"\x08\x01")


def file_of(sizes: list[int], *links: bytes, size: int | None = None) -> bytes:
    total = sum(sizes) if size is None else size
    return b"".join(links) + field(
        1, b"\x08\x02\x18" + varint(total) + b"".join(b"\x20" + varint(s) for s in sizes)
    )


def serving(*blocks: bytes) -> Answer:
    """A node that has exactly these blocks and can only give blocks."""
    held = {cid_from_bytes(kind(block)): block for block in blocks for kind in (raw, node)}

    def answer(command: str, query: dict[str, str]) -> tuple[int, bytes]:
        if command == "block/get" and query["arg"] in held:
            return 200, held[query["arg"]]
        return 500, b'{"Message":"block was not found locally (offline)"}'

    return answer


async def fetch_root(lying: Lying, root: bytes, *blocks: bytes, dest: Path, **options: int) -> None:
    await lying(serving(root, *blocks)).fetch(cid_from_bytes(node(root)), dest, **options)  # type: ignore[arg-type]  # max_bytes


# ------------------------------------------------------------------------------------------------ hostile publishers


@pytest.mark.parametrize("name", ["..", ".", "", "a/b", "/etc/x", "../x", "a\0b", "x" * 256])
async def test_names_that_leave_the_folder(lying: Lying, tmp_path: Path, name: str) -> None:
    root = folder_of(link(raw(b"hello"), name, 5))
    with pytest.raises(DatasetUnsafe):
        await fetch_root(lying, root, b"hello", dest=tmp_path / "in" / "copy")
    assert set(found(tmp_path)) <= {"in", "copy"}


async def test_one_name_twice(lying: Lying, tmp_path: Path) -> None:
    root = folder_of(link(raw(b"hello"), "x", 5), link(raw(b"other"), "x", 5))
    with pytest.raises(DatasetUnsafe, match="cannot be a file's name"):
        await fetch_root(lying, root, b"hello", b"other", dest=tmp_path / "copy")


@pytest.mark.parametrize("target", ["/etc", "..", "../..", "d/../..", "./..", "", "x" * 5000])
async def test_links_out_of_the_folder(lying: Lying, tmp_path: Path, target: str) -> None:
    symlink = field(1, b"\x08\x04" + field(2, target.encode()))
    root = folder_of(link(node(symlink), "l", 9))
    with pytest.raises(DatasetUnsafe, match="leads out"):
        await fetch_root(lying, root, symlink, dest=tmp_path / "copy")


async def test_a_link_has_nothing_below_it(lying: Lying, tmp_path: Path) -> None:
    """A node that keeps the whole would fetch what nobody has looked at, of any size."""
    symlink = link(raw(b"hello"), "", 5) + field(1, b"\x08\x04" + field(2, b"x"))
    root = folder_of(link(node(symlink), "l", 9))
    with pytest.raises(DatasetCorrupt, match="a link has no parts"):
        await fetch_root(lying, root, symlink, dest=tmp_path / "copy")


async def test_nothing_is_written_through_what_was_there_before(lying: Lying, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "precious").write_text("mine")
    inner = folder_of(link(raw(b"hello"), "precious", 5))
    root = folder_of(link(node(inner), "d", 9))
    copy = tmp_path / "copy"
    copy.mkdir()
    (copy / "d").symlink_to(outside)
    with pytest.raises(DatasetUnsafe, match="no folder"):
        await fetch_root(lying, root, inner, b"hello", dest=copy)
    (copy / "d").unlink()
    (copy / "d").mkdir()
    (copy / "d/precious").symlink_to(outside / "precious")
    with pytest.raises(DatasetUnsafe, match="in its place"):
        await fetch_root(lying, root, inner, b"hello", dest=copy)
    (copy / "d/precious").unlink()
    os.link(outside / "precious", copy / "d/precious")
    with pytest.raises(DatasetUnsafe, match="in its place"):
        await fetch_root(lying, root, inner, b"hello", dest=copy)
    assert (outside / "precious").read_text() == "mine"


async def test_a_size_that_is_a_lie(lying: Lying, tmp_path: Path) -> None:
    """The folder says 1 byte; the limit holds for what comes."""
    content = bytes(range(256)) * 40
    root = folder_of(*(link(raw(content), f"{n}", 1) for n in range(10)))
    with pytest.raises(DatasetTooLarge):
        await fetch_root(lying, root, content, dest=tmp_path / "copy", max_bytes=15_000)


async def test_a_tree_without_end(lying: Lying, tmp_path: Path) -> None:
    blocks = [EMPTY_FOLDER]
    for _ in range(200):
        blocks.append(folder_of(link(node(blocks[-1]), "d", 1)))
    with pytest.raises(DatasetUnsafe, match=r"too long|without end"):
        await fetch_root(lying, blocks[-1], *blocks, dest=tmp_path / "copy")
    shard = b"\x08\x05"
    shards = [field(1, shard)]
    for _ in range(100):
        shards.append(link(node(shards[-1]), "00", 1) + field(1, shard))
    with pytest.raises(DatasetUnsafe, match="without end"):
        await fetch_root(lying, shards[-1], *shards, dest=tmp_path / "copy")
    wide = [field(1, shard)]  # 16 ** 9 shards in ten blocks
    for _ in range(9):
        wide.append(b"".join(link(node(wide[-1]), f"{n:02X}", 1) for n in range(16)) + field(1, shard))
    with pytest.raises(DatasetUnsafe, match="without end"):
        await fetch_root(lying, wide[-1], *wide, dest=tmp_path / "copy")
    leaf = field(1, b"\x08\x02" + field(2, b"x") + b"\x18\x01")
    files = [leaf]
    for _ in range(100):
        files.append(file_of([1], link(node(files[-1]), "", 1)))
    with pytest.raises(DatasetCorrupt, match="deeper"):
        await fetch_root(lying, files[-1], *files, dest=tmp_path / "copy")


@pytest.mark.parametrize(
    "root",
    [
        b"\xff\xff",
        b"\x0a\xff\x01",
        b"\x0b",
        field(1, b"\x08\x09"),
        field(1, b"\x08" + b"\xff" * 11),
        field(2, field(1, b"\x01\x71\x12\x20" + bytes(32))) + field(1, b"\x08\x01"),
        field(2, field(1, b"\x01\x55\x12\x20" + bytes(3))) + field(1, b"\x08\x01"),
        field(2, field(1, b"")) + field(1, b"\x08\x01"),
        link(raw(b"hello"), "", 5) + field(1, b"\x08\x02"),
        file_of([5], link(raw(b"hello"), "", 5), size=6),
        file_of([3 * 1024 * 1024], link(raw(b"hello"), "", 5)),
        folder_of(
            link(raw(b"hello"), "\udc80".encode("utf-8", "surrogatepass").decode("utf-8", "replace"), 5)
        )
        + b"\x0d\x01",
    ],
)
async def test_blocks_that_make_no_sense(lying: Lying, tmp_path: Path, root: bytes) -> None:
    with pytest.raises(DatasetCorrupt):
        await fetch_root(lying, root, b"hello", dest=tmp_path / "copy")


async def test_parts_that_contradict_their_parent(lying: Lying, tmp_path: Path) -> None:
    leaf = field(1, b"\x08\x02" + field(2, b"abc") + b"\x18\x03")
    for root, blocks in (
        (file_of([4], link(node(leaf), "", 4)), [leaf]),
        (file_of([4], link(node(EMPTY_FOLDER), "", 4)), [EMPTY_FOLDER]),
        (link(node(leaf), "00", 1) + field(1, b"\x08\x05"), [leaf]),
        (folder_of(link(node(field(1, b"\x08\x03")), "m", 1)), [field(1, b"\x08\x03")]),
    ):
        with pytest.raises((DatasetCorrupt, DatasetUnsafe)):
            await fetch_root(lying, root, *blocks, dest=tmp_path / "copy")


async def test_what_is_known_without_asking(lying: Lying, tmp_path: Path) -> None:
    """Contents inside CIDs, and inside inner nodes."""
    inline = b"\x01\x55\x00\x05hello"
    mixed = link(inline, "", 5) + field(1, b"\x08\x02" + field(2, b"abc") + b"\x18\x08\x20\x05")
    root = folder_of(link(inline, "a", 5), link(node(mixed), "b", 8))
    await fetch_root(lying, root, mixed, dest=tmp_path / "copy")
    assert snapshot(tmp_path / "copy") == {"a": b"hello", "b": b"abchello"}
    assert await lying(serving(mixed)).read_file(cid_from_bytes(node(mixed)), 8) == b"abchello"


# ------------------------------------------------------------------------------------------------------ lying nodes


async def test_a_node_that_swaps_blocks_is_caught(lying: Lying, tmp_path: Path) -> None:
    ipfs = lying(lambda command, query: (200, b"something else"))
    with pytest.raises(DatasetCorrupt, match="another hash"):
        await ipfs.get_block(cid_of_digest(HELLO))
    with pytest.raises(DatasetCorrupt, match="another hash"):
        await ipfs.fetch(cid_of_digest(HELLO), tmp_path / "copy")
    with pytest.raises(DatasetCorrupt, match="larger than blocks"):
        await lying(lambda *_: (200, bytes(2 * 1024 * 1024 + 1))).get_block(cid_of_digest(HELLO))


@pytest.mark.parametrize("lie", ["swapped", "short"])
async def test_a_node_that_swaps_contents_is_caught(lying: Lying, tmp_path: Path, lie: str) -> None:
    """It gives the right tree, and with `cat` other bytes; of an honest block it does not have enough."""
    parts = [b"a" * 1000, b"b" * 1000]
    root = file_of([1000, 1000], *(link(raw(part), "", 1000) for part in parts))
    honest = serving(root)

    def answer(command: str, query: dict[str, str]) -> tuple[int, bytes]:
        if command == "cat":
            return 200, b"a" * 1000 + (b"x" * 1000 if lie == "swapped" else b"b")
        return honest(command, query)

    with pytest.raises(
        DatasetUnavailable
    ):  # the second part is not to be had, and what came is not taken for it
        await lying(answer).fetch(cid_from_bytes(node(root)), tmp_path / "copy")
    assert all(b"x" not in copy for copy in snapshot(tmp_path / "copy").values() if isinstance(copy, bytes))


async def test_a_node_that_refuses(lying: Lying, tmp_path: Path) -> None:
    cases: list[tuple[bytes, type[LeaseholdError]]] = [
        (b'{"Message":"context deadline exceeded"}', DatasetUnavailable),
        (b'{"Message":"disk on fire"}', IpfsError),
        (b"<html>", IpfsError),
    ]
    source = tmp_path / "source"
    source.mkdir()
    for body, error in cases:
        ipfs = lying(lambda command, query, body=body: (500, body))  # type: ignore[misc]  # bound at once
        with pytest.raises(error):
            await ipfs.get_block(cid_of_digest(HELLO))
        with pytest.raises(IpfsError):
            await ipfs.id()
        with pytest.raises(IpfsError):
            await ipfs.add_folder(source)


@pytest.mark.parametrize(
    "head", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhel"], ids=["mute", "halfway"]
)
async def test_a_node_that_ends_in_mid_stream_says_nothing_of_the_data(head: bytes, tmp_path: Path) -> None:
    """Nobody knows then who has it: whoever waits for it asks again."""

    async def breaks_off(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(head)
        writer.close()

    server = await asyncio.start_server(breaks_off, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Ipfs(f"/ip4/127.0.0.1/tcp/{port}", timeout=5) as ipfs:
        with pytest.raises(IpfsUnreachable):
            await ipfs.get_block(cid_of_digest(HELLO))
        with pytest.raises(IpfsUnreachable):
            await ipfs.fetch(cid_of_digest(HELLO), tmp_path / "copy")


@pytest.mark.slow
async def test_a_node_that_hangs_says_nothing_of_the_data_either(tmp_path: Path) -> None:
    async def hangs(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    server = await asyncio.start_server(hangs, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with server, Ipfs(f"/ip4/127.0.0.1/tcp/{port}", timeout=5) as ipfs:
        with pytest.raises(IpfsUnreachable):
            await ipfs.get_block(cid_of_digest(HELLO), 0.2)


async def test_a_node_that_stores_something_else(lying: Lying, tmp_path: Path) -> None:
    (tmp_path / "source").mkdir()
    with pytest.raises(IpfsError, match="calls the block bafk"):
        await lying(lambda *_: (200, b'{"Key":"bafk","Size":1}\n')).put_block(b"x")
    with pytest.raises(IpfsError, match="did not say"):
        await lying(lambda *_: (200, b'{"Name":"dataset/x","Hash":"bafy"}\n')).add_folder(tmp_path / "source")
    with pytest.raises(IpfsError, match="repo is locked"):
        await lying(lambda *_: (200, b'{"Message":"repo is locked"}\n')).add_folder(tmp_path / "source")
    with pytest.raises(IpfsError, match="no space"):
        await lying(keeping_empty_blocks(b'{"Message":"no space"}\n')).pin(cid_of_digest(HELLO))


def keeping_empty_blocks(pinned: bytes) -> Answer:
    """A node that takes the block which a pin puts first, and then answers `pinned`."""
    kept = b'{"Key":"%s"}\n' % cid_of_digest(hashlib.sha256(b"").digest()).encode()
    return lambda command, query: (200, kept if command == "block/put" else pinned)


async def test_pinning_that_stands_still(lying: Lying) -> None:
    with pytest.raises(DatasetUnavailable):
        await lying(keeping_empty_blocks(b'{"Progress":1}\n' * 3)).pin(cid_of_digest(HELLO), timeout=0.0001)


async def test_unpinning_that_is_refused(lying: Lying) -> None:
    with pytest.raises(IpfsError, match="locked"):
        await lying(lambda *_: (500, b'{"Message":"repo is locked"}')).unpin(cid_of_digest(HELLO))


# --------------------------------------------------------------------------------------------------- hostile archives


def archive(*members: tuple[tarfile.TarInfo, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for info, content in members:
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


@pytest.mark.parametrize(
    ("info", "error"),
    [
        (member("../x"), DatasetUnsafe),
        (member("/etc/x"), DatasetUnsafe),
        (member("a/../../x"), DatasetUnsafe),
        (member("l", tarfile.SYMTYPE, "/etc"), DatasetUnsafe),
        (member("l", tarfile.SYMTYPE, "../x"), DatasetUnsafe),
        (member("l", tarfile.LNKTYPE, "other"), DatasetUnsafe),
        (member("d", tarfile.CHRTYPE), DatasetUnsafe),
        (member("d", tarfile.FIFOTYPE), DatasetUnsafe),
    ],
)
async def test_archives_that_leave_the_folder(
    publisher: Ipfs, tmp_path: Path, info: tarfile.TarInfo, error: type[Exception]
) -> None:
    sealed = encrypt(archive((member("fine"), b"fine"), (info, b"")), [recipient_of(KEY)])
    cid = await publisher.put_block(sealed)
    with pytest.raises(error):
        await publisher.fetch(cid, tmp_path / "in" / "copy", key=KEY)
    assert set(found(tmp_path)) <= {"in", "copy", "fine"}


async def test_links_are_made_last(publisher: Ipfs, tmp_path: Path) -> None:
    """A link, then a file through it: the file goes where it says, or nowhere."""
    content = archive(
        (member("l", tarfile.SYMTYPE, "d"), b""), (member("d", tarfile.DIRTYPE), b""), (member("l/x"), b"x")
    )
    cid = await publisher.put_block(encrypt(content, [recipient_of(KEY)]))
    with pytest.raises(DatasetUnsafe, match="in its place"):
        await publisher.fetch(cid, tmp_path / "copy", key=KEY)
    assert not (tmp_path / "copy/d/x").exists()


async def test_archives_that_are_none(publisher: Ipfs, tmp_path: Path) -> None:
    bomb = tarfile.TarInfo("x")
    bomb.type, bomb.size = tarfile.XHDTYPE, 1 << 40
    for content in (
        b"no archive, but long enough to look like one" * 20,
        bomb.tobuf(),
        b"",
        archive((member("x"), b"x" * 600))[:700],
    ):
        cid = await publisher.put_block(encrypt(content, [recipient_of(KEY)]))
        with pytest.raises(DatasetError):
            await publisher.fetch(cid, tmp_path / "copy", key=KEY)
    sealed = encrypt(archive((member("x"), bytes(100_000))), [recipient_of(KEY)])
    with pytest.raises(SealBroken):
        await publisher.fetch(await publisher.put_block(sealed[:-1000]), tmp_path / "copy", key=KEY)


async def test_set_uid_bits_do_not_survive(publisher: Ipfs, tmp_path: Path) -> None:
    info = member("x")
    info.mode = 0o6777
    cid = await publisher.put_block(encrypt(archive((info, b"x")), [recipient_of(KEY)]))
    await publisher.fetch(cid, tmp_path / "copy", key=KEY)
    assert stat.S_IMODE((tmp_path / "copy/x").stat().st_mode) == 0o755


async def test_files_cannot_forge_parts_of_a_body(
    publisher: Ipfs, tmp_path: Path, publisher_node: Kubo
) -> None:
    """A file that looks like the rest of a body stays a file: nobody can know the boundary beforehand."""
    forged = b"\r\n--leasehold-\r\nContent-Disposition: form-data; filename=evil\r\n\r\nevil\r\n"
    cid = await publisher.add_stream(
        [FolderPart("r"), FilePart("r/a", [forged, forged]), LinkPart("r/b", "a")]
    )
    await publisher.fetch(cid, tmp_path / "copy")
    assert snapshot(tmp_path / "copy") == {"a": forged * 2, "b": "-> a"}

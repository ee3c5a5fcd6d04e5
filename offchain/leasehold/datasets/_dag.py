"""Reads files and folders out of IPFS and believes nothing: every byte is checked against the CID it hangs from."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from leasehold.datasets._node import Cancellation, IpfsNode, fill
from leasehold.datasets._unixfs import MAX_BLOCK, RAW, Cid, Link, NodeKind, UnixNode, leaf_block, parse_node
from leasehold.errors import DatasetCorrupt, DatasetTooLarge, DatasetUnavailable, DatasetUnsafe

_MAX_DEPTH: Final = 64
_EMPTY_SHARDS: Final = 256
_SPAN: Final = 16 * 1024 * 1024
_LEAST_BLOCK: Final = 512
"""What one counts at least: asking for it takes as long as for some bytes more."""
_SHARD_PREFIX: Final = 2  # a folder of many entries is a tree by hash, its links named with two more letters


@dataclass(frozen=True, slots=True)
class Leaf:
    """A piece of a file: where it lies, how long it is, what it is called, and its bytes where they are known.

    `wrapped` is the node type of a leaf whose block is dag-pb around the bytes, None for a raw one.
    """

    offset: int
    size: int
    cid: Cid
    data: bytes | None = None
    wrapped: NodeKind | None = None

    def accepts(self, content: memoryview) -> bool:
        """Whether `content` is this leaf's bytes."""
        if self.data is not None:
            return self.data == content
        if len(content) != self.size:
            return False
        if self.wrapped is None:
            return self.cid.matches(content)
        return self.cid.matches(leaf_block(self.wrapped, content))


class _Shards:
    """Each shard of a folder leads to an entry at least: those without any are there to be read for ever."""

    def __init__(self) -> None:
        self._left = _EMPTY_SHARDS

    def shard(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise DatasetUnsafe("", "its folders are sharded without end")

    def entry(self) -> None:
        self._left += _MAX_DEPTH


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a folder: its path from the root, its node's CID, the size that the publisher says."""

    path: str
    cid: Cid
    size: int


class Dag:
    """Reads through one node. `timeout`: seconds without a byte after which nobody is taken to have it."""

    def __init__(self, node: IpfsNode, timeout: float, cancellation: Cancellation) -> None:
        self._node = node
        self._timeout = timeout
        self._cancellation = cancellation

    def node(self, cid: Cid) -> UnixNode:
        """The UnixFS node that `cid` names. Raises DatasetUnavailable, DatasetCorrupt, IpfsUnreachable."""
        return parse_node(cid, self._node.block(cid, self._timeout, self._cancellation))

    def weigh(self, cid: Cid, most: int, *, leaves: bool = True) -> set[str]:
        """Reads and counts every block below `cid`, as often as it is named; the CIDs of those that are raw, which are
        only named where `leaves` is false.

        Raises DatasetTooLarge over `most` bytes, DatasetUnavailable, DatasetCorrupt, IpfsUnreachable.
        """
        raw, waiting, size = set[str](), [cid], 0
        while waiting:
            self._cancellation.check()
            named = waiting.pop()
            if named.codec == RAW:
                raw.add(named.text)
                if not leaves:
                    continue
            block = self._node.block(named, self._timeout, self._cancellation)
            size += max(len(block), _LEAST_BLOCK)
            if size > most:
                raise DatasetTooLarge(f"What lies below {cid.text}", size, most)
            if named.codec != RAW:
                waiting += [link.cid for link in parse_node(named, block).links]
        return raw

    def below(self, chain: Sequence[Cid], cids: Sequence[Cid]) -> list[bytes]:
        """The blocks of `cids`, which hang from the last of `chain`, each of which hangs from the one before.

        Raises DatasetCorrupt where one does not, DatasetUnavailable, IpfsUnreachable.
        """
        hanging = [chain[0]]
        for cid in chain:
            if cid not in hanging:
                raise DatasetCorrupt(cid.text, "it does not hang there")
            hanging = [link.cid for link in self.node(cid).links]
        if strange := [cid for cid in cids if cid not in hanging]:
            raise DatasetCorrupt(strange[0].text, "it does not hang there")
        return [self._node.block(cid, self._timeout, self._cancellation) for cid in cids]

    # ---------------------------------------------------------------------------------------------- folders

    def entries(self, folder: UnixNode, path: str) -> Iterator[Item]:
        """What is in a folder, sharded or not.

        Raises DatasetUnsafe for a name that is no file name or is there twice.
        """
        seen: set[str] = set()
        for link in self._links(folder, 0, _Shards()):
            name = link.name
            if name in ("", ".", "..") or "/" in name or "\0" in name or name in seen:
                raise DatasetUnsafe(f"{path}/{name}".lstrip("/"), "its name cannot be a file's name here")
            seen.add(name)
            yield Item(f"{path}/{name}".lstrip("/"), link.cid, link.size)

    def _links(self, folder: UnixNode, depth: int, shards: "_Shards") -> Iterator[Link]:
        if depth > _MAX_DEPTH:
            raise DatasetUnsafe("", "its folders are sharded without end")
        for link in folder.links:
            if folder.kind is NodeKind.DIRECTORY:
                yield link
            elif len(link.name) > _SHARD_PREFIX:
                shards.entry()
                yield Link(link.cid, link.name[_SHARD_PREFIX:], link.size)
            else:
                shard = self.node(link.cid)
                if shard.kind is not NodeKind.HAMT:
                    raise DatasetCorrupt(link.cid.text, "it is no part of a sharded folder")
                shards.shard()
                yield from self._links(shard, depth + 1, shards)

    # ------------------------------------------------------------------------------------------------ files

    def leaves(self, cid: Cid, node: UnixNode) -> Iterator[Leaf]:
        """A file's leaves in order. Reads its inner nodes as they are needed, so that memory does not grow with it.

        Raises DatasetCorrupt where sizes or kinds contradict one another.
        """
        yield from self._leaves(cid, node, 0, 0)

    def _leaves(self, cid: Cid, node: UnixNode, offset: int, depth: int) -> Iterator[Leaf]:
        if depth > _MAX_DEPTH:
            raise DatasetCorrupt(cid.text, "its tree is deeper than any file needs")
        if node.kind not in (NodeKind.FILE, NodeKind.RAW):
            raise DatasetCorrupt(cid.text, "a part of a file is no file")
        if not node.links:
            raw = cid.codec == RAW
            yield Leaf(offset, node.size, cid, node.data, None if raw else node.kind)
            return
        if node.data:
            yield Leaf(offset, len(node.data), cid, node.data)
            offset += len(node.data)
        pattern: NodeKind | None = None
        usual = 0
        for link, size in zip(node.links, node.sizes, strict=True):
            if link.cid.codec == RAW or (pattern is not None and size <= usual):
                if size > MAX_BLOCK:
                    raise DatasetCorrupt(link.cid.text, "a leaf is larger than a block can be")
                yield Leaf(
                    offset, size, link.cid, link.cid.inline if link.cid.codec == RAW else None, pattern
                )
            else:
                child = self.node(link.cid)
                if child.size != size:
                    raise DatasetCorrupt(link.cid.text, "its size is not what its parent says")
                yield from self._leaves(link.cid, child, offset, depth + 1)
                # Where one child is a leaf, its siblings most likely are; `_again` sees to the others.
                pattern, usual = (child.kind, size) if not child.links else (None, 0)
            offset += size

    def read(self, root: str, leaves: list[Leaf], buffer: memoryview) -> Iterator[tuple[Leaf, memoryview]]:
        """The bytes of leaves that follow one another in the file `root`, each checked. `buffer`: a block's size.

        Raises DatasetUnavailable, DatasetCorrupt, IpfsUnreachable.
        """
        first, last = leaves[0], leaves[-1]
        length = last.offset + last.size - first.offset
        span = {"offset": str(first.offset), "length": str(length)}
        with self._node.stream("cat", root, self._timeout, self._cancellation, **span) as source:
            for leaf in leaves:
                content = buffer[: leaf.size]
                if fill(source, content) < leaf.size:
                    raise DatasetUnavailable(root)
                self._cancellation.check()
                if not leaf.accepts(content):
                    content = self._again(leaf, buffer)
                yield leaf, content

    def together(self, items: list[Item], buffer: memoryview) -> Iterator[tuple[Item, memoryview]]:
        """The bytes of files of one raw block each, in one request, each checked; it ends before the first that is not
        what its CID says, as where each ends is only what the publisher says.
        """
        first, *others = (item.cid.text for item in items)
        # Half of the time: what does not come so is asked for singly, and whoever waits knows no more than one limit.
        stream = self._node.stream("cat", first, self._timeout / 2, self._cancellation, others=others)
        with stream as source:
            for item in items:
                content = buffer[: item.size]
                if fill(source, content) < item.size or not item.cid.matches(content):
                    return
                yield item, content

    def _again(self, leaf: Leaf, buffer: memoryview) -> memoryview:
        """A leaf that does not hash to its CID: it is not wrapped as supposed, is no leaf, or the node lies."""
        node = self.node(leaf.cid)
        if node.size != leaf.size:
            raise DatasetCorrupt(leaf.cid.text, "its size is not what its parent says")
        for part in self._leaves(leaf.cid, node, 0, 0):
            data = part.data if part.data is not None else self.node(part.cid).data
            if len(data) != part.size:
                raise DatasetCorrupt(part.cid.text, "its size is not what its parent says")
            buffer[part.offset : part.offset + part.size] = data
        return buffer[: leaf.size]


def spans(leaves: Iterator[Leaf]) -> Iterator[list[Leaf]]:
    """Runs of leaves without a gap, of about 16 MiB: what one request reads."""
    run: list[Leaf] = []
    size = 0
    for leaf in leaves:
        gap = run and leaf.offset != run[-1].offset + run[-1].size
        if run and (gap or size + leaf.size > _SPAN):
            yield run
            run, size = [], 0
        run.append(leaf)
        size += leaf.size
    if run:
        yield run

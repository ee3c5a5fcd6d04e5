"""Data over IPFS: add, pin, fetch, verify; and the age format that seals it.

async with Ipfs("/ip4/127.0.0.1/tcp/5001") as ipfs:
    dataset = await ipfs.add_folder(Path("digits"), encrypt=True)
    await ipfs.fetch(dataset.cid, Path("copy"), key=dataset.key)
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.datasets._age import (
        check_identity,
        check_recipient,
        decrypt,
        decrypt_into,
        encrypt,
        encrypted,
        new_identity,
        recipient_of,
    )
    from leasehold.datasets._fetch import Fetched, Progress
    from leasehold.datasets._ipfs import Dataset, Ipfs, Listed, Peer, public_parts
    from leasehold.datasets._multipart import FilePart, FolderPart, LinkPart, Part
    from leasehold.datasets._pipe import piped
    from leasehold.datasets._sealed_tree import MAX_INDEX, TreeSeal, decode_index
    from leasehold.datasets._streams import Streams, parse_stream_address, stream_address
    from leasehold.datasets._tar import tar_stream, untar
    from leasehold.datasets._tree import Budget, TreeWriter
    from leasehold.datasets._tree_fetch import TreeFetched
    from leasehold.datasets._tree_pack import TreePack
    from leasehold.datasets._tree_state import STILL_SECONDS, tree_state
    from leasehold.datasets._tree_unpack import TreeUnpack
    from leasehold.datasets._walk import Entry, EntryKind, Walk, opened_below

__all__ = [
    "MAX_INDEX",
    "STILL_SECONDS",
    "Budget",
    "Dataset",
    "Entry",
    "EntryKind",
    "Fetched",
    "FilePart",
    "FolderPart",
    "Ipfs",
    "LinkPart",
    "Listed",
    "Part",
    "Peer",
    "Progress",
    "Streams",
    "TreeFetched",
    "TreePack",
    "TreeSeal",
    "TreeUnpack",
    "TreeWriter",
    "Walk",
    "check_identity",
    "check_recipient",
    "decode_index",
    "decrypt",
    "decrypt_into",
    "encrypt",
    "encrypted",
    "new_identity",
    "opened_below",
    "parse_stream_address",
    "piped",
    "public_parts",
    "recipient_of",
    "stream_address",
    "tar_stream",
    "tree_state",
    "untar",
]

_PARTS = {
    "_age": (
        "check_identity", "check_recipient", "decrypt", "decrypt_into", "encrypt", "encrypted",
        "new_identity", "recipient_of",
    ),
    "_fetch": ("Fetched", "Progress"),
    "_ipfs": ("Dataset", "Ipfs", "Listed", "Peer", "public_parts"),
    "_multipart": ("FilePart", "FolderPart", "LinkPart", "Part"),
    "_pipe": ("piped",),
    "_sealed_tree": ("MAX_INDEX", "TreeSeal", "decode_index"),
    "_streams": ("Streams", "parse_stream_address", "stream_address"),
    "_tar": ("tar_stream", "untar"),
    "_tree": ("Budget", "TreeWriter"),
    "_tree_fetch": ("TreeFetched",),
    "_tree_pack": ("TreePack",),
    "_tree_state": ("STILL_SECONDS", "tree_state"),
    "_tree_unpack": ("TreeUnpack",),
    "_walk": ("Entry", "EntryKind", "Walk", "opened_below"),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)

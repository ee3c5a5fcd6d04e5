"""Makes tests/vectors/datasets.json with the library: what a browser that seals data must come to, and can open.

    python tests/vectors/datasets.py [MULTIADDR]

What age seals is other bytes with each run, since it draws a key of its own; a run keeps those that are there. The CIDs
are those that a Kubo node gives with the options of `leasehold dataset add`: without the address of one, a run keeps
them. `tests/offchain/datasets/test_browser_vectors.py` holds most of them to a node, and not those of a GiB.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import repeat
from os import O_RDONLY, close
from os import open as opened
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from leasehold.datasets import Entry, FilePart, Ipfs, Walk, encrypt, recipient_of, tar_stream

FILE: Final = Path(__file__).with_suffix(".json")
IDENTITY: Final = "AGE-SECRET-KEY-1GQ9778VQXMMJVE8SK7J6VT8UJ4HDQAJUVSFCWCM02D8GEWQ72PVQ2Y5J33"  # of nobody
MIB: Final = 1 << 20

FOLDERS: Final[list[dict[str, str | None]]] = [
    {"one.txt": "one\n"},
    {"a": None, "a/b.txt": "deep", "a-b": "beside", "a.c": "", "z": None},
    {"grüße.txt": "ü", f"{'long' * 30}/{'name' * 20}": "long", "f" * 100: "exactly", "d" * 100: None},
    {"\U0001f600": "\U0001f600", "\uff21": "full width"},
]
"""Files by their paths; `None` is an empty folder."""


def pattern(size: int) -> bytes:
    """`size` bytes that no two pieces of a file have in common."""
    return b"".join(number.to_bytes(4, "big") for number in range(-(-size // 4)))[:size]


SIZES: Final = (1, MIB - 1, MIB, MIB + 1, 3 * MIB + 7)
LEAVES: Final = (1024, 1025)
"""Of a file of zeros: one node holds so many, and one more needs another level."""


@contextmanager
def folder_of(files: Mapping[str, str | None]) -> Iterator[Path]:
    with TemporaryDirectory() as place:
        for path, content in files.items():
            file = Path(place, path)
            (file if content is None else file.parent).mkdir(parents=True, exist_ok=True)
            if content is not None:
                file.write_bytes(content.encode())
        yield Path(place)


def archive_of(files: Mapping[str, str | None]) -> bytes:
    """As a dataset is packed before it is sealed."""
    with folder_of(files) as place:
        root = opened(place, O_RDONLY)
        try:
            return b"".join(tar_stream(_below(Walk(strict=True).below(root, "dataset"))))
        finally:
            close(root)


def _below(entries: Iterator[Entry]) -> Iterator[Entry]:
    for entry in entries:
        if path := entry.path.partition("/")[2]:
            yield Entry(path, entry.kind, entry.size, entry.executable, entry.target, entry.descriptor)


async def cids(api: str) -> dict[str, Any]:
    """What a node calls files of these sizes."""
    async with Ipfs(api) as ipfs:
        sizes = [
            {"size": size, "cid": await ipfs.add_stream([FilePart("dataset", [pattern(size)])], pin=False)}
            for size in SIZES
        ]
        zeros = [
            {
                "leaves": count,
                "cid": await ipfs.add_stream([FilePart("dataset", repeat(bytes(MIB), count))], pin=False),
            }
            for count in LEAVES
        ]
    return {"sizes": sizes, "zeros": zeros}


def document(kept: Mapping[str, Any], made: dict[str, Any] | None = None) -> dict[str, Any]:
    """The file's content. kept: what it was; made: the CIDs, by a node."""
    sealed = kept.get("sealed") or encrypt(archive_of(FOLDERS[1]), [recipient_of(IDENTITY)]).hex()
    return {
        "archives": [{"files": files, "tar": archive_of(files).hex()} for files in FOLDERS],
        "identity": IDENTITY,
        "sealed": sealed,
        "cids": made or kept.get("cids") or {},
    }


def text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=1, ensure_ascii=True) + "\n"


if __name__ == "__main__":
    before = json.loads(FILE.read_text()) if FILE.exists() else {}
    FILE.write_text(text(document(before, asyncio.run(cids(sys.argv[1])) if len(sys.argv) > 1 else None)))

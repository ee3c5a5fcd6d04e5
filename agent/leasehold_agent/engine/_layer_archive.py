"""An image of one layer, written to a file as the layer comes: nobody knows before its end how long it will be.

All that a container shows of its file system becomes the layer: nothing in it names another image's, or says that
anything is gone which lies beneath.
"""

from __future__ import annotations

import hashlib
import json
import os
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, Final

from leasehold_agent._errors import CommitFailed

_CHUNK: Final = 1 << 20
_LAYER: Final = "layer.tar"
_CONFIG: Final = "config.json"
_MANIFEST: Final = "manifest.json"
_BLOCK: Final = tarfile.BLOCKSIZE


class LayerArchive:
    """Written from the begin of `file`. most: bytes that the layer may have; `room`: that the disk has left.

    Its calls block for as long as the disk takes.
    """

    def __init__(self, file: BinaryIO, most: int, room: Callable[[], int]) -> None:
        self._file, self._most, self._room = file, most, room
        self._digest = hashlib.sha256()
        self.layer = 0
        self.size = 0
        file.write(bytes(_BLOCK))  # its header, once its length is known

    def write(self, data: bytes) -> None:
        """More of the layer. Raises CommitFailed: it is too much."""
        if self.layer + len(data) > self._most:
            raise CommitFailed(
                f"The container holds more than {self._most:,} bytes, the most that is made an image of here: files "
                "with holes count at their full length."
            )
        if self._room() < len(data):
            raise CommitFailed("This host's disk has no room for an image now.")
        self._file.write(data)
        self._digest.update(data)
        self.layer += len(data)

    @property
    def digest(self) -> str:
        """Of the layer so far, as an image's configuration writes it."""
        return f"sha256:{self._digest.hexdigest()}"

    def finish(self, config: bytes) -> None:
        """Close the archive. config: the image's configuration, which names the layer by its digest."""
        self._file.write(bytes(-self.layer % _BLOCK))
        self._add(_CONFIG, config)
        named = [{"Config": _CONFIG, "RepoTags": None, "Layers": [_LAYER]}]
        self._add(_MANIFEST, json.dumps(named).encode())
        self._file.write(bytes(2 * _BLOCK))
        self.size = self._file.tell()
        self._file.seek(0)
        self._file.write(_header(_LAYER, self.layer))
        self._file.flush()

    @property
    def path(self) -> Path:
        """Where this process can open it anew, though it has no name."""
        return Path(f"/proc/self/fd/{self._file.fileno()}")

    def chunks(self, read: Callable[[int], None]) -> Iterator[bytes]:
        """All of it. `read` hears of each chunk before it goes out, and may raise."""
        at = 0
        while chunk := os.pread(self._file.fileno(), _CHUNK, at):
            read(len(chunk))
            at += len(chunk)
            yield chunk

    def _add(self, name: str, data: bytes) -> None:
        self._file.write(_header(name, len(data)) + data + bytes(-len(data) % _BLOCK))


def _header(name: str, size: int) -> bytes:
    """One block, however long what follows is: as GNU writes it, and the engine reads it."""
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info.tobuf(tarfile.GNU_FORMAT)

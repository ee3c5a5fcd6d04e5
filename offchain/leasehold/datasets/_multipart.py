"""The body of `ipfs add`: files, folders and links as parts of one stream, whatever their size."""

import secrets
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from urllib.parse import quote


@dataclass(frozen=True, slots=True)
class FolderPart:
    """A folder, and by the paths of other parts what is in it."""

    path: str


@dataclass(frozen=True, slots=True)
class LinkPart:
    """A symbolic link."""

    path: str
    target: str


@dataclass(frozen=True, slots=True)
class FilePart:
    """A file, whose bytes are taken when its turn comes."""

    path: str
    chunks: Iterable[bytes]


Part = FolderPart | LinkPart | FilePart


class Multipart:
    """Builds one body. Its boundary is random, since what is added may be written by one who wants to forge parts."""

    def __init__(self) -> None:
        self._boundary = "leasehold-" + secrets.token_hex(24)

    @property
    def content_type(self) -> str:
        return f"multipart/form-data; boundary={self._boundary}"

    def body(self, parts: Iterable[Part]) -> Iterator[bytes]:
        for part in parts:
            if isinstance(part, FolderPart):
                yield self._head(part.path, "application/x-directory")
            elif isinstance(part, LinkPart):
                yield self._head(part.path, "application/symlink") + part.target.encode()
            else:
                yield self._head(part.path, "application/octet-stream")
                yield from part.chunks
            yield b"\r\n"
        yield f"--{self._boundary}--\r\n".encode()

    def _head(self, path: str, kind: str) -> bytes:
        return (
            f"--{self._boundary}\r\n"
            f'Content-Disposition: form-data; name="file"; filename="{quote(path, safe="")}"\r\n'
            f"Content-Type: {kind}\r\n\r\n"
        ).encode()

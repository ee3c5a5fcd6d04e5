"""What a stranger's image archive comes to, counted before the engine is given any of it.

The engine unpacks whatever it gets, as root, onto the disk that all leases share, and a kilobyte can say a gigabyte. So
an archive is read through first: every byte that comes out of its compression, every file in every layer, and a layer
as often as the manifest names it. Then it is written anew, with nothing in it but the one image's configuration and
layers: no names, which might be those of the host's own images, and nothing else that nobody has counted.

A layer that the engine has already it takes by the digest in the configuration, whatever the archive holds for it. So
each layer here has that digest, or an archive would give to whoever sends it what is in another's private image.
"""

from __future__ import annotations

import contextlib
import gzip
import hashlib
import io
import json
import posixpath
import tarfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Final, cast

from leasehold_agent._errors import EngineRefused, ImageTooLarge
from leasehold_agent.engine._oci_layout import INDEX, image_of_layout

_CHUNK: Final = 1 << 20
_MOST_MEMBERS, _MOST_FILES, _MOST_LAYERS, _MOST_LINKS = 10_000, 1_000_000, 128, 8
_MOST_JSON, _MOST_HEADER = 4 << 20, 64 << 10
_MOST_BLOB, _MOST_BLOBS = 64 << 10, 1_024
"""Bytes of a manifest in an OCI layout, and how many blobs that might be one are kept."""
_MANIFEST: Final = "manifest.json"
_GZIP: Final = b"\x1f\x8b"
_OTHERS: Final = {b"\x28\xb5\x2f\xfd": "zstd", b"\xfd7zXZ\0": "xz", b"BZh": "bzip2"}
_EXTENDED: Final = (
    tarfile.XHDTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)
_WRONG: Final = (
    tarfile.TarError,
    EOFError,
    OSError,
    zlib.error,
    ValueError,
    OverflowError,
    RecursionError,
    TypeError,
    LookupError,
    AttributeError,
)


@dataclass(frozen=True)
class Surveyed:
    """One image in an archive. `needs`: bytes that the engine needs for it, copied and unpacked. `config` and `layers`
    are places in the archive.
    """

    path: Path
    needs: int
    config: int
    layers: tuple[int, ...]
    sizes: dict[int, int] = field(hash=False)

    def stream(self) -> Iterator[bytes]:
        """The archive anew, in chunks."""
        wanted = {self.config, *self.layers}
        with _outer(self.path, lambda _: None) as archive:
            for place, member in enumerate(archive):
                if place in wanted:
                    yield _header(str(place), member.size)
                    yield from _content(archive, member)
                    yield bytes(-member.size % tarfile.BLOCKSIZE)
                archive.members = []  # type: ignore[attr-defined]  # tarfile keeps all headers; typeshed hides them
        named = [
            {"Config": str(self.config), "RepoTags": None, "Layers": [str(layer) for layer in self.layers]}
        ]
        manifest = json.dumps(named).encode()
        yield _header(_MANIFEST, len(manifest)) + manifest + bytes(-len(manifest) % tarfile.BLOCKSIZE)
        yield bytes(2 * tarfile.BLOCKSIZE)


def survey(path: Path, limit: int, given_up: Callable[[], bool] = lambda: False) -> Surveyed:
    """Look at all of an archive. Raises ImageTooLarge beyond `limit` bytes, EngineRefused for what is none,
    FileNotFoundError where there is no file.
    """
    if not path.is_file():
        raise FileNotFoundError(path)
    count = _Count(limit, given_up)
    contents = _Found()
    try:
        with _outer(path, count.spend) as archive:
            for place, member in enumerate(archive):
                if place >= _MOST_MEMBERS:
                    raise EngineRefused(f"the archive holds more than {_MOST_MEMBERS} files")
                contents.take(place, member, archive, count)
                archive.members = []  # type: ignore[attr-defined]  # tarfile keeps all headers; typeshed hides them
        return contents.image(path, count)
    except _WRONG as error:
        raise EngineRefused(
            f"it is neither as `docker save` writes it nor an OCI layout ({error})"
        ) from error


@dataclass
class _Count:
    """Bytes that have come out of an archive and its layers so far, and what they may come to."""

    limit: int
    given_up: Callable[[], bool]
    spent: int = 0

    def check(self, size: int) -> None:
        if size > self.limit:
            raise ImageTooLarge(self.limit)

    def spend(self, size: int) -> None:
        self.spent += size
        self.check(self.spent)
        if self.given_up():
            raise EngineRefused("nobody waits for it any more")


@dataclass
class _Found:
    """What an archive holds, by place and by name; a later file of one name is the one that counts."""

    places: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    unpacked: dict[int, int] = field(default_factory=dict)
    digests: dict[int, str] = field(default_factory=dict)
    files: int = 0
    manifest: bytes = b""
    index: bytes = b""
    blobs: dict[str, bytes] = field(default_factory=dict)

    def take(self, place: int, member: tarfile.TarInfo, archive: tarfile.TarFile, count: _Count) -> None:
        name = _plain(member.name)
        if member.issym() or member.islnk():
            start = posixpath.dirname(name) if member.issym() else ""
            self.links[name] = _plain(posixpath.join(start, member.linkname))
            self.places.pop(name, None)
            return
        if not member.isreg() or member.issparse():
            return
        content = archive.extractfile(member)
        assert content is not None
        self.places[name], self.sizes[place] = place, member.size
        self.links.pop(name, None)
        if name == _MANIFEST:
            self.manifest = _small(content.read(_MOST_JSON + 1))
            return
        if name == INDEX:
            self.index = _small(content.read(_MOST_JSON + 1))
            return
        if member.size <= _MOST_BLOB:
            data = content.read()
            if data.startswith(b"{") and len(self.blobs) < _MOST_BLOBS:
                self.blobs[name] = data
            content = io.BufferedReader(io.BytesIO(data))
        source = _Digested(cast(BinaryIO, content), count.spend)
        layer, files = _layer(source, count)
        self.files += files
        if self.files > _MOST_FILES:
            raise EngineRefused(f"it holds more than {_MOST_FILES:,} files")
        if layer is not None:
            self.unpacked[place], self.digests[place] = layer, source.digest

    def image(self, path: Path, count: _Count) -> Surveyed:
        described: Any = json.loads(self.manifest or b"[]")
        if not described and self.index:
            described = image_of_layout(self.index, self.blobs)
        if len(described) != 1:
            raise EngineRefused(f"the archive holds {len(described)} images, not one")
        config, names = self._place(described[0]["Config"]), list(described[0]["Layers"] or ())
        if len(names) > _MOST_LAYERS:
            raise EngineRefused(f"it has more than {_MOST_LAYERS} layers")
        if self.sizes[config] > _MOST_JSON:
            raise EngineRefused("its configuration is too long")
        layers = tuple(self._place(name) for name in names)
        for name, place in zip(names, layers, strict=True):
            if place not in self.unpacked:
                raise EngineRefused(f"its layer {str(name)[:80]!a} is no tar archive")
        copied = sum(self.sizes[place] for place in {config, *layers})
        needed = copied + sum(self.unpacked[place] for place in layers)
        count.check(needed)
        if _named_layers(_content_at(path, config, count)) != [self.digests[place] for place in layers]:
            raise EngineRefused("its configuration names other layers than it holds")
        return Surveyed(path, needed, config, layers, self.sizes)

    def _place(self, name: str) -> int:
        name = _plain(name)
        for _ in range(_MOST_LINKS):
            if name in self.places:
                return self.places[name]
            name = self.links[name]
        raise KeyError(name)


def _content_at(path: Path, wanted: int, count: _Count) -> bytes:
    """Of the member at that place in the archive."""
    with _outer(path, _Count(count.limit, count.given_up).spend) as archive:
        for place, member in enumerate(archive):
            if place == wanted:
                return b"".join(_content(archive, member))
            archive.members = []  # type: ignore[attr-defined]  # as above
    raise KeyError(wanted)


def _named_layers(config: bytes) -> list[Any]:
    """The digests of an image's layers, as the engine reads them in its configuration."""
    described: Any = json.loads(config, object_pairs_hook=tuple)
    return list(_only(_only(described, "rootfs"), "diff_ids") or ())


def _only(pairs: Any, name: str) -> Any:
    """What stands under a name. The engine heeds no letter's case, and of several takes the last."""
    values = [value for key, value in pairs or () if key.casefold() == name]
    if len(values) > 1:
        raise EngineRefused(f"its configuration says `{name}` of its layers more than once")
    return values[0] if values else None


def _layer(source: _Unpacked, count: _Count) -> tuple[int | None, int]:
    """What a layer comes to once it is unpacked, and its files; None for what is no tar archive."""
    size = files = 0
    try:
        with tarfile.open(fileobj=source, mode="r|", tarinfo=_BoundedInfo, bufsize=_CHUNK) as layer:
            for member in layer:
                size, files = size + member.size, files + 1
                count.check(size)
                if files > _MOST_FILES:
                    break
                layer.members = []  # type: ignore[attr-defined]  # as above
    except tarfile.ReadError:
        return None, files
    while source.read(_CHUNK):
        pass
    return max(size, source.out), files


class _Unpacked(io.RawIOBase):
    """The bytes of a stream without its compression. `told` hears of each that comes, and may raise."""

    def __init__(self, source: BinaryIO, told: Callable[[int], None]) -> None:
        start = cast(io.BufferedReader, source).peek(8)[:8]
        for magic, name in _OTHERS.items():
            if start.startswith(magic):
                raise EngineRefused(f"part of it is compressed by {name}: use gzip, or nothing")
        self._source = gzip.GzipFile(fileobj=source) if start.startswith(_GZIP) else source
        self._told = told
        self.out = 0

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._source.read(min(size, _CHUNK) if size >= 0 else _CHUNK)
        self.out += len(data)
        self._told(len(data))
        return data


class _Digested(_Unpacked):
    """The same, and their digest."""

    def __init__(self, source: BinaryIO, told: Callable[[int], None]) -> None:
        super().__init__(source, told)
        self._sum = hashlib.sha256()

    @property
    def digest(self) -> str:
        """Of what was read so far, as an image's configuration writes it."""
        return f"sha256:{self._sum.hexdigest()}"

    def read(self, size: int = -1) -> bytes:
        data = super().read(size)
        self._sum.update(data)
        return data


class _BoundedInfo(tarfile.TarInfo):
    """A header as tarfile reads it, but for those that would have it keep as much in memory as a stranger likes."""

    def _proc_member(self, archive: tarfile.TarFile) -> tarfile.TarInfo:
        if self.size < 0 or self.type in (tarfile.GNUTYPE_SPARSE, tarfile.XGLTYPE):
            raise tarfile.HeaderError("it has headers that no image needs")
        if self.type in _EXTENDED and self.size > _MOST_HEADER:
            raise tarfile.HeaderError("a header is too long")
        return super()._proc_member(archive)  # type: ignore[misc, no-any-return]  # typeshed leaves it out

    def _sparse(self, *_: object) -> None:
        raise tarfile.HeaderError("it holds a sparse file")

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _sparse


@contextlib.contextmanager
def _outer(path: Path, told: Callable[[int], None]) -> Iterator[tarfile.TarFile]:
    with (
        open(path, "rb") as file,
        tarfile.open(
            fileobj=_Unpacked(file, told), mode="r|", tarinfo=_BoundedInfo, bufsize=_CHUNK
        ) as archive,
    ):
        yield archive


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> Iterator[bytes]:
    content = archive.extractfile(member)
    assert content is not None
    while chunk := content.read(_CHUNK):
        yield chunk


def _header(name: str, size: int) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.mode = size, 0o600
    return info.tobuf(tarfile.PAX_FORMAT, "utf-8", "strict")


def _plain(name: str) -> str:
    return posixpath.normpath(posixpath.join("/", name)).lstrip("/")


def _small(data: bytes) -> bytes:
    if len(data) > _MOST_JSON:
        raise EngineRefused("its manifest is too long")
    return data

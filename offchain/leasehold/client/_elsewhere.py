"""Data that lies elsewhere: fetched from any address that fsspec reads, and brought back there.

fsspec and what it reads through (S3, GCS, Hugging Face) come with the extra `leasehold[data]`; accounts and keys are
theirs, as their own documents say. What an address answers is a stranger's: names are checked before they are written.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from tempfile import TemporaryDirectory
from typing import Any, Final

from leasehold.errors import DatasetError, DatasetUnsafe

Told = Callable[[int, int | None], None]
"""Hears how many bytes are here, and of how many, if that is known."""
_PIECE: Final = 1 << 20
_PART: Final = ".part"


def is_address(text: str) -> bool:
    """Whether it names something elsewhere, such as `s3://bucket/folder` or `https://example.org/a.csv`."""
    scheme, colon, _ = text.partition("://")
    return bool(colon) and scheme.isalnum()


def fetch_from(address: str, folder: Path, told: Told) -> int:
    """Fetch a file, or all below a folder, into `folder`; how many files. What was begun before is gone on with, and
    what is whole is kept.

    Raises:
        DatasetError: it cannot be had. DatasetUnsafe: it names a path that leaves the folder.
    """
    with _said(address):
        files, place = _opened(address)
        total, done = _sizes(files, place), 0
        if not total:
            raise DatasetError(f"There is nothing at {address}", "correct the address.")
        known = [size for _, size in total.values() if size is not None]
        whole = sum(known) if len(known) == len(total) else None
        for name, (path, size) in total.items():
            done += _fetch_one(files, path, _below(folder, name), size, partial(_add_to, told, done, whole))
        return len(total)


@asynccontextmanager
async def local_folder(
    source: str, fetched: Path, fetching: Callable[[], AbstractContextManager[Told]]
) -> AsyncIterator[Path]:
    """A folder of what is named: itself, or a new one around a file, or what lies at an address. fetched: a folder of
    one's own where that is gathered, to go on with; what is whole goes once it was used. fetching: hears how far it is.

    Raises:
        As `fetch_from`.
    """
    if is_address(source):
        place = fetched / hashlib.sha256(source.encode()).hexdigest()[:40]
        with fetching() as told:
            await asyncio.to_thread(fetch_from, source, place, told)
        yield place
        await asyncio.to_thread(shutil.rmtree, place)
    elif await asyncio.to_thread(Path(source).is_file):
        path = Path(source)
        with TemporaryDirectory(prefix="leasehold-data-", dir=path.parent) as name:
            await asyncio.to_thread(_beside, path, Path(name) / path.name)
            yield Path(name)
    else:
        yield Path(source)


def bring_to(folder: Path, address: str, outputs: Sequence[str] = ("/",)) -> int:
    """Bring what lies below `folder` to an address; how many files. outputs: of a folder in which more lies, these
    alone: paths in the container, for whose root the folder stands. Raises DatasetError.
    """
    with _said(address):
        files, place = _opened(address)
        sources = sorted(source for output in outputs for source in _files_of(folder, output))
        for source in sources:
            target = f"{place.rstrip('/')}/{source.relative_to(folder).as_posix()}"
            files.makedirs(target.rpartition("/")[0], exist_ok=True)
            files.put_file(str(source), target)
        return len(sources)


def _files_of(folder: Path, output: str) -> list[Path]:
    """By no link."""
    place = folder / output.lstrip("/")
    if any(
        above.is_symlink()
        for above in (place, *place.parents)
        if above.is_relative_to(folder) and above != folder
    ):
        return []
    return [path for path in (place, *place.rglob("*")) if path.is_file() and not path.is_symlink()]


def _beside(path: Path, copy: Path) -> None:
    """The same file under a second name, or a copy where there can be none."""
    try:
        os.link(path, copy)
    except OSError:
        shutil.copyfile(path, copy)


def _add_to(told: Told, before: int, whole: int | None, more: int) -> None:
    told(before + more, whole)


@contextlib.contextmanager
def _said(address: str) -> Iterator[None]:
    """What many libraries raise, as one sentence."""
    try:
        yield
    except ImportError as error:
        raise DatasetError(
            f"{address} cannot be reached without a library ({error})", "install `leasehold[data]`."
        ) from error
    except DatasetError:
        raise
    except (OSError, ValueError, RuntimeError, TypeError, LookupError) as error:
        said = " ".join(str(error).split())[:300] or type(error).__name__
        advice = "check the address and your account there."
        raise DatasetError(f"{address} is not to be had ({said})", advice) from error


def _opened(address: str) -> tuple[Any, str]:
    from fsspec.core import url_to_fs

    if not address.partition("://")[2].strip("/"):
        raise DatasetError(f"{address} names no place", "write it in full, such as s3://bucket/folder.")
    files, place = url_to_fs(address)
    return files, str(place)


def _sizes(files: Any, place: str) -> dict[str, tuple[str, int | None]]:
    """What to fetch: by the name that it gets, its path there and its size."""
    if not files.isdir(place):
        return {PurePosixPath(place.partition("?")[0]).name or "data": (place, files.info(place).get("size"))}
    root = place.rstrip("/") + "/"
    there = files.find(place, detail=True)
    return {
        path.removeprefix(root): (path, facts.get("size"))
        for path, facts in sorted(there.items())
        if facts.get("type") == "file"
    }


def _below(folder: Path, name: str) -> Path:
    parts = name.split("/")
    if any(part in ("", ".", "..") or "\0" in part for part in parts) or len(name) > 4096:
        raise DatasetUnsafe(name[:200], "its path leaves its folder or cannot be")
    return folder.joinpath(*parts)


def _fetch_one(files: Any, path: str, target: Path, size: int | None, told: Callable[[int], None]) -> int:
    """Bytes of it that are here now."""
    if target.exists() and (size is None or target.stat().st_size == size):
        return target.stat().st_size
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(target.name + _PART)
    have = part.stat().st_size if part.exists() and size is not None else 0
    with files.open(path, "rb") as source, part.open("ab" if have else "wb") as copy:
        if have:
            source.seek(have)
        while piece := source.read(_PIECE):
            copy.write(piece)
            have += len(piece)
            told(have)
    if size is not None and have != size:
        part.unlink()
        raise OSError(f"it came as {have} bytes, and should have {size}")
    os.replace(part, target)
    return have

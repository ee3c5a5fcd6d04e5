"""What is remembered of each image that came for a lease: when it was used last, and who may have it.

One small file for each, whose time is the last use. Notes of older agents hold the image's name alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any

from leasehold.files import replace_file

_ARCHIVE, _PULLED, _BARE = "ipfs:", "pulled-", "bare-"


@dataclass(frozen=True)
class ImageNote:
    """named: the image as workloads name it. image: what the engine calls it. private_to: the accounts by whose
    passwords it came; nobody where all may have it. bare: it is that image without its volumes. opened_by: the age
    recipient to whom the archive was sealed that it came in; empty where that was not sealed.
    """

    named: str
    image: str
    private_to: tuple[str, ...] = ()
    bare: bool = False
    opened_by: str = ""

    @property
    def file(self) -> str:
        if self.named.startswith(_ARCHIVE) and not self.bare:
            return self.named.removeprefix(_ARCHIVE)
        return (_BARE if self.bare else _PULLED) + hashlib.sha256(self.named.encode()).hexdigest()

    def open_to(self, account: str) -> bool:
        return not self.private_to or account in self.private_to


class ImageNotes:
    """The notes in the folder `root`. All of it blocks for as long as a small file takes."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def of(self, named: str, *, bare: bool = False) -> ImageNote | None:
        return _read(self._root / ImageNote(named, "", bare=bare).file)

    def keep(self, note: ImageNote) -> None:
        """What is kept is used now."""
        self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._root / note.file, json.dumps(asdict(note), sort_keys=True).encode())

    def came(self, named: str, image: str, account: str | None) -> None:
        """It came by the password of `account`, or for all to have."""
        known = self.of(named)
        if account is None or (known is not None and not known.private_to):
            self.keep(ImageNote(named, image))
        else:
            others = known.private_to if known is not None else ()
            self.keep(ImageNote(named, image, tuple(sorted({*others, account}))))

    def used(self, named: str) -> None:
        """It, and itself without its volumes, was used until now."""
        for bare in (False, True):
            with contextlib.suppress(FileNotFoundError):
                os.utime(self._root / ImageNote(named, "", bare=bare).file)

    def last_use(self, note: ImageNote) -> float | None:
        """Unix seconds; None where nothing is remembered of it."""
        path = self._root / note.file
        return path.stat().st_mtime if path.is_file() else None

    def drop(self, note: ImageNote) -> None:
        (self._root / note.file).unlink(missing_ok=True)

    def by_last_use(self) -> list[tuple[float, ImageNote]]:
        """All of them, with unix seconds, what was used longest ago first."""
        return sorted(self._all(), key=lambda use: use[0])

    def _all(self) -> Iterator[tuple[float, ImageNote]]:
        for path in self._root.iterdir() if self._root.is_dir() else ():
            if path.is_file() and not path.name.startswith(".") and (note := _read(path)) is not None:
                yield path.stat().st_mtime, note


def _read(path: Path) -> ImageNote | None:
    try:
        text = path.read_text().strip()
    except FileNotFoundError:
        return None
    if not text.startswith("{"):  # of an older agent
        return ImageNote(text if path.name.startswith(_PULLED) else _ARCHIVE + path.name, text)
    raw: dict[str, Any] = json.loads(text)
    note = ImageNote(**{field.name: raw[field.name] for field in fields(ImageNote) if field.name in raw})
    return replace(note, private_to=tuple(note.private_to))

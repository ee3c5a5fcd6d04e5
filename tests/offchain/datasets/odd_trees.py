"""A folder of files with odd names, and all that can be told of one."""

from __future__ import annotations

import hashlib
import os
import random
import stat
from pathlib import Path

MIB = 1 << 20
LARGE = 2 * MIB + 12_345


def look(folder: Path) -> dict[bytes, tuple[object, ...]]:
    """All that can be told of a tree."""
    told: dict[bytes, tuple[object, ...]] = {}
    first: dict[int, bytes] = {}
    for place, folders, files in os.walk(os.fsencode(folder)):
        for name in sorted([*folders, *files]):
            path = os.path.join(place, name)
            status = os.lstat(path)
            short = os.path.relpath(path, os.fsencode(folder))
            content: object = None
            if stat.S_ISLNK(status.st_mode):
                content = os.readlink(path)
            elif stat.S_ISREG(status.st_mode):
                content = (status.st_size, hashlib.sha256(Path(os.fsdecode(path)).read_bytes()).digest())
                content = (content, first.setdefault(status.st_ino, short))
            owner = (status.st_uid, status.st_gid, status.st_mtime_ns)
            told[short] = (stat.S_IFMT(status.st_mode), status.st_mode & 0o1777, owner, content)
    return told


def odd_tree(folder: Path, files: int, seed: int = 7) -> None:
    """Names with newlines, of 255 bytes, no UTF-8; links, empty folders, holes, modes, owners."""
    folder.mkdir()
    rng = random.Random(seed)
    (folder / "a\nb").mkdir()
    (folder / "empty" / "deeper").mkdir(parents=True, mode=0o711)
    (folder / ("x" * 255)).write_bytes(b"long")
    (folder / os.fsdecode(b"\xff\xfe \\ \x01")).write_bytes(b"bytes")
    for name in ("-rf", "...", " ", "*", "$(x)", "é" * 127):
        (folder / "a\nb" / name).write_text(name)
    (folder / "dangling").symlink_to("../../../../etc/passwd\n")
    (folder / "up").symlink_to("a\nb")
    os.link(folder / ("x" * 255), folder / "empty" / "same")
    with (folder / "holes").open("wb") as sparse:
        sparse.seek(5 * MIB)
        sparse.write(b"in the middle")
        sparse.truncate(16 * MIB)
    (folder / "large").write_bytes(rng.randbytes(LARGE))
    (folder / "nothing").write_bytes(b"")
    for number in range(files):
        place = folder / f"d{number % 97}"
        place.mkdir(exist_ok=True)
        file = place / f"{number}\t{rng.randrange(1 << 40):x}"
        file.write_bytes(rng.randbytes(rng.randrange(200)))
        if number % 10 == 0:
            file.chmod(rng.randrange(0o1000))
        if number % 50 == 0:
            os.chown(file, rng.randrange(1 << 31), rng.randrange(1 << 31))
    (folder / "empty" / "deeper").chmod(0o1777)

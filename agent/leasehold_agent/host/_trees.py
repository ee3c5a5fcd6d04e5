"""Taking away a folder that a stranger filled: however deep it is, however much lies in it, no link is followed.

`shutil.rmtree` calls itself for each level and gives up at a thousand. Here every folder is first moved up to the top,
so that one is open at a time and no path is longer than a name.
"""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_AT_ONCE = 1_000


def remove_tree(path: Path) -> None:
    """Remove a folder and what is in it; nothing where there is none. Raises OSError."""
    try:
        top = os.open(path, _FOLDER)
    except FileNotFoundError:
        return
    try:
        _clear(top, top)
    finally:
        os.close(top)
    path.rmdir()


def tree_size(path: Path) -> int:
    """Bytes of the files in a folder; what goes away meanwhile does not count."""
    return sum(status.st_size for status in _walk(path))


def _walk(path: Path) -> Iterator[os.stat_result]:
    waiting = [str(path)]
    while waiting:
        with contextlib.suppress(FileNotFoundError, NotADirectoryError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(entry.path)
                else:
                    with contextlib.suppress(FileNotFoundError):
                        yield entry.stat(follow_symlinks=False)


def _clear(folder: int, top: int) -> None:
    """Empties `folder`; the folders in it move to `top`, unless that is what is being emptied."""
    while names := _names(folder):
        for name, is_folder in names:
            if not is_folder:
                os.unlink(name, dir_fd=folder)
            elif folder != top:
                os.rename(name, os.urandom(16).hex(), src_dir_fd=folder, dst_dir_fd=top)
            else:
                with _opened(name, top) as below:
                    _clear(below, top)
                os.rmdir(name, dir_fd=top)


def _names(folder: int) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return [(e.name, e.is_dir(follow_symlinks=False)) for e in itertools.islice(entries, _AT_ONCE)]


@contextlib.contextmanager
def _opened(name: str, folder: int) -> Iterator[int]:
    descriptor = os.open(name, _FOLDER, dir_fd=folder)
    try:
        yield descriptor
    finally:
        os.close(descriptor)

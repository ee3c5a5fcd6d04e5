"""Folders whose names and contents the kernel keeps encrypted (fscrypt), under a key that it is told and forgets again.

What is seen without the key is how many files there are, how large, whose and of what time: no name, no target of a
link, no byte of a file. The key is the kernel's until its file system is unmounted.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import struct
from collections.abc import Iterator
from pathlib import Path

KEY_BYTES = 64
# From linux/fscrypt.h.
_SET_POLICY, _GET_POLICY, _ADD_KEY = 0x800C6613, 0xC0096616, 0xC0506617
_BY_IDENTIFIER, _IDENTIFIER = 2, slice(8, 24)
_ADDED = struct.Struct("=II32xII32x")  # kind of key, 0, room for its name; its bytes, 0
_POLICY = struct.Struct("=BBBBB3x16s")
_VERSION, _AES_256_XTS, _AES_256_CTS, _PAD_32 = 2, 1, 4, 3
_ASKED = struct.Struct("=Q24s")


def unlock(root: Path, key: bytes) -> bytes:
    """Tell the file system at `root` a key of 64 bytes; the name that the kernel has for it. Twice is once.

    Raises OSError: the file system or the kernel knows no encryption.
    """
    told = bytearray(_ADDED.pack(_BY_IDENTIFIER, 0, len(key), 0) + key)
    with _opened(root) as descriptor:
        fcntl.ioctl(descriptor, _ADD_KEY, told)
    return bytes(told[_IDENTIFIER])


def protector(folder: Path) -> bytes | None:
    """The name of the key under which the folder is; None where it is under none. Raises OSError."""
    asked = bytearray(_ASKED.pack(_ASKED.size - 8, b""))
    with _opened(folder) as descriptor:
        try:
            fcntl.ioctl(descriptor, _GET_POLICY, asked)
        except OSError as error:
            if error.errno == errno.ENODATA:
                return None
            raise
    return bytes(_POLICY.unpack_from(asked, 8)[5])


def protect(folder: Path, identifier: bytes) -> None:
    """Put an empty folder, and all that will be in it, under the key of that name. Raises OSError."""
    policy = _POLICY.pack(_VERSION, _AES_256_XTS, _AES_256_CTS, _PAD_32, 0, identifier)
    with _opened(folder) as descriptor:
        fcntl.ioctl(descriptor, _SET_POLICY, policy)


@contextlib.contextmanager
def _opened(folder: Path) -> Iterator[int]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        yield descriptor
    finally:
        os.close(descriptor)

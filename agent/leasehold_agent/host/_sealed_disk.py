"""A file of the host's that holds a file system with one encrypted folder: a volume's disk.

All of its room is taken when it is made, so that it never wants for what others have filled, and its size is a limit
that the kernel keeps. Nobody but the kernel of this host ever writes its blocks: a tenant is given the folder
inside, and no way to the file system's own tables.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from leasehold_agent._errors import VolumeTrouble, WrongVolumeKey
from leasehold_agent.host._fscrypt import KEY_BYTES, protect, protector, unlock
from leasehold_agent.host._host_tools import host_tool
from leasehold_agent.host._mount_space import MountSpace

_FOLDER = "data"
_PURPOSE = b"leasehold volume disk 1"
_FOR_EVERYBODY = 0o777
_CHECK_SECONDS = 600.0


@dataclass(frozen=True)
class SealedDisk:
    """`folder` holds the file and the place where it is mounted in `space`. Every call blocks, and can be made again.

    Raises VolumeTrouble and EngineDown: it cannot be done now.
    """

    folder: Path
    space: MountSpace

    @property
    def file(self) -> Path:
        return self.folder / "disk"

    @property
    def data(self) -> Path:
        """What a container is given, as the engine sees it. It is not there before the disk is open."""
        return self._place / _FOLDER

    @property
    def _place(self) -> Path:
        return self.folder / "mount"

    @property
    def made(self) -> bool:
        return self.file.exists()

    @property
    def mounted(self) -> bool:
        return self.space.mounted(self._place)

    def make(self, size: int) -> None:
        """An empty one of so many bytes, unless there is one."""
        if self.made:
            return
        part = self.folder / "disk.part"
        part.unlink(missing_ok=True)
        try:
            self._take(part, size)
            # No discard: it would give the room back. Blocks of 4 KiB at any size: a link's target fits in one.
            options = ("-q", "-F", "-O", "encrypt", "-b", "4096", "-i", "8192", "-m", "0", "-E", "nodiscard")
            host_tool("mkfs.ext4", *options, "--", str(part))
        except VolumeTrouble:
            part.unlink(missing_ok=True)
            raise
        os.replace(part, self.file)

    def grow(self, size: int) -> None:
        """Make it larger; it is closed for that."""
        self.close()
        self._take(self.file, size)
        # 1: what a host that fell over has left was mended.
        host_tool("e2fsck", "-f", "-p", "--", str(self.file), seconds=_CHECK_SECONDS, good=(0, 1))
        host_tool("resize2fs", "--", str(self.file), seconds=_CHECK_SECONDS)

    def open(self, key: bytes) -> None:
        """Mount it and have the kernel know its key. Raises WrongVolumeKey: it is another's, and it stays closed."""
        self._place.mkdir(mode=0o700, exist_ok=True)
        if not self.mounted:
            self.space.mount(self.file, self._place)
        try:
            self._unlock(key)
        except BaseException:
            with contextlib.suppress(VolumeTrouble):  # it is closed as it is opened next, or removed
                self.close()
            raise

    def _unlock(self, key: bytes) -> None:
        root = self.space.seen(self._place)
        data = root / _FOLDER
        try:
            identifier = unlock(root, hashlib.shake_256(_PURPOSE + key).digest(KEY_BYTES))
            if not data.exists():
                data.mkdir()
            if (known := protector(data)) is None:
                data.chmod(_FOR_EVERYBODY)
                protect(data, identifier)
            elif known != identifier:
                raise WrongVolumeKey
        except OSError as error:
            raise VolumeTrouble(
                f"this host's kernel encrypts no folder of it ({error.strerror or error})"
            ) from error

    def close(self) -> None:
        """Unmount it, and with that have the kernel forget the key."""
        if self.mounted:
            self.space.unmount(self._place)

    @staticmethod
    def _take(file: Path, size: int) -> None:
        file.touch(mode=0o600)
        if not file.stat().st_size:
            host_tool("chattr", "+C", "--", str(file), good=(0, 1))  # btrfs alone knows it: written in place
        host_tool("fallocate", "--length", str(size), "--", str(file))

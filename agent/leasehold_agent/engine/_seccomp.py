"""The system calls of a container.

On btrfs any process, without a privilege, may make a subvolume of its own, and no disk limit of the engine's reaches
into that; anywhere it may open a socket to the hypervisor, where no rule of the network sees it. The engine's own
seccomp profile lets the first through and, before Docker 23, the second; and a profile can only be replaced whole. So
this takes the profile that containers/common keeps for Podman and others, and makes it as strict as the engine's: no
namespaces, no mounts, no keyrings; of btrfs's calls only those that copy by reference, and of sockets those that belong
to a network of the container's own.

On a volume any process may tell the kernel keys for files, as many as it likes: they count as root's, of which there
are so many for the whole host, and they take memory that no lease has paid for. Nobody then opened a volume any more.
So of the calls under that byte only those are left that read and set a file's flags and say where it lies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

SOURCE: Final = Path("/usr/share/containers/seccomp.json")
"""Where Debian's golang-github-containers-common and others' containers-common put it."""

# What that profile lets any container do, for the sake of containers in containers, and the engine's own does not.
_REFUSED: Final = frozenset(
    [
        "fsconfig",
        "fsmount",
        "fsopen",
        "fspick",
        "get_mempolicy",
        "keyctl",
        "mbind",
        "mount",
        "mount_setattr",
        "move_mount",
        "open_tree",
        "pidfd_getfd",
        "pivot_root",
        "reboot",
        "set_mempolicy",
        "setns",
        "syslog",
        "umount",
        "umount2",
        "unshare",
    ]
)
# What does not exist for the container (ENOSYS), which is what programs fall back from: the C library makes a thread
# by clone3, whose flags no filter can read, and by clone where there is no clone3. The profile says so once for all
# calls that it does not name, but engines before 22.06 do not read that, and say that it is forbidden (EPERM); then no
# thread starts. So each has a rule. (What is newer than all of these, runc itself calls unknown.)
#
# `socketcall` is how programs of 32 bits open sockets: no filter can read of which family.
_ABSENT: Final = frozenset({"clone3", "io_uring_enter", "io_uring_register", "io_uring_setup", "socketcall"})
_ABSENT_IF_UNNAMED: Final = frozenset(
    [
        "_sysctl",
        "add_key",
        "afs_syscall",
        "cachestat",
        "create_module",
        "fchmodat2",
        "futex_requeue",
        "futex_wait",
        "futex_waitv",
        "futex_wake",
        "get_kernel_syms",
        "getpmsg",
        "map_shadow_stack",
        "putpmsg",
        "quotactl_fd",
        "request_key",
        "security",
        "set_mempolicy_home_node",
        "tuxcall",
        "vserver",
    ]
)
_SPECIAL: Final = frozenset({"clone", "ioctl", "socket"}) | _ABSENT
_NAMESPACES: Final = 0x7E020000  # the flags of clone that make one
_BTRFS: Final = 0x94  # the second byte of a request: whose call it is
_OF_FILES: Final = 0x66
# FS_IOC_GETFLAGS and SETFLAGS, as 32-bit programs write them too, and FS_IOC_FIEMAP.
_FLAGS_AND_PLACES: Final = (0x80086601, 0x40086602, 0x80046601, 0x40046602, 0xC020660B)
# FICLONE, FICLONERANGE and FIDEDUPERANGE, which every file system has under btrfs's byte.
_BY_REFERENCE: Final = (0x40049409, 0x4020940D, 0xC0189436)
# Families of sockets that belong to a network namespace. Others lead past the firewall, as a hypervisor's (AF_VSOCK)
# does to the host and to what it runs in, or into parts of the kernel that hardly anybody uses.
_UNIX, _INET, _INET6, _NETLINK, _AUDIT = 1, 2, 10, 16, 9
_EPERM: Final = 1
_ENOSYS: Final = 38

Rule = dict[str, Any]  # as the engine reads it


class ProfileMissing(RuntimeError):
    """There is no profile at that place, or none that this knows how to make stricter."""


def profile(source: Path = SOURCE) -> str:
    """The profile as JSON, for the engine's `seccomp=`. Raises ProfileMissing."""
    try:
        document = json.loads(source.read_bytes())
        return json.dumps(document | {"syscalls": _stricter(document["syscalls"])})
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise ProfileMissing(
            f"no seccomp profile at {source} ({error}): install golang-github-containers-common, then restart"
        ) from error


def _stricter(rules: list[Rule]) -> list[Rule]:
    """Of rules for the same call the engine takes the more general, so what is narrowed leaves the wide ones."""
    if not any("ioctl" in rule["names"] and not rule.get("args") for rule in rules):
        raise ValueError("it does not say that any ioctl is allowed")
    narrowed = _REFUSED | _SPECIAL
    absent = _ABSENT | (_ABSENT_IF_UNNAMED - {name for rule in rules for name in rule["names"]})
    kept = [rule | {"names": [name for name in rule["names"] if name not in narrowed]} for rule in rules]
    return [
        *(rule for rule in kept if rule["names"]),
        _failing(_REFUSED, _EPERM),
        _failing(absent, _ENOSYS),
        # (s390 has the flags of clone elsewhere; there is no GPU host of that kind.)
        _allowed("clone", _masked(0, _NAMESPACES, 0)),
        *(_allowed("ioctl", condition) for condition in _neither(_BTRFS << 8, _OF_FILES << 8)),
        *(_allowed("ioctl", _equal(1, number)) for number in (*_BY_REFERENCE, *_FLAGS_AND_PLACES)),
        *(_allowed("socket", _equal(0, family)) for family in (_UNIX, _INET, _INET6)),
        _allowed("socket", _equal(0, _NETLINK), _equal(2, _AUDIT) | {"op": "SCMP_CMP_NE"}),
    ]


def _neither(first: int, second: int) -> list[Rule]:
    """Requests whose second byte is neither that of `first` nor that of `second`: of any such one condition is true.

    It differs from both in a bit in which they agree, or from the one in one bit and from the other in another.
    """
    bits = [1 << number for number in range(8, 16)]
    differ = [bit for bit in bits if (first ^ second) & bit]
    return [
        *(_masked(1, bit, ~first & bit) for bit in bits if bit not in differ),
        *(
            _masked(1, one | other, (first & one) | (second & other))
            for one in differ
            for other in differ
            if one != other
        ),
    ]


def _failing(names: Iterable[str], number: int) -> Rule:
    return {"names": sorted(names), "action": "SCMP_ACT_ERRNO", "errnoRet": number, "args": []}


def _allowed(name: str, *conditions: Rule) -> Rule:
    """Where all of them hold, each of another argument."""
    return {"names": [name], "action": "SCMP_ACT_ALLOW", "args": list(conditions)}


def _equal(index: int, value: int) -> Rule:
    return {"index": index, "op": "SCMP_CMP_EQ", "value": value}


def _masked(index: int, mask: int, value: int) -> Rule:
    """Argument `index`, of which only the bits of `mask` count, is `value`."""
    return {"index": index, "op": "SCMP_CMP_MASKED_EQ", "value": mask, "valueTwo": value}

"""What a container may ask of the kernel: no subvolume by which it would evade its disk limit, and no socket past its
network; nothing else is lost by that.
"""

from __future__ import annotations

import ctypes
import io
import json
import shutil
import socket
import subprocess
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from leasehold.chain import LeaseState
from leasehold_agent.engine._seccomp import ProfileMissing, profile

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

    from devnet.engine import Engine

# Tries each call and prints its name and what came of it.
_PROBE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void say(const char *what, long result) {
    printf("%s %s\n", what, result < 0 ? strerrorname_np(errno) : "done");
}

int main(void) {
    static char volume[4096] = {0};
    strcpy(volume + 8, "mine");                 /* btrfs_ioctl_vol_args */
    static char volume2[4096] = {0};
    strcpy(volume2 + 56, "mine2");              /* btrfs_ioctl_vol_args_v2 */
    int root = open("/", O_RDONLY);
    say("subvolume", ioctl(root, 0x5000940eUL, volume));
    say("subvolume-sign-extended", syscall(SYS_ioctl, root, 0xffffffff5000940eUL, volume));
    say("subvolume2", ioctl(root, 0x50009418UL, volume2));
    say("snapshot", ioctl(root, 0x50009401UL, volume));
    int one = open("/one", O_RDWR | O_CREAT, 0600), two = open("/two", O_RDWR | O_CREAT, 0600);
    say("write", write(one, volume, sizeof volume));
    say("reflink", ioctl(two, 0x40049409UL, one));
    int pending;
    say("pipe-size", ioctl(one, 0x541bUL, &pending));
    static char key[144] = {2};                 /* fscrypt_add_key_arg: by identifier, 64 bytes */
    key[40] = 64;
    say("encryption-key", ioctl(root, 0xc0506617UL, key));
    say("encryption-key-gone", ioctl(root, 0xc0406619UL, key));
    say("encryption-policy", ioctl(root, 0x800c6613UL, key));
    unsigned long flags;
    say("flags", ioctl(root, 0x80086601UL, &flags));
    say("user-namespace", unshare(CLONE_NEWUSER));
    long child = syscall(SYS_clone, CLONE_NEWUSER | 17, 0, 0, 0, 0);
    if (child == 0) _exit(0);
    say("clone-namespace", child);
    child = fork();
    if (child == 0) _exit(0);
    say("fork", child);
    waitpid(child, 0, 0);
    say("mount", mount("none", "/tmp", "tmpfs", 0, ""));
    say("keyring", syscall(SYS_keyctl, 0, -3, 1));
    return 0;
}
"""


@pytest.fixture(scope="module")
def probe(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("probe")
    (folder / "probe.c").write_text(_PROBE)
    subprocess.run(["cc", "-static", "-o", folder / "probe", folder / "probe.c"], check=True)
    return (folder / "probe").read_bytes()


def _archive(probe: bytes) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        entry = tarfile.TarInfo("probe")
        entry.size = len(probe)
        tar.addfile(entry, io.BytesIO(probe))
    return out.getvalue()


async def test_from_inside(rig: Rig, probe: bytes) -> None:
    lease = await rig.open(rig.workload(disk="64MiB"), share=4)
    await rig.reaches(lease, LeaseState.ACTIVE)
    name = rig.host.containers.names.container(lease)
    await rig.host.containers.engine._call(lambda client: client.put_archive(name, "/", _archive(probe)))
    code, text = await rig.inside(lease, "cp /probe /run-me && chmod 755 /run-me && /run-me")
    assert code == 0, text
    said = dict(line.split() for line in text.splitlines())
    for refused in ("subvolume", "subvolume-sign-extended", "subvolume2", "snapshot"):
        assert said[refused] in ("ENOSYS", "EPERM"), (refused, said)
    for refused in ("encryption-key", "encryption-key-gone", "encryption-policy"):
        assert said[refused] == "EPERM", (refused, said)
    assert said["flags"] == "done"
    for refused in ("user-namespace", "clone-namespace", "mount", "keyring"):
        assert said[refused] in ("EPERM", "ENOSYS"), (refused, said)
    assert said["write"] == said["reflink"] == said["fork"] == "done"
    assert said["pipe-size"] == "done"


def test_the_probe_finds_what_it_looks_for(probe: bytes, docker_engine: Engine) -> None:
    """Nobody confines it here, and it makes its subvolume: the test above can fail."""
    root = docker_engine.folder / "data" / "probe"
    root.mkdir()
    program = root / "probe"
    program.write_bytes(probe)
    program.chmod(0o755)
    run = subprocess.run(["chroot", root, "/probe"], capture_output=True, text=True, check=True)
    assert "subvolume done" in run.stdout
    for made in sorted(root.glob("mine*")):
        subprocess.run(["btrfs", "subvolume", "delete", made], check=True, capture_output=True)
    shutil.rmtree(root)


class TestProfile:
    def test_no_rule_allows_what_another_refuses(self) -> None:
        rules = json.loads(profile())["syscalls"]
        for name in ("ioctl", "clone", "socket"):
            assert all(rule["args"] for rule in rules if name in rule["names"])
        refused = {name for rule in rules if rule["action"] == "SCMP_ACT_ERRNO" for name in rule["names"]}
        assert {"mount", "unshare", "keyctl", "setns"} <= refused
        allowed = {
            name
            for rule in rules
            if rule["action"] == "SCMP_ACT_ALLOW" and not rule.get("args") and not rule.get("includes")
            for name in rule["names"]
        }
        assert "clone3" not in allowed
        assert {"read", "execve", "futex"} <= allowed

    def test_of_two_bytes_of_requests_only_named_ones_are_left(self) -> None:
        conditions = [
            rule["args"][0] for rule in json.loads(profile())["syscalls"] if "ioctl" in rule["names"]
        ]

        def passes(request: int) -> bool:
            return any(
                request == one["value"]
                if one["op"] == "SCMP_CMP_EQ"
                else request & one["value"] == one["valueTwo"]
                for one in conditions
            )

        for byte in range(256):
            for rest in (0xC0500017, 0x00000000, 0xFFFFFFFF_FFFF00FF):
                assert passes(rest | byte << 8) == (byte not in (0x94, 0x66)), hex(byte)
        assert all(map(passes, (0x40049409, 0x80086601, 0x40086602, 0xC020660B)))
        assert not any(map(passes, (0xC0506617, 0xC0406618, 0xC0406619, 0x800C6613, 0x50009418)))

    @pytest.mark.parametrize(
        "text",
        ["", "{}", '{"syscalls": []}', '{"syscalls": [{"names": ["read"], "action": "SCMP_ACT_ALLOW"}]}'],
    )
    def test_a_file_that_is_none(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "seccomp.json").write_text(text)
        with pytest.raises(ProfileMissing, match=r"seccomp\.json"):
            profile(tmp_path / "seccomp.json")

    def test_no_file(self, tmp_path: Path) -> None:
        with pytest.raises(ProfileMissing, match="No such file"):
            profile(tmp_path / "none")

    def test_no_call_is_left_to_the_engine(self) -> None:
        """Some engines answer "forbidden" for what no rule names, where the profile says that it does not exist."""
        named = {name for rule in json.loads(profile())["syscalls"] for name in rule["names"]}
        library = ctypes.CDLL("libseccomp.so.2")
        library.seccomp_syscall_resolve_num_arch.restype = ctypes.c_char_p
        native = ctypes.c_uint32(0)
        found = (library.seccomp_syscall_resolve_num_arch(native, number) for number in range(455))
        assert {name.decode() for name in found if name} <= named

    def test_sockets_are_of_families_that_a_network_of_its_own_has(self) -> None:
        rules = [rule for rule in json.loads(profile())["syscalls"] if "socket" in rule["names"]]
        assert all(rule["action"] == "SCMP_ACT_ALLOW" for rule in rules)
        families = [arg for rule in rules for arg in rule["args"] if arg["index"] == 0]
        assert [(family["op"], family["value"]) for family in families] == [
            ("SCMP_CMP_EQ", family)
            for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK)
        ]

    def test_what_does_not_exist_says_so(self) -> None:
        rules = json.loads(profile())["syscalls"]
        for name in ("clone3", "io_uring_setup", "socketcall"):
            assert [rule.get("errnoRet") for rule in rules if name in rule["names"]] == [38]

    def test_a_profile_that_knows_newer_calls(self, tmp_path: Path) -> None:
        allowed = {"names": ["ioctl", "clone3", "cachestat"], "action": "SCMP_ACT_ALLOW"}
        (tmp_path / "seccomp.json").write_text(json.dumps({"syscalls": [allowed]}))
        rules = json.loads(profile(tmp_path / "seccomp.json"))["syscalls"]
        assert [rule["action"] for rule in rules if "cachestat" in rule["names"]] == ["SCMP_ACT_ALLOW"]
        assert [rule["action"] for rule in rules if "clone3" in rule["names"]] == ["SCMP_ACT_ERRNO"]

"""Ways out of a container, each tried from inside as root, under runc and under gVisor.

None of them changes anything should it succeed: what would be written is opened for writing and nothing more.
"""

from __future__ import annotations

import socket
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from .test_isolation import running, under_both

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

pytestmark = pytest.mark.slow

ATTACKS = {
    "mount: a file system of one's own": "mkdir -p /m && mount -t tmpfs none /m",
    "mount: proc once more, unmasked": "mkdir -p /m && mount -t proc none /m",
    "mount: a file of the host's made writable": "mount -o remount,rw /etc/hosts",
    "mount: control groups, for a release agent": "mkdir -p /m && mount -t cgroup -o memory none /m",
    "mount: what the agent tells": ": >> /run/leasehold/notice.json",
    "proc: the kernel's settings": ": >> /proc/sys/kernel/core_pattern",
    "proc: the keys of a console": ": >> /proc/sysrq-trigger",
    "proc: the kernel's memory": "[ $(dd if=/proc/kcore bs=16 count=1 | wc -c) -gt 0 ]",
    "proc: the host by the first process": "ls /proc/1/root/var/lib/docker",
    "sys: the kernel's memory management": ": >> /sys/kernel/mm/transparent_hugepage/enabled",
    "sys: the host's sleep": ": >> /sys/power/state",
    "sys: a control group's limit": "cd /sys/fs/cgroup; : >> memory/memory.limit_in_bytes || : >> memory.max",
    "device nodes: the host's memory": "mknod /tmp/mem c 1 1 && dd if=/tmp/mem of=/dev/null bs=1 count=1",
    "device nodes: a disk": "mknod /tmp/disk b 7 0 && dd if=/tmp/disk of=/dev/null bs=1 count=1",
    "device nodes: the kernel's log": "dd if=/dev/kmsg of=/dev/null bs=1 count=1",
    "namespaces: mounts": "unshare -m true",
    "namespaces: networks": "unshare -n true",
    "network: another address": "ip address add 192.0.2.9/24 dev eth0",
    "network: another hardware address": "ip link set dev eth0 address 02:00:00:00:00:09",
    "network: a neighbour's entry": "ip neigh add 192.0.2.1 lladdr 02:00:00:00:00:09 dev eth0",
    "network: an address of version 6": "grep -qv 'lo$' /proc/net/if_inet6",
}
SPOOFS = {
    "ARP": "arping -c 1 -w 1 -I eth0 192.0.2.1",
    "DHCP": "udhcpc -f -n -q -t 1 -T 1 -i eth0 -s /bin/true",
}
# Opens a socket of each family, as a program of 64 bits does and as an old one of 32 bits; prints those that it got.
_FAMILIES = r"""
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static unsigned asked[3];                   /* below 4 GiB: the program is not relocated */

static int old_socket(unsigned family, unsigned type) {
    int made;
    asked[0] = family, asked[1] = type, asked[2] = 0;
    __asm__ volatile("int $0x80" : "=a"(made) : "a"(102), "b"(1), "c"(asked) : "memory");
    return made;
}

int main(void) {
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET, SOCK_RAW};
    for (int family = 1; family < 64; family++)
        for (int type = 0; type < 4; type++) {
            if (socket(family, types[type], 0) >= 0) printf("%d\n", family);
            fflush(stdout);
            if (!fork()) {                      /* where there is no such call the kernel may end the caller */
                if (old_socket(family, types[type]) > 2) printf("old %d\n", family);
                fflush(stdout);
                _exit(0);
            }
            wait(NULL);
        }
    return 0;
}
"""
FAMILIES = {socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK}
"""What belongs to a network namespace. A hypervisor's (AF_VSOCK) leads past every rule, to the host and beyond."""
PROGRAMS = ("arping", "dd", "grep", "ip", "ls", "mkdir", "mknod", "mount", "udhcpc", "unshare", "wc")
REFUSALS = ("not permitted", "permission denied", "not supported")


@under_both
async def test_no_way_leads_out(rig: Rig, runtime: str) -> None:
    lease = await running(rig, runtime=runtime, share_cells=8)
    _, programs = await rig.inside(lease, "busybox --list; id -u")
    assert set(PROGRAMS) <= set(programs.split()), "an attack without its program shows nothing"
    assert programs.split()[-1] == "0", "they are root's"
    worked = {
        name: text
        for name, attack in ATTACKS.items()
        for code, text in [await rig.inside(lease, attack)]
        if code == 0
    }
    assert worked == {}


@under_both
async def test_nobody_speaks_for_a_neighbour(rig: Rig, runtime: str) -> None:
    """No packet is made by hand: it is not that nobody answers."""
    lease = await running(rig, runtime=runtime, share_cells=8)
    for name, spoof in SPOOFS.items():
        code, text = await rig.inside(lease, spoof)
        assert code != 0, name
        assert any(words in text.lower() for words in REFUSALS), (name, text)


@pytest.fixture(scope="module")
def families(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program."""
    source, folder = tmp_path_factory.mktemp("source") / "families.c", tmp_path_factory.mktemp("families")
    source.write_text(_FAMILIES)
    subprocess.run(["cc", "-static", "-no-pie", "-o", folder / "families", source], check=True)
    return folder


@under_both
async def test_no_socket_leads_past_the_network(rig: Rig, families: Path, runtime: str) -> None:
    added = await rig.ipfs.add_folder(families)
    datasets = [{"cid": added.cid, "path": "/data"}]
    lease = await running(rig, runtime=runtime, share_cells=8, datasets=datasets)
    code, text = await rig.inside(lease, "cp /data/families /run-me; chmod 755 /run-me; /run-me | sort -u")
    assert code == 0, text
    opened = {int(line.split()[-1]) for line in text.splitlines()}
    assert opened - FAMILIES == set()
    assert socket.AF_INET in opened, "it can open some"

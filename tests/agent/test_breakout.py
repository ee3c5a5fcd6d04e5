"""Ways out of a container, each tried from inside as root, under runc and under gVisor.

None of them changes anything should it succeed: what would be written is opened for writing and nothing more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .test_isolation import running

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
PROGRAMS = ("arping", "dd", "grep", "ip", "ls", "mkdir", "mknod", "mount", "udhcpc", "unshare", "wc")
REFUSALS = ("not permitted", "permission denied", "not supported")
RUNTIMES = ("runc", "gvisor")


@pytest.mark.parametrize("runtime", RUNTIMES)
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


@pytest.mark.parametrize("runtime", RUNTIMES)
async def test_nobody_speaks_for_a_neighbour(rig: Rig, runtime: str) -> None:
    """No packet is made by hand: it is not that nobody answers."""
    lease = await running(rig, runtime=runtime, share_cells=8)
    for name, spoof in SPOOFS.items():
        code, text = await rig.inside(lease, spoof)
        assert code != 0, name
        assert any(words in text.lower() for words in REFUSALS), (name, text)

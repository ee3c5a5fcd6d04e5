"""What a host lacks of what the agent stands on: settings without which it works, until one day it does not."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

from leasehold_agent.engine import EngineFacts

DESCRIPTORS = 16_384
SHARED = {
    "fs.inotify.max_user_instances": 1 << 20,
    "fs.inotify.max_user_watches": 1 << 24,
    "fs.aio-max-nr": 1 << 24,
    "kernel.pty.max": 1 << 16,
}
"""What the kernel counts over all containers, since root in each is the same user to it, and the least that one lease
does not take from the others before its own memory is used up.
"""
_SYSCTLS = Path("/proc/sys")
_OOM_SCORE = Path("/proc/self/oom_score_adj")


def lacks(
    facts: EngineFacts, *, most_files: Callable[[], int] | None = None, sysctls: Path = _SYSCTLS
) -> list[str]:
    """A sentence for each, which says what to do. most_files: the most open files that this process may have."""
    sentences = []
    if not facts.live_restore:
        sentences.append(
            "The Docker engine ends its containers whenever it restarts, and each begins anew: "
            'set "live-restore": true in /etc/docker/daemon.json and reload the engine.'
        )
    if facts.seccomp is None:
        sentences.append(
            "Containers get the Docker engine's own profile of system calls, by which they may reach a hypervisor "
            "past every rule of the network: install golang-github-containers-common and restart the agent."
        )
    files = (most_files or _most_files)()
    if files < DESCRIPTORS:
        sentences.append(
            f"The agent may open {files} files only, connections counted: "
            f"set LimitNOFILE={4 * DESCRIPTORS} in its unit, or `ulimit -n` where it is started by hand."
        )
    if few := [name for name, least in SHARED.items() if not _is_at_least(sysctls, name, least)]:
        sentences.append(
            f"One lease can take from all others what the kernel counts for all of them ({', '.join(few)}): copy "
            "agent/leasehold-sysctl.conf to /etc/sysctl.d/60-leasehold.conf and run `sysctl --system`."
        )
    return sentences


def _is_at_least(sysctls: Path, name: str, least: int) -> bool:
    """What the kernel does not have, it does not count."""
    path = sysctls / name.replace(".", "/")
    return not path.exists() or int(path.read_text()) >= least


def lacks_at_work(facts: EngineFacts) -> list[str]:
    """What is lacking of the process that serves, too."""
    sentences = lacks(facts)
    if int(_OOM_SCORE.read_text()) >= 0:
        sentences.append(
            "Where the host's memory runs out the agent may be the first to go: set OOMScoreAdjust=-900 in its unit."
        )
    return sentences


def _most_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]

"""What a host lacks of what the agent stands on: settings without which it works, until one day it does not."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path

from leasehold_agent._engine_facts import EngineFacts

DESCRIPTORS = 16_384
NETWORK_BITS = 26
"""A container may ask for each address of its network, and the kernel remembers a thousand neighbours for all."""
_OOM_SCORE = Path("/proc/self/oom_score_adj")


def lacks(facts: EngineFacts, *, most_files: Callable[[], int] | None = None) -> list[str]:
    """A sentence for each, which says what to do. most_files: the most open files that this process may have."""
    found = []
    if not facts.live_restore:
        found.append(
            "The Docker engine ends its containers whenever it restarts, and each begins anew: "
            'set "live-restore": true in /etc/docker/daemon.json and reload the engine.'
        )
    if facts.network_bits < NETWORK_BITS:
        found.append(
            f"The Docker engine gives each lease a network of {2 ** (32 - facts.network_bits):,} addresses: by asking "
            "for all of them a tenant crowds the host's own neighbours out of the kernel's table, and after some "
            'thirty leases no network is left. Set "default-address-pools": [{"base": "10.201.0.0/16", "size": 28}], '
            "or another base that is free with you, in /etc/docker/daemon.json and restart the engine."
        )
    files = (most_files or _most_files)()
    if files < DESCRIPTORS:
        found.append(
            f"The agent may open {files} files only, connections counted: "
            f"set LimitNOFILE={4 * DESCRIPTORS} in its unit, or `ulimit -n` where it is started by hand."
        )
    return found


def lacks_at_work(facts: EngineFacts) -> list[str]:
    """What is lacking of the process that serves, too."""
    found = lacks(facts)
    if int(_OOM_SCORE.read_text()) >= 0:
        found.append(
            "Where the host's memory runs out the agent may be the first to go: set OOMScoreAdjust=-900 in its unit."
        )
    return found


def _most_files() -> int:
    return resource.getrlimit(resource.RLIMIT_NOFILE)[1]

"""The codes with which an agent declines, in words that say what to do next."""

from __future__ import annotations

from typing import Final

DECLINED: Final = {
    "workload-missing": "the agent never got the sealed workload: see that your IPFS node runs, then rent "
    "again.",
    "workload-invalid": "the agent could not open or read the workload: rent again, which seals it anew.",
    "image-unknown": "the machine does not have the image and could not get it: name one of its own "
    "or one that a registry or IPFS serves.",
    "dataset-missing": "nobody whom the machine can reach has one of the datasets: keep it pinned on a node "
    "that runs, then rent again.",
    "code-missing": "the code that the workload names did not reach the machine in time: hand it over, then rent "
    "again.",
    "not-ready": "the workload did not become ready in time: look at its readiness check, or allow it more "
    "time.",
    "no-card": "the machine cannot give a card that it sold: take another machine, or wait until its provider has "
    "mended it.",
    "no-disk": "the machine's disk has no room for it: ask for less disk or take another machine.",
    "volume-held": "one of its volumes is attached to another of your leases there: close that one, or name another.",
    "port-taken": "a host port that it asks for is taken: leave the host port out to have one chosen.",
    "unsupported": "the machine cannot do something that the workload asks for: take another machine, or "
    "ask for less.",
    "start-failed": "its container did not start: check the command and the image, best on your own machine "
    "first.",
    "tenant-record": "its provider takes tenants with a longer or better record alone: take another machine.",
    "maintenance": "the machine will be worked on before the lease would end: rent it for less time, or take another.",
}


def declined(reason: str) -> str:
    """Why a machine declined, and what to do; `reason` is the code from the chain."""
    return DECLINED.get(
        reason, f"the agent gave the reason '{reason}': ask its provider, or take another machine."
    )


def ascii_reason(reason: bytes) -> str:
    """The code in a bytes32; what is no printable ASCII becomes hex."""
    stripped = reason.rstrip(b"\0")
    text = stripped.decode("ascii", "replace")
    return text if stripped and stripped.isascii() and text.isprintable() else f"0x{reason.hex()}"

"""How the containers, networks and bridges of leases are called, and how they are known again."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from leasehold.chain import Deployment, format_lease
from leasehold_agent.host import BRIDGE_PREFIX

LEASE_LABEL = "leasehold.lease"
GENESIS_LABEL = "leasehold.genesis"
READER_LABEL = "leasehold.reader"
NO_LEASE = {LEASE_LABEL: "", GENESIS_LABEL: ""}
"""Of a container that is no lease's: these blot out what its image may say."""


@dataclass(frozen=True)
class Names:
    """How this agent's containers, networks and bridges are called: by lease, pool and the chain's own history.

    Two of one name cannot exist, so two containers of one lease cannot; and a development chain that repeats
    addresses never meets the containers of the one before it.
    """

    chain_id: int
    genesis: str
    controller: str

    @classmethod
    def of(cls, deployment: Deployment) -> Names:
        return cls(deployment.chain_id, deployment.genesis.lower(), deployment.controller)

    def label(self, lease: int, machine: int) -> str:
        return f"eip155:{self.chain_id}/{self.controller}/{lease}@{machine}"

    def labels(self, lease: int, machine: int) -> dict[str, str]:
        return {LEASE_LABEL: self.label(lease, machine), GENESIS_LABEL: self.genesis}

    def lease_of(self, labels: Mapping[str, str]) -> tuple[int, int] | None:
        """The lease and the machine that a container's labels name, or None if it is not one of this
        pool on this chain.
        """
        before, _, rest = labels.get(LEASE_LABEL, "").rpartition("/")
        lease, _, machine = rest.partition("@")
        mine = before.lower() == f"eip155:{self.chain_id}/{self.controller}".lower()
        if (
            not mine
            or labels.get(GENESIS_LABEL) != self.genesis
            or not (lease.isdigit() and machine.isdigit())
        ):
            return None
        return int(lease), int(machine)

    @property
    def filter(self) -> str:
        return f"{GENESIS_LABEL}={self.genesis}"

    def container(self, lease: int) -> str:
        return f"leasehold-{format_lease(lease)}-{self._mark(lease)[:8]}"

    network = container

    def bridge(self, lease: int) -> str:
        return BRIDGE_PREFIX + self._mark(lease)[:12]

    def kept(self, lease: int) -> str:
        """The label of what a lease's container had written before it was made anew."""
        return f"leasehold.kept={self.container(lease)}"

    def reader(self, lease: int) -> str:
        """The container in which the files of a lease are read that is over."""
        return f"{self.container(lease)}-reader"

    def read(self, lease: int) -> str:
        """The label of the image that its reader is made of."""
        return f"{READER_LABEL}={self.container(lease)}"

    def reader_labels(self, lease: int) -> dict[str, str]:
        """It says whose it is, and is no lease's own container: what its image remembers of that is blotted out."""
        return NO_LEASE | {READER_LABEL: self.container(lease)}

    @property
    def folder(self) -> str:
        """The name of the folder for this pool's leases on this history of the chain."""
        return hashlib.sha256(f"{self.genesis}/{self.controller.lower()}".encode()).hexdigest()[:16]

    def _mark(self, lease: int) -> str:
        return hashlib.sha256(f"{self.genesis}/{self.controller.lower()}/{lease}".encode()).hexdigest()

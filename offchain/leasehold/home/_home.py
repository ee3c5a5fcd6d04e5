"""The folder in which one person's things are, and what each file in it is for.

Each thing's module is imported when the thing is asked for, by the face of its room.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from leasehold import chain, home, market


@dataclass(frozen=True)
class Home:
    """One folder. Nothing in it is read or made before it is asked for."""

    path: Path

    @property
    def keys(self) -> Path:
        """The folder of the keys."""
        return self.path / "keys"

    @property
    def documents(self) -> Path:
        """The folder of the machines' documents that were fetched."""
        return self.path / "documents"

    @property
    def contacts(self) -> Path:
        """The folder of what machines' agents said last of themselves."""
        return self.path / "contacts"

    @property
    def templates(self) -> Path:
        """The folder of one's own templates."""
        return self.path / "templates"

    @property
    def known_hosts(self) -> Path:
        """The folder with each machine's SSH key."""
        return self.path / "known_hosts"

    @property
    def locks(self) -> Path:
        """The folder of the locks by which commands wait for one another."""
        return self.path / "locks"

    @property
    def index(self) -> Path:
        """The pool's index, an SQLite database that can be made anew from the chain. Each form of it has its file."""
        return self.path / f"index-{chain.SCHEMA}.db"

    @property
    def index_lock(self) -> Path:
        """Held by whoever brings the index up to date."""
        return self.path / "index.lock"

    @cached_property
    def keystore(self) -> chain.Keystore:
        """The wallets."""
        return chain.Keystore(self.keys)

    @cached_property
    def unlocked(self) -> home.UnlockedWallets:
        """Those of them that are open for a while."""
        return home.UnlockedWallets(self.keys)

    @cached_property
    def age_keys(self) -> home.AgeKeys:
        """What opens the wallets' results."""
        return home.AgeKeys(self.keys)

    @cached_property
    def dataset_keys(self) -> home.DatasetKeys:
        """What opens the datasets that were sealed here."""
        return home.DatasetKeys(self.path)

    @cached_property
    def registry_logins(self) -> home.RegistryLogins:
        """What goes with workloads to fetch private images."""
        return home.RegistryLogins(self.path)

    @cached_property
    def groups(self) -> home.Groups:
        """The groups that are known here by name."""
        return home.Groups(self.path)

    @cached_property
    def sessions(self) -> market.SessionCache:
        """Throw-away keys that agents listen to."""
        return market.SessionCache(self.path / "sessions")

    @cached_property
    def pending_sessions(self) -> home.PendingSessions:
        """Those that a group has not approved yet."""
        return home.PendingSessions(self.path)

    @cached_property
    def former_sessions(self) -> market.SessionCache:
        """Throw-away keys for agents that understand less than `sessions` grants."""
        return market.SessionCache(self.path / "sessions" / "former")

    def shared_access(self, deployment: chain.Deployment) -> home.SharedAccess:
        """What of a pool's leases was shared from here, and with whoever has this home."""
        return home.SharedAccess(self.path, deployment)

    @cached_property
    def sealed_workloads(self) -> home.SealedWorkloads:
        """Workloads that were handed over from here."""
        return home.SealedWorkloads(self.path)

    def code_memory(self, folder: Path) -> home.CodeMemory:
        """What files of a folder of code were when they were read last."""
        return home.CodeMemory(self.path, folder)

    def statements(self, deployment: chain.Deployment) -> home.Statements:
        """What operators have signed of that pool's leases."""
        return home.Statements(self.path, deployment)

    @cached_property
    def lease_names(self) -> home.LeaseNames:
        """What these were called as they were handed over."""
        return home.LeaseNames(self.path)

    @cached_property
    def lease_images(self) -> home.LeaseNames:
        """Which images these run."""
        return home.LeaseNames(self.path, "images.json")

    @cached_property
    def lease_outputs(self) -> home.LeaseOutputs:
        """Which outputs these asked for."""
        return home.LeaseOutputs(self.path)

    def names(self, deployment: chain.Deployment | None) -> home.NameBook:
        """What that pool's leases and machines, and datasets and accounts, are called; without a pool, the latter."""
        return home.NameBook(self.path, deployment)

    def fetched_results(self, deployment: chain.Deployment) -> home.FetchedResults:
        """Which results of a pool's leases were fetched here."""
        return home.FetchedResults(self.path, deployment)

    def checkpoints(self, deployment: chain.Deployment) -> home.KeptCheckpoints:
        """Which checkpoint of each of a pool's leases one's own node keeps."""
        return home.KeptCheckpoints(self.path, deployment)

    def kept_leases(self, deployment: chain.Deployment) -> home.KeptLeases:
        """Which of a pool's leases a guard extends, and how long."""
        return home.KeptLeases(self.path, deployment)

    def closing_orders(self, deployment: chain.Deployment) -> home.ClosingOrders:
        """Which of a pool's leases close when their jobs are done, as it was signed here."""
        return home.ClosingOrders(self.path, deployment)

    def runs(self, deployment: chain.Deployment) -> home.Runs:
        """What runs in a pool were begun here, and what they have tried."""
        return home.Runs(self.path, deployment)

    def jobs(self, deployment: chain.Deployment) -> home.Jobs:
        """What those of them need that are to be recovered with nobody there."""
        return home.Jobs(self.path, deployment)

    def standbys(self, deployment: chain.Deployment) -> home.Jobs:
        """What was sealed for standbys that are to go on from a checkpoint, by its digest in hex."""
        return home.Jobs(self.path, deployment, "standbys")

    def guard_notes(self, deployment: chain.Deployment, account: str) -> home.GuardNotes:
        """What a guard of an account's leases in a pool has told, and has yet to."""
        return home.GuardNotes(self.path, deployment, account)

    def fleet(self, deployment: chain.Deployment) -> home.FleetBook:
        """Which hosts of fleets joined a pool from here, by their operators' keys."""
        return home.FleetBook(self.path, deployment)

    def offers(self, deployment: chain.Deployment) -> home.OfferBook:
        """Which offers of a pool's machines were signed here."""
        return home.OfferBook(self.path, deployment)

    def votes(self, deployment: chain.Deployment) -> home.Votes:
        """A validator's votes in a pool that are to be revealed."""
        return home.Votes(self.path, deployment)

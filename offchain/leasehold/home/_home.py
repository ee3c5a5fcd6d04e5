"""The folder in which one person's things are, and what each file in it is for."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from leasehold.chain import Deployment, Keystore
from leasehold.home._age_keys import AgeKeys
from leasehold.home._dataset_keys import DatasetKeys
from leasehold.home._fetched_results import FetchedResults
from leasehold.home._groups import Groups
from leasehold.home._offer_book import OfferBook
from leasehold.home._pending_sessions import PendingSessions
from leasehold.home._sealed_workloads import SealedWorkloads
from leasehold.home._votes import Votes
from leasehold.market import SessionCache


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
    def known_hosts(self) -> Path:
        """The folder with each machine's SSH key."""
        return self.path / "known_hosts"

    @property
    def locks(self) -> Path:
        """The folder of the locks by which commands wait for one another."""
        return self.path / "locks"

    @property
    def index(self) -> Path:
        """The pool's index, an SQLite database that can be made anew from the chain."""
        return self.path / "index.db"

    @property
    def index_lock(self) -> Path:
        """Held by whoever brings the index up to date."""
        return self.path / "index.lock"

    @cached_property
    def keystore(self) -> Keystore:
        """The wallets."""
        return Keystore(self.keys)

    @cached_property
    def age_keys(self) -> AgeKeys:
        """What opens the wallets' results."""
        return AgeKeys(self.keys)

    @cached_property
    def dataset_keys(self) -> DatasetKeys:
        """What opens the datasets that were sealed here."""
        return DatasetKeys(self.path)

    @cached_property
    def groups(self) -> Groups:
        """The groups that are known here by name."""
        return Groups(self.path)

    @cached_property
    def sessions(self) -> SessionCache:
        """Throw-away keys that agents listen to."""
        return SessionCache(self.path / "sessions")

    @cached_property
    def pending_sessions(self) -> PendingSessions:
        """Those that a group has not approved yet."""
        return PendingSessions(self.path)

    @cached_property
    def sealed_workloads(self) -> SealedWorkloads:
        """Workloads that were handed over from here."""
        return SealedWorkloads(self.path)

    def fetched_results(self, deployment: Deployment) -> FetchedResults:
        """Which results of a pool's leases were fetched here."""
        return FetchedResults(self.path, deployment)

    def offers(self, deployment: Deployment) -> OfferBook:
        """Which offers of a pool's machines were signed here."""
        return OfferBook(self.path, deployment)

    def votes(self, deployment: Deployment) -> Votes:
        """A validator's votes in a pool that are to be revealed."""
        return Votes(self.path, deployment)

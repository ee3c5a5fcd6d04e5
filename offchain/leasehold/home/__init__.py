"""What lies in a person's own folder: keys, groups, sessions, and what was handed over, fetched and voted from here.

home = Home(Path("~/.config/leasehold").expanduser())
signer = await home.keystore.unlock("me", password)

Losing any of it loses no money: what the chain has, it has. What is private is written for its owner alone.
"""

from typing import TYPE_CHECKING

from leasehold._faces import face

if TYPE_CHECKING:
    from leasehold.home._age_keys import AgeKeys
    from leasehold.home._checkpoints import KeptCheckpoints
    from leasehold.home._closing_orders import ClosingOrders
    from leasehold.home._code_memory import CodeMemory
    from leasehold.home._config import as_toml, read_config, write_config
    from leasehold.home._dataset_keys import DatasetKeys
    from leasehold.home._errors import RunUnreadable
    from leasehold.home._fetched_results import FetchedResults
    from leasehold.home._fleet_book import FleetBook
    from leasehold.home._glimpse import Glimpse
    from leasehold.home._groups import Groups
    from leasehold.home._guard_notes import GuardNotes, NotedSilence, Pending, Remembered, ToldCause
    from leasehold.home._home import Home
    from leasehold.home._jobs import Jobs
    from leasehold.home._kept_leases import KeptLease, KeptLeases
    from leasehold.home._lease_names import LeaseNames
    from leasehold.home._lease_outputs import LeaseOutputs
    from leasehold.home._names import Kind, NameBook, Tag, check_label
    from leasehold.home._offer_book import OfferBook
    from leasehold.home._pending_sessions import PendingSessions
    from leasehold.home._registry_logins import RegistryLogins
    from leasehold.home._runs import GivenUp, RunRecord, Runs, Try
    from leasehold.home._sealed_workloads import SealedWorkloads
    from leasehold.home._settings import DEFAULT_HOME, GUARD, Settings, read_settings
    from leasehold.home._shared_access import SharedAccess
    from leasehold.home._statements import Statements
    from leasehold.home._unlocked import MOST_SECONDS, UnlockedWallet, UnlockedWallets
    from leasehold.home._votes import Vote, Votes, revealable

__all__ = [
    "DEFAULT_HOME",
    "GUARD",
    "MOST_SECONDS",
    "AgeKeys",
    "ClosingOrders",
    "CodeMemory",
    "DatasetKeys",
    "FetchedResults",
    "FleetBook",
    "GivenUp",
    "Glimpse",
    "Groups",
    "GuardNotes",
    "Home",
    "Jobs",
    "KeptCheckpoints",
    "KeptLease",
    "KeptLeases",
    "Kind",
    "LeaseNames",
    "LeaseOutputs",
    "NameBook",
    "NotedSilence",
    "OfferBook",
    "Pending",
    "PendingSessions",
    "RegistryLogins",
    "Remembered",
    "RunRecord",
    "RunUnreadable",
    "Runs",
    "SealedWorkloads",
    "Settings",
    "SharedAccess",
    "Statements",
    "Tag",
    "ToldCause",
    "Try",
    "UnlockedWallet",
    "UnlockedWallets",
    "Vote",
    "Votes",
    "as_toml",
    "check_label",
    "read_config",
    "read_settings",
    "revealable",
    "write_config",
]

_PARTS = {
    "_age_keys": ("AgeKeys",),
    "_checkpoints": ("KeptCheckpoints",),
    "_closing_orders": ("ClosingOrders",),
    "_code_memory": ("CodeMemory",),
    "_config": ("as_toml", "read_config", "write_config"),
    "_dataset_keys": ("DatasetKeys",),
    "_errors": ("RunUnreadable",),
    "_fetched_results": ("FetchedResults",),
    "_fleet_book": ("FleetBook",),
    "_glimpse": ("Glimpse",),
    "_groups": ("Groups",),
    "_guard_notes": ("GuardNotes", "NotedSilence", "Pending", "Remembered", "ToldCause"),
    "_home": ("Home",),
    "_jobs": ("Jobs",),
    "_kept_leases": ("KeptLease", "KeptLeases"),
    "_lease_names": ("LeaseNames",),
    "_lease_outputs": ("LeaseOutputs",),
    "_names": ("Kind", "NameBook", "Tag", "check_label"),
    "_offer_book": ("OfferBook",),
    "_pending_sessions": ("PendingSessions",),
    "_registry_logins": ("RegistryLogins",),
    "_runs": ("GivenUp", "RunRecord", "Runs", "Try"),
    "_sealed_workloads": ("SealedWorkloads",),
    "_settings": ("DEFAULT_HOME", "GUARD", "Settings", "read_settings"),
    "_shared_access": ("SharedAccess",),
    "_statements": ("Statements",),
    "_unlocked": ("MOST_SECONDS", "UnlockedWallet", "UnlockedWallets"),
    "_votes": ("Vote", "Votes", "revealable"),
}  # fmt: skip
if not TYPE_CHECKING:
    __getattr__ = face(__name__, _PARTS)

"""A lease's own folder: its sealed workload, its packed outputs, and what the agent must remember of it.

Only what can be found out nowhere else is noted; what the chain or the engine knows is asked of them. Each
note is written before the act that it is about, so that an agent killed between the two does the act again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from pathlib import Path

from leasehold.files import replace_file
from leasehold_agent._errors import DeclineReason
from leasehold_agent.host import remove_tree
from leasehold_agent.store._last_read import LastRead

_MOST_RESULTS = 64
"""A tenant who sets workloads again and again has many. What stands on the chain is one of the last."""


@dataclass
class Notes:
    """What is remembered of a lease over a restart of the agent.

    tenant: whose it was last. author: the tenant whose workload it is. placement: what its container was made or
    last resized for. image: what its container was made anew from, if not from the workload's own image.
    launched: its container was started at least once. stopped: the agent itself stopped it. boot: the
    host's boot and the engine's run when it was last seen to run. started_before: when its container had been started,
    as it was to be started last: an end that is older than that start. ended: its command was seen to end by itself.
    base: what it was made of at first. renews: the lease before it in its slot, whose data it goes on with.
    failure: why it cannot run here. outputs_packed, result: outputs were packed, and their CID if there were any.
    lacked: bytes that there were for outputs when one of them did not fit.
    published: the result's CID was seen on the chain, or sent there in block published_at. results: the last CIDs that
    were published for the lease from here.
    gone_at, gone_block: chain time and head when the lease was first seen to be over. billed: seconds.
    datasets: names in the cache. cleared: it could not run, and nothing is left here but what there is to tell of it.
    exit_code: with which its command had ended by then. devices: by the UUID of each card, or slice of one, that its
    container has, the UUID of the card. crashes, crashed_at: how often in a row it has ended by itself within seconds,
    and when last, by the engine's clock. order_refusals: how often the chain refused its closing order. coded: its data
    holds the code that its workload names. volumes: ids of those that it has had, which are kept as long as it is.
    pinned: what else the host's IPFS node keeps for it, its endpoint document among that.
    """

    tenant: str = ""
    author: str = ""
    machine: int = 0
    workload: str = ""
    placement: int = 0
    image: str | None = None
    base: str | None = None
    renews: int | None = None
    launched: bool = False
    stopped: bool = False
    boot: str = ""
    started_before: float = -1.0
    ended: bool = False
    failure: DeclineReason | None = None
    failure_detail: str = ""
    outputs_packed: bool = False
    lacked: int | None = None
    result: str | None = None
    published: bool = False
    published_at: int = 0
    results: tuple[str, ...] = ()
    gone_at: int | None = None
    gone_block: int | None = None
    billed: int = 0
    devices: dict[str, str] = field(default_factory=dict)
    datasets: tuple[str, ...] = ()
    cleared: bool = False
    exit_code: int | None = None
    crashes: int = 0
    crashed_at: float = 0.0
    order_refusals: int = 0
    coded: bool = False
    volumes: tuple[str, ...] = ()
    pinned: tuple[str, ...] = ()

    @property
    def rests(self) -> bool:
        """Its command does not run again: the lease is over, or it has ended for good. Its files can be read."""
        return self.gone_at is not None or self.ended

    @property
    def published_here(self) -> set[str]:
        """What the host's IPFS node keeps for the lease."""
        return {cid for cid in (*self.results, *self.pinned, self.result) if cid is not None}

    def copied(self) -> Notes:
        """The same for somebody who may change them."""
        notes = object.__new__(Notes)
        vars(notes).update(vars(self), devices=dict(self.devices))
        return notes

    def keep(self, cid: str) -> None:
        """The host's IPFS node is about to keep this, or does."""
        self.pinned = (*(other for other in self.pinned if other != cid), cid)[-_MOST_RESULTS:]

    def remember(self, result: str) -> tuple[str, ...]:
        """It is about to be published from here; returns what is remembered no longer."""
        known = (*(cid for cid in self.results if cid != result), result)
        self.results = known[-_MOST_RESULTS:]
        return known[:-_MOST_RESULTS]


class LeaseDir:
    """The folder of one lease, which comes into being with the first note."""

    def __init__(self, root: Path, lease: int) -> None:
        self.path = root / str(lease)
        self.lease = lease
        self._notes = self.path / "notes.json"

    @cached_property
    def sealed(self) -> Path:
        return self.path / "workload.age"

    @cached_property
    def order(self) -> Path:
        """Its tenant's order to close it when its job is done (`_closing_order`)."""
        return self.path / "closing-order.json"

    @cached_property
    def code(self) -> Path:
        """The list of the folder of code that it is given."""
        return self.path / "code"

    @cached_property
    def word(self) -> Path:
        """What its tenant has said of its container (`_tenants_word`)."""
        return self.path / "word.json"

    @cached_property
    def exports(self) -> Path:
        """The CIDs of the exports of its volumes, by their names."""
        return self.path / "exports.json"

    @cached_property
    def checkpoints(self) -> Path:
        """Its checkpoints (`_checkpoints`)."""
        return self.path / "checkpoints.json"

    @cached_property
    def commit(self) -> Path:
        """The image that was made of its container (`_commit`)."""
        return self.path / "commit.json"

    @cached_property
    def outputs(self) -> Path:
        return self.path / "outputs"

    @cached_property
    def told(self) -> Path:
        """What the container hears of its lease (`_notice`)."""
        return self.path / "told"

    @cached_property
    def secrets(self) -> Path:
        """What its container finds at /run/secrets."""
        return self.path / "secrets"

    def forget_secrets(self) -> None:
        """They vanish from a container that runs, too. The folder stays, since it is mounted there."""
        for entry in list(self.secrets.iterdir()) if self.secrets.is_dir() else ():
            entry.unlink()

    @cached_property
    def log(self) -> Path:
        """The end of the log of a lease that could not run."""
        return self.path / "log"

    @cached_property
    def read(self) -> Path:
        """For how long its files have been read since it was over."""
        return self.path / "read"

    @cached_property
    def etc(self) -> Path:
        """The files of the container's `/etc` that the engine would keep itself (`_etc`)."""
        return self.path / "etc"

    @property
    def exists(self) -> bool:
        return self.path.is_dir()

    def load(self) -> Notes:
        """The notes, or blank ones. A field that this version does not know is left out."""
        return _noted.of(self._notes).copied()

    def save(self, notes: Notes) -> None:
        self.path.mkdir(parents=True, exist_ok=True, mode=0o700)
        replace_file(self._notes, json.dumps(asdict(notes), sort_keys=True).encode())

    def clear(self, *keep: Path) -> None:
        """Take away all but the notes, and what is to be kept."""
        for entry in self.path.iterdir() if self.exists else ():
            if entry.name == "notes.json" or entry in keep:
                continue
            if entry.is_dir() and not entry.is_symlink():
                remove_tree(entry)
            else:
                entry.unlink()

    def remove(self) -> None:
        """Take all of it away, the notes last: what a crash leaves is still known to be this lease's."""
        self.clear()
        if self.exists:
            remove_tree(self.path)


def _read_notes(file: Path) -> Notes:
    try:
        raw = json.loads(file.read_text())
    except FileNotFoundError:
        return Notes()
    known = {f.name for f in fields(Notes)}
    notes = Notes(**{name: value for name, value in raw.items() if name in known})
    notes.datasets, notes.results = tuple(notes.datasets), tuple(notes.results)
    notes.volumes, notes.pinned = tuple(notes.volumes), tuple(notes.pinned)
    return notes


_noted = LastRead(_read_notes)


def lease_dirs(root: Path, known: Mapping[int, LeaseDir] | None = None) -> dict[int, LeaseDir]:
    """Every lease that has a folder. known: those of the look before, which need not be made again."""
    if not root.is_dir():
        return {}
    leases, before = (int(name) for name in os.listdir(root) if name.isdigit()), known or {}
    return {lease: before.get(lease) or LeaseDir(root, lease) for lease in leases}

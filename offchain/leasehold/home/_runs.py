"""What runs were begun here, and what each has tried, noted before it is done.

A run may be killed between any two acts. What it had begun stands here, the rest on the chain: the next one that looks
goes on, and nothing that costs money is forgotten.
"""

from __future__ import annotations

import dataclasses
import json
import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from leasehold.chain import Deployment
from leasehold.files import write_private
from leasehold.home._errors import RunNameUnfit, RunUnreadable

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


class GivenUp(StrEnum):
    """Why a try is wanted no more.

    LATE: it did not start in time. GONE: its machine is. TIME: it lasted as long as it may. UNWANTED: another runs.
    ENDED: whoever began the run ended it. UNSENT: a process died before it was opened. KEPT: the run is over and the
    lease goes on, as it was to; nobody looks.
    """

    LATE = "late"
    GONE = "gone"
    TIME = "time"
    UNWANTED = "unwanted"
    ENDED = "ended"
    UNSENT = "unsent"
    KEPT = "kept"


@dataclass(frozen=True)
class Try:
    """One lease that a run tried to have, noted before it is opened.

    workload: SHA-256 in hex of what was sealed for it, by which the chain is asked for the lease; empty where nothing
    was handed over. escrow: what its opening takes, token units. lease: its id on chain, once that is known. given_up:
    why it is wanted no more. cost: what it cost in all, token units, once it is over. done: its command has ended by
    itself, with `exit_code` where that is known. why: in a few words, for people, what became of it. checkpoint: the
    CID of the last one that is kept here.
    """

    machine: int
    workload: str = ""
    escrow: int = 0
    lease: int | None = None
    given_up: GivenUp | None = None
    cost: int | None = None
    done: bool = False
    exit_code: int | None = None
    why: str = ""
    checkpoint: str = ""

    @property
    def over(self) -> bool:
        """Whether the run need not look at it again."""
        return self.cost is not None or self.given_up is GivenUp.KEPT


@dataclass(frozen=True)
class RunRecord:
    """A run as it stands. Amounts in token units, times in (unix) seconds.

    wish: SHA-256 in hex of what was asked for; whoever asks the same goes on with this run. rules: its bounds. outputs:
    whether it leaves results. folder: where they go. tries: the oldest first. fetched: where the results are, once they
    are there, or why there are none. ended: how the run has ended; empty while it goes on.
    """

    name: str
    account: str
    wish: str
    began: int
    rules: dict[str, Any]
    outputs: bool
    folder: str
    tries: tuple[Try, ...] = ()
    fetched: str = ""
    ended: str = ""

    @property
    def owed(self) -> bool:
        """Whether something has yet to be done for a lease of it."""
        return any(not tried.over for tried in self.tries)

    def with_try(self, place: int, **changes: Any) -> RunRecord:
        """The same where one try has changed."""
        tries = list(self.tries)
        tries[place] = dataclasses.replace(tries[place], **changes)
        return dataclasses.replace(self, tries=tuple(tries))


class Runs:
    """Of one pool, a small file each under a home."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._folder = home / "runs" / pool

    def get(self, name: str) -> RunRecord | None:
        """The run of that name, or `None` where none was begun here.

        Raises:
            RunNameUnfit: no run can be called so. RunUnreadable: its file is damaged.
        """
        path = self._path(name)
        try:
            document = json.loads(path.read_bytes())
            tries = tuple(_tried(tried) for tried in document.pop("tries"))
            return RunRecord(**document, tries=tries)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
            raise RunUnreadable(str(path)) from error

    def keep(self, record: RunRecord) -> None:
        """Write it; it is on the disk when this returns. Raises OSError: what stood there stands."""
        write_private(self._path(record.name), json.dumps(dataclasses.asdict(record), separators=(",", ":")))

    def names(self) -> list[str]:
        """All that were begun here, in order."""
        if not self._folder.is_dir():
            return []
        return sorted(path.stem for path in self._folder.glob("*.json") if path.name[0] != ".")

    def _path(self, name: str) -> Path:
        if not NAME.fullmatch(name):
            raise RunNameUnfit(name)
        return self._folder / f"{name}.json"


def _tried(document: dict[str, Any]) -> Try:
    given_up = document.pop("given_up")
    return Try(**document, given_up=None if given_up is None else GivenUp(given_up))

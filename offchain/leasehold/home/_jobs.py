"""What a run needs to begin anew on another machine with nobody there: its workload, its bounds, its code; and what a
standby needs to begin where its lease had got to.

Of a run that is to be recovered, and of a lease that makes checkpoints and named a standby, alone. It holds the
workload as it was written, secrets and all, and is for its owner alone, as the keys beside it are; it goes once
run or lease has ended.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import orjson

from leasehold.chain import Deployment
from leasehold.files import write_private
from leasehold.home._errors import RunNameUnfit, RunUnreadable
from leasehold.home._runs import NAME


class Jobs:
    """Of one pool, a file and perhaps a folder of code each under a home, in the folder `kind` there."""

    def __init__(self, home: Path, deployment: Deployment, kind: str = "jobs") -> None:
        # The genesis too: a development chain repeats ids and addresses.
        pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
        self._folder = home / kind / pool

    def keep(self, name: str, document: dict[str, Any]) -> None:
        """Write it; it is on the disk when this returns. Raises OSError."""
        write_private(self._path(name), orjson.dumps(document))

    def get(self, name: str) -> dict[str, Any] | None:
        """What the run needs, or `None` where nobody is to recover it. Raises RunUnreadable."""
        path = self._path(name)
        try:
            document = orjson.loads(path.read_bytes())
        except FileNotFoundError:
            return None
        except (OSError, ValueError) as error:
            raise RunUnreadable(str(path)) from error
        if not isinstance(document, dict):
            raise RunUnreadable(str(path))
        return document

    def names(self) -> list[str]:
        """All that are kept, in order."""
        if not self._folder.is_dir():
            return []
        return sorted(path.stem for path in self._folder.glob("*.json") if path.name[0] != ".")

    def code(self, name: str) -> Path:
        """Where the copy of the run's code lies, if it has some."""
        return self._path(name).with_suffix(".code")

    def drop(self, name: str) -> None:
        """The run has ended: nobody needs its secrets or its code any more."""
        self._path(name).unlink(missing_ok=True)
        shutil.rmtree(self.code(name), ignore_errors=True)

    def _path(self, name: str) -> Path:
        if not NAME.fullmatch(name):
            raise RunNameUnfit(name)
        return self._folder / f"{name}.json"

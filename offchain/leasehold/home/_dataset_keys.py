"""The keys of datasets that were sealed here, and of images that were made of one's leases."""

from __future__ import annotations

import json
from pathlib import Path

from leasehold.errors import SettingsError
from leasehold.files import write_private
from leasehold.workload import Workload


class DatasetKeys:
    """Age identities by the CID of what they open, in one file under a home."""

    def __init__(self, home: Path) -> None:
        self.path = home / "keys" / "datasets.json"

    def all(self) -> dict[str, str]:
        """By CID.

        Raises:
            SettingsError: the file is damaged.
        """
        try:
            loaded = json.loads(self.path.read_text())
        except FileNotFoundError:
            return {}
        except ValueError as error:
            raise SettingsError(
                f"{self.path} is damaged ({error}): restore it from a backup, or move it away."
            ) from error
        return {str(cid): str(key) for cid, key in loaded.items()} if isinstance(loaded, dict) else {}

    def given_to(self, workload: Workload) -> Workload:
        """The workload, in which datasets and an image that were sealed for here have their keys: else it would find
        sealed bytes.
        """
        keys = self.all()
        mounts = tuple(
            mount
            if mount.key is not None or mount.cid not in keys
            else mount.model_copy(update={"key": keys[mount.cid]})
            for mount in workload.datasets
        )
        known = keys.get(workload.image.removeprefix("ipfs:")) if workload.image.startswith("ipfs:") else None
        return workload.model_copy(update={"datasets": mounts, "image_key": workload.image_key or known})

    def forget(self, cid: str) -> None:
        """What it opened is nobody's any more. Raises SettingsError."""
        kept = {known: key for known, key in self.all().items() if known != cid}
        write_private(self.path, json.dumps(kept, indent=2, sort_keys=True))

    def keep(self, cid: str, key: str) -> None:
        """Add one. Raises SettingsError."""
        write_private(self.path, json.dumps({**self.all(), cid: key}, indent=2, sort_keys=True))

"""Small things that one computer remembers: keys of sealed datasets, and which results were fetched."""

from __future__ import annotations

import json
import os
from pathlib import Path

from leasehold.chain import Deployment
from leasehold.errors import SettingsError


def dataset_keys(home: Path) -> dict[str, str]:
    """The age identities of the datasets that were sealed here, by CID.

    Raises:
        SettingsError: the file is damaged.
    """
    path = home / "keys" / "datasets.json"
    try:
        loaded = json.loads(path.read_text())
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise SettingsError(
            f"{path} is damaged ({error}): restore it from a backup, or move it away."
        ) from error
    return {str(cid): str(key) for cid, key in loaded.items()} if isinstance(loaded, dict) else {}


def remember_dataset_key(home: Path, cid: str, key: str) -> None:
    """Keep a dataset's key, readable by its owner alone."""
    keys = {**dataset_keys(home), cid: key}
    _write(home / "keys" / "datasets.json", json.dumps(keys, indent=2, sort_keys=True))


def fetched_results(home: Path, deployment: Deployment, lease: int) -> str | None:
    """The CID of a lease's results that were fetched here last."""
    try:
        return _fetched(home, deployment, lease).read_text().strip()
    except FileNotFoundError:
        return None


def remember_results(home: Path, deployment: Deployment, lease: int, cid: str) -> None:
    """Keep that a lease's results were fetched."""
    _write(_fetched(home, deployment, lease), cid)


def _fetched(home: Path, deployment: Deployment, lease: int) -> Path:
    # The genesis too: a development chain repeats ids and addresses.
    pool = f"{deployment.chain_id}-{deployment.genesis[2:18]}-{deployment.controller}"
    return home / "fetched" / pool / str(lease)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "w") as file:
        file.write(text)
    partial.replace(path)

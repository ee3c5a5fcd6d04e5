"""Which operator's key each host of a fleet showed when it joined, by how ssh reaches it.

ssh knows a host by its own key, so that what it says later is about its own machines: one host cannot speak for
another's, whose operator and consent anybody can read on the chain.
"""

from __future__ import annotations

import json
from pathlib import Path

from leasehold.chain import Deployment
from leasehold.errors import SettingsError
from leasehold.files import write_private


class FleetBook:
    """The notes of one pool under a home folder."""

    def __init__(self, home: Path, deployment: Deployment) -> None:
        self.path = home / "fleets" / f"{deployment.chain_id}-{deployment.controller.lower()}.json"

    def operators(self) -> dict[str, str]:
        """By how ssh reaches the host. Raises SettingsError: the file is damaged."""
        if not self.path.exists():
            return {}
        try:
            kept = json.loads(self.path.read_text())
            return {str(target): str(operator) for target, operator in kept.items()}
        except (OSError, ValueError, AttributeError) as error:
            raise SettingsError(
                f"{self.path} is damaged ({error}): move it away, and say in the fleet's file which machine each host "
                "is."
            ) from error

    def note(self, target: str, operator: str) -> None:
        """On disk when this returns."""
        write_private(self.path, json.dumps({**self.operators(), target: operator}, indent=2) + "\n")

"""The logins for registries that somebody has left in his home, to go with workloads whose image needs one."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from leasehold.errors import SettingsError
from leasehold.files import write_private
from leasehold.images import Login

_FIELDS = ("username", "password", "identity_token")


class RegistryLogins:
    """By the registry's server, in one file under a home."""

    def __init__(self, home: Path) -> None:
        self.path = home / "keys" / "registries.json"

    def all(self) -> dict[str, Login]:
        """By server.

        Raises:
            SettingsError: the file is damaged.
        """
        try:
            kept = json.loads(self.path.read_text())
            return {
                server: Login(server, **{name: login.get(name) for name in _FIELDS})
                for server, login in kept.items()
            }
        except FileNotFoundError:
            return {}
        except (ValueError, AttributeError) as error:
            raise SettingsError(
                f"{self.path} is damaged ({error}): restore it from a backup, or move it away."
            ) from error

    def keep(self, login: Login) -> None:
        """In place of the one for that server before. Raises SettingsError."""
        self._write({**self.all(), login.server: login})

    def forget(self, server: str) -> bool:
        """Whether there was one. Raises SettingsError."""
        kept = self.all()
        if kept.pop(server, None) is None:
            return False
        self._write(kept)
        return True

    def _write(self, logins: dict[str, Login]) -> None:
        told = {server: {name: asdict(login)[name] for name in _FIELDS} for server, login in logins.items()}
        write_private(self.path, json.dumps(told, indent=2, sort_keys=True))

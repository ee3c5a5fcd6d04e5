"""Where the command line's settings come from: what stands before the command, then the environment (`LEASEHOLD_…`),
then the home's `config.toml`. Every prompt waits for this, so that no library is imported for it.
"""

from __future__ import annotations

import os
from dataclasses import fields

from leasehold.cli._options import Globals
from leasehold.errors import SettingsError
from leasehold.home import Settings, read_settings

__all__ = ["Settings", "load_settings"]


def load_settings(given: Globals) -> Settings:
    """Read the settings.

    Raises:
        SettingsError: with the first that is wrong.
    """
    options = {
        "home": given.home,
        "deployment": given.deployment,
        "rpc": given.rpc or None,
        "ipfs": given.ipfs,
        "gasless": given.gasless,
        "most_fee": given.most_fee,
    }
    typed = {name: value for name, value in options.items() if value is not None}
    settings = read_settings(_environment() | typed)
    if settings.home.exists() and not settings.home.is_dir():
        raise SettingsError(f"{settings.home} is no folder: name another with --home, or LEASEHOLD_HOME.")
    return settings


def _environment() -> dict[str, object]:
    """What the environment says; an empty text says nothing."""
    said = {name.upper(): value for name, value in os.environ.items() if value}
    names = [(setting.name, f"LEASEHOLD_{setting.name.upper()}") for setting in fields(Settings)]
    return {name: said[variable] for name, variable in names if variable in said}

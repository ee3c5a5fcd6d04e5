"""Whom a command acts for: the wallet's own account, a group, or an account whose delegate the wallet is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Acting:
    """Whom a command acts for. Nothing set: the wallet's own account.

    group: by name. account: whose delegate the wallet is, as it was typed. proposal: where a group's proposal is
    written; `None` for a new file in the working directory.
    """

    group: str | None = None
    account: str | None = None
    proposal: Path | None = None

"""Whom a command acts for: the wallet's own account, a group, or an account whose delegate the wallet is."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from leasehold.client import parse_address
from leasehold.home import Groups
from leasehold.market import InvalidInput


@dataclass(frozen=True)
class Acting:
    """Whom a command acts for. Nothing set: the wallet's own account.

    group: by name. account: whose delegate the wallet is, as it was typed. proposal: where a group's proposal is
    written; `None` for a new file in the working directory.
    """

    group: str | None = None
    account: str | None = None
    proposal: Path | None = None

    def account_for(self, groups: Groups, accounts: str) -> str | None:
        """The account that is acted for, or `None` for the wallet's own. accounts: the contract's address.

        Raises:
            InvalidInput: no address, or both a group and an account. SettingsError: no such group.
        """
        if self.group is not None and self.account is not None:
            raise InvalidInput("A group is no delegate: say --as-group or --for-account, not both.")
        if self.group is not None:
            return groups.get(self.group).address(accounts)
        return parse_address(self.account) if self.account is not None else None

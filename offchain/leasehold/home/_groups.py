"""The groups that one computer knows by name: who signs, and how many of them must.

A group's address follows from that, so nothing else has to be kept, and nobody has to be asked. A name means something
here alone: others know the same group by the same signers, threshold and salt.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from leasehold.agreements import Document, FileRefused, GroupTerms, read_file, write_file
from leasehold.chain.typed import Group, Safe
from leasehold.errors import SettingsError
from leasehold.home._errors import GroupUnknown, NoGroups
from leasehold.home._names import check_name


class AddressBook(Document):
    """The file `groups.json` under the home folder."""

    leasehold: Literal["groups"] = "groups"
    version: Literal[1] = 1
    groups: dict[str, GroupTerms] = Field(default_factory=dict)


class Groups:
    """The address book under `home`."""

    def __init__(self, home: Path) -> None:
        self.path = home / "groups.json"

    def all(self) -> dict[str, Group]:
        """By name. Raises SettingsError when the file is damaged."""
        if not self.path.exists():
            return {}
        try:
            book = read_file(self.path, AddressBook)
            return {name: terms.group() for name, terms in sorted(book.groups.items())}
        except FileRefused as error:
            raise SettingsError(
                f"{self.path} is damaged ({error}): restore it from a backup, or move it away."
            ) from error

    def get(self, name: str) -> Group:
        """Raises SettingsError when there is none of that name."""
        known = self.all()
        if name not in known:
            if not known:
                raise NoGroups(name, str(self.path))
            raise GroupUnknown(name, str(self.path), tuple(known))
        return known[name]

    def add(self, name: str, group: Group) -> None:
        """Raises BadName, and SettingsError when another group has the name. What was called so before stays."""
        known = self.all()
        if name not in known:
            check_name(name)
        if known.get(name, group) != group and not _same_safe(known[name], group):
            raise SettingsError(f"'{name}' is another group already: choose another name.")
        known[name] = group
        book = AddressBook(groups={title: GroupTerms.of(known[title]) for title in sorted(known)})
        write_file(self.path, book, private=True)

    def name_of(self, group: Group) -> str | None:
        """The name it has here."""
        return next((name for name, known in self.all().items() if known == group), None)


def _same_safe(one: Group, other: Group) -> bool:
    """Whether it is one Safe, by whomever it is owned now."""
    return (
        isinstance(one, Safe) and isinstance(other, Safe) and (one.at, one.chain) == (other.at, other.chain)
    )

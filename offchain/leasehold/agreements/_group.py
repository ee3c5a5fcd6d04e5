"""A group as files name it: who signs, and how many of them must."""

from __future__ import annotations

from leasehold.agreements._document import Address, Document, Hex, unhex
from leasehold.agreements._errors import FileRefused
from leasehold.chain.typed import Group
from leasehold.errors import InvalidSigners, InvalidThreshold, TypedDataError


class GroupTerms(Document):
    """What a group's address is made of. signers: ascending."""

    threshold: int
    signers: tuple[Address, ...]
    salt: Hex

    @classmethod
    def of(cls, group: Group) -> GroupTerms:
        return cls(threshold=group.threshold, signers=group.signers, salt="0x" + group.salt.hex())

    def group(self) -> Group:
        """Raises FileRefused for what no contract would take for a group."""
        try:
            return Group(self.threshold, self.signers, unhex(self.salt))
        except (InvalidThreshold, InvalidSigners, TypedDataError) as error:
            raise FileRefused(f"The group in it is none ({error}): ask for the file again.") from error

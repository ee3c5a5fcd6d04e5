"""A group as files name it: who signs, and how many of them must."""

from __future__ import annotations

from leasehold.agreements._document import Address, Document, Hex, unhex
from leasehold.agreements._errors import FileRefused
from leasehold.chain.typed import Group, Safe
from leasehold.errors import InvalidSigners, InvalidThreshold, TypedDataError


class GroupTerms(Document):
    """What a group's address is made of, or, with `safe`, a Safe and who owned it when it was read on `chain`. signers:
    ascending.
    """

    threshold: int
    signers: tuple[Address, ...]
    salt: Hex
    safe: Address | None = None
    chain: int | None = None

    @classmethod
    def of(cls, group: Group) -> GroupTerms:
        place = (group.at, group.chain) if isinstance(group, Safe) else (None, None)
        salt = "0x" + group.salt.hex()
        return cls(threshold=group.threshold, signers=group.signers, salt=salt, safe=place[0], chain=place[1])

    def group(self) -> Group:
        """Raises FileRefused for what no contract would take for a group."""
        try:
            if self.safe is not None:
                return Safe(self.threshold, self.signers, at=self.safe, chain=self.chain or 0)
            return Group(self.threshold, self.signers, unhex(self.salt))
        except (InvalidThreshold, InvalidSigners, TypedDataError) as error:
            raise FileRefused(f"The group in it is none ({error}): ask for the file again.") from error

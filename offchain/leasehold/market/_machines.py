"""The pool's machines as listings: the index's records joined with the documents that they name.

What reads a document is imported with the first one, by the face of the room.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, TypeVar

from leasehold import market
from leasehold.chain import MachineRecord
from leasehold.market._documents_cache import DocumentCache
from leasehold.market._errors import DocumentInvalid, DocumentUnavailable
from leasehold.market._listing import Listing
from leasehold.market._money import Money

if TYPE_CHECKING:
    from leasehold.market._documents import Contact, Hardware

Document = TypeVar("Document", "Hardware", "Contact")


class Machines:
    """Joins records with documents. A machine whose documents cannot be had is listed all the same."""

    def __init__(self, documents: DocumentCache, money: Money) -> None:
        self._documents = documents
        self._money = money

    async def listings(
        self, records: Iterable[MachineRecord], keep: Callable[[Listing], bool] = lambda _: True
    ) -> list[Listing]:
        """The listings that are to be kept, in the records' order: of thousands a search wants a few, and the others
        are let go one by one. Takes at most the documents' timeout, whatever is missing.
        """
        left = tuple(records)
        return joined(left, await self._documents.get_all(digests_of(left)), self._money, keep)

    async def hardware(self, record: MachineRecord) -> Hardware | None:
        """What one machine was described as, where that can be had."""
        try:
            raw = await self._documents.get(record.hardware)
            return market.parse_document(
                market.Hardware, raw, f"The hardware document of {record.machine.id}"
            )
        except (DocumentUnavailable, DocumentInvalid):
            return None

    async def contact(self, record: MachineRecord) -> Contact:
        """How to reach one machine.

        Raises:
            DocumentUnavailable, DocumentInvalid: it cannot be known.
        """
        raw = await self._documents.get(record.contact)
        return market.parse_document(
            market.Contact, raw, f"The contact document of machine {record.machine.id}"
        )


def digests_of(records: Iterable[MachineRecord]) -> list[bytes]:
    """The documents that they name: of each its hardware, then its contact."""
    return [digest for record in records for digest in (record.hardware, record.contact)]


def joined(
    records: Iterable[MachineRecord],
    documents: Iterable[bytes | DocumentUnavailable],
    money: Money,
    keep: Callable[[Listing], bool] = lambda _: True,
) -> list[Listing]:
    """The listings of the records that are to be kept. documents: those of `digests_of`, in that order."""
    left, bodies, listings = deque(records), deque(documents), []
    while left:
        listing = _listing(left.popleft(), bodies.popleft(), bodies.popleft(), money)
        if keep(listing):
            listings.append(listing)
    return listings


def _listing(
    record: MachineRecord,
    hardware: bytes | DocumentUnavailable,
    contact: bytes | DocumentUnavailable,
    money: Money,
) -> Listing:
    problems: list[str] = []
    machine = record.machine.id
    known = _parsed(market.Hardware, hardware, f"The hardware document of machine {machine}", problems)
    reach = _parsed(market.Contact, contact, f"The contact document of machine {machine}", problems)
    return Listing(record.machine, money, known, reach, " ".join(problems) or None)


def _parsed(
    model: type[Document], raw: bytes | DocumentUnavailable, what: str, problems: list[str]
) -> Document | None:
    if isinstance(raw, DocumentUnavailable):
        problems.append(str(raw))
        return None
    try:
        return market.parse_document(model, raw, what)
    except DocumentInvalid as error:
        problems.append(str(error))
        return None

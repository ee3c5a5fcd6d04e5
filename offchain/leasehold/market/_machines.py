"""The pool's machines as listings: the index's records joined with the documents that they name."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable
from typing import TypeVar

from leasehold.chain import MachineRecord
from leasehold.market._documents import Contact, Hardware, parse_document
from leasehold.market._documents_cache import DocumentCache
from leasehold.market._errors import DocumentInvalid, DocumentUnavailable
from leasehold.market._listing import Listing
from leasehold.market._quote import Money

Document = TypeVar("Document", Hardware, Contact)


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
        left = deque(records)
        digests = [digest for record in left for digest in (record.hardware, record.contact)]
        documents = deque(await self._documents.get_all(digests))
        listings = []
        while left:
            listing = self._listing(left.popleft(), documents.popleft(), documents.popleft())
            if keep(listing):
                listings.append(listing)
        return listings

    async def contact(self, record: MachineRecord) -> Contact:
        """How to reach one machine.

        Raises:
            DocumentUnavailable, DocumentInvalid: it cannot be known.
        """
        raw = await self._documents.get(record.contact)
        return parse_document(Contact, raw, f"The contact document of machine {record.machine.id}")

    def _listing(
        self,
        record: MachineRecord,
        hardware: bytes | DocumentUnavailable,
        contact: bytes | DocumentUnavailable,
    ) -> Listing:
        problems: list[str] = []
        machine = record.machine.id
        known = _parsed(Hardware, hardware, f"The hardware document of machine {machine}", problems)
        reach = _parsed(Contact, contact, f"The contact document of machine {machine}", problems)
        return Listing(record.machine, self._money, known, reach, " ".join(problems) or None)


def _parsed(
    model: type[Document], raw: bytes | DocumentUnavailable, what: str, problems: list[str]
) -> Document | None:
    if isinstance(raw, DocumentUnavailable):
        problems.append(str(raw))
        return None
    try:
        return parse_document(model, raw, what)
    except DocumentInvalid as error:
        problems.append(str(error))
        return None

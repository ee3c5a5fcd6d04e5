"""The machines as they are searched: in memory, at the block that was read last, each with the bytes of its answer.

A page is put together of these bytes. The same question about the same board is answered by the same bytes.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

import orjson

from leasehold.chain import Block, MachineRecord
from leasehold.gateway._errors import NoSuchThing
from leasehold.gateway._words import block_json, machine_json
from leasehold.market import MACHINES, InvalidInput, Listing, free_cells, free_gpus, parse_search
from leasehold.market.query import Fact, FieldKind, Query, SearchTable

MOST: Final = 200
MOST_TERMS: Final = 24
_PAGES: Final = 512
_PAGES_BYTES: Final = 32 * 2**20
_PARSED: Final = 2_048


@dataclass(frozen=True, slots=True)
class Placed:
    """A machine on the board: its listing, and what the index has of it."""

    record: MachineRecord
    listing: Listing


@dataclass(frozen=True, slots=True)
class Prepared:
    """All that is worked out of a machine before it is placed: what it is searched by, and its answer."""

    placed: Placed
    facts: Mapping[str, Fact]
    answer: bytes


class Board:
    """All machines of the pool."""

    def __init__(self) -> None:
        self._table: SearchTable[Listing] = SearchTable(MACHINES)
        self._table.keep_all()
        self._placed: dict[int, Placed] = {}
        self._documents: Counter[bytes] = Counter()
        self._answers: dict[int, bytes] = {}
        self._pages: OrderedDict[tuple[str, str, int, int | None], bytes] = OrderedDict()
        self._pages_size = 0
        self._parsed: OrderedDict[str, Query[Listing]] = OrderedDict()
        self._head = b"null"

    def __len__(self) -> int:
        return len(self._placed)

    def __iter__(self) -> Iterator[Placed]:
        return iter(self._placed.values())

    def get(self, machine: int) -> Placed | None:
        """A machine, retired ones included."""
        return self._placed.get(machine)

    def names(self, digest: bytes) -> bool:
        """Whether a machine names the document."""
        return digest in self._documents

    def put(self, record: MachineRecord, listing: Listing) -> None:
        """Add a machine, or say what it is now."""
        self.place(self.prepare(record, listing))

    def prepare(self, record: MachineRecord, listing: Listing) -> Prepared:
        """What takes long of `put`, of which nobody sees anything before `place`."""
        placed = Placed(record, listing)
        return Prepared(placed, self._table.facts_of(listing), orjson.dumps(item(placed)))

    def place(self, prepared: Prepared) -> None:
        """The rest."""
        placed = prepared.placed
        former = self._placed.get(placed.listing.id)
        if former is not None:
            self._forget_documents(former.record)
        self._documents.update((placed.record.hardware, placed.record.contact))
        self._placed[placed.listing.id] = placed
        self._table.put(placed.listing.id, placed.listing, prepared.facts)
        self._answers[placed.listing.id] = prepared.answer
        self._forget_pages()

    def stand_at(self, head: Block) -> None:
        """Say at which block the board stands now."""
        self._head = orjson.dumps(block_json(head))
        self._forget_pages()

    def answer(self, machine: int) -> bytes:
        """A machine as JSON. It is on the board."""
        return self._answers[machine]

    def brief(self, placed: Placed) -> dict[str, object]:
        """What changes of a machine, for who has the rest."""
        machine = placed.listing.machine
        return {
            "id": machine.id,
            "state": str(MACHINES.fields["state"].get(placed.listing)),
            "free_cells": free_cells(machine),
            "free": free_gpus(machine.busy, machine.gpus),
            "price": str(machine.terms.price),
            "verified": machine.status.name == "VERIFIED",
            "revision": machine.revision,
        }

    def page(self, text: str, sort: str, limit: int, after: int | None) -> bytes:
        """A page of the machines of which a search holds, as JSON.

        Raises:
            QueryError: the search cannot be understood. InvalidInput: there is no such order. NoSuchThing: no machine
            has the number `after`.
        """
        key = text, sort, limit, after
        page = self._pages.get(key)
        if page is None:
            page = self._written(*key)
            self._pages[key] = page
            self._pages_size += len(page)
            while len(self._pages) > _PAGES or self._pages_size > _PAGES_BYTES:
                self._pages_size -= len(self._pages.popitem(last=False)[1])
        return page

    def _written(self, text: str, sort: str, limit: int, after: int | None) -> bytes:
        query, by = self._query(text), sort.removeprefix("-")
        check_order(by)
        if after is not None and after not in self._placed:
            raise NoSuchThing("machine", str(after))
        chosen = self._table.select(query)
        numbers, more = self._table.page(
            chosen, by, descending=sort.startswith("-"), after=after, limit=limit
        )
        following = orjson.dumps(str(numbers[-1]) if more else None)
        items = b",".join(map(self.answer, numbers))
        return b'{"block":%b,"items":[%b],"total":%d,"next":%b}' % (
            self._head,
            items,
            chosen.bit_count(),
            following,
        )

    def _query(self, text: str) -> Query[Listing]:
        """The search, without retired machines unless it asks for a state."""
        query = self._parsed.get(text)
        if query is None:
            query = parse_search(text)
            if len(query.clauses) > MOST_TERMS:
                raise InvalidInput(
                    f"The search has more than {MOST_TERMS} terms",
                    "say several values in one: gpu:H100,H200.",
                )
            if not query.asks("state"):
                query = replace(query, clauses=query.clauses + parse_search("-state:retired").clauses)
            self._parsed[text] = query
            if len(self._parsed) > _PARSED:
                self._parsed.popitem(last=False)
        return query

    def _forget_documents(self, record: MachineRecord) -> None:
        for digest in (record.hardware, record.contact):
            self._documents[digest] -= 1
            if not self._documents[digest]:
                del self._documents[digest]

    def _forget_pages(self) -> None:
        self._pages.clear()
        self._pages_size = 0


def check_order(by: str) -> None:
    """Raises InvalidInput where machines cannot be sorted by that field."""
    field = MACHINES.fields.get(by)
    if field is None or field.kind is FieldKind.SET:
        known = ", ".join(
            sorted(name for name, field in MACHINES.fields.items() if field.kind is not FieldKind.SET)
        )
        raise InvalidInput(f"Machines cannot be sorted by '{by[:40]}'", f"use one of {known}.")


def item(placed: Placed) -> dict[str, object]:
    """A machine in a list."""
    listing, record = placed.listing, placed.record
    state = MACHINES.fields["state"].get(listing)
    return {**machine_json(listing, str(state), record.hardware, record.contact)}

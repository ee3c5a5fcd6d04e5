"""Many subjects, searched at once: what `Query.matches` says of each, said of all of them by a few operations on sets.

A column holds one field's fact of every subject; it is made when a search or an order first names its field, and then
kept up with each subject that changes. A set of subjects is an integer with a bit for each, so that ten thousand of
them are met, joined and taken apart in a microsecond. A clause's set is remembered until its column changes.

What it gives is what `matches` gives, subject by subject: a test holds the two equal for any query.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from operator import itemgetter
from typing import Any, Final, Generic, TypeVar

from leasehold.market.query._language import (
    Clause,
    Fact,
    FieldKind,
    Operand,
    Query,
    Schema,
    compare,
)

Subject = TypeVar("Subject")

_REMEMBERED: Final = 128  # sets of a column
_CHUNK: Final = 256  # subjects between two sets of those that come before
_FEW: Final = 512  # that are sorted by themselves; of more, the column's order is walked
_MANY: Final = 64  # that have a word, of which a set is then kept
_ORDERED: Final = (FieldKind.NUMBER, FieldKind.SIZE, FieldKind.DURATION)


class SearchTable(Generic[Subject]):
    """Subjects under numbers of their own, which are also what ties are ordered by."""

    def __init__(self, schema: Schema[Subject]) -> None:
        self._schema = schema
        self._places: dict[int, int] = {}  # of each number
        self._numbers: list[int] = []  # at each place
        self._subjects: list[Subject] = []
        self._columns: dict[str, _Column] = {}
        self._by_number: list[int] | None = None

    def keep_all(self) -> None:
        """Keep every field's column from now on, so that no search waits for one to be made."""
        for name in self._schema.fields:
            self._column(name)

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, number: int) -> bool:
        return number in self._places

    def __getitem__(self, number: int) -> Subject:
        return self._subjects[self._places[number]]

    def __iter__(self) -> Iterator[Subject]:
        return iter(self._subjects)

    def facts_of(self, subject: Subject) -> Mapping[str, Fact]:
        """What `put` works out of a subject, for who does that beforehand and puts many at once."""
        return {name: self._schema.fields[name].get(subject) for name in self._columns}

    def put(self, number: int, subject: Subject, facts: Mapping[str, Fact] | None = None) -> None:
        """Add a subject, or say what it is now. facts: its own, if they are known."""
        place = self._places.get(number)
        if place is None:
            place = self._places[number] = len(self._numbers)
            self._numbers.append(number)
            self._subjects.append(subject)
            self._by_number = None
        else:
            self._subjects[place] = subject
        known = facts or {}
        for name, column in self._columns.items():
            column.put(place, known[name] if name in known else self._schema.fields[name].get(subject))

    def select(self, query: Query[Subject]) -> int:
        """The set of those of which every clause holds."""
        chosen = every = (1 << len(self._numbers)) - 1
        for clause in query.clauses:
            held = self._held(clause)
            chosen &= every ^ held if clause.negated else held
            if not chosen:
                break
        return chosen

    def page(
        self, chosen: int, by: str, *, descending: bool, after: int | None, limit: int
    ) -> tuple[list[int], bool]:
        """Numbers of a set's subjects in order of a field, ties by number, what lacks it last; and whether more follow.

        after: the number of the subject behind which the page begins, wherever that now stands.
        """
        ranks = self._column(by).ranks(self._in_order(), descending=descending)
        first = 0 if after is None else ranks[1][self._places[after]] + 1
        places = _first(chosen, ranks, first, limit + 1)
        return [self._numbers[place] for place in places[:limit]], len(places) > limit

    def _held(self, clause: Clause) -> int:
        names = (clause.name,) if clause.name else self._schema.text
        held = 0
        for name in names:
            held |= self._column(name).held(clause.operator or ":", clause.operands)
        return held

    def _column(self, name: str) -> _Column:
        column = self._columns.get(name)
        if column is None:
            field = self._schema.fields[name]
            column = self._columns[name] = _KINDS.get(field.kind, _Numbers)()
            for place, subject in enumerate(self._subjects):
                column.put(place, field.get(subject))
        return column

    def _in_order(self) -> list[int]:
        """The places in order of their numbers."""
        if self._by_number is None:
            self._by_number = sorted(range(len(self._numbers)), key=self._numbers.__getitem__)
        return self._by_number


Ranks = tuple[list[int], list[int]]
"""Places in order, and of each place where it stands in that order."""


def _first(chosen: int, ranks: Ranks, first: int, most: int) -> list[int]:
    """The first places of a set, from a rank on."""
    order, rank = ranks
    if chosen.bit_count() <= _FEW:
        left = [place for place in _places(chosen) if rank[place] >= first]
        return sorted(left, key=rank.__getitem__)[:most]
    octets = chosen.to_bytes((len(order) + 7) // 8, "little")
    places: list[int] = []
    for at in range(first, len(order)):
        place = order[at]
        if octets[place >> 3] >> (place & 7) & 1:
            places.append(place)
            if len(places) == most:
                break
    return places


def _places(chosen: int) -> Iterator[int]:
    octets = chosen.to_bytes((chosen.bit_length() + 7) // 8, "little")
    for at, octet in enumerate(octets):
        while octet:
            lowest = octet & -octet
            yield at << 3 | lowest.bit_length() - 1
            octet ^= lowest


def _set_of(places: Iterable[int], size: int) -> int:
    octets = bytearray((size + 7) // 8)
    for place in places:
        octets[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(octets, "little")


class _Column(ABC):
    """One field of all subjects."""

    def __init__(self) -> None:
        self.facts: list[Fact] = []
        self._sets: dict[tuple[str, tuple[Operand, ...]], int] = {}
        self._ranks: dict[bool, Ranks] = {}

    def put(self, place: int, fact: Fact) -> None:
        """What the field is now of the subject at a place; a new one comes at the end."""
        if place == len(self.facts):
            self.facts.append(None)
            self._changed()
        before = self.facts[place]
        if before == fact and type(before) is type(fact):
            return
        self._changed()
        if before is not None:
            self._remove(place, before)
        self.facts[place] = fact
        if fact is not None:
            self._add(place, fact)

    def held(self, operator: str, operands: tuple[Operand, ...]) -> int:
        """The set of those of which a clause holds."""
        known = self._sets.get((operator, operands))
        if known is None:
            known = self._find(operator, operands)
            if len(self._sets) >= _REMEMBERED:
                self._sets.clear()
            self._sets[operator, operands] = known
        return known

    def ranks(self, by_number: Sequence[int], *, descending: bool) -> Ranks:
        """The order by this field. by_number: all places, as ties and what lacks the field are ordered."""
        known = self._ranks.get(descending)
        if known is None:
            have = [place for place in by_number if self.facts[place] is not None]
            have.sort(key=self._keys().__getitem__, reverse=descending)
            order = have + [place for place in by_number if self.facts[place] is None]
            rank = [0] * len(order)
            for at, place in enumerate(order):
                rank[place] = at
            known = self._ranks[descending] = order, rank
        return known

    def _changed(self) -> None:
        self._sets.clear()
        self._ranks.clear()

    def _keys(self) -> Sequence[Any]:
        """By what each place is ordered; numbers of all kinds are compared as they are."""
        return self.facts

    @abstractmethod
    def _add(self, place: int, fact: Any) -> None: ...

    @abstractmethod
    def _remove(self, place: int, fact: Any) -> None: ...

    @abstractmethod
    def _find(self, operator: str, operands: tuple[Operand, ...]) -> int: ...


class _Words(_Column):
    """Texts, and sets of them. `:` looks for a text in all different ones at once, as in one long text."""

    def __init__(self) -> None:
        super().__init__()
        self._having: dict[str, set[int]] = defaultdict(set)  # places, by casefolded word
        self._sets_of: dict[str, int] = {}  # of words that many have
        self._long: tuple[str, list[int], list[str]] | None = None

    def _keys(self) -> Sequence[str]:
        return [fact.casefold() if isinstance(fact, str) else "" for fact in self.facts]

    def _add(self, place: int, fact: str | frozenset[str]) -> None:
        for word in _words(fact):
            if word not in self._having:
                self._long = None
            self._having[word].add(place)
            if word in self._sets_of:
                self._sets_of[word] |= 1 << place

    def _remove(self, place: int, fact: str | frozenset[str]) -> None:
        for word in _words(fact):
            self._having[word].discard(place)
            if word in self._sets_of:
                self._sets_of[word] &= ~(1 << place)
            if not self._having[word]:
                del self._having[word]
                self._sets_of.pop(word, None)
                self._long = None

    def _find(self, operator: str, operands: tuple[Operand, ...]) -> int:
        wanted = [operand for operand in operands if isinstance(operand, str)]
        held, places = 0, list[int]()
        for want in wanted:
            for word in (want,) if operator == "=" else self._containing(want):
                having = self._having.get(word, ())
                if len(having) > _MANY:
                    held |= self._set(word)
                else:
                    places += having
        return held | _set_of(places, len(self.facts))

    def _set(self, word: str) -> int:
        if word not in self._sets_of:
            self._sets_of[word] = _set_of(self._having[word], len(self.facts))
        return self._sets_of[word]

    def _containing(self, want: str) -> Iterator[str]:
        """The words that contain the text."""
        text, starts, words = self._joined()
        at = text.find(want) if words else -1
        while at >= 0:
            which = bisect_right(starts, at) - 1
            within = want in words[which]  # and not across two of them
            if within:
                yield words[which]
                if which + 1 == len(starts):
                    return
            at = text.find(want, starts[which + 1] if within else at + 1)

    def _joined(self) -> tuple[str, list[int], list[str]]:
        """All words with a character between them, where each begins, and the words."""
        if self._long is None:
            words, starts, at = list(self._having), [], 0
            for word in words:
                starts.append(at)
                at += len(word) + 1
            self._long = "\0".join(words), starts, words
        return self._long


def _words(fact: str | frozenset[str]) -> set[str]:
    return {fact.casefold()} if isinstance(fact, str) else {word.casefold() for word in fact}


class _Numbers(_Column):
    """What has an order, sorted: a comparison is a span of it, whose set is put together from sets of whole chunks."""

    def __init__(self) -> None:
        super().__init__()
        self._sorted: list[tuple[Decimal, int]] = []
        self._before: list[int] | None = None  # of each chunk, the set of those in earlier ones

    def _add(self, place: int, fact: int | Decimal) -> None:
        insort(self._sorted, (Decimal(fact), place))

    def _remove(self, place: int, fact: int | Decimal) -> None:
        del self._sorted[bisect_left(self._sorted, (Decimal(fact), place))]

    def _changed(self) -> None:
        super()._changed()
        self._before = None

    def _find(self, operator: str, operands: tuple[Operand, ...]) -> int:
        held = 0
        for operand in operands:
            if isinstance(operand, Decimal):
                held |= self._span(*self._ends(operator, operand))
        return held

    def _ends(self, operator: str, operand: Decimal) -> tuple[int, int]:
        least = bisect_left(self._sorted, operand, key=itemgetter(0))
        above = bisect_right(self._sorted, operand, key=itemgetter(0))
        return {
            "<": (0, least),
            "<=": (0, above),
            ">": (above, len(self._sorted)),
            ">=": (least, len(self._sorted)),
        }.get(operator, (least, above))

    def _span(self, begin: int, end: int) -> int:
        return self._up_to(end) ^ self._up_to(begin)

    def _up_to(self, end: int) -> int:
        """The set of the first so many."""
        chunk = end // _CHUNK
        rest = (place for _, place in self._sorted[chunk * _CHUNK : end])
        return self._chunks()[chunk] | _set_of(rest, len(self.facts))

    def _chunks(self) -> list[int]:
        if self._before is None:
            self._before = [0]
            for at in range(0, len(self._sorted), _CHUNK):
                places = (place for _, place in self._sorted[at : at + _CHUNK])
                self._before.append(self._before[-1] | _set_of(places, len(self.facts)))
        return self._before


class _Few(_Column):
    """What has few different values, such as versions: each value is looked at by itself."""

    def __init__(self) -> None:
        super().__init__()
        self._having: dict[Any, int] = defaultdict(int)  # the set of places, by value

    def _add(self, place: int, fact: Any) -> None:
        self._having[fact] |= 1 << place

    def _remove(self, place: int, fact: Any) -> None:
        self._having[fact] &= ~(1 << place)
        if not self._having[fact]:
            del self._having[fact]

    def _find(self, operator: str, operands: tuple[Operand, ...]) -> int:
        held = 0
        for fact, places in self._having.items():
            if compare(fact, operator, operands):
                held |= places
        return held


_KINDS: Final[Mapping[FieldKind, Callable[[], _Column]]] = {
    FieldKind.TEXT: _Words,
    FieldKind.SET: _Words,
    FieldKind.FLAG: _Few,
    FieldKind.VERSION: _Few,
    **dict.fromkeys(_ORDERED, _Numbers),
}

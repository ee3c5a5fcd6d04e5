"""The search language: text → clauses → predicate, all pure.

    query  := term*                        every term must hold
    term   := "-"? ( clause | value )      "-" negates; a bare value searches the fields that `Schema.text`
    names clause := name operator value ("," value)* operator := ":" "=" "!=" "<" "<=" ">" ">=" value  := bare
    | '"' … '"'             inside quotes, \\" and \\\\ stand for themselves

Several values mean any of them. A clause on something that a subject does not have never holds, so its
negation does. `str(query)` writes the canonical form, which parses to an equal query.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from enum import Enum
from typing import Generic, TypeVar

from leasehold.market._errors import InvalidInput, QueryError
from leasehold.market._units import parse_duration, parse_size, parse_version

Subject = TypeVar("Subject")
Ordered = TypeVar("Ordered", Decimal, tuple[int, ...])
Version = tuple[int, ...]
Fact = str | bool | int | Decimal | Version | frozenset[str] | None
Operand = str | bool | Decimal | Version

_OPERATORS = ("!=", "<=", ">=", ":", "=", "<", ">")
_SPECIAL = frozenset(':=<>!,"')
_NUMBER = re.compile(r"[0-9]{1,28}(\.[0-9]{1,18})?")
_BOOLEANS = {"yes": True, "true": True, "no": False, "false": False}


class FieldKind(Enum):
    """What a field holds, which decides how its values are read and compared."""

    TEXT = "text"
    SET = "any of several texts"
    FLAG = "yes or no"
    NUMBER = "number"
    SIZE = "size"
    DURATION = "duration"
    VERSION = "version"


_ORDERED = (FieldKind.NUMBER, FieldKind.SIZE, FieldKind.DURATION, FieldKind.VERSION)
_CONTAIN = (FieldKind.TEXT, FieldKind.SET, FieldKind.VERSION)
"""Kinds of which `:` is more than `=`: a text that contains the value, a version that begins with it."""


@dataclass(frozen=True)
class SearchField(Generic[Subject]):
    """One thing that can be searched or sorted by. `unit` is what a bare number of a `SIZE` means. `values` are all
    that there are, where they are known: another cannot be meant.
    """

    name: str
    kind: FieldKind
    get: Callable[[Subject], Fact]
    meaning: str
    unit: str = "gb"
    values: tuple[str, ...] = ()


@dataclass(frozen=True)
class Schema(Generic[Subject]):
    """The fields of one kind of subject; `text` are those that a bare word searches."""

    fields: Mapping[str, SearchField[Subject]]
    text: tuple[str, ...]

    @classmethod
    def of(cls, fields: Iterable[SearchField[Subject]], text: tuple[str, ...]) -> Schema[Subject]:
        return cls({field.name: field for field in fields}, text)

    def field(self, name: str, column: int) -> SearchField[Subject]:
        """The field of that name; raises `QueryError` with the nearest one when there is none."""
        field = self.fields.get(name.lower())
        if field is not None:
            return field
        near = difflib.get_close_matches(name.lower(), self.fields, n=1)
        hint = f"did you mean '{near[0]}'?" if near else f"the fields are {', '.join(sorted(self.fields))}."
        raise QueryError(column, f"unknown field '{name}'; {hint}")


@dataclass(frozen=True)
class Clause:
    """One term. `name` is empty for a bare word; `operator` is never ``!=``, which is a negated ``=``."""

    name: str
    operator: str
    values: tuple[str, ...]
    operands: tuple[Operand, ...]
    negated: bool = False
    column: int = field(default=1, compare=False)

    def __str__(self) -> str:
        sign = "-" if self.negated else ""
        return f"{sign}{self.name}{self.operator}{','.join(map(_quoted, self.values))}"


@dataclass(frozen=True)
class Query(Generic[Subject]):
    """Clauses that must all hold; without any, everything matches."""

    schema: Schema[Subject] = field(repr=False, compare=False)
    clauses: tuple[Clause, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, self.clauses))

    def asks(self, *names: str) -> bool:
        """Whether a clause names one of these fields. A bare word names none."""
        return any(clause.name in names for clause in self.clauses)

    def without(self, *names: str) -> Query[Subject]:
        """The clauses that name none of these fields: whatever matches all of them matches these."""
        return replace(self, clauses=tuple(clause for clause in self.clauses if clause.name not in names))

    def matches(self, subject: Subject) -> bool:
        """Whether every clause holds of `subject`."""
        return all(self._holds(clause, subject) != clause.negated for clause in self.clauses)

    def _holds(self, clause: Clause, subject: Subject) -> bool:
        names = (clause.name,) if clause.name else self.schema.text
        facts = (self.schema.fields[name].get(subject) for name in names)
        return any(compare(fact, clause.operator or ":", clause.operands) for fact in facts)


def parse(text: str, schema: Schema[Subject]) -> Query[Subject]:
    """Read a search.

    Raises:
        QueryError: with the column, counted from 1, of what cannot be understood.
    """
    scanner = _Scanner(text)
    clauses = []
    while not scanner.at_end():
        clauses.append(_term(scanner, schema))
    return Query(schema, tuple(clauses))


class _Scanner:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    @property
    def column(self) -> int:
        return self.position + 1

    def at_end(self) -> bool:
        self.skip_space()
        return self.position >= len(self.text)

    def skip_space(self) -> None:
        while self.position < len(self.text) and self.text[self.position].isspace():
            self.position += 1

    def take(self, *choices: str) -> str | None:
        """The first of `choices` that comes next after blanks, which are only consumed with it."""
        start = self.position
        self.skip_space()
        for choice in choices:
            if self.text.startswith(choice, self.position):
                self.position += len(choice)
                return choice
        self.position = start
        return None

    def bare(self, stop: frozenset[str]) -> str:
        start = self.position
        while self.position < len(self.text):
            character = self.text[self.position]
            if character.isspace() or character in stop:
                break
            self.position += 1
        return self.text[start : self.position]

    def quoted(self) -> str:
        opening = self.column
        self.position += 1
        out: list[str] = []
        while self.position < len(self.text):
            character = self.text[self.position]
            self.position += 1
            if character == '"':
                return "".join(out)
            if character == "\\":
                if self.text[self.position : self.position + 1] not in ('"', "\\"):
                    raise QueryError(self.position, 'only \\" and \\\\ may follow a backslash inside quotes.')
                character = self.text[self.position]
                self.position += 1
            out.append(character)
        raise QueryError(opening, "this quote is never closed.")

    def value(self) -> tuple[str, int]:
        self.skip_space()
        column = self.column
        if self.text[self.position : self.position + 1] == '"':
            return self.quoted(), column
        # A value may hold ':' (sha256:…), never an operator that somebody mistyped.
        value = self.bare(_SPECIAL - {":"})
        if not value or value.startswith(":"):
            what = self.text[column - 1 : column]
            raise QueryError(column, f"unexpected '{what}'." if what else "a value is missing.")
        return value, column


def _term(scanner: _Scanner, schema: Schema[Subject]) -> Clause:
    start = scanner.column
    negated = scanner.take("-") is not None
    column = scanner.column
    if scanner.text[scanner.position : scanner.position + 1] == '"':
        value = scanner.quoted()
        return Clause("", "", (value,), (value.casefold(),), negated, start)
    name = scanner.bare(_SPECIAL)
    if not name:
        what = scanner.text[scanner.position : scanner.position + 1]
        raise QueryError(scanner.column, f"unexpected '{what}'." if what.strip() else "a term is missing.")
    operator = scanner.take(*_OPERATORS)
    if operator is None:
        return Clause("", "", (name,), (name.casefold(),), negated, start)
    known = schema.field(name, column)
    if operator == "!=":
        operator, negated = "=", not negated
    if known.kind not in _CONTAIN and operator == ":":
        operator = "="
    if operator in ("<", "<=", ">", ">=") and known.kind not in _ORDERED:
        raise QueryError(column, f"'{known.name}' is {known.kind.value} and has no order: use ':' or '='.")
    values, operands = _values(scanner, known)
    if len(values) > 1 and operator in ("<", "<=", ">", ">="):
        raise QueryError(column, f"'{operator}' takes one value.")
    return Clause(known.name, operator, values, operands, negated, start)


def _values(scanner: _Scanner, known: SearchField[Subject]) -> tuple[tuple[str, ...], tuple[Operand, ...]]:
    values: list[str] = []
    operands: list[Operand] = []
    while True:
        value, column = scanner.value()
        values.append(value)
        operands.append(_operand(value, known, column))
        if scanner.take(",") is None:
            return tuple(values), tuple(operands)


def _operand(text: str, known: SearchField[Subject], column: int) -> Operand:
    try:
        if known.kind is FieldKind.SIZE:
            return parse_size(text, default_unit=known.unit)
        if known.kind is FieldKind.DURATION:
            return Decimal(parse_duration(text))
        if known.kind is FieldKind.VERSION:
            return parse_version(text)
    except InvalidInput as error:
        raise QueryError(column, str(error)) from None
    if known.kind is FieldKind.NUMBER:
        if _NUMBER.fullmatch(text) is None:
            raise QueryError(column, f"'{text}' is not a number: write digits, such as 8 or 2.5.")
        return Decimal(text)
    if known.kind is FieldKind.FLAG:
        if text.lower() not in _BOOLEANS:
            raise QueryError(column, f"'{text}' is neither yes nor no.")
        return _BOOLEANS[text.lower()]
    if known.values and not any(text.casefold() in value for value in known.values):
        raise QueryError(column, f"'{text}' is no {known.name}: choose one of {', '.join(known.values)}.")
    return text.casefold()


def compare(fact: Fact, operator: str, operands: tuple[Operand, ...]) -> bool:
    """Whether a clause with this operator and these values holds of a fact."""
    if fact is None:
        return False
    if isinstance(fact, str):
        fact = frozenset((fact,))
    if isinstance(fact, frozenset):
        have = [word.casefold() for word in fact]
        wanted = [operand for operand in operands if isinstance(operand, str)]
        if operator == "=":
            return any(want == word for want in wanted for word in have)
        return any(want in word for want in wanted for word in have)
    if isinstance(fact, bool):
        return fact in operands
    if isinstance(fact, tuple):
        return any(
            _compare_versions(fact, operator, wanted) for wanted in operands if isinstance(wanted, tuple)
        )
    number = Decimal(fact)
    return any(_ordered(number, operand, operator) for operand in operands if isinstance(operand, Decimal))


def _compare_versions(fact: Version, operator: str, wanted: Version) -> bool:
    """What is not written of a version is 0: 12 is 12.0."""
    if operator == ":":
        return fact[: len(wanted)] == wanted
    length = max(len(fact), len(wanted))
    return _ordered(_padded(fact, length), _padded(wanted, length), operator)


def _padded(version: Version, length: int) -> Version:
    return version + (0,) * (length - len(version))


def _ordered(fact: Ordered, operand: Ordered, operator: str) -> bool:
    match operator:
        case "<":
            return fact < operand
        case "<=":
            return fact <= operand
        case ">":
            return fact > operand
        case ">=":
            return fact >= operand
        case _:
            return fact == operand


def _quoted(value: str) -> str:
    plain = (
        value
        and not value.startswith(("-", ":"))
        and not any(c.isspace() or c in _SPECIAL - {":"} for c in value)
    )
    # A bare word with ':' in it would read as a clause, so words are quoted even then.
    if plain and ":" not in value:
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'

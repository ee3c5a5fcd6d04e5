"""Many subjects searched at once: what the table says of all is what `matches` says of each, whatever is asked."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal

import pytest

from leasehold.market.query import Fact, FieldKind, Query, Schema, SearchField, SearchTable, parse


@dataclass(frozen=True)
class Thing:
    number: int
    text: str | None
    words: frozenset[str] | None
    flag: bool | None
    amount: int | Decimal | None
    version: tuple[int, ...] | None


SCHEMA: Schema[Thing] = Schema.of(
    (
        SearchField("text", FieldKind.TEXT, lambda thing: thing.text, ""),
        SearchField("words", FieldKind.SET, lambda thing: thing.words, ""),
        SearchField("flag", FieldKind.FLAG, lambda thing: thing.flag, ""),
        SearchField("amount", FieldKind.NUMBER, lambda thing: thing.amount, ""),
        SearchField("version", FieldKind.VERSION, lambda thing: thing.version, ""),
    ),
    text=("text", "words"),
)
LETTERS = ("a", "A", "b", "ab", "aB", "ba", "", "ß", "SS", "a\0b", "x y")


def any_thing(rng: random.Random, number: int) -> Thing:
    def maybe(fact: Fact) -> Fact:
        return None if rng.random() < 0.2 else fact

    return Thing(
        number,
        maybe("".join(rng.choices(LETTERS, k=rng.randint(0, 3)))),  # type: ignore[arg-type]
        maybe(frozenset(rng.choices(LETTERS, k=rng.randint(0, 3)))),  # type: ignore[arg-type]
        maybe(rng.random() < 0.5),  # type: ignore[arg-type]
        maybe(rng.choice((rng.randint(0, 5), Decimal(rng.randint(0, 50)) / 10))),  # type: ignore[arg-type]
        maybe(tuple(rng.randint(0, 3) for _ in range(rng.randint(1, 3)))),  # type: ignore[arg-type]
    )


def any_term(rng: random.Random) -> str:
    sign = rng.choice(("", "", "-"))
    quoted = rng.choice(('""', '"a"', '"aB"', '"ss"', '"x y"', '"b"', '"\0"'))
    field = rng.choice(("text", "words", "flag", "amount", "version", ""))
    if field in ("text", "words"):
        return f"{sign}{field}{rng.choice((':', '=', '!='))}{quoted},{rng.choice(LETTERS[:5])}"
    if field == "flag":
        return f"{sign}flag:{rng.choice(('yes', 'no', 'yes,no'))}"
    if field == "amount":
        return f"{sign}amount{rng.choice((':', '=', '!=', '<', '<=', '>', '>='))}{rng.randint(0, 50) / 10}"
    if field == "version":
        return f"{sign}version{rng.choice((':', '=', '<', '<=', '>', '>='))}{rng.choice(('1', '1.2', '2.0.0', '3'))}"
    return f"{sign}{quoted}"


def any_query(rng: random.Random) -> Query[Thing]:
    return parse(" ".join(any_term(rng) for _ in range(rng.randint(0, 3))), SCHEMA)


def chosen(table: SearchTable[Thing], query: Query[Thing]) -> list[int]:
    size = len(table)
    numbers, more = table.page(table.select(query), "amount", descending=False, after=None, limit=size + 1)
    assert not more
    return sorted(numbers)


@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(3, 12))]
)
def test_the_table_says_of_all_what_matches_says_of_each(seed: int) -> None:
    rng, table = random.Random(seed), SearchTable(SCHEMA)
    things: dict[int, Thing] = {}
    for _ in range(6):
        for number in rng.sample(range(1_000), 120):
            things[number] = any_thing(rng, number)
            table.put(number, things[number])
        for _ in range(25):
            query = any_query(rng)
            assert chosen(table, query) == sorted(n for n, t in things.items() if query.matches(t)), str(
                query
            )


def in_order(things: dict[int, Thing], field: str, *, descending: bool) -> list[int]:
    """As `leasehold.market.sort` has it: ties by number, what lacks the field last."""
    get = SCHEMA.fields[field].get
    have = [n for n in sorted(things) if get(things[n]) is not None]
    have.sort(key=lambda n: _key(get(things[n])), reverse=descending)
    return have + [n for n in sorted(things) if get(things[n]) is None]


def _key(fact: Fact) -> object:
    return fact.casefold() if isinstance(fact, str) else fact


def pages(table: SearchTable[Thing], query: Query[Thing], field: str, *, descending: bool) -> Iterator[int]:
    after, more = None, True
    while more:
        numbers, more = table.page(table.select(query), field, descending=descending, after=after, limit=7)
        yield from numbers
        after = numbers[-1] if numbers else None


@pytest.mark.parametrize("field", ["text", "amount", "version", "flag"])
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("size", [40, 900])
def test_pages_in_order_are_the_whole_order(field: str, descending: bool, size: int) -> None:
    rng, table = random.Random(size), SearchTable(SCHEMA)
    things = {number: any_thing(rng, number) for number in rng.sample(range(10_000), size)}
    for number, thing in things.items():
        table.put(number, thing)
    for _ in range(3):
        number = rng.choice(list(things))
        things[number] = replace(things[number], amount=Decimal(3), text="ab")
        table.put(number, things[number])
        for query in (parse("", SCHEMA), any_query(rng)):
            held = {n: thing for n, thing in things.items() if query.matches(thing)}
            expected = in_order(held, field, descending=descending)
            assert list(pages(table, query, field, descending=descending)) == expected


def test_an_empty_table_has_nothing() -> None:
    table = SearchTable(SCHEMA)
    assert table.select(parse('-text:"" amount>1', SCHEMA)) == 0
    assert table.page(0, "text", descending=False, after=None, limit=5) == ([], False)

"""The search language by itself, over a small schema: what it accepts, what it says when it cannot."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from leasehold.market.query import FieldKind, Query, QueryError, Schema, SearchField, parse


@dataclass(frozen=True)
class Card:
    gpu: str | None = "NVIDIA H100 80GB HBM3"
    mem: int | None = 85_520_809_984
    price: Decimal = Decimal("2.25")
    cpu: int = 32
    verified: bool = True
    longest: int = 86_400
    images: frozenset[str] = field(default_factory=lambda: frozenset({"sha256:abc", "cuda 12.4"}))
    country: str | None = "DE"
    driver: tuple[int, ...] | None = (570, 86, 10)


SCHEMA = Schema[Card].of(
    (
        SearchField("gpu", FieldKind.TEXT, lambda card: card.gpu, ""),
        SearchField("mem", FieldKind.SIZE, lambda card: card.mem, ""),
        SearchField("price", FieldKind.NUMBER, lambda card: card.price, ""),
        SearchField("cpu", FieldKind.NUMBER, lambda card: card.cpu, ""),
        SearchField("verified", FieldKind.FLAG, lambda card: card.verified, ""),
        SearchField("max", FieldKind.DURATION, lambda card: card.longest, ""),
        SearchField("image", FieldKind.SET, lambda card: card.images, ""),
        SearchField("country", FieldKind.TEXT, lambda card: card.country, ""),
        SearchField("driver", FieldKind.VERSION, lambda card: card.driver, ""),
    ),
    text=("gpu", "country"),
)


def matches(text: str, card: Card | None = None) -> bool:
    return parse(text, SCHEMA).matches(card or Card())


@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "gpu:H100",
        "gpu:h100 mem>=80 price<2.5 verified:yes cpu>=8 country:DE",
        "GPU:A100,H100",
        "gpu : H100 ,A100",
        'gpu:"H100 80GB"',
        "h100",
        '"h100 80gb"',
        "-rtx",
        "-gpu:A100",
        "gpu!=A100",
        "-gpu=H100",
        "mem>=79GiB",
        "mem<=86000MB",
        "price=2.25",
        "price:2.250",
        "price>=2.25 price<=2.25",
        "cpu:8,16,32",
        "cpu!=8,16",
        "max>=24h max<=1d",
        "image:sha256:abc",
        'image="cuda 12.4"',
        "image:cuda",
        "country=de",
        "verified=true",
        "-verified:no",
        "driver>=570",
        "driver>570.86.9",
        "driver<570.100",
        "driver:570",
        "driver:570.86.10",
        "driver:550,570.86",
        "driver=570.86.10.0",
        "driver!=570",
        "-driver:57",
    ],
)
def test_holds(text: str) -> None:
    assert matches(text)


@pytest.mark.parametrize(
    "text",
    [
        "gpu:A100",
        "gpu=H100",
        "mem>=80GiB",
        "price<2.25",
        "cpu>32",
        "verified:no",
        "max>1d",
        "image=cuda",
        "image!=sha256:abc",
        "-de",
        "gpu:H100 country:FR",
        "driver>=571",
        "driver<=570.86.9",
        "driver:57",
        "driver:570.86.10.1",
        "driver=570",
    ],
)
def test_does_not_hold(text: str) -> None:
    assert not matches(text)


def test_what_a_machine_lacks_matches_no_clause_and_every_negation() -> None:
    bare = Card(gpu=None, mem=None, country=None, driver=None)
    assert not matches("gpu:H100", bare)
    assert not matches("mem<1000TB", bare)
    assert not matches("driver>=0", bare)
    assert matches("-gpu:H100 country!=DE -mem>=1", bare)


@pytest.mark.parametrize(
    ("text", "column", "says"),
    [
        ("gpuu:H100", 1, "did you mean 'gpu'?"),
        ("gpu:H100  zzz:1", 11, "the fields are"),
        ("price<cheap", 7, "not a number"),
        ("price<-1", 7, "not a number"),
        ("mem>=80parsecs", 6, "not a size"),
        ("max>=24", 6, "such as 90m"),
        ("gpu<H100", 1, "has no order"),
        ("verified>yes", 1, "has no order"),
        ("verified:maybe", 10, "neither yes nor no"),
        ("driver>=new", 9, "such as 12.4"),
        ("driver>=12.4-rc1", 9, "such as 12.4"),
        ("driver>=12,13", 1, "takes one value"),
        ("cpu<8,16", 1, "takes one value"),
        ("cpu:", 5, "a value is missing"),
        ("cpu:8,", 7, "a value is missing"),
        ("cpu=>8", 5, "unexpected '>'"),
        ("gpu::H100", 5, "unexpected ':'"),
        ("gpu:H100 -", 11, "a term is missing"),
        (">=8", 1, "unexpected '>'"),
        ('gpu:"H100', 5, "never closed"),
        ('gpu:"H\\100"', 7, "backslash"),
        ("gpu:A,:B", 7, "unexpected ':'"),
    ],
)
def test_an_error_points_at_its_column(text: str, column: int, says: str) -> None:
    with pytest.raises(QueryError) as caught:
        parse(text, SCHEMA)
    assert caught.value.column == column
    assert says in str(caught.value)
    assert str(caught.value).startswith(f"Column {column} of the search: ")
    assert caught.value.exit_code == 2


words = st.text(min_size=1, max_size=8)
negation = st.sampled_from(["", "-"])


def quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


number = st.decimals(min_value=0, max_value=10**9, places=3).map(str)
clause = st.one_of(
    st.builds("{}{}".format, negation, words.map(quoted)),
    st.builds(
        "{}{}{}{}".format,
        negation,
        st.sampled_from(["gpu", "image", "country"]),
        st.sampled_from([":", "=", "!="]),
        st.lists(words.map(quoted), min_size=1, max_size=3).map(",".join),
    ),
    st.builds("{}price{}{}".format, negation, st.sampled_from([":", "<", "<=", ">", ">=", "!="]), number),
    st.builds(
        "{}mem{}{}{}".format,
        negation,
        st.sampled_from(["<", ">=", "="]),
        number,
        st.sampled_from(["", "GB", "GiB"]),
    ),
    st.builds("verified:{}".format, st.sampled_from(["yes", "no", "TRUE"])),
    st.builds("max>={}h".format, st.integers(0, 10_000)),
    st.builds(
        "driver{}{}.{}".format,
        st.sampled_from([":", "=", "<", "<=", ">", ">=", "!="]),
        st.integers(0, 999),
        st.integers(0, 99),
    ),
)


@given(st.lists(clause, max_size=5))
@settings(max_examples=200, deadline=None)
def test_the_canonical_form_parses_to_an_equal_query(clauses: list[str]) -> None:
    query = parse(" ".join(clauses), SCHEMA)
    again = parse(str(query), SCHEMA)
    assert again == query
    assert str(again) == str(query)
    assert len(query.clauses) == len(clauses)


@given(st.text(alphabet=st.sampled_from('gpumexric:=<>!,"- \\80.\t'), max_size=40))
@settings(max_examples=400, deadline=None)
def test_any_text_parses_or_names_a_column_inside_it(text: str) -> None:
    query: Query[Card] | None = None
    column = 1
    try:
        query = parse(text, SCHEMA)
    except QueryError as error:
        column = error.column
    assert 1 <= column <= len(text) + 1
    assert query is None or isinstance(query.matches(Card()), bool)


@given(clause.filter(lambda text: not text.startswith("-")))
@settings(max_examples=200, deadline=None)
def test_negation_is_the_complement(text: str) -> None:
    assert matches(text) != matches(f"-{text}")

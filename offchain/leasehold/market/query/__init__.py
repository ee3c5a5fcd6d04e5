"""The search language that the command line and the gateway share. docs/reference/query.md is its reference.

`parse(text, schema)` is pure: it gives a `Query` whose `matches(subject)` is a predicate, or raises
`QueryError` with the column of the character that is wrong. `SearchTable` holds many subjects, and says of which a
query holds without looking at each.
"""

from leasehold.market._errors import QueryError
from leasehold.market.query._language import Clause, Fact, FieldKind, Query, Schema, SearchField, parse
from leasehold.market.query._table import SearchTable

__all__ = [
    "Clause",
    "Fact",
    "FieldKind",
    "Query",
    "QueryError",
    "Schema",
    "SearchField",
    "SearchTable",
    "parse",
]

"""What operators have signed of leases."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from leasehold.chain import format_lease
from leasehold.client import StatementSeen, StatementsView
from leasehold.market import format_duration, format_time
from leasehold.market.wire import Heartbeat
from leasehold.tables._table import Table

STATEMENT_COLUMNS: Final = ("lease", "at", "container", "since", ">ended", "the last time by", "word of")
_ENDED_BY: Final = {"": "-", "command": "itself", "hand": "a hand on the host", "host": "the host's restart"}


def statements_table(seen: Iterable[StatementSeen]) -> Table:
    """A line on each thing that an operator has signed, and whose word it is."""
    return Table(STATEMENT_COLUMNS, [_row(statement) for statement in seen])


def what_follows(view: StatementsView) -> list[str]:
    """What follows from operators' statements, as sentences."""
    spans = [
        f"Lease {format_lease(int(span.lease))} did not run from second {span.from_} to {span.to} "
        f"({format_duration(span.to - span.from_)}): a hand on the host had ended it, as its operator says."
        for span in view.owned_up
    ]
    return spans + [
        f"Lease {format_lease(int(pair.later.lease))}: what its operator said at second {pair.earlier.time} and at "
        f"{pair.later.time} cannot both be true: {pair.why}."
        for pair in view.contradictions
    ]


def _row(seen: StatementSeen) -> tuple[str, ...]:
    said, whose = seen.said, "its operator" if seen.counts else _in_doubt(seen)
    if isinstance(said, Heartbeat):
        runs = f"{said.running} run" if said.serves else "it cannot serve"
        return ("", format_time(said.time), runs, "", "", "", whose)
    since = said.started_at if said.runs else said.ended_at
    return (
        format_lease(int(said.lease)),
        format_time(said.time),
        said.state,
        format_time(since) if since else "-",
        str(said.ends),
        _ENDED_BY[said.ended_by],
        whose,
    )


def _in_doubt(seen: StatementSeen) -> str:
    if not seen.by_operator:
        return f"{seen.signer}, not its operator"
    clock = "of no block of the chain" if seen.apart is None else "by a wrong clock"
    return f"its operator, {clock}"

"""Logs of several leases on one terminal or in one pipe."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import aclosing

from leasehold import format_lease
from leasehold.cli._hints import said
from leasehold.cli._output import plain
from leasehold.client import PoolClient, known_leases, logs_of


async def print_logs(
    client: PoolClient,
    leases: Sequence[int],
    *,
    tail: int | None,
    follow: bool,
    since: int | None = None,
    timestamps: bool = False,
) -> None:
    """Line by line, each behind its lease's number and name. Why one has no more stands on standard error."""
    names = {lease.id: lease.tag.name for lease in await known_leases(client)}
    shown = {lease: f"{format_lease(lease)} {names.get(lease) or ''}".rstrip() for lease in leases}
    width = max(map(len, shown.values()))
    read = logs_of(client, leases, tail=tail, follow=follow, since=since, timestamps=timestamps)
    async with aclosing(read) as lines:  # type: ignore[type-var]
        async for line in lines:
            front = f"{shown[line.lease]:<{width}} | "
            if line.problem is not None:
                print(f"{front}{plain(said(line.problem))}", file=sys.stderr, flush=True)
                continue
            text = plain(line.text) if sys.stdout.isatty() else line.text
            sys.stdout.write(f"{front}{text}\n")
            sys.stdout.flush()

"""How things of the chain are written, for people and in JSON. docs/reference/cli.md describes the JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leasehold import format_lease
from leasehold.cli._output import Json
from leasehold.market import (
    format_amount,
    format_cells,
    format_share,
    format_size,
    format_time,
    rentable_cells,
)

if TYPE_CHECKING:
    from leasehold.chain import Lease, Machine, Receipt, Terms
    from leasehold.market import Bill, Listing, Money, Payment

utc = format_time


def transaction(receipt: Receipt) -> dict[str, Json]:
    """A transaction in JSON."""
    return {"transaction": receipt.tx_hash, "block": receipt.block_number, "gas": receipt.gas_used}


def payment_said(payment: Payment, money: Money) -> str:
    """Where the money for what only a ledger pays comes from, for people."""
    if not payment.pulled:
        return f"{money.show(payment.amount)} from your ledger"
    return (
        f"{money.show(payment.amount)}: {money.show(payment.pulled)} go from the wallet into the ledger first"
    )


def machine_state(machine: Machine) -> str:
    """What keeps the machine from taking leases, or its verification."""
    problems = [
        word
        for holds, word in (
            (machine.delisted, "delisted"),
            (machine.under_staked, "under-staked"),
            (machine.stalled, "stalled"),
            (machine.down, "down"),
        )
        if holds
    ]
    return ", ".join([machine.status.name.lower(), *problems])


def machine_row(listing: Listing) -> tuple[str, ...]:
    """A line of `leasehold machines`."""
    machine, hardware = listing.machine, listing.hardware
    cells = rentable_cells(machine.busy, machine.gpus)
    free = format_share(cells) if cells in (1, 2, 4) else f"{cells / 8:g}"
    return (
        str(machine.id),
        listing.model or "?",
        f"{free}/{machine.gpus}",
        format_share(machine.smallest_share),
        format_size(listing.gpu_memory) if listing.gpu_memory else "-",
        str(hardware.cpu.cores) if hardware else "?",
        format_size(hardware.memory_bytes) if hardware else "?",
        format_size(hardware.disk.bytes) if hardware else "?",
        listing.country or "-",
        machine_state(machine),
        format_amount(machine.terms.price, listing.money.decimals, places=6),
    )


MACHINE_COLUMNS = (
    "id",
    "model",
    ">free",
    ">least",
    ">mem",
    ">cores",
    ">ram",
    ">disk",
    "in",
    "state",
    ">price",
)


def machine_json(listing: Listing) -> dict[str, Json]:
    """A machine in JSON."""
    machine, money = listing.machine, listing.money
    return {
        "id": machine.id,
        "provider": machine.provider,
        "operator": machine.operator,
        "state": machine.status.name.lower(),
        "delisted": machine.delisted,
        "under_staked": machine.under_staked,
        "stalled": machine.stalled,
        "down_since": machine.down_since or None,
        "gpus": machine.gpus,
        "smallest_share": machine.smallest_share,
        "free_cells": machine.free_cells,
        "withheld": format_cells(machine.withheld),
        "revision": machine.revision,
        "stake": format_amount(machine.stake, money.decimals),
        "token": money.symbol,
        "terms": terms_json(machine.terms, money),
        "hardware": listing.hardware.model_dump(mode="json") if listing.hardware else None,
        "contact": listing.contact.model_dump(mode="json") if listing.contact else None,
        "missing": listing.missing,
    }


def terms_json(terms: Terms, money: Money) -> dict[str, Json]:
    """A machine's terms in JSON."""
    return {
        "price": format_amount(terms.price, money.decimals),
        "spot_price": format_amount(terms.spot_price, money.decimals),
        "min_duration": terms.min_duration,
        "max_duration": terms.max_duration,
        "trial": terms.trial,
        "available_until": (terms.available_until_day + 1) * 86_400,
    }


def lease_json(lease: Lease, account: Bill, money: Money) -> dict[str, Json]:
    """A lease in JSON."""
    return {
        "id": format_lease(lease.id),
        "number": str(lease.id),
        "machine": lease.machine,
        "tenant": lease.tenant,
        "state": lease.state.word,
        "noticed": lease.noticed,
        "cells": lease.cells,
        "start": lease.start,
        "end": lease.end,
        "left": account.left,
        "token": money.symbol,
        "price": format_amount(lease.price, money.decimals),
        "deposit": format_amount(lease.deposit, money.decimals),
        "used": format_amount(account.used, money.decimals),
        "unused": format_amount(account.unused, money.decimals),
    }

"""Pools: what a factory has made, who has which power over one, licences."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from leasehold.client import FOREVER, PoolLook
from leasehold.market import Money, changes_rows, format_time, params_rows, table_of_powers
from leasehold.tables._table import Pairs, Table

if TYPE_CHECKING:
    from leasehold.chain import Deployment, LicenceRecord, Params, PoolView

POOL_COLUMNS: Final = ("pool", "token", "owner", ">machines", ">slots", "state")
POWER_COLUMNS: Final = ("who", "can take at most", "how fast", "how to leave first")
CHANGE_COLUMNS: Final = ("parameter", "in force", "proposed")
LICENCE_COLUMNS: Final = ("account", "kind", ">seats", "valid")


def pools_table(looks: Iterable[PoolLook], deployment: Deployment) -> Table:
    """Pools of one factory. deployment: of the pool at hand, whose token goes by its symbol."""
    own, symbol = deployment.token.lower(), deployment.token_symbol
    rows = [
        (
            look.controller,
            symbol if look.token.lower() == own else look.token,
            look.owner,
            str(look.machines),
            str(look.slots),
            _state(look),
        )
        for look in looks
    ]
    return Table(POOL_COLUMNS, rows)


def powers_table(view: PoolView, money: Money) -> Table:
    """Who can take at most what of a pool, how fast, and how to leave first."""
    powers = table_of_powers(view, money)
    return Table(POWER_COLUMNS, [(power.who, power.takes, power.when, power.leave) for power in powers])


def changes_table(before: Params, after: Params, money: Money) -> Table:
    """What other parameters change."""
    return Table(CHANGE_COLUMNS, list(changes_rows(before, after, money)))


def licences_table(licences: Iterable[LicenceRecord], now: int) -> Table:
    """Licences that an owner has issued. now: unix seconds of the chain."""
    rows = [
        (
            licence.account,
            licence.kind,
            str(licence.seats),
            licence_term(licence.expires_at) if now <= licence.expires_at else "no longer",
        )
        for licence in licences
    ]
    return Table(LICENCE_COLUMNS, rows)


def licence_term(expires_at: int) -> str:
    """How long a licence is valid. expires_at: unix seconds."""
    return "for ever" if expires_at >= FOREVER else f"until {format_time(expires_at)}"


def pool_rows(view: PoolView, money: Money) -> Pairs:
    """A pool: its token, its size, its rules."""
    return (
        ("token", f"{money.symbol}, {money.decimals} decimals"),
        ("owner", view.owner),
        ("machines", str(view.machine_count)),
        ("validators' seats", f"{view.matured_seats} matured"),
        *_doors(view),
        *params_rows(view.params, money),
    )


def trust_rows(view: PoolView, money: Money) -> Pairs:
    """Whom one trusts with a pool: accounts and contracts."""
    own, params = view.companions, view.params
    return (
        ("owner", view.owner),
        ("treasury", view.treasury),
        ("arbiter", params.arbiter if int(params.arbiter, 16) else "nobody: there are no appeals"),
        ("rest of a slash", params.sink if int(params.sink, 16) else "burnt"),
        ("token", f"{view.token} ({money.symbol})"),
        ("committee", own.committee),
        ("faults", own.faults),
        ("reputation", own.reputation),
        ("directory", own.directory),
        ("accounts", view.accounts),
        *_doors(view),
        ("parameters", f"version {view.params_version}"),
    )


def _doors(view: PoolView) -> Pairs:
    return (
        ("opening and registering", "paused" if view.paused else "open"),
        ("registering takes a licence", "yes" if view.gated else "no"),
    )


def _state(look: PoolLook) -> str:
    words = (
        "at hand" if look.own else "",
        "gated" if look.gated else "open",
        "paused" if look.paused else "",
    )
    return ", ".join(word for word in words if word)

"""Who has which power over a pool, and what a quorum of its validators takes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from leasehold.chain import ZERO_ADDRESS
from leasehold.market._rules import TIMELOCK, changes_json, params_json
from leasehold.market._units import Json, format_duration

if TYPE_CHECKING:
    from leasehold.chain import PoolView
    from leasehold.market._money import Money

QUORUM_VALIDATORS = 5


def quorum_of(matured: int) -> int:
    """How many seats have to sign: more than two thirds of those that have matured."""
    return 2 * matured // 3 + 1


def quorum_said(matured: int) -> str:
    """What it takes to be a quorum, for people: with too few seats there is none."""
    if matured < QUORUM_VALIDATORS:
        return f"none now, for it takes {QUORUM_VALIDATORS} validators and {matured} seats have matured"
    return f"it takes {quorum_of(matured)} of {matured} matured seats, of {QUORUM_VALIDATORS} validators"


@dataclass(frozen=True)
class Power:
    """Who can take at most what, how fast, and how one leaves first."""

    who: str
    address: str | None
    takes: str
    when: str
    leave: str

    def to_json(self) -> dict[str, Json]:
        """A row of the table, for a program."""
        return {
            "who": self.who,
            "address": self.address,
            "takes_at_most": self.takes,
            "when": self.when,
            "leave_first": self.leave,
        }


def _named(account: str) -> str | None:
    return None if account == ZERO_ADDRESS else account


def table_of_powers(view: PoolView, money: Money) -> tuple[Power, ...]:
    """Who has which power over a pool. What stands there is what the contracts enforce, with this pool's parameters."""
    rules = view.params
    slash = f"{rules.max_slash_bps / 100:g} %"
    ruling = format_duration(rules.ruling_window)
    appeal = f"{format_duration(rules.appeal_window)} to appeal, then {ruling} for a ruling"
    rows = [
        Power(
            "owner",
            view.owner,
            "nothing; proposes parameters inside hard bounds",
            f"{format_duration(TIMELOCK)} after the proposal, for no lease that is open",
            "keep the accepted version, or retire",
        ),
        Power("owner", view.owner, "stops opening and registering", "at once", "closing, claiming, withdrawing, "
              "unstaking stay open"),
        Power("owner", view.owner, "names the treasury and a successor", "at once", "-"),
        Power(
            "treasury",
            view.treasury,
            f"{rules.fee_bps / 100:g} % of what providers earn, at most 10 %; nothing of slashes",
            "as leases are paid",
            "an open lease keeps its fee",
        ),
        Power("arbiter", _named(rules.arbiter), "lets a wrong slash stand, or a tenth of honest seats burn in a week",
              "per fault, named in the rules that judge it", "keep the accepted version, or retire"),
        Power("sink", _named(rules.sink), "what nobody has coming of a slash, which is burnt where none is named",
              "as slashes are executed", "keep the accepted version, or retire"),
        Power(
            "a quorum of validators",
            None,
            f"the slashable part of one machine's stake: {slash} in seven days; {quorum_said(view.matured_seats)}",
            appeal,
            "retire",
        ),
        Power(
            "a machine's operator key",
            None,
            "the machine's readiness, its spot leases with notice, self-reported slashes",
            "at once",
            "another key, with the provider's own",
        ),
        Power(
            "owner, arbiter and validators together",
            None,
            f"the slashable part of stakes ({slash} in seven days), never a ledger or an escrow",
            appeal,
            "retire",
        ),
        Power(
            "whoever issues the token",
            view.token,
            "whatever the token lets its issuer do, to the whole pool",
            "as the token says",
            "withdraw",
        ),
    ]  # fmt: skip
    if view.pending_owner != ZERO_ADDRESS:
        successor = Power(
            "the next owner", view.pending_owner, "becomes the owner by accepting", "at once", "-"
        )
        rows.insert(1, successor)
    if view.gated:
        rows.insert(-5, Power("owner", view.owner, "says who may register machines", "at once", "machines that are in "
                              "stay in"))  # fmt: skip
    return tuple(rows)


def pool_json(controller: str, view: PoolView, money: Money) -> dict[str, Json]:
    """A pool, for a program."""
    own, params = view.companions, view.params
    return {
        "controller": controller,
        "token": view.token,
        "accounts": view.accounts,
        "owner": view.owner,
        "pending_owner": _named(view.pending_owner),
        "treasury": view.treasury,
        "arbiter": _named(params.arbiter),
        "sink": _named(params.sink),
        "committee": own.committee,
        "faults": own.faults,
        "reputation": own.reputation,
        "directory": own.directory,
        "paused": view.paused,
        "gated": view.gated,
        "machines": view.machine_count,
        "seats": view.seat_count,
        "matured_seats": view.matured_seats,
        "quorum": quorum_json(view.matured_seats),
        "params_version": view.params_version,
        "params": params_json(params, money),
        "proposed": proposed_json(view, money),
    }


def quorum_json(matured: int) -> dict[str, Json]:
    """What it takes to be a quorum, for a program."""
    return {"seats": quorum_of(matured), "validators": QUORUM_VALIDATORS}


def proposed_json(view: PoolView, money: Money) -> Json:
    """The parameters that are proposed, for a program; `None` where none are."""
    if view.proposed is None:
        return None
    return {
        "version": view.proposed_version,
        "in_force_at": view.in_force_at,
        "changes": changes_json(view.params, view.proposed, money),
    }

"""The table of powers, read from the chain: in one call where the deployment names a lens, else one by one."""

from __future__ import annotations

from dataclasses import dataclass, fields

from leasehold.chain import ZERO_ADDRESS, Params, PoolView
from leasehold.cli._output import Json
from leasehold.cli._shown import quorum_said, utc
from leasehold.client import QUORUM_VALIDATORS, PoolClient, quorum_of
from leasehold.market import TIMELOCK, Money, changes, format_duration, format_param, param_json


@dataclass(frozen=True)
class Power:
    """Who can take at most what, how fast, and how one leaves first."""

    who: str
    address: str | None
    takes: str
    when: str
    leave: str


def _named(account: str) -> str | None:
    return None if account == ZERO_ADDRESS else account


def powers(view: PoolView, money: Money) -> tuple[Power, ...]:
    """The table of powers. What stands there is what the contracts enforce, with this pool's parameters."""
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


def params_json(params: Params, money: Money) -> dict[str, Json]:
    """Parameters in JSON: amounts in whole tokens as texts, the rest as numbers."""
    return {each.name: param_json(each.name, getattr(params, each.name), money) for each in fields(Params)}


def params_rows(params: Params, money: Money) -> list[tuple[str, str]]:
    """Parameters for people."""
    return [
        (each.name, format_param(each.name, getattr(params, each.name), money)) for each in fields(Params)
    ]


def diff_rows(before: Params, after: Params, money: Money) -> list[tuple[str, str, str]]:
    """What differs, old and new, for people."""
    return [
        (each.name, format_param(each.name, each.before, money), format_param(each.name, each.after, money))
        for each in changes(before, after)
    ]


def diff_json(before: Params, after: Params, money: Money) -> list[dict[str, Json]]:
    """What differs, in JSON."""
    return [
        {
            "name": each.name,
            "before": param_json(each.name, each.before, money),
            "after": param_json(each.name, each.after, money),
        }
        for each in changes(before, after)
    ]


def view_json(view: PoolView, session: PoolClient) -> dict[str, Json]:
    """A pool in JSON."""
    money, own = session.money, view.companions
    return {
        "controller": session.pool.address,
        "token": view.token,
        "accounts": view.accounts,
        "owner": view.owner,
        "pending_owner": None if view.pending_owner == ZERO_ADDRESS else view.pending_owner,
        "treasury": view.treasury,
        "arbiter": _named(view.params.arbiter),
        "sink": _named(view.params.sink),
        "committee": own.committee,
        "faults": own.faults,
        "reputation": own.reputation,
        "directory": own.directory,
        "paused": view.paused,
        "gated": view.gated,
        "machines": view.machine_count,
        "seats": view.seat_count,
        "matured_seats": view.matured_seats,
        "quorum": {"seats": quorum_of(view.matured_seats), "validators": QUORUM_VALIDATORS},
        "params_version": view.params_version,
        "params": params_json(view.params, money),
        "proposed": None
        if view.proposed is None
        else {
            "version": view.proposed_version,
            "in_force_at": view.in_force_at,
            "changes": diff_json(view.params, view.proposed, money),
        },
    }


def proposal_said(view: PoolView) -> str:
    """Whether something is proposed."""
    if view.proposed is None:
        return "Nothing is proposed."
    return f"Proposed as version {view.proposed_version}, in force {utc(view.in_force_at)}:"

"""A pool and its parameters, as rows and in JSON."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from leasehold import ZERO_ADDRESS, Params
from leasehold.cli._output import Json
from leasehold.cli._shown import utc
from leasehold.client import QUORUM_VALIDATORS, PoolClient, quorum_of
from leasehold.market import Money, changes, format_param, param_json

if TYPE_CHECKING:
    from leasehold.chain import PoolView


def _account(account: str) -> str | None:
    return None if account == ZERO_ADDRESS else account


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
        "arbiter": _account(view.params.arbiter),
        "sink": _account(view.params.sink),
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

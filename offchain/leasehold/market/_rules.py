"""The bounds of a pool's parameters, and how they are written: `Rules.sol` for people.

Whoever proposes parameters hears here, before anything is sent, what the pool would refuse, and why.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from pathlib import Path

from eth_utils.address import is_address, to_checksum_address

from leasehold.chain import ZERO_ADDRESS, Params
from leasehold.market._errors import InvalidInput
from leasehold.market._money import Money
from leasehold.market._units import Json, format_amount, format_duration, parse_amount, parse_duration

MINUTE, HOUR, DAY = 60, 3_600, 86_400
TIMELOCK = 2 * DAY
MAX_BPS = 10_000
MAX_FEE_BPS = 1_000
MAX_TRIAL = 15 * MINUTE
_BITS = {
    "min_stake_per_gpu": 96, "bond": 96, "seat_stake": 96, "verification_fee": 96, "unstake_delay": 32,
    "reverify_interval": 32, "committee_size": 8, "fee_bps": 16, "hold_fee_bps": 16, "max_slash_bps": 16,
}  # fmt: skip
_OTHER_BITS = 24  # windows and delays


class ParameterKind(Enum):
    """How a parameter is written."""

    AMOUNT = "amount"
    BPS = "bps"
    DURATION = "duration"
    COUNT = "count"
    ACCOUNT = "account"


AMOUNTS = ("min_stake_per_gpu", "bond", "seat_stake", "verification_fee")
"""The parameters that are amounts of the pool's token."""

_KINDS = {
    **dict.fromkeys(AMOUNTS, ParameterKind.AMOUNT),
    **dict.fromkeys(("fee_bps", "hold_fee_bps", "max_slash_bps"), ParameterKind.BPS),
    "committee_size": ParameterKind.COUNT,
    **dict.fromkeys(("arbiter", "sink"), ParameterKind.ACCOUNT),
}
_PERCENT = re.compile(r"([0-9]{1,3})(?:\.([0-9]{1,2}))?\s*%")


def kind_of(name: str) -> ParameterKind:
    """How the parameter of this name is written."""
    return _KINDS.get(name, ParameterKind.DURATION)


def format_param(name: str, value: int | str, money: Money) -> str:
    """A parameter for people: ``2.5 USDT``, ``3 %``, ``2d``."""
    kind = kind_of(name)
    if isinstance(value, str):
        return "none" if value == ZERO_ADDRESS else value
    if kind is ParameterKind.AMOUNT:
        return money.show(value)
    if kind is ParameterKind.BPS:
        return f"{value / 100:g} %"
    return format_duration(value) if kind is ParameterKind.DURATION else str(value)


def param_json(name: str, value: int | str, money: Money) -> str | int | None:
    """A parameter in JSON: amounts as texts in whole tokens, the rest as numbers."""
    if isinstance(value, str):
        return None if value == ZERO_ADDRESS else value
    return format_amount(value, money.decimals) if kind_of(name) is ParameterKind.AMOUNT else value


def parse_param(name: str, text: str, money: Money) -> int | str:
    """What somebody wrote for a parameter: whole tokens, bps or ``3 %``, seconds or ``2d``, a number.

    Raises:
        InvalidInput: it cannot be read.
    """
    kind, plain = kind_of(name), text.strip()
    if kind is ParameterKind.ACCOUNT:
        if plain.lower() in ("none", "null"):
            return ZERO_ADDRESS
        if not is_address(plain):
            raise InvalidInput(f"'{text}' is no value for `{name}`", "write an account, or none.")
        return to_checksum_address(plain)
    if kind is ParameterKind.AMOUNT:
        return parse_amount(plain, money.decimals)
    if plain.isascii() and plain.isdigit():
        return int(plain)
    percent = _PERCENT.fullmatch(plain)
    if kind is ParameterKind.BPS and percent is not None:
        return int(percent[1]) * 100 + int((percent[2] or "").ljust(2, "0"))
    if kind is ParameterKind.DURATION:
        return parse_duration(plain)
    what = {
        ParameterKind.BPS: "basis points, or a percentage such as 3%",
        ParameterKind.COUNT: "a whole number",
    }[kind]
    raise InvalidInput(f"'{text}' is no value for `{name}`", f"write {what}.")


def changed_params(params: Params, given: Mapping[str, str], money: Money) -> Params:
    """`params` with what was given, by names as in Python or as in Solidity.

    Raises:
        InvalidInput: no such parameter, or a value that cannot be read.
    """
    names = {field.name for field in fields(Params)}
    values: dict[str, int | str] = {}
    for written, text in given.items():
        name = re.sub(r"(?<=[a-z])([A-Z])", lambda capital: "_" + capital[1].lower(), written).replace(
            "-", "_"
        )
        if name not in names:
            raise InvalidInput(f"'{written}' is no parameter of a pool", f"use {', '.join(sorted(names))}.")
        values[name] = parse_param(name, text, money)
    return replace(params, **values)  # type: ignore[arg-type]


def load_values(path: Path) -> dict[str, str]:
    """A file in JSON, an object of names and values, as `changed_params` takes them. Raises InvalidInput."""
    try:
        raw = json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise InvalidInput(f"{path} cannot be read as JSON ({error}): correct it.") from error
    if not isinstance(raw, dict):
        raise InvalidInput(f"{path} holds no object: write names and values.")
    return {str(name): str(value) for name, value in raw.items()}


@dataclass(frozen=True)
class Change:
    """One parameter, before and after."""

    name: str
    before: int | str
    after: int | str


def changes(before: Params, after: Params) -> tuple[Change, ...]:
    """What differs, in the order of `Params`."""
    pairs = (
        (field.name, getattr(before, field.name), getattr(after, field.name)) for field in fields(Params)
    )
    return tuple(Change(*pair) for pair in pairs if pair[1] != pair[2])


def params_json(params: Params, money: Money) -> dict[str, Json]:
    """A pool's parameters: amounts in whole tokens as texts, the rest as numbers."""
    return {
        field.name: param_json(field.name, getattr(params, field.name), money) for field in fields(Params)
    }


def changes_json(before: Params, after: Params, money: Money) -> list[dict[str, Json]]:
    """What differs between two versions of a pool's parameters."""
    return [
        {
            "name": change.name,
            "before": param_json(change.name, change.before, money),
            "after": param_json(change.name, change.after, money),
        }
        for change in changes(before, after)
    ]


def params_rows(params: Params, money: Money) -> list[tuple[str, str]]:
    """The same for people."""
    names = [field.name for field in fields(Params)]
    return [(name, format_param(name, getattr(params, name), money)) for name in names]


def changes_rows(before: Params, after: Params, money: Money) -> list[tuple[str, str, str]]:
    """What differs, for people: name, old and new."""
    return [
        (
            change.name,
            format_param(change.name, change.before, money),
            format_param(change.name, change.after, money),
        )
        for change in changes(before, after)
    ]


def check_params(params: Params, money: Money) -> None:
    """Refuse parameters that the pool would refuse.

    Raises:
        InvalidInput: with the first that is out of its bounds, and the bounds.
    """

    def say(name: str, bounds: str) -> InvalidInput:
        shown = format_param(name, getattr(params, name), money)
        return InvalidInput(f"`{name}` is {shown}, and has to be {bounds}", "correct it and propose again.")

    for field in fields(Params):
        if kind_of(field.name) is ParameterKind.ACCOUNT:
            continue
        bits = _BITS.get(field.name, _OTHER_BITS)
        if not 0 <= getattr(params, field.name) < 1 << bits:
            raise say(field.name, f"below {format_param(field.name, 1 << bits, money)}")
    whole = format_duration
    for name, least, most in (
        ("fee_bps", 0, MAX_FEE_BPS),
        ("hold_fee_bps", 0, MAX_BPS),
        ("max_slash_bps", 0, MAX_BPS),
        ("start_window", MINUTE, DAY),
        ("notice_seconds", 0, 30 * DAY),
        ("challenge_window", 10 * MINUTE, None),
        ("claim_lag", max(params.challenge_window, MAX_TRIAL), 7 * DAY),
        ("filing_window", 0, 5 * DAY - 1),
        ("appeal_window", DAY, 13 * DAY),
        ("ruling_window", DAY, max(DAY, 14 * DAY - params.appeal_window)),
    ):
        value = getattr(params, name)
        if value < least or (most is not None and value > most):
            low = format_param(name, least, money)
            bounds = f"at least {low}" if most is None else f"{low} to {format_param(name, most, money)}"
            raise say(name, bounds)
    windows = params.filing_window + params.challenge_window + params.appeal_window + params.ruling_window
    least, why = (windows, " (all four windows together)") if windows > 8 * DAY else (8 * DAY, "")
    if not least <= params.unstake_delay <= 90 * DAY:
        raise say("unstake_delay", f"{whole(least)}{why} to {whole(90 * DAY)}")
    if params.bond > params.min_stake_per_gpu:
        raise say("bond", f"at most {money.show(params.min_stake_per_gpu)}, the least stake of a GPU")
    if not 3 <= params.committee_size <= 15 or params.committee_size % 2 == 0:
        raise say("committee_size", "odd, 3 to 15")
    if params.seat_stake < params.min_stake_per_gpu:
        raise say("seat_stake", f"at least {money.show(params.min_stake_per_gpu)}, the least stake of a GPU")
    if 10 * params.verification_fee > params.seat_stake:
        raise say(
            "verification_fee", f"at most {money.show(params.seat_stake // 10)}, a tenth of a seat's stake"
        )
    if params.sink != ZERO_ADDRESS and params.sink.lower() == params.arbiter.lower():
        raise say("sink", "another than the arbiter: nobody who rules gains")

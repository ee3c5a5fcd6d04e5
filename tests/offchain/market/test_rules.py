"""A pool's parameters: how they are written, and their bounds as `Rules.sol` has them."""

from __future__ import annotations

import json
import re
from dataclasses import fields, replace
from pathlib import Path

import pytest

from leasehold.chain import Params
from leasehold.market import (
    InvalidInput,
    Money,
    changed_params,
    changes,
    check_params,
    format_param,
    param_json,
)

ROOT = Path(__file__).parents[3]
MONEY = Money("USDT", 6)
NOTHING = Params(**{field.name: 0 for field in fields(Params) if field.name not in ("arbiter", "sink")})
RULES = {name: str(value) for name, value in json.loads((ROOT / "scripts/pool.json").read_text()).items()}
PARAMS = changed_params(NOTHING, RULES, MONEY)


def test_the_first_rules_of_a_pool_are_read_and_inside_the_bounds() -> None:
    check_params(PARAMS, MONEY)
    assert PARAMS.min_stake_per_gpu == 100_000_000
    assert (PARAMS.fee_bps, PARAMS.claim_lag, PARAMS.committee_size) == (300, 900, 5)


def test_parameters_are_written_as_people_write_them() -> None:
    given = {
        "fee-bps": "2.5%",
        "unstakeDelay": "15d",
        "bond": "7.5",
        "committee_size": "7",
        "claim_lag": "1200",
    }
    after = changed_params(PARAMS, given, MONEY)
    assert (after.fee_bps, after.unstake_delay, after.bond, after.committee_size) == (
        250,
        1_296_000,
        7_500_000,
        7,
    )
    shown = [(each.name, format_param(each.name, each.after, MONEY)) for each in changes(PARAMS, after)]
    assert shown == [("fee_bps", "2.5 %"), ("claim_lag", "20m"), ("unstake_delay", "15d"), ("bond", "7.5 USDT"),
                     ("committee_size", "7")]  # fmt: skip
    assert param_json("bond", 7_500_000, MONEY) == "7.5"
    assert param_json("claim_lag", 900, MONEY) == 900
    for wrong in (
        {"fee": "1"},
        {"fee_bps": "much"},
        {"committee_size": "five"},
        {"claim_lag": "x"},
        {"bond": "-1"},
    ):
        with pytest.raises(InvalidInput):
            changed_params(PARAMS, wrong, MONEY)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("fee_bps", 1_001), ("hold_fee_bps", 10_001), ("max_slash_bps", 10_001), ("start_window", 59),
        ("start_window", 86_401), ("notice_seconds", 30 * 86_400 + 1), ("challenge_window", 599), ("claim_lag", 899),
        ("claim_lag", 604_801), ("filing_window", 432_000), ("appeal_window", 86_399),
        ("appeal_window", 13 * 86_400 + 1), ("ruling_window", 86_399), ("ruling_window", 12 * 86_400 + 1),
        ("unstake_delay", 345_600 + 600 + 172_800 + 259_200 - 1), ("unstake_delay", 8 * 86_400 - 1),
        ("unstake_delay", 90 * 86_400 + 1),
        ("bond", 100_000_001), ("committee_size", 4), ("committee_size", 17), ("committee_size", 1),
        ("seat_stake", 99_999_999), ("penalty_seconds", 1 << 24), ("verification_fee", 50_000_001),
    ],
)  # fmt: skip
def test_what_is_out_of_bounds_is_named(field: str, value: int) -> None:
    with pytest.raises(InvalidInput, match=f"`{field}`"):
        check_params(replace(PARAMS, **{field: value}), MONEY)


def test_every_bound_of_the_contract_is_checked_here() -> None:
    source = (ROOT / "contracts/libraries/Rules.sol").read_text()
    named = set(re.findall(r'return "(\w+)"', source.split("Params calldata")[1]))
    here = (ROOT / "offchain/leasehold/market/_rules.py").read_text()
    for name in named:
        assert f'"{re.sub(r"(?<=[a-z])([A-Z])", lambda c: "_" + c[1].lower(), name)}"' in here


def test_the_bounds_have_the_contracts_values() -> None:
    units = {"": 1, "minutes": 60, "hours": 3_600, "days": 86_400}
    source = (ROOT / "contracts/libraries/Rules.sol").read_text()
    found = {
        name: int(number.replace("_", "")) * units[unit]
        for name, number, unit in re.findall(r"constant (\w+) = ([0-9_]+) ?(\w*);", source)
    }
    assert found == {
        "MAX_TRIAL": 900, "MAX_FEE_BPS": 1_000, "MAX_BPS": 10_000, "MIN_START_WINDOW": 60, "MAX_START_WINDOW": 86_400,
        "MAX_NOTICE": 30 * 86_400, "MIN_CHALLENGE_WINDOW": 600, "MAX_CLAIM_LAG": 7 * 86_400,
        "TIMELOCK": 2 * 86_400, "MATURITY": 3 * 86_400, "LEAVE_DELAY": 21 * 86_400, "MAX_APPEAL": 14 * 86_400,
        "FINE_DIVISOR": 10, "MIN_APPEAL_WINDOW": 86_400, "MIN_RULING_WINDOW": 86_400,
        "MIN_UNSTAKE_DELAY": 8 * 86_400, "MAX_UNSTAKE_DELAY": 90 * 86_400, "MIN_COMMITTEE": 3, "MAX_COMMITTEE": 15,
    }  # fmt: skip

"""What plans and outcomes tell a program, and what a wish refuses before anybody is asked."""

from __future__ import annotations

import inspect
import json

import pytest

import leasehold.client as client
from leasehold.client import Plan, Rent, Step
from leasehold.errors import LeaseholdError
from leasehold.market import Money

MONEY = Money("USDT", 6)
SAYS_NOTHING = {"Plan", "OnePlan", "AcceptLeasesPlan", "AskForSessionPlan", "ProposalPlan", "RotatePlan",
                "SignOutagePlan", "SignProposalPlan", "ExecuteProposalPlan"}  # fmt: skip
"""Plans that end in a file, which whoever writes it tells, and kinds that none is of by itself."""


def test_every_plan_that_sends_tells_what_it_would_do() -> None:
    given = {name: getattr(client, name) for name in client.__all__}
    plans = {name: kind for name, kind in given.items() if inspect.isclass(kind) and issubclass(kind, Plan)}
    silent = {name for name, kind in plans.items() if kind.to_json is Plan.to_json}
    assert silent == SAYS_NOTHING


def test_an_outcome_tells_amounts_in_whole_tokens_and_a_step_of_the_way_nothing() -> None:
    seen = client.FaultsSettled((), 1_500_000).to_json(MONEY)
    assert json.loads(json.dumps(seen)) == {"steps": [], "gained": "1.5", "token": "USDT"}
    assert Step().to_json(MONEY) == {}


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        ({"machines": (1, 1), "gang": 2}, "named twice"),
        ({"gang": 2, "backup": 3}, "for one lease alone"),
        ({"gang": 2, "again": 65536}, "for one lease alone"),
        ({"again": 65536, "reuse": 131072}, "leave the other slot"),
        ({"seconds": None}, "How long"),
        ({"search": "gpuu:H100"}, "unknown field"),
    ],
)
def test_a_wish_that_contradicts_itself_is_none(wish: dict[str, object], why: str) -> None:
    with pytest.raises(LeaseholdError, match=why):
        Rent(None, **{"seconds": 3600, **wish})  # type: ignore[arg-type]  # as somebody may write it


def test_a_wish_for_nothing_that_speaks_against_it_is_taken() -> None:
    assert Rent(None, 3600, again=65536).again == 65536

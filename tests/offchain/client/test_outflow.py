"""What a signer is told that a call allows, beside what it takes out of the ledger."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from leasehold.chain import DecodedCall
from leasehold.client._outflow import Outflow, outflow
from leasehold.market import Money

POOL, ELSEWHERE, DELEGATE = ("0x" + digit * 40 for digit in "123")
CLIENT: Any = SimpleNamespace(pool=SimpleNamespace(address=POOL), money=Money("TUSD", 18))


async def told(*, pool: str = POOL, cap: int = 0, expiry: int = 0) -> Outflow:
    given = {"pool": pool, "delegate": DELEGATE, "cap": cap, "period": 3600, "expiry": expiry}
    return await outflow(CLIENT, DecodedCall("Accounts", ELSEWHERE, "setDelegate", given))


async def test_a_delegate_who_may_spend_nothing_may_act_all_the_same() -> None:
    assert (await told()).besides == ()
    (allowed,) = (await told(expiry=2_000_000_000)).besides
    assert "spend nothing, and change and close what it rents" in allowed
    (allowed,) = (await told(cap=10**18, expiry=2_000_000_000)).besides
    assert "spend 1 TUSD in each 1h, and change and close" in allowed


async def test_a_cap_in_another_pool_is_not_told_in_this_ones_money() -> None:
    said = await told(pool=ELSEWHERE, cap=10**9, expiry=2_000_000_000)
    (allowed,) = said.besides
    assert said.unknown
    assert ELSEWHERE in allowed
    assert "TUSD" not in allowed

"""A host whose owner takes tenants of a certain record alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from leasehold.chain import LeaseState
from leasehold.market import TenantRecord
from leasehold_agent._errors import Declined
from leasehold_agent.chain import Desired
from leasehold_agent.reconciling._bring_up import _check_record
from leasehold_agent.reconciling._host import Host

from .test_declines import declined

if TYPE_CHECKING:
    from tests.agent.conftest import Rig

TENANT = "0x00000000000000000000000000000000000000AA"


@dataclass
class Chain:
    """What the chain remembers."""

    record: TenantRecord = field(default=TenantRecord(TENANT, 1, 0, 0, 0, Decimal(0), 0))
    asked: list[str] = field(default_factory=list)

    async def record_of(self, tenant: str) -> TenantRecord:
        self.asked.append(tenant)
        return self.record


def host(chain: Chain, rule: str) -> Host:
    settings = SimpleNamespace(tenants=rule)
    return cast(Host, SimpleNamespace(chain=chain, facts=SimpleNamespace(settings=settings)))


def desired(state: LeaseState = LeaseState.OPENED) -> Desired:
    return Desired(12 << 16, 1, TENANT, state, 0, bytes(32), 0, 0, 0, TENANT)


async def test_everybody_is_taken_unless_the_owner_says_so() -> None:
    chain = Chain()
    await _check_record(host(chain, ""), desired())
    assert chain.asked == []


async def test_who_does_not_meet_the_rule_is_declined_with_it() -> None:
    chain = Chain()
    await _check_record(host(chain, "leases>=1"), desired())
    with pytest.raises(Declined, match="ended>=1") as refused:
        await _check_record(host(chain, "ended>=1"), desired())
    assert (refused.value.reason, chain.asked) == ("tenant-record", [TENANT, TENANT])


async def test_a_lease_that_has_begun_is_not_asked_again() -> None:
    await _check_record(host(Chain(), "ended>=9"), desired(LeaseState.ACTIVE))


@pytest.mark.slow
async def test_a_newcomer_gets_everything_back(rig_of: Callable[..., Any]) -> None:
    rig: Rig = await rig_of(tenants="ended>=1")
    assert await declined(rig, await rig.open()) == "tenant-record"


@pytest.mark.slow
async def test_whom_the_rule_lets_in_runs(rig_of: Callable[..., Any]) -> None:
    rig: Rig = await rig_of(tenants="rejected<1 failed<1")
    await rig.reaches(await rig.open(), LeaseState.ACTIVE)

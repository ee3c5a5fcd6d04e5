"""What is thought of a provider: ratings by those who paid, and a score that lowers its stake."""

import pytest
from signing import consent
from world import (
    DAY,
    HARDWARE,
    HOUR,
    UNIT,
    LeaseRequest,
    Params,
    Terms,
    cost,
    fee,
    later,
    lease_of,
    reverts,
    word,
)

COMMENT = word("comment")
GPU_STAKE = Params().min_stake_per_gpu


@pytest.fixture
def ended(pool, running, neighbour) -> int:
    later(HOUR)
    pool.close(running, {"from": neighbour})
    return running


def test_a_tenant_rates_a_lease_once(reputation, ended, provider, tenant, thief):
    with reverts("NotAuthorized", thief):
        reputation.rate(ended, 5, COMMENT, {"from": thief})
    for stars in (0, 6):
        with reverts("InvalidStars", stars):
            reputation.rate(ended, stars, COMMENT, {"from": tenant})
    tx = reputation.rate(ended, 4, COMMENT, {"from": tenant})
    assert tx.events["Rated"] == {
        "provider": provider,
        "lease": ended,
        "tenant": tenant,
        "stars": 4,
        "comment": COMMENT,
        "fee": fee(cost(HOUR)),
    }
    assert reputation.isRated(ended)
    with reverts("RatedAlready", ended):
        reputation.rate(ended, 1, COMMENT, {"from": tenant})


def test_a_group_s_lease_is_rated_through_accounts(reputation, ended, tenant, execute):
    tx = execute(tenant, (reputation, reputation.rate.encode_input(ended, 5, COMMENT)))
    assert tx.events["Rated"]["tenant"] == tenant


def test_fees_lower_the_next_machine_s_stake(pool, token, reputation, provider, operator, tenant, neighbour):
    assert reputation.scoreOf(provider) == 0
    dear = Terms(price=8_000 * UNIT // 10)
    pool.register(
        dear, 1, 1, HARDWARE, HARDWARE, operator, consent(pool, provider, operator), {"from": provider}
    )
    lease = lease_of(pool.open(LeaseRequest(2, duration=DAY, max_price=dear.price), {"from": tenant}))
    pool.start(lease, HARDWARE, {"from": operator})
    later(DAY)
    pool.close(lease, {"from": neighbour})
    fees = pool.accountOf(provider).dict()["feesPaid"]
    score = 1000 * fees // (fees + GPU_STAKE)
    assert fees > GPU_STAKE
    assert reputation.scoreOf(provider) == score
    assert reputation.discountBpsOf(provider) == 5 * score
    tx = pool.register(
        Terms(), 1, 1, HARDWARE, HARDWARE, operator, consent(pool, provider, operator), {"from": provider}
    )
    assert tx.events["MachineRegistered"]["stake"] == GPU_STAKE - GPU_STAKE * 5 * score // 10_000
    assert GPU_STAKE // 2 < tx.events["MachineRegistered"]["stake"] < 3 * GPU_STAKE // 4

"""A provider retires.

It lets its leases run out, takes the machine out of service, and waits eight days for its stake. What happened before
is still paid for: five minutes that five validators saw, and only now say so, cost 8 of the 200 tokens. Nothing that
happens afterwards costs anything, and nobody can keep the rest.
"""

from world import (
    DAY,
    HOUR,
    MINUTE,
    PER_SECOND,
    SINK,
    STAKE,
    UNIT,
    LeaseRequest,
    Params,
    at,
    fault_of,
    fee,
    now,
    reverts,
)


def test_a_provider_leaves_with_everything(
    pool,
    token,
    committee,
    faults,
    books,
    rent,
    attest,
    validators,
    signers,
    provider,
    operator,
    tenant,
    thief,
):
    start = now()
    lease = rent(tenant, duration=2 * HOUR)
    had = token.balanceOf(provider)

    # It takes no more leases. The one that runs keeps the machine in service until it is over.
    at(start + HOUR)
    pool.delist(1, {"from": provider})
    with reverts("MachineDelisted", 1):
        pool.open(LeaseRequest(1), {"from": thief})
    with reverts("MachineBusy", 1, 0xFF):
        pool.retire(1, {"from": provider})
    at(start + 2 * HOUR)
    pool.close(lease, {"from": thief})
    billed = 2 * HOUR * PER_SECOND
    assert pool.balanceOf(provider) == billed - fee(billed)
    pool.retire(1, {"from": provider})
    retired = start + 2 * HOUR
    until = retired + Params().unstake_delay

    # No key of its agent's and no validator can find anything that came later.
    with reverts("MachineRetiredAlready", 1):
        faults.reportOutage(1, {"from": operator})
    at(retired + HOUR)
    with reverts("OutageOutOfRange", retired + MINUTE, retired):
        attest(1, retired + MINUTE, retired + 10 * MINUTE)

    # A day later a quorum says that for five minutes of the lease nothing ran: 4 %, shown by others.
    at(retired + DAY)
    fault = fault_of(attest(1, start + 30 * MINUTE, start + 35 * MINUTE))
    assert faults.faultOf(fault).dict()["amount"] == 8 * UNIT
    # The bill is settled, so it stays; the tenant is made good out of the slash.
    faults.applyOutage(fault, [lease], {"from": tenant})
    at(retired + 3 * DAY + 1)
    with reverts("StakeLocked", 1, until):
        pool.unstake(1, {"from": provider})
    # The window for filing has passed: three days after it happened nobody finds anything any more.
    with reverts("OutageOutOfRange"):
        attest(1, start + 40 * MINUTE, start + 45 * MINUTE)

    # The delay has passed, and nobody has executed the fault: until somebody does, anybody, the stake waits.
    at(until)
    with reverts("SlashPending", 1, 1):
        pool.unstake(1, {"from": provider})
    faults.execute(fault, {"from": provider})
    faults.compensate(fault, [lease], {"from": tenant})
    committee.payQuorum(signers(range(1, 6)), {"from": tenant})
    pool.unstake(1, {"from": thief})
    assert pool.machineOf(1).dict()["stake"] == 0
    assert pool.balanceOf(provider) == STAKE - 8 * UNIT + billed - fee(billed)

    # Of the 8 tokens a quarter went to the tenant, who had one of the two GPUs, and a tenth to the validators, 0.16
    # each. 5.2 are left.
    assert pool.balanceOf(tenant) == 2 * UNIT
    assert [pool.balanceOf(validator) for validator in validators] == 5 * [16 * UNIT // 100]
    assert pool.balanceOf(SINK) == 52 * UNIT // 10
    books()

    pool.withdraw(provider, pool.balanceOf(provider), {"from": provider})
    assert token.balanceOf(provider) - had == STAKE - 8 * UNIT + billed - fee(billed)
    books()

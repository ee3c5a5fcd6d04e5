"""A provider goes dark: for six minutes, for three hours, for six days.

The machine has two GPUs and 200 tokens of stake. A GPU costs 0.001 token a second, that is 3.6 tokens an hour. The pool
takes 5 % of what a provider earns. Every tenant gets its time back off its bill, and of half of what the provider
loses the part that it had of the machine.
"""

from world import (
    APPEALED,
    ATTESTED,
    CHALLENGED,
    DAY,
    FILED,
    HOUR,
    MINUTE,
    PER_SECOND,
    SELF_REPORTED,
    SINK,
    STAKE,
    UNIT,
    LeaseRequest,
    Params,
    at,
    fault_of,
    fee,
    now,
    plain,
    reverts,
)

APPEAL = Params().appeal_window
BOND = Params().bond


def test_six_minutes_said_by_itself(pool, faults, books, rent, provider, operator, tenant, neighbour, thief):
    """The host reboots. Its operator says so at once, and is back within the first seven minutes.

    The tenant has a GPU for an hour, the neighbour half of the other one. From minute 20 to minute 26 nothing runs.
    """
    start = now()
    whole, half = rent(tenant), rent(neighbour, share=4)

    at(start + 20 * MINUTE)
    fault = fault_of(faults.reportOutage(1, {"from": operator}))
    assert pool.machineOf(1).dict()["downSince"] == start + 20 * MINUTE
    with reverts("MachineDown", 1, start + 20 * MINUTE):
        pool.open(LeaseRequest(1), {"from": thief})
    at(start + 26 * MINUTE)
    faults.recover(1, 0, b"", {"from": operator})

    # Up to seven minutes, said by itself: 2 % of 200 tokens.
    seen = faults.faultOf(fault).dict()
    assert (seen["kind"], seen["state"]) == (SELF_REPORTED, FILED)
    assert (seen["to"] - seen["from"], seen["bps"], seen["amount"]) == (360, 200, 4 * UNIT)

    # Anybody takes the six minutes off the bills. Half of the 4 tokens are for tenants: for 8 of the 16 cells 1, for 4
    # of them a half.
    faults.applyOutage(fault, [whole, half], {"from": thief})
    assert faults.faultOf(fault).dict()["pot"] == UNIT + UNIT // 2

    # Both close at the end: 3600 − 360 = 3240 s are billed. Until the appeal window has passed nobody else may.
    at(start + HOUR)
    with reverts("LeaseNotOver", whole, start + 26 * MINUTE + APPEAL):
        pool.close(whole, {"from": thief})
    closed = pool.close(whole, {"from": tenant}).events["LeaseClosed"]
    assert (closed["paid"] + closed["fee"], closed["refunded"]) == (3240 * PER_SECOND, 360 * PER_SECOND)
    pool.close(half, {"from": neighbour})
    assert pool.balanceOf(neighbour) == 360 * PER_SECOND // 2
    earned = 3240 * PER_SECOND * 3 // 2
    assert pool.balanceOf(provider) == earned - fee(earned)
    books()

    # Nobody appeals, and nobody reported. What no tenant had goes where the rules say.
    at(start + 26 * MINUTE + APPEAL + 1)
    faults.execute(fault, {"from": thief})
    faults.compensate(fault, [whole, half], {"from": thief})
    assert pool.balanceOf(tenant) == 360 * PER_SECOND + UNIT
    assert pool.balanceOf(neighbour) == (360 * PER_SECOND + UNIT) // 2
    assert pool.balanceOf(SINK) == 25 * UNIT // 10
    assert pool.balanceOf(faults) == 0

    # 196 tokens are too little for two GPUs: the provider makes up for it, and is in service again.
    assert pool.machineOf(1).dict()["stake"] == STAKE - 4 * UNIT
    with reverts("MachineUnderStaked", 1):
        pool.open(LeaseRequest(1), {"from": tenant})
    pool.addStake(1, 4 * UNIT, {"from": provider})
    pool.open(LeaseRequest(1), {"from": tenant})
    books()


def test_three_hours_of_silence(
    pool,
    committee,
    faults,
    books,
    rent,
    attest,
    validators,
    signers,
    provider,
    operator,
    owner,
    tenant,
    thief,
):
    """The host loses its network and says nothing. The tenant challenges, and then five validators see it too.

    The tenant has a GPU for six hours, 21.6 tokens. The first hour is good; the next three are dark.
    """
    start = now()
    lease = rent(tenant, duration=6 * HOUR)
    pool.deposit(tenant, BOND, {"from": tenant})

    # Five minutes into it the tenant asks, under a bond of 5 tokens. Ten minutes pass without an answer.
    at(start + HOUR + 5 * MINUTE)
    faults.challenge(1, lease, {"from": tenant})
    assert pool.balanceOf(tenant) == 0
    with reverts("ChallengeStands", 1, start + HOUR + 15 * MINUTE):
        faults.prove(1, {"from": thief})
    at(start + HOUR + 15 * MINUTE + 1)
    fault = fault_of(faults.prove(1, {"from": thief}))
    assert pool.balanceOf(tenant) == BOND
    seen = faults.faultOf(fault).dict()
    assert (seen["kind"], seen["from"]) == (CHALLENGED, start + HOUR + 5 * MINUTE)

    # The validators know better when it began. It is one outage, now an attested one.
    at(start + 2 * HOUR)
    attest(1, start + HOUR)
    seen = faults.faultOf(fault).dict()
    assert (seen["kind"], seen["from"]) == (ATTESTED, start + HOUR)

    # While it lasts the provider claims the first hour and no more.
    at(start + 3 * HOUR)
    assert pool.claim([lease], {"from": provider}).events["LeaseClaimed"]["settled"] == HOUR * PER_SECOND
    with reverts("NothingToClaim", lease):
        pool.claim([lease], {"from": provider})

    # Three hours, shown by others: 8 % of 200 tokens.
    at(start + 4 * HOUR)
    faults.recover(1, 0, b"", {"from": operator})
    seen = faults.faultOf(fault).dict()
    assert (seen["to"] - seen["from"], seen["bps"], seen["amount"]) == (3 * HOUR, 800, 16 * UNIT)
    faults.applyOutage(fault, [lease], {"from": tenant})

    # The provider appeals with a bond of 5 tokens, and the arbiter whom the rules name, here the owner, is not moved.
    pool.deposit(provider, BOND, {"from": provider})
    faults.appeal(fault, {"from": provider})
    assert faults.faultOf(fault).dict()["state"] == APPEALED
    faults.rule(fault, True, {"from": owner})
    assert pool.balanceOf(SINK) == BOND

    # Six hours less three are billed: 10.8 tokens, of which 3.6 were claimed.
    at(start + 6 * HOUR)
    pool.close(lease, {"from": tenant})
    billed = 3 * HOUR * PER_SECOND
    assert pool.balanceOf(tenant) == BOND + 3 * HOUR * PER_SECOND
    assert pool.balanceOf(provider) == billed - fee(billed)

    # Two days after it was filed, as if nobody had appealed, the slash is paid: of the 16 tokens the tenant, who had
    # one of two GPUs, has a quarter, and the five validators a tenth, 0.32 each. 10.4 are left.
    at(start + 4 * HOUR + APPEAL + 1)
    faults.execute(fault, {"from": thief})
    faults.compensate(fault, [lease], {"from": thief})
    committee.payQuorum(signers(range(1, 6)), {"from": thief})
    assert pool.balanceOf(tenant) == BOND + 3 * HOUR * PER_SECOND + 4 * UNIT
    assert [pool.balanceOf(validator) for validator in validators] == 5 * [32 * UNIT // 100]
    assert pool.balanceOf(SINK) == BOND + 104 * UNIT // 10
    assert pool.machineOf(1).dict()["stake"] == STAKE - 16 * UNIT
    books()


def test_six_days(
    pool,
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
    neighbour,
    thief,
):
    """The host burns down. The validators see it, and after five days nobody need wait for it any longer.

    The tenant has a GPU for seven days, 604.8 tokens. The first day is good; the other six are dark.
    """
    start = now()
    lease = rent(tenant, duration=7 * DAY)
    dark = start + DAY

    at(dark + HOUR)
    first = fault_of(attest(1, dark))

    # Five days are the longest tier. Then anybody has it filed, and another outage runs on.
    with reverts("OutageTooShort", dark + 120 * HOUR):
        faults.roll(1, {"from": thief})
    at(dark + 120 * HOUR + 1)
    second = fault_of(faults.roll(1, {"from": thief}))
    assert faults.runningFault(1) == second

    # More than 120 hours, shown by others: the whole stake, but never more than half of it in seven days: 100 tokens.
    seen = faults.faultOf(first).dict()
    assert (seen["state"], seen["bps"], seen["amount"]) == (FILED, 5000, STAKE // 2)

    # It comes back after six days. The week has cost all that a week may: the second outage is for nothing, and may be
    # appealed all the same.
    at(dark + 6 * DAY)
    faults.recover(1, 0, b"", {"from": operator})
    seen = faults.faultOf(second).dict()
    assert (seen["state"], seen["bps"], seen["amount"]) == (FILED, 0, 0)
    assert plain(faults.windowOf(1)) == (6 * DAY, 5000)

    # Both are taken off the bill: 6 days of 7. What is left is 86.4 tokens.
    for fault in (first, second):
        faults.applyOutage(fault, [lease], {"from": neighbour})
    assert pool.leaseOf(lease).dict()["paused"] == 6 * DAY
    pool.close(lease, {"from": tenant})
    assert pool.balanceOf(tenant) == 6 * DAY * PER_SECOND
    billed = DAY * PER_SECOND
    assert pool.balanceOf(provider) == billed - fee(billed)

    # Of the 100 tokens the tenant has 25, for half of the machine, and each validator 2. 65 are left.
    at(dark + 120 * HOUR + 1 + APPEAL + 1)
    faults.execute(first, {"from": thief})
    faults.compensate(first, [lease], {"from": thief})
    committee.payQuorum(signers(range(1, 6)), {"from": thief})
    assert pool.balanceOf(tenant) == 6 * DAY * PER_SECOND + 25 * UNIT
    assert [pool.balanceOf(validator) for validator in validators] == 5 * [2 * UNIT]
    assert pool.balanceOf(SINK) == 65 * UNIT
    at(dark + 6 * DAY + APPEAL + 1)
    faults.execute(second, {"from": thief})
    seen = pool.machineOf(1).dict()
    assert (seen["stake"], seen["pendingSlashes"], seen["underStaked"]) == (STAKE // 2, 0, True)
    books()

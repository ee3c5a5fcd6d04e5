"""Whole stories, from the first deposit to the last withdrawal, with the books balanced after every step."""

from brownie import SmartWallet
from signing import consent
from world import (
    CONTACT,
    DAY,
    ENDPOINT,
    HARDWARE,
    HOUR,
    MINUTE,
    PER_SECOND,
    STAKE,
    UNIT,
    WORKLOAD,
    LeaseRequest,
    Params,
    Terms,
    at,
    cost,
    fee,
    later,
    lease_of,
    reverts,
    word,
)


def test_a_rental_from_the_first_deposit_to_the_last_withdrawal(
    pool, token, books, provider, operator, tenant, treasury, neighbour
):
    had = {who: token.balanceOf(who) for who in (tenant, provider, treasury)}
    lease = lease_of(pool.open(LeaseRequest(1), {"from": tenant}))
    books()
    later(30)
    start = pool.start(lease, ENDPOINT, {"from": operator}).timestamp
    pool.extend(lease, HOUR, {"from": tenant})
    books()
    at(start + HOUR)
    pool.claim([lease], {"from": provider})
    books()
    at(start + 5000)
    pool.publishResult(lease, b"\x01\x55\x12\x20", {"from": operator})
    told = pool.close(lease, {"from": tenant}).events["LeaseClosed"]
    books()
    used = told["end"] - start
    assert told["paid"] + told["fee"] + told["refunded"] == 2 * HOUR * PER_SECOND
    pool.pullFees([provider], {"from": neighbour})
    for who in (tenant, provider, treasury):
        pool.withdraw(who, pool.balanceOf(who), {"from": who})
    books()

    assert had[tenant] - token.balanceOf(tenant) == cost(used)
    assert token.balanceOf(provider) - had[provider] == cost(used) - fee(cost(used))
    assert token.balanceOf(treasury) - had[treasury] == fee(cost(used))
    assert token.balanceOf(pool) == STAKE


def test_neighbours_on_one_gpu_are_billed_each_for_their_own_cells(
    pool, books, operator, tenant, neighbour, thief
):
    shares = {tenant: 4, neighbour: 2, thief: 1}
    leases = {
        who: lease_of(pool.open(LeaseRequest(1, share=cells), {"from": who})) for who, cells in shares.items()
    }
    starts = {who: pool.start(lease, ENDPOINT, {"from": operator}).timestamp for who, lease in leases.items()}
    assert bin(pool.machineOf(1).dict()["leased"]).count("1") == 7
    for minutes, (who, lease) in enumerate(leases.items(), start=10):
        at(starts[who] + minutes * MINUTE)
        told = pool.close(lease, {"from": who}).events["LeaseClosed"]
        assert told["paid"] + told["fee"] == cost(minutes * MINUTE, cells=shares[who])
        books()
    assert pool.machineOf(1).dict()["leased"] == 0


def test_a_gang_of_which_one_machine_declines(pool, token, books, provider, operator, tenant):
    pool.register(
        Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, provider, operator), {"from": provider}
    )
    calls = [pool.open.encode_input(LeaseRequest(machine, workload=WORKLOAD)) for machine in (1, 2)]
    opened = [event["lease"] for event in pool.multicall(calls, {"from": tenant}).events["LeaseOpened"]]
    pool.start(opened[0], ENDPOINT, {"from": operator})
    pool.decline(opened[1], word("dataset-missing"), {"from": operator})
    books()
    assert pool.balanceOf(tenant) == HOUR * PER_SECOND
    later(100)
    pool.close(opened[0], {"from": tenant})
    books()
    assert pool.balanceOf(tenant) == 2 * HOUR * PER_SECOND - cost(100)


def test_a_provider_takes_its_machine_home(pool, token, books, provider, operator, tenant, neighbour):
    had = token.balanceOf(provider)
    lease = lease_of(pool.open(LeaseRequest(1, duration=DAY), {"from": tenant}))
    start = pool.start(lease, ENDPOINT, {"from": operator}).timestamp
    pool.deposit(provider, 50 * UNIT, {"from": provider})
    pool.delist(1, {"from": provider})
    at(start + HOUR)
    notice = pool.terminate(lease, {"from": provider}).events["LeaseTerminated"]
    books()
    with reverts("MachineBusy", 1, 0xFF):
        pool.retire(1, {"from": provider})
    at(notice["end"])
    pool.close(lease, {"from": neighbour})
    books()
    pool.retire(1, {"from": provider})
    later(Params().unstake_delay)
    pool.unstake(1, {"from": neighbour})
    pool.withdraw(provider, pool.balanceOf(provider), {"from": provider})
    books()

    bill = cost(HOUR + Params().notice_seconds)
    penalty = cost(Params().penalty_seconds)
    assert token.balanceOf(provider) - had == STAKE + bill - fee(bill) - penalty
    assert pool.balanceOf(tenant) == DAY * PER_SECOND - bill + penalty


def test_a_smart_account_rents_without_ever_sending_a_transaction(
    pool, token, books, hub, provider, operator, tenant, execute
):
    """Its owner signs, somebody else submits; what is left goes to an address of the owner's choice."""
    wallet = SmartWallet.deploy(tenant, {"from": tenant})
    pool.deposit(wallet, 10 * UNIT, {"from": tenant})

    def act(data):
        return execute(wallet, (pool, data), signer=tenant, kind=b"\x02")

    lease = lease_of(act(pool.open.encode_input(LeaseRequest(1))))
    start = pool.start(lease, ENDPOINT, {"from": operator}).timestamp
    books(wallet)
    at(start + 600)
    act(pool.close.encode_input(lease))
    books(wallet)
    had = token.balanceOf(tenant)
    act(pool.withdraw.encode_input(tenant, 10 * UNIT - cost(600)))
    assert token.balanceOf(tenant) - had == 10 * UNIT - cost(600)
    assert pool.balanceOf(wallet) == 0
    books(wallet)


def test_a_renewal_keeps_slot_and_place_and_pays_anew(pool, books, operator, tenant, neighbour, running):
    """The lease runs out, nobody closes it, and its tenant rents the same place again in one transaction."""
    later(HOUR)
    calls = [
        pool.close.encode_input(running),
        pool.open.encode_input(LeaseRequest(1, reuse=running, placement=0x01FF)),
    ]
    renewed = lease_of(pool.multicall(calls, {"from": tenant}))
    assert renewed == running + 1
    assert (pool.slotCount(), pool.machineOf(1).dict()["leased"]) == (1, 0xFF)
    books()
    pool.start(renewed, ENDPOINT, {"from": operator})
    later(10)
    pool.close(renewed, {"from": tenant})
    books()
    assert pool.balanceOf(tenant) == HOUR * PER_SECOND - cost(10)


def test_a_pool_outlives_a_change_of_everything(
    pool, token, books, owner, provider, operator, tenant, new_params
):
    """New fee, new terms, new operator, new treasury: an old lease is settled as it began, a new one as things are."""
    old = lease_of(pool.open(LeaseRequest(1, duration=7 * DAY), {"from": tenant}))
    start = pool.start(old, ENDPOINT, {"from": operator}).timestamp
    new_params(Params(fee_bps=1000))
    pool.setTerms(1, Terms(price=2 * Terms().price), {"from": provider})
    pool.setOperator(1, owner, consent(pool, provider, owner), {"from": provider})
    pool.setTreasury(owner, {"from": owner})
    new = lease_of(pool.open(LeaseRequest(1, revision=2, max_price=8 * UNIT), {"from": tenant}))
    begun = pool.start(new, ENDPOINT, {"from": owner}).timestamp
    books()
    at(begun + HOUR)
    told = pool.close(new, {"from": tenant}).events["LeaseClosed"]
    assert told["fee"] == fee(2 * HOUR * PER_SECOND, bps=1000)
    closed = pool.close(old, {"from": tenant})
    told = closed.events["LeaseClosed"]
    assert told["fee"] == fee(cost(closed.timestamp - start), bps=500)
    books()

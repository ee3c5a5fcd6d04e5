"""Opening a lease: what a tenant may ask for, what it pays, and where the contract puts it."""

import pytest
from signing import consent
from world import (
    ACTIVE,
    DAY,
    ENDPOINT,
    HOUR,
    MINUTE,
    OPENED,
    PER_SECOND,
    UNIT,
    WORKLOAD,
    LeaseRequest,
    Params,
    Terms,
    escrow,
    later,
    lease_of,
    now,
    reverts,
)

SLOT = 1 << 16


def open_(pool, who, **wishes):
    return pool.open(LeaseRequest(1, **wishes), {"from": who})


def place_of(pool, lease):
    return pool.leaseOf(lease).dict()["placement"]


# ------------------------------------------------------------------------------------------------------- the main path


def test_opening_takes_the_whole_cost_and_tells_everything(pool, token, tenant):
    had = token.balanceOf(tenant)

    tx = open_(pool, tenant)

    assert had - token.balanceOf(tenant) == HOUR * PER_SECOND
    assert tx.events["LeaseOpened"] == {
        "lease": SLOT,
        "machine": 1,
        "tenant": tenant,
        "placement": 0x01FF,
        "revision": 1,
        "params": 1,
        "price": Terms().price,
        "duration": HOUR,
        "deposit": HOUR * PER_SECOND,
        "pulled": HOUR * PER_SECOND,
        "workload": WORKLOAD,
        "flags": 0,
        "backup": "0x" + 64 * "0",
    }
    lease = pool.leaseOf(SLOT).dict()
    assert (lease["tenant"], lease["machine"], lease["state"]) == (tenant, 1, OPENED)
    assert (lease["start"], lease["end"]) == (tx.timestamp, tx.timestamp + HOUR)
    assert (lease["settled"], lease["spot"], lease["noticed"]) == (0, False, False)
    assert pool.machineOf(1).dict()["leased"] == 0xFF
    assert pool.slotCount() == 1


def test_open_returns_the_lease_s_id(pool, tenant):
    assert pool.open.call(LeaseRequest(1), {"from": tenant}) == SLOT


def test_one_transaction_pays_from_the_ledger_first_and_pulls_the_rest(pool, token, tenant):
    pool.deposit(tenant, UNIT, {"from": tenant})
    tx = open_(pool, tenant)
    assert tx.events["LeaseOpened"]["pulled"] == HOUR * PER_SECOND - UNIT
    assert pool.balanceOf(tenant) == 0


def test_a_ledger_that_suffices_is_all_that_is_touched(pool, token, tenant):
    pool.deposit(tenant, 10 * UNIT, {"from": tenant})
    token.approve(pool, 0, {"from": tenant})
    assert open_(pool, tenant).events["LeaseOpened"]["pulled"] == 0
    assert pool.balanceOf(tenant) == 10 * UNIT - HOUR * PER_SECOND


def test_an_escrow_rounds_up_to_the_unit(pool, provider, tenant):
    pool.setTerms(1, Terms(price=1), {"from": provider})
    tx = open_(pool, tenant, revision=2, share=1, duration=MINUTE)
    assert tx.events["LeaseOpened"]["deposit"] == escrow(MINUTE, cells=1, price=1) == 1


def test_nobody_opens_without_the_money(pool, token, tenant):
    token.approve(pool, 0, {"from": tenant})
    with reverts("ERC20InsufficientAllowance", pool, 0, HOUR * PER_SECOND):
        open_(pool, tenant)
    assert pool.machineOf(1).dict()["leased"] == 0
    assert pool.slotCount() == 0


# --------------------------------------------------------------------------------------------------- what is refused


def test_an_unverified_machine_must_be_asked_for(pool, tenant):
    with reverts("MachineUnverified", 1):
        open_(pool, tenant, allow_unverified=False)


def test_terms_that_changed_meanwhile_are_not_accepted_unseen(pool, provider, tenant):
    pool.setTerms(1, Terms(price=1), {"from": provider})
    with reverts("RevisionChanged", 2):
        open_(pool, tenant, revision=1)
    pool.setHardware(1, WORKLOAD, {"from": provider})
    with reverts("RevisionChanged", 3):
        open_(pool, tenant, revision=2)


def test_a_price_above_the_renter_s_maximum_is_refused(pool, tenant):
    with reverts("PriceTooHigh", Terms().price, Terms().price - 1):
        open_(pool, tenant, max_price=Terms().price - 1)
    open_(pool, tenant, max_price=Terms().price)


@pytest.mark.parametrize("duration", [0, MINUTE - 1, 7 * DAY + 1, 2**32 - 1])
def test_a_lease_is_neither_too_short_nor_too_long(pool, tenant, duration):
    with reverts("DurationOutOfRange", duration, MINUTE, 7 * DAY):
        open_(pool, tenant, duration=duration)


@pytest.mark.parametrize("duration", [MINUTE, 7 * DAY])
def test_the_shortest_and_the_longest_lease_are_served(pool, tenant, duration):
    open_(pool, tenant, duration=duration)


def test_a_lease_ends_before_its_machine_goes_away(pool, provider, tenant):
    today = now() // DAY
    pool.setTerms(1, Terms(available_until_day=today), {"from": provider})
    midnight = (today + 1) * DAY
    with reverts("NotAvailableUntil"):
        open_(pool, tenant, revision=2, duration=2 * DAY)
    later(midnight - MINUTE - now())
    open_(pool, tenant, revision=2, duration=MINUTE)


# ------------------------------------------------------------------------------------------------------ shares, places


@pytest.mark.parametrize("share", [0, 3, 5, 6, 7, 9, 12, 24, 64, 255])
def test_a_share_is_one_two_four_cells_or_whole_gpus_that_exist(pool, tenant, share):
    with reverts("InvalidShare", share):
        open_(pool, tenant, share=share)


@pytest.mark.parametrize(
    ("share", "place"), [(1, 0x0101), (2, 0x0103), (4, 0x010F), (8, 0x01FF), (16, 0x03FF)]
)
def test_the_contract_finds_a_place_for_every_share(pool, tenant, share, place):
    assert place_of(pool, lease_of(open_(pool, tenant, share=share))) == place


def test_small_shares_keep_large_places_whole(pool, tenant):
    for share in (1, 2, 4, 1):  # the second single cell goes beside the first
        open_(pool, tenant, share=share)
    assert pool.machineOf(1).dict()["leased"] == 0xFF ^ 0x00
    assert place_of(pool, lease_of(open_(pool, tenant, share=8))) == 0x02FF


@pytest.mark.parametrize(
    ("share", "place"),
    [(1, 0x0140), (1, 0x0201), (2, 0x0130), (4, 0x02F0), (8, 0x02FF), (16, 0x03FF)],
)
def test_a_tenant_may_name_the_place(pool, tenant, share, place):
    assert place_of(pool, lease_of(open_(pool, tenant, share=share, placement=place))) == place


@pytest.mark.parametrize(
    ("share", "place"),
    [
        (1, 0x0180),  # MIG has seven places for a single cell
        (1, 0x0103),  # two cells
        (2, 0x0106),  # between the pairs
        (2, 0x01C0),  # the last pair is not one of MIG's
        (4, 0x013C),  # between the halves
        (4, 0x030F),  # on two GPUs
        (8, 0x010F),  # half a GPU
        (8, 0x03FF),  # two GPUs
        (8, 0x04FF),  # a GPU that is not there
        (16, 0x01FF),  # one GPU only
        (1, 0x0001),  # on no GPU
        (1, 0x0100),  # no cell
    ],
)
def test_a_place_must_fit_the_share_and_the_machine(pool, tenant, share, place):
    with reverts("InvalidPlacement", place):
        open_(pool, tenant, share=share, placement=place)


def test_a_place_is_given_once(pool, tenant, neighbour):
    open_(pool, tenant, share=4, placement=0x010F)
    with reverts("NoFreeCells", 1, 0x0F):
        open_(pool, neighbour, share=1, placement=0x0104)


def test_a_full_machine_has_no_place(pool, tenant, neighbour):
    open_(pool, tenant, share=16)
    with reverts("NoFreeCells", 1, 0xFFFF):
        open_(pool, neighbour, share=1)


def test_withheld_cells_are_not_given_away(pool, operator, tenant):
    pool.withhold(1, 0xFFFE, {"from": operator})
    with reverts("NoFreeCells", 1, 0xFFFE):
        open_(pool, tenant, share=2)
    with reverts("NoFreeCells", 1, 0xFFFE):
        open_(pool, tenant, share=1, placement=0x0102)
    assert place_of(pool, lease_of(open_(pool, tenant, share=1))) == 0x0101


# --------------------------------------------------------------------------------------------------------------- reuse


def test_an_ended_lease_s_slot_serves_again_as_its_next_generation(pool, operator, tenant, running):
    pool.close(running, {"from": tenant})

    tx = open_(pool, tenant, reuse=running, duration=2 * HOUR)

    assert lease_of(tx) == running + 1
    assert pool.slotCount() == 1
    lease = pool.leaseOf(running + 1).dict()
    assert (lease["state"], lease["settled"], lease["deposit"]) == (OPENED, 0, 2 * HOUR * PER_SECOND)
    with reverts("UnknownLease", running):
        pool.close(running, {"from": tenant})
    pool.start(running + 1, ENDPOINT, {"from": operator})
    assert pool.leaseOf(running + 1).dict()["state"] == ACTIVE


def test_what_an_earlier_generation_was_billed_is_forgotten(pool, operator, provider, tenant, running):
    later(HOUR // 2)
    pool.claim([running], {"from": provider})
    pool.close(running, {"from": tenant})
    again = lease_of(open_(pool, tenant, reuse=running))
    pool.start(again, ENDPOINT, {"from": operator})
    assert pool.leaseOf(again).dict()["settled"] == 0
    later(HOUR // 2)
    closed = pool.close(again, {"from": tenant}).events["LeaseClosed"]
    assert closed["paid"] + closed["fee"] == HOUR // 2 * PER_SECOND


def test_a_slot_in_use_is_not_reused(pool, tenant, opened):
    with reverts("WrongState", opened, OPENED):
        open_(pool, tenant, reuse=opened)


def test_a_slot_is_reused_by_its_last_tenant_only(pool, tenant, neighbour, running):
    pool.close(running, {"from": tenant})
    with reverts("NotAuthorized", neighbour):
        open_(pool, neighbour, reuse=running)


@pytest.mark.parametrize("lease", [1, 5 << 16, 2**256 - 1])
def test_a_slot_that_never_was_is_not_reused(pool, tenant, lease):
    with reverts("UnknownLease", lease):
        open_(pool, tenant, reuse=lease)


def test_a_slot_is_used_up_after_65_536_generations(pool, tenant, running, worn_out):
    pool.close(running, {"from": tenant})
    last = worn_out(running)
    with reverts("SlotExhausted", last):
        open_(pool, tenant, reuse=last)


# -------------------------------------------------------------------------------------------------------------- settle


def test_opening_closes_leases_past_their_end_to_make_room(pool, provider, tenant, neighbour, running):
    second = lease_of(open_(pool, neighbour, share=8))
    with reverts("LeaseNotOver"):
        open_(pool, neighbour, share=8, settle=[running])
    later(HOUR)

    tx = open_(pool, neighbour, share=8, settle=[running])

    assert tx.events["LeaseClosed"]["lease"] == running
    assert tx.events["LeaseClosed"]["refunded"] == 0
    assert place_of(pool, lease_of(tx)) == 0x01FF
    assert pool.leaseOf(second).dict()["state"] == OPENED


def test_a_lease_that_somebody_closed_first_spoils_no_opening(pool, tenant, neighbour, running):
    later(HOUR)
    pool.close(running, {"from": neighbour})
    open_(pool, tenant, settle=[running, running])


def test_only_leases_of_the_same_machine_are_settled(pool, provider, operator, tenant, running):
    pool.register(
        Terms(), 1, 1, WORKLOAD, WORKLOAD, operator, consent(pool, provider, operator), {"from": provider}
    )
    later(HOUR)
    with reverts("WrongMachine", running, 1):
        pool.open(LeaseRequest(2, settle=[running]), {"from": tenant})


# ---------------------------------------------------------------------------------------------------------------- gang


def test_a_gang_opens_whole(pool, tenant):
    pool.multicall([pool.open.encode_input(LeaseRequest(1)) for _ in range(2)], {"from": tenant})
    assert pool.slotCount() == 2
    assert pool.machineOf(1).dict()["leased"] == 0xFFFF


def test_a_gang_of_which_one_finds_no_place_does_not_open(pool, tenant):
    with reverts("NoFreeCells", 1, 0xFFFF):
        pool.multicall([pool.open.encode_input(LeaseRequest(1)) for _ in range(3)], {"from": tenant})
    assert (pool.slotCount(), pool.machineOf(1).dict()["leased"]) == (0, 0)


def test_moving_is_closing_and_opening_at_once(pool, operator, tenant, running):
    later(10 * MINUTE)
    calls = [
        pool.close.encode_input(running),
        pool.open.encode_input(LeaseRequest(1, placement=0x02FF, reuse=running)),
    ]
    tx = pool.multicall(calls, {"from": tenant})
    assert tx.events["LeaseClosed"]["lease"] == running
    assert pool.machineOf(1).dict()["leased"] == 0xFF00
    assert Params().start_window == 10 * MINUTE

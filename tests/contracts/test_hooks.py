"""What the companions of a pool may do to it: each its own, and nobody else anything."""

import pytest
from brownie import accounts
from world import DAY, now, reverts

COMMITTEE, FAULTS, REPUTATION, DIRECTORY = range(4)
NOW = 2**31

# hook: (which companions may call it, its arguments)
HOOKS = {
    "charge": ({COMMITTEE, FAULTS}, lambda who: (who, 1)),
    "setVerified": ({COMMITTEE}, lambda who: (1, 1, True)),
    "moveStake": ({FAULTS}, lambda who: (1, [who], [1])),
    "setDown": ({FAULTS}, lambda who: (1, NOW)),
    "hold": ({FAULTS}, lambda who: (1, NOW, NOW + DAY, NOW + DAY)),
    "setPendingSlashes": ({FAULTS}, lambda who: (1, 1)),
    "pause": ({FAULTS}, lambda who: (1 << 16, NOW, NOW + DAY)),
}


@pytest.fixture
def companions(pool):
    """The companions' addresses, as accounts that can send transactions themselves."""
    return [accounts.at(companion, force=True) for companion in pool.companions()]


@pytest.mark.parametrize("name", HOOKS)
def test_a_hook_is_its_companions_alone(pool, people, companions, hook, neighbour, name):
    may, arguments = HOOKS[name]
    pool.deposit(neighbour, 1, {"from": neighbour})
    others = [who for index, who in enumerate(companions) if index not in may]
    for who in [*people.values(), *others]:
        with reverts("NotAuthorized", who):
            hook(pool, name, *arguments(neighbour.address), by=who)
    hook(pool, name, *arguments(neighbour.address), by=companions[min(may)])


def test_a_companion_charges_a_ledger_and_no_wallet(pool, token, companions, hook, neighbour):
    had = token.balanceOf(neighbour)
    with reverts("InsufficientBalance", neighbour, 0, 5):
        hook(pool, "charge", neighbour.address, 5, by=companions[FAULTS])
    pool.deposit(neighbour, 5, {"from": neighbour})
    tx = hook(pool, "charge", neighbour.address, 3, by=companions[FAULTS])
    assert tx.events["Charged"] == {
        "from": neighbour,
        "companion": companions[FAULTS],
        "amount": 3,
        "balance": 2,
    }
    hook(pool, "charge", neighbour.address, 2, by=companions[COMMITTEE])
    assert [pool.balanceOf(who) for who in (neighbour, *companions)] == [0, 2, 3, 0, 0]
    assert token.balanceOf(neighbour) == had - 5


def test_only_what_a_committee_measured_is_verified(pool, companions, hook, provider):
    with reverts("RevisionChanged", 1):
        hook(pool, "setVerified", 1, 2, True, by=companions[COMMITTEE])
    hook(pool, "setVerified", 1, 1, True, by=companions[COMMITTEE])
    assert pool.machineOf(1).dict()["lastVerified"] == now()
    pool.retire(1, {"from": provider})
    with reverts("MachineRetiredAlready", 1):
        hook(pool, "setVerified", 1, 1, True, by=companions[COMMITTEE])


def test_a_slash_takes_no_more_than_the_stake_and_goes_to_somebody(
    pool, companions, hook, provider, neighbour
):
    stake = pool.machineOf(1).dict()["stake"]
    for to, amount, error in (
        (neighbour.address, stake + 1, "InsufficientBalance"),
        (pool.address, 1, "SelfTransfer"),
        ("0x" + 40 * "0", 1, "ZeroAddress"),
    ):
        with reverts(error):
            hook(pool, "moveStake", 1, [to], [amount], by=companions[FAULTS])
    tx = hook(pool, "moveStake", 1, [neighbour.address], [stake], by=companions[FAULTS])
    assert tx.events["StakeMoved"] == {"machine": 1, "to": neighbour, "amount": stake, "stake": 0}
    assert pool.balanceOf(neighbour) == stake
    seen = pool.machineOf(1).dict()
    assert (seen["stake"], seen["underStaked"]) == (0, True)


def test_a_hold_takes_the_place_of_the_one_before(pool, companions, hook):
    for from_, to, until in ((NOW, NOW + 9, NOW + DAY), (NOW + 1, NOW + 1, NOW + 2)):
        tx = hook(pool, "hold", 1, from_, to, until, by=companions[FAULTS])
        assert tx.events["MachineHeld"] == {"machine": 1, "from": from_, "to": to, "until": until}
        seen = pool.machineOf(1).dict()
        assert (seen["heldFrom"], seen["heldTo"], seen["heldUntil"]) == (from_, to, until)


def test_pending_slashes_are_counted_by_faults(pool, companions, hook):
    tx = hook(pool, "setPendingSlashes", 1, 3, by=companions[FAULTS])
    assert tx.events["PendingSlashesSet"] == {"machine": 1, "count": 3}
    assert pool.machineOf(1).dict()["pendingSlashes"] == 3


@pytest.mark.parametrize("name", ["setVerified", "moveStake", "setDown", "hold", "setPendingSlashes"])
def test_no_hook_makes_a_machine(pool, companions, hook, neighbour, name):
    may, arguments = HOOKS[name]
    with reverts("UnknownMachine", 9):
        hook(pool, name, 9, *arguments(neighbour.address)[1:], by=companions[min(may)])


def test_a_lease_that_does_not_run_has_no_bill_to_stop(pool, companions, hook, opened):
    for lease in (opened, opened + 1, 99 << 16):
        hook(pool, "pause", lease, 0, NOW, by=companions[FAULTS])
    assert pool.leaseOf(opened).dict()["paused"] == 0

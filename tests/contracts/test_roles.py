"""Who may do what: every call of a pool that is somebody's alone, tried by everybody else.

The rarer moves of leases and the companions are tried in the same way where they stand: `test_resize`, `test_transfer`,
`test_spot`, `test_outages`, `test_slashes`, `test_committee`, `test_directory`, `test_reputation`, `test_hooks`.
"""

import pytest
from world import CONTACT, ENDPOINT, HARDWARE, HOUR, WORKLOAD, Params, Terms, reverts, word

# call: (who may, its arguments, given the lease)
OWN = {
    "setTerms": ({"provider"}, lambda lease: (1, Terms())),
    "setHardware": ({"provider"}, lambda lease: (1, HARDWARE)),
    "setContact": ({"provider", "operator"}, lambda lease: (1, CONTACT)),
    "withhold": ({"provider", "operator"}, lambda lease: (1, 0xFF)),
    "delist": ({"provider"}, lambda lease: (1,)),
    "relist": ({"provider"}, lambda lease: (1,)),
    "start": ({"operator"}, lambda lease: (lease, ENDPOINT)),
    "decline": ({"operator"}, lambda lease: (lease, word("no-disk"))),
    "reject": ({"tenant"}, lambda lease: (lease,)),
    "close": ({"tenant"}, lambda lease: (lease,)),
    "setWorkload": ({"tenant"}, lambda lease: (lease, WORKLOAD)),
    "proposeParams": ({"owner"}, lambda lease: (Params(),)),
    "setPaused": ({"owner"}, lambda lease: (True,)),
    "setTreasury": ({"owner"}, lambda lease: ("0x" + 40 * "2",)),
    "setGated": ({"owner"}, lambda lease: (True,)),
    "transferOwnership": ({"owner"}, lambda lease: ("0x" + 40 * "3",)),
}
OF_A_RUNNING_LEASE = {
    "terminate": ({"provider"}, lambda lease: (lease,)),
    "publishResult": ({"operator"}, lambda lease: (lease, b"\x01\x55")),
    "setWorkload": ({"tenant"}, lambda lease: (lease, WORKLOAD)),
    "close": ({"tenant"}, lambda lease: (lease,)),
    "reject": ({"tenant"}, lambda lease: (lease,)),
}
EVERYBODY = ["owner", "treasury", "provider", "operator", "tenant", "neighbour", "thief"]


@pytest.mark.parametrize("call", OWN)
def test_what_is_somebody_s_alone(pool, people, opened, call):
    may, arguments = OWN[call]
    for role in EVERYBODY:
        if role not in may:
            with reverts("NotAuthorized", people[role]):
                getattr(pool, call)(*arguments(opened), {"from": people[role]})
    getattr(pool, call)(*arguments(opened), {"from": people[min(may)]})


@pytest.mark.parametrize("call", OF_A_RUNNING_LEASE)
def test_what_is_somebody_s_alone_while_a_lease_runs(pool, people, running, call):
    may, arguments = OF_A_RUNNING_LEASE[call]
    pool.deposit(people["provider"], 10**21, {"from": people["provider"]})  # for the penalty
    for role in EVERYBODY:
        if role not in may:
            with reverts("NotAuthorized", people[role]):
                getattr(pool, call)(*arguments(running), {"from": people[role]})
    getattr(pool, call)(*arguments(running), {"from": people[min(may)]})


def test_only_the_owner_withdraws_a_proposal(pool, people):
    pool.proposeParams(Params(), {"from": people["owner"]})
    for role in set(EVERYBODY) - {"owner"}:
        with reverts("NotAuthorized", people[role]):
            pool.cancelParams({"from": people[role]})


def test_only_a_provider_retires_its_machine(pool, people):
    for role in set(EVERYBODY) - {"provider"}:
        with reverts("NotAuthorized", people[role]):
            pool.retire(1, {"from": people[role]})


def test_only_a_provider_or_its_operator_clears_a_stall(pool, people, stalled):
    for role in set(EVERYBODY) - {"provider", "operator"}:
        with reverts("NotAuthorized", people[role]):
            pool.recover(1, {"from": people[role]})
    pool.recover(1, {"from": people["provider"]})


def test_only_the_next_owner_accepts(pool, people):
    pool.transferOwnership(people["neighbour"], {"from": people["owner"]})
    for role in set(EVERYBODY) - {"neighbour"}:
        with reverts("NotAuthorized", people[role]):
            pool.acceptOwnership({"from": people[role]})
    pool.acceptOwnership({"from": people["neighbour"]})


def test_anyone_extends_adds_stake_and_settles(pool, people, running):
    thief = {"from": people["thief"]}
    pool.extend(running, HOUR, thief)
    pool.addStake(1, 1, thief)
    pool.pullFees([people["provider"]], thief)

"""Validators hold seats, and some of them, drawn by chance, measure a machine and say what they found."""

import pytest
from brownie import web3
from signing import commitment, key_proof, outage_digest
from web3.types import RPCEndpoint
from world import (
    BURNT,
    DAY,
    HOUR,
    MATURITY,
    SEAT,
    SINK,
    UNIT,
    VERIFIED,
    LeaseRequest,
    Params,
    later,
    mature,
    now,
    plain,
    reverts,
    word,
)

LEVEL = Params().seat_stake
FEE = Params().verification_fee
FINE = LEVEL // 10
REWARD = FEE // 20
LEAVE_DELAY = 21 * DAY
COMMIT, REVEAL = 4 * HOUR, 2 * HOUR
SPEC, SALT = word("spec"), word("salt")
REQUESTED, DRAWN, PASSED, FAILED, INCONCLUSIVE = 1, 2, 3, 4, 5


@pytest.fixture
def validators(pool, committee, people, neighbour):
    """Six seats, of six people, matured."""
    who = [people[role] for role in ("owner", "treasury", "operator", "tenant", "neighbour", "thief")]
    for validator in who:
        join(pool, committee, validator)
    mature(MATURITY)
    return who


def join(pool, committee, who):
    pool.deposit(who, SEAT, {"from": who})
    return committee.join(1, {"from": who})


def mine(blocks):
    web3.provider.make_request(RPCEndpoint("anvil_mine"), [hex(blocks)])


@pytest.fixture
def requester(pool, provider):
    """The provider itself asks: all others hold seats."""
    pool.deposit(provider, 100 * UNIT, {"from": provider})
    return provider


@pytest.fixture
def requested(committee, validators, requester):
    return committee.requestVerification(1, 1, {"from": requester}).events["VerificationRequested"]["round"]


@pytest.fixture
def drawn(committee, requested, neighbour):
    """A round and the seats that were drawn for it."""
    mine(2)
    committee.draw(requested, {"from": neighbour})
    return requested, list(committee.drawnFor(requested))


def holder(committee, seat):
    return committee.seatOf(seat)[0]


def agree(pool, committee, round_, seats, passes=True, spec=SPEC):
    """These commit to the same and reveal it, and the round is over."""
    for seat in seats:
        committee.commit(
            round_,
            seat,
            commitment(pool, round_, seat, passes, spec, 900, SALT),
            {"from": holder(committee, seat)},
        )
    mature(COMMIT)
    for seat in seats:
        committee.reveal(round_, seat, passes, spec, 900, SALT, {"from": holder(committee, seat)})
    mature(REVEAL)


def state(committee, round_):
    return committee.roundOf(round_).dict()["state"]


# -------------------------------------------------------------------------------------------------------------- seats


def test_a_seat_is_staked_out_of_the_ledger(pool, committee, thief):
    with reverts("InsufficientBalance", thief, 0, SEAT):
        committee.join(1, {"from": thief})
    tx = join(pool, committee, thief)
    assert tx.events["SeatJoined"] == {"seat": 1, "validator": thief, "level": LEVEL, "stake": SEAT}
    assert pool.balanceOf(thief) == 0
    assert pool.balanceOf(committee) == SEAT
    assert committee.seatCount() == 1
    assert committee.maturedSeats(1) == 0


def test_a_seat_comes_and_goes(pool, committee, neighbour, thief):
    join(pool, committee, neighbour)
    joined = now()
    with reverts("SeatNotMatured", 1, joined + MATURITY):
        committee.leave(1, {"from": neighbour})
    mature(MATURITY)
    assert committee.maturedSeats(1) == 1
    with reverts("NotAuthorized", thief):
        committee.leave(1, {"from": thief})
    with reverts("SeatNotLeaving", 1):
        committee.exit(1, {"from": neighbour})
    tx = committee.leave(1, {"from": neighbour})
    leaves = now() + LEAVE_DELAY
    assert tx.events["SeatLeaving"] == {"seat": 1, "leavesAt": leaves}
    with reverts("SeatLeavingAlready", 1):
        committee.leave(1, {"from": neighbour})
    with reverts("SeatLeavingAlready", 1):
        committee.topUp(1, 1, {"from": neighbour})
    with reverts("SeatLocked", 1, leaves):
        committee.exit(1, {"from": neighbour})
    later(LEAVE_DELAY)
    tx = committee.exit(1, {"from": thief})  # anyone may send it
    assert tx.events["SeatExited"] == {"seat": 1, "validator": neighbour, "stake": SEAT}
    assert pool.balanceOf(neighbour) == SEAT
    assert committee.maturedSeats(1) == 0
    with reverts("UnknownSeat", 1):
        committee.topUp(1, 1, {"from": thief})


def test_pausing_keeps_nobody_in_a_seat(pool, committee, owner, neighbour):
    join(pool, committee, neighbour)
    mature(MATURITY)
    pool.setPaused(True, {"from": owner})
    committee.leave(1, {"from": neighbour})
    later(LEAVE_DELAY)
    committee.exit(1, {"from": neighbour})
    pool.withdraw(neighbour, SEAT, {"from": neighbour})


# ------------------------------------------------------------------------------------------------------------ requests


def test_a_request_is_paid_and_names_the_next_block(pool, committee, validators, requester, neighbour):
    had = pool.balanceOf(requester)
    tx = committee.requestVerification(1, 1, {"from": requester})
    assert tx.events["VerificationRequested"] == {
        "round": 1,
        "machine": 1,
        "revision": 1,
        "requester": requester,
        "fee": FEE,
        "block_": tx.block_number + 1,
    }
    assert pool.balanceOf(requester) == had - FEE
    assert committee.roundCount() == 1
    assert state(committee, 1) == REQUESTED
    with reverts("RoundRunning", 1, 1):
        committee.requestVerification(1, 1, {"from": requester})


# --------------------------------------------------------------------------------------------------------------- draws


def test_a_draw(pool, committee, requested, neighbour):
    mine(2)
    had = pool.balanceOf(neighbour)
    tx = committee.draw(requested, {"from": neighbour})
    seats = tx.events["CommitteeDrawn"]["seats"]
    assert len(set(seats)) == 5
    assert all(1 <= seat <= 6 for seat in seats)
    assert pool.balanceOf(neighbour) == had + REWARD
    seen = committee.roundOf(requested).dict()
    assert (seen["state"], seen["fee"]) == (DRAWN, FEE - REWARD)
    assert seen["revealUntil"] - seen["commitUntil"] == REVEAL
    with reverts("WrongRoundState", requested, DRAWN):
        committee.draw(requested, {"from": neighbour})
    with reverts("UnknownRound", 7):
        committee.draw(7, {"from": neighbour})


def test_a_missed_draw_names_another_block_and_pays_more(pool, committee, requested, neighbour):
    had = pool.balanceOf(neighbour)
    mine(258)
    tx = committee.draw(requested, {"from": neighbour})
    assert tx.events["DrawMissed"] == {"round": requested, "block_": tx.block_number + 1}
    assert pool.balanceOf(neighbour) == had
    mine(2)
    committee.draw(requested, {"from": neighbour})
    assert pool.balanceOf(neighbour) == had + 2 * REWARD


# -------------------------------------------------------------------------------------------------- commits and reveals


def test_commits_and_reveals_have_their_time_and_their_people(pool, committee, drawn, thief, provider):
    round_, seats = drawn
    until = committee.roundOf(round_).dict()["commitUntil"]
    seat, other = seats[:2]
    outside = next(seat for seat in range(1, 7) if seat not in seats)
    with reverts("NotDrawn", round_, outside):
        committee.commit(round_, outside, SALT, {"from": holder(committee, outside)})
    with reverts("NotAuthorized", provider):
        committee.commit(round_, seat, SALT, {"from": provider})
    sealed = commitment(pool, round_, seat, True, SPEC, 900, SALT)
    tx = committee.commit(round_, seat, sealed, {"from": holder(committee, seat)})
    assert tx.events["Committed"] == {"round": round_, "seat": seat, "commitment": "0x" + sealed.hex()}
    with reverts("AlreadyCommitted", round_, seat):
        committee.commit(round_, seat, SALT, {"from": holder(committee, seat)})
    with reverts("RevealNotOpen", round_, until):
        committee.reveal(round_, seat, True, SPEC, 900, SALT, {"from": holder(committee, seat)})
    mature(COMMIT)
    with reverts("CommitOver", round_, until):
        committee.commit(round_, other, SALT, {"from": holder(committee, other)})
    with reverts("InvalidScore", 1001):
        committee.reveal(round_, seat, True, SPEC, 1001, SALT, {"from": holder(committee, seat)})
    with reverts("WrongReveal", round_, seat):
        committee.reveal(round_, seat, False, SPEC, 900, SALT, {"from": holder(committee, seat)})
    with reverts("NotAuthorized", provider):
        committee.reveal(round_, seat, True, SPEC, 900, SALT, {"from": provider})
    tx = committee.reveal(round_, seat, True, SPEC, 900, SALT, {"from": holder(committee, seat)})
    assert tx.events["Revealed"]["seat"] == seat
    with reverts("WrongReveal", round_, seat):
        committee.reveal(round_, seat, True, SPEC, 900, SALT, {"from": holder(committee, seat)})
    mature(REVEAL)
    with reverts("RevealOver", round_, until + REVEAL):
        committee.reveal(round_, other, True, SPEC, 900, SALT, {"from": holder(committee, other)})


# ------------------------------------------------------------------------------------------------------------ outcomes


def test_a_machine_passes_and_is_rented_by_the_careful(pool, committee, books, drawn, neighbour, tenant):
    round_, seats = drawn
    agree(pool, committee, round_, seats[:4])
    with reverts("MachineUnverified", 1):
        pool.open(LeaseRequest(1, allow_unverified=False), {"from": tenant})
    before = {seat: pool.balanceOf(holder(committee, seat)) for seat in seats[:4]}
    tx = committee.finalize(round_, {"from": neighbour})

    assert tx.events["RoundFinalized"] == {
        "round": round_,
        "machine": 1,
        "state": PASSED,
        "spec": SPEC,
        "score": 900,
        "agreed": 4,
    }
    # The silent one loses a tenth, which is burnt, and still judges.
    assert tx.events["SeatFined"] == {"seat": seats[4], "amount": FINE, "stake": LEVEL}
    assert committee.maturedSeats(1) == 6
    for seat, had in before.items():
        assert pool.balanceOf(holder(committee, seat)) - had == (FEE - REWARD) // 5
    assert pool.balanceOf(BURNT) == FINE + (FEE - REWARD) // 5  # with the silent one's part of the fee
    books()
    assert pool.machineOf(1).dict()["status"] == VERIFIED
    pool.open(LeaseRequest(1, allow_unverified=False), {"from": tenant})
    # It may make up for that.
    fined = holder(committee, seats[4])
    pool.deposit(fined, SEAT, {"from": fined})
    tx = committee.topUp(seats[4], SEAT, {"from": fined})
    assert tx.events["SeatToppedUp"] == {"seat": seats[4], "stake": SEAT}
    assert committee.seatOf(seats[4]).dict()["stake"] == SEAT


# ------------------------------------------------------------------------------------------------------------- quorums


def test_a_quorum_signs(pool, committee, validators, keys, thief):
    """Anyone may have it logged who agrees: nothing comes of that but what Faults makes of it."""

    def proofs(who):
        return [key_proof(keys[one.address], outage_digest(pool, one, 1, 7, 8)) for one in who]

    def witness(seats, who, from_=7):
        return committee.witness(1, 1, from_, 8, seats, proofs(who), {"from": thief})

    for seats, who, from_ in (
        ([1, 2, 3, 4], validators[:4], 7),  # two thirds, and no more
        ([1, 2, 3, 4, 5], validators[1:], 7),  # the word of one for another
        ([1, 2, 3, 5, 4], validators[:5], 7),  # not in order
        ([1, 2, 3, 4, 5], validators[:5], 6),  # another time
    ):
        with reverts("NoQuorum"):
            witness(seats, who, from_)
    told = witness([1, 2, 3, 4, 5], validators[:5]).events["QuorumSigned"]
    assert plain(told["signers"]) == tuple((seat + 1, str(validators[seat]), LEVEL) for seat in range(5))
    assert committee.dueOf(told["quorum"]) == 0


@pytest.mark.parametrize(
    ("name", "arguments"), [("overturn", (1, SINK)), ("credit", (SALT, 1)), ("disown", (SALT, SINK))]
)
def test_only_faults_tells_what_became_of_a_word(committee, people, name, arguments):
    for who in people.values():
        with reverts("NotAuthorized", who):
            getattr(committee, name)(*arguments, {"from": who})

"""Groups: accounts of several signers, without a contract and with nobody's permission."""

import pytest
from brownie import SmartWallet
from signing import key_proof
from world import DAY, ENDPOINT, HOUR, PER_SECOND, UNIT, LeaseRequest, lease_of, now, reverts


@pytest.fixture
def club(pool, group, tenant, neighbour, thief):
    """Two of the tenant, the neighbour and the thief, with money in the ledger."""
    club = group(2, tenant, neighbour, thief, salt=5)
    pool.deposit(club.address, 100 * UNIT, {"from": tenant})
    return club


@pytest.fixture
def as_club(club, tenant, thief, owner):
    """Acts as the group, approved by two of its three, sent by a stranger."""

    def act(*calls, by=(tenant, thief)):
        return club.execute(owner, by, *calls)

    return act


def test_a_group_rents_extends_and_closes_without_a_contract(pool, operator, club, as_club, web3):
    lease = lease_of(as_club((pool, pool.open.encode_input(LeaseRequest(1)))))
    pool.start(lease, ENDPOINT, {"from": operator})
    as_club((pool, pool.extend.encode_input(lease, HOUR)))
    as_club((pool, pool.close.encode_input(lease)))
    assert pool.leaseOf(lease).dict()["tenant"] == club.address
    assert web3.eth.get_code(club.address) == b""


def test_any_two_of_three_will_do_and_no_one_alone(pool, club, as_club, tenant, neighbour, thief):
    call = (pool, pool.transfer.encode_input(neighbour, UNIT))
    for pair in ((tenant, neighbour), (neighbour, thief), (thief, tenant)):
        as_club(call, by=pair)
    for alone in (tenant, neighbour, thief):
        with reverts("MalformedProof"):
            as_club(call, by=[alone])
        with reverts("NotAuthorized", alone):
            pool.close(
                lease_of(as_club((pool, pool.open.encode_input(LeaseRequest(1, share=1))))), {"from": alone}
            )
    assert pool.balanceOf(neighbour) == 3 * UNIT


def test_a_group_s_proof_is_refused_with_its_own_error(pool, hub, club, as_club, neighbour):
    call = (pool, pool.transfer.encode_input(neighbour, 1))
    first, _, last = club.signers
    other = hub.groupAddress(2, club.signers, 32 * b"\6")

    def signed(digest, *indices):
        return club.head() + b"".join(club.part(index, digest) for index in indices or (0, 2))

    def sent(proof):
        as_club(call, by=proof)

    with reverts("UnorderedSignatures", 0):
        sent(lambda digest: signed(digest, 2, 0))
    with reverts("DuplicateSignature", 0):
        sent(lambda digest: signed(digest, 0, 0))
    with reverts("MalleableSignature", last):
        sent(lambda digest: club.head() + club.part(0, digest) + club.part(2, digest, high=True))
    with reverts("WrongSignature", first):
        sent(lambda digest: signed(digest[::-1]))
    with reverts("MalformedProof"):
        sent(lambda digest: signed(digest, 0))
    with reverts("MalformedProof"):
        sent(lambda digest: signed(digest) + b"\0")
    with reverts("InvalidThreshold", 0, 3):
        sent(lambda _: club.head(threshold=0))
    with reverts("InvalidSigners", 1):
        sent(lambda _: club.head(signers=[first, first, last]))
    with reverts("WrongGroup", club.address, other):
        sent(lambda _: club.head(salt=32 * b"\6"))
    assert pool.balanceOf(club.address) == 100 * UNIT


def test_the_same_signers_make_another_group_with_another_threshold_or_salt(group, tenant, neighbour, thief):
    signers = (tenant, neighbour, thief)
    made = [group(2, *signers), group(3, *signers), group(2, *signers, salt=1), group(2, *signers[:2])]
    assert len({one.address for one in made}) == 4
    assert group(2, *reversed(signers)).address == made[0].address


@pytest.mark.parametrize(("threshold", "count"), [(0, 3), (4, 3)])
def test_a_threshold_counts_signers(hub, people, threshold, count):
    signers = sorted((str(who) for who in people.values()), key=lambda who: int(who, 16))[:count]
    with reverts("InvalidThreshold", threshold, count):
        hub.groupAddress(threshold, signers, 32 * b"\0")


def test_a_group_has_at_most_sixteen_signers_in_order(hub):
    signers = [f"0x{i + 1:040x}" for i in range(17)]
    hub.groupAddress(9, signers[:16], 32 * b"\0")
    with reverts("InvalidSigners", 16):
        hub.groupAddress(9, signers, 32 * b"\0")
    with reverts("InvalidSigners", 1):
        hub.groupAddress(1, signers[1::-1], 32 * b"\0")
    with reverts("InvalidSigners", 0):
        hub.groupAddress(1, ["0x" + 40 * "0", signers[0]], 32 * b"\0")


def test_a_group_s_proof_is_for_one_account_one_nonce_and_one_time(
    pool, hub, club, tenant, thief, owner, group
):
    calls = [(str(pool), pool.transfer.encode_input(owner, UNIT))]
    deadline = now() + DAY
    proof = club.proof(hub.executeDigest(club.address, calls, 0, deadline), tenant, thief)
    hub.execute(club.address, calls, 0, deadline, proof, {"from": owner})
    with reverts("InvalidNonce", 0, 1):
        hub.execute(club.address, calls, 0, deadline, proof, {"from": owner})
    with reverts("WrongSignature"):
        hub.execute(club.address, calls, 1, deadline, proof, {"from": owner})
    twin = group(2, *club.signers, salt=6)
    with reverts("WrongGroup", twin.address, club.address):
        hub.execute(twin.address, calls, 0, deadline, proof, {"from": owner})


def test_a_signer_may_be_a_contract(pool, hub, tenant, neighbour, owner, keys, group):
    wallet = SmartWallet.deploy(tenant, {"from": tenant})
    club = group(1, wallet, neighbour)
    pool.deposit(club.address, UNIT, {"from": owner})
    place = club.signers.index(str(wallet))

    def by_the_contract(digest):
        signature = key_proof(keys[tenant.address], digest)[1:]
        return club.head() + bytes([place, 2]) + len(signature).to_bytes(2, "big") + signature

    club.execute(owner, by_the_contract, (pool, pool.transfer.encode_input(owner, UNIT)))
    assert pool.balanceOf(owner) == UNIT


def test_what_was_sent_to_a_group_is_rescued_by_nobody_else(hub, token, club, as_club, thief, neighbour):
    token.mint(club.address, 5, {"from": neighbour})
    rescue = (hub, hub.rescue.encode_input(token, club.signers[0], 5))
    had = token.balanceOf(club.signers[0])
    with reverts("NotDeployed", club.address):
        as_club(rescue)
    with reverts("NotAuthorized", thief):
        hub.rescue(token, thief, 5, {"from": thief})
    tx = as_club((hub, hub.deployGroup.encode_input(2, club.signers, club.salt)), rescue)
    assert tx.events["GroupDeployed"]["account"] == club.address
    assert token.balanceOf(club.signers[0]) == had + 5


def test_anyone_deploys_a_group_and_twice_is_once(hub, club, owner, thief):
    assert hub.deployGroup(2, club.signers, club.salt, {"from": thief}).events["GroupDeployed"] == {
        "account": club.address,
        "threshold": 2,
        "signers": club.signers,
        "salt": "0x" + club.salt.hex(),
    }
    assert "GroupDeployed" not in hub.deployGroup(2, club.signers, club.salt, {"from": owner}).events


def test_a_group_pays_its_lease_from_its_ledger_alone(pool, club, as_club):
    as_club((pool, pool.open.encode_input(LeaseRequest(1))))
    assert pool.balanceOf(club.address) == 100 * UNIT - HOUR * PER_SECOND
    left = 100 * UNIT - HOUR * PER_SECOND
    with reverts("InsufficientBalance", club.address, left, 48 * HOUR * PER_SECOND):
        as_club((pool, pool.open.encode_input(LeaseRequest(1, duration=2 * DAY))))

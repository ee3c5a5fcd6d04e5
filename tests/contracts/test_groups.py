"""Groups: accounts of several signers, without a contract and with nobody's permission."""

import pytest
from world import ENDPOINT, HOUR, UNIT, LeaseRequest, lease_of, reverts


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

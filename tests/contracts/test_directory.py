"""Who serves the pool, and who may register in one whose owner asks for a licence."""

import pytest
from signing import consent
from world import CONTACT, DAY, HARDWARE, Terms, later, now, reverts, word

PROVIDER = word("provider")


@pytest.mark.parametrize("kind", ["access", "scheduler", "gateway", "ipfs", "seed"])
def test_anybody_announces_a_service(directory, neighbour, kind):
    tx = directory.announce(word(kind), word("endpoint"), b"\x00\x24", {"from": neighbour})
    assert tx.events["ServiceAnnounced"] == {
        "account": neighbour,
        "kind": word(kind),
        "endpoint": word("endpoint"),
        "peerId": "0x0024",
    }


def test_a_gated_pool_asks_for_a_licence(pool, directory, owner, thief, operator, running):
    assert not pool.gated()
    assert pool.setGated(True, {"from": owner}).events["GatedSet"] == {"gated": True}
    assert pool.gated()
    with reverts("Unlicensed", thief):
        pool.register(
            Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, thief, operator), {"from": thief}
        )
    until = now() + DAY
    tx = directory.issueLicence(thief, PROVIDER, 0, until, {"from": owner})
    assert tx.events["LicenceIssued"] == {
        "account": thief,
        "kind": PROVIDER,
        "seats": 0,
        "expiresAt": until,
    }
    assert directory.isLicensed(thief)
    pool.register(Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, thief, operator), {"from": thief})
    later(DAY)
    with reverts("Unlicensed", thief):
        pool.register(
            Terms(), 1, 1, HARDWARE, CONTACT, operator, consent(pool, thief, operator), {"from": thief}
        )
    assert pool.machineCount() == 2  # what is in stays in


def test_software_seats_are_a_record(directory, owner, thief):
    directory.issueLicence(thief, word("matlab"), 25, 2**40 - 1, {"from": owner})
    assert tuple(directory.licenceOf(thief, word("matlab"))) == (25, 2**40 - 1)
    assert not directory.isLicensed(thief)

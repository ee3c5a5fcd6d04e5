"""The factory makes pools, remembers them, and has no power over them."""

import pytest
from brownie import Accounts, Controller, ControllerFactory, SizedToken, interface
from brownie.exceptions import VirtualMachineError
from signing import consent
from world import HARDWARE, NOBODY, UNIT, LeaseRequest, Params, Terms, plain, reverts


def test_a_pool_is_made_known_and_wired(factory, hub, owner, treasury, neighbour):
    token = SizedToken.deploy(6, {"from": owner})
    count = factory.poolCount()
    tx = factory.createPool(token, owner, treasury, Params(), {"from": neighbour})

    told = tx.events["PoolCreated"]
    made = interface.IController(told["controller"])
    assert told == {"index": count, "controller": made, "token": token, "owner": owner, "treasury": treasury}
    assert (made.token(), made.accounts(), made.owner(), made.treasury()) == (token, hub, owner, treasury)
    assert plain(made.params(1)) == Params()
    assert factory.isPool(made)
    assert not factory.isPool(neighbour)
    assert (factory.poolCount(), factory.accounts()) == (count + 1, hub)


@pytest.mark.parametrize("decimals", [0, 5, 19, 255])
def test_a_token_has_six_to_eighteen_decimals(factory, owner, treasury, decimals):
    token = SizedToken.deploy(decimals, {"from": owner})
    with reverts("TokenDecimals", decimals):
        factory.createPool(token, owner, treasury, Params(), {"from": owner})


@pytest.mark.parametrize("decimals", [6, 18])
def test_six_and_eighteen_decimals_will_do(factory, owner, treasury, decimals):
    token = SizedToken.deploy(decimals, {"from": owner})
    factory.createPool(token, owner, treasury, Params(), {"from": owner})


def test_a_pool_needs_an_owner_a_treasury_and_parameters_in_bounds(factory, token, owner, treasury):
    count = factory.poolCount()
    for arguments, error in (
        ((token, NOBODY, treasury, Params()), "ZeroAddress"),
        ((token, owner, NOBODY, Params()), "ZeroAddress"),
        ((token, owner, treasury, Params(fee_bps=1001)), "InvalidParams"),
    ):
        with reverts(error):
            factory.createPool(*arguments, {"from": owner})
    assert factory.poolCount() == count


def test_pools_are_listed_by_page(factory, create_pool, pool, owner):
    first = factory.poolCount()
    new = [create_pool(SizedToken.deploy(18, {"from": owner})) for _ in range(3)]
    assert factory.pools(0, 1) == [pool]
    assert list(factory.pools(first, 10)) == new
    assert list(factory.pools(first + 1, 1)) == new[1:2]
    assert list(factory.pools(first + 2, 2**255)) == new[2:]
    assert (
        list(factory.pools(first + 3, 1)) == list(factory.pools(2**255, 1)) == list(factory.pools(0, 0)) == []
    )


def test_a_pool_is_initialized_once(pool, thief, hook):
    with reverts("AlreadyInitialized"):
        hook(pool, "initialize", thief.address, thief.address, Params(), by=thief)


def test_what_is_not_a_pool_serves_nobody(factory, operator, thief, hook):
    implementation = Controller.at(factory.implementation())
    bare = interface.IController(implementation.address)
    for contract in (implementation, implementation.extension()):
        with reverts("AlreadyInitialized"):
            hook(contract, "initialize", thief.address, thief.address, Params(), by=thief)
    with reverts("Paused"):
        bare.open(LeaseRequest(1), {"from": thief})
    with reverts("Paused"):
        bare.register(
            Terms(), 1, 1, HARDWARE, HARDWARE, operator, consent(bare, thief, operator), {"from": thief}
        )
    with pytest.raises(VirtualMachineError):
        bare.deposit(thief, UNIT, {"from": thief})
    with reverts("NotAuthorized", thief):
        bare.setPaused(False, {"from": thief})


def test_a_factory_believes_no_other_factory_s_accounts(factory, hub, owner):
    companions = 4 * [owner]  # which it does not come to look at
    with reverts("WrongAccounts", hub):
        ControllerFactory.deploy(factory.implementation(), *companions, {"from": owner})


def test_accounts_believe_no_other_factory_s_pools(pool, owner):
    elsewhere = Accounts.deploy("0x" + 40 * "1", {"from": owner})
    assert elsewhere.factory() == "0x" + 40 * "1"
    assert pool.accounts() != elsewhere


def test_a_pool_and_its_companions_are_known_and_nobody_else(
    factory, pool, committee, faults, reputation, directory, token, hub, thief
):
    companions = (committee, faults, reputation, directory)
    assert pool.companions() == companions
    for part in (pool, *companions):
        assert factory.isPoolContract(part)
    for companion in companions:
        assert not factory.isPool(companion)
        assert companion.controller() == pool
    for stranger in (token, hub, factory, factory.implementation(), thief):
        assert not factory.isPoolContract(stranger)


def test_two_pools_share_no_companion(create_pool, token, pool):
    other = create_pool(token)
    assert len({str(part) for part in (pool, other, *pool.companions(), *other.companions())}) == 10

"""The factory makes pools, remembers them, and has no power over them."""

from brownie import (
    Accounts,
    SizedToken,
    interface,
)
from world import Params, plain, reverts


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

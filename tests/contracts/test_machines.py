"""Machines: a provider stakes, describes and offers them, and gets the stake back when they have retired."""

from brownie import chain
from signing import OPERATE, consent, typed_digest
from world import (
    CONTACT,
    HARDWARE,
    RETIRED,
    STAKE,
    UNIT,
    UNVERIFIED,
    LeaseRequest,
    Params,
    Terms,
    at,
    later,
    now,
    plain,
    reverts,
)

GPU_STAKE = Params().min_stake_per_gpu


def register(pool, provider, operator, *, gpus=1, terms=None, **options):
    return pool.register(
        terms or Terms(),
        gpus,
        1,
        HARDWARE,
        CONTACT,
        operator,
        consent(pool, provider, operator),
        {"from": provider, **options},
    )


# ----------------------------------------------------------------------------------------------------------- register


def test_registering_stakes_for_every_gpu_and_tells_everything(pool, token, provider, operator):
    had = token.balanceOf(provider)

    tx = register(pool, provider, operator, gpus=3)

    assert had - token.balanceOf(provider) == 3 * GPU_STAKE
    assert tx.events["MachineRegistered"] == {
        "machine": 2,
        "provider": provider,
        "operator": operator,
        "gpus": 3,
        "smallestShare": 1,
        "stake": 3 * GPU_STAKE,
        "pulled": 3 * GPU_STAKE,
    }
    assert plain(tx.events["TermsSet"]["terms"]) == Terms()
    assert tx.events["HardwareSet"]["digest"] == HARDWARE
    assert tx.events["ContactSet"]["digest"] == CONTACT
    machine = pool.machineOf(2).dict()
    assert machine["provider"] == provider
    assert machine["operator"] == operator
    assert machine["status"] == UNVERIFIED
    assert machine["stake"] == 3 * GPU_STAKE
    assert (machine["gpus"], machine["revision"], machine["params"]) == (3, 1, 1)
    assert (machine["busy"], machine["leased"], machine["withheld"]) == (0, 0, 0)
    assert plain(pool.stakeOf(2)) == (provider, operator, 3 * GPU_STAKE, 3, 1, 0)
    assert pool.machineCount() == 2


def test_what_an_operator_signs_can_be_asked_for(pool, provider, operator):
    digest = typed_digest(pool, OPERATE, chain.id, str(pool), str(provider), str(operator), 2**40)
    assert bytes(pool.consentDigest(provider, operator, 2**40)) == digest


def test_nobodys_key_operates_a_stranger_s_machine(pool, provider, operator, thief):
    signed = consent(pool, provider, operator)
    with reverts("WrongProof", operator):
        pool.register(Terms(), 1, 1, HARDWARE, CONTACT, operator, signed, {"from": thief})
    old = consent(pool, provider, operator, now() - 1)
    with reverts("ConsentExpired", now() - 1):
        pool.register(Terms(), 1, 1, HARDWARE, CONTACT, operator, old, {"from": provider})
    with reverts("WrongProof", operator):
        pool.setOperator(1, operator, (2**41, signed[1]), {"from": provider})


# --------------------------------------------------------------------------------------------------------- describing


def test_new_terms_raise_the_revision_and_old_ones_stay_readable(pool, provider):
    dearer = Terms(price=9 * UNIT)
    tx = pool.setTerms(1, dearer, {"from": provider})
    assert tx.events["TermsSet"]["revision"] == 2
    assert pool.machineOf(1).dict()["terms"]["price"] == dearer.price
    assert plain(pool.termsOf(1, 1)) == (Terms(), 1)
    assert plain(pool.termsOf(1, 2)) == (dearer, 1)


def test_new_hardware_raises_the_revision_and_keeps_the_terms(pool, provider):
    tx = pool.setHardware(1, WORKSTATION, {"from": provider})
    assert tx.events["HardwareSet"] == {"machine": 1, "revision": 2, "digest": WORKSTATION}
    assert plain(pool.termsOf(1, 2)) == (Terms(), 1)


WORKSTATION = "0x" + 64 * "a"


def test_the_operator_can_be_replaced_and_the_old_one_loses_its_say(pool, provider, operator, neighbour):
    with reverts("NotAuthorized", operator):
        pool.setOperator(1, neighbour, consent(pool, provider, neighbour), {"from": operator})
    tx = pool.setOperator(1, neighbour, consent(pool, provider, neighbour), {"from": provider})
    assert tx.events["OperatorSet"] == {"machine": 1, "operator": neighbour}
    with reverts("NotAuthorized", operator):
        pool.withhold(1, 1, {"from": operator})
    pool.withhold(1, 1, {"from": neighbour})


def test_a_machine_that_is_not_there_is_unknown_to_every_call(pool, provider):
    for call in (
        lambda: pool.setTerms(2, Terms(), {"from": provider}),
        lambda: pool.setHardware(2, HARDWARE, {"from": provider}),
        lambda: pool.setContact(2, CONTACT, {"from": provider}),
        lambda: pool.setOperator(2, provider, consent(pool, provider, provider), {"from": provider}),
        lambda: pool.withhold(2, 0, {"from": provider}),
        lambda: pool.delist(2, {"from": provider}),
        lambda: pool.relist(2, {"from": provider}),
        lambda: pool.recover(2, {"from": provider}),
        lambda: pool.retire(2, {"from": provider}),
        lambda: pool.addStake(2, 1, {"from": provider}),
        lambda: pool.open(LeaseRequest(2), {"from": provider}),
    ):
        with reverts("UnknownMachine", 2):
            call()


# ----------------------------------------------------------------------------------------------------------- withhold


def test_withheld_cells_are_busy_and_not_leased(pool, operator):
    tx = pool.withhold(1, 0xFF, {"from": operator})
    assert tx.events["Withheld"] == {"machine": 1, "cells": 0xFF}
    machine = pool.machineOf(1).dict()
    assert (machine["busy"], machine["leased"], machine["withheld"]) == (0xFF, 0, 0xFF)
    pool.withhold(1, 0, {"from": operator})
    assert pool.machineOf(1).dict()["busy"] == 0


# ------------------------------------------------------------------------------------------------------ delist, relist


def test_a_delisted_machine_takes_no_leases_until_it_is_relisted(pool, provider, tenant):
    tx = pool.delist(1, {"from": provider})
    assert tx.events["MachineStatusSet"]["delisted"]
    with reverts("MachineDelisted", 1):
        pool.open(LeaseRequest(1), {"from": tenant})
    pool.relist(1, {"from": provider})
    pool.open(LeaseRequest(1), {"from": tenant})


# --------------------------------------------------------------------------------------------------------------- stake


def test_anyone_may_add_stake_which_only_its_provider_gets_back(pool, token, provider, neighbour):
    tx = pool.addStake(1, 50 * UNIT, {"from": neighbour})
    assert tx.events["StakeAdded"] == {
        "machine": 1,
        "from": neighbour,
        "amount": 50 * UNIT,
        "pulled": 50 * UNIT,
        "stake": STAKE + 50 * UNIT,
    }
    pool.retire(1, {"from": provider})
    later(Params().unstake_delay)
    pool.unstake(1, {"from": neighbour})
    assert (pool.balanceOf(provider), pool.balanceOf(neighbour)) == (STAKE + 50 * UNIT, 0)


# ------------------------------------------------------------------------------------------------------ retire, unstake


def test_a_retired_machine_gives_its_stake_back_after_the_delay_to_the_second(pool, token, provider):
    tx = pool.retire(1, {"from": provider})
    until = tx.timestamp + Params().unstake_delay
    assert tx.events["MachineRetired"] == {"machine": 1, "retiredAt": tx.timestamp}
    assert pool.machineOf(1).dict()["status"] == RETIRED

    at(until - 1)
    with reverts("StakeLocked", 1, until):
        pool.unstake(1, {"from": provider})
    at(until)
    tx = pool.unstake(1, {"from": provider})

    assert tx.events["Unstaked"] == {"machine": 1, "provider": provider, "amount": STAKE}
    assert pool.balanceOf(provider) == STAKE
    had = token.balanceOf(provider)
    pool.withdraw(provider, STAKE, {"from": provider})
    assert token.balanceOf(provider) == had + STAKE


# ------------------------------------------------------------------------------------------------------------- recover


def test_a_stalled_machine_takes_no_leases_until_it_says_that_it_has_recovered(
    pool, tenant, operator, neighbour, opened
):
    later(Params().start_window + 1)
    tx = pool.cancelUnstarted(opened, {"from": neighbour})
    assert tx.events["MachineStatusSet"]["stalled"]
    with reverts("MachineStalled", 1):
        pool.open(LeaseRequest(1), {"from": tenant})

    assert not pool.recover(1, {"from": operator}).events["MachineStatusSet"]["stalled"]
    pool.open(LeaseRequest(1), {"from": tenant})


def test_the_clock_of_these_tests_is_the_chain_s(pool, tenant):
    moment = now() + 1000
    at(moment)
    assert pool.deposit(tenant, 1, {"from": tenant}).timestamp == moment == chain[-1].timestamp
